/* SPDX-License-Identifier: Apache-2.0 */
/* store_replay: reads all messages at the start, and verifies their checksums. It blocks. */
#pragma once

#include "daemon/store/load.h"
#include "daemon/store/persist.h"

/*
 * Calls `visit` for every message in the order of seq, and verifies the checksum of each message,
 * including the payload, before the call. With a second core, a thread reads ahead (ahead);
 * `visit` is called on the caller's thread. Returns 0; -ERR_DAMAGED, -ERR_STORAGE or -ERR_NOMEM
 * with a sentence in load->reason; or a nonzero result of `visit`, which ends the replay.
 */
int store_replay_messages(const struct store_load *load,
                          int (*visit)(void *context, const struct persist_message *message),
                          void *context);

/* --- ahead ------------------------------------------------------------------------------------ */

/*
 * store_ahead: reads rows of messages on a thread of its own while the caller's thread uses the
 * messages. At the start of the daemon reading and checking a row takes about as long as putting
 * its message into the index, so two cores need little more than half of the time of one.
 *
 * The thread hands over batches of messages in order, and waits while STORE_AHEAD_BATCHES batches
 * are full, so the memory is bounded: about half a MiB. The first batch, and all of them if there
 * is no second core or no thread, is filled and used by the caller's thread.
 */

enum {
    STORE_AHEAD_BATCHES = 4,
    STORE_AHEAD_ROWS = 256,       /* of a batch, at most */
    STORE_AHEAD_BYTES = 64 * 1024 /* of the filters and media types of a batch; a longer row has
                                     a batch of its own */
};

/*
 * The rows that are read ahead. The thread calls `read` for each row. If there is another row,
 * `read` sets *out_message and returns SQLITE_ROW; the pointers in *out_message are valid until the
 * next call. Otherwise `read` returns SQLITE_DONE or a code of an error, and is not called again.
 */
struct store_ahead_source {
    int (*read)(void *context, struct persist_message *out_message);
    void *context;
};

/*
 * Calls `visit` for each message of the source, in order. The messages have no payload. A nonzero
 * result of `visit` ends the calls; *out_code gets it, otherwise 0. Returns the last result code of
 * the source, SQLITE_DONE when all rows were read, or SQLITE_NOMEM. The messages before a row that
 * failed are visited. When the function returns, nothing uses the source. `has_thread` false: reads
 * on the caller's thread.
 */
int store_ahead_visit(const struct store_ahead_source *source, bool has_thread,
                      int (*visit)(void *context, const struct persist_message *message),
                      void *context, int *out_code);
