/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store_load.h"

#include <stdio.h>
#include <string.h>

#include "core/profile.h"
#include "daemon/store_row.h"
#include "daemon/store_schema.h"

/* --- hosts ------------------------------------------------------------------------------------ */

/* SQLITE_ROW and its number and profile (PROFILE_TEXT_MAX bytes); SQLITE_DONE: no such host. */
static int find_host(sqlite3 *db, const char *name, uint32_t *out_host, char *out_profile)
{
    sqlite3_stmt *statement;
    int rc = sqlite3_prepare_v2(db, "SELECT host_id, profile FROM host WHERE name = ?1", -1,
                                &statement, NULL);

    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK) {
        rc = sqlite3_step(statement);
    }
    if (rc == SQLITE_ROW) {
        const char *profile = (const char *)sqlite3_column_text(statement, 1);

        *out_host = (uint32_t)sqlite3_column_int64(statement, 0);
        if (profile == NULL) {
            rc = SQLITE_NOMEM;
        } else if (strlen(profile) >= PROFILE_TEXT_MAX) {
            rc = SQLITE_CORRUPT;
        } else {
            memcpy(out_profile, profile, strlen(profile) + 1);
        }
    }
    (void)sqlite3_finalize(statement);
    return rc;
}

/* SQLITE_ROW: yes, SQLITE_DONE: no. */
static int has_messages(sqlite3 *db, uint32_t host)
{
    sqlite3_stmt *statement;
    int rc = sqlite3_prepare_v2(db, "SELECT 1 FROM message WHERE host_id = ?1 LIMIT 1", -1,
                                &statement, NULL);

    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = sqlite3_bind_int64(statement, 1, host);
    if (rc == SQLITE_OK) {
        rc = sqlite3_step(statement);
    }
    (void)sqlite3_finalize(statement);
    return rc;
}

static int next_host(sqlite3 *db, uint32_t *out_host)
{
    sqlite3_stmt *statement;
    int rc = sqlite3_prepare_v2(db, "SELECT coalesce(max(host_id), 0) + 1 FROM host", -1,
                                &statement, NULL);

    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW) {
        *out_host = (uint32_t)sqlite3_column_int64(statement, 0);
    }
    (void)sqlite3_finalize(statement);
    return rc == SQLITE_ROW ? SQLITE_OK : rc;
}

static int put_host(sqlite3 *db, uint32_t host, const char *name, const char *profile)
{
    sqlite3_stmt *statement;
    int rc = sqlite3_prepare_v2(db,
                                "INSERT INTO host (host_id, name, profile, checksum)"
                                " VALUES (?1, ?2, ?3, ?4) ON CONFLICT (host_id) DO UPDATE"
                                " SET profile = excluded.profile, checksum = excluded.checksum",
                                -1, &statement, NULL);

    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = sqlite3_bind_int64(statement, 1, host);
    if (rc == SQLITE_OK) {
        rc = sqlite3_bind_text(statement, 2, name, -1, SQLITE_STATIC);
    }
    if (rc == SQLITE_OK) {
        rc = sqlite3_bind_text(statement, 3, profile, -1, SQLITE_STATIC);
    }
    if (rc == SQLITE_OK) {
        rc = sqlite3_bind_int64(statement, 4, store_host_checksum(host, name, profile));
    }
    if (rc == SQLITE_OK) {
        rc = sqlite3_step(statement);
    }
    (void)sqlite3_finalize(statement);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int store_load_host(sqlite3 *db, const char *path, const char *name, const char *profile,
                    uint32_t *out_host, char *out_profile, char *out_reason)
{
    char stored[PROFILE_TEXT_MAX];
    uint32_t host = 0;
    int rc = find_host(db, name, &host, stored);

    if (rc == SQLITE_ROW && strcmp(stored, profile) == 0) {
        *out_host = host;
        return 0;
    }
    if (rc == SQLITE_ROW) {
        rc = has_messages(db, host);
        if (rc == SQLITE_ROW) {
            memcpy(out_profile, stored, sizeof(stored));
            return PERSIST_PROFILE_CHANGED;
        }
    } else if (rc == SQLITE_DONE) {
        rc = next_host(db, &host);
        if (rc == SQLITE_OK) {
            rc = SQLITE_DONE;
        }
    }
    if (rc == SQLITE_DONE) {
        rc = put_host(db, host, name, profile);
    }
    if (rc != SQLITE_OK) {
        return store_schema_refuse(path, rc, sqlite3_errmsg(db), out_reason);
    }
    *out_host = host;
    return 0;
}

/* --- messages --------------------------------------------------------------------------------- */

static int refuse_row(const char *path, int rc, int64_t seq, char *out_reason)
{
    char detail[64];

    (void)snprintf(detail, sizeof(detail), "the message with seq %lld is not as it was written",
                   (long long)seq);
    return store_schema_refuse(path, rc, detail, out_reason);
}

/* Behind a message's own columns: its state and reports, where there are any. */
static const char replay_text[] = "SELECT " STORE_ROW_COLUMNS ", state, reports"
                                  " FROM message LEFT JOIN moderation USING (seq) ORDER BY seq";
enum { COLUMN_STATE = 12, COLUMN_REPORTS = 13 };

int store_load_replay(sqlite3 *db, const char *path,
                      int (*visit)(void *context, const struct persist_message *message),
                      void *context, char *out_reason)
{
    struct persist_message message;
    sqlite3_stmt *statement;
    int64_t seq = 0;
    int code = 0;
    int rc = sqlite3_prepare_v2(db, replay_text, -1, &statement, NULL);

    if (rc != SQLITE_OK) {
        return store_schema_refuse(path, rc, sqlite3_errmsg(db), out_reason);
    }
    while (code == 0 && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        rc = store_row_read(statement, &seq, &message);
        if (rc != SQLITE_OK) {
            code = refuse_row(path, rc, sqlite3_column_int64(statement, 0), out_reason);
            break;
        }
        message.payload = NULL;
        /* store_check has looked at these; NULL reads as 0. */
        message.state = (enum persist_state)sqlite3_column_int64(statement, COLUMN_STATE);
        message.reports = (uint32_t)sqlite3_column_int64(statement, COLUMN_REPORTS);
        code = visit(context, &message);
    }
    if (code == 0 && rc != SQLITE_DONE) {
        code = store_schema_refuse(path, rc, sqlite3_errmsg(db), out_reason);
    }
    (void)sqlite3_finalize(statement);
    return code;
}

/* --- rules ------------------------------------------------------------------------------------ */

int store_load_rules(sqlite3 *db, const char *path,
                     int (*visit)(void *context, const struct persist_rule *rule), void *context,
                     char *out_reason)
{
    struct persist_rule rule;
    sqlite3_stmt *statement;
    int code = 0;
    int rc =
        sqlite3_prepare_v2(db, "SELECT " STORE_RULE_COLUMNS " FROM rule", -1, &statement, NULL);

    if (rc != SQLITE_OK) {
        return store_schema_refuse(path, rc, sqlite3_errmsg(db), out_reason);
    }
    while (code == 0 && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        rc = store_row_read_rule(statement, &rule);
        code = rc == SQLITE_OK
                   ? visit(context, &rule)
                   : store_schema_refuse(path, rc, "a rule is not as it was written", out_reason);
    }
    if (code == 0 && rc != SQLITE_DONE) {
        code = store_schema_refuse(path, rc, sqlite3_errmsg(db), out_reason);
    }
    (void)sqlite3_finalize(statement);
    return code;
}
