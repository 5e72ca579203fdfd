/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/ops.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "daemon/store/tables.h"

enum {
    HANDLE_DIGITS = 8,    /* of a ban, as `hearsay admin bans` prints them */
    HUB_REASON_BYTES = 64 /* ", ", the reason of a decision of the hub, and a NUL */
};

/* Makes the reason of a ban or its end the ban's handle, by which the list of bans names it, and
 * behind it where an operator of the hub has decided. */
static void name_ban(struct persist_decision *decision, const struct persist_rule *rule)
{
    uint8_t hash[LIMIT_HASH_BYTES];
    char from[HUB_REASON_BYTES] = "";
    char handle[HANDLE_DIGITS + 1];

    if (rule->kind == PERSIST_BAN_FILTER) {
        (void)crypto_generichash(hash, sizeof(hash), rule->value, rule->value_bytes, NULL, 0);
    } else if (rule->kind == PERSIST_BAN_PAYLOAD && rule->value_bytes == sizeof(hash)) {
        memcpy(hash, rule->value, sizeof(hash));
    } else {
        return;
    }
    (void)sodium_bin2hex(handle, sizeof(handle), hash, HANDLE_DIGITS / 2);
    if (decision->uid == LIMIT_UID_HUB && decision->reason[0] != '\0') {
        (void)snprintf(from, sizeof(from), ", %.60s", decision->reason);
    }
    (void)snprintf(decision->reason, sizeof(decision->reason), "%s%s", handle, from);
}

int store_decision_put(struct store_database *database, const struct persist_op *op,
                       const char *act, const struct persist_rule *rule, uint32_t reports)
{
    int64_t number = 0;

    if (op->decision == NULL) {
        return SQLITE_OK;
    }
    struct persist_decision decision = *op->decision;
    int rc = store_query_number(
        database->db, "SELECT coalesce(max(number), 0) + 1 FROM decision WHERE host_id = ?1",
        STORE_VALUES(STORE_NUMBER(decision.host)), &number);
    if (rc != SQLITE_OK) {
        return rc;
    }
    decision.number = (uint64_t)number;
    decision.reports = reports;
    if (act != NULL) {
        (void)snprintf(decision.act, sizeof(decision.act), "%s", act);
    }
    if (rule != NULL) {
        name_ban(&decision, rule);
    }
    database->state.changed = true;
    rc = store_table_insert(database->db, "INSERT", &store_decision_table, &decision);
    return rc == SQLITE_OK
               ? store_run(database->db, "DELETE FROM decision WHERE host_id = ?1 AND number <= ?2",
                           STORE_VALUES(STORE_NUMBER(decision.host),
                                        STORE_NUMBER(number - PERSIST_DECISIONS_KEPT)))
               : rc;
}

int store_decision_expire(struct store_database *database, struct persist_op *op)
{
    return store_database_expire(
        database, STORE_DECISION_EXPIRE,
        STORE_VALUES(STORE_NUMBER(op->decided_before_ms), STORE_NUMBER(op->limit)));
}

int store_decision_shift(struct store_database *database, const struct persist_op *op)
{
    struct persist_decision decision;
    struct store_walk walk;
    int rc = store_walk_begin(&walk, database->db, &store_decision_table,
                              "+time_ms BETWEEN %" PRId64 " AND %" PRId64, op->shift_from_ms,
                              op->now_ms - op->shift_ms);

    while (rc == SQLITE_OK && (rc = store_walk_next(&walk, &decision)) == SQLITE_ROW) {
        decision.time_ms += op->shift_ms;
        rc =
            store_table_insert(database->db, "INSERT OR REPLACE", &store_decision_table, &decision);
    }
    return store_walk_end(&walk, rc);
}

