/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "client/web/page/inner.h"

enum {
    FORM_LIFETIMES_MAX = 5,
    FORM_DESCRIBED_BYTES = 64,
    FORM_SOON_S = 20, /* of a wait that is said in minutes from here on */
    DAY_MS = 24 * 60 * 60 * 1000
};

/* --- errors ----------------------------------------------------------------------------------- */

bool page_error_is_about(const struct page_error *error, const char *field)
{
    return error != NULL && error->notice == PAGE_FIELD && error->field != NULL &&
           strcmp(error->field, field) == 0;
}

static bool form_is_answer(const struct page_form *form)
{
    return form != NULL && form->re != NULL;
}

/* The key of a field's label; NULL: no form of ours shows the field. `form` may be NULL. */
static const char *field_label(const char *field, const struct page_form *form)
{
    static const char *const labels[][2] = {
        {"text", "form.text"},     {"t", "form.topics"},  {"ttl", "form.ttl"},
        {"code", "withdraw.code"}, {"why", "report.why"}, {"words", "report.text"},
    };

    if (form_is_answer(form) && strcmp(field, "text") == 0) {
        return "answer.heading";
    }
    for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
        if (strcmp(labels[i][0], field) == 0) {
            return labels[i][1];
        }
    }
    return NULL;
}

static void notice_write_field(struct html *html, const struct page *page, const char *field,
                               const struct page_form *form)
{
    const char *label = field == NULL ? NULL : field_label(field, form);
    char limit[16];

    if (label == NULL) {
        lang_write(html, page->lang, "error.request", field == NULL ? "?" : field);
        return;
    }
    lang_write(html, page->lang, "error.field", lang_text(page->lang, label));
    html_raw(html, " ");
    if (strcmp(field, "text") == 0) {
        (void)snprintf(limit, sizeof(limit), "%d", PAGE_TEXT_CHARACTERS);
        lang_write(html, page->lang, "error.field_text", limit);
    } else if (strcmp(field, "t") == 0) {
        lang_write(html, page->lang,
                   HEARSAY_UTF8PROC ? "error.field_topics" : "error.field_topics_ascii", NULL);
    }
}

/* Writes a sentence with a time where that is known, and another one where not. */
static void notice_write_until(struct html *html, const struct page *page, int64_t until_ms,
                               bool is_about, const char *key, const char *key_until)
{
    if (until_ms > page->now_ms) {
        lang_write_with_until(html, page->lang, key_until, page_seconds_until(page, until_ms),
                              is_about);
    } else {
        lang_write(html, page->lang, key, NULL);
    }
}

/*
 * Writes a time of the day by the clock of this machine. False: its zone or clock is not known, or
 * the time is not within a day.
 */
static bool clock_write(const struct page *page, int64_t ms, char *out_text, size_t size)
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm parts;

    return page->is_clock_trusted && ms > page->now_ms && ms - page->now_ms < DAY_MS &&
           localtime_r(&seconds, &parts) != NULL && parts.tm_gmtoff != 0 &&
           strftime(out_text, size, "%H:%M", &parts) > 0;
}

static void closed_write(struct html *html, const struct page *page, int64_t until_ms)
{
    char text[8];

    if (clock_write(page, until_ms, text, sizeof(text))) {
        lang_write(html, page->lang, "form.closed_at", text);
    } else {
        notice_write_until(html, page, until_ms, !page->is_clock_trusted, "form.closed",
                           "form.closed_until");
    }
}

static void full_write(struct html *html, const struct page *page, int64_t until_ms)
{
    char text[8];

    if (clock_write(page, until_ms, text, sizeof(text))) {
        lang_write(html, page->lang, "error.full_at", text);
    } else {
        notice_write_until(html, page, until_ms, true, "error.full", "error.full_until");
    }
}

/* The key of an error that needs no value. */
static const char *notice_key(enum page_notice notice)
{
    switch (notice) {
    case PAGE_ANSWERS:
        return "error.answers";
    case PAGE_EXPIRED:
        return "error.expired";
    case PAGE_GONE:
        return "error.gone";
    case PAGE_ADDRESS:
        return "error.address";
    case PAGE_REMOVED:
        return "error.removed";
    case PAGE_NAME:
        return "error.name";
    case PAGE_WRONG_CODE:
        return "error.code";
    default:
        return "error.away";
    }
}

/* Says by how much a text is too long, in the words of the script's counter. */
static void excess_write(struct html *html, const struct page *page, const struct page_error *error)
{
    char number[LANG_NUMBER_BYTES];

    lang_number(page->lang, error->excess, number);
    html_raw(html, " ");
    lang_write(html, page->lang, error->is_excess_of_bytes ? "form.over_bytes" : "form.over",
               number);
}

