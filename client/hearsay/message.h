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

/* A message to leave. */
struct hearsay_deposit {
    const char *host;                    /* NULL: the default one */
    uint64_t epoch;                      /* its number; 0: the open epoch */
    const struct hearsay_filter *filter; /* required */
    const char *media_type;              /* NULL: text/plain */
    const void *payload;                 /* NULL only with payload_bytes 0 */
    size_t payload_bytes;
    uint32_t ttl_s;       /* lifetime; 0: the server's default */
    uint32_t reach;       /* millionths; queries at a larger distance do not find it */
    const uint8_t *id;    /* HEARSAY_ID_BYTES; NULL: random */
    const uint8_t *token; /* HEARSAY_TOKEN_BYTES; NULL: random */
    /*
     * HEARSAY_HASH_BYTES bytes: the hash (hearsay_hash) of the withdraw token, for a program that
     * does not know the token; NULL: the hash is computed from `token`
     */
    const uint8_t *withdraw_hash;
    bool no_withdrawal; /* nobody can withdraw it; token and hash are ignored */
};

/* Sets the defaults: all fields 0 or NULL, except reach HEARSAY_DISTANCE_ONE. */
HEARSAY_API void hearsay_deposit_init(struct hearsay_deposit *deposit);

/*
 * The data that a depositor needs later: the id to get the message, the id and the token to
 * withdraw the message.
 */
struct hearsay_receipt {
    uint8_t id[HEARSAY_ID_BYTES];
    uint8_t token[HEARSAY_TOKEN_BYTES]; /* zeros unless has_token */
    bool has_token;                     /* false with withdraw_hash or no_withdrawal */
};

/* The server's answer. */
struct hearsay_deposited {
    int64_t deposited_ms;
    int64_t expires_ms;
    bool duplicate; /* the same message was there already */
    bool durable;   /* true: the message survives a power failure; false: it survives only a crash
                     * of the daemon */
    bool held;      /* hidden until the operator has reviewed it */
    bool without_here; /* the filter lacks here labels (hearsay_context_add_here), of access points
                        * all if there are no others; said of the open epoch only, and without
                        * meaning if labels are keyed for a group */
};

/* --- queries ---------------------------------------------------------------------------------- */

enum hearsay_metric {
    HEARSAY_METRIC_DEFAULT = 0, /* phi */
    HEARSAY_METRIC_BITS = 1,    /* Jaccard distance of the filters' bits */
    /* 1 - the phi coefficient, the correlation of the filters over the sections in which the query
     * has bits. */
    HEARSAY_METRIC_PHI = 3
};

enum hearsay_order {
    HEARSAY_ORDER_SIMILARITY = 1, /* nearest first; then newer, then smaller id */
    HEARSAY_ORDER_TIME = 2,       /* the same messages, newest first; then smaller id */
    HEARSAY_ORDER_NEWEST = 3      /* the k newest within max_distance, in the order of TIME */
};

/* One filter to search with. */
struct hearsay_part {
    uint64_t epoch;                      /* its number; 0: the open epoch */
    const struct hearsay_filter *filter; /* required */
    const struct hearsay_filter
        *contains; /* find only messages that have all its bits; NULL: any */
};

/*
 * A Bloom filter of message ids, in the form of the protocol. hearsay_seen_exclude makes such
 * filters.
 */
struct hearsay_slice {
    const uint8_t *bits;
    size_t byte_count; /* at least 1 */
    uint32_t hashes;   /* 1 .. 32 */
    uint64_t seed;
};

/*
 * A query for the k nearest messages. The distance of a message is its distance to the nearest part
 * of the query that finds the message.
 */
struct hearsay_query {
    const char *host;                 /* NULL: the default one */
    const struct hearsay_part *parts; /* part_count of them, at least 1 */
    size_t part_count;
    uint32_t k;            /* 1 .. limits.k_max */
    uint32_t max_distance; /* millionths, inclusive; by the metric */
    int64_t since_ms;      /* deposited at or after this moment; INT64_MIN: any */
    int64_t until_ms;      /* deposited before this moment; INT64_MAX: any */
    enum hearsay_metric metric;
    enum hearsay_order order;
    bool with_payload;
    const struct hearsay_slice *exclude; /* exclude_count of them, at most 32: ids to leave out */
    size_t exclude_count;
    /* Also ask the other hosts of the hood of `host`, in the open epoch. Without the capability
     * "hood" of the server the call returns ERR_ARGUMENT. Not for a watch. */
    bool hood;
    /* Of a hood: how long the server waits for hosts of other servers, 1 .. 10,000 ms; 0: 1,000. */
    uint32_t wait_ms;
    /* For a hood: if the server has heard nothing of another server's host for longer than this, it
     * asks the host, whatever it knows of its messages. UINT64_MAX: no bound. With 0 it asks all
     * hosts, so that not even a message of the last second is missing. */
    uint64_t max_staleness_ms;
};

