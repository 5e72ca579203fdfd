/* SPDX-License-Identifier: Apache-2.0 */
/* inner: what the pages share. */
#pragma once

#include "client/web/page.h"

enum {
    PAGE_NAME_LINK_BYTES = 300,
    PAGE_PATH_BYTES = 3 + PAGE_ID_TEXT_BYTES, /* /m/ID */
    PAGE_STALE_MS = 5000                      /* an older list is said to be old */
};

/* Begins a document up to the inside of <main>. `heading`: the key of the <h1>. `path`: of this
 * page, for the links to other languages; NULL: these lead to the list. */
void page_begin(struct html *html, const struct page *page, const char *heading, const char *path);

/* The same for the list, whose <h1> is the title of the place, and a line below it says what the
 * page is. */
void page_begin_list(struct html *html, const struct page *page);

/* The same for the poster, whose <h1> is the name of the place that it is for, if it has one. */
void page_begin_poster(struct html *html, const struct page *page);

/* The index of a topic of the view among those that are offered; their number: it is not there. */
size_t page_topic_find(const struct page *page, const char *topic);

/* Ends a document. `sealed`: messages of groups that were left out. */
void page_end(struct html *html, const struct page *page, size_t sealed);

/* Writes an <input type="hidden"> with a value of the phone's own. */
void page_write_hidden_hole(struct html *html, const char *name, enum html_hole kind);

/* Writes the hidden fields that keep the host and the language of the view. */
void page_write_kept_fields(struct html *html, const struct page *page);

/* Writes the hidden fields of each form that writes. */
void page_write_form_fields(struct html *html, const struct page *page);

/* Writes ` href="..."` for a path of ours, with host and language. */
void page_write_href(struct html *html, const struct page *page, const char *path);

/* Writes ` href="..."` for a view. */
void page_write_view_href(struct html *html, const struct view *view);

/* Writes a paragraph with the text of a key and a value. */
void page_write_value(struct html *html, const struct page *page, const char *key,
                      const char *value);

/* Writes a link to a view at the end of a paragraph, which `begin` begins up to the link's
 * attributes. */
void page_write_view_link(struct html *html, const struct page *page, const char *begin,
                          const struct view *view, const char *key);

/* Writes a link to the list in a paragraph. */
void page_write_back(struct html *html, const struct page *page);

/* Writes a link to the page by its name: http://hearsay.lan/. */
void page_write_name(struct html *html, const struct page *page);

/*
 * The name of a message in its element and in what the script keeps: its id; with the name of
 * another `host` ("": none) a hash of both, so that no message there passes for one of here.
 */
void page_mark_of(const uint8_t *id, const char *host, char *out_text);

/* A message's id as hexadecimal digits (PAGE_ID_TEXT_BYTES), and the path of its page. */
void page_hex_of(const uint8_t *id, char *out_text);
void page_path_of(const uint8_t *id, char *out_path);

/* Writes the texts of a key with plurals as attributes, for the script: ` data-new="..."` is that
 * of "other", ` data-new-one="..."` that of "one". A text like that of "other" is left out: the
 * script takes "other" instead. The script says no number below 1, so "zero" is left out. */
void page_write_plurals(struct html *html, const struct page *page, const char *name,
                        const char *key);

/* Seconds from hearsayd's now to a time, and back; 0 where that is in the past. */
uint64_t page_seconds_until(const struct page *page, int64_t ms);
uint64_t page_seconds_since(const struct page *page, int64_t ms);

/* Writes what stands between two pieces of a line, such as the times of a message. */
void page_write_comma(struct html *html, const struct page *page);

/* Where a message is, and a comma: the name of another host, or "Here" for NULL. */
void page_write_where(struct html *html, const struct page *page, const char *host);

/* Writes the times of a message: how long ago, and when it goes. */
void page_write_times(struct html *html, const struct page *page,
                      const struct board_message *message);

/* Writes a list of messages, with the words that the script needs for it. NULL: an empty one. */
void page_write_items(struct html *html, const struct page *page, const struct board_list *list,
                      bool shows_nearness);

/* Begins a box, which the caller ends. The script says there that the page is not live, and shows a
 * button with the text of `key` when there are new messages. Both stand above the page, so that no
 * text moves. */
void page_begin_news(struct html *html, const struct page *page, const char *key);

/* Whether a notice is shown: it is for the reader's place, and it is not over, as it may be while
 * hearsayd is away. */
bool page_has_notice(const struct page *page, const struct hearsay_house_notice *notice);

/* Turns the view of a list into that of the next page, with older messages. False: there is none.
 */
bool page_older_of(const struct board_list *list, struct view *view);

/* Writes, within an element, what stands for a message that is no text: its media type and its
 * size. */
void page_write_kind(struct html *html, const struct page *page,
                     const struct board_message *message);

/* Writes a box with an error, as an alert. `form`: the one that follows; NULL: none does. */
void page_write_notice(struct html *html, const struct page *page, const struct page_error *error,
                       const struct page_form *form);

/* Whether the error is about this field. `error` may be NULL. */
bool page_error_is_about(const struct page_error *error, const char *field);

/* Writes the form to leave a message, or why there is none, with the typed text. */
/* Whether the form takes messages. */
bool page_form_is_open(const struct page_form *form);

void page_write_form(struct html *html, const struct page *page, const struct page_form *form,
                     const struct page_error *error);
