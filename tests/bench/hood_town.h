/* SPDX-License-Identifier: Apache-2.0 */
/* hood_town: the hosts of `hearsay-bench hood`, with messages and groups, and brute force. */
#pragma once

#include "core/hood/search.h"
#include "tests/bench/hood_data.h"

enum {
    TOWN_K = 10,
    TOWN_DISTANCE_PPM = 800000 /* the largest; what clients use by default */
};

struct town {
    struct hood_data data;
    enum index_metric metric; /* of the queries */
    const struct bits_kernels *kernels;
    uint32_t *first; /* of each host: where its messages begin in `order`; peer_count + 1; owned */
    uint32_t *order; /* the messages by host; owned */
    struct groups *groups; /* of each host; owned */
};

/* A message that brute force found. */
struct town_result {
    struct similarity rank;
    uint32_t message; /* also its time, and what its id begins with */
};

/* Sorts the messages of town.data by host. 0, or -1 after a message on standard error; call
 * town_end in both cases. */
int town_begin(struct town *town);
void town_end(struct town *town);

const uint64_t *town_filter(const struct town *town, uint32_t message);
const uint64_t *town_query(const struct town *town, size_t query);

/* All messages come, one after another, at all hosts. Writes the time of a message. 0 or -1. */
int town_cluster(struct town *town, uint32_t limit, double *out_us);

/* Makes a hood of `count` peers that tell the groups of the hosts. NULL: it is said. */
struct hood *town_hood(const struct town *town, uint32_t count);

/* The peer `home` leaves the hood, or comes back. 0 or -1. */
int town_set_peer(const struct town *town, struct hood *hood, uint32_t home, bool is_peer);

/* The nearer first; then the newer. For qsort. */
int town_compare(const void *left, const void *right);

/* The k nearest of the messages at order[first .. end - 1], at or above a floor. Returns how many.
 */
uint32_t town_nearest(const struct town *town, const uint64_t *query, uint32_t first, uint32_t end,
                      struct similarity floor, struct town_result out[TOWN_K + 1]);
