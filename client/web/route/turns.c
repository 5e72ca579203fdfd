/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/route/turns.h"

#include "daemon/system/list.h"

enum { TICK_MS = 10 };

static const struct bucket_rate turn_rate = {.per_minute = TURNS_PER_SECOND * 60,
                                             .burst = TURNS_BURST};

/* Whether it is somebody's turn now. */
static bool turns_take(struct turns *turns, const uv_loop_t *loop)
{
    return bucket_take(&turns->bucket, &turn_rate, 1, (int64_t)uv_now(loop)) == 0;
}

static void on_tick(uv_timer_t *timer)
{
    struct turns *turns = timer->data;

    while (turns->first != NULL && turns_take(turns, timer->loop)) {
        struct turn *turn = turns->first;
        void (*go)(void *context) = turn->go;

        turns_leave(turns, turn);
        go(turn->context);
    }
    if (turns->first == NULL) {
        (void)uv_timer_stop(timer); /* cannot fail */
    }
}

void turns_wait(struct turns *turns, uv_loop_t *loop, struct turn *turn, void (*go)(void *context),
                void *context)
{
    if (!turns->is_stopped && turns->first == NULL && turns_take(turns, loop)) {
        go(context);
        return;
    }
    *turn = (struct turn){.go = go, .context = context};
    DL_APPEND(turns->first, turn);
    if (turns->is_stopped) {
        return;
    }
    if (!turns->has_timer) {
        (void)uv_timer_init(loop, &turns->timer); /* cannot fail */
        turns->timer.data = turns;
        turns->has_timer = true;
    }
    (void)uv_timer_start(&turns->timer, on_tick, TICK_MS, TICK_MS);
}

void turns_leave(struct turns *turns, struct turn *turn)
{
    if (turn->go != NULL) {
        DL_DELETE(turns->first, turn);
        turn->go = NULL;
    }
}

void turns_stop(struct turns *turns)
{
    turns->is_stopped = true;
    if (turns->has_timer) {
        uv_close((uv_handle_t *)&turns->timer, NULL);
    }
}
