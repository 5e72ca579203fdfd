/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keep: small files that keep data from one run to the next. Within libhearsay only.
 *
 *   8 bytes   kind of the file
 *   4 bytes   version
 *   n bytes   the body
 *   8 bytes   XXH3-64 of all bytes before, seed 0
 *
 * Numbers are little-endian. A file is read and checked as a whole, and replaced atomically: a
 * reader sees the old file or the new one, also after a crash.
 */
#ifndef CLIENT_KEEP_H
#define CLIENT_KEEP_H

#include "client/hearsay.h"
#include "proto/bytes.h"

enum { KEEP_MAGIC_BYTES = 8 };

struct keep_kind {
    const char *magic; /* KEEP_MAGIC_BYTES characters */
    uint32_t version;  /* of the body; 0 means 1 */
    const char *what;  /* name in error messages: "memory of messages seen" */
    bool is_secret;    /* a file that others may read is refused, and its body is wiped */
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
 * Appends the body to *out_body (initialised). 0; KEEP_ABSENT when there is no such file;
 * HEARSAY_ERR_FILE when the file is of another kind or version, too large, damaged, or secret and
 * readable by others; HEARSAY_ERR_SYSTEM, HEARSAY_ERR_NOMEM. The file is never changed.
 */
enum { KEEP_ABSENT = 1 };
int keep_read(const char *path, const struct keep_kind *kind, struct bytes *out_body,
              struct hearsay_error *out_error);

/*
 * Reads the body of the file at `path` into *out_file. As keep_read, and HEARSAY_ERR_FILE when the
 * body is not a whole number of records. KEEP_ABSENT leaves the body empty. Call keep_close in any
 * case; *out_file may be zeros there.
 */
int keep_open(struct keep_file *out_file, const char *path, const struct keep_kind *kind,
              struct hearsay_error *out_error);
void keep_close(struct keep_file *file);

/*
 * Replaces or makes the file (mode 0600): writes a temporary file beside it, syncs and renames it.
 * 0; HEARSAY_ERR_SYSTEM or HEARSAY_ERR_NOMEM, and the old file is unchanged.
 */
int keep_write(const char *path, const struct keep_kind *kind, const struct bytes *body,
               struct hearsay_error *out_error);

/*
 * The same for a text file, which people may edit: it has no head and no checksum. Reading a file
 * over bytes_max is HEARSAY_ERR_FILE.
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

#endif
