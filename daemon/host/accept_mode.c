/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/host/accept_mode.h"

#include <time.h>

/* Minutes after local midnight. */
static uint32_t local_minute(int64_t now_ms)
{
    time_t seconds = (time_t)(now_ms / 1000);
    struct tm local;

    if (localtime_r(&seconds, &local) == NULL) {
        return 0;
    }
    return (uint32_t)(local.tm_hour * 60 + local.tm_min);
}

enum accept accept_mode_now(const struct host *host, int64_t now_ms, const char **out_source,
                            int64_t *out_until_ms)
{
    uint32_t left = 0;

    *out_until_ms = 0;
    if (host->rules.has_accept) {
        *out_source = "operator";
        return host->rules.accept;
    }
    const struct config_host *config = &host->config;
    uint32_t minute = local_minute(now_ms);
    const struct schedule_entry *entry =
        schedule_find(config->schedule, config->schedule_count, minute, &left);
    if (entry == NULL) {
        left = schedule_next(config->schedule, config->schedule_count, minute, config->accept);
    }
    *out_until_ms = left > 0 ? (now_ms / 60000 + left) * 60000 : 0;
    *out_source = entry != NULL ? "schedule" : "configuration";
    return entry != NULL ? entry->mode : config->accept;
}

bool accept_mode_changed(struct host *host, int64_t now_ms)
{
    const char *source = NULL;
    int64_t until_ms = 0;
    enum accept mode = accept_mode_now(host, now_ms, &source, &until_ms);
    bool has_changed = mode != host->told_accept || until_ms != host->told_accept_until_ms;

    host->told_accept = mode;
    host->told_accept_until_ms = until_ms;
    return has_changed;
}
