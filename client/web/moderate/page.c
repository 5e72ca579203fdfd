/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/moderate/page.h"

#include <stdio.h>
#include <string.h>

#include "client/web/moderate/inner.h"
#include "client/web/page.h"
#include "client/web/statics.h"

/* --- views ------------------------------------------------------------------------------------ */

static const char *const view_names[DESK_VIEWS] = {
    "", "reported", "waiting", "withheld", "all", "notices", "bans", "log",
};

const char *desk_view_name(enum desk_view view)
{
    return view_names[view];
}

enum desk_view desk_view_find(const char *name)
{
    size_t view = 0;

    while (view < DESK_VIEWS && strcmp(view_names[view], name) != 0) {
        view++;
    }
    return (enum desk_view)view;
}

/* --- pieces ----------------------------------------------------------------------------------- */

void desk_words(struct html *html, const struct desk *desk, const char *key)
{
    lang_write(html, desk->lang, key, NULL);
}

void desk_hidden(struct html *html, const char *name, const char *value)
{
    if (value != NULL && value[0] != '\0') {
        html_hidden(html, name, value);
    }
}

/* Writes an address of the page: behind the token, where somebody is logged in. */
static void write_address(struct html *html, const struct desk *desk, const char *name)
{
    if (desk->token[0] != '\0') {
        html_between(html, "/", desk->token, "");
    }
    html_between(html, "/", name, "");
}

/* Begins a form up to its address, whose name and element follow. */
static void form_open(struct html *html, const struct desk *desk, const char *start,
                      const char *name, const char *place)
{
    html_raw(html, start);
    html_raw(html, " action=\"");
    write_address(html, desk, name);
    if (place != NULL) {
        html_between(html, "#", place, "");
    }
    html_raw(html, "\"");
}

/*
 * Forms go to another address than the page's, because a browser that cannot send a form to the
 * address of the page would show its error instead of the page, and Back would lead past it.
 */
void desk_form_begin(struct html *html, const struct desk *desk, const char *class_name,
                     const char *place)
{
    form_open(html, desk, "<form method=\"post\"", DESK_ACTION, place);
    html_attribute(html, "class", class_name);
    html_raw(html, ">\n");
    desk_hidden(html, "l", desk->language);
    desk_hidden(html, "v", desk_view_name(desk->view));
    desk_hidden(html, "where", desk->where);
}

void desk_turn_begin(struct html *html, const struct desk *desk, const char *class_name,
                     const char *name, const char *place)
{
    form_open(html, desk, "<form", name, place);
    html_attribute(html, "class", class_name);
    html_raw(html, ">\n");
    desk_hidden(html, "l", desk->language);
    desk_hidden(html, "where", desk->where);
}

void desk_places(struct html *html, const struct desk *desk, const char *name, const char *key_all,
                 const char *chosen)
{
    char place[VIEW_PLACE_NAME_BYTES];

    html_between(html, "<label for=\"", name, "\">");
    lang_write_between(html, desk->lang, "", "moderate.where", "</label>\n<select");
    html_attribute(html, "name", name);
    html_attribute(html, "id", name);
    lang_write_between(html, desk->lang, ">\n<option value=\"\">", key_all, "</option>\n");
    for (const char *at = desk->places; *at != '\0';) {
        size_t length = strcspn(at, "\n");

        (void)snprintf(place, sizeof(place), "%.*s", (int)length, at);
        html_raw(html, "<option");
        html_attribute(html, "value", place);
        html_between(html, strcmp(place, chosen) == 0 ? " selected>" : ">", place, "</option>\n");
        at += length + 1;
    }
    html_raw(html, "</select>\n");
}

void desk_name_place(const char *id, char out_place[DESK_PLACE_BYTES])
{
    (void)snprintf(out_place, DESK_PLACE_BYTES, "m-%s", id);
}

void desk_button(struct html *html, const struct desk *desk, const char *class_name,
                 const char *value, const char *key)
{
    html_raw(html, "<button name=\"do\"");
    html_attribute(html, "value", value);
    html_attribute(html, "class", class_name);
    lang_write_between(html, desk->lang, ">", key, "</button>\n");
}

/* --- the frame -------------------------------------------------------------------------------- */

void desk_say(struct html *html, const struct desk *desk, const struct desk_notice *notice)
{
    html_raw(html, notice->is_bad ? "<div class=\"notice bad\" role=\"alert\"><p>"
                                  : "<div class=\"notice\" role=\"status\"><p>");
    if (notice->seconds > 0) {
        lang_write_with_until(html, desk->lang, notice->key, notice->seconds, false);
    } else {
        lang_write(html, desk->lang, notice->key, notice->value);
    }
    html_raw(html, "</p></div>\n");
}

