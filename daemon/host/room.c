/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/host/room.h"

#include "daemon/host/service.h"

/* --- the host and the server ------------------------------------------------------------------ */

/* How much more there would be than `max`, with one more of `added`. */
static uint64_t room_excess(uint64_t used, uint64_t promised, uint64_t added, uint64_t max)
{
    uint64_t left = used > promised ? used - promised : 0;
    uint64_t sum = left + added; /* both far below 2^63 */

    return sum > max ? sum - max : 0;
}

static uint64_t room_larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The log has one line when a host becomes full, and at most one in ten seconds. */
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

/* Whether a 20th of a cap is free: a host that is nearly full is not called full again and again.
 */
static bool has_room(const struct usage *usage, uint64_t messages_max, uint64_t bytes_max)
{
    return usage->messages < messages_max && usage->messages <= messages_max - messages_max / 20 &&
           usage->bytes <= bytes_max - bytes_max / 20;
}

void room_tick(struct service *service)
{
    const struct config_limits *limits = &service->config.limits;

    for (size_t i = 0; i < service->host_count; i++) {
        struct host *host = &service->hosts[i];
        if (host->fullness.is_full &&
            has_room(&host->usage, host->config.messages_max, host->config.bytes_max) &&
            has_room(&service->usage, limits->messages_max, limits->bytes_max)) {
            host->fullness.is_full = false;
            if (host->fullness.is_told) {
                log_info("host %s: there is room again", host->config.name);
            }
        }
    }
}

/* What must go besides the sender's own messages, which are promised already; false: it cannot. */
static bool find_in_host(struct service *service, struct host *host, uint64_t bytes, bool may_evict,
                         struct room *room, enum room_full *out_why, const char **out_cap)
{
    const struct config_limits *limits = &service->config.limits;
    const struct config_host *config = &host->config;
    struct usage of_host = {
        .messages =
            room_excess(host->usage.messages, host->leaving.messages, 1, config->messages_max),
        .bytes = room_excess(host->usage.bytes, host->leaving.bytes, bytes, config->bytes_max),
    };
    struct usage of_all = {
        .messages = room_excess(service->usage.messages, service->leaving.messages, 1,
                                limits->messages_max),
        .bytes =
            room_excess(service->usage.bytes, service->leaving.bytes, bytes, limits->bytes_max),
    };

    room->need = (struct usage){.messages = room_larger(of_host.messages, of_all.messages),
                                .bytes = room_larger(of_host.bytes, of_all.bytes)};
    if (room->need.messages == 0 && room->need.bytes == 0) {
        return true;
    }
    *out_why = of_host.messages > 0 || of_host.bytes > 0 ? ROOM_HOST_FULL : ROOM_SERVER_FULL;
    *out_cap = room->need.messages > 0 ? "messages" : "bytes";
    note_full(service, host, *out_why == ROOM_HOST_FULL ? "it" : "this server", *out_cap);
    /* What is on its way out cannot go twice. What waits to come in can: it will be there by then,
     * as the store does one thing after the other. */
    return may_evict && room->need.messages <= ROOM_EVICT_MAX - room->own_count &&
           host->leaving.messages + room->need.messages <= host->usage.messages &&
           bytes <= config->bytes_max && bytes <= limits->bytes_max;
}

/* --- shares of senders ------------------------------------------------------------------------ */

static uint64_t part_of(uint64_t all, uint64_t parts)
{
    return all / parts > 0 ? all / parts : 1;
}

/* What a sender has of all hosts, where they are several and share the server's caps. */
static void usage_of(const struct service *service, const struct host *host, uint32_t tag,
                     bool is_wide, bool of_all, struct usage *out_usage)
{
    *out_usage = (struct usage){0};
    for (size_t i = 0; i < service->host_count; i++) {
        struct usage one;
        if (of_all || host == &service->hosts[i]) {
            shares_usage(&service->hosts[i].shares, tag, is_wide, &one);
            out_usage->messages += one.messages;
            out_usage->bytes += one.bytes;
        }
    }
}