/* `form`: that which follows; NULL: none. `keeps_text`: the typed text is in it. */
static void notice_write_sentence(struct html *html, const struct page *page,
                                  const struct page_error *error, const struct page_form *form,
                                  bool keeps_text)
{
    switch (error->notice) {
    case PAGE_FIELD:
        notice_write_field(html, page, error->field, form);
        break;
    case PAGE_LIMITED:
        if (error->seconds < FORM_SOON_S) {
            lang_write(html, page->lang, "error.limited_soon", NULL);
        } else {
            lang_write_with_until(html, page->lang, "error.limited", error->seconds, false);
        }
        break;
    case PAGE_FULL:
        full_write(html, page, error->until_ms);
        break;
    case PAGE_CLOSED:
        closed_write(html, page, error->until_ms);
        break;
    case PAGE_REFUSED:
        lang_write(html, page->lang, "error.refused",
                   error->sentence == NULL ? "?" : error->sentence);
        break;
    case PAGE_ELSEWHERE:
        lang_write(html, page->lang, "error.elsewhere", error->host == NULL ? "?" : error->host);
        break;
    case PAGE_TOO_LONG:
        lang_write(html, page->lang, "error.too_long", NULL);
        excess_write(html, page, error);
        break;
    case PAGE_MOVED:
        lang_write(html, page->lang, keeps_text ? "error.moved" : "error.moved_message", NULL);
        break;
    default:
        lang_write(html, page->lang, notice_key(error->notice), NULL);
    }
}

/* Writes a text that was typed, to copy. */
static void kept_write(struct html *html, const struct page *page, const char *text)
{
    lang_write_between(html, page->lang, "<label for=\"text\">", "form.kept",
                       "</label>\n<textarea id=\"text\" rows=\"4\" readonly dir=\"auto\">\n");
    html_textarea(html, text, strlen(text));
    html_raw(html, "</textarea>\n");
}

void page_write_notice(struct html *html, const struct page *page, const struct page_error *error,
                       const struct page_form *form)
{
    bool keeps_text = form != NULL && form->text != NULL && form->text[0] != '\0';

    html_raw(html, "<div class=\"notice bad\" role=\"alert\">\n<p id=\"error\">");
    notice_write_sentence(html, page, error, form, keeps_text);
    html_raw(html, "</p>\n");
    if (keeps_text) {
        lang_write_element(html, page->lang, "p", NULL, "error.kept");
    } else if (error->kept != NULL && error->kept[0] != '\0') {
        kept_write(html, page, error->kept);
    }
    if (error->notice == PAGE_NAME) {
        page_write_name(html, page);
    }
    html_raw(html, "</div>\n");
}

/* --- the form --------------------------------------------------------------------------------- */

/* Writes what ties a field to its help and, where it is wrong, to the error. */
static void field_write_state(struct html *html, const char *help, bool is_wrong)
{
    char described[FORM_DESCRIBED_BYTES];

    (void)snprintf(described, sizeof(described), "%s%s", is_wrong ? "error " : "", help);
    html_attribute(html, "aria-describedby", described);
    if (is_wrong) {
        html_raw(html, " aria-invalid=\"true\"");
    }
}

/*
 * Writes how long a text may be, and what the script needs to say how much is left or too much. It
 * counts as check_text of route/writing.c does. hearsayd counts bytes, and guests are told of bytes
 * only where these may run out before the characters.
 */
static void form_write_limit(struct html *html, const struct page *page,
                             const struct page_form *form)
{
    char number[16];

    html_raw(html, "<p class=\"help\" id=\"limit\"");
    html_attribute(html, "data-rest", lang_text(page->lang, "form.rest"));
    html_attribute(html, "data-over", lang_text(page->lang, "form.over"));
    html_attribute(html, "data-thousand", lang_text(page->lang, "number.thousand"));
    if (form->bytes_max > 0) {
        (void)snprintf(number, sizeof(number), "%u", (unsigned)form->bytes_max);
        html_attribute(html, "data-max-bytes", number);
        html_attribute(html, "data-rest-bytes", lang_text(page->lang, "form.rest_bytes"));
        html_attribute(html, "data-over-bytes", lang_text(page->lang, "form.over_bytes"));
    }
    html_raw(html, ">");
    lang_write_count(html, page->lang, "form.limit", PAGE_TEXT_CHARACTERS);
    if (form->bytes_max > 0) {
        html_raw(html, " ");
        lang_write(html, page->lang, "form.limit_bytes", number);
    }
    html_raw(html, "</p>\n");
}

