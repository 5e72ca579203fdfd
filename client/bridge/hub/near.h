/* SPDX-License-Identifier: Apache-2.0 */
/* near: the connection to the reader's hearsayd, and the requests that wait for its answers. */
#ifndef CLIENT_BRIDGE_HUB_NEAR_H
#define CLIENT_BRIDGE_HUB_NEAR_H

#include <stdbool.h>

#include <uv.h>

#include "client/hearsay.h"

struct near;

/* `reply` is NULL if the connection was lost, or the server refused: `error` says then why. */
typedef void near_done(void *context, const struct hearsay_reply *reply,
                       const struct hearsay_error *error);

struct near_events {
    void (*greeted)(void *context);
};

/* `server` and `events` are borrowed. Connects, and again for ever. 0, or -ERR_NOMEM. */
int near_new(uv_loop_t *loop, const char *server, const struct near_events *events, void *context,
             struct near **out_near);
void near_stop(struct near *near); /* ends requests without their callbacks; NULL is fine */

/* Sends a request, and calls `done` once, not before the function returns. HEARSAY_OK;
 * HEARSAY_ERR_ARGUMENT: too large for a frame of hearsayd; or another error. Not sent, unless
 * HEARSAY_OK. */
int near_ask(struct near *near, const struct hearsay_request *request, near_done *done,
             void *context);

/* `done` of requests with this context is not called any more. */
void near_forget(struct near *near, const void *context);

/* Most messages that hearsayd stores of the host; 0: not known. */
uint64_t near_messages_max(const struct near *near, const char *host);

/* A hash of the store of hearsayd, as in struct state; 0: it is not up. */
uint64_t near_store(const struct near *near);

bool near_is_up(const struct near *near);
const char *near_error(const struct near *near); /* why it is not up */

#endif
