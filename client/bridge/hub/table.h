/* SPDX-License-Identifier: Apache-2.0 */
/* table: what the hub has of each message or rule of a host, by 16 bytes. */
#ifndef CLIENT_BRIDGE_HUB_TABLE_H
#define CLIENT_BRIDGE_HUB_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TABLE_KEY_BYTES = 16 };

struct table_row {
    uint8_t key[TABLE_KEY_BYTES];
    uint64_t seq;      /* in the stream; 0: the row is free */
    uint64_t decision; /* that the owner has taken note of: as in struct state */
    int64_t until_ms;  /* when its time is over; 0: never */
    bool has_payload;
    bool is_rule;
};

struct table {
    struct table_row *rows;
    size_t room; /* a power of two, or 0 */
    size_t count;
};

/* The row of the key; NULL: there is none. */
struct table_row *table_find(const struct table *table, const uint8_t *key);

/* The row of the key, a new one if there was none: its seq is then 0 and must be set. NULL: no
 * memory. */
struct table_row *table_add(struct table *table, const uint8_t *key);

/* Removes the row. Other rows move. */
void table_remove(struct table *table, struct table_row *row);

/* Frees the rows; the table is empty then. */
void table_clear(struct table *table);

#endif
