/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/host/shares.h"

#include <assert.h>
#include <string.h>

#include "core/base/err.h"

#define NONE    UINT32_MAX
#define LEAVING (UINT32_C(1) << 31) /* bit of share_record.bytes */

enum { ROOM_MIN = 16 };

void shares_init(struct shares *shares, const struct alloc *alloc, uint64_t seed)
{
    *shares = (struct shares){.alloc = alloc, .free_sharer = NONE};
    idmap_init(&shares->ids, alloc, seed);
}

void shares_deinit(struct shares *shares)
{
    if (shares->alloc == NULL) {
        return;
    }
    alloc_release(shares->alloc, shares->records);
    alloc_release(shares->alloc, shares->sharers);
    alloc_release(shares->alloc, shares->chains);
    idmap_deinit(&shares->ids);
    memset(shares, 0, sizeof(*shares));
}

/* --- sharers ---------------------------------------------------------------------------------- */

/*
 * Picks a chain by the low bits of the tag. Tags are salted hashes, so all bits are equally good.
 */
static uint32_t *chain_of(const struct shares *shares, uint32_t tag)
{
    return &shares->chains[tag & (shares->sharer_room - 1)];
}

static uint32_t find_sharer(const struct shares *shares, uint32_t tag, bool is_wide)
{
    uint32_t at = shares->sharer_count == 0 ? NONE : *chain_of(shares, tag);

    while (at != NONE &&
           (shares->sharers[at].tag != tag || shares->sharers[at].is_wide != is_wide)) {
        at = shares->sharers[at].next;
    }
    return at;
}

static void put_into_chain(struct shares *shares, uint32_t at)
{
    uint32_t *chain = chain_of(shares, shares->sharers[at].tag);

    shares->sharers[at].next = *chain;
    *chain = at;
}

/* Room for two more: an address and its /64. */
static int reserve_sharers(struct shares *shares)
{
    uint32_t old_room = shares->sharer_room;

    if (shares->sharer_count + 2 <= old_room) {
        return 0;
    }
    if (old_room > UINT32_MAX / 4) {
        return -ERR_NOMEM;
    }
    uint32_t room = old_room == 0 ? ROOM_MIN : 2 * old_room;
    struct sharer *sharers = alloc_zeroed(shares->alloc, room, sizeof(*sharers));
    uint32_t *chains = alloc_array(shares->alloc, room, sizeof(*chains));
    if (sharers == NULL || chains == NULL) {
        alloc_release(shares->alloc, sharers);
        alloc_release(shares->alloc, chains);
        return -ERR_NOMEM;
    }
    if (old_room > 0) {
        memcpy(sharers, shares->sharers, old_room * sizeof(*sharers));
    }
    alloc_release(shares->alloc, shares->sharers);
    alloc_release(shares->alloc, shares->chains);
    shares->sharers = sharers;
    shares->chains = chains;
    shares->sharer_room = room;
    memset(chains, 0xff, room * sizeof(*chains)); /* NONE */
    shares->free_sharer = NONE;
    for (uint32_t at = room; at-- > 0;) {
        if (sharers[at].tag != 0) {
            put_into_chain(shares, at);
        } else {
            sharers[at].next = shares->free_sharer;
            shares->free_sharer = at;
        }
    }
    return 0;
}

/*
 * Finds the sharer of a tag, or makes a new one. The caller has reserved memory for a new sharer
 * (reserve_sharers).
 */
static uint32_t get_sharer(struct shares *shares, uint32_t tag, bool is_wide)
{
    uint32_t at = find_sharer(shares, tag, is_wide);

    if (at != NONE) {
        return at;
    }
    at = shares->free_sharer;
    assert(at != NONE);
    shares->free_sharer = shares->sharers[at].next;
    shares->sharers[at] =
        (struct sharer){.tag = tag, .is_wide = is_wide, .wide = NONE, .first = NONE, .last = NONE};
    put_into_chain(shares, at);
    shares->sharer_count++;
    return at;
}

