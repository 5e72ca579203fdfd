/* SPDX-License-Identifier: Apache-2.0 */
/* inner: the parts of a reader of the hub, for the files of this folder and their tests. */
#pragma once

#include <uv.h>

#include "client/bridge/wire/wire.h"
#include "client/hearsay.h"
#include "daemon/system/log.h"
#include "proto/arena.h"
#include "proto/msg.h"

/* --- erase ------------------------------------------------------------------------------------ */

/*
 * Overwrites messages in the streams of the hub. A server that drops a message, because a
 * newer one came or its time is over, leaves the bytes in its file; one that erases it overwrites
 * them.
 */

enum { ERASE_KEY_BYTES = 16, ERASE_WAITING_MAX = 1024 };

struct erase;

/* `wire` is borrowed. `has_room` is called when few requests wait, after there were too many. 0, or
 * -ERR_NOMEM. */
int erase_new(struct wire *wire, void (*has_room)(void *context), void *context,
              struct erase **out_erase);
void erase_free(struct erase *erase); /* ends what waits; NULL is fine */

/* What waits, because it came without a connection, goes on. */
void erase_start(struct erase *erase);

/*
 * Erases the messages of a subject up to the number `last` of the stream. Then calls `done`, if it
 * is not NULL, with what is true of all servers that are up; is_erased is false if the hub was lost
 * before, or did not answer. -ERR_NOMEM, or ERASE_FULL if ERASE_WAITING_MAX requests wait: then
 * `done` is not called; else 0. Without `done` what is not erased is noted for erase_take_missed.
 */
enum { ERASE_FULL = 1 };
typedef void erase_done(void *context, const uint8_t *key, bool is_erased);
int erase_subject(struct erase *erase, const char *stream, const char *subject, uint64_t last,
                  erase_done *done, void *context, const uint8_t *key);

/* Erases one message. If there is no room, it is noted that one was missed. */
void erase_message(struct erase *erase, const char *stream, uint64_t seq);

/* Whether half of ERASE_WAITING_MAX may be asked for. */
bool erase_has_room(const struct erase *erase);

/* Once nothing waits: whether anything was not erased since the last call, so that all must be
 * looked through again. */
bool erase_take_missed(struct erase *erase);

/* How many messages were overwritten, and how many requests wait. */
uint64_t erase_count(const struct erase *erase);
uint64_t erase_waiting(const struct erase *erase);

/* --- near ------------------------------------------------------------------------------------- */

/* The connection to the reader's hearsayd, and the requests that wait for its answers. */

struct near;

/* `reply` is NULL if the connection was lost, or the server refused: `error` says then why. */
typedef void near_done(void *context, const struct hearsay_reply *reply,
                       const struct hearsay_error *error);

struct near_events {
    void (*greeted)(void *context);
};

/* `server` and `events` are borrowed. Connects, and again for ever. 0, or -ERR_NOMEM. */
int near_new(uv_loop_t *loop, const char *server, const struct near_events *events, void *context,
             struct near **out_near);
void near_stop(struct near *near); /* ends requests without their callbacks; NULL is fine */

/* Sends a request, and calls `done` once, not before the function returns. HEARSAY_OK;
 * HEARSAY_ERR_ARGUMENT: too large for a frame of hearsayd; or another error. Not sent, unless
 * HEARSAY_OK. */
int near_ask(struct near *near, const struct hearsay_request *request, near_done *done,
             void *context);

/* `done` of requests with this context is not called any more. */
void near_forget(struct near *near, const void *context);

/* Most messages that hearsayd stores of the host; 0: not known. */
uint64_t near_messages_max(const struct near *near, const char *host);

/* A hash of the store of hearsayd, as in struct state; 0: it is not up. */
uint64_t near_store(const struct near *near);

bool near_is_up(const struct near *near);
const char *near_error(const struct near *near); /* why it is not up */

/* --- table ------------------------------------------------------------------------------------ */

/* What the hub has of each message or rule of a host, by 16 bytes. */

