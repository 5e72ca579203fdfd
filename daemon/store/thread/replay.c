/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/thread/replay.h"

#include <stdio.h>

#include <uv.h>

#include "daemon/store/error.h"
#include "daemon/store/ops.h"
#include "daemon/store/row.h"
#include "daemon/store/statement.h"

static int refuse_row(const struct store_load *load, int rc, int64_t seq)
{
    char detail[64];

    (void)snprintf(detail, sizeof(detail), "the message with seq %lld is not as it was written",
                   (long long)seq);
    return store_error_refuse(load->path, rc, detail, load->reason);
}

/*
 * The rows of `message` and of `moderation`, each in the order of seq. Few messages have a row in
 * `moderation`, so reading both tables in step takes less than a search there for each message.
 */
struct replay {
    sqlite3_stmt *message;
    sqlite3_stmt *moderation;
    int moderation_rc;   /* SQLITE_ROW: `moderation` is at a row that was not used yet */
    int64_t answers;     /* how many of the messages are answers */
    int64_t damaged_seq; /* of the row that is not as it was written; 0: none */
};

/* Adds what `moderation` has of the message. */
static int read_moderation(struct replay *replay, struct persist_message *message)
{
    sqlite3_stmt *row = replay->moderation;

    while (replay->moderation_rc == SQLITE_ROW && sqlite3_column_int64(row, 0) < message->seq) {
        replay->moderation_rc = sqlite3_step(row);
    }
    if (replay->moderation_rc == SQLITE_ROW && sqlite3_column_int64(row, 0) == message->seq) {
        /* store_check, which ran before, has verified the rows of `moderation`. */
        message->state = (enum persist_state)sqlite3_column_int64(row, 1);
        message->reports = (uint32_t)sqlite3_column_int64(row, 2);
        message->destroy_ms = sqlite3_column_int64(row, 3);
        message->removed_ms = sqlite3_column_int64(row, 4);
        const char *reasons = (const char *)sqlite3_column_text(row, 5);
        size_t bytes = (size_t)sqlite3_column_bytes(row, 5);
        message->grave = store_review_count_grave(reasons, bytes);
        message->texts_bytes = store_review_texts_bytes(reasons, bytes);
    }
    return replay->moderation_rc == SQLITE_ROW || replay->moderation_rc == SQLITE_DONE
               ? SQLITE_ROW
               : replay->moderation_rc;
}

static int replay_read(void *context, struct persist_message *out_message)
{
    struct replay *replay = context;
    int rc = sqlite3_step(replay->message);

    if (rc != SQLITE_ROW) {
        return rc;
    }
    rc = store_row_read(replay->message, out_message);
    if (rc != SQLITE_OK) {
        replay->damaged_seq = sqlite3_column_int64(replay->message, 1);
        return rc;
    }
    replay->answers += out_message->is_answer;
    return read_moderation(replay, out_message);
}

static int open_replay(sqlite3 *db, struct replay *out_replay)
{
    int rc = sqlite3_prepare_v2(db, "SELECT * FROM message ORDER BY seq", -1, &out_replay->message,
                                NULL);

    if (rc == SQLITE_OK) {
        out_replay->moderation_rc =
            store_query(db,
                        "SELECT seq, state, reports, destroy_ms, removed_ms, reasons"
                        " FROM moderation ORDER BY seq",
                        STORE_NO_VALUES, &out_replay->moderation);
    }
    return rc;
}

/* Whether the index of answers has as many as the table. Returns 0 or a negative error. */
static int check_answers(const struct store_load *load, const struct replay *replay)
{
    int64_t indexed = 0;
    int rc = store_query_number(load->db,
                                "SELECT count(*) FROM message INDEXED BY message_by_answers"
                                " WHERE answers IS NOT NULL",
                                STORE_NO_VALUES, &indexed);

    if (rc == SQLITE_OK && indexed == replay->answers) {
        return 0;
    }
    return rc == SQLITE_OK
               ? store_error_refuse(load->path, SQLITE_CORRUPT,
                                    "the index of answers has not the answers of the table",
                                    load->reason)
               : store_error_refuse(load->path, rc, sqlite3_errmsg(load->db), load->reason);
}

int store_replay_messages(const struct store_load *load,
                          int (*visit)(void *context, const struct persist_message *message),
                          void *context)
{
    struct replay replay = {.moderation_rc = SQLITE_DONE};
    struct store_ahead_source source = {replay_read, &replay};
    int code = 0;
    int rc = open_replay(load->db, &replay);

    if (rc == SQLITE_OK) {
        rc = store_ahead_visit(&source, uv_available_parallelism() > 1, visit, context, &code);
    }
    if (code == 0 && rc != SQLITE_DONE) {
        code = replay.damaged_seq != 0
                   ? refuse_row(load, rc, replay.damaged_seq)
                   : store_error_refuse(load->path, rc, sqlite3_errmsg(load->db), load->reason);
    }
    code = code == 0 ? check_answers(load, &replay) : code;
    (void)sqlite3_finalize(replay.moderation);
    (void)sqlite3_finalize(replay.message);
    /* The pages that are in the cache now are the last ones of the table, which nobody needs soon.
     */
    (void)sqlite3_db_release_memory(load->db);
    return code;
}
