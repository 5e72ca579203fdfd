/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schedule: entries that say which deposits a host accepts at a time of the day. The functions
 * parse and print entries, and find the entry for a time. They read no clock.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The numbers are stored in the database, too. */
enum accept { ACCEPT_OPEN = 0, ACCEPT_REVIEW = 1, ACCEPT_CLOSED = 2, ACCEPT_MODES };

enum { SCHEDULE_MAX = 8, SCHEDULE_BYTES = 32, DAY_MINUTES = 24 * 60 };

/*
 * An entry holds from minute `from` until just before minute `to`. If `to` < `from`, `to` is on the
 * next day.
 */
struct schedule_entry {
    uint16_t from; /* minutes after midnight, local time */
    uint16_t to;
    enum accept mode;
};

/* "open" and so on. Static storage. */
const char *accept_name(enum accept mode);

/* Finds the mode of a name. Returns 0, or SCHEDULE_REFUSED. */
enum { SCHEDULE_REFUSED = 1 };
int accept_parse(const char *name, size_t length, enum accept *out_mode);

/*
 * Parses text such as "22:00-06:00 closed". Returns 0, or SCHEDULE_REFUSED if the text has another
 * form or both times are equal.
 */
int schedule_parse(const char *text, struct schedule_entry *out_entry);

/* Writes an entry in the form that schedule_parse reads (SCHEDULE_BYTES). */
void schedule_print(const struct schedule_entry *entry, char *out);

/*
 * Returns the first of `count` entries that includes the minute `minute` of the day (0 ..
 * DAY_MINUTES - 1); NULL: there is none. *out_left: minutes until the end of the entry.
 */
const struct schedule_entry *schedule_find(const struct schedule_entry *entries, size_t count,
                                           uint32_t minute, uint32_t *out_left);

/*
 * Returns in how many minutes the next entry with another mode than `mode` begins, 1 or more; 0:
 * there is none. No entry includes `minute`.
 */
uint32_t schedule_next(const struct schedule_entry *entries, size_t count, uint32_t minute,
                       enum accept mode);
