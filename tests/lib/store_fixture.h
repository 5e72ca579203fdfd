/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_fixture: a message store in a directory of its own, driven synchronously: operations are
 * submitted and the loop runs until their callbacks have come.
 */
#pragma once

#include "daemon/store/thread/sqlite.h"

#include <sqlite3.h>
#include <uv.h>

enum { STORE_PATH_BYTES = 256, STORE_PAYLOAD_BYTES = 200, STORE_FILTER_BYTES = 64 };

struct store_fixture {
    /* NULL: not open. This pointer is first: with UBSan gcc 14 warns of texts in that place. */
    struct persist *persist;
    char directory[STORE_PATH_BYTES];
    char file[STORE_PATH_BYTES + 16]; /* the database */
    uv_loop_t loop;
    uint32_t host; /* `default`, once open */
    char reason[PERSIST_REASON_BYTES];
    struct persist_sqlite_options options;
};

/* One operation with a message of its own to point to. */
struct store_op {
    struct persist_op op; /* first */
    uint8_t filter[STORE_FILTER_BYTES];
    uint8_t payload[STORE_PAYLOAD_BYTES];
    struct persist_removed removed[PERSIST_EXPIRE_MAX];
    unsigned done; /* in which place its callback came, from 1; 0: not yet */
};

/* A new, empty directory (under TMPDIR, else /tmp); and away with it. */
void store_fixture_init(struct store_fixture *fixture);
void store_fixture_deinit(struct store_fixture *fixture);

/*
 * For cmocka_unit_test_prestate_setup_teardown with a struct store_fixture: a new store that is
 * open, and away with it.
 */
int store_setup(void **state);
int store_teardown(void **state);

/* Copies database and log of another store, as a crash would leave them. */
void store_fixture_copy(struct store_fixture *fixture, const struct store_fixture *from);

/* What persist_sqlite_open says; fixture->reason then. Adds the host `default` on success. */
int store_try_open(struct store_fixture *fixture);
void store_open(struct store_fixture *fixture);
void store_close(struct store_fixture *fixture);
void store_reopen(struct store_fixture *fixture);

/* Opens a database by a connection of the test's own, to change it. An SQLite result code. */
int store_open_file(const char *path, sqlite3 **out_db);

/* Changes the database with SQL; reads one number of it. */
void store_alter(const struct store_fixture *fixture, const char *sql);
int64_t store_read_number(const struct store_fixture *fixture, const char *sql);

/* Whether the database or its log has these bytes somewhere. */
bool store_files_have(const struct store_fixture *fixture, const void *bytes, size_t count);

/* What the store has done since it was opened. */
struct persist_counters store_count(struct store_fixture *fixture);

/* Works on, at this time, until a scrub that began after this call is over. */
void store_await_scrub(struct store_fixture *fixture, int64_t now_ms);

/* Operations about message `number`, all of whose contents follow from the number. */
void store_make_deposit(const struct store_fixture *fixture, struct store_op *op, uint32_t number,
                        int64_t now_ms, int64_t expires_ms);
void store_make_withdraw(const struct store_fixture *fixture, struct store_op *op, uint32_t number,
                         int64_t now_ms);
/* `deposited_ms`: of the message it is about; words: a string, or NULL. */
void store_make_moderate(const struct store_fixture *fixture, struct store_op *op, uint32_t number,
                         int64_t deposited_ms, enum persist_state state, uint32_t reports,
                         const char *words);
/* PERSIST_RULE_PUT or PERSIST_RULE_DROP; the rule stays in place. */
void store_make_rule(struct store_op *op, enum persist_kind kind, struct persist_rule *rule);
void store_make_expire(struct store_op *op, int64_t now_ms, uint32_t limit);

/* The number whose message has this id; asserts that everything else is that message's. */
uint32_t store_check_message(const struct persist_message *message);

void store_submit(struct store_fixture *fixture, struct store_op *op);
void store_await(struct store_fixture *fixture, struct store_op *ops, size_t count);
enum persist_outcome store_do(struct store_fixture *fixture, struct store_op *op);

/* Each in one go. */
enum persist_outcome store_deposit(struct store_fixture *fixture, uint32_t number, int64_t now_ms,
                                   int64_t expires_ms);
enum persist_outcome store_withdraw(struct store_fixture *fixture, uint32_t number, int64_t now_ms);

/* The operation took exactly these messages of its host out, in this order. */
void store_assert_removed(const struct store_op *op, const uint32_t *numbers, size_t count);

/* Reads, and runs the loop until it is done. To be released. */
void store_read(struct store_fixture *fixture, struct persist_read *read);

/*
 * Replays into numbers[] (in order, at most `room`) and returns how many; what the store said, if
 * it failed, is negative.
 */
int store_replay(struct store_fixture *fixture, uint32_t *numbers, size_t room);

/* The store replays exactly these messages, in this order. */
void store_assert_replays(struct store_fixture *fixture, const uint32_t *expected, size_t count);
