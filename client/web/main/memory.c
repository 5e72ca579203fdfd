/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/main/inner.h"

#include <inttypes.h>

#include "client/web/live.h"

enum {
    MIB = 1024 * 1024,
    PROGRAM_BYTES = 10 * MIB,       /* after the start, with its libraries, and sheets (sheet.h) */
    MESSAGE_BYTES = 4 * 1024 + 256, /* of a message of a list */
    LIST_BYTES = 6 * 1024           /* of a list that is kept for a while, without messages */
};

void memory_print(const struct web_config *config, FILE *out)
{
    uint64_t connections = http_memory_most(config->connections);
    uint64_t lists = config->views * (LIST_BYTES + (uint64_t)config->per_page * MESSAGE_BYTES) +
                     live_memory_most(config->views, config->events);
    uint64_t all = connections + lists + PROGRAM_BYTES;

    fprintf(out,
            "memory: at most %" PRIu64 " MiB with these limits, of which %" PRIu64
            " for connections and %" PRIu64 " for lists\n",
            (all + MIB - 1) / MIB, (connections + MIB - 1) / MIB, (lists + MIB - 1) / MIB);
}
