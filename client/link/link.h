/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link: one connection to hearsayd on the loop. Connects in the background and gives replies to its
 * owner. A hearsayd that is silent for LINK_SILENCE_MS, although it owes an answer, counts as lost.
 */
#pragma once

#include <uv.h>

#include "client/hearsay.h"

enum { LINK_SILENCE_MS = 10 * 1000 };

struct link;

/* A callback may close the link. */
struct link_events {
    void (*greeted)(void *context);
    void (*replied)(void *context, const struct hearsay_reply *reply);
    /* All that has arrived was given: the epochs of the Welcome are those of now. May be NULL. */
    void (*rested)(void *context);
    /* The connection is lost. The owner must call link_close or link_detach before it returns. */
    void (*lost)(void *context, const struct hearsay_error *why);
};

/*
 * Begins to connect; timeout_ms of `options` is ignored, and 0 will do for the rest. `events` is
 * borrowed for as long as the link lives. No callback runs before the function returns. HEARSAY_OK,
 * or an error of hearsay_connect_begin, with NULL as *out_link.
 */
int link_open(uv_loop_t *loop, const struct hearsay_connect *options,
              const struct link_events *events, void *context, struct link **out_link,
              struct hearsay_error *out_error);

/* The connection, for requests; borrowed. Requests are allowed from `greeted` on. */
struct hearsay *link_server(const struct link *link);

/* Sends what was submitted. The owner calls this after each submission outside of a callback. */
void link_submitted(struct link *link);

/* Closes the link; its memory goes when the loop has closed its handles. NULL is fine. */
void link_close(struct link *link);

/* The same, but the connection is given to the caller: hearsay_close. */
struct hearsay *link_detach(struct link *link);
