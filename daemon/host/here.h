/* SPDX-License-Identifier: Apache-2.0 */
/*
 * here: labels that describe what is around the access point, for clients that cannot sense their
 * surroundings. The labels come from the configuration, and from a file (`here_file`).
 *
 * here_new turns text into labels. It opens no file; daemon/net/here_watch reads the file.
 */
#pragma once

#include "core/base/alloc.h"
#include "core/profile/encode.h"
#include "proto/msg.h"

enum {
    HERE_FILE_BYTES_MAX = 64 * 1024,
    HERE_REASON_BYTES = 512,
    HERE_LINES_NAMED = 8,
    HERE_LABEL_FRAME_BYTES = 3 /* bytes of a label in a frame besides its text */
};

/* The lines of a file that are left out because they are wrong. */
struct here_left_out {
    size_t count;
    unsigned lines[HERE_LINES_NAMED]; /* the first of them by number, in order */
};

struct here {
    const struct alloc *alloc;
    size_t bytes;      /* of this allocation */
    size_t lines_read; /* of the file: those with a label */
    struct here_left_out left_out;
    char *end; /* behind the last label, in `text` */
    size_t count;
    struct hearsay_text labels[LIMIT_LABELS]; /* count of them, into `text` */
    bool has_filter;                          /* as of here_filter, like `filter` */
    uint64_t filter[PROFILE_WORDS_MAX];       /* without a key */
    char text[];
};

/*
 * Reads labels from two texts: the configuration's and the file's. Each line is a label. Empty
 * lines and lines that begin with # are skipped. Blanks at both ends of a line are dropped. A label
 * that was read before is not added again. `frame_bytes` is the space for all labels in a frame. A
 * line of the file that is wrong is left out, because a program may have written it; out_reason
 * (HERE_REASON_BYTES) then says what is wrong with the first, and names the first few by number.
 *
 * Returns 0, and the caller owns *out_here (here_free); HERE_REFUSED with a sentence in out_reason,
 * if a line of the configuration is wrong, the file is too large, or nothing of it can be read; or
 * -ERR_NOMEM.
 */
enum { HERE_REFUSED = 1 };
int here_new(const struct alloc *alloc, const struct hearsay_text texts[2], size_t frame_bytes,
             struct here **out_here, char *out_reason);
void here_free(struct here *here); /* NULL is fine */

/* Removes blanks, tabs and carriage returns from both ends of [*begin, *end). */
void here_trim(const char **begin, const char **end);

/* Counts a wrong line. Adds to `reason`, if any line is wrong, how many are and which. */
void here_leave_out(struct here_left_out *left_out, unsigned line);
void here_name_left_out(const struct here_left_out *left_out, char *reason, size_t reason_bytes);

/* Bytes of all labels in a frame. */
size_t here_frame_bytes(const struct here *here);

/*
 * Makes the filter of the labels that each client adds: those of no access point, since a client's
 * own scan takes the place of these. Labels that the profile does not take are left out, as clients
 * leave them out. The labels are keyed with `key` (LIMIT_KEY_BYTES), an epoch's, unless it is NULL.
 * Returns whether a label is left. O(labels)
 */
bool here_filter(const struct profile *profile, const struct hearsay_text *labels, size_t count,
                 const uint8_t *key, uint64_t out_filter[PROFILE_WORDS_MAX]);

/* Whether a label, such as wifi:a4:2b:8c:01:02:03, is of an access point. */
bool here_is_wifi(const struct hearsay_text *label);

/* Adds a label as clients do, keyed unless `key` is NULL. False: the profile does not take it. */
bool here_encode(struct encoder *encoder, const struct hearsay_text *label, const uint8_t *key);

/* Whether both have the same labels in the same order. */
bool here_equal(const struct here *a, const struct here *b);
