/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/idmap.h"
#include "tests/reference/check.h"

/*
 * Checks that no empty slot lies between an entry and the slot where a search for the entry begins.
 */
static const char *check_table(const struct idmap_table *table)
{
    size_t used = 0;

    for (size_t slot = 0; slot < table->slot_count; slot++) {
        if (table->slots[slot].place == 0) {
            continue;
        }
        used++;
        for (size_t at = idmap_home(table, table->slots[slot].tag); at != slot;
             at = at + 1 < table->slot_count ? at + 1 : 0) {
            if (table->slots[at].place == 0) {
                return "idmap: a gap lies between an entry and its home";
            }
        }
    }
    if (used != table->used) {
        return "idmap: the number of entries is wrong";
    }
    return used <= table->slot_count / 4 * 3 ? NULL : "idmap: too many entries for the table";
}

const char *check_idmap(const struct idmap *map)
{
    const char *reason = check_table(&map->current);

    if (reason == NULL) {
        reason = check_table(&map->old);
    }
    for (size_t slot = map->unswept; reason == NULL && slot < map->old.slot_count; slot++) {
        if (map->old.slots[slot].place != 0) {
            reason = "idmap: an entry lies where the old table was swept";
        }
    }
    if (reason == NULL && idmap_count(map) > map->current.slot_count / 4 * 3) {
        reason = "idmap: the old table's entries do not fit the current one";
    }
    return reason;
}
