/* SPDX-License-Identifier: Apache-2.0 */
/* errand: one connection to the hub for a command that asks, waits and ends. */
#ifndef CLIENT_BRIDGE_OWN_ERRAND_H
#define CLIENT_BRIDGE_OWN_ERRAND_H

#include <stdbool.h>

#include <uv.h>

#include "client/bridge/setup/config.h"
#include "client/bridge/wire/wire.h"

struct errand {
    uv_loop_t loop;
    uv_timer_t timer;
    struct wire *wire;
    bool is_over;  /* what errand_wait waits for */
    bool has_time; /* the timer has not run out */
};

/* Becomes the configured user where root runs the command, and connects. 0, or -ERR_SYSTEM with a
 * sentence in out_reason (SETTINGS_REASON_BYTES). errand_close comes after both. */
int errand_open(struct errand *errand, const struct bridge_config *config, char *out_reason);
void errand_close(struct errand *errand);

/* Runs the loop until is_over is set, which it was not before; false: the time is over. */
bool errand_wait(struct errand *errand, uint64_t milliseconds);

/* Only lets time pass. */
void errand_pause(struct errand *errand, uint64_t milliseconds);

#endif
