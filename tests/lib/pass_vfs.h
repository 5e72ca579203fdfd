/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass_vfs: a file system for SQLite that passes everything on to the real one. What power_vfs and
 * fault_vfs have in common: they put their own functions in place of some.
 */
#ifndef TESTS_LIB_PASS_VFS_H
#define TESTS_LIB_PASS_VFS_H

#include <stddef.h>

#include <sqlite3.h>

/* An open file; a file system's own struct begins with it. */
struct pass_file {
    sqlite3_file base;
    sqlite3_file *real; /* lies behind the whole struct */
};

/* The real file behind one that SQLite has. */
sqlite3_file *pass_real(sqlite3_file *file);

/* Methods that all pass on; for a file system to replace some. */
sqlite3_io_methods pass_methods(void);

/*
 * Opens the real file behind `file`, which has `bytes` of a struct of its own, and gives it these
 * methods. For xOpen.
 */
int pass_open(sqlite3_vfs *real, const char *name, sqlite3_file *file, size_t bytes,
              const sqlite3_io_methods *methods, int flags, int *out);

/*
 * Registers *vfs (static storage) as the default, filled from the real one; then what differs is
 * for the caller to set, of which the name and xOpen are given here. Returns the real one.
 */
sqlite3_vfs *pass_install(sqlite3_vfs *vfs, const char *name, size_t bytes,
                          int (*open)(sqlite3_vfs *, const char *, sqlite3_file *, int, int *));

#endif
