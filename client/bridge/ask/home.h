/* SPDX-License-Identifier: Apache-2.0 */
/*
 * home: one host of the hearsayd here that belongs to a hood. A home has its own connection to
 * hearsayd. By this connection
 *
 *   - the home asks which messages the host has, and tells the neighbours: it publishes words
 *     (core/hood/hood.h) at the hub;
 *   - the home passes on the queries of neighbours, and sends the answers back (answers.h).
 */
#ifndef CLIENT_BRIDGE_ASK_HOME_H
#define CLIENT_BRIDGE_ASK_HOME_H

#include <uv.h>

#include "client/bridge/setup/config.h"
#include "client/bridge/wire/wire.h"

struct home;

/* All pointers are borrowed. NULL: no memory. */
struct home *home_new(uv_loop_t *loop, const struct bridge_config *config,
                      const struct bridge_host *host, struct wire *wire);
void home_joined(struct home *home);
void home_parted(struct home *home);
void home_stop(struct home *home); /* then home_free, when the loop has closed its handles */
void home_free(struct home *home);

const char *home_hood(const struct home *home);
const char *home_name(const struct home *home);

/* A neighbour asks for full words: is_named: of this host only; else of all hosts of the hood. */
void home_tell_all(struct home *home, bool is_named);

/* Another store owns the host at the hub, or does so no more. A silent home tells nothing and
 * answers no query: the store of the owner does. */
void home_silence(struct home *home, bool is_silent);

/* Figures, for lines of one host. */
struct home_figures {
    const char *name;
    const char *hood;
    const char *error; /* "": nothing is wrong */
    bool is_silent;
    uint64_t full; /* summaries that went out */
    uint64_t deltas;
    uint64_t keepalives;
    uint64_t answered; /* queries of neighbours */
    uint64_t refused;  /* queries above the rate, and those for which there was no room */
    uint64_t told_ms;  /* since the last summary; UINT64_MAX: there was none */
    uint32_t groups;
};
void home_read_figures(const struct home *home, struct home_figures *out);

#endif
