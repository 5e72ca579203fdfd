/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sheet: pages that were written for one phone and are given to others, too. A sheet has no phone's
 * own values, only their holes (html.h): each phone gets a copy, which is filled. The sheet of a
 * list is good for a second, because lists say how long ago something was. Pages that follow from
 * the configuration, such as the poster and most errors, are fixed: they are good until the
 * configuration is read again, so that whoever asks for them again and again costs next to nothing.
 * All of them have HTML_BYTES_MAX together, as one page may have.
 */
#pragma once

#include "client/web/html.h"

enum { SHEETS_MAX = 48, SHEET_KEY_BYTES = 16 };

struct sheet {
    struct html html;             /* owned */
    uint64_t used;                /* larger: later; 0: the place is free */
    int64_t second;               /* in which a list was written; 0: the page is fixed */
    uint8_t key[SHEET_KEY_BYTES]; /* a hash of all that the page consists of */
};

struct sheets {
    struct sheet all[SHEETS_MAX];
    uint64_t last_used;
};

/* What a page consists of, besides the configuration: numbers and texts, of which NULL is "". */
struct sheet_parts {
    const uint64_t *numbers;
    size_t number_count;
    const char *const *texts;
    size_t text_count;
    int64_t second; /* of a list, by the loop's clock; 0: the page is fixed */
};

/*
 * The page of these parts, for which `write` is called if it is not there. NULL: no memory, or the
 * page is too large. Borrowed until the next call.
 */
const struct html *sheets_take(struct sheets *sheets, const struct sheet_parts *parts,
                               void (*write)(void *context, struct html *html), void *context);

/* Forgets the lists: must be called when a message has gone. And all pages, if `is_all`: when the
 * configuration has changed, and at the end. */
void sheets_clear(struct sheets *sheets, bool is_all);
