# SPDX-License-Identifier: Apache-2.0
"""What `make reproduce` runs, and which committed tables each run is compared with."""
from collections import namedtuple

import readers
from readers import RATIO, TIME, Timed, bench

# SHA-256 of the data. DATA is ../shared/data; the words are Debian's wamerican 2020.12.07.
WORDS = "/usr/share/dict/words"
LIGHTTPD = "/usr/sbin/lighttpd"  # any of Debian's will do
SUMS = {
    WORDS: "9f513f1ceadb6a01c5485b7dbdfd5118dc66cd70b59cae2851292112d4066a32",
    "DATA/ujiindoorloc/training.tsv.gz": "e8746b9cb43d119ad190b48a140dc3c9ee70ac5d80c41e3cb5029837687e67f1",
    "DATA/ujiindoorloc/validation.tsv.gz": "2219ea516f5f794bbd6437b054c100a608526d666729084c63271b9d26f0331c",
    "DATA/foursquare-nyc/checkins.tsv.gz": "5a4536f3755946c18c9ff89637293dd4cad987ba5eb71344e3dd3c93ec14433e",
}
WIFI = ("DATA/ujiindoorloc/training.tsv.gz", "DATA/ujiindoorloc/validation.tsv.gz")
VENUES = ("DATA/foursquare-nyc/checkins.tsv.gz",)

# A table of a page: docs/PAGE, the heading, which table below it (from 0), and its reader.
Table = namedtuple("Table", "page heading number read")
# A run: its name, its command, the data that it needs, its tables, plots that it draws (the committed
# ones, which are not compared: their numbers are in the tables), and the minutes of the processor that
# it took. BENCH, BUILD, OUT and DATA are replaced.
Run = namedtuple("Run", "name command data tables plots minutes")
# Figures that this script does not measure: name, where, the command, why not, minutes (not of the
# processor) if known.
Listed = namedtuple("Listed", "name where command why minutes")

THESIS, EVALUATION, PERFORMANCE = "thesis.md", "evaluation.md", "performance.md"
PAGE = "The page for phones"
THE_THESIS = "/usr/bin/python3 -B tests/thesis/thesis.py BENCH"
PROGRAMS = "--hearsayd BUILD/daemon/hearsayd --hearsay BUILD/client/hearsay"
EVAL = f"/usr/bin/python3 -B tests/eval/run.py --data DATA --dir OUT {PROGRAMS} --bench BENCH"

