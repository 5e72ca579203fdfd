/* SPDX-License-Identifier: Apache-2.0 */
/* lang_inner: the tables that scripts/embed makes of lang/. For lang.c and tests. */
#ifndef CLIENT_WEB_LANG_INNER_H
#define CLIENT_WEB_LANG_INNER_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
