/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/host/rules.h"

#include <assert.h>
#include <string.h>

#include <sodium.h>

#include "core/base/err.h"
#include "core/base/popcount.h"

enum { ROOM_MIN = 4 };

void rules_init(struct rules *rules, const struct alloc *alloc)
{
    *rules = (struct rules){.alloc = alloc};
}

void rules_deinit(struct rules *rules)
{
    if (rules->alloc != NULL) {
        alloc_release(rules->alloc, rules->bans);
        for (size_t i = 0; i < rules->notice_count; i++) {
            alloc_release(rules->alloc, rules->notices[i]);
        }
    }
    memset(rules, 0, sizeof(*rules));
}

/* --- notices ---------------------------------------------------------------------------------- */

/* Returns the index of a notice with the value of the rule; notice_count: there is none. */
static size_t notice_find(const struct rules *rules, const struct persist_rule *rule)
{
    size_t at = 0;

    while (at < rules->notice_count &&
           (rules->notices[at]->value_bytes != rule->value_bytes ||
            memcmp(rules->notices[at]->value, rule->value, rule->value_bytes) != 0)) {
        at++;
    }
    return at;
}

static void notice_remove(struct rules *rules, size_t at)
{
    alloc_release(rules->alloc, rules->notices[at]);
    rules->notice_count--;
    memmove(&rules->notices[at], &rules->notices[at + 1],
            (rules->notice_count - at) * sizeof(rules->notices[0]));
    rules->has_news = true;
}

/* Whether no notice can get this number. */
static bool is_used(const struct rules *rules, uint32_t number)
{
    return number < 1 || number > LIMIT_NOTICES || rules->waiting[number] > 0 ||
           rules_notice(rules, number) != NULL;
}

static int notice_put(struct rules *rules, const struct persist_rule *rule)
{
    size_t at = notice_find(rules, rule);
    struct notice *notice = alloc_zeroed(rules->alloc, 1, sizeof(*notice));

    if (notice == NULL) {
        return -ERR_NOMEM;
    }
    if (at < rules->notice_count) {
        notice_remove(rules, at);
    }
    assert(rules->notice_count < LIMIT_NOTICES && rule->value_bytes < sizeof(notice->value));
    *notice = (struct notice){.number = rule->number,
                              .created_ms = rule->created_ms,
                              .until_ms = rule->until_ms,
                              .value_bytes = rule->value_bytes};
    memcpy(notice->value, rule->value, rule->value_bytes);
    for (at = rules->notice_count++;
         at > 0 && (rules->notices[at - 1]->created_ms > notice->created_ms ||
                    (rules->notices[at - 1]->created_ms == notice->created_ms &&
                     rules->notices[at - 1]->number > notice->number));
         at--) {
        rules->notices[at] = rules->notices[at - 1];
    }
    rules->notices[at] = notice;
    rules->has_news = true;
    return 0;
}

void rules_end_notices(struct rules *rules, int64_t now_ms)
{
    for (size_t i = rules->notice_count; i-- > 0;) {
        if (rules->notices[i]->until_ms > 0 && rules->notices[i]->until_ms <= now_ms) {
            notice_remove(rules, i);
        }
    }
}

const struct notice *rules_notice(const struct rules *rules, uint32_t number)
{
    for (size_t i = 0; i < rules->notice_count; i++) {
        if (rules->notices[i]->number == number) {
            return rules->notices[i];
        }
    }
    return NULL;
}

uint32_t rules_take_number(struct rules *rules, const struct persist_rule *rule)
{
    size_t at = notice_find(rules, rule);
    uint32_t number = at < rules->notice_count ? rules->notices[at]->number : rule->number;

    for (uint32_t other = 1; at == rules->notice_count && is_used(rules, number); other++) {
        if (other > LIMIT_NOTICES) {
            return 0;
        }
        number = other;
    }
    rules->waiting[number]++;
    return number;
}

void rules_give_number(struct rules *rules, uint32_t number)
{
    rules->waiting[number] -= number > 0 ? 1 : 0;
}

void rules_shift(struct rules *rules, int64_t from_ms, int64_t by_ms)
{
    for (size_t i = 0; i < rules->notice_count; i++) {
        struct notice *notice = rules->notices[i];

        if (notice->until_ms > 0 && notice->created_ms >= from_ms) {
            notice->created_ms += by_ms;
            notice->until_ms += by_ms;
            rules->has_news = true;
        }
    }
}

bool rules_move(const struct rules *rules, int64_t from_ms)
{
    for (size_t i = 0; i < rules->notice_count; i++) {
        if (rules->notices[i]->until_ms > 0 && rules->notices[i]->created_ms >= from_ms) {
            return true;
        }
    }
    return false;
}

/* --- bans and the accept mode ----------------------------------------------------------------- */

static struct ban *rules_find(const struct rules *rules, const struct persist_rule *rule)
{
    for (uint32_t i = 0; i < rules->ban_count; i++) {
        struct ban *ban = &rules->bans[i];
        if (ban->kind == rule->kind && ban->value_bytes == rule->value_bytes &&
            memcmp(ban->value, rule->value, rule->value_bytes) == 0) {
            return ban;
        }
    }
    return NULL;
}

