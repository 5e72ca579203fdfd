/* SPDX-License-Identifier: Apache-2.0 */
/* inner: the parts of ask.h, for its files and their tests. */
#pragma once

#include <uv.h>

#include "client/bridge/setup/config.h"
#include "client/bridge/wire/wire.h"
#include "client/hearsay.h"
#include "core/base/bucket.h"
#include "core/hood/hood.h"
#include "core/hood/search.h"
#include "core/profile/profile.h"
#include "core/summary/groups.h"
#include "proto/letter.h"

/* --- told ------------------------------------------------------------------------------------- */

/*
 * What a host has told its neighbours about its messages, and what it has still to tell
 * (core/hood/hood.h has the words). No I/O, no clock.
 *
 *   told_begin      the groups of hearsayd: the next word is full
 *   told_add        for each message that comes after
 *   told_write      the next word; told_sent when it went out
 */

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

/* --- circle ----------------------------------------------------------------------------------- */

/*
 * The peers of one hood with one profile, by name, and what they have told (core/hood/).
 * No I/O, no clock.
 */

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

/* --- rates ------------------------------------------------------------------------------------ */

/* How much each peer may ask: a token bucket for each name. No I/O, no clock. */

enum { RATES_MAX = 256, RATES_REST = 10 };

struct rates_peer {
    char name[BRIDGE_NAME_BYTES]; /* "": free */
    struct bucket bucket;
};

/* Zeroed: all buckets are full. */
struct rates {
    struct rates_peer peers[RATES_MAX];
    struct bucket rest; /* of all for whom there is no place: RATES_REST times as large */
};

/*
 * Takes tokens of the peer, whose name the hub has vouched for (subject_asker) and has fewer than
 * BRIDGE_NAME_BYTES. False: it has too few, and none was taken. A peer gains `per_minute`
 * tokens a minute, and has at most a sixth of them, at least 10. A query pays one token before its
 * cost is known. So a cost is lowered to this most less one: else a dear query could never be paid.
 */
bool rates_take(struct rates *rates, const char *name, uint32_t per_minute, uint32_t cost,
                int64_t now_ms);

/* --- summary_limit ---------------------------------------------------------------------------- */

/*
 * How much a peer may publish as its summaries. The servers of the hub deliver what
 * one access point publishes to every other one of its hood, and have no limit for that. So each
 * bridge drops what is too large or comes too fast, before it decodes it, and counts the drops by
 * peer. A dropped summary changes no answer: the peer counts as one whose summary is not known, and
 * is asked. No I/O, no clock: all times are monotonic, in milliseconds.
 */

enum {
    SUMMARY_BYTES_MAX = 48 * 1024,   /* more than the largest summary of the largest profile has */
    SUMMARY_UNIT_BYTES = 1024,       /* a summary costs a token, and one more for each of these */
    SUMMARY_PER_MINUTE = 6000,       /* tokens: twice what a peer with the default profile needs */
    SUMMARY_OVER_MAX = 8,            /* peers that are named at the same time */
    SUMMARY_OVER_MS = 10 * 60 * 1000 /* for how long after its last drop a peer is named */
};

/* A peer of which something was dropped. */
struct summary_over {
    char host[BRIDGE_NAME_BYTES]; /* "": free */
    uint64_t dropped;
    int64_t last_ms;
};

/* Zeroed: nothing was dropped. */
struct summary_limit {
    struct rates rates;
    struct summary_over over[SUMMARY_OVER_MAX]; /* those with the latest drops */
    uint64_t dropped;                           /* of all peers */
};

/* Whether a message of `bytes` that the host has published may be decoded. If not, counts it. The
 * host's name has fewer than BRIDGE_NAME_BYTES. */
bool summary_limit_admits(struct summary_limit *limit, const char *host, size_t bytes,
                          int64_t monotonic_ms);

/* Whether the entry is to be named now. */
bool summary_limit_is_over(const struct summary_over *over, int64_t monotonic_ms);

