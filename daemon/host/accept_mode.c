/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/host/host.h"

#include <time.h>

enum {
    MINUTE_MS = 60 * 1000,
    MINUTES_MAX = 3 * DAY_MINUTES /* no mode of a schedule that changes holds so long */
};

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

/* Whether the entry, or the configuration if `entry` is NULL, still sets the mode at this minute.
 */
static bool accept_holds(const struct config_host *config, const struct schedule_entry *entry,
                         uint32_t minute)
{
    uint32_t left = 0;
    const struct schedule_entry *found =
        schedule_find(config->schedule, config->schedule_count, minute, &left);

    return found == entry || (entry == NULL && found->mode == config->accept);
}

/*
 * Returns the time at which the mode ends that holds now for `left` minutes of local time. If the
 * local time is set by an hour before that, for daylight saving, the mode may end sooner or later:
 * the function then looks at each minute.
 */
static int64_t accept_end(const struct config_host *config, const struct schedule_entry *entry,
                          int64_t now_ms, uint32_t left)
{
    int64_t now = now_ms / MINUTE_MS;
    int64_t end = now + left;

    if (local_minute(end * MINUTE_MS) != (local_minute(now_ms) + left) % DAY_MINUTES) {
        end = now + 1;
        while (end < now + MINUTES_MAX &&
               accept_holds(config, entry, local_minute(end * MINUTE_MS))) {
            end++;
        }
    }
    return end * MINUTE_MS;
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
    if (config->schedule_count == 0) {
        *out_source = "configuration";
        return config->accept;
    }
    uint32_t minute = local_minute(now_ms);
    const struct schedule_entry *entry =
        schedule_find(config->schedule, config->schedule_count, minute, &left);
    if (entry == NULL) {
        left = schedule_next(config->schedule, config->schedule_count, minute, config->accept);
    }
    *out_until_ms = left > 0 ? accept_end(config, entry, now_ms, left) : 0;
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
