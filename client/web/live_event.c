/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include <sodium.h>

#include "client/web/form.h"
#include "client/web/html.h"
#include "client/web/live_inner.h"
#include "core/base/hash.h"
#include "core/base/hex.h"

void live_write_store(const struct hearsay_welcome *welcome, const char *host, const char *place,
                      char *out_store)
{
    const char *name = host[0] != '\0' ? host : welcome->hosts[0].name;
    uint64_t seed = hash_seeded(welcome->store_id, sizeof(welcome->store_id), 0);
    uint64_t hash = hash_seeded(name, strlen(name), seed);

    if (place[0] != '\0') {
        hash = hash_seeded(place, strlen(place), hash);
    }
    (void)snprintf(out_store, LIVE_STORE_BYTES, "%08x", (unsigned)(hash & 0xffffffff));
}

bool live_place_read(const char *text, struct live_place *out_place)
{
    struct live_place place = {.ms = 0};
    uint64_t ms = 0;
    size_t at = 0;

    for (; at < LIVE_STORE_BYTES - 1; at++) {
        if (hex_digit(text[at]) < 0) {
            return false;
        }
        place.store[at] = text[at];
    }
    if (text[at++] != '-' || !form_read_number(text + at, INT64_MAX, &ms)) {
        return false;
    }
    place.ms = (int64_t)ms;
    *out_place = place;
    return true;
}

/* --- events ----------------------------------------------------------------------------------- */

static void event_write_id(struct html *html, const uint8_t *id)
{
    char text[2 * HEARSAY_ID_BYTES + 1];

    (void)sodium_bin2hex(text, sizeof(text), id, HEARSAY_ID_BYTES);
    html_json(html, text, sizeof(text) - 1);
}

char *live_event_house(const struct hearsay_house_notice *notices, size_t count,
                       const struct view *view, size_t *out_bytes)
{
    struct html html;
    bool is_first = true;

    html_init(&html);
    html_raw(&html, "event: house\ndata: [");
    for (size_t i = 0; i < count; i++) {
        const struct hearsay_text *lang = &notices[i].lang;

        if (!view_is_at(view, notices[i].place.text)) {
            continue;
        }
        html_raw(&html, is_first ? "{\"lang\":" : ",{\"lang\":");
        is_first = false;
        html_json(&html, lang->text != NULL ? lang->text : "", lang->length);
        html_raw(&html, ",\"text\":");
        html_json(&html, notices[i].text.text, notices[i].text.length);
        html_raw(&html, "}");
    }
    html_raw(&html, "]\n\n");
    if (html_failed(&html)) {
        html_deinit(&html);
        return NULL;
    }
    *out_bytes = html.count;
    return html.bytes; /* taken over */
}

char *live_event_answers(const struct live_view *view, bool is_change, size_t *out_bytes)
{
    struct html html;
    size_t count = 0;

    html_init(&html);
    for (size_t i = 0; i < view->known_count; i++) {
        const struct live_known *known = &view->known[i];

        if (is_change ? known->is_untold : known->answer_count > 0) {
            html_raw(&html, count++ == 0 ? "event: answers\ndata: {" : ",");
            event_write_id(&html, known->id);
            html_raw(&html, ":");
            html_number(&html, known->answer_count);
        }
    }
    html_raw(&html, "}\n\n");
    if (count == 0 || html_failed(&html)) {
        html_deinit(&html);
        return NULL;
    }
    *out_bytes = html.count;
    return html.bytes; /* taken over */
}
