/* SPDX-License-Identifier: Apache-2.0 */
/* other: the notices, the bans and the decisions on the moderators' page. */
#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "client/web/moderate/inner.h"

enum {
    HANDLE_DIGITS = 8, /* of a ban, to tell it from others, as `hearsay admin bans` prints it */
    WHAT_BYTES = 2 * HEARSAY_FILTER_BYTES_MAX + 2
};

static void write_ago(struct html *html, const struct desk *desk, int64_t time_ms)
{
    html_raw(html, "<span>");
    lang_write_ago(html, desk->lang, desk_seconds(time_ms, desk->now_ms), !desk->is_clock_trusted);
    html_raw(html, "</span>\n");
}

static void begin_list(struct html *html, const struct desk *desk, const char *key, bool is_empty)
{
    html_raw(html, "<section>\n");
    lang_write_element(html, desk->lang, "h2", NULL, key);
    if (is_empty) {
        lang_write_element(html, desk->lang, "p", "soft", "moderate.none");
    }
    html_raw(html, "<ol class=\"list\">\n");
}

/* Ends the list, with a button to the next page where there is one: its address says `next`. */
static void end_list(struct html *html, const struct desk *desk, bool has_more, uint64_t next)
{
    html_raw(html, "</ol>\n");
    if (has_more) {
        char page[24];

        (void)snprintf(page, sizeof(page), "%llu", (unsigned long long)next);
        desk_turn_begin(html, desk, "turn", desk_view_name(desk->view), NULL);
        desk_hidden(html, "p", page);
        lang_write_between(html, desk->lang, "<button class=\"chip\">", "moderate.next",
                           "</button>\n</form>\n");
    }
    html_raw(html, "</section>\n");
}

/* --- notices ---------------------------------------------------------------------------------- */

static void write_notice(struct html *html, const struct desk *desk,
                         const struct hearsay_house_notice *notice)
{
    char number[12];

    (void)snprintf(number, sizeof(number), "%u", (unsigned)notice->number);
    html_raw(html, "<li>\n<div class=\"text\">");
    (void)html_message(html, notice->text.text, notice->text.length, 0, 0);
    html_raw(html, "</div>\n<p class=\"soft facts\">");
    write_ago(html, desk, notice->since_ms);
    html_raw(html, "<span>");
    if (notice->until_ms != 0) {
        lang_write_gone(html, desk->lang, desk_seconds(desk->now_ms, notice->until_ms),
                        !desk->is_clock_trusted);
    } else {
        desk_words(html, desk, "moderate.no_end");
    }
    html_raw(html, "</span>\n");
    if (notice->lang.text != NULL) {
        html_between(html, "<span><bdi>", notice->lang.text, "</bdi></span>\n");
    }
    if (notice->place.text != NULL) {
        html_raw(html, "<b>");
        lang_write(html, desk->lang, "moderate.only_at", notice->place.text);
        html_raw(html, "</b>\n");
    }
    html_raw(html, "</p>\n");
    desk_form_begin(html, desk, "acts", NULL);
    desk_hidden(html, "number", number);
    html_raw(html, "<p class=\"row\">\n");
    desk_button(html, desk, "button quiet", "unnotice", "moderate.take_down");
    html_raw(html, "</p>\n</form>\n</li>\n");
}

static void write_ends(struct html *html, const struct desk *desk)
{
    static const unsigned hours[] = {1, 3, 6, 12, 24, 72, 168};
    char value[12];

    lang_write_between(html, desk->lang, "<label for=\"until\">", "moderate.until",
                       "</label>\n<select name=\"until\" id=\"until\">\n<option value=\"\">");
    desk_words(html, desk, "moderate.no_end");
    html_raw(html, "</option>\n");
    for (size_t i = 0; i < sizeof(hours) / sizeof(hours[0]); i++) {
        (void)snprintf(value, sizeof(value), "%u", hours[i] * 3600);
        html_raw(html, "<option");
        html_attribute(html, "value", value);
        html_raw(html, hours[i] == 3 ? " selected>" : ">");
        lang_write_lasts(html, desk->lang, (uint64_t)hours[i] * 3600);
        html_raw(html, "</option>\n");
    }
    html_raw(html, "</select>\n");
}

