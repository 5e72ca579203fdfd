/* SPDX-License-Identifier: Apache-2.0 */
/*
 * orders: brings each word of an operator into hearsayd as it comes from the hub. A subscription of
 * core NATS brings a message at most once, and may get lost: it only makes words faster, and
 * restore_poll gets the others.
 */
#ifndef CLIENT_BRIDGE_OWN_ORDERS_H
#define CLIENT_BRIDGE_OWN_ORDERS_H

#include <uv.h>

#include "client/bridge/own/apply.h"
#include "client/bridge/own/restore.h"
#include "client/bridge/wire/wire.h"
#include "daemon/system/log.h"

/* The caller sets what is borrowed. */
struct orders {
    uv_loop_t *loop;
    const char *host;
    struct apply *apply;
    struct restore *restore; /* asks for all words where one could not be applied */
    struct wire_subscription *subscriptions[2];
    struct log_gate gate;
};

void orders_begin(struct orders *orders, struct wire *wire);
void orders_end(struct orders *orders);

#endif
