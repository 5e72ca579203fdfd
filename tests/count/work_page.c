/* SPDX-License-Identifier: Apache-2.0 */
/* The work page: hearsay-web writes the list of 20 messages as HTML. */
#include "tests/count/count.h"
#include "tests/unit/web_pages.h"

enum { PAGES = 50 };

/* All messages that the list has room for, and one of another kind behind them. */
static struct web_pages_values fill_values(void)
{
    struct web_pages_values values = web_pages_plain;
    size_t given = 0;

    while (values.messages[given] != NULL) {
        given++;
    }
    for (size_t i = given; i < WEB_PAGES_MESSAGES_MAX; i++) {
        values.messages[i] = values.messages[i % given];
    }
    return values;
}

static const struct web_pages_sample *find_sample(const char *name)
{
    for (size_t i = 0; i < web_pages_sample_count; i++) {
        if (strcmp(web_pages_samples[i].name, name) == 0) {
            return &web_pages_samples[i];
        }
    }
    count_fail("tests/unit/web_pages.c has no page %s", name);
}

void count_page(const struct count_options *options)
{
    const struct web_pages_sample *sample = find_sample("list");
    struct web_pages_values values = fill_values();
    struct view view;
    struct page page = web_pages_page(&values, lang_find("en"), &view);

    (void)options;
    count_begin();
    for (size_t i = 0; i < PAGES; i++) {
        struct html html;

        html_init(&html);
        sample->write(&html, &page, &values);
        if (html_failed(&html)) {
            count_fail("memory is short");
        }
        html_deinit(&html);
    }
    count_end(PAGES);
}
