/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host: one host that this access point owns: its connection to hearsayd, how far it is published,
 * and what the hub brings back for it.
 */
#ifndef CLIENT_BRIDGE_OWN_HOST_H
#define CLIENT_BRIDGE_OWN_HOST_H

#include <stdio.h>

#include <uv.h>

#include "client/bridge/setup/config.h"
#include "client/bridge/wire/wire.h"

struct host;

/* All pointers are borrowed. */
struct host_options {
    const struct bridge_config *config;
    const char *name;
    struct wire *wire;
    void (*fenced)(void *context, const char *host, bool is_fenced); /* as of own_events */
    void *context;
};

/* NULL: no memory. */
struct host *host_new(uv_loop_t *loop, const struct host_options *options);
void host_joined(struct host *host);
void host_parted(struct host *host);
void host_stop(struct host *host); /* then host_free, when the loop has closed its handles */
void host_free(struct host *host);

/* Figures, for lines of one host. */
struct host_figures {
    const char *name;
    const char *state; /* a short sentence */
    const char *error; /* "": nothing is wrong */
    uint64_t published;
    uint64_t seq;
    size_t waiting; /* sent, and not acknowledged */
    uint64_t rewinds;
    uint64_t restored;
    uint64_t applied;
    uint64_t refused;
    uint64_t digests_different;
    int64_t not_compared_since_s; /* wall clock; 0: compared since the last trouble */
    uint64_t head_age_ms;         /* UINT64_MAX: never written */
    bool is_owner;
    bool is_fenced;
};
void host_read_figures(const struct host *host, struct host_figures *out);

#endif
