/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "client/web/page/inner.h"
#include "client/web/statics.h"

static const char title_dot[] = " \xc2\xb7 "; /* between the parts of a title */

/* --- pieces ----------------------------------------------------------------------------------- */

void page_write_kept_fields(struct html *html, const struct page *page)
{
    if (page->view->host[0] != '\0') {
        html_hidden(html, "h", page->view->host);
    }
    if (page->view->language[0] != '\0') {
        html_hidden(html, "l", page->view->language);
    }
    if (page->view->is_hood) {
        html_hidden(html, "a", "1");
    }
}

void page_write_hidden_hole(struct html *html, const char *name, enum html_hole kind)
{
    html_raw(html, "<input type=\"hidden\"");
    html_attribute(html, "name", name);
    html_raw(html, " value=\"");
    html_hole(html, kind);
    html_raw(html, "\">");
}

void page_write_form_fields(struct html *html, const struct page *page)
{
    page_write_kept_fields(html, page);
    html_hidden(html, "place", page->store == NULL ? "" : page->store);
    page_write_hidden_hole(html, "f", HTML_HOLE_TOKEN);
}

static void href_add(struct html *html, const char *name, const char *value, bool *is_first)
{
    if (value[0] != '\0') {
        html_raw(html, *is_first ? "?" : "&amp;");
        html_raw(html, name);
        html_url(html, value, strlen(value));
        *is_first = false;
    }
}

void page_write_href(struct html *html, const struct page *page, const char *path)
{
    bool is_first = true;

    html_raw(html, " href=\"");
    html_string(html, path);
    href_add(html, "h=", page->view->host, &is_first);
    href_add(html, "l=", page->view->language, &is_first);
    href_add(html, "and=", strcmp(path, "/poster") == 0 ? page->view->second : "", &is_first);
    href_add(html, "place=", strcmp(path, "/poster") == 0 ? page->view->place_name : "", &is_first);
    if (page->view->at[0] != '\0') { /* says `a`, too */
        href_add(html, "at=", page->view->at, &is_first);
    } else {
        href_add(html, "a=", page->view->is_hood ? "1" : "", &is_first);
    }
    href_add(html, "p=", page->view->store, &is_first);
    html_raw(html, "\"");
}

void page_write_view_href(struct html *html, const struct view *view)
{
    char url[VIEW_URL_BYTES];

    view_write(view, url);
    html_attribute(html, "href", url);
}

void page_write_value(struct html *html, const struct page *page, const char *key,
                      const char *value)
{
    html_raw(html, "<p>");
    lang_write(html, page->lang, key, value);
    html_raw(html, "</p>\n");
}

void page_write_view_link(struct html *html, const struct page *page, const char *begin,
                          const struct view *view, const char *key)
{
    html_raw(html, begin);
    page_write_view_href(html, view);
    lang_write_between(html, page->lang, ">", key, "</a></p>\n");
}

void page_write_back(struct html *html, const struct page *page)
{
    page_write_view_link(html, page, "<p><a class=\"link\"", page->view, "message.back");
}

void page_write_name(struct html *html, const struct page *page)
{
    char url[PAGE_NAME_LINK_BYTES];

    (void)snprintf(url, sizeof(url), "http://%s/", page->name);
    html_raw(html, "<p><a class=\"link code\" dir=\"ltr\"");
    html_attribute(html, "href", url);
    html_between(html, ">", url, "</a></p>\n");
}

void page_hex_of(const uint8_t *id, char *out_text)
{
    (void)sodium_bin2hex(out_text, PAGE_ID_TEXT_BYTES, id, HEARSAY_ID_BYTES);
}

void page_mark_of(const uint8_t *id, const char *host, char *out_text)
{
    uint8_t bytes[HEARSAY_ID_BYTES + VIEW_HOST_BYTES];
    uint8_t hash[HEARSAY_HASH_BYTES];
    size_t length = strnlen(host, VIEW_HOST_BYTES);

    memcpy(bytes, id, HEARSAY_ID_BYTES);
    memcpy(bytes + HEARSAY_ID_BYTES, host, length);
    hearsay_hash(bytes, HEARSAY_ID_BYTES + length, hash);
    page_hex_of(length == 0 ? id : hash, out_text);
}

