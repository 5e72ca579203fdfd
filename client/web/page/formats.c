/* SPDX-License-Identifier: Apache-2.0 */
/* The list for programs: as text for a terminal, as JSON, and as a feed (Atom, RFC 4287). */
#include <stdio.h>
#include <string.h>

#include "client/web/page/inner.h"
#include "client/web/plain.h"

enum {
    FORMAT_LINES_MAX = 40, /* of a message as text; the rest is on its page */
    FORMAT_TITLE_CHARACTERS = 60,
    FORMAT_PATH_BYTES = 512,
    /* From so many bytes on JSON says of further texts no more than how long they are. */
    FORMAT_JSON_BYTES = HTML_BYTES_MAX / 2,
    FORMAT_JSON_CHARACTER_BYTES = 6, /* most bytes that a byte of a text takes */
    FORMAT_UUID_GROUPS = 5
};

/* --- text ------------------------------------------------------------------------------------- */

static void text_write_line(struct html *html, const struct page *page, const char *key)
{
    lang_write_between(html, page->lang, "", key, "\n");
}

static void text_write_notices(struct html *html, const struct page *page)
{
    for (size_t i = 0; i < page->notice_count; i++) {
        const struct hearsay_house_notice *notice = &page->notices[i];

        if (!page_has_notice(page, notice)) {
            continue;
        }
        html_raw(html, "\n");
        text_write_line(html, page, "house.heading");
        (void)plain_message(html, notice->text.text, strlen(notice->text.text),
                            PAGE_TEXT_CHARACTERS, FORMAT_LINES_MAX);
    }
}

static void text_write_message(struct html *html, const struct page *page,
                               const struct board_message *message)
{
    bool is_about = !page->is_clock_trusted;
    char path[PAGE_PATH_BYTES];
    bool is_whole = false;

    html_raw(html, "\n");
    if (message->host != NULL) {
        plain_string(html, message->host);
        html_raw(html, ", ");
    }
    lang_write_ago(html, page->lang, page_seconds_since(page, message->deposited_ms), is_about);
    html_raw(html, ", ");
    lang_write_gone(html, page->lang, page_seconds_until(page, message->expires_ms), is_about);
    html_raw(html, "\n");
    if (message->text != NULL) {
        is_whole = plain_message(html, message->text, message->bytes, PAGE_TEXT_CHARACTERS,
                                 FORMAT_LINES_MAX);
    } else {
        html_raw(html, "  ");
        text_write_line(html, page, message->is_omitted ? "item.omitted" : "item.kind");
    }
    if (!is_whole) {
        page_path_of(message->id, path);
        lang_write_between(html, page->lang, "  ", "item.more", ": ");
        html_raw(html, path);
        html_raw(html, "\n");
    }
}

void page_write_text(struct html *html, const struct page *page, const struct board_list *list)
{
    struct view older = *page->view;
    bool is_filtered = older.topic_count > 0 || older.is_now;
    char url[VIEW_URL_BYTES];

    plain_string(html, page->title);
    html_raw(html, "\n");
    if (list->count > 0) {
        lang_write_count(html, page->lang, "list.count", list->count);
        html_raw(html, "\n");
    } else {
        text_write_line(html, page, is_filtered ? "list.empty_filter" : "list.empty");
    }
    if (list->age_ms > PAGE_STALE_MS) {
        text_write_line(html, page, "list.stale");
    }
    text_write_notices(html, page);
    for (size_t i = 0; i < list->count; i++) {
        text_write_message(html, page, &list->messages[i]);
    }
    if (page_older_of(list, &older)) {
        view_write(&older, url);
        lang_write_between(html, page->lang, "\n", "list.older", ": ");
        html_raw(html, url);
        html_raw(html, "\n");
    }
}

/* --- JSON ------------------------------------------------------------------------------------- */

/* Writes `,"name":` and a text; NULL or "": nothing. */
static void json_write_text(struct html *html, const char *name, const char *text)
{
    if (text != NULL && text[0] != '\0') {
        html_raw(html, ",\"");
        html_raw(html, name);
        html_raw(html, "\":");
        plain_json(html, text, strlen(text));
    }
}

static void json_write_time(struct html *html, const char *name, int64_t ms)
{
    html_raw(html, ",\"");
    html_raw(html, name);
    html_raw(html, "\":\"");
    plain_time(html, ms);
    html_raw(html, "\"");
}

