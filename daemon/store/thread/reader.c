/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/thread/reader.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>
#include <uv.h>

#include "core/base/err.h"
#include "daemon/store/error.h"
#include "daemon/store/ops.h"
#include "daemon/store/row.h"
#include "daemon/store/schema.h"
#include "daemon/store/tables.h"

#define NS_PER_MS UINT64_C(1000000)

enum { STACK_BYTES = 64 * 1024 /* what jobs use at most */ };

/* The statements of the reader. */
enum {
    READER_BEGIN,
    READER_TOUCH,
    READER_END,
    READER_FIND,
    READER_PAGE,
    READER_CHECK,
    READER_REASONS,
    READER_STATEMENTS
};
static const char *const reader_texts[READER_STATEMENTS] = {
    [READER_BEGIN] = "BEGIN",
    /* The first row that a transaction reads decides which commits the transaction sees. */
    [READER_TOUCH] = "SELECT one FROM meta",
    [READER_END] = "COMMIT",
    [READER_FIND] = "SELECT * FROM message WHERE seq = ?1",
    [READER_PAGE] = ("SELECT * FROM message WHERE seq > ?1 AND host_id = ?2"
                     " AND NOT EXISTS (SELECT 1 FROM moderation WHERE moderation.seq = message.seq"
                     " AND state >= 2) ORDER BY seq"),
    /*
     * Messages of all hosts. After the columns of the message come its state, its number of reports
     * and its destroy_ms; these are NULL for a message without a row in `moderation`.
     */
    [READER_CHECK] = ("SELECT message.*, state, reports, destroy_ms"
                      " FROM message LEFT JOIN moderation USING (seq)"
                      " WHERE seq > ?1 ORDER BY seq"),
    [READER_REASONS] = "SELECT reasons FROM moderation WHERE seq = ?1",
};
enum { COLUMN_SEQ = 1, COLUMN_STATE = STORE_MESSAGE_PLACES, COLUMN_REPORTS, COLUMN_DESTROY };
_Static_assert(PERSIST_HIDDEN == 2, "READER_PAGE leaves out what is hidden");

struct store_reader {
    struct store_reader_options options;
    sqlite3 *db; /* of the thread, like the statements; NULL: not open */
    sqlite3_stmt *statements[READER_STATEMENTS];
    uint64_t
        forget_due; /* the thread's: uv_hrtime when the cache is freed; 0: the cache is empty */

    uv_thread_t thread;
    uv_mutex_t mutex; /* guards what follows */
    uv_cond_t wake;
    struct persist_read *first;
    struct persist_read *last;
    bool stopping;
};

/* --- the connection --------------------------------------------------------------------------- */

static void reader_disconnect(struct store_reader *reader)
{
    for (int i = 0; i < READER_STATEMENTS; i++) {
        (void)sqlite3_finalize(reader->statements[i]); /* repeats what step said */
        reader->statements[i] = NULL;
    }
    (void)sqlite3_close(reader->db);
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
    for (int i = 0; i < READER_STATEMENTS && rc == SQLITE_OK; i++) {
        rc = sqlite3_prepare_v3(reader->db, reader_texts[i], -1, SQLITE_PREPARE_PERSISTENT,
                                &reader->statements[i], NULL);
    }
    return rc;
}

/* --- jobs ------------------------------------------------------------------------------------- */

static int keep_entry(struct persist_read *read, const struct persist_message *message,
                      struct persist_entry *out_entry)
{
    int rc = store_keep_message(read, message, &out_entry->message);

    out_entry->found = rc == SQLITE_OK;
    return rc;
}

/*
 * Fills an entry without the content of the message: numbers and lengths are set, pointers are
 * NULL.
 */
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
    sqlite3_stmt *statement = reader->statements[READER_REASONS];
    int rc = store_statement_step(statement, STORE_VALUES(STORE_NUMBER(seq)));

    if (rc == SQLITE_ROW) {
        rc = store_keep_reasons(read, statement, 0, out_entry);
    }
    store_statement_reset(statement);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Copies the message of the current row of READER_FIND into its entry. */
static int take_message(struct store_reader *reader, struct persist_read *read,
                        struct persist_entry *entry, size_t *kept)
{
    struct persist_message message;
    int rc = store_row_read(reader->statements[READER_FIND], &message);

    if (rc != SQLITE_OK) {
        return rc;
    }
    size_t bytes = message.media_type_bytes + message.payload_bytes;
    if (read->content_limit != 0 && bytes > read->content_limit - *kept) {
        note_message(&message, entry);
    } else {
        *kept += bytes;
        rc = keep_entry(read, &message, entry);
    }
    if (rc == SQLITE_OK && read->kind == PERSIST_READ_REPORTED) {
        rc = keep_reasons(reader, read, message.seq, entry);
    }
    return rc;
}

