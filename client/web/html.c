/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/html.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/character.h"

enum {
    HTML_BYTES_MIN = 4096, /* of the first allocation */
    HTML_MARKS_MAX = 4,    /* combining marks in a row */
    HTML_INVALID = 0xfffd  /* stands for bytes that are not UTF-8 */
};

/* A text of others that is written character by character. */
struct html_run {
    const unsigned char *at;
    const unsigned char *end;
    unsigned marks; /* written since the last character that is not a mark */
};

void html_init(struct html *html)
{
    *html = (struct html){.bytes = NULL};
}

void html_deinit(struct html *html)
{
    free(html->bytes);
    html_init(html);
}

bool html_failed(const struct html *html)
{
    return html->has_failed;
}

static bool html_make_room(struct html *html, size_t count)
{
    size_t room = html->room == 0 ? HTML_BYTES_MIN : html->room;
    char *bytes;

    if (html->has_failed || count > HTML_BYTES_MAX - html->count) {
        html->has_failed = true;
        return false;
    }
    if (html->count + count <= html->room) {
        return true;
    }
    while (room < html->count + count) {
        room *= 2;
    }
    bytes = realloc(html->bytes, room);
    if (bytes == NULL) {
        html->has_failed = true;
        return false;
    }
    html->bytes = bytes;
    html->room = room;
    return true;
}

static void html_put(struct html *html, const char *bytes, size_t count)
{
    if (count > 0 && html_make_room(html, count)) {
        memcpy(html->bytes + html->count, bytes, count);
        html->count += count;
    }
}

void html_raw(struct html *html, const char *literal)
{
    html_put(html, literal, strlen(literal));
}

void html_cut(struct html *html, size_t count)
{
    html->count = count < html->count ? count : html->count;
}

void html_number(struct html *html, uint64_t number)
{
    char digits[20];
    size_t at = sizeof(digits);

    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    html_put(html, digits + at, sizeof(digits) - at);
}

/* --- characters ------------------------------------------------------------------------------- */

/* How many bytes a character has by its first byte; 0: no character begins so. */
static size_t character_length(unsigned char first)
{
    if (first < 0x80) {
        return 1;
    }
    if (first >= 0xc2 && first <= 0xdf) {
        return 2;
    }
    if (first >= 0xe0 && first <= 0xef) {
        return 3;
    }
    return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

/* Takes one character from a run that is not at its end. What is not UTF-8 is HTML_INVALID, one
 * byte of it at a time. */
static uint32_t run_take(struct html_run *run)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = *run->at++;
    size_t length = character_length(first);
    uint32_t character;

    if (length == 1) {
        return first;
    }
    if (length == 0 || (size_t)(run->end - run->at) < length - 1) {
        return HTML_INVALID;
    }
    character = first & (0x7fU >> length);
    for (size_t i = 0; i < length - 1; i++) {
        if ((run->at[i] & 0xc0) != 0x80) {
            return HTML_INVALID;
        }
        character = character << 6 | (run->at[i] & 0x3fU);
    }
    if (character < smallest[length] || character > 0x10ffff ||
        (character >= 0xd800 && character <= 0xdfff)) {
        return HTML_INVALID;
    }
    run->at += length - 1;
    return character;
}

static void html_put_character(struct html *html, uint32_t character)
{
    size_t length = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    char bytes[4];

    for (size_t i = length - 1; i > 0; i--, character >>= 6) {
        bytes[i] = (char)(0x80 | (character & 0x3f));
    }
    /* The first byte begins with as many ones as there are bytes. */
    bytes[0] = (char)(length == 1 ? character : (0xf00U >> length & 0xff) | character);
    html_put(html, bytes, length);
}

/* Controls, and formats that reorder the text behind them or were never of use on a page. */
static bool character_is_left_out(uint32_t character)
{
    return character < 0x20 || (character >= 0x7f && character < 0xa0) ||
           (character >= 0x202a && character <= 0x202e) ||
           (character >= 0x2066 && character <= 0x206f) ||
           (character >= 0xfff9 && character <= 0xfffb) || (character & 0xfffe) == 0xfffe ||
           (character >= 0xfdd0 && character <= 0xfdef);
}

/* Characters that are not seen: marks before and behind them may meet on one letter. */
static bool character_is_unseen(uint32_t character)
{
    return character == 0xad || character == 0x61c || character == 0xfeff ||
           (character >= 0x200b && character <= 0x200f) ||
           (character >= 0x2060 && character <= 0x2065) ||
           (character >= 0xe0000 && character <= 0xe0fff);
}

