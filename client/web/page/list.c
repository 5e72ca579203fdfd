/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "client/web/page/inner.h"

enum {
    NEAR_PPM = 227500, /* similarity from which a message is near: the default bound of hosts */
    VERY_NEAR_PPM = 600000, /* and very near */
    LIST_LINES_MAX = 12,    /* of a message in a list; style.css cuts it off at that height */
    LIST_LINE_LETTERS = 28  /* about as many fit a line of a screen of 320 pixels */
};

/* --- one message ------------------------------------------------------------------------------ */

/* 1: further away, 2: near, 3: very near. */
static unsigned message_band(const struct board_message *message)
{
    if (message->similarity_ppm >= VERY_NEAR_PPM) {
        return 3;
    }
    return message->similarity_ppm >= NEAR_PPM ? 2 : 1;
}

static void item_write_nearness(struct html *html, const struct page *page,
                                const struct board_message *message)
{
    static const char *const keys[] = {"near.far", "near.near", "near.very"};

    page_write_comma(html, page);
    lang_write(html, page->lang, keys[message_band(message) - 1], NULL);
}

/* Begins the heading of a message, which is its first line and the link to its page. style.css
 * stretches the link over the card. */
static void item_begin_heading(struct html *html, const struct page *page,
                               const struct board_message *message)
{
    char path[PAGE_PATH_BYTES];
    struct view view;
    struct page there = *page;

    if (message->host != NULL) {
        view = *page->view;
        (void)snprintf(view.at, sizeof(view.at), "%s", message->host);
        there.view = &view;
    }
    page_path_of(message->id, path);
    html_raw(html, "<h3><a");
    page_write_href(html, &there, path);
    html_raw(html, ">");
}

/*
 * How many ASCII letters a character is as wide as. A guess by its first two bytes: 18 for a
 * ligature of a whole sentence, such as U+FDFD, 4 for a cuneiform sign, 2 for all other characters
 * beyond ASCII.
 */
static size_t letter_width(unsigned char byte, unsigned char next)
{
    if (byte < 0x80) {
        return 1;
    }
    if (byte < 0xc0) { /* not the first byte */
        return 0;
    }
    if (byte == 0xef && next == 0xb7) {
        return 18;
    }
    return byte == 0xf0 && next == 0x92 ? 4 : 2;
}

/*
 * Whether a text takes more than LIST_LINES_MAX lines on a small screen, so that style.css cuts it
 * off. Without a script no page knows how high a text is, so the widths of letters are guessed. A
 * word that does not fit begins the next line. Several empty lines count as one. On a larger screen
 * "Read on" may stand below a text that is whole.
 */
static bool text_is_high(const char *text, size_t count)
{
    size_t lines = 0;
    size_t letters = 0; /* of this line */
    size_t word = 0;    /* of its last word */
    size_t gap = 0;     /* 1: an empty line is before this one */

    for (size_t i = 0; i < count; i++) {
        unsigned char byte = (unsigned char)text[i];
        unsigned char next = i + 1 < count ? (unsigned char)text[i + 1] : 0;
        size_t width = letter_width(byte, next);

        if (byte == '\r' && next == '\n') {
            continue;
        }
        if (byte == '\n' || byte == '\r') {
            gap = lines > 0 && letters == 0;
            letters = 0;
            word = 0;
            continue;
        }
        lines += letters == 0 ? 1 + gap : 0;
        gap = 0;
        letters += width;
        word = byte == ' ' ? 0 : word + width;
        if (letters > LIST_LINE_LETTERS && byte != ' ') {
            lines++;
            word = word <= LIST_LINE_LETTERS ? word : width;
            letters = word;
        }
    }
    return lines > LIST_LINES_MAX;
}

/* Writes the text of a message, or what stands for it. Whether that is all of it. */
static bool item_write_text(struct html *html, const struct page *page,
                            const struct board_message *message)
{
    static const char heading_end[] = "</a></h3>";
    bool is_whole = true;

    item_begin_heading(html, page, message);
    if (message->text != NULL) {
        is_whole = html_message_within(html, heading_end, message->text, message->bytes,
                                       PAGE_TEXT_CHARACTERS, LIST_LINES_MAX) &&
                   !text_is_high(message->text, message->bytes);
    } else if (message->is_omitted) {
        is_whole = false;
        lang_write(html, page->lang, "item.omitted", NULL);
        html_raw(html, heading_end);
    } else {
        page_write_kind(html, page, message);
        html_raw(html, heading_end);
    }
    return is_whole;
}