bool rules_have_room(const struct rules *rules, const struct persist_rule *rule)
{
    if (rule->kind == PERSIST_NOTICE) {
        return rules->notice_count < LIMIT_NOTICES ||
               notice_find(rules, rule) < rules->notice_count;
    }
    return rule->kind == PERSIST_ACCEPT || rule->kind == PERSIST_RESTORED ||
           rules->ban_count < LIMIT_BANS || rules_find(rules, rule) != NULL;
}

bool rules_has(const struct rules *rules, const struct persist_rule *rule)
{
    switch (rule->kind) {
    case PERSIST_ACCEPT:
        return rules->has_accept;
    case PERSIST_RESTORED:
        return rules->is_restored;
    case PERSIST_NOTICE:
        return notice_find(rules, rule) < rules->notice_count;
    default:
        return rules_find(rules, rule) != NULL;
    }
}

static int rules_grow(struct rules *rules)
{
    uint32_t room = rules->ban_room == 0 ? ROOM_MIN : rules->ban_room * 2;

    if (rules->ban_count < rules->ban_room) {
        return 0;
    }
    struct ban *bans = alloc_resize(rules->alloc, rules->bans, room, sizeof(*bans));
    if (bans == NULL) {
        return -ERR_NOMEM;
    }
    rules->bans = bans;
    rules->ban_room = room;
    return 0;
}

int rules_put(struct rules *rules, const struct persist_rule *rule)
{
    if (rule->kind == PERSIST_ACCEPT) {
        rules->has_accept = rule->number < ACCEPT_MODES;
        rules->accept = rules->has_accept ? (enum accept)rule->number : ACCEPT_OPEN;
        return 0;
    }
    if (rule->kind == PERSIST_RESTORED) {
        rules->is_restored = true;
        return 0;
    }
    if (rule->kind == PERSIST_NOTICE) {
        return notice_put(rules, rule);
    }
    struct ban *ban = rules_find(rules, rule);
    if (ban == NULL) {
        int rc = rules_grow(rules);
        if (rc != 0) {
            return rc;
        }
        ban = &rules->bans[rules->ban_count++];
        rules->payload_count += rule->kind == PERSIST_BAN_PAYLOAD;
    }
    *ban = (struct ban){.kind = rule->kind,
                        .max_distance_ppm = rule->number,
                        .since_ms = rule->created_ms,
                        .value_bytes = rule->value_bytes};
    memcpy(ban->value, rule->value, rule->value_bytes);
    return 0;
}

void rules_drop(struct rules *rules, const struct persist_rule *rule)
{
    if (rule->kind == PERSIST_ACCEPT) {
        rules->has_accept = false;
        return;
    }
    if (rule->kind == PERSIST_RESTORED) {
        rules->is_restored = false;
        return;
    }
    if (rule->kind == PERSIST_NOTICE) {
        size_t at = notice_find(rules, rule);
        if (at < rules->notice_count) {
            notice_remove(rules, at);
        }
        return;
    }
    struct ban *ban = rules_find(rules, rule);
    if (ban == NULL) {
        return;
    }
    rules->payload_count -= ban->kind == PERSIST_BAN_PAYLOAD;
    size_t behind = (size_t)(rules->bans + rules->ban_count - (ban + 1));
    memmove(ban, ban + 1, behind * sizeof(*ban));
    rules->ban_count--;
}

/*
 * Whether a filter is within the ban's maximum bit distance of the banned filter, inclusive. An
 * answer's filter has no bits, and says nothing that a ban could be about.
 */
static bool is_within(const struct ban *ban, const uint8_t *filter)
{
    uint64_t shared = 0;
    uint64_t all = 0;

    for (size_t i = 0; i < ban->value_bytes; i++) {
        shared += popcount_word(ban->value[i] & filter[i]);
        all += popcount_word(ban->value[i] | filter[i]);
    }
    return all > 0 && (all - shared) * 1000000 <= all * ban->max_distance_ppm;
}

const struct ban *rules_find_ban(const struct rules *rules, const uint8_t *filter,
                                 size_t filter_bytes, const uint8_t *payload, size_t payload_bytes)
{
    uint8_t hash[LIMIT_HASH_BYTES] = {0};

    if (rules->payload_count > 0) {
        /* Fails for lengths out of range only. */
        (void)crypto_generichash(hash, sizeof(hash), payload, payload_bytes, NULL, 0);
    }
    for (uint32_t i = 0; i < rules->ban_count; i++) {
        const struct ban *ban = &rules->bans[i];
        if (ban->kind == PERSIST_BAN_PAYLOAD
                ? memcmp(ban->value, hash, sizeof(hash)) == 0
                : ban->value_bytes == filter_bytes && is_within(ban, filter)) {
            return ban;
        }
    }
    return NULL;
}
