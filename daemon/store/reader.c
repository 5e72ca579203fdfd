/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/reader.h"

#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>
#include <uv.h>

#include "core/base/err.h"
#include "daemon/store/error.h"
#include "daemon/store/row.h"
#include "daemon/store/schema.h"

/* NOT INDEXED: rows come in the order of seq. By the index of ids SQLite would have to sort. */
static const char find_text[] =
    "SELECT " STORE_ROW_COLUMNS " FROM message WHERE host_id = ?1 AND id = ?2";
static const char page_text[] =
    "SELECT " STORE_ROW_COLUMNS " FROM message NOT INDEXED"
    " WHERE seq > ?2 AND host_id = ?1"
    " AND NOT EXISTS (SELECT 1 FROM moderation WHERE moderation.seq = message.seq AND state >= 2)"
    " ORDER BY seq";
/* Messages of all hosts. State and reports, if any, are behind the message's own columns. */
static const char check_text[] = "SELECT " STORE_ROW_COLUMNS ", state, reports"
                                 " FROM message LEFT JOIN moderation USING (seq)"
                                 " WHERE seq > ?1 ORDER BY seq";
enum { COLUMN_SEQ = 0, COLUMN_HOST = 1, COLUMN_ID = 2, COLUMN_STATE = 12, COLUMN_REPORTS = 13 };
static const char reasons_text[] = "SELECT reasons FROM moderation WHERE seq = ?1";
_Static_assert(PERSIST_HIDDEN == 2, "page_text leaves out what is hidden");

struct store_reader {
    struct store_reader_options options;
    sqlite3 *db; /* of the thread, like the statements; NULL: not open */
    sqlite3_stmt *find;
    sqlite3_stmt *page;
    sqlite3_stmt *check;
    sqlite3_stmt *reasons;

    uv_thread_t thread;
    uv_mutex_t mutex; /* guards what follows */
    uv_cond_t wake;
    struct persist_read *first;
    struct persist_read *last;
    bool stopping;
};

/* The variable parts of one message; a job's memory is a list of these. */
struct block {
    struct block *next;
    uint8_t bytes[];
};

/* --- the connection --------------------------------------------------------------------------- */

static void reader_disconnect(struct store_reader *reader)
{
    (void)sqlite3_finalize(reader->find); /* repeat what step said */
    (void)sqlite3_finalize(reader->page);
    (void)sqlite3_finalize(reader->check);
    (void)sqlite3_finalize(reader->reasons);
    (void)sqlite3_close(reader->db);
    reader->find = NULL;
    reader->page = NULL;
    reader->check = NULL;
    reader->reasons = NULL;
    reader->db = NULL;
}

static int connect_once(struct store_reader *reader)
{
    int rc = SQLITE_OK;

    if (reader->db != NULL) {
        return SQLITE_OK;
    }
    rc = store_schema_connect(reader->options.path, reader->options.vfs, STORE_USE_READER,
                              &reader->db);
    if (rc == SQLITE_OK) {
        rc = sqlite3_prepare_v3(reader->db, find_text, -1, SQLITE_PREPARE_PERSISTENT, &reader->find,
                                NULL);
    }
    if (rc == SQLITE_OK) {
        rc = sqlite3_prepare_v3(reader->db, page_text, -1, SQLITE_PREPARE_PERSISTENT, &reader->page,
                                NULL);
    }
    if (rc == SQLITE_OK) {
        rc = sqlite3_prepare_v3(reader->db, check_text, -1, SQLITE_PREPARE_PERSISTENT,
                                &reader->check, NULL);
    }
    if (rc == SQLITE_OK) {
        rc = sqlite3_prepare_v3(reader->db, reasons_text, -1, SQLITE_PREPARE_PERSISTENT,
                                &reader->reasons, NULL);
    }
    return rc;
}

static void done_with(sqlite3_stmt *statement)
{
    (void)sqlite3_reset(statement); /* repeats what step said */
    (void)sqlite3_clear_bindings(statement);
}

/* --- jobs ------------------------------------------------------------------------------------- */

static size_t variable_bytes(const struct persist_message *message)
{
    return message->filter_bytes + message->media_type_bytes + message->payload_bytes;
}

