/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/own/inner.h"

#include <string.h>

#include "core/base/err.h"
#include "daemon/settings/user.h"

enum { CONNECT_MS = 15 * 1000 };

static void on_joined(void *context)
{
    ((struct errand *)context)->is_over = true;
}

static void on_parted(void *context)
{
    (void)context; /* requests end by themselves */
}

static const struct wire_events events = {on_joined, on_parted};

static void on_timer(uv_timer_t *timer)
{
    ((struct errand *)timer->data)->has_time = false;
}

bool errand_wait(struct errand *errand, uint64_t milliseconds)
{
    errand->has_time = true;
    (void)uv_timer_start(&errand->timer, on_timer, milliseconds, 0);
    while (!errand->is_over && errand->has_time) {
        (void)uv_run(&errand->loop, UV_RUN_ONCE);
    }
    (void)uv_timer_stop(&errand->timer);
    bool is_over = errand->is_over;
    errand->is_over = false;
    return is_over;
}

void errand_pause(struct errand *errand, uint64_t milliseconds)
{
    do {
        errand->is_over = false;
    } while (errand_wait(errand, milliseconds)); /* a connection that comes again is no reason */
}

int errand_open(struct errand *errand, const struct bridge_config *config, char *out_reason)
{
    struct settings_user user = {
        .name = config->user, .is_peer = true, .admin_group = PRIVILEGE_NO_GROUP};

    memset(errand, 0, sizeof(*errand));
    if (uv_loop_init(&errand->loop) != 0) {
        return reason_set(out_reason, "the system gives no event loop");
    }
    (void)uv_timer_init(&errand->loop, &errand->timer); /* never fails */
    errand->timer.data = errand;
    if (privilege_is_root() && user.name[0] != '\0' &&
        settings_become_user(&user, out_reason) != 0) {
        return -ERR_SYSTEM;
    }
    int rc = wire_new(&errand->loop, config, &events, errand, &errand->wire);
    if (rc != 0) {
        return reason_set(out_reason, "%s", err_text(rc));
    }
    return errand_wait(errand, CONNECT_MS)
               ? 0
               : reason_set(out_reason, "no connection to the hub: see the lines above");
}

void errand_close(struct errand *errand)
{
    if (errand->timer.data == NULL) { /* there was no loop */
        return;
    }
    uv_close((uv_handle_t *)&errand->timer, NULL);
    if (errand->wire != NULL) {
        wire_stop(errand->wire);
    }
    (void)uv_run(&errand->loop, UV_RUN_DEFAULT);
    wire_free(errand->wire);
    (void)uv_loop_close(&errand->loop);
}
