/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/ask/told.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/filter/bloom.h"
#include "core/hood/hood.h"
#include "core/profile/profile.h"

_Static_assert((int)TOLD_GROUPS_MAX <= (int)HOOD_GROUPS_MAX,
               "a peer keeps all groups that are told");

int told_init(struct told *told, uint32_t bits)
{
    *told = (struct told){.bits = bits, .newest_ms = INT64_MIN};
    told->filters = calloc(TOLD_GROUPS_MAX * bloom_words(bits), sizeof(*told->filters));
    told->stored = calloc(TOLD_GROUPS_MAX, bloom_bytes(bits));
    if (told->filters == NULL || told->stored == NULL) {
        told_deinit(told);
        return -ERR_NOMEM;
    }
    return 0;
}

void told_deinit(struct told *told)
{
    free(told->filters);
    free(told->stored);
    *told = (struct told){.bits = 0};
}

void told_forget(struct told *told)
{
    told->count = told->full_count = told->sent_count = 0;
    told->newest_ms = INT64_MIN;
    told->is_begun = told->has_full = told->is_lost = false;
}

/* Appends a group. False: the filter does not fit the profile. */
static bool append_group(struct told *told, const uint8_t *stored, size_t bytes,
                         const struct group *group)
{
    uint64_t *filter = told->filters + told->count * bloom_words(told->bits);

    if (bloom_load(filter, told->bits, stored, bytes) != 0) {
        return false;
    }
    memcpy(told->stored + told->count * bytes, stored, bytes);
    told->groups[told->count] = *group;
    told->groups[told->count++].filter = filter;
    return true;
}

bool told_begin(struct told *told, const struct msg_summary_group *groups, size_t count,
                uint64_t seq)
{
    told_forget(told);
    for (size_t i = 0; i < count; i++) {
        struct group group = {
            .low = groups[i].low,
            .high = groups[i].high,
            .count = groups[i].count > UINT32_MAX ? UINT32_MAX : (uint32_t)groups[i].count,
            .newest_ms = groups[i].newest_ms,
        };

        if (i == GROUPS_MAX || group.low > group.high || group.high > told->bits ||
            !append_group(told, groups[i].union_filter.data, groups[i].union_filter.count,
                          &group)) {
            told_forget(told);
            return false;
        }
    }
    told->full_count = told->count;
    told->seq = seq;
    told->is_begun = true;
    return true;
}

void told_add(struct told *told, const uint8_t *stored, size_t bytes, int64_t deposited_ms)
{
    uint64_t filter[PROFILE_WORDS_MAX];
    uint32_t told_count = told->has_full ? told->sent_count : told->count;

    if (!told->is_begun || told->is_lost) {
        return;
    }
    if (bloom_load(filter, told->bits, stored, bytes) != 0) {
        told->is_lost = true;
        return;
    }
    uint32_t set_bits = bloom_cardinality(filter, bloom_words(told->bits));
    struct group group = {.low = set_bits, .high = set_bits, .count = 1, .newest_ms = deposited_ms};

    if (groups_cover(told->groups, told_count, bloom_words(told->bits), filter)) {
        told->newest_ms = deposited_ms > told->newest_ms ? deposited_ms : told->newest_ms;
    } else if (told->count - told->full_count == TOLD_DELTAS_MAX ||
               (!told->has_full && told->count == GROUPS_MAX)) {
        told->is_lost = true; /* it does not fit the next word */
    } else {
        (void)append_group(told, stored, bytes, &group);
    }
}

void told_reach(struct told *told, uint64_t seq)
{
    told->seq = seq > told->seq ? seq : told->seq;
}

bool told_wants_groups(const struct told *told)
{
    return !told->is_begun || told->is_lost || told->count - told->full_count >= TOLD_DELTAS;
}

bool told_waits_for_groups(const struct told *told)
{
    return !told->is_begun || told->is_lost;
}

bool told_has_news(const struct told *told)
{
    return told->is_begun && !told->is_lost && (!told->has_full || told->count > told->sent_count);
}

void told_write(const struct told *told, struct msg_peer_summary *out,
                struct msg_summary_group *groups)
{
    uint32_t first = told->has_full ? told->sent_count : 0;
    size_t bytes = bloom_bytes(told->bits);

    for (uint32_t i = first; i < told->count; i++) {
        groups[i - first] = (struct msg_summary_group){
            .union_filter = {told->stored + i * bytes, bytes},
            .low = told->groups[i].low,
            .high = told->groups[i].high,
            .count = told->groups[i].count,
            .newest_ms = told->groups[i].newest_ms,
        };
    }
    *out = (struct msg_peer_summary){
        .seq = told->seq,
        .after = told->has_full ? told->sent_seq : 0,
        .newest_ms = told->newest_ms,
        .full = !told->has_full,
        .groups = groups,
        .group_count = told->count - first,
    };
}

void told_sent(struct told *told)
{
    told->has_full = true;
    told->sent_count = told->count;
    told->sent_seq = told->seq;
    told->newest_ms = INT64_MIN;
}
