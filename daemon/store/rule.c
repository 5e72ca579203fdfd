/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/rule.h"

#include <string.h>

#include "daemon/store/decision.h"
#include "daemon/store/row.h"

enum { MS_PER_DAY = 24 * 60 * 60 * 1000 };

int store_rule_put(struct store_database *database, const struct persist_rule *rule)
{
    struct persist_rule numbered = *rule;
    int rc = store_database_take_change(database, rule->host, 0, &numbered.seq);

    database->state.changed = true;
    return rc == SQLITE_OK ? store_row_put_rule(database->statements[STORE_RULE_PUT], &numbered)
                           : rc;
}

int store_rule_find(struct store_database *database, const struct persist_rule *key,
                    struct persist_rule *out_rule)
{
    sqlite3_stmt *statement = database->statements[STORE_RULE_FIND];
    int rc = store_statement_step(statement,
                                  STORE_VALUES(STORE_NUMBER(key->host), STORE_NUMBER(key->kind),
                                               STORE_BLOB(key->value, key->value_bytes)));

    if (rc == SQLITE_ROW) {
        int read = store_row_read_rule(statement, out_rule);
        rc = read == SQLITE_OK ? rc : read;
        out_rule->value = key->value;
    }
    store_statement_reset(statement);
    return rc;
}

int store_rule_decide(struct store_database *database, const struct persist_rule *rule)
{
    struct persist_rule decided = *rule;
    struct persist_rule stored;
    int rc = store_rule_find(database, rule, &stored);

    if (rc == SQLITE_ROW && stored.seq > 0 && stored.created_ms >= rule->created_ms) {
        decided.created_ms = stored.created_ms + 1;
    }
    /* A damaged row is written anew. */
    return rc == SQLITE_ROW || rc == SQLITE_DONE || rc == SQLITE_CORRUPT
               ? store_rule_put(database, &decided)
               : rc;
}

int store_rule_expire(struct store_database *database, int64_t now_ms)
{
    int rc = store_statement_run(database->statements[STORE_RULE_EXPIRE],
                                 STORE_VALUES(STORE_NUMBER(now_ms)));

    if (rc == SQLITE_OK && sqlite3_changes64(database->db) > 0) {
        database->state.removed = true;
        database->state.changed = true;
    }
    return rc;
}

int store_rule_apply_put(struct store_database *database, struct persist_op *op)
{
    /* An ended notice may have the number of the new notice. Its row is deleted first. */
    int rc = op->rule->kind == PERSIST_NOTICE ? store_rule_expire(database, op->now_ms) : SQLITE_OK;

    rc = rc == SQLITE_OK ? store_rule_decide(database, op->rule) : rc;
    rc = rc == SQLITE_OK ? store_copy_await_rule(database, op, op->rule) : rc;
    op->outcome = PERSIST_APPLIED;
    return rc == SQLITE_OK ? store_decision_put(database, op, NULL, 0) : rc;
}

/* Replaces the rule by a mark, if others are told; else deletes it. */
static int drop_rule(struct store_database *database, struct persist_rule *rule, int64_t now_ms)
{
    int rc = store_database_take_change(database, rule->host, 0, &rule->seq);

    database->state.changed = true;
    database->state.removed = true;
    if (rc == SQLITE_OK && rule->seq == 0) {
        return store_statement_run(database->statements[STORE_RULE_DROP],
                                   STORE_VALUES(STORE_NUMBER(rule->host), STORE_NUMBER(rule->kind),
                                                STORE_BLOB(rule->value, rule->value_bytes)));
    }
    rule->dropped = true;
    rule->created_ms = now_ms > rule->created_ms ? now_ms : rule->created_ms;
    rule->until_ms = now_ms + (int64_t)PERSIST_DROPPED_DAYS * MS_PER_DAY;
    return rc == SQLITE_OK ? store_row_put_rule(database->statements[STORE_RULE_PUT], rule) : rc;
}

int store_rule_apply_drop(struct store_database *database, struct persist_op *op)
{
    struct persist_rule rule;
    int rc = store_rule_find(database, op->rule, &rule);

    op->outcome = PERSIST_NOT_FOUND;
    if (rc == SQLITE_CORRUPT) {
        return store_database_fail_damaged(op);
    }
    if (rc != SQLITE_ROW || rule.dropped) {
        return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
    }
    op->outcome = PERSIST_APPLIED;
    rc = drop_rule(database, &rule, op->now_ms);
    rc = rc == SQLITE_OK ? store_copy_await_rule(database, op, &rule) : rc;
    return rc == SQLITE_OK ? store_decision_put(database, op, NULL, 0) : rc;
}

/* --- all rules of a host, or of all hosts ----------------------------------------------------- */

/* A rule whose value is copied, and the key from which the next step goes on. */
struct step {
    struct persist_rule rule;
    int64_t kind;
    uint8_t value[PERSIST_RULE_BYTES_MAX];
};

/*
 * Copies the current row. SQLITE_CORRUPT: the row is damaged, and only its key is copied.
 * SQLITE_ERROR: the row has no key that can be.
 */
static int read_step(sqlite3_stmt *statement, struct step *step)
{
    size_t bytes = (size_t)sqlite3_column_bytes(statement, 2);
    int rc = store_row_read_rule(statement, &step->rule);

    if (bytes > sizeof(step->value) || (rc != SQLITE_OK && rc != SQLITE_CORRUPT)) {
        return rc == SQLITE_CORRUPT || rc == SQLITE_OK ? SQLITE_ERROR : rc;
    }
    if (bytes > 0) {
        memcpy(step->value, sqlite3_column_blob(statement, 2), bytes);
    }
    step->rule.host = (uint32_t)sqlite3_column_int64(statement, 0);
    step->rule.value = step->value;
    step->rule.value_bytes = bytes;
    step->kind = sqlite3_column_int64(statement, 1);
    return rc;
}

/*
 * Finds the next rule by a statement whose places 1 to 3 are the key of the rule before, and place
 * 4 is `from`. Skips damaged rows. SQLITE_DONE: there is none.
 */
static int next_step(sqlite3_stmt *statement, int64_t from, struct step *step)
{
    int rc = SQLITE_CORRUPT;

    while (rc == SQLITE_CORRUPT) {
        rc = store_statement_step(
            statement,
            STORE_VALUES(STORE_NUMBER(step->rule.host), STORE_NUMBER(step->kind),
                         STORE_BLOB(step->value, step->rule.value_bytes), STORE_NUMBER(from)));
        if (rc == SQLITE_ROW) {
            int read = read_step(statement, step);
            rc = read == SQLITE_OK ? SQLITE_ROW : read;
        }
        store_statement_reset(statement);
    }
    return rc;
}

int store_rule_shift(struct store_database *database, const struct persist_op *op)
{
    sqlite3_stmt *statement = database->statements[STORE_RULE_SHIFTED];
    struct step step = {.kind = 0};
    int rc = SQLITE_OK;

    while (rc == SQLITE_OK && (rc = next_step(statement, op->shift_from_ms, &step)) == SQLITE_ROW) {
        step.rule.created_ms += op->shift_ms;
        step.rule.until_ms += op->shift_ms;
        rc = store_rule_put(database, &step.rule);
    }
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int store_rule_number(struct store_database *database, uint32_t host)
{
    sqlite3_stmt *statement = database->statements[STORE_RULE_UNTOLD];
    struct step step = {.rule = {.host = host}};
    int rc = SQLITE_OK;

    while (rc == SQLITE_OK && (rc = next_step(statement, host, &step)) == SQLITE_ROW) {
        rc = store_rule_put(database, &step.rule);
    }
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}
