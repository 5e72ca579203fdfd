/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy: copies all messages out for a renewal, or visits them: first those in slots, one node in
 * each call, then the twins. The cursor visits the nodes from the last to the first. Of the
 * cursor's fields, only `left` and `twins_left` are used; tree_cursors_replaced updates `left` when
 * nodes are added or freed. It does no harm if messages move to other slots of their node between
 * two calls, because a call copies a whole node. A twin keeps its number, and no message in a slot
 * becomes a twin.
 */

#include "core/tree/walk.h"

static_assert((int)TREE_SLOTS <= (int)INDEX_COPY_MAX, "a node is copied at once");

/* Returns the number of the next twin; 0 if there is none, or if `limit` twins were passed. */
static uint32_t next_twin(const struct tree *tree, struct tree_cursor *cursor, uint32_t *limit)
{
    if (cursor->twins_left > tree->twin_room) {
        cursor->twins_left = tree->twin_room; /* all twins were removed meanwhile */
    }
    while (cursor->twins_left > 0 && *limit > 0) {
        uint32_t twin = cursor->twins_left--;

        (*limit)--;
        if (tree_twin(tree, twin)->entry != 0) {
            return twin;
        }
    }
    return 0;
}

static struct tree_spot spot_of_twin(const struct tree *tree, uint32_t twin)
{
    return tree_spot_at(tree, tree->entries[tree_twin(tree, twin)->entry].position);
}

static int state_of(const struct tree_cursor *cursor)
{
    return cursor->left > 0 || cursor->twins_left > 0 ? INDEX_MORE : 0;
}

static size_t copy_twins(const struct tree *tree, struct tree_cursor *cursor,
                         struct index_item *out_items, uint64_t *out_filters)
{
    uint32_t limit = INDEX_COPY_MAX;
    size_t count = 0;

    for (uint32_t twin = next_twin(tree, cursor, &limit); twin != 0;
         twin = next_twin(tree, cursor, &limit)) {
        out_items[count] = tree_twin(tree, twin)->item;
        tree_read_filter(tree, spot_of_twin(tree, twin), out_filters + count * tree->words);
        count++;
    }
    return count;
}

static void visit_twins(const struct tree *tree, struct tree_cursor *cursor, index_visit *visit,
                        void *context)
{
    uint32_t limit = INDEX_COPY_MAX;

    for (uint32_t twin = next_twin(tree, cursor, &limit); twin != 0;
         twin = next_twin(tree, cursor, &limit)) {
        struct tree_spot spot = spot_of_twin(tree, twin);

        visit(context, &tree_twin(tree, twin)->item, tree_cardinality(spot),
              tree_block(tree, spot.node, spot.slot) + spot.slot % BITS_BLOCK, BITS_BLOCK);
    }
}

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

                if (tree_is_gone(tree, spot)) {
                    continue;
                }
                out_items[count] = *tree_item(spot);
                tree_read_filter(tree, spot, out_filters + count * tree->words);
                count++;
            }
        }
    } else {
        count = copy_twins(tree, c, out_items, out_filters);
    }
    *out_count = count;
    return state_of(c);
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
                if (!tree_is_gone(tree, (struct tree_spot){node, slot})) {
                    visit(context, &node->items[slot], *tree_counts(node, slot),
                          tree_block(tree, node, slot) + slot % BITS_BLOCK, BITS_BLOCK);
                }
            }
        }
    } else {
        visit_twins(tree, c, visit, context);
    }
    return state_of(c);
}
