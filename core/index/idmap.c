/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/idmap.h"

#include <string.h>

#include "core/base/err.h"
#include "core/base/hash.h"
#include "core/index/nearest.h"

enum {
    SLOTS_MIN = 16,
    ROOM_SPARE = 32, /* idmap_expect makes room for 1/32 more entries than expected */
    /*
     * Each insert or remove checks up to this many slots of the old table. So an old table of N
     * slots is empty after fewer than N / 8 changes, while the new table has space for about N / 4
     * more entries at least: a table grows from N slots, three quarters of them used, to N * 3 / 2,
     * and shrinks to N / 2 with fewer than N / 8 entries.
     */
    STEPS_PER_CHANGE = 16
};

static uint32_t tag_of(const struct idmap *map, const uint8_t *id)
{
    return (uint32_t)(hash_seeded(id, MESSAGE_ID_BYTES, map->seed) & UINT32_MAX);
}

static size_t next_of(const struct idmap_table *table, size_t slot)
{
    return slot + 1 < table->slot_count ? slot + 1 : 0;
}

/* The number of steps of next_of from slot `from` to slot `to`. */
static size_t steps_between(const struct idmap_table *table, size_t from, size_t to)
{
    return to >= from ? to - from : table->slot_count - from + to;
}

/* The number of entries that a table may have. At most three quarters of the slots are used, so
 * each probe ends at an empty slot. */
static size_t room_of(const struct idmap_table *table)
{
    return table->slot_count / 4 * 3;
}

static void table_release(const struct alloc *alloc, struct idmap_table *table)
{
    alloc_release(alloc, table->slots);
    *table = (struct idmap_table){0};
}

static void table_add(struct idmap_table *table, struct idmap_slot entry)
{
    size_t slot = idmap_home(table, entry.tag);

    while (table->slots[slot].place != 0) {
        slot = next_of(table, slot);
    }
    table->slots[slot] = entry;
    table->used++;
}

/* Returns the slot with exactly this entry, or NULL. */
static struct idmap_slot *table_entry(const struct idmap_table *table, struct idmap_slot entry)
{
    if (table->slot_count == 0) {
        return NULL;
    }
    for (size_t slot = idmap_home(table, entry.tag); table->slots[slot].place != 0;
         slot = next_of(table, slot)) {
        if (table->slots[slot].place == entry.place && table->slots[slot].tag == entry.tag) {
            return &table->slots[slot];
        }
    }
    return NULL;
}

/*
 * Empties the slot `hole` and closes the gap. The home of an entry is the slot at which probing for
 * the entry begins. A later entry moves into the empty slot if the entry's home is not between the
 * empty slot (exclusive) and the entry's slot (inclusive), in circular order.
 */
static void table_remove(struct idmap_table *table, size_t hole)
{
    for (size_t slot = next_of(table, hole); table->slots[slot].place != 0;
         slot = next_of(table, slot)) {
        size_t home = idmap_home(table, table->slots[slot].tag);

        if (steps_between(table, home, slot) >= steps_between(table, hole, slot)) {
            table->slots[hole] = table->slots[slot];
            hole = slot;
        }
    }
    table->slots[hole] = (struct idmap_slot){0};
    table->used--;
}

/*
 * Moves entries from the old table to the current one, checking at most `steps` slots, the last
 * slot first. So behind an entry that is removed there is an empty slot, and no gap to be closed,
 * unless a run of entries goes on at slot 0. Slots from `unswept` on stay empty: nothing is
 * inserted into the old table, and closing a gap moves entries only into the slot just emptied or
 * to slots before it.
 */
static void carry_over(struct idmap *map, size_t steps)
{
    for (; steps > 0 && map->old.used > 0; steps--) {
        size_t last = map->unswept - 1;
        struct idmap_slot entry = map->old.slots[last];

        if (entry.place == 0) {
            map->unswept = last;
            continue;
        }
        table_remove(&map->old, last);
        table_add(&map->current, entry);
    }
    if (map->old.slot_count > 0 && map->old.used == 0) {
        table_release(map->alloc, &map->old);
    }
}

