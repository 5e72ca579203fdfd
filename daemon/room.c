/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/room.h"

#include "daemon/service.h"

/* How much more there would be than `max`, with one more of `added`. */
static uint64_t excess(uint64_t used, uint64_t promised, uint64_t added, uint64_t max)
{
    const uint64_t left = used > promised ? used - promised : 0;
    const uint64_t sum = left + added; /* both far below 2^63 */

    return sum > max ? sum - max : 0;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

int room_find(const struct service *service, const struct host *host, uint64_t bytes,
              struct usage *out_need, const char **out_cap, const char **out_whose)
{
    const struct config_limits *limits = &service->config.limits;
    const struct config_host *config = &host->config;
    const struct usage of_host = {
        .messages = excess(host->usage.messages, host->leaving.messages, 1, config->messages_max),
        .bytes = excess(host->usage.bytes, host->leaving.bytes, bytes, config->bytes_max),
    };
    const struct usage of_all = {
        .messages =
            excess(service->usage.messages, service->leaving.messages, 1, limits->messages_max),
        .bytes = excess(service->usage.bytes, service->leaving.bytes, bytes, limits->bytes_max),
    };
    const struct usage need = {.messages = larger(of_host.messages, of_all.messages),
                               .bytes = larger(of_host.bytes, of_all.bytes)};

    if (need.messages == 0 && need.bytes == 0) {
        return 0;
    }
    *out_whose = of_host.messages > 0 || of_host.bytes > 0 ? "this host" : "this server";
    *out_cap = need.messages > 0 ? "messages" : "bytes";
    /* What is on its way out cannot go twice. What waits to come in can: it will be there by then,
     * as the store does one thing after the other. */
    if (config->evict == CONFIG_EVICT_REJECT || need.messages > ROOM_EVICT_MAX ||
        host->leaving.messages + need.messages > host->usage.messages ||
        bytes > config->bytes_max || bytes > limits->bytes_max) {
        return ROOM_NONE;
    }
    *out_need = need;
    return ROOM_BY_EVICTION;
}

void room_promise(struct service *service, struct host *host, const struct usage *need)
{
    host->leaving.messages += need->messages;
    host->leaving.bytes += need->bytes;
    service->leaving.messages += need->messages;
    service->leaving.bytes += need->bytes;
}

void room_unpromise(struct service *service, struct host *host, const struct usage *need)
{
    host->leaving.messages -= need->messages;
    host->leaving.bytes -= need->bytes;
    service->leaving.messages -= need->messages;
    service->leaving.bytes -= need->bytes;
}

void room_take_out(struct service *service, struct host *host,
                   const struct persist_removed *removed, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        service_forget(service, host, removed[i].id);
    }
}
