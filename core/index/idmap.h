/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idmap: maps a message id to a position, for an engine that keeps the ids itself.
 *
 * Open addressing, linear probing, no tombstones: a removal shifts back the entries that follow. A
 * slot holds a position and 32 bits of the id's seeded hash, so growing and shrinking read no id.
 * The map grows by half, and a tag is scaled to the number of slots. So at least half of the slots
 * of a growing map are used, once the old table is empty. The map grows and shrinks without a long
 * pause: the old table stays beside the new table, and each insert or remove moves a few entries
 * over. Only idmap_reserve returns an error.
 *
 *   old      [ entries that are still to be moved | unswept: empty ]
 *   current  [ ...                                                 ]
 */
#pragma once

#include <stdint.h>

#include "core/base/alloc.h"

struct idmap_slot {
    uint32_t tag;   /* low bits of the hash; they choose the slot: see idmap_home */
    uint32_t place; /* position + 1; 0 is an empty slot */
};

struct idmap_table {
    struct idmap_slot *slots;
    size_t slot_count;
    size_t used;
};

struct idmap {
    const struct alloc *alloc;
    uint64_t seed;
    struct idmap_table current;
    struct idmap_table old; /* being carried over, or slot_count 0 */
    size_t unswept;         /* slots of `old` from this number on stay empty */
};

/* Returns the slot at which a search for the tag begins. The table must have slots. The product has
 * 64 bits: a table has fewer than 2^32 slots. */
static inline size_t idmap_home(const struct idmap_table *table, uint32_t tag)
{
    return (size_t)((uint64_t)tag * table->slot_count >> 32);
}

/* A function that returns the id (MESSAGE_ID_BYTES) of the message at a position. `context` is what
 * the caller passed to idmap_find. */
typedef const uint8_t *idmap_id_at(const void *context, uint32_t position);

/* Positions must be below this. */
#define IDMAP_POSITIONS_MAX UINT32_MAX

/* Makes an empty map that holds no memory. `alloc` is borrowed. `seed` must be random: see
 * hash_seeded. */
void idmap_init(struct idmap *map, const struct alloc *alloc, uint64_t seed);
void idmap_deinit(struct idmap *map);

/*
 * Gives an empty map a table for `count` entries and a few more, so that it need not grow for them
 * and has few slots in vain. 0, or -ERR_NOMEM with the map as before.
 */
int idmap_expect(struct idmap *map, size_t count);

/* Makes sure that the next idmap_insert has memory. 0 or -ERR_NOMEM; the contents stay the same. */
int idmap_reserve(struct idmap *map);

/* Inserts an id that is not in the map. Call idmap_reserve before. */
void idmap_insert(struct idmap *map, const uint8_t *id, uint32_t position);

/* Returns whether the id is in the map, and its position. */
bool idmap_find(const struct idmap *map, const uint8_t *id, idmap_id_at *id_at, const void *context,
                uint32_t *out_position);

/* The map must have `id` at this position. idmap_remove removes the id. idmap_move gives the id
 * another position. */
void idmap_remove(struct idmap *map, const uint8_t *id, uint32_t position);
void idmap_move(struct idmap *map, const uint8_t *id, uint32_t from, uint32_t to);

/* Entries, and bytes of memory held. */
size_t idmap_count(const struct idmap *map);
size_t idmap_bytes(const struct idmap *map);
