/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/schema.h"

#include <stdio.h>
#include <string.h>

#include "daemon/store/tables.h"

/* Each statement returns the text "ok" if all is well, and something else, or nothing, if not. */
static const struct check {
    const char *what;
    const char *sql;
} checks[] = {
    /*
     * quick_check does not compare the entries of an index with the rows. The statement is not
     * quick_check(1): SQLite 3.46.1 crashes if there are as many errors as the limit and then no
     * memory for their text. With the usual limit of 100 errors the memory is there by then.
     */
    {"structure", "PRAGMA quick_check"},
    {"the index of hosts", "PRAGMA integrity_check('host')"},
    {"the index of rules", "PRAGMA integrity_check('rule')"},
    {"the index of withdrawn messages", "PRAGMA integrity_check('tombstone')"},
    {"the index of removed messages", "PRAGMA integrity_check('moderation')"},
    {"the index of decisions", "PRAGMA integrity_check('decision')"},
    {"meta",
     "SELECT 'ok' FROM meta WHERE next_seq > max("
     "(SELECT coalesce(max(seq), 0) FROM message), (SELECT coalesce(max(seq), 0) FROM tombstone),"
     "(SELECT coalesce(max(seq), 0) FROM evicted),"
     "(SELECT coalesce(max(change_seq), 0) FROM moderation),"
     "(SELECT coalesce(max(seq), 0) FROM rule),"
     "(SELECT coalesce(max(number), 0) FROM copy_decision WHERE waits))"},
    {"a reported message is missing",
     "SELECT 'ok' WHERE NOT EXISTS"
     " (SELECT 1 FROM moderation WHERE seq NOT IN (SELECT seq FROM message))"},
};

static int run_check(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement;
    int rc = store_query(db, sql, STORE_NO_VALUES, &statement);

    if (rc == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(statement, 0);

        rc = text == NULL ? SQLITE_NOMEM : strcmp(text, "ok") == 0 ? SQLITE_OK : SQLITE_DONE;
    }
    (void)sqlite3_finalize(statement);
    return rc;
}

int store_check(sqlite3 *db, char *out_detail)
{
    const char *what = "";
    int rc = SQLITE_OK;

    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]) && rc == SQLITE_OK; i++) {
        what = checks[i].what;
        rc = run_check(db, checks[i].sql);
    }
    rc = rc == SQLITE_OK ? store_tables_check_rows(db, &what) : rc;
    if (rc == SQLITE_DONE || rc == SQLITE_CORRUPT) {
        rc = SQLITE_CORRUPT;
        (void)snprintf(out_detail, STORE_CHECK_DETAIL_BYTES, "check failed: %s", what);
    } else if (rc != SQLITE_OK) {
        (void)snprintf(out_detail, STORE_CHECK_DETAIL_BYTES, "%s", sqlite3_errmsg(db));
    }
    return rc;
}