static void form_write_text(struct html *html, const struct page *page,
                            const struct page_form *form, const struct page_error *error)
{
    bool is_wrong =
        page_error_is_about(error, "text") || (error != NULL && error->notice == PAGE_TOO_LONG);

    lang_write_between(html, page->lang, "<label class=\"unseen\" for=\"text\">",
                       field_label("text", form), "</label>\n");
    /* A character of a text may be two of maxlength. No autocomplete="off" here, and on no other
     * field that a person types into, because with it a browser does not give the text back when
     * the person comes back from its error page. */
    html_raw(html, "<textarea id=\"text\" name=\"text\" rows=\"4\" required dir=\"auto\" "
                   "maxlength=\"");
    html_number(html, 2 * (uint64_t)PAGE_TEXT_CHARACTERS);
    html_raw(html, "\"");
    html_attribute(html, "placeholder",
                   lang_text(page->lang, form_is_answer(form) ? "answer.heading" : "form.heading"));
    field_write_state(html, "who limit", is_wrong);
    html_raw(html, ">\n");
    if (form->text != NULL) {
        html_textarea(html, form->text, strlen(form->text));
    }
    html_raw(html, "</textarea>\n");
    form_write_limit(html, page, form);
}

/* What is chosen among the lifetimes. */
static uint32_t form_lifetime(const struct page_form *form)
{
    return form->ttl_s == 0 ? form->ttl_default_s : form->ttl_s;
}

/* Collects the lifetimes to choose from, in ascending order; returns their number. */
static size_t form_lifetimes(const struct page_form *form, uint32_t *out_lifetimes)
{
    uint32_t wanted[FORM_LIFETIMES_MAX] = {3600, 6 * 3600, 24 * 3600, form->ttl_default_s,
                                           form->ttl_max_s};
    size_t count = 0;

    for (size_t i = 0; i < FORM_LIFETIMES_MAX; i++) {
        size_t at = 0;

        while (at < count && out_lifetimes[at] < wanted[i]) {
            at++;
        }
        if (wanted[i] == 0 || wanted[i] > form->ttl_max_s ||
            (at < count && out_lifetimes[at] == wanted[i])) {
            continue;
        }
        memmove(out_lifetimes + at + 1, out_lifetimes + at, (count - at) * sizeof(*out_lifetimes));
        out_lifetimes[at] = wanted[i];
        count++;
    }
    return count;
}

static void form_write_lifetimes(struct html *html, const struct page *page,
                                 const struct page_form *form, const struct page_error *error)
{
    uint32_t lifetimes[FORM_LIFETIMES_MAX] = {0};
    size_t count = form_lifetimes(form, lifetimes);
    uint32_t chosen = form_lifetime(form);

    if (count == 0) {
        return; /* hearsayd has not been heard yet */
    }
    lang_write_between(html, page->lang, "<label for=\"ttl\">", "form.ttl",
                       "</label>\n<select id=\"ttl\" name=\"ttl\"");
    if (page_error_is_about(error, "ttl")) {
        html_raw(html, " aria-describedby=\"error\" aria-invalid=\"true\"");
    }
    html_raw(html, ">");
    for (size_t i = 0; i < count; i++) {
        html_raw(html, "<option value=\"");
        html_number(html, lifetimes[i]);
        html_raw(html, lifetimes[i] == chosen ? "\" selected>" : "\">");
        lang_write_lasts(html, page->lang, lifetimes[i]);
        html_raw(html, "</option>");
    }
    html_raw(html, "</select>\n");
}

/* The topics that are offered, as boxes to tick. */
static void form_write_topics(struct html *html, const struct page *page,
                              const struct page_form *form)
{
    const struct view *ticked = form->ticked != NULL ? form->ticked : page->view;

    if (page->topics->count == 0) {
        return;
    }
    html_raw(html, "<p class=\"row\" role=\"group\"");
    html_attribute(html, "aria-label", lang_text(page->lang, "form.topics"));
    html_raw(html, ">");
    for (size_t i = 0; i < page->topics->count; i++) {
        const struct topic *topic = &page->topics->all[i];
        bool is_ticked = view_find_topic(ticked, topic->normalised) < ticked->topic_count;

        html_raw(html, "<label><input type=\"checkbox\" name=\"t\"");
        html_attribute(html, "value", topic->text);
        html_between(html, is_ticked ? " checked>" : ">", topic->text, "</label>");
    }
    html_raw(html, "</p>\n");
}

