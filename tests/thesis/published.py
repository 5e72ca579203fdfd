# SPDX-License-Identifier: Apache-2.0
"""The figures of J. Greif's master's thesis ("Organisation von Bloom-Filtern zur effizienten
k-nächste-Nachbarn-Suche in kontextzentrischen sozialen Netzen", LMU München, 2016).

Source: the result files that its author published in github.com/missgreenwood/masterarbeit (src/src/<name>.csv at
commit 3049710; the same in ../shared/data/thesis-2016). check_thesis.py --published compares them.
"""
from collections import namedtuple

FILTERS = 100

# optimal, computed: Jaccard distances in the data, and those that the tree returned, k for each query (nn_256.csv,
# nn3_256.csv, ...). tree_us, list_us: CPU time of each query (cputime_....csv). Comparisons as counted there, the same
# for each query (complexity.csv). Bytes: 4 a bit, filters and unions (mem.csv).
Published = namedtuple("Published", "optimal computed tree_us list_us tree_comparisons list_comparisons "
                                    "tree_bytes list_bytes")

# The build cost that the thesis estimates for 100 filters (cost.csv).
LIST_COST = 1
TREE_COST = 462.884

# By bits (256 with d = 4, 512 with d = 8) and k.
FIGURES = {
    (256, 1): Published(
        optimal=[
            [0.540404], [0.541667], [0.574468], [0.57732], [0.55], [0.560209], [0.507772], [0.566327],
            [0.574359], [0.53886]],
        computed=[
            [0.540404], [0.547739], [0.574468], [0.592784], [0.55], [0.560209], [0.507772], [0.566327],
            [0.574359], [0.53886]],
        tree_us=[521, 502, 499, 500, 498, 497, 494, 502, 498, 498],
        list_us=[547, 546, 545, 547, 543, 542, 540, 547, 541, 545],
        tree_comparisons=48, list_comparisons=200, tree_bytes=135168, list_bytes=102400),
    (256, 3): Published(
        optimal=[
            [0.540404, 0.557789, 0.560606], [0.541667, 0.547739, 0.556122], [0.574468, 0.585, 0.59],
            [0.57732, 0.592784, 0.59375], [0.55, 0.55102, 0.552764], [0.560209, 0.561224, 0.568528],
            [0.507772, 0.564767, 0.567164], [0.566327, 0.570681, 0.574359], [0.574359, 0.579487, 0.583333],
            [0.53886, 0.557292, 0.57868]],
        computed=[
            [0.540404, 0.557789, 0.560606], [0.547739, 0.566327, 0.57], [0.574468, 0.585, 0.59],
            [0.592784, 0.59375, 0.59596], [0.55, 0.55102, 0.552764], [0.560209, 0.561224, 0.568528],
            [0.507772, 0.564767, 0.567164], [0.566327, 0.570681, 0.574359], [0.574359, 0.579487, 0.583333],
            [0.53886, 0.557292, 0.57868]],
        tree_us=[762, 532, 528, 534, 534, 526, 525, 531, 534, 528],
        list_us=[3358, 3105, 3213, 3101, 3159, 3164, 3193, 3270, 3227, 3168],
        tree_comparisons=280, list_comparisons=864, tree_bytes=135168, list_bytes=102400),
    (512, 1): Published(
        optimal=[
            [0.571802], [0.591022], [0.604592], [0.598465], [0.580977], [0.59], [0.56962], [0.586118],
            [0.574413], [0.600509]],
        computed=[
            [0.575064], [0.591022], [0.604592], [0.598465], [0.581633], [0.59], [0.56962], [0.586118],
            [0.585859], [0.603627]],
        tree_us=[999, 989, 993, 988, 992, 990, 991, 991, 989, 995],
        list_us=[1087, 1083, 1087, 1084, 1127, 1084, 1087, 1083, 1081, 1091],
        tree_comparisons=48, list_comparisons=200, tree_bytes=270336, list_bytes=204800),
    (512, 3): Published(
        optimal=[
            [0.571802, 0.575064, 0.580977], [0.591022, 0.59194, 0.594937], [0.604592, 0.612658, 0.614213],
            [0.598465, 0.599483, 0.602015], [0.580977, 0.581633, 0.587179], [0.59, 0.591022, 0.591584],
            [0.56962, 0.57289, 0.580645], [0.586118, 0.590674, 0.595], [0.574413, 0.585859, 0.587065],
            [0.600509, 0.603627, 0.606299]],
        computed=[
            [0.575064, 0.580977, 0.582902], [0.591022, 0.59194, 0.594937], [0.604592, 0.612658, 0.614213],
            [0.598465, 0.607143, 0.609023], [0.581633, 0.587179, 0.593985], [0.59, 0.591584, 0.595533],
            [0.56962, 0.57289, 0.580645], [0.586118, 0.590674, 0.595], [0.585859, 0.587065, 0.58794],
            [0.603627, 0.607143, 0.607143]],
        tree_us=[1031, 1014, 1024, 1014, 1018, 1013, 1017, 1014, 1011, 1016],
        list_us=[5957, 6251, 5932, 5852, 6052, 6333, 6179, 6304, 6139, 6169],
        tree_comparisons=280, list_comparisons=864, tree_bytes=270336, list_bytes=204800),
}
