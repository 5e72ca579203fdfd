/* SPDX-License-Identifier: Apache-2.0 */
/* watch: queries that stay at the server, which reports each new message. Part of hearsay.h. */
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

struct hearsay_watching {
    uint64_t watch_id;
    uint64_t seq; /* of the newest message when the watch began */
};

/*
 * Starts a watch on this connection. hearsay_next then returns HEARSAY_REPLY_MATCH for each message
 * that fits and was stored after after_seq (HEARSAY_NO_SEQ: after now), in order, each message
 * once; it also waits while no request is in flight. k, until_ms, order and exclude of the query
 * are ignored. Errors as for the other requests; too many watches: HEARSAY_CODE_QUOTA.
 */
HEARSAY_API int hearsay_watch_begin(struct hearsay *server, const struct hearsay_query *query,
                                    uint64_t after_seq, int timeout_ms,
                                    struct hearsay_watching *out_watching,
                                    struct hearsay_error *out_error);

/* Ends a watch. Matches that arrived before may still be returned. No such watch:
 * HEARSAY_CODE_NOT_FOUND. */
HEARSAY_API int hearsay_watch_end(struct hearsay *server, uint64_t watch_id, int timeout_ms,
                                  struct hearsay_error *out_error);

/* --- over many connections -------------------------------------------------------------------- */

/*
 * A watch that outlives its connection. All callbacks run within hearsay_watch, with `context`. A
 * callback that returns bool ends the watch by returning false. connect, dropped, lost and goes_on
 * may be NULL.
 */
struct hearsay_watch {
    struct hearsay_connect connection; /* its resume token is ignored; timeout_ms also holds for
                                          each request */
    uint64_t after_seq; /* HEARSAY_NO_SEQ: only new messages; 0: all that are stored */
    void *context;
    /* Connects instead of hearsay_connect. Returns a status; hearsay_watch takes *out_server. */
    int (*connect)(void *context, const uint8_t *token, size_t token_bytes,
                   struct hearsay **out_server, struct hearsay_error *error);
    /*
     * Fills the query after each connect; the host may have another profile by now. What the query
     * points to must stay valid until the next call. Any status but HEARSAY_OK ends hearsay_watch.
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
 * Connects, watches, and connects again after the connection is lost: after 1 s, then after twice
 * the time, up to 60 s; up to half of each wait is random. `match` gets each message that fits
 * once, in order; none is missed, even when the server restarts. A server with another store id
 * sends all of its messages. When an epoch begins, hearsay_watch connects again at once, and
 * `prepare` sees the new epoch. After 30 s of silence it pings the server.
 *
 * HEARSAY_OK when a callback ended the watch. It returns an error when the first attempt fails, and
 * when another try cannot help: ERR_ARGUMENT, ERR_NOMEM, ERR_SYSTEM, ERR_PROTOCOL, most refusals.
 */
HEARSAY_API int hearsay_watch(const struct hearsay_watch *watch, struct hearsay_error *out_error);

#ifdef __cplusplus
}
#endif

#endif