enum { TABLE_KEY_BYTES = 16 };

struct table_row {
    uint8_t key[TABLE_KEY_BYTES];
    uint64_t seq;      /* in the stream; 0: the row is free */
    uint64_t decision; /* that the owner has taken note of: as in struct state */
    int64_t until_ms;  /* when its time is over; 0: never */
    bool has_payload;
    bool is_rule;
};

struct table {
    struct table_row *rows;
    size_t room; /* a power of two, or 0 */
    size_t count;
};

/* The row of the key; NULL: there is none. */
struct table_row *table_find(const struct table *table, const uint8_t *key);

/* The row of the key, a new one if there was none: its seq is then 0 and must be set. NULL: no
 * memory. */
struct table_row *table_add(struct table *table, const uint8_t *key);

/* Removes the row. Other rows move. */
void table_remove(struct table *table, struct table_row *row);

/* Frees the rows; the table is empty then. */
void table_clear(struct table *table);

/* --- state ------------------------------------------------------------------------------------ */

/* What a Change says of a message or rule, as far as the hub's side cares. */

/* `state` of a message that is no more. Else it is the state of an ExportedMessage; 0 of a rule. */
enum { STATE_GONE = 255 };

struct state {
    uint8_t key[TABLE_KEY_BYTES]; /* the id of the message; of a rule, a hash of kind and value */
    uint64_t decision;            /* a hash of the id of the decision that it names; 0: of none */
    uint64_t store;               /* a hash of the store where that was decided; 0: as above */
    int64_t until_ms;             /* 0: has no end */
    uint8_t state;
    bool is_rule;
    bool is_evicted;
    bool has_payload;
};

/* False: the change has no content, or a wrong id. */
bool state_read(const struct hearsay_change *change, struct state *out);

/* Reads a Letter with a Change; *out_change borrows from the arena, which is reset before. False:
 * the bytes are none. */
bool state_decode(const uint8_t *bytes, size_t size, struct arena *arena,
                  struct hearsay_change *out_change, struct state *out);

/* --- queue ------------------------------------------------------------------------------------ */

/*
 * The states of a host that wait to be applied to the reader's hearsayd, in their order. One
 * request is under way at a time. A request that is too large for hearsayd, or that has a state
 * which hearsayd does not take, is tried with half as many states; a state that fails alone is left
 * out, counted, and named in the log.
 */

enum { QUEUE_ERROR_BYTES = 256 };

/* What waits. */
struct queue_item {
    struct state state;
    bool is_word; /* of an operator */
    size_t size;
    uint8_t *letter;
};

struct queue_events {
    /* hearsayd had no room for so many messages of an Apply. They are no items any more. */
    void (*no_room)(void *context, uint32_t messages);
    /* There are fewer items than before. */
    void (*moved)(void *context);
};

struct queue {
    struct near *near;
    const char *host;
    const struct queue_events *events;
    void *context;
    struct queue_item *items;
    size_t count;
    size_t room;
    size_t sent;       /* of the items, in the Apply that is under way; 0: none is */
    size_t span;       /* most items of the next Apply */
    uint64_t left_out; /* states, ever */
    uint64_t not_kept; /* decisions of operators here that the owner has not kept, ever */
    struct arena arena;
    uv_timer_t retry;
    struct log_gate gate;
    char error[QUEUE_ERROR_BYTES]; /* why hearsayd takes nothing of what waits; "": it does */
};

/* `near`, `host` and `events` are borrowed. */
void queue_init(struct queue *queue, uv_loop_t *loop, struct near *near, const char *host,
                const struct queue_events *events, void *context);

/* Adds an item with a copy of the letter, which state_decode has read. False: no memory. */
bool queue_add(struct queue *queue, const struct state *state, const uint8_t *letter, size_t size,
               bool is_word);

/* Sends the next request unless one is under way or hearsayd is away. */
void queue_go(struct queue *queue);

void queue_stop(struct queue *queue);   /* then, when the loop has closed its handle: */
void queue_deinit(struct queue *queue); /* frees what waits */

