/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client: the private contents of a struct hearsay: the protocol state, the socket, and the replies
 * that are kept for hearsay_next. Only for files of libhearsay and its tests.
 */
#pragma once

#include "client/net/conn.h"
#include "client/net/secure.h"

enum {
    CLIENT_COALESCE_BYTES = 32 * 1024,       /* collected requests of this size are sent at once */
    CLIENT_KEPT_BYTES_MAX = 8 * 1024 * 1024, /* memory of the replies kept for hearsay_next */
    CLIENT_EPOCHS_MAX = 64                   /* keys of epochs kept: the newest since the Welcome */
};

/*
 * A reply or push that arrived during a call other than hearsay_next, and is kept for hearsay_next.
 */
struct client_kept {
    struct client_kept *next;
    struct arena arena; /* of the reply */
    struct hearsay_reply reply;
};

/* An epoch, from the Welcome or from a push, with the key that the server gave. */
struct client_epoch {
    size_t host; /* its index in the Welcome */
    struct hearsay_epoch epoch;
};

/* The last push of the notices of a host. */
struct client_notices {
    struct client_notices *next;
    size_t host;        /* its index in the Welcome */
    struct arena arena; /* of the notices */
};

struct hearsay {
    const struct alloc *alloc; /* borrowed */
    struct conn conn;
    int fd;                /* owned; -1: none */
    bool is_connecting;    /* true: the socket is not connected yet; hearsay_connect_continue goes
                            * on with connecting */
    int64_t greet_by_ms;   /* the server must have sent the Welcome by this time, on the clock of
                            * now_monotonic_ms */
    struct secure *secure; /* owned; NULL: no TLS */
    const struct hearsay_tls_info *tls; /* in `secure`; NULL: no TLS */
    int write_errno; /* errno of a failed write; 0: no write has failed. After a failed write the
                      * client still reads, because the server may have sent the reason */
    struct arena welcome_arena;
    struct hearsay_welcome
        welcome;                /* borrows from welcome_arena; its epochs are the current ones */
    struct hearsay_host *hosts; /* the Welcome's, writable */
    struct client_notices *notices; /* owned list */
    bool epoch_changed;             /* of any host, since the Welcome */
    struct client_epoch
        epochs[CLIENT_EPOCHS_MAX]; /* a ring: the i-th is at i % CLIENT_EPOCHS_MAX */
    size_t epoch_count;            /* since the Welcome; may exceed the ring */
    int64_t welcome_at_ms;         /* now_monotonic_ms when the Welcome arrived */
    struct hearsay_asker asker;    /* of hearsay_ask_for: of the next requests; in asker_bytes */
    uint8_t asker_bytes[2][LIMIT_ADDRESS_BYTES];
    struct arena arena;             /* of `reply` */
    struct hearsay_reply reply;     /* the reply that was returned last */
    struct client_kept *kept_first; /* owned list, in order of arrival */
    struct client_kept *kept_last;
    size_t kept_count;
    size_t kept_bytes;
};

/* How to make a client of a connected socket. */
struct client_open {
    const struct alloc *alloc; /* borrowed, must outlive the client */
    int fd;                    /* taken, also on failure */
    bool is_connecting;        /* the socket is not connected yet; only for client_begin */
    bool is_small;             /* as in struct hearsay_connect */
    struct secure *secure;     /* taken, also on failure; NULL: no TLS */
    struct conn_hello hello;   /* borrowed for the call */
    int64_t deadline_ms;       /* of the greetings, on the clock of now_monotonic_ms */
};

/* Makes a client, which has not exchanged greetings yet: see hearsay_connect_continue. Returns 0 or
 * ERR_NOMEM. */
int client_begin(const struct client_open *how, struct hearsay **out_server,
                 struct hearsay_error *out_error);

/* Makes a client and exchanges greetings. Returns an error of hearsay_connect, or 0. */
int client_open(const struct client_open *how, struct hearsay **out_server,
                struct hearsay_error *out_error);

/*
 * Takes a push of the notices of a host: writes them to the host in the Welcome, and keeps what is
 * in `arena`, which they are in; `arena` gets other memory. Returns 0, or the error that broke the
 * connection.
 */
int client_take_notices(struct hearsay *server, struct arena *arena,
                        const struct hearsay_notices_changed *changed, struct hearsay_error *error);
void client_free_notices(struct hearsay *server);

/*
 * Waits until another request may be submitted, and keeps the replies that arrive for hearsay_next.
 * Returns 0; HEARSAY_FULL when these take CLIENT_KEPT_BYTES_MAX; HEARSAY_ERR_TIMEOUT, whose
 * sentence the caller sets; or the error that broke the connection.
 */
int client_await_slot(struct hearsay *server, int64_t deadline_ms, struct hearsay_error *out_error);

/*
 * Waits for the reply to the request with this ticket, and keeps all other replies for
 * hearsay_next. *out_reply is borrowed until the next call on the connection. When the reply is an
 * error, returns HEARSAY_ERR_REFUSED with *out_reply. After the
 * deadline returns HEARSAY_ERR_TIMEOUT, whose sentence the caller sets.
 */
int client_await(struct hearsay *server, uint64_t ticket, int64_t deadline_ms,
                 const struct hearsay_reply **out_reply, struct hearsay_error *out_error);

/*
 * Checks the fields of a query, except those that only the server can check, such as k, and copies
 * it to *out_query with the defaults of the fields that are 0. Returns 0 or ERR_ARGUMENT.
 */
int client_fill_query(const struct hearsay_query *query, struct hearsay_query *out_query,
                      struct hearsay_error *error);

/* --- reply.c: checks and completes decoded responses; no I/O ---------------------------------- */

/*
 * Completes a reply whose response was decoded: checks what the codec does not check, fills in what
 * a sender may leave out, and sets `error`. Returns 0, or HEARSAY_ERR_PROTOCOL when something is
 * missing or the response has a kind that hearsay_next and the other calls do not return.
 */
int reply_complete(struct hearsay_reply *reply, struct hearsay_error *out_error);

/*
 * Converts a decoded Welcome to public structs, which borrow from its arena. *out_hosts points to
 * the hosts of *out_welcome, which the caller may change.
 */
int reply_translate_welcome(const struct msg_welcome *welcome, struct arena *arena,
                            struct hearsay_welcome *out_welcome, struct hearsay_host **out_hosts,
                            struct hearsay_error *out_error);

/* Copies an epoch. */
void reply_translate_epoch(const struct hearsay_epoch_info *from, struct hearsay_epoch *out_epoch);
