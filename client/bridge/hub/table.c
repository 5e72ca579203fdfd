/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/hub/inner.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"

enum { FIRST_ROOM = 64 };

static size_t home_of(const struct table *table, const uint8_t *key)
{
    return (size_t)hash_seeded(key, TABLE_KEY_BYTES, 0) & (table->room - 1);
}

/* The row of the key, or the free one where it belongs. */
static struct table_row *seek_row(const struct table *table, const uint8_t *key)
{
    size_t at = home_of(table, key);

    while (table->rows[at].seq != 0 && memcmp(table->rows[at].key, key, TABLE_KEY_BYTES) != 0) {
        at = (at + 1) & (table->room - 1);
    }
    return &table->rows[at];
}

static bool grow_table(struct table *table)
{
    struct table larger = {.room = table->room > 0 ? 2 * table->room : FIRST_ROOM,
                           .count = table->count};

    larger.rows = calloc(larger.room, sizeof(*larger.rows));
    if (larger.rows == NULL) {
        return false;
    }
    for (size_t i = 0; i < table->room; i++) {
        if (table->rows[i].seq != 0) {
            *seek_row(&larger, table->rows[i].key) = table->rows[i];
        }
    }
    free(table->rows);
    *table = larger;
    return true;
}

struct table_row *table_find(const struct table *table, const uint8_t *key)
{
    struct table_row *row = table->room > 0 ? seek_row(table, key) : NULL;

    return row != NULL && row->seq != 0 ? row : NULL;
}

struct table_row *table_add(struct table *table, const uint8_t *key)
{
    if (4 * (table->count + 1) > 3 * table->room && !grow_table(table)) {
        return NULL;
    }
    struct table_row *row = seek_row(table, key);

    if (row->seq == 0) {
        memset(row, 0, sizeof(*row));
        memcpy(row->key, key, TABLE_KEY_BYTES);
        table->count++;
    }
    return row;
}

void table_remove(struct table *table, struct table_row *row)
{
    size_t hole = (size_t)(row - table->rows);
    size_t mask = table->room - 1;

    table->count--;
    for (size_t at = (hole + 1) & mask; table->rows[at].seq != 0; at = (at + 1) & mask) {
        /* A row moves into the hole unless its home lies behind the hole. */
        if (((at - home_of(table, table->rows[at].key)) & mask) >= ((at - hole) & mask)) {
            table->rows[hole] = table->rows[at];
            hole = at;
        }
    }
    table->rows[hole].seq = 0;
}

void table_clear(struct table *table)
{
    free(table->rows);
    memset(table, 0, sizeof(*table));
}
