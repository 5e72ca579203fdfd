/* SPDX-License-Identifier: Apache-2.0 */
/* inner: the parts of own.h, for the files of this folder and their tests. */
#pragma once

#include <uv.h>

#include "client/bridge/feed/feed.h"
#include "client/bridge/setup/config.h"
#include "client/bridge/wire/wire.h"
#include "client/link/link.h"
#include "daemon/system/log.h"
#include "proto/letter.h"
#include "proto/limits.h"
#include "proto/msg.h"

/* --- apply ------------------------------------------------------------------------------------ */

/*
 * Brings changes into hearsayd, one request after another. What was asked for while hearsayd
 * is away is sent when it is back. A request that is too large for hearsayd, or that has a change
 * which hearsayd does not take, is split. A change that fails alone is left out, with a log line.
 */

enum { APPLY_JOBS_MAX = 64 }; /* that wait */

struct apply_job;

struct apply {
    const char *host;
    struct link *link; /* NULL: hearsayd is away */
    struct apply_job *first;
    struct apply_job *last;
    size_t count;
    uint64_t ticket;  /* of the first job; 0: not sent */
    uint64_t refused; /* changes that were left out, and requests that failed */
    uint64_t no_room; /* messages that hearsayd had no room for: not applied, and not in refused */
    struct log_gate gate;
    uint64_t room_said_ms; /* until then nothing is said of decisions without room */
};

/*
 * `done` is called when all changes are applied, left out, or without room; or with false and a
 * sentence where hearsayd fails, and may not fail later. It may be called before apply_push
 * returns. -ERR_NOMEM; or APPLY_FULL, where too many jobs wait: then `done` is not called.
 */
enum { APPLY_FULL = 1 };
typedef void apply_done(void *context, bool is_applied, const char *why);
int apply_push(struct apply *apply, const struct hearsay_change *changes, size_t count,
               enum hearsay_apply_as as, bool restored, apply_done *done, void *context);

void apply_greeted(struct apply *apply, struct link *link);
void apply_lost(struct apply *apply);

/* Whether the reply was for a job. */
bool apply_take_reply(struct apply *apply, const struct hearsay_reply *reply);

/* Drops all jobs without their callbacks. */
void apply_clear(struct apply *apply);

/* --- cursor ----------------------------------------------------------------------------------- */

/*
 * How far a host is published, in a file of the state directory. Losing the file costs
 * nothing but publishing all again: states may be sent any number of times.
 */

/*
 * As the place of the own head: the hub has lost it. A number that no head ever has, so that a
 * write which expects it is always refused. The old place would not do: a hub that was restored
 * from a backup gives numbers again, and another store's head may come to stand there.
 */
#define CURSOR_HEAD_LOST ((uint64_t)INT64_MAX)

struct cursor {
    uint8_t store_id[LIMIT_ID_BYTES];
    uint64_t seq; /* all changes up to here are at the hub */
    uint64_t
        term; /* the store's number among the owners of the host; 0: the hub does not know it */
    uint64_t head; /* where the own head is in the stream, or CURSOR_HEAD_LOST; 0: there is none,
                    * and in the file: the store was restored, and no head of it was accepted yet */
};

/* Reads the file of a host. All zero where the file is absent, damaged or cannot be read. */
void cursor_load(const char *directory, const char *host, struct cursor *out);

/* Replaces the file (fsync, rename). 0, or an errno. */
int cursor_save(const char *directory, const char *host, const struct cursor *cursor);

/* Removes the file. 0, or an errno; an absent file is fine. */
int cursor_remove(const char *directory, const char *host);

/* --- head ------------------------------------------------------------------------------------- */

/*
 * Reads and writes the head of a host at the hub. Writing succeeds only where the head that
 * was last seen is still the last one. Each call is one request, whose callback comes once, unless
 * wire_forget with the context comes before.
 */

enum head_outcome {
    HEAD_FOUND,    /* reading: *found is the head */
    HEAD_NONE,     /* reading: there is no head */
    HEAD_ACCEPTED, /* writing: found->place is where the new one stands */
    HEAD_REFUSED,  /* writing: another head stands at found->place; 0: none does */
    HEAD_FAILED    /* neither; found->error says why */
};

struct head {
    uint64_t place; /* sequence in the stream */
    uint8_t store_id[LIMIT_ID_BYTES];
    uint64_t seq;
    uint64_t term; /* the owner's number: the next owner has one more */
    int64_t as_of_ms;
    bool is_taken; /* back, by an operator: the store must be restored before it publishes */
    char profile[LIMIT_PROFILE_BYTES + 1]; /* reading: of the store that wrote it */
    char error[WIRE_ERROR_BYTES];
};

/* The term of a store that becomes the owner after the owner of `term`. */
uint64_t head_next_term(uint64_t term);

