/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/rivals.h"

#include "core/bits/tables.h"

/* Functions for one instruction set. The program chooses at run time which of them runs. */
#if defined(__x86_64__)
#define FOR_AVX512 __attribute__((target("avx512f")))
#define FOR_AVX2   __attribute__((target("avx2")))
#define FOR_POPCNT __attribute__((target("popcnt")))
#endif

/* Sums that do not depend on one another, enough to keep all load units of a core busy. */
enum { STREAMS = 8 };

typedef uint64_t wide __attribute__((vector_size(64), aligned(8), may_alias));
typedef uint64_t half __attribute__((vector_size(32), aligned(8), may_alias));

#define SUM_BODY(vector)                                                        \
    enum { LANES = sizeof(vector) / sizeof(uint64_t) };                         \
    vector sums[STREAMS] = {{0}};                                               \
    uint64_t total = 0;                                                         \
    size_t at = 0;                                                              \
                                                                                \
    for (; at + STREAMS * LANES <= count; at += STREAMS * LANES) {              \
        for (size_t s = 0; s < STREAMS; s++) {                                  \
            sums[s] += *(const vector *)(const void *)(words + at + s * LANES); \
        }                                                                       \
    }                                                                           \
    for (size_t s = 0; s < STREAMS; s++) {                                      \
        for (size_t lane = 0; lane < LANES; lane++) {                           \
            total += sums[s][lane];                                             \
        }                                                                       \
    }                                                                           \
    for (; at < count; at++) {                                                  \
        total += words[at];                                                     \
    }                                                                           \
    return total

#if defined(__x86_64__)
FOR_AVX512 static uint64_t sum_avx512(const uint64_t *words, size_t count)
{
    SUM_BODY(wide);
}

FOR_AVX2 static uint64_t sum_avx2(const uint64_t *words, size_t count)
{
    SUM_BODY(half);
}
#endif

static uint64_t sum_baseline(const uint64_t *words, size_t count)
{
    SUM_BODY(half);
}

uint64_t rivals_sum(const uint64_t *words, size_t count)
{
#if defined(__x86_64__)
    if (cpu_has_avx512()) {
        return sum_avx512(words, count);
    }
    if (cpu_has_avx2()) {
        return sum_avx2(words, count);
    }
#endif
    return sum_baseline(words, count);
}

/* The eight words of a filter are written out, without a loop over a number of words. */
#define OVERLAP(q, f)                                                                          \
    (uint32_t)(__builtin_popcountll((q)[0] & (f)[0]) + __builtin_popcountll((q)[1] & (f)[1]) + \
               __builtin_popcountll((q)[2] & (f)[2]) + __builtin_popcountll((q)[3] & (f)[3]) + \
               __builtin_popcountll((q)[4] & (f)[4]) + __builtin_popcountll((q)[5] & (f)[5]) + \
               __builtin_popcountll((q)[6] & (f)[6]) + __builtin_popcountll((q)[7] & (f)[7]))

/* What the loop looks for from message `next` on. */
struct count_walk {
    const struct rivals_messages *messages;
    const uint64_t *query;
    uint32_t base;
    uint32_t floor;
    uint32_t overlap; /* of the message found */
};

/*
 * Returns the first message from number `next` on that reaches the floor, or the number of messages
 * if there is none. The loop calls no function, so that the query stays in registers.
 */
#define FIND_BODY                                                                      \
    const uint64_t q[RIVALS_FILTER_WORDS] = {                                          \
        walk->query[0], walk->query[1], walk->query[2], walk->query[3],                \
        walk->query[4], walk->query[5], walk->query[6], walk->query[7],                \
    };                                                                                 \
    const uint16_t *cardinalities = walk->messages->cardinalities;                     \
    const uint64_t *filter = walk->messages->filters + next * RIVALS_FILTER_WORDS;     \
    const size_t count = walk->messages->count;                                        \
    const uint32_t floor = walk->floor;                                                \
    const uint32_t base_part = walk->base * floor;                                     \
                                                                                       \
    for (; next < count; next++, filter += RIVALS_FILTER_WORDS) {                      \
        const uint32_t overlap = OVERLAP(q, filter);                                   \
                                                                                       \
        if (overlap << INDEX_FLOOR_SHIFT >= base_part + cardinalities[next] * floor) { \
            walk->overlap = overlap;                                                   \
            break;                                                                     \
        }                                                                              \
    }                                                                                  \
    return next

#if defined(__x86_64__)
FOR_POPCNT __attribute__((noinline)) static size_t find_popcnt(struct count_walk *walk, size_t next)
{
    FIND_BODY;
}
#endif

static size_t find_baseline(struct count_walk *walk, size_t next)
{
    FIND_BODY;
}

static size_t find(struct count_walk *walk, size_t next)
{
#if defined(__x86_64__)
    if (cpu_has_avx2()) { /* which stands for POPCNT, too */
        return find_popcnt(walk, next);
    }
#endif
    return find_baseline(walk, next);
}

void rivals_count(const struct rivals_messages *messages, struct index_probe *probe)
{
    struct count_walk walk = {
        .messages = messages,
        .query = probe->filter,
        .base = probe->cardinality,
        .floor = index_probe_floor(probe),
    };

    for (size_t i = find(&walk, 0); i < messages->count; i = find(&walk, i + 1)) {
        const uint16_t cardinality = messages->cardinalities[i];

        if (index_probe_may_pass(probe, cardinality, walk.overlap)) {
            index_probe_offer(probe, &messages->items[i], INDEX_NO_PLACE,
                              messages->filters + i * RIVALS_FILTER_WORDS, 1, cardinality,
                              walk.overlap, 0);
            walk.floor = index_probe_floor(probe);
        }
    }
}
