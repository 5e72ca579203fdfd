/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_rule: the rules of hosts, in the table `rule`. A dropped rule of a host that has changes
 * (persist_change) stays as a mark. All functions run within a transaction. Results are SQLite's
 * codes.
 */
#ifndef DAEMON_STORE_RULE_H
#define DAEMON_STORE_RULE_H

#include "daemon/store/database.h"

/* Stores a rule or a mark, and gives it a number if others are told. */
int store_rule_put(struct store_database *database, const struct persist_rule *rule);

/*
 * As store_rule_put, for a rule that is decided here. If others were told of the rule or the mark
 * that is stored, the new rule gets a later time; else copies would ignore the rule.
 */
int store_rule_decide(struct store_database *database, const struct persist_rule *rule);

/* Each function carries out one kind of operation, and sets its outcome. */
int store_rule_apply_put(struct store_database *database, struct persist_op *op);
int store_rule_apply_drop(struct store_database *database, struct persist_op *op);

/*
 * Finds the rule, or the mark, with the host, the kind and the value of `key`. SQLITE_ROW: found;
 * the value of *out_rule is the one of `key`. SQLITE_DONE: there is none.
 */
int store_rule_find(struct store_database *database, const struct persist_rule *key,
                    struct persist_rule *out_rule);

/* A part of an expiry: deletes the rules and marks that have ended. */
int store_rule_expire(struct store_database *database, struct persist_op *op);

/* A part of PERSIST_SHIFT: moves the times of each rule with an end. */
int store_rule_shift(struct store_database *database, const struct persist_op *op);

/* A part of PERSIST_REPLICATE: gives a number to each rule of the host without one. */
int store_rule_number(struct store_database *database, uint32_t host);

#endif
