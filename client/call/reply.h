/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reply: decoded responses become the public structs. No I/O.
 */
#ifndef CLIENT_CALL_REPLY_H
#define CLIENT_CALL_REPLY_H

#include "client/hearsay.h"
#include "proto/arena.h"
#include "proto/msg.h"

/* A reply in full. Only calls of libhearsay itself see the part that hearsay_next never returns. */
struct reply {
    struct hearsay_reply shown; /* ticket, and the kinds of hearsay_next; kind 0: one of these: */
    union {
        struct hearsay_page page;
        struct hearsay_summary summary;
        struct hearsay_admin_reply admin;
        struct hearsay_watching watching;
    };
};

/*
 * *out_reply borrows from the arena in which the response was decoded, and allocates more in that
 * arena. 0, HEARSAY_ERR_NOMEM, or HEARSAY_ERR_PROTOCOL when a field that a reply needs is missing.
 */
int reply_translate(const struct msg_response *response, struct arena *arena,
                    struct reply *out_reply, struct hearsay_error *out_error);

/* The same for a Welcome. *out_hosts are its hosts, which the caller may change. */
int reply_translate_welcome(const struct msg_welcome *welcome, struct arena *arena,
                            struct hearsay_welcome *out_welcome, struct hearsay_host **out_hosts,
                            struct hearsay_error *out_error);

/* Copies an epoch. */
void reply_translate_epoch(const struct msg_epoch *from, struct hearsay_epoch *out_epoch);

#endif
