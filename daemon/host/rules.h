/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules: the operator's rules for a host: banned payloads, banned filters, and an accept mode that
 * overrides the configuration. The store has the same rules; this copy is in memory.
 */
#ifndef DAEMON_HOST_RULES_H
#define DAEMON_HOST_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/alloc.h"
#include "core/profile/profile.h"
#include "daemon/config/schedule.h"
#include "daemon/store/persist.h"

enum { RULES_BANS_MAX = 1000 };

struct ban {
    enum persist_rule_kind kind; /* PERSIST_BAN_PAYLOAD or PERSIST_BAN_FILTER */
    uint32_t max_distance_ppm;   /* of a filter */
    int64_t since_ms;
    size_t value_bytes;
    uint8_t value[LIMIT_FILTER_BYTES];
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
};

void rules_init(struct rules *rules, const struct alloc *alloc); /* holds no memory yet */
void rules_deinit(struct rules *rules);                          /* a zeroed one is fine */

/*
 * Whether the host may get this rule: the host has fewer than RULES_BANS_MAX bans, or has this ban
 * already. An accept mode may always be added.
 */
bool rules_have_room(const struct rules *rules, const struct persist_rule *rule);

/*
 * Adds a rule, in place of an older rule of the same kind and value. Copies the rule. Returns 0 or
 * -ERR_NOMEM.
 */
int rules_put(struct rules *rules, const struct persist_rule *rule);

/* Removes a rule if it is there. */
void rules_drop(struct rules *rules, const struct persist_rule *rule);

/*
 * Finds a ban that applies to a message: the payload is banned, or the filter is within the maximum
 * distance of a banned filter. The filters are in stored form. NULL: no ban applies. O(bans);
 * hashes the payload if any payload is banned.
 */
const struct ban *rules_find_ban(const struct rules *rules, const uint8_t *filter,
                                 size_t filter_bytes, const uint8_t *payload, size_t payload_bytes);

#endif
