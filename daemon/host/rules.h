/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules: what the operator has decided for a host as a whole: which payloads and filters are
 * banned, and which deposits are taken, whatever the configuration says. In memory, as stored.
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
    struct ban *bans;          /* owned: ban_count of ban_room, in order of their coming */
    uint32_t ban_count;
    uint32_t ban_room;
    uint32_t payload_count; /* of these, of payloads: without any, none need be hashed */
    bool has_accept;        /* the operator has chosen: accept */
    enum accept accept;
};

void rules_init(struct rules *rules, const struct alloc *alloc); /* holds no memory yet */
void rules_deinit(struct rules *rules);                          /* a zeroed one is fine */

/* Whether there is room for this rule: it is there already, or takes no place. */
bool rules_have_room(const struct rules *rules, const struct persist_rule *rule);

/* Takes a rule that is stored, copied. -ERR_NOMEM. */
int rules_put(struct rules *rules, const struct persist_rule *rule);

/* Forgets one; what is not there is fine. */
void rules_drop(struct rules *rules, const struct persist_rule *rule);

/*
 * The ban that a message falls under: its payload's, or that of a filter within its distance of
 * this one (`bytes`, in stored form). NULL: none. O(bans), and a hash of the payload when any
 * payload is banned.
 */
const struct ban *rules_find_ban(const struct rules *rules, const uint8_t *filter,
                                 size_t filter_bytes, const uint8_t *payload, size_t payload_bytes);

#endif