static void drop_if_empty(struct shares *shares, uint32_t at)
{
    struct sharer *sharer = &shares->sharers[at];

    if (sharer->messages > 0 || sharer->addresses > 0) {
        return;
    }
    uint32_t wide = sharer->wide;
    uint32_t *link = chain_of(shares, sharer->tag);
    while (*link != at) {
        link = &shares->sharers[*link].next;
    }
    *link = sharer->next;
    *sharer = (struct sharer){.next = shares->free_sharer};
    shares->free_sharer = at;
    shares->sharer_count--;
    if (wide != NONE) {
        shares->sharers[wide].addresses--;
        drop_if_empty(shares, wide); /* a /64 has none above it */
    }
}

/* --- records ---------------------------------------------------------------------------------- */

static const uint8_t *id_at(const void *context, uint32_t position)
{
    return ((const struct shares *)context)->records[position].id;
}

static bool find_record(const struct shares *shares, const uint8_t *id, uint32_t *out_at)
{
    return shares->record_count > 0 && idmap_find(&shares->ids, id, id_at, shares, out_at);
}

static int reserve_record(struct shares *shares)
{
    if (shares->record_count == shares->record_room) {
        uint32_t old_room = shares->record_room;
        if (old_room > UINT32_MAX / 4) {
            return -ERR_NOMEM;
        }
        uint32_t room = old_room == 0 ? ROOM_MIN : 2 * old_room;
        struct share_record *records =
            alloc_resize(shares->alloc, shares->records, room, sizeof(*records));
        if (records == NULL) {
            return -ERR_NOMEM;
        }
        shares->records = records;
        shares->record_room = room;
    }
    return idmap_reserve(&shares->ids);
}

/*
 * Changes the links that lead to a record in the list of its sharer: those of its neighbours, and
 * `first` and `last` of the sharer. The links then lead to position `at`. With `at` NONE they pass
 * the record by, so the record leaves the list.
 */
static void shares_relink(struct shares *shares, const struct share_record *record, uint32_t at)
{
    struct sharer *sharer = &shares->sharers[record->sharer];
    uint32_t for_next = at != NONE ? at : record->prev;
    uint32_t for_prev = at != NONE ? at : record->next;

    if (record->next != NONE) {
        shares->records[record->next].prev = for_next;
    } else {
        sharer->last = for_next;
    }
    if (record->prev != NONE) {
        shares->records[record->prev].next = for_prev;
    } else {
        sharer->first = for_prev;
    }
}

int shares_add(struct shares *shares, const uint8_t *id, const struct sender_tags *sender,
               uint32_t bytes, bool *out_added)
{
    uint32_t at = 0;

    assert(bytes < LEAVING);
    *out_added = false;
    if (sender->address == 0 || find_record(shares, id, &at)) {
        return 0;
    }
    int rc = reserve_sharers(shares);
    if (rc == 0) {
        rc = reserve_record(shares);
    }
    if (rc != 0) {
        return rc;
    }
    uint32_t by = get_sharer(shares, sender->address, false);
    struct sharer *sharer = &shares->sharers[by]; /* they move in reserve_sharers only */
    if (sharer->messages == 0 && sender->wide != 0) {
        sharer->wide = get_sharer(shares, sender->wide, true);
        shares->sharers[sharer->wide].addresses++;
    }
    at = shares->record_count++;
    struct share_record *record = &shares->records[at];
    *record =
        (struct share_record){.bytes = bytes, .sharer = by, .prev = sharer->last, .next = NONE};
    memcpy(record->id, id, MESSAGE_ID_BYTES);
    shares_relink(shares, record, at);
    idmap_insert(&shares->ids, id, at);
    for (uint32_t i = by; i != NONE; i = shares->sharers[i].wide) {
        shares->sharers[i].messages++;
        shares->sharers[i].bytes += bytes;
    }
    *out_added = true;
    return 0;
}

