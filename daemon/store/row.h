/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_row: the structs of rows that persist.h does not have, and what is done with the rows of
 * messages. tables.c has the columns of all rows.
 */
#pragma once

#include <sqlite3.h>

#include "core/profile/profile.h"
#include "daemon/store/persist.h"

/* --- messages --------------------------------------------------------------------------------- */

enum { STORE_ROWS = 8 }; /* messages that one statement inserts */

/*
 * Writes STORE_ROWS rows by a prepared INSERT of as many, in about two thirds of the CPU time of as
 * many single ones. Returns an SQLite result code.
 */
int store_row_put_several(sqlite3_stmt *statement, const struct persist_message *const *messages);

/* Reads the current row of a statement with SELECT *, or message.*, as store_table_read does. */
int store_row_read(sqlite3_stmt *statement, struct persist_message *out_message);

/* Whether the current row has the host and the id of `key`. */
bool store_row_is_of(sqlite3_stmt *statement, const struct persist_message *key);

/* Takes the host and the id of the current row, as far as they can be read. */
void store_row_read_key(sqlite3_stmt *statement, struct persist_message *out_message);

/*
 * Whether two messages have the same content: epoch, reach, withdraw hash, parent, filter, media
 * type and payload.
 */
bool store_row_same_content(const struct persist_message *a, const struct persist_message *b);

/* --- other tables ----------------------------------------------------------------------------- */

/* The only row of the table `meta`. */
struct store_meta {
    uint32_t one; /* 1, the key */
    uint8_t store_id[PERSIST_STORE_ID_BYTES];
    uint8_t place[PERSIST_PLACE_BYTES];
    int64_t next_seq; /* the first number that is not reserved (store_database) */
    int64_t clock_ms;
    int64_t shift_from_ms;
};

struct store_host {
    uint32_t host; /* 1 or more */
    char name[LIMIT_HOST_BYTES + 1];
    char profile[PROFILE_TEXT_MAX];
    bool replicate; /* the host has changes (persist_change) */
};

/* What a row of the table copy_decision says of a message: the states of persist_state that an
 * operator can decide for, and: */
enum { STORE_COPY_REMOVED = PERSIST_WITHHELD + 1 };

/* A row of the table copy_decision. */
struct store_copy {
    uint32_t host;
    uint32_t kind;        /* 0: about a message; else enum persist_rule_kind */
    const uint8_t *value; /* borrowed: the id of the message, or the value of the rule */
    size_t value_bytes;
    struct persist_decision_id id;
    int64_t until_ms; /* 0: the row has no end */
    uint32_t state;   /* of a message: APPROVED, WITHHELD or STORE_COPY_REMOVED; of a rule 0 */
    bool waits;
};

/*
 * The table of tombstones also keeps which messages the operator has removed: a message of host h
 * has a second row, with the host STORE_REMOVED_HOST + h. No host has such a number, so these rows
 * refuse no deposit, and they expire like all others.
 */
#define STORE_REMOVED_HOST INT64_C(0x80000000)

/* A row of the table `tombstone`. */
struct store_tombstone {
    uint32_t host; /* with STORE_REMOVED_HOST, perhaps */
    uint8_t id[MESSAGE_ID_BYTES];
    int64_t expires_ms;
    int64_t seq;          /* 0: others are not told; the column is NULL */
    enum persist_why why; /* 0 in a row without seq */
};

/* A message that went for a new deposit. */
struct store_eviction {
    int64_t seq; /* the number of the change */
    int64_t expires_ms;
    uint8_t id[MESSAGE_ID_BYTES];
};

enum {
    STORE_EVICTIONS_MAX = 128,
    STORE_EVICTION_BYTES = 32 /* in the column `messages`: seq and expires_ms, little-endian; id */
};

/* A row of the table `evicted` as the table has it. */
struct store_evicted_row {
    int64_t seq;
    uint32_t host;
    int64_t expires_ms; /* when the last of the messages expires */
    const uint8_t *messages;
    size_t messages_bytes;
};

/*
 * A row of the table `evicted`: messages of one host that went for new deposits in one transaction,
 * in the order of their numbers. The row has the number of its last message: so the rows behind a
 * number have all messages behind this number. No two rows of a host have numbers in each other's
 * range.
 */
struct store_evictions {
    uint32_t host;
    uint32_t count; /* 1 .. STORE_EVICTIONS_MAX; 0: there is no row */
    struct store_eviction messages[STORE_EVICTIONS_MAX];
};

/*
 * store_row_put_evicted writes a row of at least one message, by a prepared statement.
 * store_row_read_evicted reads the current row, and verifies its checksum. Both return an SQLite
 * result code. STORE_EVICTED_COUNT: how many messages a row has.
 */
#define STORE_EVICTED_COUNT "length(messages) / 32"
int store_row_put_evicted(sqlite3_stmt *statement, const struct store_evictions *evictions);
int store_row_read_evicted(sqlite3_stmt *statement, struct store_evictions *out_evictions);
