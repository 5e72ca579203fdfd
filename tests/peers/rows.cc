/* SPDX-License-Identifier: Apache-2.0 */
/* rows: a loop over all filters with the same function as the graphs, and no index. */
#include "tests/peers/metric.hh"

namespace
{

using records = std::vector<peers::record>;

void *build(const struct peers_metric *metric, const uint64_t *filters, size_t count, double)
{
    auto *made = new records(count);

    peers::prepare(metric);
    for (size_t i = 0; i < count; i++) {
        (*made)[i] = peers::record_of(filters + i * PEERS_WORDS);
    }
    return made;
}

size_t ask(void *index, const uint64_t *query, uint32_t, size_t k, uint64_t *out)
{
    const auto &all = *static_cast<records *>(index);
    const auto record = peers::record_of(query);
    peers::nearest best(k);

    for (size_t i = 0; i < all.size(); i++) {
        best.offer(peers::distance(record, all[i]), i);
    }
    return best.copy(out);
}

void destroy(void *index)
{
    delete static_cast<records *>(index);
}

} // namespace

const struct peer peer_rows = {"rows", "", {0}, build, ask, destroy};
