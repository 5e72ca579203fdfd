/* SPDX-License-Identifier: Apache-2.0 */
/* Saves the host's clock in the store, and sets it forward. */
#include "daemon/host/service.h"
#include "daemon/system/container.h"

enum {
    /* No attempt follows sooner after the store could not move the times of messages. */
    RETRY_MS = 10 * 60 * 1000,
    NOT_SAVED = -1 /* as `shift_saved_ms`; each real value is at least 0 */
};

/* --- saving ----------------------------------------------------------------------------------- */

/* From which time on messages move with the host's clock after the next start (persist_info). */
static int64_t shift_from_ms(struct service *service)
{
    return service_clock_trusted(service) ? INT64_MAX : service->clock.shift_from_ms;
}

static void on_clock_saved(struct persist_op *op)
{
    struct service *service = CONTAINER_OF(op, struct service, clock_op);

    service->saving_clock = false;
    service_work_end(service);
    if (op->outcome != PERSIST_APPLIED) {
        service->shift_saved_ms = NOT_SAVED;
        service->shift_compared_ms = -1;
    }
    if (service->save_clock_again) {
        service_save_clock(service);
    }
}

void service_save_clock(struct service *service)
{
    /* the save that is under way has an older time */
    service->save_clock_again =
        service->saving_clock && service_now_ms(service) > service->clock_saved_ms;
    if (service->saving_clock) {
        return;
    }
    service->clock_saved_ms = service_now_ms(service);
    service->shift_saved_ms = shift_from_ms(service);
    service->clock_op = (struct persist_op){.kind = PERSIST_CLOCK,
                                            .now_ms = service->clock_saved_ms,
                                            .shift_from_ms = service->shift_saved_ms,
                                            .done = on_clock_saved};
    service->saving_clock = true;
    service_submit(service, &service->clock_op);
}

void service_hold_clock(struct service *service, int64_t now_ms)
{
    service->clock.holds = true;
    /* Each comparison asks the system for the state of its clock, which costs about 1 us. */
    if (now_ms == service->shift_compared_ms) {
        return;
    }
    service->shift_compared_ms = now_ms;
    if (shift_from_ms(service) != service->shift_saved_ms) {
        service_save_clock(service);
    }
}

/* --- setting ---------------------------------------------------------------------------------- */

static void on_shifted(struct persist_op *op)
{
    struct service *service = CONTAINER_OF(op, struct service, shift_op);

    service->is_setting_clock = false;
    service_work_end(service);
    if (op->outcome != PERSIST_APPLIED) {
        service_storage_failed(service, "setting the clock", op->reason);
        service->shift_retry_ms = service_monotonic_ms(service) + RETRY_MS;
        return;
    }
    for (size_t i = 0; i < service->host_count; i++) {
        host_shift(&service->hosts[i], op->now_ms - op->shift_ms, op->shift_from_ms, op->shift_ms);
    }
    clock_step(&service->clock, op->shift_ms);
    service_tell_clock(service);
    service_save_clock(service);
}

void service_set_clock(struct service *service)
{
    int64_t now_ms = service_now_ms(service);
    int64_t due_ms = clock_due_ms(&service->clock);

    if (due_ms == 0 || service->is_setting_clock ||
        service->clock.monotonic_ms < service->shift_retry_ms) {
        return;
    }
    service->shift_op = (struct persist_op){
        .kind = PERSIST_SHIFT,
        .message = {.seq = service->shift_seq},
        .now_ms = now_ms + due_ms,
        .shift_from_ms = service->clock.shift_from_ms,
        .shift_ms = due_ms,
        .done = on_shifted,
    };
    service->is_setting_clock = true;
    service_submit(service, &service->shift_op);
}
