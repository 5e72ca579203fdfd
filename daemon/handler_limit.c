/* SPDX-License-Identifier: Apache-2.0 */
/* What a request costs its sender, and the refusal when it cannot be paid. */
#include <inttypes.h>

#include <sodium.h>

#include "daemon/handler.h"
#include "proto/work.h"

enum {
    /* Filters of a query, and hashes of the ids that it leaves out, that cost a token more. */
    PARTS_A_TOKEN = 4,
    HASHES_A_TOKEN = 64
};

static uint32_t query_cost(const struct msg_query *query)
{
    uint32_t hashes = 0; /* at most LIMIT_SLICES * LIMIT_HASHES */

    for (size_t i = 0; i < query->exclude_count; i++) {
        hashes += query->exclude[i].hashes;
    }
    return 1 + (uint32_t)(query->part_count > 0 ? query->part_count - 1 : 0) / PARTS_A_TOKEN +
           hashes / HASHES_A_TOKEN;
}

/* What a request is counted as, and how often; 0: it is free. */
static uint32_t cost_of(const struct msg_request *request, enum sender_action *out_action)
{
    *out_action = SENDER_QUERY;
    switch (request->kind) {
    case MSG_REQUEST_DEPOSIT:
    case MSG_REQUEST_WITHDRAW:
    case MSG_REQUEST_REPORT:
        *out_action = SENDER_DEPOSIT;
        return 1;
    case MSG_REQUEST_QUERY:
        return query_cost(&request->query);
    case MSG_REQUEST_WATCH:
        return query_cost(&request->watch.query);
    case MSG_REQUEST_GET:
    case MSG_REQUEST_SUMMARY:
    case MSG_REQUEST_HERE:
        return 1;
    default:
        return 0;
    }
}

static void feed(void *context, const void *data, size_t count)
{
    (void)crypto_generichash_update(context, data, count); /* cannot fail */
}

bool handler_check_work(const struct service *service, struct handler_client *client,
                        const struct msg_request *request, const struct host *host)
{
    const struct msg_deposit *deposit = &request->deposit;
    const uint32_t wanted = client->sender != NULL ? service->config.limits.work_bits : 0;
    crypto_generichash_state state;
    uint8_t hash[LIMIT_HASH_BYTES];
    uint8_t proof[WORK_PROOF_BYTES];

    if (wanted == 0) {
        return true;
    }
    (void)crypto_generichash_init(&state, NULL, 0, sizeof(hash));
    work_feed(deposit, host->config.name, service->store.store_id, feed, &state);
    (void)crypto_generichash_final(&state, hash, sizeof(hash));
    work_proof(hash, deposit->work, proof);
    (void)crypto_generichash(hash, sizeof(hash), proof, sizeof(proof), NULL, 0);
    const uint32_t bits = work_zero_bits(hash);
    if (bits >= wanted) {
        return true;
    }
    handler_refuse(client, request->id, MSG_INVALID, "work",
                   "a deposit needs a proof of work of %" PRIu32
                   " bits here; this one has %" PRIu32,
                   wanted, bits);
    return false;
}

bool handler_admit(struct service *service, struct handler_client *client,
                   const struct msg_request *request)
{
    struct msg_response response = {.id = request->id, .kind = MSG_RESPONSE_ERROR};
    enum sender_action action;

    if (client->sender == NULL) {
        return true;
    }
    const uint32_t cost = cost_of(request, &action);
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
