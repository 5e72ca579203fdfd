/* SPDX-License-Identifier: Apache-2.0 */
/* sim_expect_deposit: deposits and withdrawals. */
#include <string.h>

#include "tests/sim/sim_expect.h"

/* --- deposits --------------------------------------------------------------------------------- */

static uint64_t content_bytes(const struct w_request *request)
{
    return request->filter_bytes + strlen("text/plain") + m_payload_bytes(request->payload);
}

bool expect_fill_is_right(const struct profile *profile, const uint8_t *filter, uint32_t least_ppm,
                          uint32_t most_ppm)
{
    uint64_t all = 0;

    for (uint32_t s = 0; s < profile->section_count; s++) {
        const struct profile_section *section = &profile->sections[s];
        uint64_t set = 0;

        for (uint32_t b = section->first_bit; b < section->first_bit + section->bits; b++) {
            set += filter[b / 8] >> b % 8 & 1;
        }
        if (set * 1000000 > (uint64_t)most_ppm * section->bits) {
            return false;
        }
        all += set;
    }
    return all * 1000000 >= (uint64_t)least_ppm * profile->bits;
}

static bool check_deposit(struct world *world, struct w_request *request)
{
    const struct hearsay_limits *limits = &world->config.limits;
    const struct m_host *host = &world->model.hosts[request->host];

    if (m_epoch(&world->model, request->host, request->epoch) == NULL) {
        expect_error(request, HEARSAY_CODE_UNKNOWN_EPOCH, "epoch");
    } else if (request->filter_bytes != host->filter_bytes) {
        expect_error(request, HEARSAY_CODE_PROFILE_MISMATCH, "filter");
    } else if (!expect_fill_is_right(&host->config->profile, request->filter,
                                     limits->deposit_fill_min_ppm, limits->deposit_fill_max_ppm)) {
        expect_error(request, HEARSAY_CODE_FILL_OUT_OF_RANGE, "filter");
    } else if (request->has_ttl_s && request->ttl_s > limits->ttl_max_s) {
        expect_error(request, HEARSAY_CODE_INVALID, "ttl_s");
    } else {
        return true;
    }
    return false;
}

/* Whether the operator lets it in; *out_state: as what. */
static bool check_rules(struct world *world, struct w_request *request,
                        enum persist_state *out_state)
{
    const char *source = NULL;
    int64_t until_ms = 0;
    const enum accept mode = m_accept(&world->model, request->host, &source, &until_ms);

    *out_state = mode == ACCEPT_REVIEW ? PERSIST_PENDING : PERSIST_SHOWN;
    if (mode == ACCEPT_CLOSED) {
        expect_error(request, HEARSAY_CODE_FORBIDDEN, "");
        request->expected.retry_ms =
            until_ms > world->model.now_ms ? (uint64_t)(until_ms - world->model.now_ms) : 0;
        return false;
    }
    const int banned = m_banned(&world->model, request->host, request->filter, request->payload);
    if (banned != 0) {
        expect_error(request, HEARSAY_CODE_FORBIDDEN,
                     banned == 1   ? "payload"
                     : banned == 2 ? "filter"
                                   : NULL);
    }
    return banned == 0;
}

static void make_message(struct world *world, struct w_request *request, enum persist_state state)
{
    struct model *model = &world->model;
    const struct m_epoch *epoch = m_epoch(model, request->host, request->epoch);
    const uint32_t ttl_s = request->has_ttl_s ? request->ttl_s : world->config.limits.ttl_default_s;

    SIM_CHECK(model->message_count < M_MESSAGES);
    request->deposit = model->message_count++;
    struct m_message *message = &model->messages[request->deposit];
    *message = (struct m_message){.host = request->host,
                                  .epoch = request->epoch,
                                  .payload = request->payload,
                                  .deposited_ms = model->now_ms,
                                  .expires_ms = model->now_ms + (int64_t)ttl_s * 1000,
                                  .reach_ppm = request->reach_ppm,
                                  .sender = request->client->sender,
                                  .can_withdraw = request->can_withdraw,
                                  .token = request->token,
                                  .state = state};
    memcpy(message->id, request->message_id, MESSAGE_ID_BYTES);
    memcpy(message->filter, request->filter, M_FILTER_BYTES);
    if (message->expires_ms > epoch->kept_ms) {
        message->expires_ms = epoch->kept_ms;
    }
}

void expect_deposit(struct world *world, struct w_request *request)
{
    struct model *model = &world->model;
    enum persist_state state = PERSIST_SHOWN;
    struct m_waiting waiting = {
        .owner = request, .host = request->host, .bytes = content_bytes(request)};

    if (!check_deposit(world, request)) {
        return;
    }
    const struct m_message *there = m_served(model, request->host, request->message_id);
    const bool is_known = there != NULL && there->expires_ms > model->now_ms;
    if (!is_known) {
        if (!check_rules(world, request, &state)) {
            return;
        }
        const bool may_evict = state < PERSIST_HIDDEN &&
                               model->hosts[request->host].config->evict != CONFIG_EVICT_REJECT;
        if (!m_share_room(model, request->client->sender, may_evict, &waiting)) {
            expect_error(request, HEARSAY_CODE_QUOTA, "");
            return;
        }
        const int room = m_room(model, &waiting);
        if (room == 2 || (room == 1 && state >= PERSIST_HIDDEN)) {
            m_share_release(model, &waiting);
            expect_error(request, HEARSAY_CODE_QUOTA, "");
            return;
        }
        SIM_CHECK(model->waiting_count < M_PENDING);
        model->waiting[model->waiting_count++] = waiting;
    }
    make_message(world, request, state);
    if (!is_known) {
        model->waiting[model->waiting_count - 1].is_shared =
            m_share_add(model, &model->messages[request->deposit]);
    }
}