static void write_languages(struct html *html, const struct desk *desk)
{
    lang_write_between(html, desk->lang, "<label for=\"lang\">", "moderate.language",
                       "</label>\n<select name=\"lang\" id=\"lang\">\n<option value=\"\">");
    desk_words(html, desk, "moderate.why_none");
    html_raw(html, "</option>\n");
    for (size_t i = 0; i < lang_count(); i++) {
        html_raw(html, "<option");
        html_attribute(html, "value", lang_tag(lang_at(i)));
        html_attribute(html, "lang", lang_tag(lang_at(i)));
        html_between(html, ">", lang_name(lang_at(i)), "</option>\n");
    }
    html_raw(html, "</select>\n");
}

void desk_notices(struct html *html, const struct desk *desk, const struct hearsay_noticed *found,
                  const char *text)
{
    begin_list(html, desk, "house.heading", found->notice_count == 0);
    for (size_t i = 0; i < found->notice_count; i++) {
        write_notice(html, desk, &found->notices[i]);
    }
    end_list(html, desk, false, 0);
    html_raw(html, "<section>\n");
    lang_write_element(html, desk->lang, "h2", NULL, "moderate.write");
    desk_form_begin(html, desk, "card", NULL);
    lang_write_between(html, desk->lang, "<label for=\"text\">", "moderate.notice_text",
                       "</label>\n<input type=\"text\" name=\"text\" id=\"text\" required "
                       "dir=\"auto\" maxlength=\"");
    html_number(html, HEARSAY_NOTICE_BYTES_MAX);
    html_raw(html, "\"");
    html_attribute(html, "value", text);
    html_raw(html, ">\n");
    write_ends(html, desk);
    write_languages(html, desk);
    if (desk->places[0] != '\0') {
        desk_places(html, desk, "at", "moderate.all_places", "");
    }
    lang_write_element(html, desk->lang, "p", "help", "moderate.notice_help");
    desk_button(html, desk, "button", "notice", "moderate.put_up");
    html_raw(html, "</form>\n</section>\n");
}

/* --- bans ------------------------------------------------------------------------------------- */

static void write_ban(struct html *html, const struct desk *desk,
                      const struct hearsay_ban_entry *ban)
{
    bool is_text = ban->payload_hash.data != NULL;
    const struct hearsay_bytes *bytes = is_text ? &ban->payload_hash : &ban->filter;
    uint8_t hash[HEARSAY_HASH_BYTES];
    char handle[2 * HEARSAY_HASH_BYTES + 1];
    char what[WHAT_BYTES] = {is_text ? 't' : 'c'};

    if (bytes->data == NULL || bytes->count > HEARSAY_FILTER_BYTES_MAX ||
        (is_text && bytes->count != sizeof(hash))) {
        return;
    }
    (void)sodium_bin2hex(what + 1, sizeof(what) - 1, bytes->data, bytes->count);
    if (is_text) {
        memcpy(hash, bytes->data, sizeof(hash));
    } else {
        hearsay_hash(bytes->data, bytes->count, hash);
    }
    (void)sodium_bin2hex(handle, sizeof(handle), hash, sizeof(hash));
    handle[HANDLE_DIGITS] = '\0';
    html_raw(html, "<li>\n<p class=\"soft facts\"><b>");
    desk_words(html, desk, is_text ? "moderate.ban_text" : "moderate.ban_context");
    html_between(html, "</b>\n<span><bdi>", handle, "</bdi></span>\n");
    write_ago(html, desk, ban->since_ms);
    html_raw(html, "</p>\n");
    desk_form_begin(html, desk, "acts", NULL);
    desk_hidden(html, "what", what);
    html_raw(html, "<p class=\"row\">\n");
    desk_button(html, desk, "button quiet", "unban", "moderate.lift");
    html_raw(html, "</p>\n</form>\n</li>\n");
}

