/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/device/neighbour_table.h"

#include <assert.h>
#include <string.h>

#include "core/base/err.h"

#define NOWHERE UINT32_MAX /* an enum holds no more than an int */

enum { IPV4_BYTES = 4, IPV6_BYTES = 16, PREFIX_BYTES = 8 };

/* What a hash is of, so that hashes of different things are different. */
enum hashed { HASHED_DEVICE = 1, HASHED_PREFIX = 2, HASHED_IPV4 = 4, HASHED_IPV6 = 6 };

struct entry {
    uint64_t address; /* hash of the address */
    uint64_t prefix;  /* hash of its /64; 0: IPv4 */
    uint64_t device;  /* hash of interface and link-layer address; 0: the entry is free */
    uint32_t interface;
    uint32_t next; /* index of the next entry of the chain, or of the next free entry */
    uint32_t pass; /* the table's `pass` when a message about the entry last came */
    bool has_connected;
};

struct neighbour_table {
    const struct alloc *alloc;
    uint8_t key[KEYED_HASH_KEY_BYTES];
    uint32_t entries_max;
    uint32_t chain_count; /* a power of two */
    uint32_t count;
    uint32_t free;       /* the first free entry */
    uint32_t pass;       /* counts calls of neighbour_table_begin */
    bool is_incomplete;  /* an entry found no place since the last neighbour_table_begin */
    bool was_incomplete; /* an entry found no place before, and no fill has ended since */
    uint32_t *chains;
    struct entry *entries;
};

static uint64_t hash_of(const struct neighbour_table *table, enum hashed what, uint32_t interface,
                        const uint8_t *bytes, size_t count)
{
    uint8_t text[2 + sizeof(interface) + NEIGHBOUR_LINK_BYTES_MAX] = {(uint8_t)what,
                                                                      (uint8_t)count};

    memcpy(text + 2, &interface, sizeof(interface));
    memcpy(text + 2 + sizeof(interface), bytes, count);
    uint64_t hash = keyed_hash(table->key, text, sizeof(text));
    return hash != 0 ? hash : 1;
}

static uint64_t hash_of_address(const struct neighbour_table *table, uint8_t family,
                                const uint8_t *bytes)
{
    return family == 4 ? hash_of(table, HASHED_IPV4, 0, bytes, IPV4_BYTES)
                       : hash_of(table, HASHED_IPV6, 0, bytes, IPV6_BYTES);
}

static uint64_t hash_of_prefix(const struct neighbour_table *table, const uint8_t *bytes)
{
    return hash_of(table, HASHED_PREFIX, 0, bytes, PREFIX_BYTES);
}

uint64_t neighbour_table_device(const struct neighbour_table *table,
                                const struct neighbour *neighbour)
{
    return hash_of(table, HASHED_DEVICE, neighbour->interface, neighbour->link,
                   neighbour->link_bytes);
}

int neighbour_table_new(const struct alloc *alloc, uint32_t entries_max,
                        const uint8_t key[KEYED_HASH_KEY_BYTES], struct neighbour_table **out_table)
{
    struct neighbour_table *table = alloc_zeroed(alloc, 1, sizeof(*table));

    assert(entries_max >= 1 && entries_max <= NEIGHBOUR_ENTRIES_MAX);
    if (table == NULL) {
        return -ERR_NOMEM;
    }
    table->alloc = alloc;
    table->entries_max = entries_max;
    memcpy(table->key, key, KEYED_HASH_KEY_BYTES);
    for (table->chain_count = 1; table->chain_count < entries_max;) {
        table->chain_count *= 2;
    }
    table->chains = alloc_array(alloc, table->chain_count, sizeof(*table->chains));
    table->entries = alloc_zeroed(alloc, entries_max, sizeof(*table->entries));
    if (table->chains == NULL || table->entries == NULL) {
        neighbour_table_free(table);
        return -ERR_NOMEM;
    }
    for (uint32_t i = 0; i < table->chain_count; i++) {
        table->chains[i] = NOWHERE;
    }
    for (uint32_t i = 0; i < entries_max; i++) {
        table->entries[i].next = i + 1 < entries_max ? i + 1 : NOWHERE;
    }
    *out_table = table;
    return 0;
}

void neighbour_table_free(struct neighbour_table *table)
{
    if (table == NULL) {
        return;
    }
    alloc_release(table->alloc, table->chains);
    alloc_release(table->alloc, table->entries);
    alloc_release(table->alloc, table);
}

static uint32_t *chain_of(const struct neighbour_table *table, uint64_t address)
{
    return &table->chains[address & (table->chain_count - 1)];
}

