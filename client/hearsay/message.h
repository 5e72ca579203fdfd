/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message: sends requests and gives the responses, one at a time or many, as the structs of
 * hearsay/messages.h. docs/protocol.md says what each request does and who may send it. Part of
 * hearsay.h. This gets a message:
 *
 *   struct hearsay_request request = {.kind = HEARSAY_REQUEST_GET};
 *   request.get.id = hearsay_bytes(id, HEARSAY_ID_BYTES);
 *   hearsay_ask(server, &request, 5000, &response, &error);
 */
#ifndef HEARSAY_MESSAGE_H
#define HEARSAY_MESSAGE_H

#include "base.h"
#include "connection.h"
#include "context.h"
#include "messages.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- deposits --------------------------------------------------------------------------------- */

/* What a depositor needs later: the id to get the message, the id and the token to withdraw it. */
struct hearsay_receipt {
    uint8_t id[HEARSAY_ID_BYTES];
    uint8_t token[HEARSAY_TOKEN_BYTES];
    uint8_t hash[HEARSAY_HASH_BYTES]; /* of the token */
};

/*
 * Sets the defaults of a struct hearsay_deposit: all fields absent, except reach_ppm
 * HEARSAY_DISTANCE_ONE. Also draws a random id and token, unless out_receipt is NULL, and lets the
 * fields `id` and `withdraw_hash` borrow the id and the hash from *out_receipt. The caller then
 * sets `filter`, and what else the message shall have, such as `answers`, the id of the message
 * that this one answers: it takes that message's epoch, and its filter finds nothing. Without
 * `withdraw_hash` nobody can withdraw the message. The library sets has_ttl_s by ttl_s, where 0 is
 * the server's default.
 */
HEARSAY_API void hearsay_deposit_init(struct hearsay_deposit *deposit,
                                      struct hearsay_receipt *out_receipt);

/* --- queries ---------------------------------------------------------------------------------- */

/*
 * Sets the defaults of a struct hearsay_query: no parts, the 10 nearest messages, of any time and
 * at any distance (HEARSAY_DISTANCE_ONE), by phi, the nearest first, with their payloads, and no
 * bound on staleness (UINT64_MAX). The caller sets `parts` and part_count; or instead `answers`,
 * the id of a message, for the answers to it, oldest first. To fields that are 0 then, the library
 * gives the meaning of absent fields: `metric`, `scope` and wait_ms.
 *
 * A query with HEARSAY_SCOPE_HOOD returns ERR_ARGUMENT without the capability "hood" of the server,
 * and is not for a watch. hearsay_seen_exclude makes the slices of `exclude`.
 */
HEARSAY_API void hearsay_query_init(struct hearsay_query *query);

/* --- one request at a time -------------------------------------------------------------------- */

/*
 * Each call of this section sends a request and waits for its reply. ERR_REFUSED has two meanings:
 * the server refused the request, or the server ended the connection, for example because nothing
 * was asked for 10 minutes. hearsay_is_broken tells which. *out_response and *out_results
 * are borrowed from the connection until the next call on the connection.
 *
 * While a call waits, matches and replies to requests of the next section may arrive. The library
 * keeps them for hearsay_next. If they take 8 MiB, the call returns HEARSAY_FULL and sends nothing.
 * If too many requests are in flight, the call waits until it can send its own.
 *
 * After ERR_TIMEOUT the connection is still usable. The late reply is dropped; until it comes, its
 * request is still in flight. After ERR_TIMEOUT or ERR_LOST the server may or may not have stored a
 * deposit. Send the same deposit again, with the same id: the server stores it only once.
 *
 * A result with content, and a message that was got, have media type and payload also where the
 * server left out `text/plain` or an empty payload.
 *
 * All calls may return ERR_ARGUMENT, ERR_NOMEM, ERR_TIMEOUT, ERR_LOST, ERR_PROTOCOL, ERR_REFUSED
 * and ERR_SYSTEM; with TLS also ERR_TRUST.
 *
 * hearsay_ask sends any request. `kind` says which member of the union is the request; `id` and
 * `asker` need not be set. A member that is 0 counts as such: where the comment of a field gives
 * another value for an absent field, the caller sets it. An absent host is the default host. The
 * request is borrowed for the call. response->kind is the one that answers the request.
 * The time that the requests check, backup, compact and similar take grows with the size of the
 * store: choose timeout_ms accordingly.
 */
HEARSAY_API int hearsay_ask(struct hearsay *server, const struct hearsay_request *request,
                            int timeout_ms, const struct hearsay_response **out_response,
                            struct hearsay_error *out_error);
