/* SPDX-License-Identifier: Apache-2.0 */
/*
 * publish: sends one page of changes to the hub, and keeps the page until a quorum of the hub has
 * stored all of it. What is not acknowledged is sent again, as often as it takes.
 */
#ifndef CLIENT_BRIDGE_OWN_PUBLISH_H
#define CLIENT_BRIDGE_OWN_PUBLISH_H

#include <uv.h>

#include "client/bridge/wire/wire.h"
#include "proto/msg.h"

struct publish;

struct publish_options {
    uv_loop_t *loop;
    struct wire *wire;
    const char *host;            /* borrowed */
    void (*done)(void *context); /* the page is stored; may begin the next one */
    void *context;
};

/* NULL: no memory. */
struct publish *publish_new(const struct publish_options *options);
void publish_stop(struct publish *publish); /* then publish_free, when the loop has closed it */
void publish_free(struct publish *publish);

/*
 * Begins with a page; an earlier one is dropped. 0, or -ERR_NOMEM. `done` is not called before the
 * function returns.
 */
int publish_begin(struct publish *publish, const struct hearsay_change *changes, size_t count);
void publish_drop(struct publish *publish);

/* Sends nothing more until publish_resume. */
void publish_pause(struct publish *publish);

/* After connecting: sends what is not acknowledged. */
void publish_resume(struct publish *publish);

/* How many changes of the page are not acknowledged; why the last one was not, "": nothing is
 * wrong; how many were acknowledged, ever. */
size_t publish_waiting(const struct publish *publish);
const char *publish_error(const struct publish *publish);
uint64_t publish_total(const struct publish *publish);

/* How many attempts the hub did not acknowledge, ever: it had no leader, no quorum, or no room. */
uint64_t publish_failures(const struct publish *publish);

#endif
