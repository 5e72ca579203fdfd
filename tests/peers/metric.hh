/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metric: the distance of two filters of 512 bits, as fast as the compiler's target allows. The set
 * bits of a filter are counted once, when it is stored, so that a distance counts only the bits
 * that two filters share.
 */
#ifndef TESTS_PEERS_METRIC_HH
#define TESTS_PEERS_METRIC_HH

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <ctime>
#include <thread>
#include <vector>
#ifdef __AVX512VPOPCNTDQ__
#include <immintrin.h>
#endif

#include "tests/peers/peers.h"

namespace peers
{

/* A filter as libraries store it. They put it at any multiple of 4 bytes. */
struct __attribute__((packed, aligned(4))) record {
    uint64_t words[PEERS_WORDS];
    uint16_t set[PEERS_SECTIONS];    /* bits in each section of the metric */
    uint16_t spread[PEERS_SECTIONS]; /* V(n) of core/profile/phi.h: at most 64 times the bits */
};

/* What all distances of this process go by: some libraries' functions get nothing but two
 * filters. */
struct prepared {
    bool is_phi;
    uint64_t masks[PEERS_SECTIONS][PEERS_WORDS]; /* the bits of each section */
    uint32_t bits[PEERS_SECTIONS];
    double inverse[PEERS_SECTIONS]; /* 1 / bits; 0: there is no such section */
};
inline prepared metric;

inline void prepare(const struct peers_metric *from)
{
    metric = {};
    metric.is_phi = from->is_phi;
    for (uint32_t s = 0; s < from->section_count; s++) {
        const uint32_t first = from->sections[s].first_bit;

        metric.bits[s] = from->sections[s].bits;
        metric.inverse[s] = 1.0 / metric.bits[s];
        for (uint32_t bit = first; bit < first + metric.bits[s]; bit++) {
            metric.masks[s][bit / 64] |= UINT64_C(1) << bit % 64;
        }
    }
}

inline uint32_t shared_bits(const void *a, const void *b)
{
#ifdef __AVX512VPOPCNTDQ__
    return static_cast<uint32_t>(_mm512_reduce_add_epi64(
        _mm512_popcnt_epi64(_mm512_and_si512(_mm512_loadu_si512(a), _mm512_loadu_si512(b)))));
#else
    uint64_t x[PEERS_WORDS];
    uint64_t y[PEERS_WORDS];
    uint32_t sum = 0;

    std::memcpy(x, a, sizeof(x));
    std::memcpy(y, b, sizeof(y));
    for (int i = 0; i < PEERS_WORDS; i++) {
        sum += static_cast<uint32_t>(__builtin_popcountll(x[i] & y[i]));
    }
    return sum;
#endif
}

inline record record_of(const uint64_t *filter)
{
    record out = {};

    std::memcpy(out.words, filter, sizeof(out.words));
    for (int s = 0; s < PEERS_SECTIONS && metric.bits[s] != 0; s++) {
        const uint32_t set = shared_bits(filter, metric.masks[s]);

        out.set[s] = static_cast<uint16_t>(set);
        out.spread[s] = static_cast<uint16_t>(256 * set - 256 * set * set / metric.bits[s]);
    }
    return out;
}

/*
 * phi of core/profile/phi.h, with the same integers X and V up to the root. The distance is 1 minus
 * the square of phi with phi's sign: it has the order of 1 - phi, needs no root, and unlike a phi
 * that ends at 0 it tells a graph which of two unrelated filters is the less unlike one.
 */
inline float phi_distance(const record &query, const record &message)
{
    int32_t shared = 256 * static_cast<int32_t>(shared_bits(query.words, message.words));
    int32_t asked = 0;
    int32_t spread = 0;

    for (int s = 0; s < PEERS_SECTIONS; s++) {
        const int32_t product = 256 * query.set[s] * message.set[s];

        /* The quotient, rounded down: it is at least 1 / 512 away from the next whole number. */
        shared -= static_cast<int32_t>(product * metric.inverse[s] + 1e-6);
        asked += query.spread[s];
        spread += query.set[s] != 0 ? message.spread[s] : 0;
    }
    const float product = static_cast<float>(asked) * static_cast<float>(spread);
    const auto x = static_cast<float>(shared);

    return product > 0 ? 1 - x * std::fabs(x) / product : 1;
}

/* Jaccard's. */
inline float bits_distance(const record &a, const record &b)
{
    const uint32_t shared = shared_bits(a.words, b.words);
    const uint32_t all = a.set[0] + b.set[0] - shared;

    return all == 0 ? 0 : 1 - static_cast<float>(shared) / static_cast<float>(all);
}

inline float distance(const record &query, const record &message)
{
    return metric.is_phi ? phi_distance(query, message) : bits_distance(query, message);
}

/* The k nearest so far; the farthest is on top. */
class nearest
{
  public:
    explicit nearest(size_t k) : k_(k)
    {
    }
    void offer(float far, uint64_t number)
    {
        if (heap_.size() == k_) {
            if (far >= heap_.front().first) {
                return;
            }
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