static void json_write_message(struct html *html, const struct board_message *message)
{
    char id[PAGE_ID_TEXT_BYTES];
    char distance[32];
    uint32_t distance_ppm = HEARSAY_DISTANCE_ONE - message->similarity_ppm;

    page_hex_of(message->id, id);
    (void)snprintf(distance, sizeof(distance), "%u.%06u",
                   (unsigned)(distance_ppm / HEARSAY_DISTANCE_ONE),
                   (unsigned)(distance_ppm % HEARSAY_DISTANCE_ONE));
    html_raw(html, "{\"id\":\"");
    html_raw(html, id);
    html_raw(html, "\",\"distance\":");
    html_raw(html, distance);
    json_write_time(html, "deposited", message->deposited_ms);
    json_write_time(html, "expires", message->expires_ms);
    json_write_text(html, "type", message->media_type);
    json_write_text(html, "host", message->host);
    if (message->text != NULL &&
        html->count + FORMAT_JSON_CHARACTER_BYTES * message->bytes < FORMAT_JSON_BYTES) {
        html_raw(html, ",\"text\":");
        plain_json(html, message->text, message->bytes);
    } else {
        html_raw(html, ",\"payload_omitted\":true");
    }
    html_raw(html, "}");
}

static void json_write_notices(struct html *html, const struct page *page)
{
    bool is_first = true;

    html_raw(html, ",\"notices\":[");
    for (size_t i = 0; i < page->notice_count; i++) {
        const struct hearsay_house_notice *notice = &page->notices[i];

        if (!page_has_notice(page, notice)) {
            continue;
        }
        html_raw(html, is_first ? "{\"notice\":" : ",{\"notice\":");
        is_first = false;
        html_number(html, notice->number);
        json_write_text(html, "text", notice->text.text);
        json_write_text(html, "lang", notice->lang.text);
        json_write_time(html, "since", notice->since_ms);
        if (notice->until_ms != 0) {
            json_write_time(html, "until", notice->until_ms);
        }
        html_raw(html, "}");
    }
    html_raw(html, "]");
}

void page_write_json(struct html *html, const struct page *page, const struct board_list *list)
{
    struct view older = *page->view;
    char url[VIEW_URL_BYTES];

    html_raw(html, "{\"title\":");
    plain_json(html, page->title, strlen(page->title));
    json_write_time(html, "now", list->now_ms);
    html_raw(html, page->is_clock_trusted ? ",\"clock_trusted\":true" : ",\"clock_trusted\":false");
    html_raw(html, list->age_ms > PAGE_STALE_MS ? ",\"stale\":true" : "");
    html_raw(html, list->is_partial ? ",\"partial\":true" : "");
    html_raw(html, ",\"sealed\":");
    html_number(html, list->sealed);
    json_write_notices(html, page);
    html_raw(html, ",\"messages\":[");
    for (size_t i = 0; i < list->count; i++) {
        html_raw(html, i > 0 ? ",\n" : "\n");
        json_write_message(html, &list->messages[i]);
    }
    html_raw(html, "]");
    if (page_older_of(list, &older)) {
        view_write(&older, url);
        html_raw(html, ",\"older\":\"/list.json");
        html_raw(html, url + 1);
        html_raw(html, "\"");
    }
    html_raw(html, "}\n");
}

/* --- the feed --------------------------------------------------------------------------------- */

/* Writes <id> with the 32 hexadecimal digits of a UUID. */
static void feed_write_id(struct html *html, const char *digits)
{
    static const int lengths[FORMAT_UUID_GROUPS] = {8, 4, 4, 4, 12};
    char group[16];

    html_raw(html, "<id>urn:uuid:");
    for (size_t i = 0; i < FORMAT_UUID_GROUPS; i++) {
        (void)snprintf(group, sizeof(group), "%s%.*s", i > 0 ? "-" : "", lengths[i], digits);
        html_raw(html, group);
        digits += lengths[i];
    }
    html_raw(html, "</id>\n");
}

