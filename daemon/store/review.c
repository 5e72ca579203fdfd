/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/ops.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "daemon/store/tables.h"
#include "proto/msg.h"

int store_review_find(struct store_database *database, int64_t seq, struct store_review *out_row)
{
    *out_row = (struct store_review){.seq = seq, .state = PERSIST_SHOWN};
    if (database->state.moderated == 0) {
        return SQLITE_OK;
    }
    int rc = store_table_find(database->statements[STORE_MODERATION_FIND], &store_moderation_table,
                              out_row);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int store_review_put(struct store_database *database, const struct store_review *row)
{
    /* A row that replaces another row is counted, too: `moderated` is an upper bound. */
    database->state.moderated++;
    database->state.changed = true;
    return store_table_put(database->statements[STORE_MODERATION_PUT], &store_moderation_table,
                           row);
}

int store_review_begin(struct store_database *database, const struct persist_message *message)
{
    struct store_review row = {
        .seq = message->seq, .state = message->state, .reports = message->reports};

    return store_review_put(database, &row);
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
    return line[0] == '0' + HEARSAY_REPORT_ILLEGAL || line[0] == '0' + HEARSAY_REPORT_ABOUT_ME;
}

uint32_t store_review_count_grave(const char *reasons, size_t bytes)
{
    uint32_t grave = 0;

    for (size_t i = 0; i < bytes; i++) {
        grave += (i == 0 || reasons[i - 1] == '\n') && reason_is_grave(&reasons[i]);
    }
    return grave;
}

uint32_t store_review_texts_bytes(const char *reasons, size_t bytes)
{
    size_t texts = bytes;

    for (size_t i = 0; i < bytes; i++) {
        texts -= reasons[i] == '\n' ? 2 : 0; /* each line has a kind and an end */
    }
    return (uint32_t)texts;
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
    assert(row->reasons_bytes + bytes + 1 <= STORE_REASONS_BYTES_MAX);
    memcpy(row->reasons + row->reasons_bytes, words, bytes);
    row->reasons_bytes += bytes;
    row->reasons[row->reasons_bytes++] = '\n';
}

int store_review_change(struct store_database *database, const struct persist_message *message,
                        struct store_review *row)
{
    int rc = store_database_take_change(database, message->host, store_database_is_told(message),
                                        &row->change_seq);

    return rc == SQLITE_OK ? store_review_put(database, row) : rc;
}

int store_review_number(struct store_database *database, uint32_t host)
{
    struct persist_message message = {.host = host};
    struct store_review row;
    struct store_walk walk;
    int rc = store_walk_begin(&walk, database->db, &store_moderation_table,
                              "+change_seq IS NULL AND +destroy_ms = 0 AND EXISTS"
                              " (SELECT 1 FROM message WHERE message.seq = moderation.seq"
                              " AND host_id = %" PRIu32 " AND epoch = 0 AND answers IS NULL)",
                              host);

    while (rc == SQLITE_OK && (rc = store_walk_next(&walk, &row)) == SQLITE_ROW) {
        rc = store_review_change(database, &message, &row);
    }
    return store_walk_end(&walk, rc);
}