static int begin_resize(struct idmap *map, size_t slot_count)
{
    struct idmap_slot *slots = alloc_zeroed(map->alloc, slot_count, sizeof(*slots));

    if (slots == NULL) {
        return -ERR_NOMEM;
    }
    carry_over(map, SIZE_MAX); /* done long since, by STEPS_PER_CHANGE */
    map->old = map->current;
    map->unswept = map->old.slot_count;
    map->current = (struct idmap_table){.slots = slots, .slot_count = slot_count, .used = 0};
    carry_over(map, 0); /* gives back an old table that is empty */
    return 0;
}

void idmap_init(struct idmap *map, const struct alloc *alloc, uint64_t seed)
{
    *map = (struct idmap){.alloc = alloc, .seed = seed};
}

void idmap_deinit(struct idmap *map)
{
    table_release(map->alloc, &map->current);
    table_release(map->alloc, &map->old);
}

int idmap_expect(struct idmap *map, size_t count)
{
    if (count > UINT32_MAX / 2) {
        return -ERR_NOMEM;
    }
    /* A few messages may come meanwhile, and a map that is full would grow by half. */
    size_t slot_count = (count + count / ROOM_SPARE + 3) / 3 * 4;

    return begin_resize(map, slot_count > SLOTS_MIN ? slot_count : SLOTS_MIN);
}

int idmap_reserve(struct idmap *map)
{
    size_t slot_count = map->current.slot_count;

    if (idmap_count(map) < room_of(&map->current)) {
        return 0;
    }
    if (slot_count > UINT32_MAX / 2) {
        return -ERR_NOMEM;
    }
    return begin_resize(map, slot_count == 0 ? SLOTS_MIN : slot_count + slot_count / 2);
}

void idmap_insert(struct idmap *map, const uint8_t *id, uint32_t position)
{
    carry_over(map, STEPS_PER_CHANGE);
    table_add(&map->current, (struct idmap_slot){.tag = tag_of(map, id), .place = position + 1});
}

static bool table_find(const struct idmap_table *table, uint32_t tag, const uint8_t *id,
                       idmap_id_at *id_at, const void *context, uint32_t *out_position)
{
    if (table->slot_count == 0) {
        return false;
    }
    for (size_t slot = idmap_home(table, tag); table->slots[slot].place != 0;
         slot = next_of(table, slot)) {
        uint32_t position = table->slots[slot].place - 1;

        if (table->slots[slot].tag == tag &&
            memcmp(id_at(context, position), id, MESSAGE_ID_BYTES) == 0) {
            *out_position = position;
            return true;
        }
    }
    return false;
}

bool idmap_find(const struct idmap *map, const uint8_t *id, idmap_id_at *id_at, const void *context,
                uint32_t *out_position)
{
    uint32_t tag = tag_of(map, id);

    return table_find(&map->current, tag, id, id_at, context, out_position) ||
           table_find(&map->old, tag, id, id_at, context, out_position);
}

void idmap_remove(struct idmap *map, const uint8_t *id, uint32_t position)
{
    struct idmap_slot entry = {.tag = tag_of(map, id), .place = position + 1};
    struct idmap_table *table = &map->current;
    struct idmap_slot *slot = table_entry(table, entry);

    if (slot == NULL) {
        table = &map->old;
        slot = table_entry(table, entry);
    }
    if (slot == NULL) {
        return;
    }
    table_remove(table, (size_t)(slot - table->slots));
    carry_over(map, STEPS_PER_CHANGE);
    if (map->old.slot_count == 0 && map->current.slot_count > SLOTS_MIN &&
        idmap_count(map) < map->current.slot_count / 8) {
        /* If there is no memory for a smaller table, the map keeps the larger table. */
        size_t half = map->current.slot_count / 2;

        (void)begin_resize(map, half > SLOTS_MIN ? half : SLOTS_MIN);
    }
}

void idmap_move(struct idmap *map, const uint8_t *id, uint32_t from, uint32_t to)
{
    struct idmap_slot entry = {.tag = tag_of(map, id), .place = from + 1};
    struct idmap_slot *slot = table_entry(&map->current, entry);

    if (slot == NULL) {
        slot = table_entry(&map->old, entry);
    }
    if (slot != NULL) {
        slot->place = to + 1;
    }
}

size_t idmap_count(const struct idmap *map)
{
    return map->current.used + map->old.used;
}

size_t idmap_bytes(const struct idmap *map)
{
    return (map->current.slot_count + map->old.slot_count) * sizeof(struct idmap_slot);
}