/* Returns the link of the chain that leads to the entry, or to NOWHERE. */
static uint32_t *find_link(const struct neighbour_table *table, uint64_t address,
                           uint32_t interface)
{
    uint32_t *link = chain_of(table, address);

    while (*link != NOWHERE && (table->entries[*link].address != address ||
                                table->entries[*link].interface != interface)) {
        link = &table->entries[*link].next;
    }
    return link;
}

static void remove_entry(struct neighbour_table *table, uint32_t *link)
{
    uint32_t index = *link;
    struct entry *entry = &table->entries[index];

    *link = entry->next;
    *entry = (struct entry){.next = table->free};
    table->free = index;
    table->count--;
}

/* Adds an entry without a device. Returns NULL if there is no place. */
static struct entry *add_entry(struct neighbour_table *table, uint64_t address, uint32_t interface)
{
    uint32_t index = table->free;
    uint32_t *chain = chain_of(table, address);

    if (index == NOWHERE) {
        table->is_incomplete = true;
        return NULL;
    }
    struct entry *entry = &table->entries[index];
    table->free = entry->next;
    *entry = (struct entry){.address = address, .interface = interface, .next = *chain};
    *chain = index;
    table->count++;
    return entry;
}

void neighbour_table_apply(struct neighbour_table *table, const struct neighbour *neighbour)
{
    uint64_t address = hash_of_address(table, neighbour->family, neighbour->bytes);
    uint32_t *link = find_link(table, address, neighbour->interface);
    struct entry *entry = *link != NOWHERE ? &table->entries[*link] : NULL;

    if (neighbour->link_bytes == 0) {
        if (entry != NULL) {
            remove_entry(table, link);
        }
        return;
    }
    uint64_t device = neighbour_table_device(table, neighbour);
    if (entry == NULL) {
        entry = add_entry(table, address, neighbour->interface);
        if (entry == NULL) {
            return;
        }
        entry->prefix = neighbour->family == 6 ? hash_of_prefix(table, neighbour->bytes) : 0;
    }
    entry->has_connected = entry->has_connected && entry->device == device;
    entry->device = device;
    entry->pass = table->pass;
}

void neighbour_table_begin(struct neighbour_table *table)
{
    table->pass++;
    table->was_incomplete = table->was_incomplete || table->is_incomplete;
    table->is_incomplete = false;
}

void neighbour_table_end(struct neighbour_table *table)
{
    for (uint32_t i = 0; i < table->chain_count; i++) {
        uint32_t *link = &table->chains[i];

        while (*link != NOWHERE) {
            if (table->entries[*link].pass != table->pass) {
                remove_entry(table, link);
            } else {
                link = &table->entries[*link].next;
            }
        }
    }
    table->was_incomplete = false;
}

enum neighbour_answer neighbour_table_find(const struct neighbour_table *table, uint8_t family,
                                           const uint8_t *bytes, uint32_t interface,
                                           uint64_t *out_device)
{
    uint64_t address = hash_of_address(table, family, bytes);
    uint64_t device = 0;

    for (uint32_t at = *chain_of(table, address); at != NOWHERE; at = table->entries[at].next) {
        const struct entry *entry = &table->entries[at];

        if (entry->address != address || (interface != 0 && entry->interface != interface)) {
            continue;
        }
        if (device != 0) { /* entries of one address are of different interfaces */
            return NEIGHBOUR_AMBIGUOUS;
        }
        device = entry->device;
    }
    if (device == 0) {
        return NEIGHBOUR_UNKNOWN;
    }
    *out_device = device;
    return NEIGHBOUR_FOUND;
}

bool neighbour_table_is_incomplete(const struct neighbour_table *table)
{
    return table->is_incomplete || table->was_incomplete;
}

bool neighbour_table_covers(const struct neighbour_table *table, const uint8_t *bytes)
{
    uint64_t prefix = hash_of_prefix(table, bytes);

    if (neighbour_table_is_incomplete(table)) {
        return true;
    }
    for (uint32_t i = 0; i < table->entries_max; i++) {
        if (table->entries[i].device != 0 && table->entries[i].prefix == prefix) {
            return true;
        }
    }
    return false;
}

/* How many addresses of a device have connected. */
static uint32_t count_connected(const struct neighbour_table *table, uint64_t device)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < table->entries_max; i++) {
        count += table->entries[i].device == device && table->entries[i].has_connected;
    }
    return count;
}

uint32_t neighbour_table_use(struct neighbour_table *table, uint8_t family, const uint8_t *bytes,
                             uint64_t device)
{
    uint64_t address = hash_of_address(table, family, bytes);

    for (uint32_t at = *chain_of(table, address); at != NOWHERE; at = table->entries[at].next) {
        struct entry *entry = &table->entries[at];

        if (entry->address == address && entry->device == device && !entry->has_connected) {
            entry->has_connected = true;
            return count_connected(table, device);
        }
    }
    return 0;
}
