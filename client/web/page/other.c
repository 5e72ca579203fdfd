/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "client/web/page/inner.h"

enum { ABOUT_RULES_CHARACTERS_MAX = 16384, ABOUT_RULES_LINES_MAX = 500 };

/* --- what was done, what went wrong ----------------------------------------------------------- */

void page_write_done(struct html *html, const struct page *page, enum page_done done)
{
    static const char *const keys[][2] = {
        [PAGE_WITHDRAWN] = {"done.withdrawn", "done.withdrawn_help"},
        [PAGE_REPORTED] = {"done.reported", "done.reported_help"},
        [PAGE_STAYS] = {"done.stays", "done.stays_help"},
    };

    page_begin(html, page, keys[done][0]);
    /* The id tells the script that the form has come here, so that it forgets the draft. */
    lang_write_between(html, page->lang, "<p id=\"done\">", keys[done][1], "</p>\n");
    if (done == PAGE_STAYS) {
        page_write_name(html, page);
    }
    page_write_back(html, page);
    page_end(html, page, 0, NULL);
}

void page_write_error(struct html *html, const struct page *page, const struct page_error *error,
                      const struct page_form *form)
{
    bool keeps_text = form != NULL && form->text != NULL && form->text[0] != '\0';

    const char *heading = error->notice == PAGE_GONE || error->notice == PAGE_REMOVED
                              ? "error.gone_heading"
                          : error->notice == PAGE_ELSEWHERE ? "error.elsewhere_heading"
                                                            : "error.heading";

    if (error->notice == PAGE_NAME) { /* by the name that was asked for there is nothing else */
        page_begin_bare(html, page, "error.heading");
        page_write_notice(html, page, error, false);
        page_end_bare(html);
        return;
    }
    page_begin(html, page, heading);
    page_write_notice(html, page, error, keeps_text);
    if (form != NULL) {
        page_write_form(html, page, form, error);
    }
    page_write_back(html, page);
    page_end(html, page, 0, NULL);
}

void page_write_draft(struct html *html, const struct page *page, const struct page_form *form)
{
    page_begin(html, page, "form.heading");
    page_write_form(html, page, form, NULL);
    page_write_back(html, page);
    page_end(html, page, 0, NULL);
}

/* --- about ------------------------------------------------------------------------------------ */

static void about_write_operator(struct html *html, const struct page *page)
{
    lang_write_element(html, page->lang, "h2", NULL, "about.who");
    if (page->operator_name != NULL) {
        page_write_value(html, page, "about.by", page->operator_name);
    }
    if (page->contact != NULL) {
        page_write_value(html, page, "about.contact", page->contact);
    }
    if (page->operator_name == NULL && page->contact == NULL) {
        lang_write_element(html, page->lang, "p", NULL, "about.unknown");
    }
}

static void about_write_lifetime(struct html *html, const struct page *page)
{
    if (page->ttl_max_s == 0) {
        lang_write_element(html, page->lang, "li", NULL, "about.time");
        return;
    }
    html_raw(html, "<li>");
    lang_write_with_lasts(html, page->lang, "about.time_max", page->ttl_max_s);
    html_raw(html, "</li>\n");
}

void page_write_about(struct html *html, const struct page *page, const char *rules)
{
    static const char *const sentences[] = {
        "about.read",    "about.operator", "about.names",  "about.address", "about.kept",
        "about.removed", "about.context",  "about.sealed", "about.http",
    };

    page_begin(html, page, "about.heading");
    html_raw(html, "<ul class=\"plain\">\n");
    for (size_t i = 0; i < sizeof(sentences) / sizeof(sentences[0]); i++) {
        lang_write_element(html, page->lang, "li", NULL, sentences[i]);
    }
    if (page->may_stay) {
        lang_write_element(html, page->lang, "li", NULL, "about.stay");
    }
    about_write_lifetime(html, page);
    html_raw(html, "</ul>\n<section class=\"card\">\n");
    about_write_operator(html, page);
    html_raw(html, "</section>\n");
    if (rules != NULL && rules[0] != '\0') {
        html_raw(html, "<section class=\"card\">\n");
        lang_write_element(html, page->lang, "h2", NULL, "about.rules");
        html_raw(html, "<div class=\"text\">");
        (void)html_message(html, rules, strlen(rules), ABOUT_RULES_CHARACTERS_MAX,
                           ABOUT_RULES_LINES_MAX);
        html_raw(html, "</div>\n</section>\n");
    }
    page_write_back(html, page);
    page_end(html, page, 0, "/about");
}