typedef void head_done(void *context, enum head_outcome outcome, const struct head *found);

/* Reads and writes the head of one host at the hub. At any time, at most one of its requests waits
 * for an answer. */
struct head_keeper {
    struct wire *wire;
    const char *host;
    head_done *done;
    void *context;
};

/* False: not sent; `done` is not called. */
bool head_read(struct head_keeper *keeper);
bool head_write(struct head_keeper *keeper, const struct head *head, const char *profile,
                uint64_t last_place);

/* --- claim ------------------------------------------------------------------------------------ */

/*
 * Whether this store owns a host at the hub. The head of the host says which store does. A
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
    int64_t sent_first_ms;   /* the times of the heads written since then, by hearsayd's clock */
    int64_t sent_last_ms;
    unsigned twin_heads; /* above 0: a copy of this store writes heads, too */
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

/* --- pages ------------------------------------------------------------------------------------ */

/*
 * Asks the readers of a host, through the hub, for its states, for the operator's words, and
 * for the digest. One request at a time.
 */

struct pages {
    struct wire *wire;
    const char *host;
    /* page NULL: no reader answered; `why` says why. The page is borrowed until the return. */
    void (*done)(void *context, const struct msg_page_ask *ask, const struct msg_page *page,
                 const char *why);
    void *context;
    struct msg_page_ask ask; /* under way */
    uint32_t wait_ms;        /* for the answer; longer after each silence */
};

/* False: not sent; `done` is not called. */
bool pages_ask(struct pages *pages, const struct msg_page_ask *ask);

/* --- digest ----------------------------------------------------------------------------------- */

/*
 * Compares what hearsayd has with what a reader has: how many messages, and the XOR of the
 * hashes of their states. Messages of the last minute, and those that end in the next, do not
 * count.
 */

enum digest_outcome {
    DIGEST_SAME,
    DIGEST_DIFFERENT,
    DIGEST_UNKNOWN /* no reader answered, or hearsayd was lost meanwhile */
};

struct digest {
    const char *host;
    const char *reader;
    struct link *link; /* NULL: none is under way */
    uint64_t ticket;   /* of a request for changes; 0: none */
    struct pages pages;
    struct feed_digest own;
    int64_t deposited_before_ms;
    int64_t expires_after_ms;
    void (*done)(void *context, enum digest_outcome outcome);
    void *context;
};

void digest_init(struct digest *digest, struct wire *wire, const char *host,
                 void (*done)(void *context, enum digest_outcome outcome), void *context);

/* Begins, unless one is under way. `reader` (borrowed until the end) names the reader that answers;
 * "": each may. now_ms is hearsayd's clock. */
void digest_begin(struct digest *digest, const char *reader, struct link *link, int64_t now_ms);
void digest_end(struct digest *digest); /* without `done` */

/* Whether the reply was for the digest. */
bool digest_take_reply(struct digest *digest, const struct hearsay_reply *reply);

/* --- compare ---------------------------------------------------------------------------------- */

/*
 * When the messages of a host are compared with those of a reader (digest). Once an hour;
 * soon after the hub, hearsayd or servers of the hub were away, since then the hub may have lost
 * what it has acknowledged; and when a reader asks for it, which was without the hub itself. All is
 * published again when two comparisons in a row have found a difference.
 *
 * The heads of the host are the clock: one is accepted every 30 seconds.
 */

struct compare_events {
    void (*wanted)(void *context);  /* a reader asks: call compare_now where that is possible */
    void (*differs)(void *context); /* twice in a row: all must be published again */
};

struct compare {
    struct digest digest;
    struct wire_subscription *requests; /* of readers */
    const struct compare_events *events;
    void *context;
    char reader[BRIDGE_NAME_BYTES]; /* who is asked; "": whichever answers */
    unsigned heads_left;            /* to the next comparison; 0: it is due */
    unsigned pause;                 /* heads to the next one when no reader answers */
    unsigned different;             /* comparisons, one after the other */
    uint64_t different_total;
    int64_t
        since_s; /* wall clock: something was away then, and nothing was compared since; 0: no */
    bool is_doubted_again; /* while the comparison was under way */
};

/* False: no memory. `events` and `host` are borrowed. */
bool compare_init(struct compare *compare, struct wire *wire, const char *host,
                  const struct compare_events *events, void *context);
void compare_stop(struct compare *compare);

/* Something was away that may have lost states: a comparison is due at the second head. */
void compare_doubt(struct compare *compare);

/* A head was accepted. Returns whether a comparison is due: then call compare_now as soon as all
 * is published, or at a later head. */
bool compare_head(struct compare *compare);

/* Begins, unless a comparison is under way. now_ms is hearsayd's clock. */
void compare_now(struct compare *compare, struct link *link, int64_t now_ms);

/* hearsayd or the hub is away: what is under way ends without a result. */
void compare_end(struct compare *compare);

