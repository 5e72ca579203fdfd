/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client: the inside of a struct hearsay: a conn, a socket, and the replies that somebody else is
 * waiting for. Within libhearsay and its tests only.
 */
#ifndef CLIENT_CALL_CLIENT_H
#define CLIENT_CALL_CLIENT_H

#include "client/hearsay.h"
#include "client/net/conn.h"
#include "client/net/secure.h"

#include <stdint.h>

enum {
    CLIENT_COALESCE_BYTES = 32 * 1024,       /* sent at once, while other requests are under way */
    CLIENT_KEPT_BYTES_MAX = 8 * 1024 * 1024, /* of replies kept for hearsay_next */
    CLIENT_EPOCHS_MAX = 64                   /* keys that came since the Welcome, the newest */
};

/* A reply that came while another was waited for. */
struct client_kept {
    struct client_kept *next;
    struct arena arena;
    struct hearsay_reply reply;
};

/* An epoch that began while the connection was there, and whose key was given. */
struct client_epoch {
    size_t host; /* its place in the Welcome */
    struct hearsay_epoch epoch;
};

struct hearsay {
    const struct alloc *alloc; /* borrowed */
    struct conn conn;
    int fd;                             /* owned; -1: none */
    struct secure *secure;              /* owned; NULL: nothing is encrypted */
    const struct hearsay_tls_info *tls; /* in `secure`; NULL: nothing is encrypted */
    int write_errno; /* not 0: the socket takes no more; what it sends is still read */
    struct arena welcome_arena;
    struct hearsay_welcome welcome; /* borrows from welcome_arena; epochs as they are now */
    struct hearsay_host *hosts;     /* the Welcome's */
    bool epoch_changed;             /* of any host, since the Welcome */
    struct client_epoch epochs[CLIENT_EPOCHS_MAX]; /* place i % MAX for the i-th that came */
    size_t epoch_count;                            /* that came */
    int64_t welcome_at_ms;                         /* now_monotonic_ms as it came */
    struct arena arena;                            /* of the reply that was returned last */
    struct hearsay_reply reply;                    /* that one */
    struct client_kept *kept_first;                /* owned, in order of arrival */
    struct client_kept *kept_last;
    size_t kept_count;
    size_t kept_bytes;
};

/*
 * As hearsay_connect, on a socket that is connected already, encrypted with `secure` unless that is
 * NULL (both are taken, also on failure), with an allocator (borrowed, must outlive it) and a
 * deadline by now_monotonic_ms.
 */
int client_open(const struct alloc *alloc, int fd, struct secure *secure, const char *agent,
                int64_t deadline_ms, struct hearsay **out_server, struct hearsay_error *out_error);

/* The same, showing a resume token (borrowed for the call; NULL: none). */
struct client_resume {
    const uint8_t *token;
    size_t token_bytes;
};
int client_open_resuming(const struct alloc *alloc, int fd, struct secure *secure,
                         const char *agent, const struct client_resume *resume, int64_t deadline_ms,
                         struct hearsay **out_server, struct hearsay_error *out_error);

/*
 * Submits; see hearsay_submit_*. What was borrowed from the connection stays valid only until here.
 */
int client_submit(struct hearsay *server, struct msg_request *request, uint64_t *out_ticket,
                  struct hearsay_error *out_error);

/* Waits for the reply of that ticket and keeps all others. *out_reply is borrowed. */
int client_await(struct hearsay *server, uint64_t ticket, int timeout_ms,
                 const struct hearsay_reply **out_reply, struct hearsay_error *out_error);

#endif