/* *out_shared: whether it was counted for its sender. */
static void forget_waiting(struct model *model, const struct w_request *request, bool *out_shared)
{
    *out_shared = false;
    for (uint32_t i = 0; i < model->waiting_count; i++) {
        if (model->waiting[i].owner == request) {
            *out_shared = model->waiting[i].is_shared;
            m_share_release(model, &model->waiting[i]);
            model->waiting[i] = model->waiting[--model->waiting_count];
            return;
        }
    }
}

/* What the store has taken comes into service. */
static void serve(struct world *world, struct w_request *request, bool is_new,
                  struct m_message *message)
{
    struct model *model = &world->model;
    struct m_message *there = m_served(model, message->host, message->id);

    if (is_new || there == NULL) {
        if (there != NULL) {
            m_forget(model, message->host, message->id);
        }
        bool is_over = message->epoch != 0;
        for (uint32_t e = 0; e < model->hosts[message->host].epoch_count; e++) {
            const struct m_epoch *epoch = &model->hosts[message->host].epochs[e];
            is_over = is_over && (epoch->number != message->epoch || epoch->over);
        }
        if (is_over) {
            expect_error(request, HEARSAY_CODE_UNKNOWN_EPOCH, "epoch");
            return;
        }
        message->served = true;
        message->shown = message->state < PERSIST_HIDDEN;
        message->looked_at = message->state != PERSIST_SHOWN || message->reports > 0;
    }
    expect(request, HEARSAY_RESPONSE_DEPOSITED);
    request->expected.message = (uint32_t)(message - model->messages);
    request->expected.duplicate = !is_new;
    request->expected.held = message->state >= PERSIST_HIDDEN;
    if (is_new) {
        model->newest = message->seq;
        if (message->shown) {
            watches_message(world, request->expected.message, message->seq);
        }
    }
}

void expect_deposit_done(struct world *world, struct w_request *request,
                         const struct persist_op *op, bool failed)
{
    struct model *model = &world->model;
    uint32_t evicted[PERSIST_EXPIRE_MAX];
    uint32_t evicted_count = 0;
    struct m_message *there = NULL;
    bool is_shared = false;

    forget_waiting(model, request, &is_shared);
    if (failed && is_shared) {
        m_share_remove(model, request->host, request->message_id);
    }
    if (failed) {
        expect_error(request, HEARSAY_CODE_STORAGE, "");
        request->expected.retry_ms = 5000;
        return;
    }
    struct m_message *message = &model->messages[request->deposit];
    const enum persist_outcome outcome =
        m_deposit(model, message, op, evicted, &evicted_count, &there);
    SIM_EQUAL(op->outcome, outcome);
    SIM_EQUAL(op->removed_count, evicted_count);
    for (uint32_t i = 0; i < evicted_count; i++) {
        const struct m_message *gone = &model->messages[evicted[i]];
        SIM_CHECK(memcmp(op->removed[i].id, gone->id, MESSAGE_ID_BYTES) == 0);
        m_forget(model, gone->host, gone->id);
    }
    if (is_shared && outcome != PERSIST_APPLIED) {
        m_share_remove(model, request->host, request->message_id);
    }
    if (outcome == PERSIST_APPLIED) {
        SIM_EQUAL(op->message.seq, message->seq);
        serve(world, request, true, message);
        if (message->served) {
            (void)m_share_add(model, message);
        } else if (is_shared) {
            m_share_remove(model, request->host, request->message_id);
        }
    } else if (outcome == PERSIST_DUPLICATE) {
        serve(world, request, false, there);
    } else if (outcome == PERSIST_FULL) {
        expect_error(request, HEARSAY_CODE_QUOTA, "");
    } else {
        expect_error(request, HEARSAY_CODE_ALREADY_EXISTS, "id");
    }
}

void expect_removal_done(struct world *world, struct w_request *request,
                         const struct persist_op *op, bool failed)
{
    const bool is_withdrawal = request->kind == HEARSAY_REQUEST_WITHDRAW;
    struct model *model = &world->model;

    if (failed) {
        expect_error(request, HEARSAY_CODE_STORAGE, "");
        request->expected.retry_ms = is_withdrawal ? 5000 : 0;
        return;
    }
    const enum persist_outcome outcome =
        is_withdrawal
            ? m_withdraw(model, request->host, request->message_id, request->token, op->now_ms)
            : m_remove(model, request->host, request->message_id, request->ban, op->now_ms);
    SIM_EQUAL(op->outcome, outcome);
    if (outcome == PERSIST_APPLIED) {
        m_forget(model, request->host, request->message_id);
        expect(request, is_withdrawal ? HEARSAY_RESPONSE_WITHDRAWN : HEARSAY_RESPONSE_REMOVED);
    } else if (outcome == PERSIST_FORBIDDEN) {
        expect_error(request, HEARSAY_CODE_FORBIDDEN, "token");
    } else {
        expect_error(request, HEARSAY_CODE_NOT_FOUND, "id");
    }
}
