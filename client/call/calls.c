/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements the calls that deposit, query, get, withdraw and ping, and that ask for the summary
 * and the here labels. hearsay_submit_* do not wait for the reply; hearsay_deposit, hearsay_query
 * and so on do. The reports are in admin.c; hearsay_next, hearsay_in_flight and hearsay_fd are in
 * client.c.
 */
#include "client/call/calls.h"

#include <inttypes.h>
#include <string.h>

#include <sodium.h>

#include "client/fail.h"

_Static_assert(HEARSAY_PORT == LIMIT_PORT, "the public port is the protocol's");
_Static_assert(HEARSAY_ID_BYTES == LIMIT_ID_BYTES, "the public id is the protocol's");
_Static_assert(HEARSAY_TOKEN_BYTES == LIMIT_TOKEN_BYTES, "the public token is the protocol's");
_Static_assert(HEARSAY_HASH_BYTES == LIMIT_HASH_BYTES, "the public hash is the protocol's");
_Static_assert(HEARSAY_CURSOR_BYTES == LIMIT_CURSOR_BYTES, "the public cursor is the protocol's");

const char *hearsay_version(void)
{
    return HEARSAY_VERSION;
}

const char *hearsay_code_name(enum hearsay_code code)
{
    return msg_error_name((enum msg_error_code)code);
}

void hearsay_hash(const void *bytes, size_t count, uint8_t *out_hash)
{
    /* Fails for lengths out of range only. */
    (void)crypto_generichash(out_hash, HEARSAY_HASH_BYTES, bytes, count, NULL, 0);
}

void hearsay_deposit_init(struct hearsay_deposit *deposit)
{
    memset(deposit, 0, sizeof(*deposit));
    deposit->reach = HEARSAY_DISTANCE_ONE;
}

void hearsay_query_init(struct hearsay_query *query)
{
    memset(query, 0, sizeof(*query));
    query->k = 10;
    query->max_distance = HEARSAY_DISTANCE_ONE;
    query->since_ms = INT64_MIN;
    query->until_ms = INT64_MAX;
    query->metric = HEARSAY_METRIC_DEFAULT;
    query->order = HEARSAY_ORDER_SIMILARITY;
    query->with_payload = true;
    query->max_staleness_ms = UINT64_MAX;
}

struct hearsay_text hearsay_text(const char *text)
{
    return (struct hearsay_text){.text = text, .length = text != NULL ? strlen(text) : 0};
}

struct hearsay_bytes hearsay_bytes(const void *data, size_t count)
{
    return (struct hearsay_bytes){.data = data, .count = data != NULL ? count : 0};
}

struct hearsay_bytes calls_filter(const struct hearsay_filter *filter)
{
    return filter != NULL ? hearsay_bytes(filter->bytes, filter->byte_count)
                          : hearsay_bytes(NULL, 0);
}

static bool filter_is_usable(const struct hearsay_filter *filter)
{
    return filter != NULL && filter->byte_count >= 1 &&
           filter->byte_count <= HEARSAY_FILTER_BYTES_MAX;
}

static int check_deposit(const struct hearsay_deposit *deposit, struct hearsay_error *error)
{
    if (!filter_is_usable(deposit->filter)) {
        return fail_set(error, HEARSAY_ERR_ARGUMENT, "the message has no filter");
    }
    if (deposit->payload == NULL && deposit->payload_bytes > 0) {
        return fail_set(error, HEARSAY_ERR_ARGUMENT, "the payload is NULL, its size is not 0");
    }
    if (deposit->reach > HEARSAY_DISTANCE_ONE) {
        return fail_set(error, HEARSAY_ERR_ARGUMENT, "the reach is over %u millionths",
                        HEARSAY_DISTANCE_ONE);
    }
    return HEARSAY_OK;
}

/*
 * Writes the message's id to *out: the id of `deposit`, or a random id. If the message can be
 * withdrawn, writes the hash of its token to out_hash. Also writes the token to *out (the token of
 * `deposit`, or a random one), unless `deposit` has only the hash of the token.
 */