/* One message as an item of the list. */
static void write_item(struct html *html, const struct page *page,
                       const struct board_message *message, bool shows_nearness)
{
    char id[PAGE_ID_TEXT_BYTES];

    html_raw(html, "<li");
    if (message->host != NULL) { /* else the script takes the id of the link */
        page_mark_of(message->id, message->host, id);
        html_raw(html, " id=\"m-");
        html_raw(html, id);
        html_raw(html, "\"");
    }
    html_raw(html, "><div>");
    bool is_whole = item_write_text(html, page, message);
    html_raw(html, "</div><p class=\"meta\">");
    if (page->view->is_hood) {
        page_write_where(html, page, message->host);
    }
    page_write_times(html, page, message);
    if (shows_nearness) {
        item_write_nearness(html, page, message);
    }
    for (size_t i = 0; i < page->topics->count; i++) {
        if ((message->topics >> i & 1U) != 0) {
            html_between(html, " <bdi>", page->topics->all[i].text, "</bdi>");
        }
    }
    if (message->answer_count > 0) {
        html_raw(html, " <b>");
        lang_write_count(html, page->lang, "item.answers", message->answer_count);
        html_raw(html, "</b>");
    }
    if (!is_whole) {
        lang_write_between(html, page->lang, " <b>", "item.more", "</b>");
    }
    html_raw(html, "</p></li>");
}

/* --- order and topics ------------------------------------------------------------------------- */

/* `description`: an attribute of the link, or "". */
static void chip_write_link(struct html *html, const struct page *page, const struct view *view,
                            bool is_current, const char *description, const char *key)
{
    html_raw(html, "<li><a class=\"chip\"");
    page_write_view_href(html, view);
    html_raw(html, description);
    html_raw(html, is_current ? " aria-current=\"true\">" : ">");
    lang_write(html, page->lang, key, NULL);
    html_raw(html, "</a></li>");
}

static void order_write_link(struct html *html, const struct page *page, enum view_order order,
                             const char *key)
{
    struct view view = *page->view;

    view.order = order;
    view.before_ms = INT64_MAX;
    chip_write_link(html, page, &view, page->view->order == order, "", key);
}

static void hood_write_link(struct html *html, const struct page *page, bool is_hood,
                            const char *key)
{
    struct view view = *page->view;

    view.is_hood = is_hood;
    view.before_ms = INT64_MAX;
    chip_write_link(html, page, &view, page->view->is_hood == is_hood,
                    is_hood ? " aria-describedby=\"hood\"" : "", key);
}

/* The choice of the hood, and what "around here" does: said before anything is asked. */
static void hood_write(struct html *html, const struct page *page)
{
    if (!page->has_hood) {
        return;
    }
    html_raw(html, "<div class=\"tools\"><nav");
    html_attribute(html, "aria-label", lang_text(page->lang, "hood.label"));
    html_raw(html, "><ul>");
    hood_write_link(html, page, false, "hood.here");
    hood_write_link(html, page, true, "hood.around");
    lang_write_between(html, page->lang, "</ul></nav><p class=\"help\" id=\"hood\">", "hood.help",
                       "</p></div>\n");
}

/* Writes a chip that leads to the view without what it says. `attributes` of the link, or "". */
static void chip_write(struct html *html, const struct page *page, const struct view *without,
                       const char *attributes, const char *says)
{
    html_raw(html, "<li><a class=\"chip\"");
    page_write_view_href(html, without);
    html_raw(html, attributes);
    html_between(html, "><bdi>", says, "</bdi>");
    lang_write_between(html, page->lang, " <span class=\"unseen\">", "topics.remove",
                       "</span><span aria-hidden=\"true\">\xc3\x97</span></a></li>\n");
}

/* The view without its topic `at`. */
static struct view view_without(const struct view *view, size_t at)
{
    struct view without = *view;

    without.topic_count--;
    without.before_ms = INT64_MAX;
    memmove(without.topics[at], without.topics[at + 1],
            (view->topic_count - at - 1) * sizeof(without.topics[0]));
    return without;
}

