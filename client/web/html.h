/* SPDX-License-Identifier: Apache-2.0 */
/*
 * html: the only writer of pages. Literals go through html_raw, everything else through html_text,
 * html_attribute or html_url, which escape. A writer that is out of memory or over its limit stays
 * so, and html_failed tells.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HTML_BYTES_MAX = 1024 * 1024, /* of one page */
    HTML_HOLE_BYTES = 32,         /* of each value that is filled in */
    HTML_HOLES_MAX = 8            /* of one page */
};

/* What is one phone's own. No page is written with such a value: each phone's copy is filled. */
enum html_hole {
    HTML_HOLE_TOKEN, /* of forms */
    HTML_HOLE_SEED,  /* of the message that the form leaves */
    HTML_HOLE_KEY,   /* by which the script hides what it keeps */
    HTML_HOLE_KINDS
};

struct html {
    char *bytes; /* owned; `count` of them */
    size_t count;
    size_t room;
    bool has_failed;
    size_t hole_count;
    struct {
        enum html_hole kind;
        size_t at;
    } holes[HTML_HOLES_MAX];
};

void html_init(struct html *html);   /* allocates nothing */
void html_deinit(struct html *html); /* a zeroed struct is fine */
bool html_failed(const struct html *html);

/* Writes text of ours that is markup already. */
void html_raw(struct html *html, const char *literal);

/* Takes back what was written behind the first `count` bytes. No hole may be there. */
void html_cut(struct html *html, size_t count);

/*
 * Writes text of others, `count` bytes of any content, as one line of text: escapes & < > " ';
 * leaves out control characters and bidi embeddings, overrides and isolates; replaces bytes that
 * are not UTF-8 by U+FFFD; writes at most 4 combining marks in a row.
 */
void html_text(struct html *html, const char *text, size_t count);

/*
 * The same for a message: each line becomes a paragraph with dir="auto". Empty lines become space
 * above the next paragraph. Stops behind `characters_max` characters that were written, or
 * `lines_max` lines; 0: no such limit. Returns whether the whole message was written.
 */
bool html_message(struct html *html, const char *text, size_t count, size_t characters_max,
                  size_t lines_max);

/* The same behind an element that the caller has begun: the first line that is not blank goes into
 * it, and `first_end` is what ends it. */
bool html_message_within(struct html *html, const char *first_end, const char *text, size_t count,
                         size_t characters_max, size_t lines_max);

/* The same for the inside of a <textarea>: line feeds stay. */
void html_textarea(struct html *html, const char *text, size_t count);

/* The same characters as a string of JSON, in its quotes, for live updates: line feeds stay. No
 * escape of HTML: a script shows the string as text. */
void html_json(struct html *html, const char *text, size_t count);

/* A text of ours or of others that ends with NUL, as html_text. */
void html_string(struct html *html, const char *text);

/* The same between two literals, as of html_raw. */
void html_between(struct html *html, const char *before, const char *text, const char *after);

/* Writes ` name="value"`, escaped. */
void html_attribute(struct html *html, const char *name, const char *value);

/* Writes an <input type="hidden">. */
void html_hidden(struct html *html, const char *name, const char *value);

/* Encodes a byte of a part of a URL. Returns how many characters that takes: 1 or 3. */
size_t html_url_byte(char byte, char out_encoded[3]);

/* Writes a text percent-encoded, as one part of a URL. */
void html_url(struct html *html, const char *text, size_t count);

/* Writes a number, without separators. */
void html_number(struct html *html, uint64_t number);

/* Leaves a hole. Until the hole is filled there are zeros. */
void html_hole(struct html *html, enum html_hole kind);

/*
 * Fills all holes. `bytes`: those of the writer, or a copy of them. `values`: by kind, each
 * HTML_HOLE_BYTES hexadecimal digits; a kind that the page does not have may be "".
 */
void html_fill(const struct html *html, const char *const values[HTML_HOLE_KINDS], char *bytes);
