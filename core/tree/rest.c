/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rest: what a step of a search leaves of an entry to the next step (walk.h). A rest names the twin
 * that is next. A twin keeps its number until it is removed, and then the rest goes on with the
 * next older one.
 */
#include <string.h>

#include "core/tree/walk.h"

bool walk_leave_rest(struct walk *walk, uint32_t twin, uint32_t overlap)
{
    enum { FIRST_ROOM = 16 };
    struct tree_cursor *cursor = walk->cursor;
    const struct alloc *alloc = walk->tree->alloc;

    if (cursor->rest_count == cursor->rest_room) {
        uint32_t room = cursor->rest_room == 0 ? FIRST_ROOM : 2 * cursor->rest_room;
        struct walk_rest *rests = alloc_array(alloc, room, sizeof(*rests));

        if (rests == NULL) {
            return false;
        }
        if (cursor->rest_count > 0) {
            memcpy(rests, cursor->rests, cursor->rest_count * sizeof(*rests));
        }
        alloc_release(alloc, cursor->rests);
        cursor->rests = rests;
        cursor->rest_room = room;
    }
    cursor->rests[cursor->rest_count++] = (struct walk_rest){twin, overlap};
    return true;
}

void tree_cursors_parted(struct tree *tree, uint32_t twin, uint32_t older)
{
    for (struct tree_cursor *c = tree->cursors; c != NULL; c = c->next) {
        for (uint32_t i = 0; i < c->rest_count; i++) {
            if (c->rests[i].twin == twin) {
                c->rests[i].twin = older;
            }
        }
    }
}
