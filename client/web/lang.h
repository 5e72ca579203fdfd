/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lang: the strings of the pages in several languages. The texts are the files in lang/, one `key =
 * text` a line, built in. A text may have {0} for a value. A key with plurals has one line for each
 * CLDR category that the language has: key.one, key.few, key.many, key.other, ...
 */
#pragma once

#include "client/web/html.h"

struct lang;

enum { LANG_NUMBER_BYTES = 48 };

/* The languages, in the order in which the pages list them. */
size_t lang_count(void);
const struct lang *lang_at(size_t index);

/* By its tag, such as de. NULL: there is no such language. */
const struct lang *lang_find(const char *tag);

/* The best of what a browser asks for (RFC 9110 section 12.5.4); English where nothing fits.
 * accept_language may be NULL. */
const struct lang *lang_choose(const char *accept_language);

const char *lang_tag(const struct lang *lang);
const char *lang_name(const struct lang *lang); /* in the language itself */
bool lang_is_right_to_left(const struct lang *lang);

/* The text of a key. Every key that the code uses is in every language: a test checks that. */
const char *lang_text(const struct lang *lang, const char *key);

/* Whether the language has a key: not each has each plural. */
bool lang_has(const struct lang *lang, const char *key);

/* Writes the text of a key; {0} is replaced by the escaped value, which may be NULL. The value
 * is in <bdi>, because its direction may be another one than the text's. */
void lang_write(struct html *html, const struct lang *lang, const char *key, const char *value);

/* Writes the text of a key between two pieces of markup, which are literals. */
void lang_write_between(struct html *html, const struct lang *lang, const char *before,
                        const char *key, const char *after);

/* Writes an element with the text of a key and no attributes but `class`, which may be NULL. */
void lang_write_element(struct html *html, const struct lang *lang, const char *element,
                        const char *class_name, const char *key);

/* Writes a number into LANG_NUMBER_BYTES, with what the language has between thousands. */
void lang_number(const struct lang *lang, uint64_t number, char *out_text);

/* Writes the text of a key with plurals for a number, which replaces {0}. */
void lang_write_count(struct html *html, const struct lang *lang, const char *key, uint64_t number);

/* Writes how long something lasts ("3 hours"). */
void lang_write_lasts(struct html *html, const struct lang *lang, uint64_t seconds);

/* Writes how long ago a time was ("4 min ago"), and when one will be ("in 3 h"). is_about: as no
 * more than about right ("about 4 min ago"). */
void lang_write_ago(struct html *html, const struct lang *lang, uint64_t seconds, bool is_about);
void lang_write_until(struct html *html, const struct lang *lang, uint64_t seconds, bool is_about);

/* Writes when a message will be gone ("gone in 3 h"). */
void lang_write_gone(struct html *html, const struct lang *lang, uint64_t seconds, bool is_about);

/* Writes the text of a key, in which lang_write_until or lang_write_lasts replaces {0}. */
void lang_write_with_until(struct html *html, const struct lang *lang, const char *key,
                           uint64_t seconds, bool is_about);
void lang_write_with_lasts(struct html *html, const struct lang *lang, const char *key,
                           uint64_t seconds);

/* --- the tables of lang.c --------------------------------------------------------------------- */

/* scripts/embed makes them of lang/. For lang.c and tests. */

struct lang_entry {
    const char *key;
    const char *text;
};

struct lang {
    const char *tag; /* decides on the plurals, too */
    const char *name;
    bool is_right_to_left;
    const struct lang_entry *entries; /* sorted by key */
    size_t count;
};

extern const struct lang lang_table[];
extern const size_t lang_table_count;

/* The CLDR category of a whole number in a language: zero, one, two, few, many or other. */
const char *lang_category(const struct lang *lang, unsigned long long number);