/* Whether a message more would be over one part in `parts` of the caps; *out_cap: of which one. */
static bool is_over(const struct usage *has, uint64_t bytes, uint64_t messages_max,
                    uint64_t bytes_max, uint64_t parts, const char **out_cap)
{
    if (has->messages == 0) {
        return false; /* one message is always taken */
    }
    *out_cap = has->messages + 1 > part_of(messages_max, parts) ? "messages"
               : has->bytes + bytes > part_of(bytes_max, parts) ? "bytes"
                                                                : NULL;
    return *out_cap != NULL;
}

/* The same, of the host or of all hosts together. */
static bool is_over_share(const struct service *service, const struct host *host, uint32_t tag,
                          bool is_wide, uint64_t bytes, const char **out_cap)
{
    const struct config_limits *limits = &service->config.limits;
    uint64_t parts = is_wide ? ROOM_OF_WIDE : ROOM_OF_ADDRESS;
    struct usage here;
    struct usage everywhere;

    if (tag == 0) {
        return false;
    }
    usage_of(service, host, tag, is_wide, false, &here);
    usage_of(service, host, tag, is_wide, true, &everywhere);
    return is_over(&here, bytes, host->config.messages_max, host->config.bytes_max, parts,
                   out_cap) ||
           is_over(&everywhere, bytes, limits->messages_max, limits->bytes_max, parts, out_cap);
}

static void room_promise(struct service *service, struct host *host, const struct usage *usage)
{
    host->leaving.messages += usage->messages;
    host->leaving.bytes += usage->bytes;
    service->leaving.messages += usage->messages;
    service->leaving.bytes += usage->bytes;
}

/* Promises own messages until the sender is within its share; false: that cannot be. */
static bool find_own(struct service *service, struct host *host, uint32_t tag, bool is_wide,
                     uint64_t bytes, bool may_evict, struct room *room, const char **out_cap)
{
    while (is_over_share(service, host, tag, is_wide, bytes, out_cap)) {
        uint8_t *id = room->own_ids[room->own_count];
        uint32_t gone = 0;
        if (!may_evict || room->own_count == ROOM_EVICT_MAX - 1 ||
            !(is_wide ? shares_pick_wide(&host->shares, tag, (*out_cap)[0] == 'b', id, &gone)
                      : shares_pick(&host->shares, tag, id, &gone))) {
            return false;
        }
        struct usage usage = {.messages = 1, .bytes = gone};
        room_promise(service, host, &usage);
        room->own.messages++;
        room->own.bytes += gone;
        room->own_count++;
    }
    return true;
}

/* --- both ------------------------------------------------------------------------------------- */

static void unpromise_own(struct service *service, struct host *host, const struct room *room)
{
    for (uint32_t i = 0; i < room->own_count; i++) {
        shares_unpick(&host->shares, room->own_ids[i]); /* unless it has gone */
    }
    host->leaving.messages -= room->own.messages;
    host->leaving.bytes -= room->own.bytes;
    service->leaving.messages -= room->own.messages;
    service->leaving.bytes -= room->own.bytes;
}

bool room_find(struct service *service, struct host *host, const struct sender_tags *sender,
               uint64_t bytes, bool may_evict, struct room *out_room, enum room_full *out_why,
               const char **out_cap)
{
    bool found;

    out_room->own_count = 0;
    out_room->own = out_room->need = (struct usage){0};
    *out_why = ROOM_ADDRESS_FULL;
    found = find_own(service, host, sender->address, false, bytes, may_evict, out_room, out_cap);
    if (found) {
        *out_why = ROOM_WIDE_FULL;
        found = find_own(service, host, sender->wide, true, bytes, may_evict, out_room, out_cap);
    }
    if (found) {
        found = find_in_host(service, host, bytes, may_evict, out_room, out_why, out_cap);
    }
    if (!found) {
        unpromise_own(service, host, out_room);
        return false;
    }
    room_promise(service, host, &out_room->need);
    return true;
}

void room_unpromise(struct service *service, struct host *host, const struct room *room)
{
    unpromise_own(service, host, room);
    host->leaving.messages -= room->need.messages;
    host->leaving.bytes -= room->need.bytes;
    service->leaving.messages -= room->need.messages;
    service->leaving.bytes -= room->need.bytes;
}

void room_take_out(struct service *service, struct host *host,
                   const struct persist_removed *removed, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        service_forget(service, host, removed[i].id);
    }
}
