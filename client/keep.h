/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keep: small files that keep data between two runs of a program. Only for files of libhearsay.
 * Format of a file, numbers in little-endian:
 *
 *   8 bytes   kind of the file
 *   4 bytes   version
 *   n bytes   the body
 *   8 bytes   XXH3-64 of all bytes before, seed 0
 *
 * A file is read as a whole, and its checksum is verified. A file is replaced atomically: a reader
 * sees either the old file or the new file, also after a crash. keep_read_text and keep_write_text
 * are for text files without this format.
 */
#pragma once

#include "client/hearsay.h"
#include "proto/bytes.h"

enum { KEEP_MAGIC_BYTES = 8 };

struct keep_kind {
    const char *magic; /* KEEP_MAGIC_BYTES characters */
    uint32_t version;  /* of the body; 0 means 1 */
    const char *what;  /* name in error messages: "memory of messages seen" */
    bool is_secret; /* true: the file holds secrets. Then keep_read refuses a file of this user to
                     * which the group or others have any right, and keep_close wipes the body */
    size_t body_bytes_max;
    size_t record_bytes; /* the body is an array of records of this size; 0: it is not */
};

/* A file and its body in memory. */
struct keep_file {
    char *path; /* owned */
    const struct keep_kind *kind;
    struct bytes body;
};

/*
 * Reads the file and appends its body to *out_body, which is initialised. Returns 0; KEEP_ABSENT
 * when there is no such file; HEARSAY_ERR_FILE when the file is not regular, has another kind or
 * version, is too large, is damaged, or is refused because of its mode (is_secret);
 * HEARSAY_ERR_SYSTEM; HEARSAY_ERR_NOMEM. Does not change the file.
 */
enum { KEEP_ABSENT = 1 };
int keep_read(const char *path, const struct keep_kind *kind, struct bytes *out_body,
              struct hearsay_error *out_error);

/*
 * Reads the file at `path` into *out_file. Returns what keep_read returns. Also returns
 * HEARSAY_ERR_FILE when the size of the body is not a multiple of kind->record_bytes. With
 * KEEP_ABSENT the body is empty. Call keep_close afterwards, also after an error. keep_close
 * accepts a zeroed struct.
 */
int keep_open(struct keep_file *out_file, const char *path, const struct keep_kind *kind,
              struct hearsay_error *out_error);
void keep_close(struct keep_file *file);

/*
 * Creates or replaces the file (mode 0600): writes a temporary file in the same folder, syncs the
 * temporary file, and renames it. If `path` is a symbolic link to a file, replaces that file.
 * Returns 0, HEARSAY_ERR_SYSTEM or HEARSAY_ERR_NOMEM. After an error the old file is unchanged.
 */
int keep_write(const char *path, const struct keep_kind *kind, const struct bytes *body,
               struct hearsay_error *out_error);

/*
 * Read and write a text file without head and checksum, which users may edit. Return what keep_read
 * and keep_write return. keep_read_text returns HEARSAY_ERR_FILE for a file of more than bytes_max
 * bytes.
 */
int keep_read_text(const char *path, size_t bytes_max, struct bytes *out_text,
                   struct hearsay_error *out_error);
int keep_write_text(const char *path, const struct bytes *text, struct hearsay_error *out_error);

/* Little-endian numbers. keep_append_u32: 0 or -ERR_NOMEM. */
void keep_put_u32(uint8_t *out, uint32_t value);
void keep_put_u64(uint8_t *out, uint64_t value);
int keep_append_u32(struct bytes *bytes, uint32_t value);
uint32_t keep_u32(const uint8_t *bytes);
uint64_t keep_u64(const uint8_t *bytes);
