/* SPDX-License-Identifier: Apache-2.0 */
/* inner: pieces that the files which write the moderators' page share. */
#pragma once

#include "client/web/moderate/page.h"
#include "client/web/route/secret.h"

enum { DESK_PLACE_BYTES = SECRET_HEX_BYTES + 2 /* the name of an element for a message */ };

/* The key of the text of a kind of reports, at least 1. */
const char *desk_kind_key(size_t kind);

/* Writes the text of a key. */
void desk_words(struct html *html, const struct desk *desk, const char *key);

/* Writes a hidden field; nothing without a value, or with an empty one. */
void desk_hidden(struct html *html, const char *name, const char *value);

/* Begins a form that does something; behind it the browser goes to the element `place`; NULL: to
 * the top. */
void desk_form_begin(struct html *html, const struct desk *desk, const char *class_name,
                     const char *place);

/* The same for a form that leads to a page, whose address has the form's fields. */
void desk_turn_begin(struct html *html, const struct desk *desk, const char *class_name,
                     const char *name, const char *place);

/* Writes a choice of a place, with its label, where places have names: a field `name` with the
 * names and, for no value, the text of `key_all`. `chosen` may be "". */
void desk_places(struct html *html, const struct desk *desk, const char *name, const char *key_all,
                 const char *chosen);

/* Seconds from one time to another; 0 where it is not later. */
static inline uint64_t desk_seconds(int64_t from_ms, int64_t to_ms)
{
    return to_ms <= from_ms ? 0 : ((uint64_t)to_ms - (uint64_t)from_ms) / 1000;
}

/* The name of the element of a message in the list of all messages. */
void desk_name_place(const char *id, char out_place[DESK_PLACE_BYTES]);

/* Writes a button that sends its form with `do=value`. */
void desk_button(struct html *html, const struct desk *desk, const char *class_name,
                 const char *value, const char *key);
