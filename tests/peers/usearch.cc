/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usearch: a graph (HNSW) with USearch's default parameters, and the same metric as for hnswlib:
 * USearch takes the bytes of a record for a vector of bits.
 */
#include <usearch/index_dense.hpp>

#include "tests/peers/metric.hh"

namespace
{

using namespace unum::usearch;

const auto record_bits = sizeof(peers::record) * 8;

distance_punned_t metric_of(const void *a, const void *b)
{
    const auto &query = *static_cast<const peers::record *>(a);
    const auto &message = *static_cast<const peers::record *>(b);

    return peers::distance(query, message);
}

const b1x8_t *bits_of(const peers::record &record)
{
    return reinterpret_cast<const b1x8_t *>(&record);
}

void *build(const struct peers_metric *metric, const uint64_t *filters, size_t count,
            double seconds)
{
    const auto ours = metric_punned_t::stateless(
        record_bits, reinterpret_cast<std::uintptr_t>(&metric_of),
        metric_punned_signature_t::array_array_k, metric_kind_t::tanimoto_k, scalar_kind_t::b1x8_k);
    const index_limits_t limits(count, std::max(1U, std::thread::hardware_concurrency()));
    auto made = index_dense_t::make(ours, {}, index_dense_t::vector_key_t(-1), limits);
    std::atomic<bool> failed(!made);

    peers::prepare(metric);
    if (failed) {
        made.error.release();
        return nullptr;
    }
    auto *index = new index_dense_t(std::move(made.index));
    const bool in_time = peers::add_all(count, seconds, [&](size_t i, unsigned thread) {
        const auto stored = peers::record_of(filters + i * PEERS_WORDS);
        auto result = index->add(i, bits_of(stored), thread);

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
    const auto record = peers::record_of(query);

    asked->change_expansion_search(effort);
    auto found = asked->search(bits_of(record), k, 0);
    return found ? found.dump_to(out) : 0;
}

void destroy(void *index)
{
    delete static_cast<index_dense_t *>(index);
}

} // namespace

const struct peer peer_usearch = {
    "USearch", "ef", {16, 24, 32, 48, 64, 96, 128, 192, 256}, build, ask, destroy};
