/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/thread/reader.h"

#include <string.h>

#include "daemon/store/row.h"
#include "daemon/store/tables.h"

/*
 * Five sources have the changes of a host, each in the order of its numbers. A message whose change
 * has a number of its own (change_seq) is in the second source, and not in the first. A message
 * that the operator removed and that is not yet destroyed (destroy_ms) is in none: its tombstone
 * is. No source has reasons of reports. A row of SOURCE_EVICTED has several changes
 * (store_evictions), whose numbers may have changes of other sources between them.
 *
 * The id of an evicted message may be stored again, or may have a tombstone. If the new message or
 * the tombstone lasts at least as long as the evicted message would have, the eviction is left out,
 * because nobody needs it any more. If it ends earlier, the eviction is told: a reader that reads
 * on only after that end would otherwise keep the evicted message. A reader that gets both takes
 * the later one, because the new message or the tombstone has a greater number.
 */
#define STATE_COLUMNS ", coalesce(state, 0), coalesce(reports, 0)"
enum { SOURCE_MESSAGES, SOURCE_REVIEWS, SOURCE_TOMBSTONES, SOURCE_EVICTED, SOURCE_RULES, SOURCES };
static const char *const source_texts[SOURCES] = {
    [SOURCE_MESSAGES] =
        ("SELECT message.*" STATE_COLUMNS ", seq"
         " FROM message LEFT JOIN moderation USING (seq) WHERE seq > ?1 AND host_id = ?2"
         " AND epoch = 0 AND answers IS NULL AND change_seq IS NULL AND coalesce(destroy_ms, 0) = "
         "0 ORDER BY seq"),
    [SOURCE_REVIEWS] =
        ("SELECT message.*" STATE_COLUMNS ", change_seq"
         " FROM moderation CROSS JOIN message USING (seq) WHERE change_seq > ?1 AND host_id = ?2"
         " AND epoch = 0 AND answers IS NULL AND destroy_ms = 0 ORDER BY change_seq"),
    [SOURCE_TOMBSTONES] = ("SELECT * FROM tombstone WHERE seq > ?1 AND host_id = ?2 ORDER BY seq"),
    [SOURCE_EVICTED] = ("SELECT * FROM evicted WHERE seq > ?1 AND host_id = ?2 ORDER BY seq"),
    [SOURCE_RULES] = ("SELECT * FROM rule WHERE seq > ?1 AND host_id = ?2 ORDER BY seq"),
};
enum {
    COLUMN_STATE = STORE_MESSAGE_PLACES,
    COLUMN_REPORTS,
    COLUMN_CHANGE,
    COLUMN_TOMBSTONE_SEQ = 4,
    COLUMN_RULE_SEQ = 7
};

struct source {
    sqlite3_stmt *statement;
    int64_t seq; /* of the current change; INT64_MAX: none is left */
};

/* A read of changes. */
struct feed {
    sqlite3 *db;
    struct store_numbers *numbers;
    struct persist_read *read;
    struct source sources[SOURCES];
    struct store_evictions evictions; /* the current row of SOURCE_EVICTED */
    uint32_t next_eviction;           /* of the row: the first one that is not read yet */
    sqlite3_stmt *tombstone;          /* finds a tombstone by its id */
    sqlite3_stmt *noted; /* finds the decision of a copy that was taken note of; NULL: none was */
};

/* Reads the row of evictions that `statement` has stepped to. Returns the number of the first
 * change behind page_after in *out_seq. */
static int open_evictions(struct feed *feed, sqlite3_stmt *statement, int64_t *out_seq)
{
    int rc = store_row_read_evicted(statement, &feed->evictions);

    if (rc != SQLITE_OK) {
        return rc;
    }
    for (uint32_t i = 0; i < feed->evictions.count; i++) {
        if (feed->evictions.messages[i].seq > feed->read->page_after) {
            feed->next_eviction = i;
            *out_seq = feed->evictions.messages[i].seq;
            return SQLITE_OK;
        }
    }
    return SQLITE_CORRUPT; /* the row has the number of its last change */
}

