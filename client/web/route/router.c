/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/route/router.h"

#include <stdio.h>
#include <time.h>

#include <sodium.h>

int64_t router_now_ms(const struct router *router)
{
    return (int64_t)uv_now(router->loop);
}

void router_note_read(struct router *router, bool was_refused)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail */
    router->was_refused = was_refused;
    router->read_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void router_init(struct router *router)
{
    uint8_t random[8];
    char digits[2 * sizeof(random) + 1];

    randombytes_buf(random, sizeof(random));
    (void)sodium_bin2hex(digits, sizeof(digits), random, sizeof(random));
    (void)snprintf(router->statics, sizeof(router->statics), "/s/%s/", digits);
    names_write(&router->names, router->name);
    nonce_init(&router->nonce);
    router_note_read(router, false);
}
