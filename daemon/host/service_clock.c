/* SPDX-License-Identifier: Apache-2.0 */
/* The clock functions of service.h: they read the host's clock, and log its jumps. */
#include <inttypes.h>

#include "daemon/host/service.h"

enum { DAY_MS = 24 * 3600 * 1000, STEP_MS = 60 * 1000 };

static struct clock_reading read_clocks(struct service *service)
{
    return (struct clock_reading){
        .wall_ms = service->read_wall_ms(service->clock_context),
        .monotonic_ms = service->read_monotonic_ms(service->clock_context),
    };
}

static bool is_synchronised(struct service *service)
{
    return service->clock_synchronised != NULL &&
           service->clock_synchronised(service->clock_context);
}

static int64_t patience_ms(const struct service *service)
{
    return (int64_t)service->config.clock_patience_s * 1000;
}

int64_t service_now_ms(struct service *service)
{
    struct clock_reading reading = read_clocks(service);

    /*
     * Only if the wall clock is more than a day ahead, the system is asked whether its clock is
     * synchronised. An earlier answer is not used, because setting the clock ends the synchronised
     * state.
     */
    reading.synchronised = clock_would_jump(&service->clock, &reading) && is_synchronised(service);
    return clock_now(&service->clock, &reading, patience_ms(service));
}

bool service_clock_trusted(struct service *service)
{
    struct clock_reading reading = read_clocks(service);

    reading.synchronised = is_synchronised(service);
    return clock_trusted(&service->clock, &reading, patience_ms(service));
}

int64_t service_monotonic_ms(struct service *service)
{
    return service->read_monotonic_ms(service->clock_context);
}

static void tell_waiting(struct service *service, int64_t now_ms)
{
    int64_t days = (service->clock.wall_ms - now_ms) / DAY_MS;

    service->told.waiting = service->clock.waiting;
    if (service->clock.waiting) {
        log_warning("the system's clock is %" PRId64 " days ahead of the store's: nothing expires "
                    "by it until the system says that it is synchronised, or it has run on for "
                    "%" PRIu32 " s (clock_patience)",
                    days, service->config.clock_patience_s);
    } else {
        log_info("the system's clock is not far ahead of the store's any more");
    }
}

/* One line, until the system's clock has caught up. */
static void tell_behind(struct service *service, int64_t behind_ms)
{
    if (behind_ms > STEP_MS && !service->told.behind) {
        log_warning("the system's clock is %" PRId64 " s behind the store's, which runs on: "
                    "messages get their times and expire by the store's",
                    behind_ms / 1000);
    }
    service->told.behind = behind_ms > STEP_MS || (service->told.behind && behind_ms > 0);
}

/* Returns whether the clock was set forward since it was told last. */
static bool tell_clock(struct service *service)
{
    int64_t now_ms = service_now_ms(service);
    const struct clock_state *clock = &service->clock;
    int64_t forward_ms =
        (now_ms - service->told.now_ms) - (clock->monotonic_ms - service->told.monotonic_ms);

    if (forward_ms > STEP_MS) {
        log_info("the store's clock was set forward by %" PRId64 " s, to the system's",
                 forward_ms / 1000);
    }
    if (clock->waiting != service->told.waiting) {
        tell_waiting(service, now_ms);
    }
    tell_behind(service, now_ms - clock->wall_ms);
    service->told.now_ms = now_ms;
    service->told.monotonic_ms = clock->monotonic_ms;
    return forward_ms > STEP_MS;
}

void service_start_clock(struct service *service)
{
    struct clock_reading reading = read_clocks(service);

    clock_init(&service->clock, service->store.clock_ms, service->store.shift_from_ms, &reading);
    service->shift_saved_ms = service->store.shift_from_ms;
    service->shift_compared_ms = -1;
    service->shift_seq = service->store.seq + 1;
    service->told.now_ms = service->clock.base_ms;
    service->told.monotonic_ms = reading.monotonic_ms;
    (void)tell_clock(service); /* takes the system's clock over, unless that has to be confirmed */
}

void service_tell_clock(struct service *service)
{
    if (tell_clock(service) && service->control != NULL && service->control->clock_set != NULL) {
        service->control->clock_set(service->control->context);
    }
}