/* Takes the number of the row that a source has stepped to. `rc`: the result of the step. */
static int note_row(struct feed *feed, int which, int rc)
{
    static const int columns[SOURCES] = {COLUMN_CHANGE, COLUMN_CHANGE, COLUMN_TOMBSTONE_SEQ, 0,
                                         COLUMN_RULE_SEQ};
    struct source *source = &feed->sources[which];

    source->seq = INT64_MAX;
    if (rc != SQLITE_ROW) {
        return rc == SQLITE_DONE ? SQLITE_OK : rc;
    }
    if (which == SOURCE_EVICTED) {
        return open_evictions(feed, source->statement, &source->seq);
    }
    source->seq = sqlite3_column_int64(source->statement, columns[which]);
    return SQLITE_OK;
}

/* Goes to the next change of a source. */
static int next_change(struct feed *feed, int which)
{
    struct source *source = &feed->sources[which];

    if (which == SOURCE_EVICTED && ++feed->next_eviction < feed->evictions.count) {
        source->seq = feed->evictions.messages[feed->next_eviction].seq;
        return SQLITE_OK;
    }
    return note_row(feed, which, sqlite3_step(source->statement));
}

static int open_sources(struct feed *feed)
{
    const struct persist_read *read = feed->read;
    int rc = SQLITE_OK;

    for (int i = 0; i < SOURCES && rc == SQLITE_OK; i++) {
        rc =
            store_query(feed->db, source_texts[i],
                        STORE_VALUES(STORE_NUMBER(read->page_after), STORE_NUMBER(read->page_host)),
                        &feed->sources[i].statement);
        rc = note_row(feed, i, rc);
    }
    return rc;
}

static int read_message(sqlite3_stmt *statement, struct persist_message *out_message)
{
    int rc = store_row_read(statement, out_message);

    out_message->state = (enum persist_state)sqlite3_column_int64(statement, COLUMN_STATE);
    out_message->reports = (uint32_t)sqlite3_column_int64(statement, COLUMN_REPORTS);
    return rc;
}

static int read_gone(sqlite3_stmt *statement, struct persist_change *out_change)
{
    struct store_tombstone tombstone;
    int rc = store_table_read(statement, &store_tombstone_table, &tombstone);

    if (rc == SQLITE_OK) {
        out_change->message.host = tombstone.host;
        memcpy(out_change->message.id, tombstone.id, MESSAGE_ID_BYTES);
        out_change->message.expires_ms = tombstone.expires_ms;
        out_change->why = tombstone.why;
    }
    return rc;
}

static void read_eviction(const struct feed *feed, struct persist_change *out_change)
{
    const struct store_eviction *eviction = &feed->evictions.messages[feed->next_eviction];

    out_change->message.host = feed->evictions.host;
    memcpy(out_change->message.id, eviction->id, MESSAGE_ID_BYTES);
    out_change->message.expires_ms = eviction->expires_ms;
    out_change->why = PERSIST_WHY_EVICTED;
}

/* Reads the current change of a source. Pointers are SQLite's. */
static int read_change(const struct feed *feed, int which, struct persist_change *out_change)
{
    const struct source *source = &feed->sources[which];

    *out_change = (struct persist_change){.seq = source->seq, .kind = PERSIST_CHANGE_GONE};
    switch (which) {
    case SOURCE_MESSAGES:
    case SOURCE_REVIEWS:
        out_change->kind = PERSIST_CHANGE_MESSAGE;
        return read_message(source->statement, &out_change->message);
    case SOURCE_TOMBSTONES:
        return read_gone(source->statement, out_change);
    case SOURCE_EVICTED:
        read_eviction(feed, out_change);
        return SQLITE_OK;
    default:
        out_change->kind = PERSIST_CHANGE_RULE;
        return store_table_read(source->statement, &store_rule_table, &out_change->rule);
    }
}