/*
 * Sets the default values: no parts, the 10 nearest messages, of any time and at any distance
 * (HEARSAY_DISTANCE_ONE), by phi, the nearest first, with their payloads, and no bound on staleness
 * (UINT64_MAX).
 */
HEARSAY_API void hearsay_query_init(struct hearsay_query *query);

struct hearsay_result {
    uint8_t id[HEARSAY_ID_BYTES];
    uint64_t epoch;
    uint32_t intersection_count; /* bits set in both filters */
    uint32_t union_count;        /* bits set in at least one */
    uint32_t distance;           /* millionths, rounded up; by the metric of the query */
    int64_t deposited_ms;
    int64_t expires_ms;
    const char *media_type; /* NULL without payload */
    const uint8_t *payload; /* NULL without payload; not NULL for an empty one */
    size_t payload_bytes;
    bool payload_omitted; /* the payload did not fit into the frame: use hearsay_get */
    const char *host;     /* the host that has the message; NULL unless the query was of a hood */
};

struct hearsay_results {
    const struct hearsay_result *results; /* result_count of them */
    size_t result_count;
    uint64_t comparisons; /* filters that the server compared with the query */
    bool exact;           /* the result is proven to be the k nearest */
    bool capped;          /* the limit on one sender's share left messages out */
    const struct hearsay_house_notice
        *notices; /* the operator's: notice_count of them, oldest first */
    size_t notice_count;
    /* No host is missing: the bridge is there, all hosts that `peers` counts have been looked at,
     * and none of them, nor the host itself, is getting messages back or is a copy. `capped` does
     * not count here. */
    bool complete;
    uint32_t peers;        /* this and all below: of a hood only, else 0. Other hosts with the same
                            * profile */
    uint32_t peers_asked;  /* of these: 0 if the query has no part in the open epoch */
    uint32_t peers_silent; /* of these: how many gave no answer, though they might have a message */
    uint32_t peers_other;  /* other hosts of the hood with another profile, which were not asked */
    /* the moment for which the answer is right at hosts that were not asked, by the server's clock
     */
    int64_t as_of_ms;
    uint32_t peers_skipped; /* of `peers`: how many the server's bridge never asks, because it has
                             * no room for more; the answer is not `complete` if there are any */
    bool bridge_away; /* no bridge serves the hood at the server: hosts of other servers were not
                       * asked, `peers` does not count them, and the answer is not `complete` */
};

struct hearsay_message {
    uint8_t id[HEARSAY_ID_BYTES];
    uint64_t epoch;
    int64_t deposited_ms;
    int64_t expires_ms;
    const char *media_type; /* never NULL */
    const uint8_t *payload; /* never NULL */
    size_t payload_bytes;
};

/* --- other answers ---------------------------------------------------------------------------- */

struct hearsay_pong {
    int64_t now_ms; /* the server's clock */
    bool clock_trusted;
};

/* The labels of the access point's own surroundings. */
struct hearsay_here {
    const char *const *labels; /* label_count of them; never NULL */
    size_t label_count;
};

/* A push: the here labels of a host have changed. */
struct hearsay_here_changed {
    size_t host;               /* its index in the hosts of the Welcome */
    const char *const *labels; /* all labels now, label_count of them; never NULL */
    size_t label_count;
};

/* What the messages of a host have in common. */
struct hearsay_summary {
    struct hearsay_filter union_filter; /* bits set in any message's filter */
    uint32_t cardinality_min;           /* fewest set bits of one message; 0 without messages */
    uint32_t cardinality_max;           /* most set bits of one message */
    uint64_t count;                     /* messages */
};

/* --- one request at a time -------------------------------------------------------------------- */

