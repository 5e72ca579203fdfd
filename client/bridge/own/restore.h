/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restore: brings the states of a host, and then the operator's words, from a reader into hearsayd.
 * Waits for a reader, for hearsayd, and for room, as long as it takes. Where there may be no copy,
 * waits for a reader for one interval of heads only.
 */
#ifndef CLIENT_BRIDGE_OWN_RESTORE_H
#define CLIENT_BRIDGE_OWN_RESTORE_H

#include <uv.h>

#include "client/bridge/own/apply.h"
#include "client/bridge/own/claim.h"
#include "client/bridge/own/pages.h"
#include "daemon/system/log.h"

enum restore_stage { RESTORE_IDLE, RESTORE_STATES, RESTORE_WORDS, RESTORE_MARK };

struct restore {
    uv_timer_t retry;
    struct apply *apply; /* borrowed */
    struct pages pages;
    void (*done)(void *context, bool was_restore); /* false: only the words were asked for */
    void *context;
    enum restore_stage stage;
    bool is_restore;
    bool is_marked;   /* hearsayd has taken the mark; since its greeting */
    bool wants_words; /* again, after this */
    bool is_asking;   /* for a page */
    size_t jobs;      /* pages that hearsayd works on */
    bool has_more;
    uint64_t after;
    uint64_t states;         /* brought back, ever */
    uint64_t no_room;        /* messages without room in the last round; 0: this is the first one */
    uint64_t no_room_before; /* apply->no_room when the round began */
    uint64_t room_wait_ms;   /* until the next round; each time twice as long, up to 8 minutes */
    uint64_t gives_up_ms;    /* of uv_now, without a first answer; 0: never */
    char error[WIRE_ERROR_BYTES];
    struct log_gate gate;
    struct log_gate room_gate;
};

void restore_init(struct restore *restore, uv_loop_t *loop, struct wire *wire, struct apply *apply,
                  const char *host, void (*done)(void *context, bool was_restore), void *context);
void restore_stop(struct restore *restore);

/* Begins; without copies there is nothing to restore but the mark, and then the words. */
void restore_begin(struct restore *restore, enum claim_copies copies);
/* Only the operator's words, of an owner that was away; or later, after a failure. */
void restore_words(struct restore *restore);
void restore_words_later(struct restore *restore);
void restore_poll(struct restore *restore); /* the words, unless something is asked for already */
void restore_end(struct restore *restore);  /* without `done` */

#endif
