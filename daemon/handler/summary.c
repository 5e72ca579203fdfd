/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Summary: answers with the number of the messages in an epoch's index, the union of their filters,
 * and the least and the greatest number of set bits of a filter; for a bridge also with the groups
 * of the host. Memory has the summary, so the answer is sent at once.
 */
#include "core/filter/bloom.h"
#include "core/summary/groups.h"
#include "daemon/handler/inner.h"
#include "daemon/watch/watch.h"

enum { GROUPS_RETRY_MS = 100 };

_Static_assert((int)LIMIT_SECTIONS == (int)PROFILE_SECTIONS_MAX, "a group has all sections");

/* Fills what a group says apart from its union. */
static void fill_group(const struct group *group, uint32_t section_count,
                       struct hearsay_summary_group *out)
{
    out->least_count = out->most_count = section_count;
    for (uint32_t s = 0; s < section_count; s++) {
        out->least[s] = group->ranges[s].least;
        out->most[s] = group->ranges[s].most;
    }
    out->count = group->count;
    out->newest_ms = group->newest_ms;
}

/*
 * Adds the groups of the host. Returns false, after sending an error, if the client is no bridge,
 * if there is no memory, or if the groups are still being made.
 */
static bool add_groups(const struct ask *ask, const struct epoch *epoch,
                       struct hearsay_summarized *summarized)
{
    const struct host *host = ask->host;
    const struct groups *groups = host_groups_now(host);
    struct arena *arena = &ask->service->arena;
    struct hearsay_response later = {.id = ask->request->id, .kind = HEARSAY_RESPONSE_ERROR};

    if (!ask->client->is_bridge) {
        ask_refuse(ask, HEARSAY_CODE_INVALID, "groups",
                   "groups are told to a bridge only, on a `listen` line with the word bridge");
        return false;
    }
    summarized->seq = (uint64_t)ask->service->watch->newest_seq;
    if (epoch->number != 0 || host->config.summary_groups == 0) {
        return true;
    }
    int rc = host_groups_want(ask->host);
    if (rc == HOST_GROUPS_LATER) {
        msg_error_set(&later.error, HEARSAY_CODE_RATE_LIMITED, "groups",
                      "the groups of host \"%s\" are being made; ask again", host->config.name);
        later.error.retry_after_ms = GROUPS_RETRY_MS;
        ask_respond(ask, &later);
        return false;
    }
    size_t count = rc == 0 ? groups->count : 0;
    struct hearsay_summary_group *list = arena_take_zeroed(arena, count + 1, sizeof(*list));
    uint8_t *bytes = arena_take_zeroed(arena, count + 1, host->filter_bytes);
    if (rc != 0 || list == NULL || bytes == NULL) {
        ask_refuse_memory(ask);
        return false;
    }
    for (size_t i = 0; i < count; i++, bytes += host->filter_bytes) {
        bloom_store(groups->list[i].filter, host->config.profile.bits, bytes);
        list[i].union_filter = (struct hearsay_bytes){bytes, host->filter_bytes};
        fill_group(&groups->list[i], host->config.profile.section_count, &list[i]);
    }
    summarized->groups = list;
    summarized->group_count = count;
    return true;
}

void handler_summary(struct ask *ask)
{
    uint8_t bytes[PROFILE_BYTES_MAX];
    struct hearsay_response response = {.id = ask->request->id,
                                        .kind = HEARSAY_RESPONSE_SUMMARIZED};

    if (!ask_host(ask, &ask->request->summary.host)) {
        return;
    }
    const struct epoch *epoch = ask_epoch(ask, ask->request->summary.epoch, "epoch");
    if (epoch == NULL) {
        return;
    }
    bloom_store(summary_union(&epoch->summary), ask->host->config.profile.bits, bytes);
    response.summarized.union_filter = (struct hearsay_bytes){bytes, ask->host->filter_bytes};
    response.summarized.count = epoch->summary.count;
    if (ask->request->summary.groups > 0 && !add_groups(ask, epoch, &response.summarized)) {
        return;
    }
    summary_range(&epoch->summary, &response.summarized.cardinality_min,
                  &response.summarized.cardinality_max);
    ask_respond(ask, &response);
}