static void form_write_choices(struct html *html, const struct page *page,
                               const struct page_form *form, const struct page_error *error)
{
    bool is_wrong = page_error_is_about(error, "t");
    bool has_topics = form->topics != NULL && form->topics[0] != '\0';

    html_raw(html, is_wrong || has_topics || page_error_is_about(error, "ttl")
                       ? "<details open><summary>"
                       : "<details><summary>");
    lang_write(html, page->lang, "form.more", NULL);
    lang_write_between(html, page->lang, "</summary>\n<label for=\"t\">", "form.topics",
                       "</label>\n<input type=\"text\" id=\"t\" name=\"t\" maxlength=\"260\" "
                       "dir=\"auto\"");
    field_write_state(html, "t-help", is_wrong);
    if (has_topics) {
        html_attribute(html, "value", form->topics);
    }
    lang_write_between(html, page->lang, ">\n<p class=\"help\" id=\"t-help\">", "form.topics_help",
                       "</p>\n<p class=\"check\"><input type=\"checkbox\" id=\"now\" name=\"now\" "
                       "value=\"1\"");
    html_raw(html, page->view->is_now ? " checked>" : ">");
    lang_write_between(html, page->lang, "<label for=\"now\">", "form.now", "</label></p>\n");
    form_write_lifetimes(html, page, form, error);
    html_raw(html, "</details>\n");
}

/* Writes why nothing can be left, and the text that was typed, to copy. */
static void form_write_closed(struct html *html, const struct page *page,
                              const struct page_form *form, const struct page_error *error)
{
    html_raw(html, "<section class=\"card\" id=\"leave\">\n");
    if (error == NULL || error->notice != PAGE_CLOSED) {
        html_raw(html, "<p>");
        closed_write(html, page, form->accept_until_ms);
        html_raw(html, "</p>\n");
    }
    if (form->text != NULL && form->text[0] != '\0') {
        kept_write(html, page, form->text);
    }
    html_raw(html, "</section>\n");
}

bool page_form_is_open(const struct page_form *form)
{
    return form->accept != HEARSAY_ACCEPT_CLOSED;
}

/* Without the script a link to another language would lose what was typed. */
static void form_write_languages(struct html *html, const struct page *page)
{
    html_raw(html, "<noscript><p>");
    for (size_t i = 0; i < lang_count(); i++) {
        const struct lang *lang = lang_at(i);

        if (lang != page->lang) {
            html_raw(html, "<button class=\"link\" name=\"to\"");
            html_attribute(html, "value", lang_tag(lang));
            html_attribute(html, "lang", lang_tag(lang));
            html_between(html, ">", lang_name(lang), "</button>\n");
        }
    }
    html_raw(html, "</p></noscript>\n");
}

/* Writes where a message is shown, if that place has a name, who can read it, and how long. */
static void form_write_who(struct html *html, const struct page *page, const struct page_form *form)
{
    const char *name = page->view->place_name;
    uint32_t lifetimes[FORM_LIFETIMES_MAX];
    bool has_choice = form_lifetimes(form, lifetimes) > 1;

    if (form_lifetime(form) == 0) {
        return; /* hearsayd has not been heard yet */
    }
    lang_write(html, page->lang, name[0] != '\0' ? "form.place" : "form.who", name);
    html_raw(html, " ");
    lang_write_with_until(html, page->lang, has_choice ? "form.gone_unless" : "form.gone",
                          form_lifetime(form), false);
}

void page_write_form(struct html *html, const struct page *page, const struct page_form *form,
                     const struct page_error *error)
{
    if (!page_form_is_open(form)) {
        form_write_closed(html, page, form, error);
        return;
    }
    bool is_answer = form_is_answer(form);

    /* Until somebody taps it, style.css shows the field alone, as one line: what belongs to it
     * stands behind it. The form takes the focus from a tap on a label, so that it stays open. */
    html_raw(html, "<form class=\"card\" id=\"leave\" tabindex=\"-1\" method=\"post\" "
                   "action=\"/leave\">\n");
    form_write_text(html, page, form, error);
    html_raw(html, "<p id=\"who\" class=\"help\">");
    if (is_answer) {
        lang_write(html, page->lang, "answer.who", NULL);
    } else {
        form_write_who(html, page, form);
    }
    if (form->is_found_around && !is_answer) {
        lang_write_between(html, page->lang, " ", "form.around", "");
    }
    if (form->accept == HEARSAY_ACCEPT_REVIEW) {
        lang_write_between(html, page->lang, " ", "form.review", "");
    }
    html_raw(html, "</p>\n");
    page_write_form_fields(html, page);
    html_hidden(html, "here", page->here);
    page_write_hidden_hole(html, "id", HTML_HOLE_SEED);
    if (is_answer) {
        html_hidden(html, "re", form->re);
        html_hidden(html, "e", form->epoch);
    } else {
        form_write_topics(html, page, form);
        form_write_choices(html, page, form, error);
    }
    lang_write_element(html, page->lang, "button", "button wide send", "form.send");
    form_write_languages(html, page);
    html_raw(html, "</form>\n");
}
