/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_log: the write-ahead log (WAL) of SQLite, a file beside the database with the suffix -wal.
 * SQLite writes and reads the log. This module does two things that SQLite does not do. It finds
 * commits in the log that recovery cannot reach. And it cuts off the pages that a failed
 * transaction left.
 *
 * The format is https://www.sqlite.org/fileformat2.html#walformat: a header of 32 bytes, then
 * frames. A frame is 24 bytes and a page. Each frame has the two salts of the header. The checksum
 * of a frame is over the first 24 bytes of the header, and over the first 8 bytes and the page of
 * each frame up to this one. Recovery stops at the first frame whose salts or checksum are
 * wrong.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

enum {
    STORE_LOG_FRAME_HEADER_BYTES = 24, /* a frame has a page behind it */
    STORE_LOG_NAME_BYTES = 4096 + 8,   /* of the path of a log */
    STORE_LOG_BYTES = 2 * 1024 * 1024  /* log_bytes of the options, if they do not set it */
};

struct store_log_scan {
    uint64_t file_bytes;    /* 0: there is no log */
    uint64_t valid_bytes;   /* header and frames up to the last commit that recovery finds */
    uint64_t valid_frames;  /* frames up to the last commit that recovery finds */
    uint64_t lost_commits;  /* commits at and behind the first invalid frame, counted by frames that
                               end a commit and have the salts of the header */
    bool is_header_damaged; /* the file is longer than a header, and its header is invalid */
};

/*
 * Reads the log of the database at `path`, and computes which commits recovery finds. Returns 0 or
 * errno. Writes nothing. O(size of the log). Nobody may write to the log meanwhile.
 */
int store_log_scan(const char *path, struct store_log_scan *out_scan);

/*
 * Whether acknowledged commits may be lost. If true, out_reason (PERSIST_REASON_BYTES) gets a
 * sentence for the operator.
 */
bool store_log_is_damaged(const char *path, const struct store_log_scan *scan, char *out_reason);

/*
 * Logs a warning if commits of the log may be lost, or if the log cannot be read. To be called
 * before SQLite opens the log, because SQLite drops lost commits silently.
 */
void store_log_warn(const char *path);

/*
 * Truncates the log after its last commit. SQLite leaves the pages of a failed transaction there.
 * A log with a damaged header is not truncated. Only the writer may call this function, outside a
 * transaction. Returns an SQLite result code; SQLITE_BUSY: another program writes.
 */
int store_log_cut(sqlite3 *db, const char *path);

/* Returns the size of the log in bytes; 0 if there is no log, or stat fails. */
uint64_t store_log_bytes(const char *path);
