/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_ops: applies each kind of operation (persist_kind) to the database. Deposits are in
 * store_deposit, moderation is in store_moderation, and setting the clock is in store_shift.
 *
 * Results are SQLite's codes. An outcome of an operation, such as a conflict, is no failure.
 */
#pragma once

#include "daemon/store/database.h"

/*
 * Applies one operation within the current transaction and sets its outcome. A deposit with the
 * outcome PERSIST_DUPLICATE sets *out_times; a PERSIST_MODERATE that was applied sets `state` and
 * `reports` of *out_times. If the function fails, the caller must roll the transaction back. The
 * operation must stay in place until the transaction ends, or until store_database_flush.
 */
int store_ops_apply(struct store_database *database, struct persist_op *op,
                    struct store_times *out_times);

/* --- apply ------------------------------------------------------------------------------------ */

/*
 * store_apply: PERSIST_APPLY, a state of another store, and PERSIST_REPLICATE, which says whether
 * the states of a host are numbered for others. Both run within a transaction. Results are
 * SQLite's codes.
 */

/* With the outcome PERSIST_APPLIED sets *out_times. */
int store_apply_state(struct store_database *database, struct persist_op *op,
                      struct store_times *out_times);

int store_apply_replicate(struct store_database *database, struct persist_op *op);

/* --- deposit ---------------------------------------------------------------------------------- */

/* store_deposit: the operation that stores a message, within a transaction. */

/*
 * Carries out a deposit: stores the message, and evicts other messages as the operation asks. Sets
 * the outcome of the operation. With another outcome than PERSIST_APPLIED the message is not
 * stored. PERSIST_DUPLICATE: also sets *out_times. Returns an SQLite result code.
 */
int store_deposit_apply(struct store_database *database, struct persist_op *op,
                        struct store_times *out_times);

/* Stores a new message with its state and its number of reports, and sets its seq. */
int store_deposit_insert(struct store_database *database, struct persist_message *message);

/* Sets the outcome PERSIST_NO_SPACE. Returns SQLITE_OK. */
int store_deposit_refuse(struct persist_op *op);

/* --- moderation ------------------------------------------------------------------------------- */

/*
 * store_moderation: operations on the table `moderation`, which stores decisions of the operator
 * and reports of readers. All functions run within a transaction. Results are SQLite's
 * codes.
 */

/* Each of the three functions carries out one kind of operation, and sets its outcome. */
int store_moderation_remove(struct store_database *database, struct persist_op *op);
int store_moderation_withhold(struct store_database *database, struct persist_op *op,
                              struct store_times *out_times);
int store_moderation_apply(struct store_database *database, struct persist_op *op,
                           struct store_times *out_times);

/* A part of an expiry: deletes removed messages whose destroy_ms has come, as `limit` allows. */
int store_moderation_destroy(struct store_database *database, struct persist_op *op);

/* A part of PERSIST_SHIFT: moves the times of each removal since shift_from_ms. */
int store_moderation_shift(struct store_database *database, const struct persist_op *op);

/* --- rule ------------------------------------------------------------------------------------- */

/*
 * store_rule: the rules of hosts, in the table `rule`. A dropped rule of a host that has changes
 * (persist_change) stays as a mark. All functions run within a transaction. Results are SQLite's
 * codes.
 */

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

/* --- shift ------------------------------------------------------------------------------------ */

/*
 * store_shift: PERSIST_SHIFT. The host's clock is set forward, and with it the times of messages,
 * epochs and tombstones. A transaction does it, so after a crash either all times have moved or
 * none.
 */

/*
 * Applies the operation within the current transaction. Damaged messages, rules and decisions
 * stay as they are. Applied
 * a second time with the same clock, the operation moves nothing that the first time has moved,
 * unless messages came over a longer time than shift_ms. Returns an SQLite result code; if it is
 * not SQLITE_OK, the caller must roll the transaction back. O(messages from the number
 * op->message.seq on)
 */
int store_shift_apply(struct store_database *database, struct persist_op *op);

/* --- tombstone -------------------------------------------------------------------------------- */

/*
 * store_tombstone: the tombstones of messages that are gone. A tombstone refuses a deposit of its
 * id until the tombstone expires.
 *
 * All functions run within a transaction. Results are SQLite's codes.
 */

