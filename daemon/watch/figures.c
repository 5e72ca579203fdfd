/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of watches for the operator. No figure tells who watches, or for what. */

#include "daemon/limits/figures.h"
#include "daemon/system/list.h"
#include "daemon/watch/inner.h"

void watch_note_slow(struct service *service, const struct requester *client)
{
    service->watch->counts.slow += watch_is_watching(client);
}

static size_t count_clients(const struct service *service)
{
    const struct watcher *watcher;
    size_t count = 0;

    DL_FOREACH (service->watch->watchers, watcher) {
        count += watcher->watches != NULL;
    }
    return count;
}

static size_t count_catching(const struct service *service)
{
    const struct watch_catch *catch;
    size_t count = 0;
    size_t paused = 0;

    DL_COUNT(service->watch->catching, catch, count);
    DL_COUNT(service->watch->paused, catch, paused);
    return count + paused + service->watch->reads;
}

static size_t bytes_of_indexes(const struct service *service)
{
    size_t bytes = 0;

    for (size_t i = 0; i < service->host_count; i++) {
        const struct standing *standing = service->hosts[i].standing;

        bytes += standing != NULL ? standing_bytes(standing) : 0;
    }
    return bytes;
}

void watch_add_figures(const struct service *service, struct figures *figures)
{
    const struct watch_state *state = service->watch;
    const struct watch_counts *counts = &state->counts;

    figures_add(figures, counts->watches, "watches");
    figures_add(figures, count_clients(service), "watch_clients");
    figures_add(figures, state->filter_count, "watch_filters");
    figures_add(figures, service->config.limits.watches, "watch_filters_max");
    figures_add(figures, bytes_of_indexes(service), "watch_index_bytes");
    figures_add(figures, count_catching(service), "watches_catching_up");
    figures_add(figures, counts->pushed, "matches_total");
    figures_add(figures, counts->left_out, "matches_left_out_total");
    figures_add(figures, counts->matches, "matches_waiting");
    figures_add(figures, counts->bytes, "matches_waiting_bytes");
    figures_add(figures, counts->pending, "match_deposits_waiting");
    figures_add(figures, state->pending_bytes, "match_deposits_waiting_bytes");
    figures_add(figures, counts->slow, "watch_dropped/slow/clients_total");
    figures_add(figures, counts->failed, "watch_dropped/failed/clients_total");
}