/* The topics that are offered: a tap shows the messages with one, or takes it away again. */
static void topics_write(struct html *html, const struct page *page)
{
    if (page->topics->count == 0) {
        return;
    }
    html_raw(html, "<nav");
    html_attribute(html, "aria-label", lang_text(page->lang, "form.topics"));
    html_raw(html, "><ul>");
    for (size_t i = 0; i < page->topics->count; i++) {
        const struct topic *topic = &page->topics->all[i];
        struct view view = *page->view;
        size_t at = view_find_topic(&view, topic->normalised);

        if (at < view.topic_count) {
            view = view_without(&view, at);
            chip_write(html, page, &view, " aria-current=\"true\"", topic->text);
            continue;
        }
        view.topic_count = 1;
        view.before_ms = INT64_MAX;
        memcpy(view.topics[0], topic->normalised, strlen(topic->normalised) + 1);
        html_raw(html, "<li><a");
        page_write_view_href(html, &view);
        html_between(html, ">", topic->text, "</a></li>");
    }
    html_raw(html, "</ul></nav>\n");
}

/* What is chosen besides the topics that are offered. Where some are, the choice of the order
 * stands behind "More". */
static void chips_write(struct html *html, const struct page *page)
{
    const struct view *view = page->view;
    bool is_nearest = view->order == VIEW_NEAREST && page->topics->count > 0;
    size_t count = (size_t)view->is_now + is_nearest;

    for (size_t i = 0; i < view->topic_count; i++) {
        count += page_topic_find(page, view->topics[i]) == page->topics->count;
    }
    if (count == 0) {
        return;
    }
    html_raw(html, "<ul");
    html_attribute(html, "aria-label", lang_text(page->lang, "topics.chosen"));
    html_raw(html, ">\n");
    for (size_t i = 0; i < view->topic_count; i++) {
        struct view without = view_without(view, i);

        if (page_topic_find(page, view->topics[i]) == page->topics->count) {
            chip_write(html, page, &without, "", view->topics[i]);
        }
    }
    if (view->is_now) {
        struct view without = *view;

        without.is_now = false;
        without.before_ms = INT64_MAX;
        chip_write(html, page, &without, "", lang_text(page->lang, "topics.now"));
    }
    if (is_nearest) {
        struct view without = *view;

        without.order = VIEW_NEWEST;
        chip_write(html, page, &without, "", lang_text(page->lang, "order.nearest"));
    }
    html_raw(html, "</ul>\n");
}

static void topics_write_form(struct html *html, const struct page *page)
{
    const struct view *view = page->view;

    if (view->topic_count >= VIEW_TOPICS_MAX) {
        return;
    }
    html_raw(html, "<form method=\"get\" action=\"/\">");
    page_write_kept_fields(html, page);
    for (size_t i = 0; i < view->topic_count; i++) {
        html_hidden(html, "t", view->topics[i]);
    }
    if (view->order == VIEW_NEAREST) {
        html_hidden(html, "o", "near");
    }
    if (view->is_now) {
        html_hidden(html, "now", "1");
    }
    html_hidden(html, "p", view->store);
    lang_write_between(html, page->lang, "<div class=\"row\"><div><label for=\"topic\">",
                       "topics.label",
                       "</label>\n<input type=\"text\" id=\"topic\" name=\"t\" maxlength=\"60\" "
                       "dir=\"auto\" "
                       "aria-describedby=\"topic-help\"></div>\n<button class=\"button quiet\">");
    lang_write(html, page->lang, "topics.show", NULL);
    lang_write_between(html, page->lang, "</button>\n</div>\n<p class=\"help\" id=\"topic-help\">",
                       "topics.help", "</p>\n</form>\n");
}

/* Whether the messages fall into two bands or more. */
static bool list_shows_nearness(const struct board_list *list)
{
    for (size_t i = 1; i < list->count; i++) {
        if (message_band(&list->messages[i]) != message_band(&list->messages[0])) {
            return true;
        }
    }
    return false;
}

static void order_write(struct html *html, const struct page *page)
{
    html_raw(html, "<nav");
    html_attribute(html, "aria-label", lang_text(page->lang, "order.label"));
    html_raw(html, "><ul>");
    order_write_link(html, page, VIEW_NEWEST, "order.newest");
    order_write_link(html, page, VIEW_NEAREST, "order.nearest");
    html_raw(html, "</ul></nav>\n");
}

