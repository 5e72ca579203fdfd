/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keep: small files that remember something from one run to the next. Within libhearsay only.
 *
 *   8 bytes   what kind of file it is
 *   4 bytes   version
 *   n bytes   the body
 *   8 bytes   XXH3-64 of all before it, seed 0
 *
 * Numbers are little-endian. A file is read whole and checked whole, and replaced whole: whoever
 * reads it sees the old one or the new one, also after a crash.
 */
#ifndef CLIENT_KEEP_H
#define CLIENT_KEEP_H

#include "client/hearsay.h"
#include "proto/bytes.h"

enum { KEEP_MAGIC_BYTES = 8 };

struct keep_kind {
    const char *magic; /* KEEP_MAGIC_BYTES characters */
    uint32_t version;  /* of the body; 0: 1 */
    const char *what;  /* in sentences: "memory of messages seen" */
    bool is_secret;    /* a file that others may read is refused */
    size_t body_bytes_max;
};

/*
 * A secret that others may read is no secret. HEARSAY_ERR_FILE where the file is regular and the
 * user's own, and its group or others have any right on it (as ssh does for keys); else 0.
 */
struct stat;
int keep_check_private(const char *path, const struct stat *info, struct hearsay_error *out_error);

/*
 * Reads the body into *out_body (initialised, appended to). 0; KEEP_ABSENT when there is no such
 * file; HEARSAY_ERR_FILE when it is of another kind or version, too large or damaged, or secret and
 * readable by others;
 * HEARSAY_ERR_SYSTEM, HEARSAY_ERR_NOMEM. The file is never changed.
 */
enum { KEEP_ABSENT = 1 };
int keep_read(const char *path, const struct keep_kind *kind, struct bytes *out_body,
              struct hearsay_error *out_error);

/*
 * Replaces the file, or makes it (mode 0600): beside it first, then renamed when it is on storage.
 * 0, HEARSAY_ERR_SYSTEM, HEARSAY_ERR_NOMEM; the old file is as it was then.
 */
int keep_write(const char *path, const struct keep_kind *kind, const struct bytes *body,
               struct hearsay_error *out_error);

/*
 * The same for a file of text, which people may edit: whole, without head and checksum. Reading:
 * one over bytes_max is HEARSAY_ERR_FILE.
 */
int keep_read_text(const char *path, size_t bytes_max, struct bytes *out_text,
                   struct hearsay_error *out_error);
int keep_write_text(const char *path, const struct bytes *text, struct hearsay_error *out_error);

/* Little-endian numbers; append: 0 or -ERR_NOMEM. */
int keep_append_u32(struct bytes *bytes, uint32_t value);
int keep_append_u64(struct bytes *bytes, uint64_t value);
uint32_t keep_u32(const uint8_t *bytes);
uint64_t keep_u64(const uint8_t *bytes);

#endif