/* Writes links to some views, the present one marked. `current`: which of them that is. */
static void write_links(struct html *html, const struct desk *desk, const char *label,
                        const enum desk_view *views, size_t count, enum desk_view current)
{
    char key[40];

    html_raw(html, "<nav class=\"tools\" aria-label=\"");
    desk_words(html, desk, label);
    html_raw(html, "\"><ul>\n");
    for (size_t i = 0; i < count; i++) {
        const char *name = desk_view_name(views[i]);

        (void)snprintf(key, sizeof(key), "moderate.view_%s",
                       name[0] != '\0'         ? name
                       : current == DESK_VIEWS ? "messages"
                                               : "decide");
        html_raw(html, "<li><a class=\"link\" href=\"");
        write_address(html, desk, name);
        if (desk->language[0] != '\0') {
            html_between(html, "?l=", desk->language, "");
        }
        if (desk->where[0] != '\0' && views[i] < DESK_VIEW_NOTICES) {
            html_raw(html, desk->language[0] != '\0' ? "&amp;where=" : "?where=");
            html_url(html, desk->where, strlen(desk->where));
        }
        bool is_current = current == DESK_VIEWS
                              ? views[i] == desk->view ||
                                    (views[i] == DESK_VIEW_DECIDE && desk->view < DESK_VIEW_NOTICES)
                              : views[i] == current;
        html_raw(html, is_current ? "\" aria-current=\"page\">" : "\">");
        desk_words(html, desk, key);
        html_raw(html, "</a></li>\n");
    }
    html_raw(html, "</ul></nav>\n");
}

/* Writes what chooses the place whose messages are shown. */
static void write_filter(struct html *html, const struct desk *desk)
{
    struct desk all = *desk;

    all.where = "";
    desk_turn_begin(html, &all, "row", desk_view_name(desk->view), NULL);
    html_raw(html, "<div>\n");
    desk_places(html, desk, "where", "moderate.all_places", desk->where);
    lang_write_between(html, desk->lang, "</div>\n<button class=\"chip\">", "moderate.filter",
                       "</button>\n</form>\n");
}

static void write_views(struct html *html, const struct desk *desk)
{
    static const enum desk_view parts[] = {DESK_VIEW_DECIDE, DESK_VIEW_NOTICES, DESK_VIEW_BANS,
                                           DESK_VIEW_LOG};
    static const enum desk_view kinds[] = {DESK_VIEW_DECIDE, DESK_VIEW_REPORTED, DESK_VIEW_PENDING,
                                           DESK_VIEW_WITHHELD, DESK_VIEW_ALL};

    write_links(html, desk, "moderate.parts", parts, sizeof(parts) / sizeof(parts[0]), DESK_VIEWS);
    if (desk->view < DESK_VIEW_NOTICES) {
        write_links(html, desk, "moderate.kinds", kinds, sizeof(kinds) / sizeof(kinds[0]),
                    desk->view);
        if (desk->places[0] != '\0') {
            write_filter(html, desk);
        }
    }
}

void desk_begin(struct html *html, const struct desk *desk, const struct desk_notice *notice)
{
    page_write_head(html, desk->lang, "moderate.heading", desk->title);
    html_raw(html, "<meta name=\"color-scheme\" content=\"light dark\">\n"
                   "<link rel=\"stylesheet\" href=\"/style.css\">\n"
                   "<link rel=\"stylesheet\" href=\"/moderate.css\">\n"
                   "<link rel=\"icon\" type=\"image/svg+xml\" href=\"/favicon.svg\">\n"
                   "<script src=\"/moderate.js\" defer");
    /* A hostile place with the same address may have given the browser a script of this name. */
    html_attribute(html, "integrity", statics_find("moderate.js")->integrity);
    html_raw(html, "></script>\n</head>\n<body");
    if (desk->token[0] != '\0') {
        html_attribute(html, "data-key", desk->key);
    }
    html_raw(html, ">\n<header class=\"top\">\n<div>\n");
    lang_write_element(html, desk->lang, "h1", NULL, "moderate.heading");
    html_between(html, "<p class=\"soft\"><bdi>", desk->title, "</bdi></p>\n</div>\n");
    if (desk->token[0] != '\0') {
        desk_turn_begin(html, desk, "tools", desk_view_name(desk->view), NULL);
        lang_write_between(html, desk->lang, "<button class=\"chip\">", "moderate.look",
                           "</button>\n</form>\n");
    }
    html_raw(html, "</header>\n");
    if (desk->token[0] != '\0') {
        write_views(html, desk);
    }
    html_raw(html, "<main>\n");
    if (notice->key != NULL) {
        desk_say(html, desk, notice);
    }
}

void desk_empty(struct html *html, const struct desk *desk)
{
    html_raw(html, "<div class=\"empty\">\n");
    lang_write_element(html, desk->lang, "p", NULL,
                       desk->view == DESK_VIEW_DECIDE ? "moderate.empty" : "moderate.none");
    html_raw(html, "</div>\n");
}

/* Keeps what was pressed, for the next request. */
static void keep_act(struct html *html, const struct desk_act *act)
{
    desk_hidden(html, "do", act->act);
    desk_hidden(html, "id", act->id);
    desk_hidden(html, "why", act->why);
    desk_hidden(html, "reason", act->reason);
    desk_hidden(html, "ban", act->ban);
    desk_hidden(html, "mode", act->mode);
    desk_hidden(html, "text", act->text);
    desk_hidden(html, "until", act->until);
    desk_hidden(html, "lang", act->lang);
    desk_hidden(html, "at", act->at);
    desk_hidden(html, "where", act->where);
    desk_hidden(html, "number", act->number);
    desk_hidden(html, "what", act->what);
    desk_hidden(html, "p", act->page);
}

