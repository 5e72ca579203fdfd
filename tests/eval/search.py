# SPDX-License-Identifier: Apache-2.0
"""The search that answers are compared with: all pairs, in integers' order."""

import heapq

import metric


class Searcher:
    """Stored sets of bits (integers), and those nearest to a query by Jaccard similarity; equally
    near ones by a rank that the caller gives, smaller first."""

    def __init__(self, masks):
        self.masks = masks
        self.counts = [mask.bit_count() for mask in masks]

    def nearest(self, query, ranks, k, admitted=None):
        """[(position, intersection, union)] among the positions `admitted` (all of them). Floats
        compare as the fractions do: numerators and denominators are below 2**13, so that different
        fractions differ by more than rounding."""
        size = query.bit_count()
        places = range(len(self.masks)) if admitted is None else admitted
        overlaps = [(query & self.masks[i]).bit_count() for i in places]
        scores = [overlap / ((size + self.counts[i] - overlap) or 1)
                  for overlap, i in zip(overlaps, places)]
        worst = heapq.nlargest(k, scores)[-1]
        found = sorted((-score, ranks[i], i, overlap)
                       for score, overlap, i in zip(scores, overlaps, places) if score >= worst)
        return [(i, overlap, size + self.counts[i] - overlap) for _, _, i, overlap in found[:k]]


class PhiSearcher:
    """The same by phi."""

    def __init__(self, encoder, masks):
        self.stored = metric.Stored(encoder, masks)

    def nearest(self, query, ranks, k, admitted=None):
        masks = self.stored.masks
        places = range(len(masks)) if admitted is None else admitted
        scores = self.stored.phi(query, admitted)
        worst = heapq.nlargest(k, scores)[-1]
        found = sorted((-score, ranks[i], i) for score, i in zip(scores, places) if score >= worst)
        return [(i, (query & masks[i]).bit_count(), (query | masks[i]).bit_count()) for _, _, i in found[:k]]


def searcher(metric_name, encoder, masks):
    """`metric_name` as `hearsay query --metric` has it."""
    return PhiSearcher(encoder, masks) if metric_name == "phi" else Searcher(masks)
