/* SPDX-License-Identifier: Apache-2.0 */
/* sim_expect_moderation: reports, what they hide, and what the operator shows again. */
#include <string.h>

#include "tests/sim/sim_expect.h"

/* --- moderation ------------------------------------------------------------------------------- */

/* How many reports of a sender counted in this hour; M_ALL: how many messages all have hidden. */
static uint32_t count_hides(const struct model *model, uint32_t host, uint32_t sender)
{
    uint32_t recent = 0;

    for (uint32_t i = 0; i < model->hide_count; i++) {
        recent += model->hides[i].host == host && model->hides[i].sender == sender &&
                  model->monotonic_ms - model->hides[i].at_ms < 60 * 60 * 1000;
    }
    return recent;
}

static void note_hide(struct model *model, uint32_t host, uint32_t sender)
{
    SIM_CHECK(model->hide_count < 2 * M_REPORTERS);
    model->hides[model->hide_count].host = host;
    model->hides[model->hide_count].sender = sender;
    model->hides[model->hide_count++].at_ms = model->monotonic_ms;
}

/* How many messages reports may hide in an hour: a fifth of what is shown, or 3. */
static uint32_t hidden_most(const struct model *model, uint32_t host)
{
    uint32_t shown = 0;

    for (uint32_t i = 0; i < model->message_count; i++) {
        const struct m_message *one = &model->messages[i];

        shown += one->served && one->shown && one->host == host;
    }
    return shown / 5 > 3 ? shown / 5 : 3;
}

/* How many senders hide a message now: twice as many for each hidden_most of this hour. */
static uint64_t senders_needed(const struct model *model, uint32_t host)
{
    const uint32_t doublings = count_hides(model, host, M_ALL) / hidden_most(model, host);

    return (uint64_t)model->hosts[host].config->hide_after << (doublings < 32 ? doublings : 32);
}

/* Counts a report, which is on its way; a sender pays for one that counts. */
static void count_report(struct model *model, struct w_request *request, struct m_message *message)
{
    const uint32_t sender = request->client->sender;
    const struct config_host *config = model->hosts[request->host].config;

    request->is_own = sender != 0 && sender == message->sender;
    request->is_grave = !request->is_own && request->reason == M_REASON_GRAVE;
    request->is_uncounted =
        request->is_own ||
        (sender != 0 && count_hides(model, request->host, sender) >= config->hide_per_hour);
    if (!request->is_uncounted && sender != 0) {
        note_hide(model, request->host, sender);
    }
    message->uncounted += request->is_uncounted;
    message->own += request->is_own;
    message->grave += request->is_grave;
}

/* Whether the report hides the message. */
static bool hides(struct model *model, struct w_request *request, struct m_message *message)
{
    const uint32_t hide_after = model->hosts[request->host].config->hide_after;
    const uint32_t counted = request->reports - message->uncounted;

    request->is_beyond = false;
    if (hide_after == 0 || message->state != PERSIST_SHOWN || message->is_hiding) {
        return message->is_hiding;
    }
    if (message->grave < hide_after && request->client->sender == 0 && counted < hide_after) {
        return false;
    }
    if (message->grave < hide_after && request->client->sender != 0) {
        if (request->reports - message->own < hide_after) {
            return false;
        }
        if (counted < senders_needed(model, request->host)) {
            request->is_beyond = true;
            return false;
        }
        note_hide(model, request->host, M_ALL);
    }
    message->is_hiding = true;
    return true;
}

void expect_report(struct world *world, struct w_request *request)
{
    struct model *model = &world->model;
    struct m_message *message = m_served(model, request->host, request->message_id);

    if (message == NULL || !m_visible(model, message)) {
        expect_error(request, HEARSAY_CODE_NOT_FOUND, "id");
        return;
    }
    for (uint32_t i = 0; i < model->reporter_count; i++) {
        if (model->reporters[i].sender == request->client->sender &&
            model->reporters[i].host == request->host &&
            memcmp(model->reporters[i].id, message->id, MESSAGE_ID_BYTES) == 0) {
            expect(request, HEARSAY_RESPONSE_REPORT_TAKEN);
            return;
        }
    }
    SIM_CHECK(model->reporter_count < M_REPORTERS);
    memcpy(model->reporters[model->reporter_count].id, message->id, MESSAGE_ID_BYTES);
    model->reporters[model->reporter_count].host = request->host;
    model->reporters[model->reporter_count++].sender = request->client->sender;
    message->looked_at = true;
    message->reporting++;
    request->deposited_ms = message->deposited_ms;
    request->reports = message->reports + message->reporting;
    count_report(model, request, message);
    request->state = hides(model, request, message) ? PERSIST_HIDDEN : PERSIST_SHOWN;
}

