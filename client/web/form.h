/* SPDX-License-Identifier: Apache-2.0 */
/* form: names and values of a query or of a form's body (application/x-www-form-urlencoded). */
#pragma once

#include "client/hearsay.h"

enum { FORM_FIELDS_MAX = 24 };

struct form_field {
    const char *name;  /* decoded, ends with NUL; borrowed from the form's buffer */
    const char *value; /* the same; has no NUL inside */
    size_t value_bytes;
};

struct form {
    struct form_field fields[FORM_FIELDS_MAX];
    size_t count;
};

/*
 * Decodes `bytes` bytes in place. The buffer has room for one byte more, which becomes NUL. False:
 * there are more than FORM_FIELDS_MAX fields, a percent sign without two hexadecimal digits, or a
 * NUL, encoded or not. Then the text is spoilt. O(bytes).
 */
bool form_read(char *text, size_t bytes, struct form *out_form);

/* The first field of that name; NULL: none. form_next: the next one behind `field`. */
const struct form_field *form_find(const struct form *form, const char *name);
const struct form_field *form_next(const struct form *form, const struct form_field *field);

/* The number of code points of a text in UTF-8: all bytes but those that continue one. */
size_t form_count_characters(const char *text);

/* Reads a number of decimal digits, at least one, of at most `most`. False: it is none. */
bool form_read_number(const char *text, uint64_t most, uint64_t *out_number);

/* The kinds of reports by hearsay_report_kind, from 1 on: the word in forms, and the key of its
 * text. */
enum { FORM_REPORT_KINDS = HEARSAY_REPORT_OTHER_KIND + 1 };
extern const struct form_report_kind {
    const char *word;
    const char *key;
} form_report_kinds[FORM_REPORT_KINDS];

/* The kind of a word; `word` NULL or unknown: 0. */
enum hearsay_report_kind form_report_kind_of(const char *word);