/*
 * Stores a tombstone for the host, the id and the epoch of `message`, which expires at
 * `expires_ms`, or, if others are told, when the tombstone of before does, if that is later. It is
 * deleted earlier if there are more than marks_max. `why` is PERSIST_WHY_WITHDRAWN, or
 * PERSIST_WHY_REMOVED, which also stores that the operator has removed the message.
 */
int store_tombstone_put(struct store_database *database, const struct persist_message *message,
                        int64_t expires_ms, enum persist_why why);

/*
 * Finds the tombstone of a message, expired or not. SQLITE_ROW: found, and without a seq `why` is
 * PERSIST_WHY_REMOVED or PERSIST_WHY_WITHDRAWN, too. SQLITE_DONE: there is none.
 */
int store_tombstone_find(struct store_database *database, const struct persist_message *message,
                         struct store_tombstone *out_tombstone);

/* Deletes the tombstone, and that the operator removed the message. */
int store_tombstone_lift(struct store_database *database, const struct persist_message *message);

/* A part of an expiry: deletes tombstones that have expired, as `limit` allows. */
int store_tombstone_expire(struct store_database *database, struct persist_op *op);

/* A part of PERSIST_SHIFT: moves the end of each tombstone that had not expired. */
int store_tombstone_shift(struct store_database *database, const struct persist_op *op);

/* A part of PERSIST_REPLICATE: gives a number to each tombstone of the host without one. */
int store_tombstone_number(struct store_database *database, uint32_t host);

/* --- evicted ---------------------------------------------------------------------------------- */

/*
 * store_evicted: messages that went for new deposits, for those who have copies (persist_change).
 * The table `evicted` has rows of up to STORE_EVICTIONS_MAX messages, in the order of their
 * numbers. Unlike a tombstone an eviction refuses no deposit, and nobody searches for it by its id:
 * so a row is only appended. A tombstone would change a page of its own of the table, and another
 * one of an index.
 *
 * The messages of a transaction wait in memory until they fill a row, or the transaction is about
 * to be committed. A row for each message would cost a deposit a tenth of its time.
 *
 * A row goes when all its messages, and those of all rows before it, have expired, or when there
 * are too many messages. The id of an evicted message may be stored again: then whoever reads the
 * changes leaves the eviction out, unless the message that is stored now ends earlier (feed.c).
 *
 * All functions run within a transaction. Results are SQLite's codes.
 */

/*
 * Notes that a message has gone which would have expired at `expires_ms`. Does nothing if others
 * are not told.
 */
int store_evicted_put(struct store_database *database, const struct persist_message *message,
                      int64_t expires_ms);

/*
 * Writes the evicted messages that store_evicted_put has noted. Call it before the commit. If
 * the table then has more than marks_max messages, the first rows are deleted, about a
 * tenth of the messages.
 */
int store_evicted_write(struct store_database *database);

/*
 * A part of an expiry: deletes the first rows until one has not expired. Deletes one row at least,
 * and no further one after op->limit messages.
 */
int store_evicted_expire(struct store_database *database, struct persist_op *op);

/* --- decision --------------------------------------------------------------------------------- */

/*
 * store_decision: the table `decision`, the list of the operator's decisions, and the table
 * `copy_decision`, by which a copy of a host keeps its operator's decisions in effect until the
 * owner has confirmed them. An operation that changes something stores its decision in its own
 * transaction, so that the file never has one without the other. Results are SQLite's codes.
 */

/*
 * Stores the decision of the operation, if the operation has one. Deletes the oldest decision of
 * the host if there are more than PERSIST_DECISIONS_KEPT. `act` replaces the decision's own; NULL:
 * it stays. `rule`: the decision is about this rule; NULL: about a message. If the rule is a ban,
 * its handle, the first digits of the hash of what is banned, replaces the reason.
 */
int store_decision_put(struct store_database *database, const struct persist_op *op,
                       const char *act, const struct persist_rule *rule, uint32_t reports);

/* A part of an expiry: deletes op->limit decisions at most that were made before
 * op->decided_before_ms. */
int store_decision_expire(struct store_database *database, struct persist_op *op);

