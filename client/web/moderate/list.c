/* SPDX-License-Identifier: Apache-2.0 */
/* list: the messages of the moderators' page, in the lists of page.h. */
#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "client/web/form.h"
#include "client/web/moderate/inner.h"
#include "client/web/page.h"

enum {
    REASON_CHARACTERS_MAX = 1000,
    REASON_LINES_MAX = 8,
    /* The page has at most so many bytes behind a list, times the place of the list. The longest
     * text, at most 5 bytes for a character and 30 for a line, fits with all of its reasons. */
    LIST_BYTES = HTML_BYTES_MAX / (DESK_LISTS + 2) /* the list of all messages is one, too */
};

/* A kind of a later version counts as another one. */
static size_t known_kind(size_t kind)
{
    return kind < FORM_REPORT_KINDS ? kind : (size_t)HEARSAY_REPORT_OTHER_KIND;
}

/* The page of phones says "me". */
const char *desk_kind_key(size_t kind)
{
    return kind == HEARSAY_REPORT_ABOUT_ME ? "moderate.about_me"
                                           : form_report_kinds[known_kind(kind)].key;
}

/* --- messages --------------------------------------------------------------------------------- */

/* Writes a text of others, with a sign where it is cut. */
static void write_message(struct html *html, const char *text, size_t count, size_t characters_max,
                          size_t lines_max)
{
    if (!html_message(html, text, count, characters_max, lines_max)) {
        html_raw(html, "<p>\xe2\x80\xa6</p>");
    }
}

static void write_text(struct html *html, const struct desk *desk,
                       const struct hearsay_reported_message *reported)
{
    const struct hearsay_bytes *payload = &reported->payload;
    const char *type = reported->media_type.text;

    html_raw(html, "<div class=\"text\">");
    if (reported->payload_omitted) {
        lang_write_element(html, desk->lang, "p", NULL, "item.omitted");
    } else if (type != NULL && strncmp(type, "text/plain", 10) != 0) {
        lang_write_between(html, desk->lang, "<p class=\"soft\">", "item.kind", " (<bdi>");
        html_string(html, type);
        html_raw(html, "</bdi>)</p>");
    } else {
        /* Whatever guests can read, or a guest could hide a text from the moderators only. */
        write_message(html, payload->count > 0 ? (const char *)payload->data : "", payload->count,
                      PAGE_MESSAGE_CHARACTERS, PAGE_MESSAGE_LINES);
    }
    html_raw(html, "</div>\n");
}

static void write_state(struct html *html, const struct desk *desk,
                        const struct hearsay_reported_message *reported, bool is_of_all)
{
    bool is_about = !desk->is_clock_trusted;

    html_raw(html, "<div class=\"meta\"><p>");
    if (reported->destroyed_ms > 0) {
        html_raw(html, "<b>");
        lang_write_with_until(html, desk->lang, "moderate.removed",
                              desk_seconds(desk->now_ms, reported->destroyed_ms), is_about);
        html_raw(html, "</b>\n");
    } else if (reported->hidden && !reported->pending) {
        lang_write_element(html, desk->lang, "b", NULL, "moderate.hidden");
    } else if (reported->pending && is_of_all) {
        lang_write_element(html, desk->lang, "b", NULL, "moderate.waits");
    }
    if (reported->reports > 0) {
        html_raw(html, "<b>");
        lang_write_count(html, desk->lang, "moderate.reports", reported->reports);
        html_raw(html, "</b>\n");
    }
    html_raw(html, "<span>");
    lang_write_ago(html, desk->lang, desk_seconds(reported->deposited_ms, desk->now_ms), is_about);
    html_raw(html, "</span>\n<span>");
    lang_write_gone(html, desk->lang, desk_seconds(desk->now_ms, reported->expires_ms), is_about);
    html_raw(html, "</span></p></div>\n");
}

/* How many of the reasons that are known have a kind. */
static size_t count_kind(const struct hearsay_reported_message *reported, size_t kind)
{
    size_t count = 0;

    for (size_t i = 0; i < reported->reason_count; i++) {
        count += known_kind(reported->reasons[i].kind) == kind;
    }
    return count;
}

/* Writes each kind with how often it was said, and behind it what reporters said to it. */
static void write_reasons(struct html *html, const struct desk *desk,
                          const struct hearsay_reported_message *reported)
{
    if (reported->reason_count == 0) {
        return;
    }
    html_raw(html, "<ul class=\"plain\">\n");
    for (size_t kind = 1; kind < FORM_REPORT_KINDS; kind++) {
        if (count_kind(reported, kind) == 0) {
            continue;
        }
        html_raw(html, "<li>");
        html_number(html, count_kind(reported, kind));
        html_raw(html, " \xc3\x97 ");
        desk_words(html, desk, desk_kind_key(kind));
        for (size_t i = 0; i < reported->reason_count; i++) {
            const struct hearsay_report_reason *reason = &reported->reasons[i];

            if (known_kind(reason->kind) == kind && reason->text.text != NULL) {
                html_raw(html, "<div class=\"soft text\">");
                write_message(html, reason->text.text, reason->text.length, REASON_CHARACTERS_MAX,
                              REASON_LINES_MAX);
                html_raw(html, "</div>");
            }
        }
        html_raw(html, "</li>\n");
    }
    html_raw(html, "</ul>\n");
}

