/* SPDX-License-Identifier: Apache-2.0 */
/* reply: converts decoded responses to the public structs. No I/O. */
#ifndef CLIENT_CALL_REPLY_H
#define CLIENT_CALL_REPLY_H

#include "client/hearsay.h"
#include "proto/arena.h"
#include "proto/msg.h"

/* A reply. hearsay_next returns only the field `shown`; the others are for the calls that wait. */
struct reply {
    struct hearsay_response response; /* as it came */
    struct hearsay_reply shown;     /* made from it; kind 0: only hearsay_ask takes the response */
    struct hearsay_summary summary; /* made from it */
};

/*
 * Converts reply->response, which was decoded into the arena, to the other fields of the reply,
 * which borrow from the arena; further structs are allocated in the same arena. If the response is
 * a change of here labels, the caller must set the field `host` afterwards. Returns 0,
 * HEARSAY_ERR_NOMEM, or HEARSAY_ERR_PROTOCOL when a required field is missing or the response is a
 * push that no call returns.
 */
int reply_translate(struct reply *reply, struct arena *arena, struct hearsay_error *out_error);

/*
 * Converts a Welcome to public structs in the way of reply_translate. *out_hosts points to the
 * hosts of *out_welcome, which the caller may change.
 */
int reply_translate_welcome(const struct msg_welcome *welcome, struct arena *arena,
                            struct hearsay_welcome *out_welcome, struct hearsay_host **out_hosts,
                            struct hearsay_error *out_error);

/* Copies an epoch. */
void reply_translate_epoch(const struct hearsay_epoch_info *from, struct hearsay_epoch *out_epoch);

#endif
