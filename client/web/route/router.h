/* SPDX-License-Identifier: Apache-2.0 */
/* router: what all requests share. On the loop's thread. */
#pragma once

#include <uv.h>

#include "client/web/board.h"
#include "client/web/live.h"
#include "client/web/portal.h"
#include "client/web/route/names.h"
#include "client/web/route/nonce.h"
#include "client/web/route/sheet.h"

enum { ROUTER_STATICS_BYTES = 24 };

/* What all requests share. */
struct router {
    uv_loop_t *loop;                 /* borrowed */
    const struct web_config *config; /* borrowed */
    struct board *board;             /* borrowed */
    struct live *live;               /* borrowed */
    const struct http_server *http;  /* borrowed */
    bool was_refused;                /* the last reload */
    int64_t read_ms;                 /* Unix time of the last reload, or of the start */
    struct names names;
    struct nonce nonce;
    struct portal *portal; /* borrowed; may be NULL without `portal = offline` */
    struct sheets sheets;
    char name[NAMES_TEXT_BYTES];        /* the address of the page, such as hearsay.lan */
    char statics[ROUTER_STATICS_BYTES]; /* /s/, 16 random digits and / */
};

/* Draws the keys. The borrowed fields and `names` are set before; sodium_init has been called. */
void router_init(struct router *router);

/* Notes that the configuration was read again, or at the start. */
void router_note_read(struct router *router, bool was_refused);

/* A monotonic clock in milliseconds. */
int64_t router_now_ms(const struct router *router);

/* --- metrics.c -------------------------------------------------------------------------------- */

/* The program's own figures for Prometheus, at /metrics of a listener for metrics. */

struct router;

/*
 * Answers a request of a listener for metrics: 421 if the Host header does not name the listener,
 * because a page of others may have led its own name here (DNS rebinding); 404 for all but GET and
 * HEAD of /metrics. The figures are numbers of all clients together: no label has an address, a
 * context or an id.
 */
void metrics_answer(const struct router *router, struct http_exchange *exchange,
                    const struct http_request *request);
