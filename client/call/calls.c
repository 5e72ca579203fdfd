/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements the calls that send a request: any request, and deposits and queries, whose arguments
 * they check. hearsay_submit, hearsay_next, hearsay_in_flight and hearsay_fd are in client.c.
 */
#include "client/call/client.h"

#include <string.h>

#include <sodium.h>

#include "client/fail.h"
#include "client/net/wait.h"

_Static_assert(HEARSAY_PORT == LIMIT_PORT, "the public port is the protocol's");
_Static_assert(HEARSAY_ID_BYTES == LIMIT_ID_BYTES, "the public id is the protocol's");
_Static_assert(HEARSAY_TOKEN_BYTES == LIMIT_TOKEN_BYTES, "the public token is the protocol's");
_Static_assert(HEARSAY_HASH_BYTES == LIMIT_HASH_BYTES, "the public hash is the protocol's");
_Static_assert(HEARSAY_REASON_BYTES_MAX == LIMIT_NOTE_BYTES, "the public reason is the protocol's");
_Static_assert(HEARSAY_UID_HUB == LIMIT_UID_HUB, "the public number of the hub is the protocol's");
_Static_assert(HEARSAY_NOTICE_BYTES_MAX == LIMIT_NOTICE_BYTES, "so is the public notice");
_Static_assert(HEARSAY_PLACE_NAME_BYTES_MAX == LIMIT_PLACE_NAME_BYTES, "and the name of a place");
_Static_assert(HEARSAY_CURSOR_BYTES == LIMIT_CURSOR_BYTES, "the public cursor is the protocol's");

const char *hearsay_version(void)
{
    return HEARSAY_VERSION;
}

const char *hearsay_code_name(enum hearsay_code code)
{
    return msg_error_name(code);
}

void hearsay_hash(const void *bytes, size_t count, uint8_t *out_hash)
{
    /* Fails for lengths out of range only. */
    (void)crypto_generichash(out_hash, HEARSAY_HASH_BYTES, bytes, count, NULL, 0);
}

void hearsay_deposit_init(struct hearsay_deposit *deposit, struct hearsay_receipt *out_receipt)
{
    *deposit = (struct hearsay_deposit){.reach_ppm = HEARSAY_DISTANCE_ONE};
    if (out_receipt == NULL) {
        return;
    }
    randombytes_buf(out_receipt->id, HEARSAY_ID_BYTES);
    randombytes_buf(out_receipt->token, HEARSAY_TOKEN_BYTES);
    hearsay_hash(out_receipt->token, HEARSAY_TOKEN_BYTES, out_receipt->hash);
    deposit->id = hearsay_bytes(out_receipt->id, HEARSAY_ID_BYTES);
    deposit->withdraw_hash = hearsay_bytes(out_receipt->hash, HEARSAY_HASH_BYTES);
}

void hearsay_query_init(struct hearsay_query *query)
{
    *query = (struct hearsay_query){
        .k = 10,
        .max_distance_ppm = HEARSAY_DISTANCE_ONE,
        .since_ms = INT64_MIN,
        .until_ms = INT64_MAX,
        .order = HEARSAY_ORDER_SIMILARITY,
        .with_payload = true,
        .max_staleness_ms = UINT64_MAX,
    };
}

struct hearsay_text hearsay_text(const char *text)
{
    return (struct hearsay_text){.text = text, .length = text != NULL ? strlen(text) : 0};
}

struct hearsay_bytes hearsay_bytes(const void *data, size_t count)
{
    return (struct hearsay_bytes){.data = data, .count = data != NULL ? count : 0};
}

struct hearsay_bytes hearsay_filter_bytes(const struct hearsay_filter *filter)
{
    return filter != NULL ? hearsay_bytes(filter->bytes, filter->byte_count)
                          : hearsay_bytes(NULL, 0);
}

static bool filter_is_usable(struct hearsay_bytes filter)
{
    return filter.data != NULL && filter.count >= 1 && filter.count <= HEARSAY_FILTER_BYTES_MAX;
}