static void forget_reporter(struct model *model, const struct w_request *request)
{
    for (uint32_t i = 0; i < model->reporter_count; i++) {
        if (model->reporters[i].sender == request->client->sender &&
            model->reporters[i].host == request->host &&
            memcmp(model->reporters[i].id, request->message_id, MESSAGE_ID_BYTES) == 0) {
            model->reporters[i] = model->reporters[--model->reporter_count];
            return;
        }
    }
}

void expect_report_done(struct world *world, struct w_request *request, struct persist_op *op,
                        bool failed)
{
    struct model *model = &world->model;
    struct m_message *message = m_served(model, request->host, request->message_id);
    enum persist_outcome outcome = PERSIST_FAILED;
    int64_t seq = 0;

    if (message != NULL && message->deposited_ms != request->deposited_ms) {
        message = NULL; /* another one */
    }
    if (message != NULL) {
        message->reporting--;
        message->is_hiding = message->is_hiding && request->state != PERSIST_HIDDEN;
    }
    if (!failed) {
        outcome = m_moderate(model, request->host, request->message_id, request->deposited_ms,
                             request->state, request->reports, request->reason, op->now_ms, &seq);
        SIM_EQUAL(op->outcome, outcome);
    }
    if (outcome != PERSIST_APPLIED) {
        forget_reporter(model, request);
        if (message != NULL) {
            message->uncounted -= request->is_uncounted;
            message->own -= request->is_own;
            message->grave -= request->is_grave;
        }
        expect_error(request, failed ? HEARSAY_CODE_STORAGE : HEARSAY_CODE_NOT_FOUND,
                     failed ? "" : "id");
        if (message != NULL && message->state == PERSIST_SHOWN && message->reports == 0 &&
            message->reporting == 0) {
            message->looked_at = false;
        }
        return;
    }
    expect(request, HEARSAY_RESPONSE_REPORT_TAKEN);
    SIM_CHECK(message != NULL);
    message->is_beyond =
        message->state != PERSIST_HIDDEN && (message->is_beyond || request->is_beyond);
    if (message->state == PERSIST_HIDDEN && message->shown) {
        message->was_hidden = true;
        message->shown = false;
        watches_hidden(world, (uint32_t)(message - model->messages));
    }
}

void expect_restore(struct world *world, struct w_request *request)
{
    const struct m_message *message = m_served(&world->model, request->host, request->message_id);

    if (message == NULL || !message->looked_at || message->state == PERSIST_APPROVED) {
        expect_error(request, message != NULL ? HEARSAY_CODE_INVALID : HEARSAY_CODE_NOT_FOUND,
                     "id");
    }
}

void expect_restore_read(struct world *world, struct w_request *request,
                         const struct w_held_read *held)
{
    struct m_message *message = m_served(&world->model, request->host, request->message_id);

    if (held->read->failed) {
        expect_error(request, HEARSAY_CODE_STORAGE, "");
    } else if (held->found[0] == M_MESSAGES || message == NULL || !message->looked_at) {
        expect_error(request, HEARSAY_CODE_NOT_FOUND, "id");
    } else {
        /* as it was read: it may have moved with the clock since, and then it is not restored */
        request->deposited_ms = held->read->entries[0].message.deposited_ms;
    }
}

void expect_restore_done(struct world *world, struct w_request *request, struct persist_op *op,
                         bool failed)
{
    struct model *model = &world->model;
    struct m_message *message = m_served(model, request->host, request->message_id);
    const bool was_restored = message != NULL && message->state == PERSIST_APPROVED;
    int64_t seq = 0;
    enum persist_outcome outcome = PERSIST_FAILED;

    if (!failed) {
        outcome = m_moderate(model, request->host, request->message_id, request->deposited_ms,
                             PERSIST_APPROVED, 0, 0, op->now_ms, &seq);
        SIM_EQUAL(op->outcome, outcome);
    }
    if (outcome != PERSIST_APPLIED) {
        expect_error(request, failed ? HEARSAY_CODE_STORAGE : HEARSAY_CODE_NOT_FOUND,
                     failed ? "" : "id");
        return;
    }
    if (was_restored) { /* by another request, meanwhile */
        expect_error(request, HEARSAY_CODE_INVALID, "id");
        return;
    }
    model->newest = seq > model->newest ? seq : model->newest;
    if (m_epoch(model, message->host, message->epoch) == NULL &&
        message->expires_ms <= model->now_ms) {
        expect(request, HEARSAY_RESPONSE_RESTORED); /* or its epoch has ended: see answer_check */
        request->expected.code = HEARSAY_CODE_UNKNOWN_EPOCH;
        request->expected.or_not_found = true;
        for (uint32_t e = 0; e < model->hosts[message->host].epoch_count; e++) {
            const struct m_epoch *epoch = &model->hosts[message->host].epochs[e];
            message->shown |= epoch->number == message->epoch && !epoch->over;
        }
        return;
    }
    expect(request, HEARSAY_RESPONSE_RESTORED);
    if (!message->shown) {
        message->shown = true;
        watches_message(world, (uint32_t)(message - model->messages), seq);
    }
}