/* Copies a message out of SQLite's memory into the job's. */
static int keep_message(struct persist_read *read, const struct persist_message *message,
                        struct persist_entry *out_entry)
{
    /* Lengths are SQLite's, far below SIZE_MAX. */
    struct block *block = malloc(sizeof(*block) + variable_bytes(message));
    uint8_t *end;

    if (block == NULL) {
        return SQLITE_NOMEM;
    }
    block->next = read->memory;
    read->memory = block;
    end = block->bytes;
    memcpy(end, message->filter, message->filter_bytes);
    out_entry->message = *message;
    out_entry->message.filter = end;
    end += message->filter_bytes;
    memcpy(end, message->media_type, message->media_type_bytes);
    out_entry->message.media_type = (const char *)end;
    end += message->media_type_bytes;
    memcpy(end, message->payload, message->payload_bytes);
    out_entry->message.payload = end;
    out_entry->found = true;
    return SQLITE_OK;
}

/* Sets only `found` and the lengths. */
static void note_message(const struct persist_message *message, struct persist_entry *out_entry)
{
    out_entry->message = *message;
    out_entry->message.filter = NULL;
    out_entry->message.media_type = NULL;
    out_entry->message.payload = NULL;
    out_entry->found = true;
    out_entry->omitted = true;
}

/* Reads the reasons of the reports of a message. */
static int keep_reasons(struct store_reader *reader, struct persist_read *read, int64_t seq,
                        struct persist_entry *out_entry)
{
    int rc = sqlite3_bind_int64(reader->reasons, 1, seq);

    if (rc == SQLITE_OK) {
        rc = sqlite3_step(reader->reasons);
    }
    if (rc == SQLITE_ROW && sqlite3_column_bytes(reader->reasons, 0) > 0) {
        const void *text = sqlite3_column_text(reader->reasons, 0);
        size_t bytes = (size_t)sqlite3_column_bytes(reader->reasons, 0);
        struct block *block = text == NULL ? NULL : malloc(sizeof(*block) + bytes);

        if (block == NULL) {
            rc = SQLITE_NOMEM;
        } else {
            block->next = read->memory;
            read->memory = block;
            memcpy(block->bytes, text, bytes);
            out_entry->reasons = (const char *)block->bytes;
            out_entry->reasons_bytes = bytes;
        }
    }
    done_with(reader->reasons);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* *kept: bytes of payloads and media types read so far for all entries. */
static int find_one(struct store_reader *reader, struct persist_read *read,
                    struct persist_entry *entry, size_t *kept)
{
    struct persist_message message;
    int64_t seq;
    int rc = sqlite3_bind_int64(reader->find, 1, entry->message.host);

