/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/ask/inner.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/filter/bloom.h"

_Static_assert((int)LIMIT_SECTIONS == (int)PROFILE_SECTIONS_MAX, "a group has all sections");
_Static_assert((int)TOLD_GROUPS_MAX <= (int)HOOD_GROUPS_MAX,
               "a peer keeps all groups that are told");

bool told_read_group(const struct profile *profile, const struct hearsay_summary_group *from,
                     uint64_t *filter, struct group *out)
{
    *out = (struct group){
        .filter = filter,
        .count = from->count > UINT32_MAX ? UINT32_MAX : (uint32_t)from->count,
        .newest_ms = from->newest_ms,
    };
    if (from->least_count != profile->section_count || from->most_count != profile->section_count) {
        return false;
    }
    for (uint32_t s = 0; s < profile->section_count; s++) {
        if (from->least[s] > from->most[s] || from->most[s] > profile->sections[s].bits) {
            return false;
        }
        out->ranges[s] = (struct group_range){(uint16_t)from->least[s], (uint16_t)from->most[s]};
    }
    return bloom_load(filter, profile->bits, from->union_filter.data, from->union_filter.count) ==
           0;
}

int told_init(struct told *told, const struct profile *profile)
{
    *told = (struct told){.profile = *profile, .newest_ms = INT64_MIN};
    told->filters = calloc(TOLD_GROUPS_MAX * bloom_words(profile->bits), sizeof(*told->filters));
    told->stored = calloc(TOLD_GROUPS_MAX, bloom_bytes(profile->bits));
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
    *told = (struct told){.count = 0};
}

void told_forget(struct told *told)
{
    told->count = told->full_count = told->sent_count = 0;
    told->newest_ms = INT64_MIN;
    told->is_begun = told->has_full = told->is_lost = false;
}

/* The words of the next group's union. */
static uint64_t *next_filter(const struct told *told)
{
    return told->filters + told->count * bloom_words(told->profile.bits);
}

/* Appends a group whose union, in stored form, was read into next_filter. */
static void append_group(struct told *told, const uint8_t *stored, const struct group *group)
{
    size_t bytes = bloom_bytes(told->profile.bits);

    memcpy(told->stored + told->count * bytes, stored, bytes);
    told->groups[told->count++] = *group;
}

bool told_begin(struct told *told, const struct hearsay_summary_group *groups, size_t count,
                uint64_t seq)
{
    told_forget(told);
    for (size_t i = 0; i < count; i++) {
        struct group group;

        if (i == GROUPS_MAX ||
            !told_read_group(&told->profile, &groups[i], next_filter(told), &group)) {
            told_forget(told);
            return false;
        }
        append_group(told, groups[i].union_filter.data, &group);
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
    if (bloom_load(filter, told->profile.bits, stored, bytes) != 0) {
        told->is_lost = true;
        return;
    }
    if (groups_cover(told->groups, told_count, &told->profile, filter)) {
        told->newest_ms = deposited_ms > told->newest_ms ? deposited_ms : told->newest_ms;
    } else if (told->count - told->full_count == TOLD_DELTAS_MAX ||
               (!told->has_full && told->count == GROUPS_MAX)) {
        told->is_lost = true; /* it does not fit the next word */
    } else {
        memcpy(next_filter(told), filter, bloom_words(told->profile.bits) * sizeof(*filter));
        struct group group = groups_one(&told->profile, next_filter(told), deposited_ms);
        append_group(told, stored, &group);
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

bool told_has_time(const struct told *told)
{
    return told->newest_ms != INT64_MIN;
}

void told_write(const struct told *told, struct msg_peer_summary *out,
                struct hearsay_summary_group *groups)
{
    uint32_t first = told->has_full ? told->sent_count : 0;
    size_t bytes = bloom_bytes(told->profile.bits);

    for (uint32_t i = first; i < told->count; i++) {
        struct hearsay_summary_group *out_group = &groups[i - first];
        const struct group *group = &told->groups[i];

        *out_group = (struct hearsay_summary_group){
            .union_filter = {told->stored + i * bytes, bytes},
            .least_count = told->profile.section_count,
            .most_count = told->profile.section_count,
            .count = group->count,
            .newest_ms = group->newest_ms,
        };
        for (uint32_t s = 0; s < told->profile.section_count; s++) {
            out_group->least[s] = group->ranges[s].least;
            out_group->most[s] = group->ranges[s].most;
        }
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
