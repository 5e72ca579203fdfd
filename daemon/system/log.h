/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log: writes one line for each event to standard error: `level: text`. Callers put no addresses,
 * labels or payloads of clients into a line; daemon/device/devices.h says the only exception. If
 * standard error is the journal (JOURNAL_STREAM), a line begins with the priority <n> of
 * sd-daemon(3), otherwise with the time in UTC.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Set and return the log level. Lines that are less important than the level are not written. The
 * level is LOG_LEVEL_INFO at the start. May be called on any thread. */
void log_set_level(enum log_level level);
enum log_level log_get_level(void);
/* "error", "warning" and so on. Static storage. */
const char *log_level_name(enum log_level level);

/*
 * Writes one line, formatted as by printf, unless `level` is less important than the log level.
 * Control characters and bytes that are not UTF-8 are escaped, so that bytes of a peer cannot forge
 * a line. A text that has more than 1000 bytes after escaping is cut, and ends in "...".
 */
void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * A rate limit for the log lines of an event that a peer can repeat: at most one line in ten
 * seconds. A gate is all zeros at first. log_gate_opens is called for each event, and returns
 * whether to write a line now. If true, *out_withheld is the number of calls that have returned
 * false since the last call that returned true. `now_ms` is the time of a monotonic clock, the same
 * clock in each call.
 */
struct log_gate {
    bool opened;
    int64_t opened_ms;
    uint64_t withheld;
};
bool log_gate_opens(struct log_gate *gate, int64_t now_ms, uint64_t *out_withheld);

#define log_error(...)   log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_write(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...)    log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)   log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)