void page_path_of(const uint8_t *id, char *out_path)
{
    memcpy(out_path, "/m/", 3);
    page_hex_of(id, out_path + 3);
}

void page_write_plurals(struct html *html, const struct page *page, const char *name,
                        const char *key)
{
    static const char *const categories[] = {"one", "two", "few", "many"};
    char whole_key[64];
    char whole_name[64];
    const char *other;

    (void)snprintf(whole_key, sizeof(whole_key), "%s.other", key);
    (void)snprintf(whole_name, sizeof(whole_name), "data-%s", name);
    other = lang_text(page->lang, whole_key);
    html_attribute(html, whole_name, other);
    for (size_t i = 0; i < sizeof(categories) / sizeof(categories[0]); i++) {
        (void)snprintf(whole_key, sizeof(whole_key), "%s.%s", key, categories[i]);
        (void)snprintf(whole_name, sizeof(whole_name), "data-%s-%s", name, categories[i]);
        if (lang_has(page->lang, whole_key) &&
            strcmp(lang_text(page->lang, whole_key), other) != 0) {
            html_attribute(html, whole_name, lang_text(page->lang, whole_key));
        }
    }
}

/* --- times ------------------------------------------------------------------------------------ */

uint64_t page_seconds_until(const struct page *page, int64_t ms)
{
    return ms <= page->now_ms ? 0 : ((uint64_t)ms - (uint64_t)page->now_ms) / 1000;
}

uint64_t page_seconds_since(const struct page *page, int64_t ms)
{
    return ms >= page->now_ms ? 0 : ((uint64_t)page->now_ms - (uint64_t)ms) / 1000;
}

/* Begins a time in words, which the script brings up to date. A <time> would need a date that
 * nobody sees. */
static void time_begin(struct html *html, int64_t ms)
{
    html_raw(html, "<i data-ms=\"");
    html_number(html, ms < 0 ? 0 : (uint64_t)ms);
    html_raw(html, "\">");
}

void page_write_comma(struct html *html, const struct page *page)
{
    lang_write(html, page->lang, "item.comma", NULL);
    html_raw(html, " ");
}

void page_write_times(struct html *html, const struct page *page,
                      const struct board_message *message)
{
    bool is_about = !page->is_clock_trusted;

    time_begin(html, message->deposited_ms);
    lang_write_ago(html, page->lang, page_seconds_since(page, message->deposited_ms), is_about);
    html_raw(html, "</i>");
    page_write_comma(html, page);
    time_begin(html, message->expires_ms);
    lang_write_gone(html, page->lang, page_seconds_until(page, message->expires_ms), is_about);
    html_raw(html, "</i>");
}

void page_write_kind(struct html *html, const struct page *page,
                     const struct board_message *message)
{
    lang_write_between(html, page->lang, "", "item.kind", " (<bdi>");
    html_string(html, message->media_type);
    html_raw(html, "</bdi>, <bdi>");
    lang_write_count(html, page->lang, "item.bytes", message->bytes);
    html_raw(html, "</bdi>)");
}

void page_write_where(struct html *html, const struct page *page, const char *host)
{
    html_raw(html, "<bdi>");
    if (host == NULL) {
        lang_write(html, page->lang, "hood.here", NULL);
    } else {
        html_string(html, host);
    }
    html_raw(html, "</bdi>");
    page_write_comma(html, page);
}

/* --- the frame -------------------------------------------------------------------------------- */

/* Writes ` NAME="/s/.../FILE"`. */
static void static_write_link(struct html *html, const struct page *page, const char *attribute,
                              const struct statics_file *file)
{
    html_raw(html, " ");
    html_raw(html, attribute);
    html_raw(html, "=\"");
    html_string(html, page->statics);
    html_string(html, file->name);
    html_raw(html, "\"");
}

