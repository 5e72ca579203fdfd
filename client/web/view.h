/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view: what a reader looks at: a host, labels, an order and a page. Two URLs that ask for the same
 * thing give equal views: topics are normalised and sorted, and each stands once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/hearsay.h"

enum {
    VIEW_TOPICS_MAX = 4,
    VIEW_TOPIC_BYTES = 240, /* UTF-8, at most 60 characters */
    VIEW_HOST_BYTES = 64,
    VIEW_PLACE_BYTES = 4096, /* 2.5 KB for the labels of access points, and some for others */
    VIEW_PLACE_NAME_BYTES = HEARSAY_PLACE_NAME_BYTES_MAX + 1,
    VIEW_STORE_BYTES = 9,
    VIEW_TAG_BYTES = 8,
    VIEW_URL_BYTES = 1024
};

enum view_order { VIEW_NEWEST, VIEW_NEAREST };

struct view {
    char host[VIEW_HOST_BYTES]; /* "": the first */
    char topics[VIEW_TOPICS_MAX][VIEW_TOPIC_BYTES + 1];
    size_t topic_count;
    bool is_now;  /* about now: with the labels of the hour */
    bool is_hood; /* around here: also at the other hosts of the hood */
    /* the host of one message, if it is another one of the hood; then is_hood is set. "": `host` */
    char at[VIEW_HOST_BYTES];
    enum view_order order;
    int64_t before_ms;             /* messages that were deposited before; INT64_MAX: all */
    char language[VIEW_TAG_BYTES]; /* of `l`; "": the browser's */
    char second[VIEW_TAG_BYTES];   /* of `and`: the poster's second language; "": not said; not part
                                      of the URL */
    /* Digits of live_write_store, or "". Links have them as `p`: a phone may have kept a page of
     * another place that has the same name, and would show that for the same address. Never read
     * from a URL. */
    char store[VIEW_STORE_BYTES];
    /* Here labels of the reader's place, a line feed behind each; not part of the URL. */
    char place[VIEW_PLACE_BYTES];
    /* What people call that place; "": it has no name. On the poster: the place that it is for.
     * Only there it is part of a URL. */
    char place_name[VIEW_PLACE_NAME_BYTES];
};

struct form;

/*
 * Reads the query part of a URL (`t`, `o`, `now`, `a`, `before`, `l`, `and`, `h`, `at`). One `t`
 * may name several topics with commas between them. The function ignores unknown names, and sets
 * the place to
 * "". Returns true if the query part is correct. Otherwise returns false, and in *out_field the
 * name of the wrong field (static storage): "url" means the query part as a whole. NULL: out of
 * memory.
 */
bool view_read(const char *query, struct view *out_view, const char **out_field);

/* The same for the fields of a form that was sent. */
bool view_read_form(const struct form *form, struct view *out_view, const char **out_field);

/* Writes the view, without `at`, as the target of a link: `/` and its query (VIEW_URL_BYTES). */
void view_write(const struct view *view, char *out_url);

/* The index of a normalised topic among those of the view; topic_count: it is not there. */
size_t view_find_topic(const struct view *view, const char *topic);

/* Whether what is for the place of this name is for the reader; NULL: it is for all places. */
bool view_is_at(const struct view *view, const char *place_name);

/* Whether two views have the same labels, so that a new message changes both or none. */
bool view_same_labels(const struct view *a, const struct view *b);

/* Whether both find the same messages in the same order; the language does not matter. */
bool view_equal(const struct view *a, const struct view *b);