/* --- follow ----------------------------------------------------------------------------------- */

/*
 * Takes the last message of each subject of a stream, and then what comes, in the stream's
 * order; or only looks through the stream: takes all messages, without their data. Asks for as many
 * messages as the taker has room for. A follower whose place in the stream is not there any more,
 * because servers lost it, begins again.
 */

enum { FOLLOW_BATCH = 256 };

/* A message, borrowed until the callback returns. */
struct follow_message {
    const char *subject;
    const uint8_t *data;
    size_t size;
    uint64_t seq;     /* in the stream */
    int64_t stored_s; /* when the stream got it, by a server's clock */
    bool is_last;     /* there are no others now */
};

struct follow_events {
    void (*took)(void *context, const struct follow_message *message);
    /* Whether up to FOLLOW_BATCH messages more may come. When this changes, call follow_go. */
    bool (*has_room)(void *context);
    /* All comes once more from the beginning. */
    void (*began)(void *context);
    /* All that was there has come. Called once after each `began`. */
    void (*caught_up)(void *context);
    /* The server is asked for a consumer: the connection is a new one, or the server was silent,
     * has lost the consumer or what it had given. May be NULL. */
    void (*interrupted)(void *context);
};

/* What is followed, and who follows. */
struct follow_source {
    const char *name; /* the bridge's own, which is in its inbox's */
    const char *stream;
    const char *filter;
    bool is_scan; /* all messages, without their data */
    uint64_t
        head_ms; /* an owner that is there writes a head at least so often; 0: there are no heads */
};

struct follow;

/* `events` is borrowed, the texts are copied. Asks for nothing before follow_make_consumer. 0, or
 * -ERR_NOMEM. */
int follow_new(uv_loop_t *loop, struct wire *wire, const struct follow_source *source,
               const struct follow_events *events, void *context, struct follow **out_follow);

void follow_make_consumer(struct follow *follow); /* with a connection to the hub */
void follow_parted(struct follow *follow);
void follow_go(struct follow *follow);
void follow_restart(struct follow *follow); /* all comes once more */

/* Whether nothing is known to be missing. */
bool follow_is_caught_up(const struct follow *follow);

/* Of a follower that is not caught up: what it waits for, in words. */
void follow_explain(const struct follow *follow, char *out, size_t room);

/* Closes the handles; the memory goes when the loop has closed them. NULL is fine. */
void follow_stop(struct follow *follow);

/* --- scan ------------------------------------------------------------------------------------- */

/*
 * Looks through all messages of a host in a stream, and has those overwritten that a newer
 * message of the same subject supersedes: what was superseded while no bridge of a reader ran.
 * Asks for as many messages as erase has room for.
 */

struct scan;

/* All is borrowed but the texts of `source`. 0, or -ERR_NOMEM. */
int scan_new(uv_loop_t *loop, struct wire *wire, struct erase *erase,
             const struct follow_source *source, struct scan **out_scan);

/* Begins, also if a scan is under way. The hub must be there. */
void scan_begin(struct scan *scan);
void scan_go(struct scan *scan); /* erase has room again */
void scan_parted(struct scan *scan);

/* Closes the handles; scan_free may be called at once. NULL is fine. */
void scan_stop(struct scan *scan);
void scan_free(struct scan *scan);

/* --- missing ---------------------------------------------------------------------------------- */

/*
 * Which states of a host a reader leaves out for now, and when it takes all states of the
 * host once more, because some may have room then.
 *
 * hearsayd may have no room for a message. And an access point that somebody has taken over may
 * publish as many ids as the stream takes: so a reader takes messages of up to twice `messages` of
 * the host in its own hearsayd, and a million rules and ids that are gone. Other ids above that are
 * left out, and the operator is told.
 */

enum {
    MISSING_GONE_MAX = 1000000,
    MISSING_ODD_MAX = 10000, /* states that no owner publishes */
    MISSING_FIRST_MS = 5000, /* until all is taken once more; each time twice as long, up to ... */
    MISSING_MOST_MS = 10 * 60 * 1000
};

