/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "client/web/form.h"
#include "client/web/page/inner.h"

static void message_write_text(struct html *html, const struct page *page,
                               const struct board_message *message)
{
    html_raw(html, "<article class=\"card\">\n<div class=\"text\">");
    if (message->text == NULL) {
        html_raw(html, "<p class=\"soft\">");
        page_write_kind(html, page, message);
        html_raw(html, "</p>");
    } else if (!html_message(html, message->text, message->bytes, PAGE_MESSAGE_CHARACTERS,
                             PAGE_MESSAGE_LINES)) {
        html_raw(html, "<p>\xe2\x80\xa6</p>");
    }
    html_raw(html, "</div>\n<p class=\"meta\"");
    html_attribute(html, "data-gone", lang_text(page->lang, "message.gone"));
    html_raw(html, ">");
    if (page->view->at[0] != '\0') {
        page_write_where(html, page, page->view->at);
    }
    page_write_times(html, page, message);
    html_raw(html, "</p>\n</article>\n");
}

/* Begins a form behind a heading that opens it, with its hidden fields. */
static void task_begin(struct html *html, const struct page *page, const char *heading,
                       const char *action, bool is_open, const char *id)
{
    html_raw(html, is_open ? "<details open" : "<details");
    html_attribute(html, "id", action + 1);
    lang_write_between(html, page->lang, ">\n<summary>", heading,
                       "</summary>\n<form class=\"card\" method=\"post\"");
    html_attribute(html, "action", action);
    html_raw(html, ">\n");
    page_write_form_fields(html, page);
    html_hidden(html, "id", id);
    if (page->view->at[0] != '\0') {
        html_hidden(html, "at", page->view->at);
    }
}

static void report_write_reason(struct html *html, const struct page *page, const char *why,
                                const char *key, bool is_chosen)
{
    html_raw(html, "<div class=\"check\"><input type=\"radio\" name=\"why\" required");
    html_attribute(html, "id", key);
    html_attribute(html, "value", why);
    html_raw(html, is_chosen ? " checked><label" : "><label");
    html_attribute(html, "for", key);
    lang_write_between(html, page->lang, ">", key, "</label></div>\n");
}

static void report_write_reasons(struct html *html, const struct page *page, const char *chosen)
{
    lang_write_between(html, page->lang, "<fieldset>\n<legend>", "report.why", "</legend>\n");
    for (size_t i = 1; i < FORM_REPORT_KINDS; i++) {
        report_write_reason(html, page, form_report_kinds[i].word, form_report_kinds[i].key,
                            form_report_kind_of(chosen) == i);
    }
    html_raw(html, "</fieldset>\n");
}

static void message_write_report(struct html *html, const struct page *page,
                                 const struct page_message *message, const char *id)
{
    bool is_open = page_error_is_about(message->error, "why") ||
                   page_error_is_about(message->error, "words") || message->why != NULL ||
                   message->words != NULL;

    task_begin(html, page, "report.heading", "/report", is_open, id);
    lang_write_element(html, page->lang, "p", "soft", "report.help");
    report_write_reasons(html, page, message->why);
    lang_write_between(
        html, page->lang, "<label for=\"words\">", "report.text",
        "</label>\n<input type=\"text\" id=\"words\" name=\"text\" maxlength=\"150\" "
        "dir=\"auto\"");
    html_attribute(html, "value", message->words == NULL ? "" : message->words);
    html_raw(html, ">\n");
    lang_write_element(html, page->lang, "button", "button send", "report.send");
    html_raw(html, "</form>\n</details>\n");
}

static void message_write_withdraw(struct html *html, const struct page *page,
                                   const struct page_message *message, const char *id)
{
    bool is_wrong = page_error_is_about(message->error, "code") ||
                    (message->error != NULL && message->error->notice == PAGE_WRONG_CODE);

    task_begin(html, page, "withdraw.heading", "/withdraw", is_wrong || message->code != NULL, id);
    html_raw(html, "<label for=\"code\">");
    lang_write(html, page->lang, "withdraw.code", NULL);
    /* The code is a secret, which a browser must neither keep nor suggest to others. A narrow
     * screen shows all of it in several lines. */
    html_raw(html, "</label>\n<textarea id=\"code\" name=\"code\" rows=\"2\" required dir=\"ltr\" "
                   "maxlength=\"60\" autocomplete=\"off\" autocapitalize=\"characters\" "
                   "spellcheck=\"false\" aria-describedby=\"");
    html_raw(html, is_wrong ? "error code-help\" aria-invalid=\"true\">" : "code-help\">");
    html_string(html, message->code == NULL ? "" : message->code);
    html_raw(html, "</textarea>\n<p class=\"help\" id=\"code-help\"");
    html_attribute(html, "data-kept", lang_text(page->lang, "withdraw.kept"));
    lang_write_between(html, page->lang, ">", "withdraw.help", "</p>\n");
    lang_write_element(html, page->lang, "button", "button send", "withdraw.send");
    html_raw(html, "</form>\n</details>\n");
}