static void fill_receipt(const struct hearsay_deposit *deposit, struct hearsay_receipt *out,
                         uint8_t *out_hash)
{
    memset(out, 0, sizeof(*out));
    if (deposit->id != NULL) {
        memcpy(out->id, deposit->id, HEARSAY_ID_BYTES);
    } else {
        randombytes_buf(out->id, HEARSAY_ID_BYTES);
    }
    if (deposit->no_withdrawal) {
        return;
    }
    if (deposit->withdraw_hash != NULL) {
        memcpy(out_hash, deposit->withdraw_hash, HEARSAY_HASH_BYTES);
        return;
    }
    if (deposit->token != NULL) {
        memcpy(out->token, deposit->token, HEARSAY_TOKEN_BYTES);
    } else {
        randombytes_buf(out->token, HEARSAY_TOKEN_BYTES);
    }
    out->has_token = true;
    hearsay_hash(out->token, HEARSAY_TOKEN_BYTES, out_hash);
}

int hearsay_submit_deposit(struct hearsay *server, const struct hearsay_deposit *deposit,
                           struct hearsay_receipt *out_receipt, uint64_t *out_ticket,
                           struct hearsay_error *out_error)
{
    int status = check_deposit(deposit, out_error);
    if (status != HEARSAY_OK) {
        return status;
    }
    struct hearsay_receipt receipt;
    uint8_t hash[HEARSAY_HASH_BYTES];
    fill_receipt(deposit, &receipt, hash);
    struct hearsay_request request = {
        .kind = HEARSAY_REQUEST_DEPOSIT,
        .deposit = {
            .host = hearsay_text(deposit->host),
            .id = hearsay_bytes(receipt.id, HEARSAY_ID_BYTES),
            .epoch = deposit->epoch,
            .filter = calls_filter(deposit->filter),
            .media_type = hearsay_text(deposit->media_type),
            .payload = hearsay_bytes(deposit->payload != NULL ? deposit->payload : "",
                                     deposit->payload_bytes),
            .has_ttl_s = deposit->ttl_s != 0,
            .ttl_s = deposit->ttl_s,
            .reach_ppm = deposit->reach,
            .withdraw_hash =
                hearsay_bytes(deposit->no_withdrawal ? NULL : hash, HEARSAY_HASH_BYTES),
        }};
    status = client_submit(server, &request, out_ticket, out_error);
    if (out_receipt != NULL && status <= HEARSAY_OK && status != HEARSAY_ERR_ARGUMENT) {
        *out_receipt = receipt; /* also with ERR_LOST: it may have been sent */
    }
    return status;
}