struct missing {
    uv_timer_t timer;
    const char *host; /* borrowed */
    void (*again)(void *context);
    void *context;
    uint64_t wait_ms;
    uint64_t ids[2];     /* in the table: [true] of messages with content, [false] of all others */
    uint64_t ids_max[2]; /* of them */
    uint64_t odd;        /* states that no owner publishes, ever */
    uint64_t no_room;    /* what had no room, since all was taken last */
    uint64_t beyond;     /* states above the bound, since then */
    uint64_t no_room_before; /* the same, until then */
    uint64_t beyond_before;
    struct log_gate room_gate;
    struct log_gate bound_gate;
};

/* `again` is called when all states of the host shall come once more. */
void missing_init(struct missing *missing, uv_loop_t *loop, const char *host,
                  void (*again)(void *context), void *context);
void missing_stop(struct missing *missing); /* closes the timer */

/* What hearsayd stores of the host at most; 0: not known. It may have more room than before. */
void missing_greeted(struct missing *missing, uint64_t messages);

/* Whether an id that is new in the table may be taken. */
bool missing_admits(struct missing *missing, bool has_payload);
void missing_note_odd(struct missing *missing);
void missing_note_no_room(struct missing *missing, uint64_t changes);

/* All states have come, and hearsayd has what it takes of them. */
void missing_settled(struct missing *missing);

/* How many messages, bans and notices have no room, and how many states were above the bound. */
uint64_t missing_no_room(const struct missing *missing);
uint64_t missing_beyond(const struct missing *missing);

/* --- reader ----------------------------------------------------------------------------------- */

/*
 * Follows one host of others into the hearsayd of a reader: what its owner says, and what
 * operators say at the hub. Knows what the hub has of each message, and has what was superseded, or
 * has expired, overwritten there.
 */

/* What all readers of a bridge share; borrowed. */
struct reader_shared {
    uv_loop_t *loop;
    struct wire *wire;
    struct near *near;
    struct erase *erase;
    const char *name; /* of the bridge */
};

struct reader;

int reader_new(const struct reader_shared *shared, const char *host, struct reader **out_reader);
void reader_joined(struct reader *reader);
void reader_parted(struct reader *reader);
void reader_greeted(struct reader *reader); /* hearsayd is there */
void reader_stop(struct reader *reader);    /* then, when the loop has closed its handles: */
void reader_free(struct reader *reader);    /* NULL is fine */

/* Erases at the hub what has expired by the clock of the owner, as far as erase has room. Called
 * now and then. */
void reader_sweep(struct reader *reader);

/* Looks for what was superseded, once more: something was not erased. */
void reader_scan(struct reader *reader);
void reader_erase_has_room(struct reader *reader);

const char *reader_host(const struct reader *reader);

/* Whether all that the hub has was given to hearsayd. */
bool reader_is_current(const struct reader *reader);

/* Whether it is not current, or hearsayd is away; if neither, whether nothing was left out for lack
 * of room, or because the access point publishes too much. */
bool reader_is_behind(const struct reader *reader);
bool reader_is_whole(const struct reader *reader);

/* Whether hearsayd does not take what the hub has, for example because its storage is full. */
bool reader_is_refused(const struct reader *reader);

/* Of a reader that is behind: why, in words. */
enum { READER_WHY_BYTES = 320 };
void reader_explain(const struct reader *reader, char *out);

/*
 * How long no head of the owner has come, although the hub is there; 0: one has come, or the time
 * is too short to tell. *out_since_s: when the hub stored the last one, by a server's clock; 0: the
 * hub has none. The time counts from the first connection to the hub at the earliest, because
 * nobody else knows whether the clocks agree.
 */
uint64_t reader_silent_ms(const struct reader *reader, int64_t *out_since_s);

/* The owner has got the digest that it had asked this reader for. Since when, by the wall clock in
 * seconds, no digest went to the owner, though the connection to the hub or a server of it was
 * away; 0: one did. Until then the reader asks the owner to compare, at each of its heads. */