RUNS = (
    Run("thesis", f"{THE_THESIS} --csv OUT --plot OUT", (WORDS,), (
        Table(THESIS, "100 filters, beside what was published", 0, readers.thesis_100),
        Table(THESIS, "1,000 to 100,000 filters", 0, readers.thesis_sizes(256)),
        Table(THESIS, "1,000 to 100,000 filters", 1, readers.thesis_sizes(512)),
    ), ("thesis-wrong-512.svg", "thesis-time-512.svg", "thesis-build-512.svg"), 1),
    Run("thesis-wrong", f"{THE_THESIS} -n 100,1000,3000 --query-count 1000 --csv OUT", (WORDS,), (
        Table(THESIS, "100 filters, beside what was published", 1, readers.thesis_wrong),
    ), (), 4),
    Run("places", f"{EVAL} --part matrix", WIFI, (
        Table(EVALUATION, "The question", 0, readers.headline),
        Table(EVALUATION, "Graded contexts, in many profiles", 0, readers.places),
        Table(EVALUATION, "Mixed contexts, in sections and in one", 0, readers.places),
    ), ("evaluation-floors.svg",), 6),
    Run("meet", f"{EVAL} --part meet --part bound", WIFI, (
        Table(EVALUATION, "Who meets whom", 0, readers.same("message / query")),
        Table("notes/evaluation.md", "Strangers by chance", 0, readers.same("scans without")),
        Table("notes/evaluation.md", "Strangers by chance", 1, readers.same("metres between")),
        Table("notes/evaluation.md", "Many places in one store", 0, readers.same("readers ask with")),
        Table("notes/evaluation.md", "Many places in one store", 1, readers.same("two lines")),
        Table("notes/evaluation.md", "Many places in one store", 2, readers.same("labels of here")),
        Table("notes/evaluation.md", "A mixed store", 0, readers.same("what readers find")),
        Table("notes/evaluation.md", "How the bound was found", 0, readers.same("similarity | least near")),
    ), ("evaluation-meet.svg",), 2),
    Run("checkins", f"{EVAL} --part checkins", VENUES, (
        Table(EVALUATION, "Check-ins: what next?", 0, readers.checkins),
    ), (), 1),
    Run("answers", f"/usr/bin/python3 -B tests/eval/uji.py --data DATA/ujiindoorloc {PROGRAMS}", WIFI, (), (), 1),
    Run("tree", "BENCH index -m 512 -d 4 --metric bits --levels off --alone --json --plot OUT -n 1000000 "
        "--query-count 100", (), (
        Table("notes/tree.md", "The tree asked alone", 0, readers.tree_alone),
    ), (), 2),
    Run("growth", "/usr/bin/python3 -B scripts/reproduce.d/growth.py OUT", (), (),
        ("tree-growth-time.svg", "tree-growth-bytes.svg"), 0),
    Run("deposit", "BENCH deposit --json --dir OUT", (), (
        Table(PERFORMANCE, "Performance", 0, bench(
            (0, 1, (RATIO, TIME), "one_connection_ratio", "one_connection_per_s"),
            (1, 1, (RATIO, TIME), "eight_connections_ratio", "eight_connections_per_s"))),
        Table(PERFORMANCE, "Deposits", 0, bench(
            (0, 1, TIME, "alone_per_s"), (1, 1, TIME, "one_connection_per_s"),
            (2, 1, TIME, "eight_connections_per_s"), (3, 1, TIME, "client_ceiling_per_s"))),
    ), (), 1),
    Run("query", "BENCH query --json --dir OUT", (), (
        Table(PERFORMANCE, "Performance", 0, bench(
            (2, 1, (RATIO, TIME), "library_ratio", "library_daemon_per_s"), (3, 1, TIME, "ratio", "daemon_per_s"),
            (4, 1, (RATIO, TIME), "many_ratio", "many_daemon_per_s"))),
        Table(PERFORMANCE, "Queries", 0, bench(
            (0, 1, TIME, "library_echo_per_s"), (0, 2, TIME, "library_daemon_per_s"),
            (0, 3, RATIO, "library_ratio"), (1, 1, TIME, "echo_per_s"), (1, 2, TIME, "daemon_per_s"),
            (1, 3, TIME, "ratio"), (2, 1, TIME, "many_echo_per_s"), (2, 2, TIME, "many_daemon_per_s"),
            (2, 3, RATIO, "many_ratio"), (3, 1, TIME, "library_echo_p50_us"),
            (3, 2, TIME, "library_daemon_p50_us"), (4, 1, TIME, "library_echo_p99_us"),
            (4, 2, TIME, "library_daemon_p99_us"), (5, 1, TIME, "echo_p50_us"), (5, 2, TIME, "daemon_p50_us"),
            (6, 1, TIME, "echo_p99_us"), (6, 2, TIME, "daemon_p99_us"))),
    ), (), 1),
    Run("memory", "BENCH memory --json --dir OUT", (), (
        Table(PERFORMANCE, "Performance", 0, bench((6, 1, Timed(1.2), "loaded_growth", "growth"))),
        Table(PERFORMANCE, "Memory", 0, bench(*(
            (row, 1, Timed(1.2), name) for row, name in enumerate((
                "index_filters", "index_items", "index_rest", "index", "cache", "sqlite", "rest", "growth"))))),
    ), (), 1),
    Run("start", "BENCH start --json --dir OUT", (), (
        Table(PERFORMANCE, "Performance", 0, bench((10, 1, TIME, "ready_ms", "cold_ms"))),
        Table(PERFORMANCE, "Start", 0, bench(*(
            (row, 1, TIME, name) for row, name in enumerate((
                "ready_ms", "arranged_ms", "cold_ms", "open_ms", "read_ms", "insert_ms"))))),
    ), (), 1),
    Run("kernels", "BENCH list --json --dir OUT", (), (
        Table(PERFORMANCE, "Performance", 0, bench(
            (7, 1, RATIO, "list_1000000.bandwidth_share"),
            (8, 1, RATIO, "list_10000.against_loop"))),
    ), (), 1),
    Run("encode", "BENCH encode --json --dir OUT", (), (
        Table(PERFORMANCE, "Performance", 0, bench(
            (9, 1, (TIME, RATIO), "one_ns", "one_ratio"))),
    ), (), 1),
    Run("load", "BENCH load --sessions 5000 --stored 100000 --json --dir OUT", (), (
        Table(PERFORMANCE, "Load and attackers", 0, readers.load),
    ), (), 1),
    *(Run(f"load-{kind}", f"BENCH load --attack {kind} --rounds 3 --seconds 4 --json --dir OUT", (), (
        Table(PERFORMANCE, "Load and attackers", 1, readers.attack(2 * row)),
    ), (), 1) for row, kind in enumerate(("slow", "unread", "noise", "greedy"))),
    Run("web", "BENCH web --json --dir OUT", (LIGHTTPD,), (
        Table(PERFORMANCE, PAGE, 0, bench(
            (0, 1, RATIO, "cached_ratio"), (1, 1, TIME, "new_views_per_s"), (2, 1, Timed(1.2), "idle_mib"),
            (3, 1, Timed(1.2), "streams_mib"), (4, 1, Timed(1.5), "stream_kib"),
            (5, 1, TIME, "shown_p50_ms", "shown_p99_ms"), (6, 1, TIME, "return_s"))),
    ), (), 1),
    Run("web-slow", "BENCH web --attack slow --json --dir OUT", (), (
        Table(PERFORMANCE, PAGE, 0, bench((7, 1, TIME, "page_p99_attacked_ms", "page_ratio"))),
    ), (), 1),
    Run("web-requests", "BENCH web --attack requests --json --dir OUT", (), (
        Table(PERFORMANCE, PAGE, 0, bench((8, 1, TIME, "page_ratio"))),
    ), (), 1),
    Run("small", "sh scripts/small OUT", (), (
        Table(PERFORMANCE, "A small machine", 0, readers.small_memory),
        Table(PERFORMANCE, "A small machine", 1, readers.small_written),
    ), (), 15),
)

LISTED = (
    Listed("index", "tree.md, Figures", "build/tests/bench/hearsay-bench index", "a run for each row", "-"),
    Listed("peers", "notes/peers.md", "make peers", "needs packages of other libraries", 12),
    Listed("flash", "performance.md, A small machine (text)", "build/tests/bench/hearsay-bench flash", "needs root", "-"),
    Listed("soak", "reliability.md, half an hour of load", "the command on that page", "half an hour", 30),
    Listed("torture", "reliability.md", "make torture torture-hub", "no table of these pages", 35),
)