/* --- the poster ------------------------------------------------------------------------------- */

/* From how many bytes on a text needs a smaller type to stand in one line of the paper. style.css
 * has the sizes. */
enum { POSTER_LONG_BYTES = 40, POSTER_LONGEST_BYTES = 72 };

/* Writes what people type, which must not be broken on paper. */
static void poster_write_code(struct html *html, const char *value)
{
    size_t bytes = strlen(value);

    html_raw(html, bytes > POSTER_LONGEST_BYTES ? "<bdi class=\"code longest\">"
                   : bytes > POSTER_LONG_BYTES  ? "<bdi class=\"code long\">"
                                                : "<bdi class=\"code\">");
    html_string(html, value);
    html_raw(html, "</bdi></p>\n");
}

static void poster_write_value(struct html *html, const struct page *page, const char *key,
                               const char *value)
{
    lang_write_between(html, page->lang, "<p>", key, ": ");
    poster_write_code(html, value);
}

/* Writes what people may type: the name, and the address of the code without the digits behind it,
 * where that is another one. */
static void poster_write_addresses(struct html *html, const struct page *page, const char *url)
{
    char name[PAGE_NAME_LINK_BYTES];
    char address[PAGE_NAME_LINK_BYTES];

    (void)snprintf(name, sizeof(name), "http://%s/", page->name);
    (void)snprintf(address, sizeof(address), "%.*s", (int)strcspn(url, "?"), url);
    poster_write_value(html, page, "poster.address", name);
    if (strcmp(name, address) != 0) {
        html_raw(html, "<p>");
        poster_write_code(html, address);
    }
}

static void poster_begin_code(struct html *html, const struct page *page, const char *step,
                              const char *key, const char *svg)
{
    html_raw(html, "<div class=\"card\">\n");
    if (svg != NULL) {
        html_raw(html, "<div aria-hidden=\"true\">");
        html_raw(html, svg);
        html_raw(html, "</div>\n");
    }
    html_raw(html, "<h2>");
    html_raw(html, step);
    lang_write(html, page->lang, key, NULL, NULL);
    html_raw(html, "</h2>\n");
}

void page_write_poster(struct html *html, const struct page *page, const struct page_poster *poster)
{
    bool has_join = poster->ssid != NULL && poster->ssid[0] != '\0';
    bool has_password = poster->password != NULL && poster->password[0] != '\0';

    page_begin(html, page, "poster.heading");
    html_raw(html, "<div class=\"poster\">\n");
    lang_write_element(html, page->lang, "p", NULL, "poster.intro");
    html_raw(html, "<div class=\"codes\">\n");
    if (has_join) {
        poster_begin_code(html, page, "1. ", "poster.join", poster->join_svg);
        poster_write_value(html, page, "poster.network", poster->ssid);
        if (has_password) {
            poster_write_value(html, page, "poster.password", poster->password);
        } else {
            lang_write_element(html, page->lang, "p", "soft", "poster.no_password");
        }
        html_raw(html, "</div>\n");
    }
    poster_begin_code(html, page, has_join ? "2. " : "", "poster.open", poster->open_svg);
    poster_write_addresses(html, page, poster->url);
    html_raw(html, "</div>\n</div>\n");
    if (has_join && poster->join_svg != NULL && poster->open_svg != NULL) {
        lang_write_element(html, page->lang, "p", "soft", "poster.help");
    }
    html_raw(html, "</div>\n<div class=\"noprint\">");
    page_write_back(html, page);
    html_raw(html, "</div>\n");
    page_end(html, page, 0, "/poster");
}
