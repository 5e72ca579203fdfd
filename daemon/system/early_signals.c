/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/system/early_signals.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

enum { NOTED_TERM = 1, NOTED_INT = 2, NOTED_HUP = 4 };

/* Lock-free, so that a signal handler may use it. */
static atomic_int noted;

_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a handler may change it");

static int bit_of(int number)
{
    return number == SIGTERM ? NOTED_TERM : number == SIGINT ? NOTED_INT : NOTED_HUP;
}

static void note_signal(int number)
{
    (void)atomic_fetch_or(&noted, bit_of(number));
}

void early_signals_catch(void)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct sigaction action = {.sa_handler = note_signal,
                                   .sa_flags = numbers[i] == SIGHUP ? SA_RESTART : 0};

        (void)sigemptyset(&action.sa_mask);
        (void)sigaction(numbers[i], &action, NULL); /* fails for no signal of these */
    }
}

bool early_signals_stop(void)
{
    return (atomic_load_explicit(&noted, memory_order_relaxed) & (NOTED_TERM | NOTED_INT)) != 0;
}

bool early_signals_take(int number)
{
    return (atomic_fetch_and(&noted, ~bit_of(number)) & bit_of(number)) != 0;
}
