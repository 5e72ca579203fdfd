/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/route/sheet.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECOND_MS = 1000 };

static struct sheet sheet_of(const struct sheet_parts *parts)
{
    const struct page *page = parts->page;
    const struct page_form *form = parts->form;
    struct sheet sheet = {
        .version = parts->list->version,
        .second = parts->now_ms / SECOND_MS,
        .lang = page->lang,
        .is_clock_trusted = page->is_clock_trusted,
        .asks_to_stay = page->asks_to_stay,
        .needs_work = form->needs_work,
        .bytes_max = form->bytes_max,
        .ttl_default_s = form->ttl_default_s,
        .ttl_max_s = form->ttl_max_s,
        .accept = form->accept,
        .accept_until_ms = form->accept_until_ms,
        .notices_version = page->notices_version,
    };

    (void)snprintf(sheet.language, sizeof(sheet.language), "%s", page->view->language);
    (void)snprintf(sheet.store, sizeof(sheet.store), "%s", page->store);
    (void)snprintf(sheet.here, sizeof(sheet.here), "%s", page->here);
    return sheet;
}

static bool sheet_equals(const struct sheet *a, const struct sheet *b)
{
    return a->version == b->version && a->second == b->second && a->lang == b->lang &&
           strcmp(a->language, b->language) == 0 && strcmp(a->store, b->store) == 0 &&
           strcmp(a->here, b->here) == 0 && a->is_clock_trusted == b->is_clock_trusted &&
           a->asks_to_stay == b->asks_to_stay && a->needs_work == b->needs_work &&
           a->bytes_max == b->bytes_max && a->ttl_default_s == b->ttl_default_s &&
           a->ttl_max_s == b->ttl_max_s && a->accept == b->accept &&
           a->accept_until_ms == b->accept_until_ms && a->notices_version == b->notices_version;
}

static void sheet_free(struct sheet *sheet)
{
    html_deinit(&sheet->html);
    sheet->used = 0;
}

/* Gives back what a page that was written does not need. False: the page has failed or is empty. */
static bool html_settle(struct html *html)
{
    if (html_failed(html) || html->count == 0) {
        html_deinit(html);
        return false;
    }
    char *fitting = realloc(html->bytes, html->count);
    if (fitting != NULL) { /* else it stays a little too large */
        html->bytes = fitting;
        html->room = html->count;
    }
    return true;
}

const struct html *sheets_take(struct sheets *sheets, const struct sheet_parts *parts)
{
    struct sheet wanted = sheet_of(parts);
    struct sheet *oldest = &sheets->all[0];

    assert(parts->form->text == NULL && parts->form->topics == NULL && parts->form->ttl_s == 0);
    for (size_t i = 0; i < SHEETS_MAX; i++) {
        struct sheet *sheet = &sheets->all[i];

        if (sheet->used > 0 && sheet_equals(sheet, &wanted)) {
            sheet->used = ++sheets->last_used;
            return &sheet->html;
        }
        if (sheet->second != wanted.second) {
            sheet_free(sheet); /* it may have what was withdrawn since */
        }
        oldest = sheet->used < oldest->used ? sheet : oldest;
    }
    sheet_free(oldest);
    html_init(&wanted.html);
    page_write_list(&wanted.html, parts->page,
                    &(struct page_list){.list = parts->list, .form = parts->form});
    if (!html_settle(&wanted.html)) {
        return NULL;
    }
    wanted.used = ++sheets->last_used;
    *oldest = wanted;
    return &oldest->html;
}

const struct html *sheets_take_fixed(struct sheets *sheets, const uint8_t key[SHEET_KEY_BYTES],
                                     void (*write)(void *context, struct html *html), void *context)
{
    struct sheet_fixed *oldest = &sheets->fixed[0];

    for (size_t i = 0; i < SHEETS_FIXED_MAX; i++) {
        struct sheet_fixed *page = &sheets->fixed[i];

        if (page->used > 0 && memcmp(page->key, key, SHEET_KEY_BYTES) == 0) {
            page->used = ++sheets->last_used;
            return &page->html;
        }
        oldest = page->used < oldest->used ? page : oldest;
    }
    html_deinit(&oldest->html);
    oldest->used = 0;
    write(context, &oldest->html);
    if (!html_settle(&oldest->html)) {
        return NULL;
    }
    oldest->used = ++sheets->last_used;
    memcpy(oldest->key, key, SHEET_KEY_BYTES);
    return &oldest->html;
}

void sheets_clear(struct sheets *sheets)
{
    for (size_t i = 0; i < SHEETS_MAX; i++) {
        sheet_free(&sheets->all[i]);
    }
}

void sheets_clear_all(struct sheets *sheets)
{
    sheets_clear(sheets);
    for (size_t i = 0; i < SHEETS_FIXED_MAX; i++) {
        html_deinit(&sheets->fixed[i].html);
        sheets->fixed[i].used = 0;
    }
}
