/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scans: two loops that chemists use, written here with the widest instructions of the machine.
 * "rows" compares every filter. "BitBound" (Swamidass and Baldi 2007, FPSim2) has the filters in
 * the order of their cardinalities, begins at the query's and stops on each side when no filter of
 * that cardinality can be nearer than the k-th.
 */
#include <array>

#include "tests/peers/jaccard.hh"

namespace
{

struct scan {
    std::vector<uint64_t> filters; /* in the order of their cardinalities; of rows: as given */
    std::vector<uint64_t> numbers; /* of rows: empty */
    std::array<size_t, PEERS_BITS + 2> starts; /* of the filters with so many bits */
};

uint32_t cardinality(const uint64_t *filter)
{
    return peers::count(filter, filter).shared;
}

void *build_rows(const uint64_t *filters, size_t count, double)
{
    return new scan{{filters, filters + count * PEERS_WORDS}, {}, {}};
}

void *build_sorted(const uint64_t *filters, size_t count, double)
{
    auto *made =
        new scan{std::vector<uint64_t>(count * PEERS_WORDS), std::vector<uint64_t>(count), {}};

    for (size_t i = 0; i < count; i++) {
        made->starts[cardinality(filters + i * PEERS_WORDS) + 1]++;
    }
    for (size_t c = 1; c < made->starts.size(); c++) {
        made->starts[c] += made->starts[c - 1];
    }
    auto next = made->starts;
    for (size_t i = 0; i < count; i++) {
        const size_t place = next[cardinality(filters + i * PEERS_WORDS)]++;

        made->numbers[place] = i;
        std::memcpy(&made->filters[place * PEERS_WORDS], filters + i * PEERS_WORDS, PEERS_BYTES);
    }
    return made;
}

size_t ask_rows(void *index, const uint64_t *query, uint32_t, size_t k, uint64_t *out)
{
    const auto *all = static_cast<scan *>(index);
    peers::nearest best(k);

    for (size_t i = 0; i * PEERS_WORDS < all->filters.size(); i++) {
        best.offer(peers::distance(query, &all->filters[i * PEERS_WORDS]), i);
    }
    return best.copy(out);
}

void compare(const scan &all, size_t bits, const uint64_t *query, peers::nearest &best)
{
    for (size_t i = all.starts[bits]; i < all.starts[bits + 1]; i++) {
        best.offer(peers::distance(query, &all.filters[i * PEERS_WORDS]), all.numbers[i]);
    }
}

size_t ask_sorted(void *index, const uint64_t *query, uint32_t, size_t k, uint64_t *out)
{
    const auto *all = static_cast<scan *>(index);
    const uint32_t bits = cardinality(query);
    peers::nearest best(k);

    compare(*all, bits, query, best);
    for (uint32_t apart = 1; apart <= PEERS_BITS; apart++) {
        /* at best, the smaller of the two filters is a subset of the larger one */
        const float few = apart > bits ? 2 : static_cast<float>(apart) / static_cast<float>(bits);
        const float many = static_cast<float>(apart) / static_cast<float>(bits + apart);

        if (few < best.worst()) {
            compare(*all, bits - apart, query, best);
        }
        if (bits + apart <= PEERS_BITS && many < best.worst()) {
            compare(*all, bits + apart, query, best);
        }
        if (many >= best.worst()) {
            break;
        }
    }
    return best.copy(out);
}

void destroy(void *index)
{
    delete static_cast<scan *>(index);
}

} // namespace

const struct peer peer_rows = {"rows", {0}, build_rows, ask_rows, destroy};
const struct peer peer_bitbound = {"BitBound", {0}, build_sorted, ask_sorted, destroy};
