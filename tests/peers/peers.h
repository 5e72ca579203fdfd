/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peers: what `make peers` asks of each library, in C, so that the glue around the library may be
 * in C++. All filters have 512 bits, eight words each. Filters and queries are borrowed for the
 * length of a call only, unless a function says otherwise.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    PEERS_WORDS = 8,
    PEERS_BYTES = 64,
    PEERS_BITS = 512,
    PEERS_SECTIONS = 4, /* of a profile at most */
    PEERS_EFFORTS = 9,
    PEERS_K_MAX = 100
};

/* How the libraries measure distances: by phi or by bits, which have one section. */
struct peers_metric {
    bool is_phi;
    uint32_t section_count;
    struct {
        uint32_t first_bit;
        uint32_t bits;
    } sections[PEERS_SECTIONS];
};

struct peer {
    const char *name;
    /* What the numbers of `efforts` are, such as "ef". */
    const char *effort_name;
    /* How much work a search may do: numbers of the library's own, from little to much, with a 0 at
     * the end. A library whose searches are exact has none. */
    uint32_t efforts[PEERS_EFFORTS];
    /*
     * Makes an index of filters 0 .. count - 1 with as many threads as there are processors. The
     * filters live as long as the index, and `metric` is the same for all indexes of a process.
     * Gives up after about `seconds` of the processor: then, and on failure, returns NULL.
     */
    void *(*build)(const struct peers_metric *metric, const uint64_t *filters, size_t count,
                   double seconds);
    /*
     * Writes the numbers of at most k filters, the nearest ones that the library finds, in any
     * order, and returns how many.
     */
    size_t (*ask)(void *index, const uint64_t *query, uint32_t effort, size_t k, uint64_t *out);
    void (*destroy)(void *index);
};

/* Each is there if the script that builds the program found its library. */
extern const struct peer peer_hnswlib;
extern const struct peer peer_hnswlib_once; /* a graph of different filters, if some are equal */
extern const struct peer peer_usearch;
extern const struct peer peer_faiss_hnsw;
extern const struct peer peer_rows; /* no library: all filters, with the widest POPCNT */

#ifdef __cplusplus
}
#endif