void reader_compared(struct reader *reader);
int64_t reader_not_compared_since(const struct reader *reader);

/* How many messages, bans and notices have no room in hearsayd, and how many states were above the
 * bound of the host. Both are tried again. */
uint64_t reader_no_room(const struct reader *reader);
uint64_t reader_beyond(const struct reader *reader);

/* How many states hearsayd did not take, and were left out. */
uint64_t reader_left_out(const struct reader *reader);

/* How many heads of the owner have come; it asks for words when it writes one. */
uint64_t reader_heads(const struct reader *reader);

/* How many decisions of operators here the owner has not kept; the log of hearsayd names them. */
uint64_t reader_not_kept(const struct reader *reader);

/* What the owner says of a message or rule, NULL: nothing. */
const struct table_row *reader_find(const struct reader *reader, const uint8_t *key);

/* The word of an operator about a message or rule at the hub, as a Letter; NULL: there is none.
 * Valid until the loop goes on. */
struct reader_word {
    struct reader_word *next;
    struct state state;
    uint64_t seq;
    uint64_t look; /* the last one that has found the decision, or of when the word came */
    bool waits;    /* of an operator here: a look has found that the decision waits for the owner */
    size_t size;
    uint8_t letter[];
};
const struct reader_word *reader_words(const struct reader *reader); /* the first; then next */
const struct reader_word *reader_word(const struct reader *reader, const uint8_t *key);

/*
 * A look at all decisions that wait in hearsayd: reader_look_word for each that the hub has a word
 * of. A word of an operator here that came before the look, and is about none of them, is erased
 * when the look ends: a server of the hub has stored it late, or has it back after a crash, and the
 * owner has taken note of a later decision.
 */
void reader_look_begin(struct reader *reader);
void reader_look_word(struct reader *reader, const uint8_t *key);
void reader_look_end(struct reader *reader);

/* Whether an owner that asks gets the word: one of an operator here only while it waits. */
bool reader_gives_word(const struct reader *reader, const struct reader_word *word);

/* --- pages ------------------------------------------------------------------------------------ */

/*
 * Answers an access point that asks for its own host: pages of states, the operator's words,
 * and what tells whether two copies are the same. Silent while hearsayd here does not have all that
 * the hub has: a copy from which something is missing would look whole. Words come also then.
 */

struct pages;

/* 0, or -ERR_NOMEM. */
int pages_new(const struct reader_shared *shared, struct reader *reader, struct pages **out_pages);
void pages_stop(struct pages *pages); /* NULL is fine */
void pages_free(struct pages *pages);

uint64_t pages_total(const struct pages *pages);
uint64_t pages_renewals(const struct pages *pages); /* how often the servers were told anew */

/* --- words ------------------------------------------------------------------------------------ */

/*
 * Sends the decisions of operators at a reader to the owner of the host. A word is one such
 * decision at the hub. The module asks the reader's hearsayd for the decisions that the owner has
 * not confirmed yet, and brings those to the hub that it does not have. hearsayd keeps a decision
 * until the owner's state names it, so that a word that gets lost anywhere is sent again. Before a
 * word about a message goes to the hub, the hub overwrites the message.
 */

struct words;

/* 0, or -ERR_NOMEM. */
int words_new(const struct reader_shared *shared, struct reader *reader, struct words **out_words);
void words_greeted(struct words *words);
void words_stop(
    struct words *words); /* NULL is fine; then words_free, when the loop has closed it */
void words_free(struct words *words);

/* How many decisions wait for the owner, and since when, by the clock of hearsayd; 0: none does. */
uint32_t words_waiting(const struct words *words, int64_t *out_since_ms);

/* Why hearsayd does not serve the host to the bridge, for example because its configuration has no
 * such host; "": it does, or is away. */
enum { WORDS_ERROR_BYTES = sizeof(((struct hearsay_error *)0)->sentence) };
const char *words_error(const struct words *words);

uint64_t words_total(const struct words *words); /* that went to the hub */
