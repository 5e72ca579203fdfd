/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/host/room.h"

#include <string.h>

#include "core/base/least.h"
#include "daemon/host/service.h"

/* --- the host and the server ------------------------------------------------------------------ */

/*
 * Returns by how much `used` exceeds the cap `max`, after the promised amount was taken off and the
 * new message's amount `added` was added. The amounts are numbers of messages or of bytes.
 */
static uint64_t room_excess(uint64_t used, uint64_t promised, uint64_t added, uint64_t max)
{
    uint64_t left = used > promised ? used - promised : 0;
    uint64_t sum = left + added; /* both far below 2^63 */

    return sum > max ? sum - max : 0;
}

/*
 * Returns by how many messages and bytes a host or the server exceeds its caps, after one more
 * message of `bytes` has come and the promised messages have gone.
 */
static struct usage usage_excess(const struct usage *used, const struct usage *leaving,
                                 uint64_t bytes, const struct usage *caps)
{
    return (struct usage){
        .messages = room_excess(used->messages, leaving->messages, 1, caps->messages),
        .bytes = room_excess(used->bytes, leaving->bytes, bytes, caps->bytes),
    };
}

static bool usage_is_zero(const struct usage *usage)
{
    return usage->messages == 0 && usage->bytes == 0;
}

static struct usage caps_of_host(const struct host *host)
{
    return (struct usage){host->config.messages_max, host->config.bytes_max};
}

static struct usage caps_of_server(const struct service *service)
{
    return (struct usage){service->config.limits.messages, service->config.limits.bytes};
}

/*
 * Logs that a host or the server is full: once until there is room again, and at most once in ten
 * seconds for each host.
 */
static void note_full(struct service *service, struct host *host, const char *whose,
                      const char *cap)
{
    uint64_t withheld = 0;

    if (host->fullness.is_full) {
        return;
    }
    host->fullness.is_full = true;
    host->fullness.is_told =
        log_gate_opens(&host->fullness.gate, service_monotonic_ms(service), &withheld);
    if (host->fullness.is_told) {
        log_warning("host %s: %s is full (`%s`); %s", host->config.name, whose, cap,
                    host->config.evict == CONFIG_EVICT_REJECT
                        ? "deposits get QUOTA until messages expire"
                        : "messages make room for new ones");
    }
}

/*
 * Whether 1/20 of both caps is free. The margin keeps a nearly full host from being logged as full
 * again and again.
 */
static bool has_room(const struct usage *usage, struct usage caps)
{
    return usage->messages < caps.messages &&
           usage->messages <= caps.messages - caps.messages / 20 &&
           usage->bytes <= caps.bytes - caps.bytes / 20;
}

void room_tick(struct service *service)
{
    for (size_t i = 0; i < service->host_count; i++) {
        struct host *host = &service->hosts[i];
        if (host->fullness.is_full && has_room(&host->usage, caps_of_host(host)) &&
            has_room(&service->usage, caps_of_server(service))) {
            host->fullness.is_full = false;
            if (host->fullness.is_told) {
                log_info("host %s: there is room again", host->config.name);
            }
        }
    }
}

/*
 * Finds how many messages and bytes the store must remove in addition to the sender's own messages,
 * which find_own has promised. Returns false if the store cannot or may not remove that many.
 */
static bool find_in_host(const struct room_wish *wish, struct room *room)
{
    struct service *service = wish->service;
    struct host *host = wish->host;
    struct usage host_caps = caps_of_host(host);
    struct usage all_caps = caps_of_server(service);
    struct usage of_host = usage_excess(&host->usage, &host->leaving, wish->bytes, &host_caps);
    struct usage of_all = usage_excess(&service->usage, &service->leaving, wish->bytes, &all_caps);

    room->need = (struct usage){.messages = most_u64(of_host.messages, of_all.messages),
                                .bytes = most_u64(of_host.bytes, of_all.bytes)};
    if (usage_is_zero(&room->need)) {
        return true;
    }
    room->why = usage_is_zero(&of_host) ? ROOM_SERVER_FULL : ROOM_HOST_FULL;
    room->cap = room->need.messages > 0 ? "messages" : "bytes";
    note_full(service, host, room->why == ROOM_HOST_FULL ? "it" : "this server", room->cap);
    /*
     * Promised messages (`leaving`) cannot be removed a second time, so they are not available. The
     * other messages in `usage` are, even those that wait for the store: the store works in order,
     * so it will have answered their deposits by then.
     */
    return wish->may_evict && room->need.messages <= ROOM_EVICT_MAX - room->own_count &&
           host->leaving.messages + room->need.messages <= host->usage.messages &&
           wish->bytes <= host_caps.bytes && wish->bytes <= all_caps.bytes;
}