/* The name of the feed of a view: the same for each language and after each restart. */
static void feed_write_own_id(struct html *html, const struct page *page)
{
    uint8_t hash[HEARSAY_HASH_BYTES];
    char digits[PAGE_ID_TEXT_BYTES];
    char text[VIEW_URL_BYTES + VIEW_STORE_BYTES];
    char url[VIEW_URL_BYTES];
    struct view view = *page->view;

    view.language[0] = '\0';
    view.store[0] = '\0';
    view.before_ms = INT64_MAX;
    view_write(&view, url);
    (void)snprintf(text, sizeof(text), "%s%s", page->store, url);
    hearsay_hash((const uint8_t *)text, strlen(text), hash);
    page_hex_of(hash, digits);
    feed_write_id(html, digits);
}

static void feed_write_time(struct html *html, const char *element, int64_t ms)
{
    html_raw(html, "<");
    html_raw(html, element);
    html_raw(html, ">");
    plain_time(html, ms);
    html_raw(html, "</");
    html_raw(html, element);
    html_raw(html, ">\n");
}

/* Writes <link>; `target` begins with a slash. */
static void feed_write_link(struct html *html, const char *attributes, const char *host,
                            const char *path, const char *query)
{
    html_raw(html, "<link");
    html_raw(html, attributes);
    html_between(html, " href=\"http://", host, "");
    html_string(html, path);
    html_between(html, "", query, "\"/>\n");
}

/* The first line of a text, of at most FORMAT_TITLE_CHARACTERS characters. */
static void feed_write_title(struct html *html, const struct board_message *message)
{
    size_t line = 0;
    size_t characters = 0;

    while (line < message->bytes && message->text[line] != '\n' && message->text[line] != '\r') {
        characters += (message->text[line] & 0xc0) != 0x80;
        if (characters > FORMAT_TITLE_CHARACTERS) {
            break;
        }
        line++;
    }
    html_text(html, message->text, line);
    html_raw(html,
             line < message->bytes && characters > FORMAT_TITLE_CHARACTERS ? "\xe2\x80\xa6" : "");
}

static void feed_write_entry(struct html *html, const struct page *page,
                             const struct board_message *message, const char *host)
{
    char mark[PAGE_ID_TEXT_BYTES];
    char path[PAGE_PATH_BYTES];
    char url[FORMAT_PATH_BYTES];
    struct view view = *page->view;
    struct page there = *page;

    page_mark_of(message->id, message->host != NULL ? message->host : "", mark);
    page_path_of(message->id, path);
    (void)snprintf(url, sizeof(url), "http://%s%s", host, path);
    (void)snprintf(view.at, sizeof(view.at), "%s", message->host != NULL ? message->host : "");
    there.view = &view;
    html_raw(html, "<entry>\n");
    feed_write_id(html, mark);
    html_raw(html, "<title>");
    if (message->text != NULL) {
        feed_write_title(html, message);
    } else {
        lang_write(html, page->lang, message->is_omitted ? "item.omitted" : "item.kind", NULL);
    }
    lang_write_between(html, page->lang, "</title>\n<author><name>", "feed.author",
                       "</name></author>\n"); /* else it is the author of the feed */
    feed_write_time(html, "published", message->deposited_ms);
    feed_write_time(html, "updated", message->deposited_ms);
    html_raw(html, "<link");
    page_write_href(html, &there, url);
    html_raw(html, "/>\n<content type=\"text\">");
    if (message->text != NULL) {
        html_textarea(html, message->text, message->bytes);
    }
    html_raw(html, "</content>\n</entry>\n");
}

void page_write_feed(struct html *html, const struct page *page, const struct board_list *list,
                     const char *host)
{
    char url[VIEW_URL_BYTES];
    int64_t updated_ms = list->count > 0 ? 0 : list->now_ms;

    for (size_t i = 0; i < list->count; i++) {
        int64_t ms = list->messages[i].deposited_ms;
        updated_ms = ms > updated_ms ? ms : updated_ms;
    }
    view_write(page->view, url);
    html_raw(html, "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"
                   "<feed xmlns=\"http://www.w3.org/2005/Atom\">\n");
    feed_write_own_id(html, page);
    html_between(html, "<title>", page->title, "</title>\n");
    feed_write_time(html, "updated", updated_ms);
    feed_write_link(html, " rel=\"self\" type=\"application/atom+xml\"", host, "/feed", url + 1);
    feed_write_link(html, " rel=\"alternate\" type=\"text/html\"", host, "/", url + 1);
    for (size_t i = 0; i < list->count; i++) {
        feed_write_entry(html, page, &list->messages[i], host);
    }
    html_raw(html, "</feed>\n");
}