static void head_write_statics(struct html *html, const struct page *page)
{
    const struct statics_file *style = statics_find("style.css");
    const struct statics_file *icon = statics_find("favicon.svg");
    const struct statics_file *script = statics_find("script.js");

    html_raw(html, "<link rel=\"stylesheet\"");
    static_write_link(html, page, "href", style);
    html_attribute(html, "integrity", style->integrity);
    html_raw(html, ">\n<link rel=\"icon\" type=\"image/svg+xml\""); /* browsers check no icon */
    static_write_link(html, page, "href", icon);
    html_raw(html, ">\n");
    if (script != NULL) {
        html_raw(html, "<script defer");
        static_write_link(html, page, "src", script);
        html_attribute(html, "integrity", script->integrity);
        html_raw(html, "></script>\n");
    }
}

/* Begins a document up to the inside of <title>. */
static void head_begin(struct html *html, const struct lang *lang)
{
    html_raw(html, "<!DOCTYPE html>\n<html");
    html_attribute(html, "lang", lang_tag(lang));
    html_attribute(html, "dir", lang_is_right_to_left(lang) ? "rtl" : "ltr");
    html_raw(html, ">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
                   "content=\"width=device-width, initial-scale=1\">\n<title>");
}

static void head_end_title(struct html *html, const char *title)
{
    html_string(html, title);
    html_raw(html, "</title>\n");
}

void page_write_head(struct html *html, const struct lang *lang, const char *heading,
                     const char *title)
{
    head_begin(html, lang);
    lang_write_between(html, lang, "", heading, title_dot);
    head_end_title(html, title);
}

size_t page_topic_find(const struct page *page, const char *topic)
{
    size_t i = 0;

    while (i < page->topics->count && strcmp(page->topics->all[i].normalised, topic) != 0) {
        i++;
    }
    return i;
}

/* Writes the head of a list, whose title says which messages it has, since all lists have one
 * heading. */
static void head_write_list(struct html *html, const struct page *page)
{
    const struct view *view = page->view;

    head_begin(html, page->lang);
    for (size_t i = 0; i < view->topic_count; i++) {
        size_t at = page_topic_find(page, view->topics[i]);

        html_string(html, at < page->topics->count ? page->topics->all[at].text : view->topics[i]);
        html_raw(html, title_dot);
    }
    if (view->is_now) {
        lang_write_between(html, page->lang, "", "topics.now", title_dot);
    }
    if (view->before_ms != INT64_MAX) {
        lang_write_between(html, page->lang, "", "list.older", title_dot);
    }
    if (view->order == VIEW_NEAREST) {
        lang_write_between(html, page->lang, "", "order.nearest", title_dot);
    }
    head_end_title(html, page->title);
}

/* Writes the links to this page in each language. They stand first on the page, where they are
 * found by who cannot read the rest. */
static void head_write_languages(struct html *html, const struct page *page, const char *path)
{
    html_raw(html, "<nav class=\"langs\"");
    html_attribute(html, "aria-label", lang_text(page->lang, "language.label"));
    html_raw(html, ">");
    for (size_t i = 0; i < lang_count(); i++) {
        const struct lang *lang = lang_at(i);
        struct view view = *page->view;
        struct page other = *page;

        (void)snprintf(view.language, sizeof(view.language), "%s", lang_tag(lang));
        other.view = &view;
        html_raw(html, "<a");
        if (path == NULL) {
            page_write_view_href(html, &view);
        } else {
            page_write_href(html, &other, path);
        }
        html_attribute(html, "lang", lang_tag(lang));
        html_raw(html, lang == page->lang ? " aria-current=\"true\">" : ">");
        html_string(html, lang_name(lang));
        html_raw(html, "</a>\n");
    }
    html_raw(html, "</nav>\n");
}

