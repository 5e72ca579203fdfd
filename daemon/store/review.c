/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/review.h"

#include <assert.h>
#include <string.h>

#include "daemon/store/checksum.h"
#include "proto/msg.h"

static int64_t row_checksum(int64_t seq, const struct store_review *row, const char *reasons)
{
    return store_moderation_checksum(seq, row->state, row->reports, row->destroy_ms,
                                     row->removed_ms, row->change_seq, reasons, row->reasons_bytes);
}

/* Reads the current row, and verifies its checksum. Returns an SQLite result code. */
static int read_row(sqlite3_stmt *statement, int64_t seq, struct store_review *out_row)
{
    const char *reasons = (const char *)sqlite3_column_text(statement, 4);
    size_t bytes = (size_t)sqlite3_column_bytes(statement, 4);

    if (reasons == NULL) {
        return SQLITE_NOMEM;
    }
    out_row->state = (enum persist_state)sqlite3_column_int64(statement, 0);
    out_row->reports = (uint32_t)sqlite3_column_int64(statement, 1);
    out_row->destroy_ms = sqlite3_column_int64(statement, 2);
    out_row->removed_ms = sqlite3_column_int64(statement, 3);
    out_row->change_seq = sqlite3_column_int64(statement, 6); /* NULL reads as 0 */
    out_row->reasons_bytes = bytes;
    if (bytes > sizeof(out_row->reasons) ||
        sqlite3_column_int64(statement, 5) != row_checksum(seq, out_row, reasons)) {
        return SQLITE_CORRUPT;
    }
    memcpy(out_row->reasons, reasons, bytes);
    return SQLITE_OK;
}

int store_review_find(struct store_database *database, int64_t seq, struct store_review *out_row)
{
    sqlite3_stmt *statement = database->statements[STORE_MODERATION_FIND];

    *out_row = (struct store_review){.state = PERSIST_SHOWN};
    if (database->state.moderated == 0) {
        return SQLITE_OK;
    }
    int rc = store_statement_step(statement, STORE_VALUES(STORE_NUMBER(seq)));
    if (rc == SQLITE_ROW) {
        rc = read_row(statement, seq, out_row);
    }
    store_statement_reset(statement);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int store_review_put(struct store_database *database, int64_t seq, const struct store_review *row)
{
    /* A row that replaces another row is counted, too: `moderated` is an upper bound. */
    database->state.moderated++;
    database->state.changed = true;
    return store_statement_run(
        database->statements[STORE_MODERATION_PUT],
        STORE_VALUES(STORE_NUMBER(seq), STORE_NUMBER(row->state), STORE_NUMBER(row->reports),
                     STORE_NUMBER(row->destroy_ms), STORE_NUMBER(row->removed_ms),
                     STORE_TEXT(row->reasons, row->reasons_bytes),
                     STORE_NUMBER(row_checksum(seq, row, row->reasons)),
                     STORE_NUMBER_OR_NULL(row->change_seq)));
}

int store_review_begin(struct store_database *database, int64_t seq,
                       const struct persist_message *message)
{
    struct store_review row = {.state = message->state, .reports = message->reports};

    return store_review_put(database, seq, &row);
}

int store_review_state(struct store_database *database, int64_t seq, enum persist_state *out_state,
                       uint32_t *out_reports)
{
    struct store_review row;
    int rc = store_review_find(database, seq, &row);

    if (rc == SQLITE_OK) {
        *out_state = row.state;
        *out_reports = row.reports;
    }
    return rc;
}

static bool reason_is_grave(const char *line)
{
    return line[0] == '0' + MSG_REPORT_ILLEGAL || line[0] == '0' + MSG_REPORT_ABOUT_ME;
}

uint32_t store_review_count_grave(const char *reasons, size_t bytes)
{
    uint32_t grave = 0;

    for (size_t i = 0; i < bytes; i++) {
        grave += (i == 0 || reasons[i - 1] == '\n') && reason_is_grave(&reasons[i]);
    }
    return grave;
}

/*
 * Deletes the oldest grave reason if `is_grave` is true, and the oldest reason that is not grave if
 * `is_grave` is false. The row must have such a reason.
 */
static void drop_reason(struct store_review *row, bool is_grave)
{
    char *line = row->reasons;

    while (reason_is_grave(line) != is_grave) {
        line = (char *)memchr(line, '\n', row->reasons_bytes) + 1;
    }
    size_t bytes = (size_t)((char *)memchr(line, '\n', row->reasons_bytes) + 1 - line);
    size_t behind = row->reasons_bytes - (size_t)(line - row->reasons) - bytes;
    memmove(line, line + bytes, behind);
    row->reasons_bytes -= bytes;
}

void store_review_add_reason(struct store_review *row, const char *words, size_t bytes)
{
    size_t lines = 0;

    if (bytes == 0 || bytes > PERSIST_WORDS_BYTES_MAX) {
        return;
    }
    for (size_t i = 0; i < row->reasons_bytes; i++) {
        lines += row->reasons[i] == '\n';
    }
    size_t grave =
        store_review_count_grave(row->reasons, row->reasons_bytes) + reason_is_grave(words);
    if (lines >= PERSIST_REASONS_KEPT) {
        drop_reason(row, grave > PERSIST_REASONS_GRAVE);
    }
    assert(row->reasons_bytes + bytes + 1 <= sizeof(row->reasons));
    memcpy(row->reasons + row->reasons_bytes, words, bytes);
    row->reasons_bytes += bytes;
    row->reasons[row->reasons_bytes++] = '\n';
}

int store_review_change(struct store_database *database, const struct persist_message *message,
                        int64_t seq, struct store_review *row)
{
    int rc = store_database_take_change(database, message->host, message->epoch, &row->change_seq);

    return rc == SQLITE_OK ? store_review_put(database, seq, row) : rc;
}

int store_review_number(struct store_database *database, uint32_t host)
{
    int rc = SQLITE_OK;
    int64_t seq = 0;

    while (rc == SQLITE_OK) {
        struct persist_message message = {.host = host};
        struct store_review row;

        rc = store_query_number(
            database->db,
            "SELECT coalesce(min(seq), 0) FROM moderation JOIN message USING (seq) WHERE seq > ?1"
            " AND host_id = ?2 AND epoch = 0 AND change_seq IS NULL AND destroy_ms = 0",
            STORE_VALUES(STORE_NUMBER(seq), STORE_NUMBER(host)), &seq);
        if (rc != SQLITE_OK || seq == 0) {
            return rc;
        }
        rc = store_review_find(database, seq, &row);
        if (rc == SQLITE_OK) {
            rc = store_review_change(database, &message, seq, &row);
        } else if (rc == SQLITE_CORRUPT) {
            rc = SQLITE_OK; /* the row stays as it is */
        }
    }
    return rc;
}
