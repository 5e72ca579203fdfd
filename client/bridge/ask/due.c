/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/ask/home.h"

#include "core/base/least.h"

enum { MINUTE_MS = 60 * 1000 };

void due_init(struct due *due, uint64_t all_gap_ms)
{
    *due = (struct due){.all_gap_ms = all_gap_ms > 0 ? all_gap_ms : 1,
                        .full_ms = UINT64_MAX,
                        .word_ms = UINT64_MAX};
}

/* The first time from at_ms on at which a full word may be made, so long after the last one. */
static uint64_t first_after(const struct due *due, uint64_t at_ms, uint64_t gap_ms)
{
    uint64_t soonest = due->last_ms == 0 ? 0 : due->last_ms + gap_ms;

    return most_u64(at_ms, most_u64(soonest, due->held_ms));
}

void due_want(struct due *due, uint64_t now_ms, uint64_t least_ms)
{
    due->full_ms = least_u64(due->full_ms, first_after(due, now_ms + least_ms, DUE_GAP_MS));
}

void due_show(struct due *due, uint64_t now_ms, uint64_t least_ms)
{
    uint64_t soonest = due->told_ms == 0 ? 0 : due->told_ms + DUE_GAP_MS;

    if (due->word_ms == UINT64_MAX) {
        due->word_ms = most_u64(now_ms + least_ms, soonest);
    }
}

void due_hold(struct due *due, uint64_t now_ms, uint64_t hold_ms)
{
    due->held_ms = now_ms + hold_ms;
    due->full_ms = due->held_ms;
}

/* Whether a neighbour that names the host gets a full word after the short gap. */
static bool is_soon(struct due *due, uint64_t now_ms)
{
    struct bucket_rate rate = {.per_minute = (uint32_t)(MINUTE_MS / due->all_gap_ms),
                               .burst = DUE_NAMED};

    return bucket_take(&due->named, &rate, 1, (int64_t)now_ms) == 0;
}

void due_ask(struct due *due, bool is_named, uint64_t now_ms, uint64_t wait_ms)
{
    uint64_t soon = first_after(due, now_ms + wait_ms, DUE_GAP_MS);

    if (due->full_ms <= soon) {
        return; /* this full word is for all who have asked */
    }
    if (is_named && is_soon(due, now_ms)) {
        due->full_ms = soon;
        return;
    }
    uint64_t late = first_after(due, now_ms, due->all_gap_ms) + DUE_STRETCH * wait_ms;
    due->full_ms = least_u64(due->full_ms, late);
    if (!is_named) {
        due_show(due, now_ms, wait_ms);
    }
}

void due_begin(struct due *due)
{
    due->full_ms = UINT64_MAX;
}

void due_made(struct due *due, uint64_t now_ms)
{
    due->last_ms = now_ms;
}

void due_told(struct due *due, uint64_t now_ms)
{
    due->told_ms = now_ms;
    due->word_ms = UINT64_MAX;
}
