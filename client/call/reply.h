/* SPDX-License-Identifier: Apache-2.0 */
/* reply: converts decoded responses to the public structs. No I/O. */
#ifndef CLIENT_CALL_REPLY_H
#define CLIENT_CALL_REPLY_H

#include "client/hearsay.h"
#include "proto/arena.h"
#include "proto/msg.h"

/*
 * A reply. hearsay_next returns only the field `shown`; the union is for the other calls of
 * libhearsay.
 */
struct reply {
    struct hearsay_reply shown; /* kind 0: the reply is a field of the union below */
    union {
        struct hearsay_page page;
        struct hearsay_summary summary;
        struct hearsay_admin_reply admin;
    };
};

/*
 * Converts a decoded response to public structs. *out_reply borrows from the arena of the decoded
 * response; further structs are allocated in the same arena. If the response is a change of here
 * labels, the caller must set the field `host` afterwards. Returns 0, HEARSAY_ERR_NOMEM, or
 * HEARSAY_ERR_PROTOCOL when a required field is missing or the response has a kind that
 * hearsay_next and the other calls do not return.
 */
int reply_translate(const struct hearsay_response *response, struct arena *arena,
                    struct reply *out_reply, struct hearsay_error *out_error);

/*
 * Converts a Welcome to public structs in the way of reply_translate. *out_hosts points to the
 * hosts of *out_welcome, which the caller may change.
 */
int reply_translate_welcome(const struct msg_welcome *welcome, struct arena *arena,
                            struct hearsay_welcome *out_welcome, struct hearsay_host **out_hosts,
                            struct hearsay_error *out_error);

/* Makes an array of the notices in the arena. Their texts are borrowed. Returns 0 or
 * HEARSAY_ERR_NOMEM. */
int reply_translate_notices(const struct hearsay_house_notice *from, size_t count,
                            struct arena *arena, const struct hearsay_notice **out,
                            struct hearsay_error *out_error);

/* Copies an epoch. */
void reply_translate_epoch(const struct hearsay_epoch_info *from, struct hearsay_epoch *out_epoch);

#endif
