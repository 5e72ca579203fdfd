/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Summary: what the messages of a host's epoch have in common. Answered at once: it is kept up to
 * date.
 */
#include "core/filter/bloom.h"
#include "daemon/handler/handler.h"

void handler_summary(struct service *service, struct requester *client,
                     const struct msg_request *request)
{
    const struct host *host = handler_host(service, client, request, &request->summary.host);
    uint8_t bytes[PROFILE_BYTES_MAX];
    struct msg_response response = {.id = request->id, .kind = MSG_RESPONSE_SUMMARIZED};

    if (host == NULL) {
        return;
    }
    const struct epoch *epoch =
        handler_epoch(service, client, request, host, request->summary.epoch, "epoch");
    if (epoch == NULL) {
        return;
    }
    bloom_store(summary_union(&epoch->summary), host->config.profile.bits, bytes);
    response.summarized.union_filter = (struct msg_bytes){bytes, host->filter_bytes};
    response.summarized.count = epoch->summary.count;
    summary_range(&epoch->summary, &response.summarized.cardinality_min,
                  &response.summarized.cardinality_max);
    client->events->respond(client, &response);
}
