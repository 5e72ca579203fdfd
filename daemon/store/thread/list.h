/* SPDX-License-Identifier: Apache-2.0 */
/* store_list: reads a page of all messages of a host for its operator, for the reader's thread. */
#ifndef DAEMON_STORE_THREAD_LIST_H
#define DAEMON_STORE_THREAD_LIST_H

#include <sqlite3.h>

#include "daemon/store/persist.h"

/*
 * Carries out PERSIST_READ_LIST. The table is read from page_after on, in the order of its key, so
 * that a page costs as much at the end of a large board as at its beginning. Messages of other
 * hosts that lie between are read and skipped, because the table has no index by host. Returns an
 * SQLite result code.
 */
int store_list_read(sqlite3 *db, struct persist_read *read);

#endif