/* Checks a deposit, and makes a request of it. Returns 0 or ERR_ARGUMENT. */
static int deposit_fill(const struct hearsay_deposit *deposit, struct hearsay_request *out,
                        struct hearsay_error *error)
{
    if (!filter_is_usable(deposit->filter)) {
        return fail_set(error, HEARSAY_ERR_ARGUMENT, "the message has no filter");
    }
    if (deposit->id.data == NULL) {
        return fail_set(error, HEARSAY_ERR_ARGUMENT, "the message has no id");
    }
    if (deposit->reach_ppm > HEARSAY_DISTANCE_ONE) {
        return fail_set(error, HEARSAY_ERR_ARGUMENT, "the reach is over %u millionths",
                        HEARSAY_DISTANCE_ONE);
    }
    *out = (struct hearsay_request){.kind = HEARSAY_REQUEST_DEPOSIT, .deposit = *deposit};
    out->deposit.has_ttl_s = deposit->ttl_s != 0;
    if (deposit->payload.data == NULL) {
        out->deposit.payload = hearsay_bytes("", 0);
    }
    return HEARSAY_OK;
}

int client_fill_query(const struct hearsay_query *query, struct hearsay_query *out_query,
                      struct hearsay_error *error)
{
    if (query->answers.data == NULL && (query->part_count == 0 || query->parts == NULL)) {
        return fail_set(error, HEARSAY_ERR_ARGUMENT, "the query has no parts");
    }
    if (query->answers.data != NULL &&
        (query->part_count > 0 || query->answers.count != HEARSAY_ID_BYTES)) {
        return fail_set(error, HEARSAY_ERR_ARGUMENT,
                        "a query for the answers to a message has its id of %d bytes and no parts",
                        HEARSAY_ID_BYTES);
    }
    if (query->part_count > LIMIT_PARTS) {
        return fail_set(error, HEARSAY_ERR_ARGUMENT, "the query has %zu parts, at most are %d",
                        query->part_count, LIMIT_PARTS);
    }
    for (size_t i = 0; i < query->part_count; i++) {
        const struct hearsay_query_part *part = &query->parts[i];
        if (!filter_is_usable(part->filter) ||
            (part->contains.data != NULL && !filter_is_usable(part->contains))) {
            return fail_set(error, HEARSAY_ERR_ARGUMENT, "part %zu of the query has no filter",
                            i + 1);
        }
    }
    if (query->max_distance_ppm > HEARSAY_DISTANCE_ONE) {
        return fail_set(error, HEARSAY_ERR_ARGUMENT, "the largest distance is over %u millionths",
                        HEARSAY_DISTANCE_ONE);
    }
    if ((query->metric != 0 && query->metric != HEARSAY_METRIC_BITS &&
         query->metric != HEARSAY_METRIC_PHI) ||
        query->order < HEARSAY_ORDER_SIMILARITY || query->order > HEARSAY_ORDER_NEWEST) {
        return fail_set(error, HEARSAY_ERR_ARGUMENT, "there is no such metric or order");
    }
    if (query->exclude_count > LIMIT_SLICES) {
        return fail_set(error, HEARSAY_ERR_ARGUMENT,
                        "the query has %zu slices to exclude, at most are %d", query->exclude_count,
                        LIMIT_SLICES);
    }
    for (size_t i = 0; i < query->exclude_count; i++) {
        const struct hearsay_slice *slice = &query->exclude[i];
        if (slice->bits.data == NULL || slice->bits.count == 0 || slice->hashes == 0 ||
            slice->hashes > LIMIT_HASHES) {
            return fail_set(error, HEARSAY_ERR_ARGUMENT,
                            "slice %zu to exclude has no bits, or not 1 to %d hashes", i + 1,
                            LIMIT_HASHES);
        }
    }
    *out_query = *query;
    out_query->metric = query->metric != 0 ? query->metric : MSG_METRIC_DEFAULT;
    out_query->scope = query->scope != 0 ? query->scope : HEARSAY_SCOPE_HERE;
    out_query->wait_ms = query->wait_ms != 0 ? query->wait_ms : LIMIT_WAIT_MS_DEFAULT;
    return HEARSAY_OK;
}

