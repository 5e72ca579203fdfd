/* SPDX-License-Identifier: Apache-2.0 */
/*
 * here: the labels of what is around the access point, for clients that cannot look themselves:
 * those of the configuration and those of a file that a scan script keeps up to date.
 *
 * Text in, labels out: no file is opened here (here_watch does that).
 */
#ifndef DAEMON_HOST_HERE_H
#define DAEMON_HOST_HERE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/alloc.h"
#include "proto/msg.h"

enum {
    HERE_FILE_BYTES_MAX = 64 * 1024,
    HERE_REASON_BYTES = 512,
    HERE_LABEL_FRAME_BYTES = 3 /* what a label takes in a frame besides its text */
};

struct here {
    const struct alloc *alloc;
    size_t bytes; /* of this allocation */
    size_t count;
    struct msg_text labels[LIMIT_LABELS]; /* count of them, into `text` */
    char text[];
};

/*
 * Reads labels, one a line, of two texts: blank lines and lines that begin with # are passed over,
 * blanks at the ends of a line are no part of it, what is there already is not added again. 0 with
 * *out_here owned (here_free); HERE_REFUSED with a sentence in out_reason (HERE_REASON_BYTES) that
 * names the line of the second text; -ERR_NOMEM. frame_bytes: what all labels together may take of
 * a frame.
 */
enum { HERE_REFUSED = 1 };
int here_new(const struct alloc *alloc, const struct msg_text texts[2], size_t frame_bytes,
             struct here **out_here, char *out_reason);
void here_free(struct here *here); /* NULL is fine */

/* What the labels take of a frame. */
size_t here_frame_bytes(const struct here *here);

/* Whether both have the same labels in the same order. */
bool here_equal(const struct here *a, const struct here *b);

#endif
