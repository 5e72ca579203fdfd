/* SPDX-License-Identifier: Apache-2.0 */
/* store_feed: reads the changes of a host (persist_change), for the reader's thread. */
#ifndef DAEMON_STORE_THREAD_FEED_H
#define DAEMON_STORE_THREAD_FEED_H

#include <sqlite3.h>

#include "daemon/store/numbers.h"
#include "daemon/store/persist.h"

/* Carries out PERSIST_READ_CHANGES. Returns an SQLite result code. */
int store_feed_read(sqlite3 *db, struct store_numbers *numbers, struct persist_read *read);

#endif
