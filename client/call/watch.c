/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch: standing queries. hearsay_submit_watch starts a watch on one connection. hearsay_watch
 * connects again after a lost connection and continues the watch.
 */
#include <poll.h>
#include <string.h>

#include <sodium.h>

#include "client/call/client.h"
#include "client/now.h"

enum {
    RETRY_FIRST_MS = 1000,
    RETRY_MOST_MS = 60 * 1000,
    SLICE_MS = 200,        /* between asking whether it goes on */
    SILENCE_MS = 30 * 1000 /* after this silence a ping checks whether the server answers */
};

/* --- on one connection ------------------------------------------------------------------------ */

/* Checks the query of a watch, and makes a request of it. Returns 0 or ERR_ARGUMENT. */
static int watch_fill(const struct hearsay_query *query, uint64_t after_seq,
                      struct hearsay_request *out, struct hearsay_error *error)
{
    *out = (struct hearsay_request){.kind = HEARSAY_REQUEST_WATCH, .watch.after_seq = after_seq};
    int status = client_fill_query(query, &out->watch.query, error);
    out->watch.query.k = 0; /* a watch has none */
    out->watch.query.until_ms = INT64_MAX;
    out->watch.query.order = HEARSAY_ORDER_SIMILARITY;
    out->watch.query.exclude_count = 0;
    out->watch.query.wait_ms = LIMIT_WAIT_MS_DEFAULT;
    out->watch.query.max_staleness_ms = UINT64_MAX;
    return status;
}

int hearsay_submit_watch(struct hearsay *server, const struct hearsay_query *query,
                         uint64_t after_seq, uint64_t *out_ticket, struct hearsay_error *out_error)
{
    struct hearsay_request request;
    int status = watch_fill(query, after_seq, &request, out_error);
    return status == HEARSAY_OK ? hearsay_submit(server, &request, out_ticket, out_error) : status;
}

/* Starts a watch on one connection, as hearsay_submit_watch, and waits for the answer. */
static int begin_watch(struct hearsay *server, const struct hearsay_query *query,
                       uint64_t after_seq, int timeout_ms, struct hearsay_watching *out_watching,
                       struct hearsay_error *out_error)
{
    struct hearsay_request request;
    const struct hearsay_response *response = NULL;
    int status = watch_fill(query, after_seq, &request, out_error);
    if (status == HEARSAY_OK) {
        status = hearsay_ask(server, &request, timeout_ms, &response, out_error);
    }
    if (status == HEARSAY_OK) {
        *out_watching = response->watching;
    }
    return status;
}

/* --- over many -------------------------------------------------------------------------------- */

/* The state of a watch that is kept from one connection to the next. */
struct standing {
    const struct hearsay_watch *watch;
    /*
     * a watch on a new connection begins after this sequence number: the number of the last match,
     * or before the first match the number with which the watch began
     */
    uint64_t seq;
    bool was_connected;
    bool is_over; /* a callback ended it */
    uint8_t store_id[HEARSAY_ID_BYTES];
    uint8_t token[HEARSAY_RESUME_BYTES_MAX];
    size_t token_bytes;
    int64_t retry_ms; /* the next wait, at most */
};

static bool goes_on(struct standing *standing)
{
    const struct hearsay_watch *watch = standing->watch;
    if (!standing->is_over && watch->goes_on != NULL && !watch->goes_on(watch->context)) {
        standing->is_over = true;
    }
    return !standing->is_over;
}

/* Handles a Welcome. If the server has another store than before, the sequence numbers of the new
 * store have nothing to do with the old numbers, and all messages of the new store count as new. */
static void note_welcome(struct standing *standing, const struct hearsay_welcome *welcome)
{
    const struct hearsay_watch *watch = standing->watch;
    if (standing->was_connected &&
        memcmp(standing->store_id, welcome->store_id, HEARSAY_ID_BYTES) != 0) {
        standing->seq = 0;
    }
    memcpy(standing->store_id, welcome->store_id, HEARSAY_ID_BYTES);
    memcpy(standing->token, welcome->resume_token, welcome->resume_bytes);
    standing->token_bytes = welcome->resume_bytes;
    if (welcome->dropped != NULL && watch->dropped != NULL) {
        watch->dropped(watch->context, welcome->dropped);
    }
}

/* Gives a match to the caller, unless the caller had it before. */
static void watch_take(struct standing *standing, const struct hearsay *server,
                       const struct hearsay_match *match)
{
    const struct hearsay_watch *watch = standing->watch;
    if (match->seq <= standing->seq) {
        return;
    }
    if (watch->match(watch->context, server, match)) {
        standing->seq = match->seq;
    } else {
        standing->is_over = true;
    }
}

/*
 * Reads matches and gives them to the caller. Returns an error when the connection fails; 0 when a
 * callback ends the watch or an epoch has changed.
 */
