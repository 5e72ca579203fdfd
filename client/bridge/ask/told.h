/* SPDX-License-Identifier: Apache-2.0 */
/*
 * told: what a host has told its neighbours about its messages, and what it has still to tell
 * (core/hood/hood.h has the words). No I/O, no clock.
 *
 *   told_begin      the groups of hearsayd: the next word is full
 *   told_add        for each message that comes after
 *   told_write      the next word; told_sent when it went out
 */
#ifndef CLIENT_BRIDGE_ASK_TOLD_H
#define CLIENT_BRIDGE_ASK_TOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/summary/groups.h"
#include "proto/letter.h"

enum {
    TOLD_DELTAS = 16, /* groups told after a full word; then another full one is due */
    TOLD_DELTAS_MAX = 48,
    TOLD_GROUPS_MAX = GROUPS_MAX + TOLD_DELTAS_MAX /* at most HOOD_GROUPS_MAX */
};

/*
 * Reads a group from a letter or an answer of hearsayd; its union goes to `filter`, which the group
 * borrows. Returns false if the union or the ranges do not fit the profile.
 */
bool told_read_group(const struct profile *profile, const struct hearsay_summary_group *from,
                     uint64_t *filter, struct group *out);

/* Zeroed: nothing is known, and a full word is due. */
struct told {
    struct profile profile;
    uint64_t *filters; /* owned: of the groups, in their order */
    uint8_t *stored;   /* owned: the same, as a letter has them */
    struct group groups[TOLD_GROUPS_MAX];
    uint32_t count;
    uint32_t full_count; /* groups of the full word */
    uint32_t sent_count; /* groups that went out; the others wait */
    uint64_t seq;        /* the groups cover all messages up to here */
    uint64_t sent_seq;   /* of the last word that went out */
    int64_t newest_ms;   /* of messages since that word whose groups went out before it */
    bool is_begun;       /* there are groups of hearsayd */
    bool has_full;       /* the full word went out */
    bool is_lost;        /* what came is not known: a full word is due */
};

/* 0, or -ERR_NOMEM. The profile is copied. */
int told_init(struct told *told, const struct profile *profile);
void told_deinit(struct told *told); /* a zeroed one is fine */

/* Nothing that was told counts any more: the store is another one, or words got lost. */
void told_forget(struct told *told);

/* Takes over the groups that hearsayd has; they cover all messages up to `seq`. False: they do not
 * fit the profile. */
bool told_begin(struct told *told, const struct hearsay_summary_group *groups, size_t count,
                uint64_t seq);

/* A message has come; its filter is in stored form. A filter that does not fit the profile makes a
 * full word due. */
void told_add(struct told *told, const uint8_t *filter, size_t filter_bytes, int64_t deposited_ms);

/* All messages up to `seq` were added. */
void told_reach(struct told *told, uint64_t seq);

/* Whether new groups of hearsayd are due; and whether no delta may go out before they are there. */
bool told_wants_groups(const struct told *told);
bool told_waits_for_groups(const struct told *told);

/* Whether there are groups to tell; and whether there is a newer time of groups that were told. */
bool told_has_news(const struct told *told);
bool told_has_time(const struct told *told);

/*
 * Writes the next word: a full one, a delta or a keepalive. `groups` has GROUPS_MAX entries; the
 * letter borrows them and from `told`. store_id, profile and as_of_ms are the caller's.
 */
void told_write(const struct told *told, struct msg_peer_summary *out,
                struct hearsay_summary_group *groups);
void told_sent(struct told *told);

#endif
