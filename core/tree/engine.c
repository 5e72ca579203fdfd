/* SPDX-License-Identifier: Apache-2.0 */
#include "core/tree/engine.h"

#include "core/base/err.h"
#include "core/filter/bloom.h"
#include "core/tree/inner.h"

static int tree_create(const struct index_options *options, void **out_engine)
{
    struct tree *tree = alloc_zeroed(options->alloc, 1, sizeof(*tree));

    if (tree == NULL) {
        return -ERR_NOMEM;
    }
    tree->alloc = options->alloc;
    tree->kernels = options->kernels;
    tree->bits = options->profile->bits;
    tree->section_count = options->profile->section_count;
    for (uint32_t s = 0; s < tree->section_count; s++) {
        const struct profile_section *section = &options->profile->sections[s];

        tree->sections[s] =
            (struct tree_section){(uint16_t)section->first_bit, (uint16_t)section->bits};
    }
    tree->words = bloom_words(tree->bits);
    tree->fanout = TREE_GROUPS;
    tree->seed = options->hash_seed;
    tree->small_most = TREE_SMALL_MOST;
    idmap_init(&tree->ids, options->alloc, options->hash_seed);
    *out_engine = tree;
    return 0;
}

static int tree_expect(void *engine, size_t count)
{
    struct tree *tree = engine;

    return idmap_expect(&tree->ids, count);
}

static void tree_destroy(void *engine)
{
    struct tree *tree = engine;

    if (tree == NULL) {
        return;
    }
    for (uint32_t n = 0; n < tree->node_count; n++) {
        tree_node_free(tree, tree->nodes[n]);
    }
    alloc_release(tree->alloc, tree->nodes);
    alloc_release(tree->alloc, tree->by_number);
    tree_free_summaries(tree);
    tree_free_entries(tree);
    idmap_deinit(&tree->ids);
    alloc_release(tree->alloc, tree);
}

static int tree_find(const void *engine, const uint8_t *id, struct index_item *out_item,
                     uint64_t *out_filter)
{
    const struct tree *tree = engine;
    uint32_t position = 0;

    if (!idmap_find(&tree->ids, id, tree_id_at, tree, &position)) {
        return INDEX_NOT_FOUND;
    }
    if (out_item != NULL) {
        *out_item = *tree_item_at(tree, position);
    }
    if (position >= TREE_TWIN) {
        position = tree->entries[tree_twin(tree, position - TREE_TWIN)->entry].position;
    }
    if (out_filter != NULL) {
        tree_read_filter(tree, tree_spot_at(tree, position), out_filter);
    }
    return 0;
}

static void tree_mark(void *engine, uint32_t place, uint32_t mark)
{
    const struct tree *tree = engine;
    size_t slots = (size_t)tree->node_room * TREE_SLOTS;

    tree_item_at(tree, place < slots ? place : (uint32_t)(TREE_TWIN + place - slots))->mark = mark;
}

static void shift_group(const struct tree *tree, struct tree_node *node, struct tree_group *group,
                        int64_t from_ms, int64_t by_ms, struct notes *notes)
{
    for (uint32_t slot = group->first; slot < (uint32_t)group->first + group->used; slot++) {
        struct index_item *item = &node->items[slot];

        if (item->deposited_ms >= from_ms && !tree_is_gone(tree, (struct tree_spot){node, slot})) {
            item->deposited_ms += by_ms;
            item->expires_ms += by_ms;
            if (notes != NULL) {
                notes_add(notes, item->id);
            }
        }
    }
    group->newest_ms += group->newest_ms >= from_ms ? by_ms : 0;
}

static void tree_shift(void *engine, int64_t from_ms, int64_t by_ms, struct notes *notes)
{
    struct tree *tree = engine;

    tree_shift_twins(tree, from_ms, by_ms, notes);
    for (uint32_t n = 0; n < tree->node_count; n++) {
        struct tree_node *node = tree->nodes[n];

        for (uint32_t g = 0; g < node->group_count; g++) {
            shift_group(tree, node, &node->groups[g], from_ms, by_ms, notes);
        }
        node->newest_ms += node->newest_ms >= from_ms ? by_ms : 0;
    }
}

static size_t tree_count(const void *engine)
{
    const struct tree *tree = engine;

    return tree->message_count;
}

static size_t tree_places(const void *engine)
{
    const struct tree *tree = engine;

    return (size_t)tree->node_room * TREE_SLOTS + tree->twin_room + 1;
}

static size_t tree_bytes(const void *engine)
{
    const struct tree *tree = engine;
    size_t slots_bytes = 0;

    for (uint32_t n = 0; n < tree->node_count; n++) {
        slots_bytes += tree_slots_bytes(tree, tree->nodes[n]->slot_room);
    }
    return sizeof(*tree) + 2 * (size_t)tree->node_room * sizeof(struct tree_node *) +
           tree->node_count * tree_node_bytes(tree) + slots_bytes + tree_summary_bytes(tree) +
           tree_entries_bytes(tree) + idmap_bytes(&tree->ids);
}

static uint32_t tree_height(const void *engine)
{
    const struct tree *tree = engine;

    if (tree->node_count == 0) {
        return 1;
    }
    return tree->summary_count > 0 ? 4 : 3;
}

static int64_t tree_soonest_ms(const void *engine)
{
    const struct tree *tree = engine;
    int64_t soonest_ms = INT64_MAX;

    for (uint32_t n = 0; n < tree->node_count; n++) {
        struct tree_node *node = tree->nodes[n];

        for (uint32_t g = 0; g < node->group_count; g++) {
            for (uint32_t i = 0; i < node->groups[g].used; i++) {
                struct tree_spot spot = {node, (uint32_t)node->groups[g].first + i};
                int64_t expires_ms = tree_item(spot)->expires_ms;

                soonest_ms =
                    expires_ms < soonest_ms && !tree_is_gone(tree, spot) ? expires_ms : soonest_ms;
            }
        }
    }
    for (uint32_t twin = 1; twin <= tree->twin_room; twin++) {
        const struct tree_twin *it = tree_twin(tree, twin);

        if (it->entry != 0 && it->item.expires_ms < soonest_ms) {
            soonest_ms = it->item.expires_ms;
        }
    }
    return soonest_ms;
}

static int tree_arrange(void *engine, const struct index_stop *stop)
{
    struct tree *tree = engine;

    tree->stop = stop;
    int rc = tree_rebuild(tree);
    tree->stop = NULL;
    return rc;
}

static void tree_wear(const void *engine, struct index_wear *out_wear)
{
    const struct tree *tree = engine;

    out_wear->removed = tree->removed;
    for (uint32_t n = 0; n < tree->node_count; n++) {
        out_wear->unarranged += tree->nodes[n]->is_arranged ? 0 : tree->nodes[n]->entry_count;
    }
}

const struct index_engine tree_engine = {
    .name = "tree",
    .create = tree_create,
    .destroy = tree_destroy,
    .insert = tree_insert,
    .remove = tree_remove,
    .shift = tree_shift,
    .find = tree_find,
    .expect = tree_expect,
    .count = tree_count,
    .places = tree_places,
    .bytes = tree_bytes,
    .height = tree_height,
    .soonest_ms = tree_soonest_ms,
    .arrange = tree_arrange,
    .wear = tree_wear,
    .cursor_new = tree_cursor_new,
    .cursor_free = tree_cursor_free,
    .cursor_restart = tree_cursor_restart,
    .cursor_step = tree_cursor_step,
    .cursor_copy = tree_cursor_copy,
    .cursor_visit = tree_cursor_visit,
    .mark = tree_mark,
};
