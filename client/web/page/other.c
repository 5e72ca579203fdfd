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

    page_begin(html, page, keys[done][0], NULL);
    /* The id tells the script that the form has come here, so that it forgets the draft. */
    lang_write_between(html, page->lang, "<p id=\"done\">", keys[done][1], "</p>\n");
    if (done == PAGE_STAYS) {
        page_write_name(html, page);
    }
    page_write_back(html, page);
    page_end(html, page, 0);
}

void page_write_error(struct html *html, const struct page *page, const struct page_error *error,
                      const struct page_form *form)
{
    const char *heading = error->notice == PAGE_GONE || error->notice == PAGE_REMOVED
                              ? "error.gone_heading"
                          : error->notice == PAGE_ELSEWHERE ? "error.elsewhere_heading"
                                                            : "error.heading";

    if (error->notice == PAGE_NAME) { /* by the name that was asked for there is nothing else */
        page_write_head(html, page->lang, heading, page->title);
        html_raw(html, "</head>\n<body>\n<main>\n");
        lang_write_element(html, page->lang, "h1", NULL, heading);
        page_write_notice(html, page, error, NULL);
        html_raw(html, "</main>\n</body>\n</html>\n"); /* no style, script or link */
        return;
    }
    page_begin(html, page, heading, NULL);
    page_write_notice(html, page, error, form);
    if (form != NULL) {
        page_write_form(html, page, form, error);
    }
    page_write_back(html, page);
    page_end(html, page, 0);
}

/* Writes the attributes of an element in a language that may be another one than the page's. */
static void write_language(struct html *html, const struct lang *lang)
{
    html_attribute(html, "lang", lang_tag(lang));
    html_attribute(html, "dir", lang_is_right_to_left(lang) ? "rtl" : "ltr");
}

void page_write_draft(struct html *html, const struct page *page, const struct page_form *form)
{
    page_begin(html, page, form->re != NULL ? "answer.heading" : "form.heading", NULL);
    page_write_form(html, page, form, NULL);
    page_write_back(html, page);
    page_end(html, page, 0);
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

static void about_write_rules(struct html *html, const struct page *page, const char *rules,
                              const struct lang *lang)
{
    html_raw(html, "<section class=\"card\">\n");
    lang_write_element(html, page->lang, "h2", NULL, "about.rules");
    html_raw(html, "<div class=\"text\"");
    if (lang != NULL && lang != page->lang) {
        write_language(html, lang);
    }
    html_raw(html, ">");
    (void)html_message(html, rules, strlen(rules), ABOUT_RULES_CHARACTERS_MAX,
                       ABOUT_RULES_LINES_MAX);
    html_raw(html, "</div>\n</section>\n");
}

void page_write_about(struct html *html, const struct page *page, const char *rules,
                      const struct lang *rules_lang)
{
    static const char *const sentences[] = {
        "about.read",    "about.operator", "about.names",  "about.address", "about.kept",
        "about.removed", "about.context",  "about.sealed", "about.http",
    };

    page_begin(html, page, "about.heading", "/about");
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
        about_write_rules(html, page, rules, rules_lang);
    }
    page_write_back(html, page);
    page_end(html, page, 0);
}

/* --- the poster ------------------------------------------------------------------------------- */

/* From how many bytes on a text needs a smaller type to stand in one line of the paper. style.css
 * has the sizes. */
enum { POSTER_LONG_BYTES = 40, POSTER_LONGEST_BYTES = 72 };

/* Writes what people type, which must not be broken on paper. On a screen what is too long for its
 * line breaks behind a dot, a slash or a hyphen first. */
static void poster_write_code(struct html *html, const char *value)
{
    static const char marks[] = "./-";
    size_t bytes = strlen(value);
    size_t end;

    html_raw(html, bytes > POSTER_LONGEST_BYTES ? "<bdi class=\"code longest\">"
                   : bytes > POSTER_LONG_BYTES  ? "<bdi class=\"code long\">"
                                                : "<bdi class=\"code\">");
    for (size_t begin = 0; begin < bytes; begin = end) {
        end = begin + strcspn(value + begin, marks);
        end += strspn(value + end, marks);
        html_text(html, value + begin, end - begin);
        html_raw(html, end < bytes ? "<wbr>" : "");
    }
    html_raw(html, "</bdi></p>\n");
}

/* Writes a text in both languages of the sheet, each in an element of its own. */
static void poster_write_text(struct html *html, const struct page *page,
                              const struct page_poster *poster, const char *key)
{
    lang_write_element(html, page->lang, "p", NULL, key);
    if (poster->second != NULL) {
        html_raw(html, "<p");
        write_language(html, poster->second);
        lang_write_between(html, poster->second, ">", key, "");
        html_raw(html, "</p>\n");
    }
}

/* Writes a paragraph that says what a code is, in both languages where their words differ. */
static void poster_write_value(struct html *html, const struct page *page,
                               const struct page_poster *poster, const char *key, const char *value)
{
    const char *word = lang_text(page->lang, key);

    html_between(html, "<p>", word, "");
    if (poster->second != NULL && strcmp(word, lang_text(poster->second, key)) != 0) {
        html_raw(html, " \xc2\xb7 <bdi");
        write_language(html, poster->second);
        lang_write_between(html, poster->second, ">", key, "");
        html_raw(html, "</bdi>");
    }
    html_raw(html, ": ");
    poster_write_code(html, value);
}

