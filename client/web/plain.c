/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/plain.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/terminal.h"

void plain_string(struct html *html, const char *text)
{
    size_t count = strlen(text);
    struct terminal_glyph glyph;

    for (size_t at = 0; at < count; at += glyph.bytes) {
        terminal_next_glyph(text + at, count - at, &glyph);
        html_raw(html, glyph.shown);
    }
}

/* --- messages --------------------------------------------------------------------------------- */

/* A message that is being folded. */
struct fold {
    struct html *html;
    size_t column; /* 0: the line is empty, also of its indent */
    size_t lines;  /* that have begun */
    size_t characters;
    size_t characters_max;
    size_t lines_max;
};

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

static bool is_line_end(char byte)
{
    return byte == '\n' || byte == '\r';
}

/* The columns of the word at the beginning of a text, and its bytes. */
static size_t word_columns(const char *text, size_t count, size_t *out_bytes)
{
    size_t columns = 0;
    size_t at = 0;

    while (at < count && !is_blank(text[at]) && !is_line_end(text[at])) {
        struct terminal_glyph glyph;

        terminal_next_glyph(text + at, count - at, &glyph);
        columns += glyph.columns;
        at += glyph.bytes;
    }
    *out_bytes = at;
    return columns;
}

static void fold_end_line(struct fold *fold)
{
    if (fold->column > 0) {
        html_raw(fold->html, "\n");
    }
    fold->column = 0;
}

/* Begins a line if none has begun. False: there are enough. */
static bool fold_begin_line(struct fold *fold)
{
    if (fold->column > 0) {
        return true;
    }
    if (fold->lines == fold->lines_max) {
        return false;
    }
    html_raw(fold->html, "  ");
    fold->column = PLAIN_INDENT;
    fold->lines++;
    return true;
}

/* Writes a word; one that is wider than a line goes on in the next one. False: as of plain_message.
 */
static bool fold_word(struct fold *fold, const char *word, size_t bytes)
{
    struct terminal_glyph glyph;

    for (size_t at = 0; at < bytes; at += glyph.bytes) {
        terminal_next_glyph(word + at, bytes - at, &glyph);
        if (fold->column + glyph.columns > PLAIN_COLUMNS) {
            fold_end_line(fold);
        }
        if (fold->characters == fold->characters_max || !fold_begin_line(fold)) {
            return false;
        }
        html_raw(fold->html, glyph.shown);
        fold->column += glyph.columns;
        fold->characters++;
    }
    return true;
}

bool plain_message(struct html *html, const char *text, size_t count, size_t characters_max,
                   size_t lines_max)
{
    struct fold fold = {.html = html, .characters_max = characters_max, .lines_max = lines_max};
    bool is_whole = true;
    size_t ends = 0; /* of lines, since the last word */

    for (size_t at = 0; at < count && is_whole && !html_failed(html);) {
        size_t bytes = 1;

        if (is_line_end(text[at])) {
            bytes += text[at] == '\r' && at + 1 < count && text[at + 1] == '\n';
            ends++;
        } else if (!is_blank(text[at])) {
            size_t columns = word_columns(text + at, count - at, &bytes);
            bool goes_on = ends == 0 && fold.column > 0;

            if (!goes_on || fold.column + 1 + columns > PLAIN_COLUMNS) {
                fold_end_line(&fold);
                html_raw(html, ends > 1 && fold.lines > 0 ? "\n" : "");
            } else {
                html_raw(html, " ");
                fold.column++;
            }
            is_whole = fold_word(&fold, text + at, bytes);
            ends = 0;
        }
        at += bytes;
    }
    fold_end_line(&fold);
    return is_whole;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void json_put_character(struct html *html, const char *bytes, size_t size, uint32_t code)
{
    char shown[16];

    if (size == 0) {
        (void)snprintf(shown, sizeof(shown), "\\ufffd");
    } else if (code == '\n' || code == '\t') {
        (void)snprintf(shown, sizeof(shown), code == '\n' ? "\\n" : "\\t");
    } else if (code == '"' || code == '\\') {
        (void)snprintf(shown, sizeof(shown), "\\%c", (char)code);
    } else if (!terminal_is_unsafe(code)) {
        (void)snprintf(shown, sizeof(shown), "%.*s", (int)size, bytes);
    } else if (code < 0x10000) {
        (void)snprintf(shown, sizeof(shown), "\\u%04x", (unsigned)code);
    } else {
        unsigned rest = (unsigned)code - 0x10000;

        (void)snprintf(shown, sizeof(shown), "\\u%04x\\u%04x", 0xd800 + (rest >> 10),
                       0xdc00 + (rest & 0x3ff));
    }
    html_raw(html, shown);
}

void plain_json(struct html *html, const char *text, size_t count)
{
    html_raw(html, "\"");
    for (size_t at = 0; at < count && !html_failed(html);) {
        uint32_t code = 0;
        size_t size = terminal_decode(text + at, count - at, &code);

        json_put_character(html, text + at, size, code);
        at += size > 0 ? size : 1;
    }
    html_raw(html, "\"");
}

void plain_time(struct html *html, int64_t ms)
{
    /* The latest time that is shown: the end of the year 9999, or of a 32-bit time_t. */
    int64_t most_ms =
        sizeof(time_t) > 4 ? INT64_C(253402300799999) : INT32_MAX * INT64_C(1000) + 999;
    int64_t shown_ms = ms < 0 ? 0 : ms > most_ms ? most_ms : ms;
    time_t seconds = (time_t)(shown_ms / 1000);
    struct tm parts = {.tm_mday = 1};
    char text[80];

    (void)gmtime_r(&seconds, &parts);
    (void)snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900,
                   parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                   (int)(shown_ms % 1000));
    html_raw(html, text);
}
