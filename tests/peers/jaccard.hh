/* SPDX-License-Identifier: Apache-2.0 */
/* jaccard: the Jaccard distance of two filters of 512 bits, as fast as the compiler's target
 * allows. */
#ifndef TESTS_PEERS_JACCARD_HH
#define TESTS_PEERS_JACCARD_HH

#include <algorithm>
#include <atomic>
#include <ctime>
#include <cstring>
#include <thread>
#include <vector>
#ifdef __AVX512VPOPCNTDQ__
#include <immintrin.h>
#endif

#include "tests/peers/peers.h"

namespace peers
{

struct counts {
    uint32_t shared;
    uint32_t all;
};

inline counts count(const void *a, const void *b)
{
#ifdef __AVX512VPOPCNTDQ__
    const __m512i x = _mm512_loadu_si512(a);
    const __m512i y = _mm512_loadu_si512(b);
    const __m512i shared = _mm512_popcnt_epi64(_mm512_and_si512(x, y));
    const __m512i all = _mm512_popcnt_epi64(_mm512_or_si512(x, y));
    /* one sum instead of two: the numbers stay below 2^32 */
    const auto both = static_cast<uint64_t>(
        _mm512_reduce_add_epi64(_mm512_add_epi64(shared, _mm512_slli_epi64(all, 32))));

    return {static_cast<uint32_t>(both), static_cast<uint32_t>(both >> 32)};
#else
    const auto *x = static_cast<const uint64_t *>(a);
    const auto *y = static_cast<const uint64_t *>(b);
    counts sum = {0, 0};

    for (int i = 0; i < PEERS_WORDS; i++) {
        sum.shared += static_cast<uint32_t>(__builtin_popcountll(x[i] & y[i]));
        sum.all += static_cast<uint32_t>(__builtin_popcountll(x[i] | y[i]));
    }
    return sum;
#endif
}

inline float distance(const void *a, const void *b)
{
    const counts sum = count(a, b);

    return sum.all == 0 ? 0 : 1 - static_cast<float>(sum.shared) / static_cast<float>(sum.all);
}

/* The k nearest so far; the farthest is on top. */
class nearest
{
  public:
    explicit nearest(size_t k) : k_(k)
    {
    }
    float worst() const
    {
        return heap_.size() < k_ ? 2 : heap_.front().first;
    }
    void offer(float far, uint64_t number)
    {
        if (far >= worst()) {
            return;
        }
        if (heap_.size() == k_) {
            std::pop_heap(heap_.begin(), heap_.end());
            heap_.pop_back();
        }
        heap_.emplace_back(far, number);
        std::push_heap(heap_.begin(), heap_.end());
    }
    size_t copy(uint64_t *out) const
    {
        for (size_t i = 0; i < heap_.size(); i++) {
            out[i] = heap_[i].second;
        }
        return heap_.size();
    }

  private:
    size_t k_;
    std::vector<std::pair<float, uint64_t>> heap_;
};

/* Of this process, so that other work on the machine leaves no library out. */
inline double cpu_seconds()
{
    timespec now = {};

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

/*
 * Calls add(number, thread) for 0 .. count - 1, from as many threads as there are processors.
 * Returns false if that took more than `seconds` of the processor, of all threads; then not all were
 * called.
 */
template <typename function> bool add_all(size_t count, double seconds, function add)
{
    const double end = cpu_seconds() + seconds;
    const unsigned threads = std::max(1U, std::thread::hardware_concurrency());
    std::atomic<size_t> next(0);
    std::atomic<bool> late(false);
    std::vector<std::thread> workers;

    for (unsigned t = 0; t < threads; t++) {
        workers.emplace_back([&, t] {
            for (size_t i = next++; i < count && !late; i = next++) {
                add(i, t);
                if (i % 256 == 0 && cpu_seconds() > end) {
                    late = true;
                }
            }
        });
    }
    for (auto &worker : workers) {
        worker.join();
    }
    return !late;
}

} // namespace peers

#endif