static bool character_ends_line(uint32_t character)
{
    return character == '\n' || character == '\r' || character == 0x2028 || character == 0x2029;
}

static bool run_lets_pass(struct html_run *run, uint32_t character)
{
    if (character_is_left_out(character)) {
        return false;
    }
    if (character_is_combining(character)) {
        return run->marks < HTML_MARKS_MAX && ++run->marks > 0;
    }
    if (!character_is_unseen(character)) {
        run->marks = 0;
    }
    return true;
}

/*
 * Writes the characters up to the next one that is not printable ASCII or is escaped, at most
 * `most`. Most texts consist of such runs. Returns the number of characters.
 */
static size_t html_put_plain(struct html *html, struct html_run *run, size_t most)
{
    const unsigned char *at = run->at;
    const unsigned char *end = (size_t)(run->end - at) < most ? run->end : at + most;

    while (at < end && *at >= 0x20 && *at < 0x7f && *at != '&' && *at != '<' && *at != '>' &&
           *at != '"' && *at != '\'' && *at != '\\') {
        at++;
    }
    size_t count = (size_t)(at - run->at);
    if (count > 0) {
        html_put(html, (const char *)run->at, count);
        run->at = at;
        run->marks = 0;
    }
    return count;
}

static void html_put_escaped(struct html *html, struct html_run *run, uint32_t character)
{
    static const char escaped[] = "&<>\"'";
    static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&#34;", "&#39;"};

    if (!run_lets_pass(run, character)) {
        return;
    }
    const char *found = character < 0x80 ? strchr(escaped, (int)character) : NULL;
    if (found != NULL && *found != '\0') {
        html_raw(html, entities[found - escaped]);
    } else {
        html_put_character(html, character);
    }
}

/* Takes one character; a CR with its LF is one end of a line. */
static uint32_t run_take_with_ends(struct html_run *run)
{
    uint32_t character = run_take(run);

    if (character == '\r' && run->at < run->end && *run->at == '\n') {
        run->at++;
    }
    return character_ends_line(character) ? '\n' : character;
}

static struct html_run run_of(const char *text, size_t count)
{
    const unsigned char *bytes = (const unsigned char *)(count > 0 ? text : "");

    return (struct html_run){.at = bytes, .end = bytes + count};
}

/* --- texts ------------------------------------------------------------------------------------ */

/* Writes a text whose lines are parted by `line_end`. */
static void html_put_text(struct html *html, const char *text, size_t count, uint32_t line_end)
{
    struct html_run run = run_of(text, count);

    while (run.at < run.end && !html->has_failed) {
        if (html_put_plain(html, &run, SIZE_MAX) > 0) {
            continue;
        }
        uint32_t character = run_take_with_ends(&run);

        if (character == '\n') {
            html_put_character(html, line_end);
            run.marks = 0;
        } else {
            html_put_escaped(html, &run, character == '\t' ? ' ' : character);
        }
    }
}

void html_text(struct html *html, const char *text, size_t count)
{
    html_put_text(html, text, count, ' ');
}

void html_textarea(struct html *html, const char *text, size_t count)
{
    html_put_text(html, text, count, '\n');
}

void html_string(struct html *html, const char *text)
{
    html_text(html, text, strlen(text));
}

/* A message that is being written. */
struct html_lines {
    bool is_open;    /* a paragraph is */
    bool has_gap;    /* an empty line came before */
    size_t written;  /* paragraphs */
    const char *end; /* of the open one */
};

static void lines_open(struct html *html, struct html_lines *lines)
{
    html_raw(html, lines->has_gap && lines->written > 0 ? "<p class=\"gap\" dir=\"auto\">"
                                                        : "<p dir=\"auto\">");
    *lines = (struct html_lines){.is_open = true, .written = lines->written + 1, .end = "</p>"};
}

static void lines_close(struct html *html, struct html_lines *lines)
{
    if (lines->is_open) {
        html_raw(html, lines->end);
    }
    lines->is_open = false;
}

