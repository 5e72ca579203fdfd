/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages: asks the readers of a host, through the hub, for its states, for the operator's words, and
 * for the digest. One request at a time.
 */
#ifndef CLIENT_BRIDGE_OWN_PAGES_H
#define CLIENT_BRIDGE_OWN_PAGES_H

#include "client/bridge/wire/wire.h"
#include "proto/letter.h"

struct pages {
    struct wire *wire;
    const char *host;
    /* page NULL: no reader answered; `why` says why. The page is borrowed until the return. */
    void (*done)(void *context, const struct msg_page_ask *ask, const struct msg_page *page,
                 const char *why);
    void *context;
    struct msg_page_ask ask; /* under way */
    uint32_t wait_ms;        /* for the answer; longer after each silence */
};

/* False: not sent; `done` is not called. */
bool pages_ask(struct pages *pages, const struct msg_page_ask *ask);

#endif