/* Writes what people may type: the name, and the address of the code without the digits behind it,
 * where that is another one. */
static void poster_write_addresses(struct html *html, const struct page *page,
                                   const struct page_poster *poster)
{
    char name[PAGE_NAME_LINK_BYTES];
    char address[PAGE_NAME_LINK_BYTES];

    (void)snprintf(name, sizeof(name), "http://%s/", page->name);
    (void)snprintf(address, sizeof(address), "%.*s", (int)strcspn(poster->url, "?"), poster->url);
    poster_write_value(html, page, poster, "poster.address", name);
    if (strcmp(name, address) != 0) {
        html_raw(html, "<p>");
        poster_write_code(html, address);
    }
}

/* Writes a code and what to do with it, in `lang` and in `second`, which may be NULL, up to what
 * stands below. */
static void poster_begin_code(struct html *html, const struct page *page, const struct lang *lang,
                              const struct lang *second, const char *step, const char *key,
                              const char *svg)
{
    html_raw(html, "<div class=\"card\"");
    if (lang != page->lang) {
        write_language(html, lang);
    }
    html_raw(html, ">\n");
    if (svg != NULL) {
        html_raw(html, "<div aria-hidden=\"true\">");
        html_raw(html, svg);
        html_raw(html, "</div>\n");
    }
    html_raw(html, "<h2>");
    html_raw(html, step);
    lang_write(html, lang, key, NULL);
    if (second != NULL) {
        html_raw(html, "\n<span");
        write_language(html, second);
        html_raw(html, ">");
        html_raw(html, step);
        lang_write_between(html, second, "", key, "</span>");
    }
    html_raw(html, "</h2>\n");
}

static void poster_write_join(struct html *html, const struct page *page,
                              const struct page_poster *poster)
{
    poster_begin_code(html, page, page->lang, poster->second, "1. ", "poster.join",
                      poster->join_svg);
    poster_write_value(html, page, poster, "poster.network", poster->ssid);
    if (poster->password != NULL && poster->password[0] != '\0') {
        poster_write_value(html, page, poster, "poster.password", poster->password);
    } else {
        poster_write_text(html, page, poster, "poster.no_password");
    }
    html_raw(html, "</div>\n");
}

/* Writes a link to the sheet with another second language; `lang` that of the page: with none. */
static void poster_write_choice(struct html *html, const struct page *page, const struct lang *lang,
                                bool is_current)
{
    struct view view = *page->view;
    struct page other = *page;

    (void)snprintf(view.second, sizeof(view.second), "%s", lang_tag(lang));
    other.view = &view;
    html_raw(html, "<a");
    page_write_href(html, &other, "/poster");
    if (lang != page->lang) {
        html_attribute(html, "lang", lang_tag(lang));
    }
    html_raw(html, is_current ? " aria-current=\"true\">" : ">");
    html_string(html, lang == page->lang ? lang_text(page->lang, "poster.none") : lang_name(lang));
    html_raw(html, "</a>\n");
}

/* What the operator chooses before the sheet is printed. */
static void poster_write_choices(struct html *html, const struct page *page,
                                 const struct page_poster *poster)
{
    const struct lang *current = poster->second != NULL ? poster->second : page->lang;

    html_raw(html, "<nav class=\"langs noprint\" aria-labelledby=\"second\">");
    lang_write_between(html, page->lang, "<span id=\"second\">", "poster.second", "</span>\n");
    poster_write_choice(html, page, page->lang, current == page->lang);
    for (size_t i = 0; i < lang_count(); i++) {
        if (lang_at(i) != page->lang) {
            poster_write_choice(html, page, lang_at(i), current == lang_at(i));
        }
    }
    html_raw(html, "</nav>\n");
}

void page_write_poster(struct html *html, const struct page *page, const struct page_poster *poster)
{
    bool has_join = poster->ssid != NULL && poster->ssid[0] != '\0';
    bool has_second = poster->second != NULL && poster->second_svg != NULL;

    page_begin_poster(html, page);
    poster_write_choices(html, page, poster);
    html_raw(html, has_second ? "<div class=\"poster two\">\n" : "<div class=\"poster\">\n");
    poster_write_text(html, page, poster, "poster.intro");
    poster_write_text(html, page, poster, "poster.what");
    html_raw(html, "<div class=\"codes\">\n");
    if (has_join) {
        poster_write_join(html, page, poster);
    }
    poster_begin_code(html, page, page->lang, NULL, has_join ? "2. " : "", "poster.open",
                      poster->open_svg);
    poster_write_addresses(html, page, poster);
    html_raw(html, "</div>\n");
    if (has_second) {
        poster_begin_code(html, page, poster->second, NULL, has_join ? "2. " : "", "poster.open",
                          poster->second_svg);
        html_raw(html, "</div>\n");
    }
    html_raw(html, "</div>\n");
    if (has_join && poster->join_svg != NULL && poster->open_svg != NULL) {
        poster_write_text(html, page, poster, "poster.help");
    }
    html_raw(html, "</div>\n<div class=\"noprint\">");
    page_write_back(html, page);
    html_raw(html, "</div>\n");
    page_end(html, page, 0);
}