HEARSAY_API int hearsay_deposit(struct hearsay *server, const struct hearsay_deposit *deposit,
                                int timeout_ms, struct hearsay_deposited *out_deposited,
                                struct hearsay_error *out_error);
HEARSAY_API int hearsay_query(struct hearsay *server, const struct hearsay_query *query,
                              int timeout_ms, const struct hearsay_results **out_results,
                              struct hearsay_error *out_error);

/* --- many requests at a time ------------------------------------------------------------------ */

/* What has arrived: the answer to a request, or a push. */
struct hearsay_reply {
    struct hearsay_error error; /* of HEARSAY_RESPONSE_ERROR only; its status is ERR_REFUSED */
    /*
     * Its id is the ticket of the request. HEARSAY_RESPONSE_MATCH and HEARSAY_RESPONSE_HERE_CHANGED
     * answer no request: the id is 0
     */
    struct hearsay_response response;
};

/*
 * Each call of this section submits a request and returns without waiting for the server.
 * *out_ticket identifies the request and is never 0. If hearsay_in_flight is 0, the library sends
 * the request at once, as far as the socket takes it. Otherwise the library collects requests, and
 * sends them when they reach 32 KiB, or when a call such as hearsay_next reads from the server.
 *
 * The calls return HEARSAY_OK, ERR_ARGUMENT, ERR_NOMEM, HEARSAY_FULL, or the error that broke the
 * connection. HEARSAY_FULL means that the request was not submitted: call hearsay_next, then submit
 * it again. Either more than 1 MiB is unsent, or limits.requests_in_flight requests are in flight
 * (at most 1024; with is_small or without this limit at most 16), those whose calls timed out
 * included.
 *
 * hearsay_submit submits any request, as hearsay_ask takes it. After HEARSAY_REQUEST_SERVE,
 * hearsay_next returns HEARSAY_RESPONSE_ASK as well, with the id 0.
 */
HEARSAY_API int hearsay_submit(struct hearsay *server, const struct hearsay_request *request,
                               uint64_t *out_ticket, struct hearsay_error *out_error);
HEARSAY_API int hearsay_submit_deposit(struct hearsay *server,
                                       const struct hearsay_deposit *deposit, uint64_t *out_ticket,
                                       struct hearsay_error *out_error);
HEARSAY_API int hearsay_submit_query(struct hearsay *server, const struct hearsay_query *query,
                                     uint64_t *out_ticket, struct hearsay_error *out_error);

/*
 * Drops the reply to a submitted request when it arrives. Until then the request counts among those
 * in flight at the server, which may carry it out. A reply that the library already keeps stays.
 * Not for a watch, which HEARSAY_REQUEST_UNWATCH ends.
 */
HEARSAY_API void hearsay_cancel(struct hearsay *server, uint64_t ticket);

/*
 * Returns the next reply to a submitted request, the next match or the next change of here labels,
 * in the order of arrival; the server may answer in any order. *out_reply is borrowed until the
 * next call on this connection. If the server refused the request, the call returns HEARSAY_OK with
 * a reply of the kind HEARSAY_RESPONSE_ERROR. Other results:
 *
 *   HEARSAY_IDLE     no request is in flight, another may be submitted, and this connection has had
 *                    no watch and no call of hearsay_take_here_changes; the call has read what has
 *                    arrived, without waiting
 *   HEARSAY_PENDING  no reply arrived within timeout_ms
 *   ERR_REFUSED      the server ended the connection with a reason
 *   ERR_LOST, ERR_PROTOCOL, ERR_NOMEM, ERR_SYSTEM, ERR_ARGUMENT; with TLS also ERR_TRUST
 *
 * Replies that arrived before an error are returned before the error.
 */
HEARSAY_API int hearsay_next(struct hearsay *server, int timeout_ms,
                             const struct hearsay_reply **out_reply,
                             struct hearsay_error *out_error);

/*
 * After this call, hearsay_next returns HEARSAY_RESPONSE_HERE_CHANGED when the here labels of a
 * host change for this client, and waits for changes even if no request is in flight. A gateway
 * without on_behalf gets a reply when the here labels of any place change; the gateway should then
 * ask for the labels of its clients with hearsay_ask_for and HEARSAY_REQUEST_HERE.
 */
HEARSAY_API void hearsay_take_here_changes(struct hearsay *server);

/*
 * Returns the number of submitted requests whose reply hearsay_next has not returned, plus the
 * number of pushes (such as matches) that the library keeps for hearsay_next.
 */
HEARSAY_API size_t hearsay_in_flight(const struct hearsay *server);