    if (rc == SQLITE_OK) {
        rc = sqlite3_bind_blob(reader->find, 2, entry->message.id, MESSAGE_ID_BYTES, SQLITE_STATIC);
    }
    if (rc == SQLITE_OK) {
        rc = sqlite3_step(reader->find);
    }
    if (rc == SQLITE_ROW) {
        rc = store_row_read(reader->find, &seq, &message);
        if (rc == SQLITE_OK) {
            size_t bytes = message.media_type_bytes + message.payload_bytes;

            if (read->content_limit != 0 && bytes > read->content_limit - *kept) {
                note_message(&message, entry);
            } else {
                *kept += bytes;
                rc = keep_message(read, &message, entry);
            }
            if (rc == SQLITE_OK && read->kind == PERSIST_READ_REPORTED) {
                rc = keep_reasons(reader, read, seq, entry);
            }
        }
    } else if (rc == SQLITE_DONE) {
        rc = SQLITE_OK;
    }
    done_with(reader->find);
    return rc;
}

static int read_payloads(struct store_reader *reader, struct persist_read *read)
{
    size_t kept = 0;
    int rc = SQLITE_OK;

    for (size_t i = 0; i < read->entry_count; i++) {
        read->entries[i].found = read->entries[i].omitted = false;
        read->entries[i].reasons = NULL;
    }
    for (size_t i = 0; i < read->entry_count && rc == SQLITE_OK; i++) {
        rc = find_one(reader, read, &read->entries[i], &kept);
    }
    return rc;
}

/* Puts rows into the page until it is full; SQLITE_ROW: there are more. */
static int fill_page(struct store_reader *reader, struct persist_read *read, size_t room)
{
    struct persist_message message;
    size_t bytes = 0;
    int64_t seq;
    int rc;

    while ((rc = sqlite3_step(reader->page)) == SQLITE_ROW) {
        if (read->entry_count == room) {
            return SQLITE_ROW;
        }
        rc = store_row_read(reader->page, &seq, &message);
        if (rc != SQLITE_OK) {
            return rc;
        }
        bytes += variable_bytes(&message);
        if (read->entry_count > 0 && bytes > read->page_bytes_limit) {
            return SQLITE_ROW;
        }
        rc = keep_message(read, &message, &read->entries[read->entry_count]);
        if (rc != SQLITE_OK) {
            return rc;
        }
        read->entry_count++;
        read->page_last = seq;
    }
    return rc;
}

static int read_page(struct store_reader *reader, struct persist_read *read)
{
    size_t room = read->entry_count;
    int rc = sqlite3_bind_int64(reader->page, 1, read->page_host);

    read->entry_count = 0;
    read->page_last = read->page_after;
    read->page_more = false;
    if (rc == SQLITE_OK) {
        rc = sqlite3_bind_int64(reader->page, 2, read->page_after);
    }
    if (rc == SQLITE_OK) {
        rc = fill_page(reader, read, room);
    }
    done_with(reader->page);
    read->page_more = rc == SQLITE_ROW;
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Fills the entry of a damaged row. */
static void note_damage(sqlite3_stmt *statement, struct persist_entry *out_entry)
{
    int64_t host = sqlite3_column_int64(statement, COLUMN_HOST);
    const void *id = sqlite3_column_blob(statement, COLUMN_ID);

    out_entry->damaged = true;
    out_entry->message.host = host >= 0 && host <= UINT32_MAX ? (uint32_t)host : UINT32_MAX;
    if (id != NULL && sqlite3_column_bytes(statement, COLUMN_ID) == MESSAGE_ID_BYTES) {
        memcpy(out_entry->message.id, id, MESSAGE_ID_BYTES);
    }
}

/* Copies the numbers and the filter of a row into the next entry. */
static int keep_checked(struct store_reader *reader, struct persist_read *read, size_t *bytes)
{
    struct persist_entry *entry = &read->entries[read->entry_count];
    struct persist_message message;
    int64_t seq = sqlite3_column_int64(reader->check, COLUMN_SEQ);
    int rc = store_row_read(reader->check, &seq, &message);

    memset(entry, 0, sizeof(*entry));
    if (rc == SQLITE_OK) {
        struct persist_message lean = message;
        lean.media_type_bytes = lean.payload_bytes = 0;
        *bytes += variable_bytes(&message);
        rc = keep_message(read, &lean, entry);
        entry->message.media_type_bytes = message.media_type_bytes;
        entry->message.payload_bytes = message.payload_bytes;
        entry->message.media_type = NULL;
        entry->message.payload = NULL;
        /* NULL reads as 0 */
        entry->message.state =
            (enum persist_state)sqlite3_column_int64(reader->check, COLUMN_STATE);
        entry->message.reports = (uint32_t)sqlite3_column_int64(reader->check, COLUMN_REPORTS);
    } else if (rc == SQLITE_CORRUPT) {
        note_damage(reader->check, entry);
        rc = SQLITE_OK;
    }
    entry->message.seq = seq;
    if (rc == SQLITE_OK) {
        read->page_last = seq;
        read->entry_count++;
    }
    return rc;
}

static int read_checked(struct store_reader *reader, struct persist_read *read)
{
    size_t room = read->entry_count;
    size_t bytes = 0;
    int rc = sqlite3_bind_int64(reader->check, 1, read->page_after);

    read->entry_count = 0;
    read->page_last = read->page_after;
    while (rc == SQLITE_OK && (rc = sqlite3_step(reader->check)) == SQLITE_ROW) {
        if (read->entry_count == room || bytes > read->page_bytes_limit) {
            break;
        }
        rc = keep_checked(reader, read, &bytes);
    }
    done_with(reader->check);
    read->page_more = rc == SQLITE_ROW;
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int read_by_kind(struct store_reader *reader, struct persist_read *read)
{
    switch (read->kind) {
    case PERSIST_READ_PAGE:
        return read_page(reader, read);
    case PERSIST_READ_CHECK:
        return read_checked(reader, read);
    default:
        return read_payloads(reader, read);
    }
}

static void run_read(struct store_reader *reader, struct persist_read *read)
{
    int rc = connect_once(reader);

    read->memory = NULL;
    read->failed = false;
    read->reason = NULL;
    if (rc == SQLITE_OK) {
        rc = read_by_kind(reader, read);
    }
    if (rc == SQLITE_OK) {
        return;
    }
    read->failed = true;
    read->reason = store_error_reason(rc);
    store_reader_release(read);
    for (size_t i = 0; i < read->entry_count; i++) {
        read->entries[i].found = false;
    }
    if (read->kind == PERSIST_READ_PAGE || read->kind == PERSIST_READ_CHECK) {
        read->entry_count = 0;
    }
    reader_disconnect(reader); /* the next job opens a new connection */
}

void store_reader_release(struct persist_read *read)
{
    struct block *block = read->memory;

    while (block != NULL) {
        struct block *next = block->next;

        free(block);
        block = next;
    }
    read->memory = NULL;
}

/* --- the thread ------------------------------------------------------------------------------- */

static struct persist_read *reader_next_read(struct store_reader *reader)
{
    struct persist_read *read;

    uv_mutex_lock(&reader->mutex);
    while (reader->first == NULL && !reader->stopping) {
        uv_cond_wait(&reader->wake, &reader->mutex);
    }
    read = reader->first;
    if (read != NULL) {
        reader->first = read->next;
    }
    if (reader->first == NULL) {
        reader->last = NULL;
    }
    uv_mutex_unlock(&reader->mutex);
    return read;
}

static void run_thread(void *argument)
{
    struct store_reader *reader = argument;
    struct persist_read *read;

    while ((read = reader_next_read(reader)) != NULL) {
        read->next = NULL;
        run_read(reader, read);
        reader->options.done(reader->options.context, read);
    }
    reader_disconnect(reader);
    reader->options.ended(reader->options.context);
}

/* --- from outside ----------------------------------------------------------------------------- */

int store_reader_new(const struct store_reader_options *options, struct store_reader **out_reader)
{
    struct store_reader *reader = calloc(1, sizeof(*reader));

    if (reader == NULL) {
        return -ERR_NOMEM;
    }
    reader->options = *options;
    if (uv_mutex_init(&reader->mutex) != 0) {
        goto free_reader;
    }
    if (uv_cond_init(&reader->wake) != 0) {
        goto destroy_mutex;
    }
    if (uv_thread_create(&reader->thread, run_thread, reader) != 0) {
        goto destroy_cond;
    }
    *out_reader = reader;
    return 0;

destroy_cond:
    uv_cond_destroy(&reader->wake);
destroy_mutex:
    uv_mutex_destroy(&reader->mutex);
free_reader:
    free(reader);
    return -ERR_SYSTEM;
}

void store_reader_submit(struct store_reader *reader, struct persist_read *read)
{
    read->next = NULL;
    uv_mutex_lock(&reader->mutex);
    if (reader->last != NULL) {
        reader->last->next = read;
    } else {
        reader->first = read;
    }
    reader->last = read;
    uv_cond_signal(&reader->wake);
    uv_mutex_unlock(&reader->mutex);
}

void store_reader_stop(struct store_reader *reader)
{
    uv_mutex_lock(&reader->mutex);
    reader->stopping = true;
    uv_cond_signal(&reader->wake);
    uv_mutex_unlock(&reader->mutex);
}

void store_reader_free(struct store_reader *reader)
{
    if (reader == NULL) {
        return;
    }
    (void)uv_thread_join(&reader->thread);
    uv_cond_destroy(&reader->wake);
    uv_mutex_destroy(&reader->mutex);
    free(reader);
}