static void tools_write(struct html *html, const struct page *page, const struct board_list *list)
{
    bool has_order = page->view->order == VIEW_NEAREST || page->view->is_hood || list->has_older ||
                     list_shows_nearness(list); /* else both orders show the same, or nearly */
    bool has_topics = page->topics->count > 0;

    html_raw(html, "<div class=\"tools\">\n");
    if (has_order && !has_topics) {
        order_write(html, page);
    }
    topics_write(html, page);
    chips_write(html, page);
    lang_write_between(html, page->lang, "<details><summary>",
                       has_topics ? "topics.more" : "topics.open", "</summary>\n");
    if (has_order && has_topics) {
        order_write(html, page);
    }
    topics_write_form(html, page);
    html_raw(html, "</details>\n</div>\n");
}

/* --- the list --------------------------------------------------------------------------------- */

/* Written above messages, too: they may all leave an open page. */
static void list_write_empty(struct html *html, const struct page *page, bool is_hidden,
                             bool can_leave)
{
    bool is_filtered = page->view->topic_count > 0 || page->view->is_now;

    html_raw(html, is_hidden ? "<div class=\"empty\" id=\"empty\" hidden>\n"
                             : "<div class=\"empty\" id=\"empty\">\n");
    lang_write_element(html, page->lang, "p", NULL,
                       is_filtered ? "list.empty_filter" : "list.empty");
    if (is_filtered) {
        html_raw(html, "<p><a class=\"link\"");
        page_write_href(html, page, "/");
        lang_write_between(html, page->lang, ">", "list.everything", "</a></p>\n");
    } else if (can_leave) {
        lang_write_between(html, page->lang, "<p><a class=\"link\" href=\"#text\">",
                           "list.empty_hint", "</a></p>\n");
    }
    html_raw(html, "</div>\n");
}

void page_begin_news(struct html *html, const struct page *page, const char *key)
{
    html_raw(html, "<div role=\"status\" class=\"news\"><p id=\"said\" hidden");
    html_attribute(html, "data-lost", lang_text(page->lang, "list.lost"));
    html_raw(html, "></p><button class=\"button\" id=\"new\" hidden");
    page_write_plurals(html, page, "new", key);
    html_raw(html, "></button>");
}

/* The script shows the link there when a message that was left in this tab has new answers. */
static void list_write_news(struct html *html, const struct page *page)
{
    page_begin_news(html, page, "list.new");
    html_raw(html, "<a class=\"button\" id=\"answered\" hidden");
    page_write_href(html, page, "/m/");
    page_write_plurals(html, page, "new", "answers.new");
    html_raw(html, "></a></div>\n");
}

/* The words of times, for the script, which brings them up to date. */
static void list_write_words(struct html *html, const struct page *page)
{
    page_write_plurals(html, page, "minutes", "span.minutes");
    page_write_plurals(html, page, "hours", "span.hours");
    page_write_plurals(html, page, "days", "span.days");
    html_attribute(html, "data-ago", lang_text(page->lang, "ago"));
    html_attribute(html, "data-gone", lang_text(page->lang, "item.gone"));
    if (!page->is_clock_trusted) {
        html_attribute(html, "data-about", lang_text(page->lang, "time.about"));
    }
}

void page_write_items(struct html *html, const struct page *page, const struct board_list *list,
                      bool shows_nearness)
{
    size_t count = list != NULL ? list->count : 0;

    html_raw(html, "<ol class=\"list\" id=\"messages\"");
    html_attribute(html, "data-place", page->here);
    html_attribute(html, "data-new", lang_text(page->lang, "item.new"));
    html_attribute(html, "data-mine", lang_text(page->lang, "item.mine"));
    html_attribute(html, "data-back", lang_text(page->lang, "item.take_back"));
    html_attribute(html, "data-hidden", lang_text(page->lang, "list.hidden"));
    list_write_words(html, page);
    html_raw(html, count == 0 ? " hidden>\n" : ">\n");
    for (size_t i = 0; i < count; i++) {
        write_item(html, page, &list->messages[i], shows_nearness);
    }
    html_raw(html, "</ol>\n");
}

bool page_older_of(const struct board_list *list, struct view *view)
{
    if (!list->has_older || list->count == 0 || view->order != VIEW_NEWEST) {
        return false;
    }
    view->before_ms = list->older_before_ms != 0 ? list->older_before_ms
                                                 : list->messages[list->count - 1].deposited_ms;
    return true;
}