/* --- shares of senders ------------------------------------------------------------------------ */

static uint64_t part_of(uint64_t all, uint64_t parts)
{
    return all / parts > 0 ? all / parts : 1;
}

/*
 * Returns the cap that a sender exceeds with one more message of `bytes`: "messages" or "bytes".
 * The sender may use 1/`parts` of each cap. NULL: no cap is exceeded, or the sender has no
 * messages.
 */
static const char *exceeded_cap(const struct usage *has, uint64_t bytes, struct usage caps,
                                uint64_t parts)
{
    if (has->messages == 0) {
        return NULL; /* one message is always taken */
    }
    return has->messages + 1 > part_of(caps.messages, parts) ? "messages"
           : has->bytes + bytes > part_of(caps.bytes, parts) ? "bytes"
                                                             : NULL;
}

/*
 * Returns the cap that the sender exceeds with one more message, either in its share of the host or
 * in its share of all hosts. NULL: no cap is exceeded.
 */
static const char *exceeded_share(const struct room_wish *wish, uint32_t tag, bool is_wide)
{
    const struct service *service = wish->service;
    uint64_t parts = is_wide ? ROOM_OF_WIDE : ROOM_OF_ADDRESS;
    struct usage here = {0};
    struct usage everywhere = {0};

    for (size_t i = 0; i < service->host_count && tag != 0; i++) {
        struct usage one;
        shares_usage(&service->hosts[i].shares, tag, is_wide, &one);
        everywhere.messages += one.messages;
        everywhere.bytes += one.bytes;
        if (wish->host == &service->hosts[i]) {
            here = one;
        }
    }
    const char *cap = exceeded_cap(&here, wish->bytes, caps_of_host(wish->host), parts);
    return cap != NULL ? cap
                       : exceeded_cap(&everywhere, wish->bytes, caps_of_server(service), parts);
}

static void room_promise(const struct room_wish *wish, const struct usage *usage)
{
    wish->host->leaving.messages += usage->messages;
    wish->host->leaving.bytes += usage->bytes;
    wish->service->leaving.messages += usage->messages;
    wish->service->leaving.bytes += usage->bytes;
}

/* Marks an answer, so that answers_pick does not pick it, or removes the mark. Does nothing for
 * other messages. */
static void set_leaving(struct host *host, const uint8_t *id, bool is_leaving)
{
    struct answer *answer = answers_find(&host->answers, id);

    if (answer != NULL) {
        answer->is_leaving = is_leaving;
    }
}

/*
 * Promises the removal of the oldest messages of an address, or of a /64, until its share has space
 * for the new message. Returns false if no message may be removed, or if the messages that may be
 * removed at this host are not enough.
 */
static bool find_own(const struct room_wish *wish, bool is_wide, struct room *room)
{
    struct shares *shares = &wish->host->shares;
    uint32_t tag = is_wide ? wish->sender.wide : wish->sender.address;

    room->why = is_wide ? ROOM_WIDE_FULL : ROOM_ADDRESS_FULL;
    while ((room->cap = exceeded_share(wish, tag, is_wide)) != NULL) {
        uint8_t *id = room->own_ids[room->own_count];
        uint32_t gone = 0;
        if (!wish->may_evict || room->own_count == ROOM_EVICT_MAX - 1 ||
            !(is_wide ? shares_pick_wide(shares, tag, room->cap[0] == 'b', id, &gone)
                      : shares_pick(shares, tag, id, &gone))) {
            return false;
        }
        set_leaving(wish->host, id, true);
        room_promise(wish, &(struct usage){.messages = 1, .bytes = gone});
        usage_add(&room->own, gone);
        room->own_count++;
    }
    return true;
}

