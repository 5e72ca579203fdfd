/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/host/service.h"

#include "core/base/err.h"
#include "core/summary/groups.h"

/* Messages of a slice: about 0.6 ms with 32 groups of 512 bits. */
enum { SLICE_MESSAGES = 256 };

/* The groups of a host. */
struct host_groups {
    struct groups now; /* has every message; limit 0: not made yet */
    struct groups next;
    bool is_stale; /* half of the messages of `now` have gone */
    /* The walk over the index that makes `next`; NULL: none. */
    void *cursor;
    struct index_item *items; /* the messages that the walk has copied: INDEX_COPY_MAX at most */
    uint64_t *filters;
    size_t count;
    size_t at; /* how many of them are in `next` */
    bool is_last;
};

const struct groups *host_groups_now(const struct host *host)
{
    return host->groups != NULL && host->groups->now.limit > 0 ? &host->groups->now : NULL;
}

/* Ends the walk, if there is one, and frees what only the walk needs. */
static void end_walk(struct host *host)
{
    struct host_groups *own = host->groups;

    if (own->cursor != NULL) {
        index_walk_free(host->epochs[0]->index, own->cursor);
        host->epochs[0]->walks--;
        own->cursor = NULL;
    }
    alloc_release(host->alloc, own->items);
    alloc_release(host->alloc, own->filters);
    own->items = NULL;
    own->filters = NULL;
    groups_deinit(&own->next);
    own->next = (struct groups){0};
}

/* Begins to make `next`. The index must not be rebuilt now. Returns 0 or -ERR_NOMEM. */
static int begin_walk(struct host *host)
{
    struct host_groups *own = host->groups;
    struct epoch *epoch = host->epochs[0];
    size_t words = host->filter_words;

    int rc =
        groups_init(&own->next, host->alloc, &host->config.profile, host->config.summary_groups);
    if (rc == 0) {
        own->items = alloc_array(host->alloc, INDEX_COPY_MAX, sizeof(*own->items));
        own->filters = alloc_array(host->alloc, INDEX_COPY_MAX * words, sizeof(*own->filters));
        rc = own->items == NULL || own->filters == NULL
                 ? -ERR_NOMEM
                 : index_walk_new(epoch->index, &own->cursor);
    }
    if (rc != 0) {
        end_walk(host);
        return rc;
    }
    epoch->walks++;
    own->count = 0;
    own->at = 0;
    own->is_last = false;
    return 0;
}

int host_groups_want(struct host *host)
{
    if (host->groups == NULL) {
        host->groups = alloc_zeroed(host->alloc, 1, sizeof(*host->groups));
        if (host->groups == NULL) {
            return -ERR_NOMEM;
        }
    }
    return host->groups->now.limit == host->config.summary_groups ? 0 : HOST_GROUPS_LATER;
}

void host_groups_add(struct host *host, const uint64_t *filter, int64_t deposited_ms)
{
    struct host_groups *own = host->groups;

    if (own != NULL && own->now.limit > 0) {
        groups_add(&own->now, filter, deposited_ms);
    }
    if (own != NULL && own->cursor != NULL) {
        groups_add(&own->next, filter, deposited_ms); /* the walk may not come by this message */
    }
}

void host_groups_remove(struct host *host)
{
    struct host_groups *own = host->groups;

    if (own != NULL && own->now.limit > 0) {
        own->is_stale |= groups_remove(&own->now);
    }
}

void host_groups_shift(struct host *host, int64_t from_ms, int64_t by_ms)
{
    struct host_groups *own = host->groups;

    if (own == NULL) {
        return;
    }
    if (own->now.limit > 0) {
        groups_shift(&own->now, from_ms, by_ms);
    }
    if (own->cursor != NULL) {
        end_walk(host); /* the next turn begins again: copied times are of before */
    }
}

/* Adds the filters of the next 256 messages to `next`. Returns whether messages are left. */
static bool walk_on(struct host *host)
{
    struct host_groups *own = host->groups;

    if (own->at == own->count && !own->is_last) {
        own->at = 0;
        own->is_last = index_walk_next(host->epochs[0]->index, own->cursor, own->items,
                                       own->filters, &own->count) != INDEX_MORE;
    }
    for (int i = 0; i < SLICE_MESSAGES && own->at < own->count; i++, own->at++) {
        groups_add(&own->next, own->filters + own->at * host->filter_words,
                   own->items[own->at].deposited_ms);
    }
    if (own->at < own->count || !own->is_last) {
        return true;
    }
    groups_deinit(&own->now);
    own->now = own->next;
    own->next = (struct groups){0};
    own->is_stale = false;
    end_walk(host);
    return false;
}

bool host_groups_turn(struct service *service)
{
    for (size_t i = 0; i < service->host_count; i++) {
        struct host *host = &service->hosts[i];
        struct host_groups *own = host->groups;

        if (own == NULL || host->config.summary_groups == 0 ||
            (own->cursor == NULL && !own->is_stale &&
             own->now.limit == host->config.summary_groups)) {
            continue;
        }
        if (own->cursor == NULL &&
            (arrange_is_active(&service->arrange) || begin_walk(host) != 0)) {
            continue; /* a later turn tries again */
        }
        if (walk_on(host)) {
            return true;
        }
    }
    return false;
}

void host_groups_deinit(struct host *host)
{
    if (host->groups != NULL) {
        end_walk(host);
        groups_deinit(&host->groups->now);
        alloc_release(host->alloc, host->groups);
        host->groups = NULL;
    }
}
