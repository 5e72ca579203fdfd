/* SPDX-License-Identifier: Apache-2.0 */
/*
 * claim: whether this store owns a host at the hub. The head of the host says which store does. A
 * claim writes the head at its beginning and then once each interval, each time with the place of
 * the head that it last wrote: the hub refuses that where another head stands, or none. So one
 * answer tells three things: all is well; the hub has lost something (then all is published again);
 * another store is the owner now (FENCED: this one stops).
 *
 * Each new owner has a term that is one higher than that of the head before (a fencing token). A
 * hub that has lost states may show the head of an earlier owner: its lower term tells that.
 *
 * Reading the head may show an older one, because any node of the hub answers. So nothing is
 * decided on a head that is not the one for which the hub has refused a write.
 */
#ifndef CLIENT_BRIDGE_OWN_CLAIM_H
#define CLIENT_BRIDGE_OWN_CLAIM_H

#include <uv.h>

#include "client/bridge/own/cursor.h"
#include "client/bridge/own/head.h"
#include "client/bridge/wire/wire.h"

/* What the hub says about copies of a host. */
enum claim_copies {
    CLAIM_NO_COPIES,    /* they have another profile */
    CLAIM_MAYBE_COPIES, /* it has no head: the host is new, or servers have lost the head */
    CLAIM_COPIES
};

enum claim_state {
    CLAIM_OFF,       /* no hub or no hearsayd */
    CLAIM_LOOKING,   /* the hub has not said yet */
    CLAIM_RESTORING, /* the store is new; the owner of the claim restores it */
    CLAIM_WAITING,   /* restored; the store of before must be silent for one interval */
    CLAIM_OWNER,
    CLAIM_FENCED
};

struct claim_events {
    /* Then claim_restored. is_again: the store may have been restored before. */
    void (*restore)(void *context, enum claim_copies copies, bool is_again);
    void (*owned)(void *context);     /* may publish from now on */
    void (*fenced)(void *context);    /* must stop publishing */
    void (*rewound)(void *context);   /* cursor->seq is 0 again */
    int64_t (*now_ms)(void *context); /* the clock of hearsayd */
};

struct claim {
    uv_timer_t timer;
    struct wire *wire;
    const char *host;
    struct cursor *cursor; /* borrowed: `seq` is read, the rest is the claim's */
    const struct claim_events *events;
    void *context;
    struct head_keeper keeper;
    enum claim_state state;
    bool is_fresh;        /* the store has never been restored */
    bool is_new;          /* it has been restored, and no head of it was accepted since then */
    bool has_heads;       /* the head at the hub is of another store */
    struct cursor before; /* of the store that was here before; all zero: none */
    uint8_t seen_store_id[LIMIT_ID_BYTES]; /* of the other store whose head was seen last */

    uint64_t seen;        /* place of that head */
    int64_t seen_ms;      /* its time, by the clock of its hearsayd; 0: none */
    uint64_t refused_for; /* the place for which a write was refused */
    bool is_refused;      /* refused_for counts */
    bool has_lost_head;   /* the hub has: `seen` is its last head, 0: none */
    unsigned looks;       /* at heads that are older than refused_for, since the refusal */
    uint64_t interval_ms;
    uint64_t accepted_at_ms; /* uv_now of the last head; 0: none */
    uint64_t rewinds;
    uint64_t failures; /* heads that the hub did not store, ever */
    bool is_behind;    /* since the last rewind not all was published */
    bool owes_rewind;  /* the hub has lost the head meanwhile: all goes once more after that */
    char profile[LIMIT_PROFILE_BYTES + 1];
    char error[WIRE_ERROR_BYTES]; /* why the last head was not written; "": it was */
    struct log_gate gate;
};

void claim_init(struct claim *claim, uv_loop_t *loop, struct wire *wire, const char *host,
                struct cursor *cursor, const struct claim_events *events, void *context);
void claim_stop(struct claim *claim);

/* The hub and hearsayd are there. cursor->store_id is the store's; is_fresh and is_new as above. */
void claim_begin(struct claim *claim, const char *profile, bool is_fresh, bool is_new,
                 const struct cursor *before);
void claim_end(struct claim *claim); /* one of them is gone */
void claim_restored(struct claim *claim);

/* As if the hub had lost something: all is published again. */
void claim_rewind(struct claim *claim, const char *why);

/* All that hearsayd has is published. */
void claim_caught_up(struct claim *claim);

const char *claim_text(const struct claim *claim);

#endif