/* Promises the removal of wish->first, if there is one. Returns false if it goes already. */
static bool find_first(const struct room_wish *wish, struct room *room)
{
    struct answer *first = wish->first;

    if (first == NULL) {
        return true;
    }
    if (!shares_pick_id(&wish->host->shares, first->item.id)) {
        room->why = ROOM_HOST_FULL;
        room->cap = "messages";
        return false;
    }
    first->is_leaving = true;
    room_promise(wish, &(struct usage){.messages = 1, .bytes = first->item.bytes});
    usage_add(&room->own, first->item.bytes);
    memcpy(room->own_ids[room->own_count++], first->item.id, MESSAGE_ID_BYTES);
    return true;
}

/* --- both ------------------------------------------------------------------------------------- */

void room_unpromise(struct service *service, struct host *host, const struct room *room)
{
    uint64_t messages = room->own.messages + room->need.messages;
    uint64_t bytes = room->own.bytes + room->need.bytes;

    for (uint32_t i = 0; i < room->own_count; i++) {
        set_leaving(host, room->own_ids[i], false);
        shares_unpick(&host->shares, room->own_ids[i]);
    }
    host->leaving.messages -= messages;
    host->leaving.bytes -= bytes;
    service->leaving.messages -= messages;
    service->leaving.bytes -= bytes;
}

/* The next expiry of a host; INT64_MAX: no message. O(messages), every ROOM_SWEEP_MS at most. */
static int64_t host_next_ms(struct host *host, int64_t now_ms)
{
    int64_t next_ms = INT64_MAX;

    if (now_ms < host->fullness.next_from_ms &&
        host->fullness.next_from_ms <= now_ms + ROOM_SWEEP_MS) {
        return host->fullness.next_ms;
    }
    for (size_t i = 0; i < host->epoch_count; i++) {
        int64_t of_epoch_ms = index_soonest_ms(host->epochs[i]->index);
        next_ms = of_epoch_ms < next_ms ? of_epoch_ms : next_ms;
    }
    for (uint32_t i = 0; i < host->moderation.count; i++) {
        int64_t expires_ms = host->moderation.entries[i].expires_ms;
        next_ms = expires_ms < next_ms ? expires_ms : next_ms;
    }
    host->fullness.next_ms = next_ms;
    host->fullness.next_from_ms = next_ms == INT64_MAX ? now_ms : now_ms + ROOM_SWEEP_MS;
    return next_ms;
}

uint64_t room_next_ms(const struct room_wish *wish, const struct room *room)
{
    struct service *service = wish->service;
    int64_t now_ms = service_now_ms(service);
    int64_t next_ms = INT64_MAX;

    if (wish->bytes > wish->host->config.bytes_max || wish->bytes > service->config.limits.bytes) {
        return 0;
    }
    for (size_t i = 0; i < service->host_count; i++) {
        struct host *host = &service->hosts[i];
        if (room->why == ROOM_SERVER_FULL || (room->why == ROOM_HOST_FULL && host == wish->host)) {
            int64_t of_host_ms = host_next_ms(host, now_ms);
            next_ms = of_host_ms < next_ms ? of_host_ms : next_ms;
        }
    }
    if (next_ms == INT64_MAX) {
        return 0;
    }
    return (next_ms > now_ms ? (uint64_t)next_ms - (uint64_t)now_ms : 0) + ROOM_SWEEP_MS;
}

bool room_find(const struct room_wish *wish, struct room *out_room)
{
    out_room->own_count = 0;
    out_room->own = out_room->need = (struct usage){0};
    if (find_first(wish, out_room) && find_own(wish, false, out_room) &&
        find_own(wish, true, out_room) && find_in_host(wish, out_room)) {
        room_promise(wish, &out_room->need);
        return true;
    }
    out_room->need = (struct usage){0};
    room_unpromise(wish->service, wish->host, out_room);
    return false;
}
