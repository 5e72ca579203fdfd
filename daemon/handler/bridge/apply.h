/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply: a request Apply while the store carries it out. apply.c takes the request and answers it,
 * apply_check.c checks the changes and makes operations of them, apply_room.c finds which messages
 * have room, apply_effect.c does in memory what the store has done.
 */
#pragma once

#include "daemon/handler/job.h"

struct apply_job;

/* One change. */
struct apply_item {
    struct apply_job *job;
    struct persist_op op;
    struct persist_rule rule; /* of a change of a rule */
    struct persist_decision decision;
    uint32_t taken_number; /* of a notice, until the store has answered; 0: none */
    bool is_counted;       /* the usage counts the message */
    bool is_left_out;      /* the change does not fit here, or there is no room for the rule */
    bool is_refused; /* there is no room for the message, as last counted, or for the copy's rule */
    bool is_late;    /* a rule that has room, if at all, when the other changes are done */
    bool shall_show; /* the message is visible now, and is in no index yet */
};

struct apply_job {
    struct job base; /* first */
    enum persist_as as;
    bool restored;            /* the host is restored when all is done */
    uint32_t bans;            /* new bans among the items */
    uint32_t late;            /* items that is_late, not submitted yet */
    uint32_t refused;         /* messages and rules for which there is no room */
    struct usage leaving;     /* of messages here that the request takes away */
    struct persist_op expiry; /* when there is no room */
    struct persist_removed expired[PERSIST_EXPIRE_MAX];
    struct persist_op mark;
    struct persist_rule mark_rule;
    struct persist_read read;      /* of messages that become visible */
    struct persist_entry *entries; /* owned; or NULL */
    struct hearsay_applied applied;
    enum persist_outcome failed; /* PERSIST_APPLIED: nothing has */
    char reason[PERSIST_REASON_BYTES];
    size_t pending; /* operations under way */
    size_t item_count;
    struct apply_item items[]; /* then what they point to */
};

/* --- apply_check.c ---------------------------------------------------------------------------- */

/* Whether the host may take this request. Otherwise sends an error. */
bool apply_check(struct ask *ask);

/* Whether a change has what it needs, and this host can store it. Otherwise *out_error says why. */
bool apply_fits(const struct ask *ask, const struct hearsay_change *change,
                struct msg_error *out_error);

/* How many bytes the operations of a request point to. */
size_t apply_content_bytes(const struct hearsay_apply *asked);

/* Makes the operation of a change that was checked. Its content goes to `at`; returns its end. */
uint8_t *apply_fill(struct apply_item *item, const struct hearsay_change *change, uint8_t *at);

/* The same for a rule that is_late, after the other changes. It may be left out then, or have no
 * room. */
void apply_fill_late(struct apply_item *item);

/* --- apply_room.c ----------------------------------------------------------------------------- */

/*
 * Counts the messages that are new here and have room as stored, unless they are counted already.
 * The other new ones get is_refused, and job->refused says how many there are. Returns whether
 * there are none.
 */
bool apply_count_messages(struct apply_job *job);

/* Sets job->leaving, which apply_count_messages takes as free. O(changes^2) */
void apply_credit_leaving(struct apply_job *job);

/* --- apply_effect.c --------------------------------------------------------------------------- */

/* The store has applied the change. */
void apply_take_effect(struct apply_item *item);

/* Puts messages into their indexes that shall be shown, after they were read into job->entries. */
void apply_show(struct apply_job *job);
