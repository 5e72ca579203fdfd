/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/host/hides.h"

#include <stddef.h>
#include <string.h>

#include "core/base/err.h"

void hides_deinit(struct hides *hides, const struct alloc *alloc)
{
    alloc_release(alloc, hides->list);
    memset(hides, 0, sizeof(*hides));
}

static bool is_recent(const struct hide *hide, int64_t now_ms)
{
    return now_ms - hide->at_ms < HIDES_WINDOW_MS;
}

bool hides_may(const struct hides *hides, uint64_t by, uint32_t per_hour, int64_t now_ms)
{
    uint32_t recent = 0;

    if (hides->count == HIDES_KEPT && is_recent(&hides->list[hides->oldest], now_ms)) {
        return false;
    }
    for (uint32_t i = 0; i < hides->count; i++) {
        recent += hides->list[i].by == by && is_recent(&hides->list[i], now_ms);
    }
    return recent < per_hour;
}

int hides_note(struct hides *hides, const struct alloc *alloc, uint64_t by, int64_t now_ms)
{
    if (hides->list == NULL) {
        hides->list = alloc_array(alloc, HIDES_KEPT, sizeof(*hides->list));
        if (hides->list == NULL) {
            return -ERR_NOMEM;
        }
    }
    struct hide fresh = {.by = by, .at_ms = now_ms};
    if (hides->count < HIDES_KEPT) {
        hides->list[hides->count++] = fresh;
    } else {
        hides->list[hides->oldest] = fresh;
        hides->oldest = (hides->oldest + 1) % HIDES_KEPT;
    }
    return 0;
}

bool hides_withhold(struct hides *hides, int64_t now_ms)
{
    hides->withheld++;
    if (hides->was_told && now_ms - hides->told_ms < HIDES_WINDOW_MS) {
        return false;
    }
    hides->was_told = true;
    hides->told_ms = now_ms;
    return true;
}