static bool is_listed(const struct world *world, const struct w_request *request,
                      const struct m_message *message)
{
    return message->served && message->looked_at && message->host == request->host &&
           message->expires_ms > world->model.now_ms &&
           (message->state == PERSIST_PENDING) == request->pending &&
           (request->pending || message->state == PERSIST_HIDDEN ||
            (message->state == PERSIST_SHOWN && message->reports > 0));
}

static uint32_t count_senders(const struct m_message *message)
{
    return message->reports > message->uncounted ? message->reports - message->uncounted : 0;
}

static bool is_more_urgent(const struct m_message *a, const struct m_message *b)
{
    if (a->is_beyond != b->is_beyond) {
        return a->is_beyond;
    }
    if (count_senders(a) != count_senders(b)) {
        return count_senders(a) > count_senders(b);
    }
    if (a->deposited_ms != b->deposited_ms) {
        return (a->deposited_ms > b->deposited_ms) != (a->state == PERSIST_PENDING);
    }
    return memcmp(a->id, b->id, MESSAGE_ID_BYTES) < 0;
}

/* How many messages of its sender come before it. */
static uint32_t count_before(const struct world *world, const struct w_request *request,
                             const struct m_message *message)
{
    uint32_t count = 0;

    for (uint32_t i = 0; message->sender != 0 && i < world->model.message_count; i++) {
        const struct m_message *one = &world->model.messages[i];

        count += one->sender == message->sender && (one->grave > 0) == (message->grave > 0) &&
                 is_listed(world, request, one) && is_more_urgent(one, message);
    }
    return count;
}

static bool is_listed_before(const struct world *world, const struct w_request *request,
                             const struct m_message *a, const struct m_message *b)
{
    uint32_t turn = count_before(world, request, a);
    uint32_t other = count_before(world, request, b);

    if ((a->grave > 0) != (b->grave > 0)) {
        return a->grave > 0;
    }
    return turn != other ? turn < other : is_more_urgent(a, b);
}

/* Each time the first of those behind the last one. */
void expect_reported(struct world *world, struct w_request *request)
{
    const struct model *model = &world->model;
    struct w_expected *expected = &request->expected;
    const struct m_message *last = NULL;

    for (;;) {
        const struct m_message *next = NULL;
        for (uint32_t i = 0; i < model->message_count; i++) {
            const struct m_message *one = &model->messages[i];
            if (is_listed(world, request, one) &&
                (last == NULL || is_listed_before(world, request, last, one)) &&
                (next == NULL || is_listed_before(world, request, one, next))) {
                next = one;
            }
        }
        if (next == NULL) {
            return;
        }
        if (expected->count < request->number) {
            expected->results[expected->count++] = (struct m_result){
                .message = (uint32_t)(next - model->messages),
                .both = next->reports,
                .either = next->state,
            };
        }
        expected->total++;
        last = next;
    }
}

void expect_reported_read(struct w_request *request, const struct w_held_read *held)
{
    struct w_expected *expected = &request->expected;
    uint32_t kept = 0;

    if (held->read->failed) {
        expect_error(request, HEARSAY_CODE_STORAGE, "");
        return;
    }
    SIM_EQUAL(held->count, expected->count);
    for (uint32_t i = 0; i < held->count; i++) {
        if (held->found[i] != M_MESSAGES) {
            expected->results[kept] = expected->results[i];
            expected->results[kept++].part = held->found[i];
        }
    }
    expected->count = kept;
    expect(request, HEARSAY_RESPONSE_REPORTED_LIST);
}
