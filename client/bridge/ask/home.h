/* SPDX-License-Identifier: Apache-2.0 */
/*
 * home: one host of the hearsayd here that belongs to a hood. A home has its own connection to
 * hearsayd. By this connection
 *
 *   - the home asks which messages the host has, and tells the neighbours: it publishes words
 *     (core/hood/hood.h) at the hub;
 *   - the home passes on the queries of neighbours, and sends the answers back (answers).
 */
#pragma once

#include "client/bridge/ask/inner.h"
#include "client/link/link.h"

struct home;

/* All pointers are borrowed. NULL: no memory. */
struct home *home_new(uv_loop_t *loop, const struct bridge_config *config,
                      const struct bridge_host *host, struct wire *wire);
void home_joined(struct home *home);
void home_parted(struct home *home);
void home_stop(struct home *home); /* then home_free, when the loop has closed its handles */
void home_free(struct home *home);

const char *home_hood(const struct home *home);
const char *home_name(const struct home *home);

/* A neighbour asks for full words: is_named: of this host only; else of all hosts of the hood. */
void home_tell_all(struct home *home, bool is_named);

/* Another store owns the host at the hub, or does so no more. A silent home tells nothing and
 * answers no query: the store of the owner does. */
void home_silence(struct home *home, bool is_silent);

/* Figures, for lines of one host. */
struct home_figures {
    const char *name;
    const char *hood;
    const char *error; /* "": nothing is wrong */
    bool is_silent;
    uint64_t full; /* summaries that went out */
    uint64_t deltas;
    uint64_t keepalives;
    uint64_t answered; /* queries of neighbours */
    uint64_t refused;  /* queries above the rate, and those for which there was no room */
    uint64_t told_ms;  /* since the last summary; UINT64_MAX: there was none */
    uint32_t groups;
};
void home_read_figures(const struct home *home, struct home_figures *out);

/* --- answers ---------------------------------------------------------------------------------- */

/*
 * Queries of neighbours for one host here. A bounded queue; hearsayd finds the answers. A
 * query costs the neighbour that asks as many tokens as it would cost a phone at hearsayd
 * (proto/price.h), but full parts cost nothing more here. Each further ANSWERS_PAGE results that it
 * asks for cost one token more. Who asks is in the subject of the query, where the servers of the
 * hub have put it. No header says so: the asker could write it itself.
 */

enum {
    ANSWERS_QUEUE_MAX = 64, /* queries that wait */
    ANSWERS_SENT_MAX = 8,   /* queries at hearsayd */
    ANSWERS_OLD_MS = 250,   /* a query that waited so long is dropped: nobody waits for it */
    ANSWERS_PAGE = 64,
    ANSWERS_BYTES_MAX = 65536 /* of one query */
};

struct answers_query {
    char reply[WIRE_SUBJECT_BYTES];
    char asker[BRIDGE_NAME_BYTES]; /* see subject_asker */
    int64_t came_ms;
    uint8_t *letter; /* owned; NULL once it is at hearsayd */
    size_t size;
    uint64_t ticket;
};

/* The first four fields are the caller's. */
struct answers {
    const char *host;
    uint32_t per_minute; /* of each neighbour */
    struct wire *wire;
    struct link *link;                             /* NULL: hearsayd is away */
    struct answers_query queue[ANSWERS_QUEUE_MAX]; /* a ring */
    size_t first;
    size_t waiting;
    struct answers_query sent[ANSWERS_SENT_MAX]; /* ticket 0: free */
    struct rates rates;
    uint64_t answered;
    uint64_t refused;
};

/* A query of a neighbour has come. Monotonic time. */
void answers_take(struct answers *answers, const struct wire_message *message, int64_t now_ms);

/* Whether the response of hearsayd belongs to a query; if so, the answer goes out. */
bool answers_respond(struct answers *answers, const struct hearsay_response *response,
                     int64_t now_ms);

/* Forgets all queries: hearsayd or the hub is lost. */
void answers_clear(struct answers *answers);

/* --- due -------------------------------------------------------------------------------------- */

/*
 * When a host tells its neighbours its next full word, and when it must show that it is there.
 * No I/O, no clock: all times are monotonic, in milliseconds.
 *
 * Each word goes to every access point of the hood, and a full word has 2.5 KB. So neighbours that
 * ask for full words cannot make a host tell as many as they like:
 *
 *   A neighbour asks for all hosts because it has just started. The host tells within a second or
 *   so that it is there. A full word follows, at least all_gap_ms after the full word before it.
 *   A neighbour asks for this host because it has missed a word. A full word follows, at least
 *   DUE_GAP_MS after the full word before it. After DUE_NAMED of them in a row the gap is
 *   all_gap_ms.
 *   A message has come that the groups cover. The host tells within DUE_GAP_MS how new it is, since
 *   neighbours rule a host out by the time of its newest message, too.
 */