/*
 * Each call of this section sends a request and waits for its reply. ERR_REFUSED means that the
 * server refused the request. *out_results, *out_message and *out_here are borrowed from the
 * connection until the next call on the connection. `host` NULL is the default host.
 *
 * While a call waits, matches and replies to requests of the next section may arrive. The library
 * keeps them for hearsay_next. If they take more than 8 MiB, or in the cases of the next section,
 * the call returns HEARSAY_FULL and sends nothing.
 *
 * After ERR_TIMEOUT the connection is still usable, and the late reply is dropped. After
 * ERR_TIMEOUT or ERR_LOST the server may or may not have stored a deposit. Repeat the deposit with
 * the id and token of the receipt: the server stores it only once. The receipt is filled, except
 * after ERR_ARGUMENT and HEARSAY_FULL.
 *
 * All calls may return ERR_ARGUMENT, ERR_NOMEM, ERR_TIMEOUT, ERR_LOST, ERR_PROTOCOL, ERR_REFUSED
 * and ERR_SYSTEM; with TLS also ERR_TRUST.
 */
HEARSAY_API int hearsay_deposit(struct hearsay *server, const struct hearsay_deposit *deposit,
                                int timeout_ms, struct hearsay_receipt *out_receipt,
                                struct hearsay_deposited *out_deposited,
                                struct hearsay_error *out_error);
HEARSAY_API int hearsay_query(struct hearsay *server, const struct hearsay_query *query,
                              int timeout_ms, const struct hearsay_results **out_results,
                              struct hearsay_error *out_error);
/*
 * Gets a message by its id of HEARSAY_ID_BYTES bytes. If there is no such message: ERR_REFUSED with
 * HEARSAY_CODE_NOT_FOUND; if the operator has removed the message: with HEARSAY_CODE_REMOVED.
 */
HEARSAY_API int hearsay_get(struct hearsay *server, const char *host, const uint8_t *id,
                            int timeout_ms, const struct hearsay_message **out_message,
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
                                struct hearsay_summary *out_summary,
                                struct hearsay_error *out_error);
/* The labels now; there may be none. */
HEARSAY_API int hearsay_here(struct hearsay *server, const char *host, int timeout_ms,
                             const struct hearsay_here **out_here, struct hearsay_error *out_error);

/* --- many requests at a time ------------------------------------------------------------------ */

/* The answer to a watch (hearsay/watch.h). */
struct hearsay_watching {
    uint64_t watch_id;
    uint64_t seq; /* of the newest message when the watch began */
};

/* A message that fits a watch. */
struct hearsay_match {
    uint64_t watch_id;
    /*
     * sequence number of the match: larger than the numbers of earlier matches of this watch.
     * Numbers may be left out. A number has a meaning in its store only (store_id)
     */
    uint64_t seq;
    struct hearsay_result result;
};

enum hearsay_reply_kind {
    HEARSAY_REPLY_ERROR = 1, /* of one request; the connection is still usable */
    HEARSAY_REPLY_DEPOSITED,
    HEARSAY_REPLY_RESULTS,
    HEARSAY_REPLY_MESSAGE,
    HEARSAY_REPLY_WITHDRAWN, /* has no fields */
    HEARSAY_REPLY_PONG,
    HEARSAY_REPLY_HERE,
    HEARSAY_REPLY_MATCH,    /* answers no request: its ticket is 0 */
    HEARSAY_REPLY_REPORTED, /* has no fields */
    HEARSAY_REPLY_WATCHING,
    HEARSAY_REPLY_UNWATCHED,    /* has no fields */
    HEARSAY_REPLY_HERE_CHANGED, /* answers no request: its ticket is 0 */
    HEARSAY_REPLY_CHANGED,
    HEARSAY_REPLY_APPLIED
};

struct hearsay_reply {
    uint64_t ticket; /* of the request */
    enum hearsay_reply_kind kind;
    union {
        struct hearsay_error error; /* status is HEARSAY_ERR_REFUSED */
        struct hearsay_deposited deposited;
        struct hearsay_results results;
        struct hearsay_message message;
        struct hearsay_pong pong;
        struct hearsay_here here;
        struct hearsay_match match;
        struct hearsay_watching watching;
        struct hearsay_here_changed here_changed;
        struct hearsay_changed changed;
        struct hearsay_applied applied;
    };
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
 *
 * out_receipt may be NULL, for example if the caller has set id and token.
 */
HEARSAY_API int hearsay_submit_deposit(struct hearsay *server,
                                       const struct hearsay_deposit *deposit,
                                       struct hearsay_receipt *out_receipt, uint64_t *out_ticket,
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
 * a reply of the kind HEARSAY_REPLY_ERROR. Other results:
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
 * After this call, hearsay_next returns HEARSAY_REPLY_HERE_CHANGED when the here labels of a host
 * change for this client, and waits for changes even if no request is in flight. A gateway without
 * on_behalf gets a reply when the here labels of any place change; the gateway should then ask for
 * the labels of its clients with hearsay_ask_for and hearsay_submit_here.
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
