/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/ops.h"

#include <assert.h>
#include <string.h>

#include "core/base/expiry.h"
#include "daemon/store/load.h"

/* --- messages --------------------------------------------------------------------------------- */

/* What is stored of the id of an operation. */
struct here {
    bool found;                    /* the message is stored, expired or not */
    bool is_same;                  /* it has the same content */
    struct persist_message stored; /* without content */
    struct store_review review;
};

/* Finds the message and its state. SQLITE_CORRUPT: a row is damaged. */
static int find_here(struct store_database *database, const struct persist_message *message,
                     struct here *out_here)
{
    int rc = store_database_find(database, message, &out_here->stored);

    out_here->found = rc == SQLITE_ROW;
    out_here->is_same = out_here->found && store_row_same_content(&out_here->stored, message);
    store_statement_reset(database->statements[STORE_FIND]);
    if (rc == SQLITE_ROW) {
        return store_review_find(database, out_here->stored.seq, &out_here->review);
    }
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/*
 * Whether the id has a tombstone that refuses the message. Deletes a tombstone that does not:
 * it has expired, or is of a removed message that its operator has brought back.
 */
static int find_refusal(struct store_database *database, const struct persist_op *op,
                        bool *out_refuses)
{
    struct store_tombstone tombstone;
    int rc = store_tombstone_find(database, &op->message, &tombstone);

    *out_refuses = false;
    if (rc != SQLITE_ROW) {
        return rc == SQLITE_DONE ? SQLITE_OK : rc;
    }
    bool is_decided =
        op->message.state == PERSIST_APPROVED || op->message.state == PERSIST_WITHHELD;
    bool is_back =
        op->as == PERSIST_AS_REPLICA && is_decided && tombstone.why == PERSIST_WHY_REMOVED;
    *out_refuses = !message_expired(tombstone.expires_ms, op->now_ms) && !is_back;
    return *out_refuses ? SQLITE_OK : store_tombstone_lift(database, &op->message);
}

/* Stores the message of the operation, after the stored one of the same id is deleted. */
static int replace_message(struct store_database *database, struct persist_op *op,
                           const struct here *here)
{
    bool refuses = false;
    int rc;

    if (database->refuses_deposits) {
        return store_deposit_refuse(op);
    }
    rc = find_refusal(database, op, &refuses);
    if (rc == SQLITE_CORRUPT) {
        return store_database_fail_damaged(op);
    }
    op->outcome = refuses ? PERSIST_DUPLICATE : PERSIST_APPLIED;
    if (rc != SQLITE_OK || refuses) {
        return rc;
    }
    if (here->found) {
        rc = store_database_delete(database, here->stored.seq, NULL);
    }
    return rc == SQLITE_OK ? store_deposit_insert(database, &op->message) : rc;
}

/* Applies a message whose id is stored with the same content, and has not expired. */
static int apply_stored(struct store_database *database, struct persist_op *op, struct here *here)
{
    const struct persist_message *stored = &here->stored;
    struct store_review *review = &here->review;
    struct persist_message *message = &op->message;
    bool same_times =
        stored->deposited_ms == message->deposited_ms && stored->expires_ms == message->expires_ms;

    if (op->as == PERSIST_AS_RESTORE && review->state >= PERSIST_HIDDEN &&
        message->state < PERSIST_HIDDEN) {
        message->state = review->state;
    }
    if (review->destroy_ms == 0 && same_times && review->state == message->state &&
        review->reports == message->reports) {
        op->outcome = PERSIST_DUPLICATE;
        return SQLITE_OK;
    }
    if (review->destroy_ms != 0 || !same_times ||
        (review->state >= PERSIST_HIDDEN && message->state < PERSIST_HIDDEN)) {
        return replace_message(database, op, here);
    }
    review->state = message->state;
    review->reports = message->reports;
    message->seq = stored->seq;
    op->outcome = PERSIST_APPLIED;
    return store_review_change(database, message, review);
}

static int apply_message(struct store_database *database, struct persist_op *op)
{
    struct here here;

    int rc = find_here(database, &op->message, &here);
    if (rc == SQLITE_CORRUPT) {
        return store_database_fail_damaged(op);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    bool is_here = here.found && !message_expired(here.stored.expires_ms, op->now_ms);
    if (message_expired(op->message.expires_ms, op->now_ms)) {
        bool is_over = is_here && here.is_same && op->as == PERSIST_AS_REPLICA;
        op->outcome = is_over ? PERSIST_APPLIED : PERSIST_DUPLICATE;
        return is_over ? store_database_delete(database, here.stored.seq, NULL) : SQLITE_OK;
    }
    if (!is_here) {
        return replace_message(database, op, &here);
    }
    if (!here.is_same) {
        op->outcome = PERSIST_CONFLICT;
        return SQLITE_OK;
    }
    return apply_stored(database, op, &here);
}

/* Applies the decision of an operator about a stored message. */
static int apply_decision(struct store_database *database, struct persist_op *op,
                          struct store_times *out_times)
{
    struct here here;
    int rc = find_here(database, &op->message, &here);

    if (rc == SQLITE_CORRUPT) {
        return store_database_fail_damaged(op);
    }
    op->outcome = PERSIST_DUPLICATE;
    if (rc != SQLITE_OK || !here.found) {
        return rc;
    }
    rc = store_copy_note(database, op, here.stored.expires_ms);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (here.review.state == op->message.state && here.review.destroy_ms == 0) {
        return op->decision_id.number == 0
                   ? SQLITE_OK
                   : store_review_change(database, &here.stored, &here.review);
    }
    op->message.deposited_ms = here.stored.deposited_ms;
    op->message.expires_ms = here.stored.expires_ms;
    op->message.seq = here.stored.seq;
    op->message.reports = 0;
    op->message.destroy_ms = 0;
    rc = op->message.state == PERSIST_WITHHELD ? store_moderation_withhold(database, op, out_times)
                                               : store_moderation_apply(database, op, out_times);
    if (op->outcome == PERSIST_NOT_FOUND || op->outcome == PERSIST_FORBIDDEN) {
        op->outcome = PERSIST_DUPLICATE;
    }
    return rc;
}

/* --- messages that are gone ------------------------------------------------------------------- */

/* Whether the tombstone of the operation says more than the stored one. */
static bool says_more(const struct persist_op *op, const struct store_tombstone *stored)
{
    return stored->expires_ms < op->message.expires_ms ||
           (stored->why == PERSIST_WHY_WITHDRAWN && op->why == PERSIST_WHY_REMOVED);
}

static int put_gone(struct store_database *database, struct persist_op *op, bool was_here)
{
    const struct persist_message *message = &op->message;
    struct store_tombstone stored;
    int rc = store_tombstone_find(database, message, &stored);
    bool found = rc == SQLITE_ROW;

    if (rc == SQLITE_CORRUPT) { /* is written anew */
        rc = SQLITE_DONE;
    }
    if (rc != SQLITE_ROW && rc != SQLITE_DONE) {
        return rc;
    }
    if (op->why == PERSIST_WHY_EVICTED && found && stored.why == PERSIST_WHY_REMOVED) {
        op->outcome = PERSIST_APPLIED; /* its operator had brought it back before */
        return store_tombstone_lift(database, message);
    }
    if (op->why == PERSIST_WHY_EVICTED) {
        return was_here ? store_evicted_put(database, message, message->expires_ms) : SQLITE_OK;
    }
    if (message_expired(message->expires_ms, op->now_ms) || (found && !says_more(op, &stored))) {
        return SQLITE_OK;
    }
    bool is_longer = found && stored.expires_ms > message->expires_ms;
    op->outcome = PERSIST_APPLIED;
    return store_tombstone_put(database, message,
                               is_longer ? stored.expires_ms : message->expires_ms, op->why);
}

static int apply_gone(struct store_database *database, struct persist_op *op)
{
    struct here here;

    op->outcome = PERSIST_DUPLICATE;
    if (op->why == PERSIST_WHY_EVICTED && op->as != PERSIST_AS_REPLICA) {
        return SQLITE_OK;
    }
    int rc = store_database_find(database, &op->message, &here.stored);
    store_statement_reset(database->statements[STORE_FIND]);
    if (rc == SQLITE_CORRUPT) {
        return store_database_fail_damaged(op);
    }
    bool was_here = rc == SQLITE_ROW;
    rc = rc == SQLITE_DONE ? SQLITE_OK : rc;
    if (was_here) {
        op->outcome = PERSIST_APPLIED;
        rc = store_database_delete(database, here.stored.seq, NULL);
    }
    return rc == SQLITE_OK ? put_gone(database, op, was_here) : rc;
}

/* --- rules ------------------------------------------------------------------------------------ */

/* Takes note of a decision about a rule. `stored`: its state here, which others are told anew;
 * NULL: they are told what is stored now. */
static int note_rule(struct store_database *database, const struct persist_op *op,
                     const struct persist_rule *stored)
{
    int64_t days_ms = (int64_t)PERSIST_DROPPED_DAYS * 24 * 60 * 60 * 1000;
    int rc = SQLITE_OK;

    if (op->as == PERSIST_AS_OPERATOR && op->decision_id.number != 0) {
        rc = store_copy_note(database, op, op->now_ms + days_ms);
        rc = rc == SQLITE_OK && stored != NULL ? store_rule_put(database, stored) : rc;
    }
    return rc;
}

static int apply_rule(struct store_database *database, struct persist_op *op)
{
    const struct persist_rule *rule = op->rule;
    struct persist_rule stored;
    int rc = store_rule_find(database, rule, &stored);

    op->outcome = PERSIST_DUPLICATE;
    if (rc == SQLITE_CORRUPT) {
        return store_database_fail_damaged(op);
    }
    if (rc != SQLITE_ROW && rc != SQLITE_DONE) {
        return rc;
    }
    if ((rule->until_ms != 0 && rule->until_ms <= op->now_ms) ||
        (rc == SQLITE_ROW &&
         (stored.created_ms > rule->created_ms ||
          (stored.created_ms == rule->created_ms && stored.dropped >= rule->dropped)))) {
        return rc == SQLITE_ROW ? note_rule(database, op, &stored) : SQLITE_OK;
    }
    op->outcome = PERSIST_APPLIED;
    rc = note_rule(database, op, NULL);
    return rc == SQLITE_OK ? store_rule_put(database, rule) : rc;
}

/* --- decisions at copies ---------------------------------------------------------------------- */

/* Whether the owner has taken note of this decision, or of a later one of the same copy. */
static bool is_noted(const struct persist_op *op, const struct store_copy *known)
{
    const struct persist_decision_id *id = &op->decision_id;

    return id->number != 0 &&
           memcmp(known->id.store_id, id->store_id, PERSIST_STORE_ID_BYTES) == 0 &&
           id->number <= known->id.number && id->time_ms <= known->id.time_ms;
}

/* Whether the owner's state names the decision that waits. */
static bool is_confirmed(const struct persist_op *op, const struct store_copy *waiting)
{
    return op->decision_id.number == waiting->id.number &&
           memcmp(op->decision_id.store_id, waiting->id.store_id, PERSIST_STORE_ID_BYTES) == 0;
}

/* The owner says that the message is gone. Only an eviction leaves a removal to be done: the id may
 * be deposited again. */
static int meet_gone(struct store_database *database, struct persist_op *op,
                     const struct store_copy *waiting, bool *out_is_kept)
{
    *out_is_kept = op->why == PERSIST_WHY_EVICTED && waiting->state == STORE_COPY_REMOVED;
    if (*out_is_kept) {
        return SQLITE_OK;
    }
    op->verdict = waiting->state == PERSIST_APPROVED ? PERSIST_NOT_KEPT : PERSIST_KEPT;
    return store_copy_drop(database, waiting);
}

/* What the owner has made of a confirmed decision. */
static int judge_rule(struct store_database *database, struct persist_op *op)
{
    struct persist_rule decided;
    int rc = store_rule_find(database, op->rule, &decided);

    op->verdict =
        rc == SQLITE_ROW && (decided.dropped != op->rule->dropped ||
                             (decided.kind == PERSIST_ACCEPT && decided.number != op->rule->number))
            ? PERSIST_NOT_KEPT
            : PERSIST_KEPT;
    return rc == SQLITE_ROW || rc == SQLITE_DONE || rc == SQLITE_CORRUPT ? SQLITE_OK : rc;
}

/* The message is applied with what was decided here. The decision waits for as long as the message
 * lives. */
static int keep_waiting(struct store_database *database, struct persist_op *op,
                        const struct store_copy *waiting)
{
    struct store_copy longer = *waiting;

    if (op->message.expires_ms > waiting->until_ms) {
        longer.until_ms = op->message.expires_ms;
    }
    if (waiting->state != STORE_COPY_REMOVED) {
        op->message.state = (enum persist_state)waiting->state;
    }
    return longer.until_ms == waiting->until_ms ? SQLITE_OK : store_copy_put(database, &longer);
}

/*
 * A state of the owner meets a decision that waits here. *out_is_kept: nothing of the state is to
 * be applied. Else the state is applied; if it does not name the decision, with what was decided.
 */
static int meet_waiting(struct store_database *database, struct persist_op *op,
                        const struct store_copy *waiting, bool *out_is_kept)
{
    bool is_rule = op->change == PERSIST_CHANGE_RULE;
    int rc = SQLITE_OK;

    if (op->change == PERSIST_CHANGE_GONE) {
        return meet_gone(database, op, waiting, out_is_kept);
    }
    if (!is_confirmed(op, waiting)) {
        *out_is_kept = is_rule || waiting->state == STORE_COPY_REMOVED;
        return is_rule ? SQLITE_OK : keep_waiting(database, op, waiting);
    }
    if (is_rule) {
        rc = judge_rule(database, op);
    } else {
        op->verdict =
            (uint32_t)op->message.state == waiting->state ? PERSIST_KEPT : PERSIST_NOT_KEPT;
    }
    return rc == SQLITE_OK ? store_copy_drop(database, waiting) : rc;
}

/* Looks at what is known of decisions at copies. *out_is_done: nothing is to be applied. */
static int look_at_copy(struct store_database *database, struct persist_op *op, bool *out_is_done)
{
    struct store_copy known;
    int rc = op->as == PERSIST_AS_RESTORE ? SQLITE_DONE : store_copy_find(database, op, &known);

    *out_is_done = false;
    op->verdict = PERSIST_NO_VERDICT;
    if (rc != SQLITE_ROW) {
        return rc == SQLITE_DONE ? SQLITE_OK : rc;
    }
    if (op->as == PERSIST_AS_OPERATOR) {
        *out_is_done = is_noted(op, &known);
        return SQLITE_OK;
    }
    return known.waits ? meet_waiting(database, op, &known, out_is_done) : SQLITE_OK;
}

/* --- all states ------------------------------------------------------------------------------- */

int store_apply_state(struct store_database *database, struct persist_op *op,
                      struct store_times *out_times)
{
    bool is_done = false;
    int rc = look_at_copy(database, op, &is_done);

    assert(op->change == PERSIST_CHANGE_RULE || op->message.epoch == 0);
    op->outcome = PERSIST_DUPLICATE;
    if (rc == SQLITE_CORRUPT) {
        return store_database_fail_damaged(op);
    }
    if (rc != SQLITE_OK || is_done) {
        return rc;
    }
    rc = SQLITE_MISUSE;
    switch (op->change) {
    case PERSIST_CHANGE_MESSAGE:
        rc = op->as == PERSIST_AS_OPERATOR ? apply_decision(database, op, out_times)
                                           : apply_message(database, op);
        break;
    case PERSIST_CHANGE_GONE:
        rc = apply_gone(database, op);
        break;
    case PERSIST_CHANGE_RULE:
        rc = apply_rule(database, op);
        break;
    }
    bool is_kept = op->change == PERSIST_CHANGE_MESSAGE && op->as == PERSIST_AS_OPERATOR;
    if (rc != SQLITE_OK || op->outcome != PERSIST_APPLIED || is_kept) {
        return rc; /* store_moderation has kept the decision about a message */
    }
    return store_decision_put(database, op, NULL, op->rule, 0);
}

int store_apply_replicate(struct store_database *database, struct persist_op *op)
{
    uint32_t host = op->message.host;
    bool changed = false;
    int rc = store_load_replicate(database->db, host, op->replicate, &changed);

    op->outcome = changed ? PERSIST_APPLIED : PERSIST_DUPLICATE;
    if (rc != SQLITE_OK || !changed) {
        return rc;
    }
    database->state.changed = true;
    database->replicates.is_known = false;
    database->state.replicating += op->replicate ? 1 : -1;
    if (op->replicate) {
        rc = store_tombstone_number(database, host);
        rc = rc == SQLITE_OK ? store_review_number(database, host) : rc;
        rc = rc == SQLITE_OK ? store_rule_number(database, host) : rc;
    }
    return rc;
}
