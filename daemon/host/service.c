/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/host/service.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon/host/requester.h"

/* --- hosts ------------------------------------------------------------------------------------ */

size_t service_here_frame_bytes(const struct config *config)
{
    /* upper bound of the bytes of a frame besides the labels: ids, the host's name */
    enum { REST_BYTES = 256 };

    return config->limits.frame_bytes - REST_BYTES;
}

/* "place:", the digits, a line feed and a NUL */
enum { OWN_PLACE_BYTES = 6 + 2 * PERSIST_PLACE_BYTES + 2 };

/*
 * Writes the here label of a host whose configuration says nothing about its place: `place:` with
 * the digits of the store's place, so that what people leave here and ask for here has a label in
 * common that no other store has but one that is restored from a backup of this one. The text is
 * empty if the configuration has `here`, `here_file` or `here_map`; if the host is a copy, whose
 * messages have the labels of its owner's place; or if the profile has no section for places.
 */
static void write_own_place(const struct service *service, const struct host *host,
                            char out_text[OWN_PLACE_BYTES])
{
    static const char begin[] = "place:";
    const struct config_host *config = &host->config;
    bool says =
        config->here[0] != '\0' || config->here_file[0] != '\0' || config->here_map[0] != '\0';

    out_text[0] = '\0';
    if (!says && !config->is_replica &&
        profile_section_of(&config->profile, begin, strlen(begin)) != NULL) {
        memcpy(out_text, begin, sizeof(begin));
        for (size_t i = 0; i < PERSIST_PLACE_BYTES; i++) {
            (void)snprintf(out_text + strlen(out_text), 3, "%02x", service->store.place[i]);
        }
        memcpy(out_text + strlen(out_text), "\n", 2);
    }
}

int service_set_here(struct service *service, struct host *host, const struct hearsay_text *text,
                     bool *out_changed, char *out_reason)
{
    char own_place[OWN_PLACE_BYTES];
    write_own_place(service, host, own_place);
    const char *labels = own_place[0] != '\0' ? own_place : host->config.here;
    struct hearsay_text texts[] = {{labels, strlen(labels)}, *text};
    struct here *here = NULL;

    int rc = here_new(service->alloc, texts, service_here_frame_bytes(&service->config), &here,
                      out_reason);
    if (rc != 0) {
        return rc;
    }
    here->has_filter =
        here_filter(&host->config.profile, here->labels, here->count, NULL, here->filter);
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

/* --- payloads --------------------------------------------------------------------------------- */

static void put_payload(struct service *service, const struct persist_message *message)
{
    struct cache_entry entry = {
        .payload = message->payload,
        .payload_bytes = message->payload_bytes,
        .media_type = message->media_type,
        .media_type_bytes = message->media_type_bytes,
    };

    (void)cache_put(service->cache, message->host, message->id, &entry); /* or it is read again */
}

void service_remember_kept(struct service *service, const struct persist_message *message)
{
    if (message->state < PERSIST_HIDDEN) {
        put_payload(service, message);
    }
}

void service_remember(struct service *service, const struct persist_message *message)
{
    const struct host *host = service_host_numbered(service, message->host);
    struct index_item item;

    if (host != NULL && host_find(host, message->id, NULL, &item, NULL) == 0 &&
        item.deposited_ms == message->deposited_ms) {
        put_payload(service, message);
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
    uint64_t now_ns = service_monotonic_ns(service);

    metrics_note(&service->metrics, metric, now_ns - began_ns, (int64_t)(now_ns / 1000000));
}

void service_note_query(struct service *service, uint64_t comparisons, uint64_t began_ns)
{
    service->metrics.comparisons += comparisons;
    service_note(service, METRIC_QUERY, began_ns);
}

void service_take_turn(struct service *service, uint64_t *turn)
{
    *turn = ++service->turns;
}

/* --- work under way --------------------------------------------------------------------------- */

void service_work_begin(struct service *service)
{
    service->working++;
}

void service_work_end(struct service *service)
{
    service->working--;
}

void service_submit(struct service *service, struct persist_op *op)
{
    service_work_begin(service);
    service->persist->interface->submit(service->persist, op);
}

/* --- storage ---------------------------------------------------------------------------------- */

static void say_storage(struct log_gate *gate, int64_t now_ms, const char *what, const char *reason)
{
    uint64_t withheld = 0;

    if (!log_gate_opens(gate, now_ms, &withheld)) {
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

void service_storage_failed(struct service *service, const char *what, const char *reason)
{
    say_storage(&service->storage_gate, service_now_ms(service), what, reason);
}

void service_storage_short(struct service *service, const char *reason)
{
    say_storage(&service->short_gate, service_now_ms(service), "a deposit was refused", reason);
}