/*
 * Reads the message with the number `seq` if it is the message of the entry. *kept: bytes of
 * payloads and media types that the job has copied so far.
 */
static int find_at(struct store_reader *reader, struct persist_read *read,
                   struct persist_entry *entry, int64_t seq, size_t *kept)
{
    sqlite3_stmt *statement = reader->statements[READER_FIND];
    int rc = store_statement_step(statement, STORE_VALUES(STORE_NUMBER(seq)));

    if (rc == SQLITE_ROW && store_row_is_of(statement, &entry->message)) {
        rc = take_message(reader, read, entry, kept);
    }
    store_statement_reset(statement);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* A number that the message of an entry may have. */
struct place {
    size_t entry;
    int64_t seq;
};

struct places {
    struct place *items;
    size_t count;
    size_t room;
};

static bool add_place(struct places *places, size_t entry, int64_t seq)
{
    if (places->count == places->room) {
        size_t room = 2 * places->room + 64;
        struct place *items = realloc(places->items, room * sizeof(*items));

        if (items == NULL) {
            return false;
        }
        places->items = items;
        places->room = room;
    }
    places->items[places->count++] = (struct place){entry, seq};
    return true;
}

/*
 * Begins a read transaction, and finds the numbers of all entries (store_numbers_lock). The caller
 * ends the transaction.
 */
static int begin_reading(struct store_reader *reader, const struct persist_read *read,
                         struct places *places)
{
    struct store_numbers *numbers = reader->options.numbers;
    bool has_memory = true;

