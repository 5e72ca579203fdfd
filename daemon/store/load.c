/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/load.h"

#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "daemon/store/error.h"
#include "daemon/store/row.h"
#include "daemon/store/tables.h"

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

static int find_host(sqlite3 *db, const char *name, struct store_host *out_host)
{
    return store_table_query(db, "SELECT * FROM host WHERE name = ?1",
                             &(struct store_value)STORE_TEXT(name, strlen(name)), &store_host_table,
                             out_host);
}

static void set_profile(struct store_host *host, const char *profile)
{
    (void)snprintf(host->profile, sizeof(host->profile), "%s", profile);
}

static int make_host(sqlite3 *db, const char *name, const char *profile, uint32_t *out_host)
{
    struct store_host host = {.replicate = false};
    int64_t number = 0;
    int rc = store_query_number(db, "SELECT coalesce(max(host_id), 0) + 1 FROM host",
                                STORE_NO_VALUES, &number);

    if (rc == SQLITE_OK) {
        host.host = *out_host = (uint32_t)number;
        (void)snprintf(host.name, sizeof(host.name), "%s", name);
        set_profile(&host, profile);
        rc = store_table_insert(db, "INSERT", &store_host_table, &host);
    }
    return rc;
}

int store_load_new_host(sqlite3 *db, const char *name, const char *profile, uint32_t *out_host)
{
    struct store_host host;
    int rc = find_host(db, name, &host);

    if (rc == SQLITE_ROW) {
        return SQLITE_CONSTRAINT;
    }
    return rc == SQLITE_DONE ? make_host(db, name, profile, out_host) : rc;
}

int store_load_host(const struct store_load *load, const char *name, const char *profile,
                    uint32_t *out_host, char *out_profile)
{
    struct store_host host;
    int64_t messages = 0;
    int rc = find_host(load->db, name, &host);

    if (rc == SQLITE_DONE) {
        rc = make_host(load->db, name, profile, &host.host);
    } else if (rc == SQLITE_ROW && strcmp(host.profile, profile) == 0) {
        rc = SQLITE_OK;
    } else if (rc == SQLITE_ROW) {
        rc =
            store_query_number(load->db, "SELECT EXISTS (SELECT 1 FROM message WHERE host_id = ?1)",
                               STORE_VALUES(STORE_NUMBER(host.host)), &messages);
        if (rc == SQLITE_OK && messages > 0) {
            memcpy(out_profile, host.profile, sizeof(host.profile));
            return PERSIST_PROFILE_CHANGED;
        }
        set_profile(&host, profile);
        rc = rc == SQLITE_OK
                 ? store_table_insert(load->db, "INSERT OR REPLACE", &store_host_table, &host)
                 : rc;
    }
    if (rc != SQLITE_OK) {
        return load_refuse(load, rc, NULL);
    }
    *out_host = host.host;
    return 0;
}

int store_load_replicate(sqlite3 *db, uint32_t host, bool replicate, bool *out_changed)
{
    struct store_host row;
    int rc = store_table_query(db, "SELECT * FROM host WHERE host_id = ?1",
                               &(struct store_value)STORE_NUMBER(host), &store_host_table, &row);

    *out_changed = rc == SQLITE_ROW && row.replicate != replicate;
    if (*out_changed) {
        row.replicate = replicate;
        rc = store_table_insert(db, "INSERT OR REPLACE", &store_host_table, &row);
    }
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* --- messages --------------------------------------------------------------------------------- */

int store_load_numbers(const struct store_load *load, struct store_numbers *numbers)
{
    const char *detail;
    int rc = store_numbers_load(numbers, load->db, &detail);

    return rc == SQLITE_OK ? 0 : load_refuse(load, rc, detail);
}

/* --- rules, tombstones and epochs ------------------------------------------------------------- */

/* Reads the current row. Returns 0, or a negative error with a sentence. */
static int read_row(const struct store_load *load, sqlite3_stmt *statement,
                    const struct store_table *table, void *out_row)
{
    char detail[64];
    int rc = store_table_read(statement, table, out_row);

    (void)snprintf(detail, sizeof(detail), "%s is not as it was written", table->what);
    return rc == SQLITE_OK ? 0 : load_refuse(load, rc, detail);
}

/* Ends a query. `code`: of the rows; `rc`: of the last step. */
static int end_rows(const struct store_load *load, sqlite3_stmt *statement, int rc, int code)
{
    if (code == 0 && rc != SQLITE_DONE) {
        code = load_refuse(load, rc, NULL);
    }
    (void)sqlite3_finalize(statement);
    return code;
}

int store_load_rules(const struct store_load *load,
                     int (*visit)(void *context, const struct persist_rule *rule), void *context)
{
    struct persist_rule rule;
    sqlite3_stmt *statement;
    int code = 0;
    int rc =
        store_query(load->db, "SELECT * FROM rule WHERE NOT dropped", STORE_NO_VALUES, &statement);

    for (; code == 0 && rc == SQLITE_ROW; rc = code == 0 ? sqlite3_step(statement) : rc) {
        code = read_row(load, statement, &store_rule_table, &rule);
        code = code == 0 ? visit(context, &rule) : code;
    }
    return end_rows(load, statement, rc, code);
}

int store_load_removed(const struct store_load *load,
                       int (*visit)(void *context, const struct persist_message *message),
                       void *context)
{
    struct store_tombstone tombstone;
    sqlite3_stmt *statement;
    int code = 0;
    int rc = store_query(load->db, "SELECT * FROM tombstone WHERE host_id >= ?1",
                         STORE_VALUES(STORE_NUMBER(STORE_REMOVED_HOST)), &statement);

    for (; code == 0 && rc == SQLITE_ROW; rc = code == 0 ? sqlite3_step(statement) : rc) {
        struct persist_message message = {.host = 0};

        code = read_row(load, statement, &store_tombstone_table, &tombstone);
        message.host = (uint32_t)(tombstone.host - STORE_REMOVED_HOST);
        message.expires_ms = tombstone.expires_ms;
        memcpy(message.id, tombstone.id, MESSAGE_ID_BYTES);
        code = code == 0 ? visit(context, &message) : code;
    }
    return end_rows(load, statement, rc, code);
}

int store_load_epochs(const struct store_load *load,
                      int (*visit)(void *context, const struct persist_epoch *epoch), void *context)
{
    struct persist_epoch epoch;
    sqlite3_stmt *statement;
    int code = 0;
    int rc = store_query(load->db, "SELECT * FROM epoch ORDER BY host_id, number", STORE_NO_VALUES,
                         &statement);

    for (; code == 0 && rc == SQLITE_ROW; rc = code == 0 ? sqlite3_step(statement) : rc) {
        code = read_row(load, statement, &store_epoch_table, &epoch);
        code = code == 0 ? visit(context, &epoch) : code;
        sodium_memzero(&epoch, sizeof(epoch));
    }
    return end_rows(load, statement, rc, code);
}
