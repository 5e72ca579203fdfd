/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/host/host.h"

#include <string.h>

#include "core/base/err.h"

void hide_rate_deinit(struct hide_rate *rate, const struct alloc *alloc)
{
    alloc_release(alloc, rate->list);
    memset(rate, 0, sizeof(*rate));
}

static bool is_recent(const struct hide *hide, int64_t now_ms)
{
    return now_ms - hide->at_ms < HIDE_RATE_WINDOW_MS;
}

bool hide_rate_allows(const struct hide_rate *rate, uint64_t by, uint32_t per_hour, int64_t now_ms)
{
    uint32_t recent = 0;

    if (rate->count == HIDE_RATE_KEPT && is_recent(&rate->list[rate->oldest], now_ms)) {
        return false;
    }
    for (uint32_t i = 0; i < rate->count; i++) {
        recent += rate->list[i].by == by && is_recent(&rate->list[i], now_ms);
    }
    return recent < per_hour;
}

int hide_rate_note(struct hide_rate *rate, const struct alloc *alloc, uint64_t by, int64_t now_ms)
{
    if (rate->list == NULL) {
        rate->list = alloc_array(alloc, HIDE_RATE_KEPT, sizeof(*rate->list));
        if (rate->list == NULL) {
            return -ERR_NOMEM;
        }
    }
    struct hide fresh = {.by = by, .at_ms = now_ms};
    if (rate->count < HIDE_RATE_KEPT) {
        rate->list[rate->count++] = fresh;
    } else {
        rate->list[rate->oldest] = fresh;
        rate->oldest = (rate->oldest + 1) % HIDE_RATE_KEPT;
    }
    return 0;
}

bool hide_rate_withhold(struct hide_rate *rate, int64_t now_ms)
{
    rate->withheld++;
    if (rate->was_told && now_ms - rate->told_ms < HIDE_RATE_WINDOW_MS) {
        return false;
    }
    rate->was_told = true;
    rate->told_ms = now_ms;
    return true;
}