/* Writes a document up to the inside of <header>. `heading` NULL: of a list; `path` may be NULL. */
static void page_begin_document(struct html *html, const struct page *page, const char *heading,
                                const char *path)
{
    if (heading != NULL) {
        page_write_head(html, page->lang, heading, page->title);
    } else {
        head_write_list(html, page);
    }
    html_raw(html, "<meta name=\"color-scheme\" content=\"light dark\">\n");
    head_write_statics(html, page);
    html_raw(html, "</head>\n<body");
    html_attribute(html, "data-store", page->store == NULL ? "" : page->store);
    html_raw(html, " data-key=\"");
    html_hole(html, HTML_HOLE_KEY);
    html_raw(html, "\"");
    if (page->now_ms > 0) {
        html_raw(html, " data-now=\"");
        html_number(html, (uint64_t)page->now_ms);
        html_raw(html, "\"");
    }
    lang_write_between(html, page->lang, ">\n<p class=\"over\"><a class=\"skip\" href=\"#main\">",
                       "skip", "</a></p>\n<header class=\"top\">\n");
    head_write_languages(html, page, path);
}

/* Writes a document up to the inside of <main>. */
static void page_begin_main(struct html *html, const struct page *page, const char *heading,
                            const char *path)
{
    page_begin_document(html, page, heading, path);
    html_raw(html, "<p><a class=\"place\"");
    page_write_view_href(html, page->view);
    html_between(html, "><bdi>", page->title,
                 "</bdi></a></p>\n</header>\n<main id=\"main\" tabindex=\"-1\">\n");
}

void page_begin(struct html *html, const struct page *page, const char *heading, const char *path)
{
    page_begin_main(html, page, heading, path);
    lang_write_element(html, page->lang, "h1", NULL, heading);
}

void page_begin_poster(struct html *html, const struct page *page)
{
    page_begin_main(html, page, "poster.heading", "/poster");
    if (page->view->place_name[0] != '\0') {
        html_between(html, "<h1 class=\"where\"><bdi>", page->view->place_name, "</bdi></h1>\n");
    } else {
        lang_write_element(html, page->lang, "h1", NULL, "poster.heading");
    }
}

/* Writes what the page is, in a line. */
static void subtitle_write(struct html *html, const struct page *page)
{
    if (page->subtitle != NULL) {
        html_between(html, "<p class=\"soft\"><bdi>", page->subtitle, "</bdi></p>\n");
    } else {
        lang_write_element(html, page->lang, "p", "soft", "list.subtitle");
    }
}

void page_begin_list(struct html *html, const struct page *page)
{
    page_begin_document(html, page, NULL, NULL);
    html_raw(html, "<div>\n<h1><a");
    page_write_href(html, page, "/");
    html_between(html, "><bdi>", page->title, "</bdi></a></h1>\n");
    if (page->view->place_name[0] != '\0') {
        html_between(html, "<p class=\"where\"><bdi>", page->view->place_name, "</bdi></p>\n");
    }
    subtitle_write(html, page);
    html_raw(html, "</div>\n</header>\n<main id=\"main\" tabindex=\"-1\">\n");
}

static void footer_write_link(struct html *html, const struct page *page, const char *path,
                              const char *key)
{
    html_raw(html, "<li><a class=\"link\"");
    page_write_href(html, page, path);
    lang_write_between(html, page->lang, ">", key, "</a></li>\n");
}

void page_end(struct html *html, const struct page *page, size_t sealed)
{
    html_raw(html, "</main>\n<footer class=\"foot\">\n");
    lang_write_element(html, page->lang, "p", NULL, "footer.line");
    if (sealed > 0) {
        html_raw(html, "<p>");
        lang_write_count(html, page->lang, "footer.sealed", sealed);
        html_raw(html, "</p>\n");
    }
    html_raw(html, "<ul>\n");
    footer_write_link(html, page, "/about", "footer.about");
    footer_write_link(html, page, "/poster", "footer.poster");
    html_raw(html, "</ul>\n");
    html_raw(html, "</footer>\n</body>\n</html>\n");
}