enum {
    DUE_GAP_MS = 1000, /* between two full words */
    DUE_SPREAD_MS = 200,
    DUE_STRETCH = 10,
    DUE_NAMED = 4 /* full words for neighbours that name the host, without the long gap */
};

struct due {
    uint64_t all_gap_ms; /* between two full words for neighbours that ask for all hosts */
    uint64_t full_ms;    /* a full word is due then; UINT64_MAX: none is due */
    uint64_t held_ms;    /* no full word before */
    uint64_t last_ms;    /* when the last full word was made; 0: never */
    uint64_t word_ms;    /* any word is due then; UINT64_MAX: none is due */
    uint64_t told_ms;    /* when the last word went out; 0: never */
    struct bucket named;
};

/* Nothing is due. all_gap_ms is at most a minute. */
void due_init(struct due *due, uint64_t all_gap_ms);

/* The host itself has a reason for a full word: it is due in least_ms, or later by the gap. */
void due_want(struct due *due, uint64_t now_ms, uint64_t least_ms);

/*
 * The host has something to say that needs no group: it is there, or a message has come that its
 * groups cover. A word is due in least_ms, or later: at least DUE_GAP_MS after the word before it.
 * If one is due already, it stays due when it is.
 */
void due_show(struct due *due, uint64_t now_ms, uint64_t least_ms);

/* hearsayd gave no groups: no full word is made within this time, and one is due then. */
void due_hold(struct due *due, uint64_t now_ms, uint64_t hold_ms);

/*
 * A neighbour asks for full words. is_named: of this host only. wait_ms is random and below
 * DUE_SPREAD_MS, so that not all hosts of a hood tell something at the same moment. A full word for
 * a neighbour that asks for all hosts waits DUE_STRETCH times as long.
 */
void due_ask(struct due *due, bool is_named, uint64_t now_ms, uint64_t wait_ms);

/* due_begin: a full word is being made. due_made: it was made. due_told: a word went out. */
void due_begin(struct due *due);
void due_made(struct due *due, uint64_t now_ms);
void due_told(struct due *due, uint64_t now_ms);

/* --- home_inner ------------------------------------------------------------------------------- */

/*
 * The two parts of a home. home.c has its beginning and end, its connection to hearsayd, and what
 * others ask of it. home_turn.c asks hearsayd what the host has, and tells the neighbours.
 */

enum { HOME_RETRY_MS = 1000 }; /* hearsayd cannot be asked now: when the next attempt is made */

struct home {
    uv_loop_t *loop;
    const struct bridge_config *config;
    const struct bridge_host *host;
    struct wire *wire;
    struct wire_subscription *queries;
    uv_timer_t retry; /* of the link */
    uv_timer_t turn;  /* when something is due */
    struct link *link;
    bool is_greeted;
    bool is_silent; /* home_silence */
    char error[WIRE_ERROR_BYTES];
    struct log_gate gate;
    char profile[PROFILE_TEXT_MAX];
    struct told told;
    uint64_t cursor;        /* all changes up to here are in `told` */
    int64_t clock_shift_ms; /* of hearsayd's clock since its greeting */
    uint64_t keepalive_ms;  /* between two keepalives */
    /* Requests that are under way; ticket 0: none. asked_ms: the time of hearsayd when it was sent.
     */
    struct {
        uint64_t ticket;
        int64_t asked_ms;
    } groups, ping;
    struct {
        uint64_t ticket;
        int64_t asked_ms;
        uint64_t after;
    } changes;
    int64_t as_of_ms; /* all messages of before are in `told` */
    struct due due;
    uint64_t changes_due_ms; /* monotonic: not before */
    unsigned repeats;        /* of the full word, still to come */
    struct answers answers;
    uint64_t full;
    uint64_t deltas;
    uint64_t keepalives;
};

/* Logs the sentence `what: why`, now and then, and keeps `why` for `status`. */
void home_note_trouble(struct home *home, const char *what, const char *why);

/* Asks hearsayd and tells neighbours what is due, and sets the timer for the rest. */
void home_take_turn(struct home *home);

/* hearsayd has answered a request of home_take_turn, or of `answers`. */
void home_take_response(struct home *home, const struct hearsay_response *response);
