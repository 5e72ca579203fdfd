# SPDX-License-Identifier: Apache-2.0
"""How similar stored filters are to a query, by phi and by the bits they share: "Distances and order" of
docs/protocol.md, written a second time; and by estimates, which no program has any more. Filters are Python's integers,
whose bit p is bit p of the filter."""

import math

ONE = 1 << 24  # phi of equal filters


def sections_of(encoder):
    """Bits, and the mask of each section of a profile."""
    return [(bits, ((1 << bits) - 1) << first) for first, bits, _ in encoder.sections.values()]


def quotient(x, spread, other):
    """phi, in units of 2^-24, from X and both spreads."""
    if x <= 0 or spread == 0 or other == 0:
        return 0
    return min(ONE, (x << 34) // math.isqrt(spread * other << 20))


def phi(sections, query, message):
    """Of one message to one query; only the sections in which the query has bits count."""
    x = spread = other = 0
    for bits, where in sections:
        part = query & where
        if part:
            a, c = part.bit_count(), (message & where).bit_count()
            x += 256 * (part & message).bit_count() - 256 * a * c // bits
            spread += 256 * a - 256 * a * a // bits
            other += 256 * c - 256 * c * c // bits
    return quotient(x, spread, other)


def jaccard(query, message):
    return (query & message).bit_count() / ((query | message).bit_count() or 1)


def estimated_labels(encoder, mask):
    """-(b/d) ln(1 - s/b) for each section of b bits and d hashes of which s are set, summed (S. J. Swamidass, P. Baldi,
    J. Chem. Inf. Model. 47(3), 2007, 952-964). A full section, which would hold any number, counts as b - 1/2."""
    found = 0.0
    for first, bits, hashes in encoder.sections.values():
        filled = (mask >> first & (1 << bits) - 1).bit_count()
        found -= bits / hashes * math.log(1 - min(filled, bits - 0.5) / bits)
    return found


def estimated(encoder, query, message):
    """Jaccard of the estimated labels: AMBIENCE's, and the metric ESTIMATED of 0.2.0. See docs/thesis.md."""
    one, other, either = (estimated_labels(encoder, mask) for mask in (query, message, query | message))
    return max(0.0, one + other - either) / either if either else 1.0


class Stored:
    """Filters of messages, and how many bits each has set in each section."""

    def __init__(self, encoder, masks):
        self.sections = sections_of(encoder)
        self.masks = masks
        self.sizes = list(zip(*([(mask & where).bit_count() for mask in masks]
                                for _, where in self.sections)))

    def phi(self, query, admitted=None):
        """Of the messages at the places `admitted`, of all without it; in this order. How many bits a message has set
        decides about the chance and the spread, so these are computed once for each combination."""
        asked = [(at, bits, (query & where).bit_count())
                 for at, (bits, where) in enumerate(self.sections) if query & where]
        spread = sum(256 * a - 256 * a * a // bits for _, bits, a in asked)
        known = {}
        found = []
        places = range(len(self.masks)) if admitted is None else admitted
        for place in places:
            sizes = self.sizes[place]
            some = known.get(sizes)
            if some is None:
                chance = sum(256 * a * sizes[at] // bits for at, bits, a in asked)
                other = sum(256 * sizes[at] - 256 * sizes[at] ** 2 // bits for at, bits, _ in asked)
                some = known[sizes] = chance, math.isqrt(spread * other << 20)
            x = 256 * (query & self.masks[place]).bit_count() - some[0]
            found.append(min(ONE, (x << 34) // some[1]) if x > 0 and some[1] else 0)
        return found
