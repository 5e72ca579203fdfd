/* SPDX-License-Identifier: Apache-2.0 */
/* desk: the connection by which hearsayd asks for messages of other servers, and what is asked. */
#ifndef CLIENT_BRIDGE_ASK_DESK_H
#define CLIENT_BRIDGE_ASK_DESK_H

#include <uv.h>

#include "client/bridge/ask/hoods.h"
#include "client/bridge/setup/config.h"
#include "client/bridge/wire/wire.h"

struct desk;

/* All pointers are borrowed. Connects, and again for ever. NULL: no memory. */
struct desk *desk_new(uv_loop_t *loop, const struct bridge_config *config, struct wire *wire,
                      struct hoods *hoods);
void desk_parted(struct desk *desk);
void desk_end_rounds(struct desk *desk); /* no search is left after it */
void desk_stop(struct desk *desk);       /* then desk_free, when the loop has closed its handles */
void desk_free(struct desk *desk);       /* NULL is fine */

/* What became of the asks of hearsayd. */
struct desk_figures {
    const char *error; /* why there is no connection; "": there is one */
    uint64_t asks;
    uint64_t peers_asked;
    uint64_t peers_silent;
    uint64_t waves;
    uint64_t incomplete;
};
void desk_read_figures(const struct desk *desk, struct desk_figures *out);

#endif
