/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entry: messages that share a slot because their filters are equal and their reach is.
 *
 * A board of posters has many messages with the same few labels. A search would compare each of
 * them, and all would tie. So a message whose filter and reach are those of a message in a slot
 * becomes a twin of that message: both are one entry, which is compared once. A message keeps its
 * place, the slot or the twin's number, until it is removed, so that a walk over all messages
 * misses none.
 *
 * Hints say in which entry a filter may be. A hint may be wrong or missing: then the message gets a
 * slot of its own, and searches are right all the same.
 */
#include <string.h>

#include "core/base/err.h"
#include "core/base/hash.h"
#include "core/tree/inner.h"

enum {
    CHUNK = TREE_TWIN_CHUNK,
    FIRST_ROOM = 16,  /* entries and chunks allocated first */
    FIRST_HINTS = 64, /* hints, a power of two */
    SLOTS_A_HINT = 8, /* about how many slots are in use for each hint, at most */
    STEPS = 64        /* twins that a new twin is compared with to find its place, at most */
};

/* --- storage ---------------------------------------------------------------------------------- */

/* Allocates a longer copy of an array, filled up with zeros. NULL without memory: the array stays
 * as it is. */
static void *grown_array(const struct tree *tree, void *array, size_t count, size_t room,
                         size_t size)
{
    void *copy = alloc_zeroed(tree->alloc, room, size);

    if (copy != NULL && count > 0) {
        memcpy(copy, array, count * size);
    }
    if (copy != NULL) {
        alloc_release(tree->alloc, array);
    }
    return copy;
}

/* Makes sure that the list of free twins is not empty. 0 or -ERR_NOMEM. */
static int reserve_twin(struct tree *tree)
{
    uint32_t chunk = tree->twin_room / CHUNK;

    if (tree->free_twin != 0) {
        return 0;
    }
    if (tree->twin_room > TREE_TWIN - CHUNK) {
        return -ERR_NOMEM;
    }
    if (chunk == tree->chunk_room) {
        uint32_t room = chunk == 0 ? FIRST_ROOM : 2 * chunk;
        struct tree_twin **twins = grown_array(tree, tree->twins, chunk, room, sizeof(*twins));

        if (twins == NULL) {
            return -ERR_NOMEM;
        }
        tree->twins = twins;
        tree->chunk_room = room;
    }
    tree->twins[chunk] = alloc_zeroed(tree->alloc, CHUNK, sizeof(**tree->twins));
    if (tree->twins[chunk] == NULL) {
        return -ERR_NOMEM;
    }
    tree->twin_room += CHUNK;
    for (uint32_t i = CHUNK; i > 0; i--) {
        uint32_t twin = chunk * CHUNK + i;

        tree_twin(tree, twin)->older = tree->free_twin;
        tree->free_twin = twin;
    }
    return 0;
}

/* The same for entries. */
static int reserve_entry(struct tree *tree)
{
    uint32_t count = tree->entry_room;

    if (tree->free_entry != 0) {
        return 0;
    }
    if (count >= TREE_TWIN / 2) {
        return -ERR_NOMEM;
    }
    uint32_t room = count == 0 ? FIRST_ROOM : 2 * count;
    struct tree_entry *entries = grown_array(tree, tree->entries, count, room, sizeof(*entries));
    if (entries == NULL) {
        return -ERR_NOMEM;
    }
    tree->entries = entries;
    tree->entry_room = room;
    for (uint32_t entry = room - 1; entry > 0 && entry >= count; entry--) {
        entries[entry].position = tree->free_entry;
        tree->free_entry = entry;
    }
    return 0;
}

static void release_chunks(struct tree *tree)
{
    for (uint32_t chunk = 0; chunk < tree->twin_room / CHUNK; chunk++) {
        alloc_release(tree->alloc, tree->twins[chunk]);
    }
    alloc_release(tree->alloc, tree->twins);
    tree->twins = NULL;
    tree->twin_room = 0;
    tree->chunk_room = 0;
    tree->twin_count = 0;
    tree->free_twin = 0;
}

void tree_free_entries(struct tree *tree)
{
    release_chunks(tree);
    alloc_release(tree->alloc, tree->entries);
    alloc_release(tree->alloc, tree->hints);
}

size_t tree_entries_bytes(const struct tree *tree)
{
    return tree->twin_room * sizeof(**tree->twins) + tree->chunk_room * sizeof(*tree->twins) +
           tree->entry_room * sizeof(*tree->entries) + tree->hint_room * sizeof(*tree->hints);
}

/* --- hints ------------------------------------------------------------------------------------ */