int store_decision_read(sqlite3 *db, struct persist_read *read)
{
    sqlite3_stmt *statement;
    size_t room = read->decision_count;
    int rc = store_query(db,
                         "SELECT * FROM decision"
                         " WHERE host_id = ?1 AND number < ?2 ORDER BY number DESC LIMIT ?3",
                         STORE_VALUES(STORE_NUMBER(read->page_host),
                                      STORE_NUMBER(read->decisions_before), STORE_NUMBER(room + 1)),
                         &statement);

    read->decision_count = 0;
    while (rc == SQLITE_ROW && read->decision_count < room) {
        rc = store_table_read(statement, &store_decision_table,
                              &read->decisions[read->decision_count]);
        if (rc == SQLITE_OK) {
            read->decision_count++;
            rc = sqlite3_step(statement);
        }
    }
    read->page_more = rc == SQLITE_ROW;
    (void)sqlite3_finalize(statement);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* --- decisions at copies ---------------------------------------------------------------------- */

int store_copy_put(struct store_database *database, const struct store_copy *copy)
{
    database->state.copied++; /* a row that replaces another one is counted, too */
    database->state.changed = true;
    return store_table_put(database->statements[STORE_COPY_PUT], &store_copy_table, copy);
}

/* Takes the next number, by which the owner will confirm the decision. */
static int await_owner(struct store_database *database, const struct persist_op *op,
                       struct store_copy *copy)
{
    copy->host = op->decision->host;
    copy->waits = true;
    copy->id.number = (uint64_t)database->state.next_seq++;
    copy->id.time_ms = op->decision->time_ms;
    memcpy(copy->id.store_id, database->store_id, PERSIST_STORE_ID_BYTES);
    return store_copy_put(database, copy);
}

int store_copy_await_message(struct store_database *database, const struct persist_op *op,
                             uint32_t state, int64_t expires_ms)
{
    struct store_copy copy = {.value = op->message.id,
                              .value_bytes = MESSAGE_ID_BYTES,
                              .state = state,
                              .until_ms = expires_ms};

    return op->decision == NULL || !op->decision->waits ? SQLITE_OK
                                                        : await_owner(database, op, &copy);
}

int store_copy_await_rule(struct store_database *database, const struct persist_op *op,
                          const struct persist_rule *rule)
{
    struct store_copy copy = {.kind = (uint32_t)rule->kind,
                              .value = rule->value,
                              .value_bytes = rule->value_bytes,
                              .until_ms = rule->until_ms};

    return op->decision == NULL || !op->decision->waits ? SQLITE_OK
                                                        : await_owner(database, op, &copy);
}

/* The key of what a PERSIST_APPLY is about. */
static struct store_copy key_of(const struct persist_op *op)
{
    return op->change == PERSIST_CHANGE_RULE
               ? (struct store_copy){.host = op->rule->host,
                                     .kind = (uint32_t)op->rule->kind,
                                     .value = op->rule->value,
                                     .value_bytes = op->rule->value_bytes}
               : (struct store_copy){.host = op->message.host,
                                     .value = op->message.id,
                                     .value_bytes = MESSAGE_ID_BYTES};
}

int store_copy_find(struct store_database *database, const struct persist_op *op,
                    struct store_copy *out_copy)
{
    *out_copy = key_of(op);
    return database->state.copied == 0 ? SQLITE_DONE
                                       : store_table_find(database->statements[STORE_COPY_FIND],
                                                          &store_copy_table, out_copy);
}

int store_copy_note(struct store_database *database, const struct persist_op *op, int64_t until_ms)
{
    struct store_copy copy = key_of(op);

    if (op->decision_id.number == 0) {
        return SQLITE_OK;
    }
    copy.id = op->decision_id;
    copy.until_ms = until_ms;
    return store_copy_put(database, &copy);
}

int store_copy_drop(struct store_database *database, const struct store_copy *copy)
{
    database->state.changed = true;
    database->state.removed = true;
    return store_table_run(database->statements[STORE_COPY_DROP], &store_copy_table, copy);
}

int store_copy_expire(struct store_database *database, struct persist_op *op)
{
    return database->state.copied == 0
               ? SQLITE_OK
               : store_database_expire(database, STORE_COPY_EXPIRE,
                                       STORE_VALUES(STORE_NUMBER(op->now_ms)));
}
