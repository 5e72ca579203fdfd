/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log: one event a line on standard error, `level: text`, without addresses of peers, labels or
 * payloads. Where the journal listens (JOURNAL_STREAM), a line begins with <n> as sd-daemon(3) has
 * it, otherwise with the time. The level is the one global that style allows.
 */
#ifndef DAEMON_SYSTEM_LOG_H
#define DAEMON_SYSTEM_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* The least important lines that are written; LOG_LEVEL_INFO at first. Any thread. */
void log_set_level(enum log_level level);
enum log_level log_get_level(void);
/* "error", "warning" and so on. Static storage. */
const char *log_level_name(enum log_level level);

/*
 * Writes one line; printf-style. Control characters in the result are escaped, so that what came
 * from a peer cannot forge lines; longer than 1000 bytes is cut.
 */
void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * For what a peer can make happen again and again: whether it may be written now, at most once in
 * ten seconds, and how many times it was not since the last time. Times are of any monotonic clock.
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

#endif