/*
 * The hint of a filter: 0, or 1 + the position of a slot, or TREE_TWIN + the number of an entry. An
 * entry keeps its number when it moves to another slot, so its hint stays right.
 */
static uint32_t *hint_of(const struct tree *tree, uint64_t hash)
{
    return &tree->hints[hash & (tree->hint_room - 1)];
}

uint64_t tree_hash(const struct tree *tree, const struct index_item *item, const uint64_t *filter)
{
    return hash_seeded(filter, tree->words * sizeof(*filter), tree->seed ^ item->reach_ppm);
}

/* Doubles the hints, if slots are many. The new hints are empty: a message that comes again gives
 * its hint anew. */
int tree_reserve_hints(struct tree *tree)
{
    size_t room = tree->hint_room == 0 ? FIRST_HINTS : 2 * tree->hint_room;

    if (tree->hint_room > 0 && tree->count <= tree->hint_room * SLOTS_A_HINT) {
        return 0;
    }
    uint32_t *hints = alloc_zeroed(tree->alloc, room, sizeof(*hints));
    if (hints == NULL) {
        return -ERR_NOMEM;
    }
    alloc_release(tree->alloc, tree->hints);
    tree->hints = hints;
    tree->hint_room = room;
    return 0;
}

void tree_hint(struct tree *tree, struct tree_spot spot, uint64_t hash)
{
    *hint_of(tree, hash) = 1 + tree_position(spot);
}

/* Returns whether a position is that of a slot in use. */
static bool is_in_use(const struct tree *tree, uint32_t position)
{
    uint32_t number = position / TREE_SLOTS;
    const struct tree_node *node = number < tree->node_room ? tree->by_number[number] : NULL;
    uint32_t slot = position % TREE_SLOTS;

    return node != NULL && slot < node->slot_count &&
           (node->entries[slot] != 0 || node->items[slot].expires_ms != INT64_MIN);
}

/* Finds a slot in use with this filter and this reach, if the hint is right. */
static bool find_equal(const struct tree *tree, const struct index_item *item,
                       const uint64_t *filter, uint64_t hash, struct tree_spot *out_spot)
{
    uint64_t other[PROFILE_WORDS_MAX];
    uint32_t hint = *hint_of(tree, hash);
    uint32_t position = hint - 1;

    if (hint == 0) {
        return false;
    }
    if (hint >= TREE_TWIN) {
        const struct tree_entry *entry = &tree->entries[hint - TREE_TWIN];

        if (entry->newest == 0) {
            return false;
        }
        position = entry->position;
    }
    if (!is_in_use(tree, position)) {
        return false;
    }
    *out_spot = tree_spot_at(tree, position);
    tree_read_filter(tree, *out_spot, other);
    return tree_item(*out_spot)->reach_ppm == item->reach_ppm &&
           memcmp(other, filter, tree->words * sizeof(*filter)) == 0;
}

/* --- twins in order --------------------------------------------------------------------------- */

static int64_t twin_ms(const struct tree *tree, uint32_t twin)
{
    return tree_twin(tree, twin)->item.deposited_ms;
}

/*
 * Finds the twin that a new twin comes before: it is no newer than the new one. 0: it comes last.
 * Looks from the newest on, because most messages are newer than all others, and from the twin that
 * came last on, because a renewal copies twins about in order. Returns whether it was found within
 * STEPS steps each.
 */
static bool find_older(const struct tree *tree, const struct tree_entry *entry,
                       int64_t deposited_ms, uint32_t *out_older)
{
    const uint32_t starts[] = {entry->newest, entry->latest};

    for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
        uint32_t at = starts[i];
        uint32_t steps = 0;

        for (; steps < STEPS && at != 0 && twin_ms(tree, at) > deposited_ms; steps++) {
            at = tree_twin(tree, at)->older;
        }
        for (; steps < STEPS && at != 0 && tree_twin(tree, at)->newer != 0 &&
               twin_ms(tree, tree_twin(tree, at)->newer) <= deposited_ms;
             steps++) {
            at = tree_twin(tree, at)->newer;
        }
        if (steps < STEPS) {
            *out_older = at;
            return true;
        }
    }
    return false;
}

/* Puts a twin before `older`; 0: at the end. */
static void link_twin(struct tree *tree, struct tree_entry *entry, uint32_t twin, uint32_t older)
{
    uint32_t newer = older != 0 ? tree_twin(tree, older)->newer : entry->oldest;

    tree_twin(tree, twin)->older = older;
    tree_twin(tree, twin)->newer = newer;
    *(newer != 0 ? &tree_twin(tree, newer)->older : &entry->newest) = twin;
    *(older != 0 ? &tree_twin(tree, older)->newer : &entry->oldest) = twin;
    entry->latest = twin;
}

