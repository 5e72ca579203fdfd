/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_tables: the tables of the database, in the version STORE_VERSION. Results are
 * SQLite's codes.
 */
#pragma once

#include "daemon/store/statement.h"

/* --- table ------------------------------------------------------------------------------------ */

/*
 * store_table: a table of the database as data. Each column is one row of an array: its name, the
 * member of a C struct that it holds, and the values that are allowed. CREATE TABLE, INSERT,
 * reading, the checksum of a row and the check of a file follow from these arrays, so that a column
 * is described in one place (tables.c).
 *
 * Every table has a further column, `checksum`, before the others, so that SQLite finds it without
 * reading a long payload. The checksum is computed from all other columns with XXH3-64; numbers are
 * hashed as little-endian on every machine. A wrong checksum shows that a row is not as it was
 * written, which SQLite's own check cannot see. It does not protect against forgery.
 *
 * A statement that reads rows begins with `SELECT *` or `SELECT TABLE.*`. Further columns begin at
 * the place table->count + 1. Results are SQLite's codes.
 */

enum store_type {
    STORE_TYPE_U32,   /* uint32_t, or an enum */
    STORE_TYPE_I64,   /* int64_t or uint64_t */
    STORE_TYPE_FLAG,  /* bool; 0 or 1 in the database */
    STORE_TYPE_FIXED, /* an array of uint8_t: a blob of exactly this size */
    STORE_TYPE_CHARS, /* an array of char: a text, and a NUL behind it */
    STORE_TYPE_BYTES, /* a pointer to uint8_t: a blob */
    STORE_TYPE_TEXT   /* a pointer to char: UTF-8, not terminated */
};

struct store_column {
    const char *name;
    enum store_type type;
    uint16_t at;        /* offset of the member in the struct */
    uint16_t at_length; /* BYTES, TEXT, perhaps CHARS: offset of a size_t with the length; else 0 */
    uint16_t at_has;    /* FIXED: offset of a bool, which is false for NULL; 0: never NULL */
    bool null_if_zero;  /* U32, I64: 0 is stored as NULL, so that partial indexes leave it out */
    uint16_t size;      /* of the member */
    uint32_t least;     /* U32: the least and the greatest value; BYTES: the greatest length; */
    uint32_t greatest;  /* 0: any */
};

enum { STORE_KEYS_MAX = 3 };

struct store_table {
    const char *name;
    const char *what; /* names a row in the sentence about a damaged file */
    const struct store_column *columns;
    size_t count;           /* of columns, without `checksum` */
    size_t keys;            /* how many columns, from the first one, are the primary key */
    size_t row_bytes;       /* of the struct */
    const char *constraint; /* of CREATE TABLE, with a comma before it; may be NULL */
    const char *indexes;    /* further statements; may be NULL */
    /* What the columns by themselves cannot show; may be NULL. */
    bool (*is_sound)(const void *row);
};

/* Creates the table and its indexes. */
int store_table_create(sqlite3 *db, const struct store_table *table);

/*
 * Prepares an INSERT of `rows` rows. `verb` is INSERT, or INSERT OR REPLACE and the like. The
 * caller finalizes *out_statement.
 */
int store_table_prepare(sqlite3 *db, const struct store_table *table, const char *verb,
                        unsigned rows, sqlite3_stmt **out_statement);

/* Computes the checksum of a row, as a signed number, because SQLite stores signed numbers. */
int64_t store_table_checksum(const struct store_table *table, const void *row);

/*
 * Binds a row to an INSERT of several rows; `place` counts the rows from 0. The statement borrows
 * the bytes of the row until it is reset.
 */
int store_table_bind(sqlite3_stmt *statement, unsigned place, const struct store_table *table,
                     const void *row);

/* Writes a row by a prepared INSERT of one row. */
int store_table_put(sqlite3_stmt *statement, const struct store_table *table, const void *row);

/* Prepares an INSERT for one use, and writes a row by it. */
int store_table_insert(sqlite3 *db, const char *verb, const struct store_table *table,
                       const void *row);

/*
 * Reads the current row of `statement` into the struct, and verifies its checksum. Members that are
 * no columns become 0. Pointers in the struct are valid until the statement is stepped or reset.
 * Returns SQLITE_OK; SQLITE_CORRUPT for a damaged row, or SQLITE_NOMEM: the struct is then not to
 * be used.
 */