/* --- hoods ------------------------------------------------------------------------------------ */

/*
 * What the neighbours tell. Hears the summaries of each hood that a host here belongs to,
 * keeps them in circles, and asks for those that got lost.
 */

struct hoods;

struct hoods_events {
    void (*closes)(void *context); /* no search may be left after the call */
    void (*wanted)(void *context, const char *hood,
                   const char *host); /* a neighbour wants full
                                       * summaries of the host; "": of all */
};

/* All pointers are borrowed. NULL: no memory. */
struct hoods *hoods_new(uv_loop_t *loop, const struct bridge_config *config, struct wire *wire,
                        const struct hoods_events *events, void *context);
void hoods_joined(struct hoods *hoods);
void hoods_parted(struct hoods *hoods);
void hoods_stop(struct hoods *hoods); /* then hoods_free, when the loop has closed its handles */
void hoods_free(struct hoods *hoods); /* NULL is fine */

/*
 * hearsayd has greeted: its hosts are no neighbours, and their profiles are those of the circles.
 * The circles stay as they are if hearsayd has the same hosts as before, because the words of
 * neighbours have come meanwhile. False: no memory.
 */
bool hoods_meet(struct hoods *hoods, const struct hearsay_welcome *welcome);

/* The clock of hearsayd is so far ahead of the loop's. */
void hoods_set_clock(struct hoods *hoods, int64_t ahead_ms);
int64_t hoods_now_ms(const struct hoods *hoods);
int64_t hoods_monotonic_ms(const struct hoods *hoods); /* the loop's clock */

/* The circle of a host of hearsayd; NULL: there is none. */
struct circle *hoods_circle_of(const struct hoods *hoods, const char *host);

/* What of the summaries was dropped, and whose they were. */
const struct summary_limit *hoods_limit(const struct hoods *hoods);

/* The first circle; circle->next is the next one. NULL: there is none. */
const struct circle *hoods_first(const struct hoods *hoods);

/* --- kept ------------------------------------------------------------------------------------- */

/* The results of a neighbour's answer, checked and copied, until the round is over. */

struct kept {
    struct kept *next;
    uint32_t peer;
    char host[BRIDGE_NAME_BYTES];
    struct hearsay_result *results; /* count of them; they borrow from this block */
    struct hood_found *found;       /* of the same, for the search */
    uint32_t count;
    size_t payload_bytes;
};

/*
 * Copies, of the first k results, those whose filters fit `bits` and whose times a message can
 * have, as one block that the caller frees. Results get `host` as their host. Payloads are left
 * out, with their types, once they have more than payload_most bytes. NULL: no memory.
 */
struct kept *kept_new(const struct hearsay_results *results, uint32_t k, uint32_t bits,
                      uint32_t peer, const char *host, size_t payload_most);

/* --- round ------------------------------------------------------------------------------------ */

/*
 * One ask of hearsayd on its way: waves of queries to neighbours, their answers, the result
 * (core/hood/search.h decides who is asked). No I/O, no clock: queries go out by `send`, and times
 * come from the caller.
 *
 *   round_new -> round_begin -> send ... -> round_take ... -> done
 *                               round_tick when round_due_ms is over
 */

enum {
    ROUND_WAVE_MS = 250,  /* a neighbour that has not answered by then is silent */
    ROUND_SILENT_MS = 50, /* so long a wave waits for neighbours that were silent just before */
    ROUND_MARGIN_MS = 20, /* hearsayd has the answer so long before it stops waiting */
    ROUND_KEPT_BYTES = 4 * 1024 * 1024, /* of payloads; others are left out */
    ROUND_REST_BYTES = 256 /* of an answer to hearsayd, beside its results: an upper bound */
};

struct round;

