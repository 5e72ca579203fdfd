/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/load.h"

#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "core/profile/profile.h"
#include "daemon/store/checksum.h"
#include "daemon/store/error.h"
#include "daemon/store/row.h"
#include "daemon/store/statement.h"

/*
 * Puts a sentence into load->reason and returns the error code. `detail` NULL: the sentence has the
 * text of SQLite's last error.
 */
static int load_refuse(const struct store_load *load, int rc, const char *detail)
{
    return store_error_refuse(load->path, rc, detail != NULL ? detail : sqlite3_errmsg(load->db),
                              load->reason);
}

/* --- hosts ------------------------------------------------------------------------------------ */

/*
 * Finds a host by its name. SQLITE_ROW: sets *out_host to its number and *out_replicate, and copies
 * its profile to out_profile (PROFILE_TEXT_MAX bytes). SQLITE_DONE: there is no such host.
 */
static int find_host(sqlite3 *db, const char *name, uint32_t *out_host, bool *out_replicate,
                     char *out_profile)
{
    sqlite3_stmt *statement;
    int rc = store_query(db, "SELECT host_id, profile, replicate FROM host WHERE name = ?1",
                         STORE_VALUES(STORE_TEXT(name, strlen(name))), &statement);

    if (rc == SQLITE_ROW) {
        const char *profile = (const char *)sqlite3_column_text(statement, 1);

        *out_host = (uint32_t)sqlite3_column_int64(statement, 0);
        *out_replicate = sqlite3_column_int64(statement, 2) != 0; /* NULL reads as 0 */
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

static int put_host(sqlite3 *db, uint32_t host, const char *name, const char *profile,
                    bool replicate)
{
    return store_run(db,
                     "INSERT INTO host (host_id, name, profile, checksum, replicate)"
                     " VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (host_id) DO UPDATE"
                     " SET profile = excluded.profile, checksum = excluded.checksum,"
                     " replicate = excluded.replicate",
                     STORE_VALUES(STORE_NUMBER(host), STORE_TEXT(name, strlen(name)),
                                  STORE_TEXT(profile, strlen(profile)),
                                  STORE_NUMBER(store_host_checksum(host, name, profile, replicate)),
                                  STORE_NUMBER_OR_NULL(replicate)));
}

static int make_host(sqlite3 *db, const char *name, const char *profile, uint32_t *out_host)
{
    int64_t host = 0;
    int rc = store_query_number(db, "SELECT coalesce(max(host_id), 0) + 1 FROM host",
                                STORE_NO_VALUES, &host);

    if (rc == SQLITE_OK) {
        rc = put_host(db, (uint32_t)host, name, profile, false);
    }
    if (rc == SQLITE_OK) {
        *out_host = (uint32_t)host;
    }
    return rc;
}

int store_load_new_host(sqlite3 *db, const char *name, const char *profile, uint32_t *out_host)
{
    char stored[PROFILE_TEXT_MAX];
    uint32_t host;
    bool replicate;
    int rc = find_host(db, name, &host, &replicate, stored);

    if (rc == SQLITE_ROW) {
        return SQLITE_CONSTRAINT;
    }
    return rc == SQLITE_DONE ? make_host(db, name, profile, out_host) : rc;
}

int store_load_host(const struct store_load *load, const char *name, const char *profile,
                    uint32_t *out_host, char *out_profile)
{
    char stored[PROFILE_TEXT_MAX];
    uint32_t host = 0;
    bool replicate = false;
    int64_t messages = 0;
    int rc = find_host(load->db, name, &host, &replicate, stored);

    if (rc == SQLITE_DONE) {
        rc = make_host(load->db, name, profile, &host);
    } else if (rc == SQLITE_ROW && strcmp(stored, profile) == 0) {
        rc = SQLITE_OK;
    } else if (rc == SQLITE_ROW) {
        rc =
            store_query_number(load->db, "SELECT EXISTS (SELECT 1 FROM message WHERE host_id = ?1)",
                               STORE_VALUES(STORE_NUMBER(host)), &messages);
        if (rc == SQLITE_OK && messages > 0) {
            memcpy(out_profile, stored, sizeof(stored));
            return PERSIST_PROFILE_CHANGED;
        }
        if (rc == SQLITE_OK) {
            rc = put_host(load->db, host, name, profile, replicate);
        }
    }
    if (rc != SQLITE_OK) {
        return load_refuse(load, rc, NULL);
    }
    *out_host = host;
    return 0;
}

int store_load_replicate(sqlite3 *db, uint32_t host, bool replicate, bool *out_changed)
{
    sqlite3_stmt *statement;
    int rc = store_query(db, "SELECT name, profile, replicate FROM host WHERE host_id = ?1",
                         STORE_VALUES(STORE_NUMBER(host)), &statement);

    *out_changed = rc == SQLITE_ROW && (sqlite3_column_int64(statement, 2) != 0) != replicate;
    if (*out_changed) {
        rc = put_host(db, host, (const char *)sqlite3_column_text(statement, 0),
                      (const char *)sqlite3_column_text(statement, 1), replicate);
    }
    (void)sqlite3_finalize(statement);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* --- messages --------------------------------------------------------------------------------- */

int store_load_numbers(const struct store_load *load, struct store_numbers *numbers)
{
    const char *detail;
    int rc = store_numbers_load(numbers, load->db, &detail);

    return rc == SQLITE_OK ? 0 : load_refuse(load, rc, detail);
}

/* --- rules and epochs ------------------------------------------------------------------------- */

int store_load_rules(const struct store_load *load,
                     int (*visit)(void *context, const struct persist_rule *rule), void *context)
{
    struct persist_rule rule;
    sqlite3_stmt *statement;
    int code = 0;
    int rc = store_query(load->db, "SELECT " STORE_RULE_COLUMNS " FROM rule WHERE dropped IS NULL",
                         STORE_NO_VALUES, &statement);

    for (; code == 0 && rc == SQLITE_ROW; rc = sqlite3_step(statement)) {
        rc = store_row_read_rule(statement, &rule);
        code = rc == SQLITE_OK ? visit(context, &rule)
                               : load_refuse(load, rc, "a rule is not as it was written");
    }
    if (code == 0 && rc != SQLITE_DONE) {
        code = load_refuse(load, rc, NULL);
    }
    (void)sqlite3_finalize(statement);
    return code;
}

int store_load_removed(const struct store_load *load,
                       int (*visit)(void *context, const struct persist_message *message),
                       void *context)
{
    sqlite3_stmt *statement;
    int code = 0;
    int rc =
        store_query(load->db, "SELECT host_id, id, expires_ms FROM tombstone WHERE host_id >= ?1",
                    STORE_VALUES(STORE_NUMBER(STORE_REMOVED_HOST)), &statement);

    for (; code == 0 && rc == SQLITE_ROW; rc = sqlite3_step(statement)) {
        /* The check at the start has verified the checksum of each row. */
        struct persist_message message = {
            .host = (uint32_t)(sqlite3_column_int64(statement, 0) - STORE_REMOVED_HOST),
            .expires_ms = sqlite3_column_int64(statement, 2),
        };
        memcpy(message.id, sqlite3_column_blob(statement, 1), MESSAGE_ID_BYTES);
        code = visit(context, &message);
    }
    if (code == 0 && rc != SQLITE_DONE) {
        code = load_refuse(load, rc, NULL);
    }
    (void)sqlite3_finalize(statement);
    return code;
}

int store_load_epochs(const struct store_load *load,
                      int (*visit)(void *context, const struct persist_epoch *epoch), void *context)
{
    struct persist_epoch epoch;
    sqlite3_stmt *statement;
    int code = 0;
    int rc =
        store_query(load->db, "SELECT " STORE_EPOCH_COLUMNS " FROM epoch ORDER BY host_id, number",
                    STORE_NO_VALUES, &statement);

    for (; code == 0 && rc == SQLITE_ROW; rc = sqlite3_step(statement)) {
        rc = store_row_read_epoch(statement, &epoch);
        code = rc == SQLITE_OK ? visit(context, &epoch)
                               : load_refuse(load, rc, "an epoch is not as it was written");
        sodium_memzero(&epoch, sizeof(epoch));
    }
    if (code == 0 && rc != SQLITE_DONE) {
        code = load_refuse(load, rc, NULL);
    }
    (void)sqlite3_finalize(statement);
    return code;
}
