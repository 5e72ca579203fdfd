/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/report.h"

enum { TEXT_COLUMNS = 58, VALUE_COLUMNS = 12 };

void report_begin(struct report *report, const char *name, const char *title)
{
    report->figures = 0;
    if (report->json) {
        fprintf(report->out, "{\"benchmark\": \"%s\", \"figures\": {", name);
    } else {
        fprintf(report->out, "%s: %s\n", name, title);
    }
}

void report_figure(struct report *report, const char *key, double value, int digits,
                   const char *unit, const char *text)
{
    if (report->json) {
        fprintf(report->out, "%s\"%s\": %.*f", report->figures > 0 ? ", " : "", key, digits, value);
    } else {
        fprintf(report->out, "  %-*s %*.*f %s\n", TEXT_COLUMNS, text, VALUE_COLUMNS, digits, value,
                unit);
    }
    report->figures++;
}

void report_goal(struct report *report, const char *key, double ratio, double goal,
                 const char *text)
{
    char unit[64];

    snprintf(unit, sizeof(unit), "(goal: %.2f, %s)", goal, ratio >= goal ? "met" : "MISSED");
    report_figure(report, key, ratio, 3, unit, text);
}

void report_ceiling(struct report *report, const char *key, double ratio, double goal,
                    const char *text)
{
    char unit[64];

    snprintf(unit, sizeof(unit), "(goal: at most %.2f, %s)", goal,
             ratio <= goal ? "met" : "MISSED");
    report_figure(report, key, ratio, 3, unit, text);
}

void report_note(struct report *report, const char *text)
{
    if (!report->json) {
        fprintf(report->out, "  %s\n", text);
    }
}

void report_end(struct report *report)
{
    fprintf(report->out, report->json ? "}}\n" : "\n");
    (void)fflush(report->out); /* a broken pipe is found when the program ends */
}
