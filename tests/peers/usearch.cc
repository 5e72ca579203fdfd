/* SPDX-License-Identifier: Apache-2.0 */
/* usearch: a graph (HNSW) with USearch's default parameters, and the same metric as for hnswlib. */
#include <usearch/index_dense.hpp>

#include "tests/peers/jaccard.hh"

namespace
{

using namespace unum::usearch;

distance_punned_t metric(const void *a, const void *b)
{
    return peers::distance(a, b);
}

void *build(const uint64_t *filters, size_t count, double seconds)
{
    const auto jaccard = metric_punned_t::stateless(
        PEERS_BITS, reinterpret_cast<std::uintptr_t>(&metric),
        metric_punned_signature_t::array_array_k, metric_kind_t::tanimoto_k, scalar_kind_t::b1x8_k);
    const index_limits_t limits(count, std::max(1U, std::thread::hardware_concurrency()));
    auto made = index_dense_t::make(jaccard, {}, index_dense_t::vector_key_t(-1), limits);
    std::atomic<bool> failed(!made);

    if (failed) {
        made.error.release();
        return nullptr;
    }
    auto *index = new index_dense_t(std::move(made.index));
    const bool in_time = peers::add_all(count, seconds, [&](size_t i, unsigned thread) {
        auto result =
            index->add(i, reinterpret_cast<const b1x8_t *>(filters + i * PEERS_WORDS), thread);
        if (!result) {
            result.error.release();
            failed = true;
        }
    });
    if (in_time && !failed) {
        return index;
    }
    delete index;
    return nullptr;
}

size_t ask(void *index, const uint64_t *query, uint32_t effort, size_t k, uint64_t *out)
{
    auto *asked = static_cast<index_dense_t *>(index);

    asked->change_expansion_search(effort);
    auto found = asked->search(reinterpret_cast<const b1x8_t *>(query), k, 0);
    return found ? found.dump_to(out) : 0;
}

void destroy(void *index)
{
    delete static_cast<index_dense_t *>(index);
}

} // namespace

const struct peer peer_usearch = {"USearch, ef", {64, 256}, build, ask, destroy};
