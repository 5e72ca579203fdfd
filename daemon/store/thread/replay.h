/* SPDX-License-Identifier: Apache-2.0 */
/* store_replay: reads all messages at the start, and verifies their checksums. It blocks. */
#ifndef DAEMON_STORE_THREAD_REPLAY_H
#define DAEMON_STORE_THREAD_REPLAY_H

#include "daemon/store/load.h"

/*
 * Calls `visit` for every message in the order of seq, and verifies the checksum of each message,
 * including the payload, before the call. With a second core, a thread reads ahead (ahead.h);
 * `visit` is called on the caller's thread. Returns 0; -ERR_DAMAGED, -ERR_STORAGE or -ERR_NOMEM
 * with a sentence in load->reason; or a nonzero result of `visit`, which ends the replay.
 */
int store_replay_messages(const struct store_load *load,
                          int (*visit)(void *context, const struct persist_message *message),
                          void *context);

#endif
