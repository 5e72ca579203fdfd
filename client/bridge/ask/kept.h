/* SPDX-License-Identifier: Apache-2.0 */
/* kept: the results of a neighbour's answer, checked and copied, until the round is over. */
#ifndef CLIENT_BRIDGE_ASK_KEPT_H
#define CLIENT_BRIDGE_ASK_KEPT_H

#include "client/bridge/setup/config.h"
#include "core/hood/search.h"
#include "proto/letter.h"

struct kept {
    struct kept *next;
    uint32_t peer;
    char host[BRIDGE_NAME_BYTES];
    struct hearsay_result *results; /* count of them; they borrow from this block */
    struct hood_found *found;       /* of the same, for the search */
    uint32_t count;
    size_t payload_bytes;
};

/*
 * Copies the first k results whose filters fit `bits`, as one block that the caller frees. Results
 * get `host` as their host. Payloads are left out, with their types, once they have more than
 * payload_most bytes.
 * NULL: no memory.
 */
struct kept *kept_new(const struct hearsay_results *results, uint32_t k, uint32_t bits,
                      uint32_t peer, const char *host, size_t payload_most);

#endif
