# SPDX-License-Identifier: Apache-2.0
"""Many messages, quickly: filters of 512 bits made of bits, without labels. A message is of one of
PLACES places: it has most of its bits in common with the others of that place."""

import random

import hearsay_wire as wire
from hearsay_wire import pb

PLACES, PLACE_BITS, OWN_BITS = 400, 28, 12
BATCH = 2000  # deposits sent before their answers are read


def random_bits(rng, count):
    number = 0
    for _ in range(count):
        number |= 1 << rng.randrange(512)
    return number


class Crowd:
    """The messages of one seed, the same in every run."""

    def __init__(self, seed=1, payload=b"x" * 40):
        self.rng = random.Random(seed)
        self.payload = payload
        self.places = [random_bits(self.rng, PLACE_BITS) for _ in range(PLACES)]
        self.ids = []

    def filter(self):
        place = self.places[self.rng.randrange(PLACES)]
        return (place | random_bits(self.rng, OWN_BITS)).to_bytes(64, "little")

    def far_filter(self, shared):
        """Near to no place, but with `shared` of the bits of one."""
        place = self.places[self.rng.randrange(PLACES)]
        bits = [p for p in range(512) if place >> p & 1]
        kept = sum(1 << p for p in self.rng.sample(bits, min(shared, len(bits))))
        return (kept | random_bits(self.rng, PLACE_BITS + OWN_BITS - shared)).to_bytes(64, "little")

    def odd_filter(self):
        """Near to no place."""
        return random_bits(self.rng, PLACE_BITS + OWN_BITS).to_bytes(64, "little")

    def load(self, client, count):
        """Deposits `count` messages more. The client must have no rates to keep to."""
        while count > 0:
            batch = [pb.Deposit(id=self.rng.randbytes(16), filter=self.filter(),
                                payload=self.payload) for _ in range(min(count, BATCH))]
            for answer in client.pipeline(batch):
                assert answer.HasField("deposited"), answer
            self.ids += [deposit.id for deposit in batch]
            count -= len(batch)


def slice_of(ids, bits, hashes, seed):
    """A slice of Query.exclude that has these ids; `bits` is a multiple of 8."""
    data = bytearray(bits // 8)
    for message_id in ids:
        for position in wire.slice_positions(message_id, hashes, bits, seed):
            data[position // 8] |= 1 << position % 8
    return pb.Slice(bits=bytes(data), hashes=hashes, seed=seed)
