/* SPDX-License-Identifier: Apache-2.0 */
/* host_count: messages in the indexes of all epochs of a host. */
#ifndef TESTS_LIB_HOST_COUNT_H
#define TESTS_LIB_HOST_COUNT_H

#include "daemon/host/host.h"

static inline size_t host_count(const struct host *host)
{
    size_t count = 0;

    for (size_t i = 0; i < host->epoch_count; i++) {
        count += index_count(host->epochs[i]->index);
    }
    return count;
}

#endif
