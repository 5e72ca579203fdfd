/* SPDX-License-Identifier: Apache-2.0 */
/*
 * head: reads and writes the head of a host at the hub. Writing succeeds only where the head that
 * was last seen is still the last one. Each call is one request, whose callback comes once, unless
 * wire_forget with the context comes before.
 */
#ifndef CLIENT_BRIDGE_OWN_HEAD_H
#define CLIENT_BRIDGE_OWN_HEAD_H

#include <stdint.h>

#include "client/bridge/wire/wire.h"
#include "proto/limits.h"

enum head_outcome {
    HEAD_FOUND,    /* reading: *found is the head */
    HEAD_NONE,     /* reading: there is no head */
    HEAD_ACCEPTED, /* writing: found->place is where the new one stands */
    HEAD_REFUSED,  /* writing: another head stands at found->place; 0: none does */
    HEAD_FAILED    /* neither; found->error says why */
};

struct head {
    uint64_t place; /* sequence in the stream */
    uint8_t store_id[LIMIT_ID_BYTES];
    uint64_t seq;
    uint64_t term; /* the owner's number: the next owner has one more */
    int64_t as_of_ms;
    bool is_taken; /* back, by an operator: the store must be restored before it publishes */
    char profile[LIMIT_PROFILE_BYTES + 1]; /* reading: of the store that wrote it */
    char error[WIRE_ERROR_BYTES];
};

/* The term of a store that becomes the owner after the owner of `term`. */
uint64_t head_next_term(uint64_t term);

typedef void head_done(void *context, enum head_outcome outcome, const struct head *found);

/* One host has one such struct, and at most one request under way. */
struct head_keeper {
    struct wire *wire;
    const char *host;
    head_done *done;
    void *context;
};

/* False: not sent; `done` is not called. */
bool head_read(struct head_keeper *keeper);
bool head_write(struct head_keeper *keeper, const struct head *head, const char *profile,
                uint64_t last_place);

#endif
