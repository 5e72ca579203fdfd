/* SPDX-License-Identifier: Apache-2.0 */
/* web_pages: every page of hearsay-web in every state, from given texts of others. */
#pragma once

#include "client/web/page.h"

enum { WEB_PAGES_MESSAGES_MAX = 20 };

/* What others wrote, and what the configuration says. */
struct web_pages_values {
    const char *messages[WEB_PAGES_MESSAGES_MAX]; /* up to the first NULL */
    const char *typed;                            /* into forms */
    const char *notices[2];                       /* of the operator; NULL: none */
    const char *topics[2];
    struct topics offered; /* message i has those whose bits i has */
    const char *media_type;
    const char *title;
    const char *place_name; /* NULL: the place has none */
    const char *name;
    const char *operator_name;
    const char *contact;
    const char *rules;
    const char *sentence;
    const char *ssid;
    const char *password;
    const char *code;
};

struct web_pages_sample {
    const char *name;
    void (*write)(struct html *html, const struct page *page,
                  const struct web_pages_values *values);
    bool keeps_text; /* what was typed is in a field */
};

extern const struct web_pages_sample web_pages_samples[];
extern const size_t web_pages_sample_count;

/* As a place would have them: for looking at. */
extern const struct web_pages_values web_pages_plain;

/* What every page has, with these values. `view` is filled and borrowed. */
struct page web_pages_page(const struct web_pages_values *values, const struct lang *lang,
                           struct view *view);