    store_numbers_lock(numbers);
    int rc = store_statement_run(reader->statements[READER_BEGIN], STORE_NO_VALUES);
    if (rc == SQLITE_OK) {
        rc = store_statement_step(reader->statements[READER_TOUCH], STORE_NO_VALUES);
        store_statement_reset(reader->statements[READER_TOUCH]);
    }
    for (size_t i = 0; i < read->entry_count && rc == SQLITE_ROW; i++) {
        const struct persist_message *message = &read->entries[i].message;
        int64_t seq = 0;

        while (has_memory &&
               (seq = store_numbers_find(numbers, message->host, message->id, seq)) != 0) {
            has_memory = add_place(places, i, seq);
        }
    }
    store_numbers_unlock(numbers);
    return rc != SQLITE_ROW ? rc : has_memory ? SQLITE_OK : SQLITE_NOMEM;
}

static int read_payloads(struct store_reader *reader, struct persist_read *read)
{
    struct places places = {0};
    size_t kept = 0;

    for (size_t i = 0; i < read->entry_count; i++) {
        read->entries[i].found = read->entries[i].omitted = false;
        read->entries[i].reasons = NULL;
    }
    int rc = begin_reading(reader, read, &places);
    for (size_t i = 0; i < places.count && rc == SQLITE_OK; i++) {
        struct persist_entry *entry = &read->entries[places.items[i].entry];

        if (!entry->found) {
            rc = find_at(reader, read, entry, places.items[i].seq, &kept);
        }
    }
    free(places.items);
    /* After a failure run_read closes the connection, which ends the transaction. */
    return rc == SQLITE_OK ? store_statement_run(reader->statements[READER_END], STORE_NO_VALUES)
                           : rc;
}

/*
 * Copies the current row into the next entry of the page. SQLITE_ROW: the row does not fit into the
 * page.
 */
static int keep_row(struct store_reader *reader, struct persist_read *read, size_t *bytes)
{
    struct persist_message message;
    int rc = store_row_read(reader->statements[READER_PAGE], &message);

    if (rc != SQLITE_OK) {
        return rc;
    }
    *bytes += store_keep_bytes(&message);
    if (read->entry_count > 0 && *bytes > read->page_bytes_limit) {
        return SQLITE_ROW;
    }
    rc = keep_entry(read, &message, &read->entries[read->entry_count]);
    if (rc == SQLITE_OK) {
        read->entry_count++;
        read->page_last = message.seq;
    }
    return rc;
}

/*
 * Copies the current row, without media type and payload, into the next entry of the page. Returns
 * SQLITE_ROW if the page is full.
 */
static int keep_checked(struct store_reader *reader, struct persist_read *read, size_t *bytes)
{
    sqlite3_stmt *statement = reader->statements[READER_CHECK];
    struct persist_entry *entry = &read->entries[read->entry_count];
    struct persist_message message;

    if (*bytes > read->page_bytes_limit) {
        return SQLITE_ROW;
    }
    int rc = store_row_read(statement, &message);
    memset(entry, 0, sizeof(*entry));
    if (rc == SQLITE_OK) {
        struct persist_message lean = message;
        lean.media_type_bytes = lean.payload_bytes = 0;
        *bytes += store_keep_bytes(&message);
        rc = keep_entry(read, &lean, entry);
        entry->message.media_type_bytes = message.media_type_bytes;
        entry->message.payload_bytes = message.payload_bytes;
        entry->message.media_type = NULL;
        entry->message.payload = NULL;
        /* NULL reads as 0 */
        entry->message.state = (enum persist_state)sqlite3_column_int64(statement, COLUMN_STATE);
        entry->message.reports = (uint32_t)sqlite3_column_int64(statement, COLUMN_REPORTS);
        entry->message.destroy_ms = sqlite3_column_int64(statement, COLUMN_DESTROY);
    } else if (rc == SQLITE_CORRUPT) {
        entry->damaged = true;
        store_row_read_key(statement, &entry->message);
        rc = SQLITE_OK;
    }
    entry->message.seq = sqlite3_column_int64(statement, COLUMN_SEQ);
    if (rc == SQLITE_OK) {
        read->page_last = entry->message.seq;
        read->entry_count++;
    }
    return rc;
}

static int read_page(struct store_reader *reader, struct persist_read *read)
{
    bool is_check = read->kind == PERSIST_READ_CHECK;
    sqlite3_stmt *statement = reader->statements[is_check ? READER_CHECK : READER_PAGE];
    size_t room = read->entry_count;
    size_t bytes = 0;
    struct store_value values[] = {STORE_NUMBER(read->page_after), STORE_NUMBER(read->page_host)};
    int rc = store_statement_bind(statement, values, is_check ? 1 : 2);

    read->entry_count = 0;
    read->page_last = read->page_after;
    while (rc == SQLITE_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        if (read->entry_count == room) {
            break;
        }
        rc = is_check ? keep_checked(reader, read, &bytes) : keep_row(reader, read, &bytes);
    }
    store_statement_reset(statement);
    read->page_more = rc == SQLITE_ROW;
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static void run_read(struct store_reader *reader, struct persist_read *read)
{
    bool is_page = read->kind == PERSIST_READ_PAGE || read->kind == PERSIST_READ_CHECK;
    bool is_list = read->kind == PERSIST_READ_LIST;
    int rc = connect_once(reader);

    read->memory = NULL;
    read->failed = false;
    read->reason = NULL;
    if (rc == SQLITE_OK) {
        rc = is_page                                ? read_page(reader, read)
             : is_list                              ? store_list_read(reader->db, read)
             : read->kind == PERSIST_READ_DECISIONS ? store_decision_read(reader->db, read)
             : read->kind == PERSIST_READ_CHANGES
                 ? store_feed_read(reader->db, reader->options.numbers, read)
                 : read_payloads(reader, read);
    }
    if (rc == SQLITE_OK) {
        return;
    }
    read->failed = true;
    read->reason = store_error_reason(rc);
    store_keep_release(read);
    for (size_t i = 0; i < read->entry_count; i++) {
        read->entries[i].found = false;
    }
    if (is_page || is_list) {
        read->entry_count = 0;
    }
    if (read->kind == PERSIST_READ_CHANGES) {
        read->change_count = 0;
    }
    reader_disconnect(reader); /* the next job opens a new connection */
}

/* --- the thread ------------------------------------------------------------------------------- */

/* Frees SQLite's cache, and overwrites the stack, if that is due: both have texts. */
static void forget_texts(struct store_reader *reader)
{
    if (reader->forget_due != 0 && uv_hrtime() >= reader->forget_due) {
        reader->forget_due = 0;
        if (reader->db != NULL) {
            (void)sqlite3_db_release_memory(reader->db);
        }
        sodium_stackzero(STACK_BYTES);
    }
}

/* Waits until there is a job, or the cache is to be freed. The caller holds the mutex. */
static void wait_for_job(struct store_reader *reader)
{
    uint64_t now = uv_hrtime();

    if (reader->forget_due == 0) {
        uv_cond_wait(&reader->wake, &reader->mutex);
    } else if (now < reader->forget_due) {
        (void)uv_cond_timedwait(&reader->wake, &reader->mutex, reader->forget_due - now);
    } else {
        uv_mutex_unlock(&reader->mutex);
        forget_texts(reader);
        uv_mutex_lock(&reader->mutex);
    }
}

static struct persist_read *reader_next_read(struct store_reader *reader)
{
    struct persist_read *read;

    uv_mutex_lock(&reader->mutex);
    while (reader->first == NULL && !reader->stopping) {
        wait_for_job(reader);
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
        if (reader->forget_due == 0) {
            reader->forget_due = uv_hrtime() + NS_PER_MS * reader->options.forget_after_ms;
        }
        forget_texts(reader);
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
