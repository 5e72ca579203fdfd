/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy: copies all messages out for a renewal, or visits them, one node in each call. The cursor
 * visits the nodes from the last to the first. Of the cursor's fields, only `left` is used;
 * tree_cursors_replaced updates `left` when nodes are added or freed. It does no harm if messages
 * move to other slots of their node between two calls, because a call copies a whole node.
 */
#include <assert.h>

#include "core/tree/walk.h"

static_assert((int)TREE_SLOTS <= (int)INDEX_COPY_MAX, "a node is copied at once");

int tree_cursor_copy(void *engine, void *cursor, struct index_item *out_items,
                     uint64_t *out_filters, size_t *out_count)
{
    const struct tree *tree = engine;
    struct tree_cursor *c = cursor;
    size_t count = 0;

    if (c->left > 0) {
        struct tree_node *node = tree->nodes[--c->left];

        for (uint32_t g = 0; g < node->group_count; g++) {
            for (uint32_t i = 0; i < node->groups[g].used; i++) {
                struct tree_spot spot = {node, (uint32_t)node->groups[g].first + i};

                out_items[count] = *tree_item(spot);
                tree_read_filter(tree, spot, out_filters + count * tree->words);
                count++;
            }
        }
    }
    *out_count = count;
    return c->left > 0 ? INDEX_MORE : 0;
}

int tree_cursor_visit(void *engine, void *cursor, index_visit *visit, void *context)
{
    const struct tree *tree = engine;
    struct tree_cursor *c = cursor;

    if (c->left > 0) {
        struct tree_node *node = tree->nodes[--c->left];

        for (uint32_t g = 0; g < node->group_count; g++) {
            uint32_t first = node->groups[g].first;

            for (uint32_t slot = first; slot < first + node->groups[g].used; slot++) {
                visit(context, &node->items[slot], node->cardinalities[slot],
                      tree_block(tree, node, slot) + slot % BITS_BLOCK, BITS_BLOCK);
            }
        }
    }
    return c->left > 0 ? INDEX_MORE : 0;
}