/*
 * Returns the socket, for the event loop of a program. Wait until the socket is readable; if
 * *out_wants_write is set, wait until it is readable or writable. Before waiting again, call
 * hearsay_next with timeout_ms 0 until it returns something other than HEARSAY_OK. out_wants_write
 * may be NULL. The connection owns the socket.
 */
HEARSAY_API int hearsay_fd(const struct hearsay *server, bool *out_wants_write);

/* --- watches: queries that stay at the server, and report each new message -------------------- */

#define HEARSAY_NO_SEQ UINT64_MAX /* instead of a sequence number: only new messages */

/*
 * Starts a watch on this connection, without waiting for the answer, which is a reply of the kind
 * HEARSAY_RESPONSE_WATCHING. From then on, hearsay_next returns HEARSAY_RESPONSE_MATCH for each
 * message that fits and has a sequence number above `after_seq`. HEARSAY_NO_SEQ means: only
 * messages that get their number after the watch begins. Matches of the watch come in ascending
 * order of their numbers. hearsay_next waits for matches even if no request is in flight.
 *
 * A watch does not use the fields k, until_ms, order, exclude, wait_ms and max_staleness_ms of the
 * query, but `order` and `exclude` must be valid. Otherwise the query follows the rules of
 * hearsay_submit_query. The server refuses one watch too many with HEARSAY_CODE_QUOTA.
 * HEARSAY_REQUEST_UNWATCH ends a watch; hearsay_next may still return matches that arrived earlier.
 */
HEARSAY_API int hearsay_submit_watch(struct hearsay *server, const struct hearsay_query *query,
                                     uint64_t after_seq, uint64_t *out_ticket,
                                     struct hearsay_error *out_error);

/*
 * A watch that continues on a new connection when its connection is lost. All callbacks run within
 * hearsay_watch, with `context`. A callback that returns bool ends the watch by returning false.
 * connect, dropped, lost and goes_on may be NULL.
 */
struct hearsay_watch {
    /* how to connect to the server; resume_token has no effect. timeout_ms limits connecting, and
     * the wait for the answer to each request */
    struct hearsay_connect connection;
    uint64_t after_seq; /* HEARSAY_NO_SEQ: only new messages; 0: all that are stored */
    void *context;
    /*
     * Connects to the server in place of hearsay_connect. `token` is the resume token to show;
     * token_bytes is 0 if there is none. Returns a status. hearsay_watch closes *out_server.
     */
    int (*connect)(void *context, const uint8_t *token, size_t token_bytes,
                   struct hearsay **out_server, struct hearsay_error *error);
    /*
     * Fills the query after each connect; the host may have another profile than before. What the
     * query points to must stay valid until hearsay_watch calls `prepare` again or returns. Any
     * status except HEARSAY_OK ends hearsay_watch, which returns this status.
     */
    int (*prepare)(void *context, struct hearsay *server, struct hearsay_query *query,
                   struct hearsay_error *error);
    bool (*match)(void *context, const struct hearsay *server, const struct hearsay_match *match);
    /* The server closed the last connection, for this reason. */
    void (*dropped)(void *context, const struct hearsay_error *why);
    /* The connection is lost; the next try is in retry_ms. */
    bool (*lost)(void *context, const struct hearsay_error *why, int retry_ms);
    bool (*goes_on)(void *context); /* called several times a second */
};

/*
 * Connects and watches. After a lost connection, hearsay_watch connects again, first after a random
 * time from 1 to 2 s. After each further failure both times double, up to 30 and 60 s. If the
 * server asks for a longer wait, hearsay_watch waits so long, but at most 60 s. `match` gets the
 * matches in ascending order of their sequence numbers. A new connection continues after the number
 * of the last match, so the watch also gets messages that came in between. If the store id has
 * changed, the watch begins with all messages of the new store that fit. When an epoch of any host
 * begins, hearsay_watch connects again at once, and `prepare` sees the new epoch. After 30 s
 * without a match or reply, hearsay_watch pings the server.
 *
 * Returns HEARSAY_OK when a callback has ended the watch. Returns an error when the first watch
 * cannot begin. Later, hearsay_watch tries again after ERR_CONNECT, ERR_TIMEOUT, ERR_LOST, and
 * ERR_REFUSED with the code RATE_LIMITED, QUOTA, STORAGE, SHUTTING_DOWN or INTERNAL, and returns
 * every other error.
 */
HEARSAY_API int hearsay_watch(const struct hearsay_watch *watch, struct hearsay_error *out_error);

#ifdef __cplusplus
}
#endif

#endif