int calls_check_query(const struct hearsay_query *query, struct hearsay_error *error)
{
    if (query->part_count == 0 || query->parts == NULL) {
        return fail_set(error, HEARSAY_ERR_ARGUMENT, "the query has no parts");
    }
    if (query->part_count > LIMIT_PARTS) {
        return fail_set(error, HEARSAY_ERR_ARGUMENT, "the query has %zu parts, at most are %d",
                        query->part_count, LIMIT_PARTS);
    }
    for (size_t i = 0; i < query->part_count; i++) {
        const struct hearsay_part *part = &query->parts[i];
        if (!filter_is_usable(part->filter) ||
            (part->contains != NULL && !filter_is_usable(part->contains))) {
            return fail_set(error, HEARSAY_ERR_ARGUMENT, "part %zu of the query has no filter",
                            i + 1);
        }
    }
    if (query->max_distance > HEARSAY_DISTANCE_ONE) {
        return fail_set(error, HEARSAY_ERR_ARGUMENT, "the largest distance is over %u millionths",
                        HEARSAY_DISTANCE_ONE);
    }
    if ((query->metric != HEARSAY_METRIC_DEFAULT && query->metric != HEARSAY_METRIC_BITS &&
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
        if (slice->bits == NULL || slice->byte_count == 0 || slice->hashes == 0 ||
            slice->hashes > LIMIT_HASHES) {
            return fail_set(error, HEARSAY_ERR_ARGUMENT,
                            "slice %zu to exclude has no bits, or not 1 to %d hashes", i + 1,
                            LIMIT_HASHES);
        }
    }
    return HEARSAY_OK;
}

struct msg_query calls_query(const struct hearsay_query *query,
                             struct hearsay_query_part *out_parts)
{
    for (size_t i = 0; i < query->part_count; i++) {
        const struct hearsay_part *from = &query->parts[i];
        out_parts[i] = (struct hearsay_query_part){.epoch = from->epoch,
                                                   .filter = calls_filter(from->filter),
                                                   .contains = calls_filter(from->contains)};
    }
    return (struct msg_query){
        .host = hearsay_text(query->host),
        .k = query->k,
        .parts = out_parts,
        .part_count = query->part_count,
        .max_distance_ppm = query->max_distance,
        .since_ms = query->since_ms,
        .until_ms = query->until_ms,
        .metric = query->metric == HEARSAY_METRIC_DEFAULT ? MSG_METRIC_DEFAULT
                                                          : (enum msg_metric)query->metric,
        .order = (enum msg_order)query->order,
        .with_payload = query->with_payload,
        .scope = query->hood ? HEARSAY_SCOPE_HOOD : HEARSAY_SCOPE_HERE,
        .wait_ms = query->wait_ms > 0 ? query->wait_ms : LIMIT_WAIT_MS_DEFAULT,
        .max_staleness_ms = query->max_staleness_ms};
}

/* A request for a query, and the arrays that the request points to. */
struct query_request {
    struct hearsay_request request;
    struct hearsay_query_part parts[LIMIT_PARTS];
    struct msg_slice slices[LIMIT_SLICES];
};

static int query_fill(const struct hearsay *server, const struct hearsay_query *query,
                      struct query_request *out, struct hearsay_error *error)
{
    int status = calls_check_query(query, error);
    if (status == HEARSAY_OK && query->hood && !hearsay_has_capability(server, "hood")) {
        /* an older server would ignore the scope, and answer for one host alone */
        status = fail_set(error, HEARSAY_ERR_ARGUMENT,
                          "the server is too old to ask a hood: it would answer for one host only");
    }
    if (status != HEARSAY_OK) {
        return status;
    }
    out->request = (struct hearsay_request){.kind = HEARSAY_REQUEST_QUERY,
                                            .query = calls_query(query, out->parts)};
    for (size_t i = 0; i < query->exclude_count; i++) {
        const struct hearsay_slice *from = &query->exclude[i];
        out->slices[i] = (struct msg_slice){.bits = hearsay_bytes(from->bits, from->byte_count),
                                            .hashes = from->hashes,
                                            .seed = from->seed};
    }
    out->request.query.exclude = out->slices;
    out->request.query.exclude_count = query->exclude_count;
    return HEARSAY_OK;
}

static struct hearsay_request get_request(const char *host, const uint8_t *id)
{
    return (struct hearsay_request){
        .kind = HEARSAY_REQUEST_GET,
        .get = {.host = hearsay_text(host), .id = hearsay_bytes(id, HEARSAY_ID_BYTES)}};
}

static struct hearsay_request withdraw_request(const char *host, const uint8_t *id,
                                               const uint8_t *token)
{
    return (struct hearsay_request){
        .kind = HEARSAY_REQUEST_WITHDRAW,
        .withdraw = {.host = hearsay_text(host),
                     .id = hearsay_bytes(id, HEARSAY_ID_BYTES),
                     .token = hearsay_bytes(token, HEARSAY_TOKEN_BYTES)}};
}

static struct hearsay_request here_request(const char *host)
{
    return (struct hearsay_request){.kind = HEARSAY_REQUEST_HERE,
                                    .here = {.host = hearsay_text(host)}};
}

/* --- many requests at a time ------------------------------------------------------------------ */

int hearsay_submit_query(struct hearsay *server, const struct hearsay_query *query,
                         uint64_t *out_ticket, struct hearsay_error *out_error)
{
    struct query_request filled;
    int status = query_fill(server, query, &filled, out_error);
    return status == HEARSAY_OK ? client_submit(server, &filled.request, out_ticket, out_error)
                                : status;
}

int hearsay_submit_get(struct hearsay *server, const char *host, const uint8_t *id,
                       uint64_t *out_ticket, struct hearsay_error *out_error)
{
    struct hearsay_request request = get_request(host, id);
    return client_submit(server, &request, out_ticket, out_error);
}

int hearsay_submit_withdraw(struct hearsay *server, const char *host, const uint8_t *id,
                            const uint8_t *token, uint64_t *out_ticket,
                            struct hearsay_error *out_error)
{
    struct hearsay_request request = withdraw_request(host, id, token);
    return client_submit(server, &request, out_ticket, out_error);
}

int hearsay_submit_here(struct hearsay *server, const char *host, uint64_t *out_ticket,
                        struct hearsay_error *out_error)
{
    struct hearsay_request request = here_request(host);
    return client_submit(server, &request, out_ticket, out_error);
}

/* --- one request at a time -------------------------------------------------------------------- */

int calls_prepare(struct hearsay *server, int timeout_ms, struct hearsay_error *error)
{
    if (timeout_ms < 0) {
        return fail_set(error, HEARSAY_ERR_ARGUMENT, "the timeout is negative");
    }
    if (server->kept_bytes > CLIENT_KEPT_BYTES_MAX) {
        return fail_set(error, HEARSAY_FULL, "too many replies wait for hearsay_next");
    }
    return HEARSAY_OK;
}

int calls_finish(struct hearsay *server, uint64_t ticket, int timeout_ms,
                 const struct reply **out_reply, struct hearsay_error *error)
{
    const struct reply *reply = NULL;
    int status = client_await(server, ticket, timeout_ms, &reply, error);
    if (status == HEARSAY_ERR_REFUSED && reply != NULL && error != NULL) {
        *error = reply->shown.error;
    }
    *out_reply = reply;
    return status;
}

int calls_ask(struct hearsay *server, struct hearsay_request *request, int timeout_ms,
              const struct reply **out_reply, struct hearsay_error *error)
{
    uint64_t ticket = 0;
    int status = calls_prepare(server, timeout_ms, error);
    if (status == HEARSAY_OK) {
        status = client_submit(server, request, &ticket, error);
    }
    return status == HEARSAY_OK ? calls_finish(server, ticket, timeout_ms, out_reply, error)
                                : status;
}

int hearsay_deposit(struct hearsay *server, const struct hearsay_deposit *deposit, int timeout_ms,
                    struct hearsay_receipt *out_receipt, struct hearsay_deposited *out_deposited,
                    struct hearsay_error *out_error)
{
    uint64_t ticket = 0;
    const struct reply *reply = NULL;
    int status = calls_prepare(server, timeout_ms, out_error);
    if (status == HEARSAY_OK) {
        status = hearsay_submit_deposit(server, deposit, out_receipt, &ticket, out_error);
    }
    if (status == HEARSAY_OK) {
        status = calls_finish(server, ticket, timeout_ms, &reply, out_error);
    }
    if (status == HEARSAY_OK && out_deposited != NULL) {
        *out_deposited = reply->shown.deposited;
    }
    return status;
}

int hearsay_query(struct hearsay *server, const struct hearsay_query *query, int timeout_ms,
                  const struct hearsay_results **out_results, struct hearsay_error *out_error)
{
    struct query_request filled;
    const struct reply *reply = NULL;
    int status = query_fill(server, query, &filled, out_error);
    if (status == HEARSAY_OK) {
        status = calls_ask(server, &filled.request, timeout_ms, &reply, out_error);
    }
    if (status == HEARSAY_OK) {
        *out_results = &reply->shown.results;
    }
    return status;
}

int hearsay_get(struct hearsay *server, const char *host, const uint8_t *id, int timeout_ms,
                const struct hearsay_message **out_message, struct hearsay_error *out_error)
{
    struct hearsay_request request = get_request(host, id);
    const struct reply *reply = NULL;
    int status = calls_ask(server, &request, timeout_ms, &reply, out_error);
    if (status == HEARSAY_OK) {
        *out_message = &reply->shown.message;
    }
    return status;
}

int hearsay_withdraw(struct hearsay *server, const char *host, const uint8_t *id,
                     const uint8_t *token, int timeout_ms, struct hearsay_error *out_error)
{
    struct hearsay_request request = withdraw_request(host, id, token);
    const struct reply *reply = NULL;
    return calls_ask(server, &request, timeout_ms, &reply, out_error);
}

int hearsay_ping(struct hearsay *server, int timeout_ms, struct hearsay_pong *out_pong,
                 struct hearsay_error *out_error)
{
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_PING};
    const struct reply *reply = NULL;
    int status = calls_ask(server, &request, timeout_ms, &reply, out_error);
    if (status == HEARSAY_OK && out_pong != NULL) {
        *out_pong = reply->shown.pong;
    }
    return status;
}

int hearsay_here(struct hearsay *server, const char *host, int timeout_ms,
                 const struct hearsay_here **out_here, struct hearsay_error *out_error)
{
    struct hearsay_request request = here_request(host);
    const struct reply *reply = NULL;
    int status = calls_ask(server, &request, timeout_ms, &reply, out_error);
    if (status == HEARSAY_OK) {
        *out_here = &reply->shown.here;
    }
    return status;
}

int hearsay_summary(struct hearsay *server, const char *host, int timeout_ms,
                    struct hearsay_summary *out_summary, struct hearsay_error *out_error)
{
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_SUMMARY,
                                      .summary = {.host = hearsay_text(host)}};
    const struct reply *reply = NULL;
    int status = calls_ask(server, &request, timeout_ms, &reply, out_error);
    if (status == HEARSAY_OK) {
        *out_summary = reply->summary;
    }
    return status;
}
