/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schedule: which deposits a host accepts at which time of the day. Pure: the time is an argument.
 */
#ifndef DAEMON_CONFIG_SCHEDULE_H
#define DAEMON_CONFIG_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

/* Stored as numbers in the database, too. */
enum accept { ACCEPT_OPEN = 0, ACCEPT_REVIEW = 1, ACCEPT_CLOSED = 2, ACCEPT_MODES };

enum { SCHEDULE_MAX = 8, SCHEDULE_BYTES = 32, DAY_MINUTES = 24 * 60 };

/* From minute `from` to before minute `to`; across midnight if `to` < `from`. */
struct schedule_entry {
    uint16_t from; /* minutes after midnight, local time */
    uint16_t to;
    enum accept mode;
};

/* "open" and so on. Static storage. */
const char *accept_name(enum accept mode);

/* The mode of that name: 0, or SCHEDULE_REFUSED. */
enum { SCHEDULE_REFUSED = 1 };
int accept_parse(const char *name, size_t length, enum accept *out_mode);

/* Reads text such as "22:00-06:00 closed". 0, or SCHEDULE_REFUSED for another form. */
int schedule_parse(const char *text, struct schedule_entry *out_entry);

/* Writes it as it is read (SCHEDULE_BYTES). */
void schedule_print(const struct schedule_entry *entry, char *out);

/*
 * The first of `count` entries that covers a minute of the day (below DAY_MINUTES); NULL: none.
 * *out_left: the minutes until this entry ends.
 */
const struct schedule_entry *schedule_find(const struct schedule_entry *entries, size_t count,
                                           uint32_t minute, uint32_t *out_left);

#endif
