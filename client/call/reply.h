/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reply: decoded responses as the public structs. No I/O.
 */
#ifndef CLIENT_CALL_REPLY_H
#define CLIENT_CALL_REPLY_H

#include "client/hearsay.h"
#include "proto/arena.h"
#include "proto/msg.h"

/*
 * *out_reply borrows from the arena, in which the response was decoded and from which it takes
 * more. 0, HEARSAY_ERR_NOMEM, or HEARSAY_ERR_PROTOCOL when a field that a reply needs is missing.
 */
int reply_translate(const struct msg_response *response, struct arena *arena,
                    struct hearsay_reply *out_reply, struct hearsay_error *out_error);

/* The same for a Welcome. *out_hosts are its hosts, for their owner to change. */
int reply_translate_welcome(const struct msg_welcome *welcome, struct arena *arena,
                            struct hearsay_welcome *out_welcome, struct hearsay_host **out_hosts,
                            struct hearsay_error *out_error);

/* An epoch as it is told of; copied. */
void reply_translate_epoch(const struct msg_epoch *from, struct hearsay_epoch *out_epoch);

/* The same for what an administrator is answered. */
int reply_translate_admin(const struct msg_response *response, struct arena *arena,
                          struct hearsay_admin_reply *out_reply, struct hearsay_error *out_error);

#endif
