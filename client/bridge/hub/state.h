/* SPDX-License-Identifier: Apache-2.0 */
/* state: what a Change says of a message or rule, as far as the hub's side cares. */
#ifndef CLIENT_BRIDGE_HUB_STATE_H
#define CLIENT_BRIDGE_HUB_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "client/bridge/hub/table.h"
#include "client/hearsay.h"
#include "proto/arena.h"
#include "proto/msg.h"

/* `state` of a message that is no more. Else it is the state of an ExportedMessage; 0 of a rule. */
enum { STATE_GONE = 255 };

struct state {
    uint8_t key[TABLE_KEY_BYTES]; /* the id of the message; of a rule, a hash of kind and value */
    uint64_t decision;            /* a hash of the id of the decision that it names; 0: of none */
    uint64_t store;               /* a hash of the store where that was decided; 0: as above */
    int64_t until_ms;             /* 0: has no end */
    uint8_t state;
    bool is_rule;
    bool is_evicted;
    bool has_payload;
};

/* False: the change has no content, or a wrong id. */
bool state_read(const struct hearsay_change *change, struct state *out);

/* Reads a Letter with a Change; *out_change borrows from the arena, which is reset before. False:
 * the bytes are none. */
bool state_decode(const uint8_t *bytes, size_t size, struct arena *arena,
                  struct hearsay_change *out_change, struct state *out);

#endif
