/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/term/out.h"

#include <inttypes.h>
#include <string.h>

enum { DAY_MS = 86400000, ERA_DAYS = 146097, UNIX_FROM_MARCH_0000 = 719468 };

/*
 * A date of the proleptic Gregorian calendar. The functions below compute with years that begin on
 * 1 March, so that the leap day is the last day of a year. 400 years have 146,097 days.
 */
struct date {
    int64_t year;
    int month; /* 1 .. 12 */
    int day;   /* 1 .. 31 */
};

static int64_t divide_down(int64_t value, int64_t by)
{
    return value / by - (value % by < 0 ? 1 : 0);
}

/*
 * The number of days before the month `index` of a year that begins with March (index 0): 0, 31,
 * 61, 92, ...
 */
static int days_before_month(int index)
{
    return (153 * index + 2) / 5;
}

static int days_before_year(int year)
{
    return year * 365 + year / 4 - year / 100;
}

static struct date date_of(int64_t unix_days)
{
    int64_t days = unix_days + UNIX_FROM_MARCH_0000;
    int64_t era = divide_down(days, ERA_DAYS);
    int rest = (int)(days - era * ERA_DAYS);
    int year = rest / 366;
    while (year < 399 && days_before_year(year + 1) <= rest) {
        year++;
    }
    rest -= days_before_year(year);
    int month = 0;
    while (month < 11 && days_before_month(month + 1) <= rest) {
        month++;
    }
    struct date date;
    date.day = rest - days_before_month(month) + 1;
    date.month = month < 10 ? month + 3 : month - 9;
    date.year = era * 400 + year + (month < 10 ? 0 : 1);
    return date;
}

static int64_t days_of(struct date date)
{
    int64_t year = date.month > 2 ? date.year : date.year - 1;
    int month = date.month > 2 ? date.month - 3 : date.month + 9;
    int64_t era = divide_down(year, 400);
    int within = (int)(year - era * 400);
    return era * ERA_DAYS + days_before_year(within) + days_before_month(month) + date.day - 1 -
           UNIX_FROM_MARCH_0000;
}

void when_print(int64_t ms, char out[WHEN_BYTES])
{
    int64_t days = divide_down(ms, DAY_MS);
    int64_t rest = ms % DAY_MS;
    unsigned within = (unsigned)(rest < 0 ? rest + DAY_MS : rest);
    struct date date = date_of(days);
    (void)snprintf(out, WHEN_BYTES, "%04" PRId64 "-%02d-%02dT%02u:%02u:%02u.%03uZ", date.year,
                   date.month, date.day, within / 3600000, within / 60000 % 60, within / 1000 % 60,
                   within % 1000);
}

/* Reads exactly `count` digits and moves *at behind them. */
static bool take_digits(const char **at, int count, int *out_value)
{
    int value = 0;
    for (int i = 0; i < count; i++) {
        char digit = (*at)[i];
        if (digit < '0' || digit > '9') {
            return false;
        }
        value = value * 10 + (digit - '0');
    }
    *at += count;
    *out_value = value;
    return true;
}

static bool take_character(const char **at, char wanted)
{
    if (**at != wanted) {
        return false;
    }
    (*at)++;
    return true;
}

static bool take_date(const char **at, struct date *out)
{
    int year = 0;
    if (!take_digits(at, 4, &year) || !take_character(at, '-') ||
        !take_digits(at, 2, &out->month) || !take_character(at, '-') ||
        !take_digits(at, 2, &out->day)) {
        return false;
    }
    out->year = year;
    static const int lengths[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (out->month < 1 || out->month > 12 || out->day < 1 || out->day > lengths[out->month - 1]) {
        return false;
    }
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return leap || out->month != 2 || out->day <= 28;
}

/* .f, .ff or .fff, or nothing. */
static bool take_fraction(const char **at, int *out_ms)
{
    *out_ms = 0;
    if (!take_character(at, '.')) {
        return true;
    }
    size_t digits = strspn(*at, "0123456789");
    if (digits < 1 || digits > 3 || !take_digits(at, (int)digits, out_ms)) {
        return false;
    }
    for (; digits < 3; digits++) {
        *out_ms *= 10;
    }
    return true;
}

int when_parse(const char *text, int64_t *out_ms)
{
    struct date date;
    int hour = 0;
    int minute = 0;
    int second = 0;
    int ms = 0;
    if (!take_date(&text, &date) || !take_character(&text, 'T') || !take_digits(&text, 2, &hour) ||
        !take_character(&text, ':') || !take_digits(&text, 2, &minute)) {
        return WHEN_REFUSED;
    }
    if (take_character(&text, ':') &&
        (!take_digits(&text, 2, &second) || !take_fraction(&text, &ms))) {
        return WHEN_REFUSED;
    }
    if (strcmp(text, "Z") != 0 || hour > 23 || minute > 59 || second > 59) {
        return WHEN_REFUSED;
    }
    *out_ms = days_of(date) * DAY_MS + (int64_t)((hour * 60 + minute) * 60 + second) * 1000 + ms;
    return 0;
}

int64_t when_difference(int64_t later_ms, int64_t earlier_ms)
{
    if (earlier_ms < 0 && later_ms > INT64_MAX + earlier_ms) {
        return INT64_MAX;
    }
    if (earlier_ms > 0 && later_ms < INT64_MIN + earlier_ms) {
        return INT64_MIN;
    }
    return later_ms - earlier_ms;
}

void when_print_span(int64_t ms, char out[WHEN_BYTES])
{
    int64_t seconds = ms / 1000;
    if (seconds < 1) {
        (void)snprintf(out, WHEN_BYTES, "now");
    } else if (seconds < 60) {
        (void)snprintf(out, WHEN_BYTES, "%" PRId64 "s", seconds);
    } else if (seconds < 3600) {
        (void)snprintf(out, WHEN_BYTES, "%" PRId64 "m", seconds / 60);
    } else if (seconds < 86400) {
        (void)snprintf(out, WHEN_BYTES, "%" PRId64 "h", seconds / 3600);
    } else {
        (void)snprintf(out, WHEN_BYTES, "%" PRId64 "d", seconds / 86400);
    }
}
