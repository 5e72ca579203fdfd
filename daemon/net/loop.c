/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/net/loop.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "daemon/system/list.h"

enum {
    /*
     * The account of new connections. ARRIVALS_NS: CPU time that new connections may use at once.
     * ARRIVALS_SHARE: in the long run new connections get about one part in ARRIVALS_SHARE of the
     * CPU time. ARRIVALS_NS_MAX: the account counts no more CPU time, which bounds how long the
     * next connection waits.
     */
    ARRIVALS_NS = 500 * 1000,
    ARRIVALS_SHARE = 4,
    ARRIVALS_NS_MAX = 8 * ARRIVALS_NS
};

int loop_init(struct loop *loop)
{
    *loop = (struct loop){.is_closing = false};
    int rc = uv_loop_init(&loop->uv);
    if (rc != 0) {
        return rc;
    }
    (void)uv_idle_init(&loop->uv, &loop->idle); /* neither fails, by libuv's documentation */
    (void)uv_timer_init(&loop->uv, &loop->arrival);
    loop->arrival.data = loop;
    return 0;
}

static void on_room(uv_poll_t *poll, int status, int events)
{
    (void)poll; /* is stopped before the loop runs */
    (void)status;
    (void)events;
}

/* The table grows when a watched descriptor has a larger number than all before. */
void loop_reserve(struct loop *loop, uint64_t files)
{
    struct rlimit limit;
    int low = eventfd(0, EFD_CLOEXEC);

    if (low < 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return;
    }
    files = files < limit.rlim_cur ? files : limit.rlim_cur - 1;
    int high = fcntl(low, F_DUPFD_CLOEXEC, (int)files);
    (void)close(low);
    if (high >= 0 && uv_poll_init(&loop->uv, &loop->room, high) == 0) {
        (void)uv_poll_start(&loop->room, UV_READABLE, on_room);
        uv_close((uv_handle_t *)&loop->room, NULL);
    }
    if (high >= 0) {
        (void)close(high);
    }
}

void loop_close_handles(struct loop *loop)
{
    loop->is_closing = true;
    uv_close((uv_handle_t *)&loop->idle, NULL);
    uv_close((uv_handle_t *)&loop->arrival, NULL);
}

int64_t loop_now_ms(const struct loop *loop)
{
    return (int64_t)uv_now(&loop->uv);
}

static void on_idle(uv_idle_t *handle)
{
    (void)handle; /* an active idle handle keeps the loop from waiting */
}

void loop_wake(struct loop *loop)
{
    loop->activity++;
    if (!loop->is_closing) {
        (void)uv_idle_start(&loop->idle, on_idle); /* fails only without a callback */
    }
}

/* --- lists of sessions ------------------------------------------------------------------------ */

void loop_add_ready(struct loop *loop, struct loop_entry *entry, bool is_busy)
{
    if (entry->is_ready) {
        return;
    }
    entry->is_ready = true;
    entry->is_busy = is_busy;
    if (is_busy) {
        DL_APPEND2(loop->busy, entry, ready_prev, ready_next);
    } else {
        DL_APPEND2(loop->ready, entry, ready_prev, ready_next);
    }
    loop_wake(loop);
}

void loop_add_gone(struct loop *loop, struct loop_entry *entry)
{
    if (!entry->is_gone) {
        entry->is_gone = true;
        DL_APPEND2(loop->gone, entry, gone_prev, gone_next);
    }
    loop_wake(loop);
}

void loop_add_dirty(struct loop *loop, struct loop_entry *entry)
{
    loop->activity++;
    if (!entry->is_dirty) {
        entry->is_dirty = true;
        DL_APPEND2(loop->dirty, entry, dirty_prev, dirty_next);
    }
}

struct loop_entry *loop_take_dirty(struct loop *loop)
{
    struct loop_entry *entry = loop->dirty;

    if (entry != NULL) {
        DL_DELETE2(loop->dirty, entry, dirty_prev, dirty_next);
        entry->is_dirty = false;
    }
    return entry;
}

struct loop_entry *loop_take_gone(struct loop *loop)
{
    struct loop_entry *entry = loop->gone;

    if (entry != NULL) {
        DL_DELETE2(loop->gone, entry, gone_prev, gone_next);
        entry->is_gone = false;
    }
    return entry;
}

void loop_remove_ready(struct loop *loop, struct loop_entry *entry)
{
    if (entry->is_busy) {
        DL_DELETE2(loop->busy, entry, ready_prev, ready_next);
    } else {
        DL_DELETE2(loop->ready, entry, ready_prev, ready_next);
    }
    entry->is_ready = false;
}

void loop_remove(struct loop *loop, struct loop_entry *entry)
{
    if (entry->is_ready) {
        loop_remove_ready(loop, entry);
    }
    if (entry->is_dirty) {
        DL_DELETE2(loop->dirty, entry, dirty_prev, dirty_next);
        entry->is_dirty = false;
    }
}

/* --- CPU time --------------------------------------------------------------------------------- */

void loop_spend(struct loop *loop, uint64_t spent_ns)
{
    loop->spent_ns += spent_ns;
}

void loop_spend_on_arrivals(struct loop *loop, uint64_t now_ns, uint64_t spent_ns)
{
    if (spent_ns > 0) {
        account_leak(&loop->arrivals, now_ns, ARRIVALS_SHARE);
        account_spend(&loop->arrivals, now_ns, spent_ns, ARRIVALS_NS_MAX);
    }
}

static void on_arrival_time(uv_timer_t *timer)
{
    loop_wake(timer->data);
}

bool loop_takes_arrivals(struct loop *loop, uint64_t now_ns)
{
    account_leak(&loop->arrivals, now_ns, ARRIVALS_SHARE);
    if (loop->arrivals.spent_ns < ARRIVALS_NS) {
        return true;
    }
    uint64_t over_ns = loop->arrivals.spent_ns - ARRIVALS_NS + 1;
    uint64_t wait_ms = (over_ns * ARRIVALS_SHARE + 999999) / 1000000;
    if (!loop->is_closing && !loop_awaits_arrivals(loop)) {
        (void)uv_timer_start(&loop->arrival, on_arrival_time, wait_ms, 0); /* has a callback */
    }
    return false;
}

bool loop_awaits_arrivals(const struct loop *loop)
{
    return uv_is_active((const uv_handle_t *)&loop->arrival) != 0;
}

void loop_end_turn(struct loop *loop, bool is_due)
{
    loop->spent_ns = 0;
    if (is_due || loop->ready != NULL || loop->busy != NULL || loop->gone != NULL) {
        loop_wake(loop);
    } else if (!loop->is_closing) {
        (void)uv_idle_stop(&loop->idle);
    }
}
