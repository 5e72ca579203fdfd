/* SPDX-License-Identifier: Apache-2.0 */
/*
 * faiss: FAISS 1.7.3 takes no distance function for bits; its indexes of bits rank by Hamming
 * distance. So each search asks for `effort` nearest by Hamming distance, and ranks these by the
 * metric. The graph has FAISS's default parameters.
 */
#include <faiss/IndexBinaryHNSW.h>
#include <omp.h>

#include <memory>

#include "tests/peers/metric.hh"

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

using number = faiss::IndexBinary::idx_t;

struct binary {
    binary(int bits) : index(bits)
    {
    }
    std::vector<peers::record> records;
    faiss::IndexBinaryHNSW index;
};

const uint8_t *bytes_of(const uint64_t *words)
{
    return reinterpret_cast<const uint8_t *>(words);
}

void *build(const struct peers_metric *metric, const uint64_t *filters, size_t count,
            double seconds)
{
    enum { AT_ONCE = 10000 };
    const double end = peers::cpu_seconds() + seconds;
    auto made = std::make_unique<binary>(PEERS_BITS);
    bool in_time = true;

    peers::prepare(metric);
    omp_set_num_threads(static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
    for (size_t i = 0; i < count; i++) {
        made->records.push_back(peers::record_of(filters + i * PEERS_WORDS));
    }
    for (size_t i = 0; in_time && i < count; i += AT_ONCE) {
        made->index.add(static_cast<number>(std::min<size_t>(AT_ONCE, count - i)),
                        bytes_of(filters + i * PEERS_WORDS));
        in_time = peers::cpu_seconds() <= end;
    }
    omp_set_num_threads(1); /* of searches */
    return in_time ? made.release() : nullptr;
}

size_t ask(void *index, const uint64_t *query, uint32_t effort, size_t k, uint64_t *out)
{
    auto *asked = static_cast<binary *>(index);
    const auto record = peers::record_of(query);
    std::vector<int32_t> distances(effort);
    std::vector<number> numbers(effort);
    peers::nearest best(k);

    asked->index.hnsw.efSearch = static_cast<int>(effort);
    asked->index.search(1, bytes_of(query), static_cast<number>(effort), distances.data(),
                        numbers.data());
    for (const auto found : numbers) {
        if (found >= 0) {
            best.offer(peers::distance(record, asked->records[static_cast<size_t>(found)]),
                       static_cast<uint64_t>(found));
        }
    }
    return best.copy(out);
}

void destroy(void *index)
{
    delete static_cast<binary *>(index);
}

} // namespace

const struct peer peer_faiss_hnsw = {
    "FAISS HNSW", "ef", {16, 24, 32, 48, 64, 96, 128, 192, 256}, build, ask, destroy};