/* The kind that most reporters named; 0: none is known. */
static size_t worst_kind(const struct hearsay_reported_message *reported)
{
    size_t worst = 0;
    size_t most = 0;

    for (size_t kind = 1; kind < FORM_REPORT_KINDS; kind++) {
        size_t count = count_kind(reported, kind);

        worst = count > most ? kind : worst;
        most = count > most ? count : most;
    }
    return worst;
}

/* Begins a label for the field of a message, and ends it. */
static void label_write(struct html *html, const struct desk *desk, const char *key,
                        const char *field, const char *name)
{
    html_raw(html, "<label for=\"");
    html_raw(html, field);
    html_raw(html, name);
    lang_write_between(html, desk->lang, "\">", key, "</label>\n");
}

static void write_kinds(struct html *html, const struct desk *desk,
                        const struct hearsay_reported_message *reported, const char *name)
{
    size_t chosen = worst_kind(reported);

    label_write(html, desk, "moderate.why", "why-", name);
    html_raw(html, "<select name=\"why\" id=\"why-");
    html_raw(html, name);
    lang_write_between(html, desk->lang, "\">\n<option value=\"\">", "moderate.why_none",
                       "</option>\n");
    for (size_t kind = 1; kind < FORM_REPORT_KINDS; kind++) {
        html_raw(html, "<option");
        html_attribute(html, "value", form_report_kinds[kind].word);
        html_raw(html, kind == chosen ? " selected>" : ">");
        desk_words(html, desk, desk_kind_key(kind));
        html_raw(html, "</option>\n");
    }
    html_raw(html, "</select>\n");
}

/* A message of a list. The list of all messages may have one that stands in another list, too. */
struct item {
    const struct hearsay_reported_message *reported;
    bool is_of_all;
    char id[SECRET_HEX_BYTES];
    char place[DESK_PLACE_BYTES]; /* in the list of all messages */
};

/* Begins a form about a message. */
static void item_form_begin(struct html *html, const struct desk *desk, const struct item *item)
{
    desk_form_begin(html, desk, "acts", item->is_of_all ? item->place : NULL);
    desk_hidden(html, "id", item->id);
    if (item->is_of_all) {
        desk_hidden(html, "p", desk->page);
    }
}

/* Writes what removes a message, behind one tap more. A form of its own: where Enter is pressed in
 * a field, a browser presses the first button of the form, which must do what the field is for. */
static void write_removal(struct html *html, const struct desk *desk, const struct item *item)
{
    const char *name = item->is_of_all ? item->place : item->id;

    lang_write_between(html, desk->lang, "<details>\n<summary>", "moderate.more", "</summary>\n");
    item_form_begin(html, desk, item);
    write_kinds(html, desk, item->reported, name);
    label_write(html, desk, "moderate.reason", "reason-", name);
    html_raw(html, "<input type=\"text\" name=\"reason\" maxlength=\"100\" dir=\"auto\" "
                   "id=\"reason-");
    html_raw(html, name);
    html_raw(html, "\">\n<div class=\"check\"><input type=\"checkbox\" name=\"ban\" value=\"1\" "
                   "id=\"ban-");
    html_raw(html, name);
    html_raw(html, "\">");
    label_write(html, desk, "moderate.ban", "ban-", name);
    html_raw(html, "</div>\n");
    desk_button(html, desk, "button quiet", "remove", "moderate.remove");
    html_raw(html, "</form>\n</details>\n");
}

/* Writes the buttons. What is fine is said where the reasons of the reports stand. */
static void write_buttons(struct html *html, const struct desk *desk, const struct item *item)
{
    const struct hearsay_reported_message *reported = item->reported;

    item_form_begin(html, desk, item);
    html_raw(html, "<p class=\"row\">\n");
    if (!reported->hidden) {
        desk_button(html, desk, item->is_of_all ? "chip" : "button", "hide", "moderate.hide");
    }
    if (reported->hidden || !item->is_of_all) {
        desk_button(html, desk, item->is_of_all ? "chip" : "button quiet", "show",
                    reported->hidden ? "moderate.show" : "moderate.fine");
    }
    html_raw(html, "</p>\n</form>\n");
    if (reported->destroyed_ms == 0) {
        write_removal(html, desk, item);
    }
}

static void item_init(struct item *item, const struct hearsay_reported_message *reported,
                      bool is_of_all)
{
    item->reported = reported;
    item->is_of_all = is_of_all;
    secret_write_hex(reported->id.data, item->id);
    desk_name_place(item->id, item->place);
}

/* Writes a message with what is said about it; notice->key NULL: nothing. */
static void write_item(struct html *html, const struct desk *desk, const struct item *item,
                       const struct desk_notice *notice)
{
    html_raw(html, "<li");
    if (item->is_of_all) {
        html_attribute(html, "id", item->place);
    }
    html_raw(html, ">\n");
    if (notice->key != NULL) {
        desk_say(html, desk, notice);
    }
    write_text(html, desk, item->reported);
    write_state(html, desk, item->reported, item->is_of_all);
    if (!item->is_of_all) {
        write_reasons(html, desk, item->reported);
    }
    write_buttons(html, desk, item);
    html_raw(html, "</li>\n");
}

