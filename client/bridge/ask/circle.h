/* SPDX-License-Identifier: Apache-2.0 */
/*
 * circle: the peers of one hood with one profile, by name, and what they have told (core/hood/).
 * No I/O, no clock.
 */
#ifndef CLIENT_BRIDGE_ASK_CIRCLE_H
#define CLIENT_BRIDGE_ASK_CIRCLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/bridge/setup/config.h"
#include "core/hood/hood.h"
#include "core/profile/profile.h"
#include "proto/letter.h"

enum {
    CIRCLE_PEERS_MAX = 256,
    CIRCLE_SKIPPED_MAX = 1024, /* counted beyond these; more hosts than that are not counted */
    CIRCLE_NOBODY = CIRCLE_PEERS_MAX, /* in place of the number of a peer */
    CIRCLE_MEET_MS = 5000,            /* so long after a beginning there may be hosts that have told
                                       * nothing yet */
    CIRCLE_AGAIN_MS = 2000, /* after a beginning all are asked once more: the hub's servers may not
                             * have known who hears the answers */
    CIRCLE_HOLD_MS = 15000, /* so long after a beginning no peer is asked by name: each tells a full
                             * word to all who have begun */
    CIRCLE_ASK_MS = 2000,   /* between two requests for the full word of a peer: at first */
    CIRCLE_ASK_MOST_MS = 60 * 1000, /* and after requests that brought no right word */
    CIRCLE_SILENT_MS = 2000,        /* so long waves wait but briefly for one that was silent */
    CIRCLE_GONE_MS = 24 * 60 * 60 * 1000 /* a peer that was silent for so long has gone */
};

struct circle_peer {
    char host[BRIDGE_NAME_BYTES]; /* "": free */
    bool is_other;                /* it has another profile: it is counted, and not asked */
    int64_t heard_ms;             /* monotonic */
    int64_t silent_ms; /* monotonic: when it left a query unanswered; 0: it has not, or was
                        * heard since */
    int64_t ask_ms;    /* monotonic: its full word is not asked for before */
    int64_t pause_ms;  /* since the last request for it; 0: a right word has come since */
};

/* A host with the circle's profile for which there is no room. It is counted, so that answers say
 * how many hosts they lack, and is never asked. */
struct circle_skipped {
    uint64_t name_hash;
    int64_t heard_ms; /* monotonic */
};

struct circle {
    struct circle *next;
    char hood_name[BRIDGE_NAME_BYTES];
    char profile_text[PROFILE_TEXT_MAX];
    struct profile profile;
    struct hood *hood; /* owned */
    struct circle_peer peers[CIRCLE_PEERS_MAX];
    struct circle_skipped skipped[CIRCLE_SKIPPED_MAX]; /* skipped_count of them, in no order */
    uint32_t skipped_count;
    uint32_t other_count;
    int64_t met_ms;   /* monotonic: from then on all that are there have told something; INT64_MAX:
                       * parted from the hub */
    int64_t heard_ms; /* monotonic: the last word of any host */
    int64_t known_ms; /* monotonic: all that were there at this time have told something; counts
                       * until met_ms; 0: there is no such time */
    int64_t again_ms; /* monotonic: all are asked once more then; 0: they were */
    int64_t hold_ms;  /* monotonic: see CIRCLE_HOLD_MS */
    uint64_t words;   /* heard */
    uint64_t voids;   /* how often a summary became void */
};

/* 0; -ERR_NOMEM; -ERR_SYSTEM: the text is no profile. */
int circle_new(const char *hood, const char *profile, struct circle **out_circle);
void circle_free(struct circle *circle); /* no search may be left; NULL is fine */

/* All peers are about to be asked for full words: the bridge has begun, or has joined the hub. */
void circle_join(struct circle *circle, int64_t monotonic_ms);

/* The connection to the hub is lost, so that the words of new hosts do not arrive. */
void circle_part(struct circle *circle, int64_t monotonic_ms);

/*
 * How old the knowledge is of which hosts there are, in milliseconds. 0: it is of now. INT64_MAX:
 * some may never have been heard, because the circle has begun just now.
 */
int64_t circle_age_ms(const struct circle *circle, int64_t monotonic_ms);

/* Whether all peers are to be asked once more now. */
bool circle_asks_again(struct circle *circle, int64_t monotonic_ms);

/*
 * A word of a host has come. now_ms is the time of the hood's clock, monotonic_ms of the other one.
 * Returns whether the word counts: false if there is no room for the host.
 */
bool circle_hear(struct circle *circle, const char *host, const struct msg_peer_summary *word,
                 int64_t now_ms, int64_t monotonic_ms);

/* The number of a peer with the circle's profile; CIRCLE_NOBODY: there is none. */
uint32_t circle_find(const struct circle *circle, const char *host);

/*
 * The next peer that the caller must ask for a full word now; NULL: none. Until the peer sends a
 * right word, the pause between two requests doubles, up to CIRCLE_ASK_MOST_MS. Peers and skipped
 * hosts that were silent for CIRCLE_GONE_MS leave the circle.
 */
const char *circle_next_void(struct circle *circle, int64_t monotonic_ms);

/*
 * When circle_asks_again or circle_next_void may have something to do, in monotonic milliseconds,
 * unless words come meanwhile; INT64_MAX: never.
 */
int64_t circle_due_ms(const struct circle *circle);

/* How many of the peers are known to be faulty; see hood_is_faulty. */
uint32_t circle_count_faulty(const struct circle *circle);

#endif
