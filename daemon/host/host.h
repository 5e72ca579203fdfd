/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host: the messages of one access point. It has a profile, and one index for each epoch. An id
 * names one message of the whole host, in whatever epoch. On the loop thread.
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
#include "daemon/host/hide_rate.h"
#include "daemon/host/moderation.h"
#include "daemon/host/rules.h"
#include "daemon/host/shares.h"
#include "daemon/store/persist.h"
#include "daemon/system/log.h"

struct epoch_change;

/* Upper bound of epochs: as many as one query may ask in. */
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
    struct epoch *epochs[HOST_EPOCHS_MAX]; /* owned, epoch_count of them; the first is epoch 0 */
    size_t epoch_count;
    struct here *here;            /* owned: the here labels, by service_set_here */
    struct rules rules;           /* the operator's bans, and the accept mode */
    struct moderation moderation; /* messages that are hidden, reported, pending or approved */
    struct hide_rate hide_rate;   /* messages that reports have hidden lately */
    struct epoch *current;       /* the newest epoch besides epoch 0; NULL: none, or switched off */
    struct epoch_change *change; /* of epochs.c: an epoch that waits for the store; NULL: none */
    struct usage usage;          /* of all epochs */
    struct usage waiting;        /* part of usage: messages that wait for the store */
    struct usage leaving;        /* part of usage: promised to go for new messages, see room.h */
    struct shares shares;        /* messages and bytes of each sender */
    struct {
        bool is_full; /* set when a deposit found no room, cleared by room_tick */
        bool is_told; /* the log has a line about it */
        struct log_gate gate;
    } fullness;
    struct standing *standing; /* owned: the watches, made with the first one. NULL: none yet */
};

/* Makes an empty host with epoch 0. -ERR_NOMEM. Borrows `alloc`. A host may not be moved. */
int host_init(struct host *host, const struct config_host *config, uint32_t number,
              const struct alloc *alloc, const struct bits_kernels *kernels, uint64_t hash_seed);
void host_deinit(struct host *host); /* a zeroed one is fine */

/* Bytes of a message that count against the caps. */
uint32_t host_message_bytes(const struct persist_message *message);

/* The epoch of this number. NULL: there is none, or it is over. */
struct epoch *host_epoch(const struct host *host, uint64_t number);

/* Takes an epoch over, and makes it the current one. The host has fewer than HOST_EPOCHS_MAX. */
void host_add_epoch(struct host *host, struct epoch *epoch);

/* Frees the epochs that are over, empty and without users. */
void host_drop_epochs(struct host *host);

/*
 * Puts a stored message into its epoch's index, unless the index has it already. 0; HOST_NO_EPOCH;
 * -ERR_NOMEM; -ERR_DAMAGED: its filter does not fit the profile. On failure nothing has changed.
 */
enum { HOST_NO_EPOCH = 1 };
int host_admit(struct host *host, const struct persist_message *message);

/*
 * Looks a message up in the indexes of all epochs: 0 or INDEX_NOT_FOUND. Outputs may be NULL.
 * out_filter has the profile's words. O(epochs).
 */
int host_find(const struct host *host, const uint8_t *id, struct epoch **out_epoch,
              struct index_item *out_item, uint64_t *out_filter);

/* Whether the host has a message of this id, shown or hidden, that has not expired at `now_ms`.
 * INT64_MIN: expired messages count, too. */
bool host_has(const struct host *host, const uint8_t *id, int64_t now_ms);

/* Removes a message from its index; copies its item to *out_item unless that is NULL. 0 or
 * INDEX_NOT_FOUND. */
int host_remove(struct host *host, const uint8_t *id, struct index_item *out_item);

/* One message of `bytes` comes, or goes. */
void usage_add(struct usage *usage, uint64_t bytes);
void usage_subtract(struct usage *usage, uint64_t bytes);

/* The estimated similarity of a query and a message that was found, in millionths. */
uint32_t host_estimated_similarity_ppm(const struct host *host, const uint64_t *query,
                                       const struct nearest_candidate *found);

#endif
