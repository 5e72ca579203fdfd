/* SPDX-License-Identifier: Apache-2.0 */
/* reply: checks and completes decoded responses. No I/O. */
#pragma once

#include "client/hearsay.h"
#include "proto/arena.h"
#include "proto/msg.h"

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
