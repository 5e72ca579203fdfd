/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/store/statement.h"
#include "daemon/system/log.h"

enum {
    HEADER_BYTES = 32,
    PAGE_BYTES_MIN = 512,
    PAGE_BYTES_MAX = 65536,
    SUMMED_OF_HEADER = 24, /* bytes of the header that its checksum covers */
    SUMMED_OF_FRAME = 8    /* of a frame's header; the page follows */
};
static const uint32_t MAGIC = 0x377f0682; /* the lowest bit: checksums read big-endian words */

/* The state of a scan of the log. */
struct reader {
    FILE *file;
    uint8_t *frame; /* STORE_LOG_FRAME_HEADER_BYTES and a page */
    size_t page_bytes;
    bool is_big_endian; /* the words that checksums add */
    uint8_t salts[8];
    uint32_t sums[2]; /* over everything so far */
};

static void name_log(const char *path, char out_name[STORE_LOG_NAME_BYTES])
{
    (void)snprintf(out_name, STORE_LOG_NAME_BYTES, "%.4096s-wal", path);
}

uint64_t store_log_bytes(const char *path)
{
    char name[STORE_LOG_NAME_BYTES];
    struct stat status;

    name_log(path, name);
    return stat(name, &status) == 0 && status.st_size > 0 ? (uint64_t)status.st_size : 0;
}

static uint32_t read_big(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static uint32_t read_word(const struct reader *reader, const uint8_t *bytes)
{
    return reader->is_big_endian ? read_big(bytes)
                                 : (uint32_t)bytes[3] << 24 | (uint32_t)bytes[2] << 16 |
                                       (uint32_t)bytes[1] << 8 | bytes[0];
}

/* Adds bytes, a multiple of 8, to the checksum. */
static void add_sums(struct reader *reader, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i += 8) {
        reader->sums[0] += read_word(reader, bytes + i) + reader->sums[1];
        reader->sums[1] += read_word(reader, bytes + i + 4) + reader->sums[0];
    }
}

static bool sums_match(const struct reader *reader, const uint8_t *bytes)
{
    return reader->sums[0] == read_big(bytes) && reader->sums[1] == read_big(bytes + 4);
}

static bool read_header(struct reader *reader)
{
    uint8_t header[HEADER_BYTES];

    if (fread(header, sizeof(header), 1, reader->file) != 1 ||
        (read_big(header) & ~UINT32_C(1)) != MAGIC) {
        return false;
    }
    reader->is_big_endian = (read_big(header) & 1) != 0;
    reader->page_bytes = read_big(header + 8);
    memcpy(reader->salts, header + 16, sizeof(reader->salts));
    add_sums(reader, header, SUMMED_OF_HEADER);
    return sums_match(reader, header + SUMMED_OF_HEADER) && reader->page_bytes >= PAGE_BYTES_MIN &&
           reader->page_bytes <= PAGE_BYTES_MAX &&
           (reader->page_bytes & (reader->page_bytes - 1)) == 0;
}

/* Reads all whole frames. */
static void read_frames(struct reader *reader, struct store_log_scan *scan)
{
    size_t frame_bytes = STORE_LOG_FRAME_HEADER_BYTES + reader->page_bytes;
    const uint8_t *frame = reader->frame;
    uint64_t frames = 0;
    bool is_valid = true;

    while (fread(reader->frame, frame_bytes, 1, reader->file) == 1) {
        bool is_same_log = memcmp(frame + 8, reader->salts, sizeof(reader->salts)) == 0;
        bool is_commit = read_big(frame + 4) != 0;

        frames++;
        if (is_valid) {
            add_sums(reader, frame, SUMMED_OF_FRAME);
            add_sums(reader, frame + STORE_LOG_FRAME_HEADER_BYTES, reader->page_bytes);
            is_valid = is_same_log && read_big(frame) != 0 && sums_match(reader, frame + 16);
        }
        if (is_valid && is_commit) {
            scan->valid_frames = frames;
            scan->valid_bytes = HEADER_BYTES + frames * frame_bytes;
        } else if (!is_valid && is_same_log && is_commit) {
            scan->lost_commits++;
        }
    }
}

int store_log_scan(const char *path, struct store_log_scan *out_scan)
{
    char name[STORE_LOG_NAME_BYTES];
    struct reader reader = {.file = NULL};
    int rc = 0;

    memset(out_scan, 0, sizeof(*out_scan));
    out_scan->file_bytes = store_log_bytes(path);
    if (out_scan->file_bytes == 0) {
        return 0;
    }
    name_log(path, name);
    reader.file = fopen(name, "rbe");
    if (reader.file == NULL) {
        return errno;
    }
    if (!read_header(&reader)) {
        /* Without a frame nothing can be lost. */
        out_scan->is_header_damaged = out_scan->file_bytes > HEADER_BYTES;
    } else {
        out_scan->valid_bytes = HEADER_BYTES;
        reader.frame = malloc(STORE_LOG_FRAME_HEADER_BYTES + reader.page_bytes);
        if (reader.frame != NULL) {
            read_frames(&reader, out_scan);
        } else {
            rc = ENOMEM;
        }
    }
    if (ferror(reader.file) != 0) {
        rc = EIO;
    }
    free(reader.frame);
    (void)fclose(reader.file); /* it was only read */
    return rc;
}

bool store_log_is_damaged(const char *path, const struct store_log_scan *scan, char *out_reason)
{
    static const char cause[] = "If the power failed, the last commit may be one that was never "
                                "acknowledged; otherwise the storage changes what it keeps";

    if (scan->is_header_damaged) {
        (void)snprintf(out_reason, PERSIST_REASON_BYTES,
                       "the log %.160s-wal has %" PRIu64 " bytes, but its header is damaged: what "
                       "was acknowledged since the last checkpoint is lost. %s",
                       path, scan->file_bytes, cause);
        return true;
    }
    if (scan->lost_commits > 0) {
        (void)snprintf(out_reason, PERSIST_REASON_BYTES,
                       "the log %.160s-wal is damaged behind frame %" PRIu64 ": %" PRIu64
                       " commits are lost. %s",
                       path, scan->valid_frames, scan->lost_commits, cause);
        return true;
    }
    return false;
}

void store_log_warn(const char *path)
{
    char reason[PERSIST_REASON_BYTES];
    struct store_log_scan scan;
    int rc = store_log_scan(path, &scan);

    if (rc != 0) {
        log_warning("the log %s-wal could not be examined: %s", path, strerror(rc));
    } else if (store_log_is_damaged(path, &scan, reason)) {
        log_warning("%s", reason);
    }
}

int store_log_cut(sqlite3 *db, const char *path)
{
    struct store_log_scan scan;
    sqlite3_file *file = NULL;
    /* Nobody else writes while this connection has the write lock. */
    int rc = store_exec(db, "BEGIN IMMEDIATE");

    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
    if (rc == SQLITE_OK && store_log_scan(path, &scan) != 0) {
        rc = SQLITE_IOERR_READ;
    }
    if (rc == SQLITE_OK && !scan.is_header_damaged && scan.file_bytes > scan.valid_bytes &&
        file != NULL && file->pMethods != NULL) {
        rc = file->pMethods->xTruncate(file, (sqlite3_int64)scan.valid_bytes);
    }
    int ended = store_exec(db, "ROLLBACK");
    return rc == SQLITE_OK ? ended : rc;
}
