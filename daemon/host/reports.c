/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/host/service.h"

#include <string.h>

/*
 * Value of a slot whose report was taken back. A search for another hash goes on at the next slot.
 */
enum { SLOT_FREE = 0, SLOT_TAKEN_BACK = 1 };

void reports_init(struct reports *reports)
{
    memset(reports, 0, sizeof(*reports));
    keyed_hash_draw(reports->key);
}

static uint64_t hash_of(const struct reports *reports, uint32_t host, const uint8_t *id,
                        uint32_t sender)
{
    uint8_t text[MESSAGE_ID_BYTES + 8];

    memcpy(text, id, MESSAGE_ID_BYTES);
    memcpy(text + MESSAGE_ID_BYTES, &host, 4); /* in memory only: any order of bytes will do */
    memcpy(text + MESSAGE_ID_BYTES + 4, &sender, 4);
    uint64_t hash = keyed_hash(reports->key, text, sizeof(text));
    return hash <= SLOT_TAKEN_BACK ? hash + 2 : hash;
}

/*
 * Returns the slot of a hash, or the free slot for a new hash. At most half of the slots are in
 * use.
 */
static uint64_t *slot_of(uint64_t *slots, uint64_t hash)
{
    size_t at = (size_t)(hash % REPORTS_SLOTS);

    while (slots[at] != SLOT_FREE && slots[at] != hash) {
        at = (at + 1) % REPORTS_SLOTS;
    }
    return &slots[at];
}

bool reports_note(struct reports *reports, uint32_t host, const uint8_t *id, uint32_t sender)
{
    uint64_t hash = hash_of(reports, host, id, sender);
    uint64_t *slot = slot_of(reports->slots[reports->newer], hash);

    if (*slot == hash || *slot_of(reports->slots[1 - reports->newer], hash) == hash) {
        return false;
    }
    if (reports->used == REPORTS_KEPT) {
        reports->newer = 1 - reports->newer;
        reports->used = 0;
        memset(reports->slots[reports->newer], 0, sizeof(reports->slots[0]));
        slot = slot_of(reports->slots[reports->newer], hash);
    }
    *slot = hash;
    reports->used++;
    return true;
}

void reports_forget(struct reports *reports, uint32_t host, const uint8_t *id, uint32_t sender)
{
    uint64_t hash = hash_of(reports, host, id, sender);

    for (int i = 0; i < 2; i++) {
        uint64_t *slot = slot_of(reports->slots[i], hash);
        if (*slot == hash) {
            *slot = SLOT_TAKEN_BACK;
        }
    }
}