static int query_fill(const struct hearsay *server, const struct hearsay_query *query,
                      struct hearsay_request *out, struct hearsay_error *error)
{
    *out = (struct hearsay_request){.kind = HEARSAY_REQUEST_QUERY};
    int status = client_fill_query(query, &out->query, error);
    if (status == HEARSAY_OK && query->scope == HEARSAY_SCOPE_HOOD &&
        !hearsay_has_capability(server, "hood")) {
        /* an older server would ignore the scope, and answer for one host alone */
        status = fail_set(error, HEARSAY_ERR_ARGUMENT,
                          "the server is too old to ask a hood: it would answer for one host only");
    }
    return status;
}

/* --- many requests at a time ------------------------------------------------------------------ */

int hearsay_submit_deposit(struct hearsay *server, const struct hearsay_deposit *deposit,
                           uint64_t *out_ticket, struct hearsay_error *out_error)
{
    struct hearsay_request request;
    int status = deposit_fill(deposit, &request, out_error);
    return status == HEARSAY_OK ? hearsay_submit(server, &request, out_ticket, out_error) : status;
}

int hearsay_submit_query(struct hearsay *server, const struct hearsay_query *query,
                         uint64_t *out_ticket, struct hearsay_error *out_error)
{
    struct hearsay_request request;
    int status = query_fill(server, query, &request, out_error);
    return status == HEARSAY_OK ? hearsay_submit(server, &request, out_ticket, out_error) : status;
}

/* --- one request at a time -------------------------------------------------------------------- */

int hearsay_ask(struct hearsay *server, const struct hearsay_request *request, int timeout_ms,
                const struct hearsay_response **out_response, struct hearsay_error *out_error)
{
    const struct hearsay_reply *reply = NULL;
    int64_t deadline_ms = wait_deadline_ms(timeout_ms);
    uint64_t ticket = 0;
    if (out_response != NULL) {
        *out_response = NULL;
    }
    if (timeout_ms < 0) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT, "the timeout is negative");
    }
    int status = client_await_slot(server, deadline_ms, out_error);
    if (status == HEARSAY_OK) {
        status = hearsay_submit(server, request, &ticket, out_error);
    }
    if (status == HEARSAY_OK) {
        status = client_await(server, ticket, deadline_ms, &reply, out_error);
    }
    if (status == HEARSAY_ERR_TIMEOUT) {
        status = fail_set(out_error, HEARSAY_ERR_TIMEOUT, "the server did not answer within %d ms",
                          timeout_ms);
    }
    if (status == HEARSAY_OK && out_response != NULL) {
        *out_response = &reply->response;
    }
    return status;
}

int hearsay_deposit(struct hearsay *server, const struct hearsay_deposit *deposit, int timeout_ms,
                    struct hearsay_deposited *out_deposited, struct hearsay_error *out_error)
{
    struct hearsay_request request;
    const struct hearsay_response *response = NULL;
    int status = deposit_fill(deposit, &request, out_error);
    if (status == HEARSAY_OK) {
        status = hearsay_ask(server, &request, timeout_ms, &response, out_error);
    }
    if (status == HEARSAY_OK && out_deposited != NULL) {
        *out_deposited = response->deposited;
    }
    return status;
}

int hearsay_query(struct hearsay *server, const struct hearsay_query *query, int timeout_ms,
                  const struct hearsay_results **out_results, struct hearsay_error *out_error)
{
    struct hearsay_request request;
    const struct hearsay_response *response = NULL;
    int status = query_fill(server, query, &request, out_error);
    if (status == HEARSAY_OK) {
        status = hearsay_ask(server, &request, timeout_ms, &response, out_error);
    }
    if (out_results != NULL) {
        *out_results = status == HEARSAY_OK ? &response->results : NULL;
    }
    return status;
}
