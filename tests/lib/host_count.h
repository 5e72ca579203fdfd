/* SPDX-License-Identifier: Apache-2.0 */
/* host_count: messages in the indexes of all epochs of a host. */
#pragma once

#include "daemon/host/host.h"

static inline size_t host_count(const struct host *host)
{
    size_t count = 0;

    for (size_t i = 0; i < host->epoch_count; i++) {
        count += index_count(host->epochs[i]->index);
    }
    return count;
}
