/* SPDX-License-Identifier: Apache-2.0 */
/* campus_hosts: what happens at one host: contexts, messages, wipes. */
#include <stdlib.h>
#include <string.h>

#include "core/filter/bloom.h"
#include "core/tree/engine.h"
#include "tests/sim/campus.h"

enum { TTL_MIN_MS = HOUR_MS, TTL_MORE_MINUTES = 300 };

int64_t host_now_ms(const struct c_host *host)
{
    return campus.now_ms + host->clock_ms;
}

bool host_is_cut(const struct c_host *host)
{
    return campus.now_ms < host->cut_until_ms;
}

/* --- contexts --------------------------------------------------------------------------------- */

static void add_point(uint32_t point, uint64_t *out)
{
    for (int i = 0; i < 4; i++) {
        bloom_set(out, campus.bits[point][i]);
    }
}

/* A point of the grid near a host, at most `far` columns and rows away. */
static uint32_t near_point(uint32_t number, uint32_t far)
{
    uint32_t x = number % SIDE + SIDE - far + rng_below(&campus.rng, 2 * far + 1);
    uint32_t y = number / SIDE + SIDE - far + rng_below(&campus.rng, 2 * far + 1);

    return y % SIDE * SIDE + x % SIDE;
}

/* Nearly all access points one step away are seen, and some of those two steps away. */
void host_context(uint32_t number, uint64_t *out)
{
    uint32_t here = near_point(number, 1);

    memset(out, 0, WORDS * sizeof(*out));
    for (uint32_t dy = 0; dy < 5; dy++) {
        for (uint32_t dx = 0; dx < 5; dx++) {
            bool is_near = dx >= 1 && dx <= 3 && dy >= 1 && dy <= 3;
            uint32_t x = (here % SIDE + SIDE - 2 + dx) % SIDE;
            uint32_t y = (here / SIDE + SIDE - 2 + dy) % SIDE;

            if (rng_chance(&campus.rng, is_near ? 90 : 30)) {
                add_point(y * SIDE + x, out);
            }
        }
    }
}

void host_label(uint32_t number, uint64_t *out)
{
    memset(out, 0, WORDS * sizeof(*out));
    add_point(near_point(number, 1), out);
}

/* --- messages --------------------------------------------------------------------------------- */

static void begin_store(struct c_host *host)
{
    const struct index_options options = {.alloc = alloc_system(),
                                          .profile = &campus.profile,
                                          .kernels = campus.kernels,
                                          .hash_seed = rng_next(&campus.rng)};

    for (size_t i = 0; i < sizeof(host->store_id); i++) {
        host->store_id[i] = (uint8_t)rng_next(&campus.rng);
    }
    index_free(host->index);
    SIM_CHECK(index_new(&tree_engine, &options, &host->index) == 0);
    host->groups.count = 0;
    host->groups.came = host->groups.gone = 0;
    host->count = 0;
    host->seq = 0;
    host->has_to_tell = true;
    host->has_gone_back = false;
}

void hosts_init(void)
{
    for (uint32_t point = 0; point < POINTS; point++) {
        for (int i = 0; i < 4; i++) {
            campus.bits[point][i] = (uint16_t)rng_below(&campus.rng, campus.profile.bits);
        }
    }
    for (uint32_t h = 0; h < HOSTS; h++) {
        struct c_host *host = &campus.hosts[h];

        SIM_CHECK(groups_init(&host->groups, alloc_system(), &campus.profile, HOST_GROUPS) == 0);
        host->lie = h % (HOSTS / LIARS) == 1
                        ? (enum c_lie)(1 + rng_below(&campus.rng, LIE_KINDS - 1))
                        : LIE_NONE;
        host->clock_ms = (int64_t)rng_below(&campus.rng, 200) - 100;
        begin_store(host);
    }
}

void hosts_deinit(void)
{
    for (uint32_t h = 0; h < HOSTS; h++) {
        index_free(campus.hosts[h].index);
        groups_deinit(&campus.hosts[h].groups);
        free(campus.hosts[h].messages);
    }
}

static struct c_message *new_message(struct c_host *host)
{
    if (host->count == host->room) {
        host->room = host->room == 0 ? 16 : host->room * 2;
        host->messages = realloc(host->messages, host->room * sizeof(*host->messages));
        SIM_CHECK(host->messages != NULL);
    }
    memset(&host->messages[host->count], 0, sizeof(*host->messages));
    return &host->messages[host->count++];
}

/* At times the same message is left at two hosts, with the same id. */
static void choose_id(struct c_host *host, uint8_t *out)
{
    static uint8_t last[MESSAGE_ID_BYTES];
    const uint64_t random = rng_next(&campus.rng);

    if (!rng_chance(&campus.rng, 5) || index_find(host->index, last, NULL, NULL) == 0) {
        memcpy(last, &random, sizeof(random));
    }
    memcpy(out, last, sizeof(last));
}

void host_deposit(uint32_t number)
{
    struct c_host *host = &campus.hosts[number];
    struct c_message *message = new_message(host);

    choose_id(host, message->id);
    if (host->count > 1 && rng_chance(&campus.rng, 20)) { /* an equal context makes ties */
        memcpy(message->filter, host->messages[rng_below(&campus.rng, host->count - 1)].filter,
               sizeof(message->filter));
    } else {
        host_context(number, message->filter);
    }
    message->deposited_ms = host_now_ms(host);
    message->expires_ms = message->deposited_ms + TTL_MIN_MS +
                          (int64_t)rng_below(&campus.rng, TTL_MORE_MINUTES) * MINUTE_MS;
    message->seq = ++host->seq;
    const struct index_item item = {.deposited_ms = message->deposited_ms,
                                    .expires_ms = message->expires_ms,
                                    .reach_ppm = DISTANCE_ONE_PPM};
    struct index_item named = item;
    memcpy(named.id, message->id, sizeof(named.id));
    SIM_CHECK(index_insert(host->index, &named, message->filter) == 0);
    groups_add(&host->groups, message->filter, message->deposited_ms);
    campus.sums.deposits++;
    hub_tell_message(number, message);
}

/* Half of what the groups counted has gone: they are made anew, and told. */
static void rebuild_groups(struct c_host *host)
{
    host->groups.count = 0;
    host->groups.came = host->groups.gone = 0;
    for (uint32_t i = 0; i < host->count; i++) {
        groups_add(&host->groups, host->messages[i].filter, host->messages[i].deposited_ms);
    }
    host->has_to_tell = true;
    campus.sums.rebuilds++;
}

static void remove_message(struct c_host *host, uint32_t at)
{
    SIM_CHECK(index_remove(host->index, host->messages[at].id, NULL) == 0);
    host->messages[at] = host->messages[--host->count];
    if (groups_remove(&host->groups)) {
        rebuild_groups(host);
    }
}

void host_withdraw(uint32_t number)
{
    struct c_host *host = &campus.hosts[number];

    if (host->count > 0) {
        host->seq++;
        remove_message(host, rng_below(&campus.rng, host->count));
    }
}

void host_expire(uint32_t number)
{
    struct c_host *host = &campus.hosts[number];

    for (uint32_t i = host->count; i > 0; i--) {
        if (host->messages[i - 1].expires_ms <= host_now_ms(host)) {
            remove_message(host, i - 1);
        }
    }
}

/* A new access point in the place of an old one; it gets its messages back later, if at all. */
void host_wipe(uint32_t number)
{
    struct c_host *host = &campus.hosts[number];

    begin_store(host);
    host->restoring_until_ms = campus.now_ms + 2 * MINUTE_MS;
    campus.sums.wipes++;
}
