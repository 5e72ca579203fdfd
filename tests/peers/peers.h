/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peers: what `make peers` asks of each library, in C, so that the glue around the library may be
 * in C++. All filters have 512 bits, eight words each. Filters and queries are borrowed for the
 * length of a call only, unless a function says otherwise.
 */
#ifndef TESTS_PEERS_PEERS_H
#define TESTS_PEERS_PEERS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PEERS_WORDS = 8, PEERS_BYTES = 64, PEERS_BITS = 512, PEERS_EFFORTS = 2, PEERS_K_MAX = 100 };

struct peer {
    const char *name;
    /* How much a search tries, a number of the library's own; 0: there is no such number, or no
     * further one. Each effort is a row of the table. */
    uint32_t efforts[PEERS_EFFORTS];
    /*
     * Makes an index of filters 0 .. count - 1 with as many threads as there are processors. The
     * filters live as long as the index. Gives up after about `seconds` of the processor: then, and
     * on failure, returns NULL.
     */
    void *(*build)(const uint64_t *filters, size_t count, double seconds);
    /*
     * Writes the numbers of at most k filters, the nearest ones that the library finds, in any
     * order, and returns how many.
     */
    size_t (*ask)(void *index, const uint64_t *query, uint32_t effort, size_t k, uint64_t *out);
    void (*destroy)(void *index);
};

/* Each is there if the script that builds the program found its library. */
extern const struct peer peer_hnswlib;
extern const struct peer peer_usearch;
extern const struct peer peer_faiss_flat;
extern const struct peer peer_faiss_hnsw;
extern const struct peer peer_rdkit;
extern const struct peer peer_rows;     /* no library: each filter, with the widest POPCNT */
extern const struct peer peer_bitbound; /* no library: the same, by bounds of cardinalities */

#ifdef __cplusplus
}
#endif

#endif
