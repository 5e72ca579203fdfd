/* SPDX-License-Identifier: Apache-2.0 */
/* Regular work of a service: removes expired messages, saves the clock, arranges indexes. */
#include <inttypes.h>

#include "daemon/host/room.h"
#include "daemon/host/service.h"
#include "daemon/system/container.h"

/*
 * Least time between two saves of the host's clock by service_sweep. An operation that changes
 * messages saves the clock, too.
 */
enum { CLOCK_SAVE_MS = 10 * 60 * 1000 };

/* --- expiry ----------------------------------------------------------------------------------- */

static void submit_sweep(struct service *service);

void service_take_expiry(struct service *service, const struct persist_op *op)
{
    if (op->outcome != PERSIST_APPLIED) {
        return;
    }
    service_forget_removed(service, op);
    metrics_note_left(&service->metrics, LEFT_REMOVED, op->destroyed_count);
    metrics_note_left(&service->metrics, LEFT_EXPIRED, op->removed_count - op->destroyed_count);
    if (op->removed_count > 0) {
        log_debug("%" PRIu32 " message%s expired", op->removed_count,
                  op->removed_count == 1 ? "" : "s");
    }
}

static void on_swept(struct persist_op *op)
{
    struct service *service = CONTAINER_OF(op, struct service, sweep);

    service->sweeping = false;
    service_work_end(service);
    if (op->outcome != PERSIST_APPLIED) {
        return; /* the next sweep tries again */
    }
    service_take_expiry(service, op);
    service->next_expiry_ms = op->removed_count < op->limit ? op->next_ms : 0;
    if (op->removed_count == op->limit && !service->stopping) {
        submit_sweep(service);
    }
}

static void submit_sweep(struct service *service)
{
    service->sweep = (struct persist_op){
        .kind = PERSIST_EXPIRE,
        .now_ms = service_now_ms(service),
        .decided_before_ms =
            service_now_ms(service) - (int64_t)service->config.moderation_log_keep_s * 1000,
        .removed = service->swept,
        .limit = PERSIST_EXPIRE_MAX,
        .done = on_swept,
    };
    service->sweeping = true;
    service_submit(service, &service->sweep);
}

void service_sweep(struct service *service)
{
    if (service->stopping) {
        return;
    }
    service_tell_clock(service);
    service_set_clock(service);
    room_tick(service);
    senders_tidy(service->senders, &service->sender_limits, service_monotonic_ms(service));
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
    bool is_making = host_groups_turn(service);

    return (arrange_is_active(&service->arrange) &&
            arrange_turn(&service->arrange, service_monotonic_ms(service))) ||
           is_making;
}

void service_stop(struct service *service)
{
    service->stopping = true;
    arrange_stop(&service->arrange);
}