/* Whether a message of the host, in epoch 0, is stored with this id, and lasts as long. */
static int is_stored(const struct feed *feed, const struct persist_message *message,
                     bool *out_is_stored)
{
    struct store_numbers *numbers = feed->numbers;
    int64_t seq = 0;
    int rc = SQLITE_OK;

    *out_is_stored = false;
    while (rc == SQLITE_OK && !*out_is_stored) {
        int64_t same = 0;

        store_numbers_lock(numbers);
        seq = store_numbers_find(numbers, message->host, message->id, seq);
        store_numbers_unlock(numbers);
        if (seq == 0) {
            break;
        }
        rc = store_query_number(feed->db,
                                "SELECT count(*) FROM message"
                                " WHERE seq = ?1 AND id = ?2 AND epoch = 0 AND expires_ms >= ?3",
                                STORE_VALUES(STORE_NUMBER(seq),
                                             STORE_BLOB(message->id, MESSAGE_ID_BYTES),
                                             STORE_NUMBER(message->expires_ms)),
                                &same);
        *out_is_stored = same > 0;
    }
    return rc;
}

/* Whether the id has a tombstone that lasts as long. */
static int has_tombstone(struct feed *feed, const struct persist_message *message, bool *out_has)
{
    int rc = SQLITE_OK;

    if (feed->tombstone == NULL) {
        rc = sqlite3_prepare_v2(feed->db,
                                "SELECT 1 FROM tombstone"
                                " WHERE host_id = ?1 AND id = ?2 AND expires_ms >= ?3",
                                -1, &feed->tombstone, NULL);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = store_statement_step(feed->tombstone,
                              STORE_VALUES(STORE_KEY(message), STORE_NUMBER(message->expires_ms)));
    store_statement_reset(feed->tombstone);
    *out_has = rc == SQLITE_ROW;
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Whether the eviction is left out: another change says what has become of its id. */
static int is_left_out(struct feed *feed, const struct persist_message *message, bool *out_is)
{
    int rc = has_tombstone(feed, message, out_is);

    return rc == SQLITE_OK && !*out_is ? is_stored(feed, message, out_is) : rc;
}

/* Names the last decision of a copy that was taken note of, if the change has one. */
static int name_decision(const struct feed *feed, struct persist_change *change)
{
    bool is_rule = change->kind == PERSIST_CHANGE_RULE;
    struct store_copy noted = {.host = feed->read->page_host,
                               .kind = is_rule ? (uint32_t)change->rule.kind : 0,
                               .value = is_rule ? change->rule.value : change->message.id,
                               .value_bytes =
                                   is_rule ? change->rule.value_bytes : (size_t)MESSAGE_ID_BYTES};

    if (feed->noted == NULL || change->kind == PERSIST_CHANGE_GONE) {
        return SQLITE_OK;
    }
    int rc = store_table_find(feed->noted, &store_copy_table, &noted);
    if (rc == SQLITE_ROW) {
        change->decision_id = noted.id;
    }
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Copies what the change points to into the job's memory. */
static int keep_content(struct persist_read *read, struct persist_change *change)
{
    uint8_t *value;

    if (change->kind == PERSIST_CHANGE_MESSAGE) {
        return store_keep_message(read, &change->message, &change->message);
    }
    if (change->kind == PERSIST_CHANGE_GONE) {
        return SQLITE_OK;
    }
    value = store_keep_block(read, change->rule.value_bytes);
    if (value == NULL) {
        return SQLITE_NOMEM;
    }
    memcpy(value, change->rule.value, change->rule.value_bytes);
    change->rule.value = value;
    return SQLITE_OK;
}

/* Returns the source whose current change has the smallest number. */
static int first_source(const struct source *sources)
{
    int which = 0;

    for (int i = 1; i < SOURCES; i++) {
        which = sources[i].seq < sources[which].seq ? i : which;
    }
    return which;
}

/*
 * Copies changes, always the one with the smallest number, until the places or the bytes are used
 * up.
 */
static int read_changes(struct feed *feed)
{
    struct persist_read *read = feed->read;
    size_t room = read->change_count;
    size_t bytes = 0;
    int rc = SQLITE_OK;

    read->change_count = 0;
    read->page_last = read->page_after;
    while (rc == SQLITE_OK) {
        struct persist_change *change = &read->changes[read->change_count];
        int which = first_source(feed->sources);
        bool is_out = false;

        read->page_more = feed->sources[which].seq != INT64_MAX;
        if (!read->page_more || read->change_count == room) {
            break;
        }
        rc = read_change(feed, which, change);
        if (rc == SQLITE_OK && which == SOURCE_EVICTED) {
            rc = is_left_out(feed, &change->message, &is_out);
        }
        rc = rc == SQLITE_OK ? name_decision(feed, change) : rc;
        bytes += store_keep_bytes(&change->message) + change->rule.value_bytes;
        if (rc != SQLITE_OK || (read->change_count > 0 && bytes > read->page_bytes_limit)) {
            break;
        }
        rc = keep_content(read, change);
        if (rc == SQLITE_OK) {
            read->page_last = change->seq;
            read->change_count += is_out ? 0 : 1;
            rc = next_change(feed, which);
        }
    }
    return rc;
}

/* --- decisions that wait for the owner -------------------------------------------------------- */

/* The message that the decision is about, as it is now. SQLITE_DONE: it is stored no more.
 * *out_statement has its content, and is the caller's. */
static int find_message(const struct feed *feed, const struct store_copy *copy,
                        struct persist_message *out_message, sqlite3_stmt **out_statement)
{
    int64_t seq = 0;
    int rc = SQLITE_DONE;

    while (rc == SQLITE_DONE) {
        store_numbers_lock(feed->numbers);
        seq = store_numbers_find(feed->numbers, copy->host, copy->value, seq);
        store_numbers_unlock(feed->numbers);
        if (seq == 0) {
            return SQLITE_DONE;
        }
        (void)sqlite3_finalize(*out_statement);
        rc = store_query(feed->db,
                         "SELECT message.*" STATE_COLUMNS ", seq"
                         " FROM message LEFT JOIN moderation USING (seq)"
                         " WHERE seq = ?1 AND id = ?2 AND epoch = 0",
                         STORE_VALUES(STORE_NUMBER(seq), STORE_BLOB(copy->value, MESSAGE_ID_BYTES)),
                         out_statement);
    }
    if (rc == SQLITE_ROW) {
        int read = read_message(*out_statement, out_message);
        rc = read == SQLITE_OK ? rc : read;
    }
    return rc;
}

/* Reads what was decided. SQLITE_DONE: what it is about is no more. */
static int read_waiting(const struct feed *feed, const struct store_copy *copy,
                        struct persist_change *out_change, sqlite3_stmt **out_statement)
{
    *out_change = (struct persist_change){
        .seq = (int64_t)copy->id.number, .decision_id = copy->id, .kind = PERSIST_CHANGE_GONE};
    if (copy->kind != 0) {
        out_change->kind = PERSIST_CHANGE_RULE;
        int rc = store_query(feed->db,
                             "SELECT * FROM rule WHERE host_id = ?1 AND kind = ?2 AND value = ?3",
                             STORE_VALUES(STORE_NUMBER(copy->host), STORE_NUMBER(copy->kind),
                                          STORE_BLOB(copy->value, copy->value_bytes)),
                             out_statement);
        int read = rc == SQLITE_ROW
                       ? store_table_read(*out_statement, &store_rule_table, &out_change->rule)
                       : rc;
        return read == SQLITE_OK ? rc : read;
    }
    if (copy->state != STORE_COPY_REMOVED) {
        out_change->kind = PERSIST_CHANGE_MESSAGE;
        return find_message(feed, copy, &out_change->message, out_statement);
    }
    out_change->message.host = copy->host;
    memcpy(out_change->message.id, copy->value, MESSAGE_ID_BYTES);
    out_change->message.expires_ms = copy->until_ms;
    out_change->why = PERSIST_WHY_REMOVED;
    return SQLITE_ROW;
}

/* Copies one decision, if there is room for it. */
static int take_waiting(const struct feed *feed, const struct store_copy *copy, size_t room,
                        size_t *bytes)
{
    struct persist_read *read = feed->read;
    struct persist_change *change = &read->changes[read->change_count];
    sqlite3_stmt *statement = NULL;

    if (read->change_count == room) {
        read->page_more = true;
        return SQLITE_OK;
    }
    int rc = read_waiting(feed, copy, change, &statement);
    if (rc == SQLITE_ROW) {
        *bytes += store_keep_bytes(&change->message) + change->rule.value_bytes;
        read->page_more = read->change_count > 0 && *bytes > read->page_bytes_limit;
        rc = read->page_more ? SQLITE_OK : keep_content(read, change);
        read->change_count += rc == SQLITE_OK && !read->page_more;
    }
    (void)sqlite3_finalize(statement); /* repeats what step said */
    read->page_last = read->page_more ? read->page_last : (int64_t)copy->id.number;
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* The decisions of the host that wait: counts all of them, and copies those behind page_after.
 * There are few at a time, so that the table needs no index by number. */
static int read_all_waiting(struct feed *feed)
{
    struct persist_read *read = feed->read;
    size_t room = read->change_count;
    size_t bytes = 0;
    sqlite3_stmt *statement;
    int rc = store_query(feed->db,
                         "SELECT * FROM copy_decision"
                         " WHERE host_id = ?1 AND waits ORDER BY number",
                         STORE_VALUES(STORE_NUMBER(read->page_host)), &statement);

    read->change_count = 0;
    read->page_last = read->page_after;
    read->page_more = false;
    read->waiting = 0;
    read->waiting_since_ms = 0;
    while (rc == SQLITE_ROW) {
        struct store_copy copy;

        rc = store_table_read(statement, &store_copy_table, &copy);
        if (rc != SQLITE_OK) {
            break;
        }
        read->waiting++;
        if (read->waiting_since_ms == 0 || copy.id.time_ms < read->waiting_since_ms) {
            read->waiting_since_ms = copy.id.time_ms;
        }
        if ((int64_t)copy.id.number > read->page_after && !read->page_more) {
            rc = take_waiting(feed, &copy, room, &bytes);
        }
        rc = rc == SQLITE_OK ? sqlite3_step(statement) : rc;
    }
    (void)sqlite3_finalize(statement); /* repeats what step said */
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* --- the read --------------------------------------------------------------------------------- */

/* Prepares the search for decisions of copies, if the host has taken note of any. */
static int prepare_noted(struct feed *feed)
{
    int64_t count = 0;
    int rc = store_query_number(
        feed->db, "SELECT EXISTS (SELECT 1 FROM copy_decision WHERE host_id = ?1 AND NOT waits)",
        STORE_VALUES(STORE_NUMBER(feed->read->page_host)), &count);

    return rc != SQLITE_OK || count == 0
               ? rc
               : sqlite3_prepare_v2(
                     feed->db,
                     "SELECT * FROM copy_decision"
                     " WHERE host_id = ?1 AND kind = ?2 AND value = ?3 AND NOT waits",
                     -1, &feed->noted, NULL);
}

int store_feed_read(sqlite3 *db, struct store_numbers *numbers, struct persist_read *read)
{
    struct feed feed = {.db = db, .numbers = numbers, .read = read};
    /* All sources see the same commits. Otherwise a page could leave a change out. */
    int rc = store_exec(db, "BEGIN");

    if (rc == SQLITE_OK && read->only_waiting) {
        rc = read_all_waiting(&feed);
    } else if (rc == SQLITE_OK) {
        rc = prepare_noted(&feed);
        rc = rc == SQLITE_OK ? open_sources(&feed) : rc;
        rc = rc == SQLITE_OK ? read_changes(&feed) : rc;
    }
    for (int i = 0; i < SOURCES; i++) {
        (void)sqlite3_finalize(feed.sources[i].statement); /* repeats what step said */
    }
    (void)sqlite3_finalize(feed.tombstone); /* repeats what step said */
    (void)sqlite3_finalize(feed.noted);     /* the same */
    /* After a failure the reader closes the connection, which ends the transaction. */
    return rc == SQLITE_OK ? store_exec(db, "COMMIT") : rc;
}
