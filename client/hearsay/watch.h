/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch: queries that stay at the server. The server reports each new message that fits. Part of
 * hearsay.h.
 */
#ifndef HEARSAY_WATCH_H
#define HEARSAY_WATCH_H

#include "base.h"
#include "connection.h"
#include "message.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HEARSAY_NO_SEQ UINT64_MAX /* instead of a sequence number: only new messages */

/* --- on one connection ------------------------------------------------------------------------ */

/*
 * Starts a watch on this connection. From then on, hearsay_next returns HEARSAY_REPLY_MATCH for
 * each message that fits and has a sequence number above `after_seq`. HEARSAY_NO_SEQ means: only
 * messages that are stored after this call. Matches come in order, each message once. hearsay_next
 * waits for matches even if no request is in flight. The fields k, until_ms, order and exclude of
 * the query are ignored. Returns the errors of other requests; for too many watches ERR_REFUSED
 * with HEARSAY_CODE_QUOTA.
 */
HEARSAY_API int hearsay_watch_begin(struct hearsay *server, const struct hearsay_query *query,
                                    uint64_t after_seq, int timeout_ms,
                                    struct hearsay_watching *out_watching,
                                    struct hearsay_error *out_error);

/*
 * Ends a watch. hearsay_next may still return matches that arrived earlier. If there is no such
 * watch: ERR_REFUSED with HEARSAY_CODE_NOT_FOUND.
 */
HEARSAY_API int hearsay_watch_end(struct hearsay *server, uint64_t watch_id, int timeout_ms,
                                  struct hearsay_error *out_error);

/*
 * hearsay_submit_watch starts a watch and hearsay_submit_unwatch ends a watch, without waiting for
 * the answer. The rules of hearsay_submit_query hold. The answers are replies of the kinds
 * HEARSAY_REPLY_WATCHING and HEARSAY_REPLY_UNWATCHED. Matches may come between such an answer and
 * the next one.
 */
HEARSAY_API int hearsay_submit_watch(struct hearsay *server, const struct hearsay_query *query,
                                     uint64_t after_seq, uint64_t *out_ticket,
                                     struct hearsay_error *out_error);
HEARSAY_API int hearsay_submit_unwatch(struct hearsay *server, uint64_t watch_id,
                                       uint64_t *out_ticket, struct hearsay_error *out_error);

/* --- over many connections -------------------------------------------------------------------- */

/*
 * A watch that continues on a new connection when its connection is lost. All callbacks run within
 * hearsay_watch, with `context`. A callback that returns bool ends the watch by returning false.
 * connect, dropped, lost and goes_on may be NULL.
 */
struct hearsay_watch {
    struct hearsay_connect connection; /* how to connect to the server; resume_token is ignored, and
                                        * timeout_ms limits connecting and also each request */
    uint64_t after_seq; /* HEARSAY_NO_SEQ: only new messages; 0: all that are stored */
    void *context;
    /*
     * Connects to the server in place of hearsay_connect. Returns a status. hearsay_watch takes
     * over *out_server.
     */
    int (*connect)(void *context, const uint8_t *token, size_t token_bytes,
                   struct hearsay **out_server, struct hearsay_error *error);
    /*
     * Fills the query after each connect; the host may have another profile than before. What the
     * query points to must stay valid until `prepare` is called again or hearsay_watch returns. Any
     * status except HEARSAY_OK ends hearsay_watch.
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
 * Connects and watches. After a lost connection, hearsay_watch connects again: after 1 s, then
 * after twice the last wait, up to 60 s. Up to half of each wait is random. `match` gets each
 * message that fits once and in order. No message is missed, even when the server restarts. If the
 * store id has changed, all messages of the new store are reported. When an epoch begins,
 * hearsay_watch connects again at once, and `prepare` sees the new epoch. After 30 s without a
 * match or reply, hearsay_watch pings the server.
 *
 * Returns HEARSAY_OK when a callback has ended the watch. Returns an error when the first attempt
 * fails, or when another attempt cannot help: ERR_ARGUMENT, ERR_NOMEM, ERR_SYSTEM, ERR_PROTOCOL and
 * most refusals.
 */
HEARSAY_API int hearsay_watch(const struct hearsay_watch *watch, struct hearsay_error *out_error);

#ifdef __cplusplus
}
#endif

#endif