/* A part of PERSIST_SHIFT: moves the times of decisions since op->shift_from_ms. */
int store_decision_shift(struct store_database *database, const struct persist_op *op);

/* Carries out a read of the kind PERSIST_READ_DECISIONS. */
int store_decision_read(sqlite3 *db, struct persist_read *read);

/* --- decisions at copies: the table `copy_decision` ------------------------------------------- */

/*
 * The operation's decision waits for the owner, if decision->waits says so; else nothing is done.
 * The first one: a decision about the message of the operation, which is now in `state` (enum
 * persist_state, or STORE_COPY_REMOVED). The second one: a decision about the rule, or to drop it.
 */
int store_copy_await_message(struct store_database *database, const struct persist_op *op,
                             uint32_t state, int64_t expires_ms);
int store_copy_await_rule(struct store_database *database, const struct persist_op *op,
                          const struct persist_rule *rule);

/*
 * Finds what is kept of a decision about the message or rule that the operation, a PERSIST_APPLY,
 * is about. SQLITE_ROW: its value is the operation's. SQLITE_DONE: nothing is kept.
 */
int store_copy_find(struct store_database *database, const struct persist_op *op,
                    struct store_copy *out_copy);

/* Writes the row, in place of the one about the same message or rule. */
int store_copy_put(struct store_database *database, const struct store_copy *copy);

/* Takes note of the decision that the operation, a PERSIST_APPLY, names, if it names one. */
int store_copy_note(struct store_database *database, const struct persist_op *op, int64_t until_ms);

/* Deletes the row. */
int store_copy_drop(struct store_database *database, const struct store_copy *copy);

/* A part of an expiry: deletes the rows whose until_ms has come. PERSIST_SHIFT does not move these
 * times: at a copy they are the owner's, and at an owner an early end does no harm. */
int store_copy_expire(struct store_database *database, struct persist_op *op);

/* --- review ----------------------------------------------------------------------------------- */

/*
 * store_review: the rows of the table `moderation`, one for each message that was reported or
 * reviewed, is hidden, or waits for review. All functions run within a transaction. Results are
 * SQLite's codes.
 */

enum { STORE_REASONS_BYTES_MAX = PERSIST_REASONS_KEPT * (PERSIST_WORDS_BYTES_MAX + 1) };

/* A row of the table. */
struct store_review {
    int64_t seq; /* of the message */
    enum persist_state state;
    uint32_t reports;
    int64_t destroy_ms; /* of a removed message; else 0 */
    int64_t removed_ms; /* of a removed message; else 0 */
    int64_t change_seq; /* the number of the change, if it is not the message's own; 0: others are
                           not told, or the message's number tells them */
    size_t reasons_bytes;
    char reasons[STORE_REASONS_BYTES_MAX + 1]; /* one line for each reason, and a NUL */
};

/*
 * Reads the row of a message. A message without a row has PERSIST_SHOWN and zeros. Returns
 * SQLITE_CORRUPT if the row is damaged.
 */
int store_review_find(struct store_database *database, int64_t seq, struct store_review *out_row);

int store_review_put(struct store_database *database, const struct store_review *row);

/* As store_review_put, and the row takes the number of a change of `message`. */
int store_review_change(struct store_database *database, const struct persist_message *message,
                        struct store_review *row);

/* Stores the state and the number of reports of a new message. */
int store_review_begin(struct store_database *database, const struct persist_message *message);

/*
 * Reads the state and the number of reports of a message, as store_review_find does.
 */
int store_review_state(struct store_database *database, int64_t seq, enum persist_state *out_state,
                       uint32_t *out_reports);

/* How many of the reasons, one on each line, are grave (see `words` in persist.h). */
uint32_t store_review_count_grave(const char *reasons, size_t bytes);

/* Bytes of the texts of the reasons, one on each line: without the kinds and the ends of lines. */
uint32_t store_review_texts_bytes(const char *reasons, size_t bytes);

/* Appends the reason of a report. `words` in persist.h says which reason is deleted for it. */
void store_review_add_reason(struct store_review *row, const char *words, size_t bytes);

/* A part of PERSIST_REPLICATE: gives a number to each row of the host without one. */
int store_review_number(struct store_database *database, uint32_t host);
