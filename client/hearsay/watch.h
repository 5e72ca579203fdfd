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
 * Starts a watch on this connection, without waiting for the answer, which is a reply of the kind
 * HEARSAY_RESPONSE_WATCHING. From then on, hearsay_next returns HEARSAY_RESPONSE_MATCH for each
 * message that fits and has a sequence number above `after_seq`. HEARSAY_NO_SEQ means: only
 * messages that get their number after the watch begins. Matches of the watch come in ascending
 * order of their numbers. hearsay_next waits for matches even if no request is in flight. The
 * fields k, until_ms, order and exclude of the query have no effect, but `order` and `exclude` must
 * be valid. The rules of hearsay_submit_query hold. Too many watches are refused with
 * HEARSAY_CODE_QUOTA.
 */
HEARSAY_API int hearsay_submit_watch(struct hearsay *server, const struct hearsay_query *query,
                                     uint64_t after_seq, uint64_t *out_ticket,
                                     struct hearsay_error *out_error);

/*
 * Ends a watch, without waiting for the answer, which is a reply of the kind
 * HEARSAY_RESPONSE_UNWATCHED. hearsay_next may still return matches that arrived earlier. If there
 * is no such watch, the request is refused with HEARSAY_CODE_NOT_FOUND.
 */
HEARSAY_API int hearsay_submit_unwatch(struct hearsay *server, uint64_t watch_id,
                                       uint64_t *out_ticket, struct hearsay_error *out_error);

/* --- over many connections -------------------------------------------------------------------- */

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
