/* SPDX-License-Identifier: Apache-2.0 */
/*
 * faiss: FAISS 1.7.3 has no Jaccard distance. Its indexes of bits rank by Hamming distance. So each
 * search asks for `effort` nearest by Hamming distance, and ranks these by Jaccard distance. The
 * graph has FAISS's default parameters.
 */
#include <faiss/IndexBinaryFlat.h>
#include <faiss/IndexBinaryHNSW.h>
#include <omp.h>

#include <memory>

#include "tests/peers/jaccard.hh"

/*
 * Debian compiles FAISS for processors without POPCNT, so FAISS calls this function of libgcc for
 * each word. The linker takes this one instead, which has the instruction.
 */
extern "C" __attribute__((target("popcnt"))) int __popcountdi2(unsigned long word)
{
    return __builtin_popcountl(word);
}

namespace
{

struct binary {
    const uint64_t *filters;
    std::unique_ptr<faiss::IndexBinary> index;
    faiss::IndexBinaryHNSW *graph; /* borrowed, or NULL */
};

const uint8_t *bytes_of(const uint64_t *words)
{
    return reinterpret_cast<const uint8_t *>(words);
}

void *build_flat(const uint64_t *filters, size_t count, double)
{
    auto index = std::make_unique<faiss::IndexBinaryFlat>(PEERS_BITS);

    index->add(static_cast<faiss::IndexBinary::idx_t>(count), bytes_of(filters));
    return new binary{filters, std::move(index), nullptr};
}

void *build_graph(const uint64_t *filters, size_t count, double seconds)
{
    enum { AT_ONCE = 10000 };
    auto index = std::make_unique<faiss::IndexBinaryHNSW>(PEERS_BITS);
    auto *graph = index.get();
    const double end = peers::cpu_seconds() + seconds;

    omp_set_num_threads(static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
    bool in_time = true;
    for (size_t i = 0; in_time && i < count; i += AT_ONCE) {
        graph->add(static_cast<faiss::IndexBinary::idx_t>(std::min<size_t>(AT_ONCE, count - i)),
                   bytes_of(filters + i * PEERS_WORDS));
        in_time = peers::cpu_seconds() <= end;
    }
    omp_set_num_threads(1); /* of searches */
    return in_time ? new binary{filters, std::move(index), graph} : nullptr;
}

size_t ask(void *index, const uint64_t *query, uint32_t effort, size_t k, uint64_t *out)
{
    const auto *asked = static_cast<binary *>(index);
    std::vector<int32_t> distances(effort);
    std::vector<faiss::IndexBinary::idx_t> numbers(effort);
    peers::nearest best(k);

    if (asked->graph != nullptr) {
        asked->graph->hnsw.efSearch = static_cast<int>(effort);
    }
    asked->index->search(1, bytes_of(query), effort, distances.data(), numbers.data());
    for (const auto number : numbers) {
        if (number >= 0) {
            best.offer(peers::distance(query, asked->filters + number * PEERS_WORDS),
                       static_cast<uint64_t>(number));
        }
    }
    return best.copy(out);
}

void destroy(void *index)
{
    delete static_cast<binary *>(index);
}

} // namespace

const struct peer peer_faiss_flat = {"FAISS flat, first", {10, 100}, build_flat, ask, destroy};
const struct peer peer_faiss_hnsw = {"FAISS HNSW, ef", {64, 256}, build_graph, ask, destroy};
