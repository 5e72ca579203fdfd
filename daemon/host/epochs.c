/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/host/service.h"

#include <inttypes.h>
#include <stdio.h>

#include <sodium.h>

#include "core/base/err.h"
#include "daemon/system/container.h"

/* An epoch that begins when the store has stored it. */
struct epoch_change {
    struct persist_op op;
    struct service *service;
    struct host *host;
    struct persist_epoch stored;
    struct epoch *epoch; /* owned until it is the host's */
};

/* --- beginning -------------------------------------------------------------------------------- */

/*
 * Fills in the epoch that begins now. Its number is the current time, or one more than the largest
 * number of the host's epochs. The store saves the current time with each epoch, so no number is
 * used twice, even when all older epochs were deleted and hearsayd was restarted.
 */
static void make_epoch(const struct host *host, int64_t now_ms, struct persist_epoch *out)
{
    int64_t length_ms = (int64_t)host->config.epoch_length_s * 1000;
    const struct epoch *last = host->epochs[host->epoch_count - 1];

    out->host = host->number;
    out->number = (uint64_t)(now_ms > 0 ? now_ms : 1);
    if (out->number <= last->number) {
        out->number = last->number + 1;
    }
    out->starts_ms = now_ms;
    out->ends_ms = (now_ms / length_ms + 1) * length_ms;
    out->kept_ms = out->ends_ms + (int64_t)host->config.epoch_keep_s * 1000;
    randombytes_buf(out->key, sizeof(out->key));
}

static bool is_due(const struct host *host, int64_t now_ms)
{
    return host->config.epoch_length_s > 0 && host->change == NULL &&
           (host->current == NULL || host->current->ends_ms <= now_ms);
}

static void free_change(struct epoch_change *change)
{
    struct service *service = change->service;

    change->host->change = NULL;
    epoch_free(change->epoch, service->alloc);
    sodium_memzero(&change->stored, sizeof(change->stored));
    alloc_release(service->alloc, change);
}

static void on_begun(struct persist_op *op)
{
    struct epoch_change *change = CONTAINER_OF(op, struct epoch_change, op);
    struct service *service = change->service;
    struct host *host = change->host;

    service_work_end(service);
    if (op->outcome != PERSIST_APPLIED) {
        service_storage_failed(service, "beginning an epoch", op->reason);
        free_change(change); /* the next tick tries again, with another key */
        return;
    }
    host_add_epoch(host, change->epoch);
    change->epoch = NULL;
    free_change(change);
    log_debug("host %s: epoch %" PRIu64 " begins", host->config.name, host->current->number);
    if (service->control != NULL && service->control->epoch_changed != NULL) {
        service->control->epoch_changed(service->control->context, host);
    }
}

static void begin_epoch(struct service *service, struct host *host, int64_t now_ms)
{
    struct epoch_change *change = alloc_zeroed(service->alloc, 1, sizeof(*change));

    if (change == NULL) {
        return; /* the next tick tries again */
    }
    change->service = service;
    change->host = host;
    make_epoch(host, now_ms, &change->stored);
    if (epoch_new(&change->stored, &host->index_options, &change->epoch) != 0) {
        free_change(change);
        return;
    }
    change->op = (struct persist_op){
        .kind = PERSIST_EPOCH, .now_ms = now_ms, .epoch = &change->stored, .done = on_begun};
    host->change = change;
    service_submit(service, &change->op);
}

/* --- ending ----------------------------------------------------------------------------------- */

static void end_epochs(struct host *host, int64_t now_ms)
{
    for (size_t i = 1; i < host->epoch_count; i++) { /* the first is the open one */
        struct epoch *epoch = host->epochs[i];
        if (!epoch->is_over && epoch->kept_ms <= now_ms) {
            log_debug("host %s: epoch %" PRIu64 " is over", host->config.name, epoch->number);
            epoch_end(epoch);
        }
    }
    if (host->current != NULL && (host->current->is_over || (host->config.epoch_length_s == 0 &&
                                                             host->current->ends_ms <= now_ms))) {
        host->current = NULL;
    }
    host_drop_epochs(host);
}

void epochs_tick(struct service *service)
{
    int64_t now_ms = service_now_ms(service);

    for (size_t i = 0; i < service->host_count; i++) {
        struct host *host = &service->hosts[i];
        end_epochs(host, now_ms);
        /*
         * A host with HOST_EPOCHS_MAX epochs begins no other one: the current epoch stays in use
         * until an older one was freed. This can happen after the configured lengths have changed.
         */
        if (!service->stopping && is_due(host, now_ms) && host->epoch_count < HOST_EPOCHS_MAX) {
            begin_epoch(service, host, now_ms);
        }
    }
}

/* --- start and end of the service ------------------------------------------------------------- */

static int load_epoch(void *context, const struct persist_epoch *stored)
{
    struct service *service = context;
    struct host *host = service_host_numbered(service, stored->host);
    struct epoch *epoch = NULL;

    if (host == NULL || stored->kept_ms <= service_now_ms(service)) {
        return 0; /* the sweep deletes the epoch */
    }
    if (host->epoch_count == HOST_EPOCHS_MAX) {
        log_warning("host %s: there are more epochs than can be served; the newest are left out",
                    host->config.name);
        return 0;
    }
    int rc = epoch_new(stored, &host->index_options, &epoch);
    if (rc == 0) {
        host_add_epoch(host, epoch);
    }
    return rc;
}

/*
 * As begin_epoch, at once. If the storage fails, for example because it is full, the service starts
 * without the epoch: the next tick tries again.
 */
static int begin_first(struct service *service, struct host *host, int64_t now_ms, char *out_reason)
{
    struct persist_epoch stored;
    struct epoch *epoch = NULL;

    make_epoch(host, now_ms, &stored);
    int rc = epoch_new(&stored, &host->index_options, &epoch);
    if (rc == 0) {
        rc = service->persist->interface->begin_epoch(service->persist, &stored, out_reason);
    }
    if (rc == 0) {
        host_add_epoch(host, epoch);
    } else {
        epoch_free(epoch, service->alloc);
    }
    sodium_memzero(&stored, sizeof(stored));
    if (rc == -ERR_STORAGE) {
        service_storage_failed(service, "beginning an epoch", out_reason);
        out_reason[0] = '\0';
        rc = 0;
    }
    return rc;
}

int epochs_load(struct service *service, char *out_reason)
{
    int rc = service->persist->interface->replay_epochs(service->persist, load_epoch, service,
                                                        out_reason);

    for (size_t i = 0; i < service->host_count && rc == 0; i++) {
        struct host *host = &service->hosts[i];
        int64_t now_ms = service_now_ms(service);

        /*
         * end_epochs also sets host->current to NULL if the configuration has no epochs for the
         * host any more and the current epoch has ended
         */
        end_epochs(host, now_ms);
        if (is_due(host, now_ms) && host->epoch_count < HOST_EPOCHS_MAX) {
            rc = begin_first(service, host, now_ms, out_reason);
        }
    }
    if (rc != 0 && out_reason[0] == '\0') {
        snprintf(out_reason, CONFIG_REASON_BYTES, "beginning epochs: %s", err_text(rc));
    }
    return rc;
}

void epochs_deinit(struct host *host)
{
    if (host->change != NULL) {
        free_change(host->change);
    }
}