static void set_leaving(struct shares *shares, struct share_record *record, bool leaving)
{
    uint32_t bytes = record->bytes & ~LEAVING;

    if (((record->bytes & LEAVING) != 0) == leaving) {
        return;
    }
    record->bytes ^= LEAVING;
    for (uint32_t i = record->sharer; i != NONE; i = shares->sharers[i].wide) {
        struct sharer *sharer = &shares->sharers[i];
        sharer->leaving_messages += leaving ? 1 : UINT32_MAX; /* or one less */
        sharer->leaving_bytes += leaving ? bytes : 0 - (uint64_t)bytes;
    }
}

void shares_remove(struct shares *shares, const uint8_t *id)
{
    uint32_t at = 0;

    if (!find_record(shares, id, &at)) {
        return;
    }
    struct share_record *record = &shares->records[at];
    uint32_t by = record->sharer;
    set_leaving(shares, record, false);
    for (uint32_t i = by; i != NONE; i = shares->sharers[i].wide) {
        shares->sharers[i].messages--;
        shares->sharers[i].bytes -= record->bytes;
    }
    shares_relink(shares, record, NONE);
    idmap_remove(&shares->ids, id, at);
    uint32_t last = --shares->record_count;
    if (at != last) { /* the last one takes its place */
        *record = shares->records[last];
        idmap_move(&shares->ids, record->id, last, at);
        shares_relink(shares, record, at);
    }
    drop_if_empty(shares, by);
}

void shares_usage(const struct shares *shares, uint32_t tag, bool is_wide, struct usage *out_usage)
{
    uint32_t at = find_sharer(shares, tag, is_wide);

    *out_usage = (struct usage){0};
    if (at != NONE) {
        const struct sharer *sharer = &shares->sharers[at];
        out_usage->messages = sharer->messages - sharer->leaving_messages;
        out_usage->bytes = sharer->bytes - sharer->leaving_bytes;
    }
}

/* --- what makes room -------------------------------------------------------------------------- */

static bool pick_of(struct shares *shares, uint32_t by, uint8_t *out_id, uint32_t *out_bytes)
{
    uint32_t at = by == NONE ? NONE : shares->sharers[by].first;

    while (at != NONE && (shares->records[at].bytes & LEAVING) != 0) {
        at = shares->records[at].next;
    }
    if (at == NONE) {
        return false;
    }
    struct share_record *record = &shares->records[at];
    memcpy(out_id, record->id, MESSAGE_ID_BYTES);
    *out_bytes = record->bytes;
    set_leaving(shares, record, true);
    return true;
}

bool shares_pick(struct shares *shares, uint32_t address_tag, uint8_t *out_id, uint32_t *out_bytes)
{
    return pick_of(shares, find_sharer(shares, address_tag, false), out_id, out_bytes);
}

bool shares_pick_id(struct shares *shares, const uint8_t *id)
{
    uint32_t at = 0;

    if (!find_record(shares, id, &at)) {
        return true;
    }
    if ((shares->records[at].bytes & LEAVING) != 0) {
        return false;
    }
    set_leaving(shares, &shares->records[at], true);
    return true;
}

bool shares_pick_wide(struct shares *shares, uint32_t wide_tag, bool by_bytes, uint8_t *out_id,
                      uint32_t *out_bytes)
{
    uint32_t wide = find_sharer(shares, wide_tag, true);
    uint32_t most = NONE;
    uint64_t most_has = 0;

    for (uint32_t at = 0; wide != NONE && at < shares->sharer_room; at++) {
        const struct sharer *sharer = &shares->sharers[at];
        if (sharer->tag == 0 || sharer->wide != wide) {
            continue;
        }
        uint64_t has = by_bytes ? sharer->bytes - sharer->leaving_bytes
                                : sharer->messages - sharer->leaving_messages;
        if (has > most_has) {
            most = at;
            most_has = has;
        }
    }
    return pick_of(shares, most, out_id, out_bytes);
}

void shares_unpick(struct shares *shares, const uint8_t *id)
{
    uint32_t at = 0;

    if (find_record(shares, id, &at)) {
        set_leaving(shares, &shares->records[at], false);
    }
}
