/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that are refused for what they cost their sender, or for a missing proof of work. */
#include <inttypes.h>

#include <sodium.h>

#include "daemon/handler/ask.h"
#include "daemon/limits/cost.h"
#include "proto/work.h"

static void ask_limit_feed(void *context, const void *data, size_t count)
{
    (void)crypto_generichash_update(context, data, count); /* cannot fail */
}

/* The bits of the proof of work that a deposit or a report has. */
static uint32_t work_bits(const struct ask *ask)
{
    const struct msg_request *request = ask->request;
    struct msg_bytes token = {ask->client->resume_token, sizeof(ask->client->resume_token)};
    bool is_report = request->kind == MSG_REQUEST_REPORT;
    const char *host = ask->host->config.name;
    const uint8_t *store_id = ask->service->store.store_id;
    crypto_generichash_state state;
    struct work_hash hashing = {ask_limit_feed, &state};
    uint8_t hash[LIMIT_HASH_BYTES];
    uint8_t proof[WORK_PROOF_BYTES];

    (void)crypto_generichash_init(&state, NULL, 0, sizeof(hash));
    if (is_report) {
        work_feed_report(request->report.id.data, host, store_id, token, hashing);
    } else {
        work_feed(&request->deposit, host, store_id, hashing);
    }
    (void)crypto_generichash_final(&state, hash, sizeof(hash));
    work_proof(hash, is_report ? request->report.work : request->deposit.work, proof);
    (void)crypto_generichash(hash, sizeof(hash), proof, sizeof(proof), NULL, 0);
    return work_zero_bits(hash);
}

bool ask_work(const struct ask *ask)
{
    uint32_t wanted = ask->client->sender != NULL ? ask->service->config.limits.work_bits : 0;
    uint32_t bits = wanted == 0 ? 0 : work_bits(ask);

    if (bits >= wanted) {
        return true;
    }
    ask_refuse(ask, MSG_INVALID, "work",
               "a %s needs a proof of work of %" PRIu32 " bits here; this one has %" PRIu32,
               ask->request->kind == MSG_REQUEST_REPORT ? "report" : "deposit", wanted, bits);
    return false;
}

bool ask_pay(const struct ask *ask)
{
    struct service *service = ask->service;
    struct requester *client = ask->client;
    struct msg_response response = {.id = ask->request->id, .kind = MSG_RESPONSE_ERROR};
    enum sender_action action;

    if (client->sender == NULL) {
        return true;
    }
    uint32_t cost = cost_of_request(ask->request, &action);
    uint64_t wait_ms = cost == 0 ? 0
                                 : sender_take(client->sender, action, &service->sender_limits,
                                               cost, service_monotonic_ms(service));
    if (wait_ms == 0) {
        return true;
    }
    client->is_over_rate = true;
    msg_error_set(&response.error, MSG_RATE_LIMITED, NULL,
                  "this address sends more %s than are taken here",
                  action == SENDER_DEPOSIT ? "deposits" : "queries");
    response.error.retry_after_ms = wait_ms;
    ask_respond(ask, &response);
    return false;
}