int store_table_read(sqlite3_stmt *statement, const struct store_table *table, void *out_row);

/*
 * Reads the first row of a query into a struct without pointers. `value` is bound to the parameter
 * ?1 of the query; NULL: the query has no parameter. Returns SQLITE_ROW, SQLITE_DONE if there is no
 * row, SQLITE_CORRUPT if the row is damaged, or another error of SQLite.
 */
int store_table_query(sqlite3 *db, const char *sql, const struct store_value *value,
                      const struct store_table *table, void *out_row);

/*
 * Finds a row by its key, whose members are set in *row, with a statement that has a place for each
 * of them, and fills the other members that are columns. Resets the statement, so that the table
 * must have pointers among its keys only; these stay as they are. Returns SQLITE_ROW, SQLITE_DONE
 * for no row, SQLITE_CORRUPT for a damaged row, or an error.
 */
int store_table_find(sqlite3_stmt *statement, const struct store_table *table, void *row);

/* Runs a statement without result, such as DELETE, whose places are the key of a row. */
int store_table_run(sqlite3_stmt *statement, const struct store_table *table, const void *row);

/* --- all rows that fulfil a condition --------------------------------------------------------- */

/*
 * Goes through the rows of a table in the order of their keys, while the caller changes them. Each
 * step searches the first row behind the key of the row before, so that no step finds a row again
 * that was moved. Damaged rows are skipped, and stay as they are. Example:
 *
 *   int rc = store_walk_begin(&walk, db, &store_rule_table, "until_ms > %lld", now_ms);
 *
 *   while (rc == SQLITE_OK && (rc = store_walk_next(&walk, &rule)) == SQLITE_ROW) {
 *       rule.until_ms += shift_ms;
 *       rc = store_rule_put(database, &rule);
 *   }
 *   return store_walk_end(&walk, rc);
 */
struct store_walk {
    const struct store_table *table;
    sqlite3_stmt *statement;
    sqlite3_value *keys[STORE_KEYS_MAX]; /* owned: the key of the row before; NULL: no such row */
    int64_t
        behind; /* the first row has a larger first part of the key; -1: it is the first of all */
};

/*
 * `where` is a condition in SQL, with the arguments that printf would put into it. A column of the
 * key or of an index has a + before its name there, so that SQLite does not search by it: a step
 * that searched by another index, or from the first row of a host, would read all rows again.
 */
int store_walk_begin(struct store_walk *walk, sqlite3 *db, const struct store_table *table,
                     const char *where, ...) __attribute__((format(printf, 4, 5)));

/* Returns SQLITE_ROW, SQLITE_DONE or an error. Pointers in *out_row are valid until the next call.
 */
int store_walk_next(struct store_walk *walk, void *out_row);

/* Ends the walk, also one that could not begin. Returns `rc`, or SQLITE_OK instead of SQLITE_DONE.
 */
int store_walk_end(struct store_walk *walk, int rc);

/* --- tables ----------------------------------------------------------------------------------- */

extern const struct store_table store_meta_table;       /* struct store_meta */
extern const struct store_table store_host_table;       /* struct store_host */
extern const struct store_table store_message_table;    /* struct persist_message */
extern const struct store_table store_tombstone_table;  /* struct store_tombstone */
extern const struct store_table store_epoch_table;      /* struct persist_epoch */
extern const struct store_table store_moderation_table; /* struct store_review */
extern const struct store_table store_decision_table;   /* struct persist_decision */
extern const struct store_table store_rule_table;       /* struct persist_rule */
extern const struct store_table store_evicted_table;    /* struct store_evicted_row */
extern const struct store_table store_copy_table;       /* struct store_copy */

/* The place of the first column that a statement with `SELECT message.*` adds. */
enum { STORE_MESSAGE_PLACES = 13 };

/*
 * Creates the tables and sets the version in one transaction, so that a crash leaves either a
 * database without tables or a complete one.
 */
int store_tables_create(sqlite3 *db);

/* Compares the schema of a database with the tables: SQLITE_CORRUPT if they differ. */
int store_tables_check(sqlite3 *db);

/*
 * Reads all rows of all tables but `message`, which start-up reads anyway. SQLITE_CORRUPT: a row is
 * damaged, and *out_what names it. Other codes are errors.
 */
int store_tables_check_rows(sqlite3 *db, const char **out_what);
