/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass_vfs: a file system for SQLite that passes everything on to the real one. What power_vfs and
 * fault_vfs have in common: they put their own functions in place of some.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

/* An open file; a file system's own struct begins with it. */
struct pass_file {
    sqlite3_file base;
    sqlite3_file *real; /* lies behind the whole struct */
    bool refuses_maps;  /* of shared memory */
};

/* The real file behind one that SQLite has. */
sqlite3_file *pass_real(sqlite3_file *file);

/* Methods that all pass on; for a file system to replace some. */
sqlite3_io_methods pass_methods(void);

/*
 * Opens the real file behind `file`, which has `bytes` of a struct of its own, and gives it these
 * methods. For xOpen, with the file system that xOpen was given.
 */
int pass_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, size_t bytes,
              const sqlite3_io_methods *methods, int flags, int *out);

/*
 * Registers *vfs (static storage) as the default, filled from the real one; then what differs is
 * for the caller to set, of which the name and xOpen are given here. Returns the real one.
 */
sqlite3_vfs *pass_install(sqlite3_vfs *vfs, const char *name, size_t bytes,
                          int (*open)(sqlite3_vfs *, const char *, sqlite3_file *, int, int *));

/* Installs one that syncs nothing, and replaces nothing else but what follows. */
void pass_install_plain(void);

/*
 * Where the environment has HEARSAY_TEST_NO_SHARED_MAPS, files of *vfs, which was installed and is
 * complete, refuse shared memory, as those of JFFS2 do; and files of `unix-excl`, which needs none,
 * pass through *vfs. So each test of the store can be run without shared memory.
 */
void pass_refuse_maps_if_asked(const sqlite3_vfs *vfs);

/* The same for a test that has installed nothing. Many times is fine. */
void pass_install_if_asked(void);

/* Whether shared memory is refused, to all but `unix-excl`. */
bool pass_refuses_maps(void);

/* --- a budget of bytes ------------------------------------------------------------------------ */

/*
 * Storage of limited size. SQLite's files may grow by so many bytes more, in blocks of 4,096;
 * beyond that a write is cut short, and fails with SQLITE_FULL. Truncated and deleted files give
 * their bytes back. Negative: no limit, which is how it begins. Any thread.
 */
void pass_budget_set(int64_t bytes);

/* What is left; for persist_sqlite_options.free_bytes. UINT64_MAX: there is no limit. */
uint64_t pass_budget_free(const char *path);

/* How many bytes were written to SQLite's files since the start of the process. */
uint64_t pass_written(void);

/*
 * Takes a write's growth from the budget. How many of its bytes may be written: `count`, or fewer.
 */
int pass_budget_take(sqlite3_file *file, int count, sqlite3_int64 offset);

/* The real write of what the budget allows, and the real truncation and deletion. */
int pass_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset);
int pass_truncate(sqlite3_file *file, sqlite3_int64 size);
int pass_delete(sqlite3_vfs *vfs, const char *name, int syncs_directory);
