/* SPDX-License-Identifier: Apache-2.0 */
/* reply_feed: converts the answer to Changes to public structs; as reply.h. */
#ifndef CLIENT_CALL_REPLY_FEED_H
#define CLIENT_CALL_REPLY_FEED_H

#include "client/hearsay.h"
#include "proto/arena.h"
#include "proto/msg.h"

int reply_translate_changed(const struct msg_changed *from, struct arena *arena,
                            struct hearsay_changed *to, struct hearsay_error *error);

#endif
