/* SPDX-License-Identifier: Apache-2.0 */
/* sim_expect_op: operations of the store, when they begin and when they are done. */
#include <string.h>

#include "tests/sim/sim_expect.h"

/* --- operations ------------------------------------------------------------------------------- */

static void begin_epoch(struct world *world, const struct persist_op *op)
{
    const struct persist_epoch *epoch = op->epoch;
    struct m_host *host = &world->model.hosts[gate_host(world, epoch->host)];
    const int64_t length_ms = (int64_t)host->config->epoch_length_s * 1000;
    SIM_CHECK(length_ms > 0 && host->epoch_count < M_EPOCHS);
    SIM_CHECK(host->current == 0 || host->epochs[host->current - 1].ends_ms <= world->model.now_ms);
    for (uint32_t e = 0; e < host->epoch_count; e++) {
        SIM_EXPECT(epoch->number > host->epochs[e].number, "an epoch's number is used again");
        SIM_EXPECT(memcmp(epoch->key, host->epochs[e].key, LIMIT_KEY_BYTES) != 0,
                   "an epoch's key is used again");
    }
    SIM_EQUAL(epoch->starts_ms, world->model.now_ms);
    SIM_EQUAL(epoch->ends_ms, (world->model.now_ms / length_ms + 1) * length_ms);
    SIM_EQUAL(epoch->kept_ms, epoch->ends_ms + (int64_t)host->config->epoch_keep_s * 1000);
    host->beginning = true;
}

static void epoch_begun(struct world *world, const struct persist_op *op, bool failed)
{
    const struct persist_epoch *epoch = op->epoch;
    struct m_host *host = &world->model.hosts[gate_host(world, epoch->host)];

    host->beginning = false;
    if (failed) {
        return;
    }
    struct m_epoch *begun = &host->epochs[host->epoch_count++];
    *begun = (struct m_epoch){.number = epoch->number,
                              .starts_ms = epoch->starts_ms,
                              .ends_ms = epoch->ends_ms,
                              .kept_ms = epoch->kept_ms,
                              .stored = true};
    memcpy(begun->key, epoch->key, LIMIT_KEY_BYTES);
    host->current = host->epoch_count;
}

void expect_op_submitted(struct world *world, struct w_request *owner, struct persist_op *op)
{
    SIM_EQUAL(op->now_ms - op->shift_ms, world->model.now_ms);
    if (op->kind == PERSIST_CLOCK) {
        SIM_EQUAL(op->shift_from_ms,
                  model_clock_trusted(&world->model) ? INT64_MAX : world->model.shift_from_ms);
    } else if (op->kind == PERSIST_SHIFT) {
        SIM_EQUAL(op->shift_from_ms, world->model.shift_from_ms);
        SIM_EQUAL(op->shift_ms, model_due_ms(&world->model));
        SIM_CHECK(op->shift_ms > 0);
    }
    if (owner == NULL) {
        SIM_CHECK(op->kind == PERSIST_EXPIRE || op->kind == PERSIST_CLOCK ||
                  op->kind == PERSIST_EPOCH || op->kind == PERSIST_SHIFT);
    } else if (op->kind != PERSIST_TALLY && op->kind != PERSIST_EXPIRE &&
               op->kind != PERSIST_CLOCK) { /* the clock is saved again after the answer */
        SIM_EXPECT(!owner->expected.is_known,
                   "a request of kind %d is refused with %d, and goes to the store", owner->kind,
                   owner->expected.code);
    }
    if (op->kind == PERSIST_EPOCH) {
        begin_epoch(world, op);
    } else if (op->kind == PERSIST_DEPOSIT) {
        const struct m_message *message = &world->model.messages[owner->deposit];
        world->model.holds = true;
        SIM_CHECK(memcmp(op->message.id, message->id, MESSAGE_ID_BYTES) == 0);
        SIM_EQUAL(op->message.expires_ms, message->expires_ms);
        SIM_EQUAL(op->message.state, message->state);
        for (uint32_t i = 0; i < world->model.waiting_count; i++) {
            const struct m_waiting *waiting = &world->model.waiting[i];
            if (waiting->owner == owner) {
                SIM_EQUAL(op->evict_messages, waiting->need_messages);
                SIM_EQUAL(op->evict_bytes, waiting->need_bytes);
                SIM_EQUAL(op->chosen_count, waiting->own_count);
                SIM_CHECK(op->chosen_count == 0 ||
                          memcmp(op->chosen, waiting->own_ids,
                                 (size_t)op->chosen_count * MESSAGE_ID_BYTES) == 0);
            }
        }
    }
}

/* Out of service goes whatever the store says has gone. */
static void expired(struct world *world, const struct persist_op *op)
{
    SIM_EQUAL(op->outcome, PERSIST_APPLIED);
    SIM_EQUAL(op->removed_count, m_expire(&world->model, op->now_ms));
    for (uint32_t i = 0; i < op->removed_count; i++) {
        m_forget(&world->model, gate_host(world, op->removed[i].host), op->removed[i].id);
    }
}

static bool saves_clock(const struct persist_op *op)
{
    return op->kind != PERSIST_TALLY && op->outcome == PERSIST_APPLIED &&
           (op->kind != PERSIST_EXPIRE || op->removed_count > 0);
}

void expect_op_done(struct world *world, struct w_request *owner, struct persist_op *op,
                    bool failed)
{
    if (owner != NULL) {
        owner->has_failed = owner->has_failed || failed;
    }
    switch (op->kind) {
    case PERSIST_DEPOSIT:
        expect_deposit_done(world, owner, op, failed);
        break;
    case PERSIST_WITHDRAW:
    case PERSIST_REMOVE:
    case PERSIST_WITHHOLD: /* the worlds have remove_after = 0: none comes */
        expect_removal_done(world, owner, op, failed);
        break;
    case PERSIST_MODERATE:
        (owner->kind == HEARSAY_REQUEST_REPORT ? expect_report_done
                                               : expect_restore_done)(world, owner, op, failed);
        break;
    case PERSIST_RULE_PUT:
    case PERSIST_RULE_DROP:
        expect_rule_done(world, owner, op, failed);
        break;
    case PERSIST_EPOCH:
        epoch_begun(world, op, failed);
        break;
    case PERSIST_EXPIRE:
        if (!failed) {
            expired(world, op);
        }
        break;
    case PERSIST_CLOCK:
        world->model.shift_saved_ms = failed ? world->model.shift_saved_ms : op->shift_from_ms;
        break;
    case PERSIST_SHIFT:
        if (!failed) {
            model_shift(&world->model, op->now_ms - op->shift_ms, op->shift_ms);
        }
        break;
    case PERSIST_HOST:
    case PERSIST_REPLICATE: /* no world has a bridge */
    case PERSIST_APPLY:
    case PERSIST_TALLY:
        break;
    }
    if (!failed && saves_clock(op) && op->now_ms > world->model.saved_ms) {
        world->model.saved_ms = op->now_ms;
    }
}
