/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/ops.h"

#include <inttypes.h>

#include "daemon/store/tables.h"

enum { MS_PER_DAY = 24 * 60 * 60 * 1000 };

int store_rule_put(struct store_database *database, const struct persist_rule *rule)
{
    struct persist_rule numbered = *rule;
    int rc = store_database_take_change(database, rule->host, true, &numbered.seq);

    database->state.changed = true;
    return rc == SQLITE_OK
               ? store_table_put(database->statements[STORE_RULE_PUT], &store_rule_table, &numbered)
               : rc;
}

int store_rule_find(struct store_database *database, const struct persist_rule *key,
                    struct persist_rule *out_rule)
{
    *out_rule = (struct persist_rule){
        .host = key->host, .kind = key->kind, .value = key->value, .value_bytes = key->value_bytes};
    return store_table_find(database->statements[STORE_RULE_FIND], &store_rule_table, out_rule);
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

int store_rule_expire(struct store_database *database, struct persist_op *op)
{
    return store_database_expire(database, STORE_RULE_EXPIRE,
                                 STORE_VALUES(STORE_NUMBER(op->now_ms)));
}

int store_rule_apply_put(struct store_database *database, struct persist_op *op)
{
    /* An ended notice may have the number of the new notice. Its row is deleted first. */
    int rc = op->rule->kind == PERSIST_NOTICE ? store_rule_expire(database, op) : SQLITE_OK;

    rc = rc == SQLITE_OK ? store_rule_decide(database, op->rule) : rc;
    rc = rc == SQLITE_OK ? store_copy_await_rule(database, op, op->rule) : rc;
    op->outcome = PERSIST_APPLIED;
    return rc == SQLITE_OK ? store_decision_put(database, op, NULL, op->rule, 0) : rc;
}

/* Replaces the rule by a mark, if others are told; else deletes it. */
static int drop_rule(struct store_database *database, struct persist_rule *rule, int64_t now_ms)
{
    int rc = store_database_take_change(database, rule->host, true, &rule->seq);

    database->state.changed = true;
    database->state.removed = true;
    if (rc == SQLITE_OK && rule->seq == 0) {
        return store_table_run(database->statements[STORE_RULE_DROP], &store_rule_table, rule);
    }
    rule->dropped = true;
    rule->created_ms = now_ms > rule->created_ms ? now_ms : rule->created_ms;
    rule->until_ms = now_ms + (int64_t)PERSIST_DROPPED_DAYS * MS_PER_DAY;
    return rc == SQLITE_OK
               ? store_table_put(database->statements[STORE_RULE_PUT], &store_rule_table, rule)
               : rc;
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
    return rc == SQLITE_OK ? store_decision_put(database, op, NULL, op->rule, 0) : rc;
}

/* --- all rules of a host, or of all hosts ----------------------------------------------------- */

int store_rule_shift(struct store_database *database, const struct persist_op *op)
{
    struct persist_rule rule;
    struct store_walk walk;
    int rc = store_walk_begin(&walk, database->db, &store_rule_table,
                              "+until_ms > 0 AND created_ms >= %" PRId64, op->shift_from_ms);

    while (rc == SQLITE_OK && (rc = store_walk_next(&walk, &rule)) == SQLITE_ROW) {
        rule.created_ms += op->shift_ms;
        rule.until_ms += op->shift_ms;
        rc = store_rule_put(database, &rule);
    }
    return store_walk_end(&walk, rc);
}

int store_rule_number(struct store_database *database, uint32_t host)
{
    struct persist_rule rule;
    struct store_walk walk;
    int rc = store_walk_begin(&walk, database->db, &store_rule_table,
                              "+host_id = %" PRIu32 " AND seq IS NULL", host);

    while (rc == SQLITE_OK && (rc = store_walk_next(&walk, &rule)) == SQLITE_ROW) {
        rc = store_rule_put(database, &rule);
    }
    return store_walk_end(&walk, rc);
}
