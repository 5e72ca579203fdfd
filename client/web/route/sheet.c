/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/route/sheet.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

static void hash_parts(const struct sheet_parts *parts, uint8_t out_key[SHEET_KEY_BYTES])
{
    crypto_generichash_state state;

    /* None of these can fail: the length is within the bounds of BLAKE2b. */
    (void)crypto_generichash_init(&state, NULL, 0, SHEET_KEY_BYTES);
    (void)crypto_generichash_update(&state, (const uint8_t *)parts->numbers,
                                    parts->number_count * sizeof(*parts->numbers));
    for (size_t i = 0; i < parts->text_count; i++) {
        const char *text = parts->texts[i] != NULL ? parts->texts[i] : "";

        (void)crypto_generichash_update(&state, (const uint8_t *)text, strlen(text) + 1);
    }
    (void)crypto_generichash_final(&state, out_key, SHEET_KEY_BYTES);
}

static void sheet_free(struct sheet *sheet)
{
    html_deinit(&sheet->html);
    *sheet = (struct sheet){.used = 0};
}

/* Writes a page, and gives back what it does not need. False: the page has failed or is empty. */
static bool sheet_write(struct sheet *sheet, void (*write)(void *context, struct html *html),
                        void *context)
{
    struct html *html = &sheet->html;

    write(context, html);
    if (html_failed(html) || html->count == 0) {
        sheet_free(sheet);
        return false;
    }
    char *fitting = realloc(html->bytes, html->count);
    if (fitting != NULL) { /* else it stays a little too large */
        html->bytes = fitting;
        html->room = html->count;
    }
    return true;
}

/* Frees the pages that were not used for longest, until all together are within the bound. */
static void sheets_bound(struct sheets *sheets, const struct sheet *fresh)
{
    struct sheet *oldest;
    size_t bytes;

    do {
        bytes = 0;
        oldest = NULL;
        for (struct sheet *sheet = sheets->all; sheet < sheets->all + SHEETS_MAX; sheet++) {
            bytes += sheet->html.count;
            if (sheet != fresh && sheet->used > 0 &&
                (oldest == NULL || sheet->used < oldest->used)) {
                oldest = sheet;
            }
        }
        if (bytes > HTML_BYTES_MAX && oldest != NULL) {
            sheet_free(oldest);
        }
    } while (bytes > HTML_BYTES_MAX && oldest != NULL);
}

const struct html *sheets_take(struct sheets *sheets, const struct sheet_parts *parts,
                               void (*write)(void *context, struct html *html), void *context)
{
    uint8_t key[SHEET_KEY_BYTES];
    struct sheet *oldest = &sheets->all[0];

    hash_parts(parts, key);
    for (size_t i = 0; i < SHEETS_MAX; i++) {
        struct sheet *sheet = &sheets->all[i];

        if (sheet->used > 0 && sheet->second == parts->second &&
            memcmp(sheet->key, key, sizeof(key)) == 0) {
            sheet->used = ++sheets->last_used;
            return &sheet->html;
        }
        if (sheet->second != 0 && parts->second != 0 && sheet->second != parts->second) {
            sheet_free(sheet); /* it may have what was withdrawn since */
        }
        oldest = sheet->used < oldest->used ? sheet : oldest;
    }
    sheet_free(oldest);
    if (!sheet_write(oldest, write, context)) {
        return NULL;
    }
    oldest->used = ++sheets->last_used;
    oldest->second = parts->second;
    memcpy(oldest->key, key, sizeof(key));
    sheets_bound(sheets, oldest);
    return &oldest->html;
}

void sheets_clear(struct sheets *sheets, bool is_all)
{
    for (size_t i = 0; i < SHEETS_MAX; i++) {
        if (is_all || sheets->all[i].second != 0) {
            sheet_free(&sheets->all[i]);
        }
    }
}