void desk_bans(struct html *html, const struct desk *desk, const struct hearsay_ban_list *found,
               uint64_t skipped)
{
    size_t count = found->ban_count < DESK_BANS ? found->ban_count : DESK_BANS;

    begin_list(html, desk, "moderate.bans", count == 0);
    for (size_t i = 0; i < count; i++) {
        write_ban(html, desk, &found->bans[i]);
    }
    end_list(html, desk, found->more || found->ban_count > count, skipped + count);
    lang_write_element(html, desk->lang, "p", "soft", "moderate.bans_help");
}

/* --- decisions -------------------------------------------------------------------------------- */

/* Writes what was done in words; a word that a later hearsayd has as it is. */
static void write_act(struct html *html, const struct desk *desk, const char *act)
{
    static const char *const words[] = {
        "hide",     "remove",      "restore",       "ban",           "unban",      "notice",
        "unnotice", "accept-open", "accept-review", "accept-closed", "accept-auto"};
    char key[40] = "";

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(act, words[i]) == 0) {
            (void)snprintf(key, sizeof(key), "moderate.did_%s", act);
            if (strchr(key, '-') != NULL) {
                *strchr(key, '-') = '_'; /* as keys have it */
            }
            desk_words(html, desk, key);
            return;
        }
    }
    html_between(html, "<bdi>", act, "</bdi>");
}

static void write_decision(struct html *html, const struct desk *desk,
                           const struct hearsay_decision *decision)
{
    char value[2 * HEARSAY_ID_BYTES + 1] = "";

    html_raw(html, "<li>\n<p class=\"soft facts\"><b>");
    write_act(html, desk, decision->act.text != NULL ? decision->act.text : "");
    html_raw(html, "</b>\n");
    write_ago(html, desk, decision->time_ms);
    html_raw(html, "<span>");
    if (decision->web || decision->uid == HEARSAY_UID_HUB) {
        desk_words(html, desk, decision->web ? "moderate.by_page" : "moderate.by_hub");
    } else {
        (void)snprintf(value, sizeof(value), "%u", (unsigned)decision->uid);
        lang_write(html, desk->lang, "moderate.by_command", value);
    }
    html_raw(html, "</span>\n");
    if (decision->reports > 0) {
        html_raw(html, "<span>");
        lang_write_count(html, desk->lang, "moderate.reports", decision->reports);
        html_raw(html, "</span>\n");
    }
    if (decision->kind > 0) {
        html_raw(html, "<span>");
        desk_words(html, desk, desk_kind_key((size_t)decision->kind));
        html_raw(html, "</span>\n");
    }
    html_raw(html, "</p>\n");
    if (decision->reason.text != NULL) {
        html_raw(html, "<div class=\"text\">");
        (void)html_message(html, decision->reason.text, decision->reason.length, 0, 0);
        html_raw(html, "</div>\n");
    }
    if (decision->id.data != NULL) {
        (void)sodium_bin2hex(value, sizeof(value), decision->id.data, HEARSAY_ID_BYTES);
        html_between(html, "<p class=\"soft\"><bdi>", value, "</bdi></p>\n");
    }
    html_raw(html, "</li>\n");
}

void desk_log(struct html *html, const struct desk *desk, const struct hearsay_decision_list *found)
{
    size_t count = found->decision_count;

    begin_list(html, desk, "moderate.log", count == 0);
    for (size_t i = count; i > 0; i--) {
        write_decision(html, desk, &found->decisions[i - 1]);
    }
    end_list(html, desk, count > 0 && found->more, count > 0 ? found->decisions[0].number : 0);
}
