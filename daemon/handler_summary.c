/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Summary: what a host's messages have in common. Answered at once: the host keeps it up to date.
 */
#include <inttypes.h>

#include "core/bloom.h"
#include "daemon/handler.h"

void handler_summary(struct service *service, struct handler_client *client,
                     const struct msg_request *request)
{
    const struct host *host = handler_host(service, client, request, &request->summary.host);
    uint8_t bytes[PROFILE_BYTES_MAX];
    struct msg_response response = {.id = request->id, .kind = MSG_RESPONSE_SUMMARIZED};

    if (host == NULL) {
        return;
    }
    if (request->summary.epoch != 0) {
        handler_refuse(client, request->id, MSG_UNKNOWN_EPOCH, "epoch",
                       "host \"%s\" has no epoch %" PRIu64 "; 0 is the open one", host->config.name,
                       request->summary.epoch);
        return;
    }
    bloom_store(summary_union(&host->summary), host->config.profile.bits, bytes);
    response.summarized.union_filter = (struct msg_bytes){bytes, host->filter_bytes};
    response.summarized.count = host->summary.count;
    summary_range(&host->summary, &response.summarized.cardinality_min,
                  &response.summarized.cardinality_max);
    client->events->respond(client, &response);
}
