/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader: follows one host of others into the hearsayd of a reader: what its owner says, and what
 * operators say at the hub. Knows what the hub has of each message, and has what was superseded, or
 * has expired, overwritten there.
 */
#ifndef CLIENT_BRIDGE_HUB_READER_H
#define CLIENT_BRIDGE_HUB_READER_H

#include <uv.h>

#include "client/bridge/hub/erase.h"
#include "client/bridge/hub/near.h"
#include "client/bridge/hub/state.h"
#include "client/bridge/hub/table.h"
#include "client/bridge/wire/wire.h"

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

/* Whether all that the hub has was given to hearsayd; and whether nothing was left out of it for
 * lack of room, or because the access point publishes too much. */
bool reader_is_current(const struct reader *reader);
bool reader_is_whole(const struct reader *reader);

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

#endif
