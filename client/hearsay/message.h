/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message: deposits, queries, gets and withdraws messages, one request at a time or many. Part of
 * hearsay.h.
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
 * Each call of this section sends a request and waits for its reply. ERR_REFUSED means that the
 * server refused the request. *out_results, *out_got, *out_summary and *out_here are borrowed from
 * the connection until the next call on the connection. `host` NULL is the default host.
 *
 * While a call waits, matches and replies to requests of the next section may arrive. The library
 * keeps them for hearsay_next. If they take more than 8 MiB, or in the cases of the next section,
 * the call returns HEARSAY_FULL and sends nothing.
 *
 * After ERR_TIMEOUT the connection is still usable, and the late reply is dropped. After
 * ERR_TIMEOUT or ERR_LOST the server may or may not have stored a deposit. Send the same deposit
 * again, with the same id: the server stores it only once.
 *
 * A result with content, and a message that was got, have media type and payload also where the
 * server left out `text/plain` or an empty payload.
 *
 * All calls may return ERR_ARGUMENT, ERR_NOMEM, ERR_TIMEOUT, ERR_LOST, ERR_PROTOCOL, ERR_REFUSED
 * and ERR_SYSTEM; with TLS also ERR_TRUST.
 */
HEARSAY_API int hearsay_deposit(struct hearsay *server, const struct hearsay_deposit *deposit,
                                int timeout_ms, struct hearsay_deposited *out_deposited,
                                struct hearsay_error *out_error);
HEARSAY_API int hearsay_query(struct hearsay *server, const struct hearsay_query *query,
                              int timeout_ms, const struct hearsay_results **out_results,
                              struct hearsay_error *out_error);
/*
 * Gets a message by its id of HEARSAY_ID_BYTES bytes. If there is no such message: ERR_REFUSED with
 * HEARSAY_CODE_NOT_FOUND; if the operator has removed the message: with HEARSAY_CODE_REMOVED.
 */
HEARSAY_API int hearsay_get(struct hearsay *server, const char *host, const uint8_t *id,
                            int timeout_ms, const struct hearsay_got **out_got,
                            struct hearsay_error *out_error);
/*
 * Withdraws a message. `id` has HEARSAY_ID_BYTES bytes, `token` has HEARSAY_TOKEN_BYTES bytes. For
 * a wrong token: ERR_REFUSED with HEARSAY_CODE_FORBIDDEN.
 */
HEARSAY_API int hearsay_withdraw(struct hearsay *server, const char *host, const uint8_t *id,
                                 const uint8_t *token, int timeout_ms,
                                 struct hearsay_error *out_error);
/* out_pong may be NULL. */
HEARSAY_API int hearsay_ping(struct hearsay *server, int timeout_ms, struct hearsay_pong *out_pong,
                             struct hearsay_error *out_error);
/*
 * Gets the summary of the messages in a host's open epoch. The summary includes every message that
 * is not hidden and whose deposit the server has acknowledged, until the server deletes the
 * message.
 */
HEARSAY_API int hearsay_summary(struct hearsay *server, const char *host, int timeout_ms,
                                const struct hearsay_summarized **out_summary,
                                struct hearsay_error *out_error);
/* Gets the here labels of now; there may be none. */
HEARSAY_API int hearsay_here(struct hearsay *server, const char *host, int timeout_ms,
                             const struct hearsay_here_labels **out_here,
                             struct hearsay_error *out_error);

/* --- many requests at a time ------------------------------------------------------------------ */

/* What has arrived: the answer to a request, or a push. */
struct hearsay_reply {
    /*
     * Its id is the ticket of the request. HEARSAY_RESPONSE_MATCH and HEARSAY_RESPONSE_HERE_CHANGED
     * answer no request: the id is 0
     */
    struct hearsay_response response;
    struct hearsay_error error; /* of HEARSAY_RESPONSE_ERROR only; its status is ERR_REFUSED */
};

/*
 * Each call of this section submits a request and returns without waiting for the server.
 * *out_ticket identifies the request and is never 0. If hearsay_in_flight is 0, the library sends
 * the request at once, as far as the socket takes it. Otherwise the library collects requests, and
 * sends them when they reach 32 KiB, or when a call such as hearsay_next reads from the server.
 *
 * The calls return HEARSAY_OK, ERR_ARGUMENT, ERR_NOMEM, HEARSAY_FULL, or the error that broke the
 * connection. HEARSAY_FULL means that the request was not submitted, because
 * limits.requests_in_flight requests (at most 1024; with is_small or without this limit at most 16)
 * wait for their replies, or because more than 1 MiB is unsent. After HEARSAY_FULL call
 * hearsay_next, then submit the request again.
 */
HEARSAY_API int hearsay_submit_deposit(struct hearsay *server,
                                       const struct hearsay_deposit *deposit, uint64_t *out_ticket,
                                       struct hearsay_error *out_error);
HEARSAY_API int hearsay_submit_query(struct hearsay *server, const struct hearsay_query *query,
                                     uint64_t *out_ticket, struct hearsay_error *out_error);
HEARSAY_API int hearsay_submit_get(struct hearsay *server, const char *host, const uint8_t *id,
                                   uint64_t *out_ticket, struct hearsay_error *out_error);
HEARSAY_API int hearsay_submit_withdraw(struct hearsay *server, const char *host, const uint8_t *id,
                                        const uint8_t *token, uint64_t *out_ticket,
                                        struct hearsay_error *out_error);
/* Asks for the here labels; of the client that hearsay_ask_for names, on the connection of a
 * gateway. */
HEARSAY_API int hearsay_submit_here(struct hearsay *server, const char *host, uint64_t *out_ticket,
                                    struct hearsay_error *out_error);

/*
 * Returns the next reply to a submitted request, the next match or the next change of here labels,
 * in the order of arrival; the server may answer in any order. *out_reply is borrowed until the
 * next call on this connection. If the server refused the request, the call returns HEARSAY_OK with
 * a reply of the kind HEARSAY_RESPONSE_ERROR. Other results:
 *
 *   HEARSAY_IDLE     no request is in flight, and this connection has had no watch and no call of
 *                    hearsay_take_here_changes; the call has read what has arrived, without waiting
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
 * ask for the labels of its clients with hearsay_ask_for and hearsay_submit_here.
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

#ifdef __cplusplus
}
#endif

#endif
