/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/ops.h"

#include <assert.h>
#include <string.h>

#include "core/base/expiry.h"

int store_deposit_insert(struct store_database *database, struct persist_message *message)
{
    message->seq = database->state.next_seq;
    int rc = store_numbers_add(database->numbers, message->host, message->id, message->seq,
                               message->expires_ms);

    if (rc == SQLITE_OK) {
        rc = store_database_insert(database, message);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    (void)store_database_take_number(database);
    database->state.newest_ms = message->deposited_ms;
    database->state.newest_seq = message->seq;
    return message->state == PERSIST_SHOWN && message->reports == 0
               ? SQLITE_OK
               : store_review_begin(database, message);
}

int store_deposit_refuse(struct persist_op *op)
{
    op->outcome = PERSIST_NO_SPACE;
    op->reason = "the storage is nearly full, and what is left is kept for deleting";
    return SQLITE_OK;
}

/*
 * Compares a deposit with the stored message of the same host and id. Returns SQLITE_ROW and sets
 * the outcome and the times in *out_times; SQLITE_DONE if there is no such message; or another
 * result code.
 */
static int compare_stored(struct store_database *database, struct persist_op *op,
                          struct store_times *out_times)
{
    struct persist_message stored;
    int rc = store_database_find(database, &op->message, &stored);

    if (rc == SQLITE_ROW) {
        op->outcome =
            store_row_same_content(&stored, &op->message) ? PERSIST_DUPLICATE : PERSIST_CONFLICT;
        *out_times = (struct store_times){.deposited_ms = stored.deposited_ms,
                                          .expires_ms = stored.expires_ms,
                                          .seq = stored.seq};
    }
    if (rc != SQLITE_DONE) {
        store_statement_reset(database->statements[STORE_FIND]);
    }
    return rc;
}

/*
 * Finds the parent of an answer. Sets *out_seq to its number, and ends the answer with its parent
 * at the latest. 0: the answer has no parent, and the outcome says so. Does nothing for a message
 * that answers none.
 */
static int find_parent(struct store_database *database, struct persist_op *op, int64_t *out_seq)
{
    struct persist_message *message = &op->message;
    struct persist_message key = {.host = message->host};
    struct persist_message parent;

    *out_seq = 0;
    if (!message->is_answer) {
        return SQLITE_OK;
    }
    memcpy(key.id, message->answers, MESSAGE_ID_BYTES);
    int rc = store_database_find(database, &key, &parent);
    store_statement_reset(database->statements[STORE_FIND]);
    if (rc == SQLITE_ROW && !parent.is_answer && parent.epoch == message->epoch &&
        !message_expired(parent.expires_ms, op->now_ms)) {
        *out_seq = parent.seq;
        message->expires_ms =
            message->expires_ms < parent.expires_ms ? message->expires_ms : parent.expires_ms;
        return SQLITE_OK;
    }
    op->outcome = PERSIST_NO_PARENT;
    return rc == SQLITE_CORRUPT                    ? store_database_fail_damaged(op)
           : rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK
                                                   : rc;
}

/*
 * Stores the message of a deposit, unless a message of its host and id is stored that has not
 * expired. Replaces an expired one. If the storage is nearly full, no message is stored.
 * *out_parent: the number of the parent of an answer that is stored.
 */
static int deposit_message(struct store_database *database, struct persist_op *op,
                           struct store_times *out_times, int64_t *out_parent)
{
    int rc = compare_stored(database, op, out_times);
    bool is_stored = rc == SQLITE_ROW;

    if (rc == SQLITE_CORRUPT) {
        return store_database_fail_damaged(op);
    }
    if (rc != SQLITE_ROW && rc != SQLITE_DONE) {
        return rc;
    }
    if (is_stored && !message_expired(out_times->expires_ms, op->now_ms)) {
        rc = store_review_state(database, out_times->seq, &out_times->state, &out_times->reports);
        return rc == SQLITE_CORRUPT ? store_database_fail_damaged(op) : rc;
    }
    if (database->refuses_deposits) {
        return store_deposit_refuse(op);
    }
    rc = find_parent(database, op, out_parent);
    if (rc != SQLITE_OK || (op->message.is_answer && *out_parent == 0)) {
        return rc;
    }
    op->outcome = PERSIST_APPLIED;
    rc = is_stored ? store_database_delete(database, out_times->seq, NULL) : SQLITE_OK;
    return rc == SQLITE_OK ? store_deposit_insert(database, &op->message) : rc;
}

/* --- eviction --------------------------------------------------------------------------------- */

/* The messages in op->removed, in the same order. */
struct found {
    int64_t seqs[PERSIST_EXPIRE_MAX]; /* the number (`seq`) of each message */
    int64_t expires_ms[PERSIST_EXPIRE_MAX];
    uint32_t chosen;   /* how many messages are from op->chosen; these messages come first */
    uint64_t messages; /* messages that are not from op->chosen, and their bytes */
    uint64_t bytes;
    bool is_answer[PERSIST_EXPIRE_MAX];
    int64_t parent; /* the number of the parent of the deposit, which stays; 0: none */
};

/* Adds the message of the current row of STORE_OLDEST or STORE_PLACE to op->removed. */
static int read_removed(sqlite3_stmt *statement, struct persist_op *op, struct found *found)
{
    struct persist_removed *out = &op->removed[op->removed_count];

    if (sqlite3_column_bytes(statement, 2) != MESSAGE_ID_BYTES ||
        sqlite3_column_int64(statement, 4) < 0) {
        return SQLITE_CORRUPT;
    }
    out->host = (uint32_t)sqlite3_column_int64(statement, 0);
    out->epoch = (uint64_t)sqlite3_column_int64(statement, 1);
    memcpy(out->id, sqlite3_column_blob(statement, 2), MESSAGE_ID_BYTES);
    found->is_answer[op->removed_count] = sqlite3_column_int64(statement, 6) != 0;
    found->expires_ms[op->removed_count] = sqlite3_column_int64(statement, 5);
    found->seqs[op->removed_count++] = sqlite3_column_int64(statement, 3);
    found->messages++;
    found->bytes += (uint64_t)sqlite3_column_int64(statement, 4);
    return SQLITE_OK;
}

/* Adds the message with the number `seq` to op->removed. */
static int add_place(struct store_database *database, struct persist_op *op, int64_t seq,
                     struct found *found)
{
    sqlite3_stmt *statement = database->statements[STORE_PLACE];
    int rc = store_statement_step(statement, STORE_VALUES(STORE_NUMBER(seq)));

    if (rc == SQLITE_ROW) {
        rc = read_removed(statement, op, found);
    } else if (rc == SQLITE_DONE) {
        rc = SQLITE_CORRUPT;
    }
    store_statement_reset(statement);
    return rc;
}

/* Finds a message of op->chosen and adds it to op->removed. An id that is not stored is skipped. */
static int find_chosen(struct store_database *database, struct persist_op *op, const uint8_t *id,
                       struct found *found)
{
    uint32_t host = op->message.host;
    int64_t seq = 0;
    int rc = SQLITE_OK;

    while (rc == SQLITE_OK && (seq = store_numbers_next(database->numbers, host, id, seq)) != 0) {
        rc = add_place(database, op, seq, found);
        if (rc == SQLITE_OK &&
            memcmp(op->removed[op->removed_count - 1].id, id, MESSAGE_ID_BYTES) == 0) {
            return SQLITE_OK;
        }
        op->removed_count -= rc == SQLITE_OK; /* it has another id */
    }
    return rc;
}

/* Whether a message was chosen already, or is not to go for the deposit. */
static bool is_settled(const struct found *found, int64_t seq)
{
    if (seq == found->parent) {
        return true;
    }
    for (uint32_t i = 0; i < found->chosen; i++) {
        if (found->seqs[i] == seq) {
            return true;
        }
    }
    return false;
}

static bool is_enough(const struct persist_op *op, const struct found *found)
{
    return found->messages >= op->evict_messages && found->bytes >= op->evict_bytes;
}

/* Adds the oldest messages to op->removed until they are enough. */
static int find_oldest(struct store_database *database, struct persist_op *op, struct found *found)
{
    struct store_evicted *evicted = &database->state.evicted;
    sqlite3_stmt *statement = database->statements[STORE_OLDEST];
    bool is_first = true;

    if (evicted->host != op->message.host) {
        *evicted = (struct store_evicted){op->message.host, 0};
    }
    int rc = store_statement_bind(statement, STORE_VALUES(STORE_NUMBER(op->message.host),
                                                          STORE_NUMBER(op->message.seq),
                                                          STORE_NUMBER(evicted->from)));
    while (rc == SQLITE_OK && !is_enough(op, found) && op->removed_count < op->limit &&
           (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        int64_t seq = sqlite3_column_int64(statement, 3);

        if (is_first) {
            evicted->from = seq;
        }
        is_first = false;
        rc = is_settled(found, seq) ? SQLITE_OK : read_removed(statement, op, found);
    }
    store_statement_reset(statement);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Adds the messages that expire soonest to op->removed until they are enough. */
static int find_soonest(struct store_database *database, struct persist_op *op, struct found *found)
{
    /* Each place but two is a message to evict or a chosen one. */
    _Static_assert(STORE_SOONEST_ROOM > 2 * PERSIST_EXPIRE_MAX + 1, "places suffice");
    struct store_soon soon;
    int rc = SQLITE_OK;

    for (size_t place = 0;
         rc == SQLITE_OK && !is_enough(op, found) && op->removed_count < op->limit; place++) {
        rc = store_numbers_soonest(database->numbers, op->message.host, place, &soon);
        if (rc == SQLITE_DONE) {
            return SQLITE_OK;
        }
        if (rc == SQLITE_ROW) {
            bool stays = soon.seq == op->message.seq || is_settled(found, soon.seq);
            rc = stays ? SQLITE_OK : add_place(database, op, soon.seq, found);
        }
    }
    return rc;
}

/* Deletes the message at a place of op->removed, and tells others. */
static int evict_message(struct store_database *database, const struct persist_removed *removed,
                         const struct found *found, uint32_t place)
{
    struct persist_message message = {
        .host = removed->host, .epoch = removed->epoch, .is_answer = found->is_answer[place]};
    int rc = store_database_delete(database, found->seqs[place], NULL);

    memcpy(message.id, removed->id, MESSAGE_ID_BYTES);
    return rc == SQLITE_OK ? store_evicted_put(database, &message, found->expires_ms[place]) : rc;
}

/* Deletes the messages in op->removed, the answers first: with a message go the answers to it. */
static int evict_found(struct store_database *database, const struct persist_op *op,
                       const struct found *found)
{
    int rc = SQLITE_OK;

    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < op->removed_count && rc == SQLITE_OK; i++) {
            if (found->is_answer[i] == (pass == 0)) {
                rc = evict_message(database, &op->removed[i], found, i);
            }
        }
    }
    return rc;
}

/*
 * Evicts messages for the deposit, which has just been stored. Deletes the messages of op->chosen
 * that are stored, and further messages as op->evict asks. op->removed lists these messages. If
 * op->limit messages, or all other messages of the host, are not enough, deletes the deposit
 * instead and sets the outcome PERSIST_FULL. The message with the number `parent` stays.
 */
static int make_space(struct store_database *database, struct persist_op *op, int64_t parent)
{
    struct found found = {.chosen = 0, .parent = parent};
    int rc = store_database_flush(database);

    assert(op->limit >= 1 && op->limit <= PERSIST_EXPIRE_MAX && op->removed != NULL);
    assert(op->chosen_count <= op->limit);
    for (uint32_t i = 0; i < op->chosen_count && rc == SQLITE_OK; i++) {
        const uint8_t *id = op->chosen + (size_t)i * MESSAGE_ID_BYTES;
        bool stays =
            op->message.is_answer && memcmp(id, op->message.answers, MESSAGE_ID_BYTES) == 0;
        if (!stays && memcmp(id, op->message.id, MESSAGE_ID_BYTES) !=
                          0) { /* else it is the one just stored */
            rc = find_chosen(database, op, id, &found);
        }
    }
    found.chosen = op->removed_count;
    found.messages = found.bytes = 0;
    if (rc == SQLITE_OK && op->evict == PERSIST_EVICT_OLDEST) {
        rc = find_oldest(database, op, &found);
    } else if (rc == SQLITE_OK && op->evict == PERSIST_EVICT_SOONEST) {
        rc = find_soonest(database, op, &found);
    }
    if (rc == SQLITE_OK && op->evict != PERSIST_EVICT_NONE && !is_enough(op, &found)) {
        op->removed_count = 0;
        op->outcome = PERSIST_FULL;
        return store_database_delete(database, op->message.seq, NULL);
    }
    return rc == SQLITE_OK ? evict_found(database, op, &found) : rc;
}

/* --- deposits --------------------------------------------------------------------------------- */

int store_deposit_apply(struct store_database *database, struct persist_op *op,
                        struct store_times *out_times)
{
    struct store_tombstone tombstone;
    int rc = store_tombstone_find(database, &op->message, &tombstone);
    bool has_tombstone = rc == SQLITE_ROW;
    int64_t parent = 0;

    op->removed_count = 0;
    if (rc == SQLITE_CORRUPT) {
        return store_database_fail_damaged(op);
    }
    if (rc != SQLITE_ROW && rc != SQLITE_DONE) {
        return rc;
    }
    if (has_tombstone && !message_expired(tombstone.expires_ms, op->now_ms)) {
        op->outcome = PERSIST_GONE;
        return SQLITE_OK;
    }
    rc = deposit_message(database, op, out_times, &parent);
    if (rc == SQLITE_OK && op->outcome == PERSIST_APPLIED &&
        (op->evict != PERSIST_EVICT_NONE || op->chosen_count > 0)) {
        rc = make_space(database, op, parent);
    }
    if (rc == SQLITE_OK && has_tombstone && op->outcome == PERSIST_APPLIED) {
        rc = store_tombstone_lift(database, &op->message);
    }
    return rc;
}
