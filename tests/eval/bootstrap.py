# SPDX-License-Identifier: Apache-2.0
"""95 % intervals of a share of right answers, by the bootstrap.

Questions asked at one place are not independent, so whole groups of questions are drawn, with
replacement. All profiles are judged by the same draws, so that two of them can be compared
question by question."""

import collections
import random

RESAMPLES = 1000


class Bootstrap:
    def __init__(self, groups, seed):
        """`groups`: what each question belongs to, such as a place or a person."""
        members = collections.defaultdict(list)
        for at, group in enumerate(groups):
            members[group].append(at)
        self.members = list(members.values())
        self.count = len(groups)
        rng = random.Random(seed)
        numbers = range(len(self.members))
        self.draws = [rng.choices(numbers, k=len(self.members)) for _ in range(RESAMPLES)]

    def interval(self, values):
        """The mean of the values of all questions, and its interval; all times 100."""
        sums = [sum(values[at] for at in group) for group in self.members]
        sizes = [len(group) for group in self.members]
        means = sorted(sum(map(sums.__getitem__, draw)) / sum(map(sizes.__getitem__, draw))
                       for draw in self.draws)
        low, high = means[RESAMPLES * 25 // 1000], means[RESAMPLES * 975 // 1000 - 1]
        return {"mean": 100 * sum(sums) / self.count, "low": 100 * low, "high": 100 * high}
