/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules: the operator's rules for a host: banned payloads, banned filters, an accept mode that
 * overrides the configuration, and notices. Also the mark that the host has been restored. The
 * store has the same rules; this copy is in memory.
 */
#pragma once

#include "core/base/alloc.h"
#include "daemon/config/schedule.h"
#include "daemon/store/persist.h"

struct ban {
    enum persist_rule_kind kind; /* PERSIST_BAN_PAYLOAD or PERSIST_BAN_FILTER */
    uint32_t max_distance_ppm;   /* of a filter */
    int64_t since_ms;
    size_t value_bytes;
    uint8_t value[LIMIT_FILTER_BYTES];
};

/* What the operator says to all who read here, or at one place. */
struct notice {
    uint32_t number; /* 1 .. LIMIT_NOTICES */
    int64_t created_ms;
    int64_t until_ms; /* 0: it does not end by itself */
    size_t value_bytes;
    char value[PERSIST_RULE_BYTES_MAX + 1]; /* language, NUL, text, NUL, place, NUL, as stored */
};

struct rules {
    const struct alloc *alloc; /* borrowed */
    struct ban *bans;          /* owned: ban_room elements, ban_count in use */
    uint32_t ban_count;
    uint32_t ban_room;
    /* number of banned payloads; with 0 no payload is hashed */
    uint32_t payload_count;
    bool has_accept; /* the operator has set `accept` */
    enum accept accept;
    struct notice *notices[LIMIT_NOTICES]; /* owned: notice_count of them, oldest first */
    size_t notice_count;
    /* how many notices with this number wait for the store */
    uint32_t waiting[LIMIT_NOTICES + 1];
    bool has_news;    /* gateways do not know the notices yet */
    bool is_restored; /* what the copies of the host had is back (PERSIST_RESTORED) */
};

void rules_init(struct rules *rules, const struct alloc *alloc); /* holds no memory yet */
void rules_deinit(struct rules *rules);                          /* a zeroed one is fine */

/*
 * Whether the host may get this rule: the host has fewer than LIMIT_BANS bans, or fewer than
 * LIMIT_NOTICES notices, or has this rule already. An accept mode and the mark may always be added.
 */
bool rules_have_room(const struct rules *rules, const struct persist_rule *rule);

/* Whether the host has a rule of this kind and value. */
bool rules_has(const struct rules *rules, const struct persist_rule *rule);

/*
 * Adds a rule, in place of an older rule of the same kind and value. Copies the rule. Returns 0 or
 * -ERR_NOMEM.
 */
int rules_put(struct rules *rules, const struct persist_rule *rule);

/* Removes a rule if it is there. */
void rules_drop(struct rules *rules, const struct persist_rule *rule);

/* Removes the notices that have ended. */
void rules_end_notices(struct rules *rules, int64_t now_ms);

/* The notice of this number. Borrowed until the next change. NULL: there is none. */
const struct notice *rules_notice(const struct rules *rules, uint32_t number);

/*
 * The number for a notice that is to be stored: the one that it has here, rule->number if that is
 * free, or the smallest free one. 0: none is free. No other notice gets it until rules_give_number,
 * which is called once the store has answered, and after rules_put. So two notices that wait for
 * the store at the same time, of an operator and of a bridge, have different numbers.
 */
uint32_t rules_take_number(struct rules *rules, const struct persist_rule *rule);
void rules_give_number(struct rules *rules, uint32_t number); /* 0 is fine */

/*
 * rules_shift does in memory what PERSIST_SHIFT does to rules. rules_move: whether there are such
 * rules.
 */
void rules_shift(struct rules *rules, int64_t from_ms, int64_t by_ms);
bool rules_move(const struct rules *rules, int64_t from_ms);

/*
 * Finds a ban that applies to a message: the payload is banned, or the filter is within the maximum
 * distance of a banned filter. The filters are in stored form. NULL: no ban applies. O(bans);
 * hashes the payload if any payload is banned.
 */
const struct ban *rules_find_ban(const struct rules *rules, const uint8_t *filter,
                                 size_t filter_bytes, const uint8_t *payload, size_t payload_bytes);
