/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host: one access point's messages: its profile, its epochs with an index each, and how full it
 * is. A message's id is its own in the whole host, whatever its epoch.
 */
#ifndef DAEMON_HOST_HOST_H
#define DAEMON_HOST_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "core/index/index.h"
#include "core/standing/standing.h"
#include "daemon/config/config.h"
#include "daemon/host/epoch.h"
#include "daemon/host/here.h"
#include "daemon/host/hides.h"
#include "daemon/host/moderation.h"
#include "daemon/host/rules.h"
#include "daemon/host/shares.h"
#include "daemon/store/persist.h"
#include "daemon/system/log.h"

struct epoch_change;

/* As many as one query may ask in. */
enum { HOST_EPOCHS_MAX = INDEX_PARTS_MAX };

struct host {
    const struct alloc *alloc; /* borrowed */
    struct config_host config;
    char profile_text[PROFILE_TEXT_MAX];
    uint32_t number; /* in the store */
    size_t filter_bytes;
    size_t filter_words;
    struct estimate *estimate;
    struct index_options index_options;    /* of every epoch's index */
    struct epoch *epochs[HOST_EPOCHS_MAX]; /* epoch_count of them, owned; the first is epoch 0 */
    size_t epoch_count;
    struct here *here;            /* owned; what is around: service_set_here */
    struct rules rules;           /* bans, and which deposits are taken */
    struct moderation moderation; /* what is hidden, and what is known besides */
    struct hides hides;           /* what reports have hidden lately */
    struct epoch *current; /* of these, the newest one; NULL: none, or they are switched off */
    struct epoch_change *change; /* under way: epochs.c's */
    struct usage usage;          /* of all epochs together */
    struct usage waiting;        /* of these, not stored yet */
    struct usage leaving;        /* of these, promised to make room: see room.h */
    struct shares shares;        /* what each sender has of them */
    struct {
        bool is_full; /* since a deposit found no room, until room_tick finds some */
        bool is_told; /* the log says so */
        struct log_gate gate;
    } fullness;
    struct standing *standing; /* owned: the watches, made with the first one. NULL: none yet */
};

/* An empty host with epoch 0 only. -ERR_NOMEM. `alloc` is borrowed. It may not be moved. */
int host_init(struct host *host, const struct config_host *config, uint32_t number,
              const struct alloc *alloc, const struct bits_kernels *kernels, uint64_t hash_seed);
void host_deinit(struct host *host); /* a zeroed one is fine */

/* Bytes of a message that count against the caps. */
uint32_t host_message_bytes(const struct persist_message *message);

/* The epoch of that number that is not over; NULL when there is none such. */
struct epoch *host_epoch(const struct host *host, uint64_t number);

/* Adds an epoch, which is the host's then; there must be room. It is the current one. */
void host_add_epoch(struct host *host, struct epoch *epoch);

/* Frees epochs that are over, empty and without users. */
void host_drop_epochs(struct host *host);

/* Messages of all epochs. */
size_t host_count(const struct host *host);

/*
 * Puts a stored message into its epoch's index; one that is there already is fine. -ERR_NOMEM;
 * -ERR_DAMAGED when its filter is not one of this host's profile; HOST_NO_EPOCH, with nothing
 * changed.
 */
enum { HOST_NO_EPOCH = 1 };
int host_admit(struct host *host, const struct persist_message *message);

/*
 * Looks a message up in all epochs: 0 or INDEX_NOT_FOUND. What is not asked for may be NULL;
 * out_filter has profile words. O(epochs).
 */
int host_find(const struct host *host, const uint8_t *id, struct epoch **out_epoch,
              struct index_item *out_item, uint64_t *out_filter);

/* Whether the host has a message of this id, shown or hidden, that expires after `after_ms`. */
bool host_has(const struct host *host, const uint8_t *id, int64_t after_ms);

/*
 * Takes a message out of the index it is in; its item goes to *out_item unless that is NULL. 0, or
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
