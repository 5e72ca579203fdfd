/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/system/runtime.h"

#include <signal.h>

#include "daemon/system/early_signals.h"
#include "daemon/system/log.h"
#include "daemon/system/notify.h"
#include "daemon/system/privilege.h"

static const int numbers[RUNTIME_SIGNALS] = {SIGTERM, SIGINT, SIGHUP};

static void act_on_signal(struct runtime *runtime, int number)
{
    bool is_again = runtime->is_stopping;

    if (number == SIGHUP) {
        if (runtime->events->reload == NULL) {
            log_warning("SIGHUP changes nothing: the configuration is read at the start only");
        } else if (!is_again) {
            runtime->events->reload(runtime->context);
        }
        return;
    }
    if (!is_again) {
        runtime->is_stopping = true;
        log_info("stopping (%s)", number == SIGTERM ? "SIGTERM" : "SIGINT");
        notify_stopping(runtime->events->stopping);
    }
    runtime->events->stop(runtime->context, is_again);
}

static void on_signal(uv_signal_t *signal, int number)
{
    act_on_signal(signal->data, number);
}

static void on_watchdog(uv_timer_t *timer)
{
    (void)timer;
    notify_watchdog();
}

void runtime_init(struct runtime *runtime, bool wants_filter)
{
    *runtime = (struct runtime){.wants_filter = wants_filter};
    runtime->unfiltered = wants_filter ? privilege_refuse_rings() : "`call_filter = no`";
}

int runtime_start(struct runtime *runtime, uv_loop_t *loop, const struct runtime_events *events,
                  void *context)
{
    uint64_t watchdog_ms = notify_watchdog_interval_ms();
    int rc = 0;

    runtime->events = events;
    runtime->context = context;
    (void)uv_timer_init(loop, &runtime->watchdog); /* never fails */
    for (size_t i = 0; i < RUNTIME_SIGNALS; i++) {
        (void)uv_signal_init(loop, &runtime->signals[i]);
        runtime->signals[i].data = runtime;
        if (rc == 0) {
            rc = uv_signal_start(&runtime->signals[i], on_signal, numbers[i]);
        }
    }
    /* If a signal's handle has failed, the watchdog is not started: it would keep the loop
     * running. */
    if (rc == 0 && watchdog_ms > 0) {
        (void)uv_timer_start(&runtime->watchdog, on_watchdog, 0, watchdog_ms);
    }
    return rc;
}

void runtime_close(struct runtime *runtime)
{
    for (size_t i = 0; i < RUNTIME_SIGNALS; i++) {
        uv_close((uv_handle_t *)&runtime->signals[i], NULL);
    }
    uv_close((uv_handle_t *)&runtime->watchdog, NULL);
}

void runtime_act_early(struct runtime *runtime)
{
    for (size_t i = 0; i < RUNTIME_SIGNALS; i++) {
        if (early_signals_take(numbers[i])) {
            act_on_signal(runtime, numbers[i]);
        }
    }
}

void runtime_filter_calls(struct runtime *runtime)
{
    if (runtime->unfiltered == NULL) {
        runtime->unfiltered = privilege_filter_calls();
    }
    if (runtime->unfiltered != NULL) { /* not a warning if the operator wants it so */
        log_write(runtime->wants_filter ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO,
                  "system calls are not filtered: %s", runtime->unfiltered);
    }
}
