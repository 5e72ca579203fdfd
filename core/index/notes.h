/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notes: a queue of the ids of messages that were inserted into an index or removed from it, while
 * a renewal (renewal.h) of that index runs. The index adds ids; the renewal takes them, oldest
 * first.
 *
 * notes_add returns no error, because the index has already been changed. So `failure` stores the
 * error and all notes are freed; the next call of renewal_copy or renewal_follow returns the error.
 */
#ifndef CORE_INDEX_NOTES_H
#define CORE_INDEX_NOTES_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/alloc.h"

/* Error: the queue would have more than `most` notes. */
enum { NOTES_FULL = 1 };

struct notes {
    const struct alloc *alloc; /* borrowed */
    struct note_block *oldest; /* a list of blocks of ids */
    struct note_block *newest;
    size_t count;   /* notes that wait */
    size_t most;    /* most notes that may wait */
    uint64_t added; /* all notes since notes_init, with those that were taken */
    int failure;    /* 0, NOTES_FULL, -ERR_NOMEM */
};

void notes_init(struct notes *notes, const struct alloc *alloc, size_t most);
void notes_deinit(struct notes *notes);

/* Adds an id (MESSAGE_ID_BYTES). Does nothing after a failure. */
void notes_add(struct notes *notes, const uint8_t *id);

/* Takes the oldest note out; `count` must not be 0. */
void notes_take(struct notes *notes, uint8_t *out_id);

#endif
