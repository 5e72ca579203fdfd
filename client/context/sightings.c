/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sightings: chooses the strongest access points of a scan. Labels of more access points would fill
 * the section of the filter until servers refuse it, and the weak ones are those that the next scan
 * at the same place misses. The labels are limited, too, because in dense air the strongest access
 * points have many: the more bits of its section a scan sets, the less a topic or a place beside it
 * counts. docs/evaluation.md says how the limit was chosen.
 */
#include <stdlib.h>
#include <string.h>

#include "client/context/build.h"
#include "client/fail.h"

/*
 * A key of 56 bits has the address and the weakness of a sighting. The weakness is 127 without a
 * strength, else what the strength lacks from -1 dBm, so a smaller number is a stronger signal. The
 * lower part of a key decides between two keys with the same upper part.
 */
enum { WEAKNESS_BITS = 8, WEAKNESS_MAX = 127, ADDRESS_BITS = 48 };
static const uint64_t address_mask = (UINT64_C(1) << ADDRESS_BITS) - 1;

static int compare_keys(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;

    return (left > right) - (left < right);
}

static bool is_strength(int strength_dbm)
{
    return strength_dbm >= HEARSAY_WIFI_DBM_MIN && strength_dbm < 0;
}

bool sightings_note(struct sightings *sightings, const uint8_t bssid[CONTEXT_BSSID_BYTES],
                    int strength_dbm)
{
    uint64_t weakness = is_strength(strength_dbm) ? (uint64_t)(-1 - strength_dbm) : WEAKNESS_MAX;
    uint64_t address = 0;

    if (sightings->noted == HEARSAY_SCAN_SIGHTINGS_MAX) {
        return false;
    }
    sightings->noted++;
    if (!context_is_bssid(bssid)) {
        sightings->left_out.no_address++;
        return true;
    }
    if (!is_strength(strength_dbm) && strength_dbm != HEARSAY_WIFI_NO_STRENGTH) {
        sightings->left_out.no_strength++;
    }
    for (size_t i = 0; i < CONTEXT_BSSID_BYTES; i++) {
        address = address << 8 | bssid[i];
    }
    sightings->keys[sightings->count++] = address << WEAKNESS_BITS | weakness;
    return true;
}

/* Keeps the strongest sighting of each access point, and sorts these by strength, then address. */
static size_t sort_sightings(struct sightings *sightings)
{
    uint64_t *keys = sightings->keys;
    uint64_t before = UINT64_MAX;
    size_t count = 0;

    qsort(keys, sightings->count, sizeof(*keys), compare_keys);
    for (size_t i = 0; i < sightings->count; i++) {
        uint64_t address = keys[i] >> WEAKNESS_BITS;
        uint64_t weakness = keys[i] & ((1U << WEAKNESS_BITS) - 1);

        if (address != before) {
            keys[count++] = weakness << ADDRESS_BITS | address;
        }
        before = address;
    }
    qsort(keys, count, sizeof(*keys), compare_keys);
    return count;
}

static int strength_of(uint64_t key)
{
    int weakness = (int)(key >> ADDRESS_BITS);

    return weakness == WEAKNESS_MAX ? HEARSAY_WIFI_NO_STRENGTH : -1 - weakness;
}

static int add_key(struct hearsay_context *context, uint64_t key, struct hearsay_error *out_error)
{
    uint64_t address = key & address_mask;
    uint8_t bssid[CONTEXT_BSSID_BYTES];

    for (size_t i = CONTEXT_BSSID_BYTES; i-- > 0; address >>= 8) {
        bssid[i] = (uint8_t)address;
    }
    return context_add_sighting(context, bssid, strength_of(key), out_error);
}

/* How many of the sorted sightings become labels. */
static size_t count_taken(const struct sightings *sightings, size_t count)
{
    unsigned labels = 0;
    size_t taken = 0;

    while (taken < count && taken < HEARSAY_SCAN_STRONGEST) {
        labels += context_wifi_levels(strength_of(sightings->keys[taken]));
        if (labels > HEARSAY_SCAN_LABELS_MAX) {
            break;
        }
        taken++;
    }
    return taken;
}

int sightings_add(struct sightings *sightings, struct hearsay_context *context,
                  struct hearsay_error *out_error)
{
    struct hearsay_left_out *left_out = context_left_out(context);
    size_t count = sort_sightings(sightings);
    size_t taken = count_taken(sightings, count);
    int status = HEARSAY_OK;

    for (size_t i = 0; i < taken && status == HEARSAY_OK; i++) {
        status = add_key(context, sightings->keys[i], out_error);
    }
    left_out->weaker += count - taken;
    left_out->no_address += sightings->left_out.no_address;
    left_out->no_strength += sightings->left_out.no_strength;
    if (left_out->unreadable == 0) {
        left_out->unreadable_line = sightings->left_out.unreadable_line;
    }
    left_out->is_cut = left_out->is_cut || sightings->left_out.is_cut;
    left_out->unreadable += sightings->left_out.unreadable;
    return status;
}

int hearsay_context_add_sightings(struct hearsay_context *context,
                                  const struct hearsay_sighting *sightings, size_t count,
                                  struct hearsay_error *out_error)
{
    struct sightings noted = {.count = 0};
    uint8_t bssid[CONTEXT_BSSID_BYTES];

    for (size_t i = 0; i < count; i++) {
        const char *text = sightings[i].bssid;

        if (!context_parse_bssid(text, strlen(text), bssid)) {
            return fail_set(out_error, HEARSAY_ERR_ARGUMENT, CONTEXT_NO_BSSID, text);
        }
        if (!sightings_note(&noted, bssid, sightings[i].strength_dbm)) {
            return fail_set(out_error, HEARSAY_ERR_ARGUMENT, "over %d access points",
                            HEARSAY_SCAN_SIGHTINGS_MAX);
        }
    }
    return sightings_add(&noted, context, out_error);
}
