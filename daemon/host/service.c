/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/host/service.h"

#include <inttypes.h>
#include <string.h>

#include "daemon/host/room.h"
#include "daemon/system/container.h"
#include "daemon/system/log.h"

/* The clock is saved after this time without a change of messages, which saves it, too. */
enum { CLOCK_SAVE_MS = 10 * 60 * 1000 };

/* --- hosts ------------------------------------------------------------------------------------ */

int service_set_here(struct service *service, struct host *host, const char *text, size_t length,
                     bool *out_changed, char *out_reason)
{
    enum { REST_BYTES = 256 }; /* what a frame has besides: ids, the host's name */
    const size_t room = service->config.limits.frame_bytes - REST_BYTES;
    struct here *here = NULL;

    const int rc = here_new(service->alloc, host->config.here, strlen(host->config.here), text,
                            length, room, &here, out_reason);
    if (rc != 0) {
        return rc;
    }
    *out_changed = host->here == NULL || !here_equal(host->here, here);
    here_free(host->here);
    host->here = here;
    return 0;
}

struct host *service_host(struct service *service, const char *name)
{
    if (name == NULL) {
        return &service->hosts[0];
    }
    for (size_t i = 0; i < service->host_count; i++) {
        if (strcmp(service->hosts[i].config.name, name) == 0) {
            return &service->hosts[i];
        }
    }
    return NULL;
}

struct host *service_host_numbered(struct service *service, uint32_t number)
{
    for (size_t i = 0; i < service->host_count; i++) {
        if (service->hosts[i].number == number) {
            return &service->hosts[i];
        }
    }
    return NULL;
}

/* --- payloads ------------------------------------------------------------------------------- */

void service_remember(struct service *service, const struct persist_message *message)
{
    const struct cache_entry entry = {
        .payload = message->payload,
        .payload_bytes = message->payload_bytes,
        .media_type = message->media_type,
        .media_type_bytes = message->media_type_bytes,
    };
    const struct host *host = service_host_numbered(service, message->host);
    struct index_item item;

    if (host != NULL && host_find(host, message->id, NULL, &item, NULL) == 0 &&
        item.deposited_ms == message->deposited_ms) {
        (void)cache_put(service->cache, message->host, message->id, &entry);
    }
}

bool service_recall(struct service *service, uint32_t host, const uint8_t *id,
                    struct persist_message *out_message)
{
    struct cache_entry entry;

    if (!cache_get(service->cache, host, id, &entry)) {
        return false;
    }
    out_message->payload = entry.payload;
    out_message->payload_bytes = entry.payload_bytes;
    out_message->media_type = entry.media_type;
    out_message->media_type_bytes = entry.media_type_bytes;
    return true;
}

/* --- time ------------------------------------------------------------------------------------- */

uint64_t service_monotonic_ns(struct service *service)
{
    if (service->read_ns != NULL) {
        return service->read_ns(service->clock_context);
    }
    return (uint64_t)service_monotonic_ms(service) * 1000000;
}

void service_note(struct service *service, enum metric metric, uint64_t began_ns)
{
    const uint64_t now_ns = service_monotonic_ns(service);

    metrics_note(&service->metrics, metric, now_ns - began_ns, (int64_t)(now_ns / 1000000));
}

/* --- expiry ----------------------------------------------------------------------------------- */

static void submit_sweep(struct service *service);

static void on_swept(struct persist_op *op)
{
    struct service *service = CONTAINER_OF(op, struct service, sweep);

    service->sweeping = false;
    service->working--;
    if (op->outcome != PERSIST_APPLIED) {
        return; /* the store has said why; the next sweep tries again */
    }
    for (uint32_t i = 0; i < op->removed_count; i++) {
        const struct persist_removed *removed = &op->removed[i];
        struct host *host = service_host_numbered(service, removed->host);
        if (host != NULL) {
            service_forget(service, host, removed->id);
        }
    }
    if (op->removed_count > 0) {
        log_debug("%" PRIu32 " messages expired", op->removed_count);
    }
    if (op->removed_count == op->limit && !service->stopping) {
        submit_sweep(service);
    }
}

static void submit_sweep(struct service *service)
{
    memset(&service->sweep, 0, sizeof(service->sweep));
    service->sweep.kind = PERSIST_EXPIRE;
    service->sweep.now_ms = service_now_ms(service);
    service->sweep.removed = service->swept;
    service->sweep.limit = PERSIST_EXPIRE_MAX;
    service->sweep.done = on_swept;
    service->sweeping = true;
    service->working++;
    service->persist->interface->submit(service->persist, &service->sweep);
}

void service_sweep(struct service *service)
{
    if (service->stopping) {
        return;
    }
    service_tell_clock(service);
    room_tick(service);
    if (!service->sweeping) {
        submit_sweep(service);
    }
    if (service_now_ms(service) - service->clock_saved_ms >= CLOCK_SAVE_MS) {
        service_save_clock(service);
    }
}

/* --- arranging -------------------------------------------------------------------------------- */

bool service_arrange(struct service *service)
{
    return arrange_tick(&service->arrange, service->hosts, service->host_count,
                        service_monotonic_ms(service));
}

bool service_turn(struct service *service)
{
    return arrange_is_active(&service->arrange) &&
           arrange_turn(&service->arrange, service_monotonic_ms(service));
}

void service_stop(struct service *service)
{
    service->stopping = true;
    arrange_stop(&service->arrange);
}

/* --- storage ---------------------------------------------------------------------------------- */

void service_storage_failed(struct service *service, const char *what, const char *reason)
{
    uint64_t withheld = 0;

    if (!log_gate_opens(&service->storage_gate, service_now_ms(service), &withheld)) {
        return;
    }
    if (reason == NULL) {
        reason = "failed";
    }
    if (withheld > 0) {
        log_warning("%s: %s (%" PRIu64 " more failures since this was last said)", what, reason,
                    withheld);
    } else {
        log_warning("%s: %s", what, reason);
    }
}