static void list_write_pages(struct html *html, const struct page *page,
                             const struct board_list *list)
{
    struct view view = *page->view;

    if (page->view->before_ms != INT64_MAX) {
        view.before_ms = INT64_MAX;
        page_write_view_link(html, page, "<p><a class=\"link\"", &view, "list.newest");
    }
    if (page_older_of(list, &view)) {
        page_write_view_link(html, page, "<p><a class=\"button quiet wide\" rel=\"next\"", &view,
                             "list.older");
    }
    if (page->view->order == VIEW_NEAREST && list->has_older) {
        view.order = VIEW_NEWEST;
        page_write_view_link(html, page, "<p><a class=\"button quiet wide\"", &view, "list.more");
    }
}

bool page_has_notice(const struct page *page, const struct hearsay_house_notice *notice)
{
    return (notice->until_ms == 0 || notice->until_ms > page->now_ms) &&
           view_is_at(page->view, notice->place.text);
}

/*
 * What the operator says. Nothing of a guest is ever written into this region. It is there without
 * notices, too, hidden, for the script, which fills it when there are some.
 */
static void list_write_house(struct html *html, const struct page *page)
{
    const struct hearsay_house_notice *notices = page->notices;
    size_t shown = 0;

    for (size_t i = 0; i < page->notice_count; i++) {
        shown += page_has_notice(page, &notices[i]);
    }
    html_raw(html, "<section class=\"card house\" id=\"house\" aria-live=\"polite\"");
    html_raw(html, shown == 0 ? " hidden>\n" : ">\n");
    lang_write_element(html, page->lang, "h2", NULL, "house.heading");
    for (size_t i = 0; i < page->notice_count; i++) {
        if (!page_has_notice(page, &notices[i])) {
            continue;
        }
        html_raw(html, "<p dir=\"auto\"");
        if (notices[i].lang.text != NULL) {
            html_attribute(html, "lang", notices[i].lang.text);
        }
        html_between(html, ">", notices[i].text.text, "</p>\n");
    }
    html_raw(html, "</section>\n");
}

static void list_write_stay(struct html *html, const struct page *page)
{
    if (!page->asks_to_stay) {
        return;
    }
    html_raw(html, "<form class=\"notice\" method=\"post\" action=\"/stay\">\n");
    lang_write_element(html, page->lang, "h2", NULL, "stay.heading");
    lang_write_element(html, page->lang, "p", NULL, "stay.help");
    page_write_kept_fields(html, page);
    page_write_hidden_hole(html, "f", HTML_HOLE_TOKEN);
    lang_write_element(html, page->lang, "button", "button", "stay.send");
    html_raw(html, "</form>\n");
}

static void list_write_body(struct html *html, const struct page *page,
                            const struct board_list *list, bool can_leave)
{
    hood_write(html, page);
    tools_write(html, page, list);
    if (list->age_ms > PAGE_STALE_MS) {
        html_raw(html, "<div class=\"notice\">");
        lang_write_element(html, page->lang, "p", NULL, "list.stale");
        html_raw(html, "</div>\n");
    }
    if (list->is_partial) {
        html_raw(html, "<div class=\"notice\">");
        lang_write_element(html, page->lang, "p", NULL, "hood.partial");
        html_raw(html, "</div>\n");
    }
    lang_write_element(html, page->lang, "h2", "unseen", "list.heading");
    list_write_news(html, page);
    /* The messages of a topic have it in common with the reader, so those of other places would be
     * near, too. */
    page_write_items(html, page, list, page->view->topic_count == 0 && list_shows_nearness(list));
    list_write_empty(html, page, list->count > 0, can_leave);
    list_write_pages(html, page, list);
}

void page_write_list(struct html *html, const struct page *page, const struct page_list *list)
{
    static const struct page_error away = {.notice = PAGE_AWAY};
    const struct page_error *error = list->error;

    if (error == NULL && list->list == NULL) {
        error = &away;
    }
    page_begin_list(html, page);
    list_write_house(html, page);
    if (error != NULL) {
        page_write_notice(html, page, error, list->form);
    }
    list_write_stay(html, page);
    page_write_form(html, page, list->form, error);
    if (list->list != NULL) {
        list_write_body(html, page, list->list, page_form_is_open(list->form));
    }
    page_end(html, page, list->list == NULL ? 0 : list->list->sealed);
}
