/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Summary: answers with the number of the messages in an epoch's index, the union of their filters,
 * and the least and the greatest number of set bits of a filter. Memory has the summary, so the
 * answer is sent at once.
 */
#include "core/filter/bloom.h"
#include "daemon/handler/inner.h"

void handler_summary(struct ask *ask)
{
    uint8_t bytes[PROFILE_BYTES_MAX];
    struct msg_response response = {.id = ask->request->id, .kind = MSG_RESPONSE_SUMMARIZED};

    if (!ask_host(ask, &ask->request->summary.host)) {
        return;
    }
    const struct epoch *epoch = ask_epoch(ask, ask->request->summary.epoch, "epoch");
    if (epoch == NULL) {
        return;
    }
    bloom_store(summary_union(&epoch->summary), ask->host->config.profile.bits, bytes);
    response.summarized.union_filter = (struct msg_bytes){bytes, ask->host->filter_bytes};
    response.summarized.count = epoch->summary.count;
    summary_range(&epoch->summary, &response.summarized.cardinality_min,
                  &response.summarized.cardinality_max);
    ask_respond(ask, &response);
}