struct round_events {
    /* Sends a letter to a neighbour. False: it cannot be sent. Calls nothing of the round. */
    bool (*send)(void *context, struct round *round, uint32_t peer, const void *data, size_t size);
    /* The round is over; the caller frees it. `results` is borrowed for the call. NULL: there is no
     * answer. */
    void (*done)(void *context, struct round *round, const struct hearsay_results *results);
};

/*
 * Copies the ask. The circle and `events` are borrowed. frame_bytes is the most that an answer may
 * have. NULL: no memory, or the ask is none that can be asked.
 */
struct round *round_new(struct circle *circle, const struct hearsay_ask *ask, size_t frame_bytes,
                        const struct round_events *events, void *context, int64_t monotonic_ms);
void round_free(struct round *round); /* NULL is fine; at any time but within `send` */

void *round_owner(const struct round *round); /* `context` */
uint64_t round_ask_id(const struct round *round);
struct circle *round_circle(const struct round *round);
uint32_t round_waves(const struct round *round);

/* Sends the first wave. now_ms is by the clock of the circle's words. May call `done`. */
void round_begin(struct round *round, int64_t now_ms, int64_t monotonic_ms);

/* A neighbour has answered; NULL: it is not there, or has no answer. May send, and may call `done`.
 */
void round_take(struct round *round, uint32_t peer, const struct msg_peer_results *answer,
                int64_t monotonic_ms);

/* When round_tick has to be called: monotonic. It ends a wave or the round. INT64_MAX: the round
 * has not begun. */
int64_t round_due_ms(const struct round *round);
void round_tick(struct round *round, int64_t monotonic_ms);

/* --- shuffle ---------------------------------------------------------------------------------- */

/*
 * The order in which asks go out. The first ask after a pause goes out at once. Asks that
 * come within SHUFFLE_MS of the last that went out wait until this time is over, and then go out in
 * random order. So their order on the wire does not show which of them one phone has sent. No I/O,
 * no clock.
 */

enum { SHUFFLE_MS = 50, SHUFFLE_MAX = 64 };

/* Zeroed: empty. */
struct shuffle {
    void *items[SHUFFLE_MAX]; /* borrowed */
    size_t count;
    int64_t closed_until_ms;
};

/* Adds an item. False: there are SHUFFLE_MAX already. */
bool shuffle_add(struct shuffle *shuffle, void *item);

/* Returns when items can be taken: a time in the past, or of `now_ms` on. INT64_MAX: never, there
 * are none. */
int64_t shuffle_due_ms(const struct shuffle *shuffle);

/*
 * If shuffle_due_ms has been reached, takes all items out and writes them to `out`, which has room
 * for SHUFFLE_MAX, in random order. Returns how many; 0: it is not time yet, or there are none.
 * random_below(n) returns a number below n.
 */
size_t shuffle_take(struct shuffle *shuffle, int64_t now_ms, uint32_t (*random_below)(uint32_t n),
                    void **out);

/* Takes an item out; does nothing if it is not there. */
void shuffle_remove(struct shuffle *shuffle, const void *item);

/* --- desk ------------------------------------------------------------------------------------- */

/* The connection by which hearsayd asks for messages of other servers, and what is asked. */

struct desk;

/* All pointers are borrowed. Connects, and again for ever. NULL: no memory. */
struct desk *desk_new(uv_loop_t *loop, const struct bridge_config *config, struct wire *wire,
                      struct hoods *hoods);
void desk_end_rounds(struct desk *desk); /* no search is left after it */
void desk_stop(struct desk *desk);       /* then desk_free, when the loop has closed its handles */
void desk_free(struct desk *desk);       /* NULL is fine */

/* What became of the asks of hearsayd. */
struct desk_figures {
    const char *error; /* why there is no connection; "": there is one */
    uint64_t asks;
    uint64_t peers_asked;
    uint64_t peers_silent;
    uint64_t waves;
    uint64_t incomplete;
};
void desk_read_figures(const struct desk *desk, struct desk_figures *out);