static void unlink_twin(struct tree *tree, struct tree_entry *entry, const struct tree_twin *twin)
{
    *(twin->newer != 0 ? &tree_twin(tree, twin->newer)->older : &entry->newest) = twin->older;
    *(twin->older != 0 ? &tree_twin(tree, twin->older)->newer : &entry->oldest) = twin->newer;
    entry->latest = entry->newest;
}

/* Takes a free twin and, if the slot has no entry, a free entry. Returns the twin. */
static uint32_t new_twin(struct tree *tree, struct tree_spot spot, const struct index_item *item)
{
    uint32_t *number = &spot.node->entries[spot.slot];
    uint32_t twin = tree->free_twin;

    if (*number == 0) {
        *number = tree->free_entry;
        tree->free_entry = tree->entries[*number].position;
        tree->entries[*number] = (struct tree_entry){.position = tree_position(spot)};
    }
    tree->free_twin = tree_twin(tree, twin)->older;
    *tree_twin(tree, twin) = (struct tree_twin){.item = *item, .entry = *number};
    tree->twin_count++;
    return twin;
}

bool tree_join(struct tree *tree, const struct index_item *item, const uint64_t *filter,
               uint64_t hash)
{
    struct tree_spot spot;
    uint32_t older = 0;

    if (!find_equal(tree, item, filter, hash, &spot)) {
        return false;
    }
    uint32_t number = spot.node->entries[spot.slot];
    if ((number != 0 && !find_older(tree, &tree->entries[number], item->deposited_ms, &older)) ||
        reserve_twin(tree) != 0 || (number == 0 && reserve_entry(tree) != 0)) {
        return false;
    }
    uint32_t twin = new_twin(tree, spot, item);
    number = spot.node->entries[spot.slot];
    link_twin(tree, &tree->entries[number], twin, older);
    tree_widen_time(spot, item->deposited_ms);
    idmap_insert(&tree->ids, item->id, TREE_TWIN + twin);
    tree->message_count++;
    *hint_of(tree, hash) = TREE_TWIN + number;
    return true;
}

/* Removes a twin. Returns whether its slot has no message any more. */
static bool part_twin(struct tree *tree, uint32_t twin, struct tree_spot *out_spot)
{
    uint32_t number = tree_twin(tree, twin)->entry;
    struct tree_entry *entry = &tree->entries[number];
    bool is_last = false;

    *out_spot = tree_spot_at(tree, entry->position);
    tree_cursors_parted(tree, twin, tree_twin(tree, twin)->older);
    unlink_twin(tree, entry, tree_twin(tree, twin));
    *tree_twin(tree, twin) = (struct tree_twin){.older = tree->free_twin};
    tree->free_twin = twin;
    tree->twin_count--;
    if (entry->newest == 0) {
        is_last = entry->founder_gone;
        *entry = (struct tree_entry){.position = tree->free_entry};
        tree->free_entry = number;
        out_spot->node->entries[out_spot->slot] = 0;
    }
    if (tree->twin_count == 0) {
        release_chunks(tree);
    }
    return is_last;
}

bool tree_part(struct tree *tree, uint32_t position, struct tree_spot *out_spot)
{
    bool is_last = true;

    if (position >= TREE_TWIN) {
        is_last = part_twin(tree, position - TREE_TWIN, out_spot);
    } else {
        *out_spot = tree_spot_at(tree, position);
        uint32_t number = out_spot->node->entries[out_spot->slot];
        if (number != 0) {
            struct index_item *item = tree_item(*out_spot);

            *item = (struct index_item){
                .deposited_ms = INT64_MIN, .expires_ms = INT64_MIN, .reach_ppm = item->reach_ppm};
            tree->entries[number].founder_gone = true;
            is_last = false;
        }
    }
    if (!is_last) {
        tree_narrow_time(tree, *out_spot);
    }
    return is_last;
}

/* --- times shifted ---------------------------------------------------------------------------- */

void tree_shift_twins(struct tree *tree, int64_t from_ms, int64_t by_ms, struct notes *notes)
{
    for (uint32_t number = 0; number < tree->entry_room; number++) {
        uint32_t twin = tree->entries[number].newest;

        while (twin != 0 && twin_ms(tree, twin) >= from_ms) {
            struct index_item *item = &tree_twin(tree, twin)->item;

            item->deposited_ms += by_ms;
            item->expires_ms += by_ms;
            if (notes != NULL) {
                notes_add(notes, item->id);
            }
            twin = tree_twin(tree, twin)->older;
        }
    }
}
