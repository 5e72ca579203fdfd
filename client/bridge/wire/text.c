/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/wire/wire.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

enum { ROOM = 49, TEXT_BYTES = 512 };

/* How much of the text fits a line: up to a blank, if there is one. */
static size_t line_bytes(const char *text)
{
    size_t length = strlen(text);
    size_t end = ROOM;

    if (length <= ROOM) {
        return length;
    }
    while (end > 0 && text[end] != ' ') {
        end--;
    }
    return end > 0 ? end : ROOM;
}

void text_print(FILE *out, const char *word, const char *format, ...)
{
    char whole[TEXT_BYTES];
    const char *text = whole;
    va_list list;

    va_start(list, format);
    (void)vsnprintf(whole, sizeof(whole), format, list);
    va_end(list);
    do {
        size_t bytes = line_bytes(text);

        (void)fprintf(out, "%-10s %.*s\n", word, (int)bytes, text);
        text += bytes;
        text += strspn(text, " ");
        word = "";
    } while (*text != '\0');
}

void text_time(int64_t time_s, char *out)
{
    time_t seconds = (time_t)time_s;
    struct tm parts;

    if (gmtime_r(&seconds, &parts) == NULL ||
        strftime(out, TEXT_TIME_BYTES, "%Y-%m-%d %H:%M:%S UTC", &parts) == 0) {
        (void)snprintf(out, TEXT_TIME_BYTES, "a time that is not known");
    }
}

void text_metric(FILE *out, const char *name, const char *type, uint64_t value)
{
    (void)fprintf(out, "# TYPE hearsay_bridge_%s %s\nhearsay_bridge_%s %" PRIu64 "\n", name, type,
                  name, value);
}
