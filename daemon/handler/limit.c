/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that are refused for what they cost their sender, or for a missing proof of work. */
#include <inttypes.h>

#include <sodium.h>

#include "daemon/handler/handler.h"
#include "daemon/limits/cost.h"
#include "proto/work.h"

static void feed(void *context, const void *data, size_t count)
{
    (void)crypto_generichash_update(context, data, count); /* cannot fail */
}

bool handler_check_work(const struct service *service, struct requester *client,
                        const struct msg_request *request, const struct host *host)
{
    const bool is_report = request->kind == MSG_REQUEST_REPORT;
    const uint32_t wanted = client->sender != NULL ? service->config.limits.work_bits : 0;
    const uint8_t *store_id = service->store.store_id;
    crypto_generichash_state state;
    uint8_t hash[LIMIT_HASH_BYTES];
    uint8_t proof[WORK_PROOF_BYTES];

    if (wanted == 0) {
        return true;
    }
    (void)crypto_generichash_init(&state, NULL, 0, sizeof(hash));
    if (is_report) {
        work_feed_report(request->report.id.data, host->config.name, store_id, client->resume_token,
                         sizeof(client->resume_token), feed, &state);
    } else {
        work_feed(&request->deposit, host->config.name, store_id, feed, &state);
    }
    (void)crypto_generichash_final(&state, hash, sizeof(hash));
    work_proof(hash, is_report ? request->report.work : request->deposit.work, proof);
    (void)crypto_generichash(hash, sizeof(hash), proof, sizeof(proof), NULL, 0);
    const uint32_t bits = work_zero_bits(hash);
    if (bits >= wanted) {
        return true;
    }
    requester_refuse(client, request->id, MSG_INVALID, "work",
                     "a %s needs a proof of work of %" PRIu32 " bits here; this one has %" PRIu32,
                     is_report ? "report" : "deposit", wanted, bits);
    return false;
}

bool handler_admit(struct service *service, struct requester *client,
                   const struct msg_request *request)
{
    struct msg_response response = {.id = request->id, .kind = MSG_RESPONSE_ERROR};
    enum sender_action action;

    if (client->sender == NULL) {
        return true;
    }
    const uint32_t cost = cost_of_request(request, &action);
    const uint64_t wait_ms = cost == 0
                                 ? 0
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
    client->events->respond(client, &response);
    return false;
}
