/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host: one access point's messages: its profile, its index, and how full it is.
 */
#ifndef DAEMON_HOST_H
#define DAEMON_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "core/index.h"
#include "core/summary.h"
#include "daemon/config.h"
#include "daemon/persist.h"

/* What counts against a cap: what is stored, and what waits to be. */
struct usage {
    uint64_t messages;
    uint64_t bytes; /* of filters, media types and payloads */
};

struct host {
    struct config_host config;
    char profile_text[PROFILE_TEXT_MAX];
    uint32_t number; /* in the store */
    size_t filter_bytes;
    size_t filter_words;
    struct estimate *estimate;
    struct index *index;    /* messages come and go by host_admit and host_remove */
    struct summary summary; /* of what is in the index */
    struct usage usage;
};

/* An empty host. -ERR_NOMEM. `alloc` is borrowed. */
int host_init(struct host *host, const struct config_host *config, uint32_t number,
              const struct alloc *alloc, const struct bits_kernels *kernels, uint64_t hash_seed);
void host_deinit(struct host *host); /* a zeroed one is fine */

/* Bytes of a message that count against the caps. */
uint32_t host_message_bytes(const struct persist_message *message);

/*
 * Puts a stored message into the index; one that is there already is fine. -ERR_NOMEM, and
 * -ERR_DAMAGED when its filter is not one of this host's profile.
 */
int host_admit(struct host *host, const struct persist_message *message);

/*
 * Takes a message out of the index; its item goes to *out_item unless that is NULL. 0, or
 * INDEX_NOT_FOUND.
 */
int host_remove(struct host *host, const uint8_t *id, struct index_item *out_item);

/* Whether one more message of `bytes` fits; a cap that would be exceeded is named in *out_cap. */
bool usage_fits(const struct usage *usage, uint64_t bytes, uint64_t messages_max,
                uint64_t bytes_max, const char **out_cap);
void usage_add(struct usage *usage, uint64_t bytes);
void usage_subtract(struct usage *usage, uint64_t bytes);

/* The estimated similarity of a query to what was found, in millionths. */
uint32_t host_estimated_similarity_ppm(const struct host *host, const uint64_t *query,
                                       const struct nearest_candidate *found);

#endif
