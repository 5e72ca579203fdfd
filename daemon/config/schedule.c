/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config/schedule.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/base/character.h"

static const char *const names[ACCEPT_MODES] = {
    [ACCEPT_OPEN] = "open", [ACCEPT_REVIEW] = "review", [ACCEPT_CLOSED] = "closed"};

const char *accept_name(enum accept mode)
{
    return names[mode];
}

int accept_parse(const char *name, size_t length, enum accept *out_mode)
{
    for (int mode = 0; mode < ACCEPT_MODES; mode++) {
        if (strlen(names[mode]) == length && memcmp(names[mode], name, length) == 0) {
            *out_mode = (enum accept)mode;
            return 0;
        }
    }
    return SCHEDULE_REFUSED;
}

/* Five characters, 00:00 to 23:59. */
static int parse_minute(const char *text, uint16_t *out_minute)
{
    for (int i = 0; i < 5; i++) { /* stops at the end of a shorter text */
        if (i == 2 ? text[i] != ':' : !character_is_digit(text[i])) {
            return SCHEDULE_REFUSED;
        }
    }
    int hour = (text[0] - '0') * 10 + (text[1] - '0');
    int minute = (text[3] - '0') * 10 + (text[4] - '0');
    if (hour > 23 || minute > 59) {
        return SCHEDULE_REFUSED;
    }
    *out_minute = (uint16_t)(hour * 60 + minute);
    return 0;
}

int schedule_parse(const char *text, struct schedule_entry *out_entry)
{
    struct schedule_entry entry;

    if (parse_minute(text, &entry.from) != 0 || text[5] != '-' ||
        parse_minute(text + 6, &entry.to) != 0 || text[11] != ' ' || entry.from == entry.to) {
        return SCHEDULE_REFUSED;
    }
    text += 11;
    text += strspn(text, " \t");
    if (accept_parse(text, strlen(text), &entry.mode) != 0) {
        return SCHEDULE_REFUSED;
    }
    *out_entry = entry;
    return 0;
}

void schedule_print(const struct schedule_entry *entry, char *out)
{
    (void)snprintf(out, SCHEDULE_BYTES, "%02d:%02d-%02d:%02d %s", entry->from / 60,
                   entry->from % 60, entry->to / 60, entry->to % 60, accept_name(entry->mode));
}

const struct schedule_entry *schedule_find(const struct schedule_entry *entries, size_t count,
                                           uint32_t minute, uint32_t *out_left)
{
    for (size_t i = 0; i < count; i++) {
        const struct schedule_entry *entry = &entries[i];
        uint32_t length = (uint32_t)(entry->to + DAY_MINUTES - entry->from) % DAY_MINUTES;
        uint32_t since = (minute + DAY_MINUTES - entry->from) % DAY_MINUTES;

        if (since < length) {
            *out_left = length - since;
            return entry;
        }
    }
    return NULL;
}

uint32_t schedule_next(const struct schedule_entry *entries, size_t count, uint32_t minute,
                       enum accept mode)
{
    uint32_t soonest = 0;

    for (size_t i = 0; i < count; i++) {
        uint32_t left = ((uint32_t)entries[i].from + DAY_MINUTES - minute) % DAY_MINUTES;

        if (entries[i].mode != mode && (soonest == 0 || left < soonest)) {
            soonest = left;
        }
    }
    return soonest;
}
