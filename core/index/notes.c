/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/engine.h"

#include <string.h>

#include "core/base/err.h"

enum { NOTES_A_BLOCK = 1024 };

struct note_block {
    struct note_block *next;
    uint32_t begin; /* the oldest id that waits */
    uint32_t end;   /* behind the newest one */
    uint8_t ids[NOTES_A_BLOCK][MESSAGE_ID_BYTES];
};

void notes_init(struct notes *notes, const struct alloc *alloc, size_t most)
{
    *notes = (struct notes){.alloc = alloc, .most = most};
}

void notes_deinit(struct notes *notes)
{
    while (notes->oldest != NULL) {
        struct note_block *block = notes->oldest;

        notes->oldest = block->next;
        alloc_release(notes->alloc, block);
    }
    notes->newest = NULL;
    notes->count = 0;
}

static void fail_notes(struct notes *notes, int failure)
{
    notes->failure = failure;
    notes_deinit(notes);
}

/*
 * Returns the newest block. If there is no block, or if the newest block is full, appends a new
 * block and returns it. Returns NULL without memory.
 */
static struct note_block *block_to_fill(struct notes *notes)
{
    if (notes->newest != NULL && notes->newest->end < NOTES_A_BLOCK) {
        return notes->newest;
    }
    struct note_block *block = alloc_array(notes->alloc, 1, sizeof(*block));
    if (block == NULL) {
        return NULL;
    }
    block->next = NULL;
    block->begin = 0;
    block->end = 0;
    if (notes->newest != NULL) {
        notes->newest->next = block;
    } else {
        notes->oldest = block;
    }
    notes->newest = block;
    return block;
}

void notes_add(struct notes *notes, const uint8_t *id)
{
    if (notes->failure != 0) {
        return;
    }
    if (notes->count == notes->most) {
        fail_notes(notes, NOTES_FULL);
        return;
    }
    struct note_block *block = block_to_fill(notes);
    if (block == NULL) {
        fail_notes(notes, -ERR_NOMEM);
        return;
    }
    memcpy(block->ids[block->end++], id, MESSAGE_ID_BYTES);
    notes->count++;
    notes->added++;
}

void notes_take(struct notes *notes, uint8_t *out_id)
{
    struct note_block *block = notes->oldest;

    memcpy(out_id, block->ids[block->begin++], MESSAGE_ID_BYTES);
    notes->count--;
    if (block->begin == NOTES_A_BLOCK) {
        notes->oldest = block->next;
        notes->newest = block->next == NULL ? NULL : notes->newest;
        alloc_release(notes->alloc, block);
    }
}