/* --- errand ----------------------------------------------------------------------------------- */

/* One connection to the hub for a command that asks, waits and ends. */

struct errand {
    uv_loop_t loop;
    uv_timer_t timer;
    struct wire *wire;
    bool is_over;  /* what errand_wait waits for */
    bool has_time; /* the timer has not run out */
};

/* Becomes the configured user where root runs the command, and connects. 0, or -ERR_SYSTEM with a
 * sentence in out_reason (SETTINGS_REASON_BYTES). errand_close comes after both. */
int errand_open(struct errand *errand, const struct bridge_config *config, char *out_reason);
void errand_close(struct errand *errand);

/* Runs the loop until is_over is set, which it was not before; false: the time is over. */
bool errand_wait(struct errand *errand, uint64_t milliseconds);

/* Only lets time pass. */
void errand_pause(struct errand *errand, uint64_t milliseconds);

/* --- host ------------------------------------------------------------------------------------- */

/*
 * One host that this access point owns: its connection to hearsayd, how far it is published,
 * and what the hub brings back for it.
 */

struct host;

/* All pointers are borrowed. */
struct host_options {
    const struct bridge_config *config;
    const char *name;
    struct wire *wire;
    void (*fenced)(void *context, const char *host, bool is_fenced); /* as of own_events */
    void *context;
};

/* NULL: no memory. */
struct host *host_new(uv_loop_t *loop, const struct host_options *options);
void host_joined(struct host *host);
void host_parted(struct host *host);
void host_stop(struct host *host); /* then host_free, when the loop has closed its handles */
void host_free(struct host *host);

/* Figures, for lines of one host. */
struct host_figures {
    const char *name;
    const char *state; /* a short sentence */
    const char *error; /* "": nothing is wrong */
    uint64_t published;
    uint64_t seq;
    size_t waiting; /* sent, and not acknowledged */
    uint64_t rewinds;
    uint64_t restored;
    uint64_t refused;
    uint64_t digests_different;
    uint64_t failures;            /* heads and states that the hub did not store, ever */
    int64_t not_compared_since_s; /* wall clock; 0: compared since the last trouble */
    uint64_t head_age_ms;         /* since the last head, or since the start without one */
    bool has_head;                /* the hub has taken one since the start */
    bool is_owner;
    bool is_fenced;
};
void host_read_figures(const struct host *host, struct host_figures *out);

/* --- restore ---------------------------------------------------------------------------------- */

/*
 * Brings the states of a host, and then the operator's words, from a reader into hearsayd.
 * Waits for a reader, for hearsayd, and for room, as long as it takes. Where there may be no copy,
 * waits for a reader for one interval of heads only.
 */

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

/* --- orders ----------------------------------------------------------------------------------- */

/*
 * Brings each word of an operator into hearsayd as it comes from the hub. A subscription of
 * core NATS brings a message at most once, and may get lost: it only makes words faster, and
 * restore_poll gets the others.
 */

/* The caller sets what is borrowed. */
struct orders {
    uv_loop_t *loop;
    const char *host;
    struct apply *apply;
    struct restore *restore; /* asks for all words where one could not be applied */
    struct wire_subscription *subscriptions[2];
    struct log_gate gate;
};

void orders_begin(struct orders *orders, struct wire *wire);
void orders_end(struct orders *orders);

/* --- publish ---------------------------------------------------------------------------------- */

/*
 * Sends one page of changes to the hub, and keeps the page until a quorum of the hub has
 * stored all of it. What is not acknowledged is sent again, as often as it takes.
 */

struct publish;

struct publish_options {
    uv_loop_t *loop;
    struct wire *wire;
    const char *host;            /* borrowed */
    void (*done)(void *context); /* the page is stored; may begin the next one */
    void *context;
};

/* NULL: no memory. */
struct publish *publish_new(const struct publish_options *options);
void publish_stop(struct publish *publish); /* then publish_free, when the loop has closed it */
void publish_free(struct publish *publish);

/*
 * Begins with a page; an earlier one is dropped. 0, or -ERR_NOMEM. `done` is not called before the
 * function returns.
 */
int publish_begin(struct publish *publish, const struct hearsay_change *changes, size_t count);
void publish_drop(struct publish *publish);

/* Sends nothing more until publish_resume. */
void publish_pause(struct publish *publish);

/* After connecting: sends what is not acknowledged. */
void publish_resume(struct publish *publish);

/* How many changes of the page are not acknowledged; why the last one was not, "": nothing is
 * wrong; how many were acknowledged, ever. */
size_t publish_waiting(const struct publish *publish);
const char *publish_error(const struct publish *publish);
uint64_t publish_total(const struct publish *publish);

/* How many attempts the hub did not acknowledge, ever: it had no leader, no quorum, or no room. */
uint64_t publish_failures(const struct publish *publish);
