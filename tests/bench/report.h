/* SPDX-License-Identifier: Apache-2.0 */
/* report: writes figures as a table for people, or as one JSON object a line for programs. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct report {
    FILE *out; /* borrowed */
    bool json;
    unsigned figures; /* of the benchmark under way */
};

/* Begins the figures of one benchmark; `title` is for people. */
void report_begin(struct report *report, const char *name, const char *title);

/*
 * Writes one figure. `key` is for programs and contains the unit; `unit` and `text` are for people.
 * `digits` is the number of digits after the point.
 */
void report_figure(struct report *report, const char *key, double value, int digits,
                   const char *unit, const char *text);

/* A ratio with the goal it is measured against. */
void report_goal(struct report *report, const char *key, double ratio, double goal,
                 const char *text);

/* The same where the ratio should be at most the goal. */
void report_ceiling(struct report *report, const char *key, double ratio, double goal,
                    const char *text);

/* A remark, for people only. */
void report_note(struct report *report, const char *text);

void report_end(struct report *report);