void desk_end(struct html *html, const struct desk *desk, const struct desk_act *act)
{
    bool is_in = desk->token[0] != '\0';

    if (is_in && desk->view == DESK_VIEW_DECIDE) {
        html_raw(html, "<p class=\"soft\">");
        lang_write(html, desk->lang, "moderate.silent", "hearsay-notify");
        html_raw(html, "</p>\n");
    }
    html_raw(html, "</main>\n<footer class=\"foot\">\n");
    form_open(html, desk, is_in ? "<form" : "<form method=\"post\"",
              is_in ? desk_view_name(desk->view) : DESK_ACTION, NULL);
    html_raw(html, " class=\"tools\">\n");
    if (is_in) {
        desk_hidden(html, "p", desk->page);
        desk_hidden(html, "where", desk->where);
    } else {
        desk_hidden(html, "v", desk_view_name(desk->view));
        keep_act(html, act);
    }
    for (size_t i = 0; i < lang_count(); i++) {
        const struct lang *lang = lang_at(i);

        html_raw(html, "<button class=\"link\" name=\"l\"");
        html_attribute(html, "value", lang_tag(lang));
        html_attribute(html, "lang", lang_tag(lang));
        html_raw(html, lang == desk->lang ? " aria-current=\"true\"><bdi>" : "><bdi>");
        html_string(html, lang_name(lang));
        html_raw(html, "</bdi></button>\n");
    }
    html_raw(html, "</form>\n");
    if (is_in) {
        desk_form_begin(html, desk, "tools", NULL);
        desk_button(html, desk, "chip", "leave", "moderate.leave");
        html_raw(html, "</form>\n");
    }
    html_raw(html, "</footer>\n</body>\n</html>\n");
}

/* --- logging in ------------------------------------------------------------------------------- */

void desk_login(struct html *html, const struct desk *desk, const struct desk_act *act)
{
    char place[DESK_PLACE_BYTES];

    desk_name_place(act->id != NULL ? act->id : "", place);
    desk_form_begin(html, desk, "card", act->page == NULL ? NULL : act->id != NULL ? place : "all");
    desk_hidden(html, "t", desk->ticket);
    keep_act(html, act);
    lang_write_between(
        html, desk->lang, "<label for=\"password\">", "moderate.password",
        "</label>\n<input type=\"password\" id=\"password\" name=\"password\" required "
        "maxlength=\"128\" autocomplete=\"current-password\" dir=\"ltr\">\n"
        "<p class=\"help\">");
    lang_write_with_lasts(html, desk->lang, "moderate.login_help", desk->session_s);
    html_raw(html, "</p>\n<p class=\"help\">");
    lang_write(html, desk->lang, "moderate.forgotten", "hearsay-web --set-password");
    lang_write_between(html, desk->lang, "</p>\n<button class=\"button send\">", "moderate.login",
                       "</button>\n</form>\n");
}

/* --- the board -------------------------------------------------------------------------------- */

void desk_board(struct html *html, const struct desk *desk,
                const struct hearsay_accepting *accepting)
{
    static const char *const modes[] = {"open", "review", "closed", "auto"};
    const char *source = accepting->source.text != NULL ? accepting->source.text : "";
    const char *mode = accepting->mode.text;
    const char *chosen = strcmp(source, "operator") == 0 ? mode : "auto";
    char key[32];

    html_raw(html, "<section>\n");
    lang_write_element(html, desk->lang, "h2", NULL, "moderate.board");
    desk_form_begin(html, desk, "tools", NULL);
    desk_hidden(html, "do", "accept");
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        (void)snprintf(key, sizeof(key), "moderate.%s", modes[i]);
        html_raw(html, "<button class=\"chip\" name=\"mode\"");
        html_attribute(html, "value", modes[i]);
        html_raw(html, strcmp(modes[i], chosen) == 0 ? " aria-current=\"true\">" : ">");
        desk_words(html, desk, key);
        html_raw(html, "</button>\n");
    }
    html_raw(html, "</form>\n<p class=\"soft\">");
    (void)snprintf(key, sizeof(key), "moderate.%.8s_help", mode);
    desk_words(html, desk, key);
    html_raw(html, "\n");
    if (strcmp(chosen, "auto") != 0) {
        desk_words(html, desk, "moderate.overrides");
    } else if (accepting->until_ms > desk->now_ms) {
        lang_write_with_until(html, desk->lang, "moderate.changes",
                              (uint64_t)(accepting->until_ms - desk->now_ms) / 1000 + 1,
                              !desk->is_clock_trusted);
    } else {
        desk_words(html, desk, "moderate.by_file");
    }
    html_raw(html, "</p>\n</section>\n");
}