/* The script shows the button, where it can keep what is hidden. */
static void message_write_hide(struct html *html, const struct page *page, const char *id)
{
    html_raw(html, "<p id=\"hide\" hidden");
    html_attribute(html, "data-id", id);
    html_raw(html, ">");
    lang_write_element(html, page->lang, "button", "chip", "message.hide");
    html_raw(html, "</p>\n");
}

/* A link to the message that this one answers. */
static void message_write_parent(struct html *html, const struct page *page,
                                 const struct board_message *message)
{
    char path[PAGE_PATH_BYTES];

    page_path_of(message->parent, path);
    html_raw(html, "<p><a class=\"link\"");
    page_write_href(html, page, path);
    lang_write_between(html, page->lang, ">", "answer.of", "</a></p>\n");
}

static void message_write_answers(struct html *html, const struct page *page,
                                  const struct page_message *message)
{
    const struct board_list *answers = message->answers;

    if (message->lacks_answers) {
        lang_write_element(html, page->lang, "p", "soft", "answers.away");
    } else if (message->form != NULL || (answers != NULL && answers->count > 0)) {
        bool is_empty = answers == NULL || answers->count == 0; /* the script may fill it */

        html_raw(html, "<section data-answers=\"");
        html_number(html, message->message->answer_count);
        html_raw(html, is_empty ? "\" hidden>\n" : "\">\n");
        lang_write_element(html, page->lang, "h2", NULL, "answers.heading");
        page_write_items(html, page, answers, false);
        html_raw(html, "</section>\n");
    }
    if (message->form != NULL) {
        page_begin_news(html, page, "answers.new");
        html_raw(html, "</div>\n");
        page_write_form(html, page, message->form, NULL);
    }
}

void page_begin_message(struct html *html, const struct page *page,
                        const struct page_message *message)
{
    char path[PAGE_PATH_BYTES];

    page_path_of(message->message->id, path);
    page_begin(html, page, "message.heading", path);
    if (message->error != NULL) {
        page_write_notice(html, page, message->error, NULL);
    }
    if (message->message->is_answer) {
        message_write_parent(html, page, message->message);
    }
    message_write_text(html, page, message->message);
}

void page_end_message(struct html *html, const struct page *page,
                      const struct page_message *message)
{
    char id[PAGE_ID_TEXT_BYTES];

    page_hex_of(message->message->id, id);
    message_write_answers(html, page, message);
    message_write_report(html, page, message, id);
    message_write_withdraw(html, page, message, id);
    page_mark_of(message->message->id, page->view->at, id);
    message_write_hide(html, page, id);
    page_write_back(html, page);
    page_end(html, page, 0);
}

void page_write_message(struct html *html, const struct page *page,
                        const struct page_message *message)
{
    page_begin_message(html, page, message);
    page_end_message(html, page, message);
}

/* --- a message that was left ------------------------------------------------------------------ */

/* The code stands in the form that takes the message back, to be copied from there. */
static void left_write_code(struct html *html, const struct page *page,
                            const struct page_left *left)
{
    html_raw(html, "<section class=\"card\">\n");
    lang_write_element(html, page->lang, "h2", NULL, "left.again");
    html_raw(html, "<form method=\"post\" action=\"/withdraw\">\n");
    page_write_form_fields(html, page);
    html_hidden(html, "id", left->id);
    lang_write_between(html, page->lang, "<label for=\"given\">", "withdraw.code",
                       "</label>\n<textarea id=\"given\" class=\"code\" name=\"code\" rows=\"2\" "
                       "readonly dir=\"ltr\" autocomplete=\"off\" "
                       "aria-describedby=\"given-help\">");
    html_string(html, left->code);
    lang_write_between(html, page->lang, "</textarea>\n<p class=\"help\" id=\"given-help\">",
                       "left.code_help", "</p>\n");
    lang_write_element(html, page->lang, "button", "button quiet", "withdraw.send");
    html_raw(html, "</form>\n</section>\n");
}

void page_write_left(struct html *html, const struct page *page, const struct page_left *left)
{
    page_begin(html, page, left->is_pending ? "left.pending" : "left.heading", NULL);
    html_raw(html, "<p>");
    if (left->is_pending) {
        lang_write(html, page->lang, "left.pending_help", NULL);
        html_raw(html, " ");
    }
    lang_write_with_until(html, page->lang, "left.goes", page_seconds_until(page, left->expires_ms),
                          !page->is_clock_trusted);
    html_raw(html, "</p>\n<p class=\"wide\" id=\"left\"");
    html_attribute(html, "data-id", left->id);
    html_attribute(html, "data-code", left->code);
    if (left->is_pending) { /* no list has it yet, to which the script could lead */
        html_raw(html, " data-pending");
    }
    html_raw(html, "><a class=\"button\"");
    if (left->re != NULL) {
        char parent[PAGE_PATH_BYTES] = "/m/";

        strncat(parent, left->re, PAGE_ID_TEXT_BYTES - 1);
        page_write_href(html, page, parent);
    } else {
        page_write_href(html, page, "/"); /* with all topics: the message may have others */
    }
    lang_write_between(html, page->lang, ">", left->re != NULL ? "answer.back" : "message.back",
                       "</a></p>\n");
    left_write_code(html, page, left);
    page_end(html, page, 0);
}
