/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/thread/reader.h"

#include <string.h>

#include "daemon/store/row.h"
#include "daemon/store/tables.h"

/*
 * The messages of a host with their reasons. A removed message has a destroy_ms. A message without
 * a row in `moderation` has neither.
 */
#define LIST_SELECT                                                           \
    "SELECT message.*, reasons FROM message LEFT JOIN moderation USING (seq)" \
    " WHERE host_id = ?2 AND expires_ms > ?3 AND coalesce(destroy_ms, 0) = 0"

enum { COLUMN_REASONS = STORE_MESSAGE_PLACES };

static const char older_text[] = LIST_SELECT " AND seq < ?1 ORDER BY seq DESC";
static const char newer_text[] = LIST_SELECT " AND seq > ?1 ORDER BY seq";

/*
 * Copies the current row into the next entry of the page. SQLITE_ROW: the row does not fit into the
 * page.
 */
static int keep_listed(struct persist_read *read, sqlite3_stmt *statement, size_t *bytes)
{
    struct persist_entry *entry = &read->entries[read->entry_count];
    struct persist_message message;
    int rc = store_row_read(statement, &message);

    if (rc != SQLITE_OK) {
        return rc;
    }
    message.filter_bytes = read->page_filters ? message.filter_bytes : 0;
    *bytes += store_keep_bytes(&message) + (size_t)sqlite3_column_bytes(statement, COLUMN_REASONS);
    if (read->entry_count > 0 && *bytes > read->page_bytes_limit) {
        return SQLITE_ROW;
    }
    memset(entry, 0, sizeof(*entry));
    rc = store_keep_message(read, &message, &entry->message);
    if (rc == SQLITE_OK) {
        rc = store_keep_reasons(read, statement, COLUMN_REASONS, entry);
    }
    if (rc == SQLITE_OK) {
        entry->found = true;
        read->entry_count++;
        read->page_last = message.seq;
    }
    return rc;
}

int store_list_read(sqlite3 *db, struct persist_read *read)
{
    sqlite3_stmt *statement;
    size_t room = read->entry_count;
    size_t bytes = 0;
    int rc = store_query(db, read->page_newer ? newer_text : older_text,
                         STORE_VALUES(STORE_NUMBER(read->page_after), STORE_NUMBER(read->page_host),
                                      STORE_NUMBER(read->page_now_ms)),
                         &statement);

    read->entry_count = 0;
    read->page_last = read->page_after;
    while (rc == SQLITE_ROW && read->entry_count < room) {
        rc = keep_listed(read, statement, &bytes);
        if (rc != SQLITE_OK) {
            break; /* SQLITE_ROW: the page is full */
        }
        rc = sqlite3_step(statement);
    }
    read->page_more = rc == SQLITE_ROW;
    (void)sqlite3_finalize(statement); /* repeats what step said */
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}
