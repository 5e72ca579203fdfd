/* SPDX-License-Identifier: Apache-2.0 */
/* Moments as hours, in UTC. */
#include <inttypes.h>
#include <stdio.h>

#include "client/context/build.h"
#include "client/fail.h"

enum { HOUR_MS = 3600 * 1000, DAY_HOURS = 24 };

/* 0000-01-01T00:00Z and 10000-01-01T00:00Z, days since 1970. */
#define FIRST_DAY INT64_C(-719528)
#define END_DAY   INT64_C(2932897)

/* Rounds down, also below 0. */
static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b < 0 ? 1 : 0);
}

/*
 * Converts days since 1970 to a date of the proleptic Gregorian calendar. A computed year begins on
 * 1 March, so the leap day is the last day of a year. An era is 400 years, which are 146,097 days.
 */
static void date_of(int64_t day, int *out_year, int *out_month, int *out_day)
{
    int64_t shifted = day + 719468; /* since 0000-03-01 */
    int64_t era = floor_divide(shifted, 146097);
    int64_t in_era = shifted - era * 146097;
    int64_t year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    int64_t in_year = in_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * in_year + 2) / 153; /* 0: March; five months have 153 days */
    *out_day = (int)(in_year - (153 * month + 2) / 5 + 1);
    *out_month = (int)(month < 10 ? month + 3 : month - 9);
    *out_year = (int)(year + era * 400 + (*out_month <= 2 ? 1 : 0));
}

int hearsay_context_add_time(struct hearsay_context *context, int64_t unix_ms,
                             struct hearsay_error *out_error)
{
    int64_t hours = floor_divide(unix_ms, HOUR_MS);
    int64_t day = floor_divide(hours, DAY_HOURS);
    if (day < FIRST_DAY || day >= END_DAY) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT,
                        "%" PRId64 " ms since 1970 is not in the years 0000 to 9999", unix_ms);
    }
    int hour = (int)(hours - day * DAY_HOURS);
    int year = 0;
    int month = 0;
    int month_day = 0;
    date_of(day, &year, &month, &month_day);
    /* 1970-01-01 was a Thursday, and Thursday is day 4 of a week in ISO 8601. */
    int week_day = (int)(day + 3 - 7 * floor_divide(day + 3, 7)) + 1;
    char label[64];
    int length =
        snprintf(label, sizeof(label), "time:%04d-%02d-%02dT%02d", year, month, month_day, hour);
    int status = context_add(context, label, (size_t)length, out_error);
    if (status == HEARSAY_OK) {
        length = snprintf(label, sizeof(label), "time:w%dT%02d", week_day, hour);
        status = context_add(context, label, (size_t)length, out_error);
    }
    return status;
}
