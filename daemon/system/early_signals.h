/* SPDX-License-Identifier: Apache-2.0 */
/*
 * early_signals: SIGTERM, SIGINT and SIGHUP while a program starts, before its loop handles them.
 * Without this, such a signal would end the program at once, though it has already logged where it
 * listens. The signals are noted here: a stop ends the start early, and what was noted takes effect
 * when the loop runs.
 */
#pragma once

#include <stdbool.h>

/*
 * Notes the signals from now on, until other handlers take their place. SIGTERM and SIGINT also
 * interrupt a system call that waits, so that a start that waits for a file ends.
 */
void early_signals_catch(void);

/* Whether SIGTERM or SIGINT was noted and not taken. Any thread may ask. */
bool early_signals_stop(void);

/* Whether the signal was noted since the last call for it. Only for the signals above. */
bool early_signals_take(int number);