static int watch_listen(struct standing *standing, struct hearsay *server,
                        struct hearsay_error *error)
{
    static const struct hearsay_request ping = {.kind = HEARSAY_REQUEST_PING};
    int64_t heard_ms = now_monotonic_ms();
    while (goes_on(standing) && !server->epoch_changed) {
        const struct hearsay_reply *reply = NULL;
        int status = hearsay_next(server, SLICE_MS, &reply, error);
        if (status == HEARSAY_OK) {
            heard_ms = now_monotonic_ms();
            if (reply->response.kind == HEARSAY_RESPONSE_MATCH) {
                watch_take(standing, server, &reply->response.match);
            }
            continue;
        }
        if (status == HEARSAY_PENDING && now_monotonic_ms() - heard_ms >= SILENCE_MS) {
            heard_ms = now_monotonic_ms();
            status =
                hearsay_ask(server, &ping, standing->watch->connection.timeout_ms, NULL, error);
        }
        if (status != HEARSAY_PENDING && status != HEARSAY_OK) {
            return status;
        }
    }
    return HEARSAY_OK;
}

static int connect_again(const struct standing *standing, struct hearsay **out_server,
                         struct hearsay_error *error)
{
    const struct hearsay_watch *watch = standing->watch;
    if (watch->connect != NULL) {
        return watch->connect(watch->context, standing->token, standing->token_bytes, out_server,
                              error);
    }
    struct hearsay_connect connection = watch->connection;
    connection.resume_token = standing->token;
    connection.resume_bytes = standing->token_bytes;
    return hearsay_connect(&connection, out_server, error);
}

/* Connects, watches until watch_listen returns, and closes the connection. */
static int watch_once(struct standing *standing, struct hearsay_error *error)
{
    const struct hearsay_watch *watch = standing->watch;
    struct hearsay *server = NULL;
    struct hearsay_query query;
    struct hearsay_watching watching;
    int status = connect_again(standing, &server, error);
    if (status != HEARSAY_OK) {
        return status;
    }
    note_welcome(standing, hearsay_welcome(server));
    hearsay_query_init(&query);
    status = watch->prepare(watch->context, server, &query, error);
    if (status != HEARSAY_OK) {
        standing->was_connected = false; /* trying again does not help */
    } else {
        status = begin_watch(server, &query, standing->seq, watch->connection.timeout_ms, &watching,
                             error);
    }
    if (status == HEARSAY_OK) {
        /*
         * If the server's number is smaller than the number of the last match, the store has lost
         * messages, for example because it was restored from a backup: continue from the server's
         * number.
         */
        if (standing->seq == HEARSAY_NO_SEQ || watching.seq < standing->seq) {
            standing->seq = watching.seq;
        }
        standing->was_connected = true;
        standing->retry_ms = 2 * RETRY_FIRST_MS;
        status = watch_listen(standing, server, error);
    }
    hearsay_close(server);
    return status;
}

/* Returns whether a later attempt to connect may succeed after this error. */
static bool may_pass(const struct hearsay_error *error)
{
    switch (error->status) {
    case HEARSAY_ERR_CONNECT:
    case HEARSAY_ERR_TIMEOUT:
    case HEARSAY_ERR_LOST:
        return true;
    case HEARSAY_ERR_REFUSED:
        return error->code == HEARSAY_CODE_RATE_LIMITED || error->code == HEARSAY_CODE_QUOTA ||
               error->code == HEARSAY_CODE_STORAGE || error->code == HEARSAY_CODE_SHUTTING_DOWN ||
               error->code == HEARSAY_CODE_INTERNAL;
    default:
        return false;
    }
}

/*
 * Chooses the wait before the next connection: a random time from half of retry_ms to retry_ms.
 * Then doubles retry_ms. So the clients of a server that starts again do not come back together.
 */
static int choose_wait(struct standing *standing, const struct hearsay_error *error)
{
    int64_t wait_ms =
        standing->retry_ms / 2 + (int64_t)randombytes_uniform((uint32_t)standing->retry_ms / 2 + 1);
    if (error->status == HEARSAY_ERR_REFUSED && error->retry_after_ms > (uint64_t)wait_ms) {
        wait_ms =
            error->retry_after_ms > RETRY_MOST_MS ? RETRY_MOST_MS : (int64_t)error->retry_after_ms;
    }
    standing->retry_ms = 2 * standing->retry_ms;
    standing->retry_ms = standing->retry_ms > RETRY_MOST_MS ? RETRY_MOST_MS : standing->retry_ms;
    return (int)wait_ms;
}

static void watch_wait(struct standing *standing, int wait_ms)
{
    int64_t until_ms = now_monotonic_ms() + wait_ms;
    int64_t left_ms = wait_ms;
    while (left_ms > 0 && goes_on(standing)) {
        (void)poll(NULL, 0, left_ms < SLICE_MS ? (int)left_ms : SLICE_MS); /* a signal: we look */
        left_ms = until_ms - now_monotonic_ms();
    }
}

int hearsay_watch(const struct hearsay_watch *watch, struct hearsay_error *out_error)
{
    struct standing standing = {
        .watch = watch,
        .seq = watch->after_seq,
        .retry_ms = 2 * RETRY_FIRST_MS,
    };
    struct hearsay_error error;
    while (goes_on(&standing)) {
        int status = watch_once(&standing, &error);
        if (standing.is_over) {
            break;
        }
        if (status == HEARSAY_OK) { /* an epoch has changed: at once */
            continue;
        }
        if (!standing.was_connected || !may_pass(&error)) {
            if (out_error != NULL) {
                *out_error = error;
            }
            return status;
        }
        int wait_ms = choose_wait(&standing, &error);
        if (watch->lost != NULL && !watch->lost(watch->context, &error, wait_ms)) {
            break;
        }
        watch_wait(&standing, wait_ms);
    }
    return HEARSAY_OK;
}