/* What is said in the list of all messages, and at which of them. */
struct said {
    const char *place;
    const struct desk_notice *notice;
};

/* Writes as many messages as the page has room for up to `end` bytes, and one at least. Returns how
 * many. `said` NULL: another list. */
static size_t write_items(struct html *html, const struct desk *desk,
                          const struct hearsay_reported_list *list, size_t end,
                          const struct said *said)
{
    static const struct desk_notice nothing = {.key = NULL};
    size_t shown = 0;

    html_raw(html, "<ol class=\"list\">\n");
    for (; shown < list->message_count; shown++) {
        size_t before = html->count;
        struct item item;

        item_init(&item, &list->messages[shown], said != NULL);
        bool is_said = said != NULL && strcmp(item.place, said->place) == 0;
        write_item(html, desk, &item, is_said ? said->notice : &nothing);
        if (html->count > end && shown > 0) {
            html_cut(html, before);
            break;
        }
    }
    html_raw(html, "</ol>\n");
    return shown;
}

/* Where the button to another page leads: the field of its form, what stands before the cursor in
 * the field, and the element that the browser goes to. */
struct turn {
    const char *field;
    const char *before;
    const char *place;
};

static void write_turn(struct html *html, const struct desk *desk, const struct turn *turn,
                       const struct hearsay_bytes *cursor, const char *key)
{
    char digits[2 * HEARSAY_CURSOR_BYTES + 1];
    char page[sizeof(digits) + 1];

    if (cursor->data == NULL || cursor->count > HEARSAY_CURSOR_BYTES) {
        return;
    }
    (void)sodium_bin2hex(digits, sizeof(digits), cursor->data, cursor->count);
    (void)snprintf(page, sizeof(page), "%.1s%s", turn->before, digits);
    desk_turn_begin(html, desk, "turn", desk_view_name(desk->view), turn->place);
    desk_hidden(html, turn->field, page);
    lang_write_between(html, desk->lang, "<button class=\"chip\">", key, "</button>\n</form>\n");
}

size_t desk_list(struct html *html, const struct desk *desk, enum desk_list list, bool is_first,
                 const struct hearsay_reported_list *found)
{
    static const char *const headings[DESK_LISTS] = {"moderate.reported", "moderate.pending",
                                                     "moderate.withheld"};
    static const struct turn turns[DESK_LISTS] = {
        {"q", "0", "list-0"}, {"q", "1", "list-1"}, {"q", "2", "list-2"}};

    /* Of one place nobody knows how many there are. */
    uint64_t total = found->total > 0 ? found->total : found->message_count;
    if (total == 0) {
        return 0;
    }
    html_raw(html, "<section");
    html_attribute(html, "id", turns[list].place);
    html_raw(html, ">\n<h2>");
    lang_write_count(html, desk->lang, headings[list], total);
    html_raw(html, "</h2>\n");
    size_t shown = write_items(html, desk, found, LIST_BYTES * ((size_t)list + 1), NULL);
    if (is_first && total > shown) {
        html_raw(html, "<p class=\"soft\">");
        lang_write_count(html, desk->lang, "moderate.rest", total - shown);
        html_raw(html, "</p>\n");
    }
    write_turn(html, desk, &turns[list], &found->next, "moderate.next");
    html_raw(html, "</section>\n");
    return shown;
}

/* --- all messages ----------------------------------------------------------------------------- */

size_t desk_all(struct html *html, const struct desk *desk,
                const struct hearsay_reported_list *list, const struct desk_act *act,
                const struct desk_notice *notice)
{
    static const struct turn turn = {"p", "", "all"};
    char place[DESK_PLACE_BYTES];
    size_t start = html->count;
    bool is_said = notice->key == NULL;
    struct item item;

    if (list->message_count == 0 && is_said) {
        return 0;
    }
    desk_name_place(act->id != NULL ? act->id : "", place);
    html_raw(html, "<section id=\"all\">\n");
    lang_write_element(html, desk->lang, "h2", NULL, "moderate.all");
    for (size_t i = 0; i < list->message_count && !is_said; i++) {
        item_init(&item, &list->messages[i], true);
        is_said = strcmp(item.place, place) == 0;
    }
    if (!is_said) {
        html_raw(html, "<div");
        html_attribute(html, "id", place);
        html_raw(html, ">\n");
        desk_say(html, desk, notice);
        html_raw(html, "</div>\n");
    }
    size_t shown = write_items(html, desk, list, start + LIST_BYTES, &(struct said){place, notice});
    html_raw(html, "<div class=\"tools\">\n");
    write_turn(html, desk, &turn, &list->previous, "moderate.newer");
    write_turn(html, desk, &turn, &list->next, "moderate.older");
    html_raw(html, "</div>\n</section>\n");
    return shown;
}
