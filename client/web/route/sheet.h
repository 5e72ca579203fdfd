/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sheet: pages that were written for one phone and are given to others, too. A sheet has no phone's
 * own values, only their holes (html.h): each phone gets a copy, which is filled. The sheet of a
 * list is good for a second, because lists say how long ago something was. Pages that follow from
 * the configuration, such as the poster and most errors, are fixed: they are good until the
 * configuration is read again, so that whoever asks for them again and again costs next to nothing.
 */
#ifndef CLIENT_WEB_ROUTE_SHEET_H
#define CLIENT_WEB_ROUTE_SHEET_H

#include <stdbool.h>
#include <stdint.h>

#include "client/web/board.h"
#include "client/web/html.h"
#include "client/web/page.h"

enum { SHEETS_MAX = 16, SHEETS_FIXED_MAX = 32, SHEET_KEY_BYTES = 16 };

/* All that a list consists of. `page` and `form` are borrowed for the call. */
struct sheet_parts {
    const struct board_list *list;
    const struct page *page;
    const struct page_form *form; /* without a typed text */
    int64_t now_ms;               /* of the loop's clock */
};

struct sheet {
    struct html html; /* owned */
    uint64_t used;    /* larger: later; 0: the place is free */
    /* What was written. The version of the list stands for the view, too, except for what follows.
     */
    uint64_t version;
    int64_t second;
    const struct lang *lang;
    char language[sizeof(((struct view *)0)->language)];
    char store[VIEW_STORE_BYTES];
    char here[VIEW_STORE_BYTES];
    bool is_clock_trusted;
    bool asks_to_stay;
    bool needs_work;
    uint32_t bytes_max;
    uint32_t ttl_default_s;
    uint32_t ttl_max_s;
    enum hearsay_accept accept;
    int64_t accept_until_ms;
    uint64_t notices_version;
};

/* A page that follows from the configuration. */
struct sheet_fixed {
    struct html html;             /* owned */
    uint64_t used;                /* larger: later; 0: the place is free */
    uint8_t key[SHEET_KEY_BYTES]; /* a hash of all that the page consists of */
};

struct sheets {
    struct sheet all[SHEETS_MAX];
    struct sheet_fixed fixed[SHEETS_FIXED_MAX];
    uint64_t last_used;
};

/* The page of these parts, which is written if it is not there. NULL: no memory, or the page is too
 * large. Borrowed until the next call. */
const struct html *sheets_take(struct sheets *sheets, const struct sheet_parts *parts);

/*
 * The fixed page with this key, for which `write` is called if it is not there. NULL: no memory, or
 * the page is too large. Borrowed until the next call.
 */
const struct html *sheets_take_fixed(struct sheets *sheets, const uint8_t key[SHEET_KEY_BYTES],
                                     void (*write)(void *context, struct html *html),
                                     void *context);

/* Forgets the lists. Must be called when a message has gone. */
void sheets_clear(struct sheets *sheets);

/* Forgets all pages. Must be called when the configuration has changed, and at the end. */
void sheets_clear_all(struct sheets *sheets);

#endif