static bool message_write(struct html *html, struct html_lines lines, struct html_run run,
                          size_t characters_max, size_t lines_max)
{
    size_t characters = 0;
    bool is_whole = true;

    while (run.at < run.end && !html->has_failed) {
        uint32_t character = run_take_with_ends(&run);

        if (character == '\n') {
            lines.has_gap = !lines.is_open;
            lines_close(html, &lines);
            run.marks = 0;
            continue;
        }
        if ((characters_max > 0 && characters == characters_max) ||
            (lines_max > 0 && !lines.is_open && lines.written == lines_max)) {
            is_whole = false;
            break;
        }
        if (!lines.is_open) {
            lines_open(html, &lines);
        }
        size_t before = html->count;
        html_put_escaped(html, &run, character == '\t' ? ' ' : character);
        characters += html->count > before; /* what is left out hides nothing behind it */
        characters +=
            html_put_plain(html, &run, characters_max > 0 ? characters_max - characters : SIZE_MAX);
    }
    lines_close(html, &lines);
    return is_whole;
}

bool html_message(struct html *html, const char *text, size_t count, size_t characters_max,
                  size_t lines_max)
{
    return message_write(html, (struct html_lines){.is_open = false}, run_of(text, count),
                         characters_max, lines_max);
}

bool html_message_within(struct html *html, const char *first_end, const char *text, size_t count,
                         size_t characters_max, size_t lines_max)
{
    struct html_lines lines = {.is_open = true, .written = 1, .end = first_end};

    while (count > 0 && (*text == ' ' || (*text >= '\t' && *text <= '\r'))) {
        text++;
        count--;
    }
    return message_write(html, lines, run_of(text, count), characters_max, lines_max);
}

void html_attribute(struct html *html, const char *name, const char *value)
{
    html_raw(html, " ");
    html_raw(html, name);
    html_between(html, "=\"", value, "\"");
}

void html_json(struct html *html, const char *text, size_t count)
{
    struct html_run run = run_of(text, count);

    html_raw(html, "\"");
    while (run.at < run.end && !html->has_failed) {
        if (html_put_plain(html, &run, SIZE_MAX) > 0) {
            continue;
        }
        uint32_t character = run_take_with_ends(&run);

        if (character == '\n') {
            html_raw(html, "\\n");
            run.marks = 0;
        } else if (character == '"' || character == '\\') {
            html_raw(html, "\\");
            html_put_character(html, character);
            run.marks = 0;
        } else if (run_lets_pass(&run, character == '\t' ? ' ' : character)) {
            html_put_character(html, character == '\t' ? ' ' : character);
        }
    }
    html_raw(html, "\"");
}

void html_between(struct html *html, const char *before, const char *text, const char *after)
{
    html_raw(html, before);
    html_string(html, text);
    html_raw(html, after);
}

void html_hidden(struct html *html, const char *name, const char *value)
{
    html_raw(html, "<input type=\"hidden\"");
    html_attribute(html, "name", name);
    html_attribute(html, "value", value);
    html_raw(html, ">");
}

static bool byte_is_unreserved(unsigned char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || (byte != '\0' && strchr("-._~", byte) != NULL);
}

size_t html_url_byte(char byte, char out_encoded[3])
{
    static const char digits[] = "0123456789ABCDEF";

    if (byte_is_unreserved((unsigned char)byte)) {
        out_encoded[0] = byte;
        return 1;
    }
    out_encoded[0] = '%';
    out_encoded[1] = digits[(unsigned char)byte >> 4];
    out_encoded[2] = digits[byte & 15];
    return 3;
}

void html_url(struct html *html, const char *text, size_t count)
{
    for (size_t i = 0; i < count && !html->has_failed; i++) {
        char encoded[3];

        html_put(html, encoded, html_url_byte(text[i], encoded));
    }
}

/* --- holes ------------------------------------------------------------------------------------ */

void html_hole(struct html *html, enum html_hole kind)
{
    static const char zeros[HTML_HOLE_BYTES + 1] = "00000000000000000000000000000000";
    size_t at = html->count;

    assert(html->hole_count < HTML_HOLES_MAX);
    html_put(html, zeros, HTML_HOLE_BYTES);
    html->holes[html->hole_count].kind = kind;
    html->holes[html->hole_count++].at = at;
}

void html_fill(const struct html *html, const char *const values[HTML_HOLE_KINDS], char *bytes)
{
    for (size_t i = 0; i < html->hole_count; i++) {
        const char *value = values[html->holes[i].kind];

        assert(strspn(value, "0123456789abcdef") == HTML_HOLE_BYTES &&
               value[HTML_HOLE_BYTES] == '\0');
        memcpy(bytes + html->holes[i].at, value, HTML_HOLE_BYTES);
    }
}
