/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/own/inner.h"

#include <string.h>

enum { MARGIN_MS = 60 * 1000 };

static void end_with(struct digest *digest, enum digest_outcome outcome)
{
    digest_end(digest);
    digest->done(digest->context, outcome);
}

static void ask_changes(struct digest *digest, uint64_t after)
{
    struct hearsay_request ask = {.kind = HEARSAY_REQUEST_CHANGES,
                                  .changes = {.host = hearsay_text(digest->host), .after = after}};
    struct hearsay_error error;

    if (hearsay_submit(link_server(digest->link), &ask, &digest->ticket, &error) == HEARSAY_OK) {
        link_submitted(digest->link);
    } else {
        end_with(digest, DIGEST_UNKNOWN);
    }
}

static void on_page(void *context, const struct msg_page_ask *ask, const struct msg_page *page,
                    const char *why)
{
    struct digest *digest = context;

    (void)ask;
    (void)why;
    if (page == NULL) {
        end_with(digest, DIGEST_UNKNOWN);
    } else {
        end_with(digest, page->count == digest->own.count && page->digest == digest->own.digest
                             ? DIGEST_SAME
                             : DIGEST_DIFFERENT);
    }
}

bool digest_take_reply(struct digest *digest, const struct hearsay_reply *reply)
{
    const struct hearsay_changed *changed = &reply->response.changed;
    struct msg_page_ask ask = {.kind = MSG_PAGE_DIGEST,
                               .deposited_before_ms = digest->deposited_before_ms,
                               .expires_after_ms = digest->expires_after_ms};

    if (digest->ticket != 0 && digest->reader[0] != '\0') {
        ask.reader = (struct hearsay_text){digest->reader, strlen(digest->reader)};
    }
    if (digest->ticket == 0 || reply->response.id != digest->ticket) {
        return false;
    }
    digest->ticket = 0;
    if (reply->response.kind != HEARSAY_RESPONSE_CHANGED) {
        end_with(digest, DIGEST_UNKNOWN);
        return true;
    }
    for (size_t i = 0; i < changed->change_count; i++) {
        if (feed_digest_add(&digest->own, &changed->changes[i], digest->deposited_before_ms,
                            digest->expires_after_ms) != 0) {
            end_with(digest, DIGEST_UNKNOWN);
            return true;
        }
    }
    if (changed->more) {
        ask_changes(digest, changed->next);
    } else if (!pages_ask(&digest->pages, &ask)) {
        end_with(digest, DIGEST_UNKNOWN);
    }
    return true;
}

void digest_init(struct digest *digest, struct wire *wire, const char *host,
                 void (*done)(void *context, enum digest_outcome outcome), void *context)
{
    memset(digest, 0, sizeof(*digest));
    digest->host = host;
    digest->done = done;
    digest->context = context;
    digest->pages = (struct pages){.wire = wire, .host = host, .done = on_page, .context = digest};
}

void digest_begin(struct digest *digest, const char *reader, struct link *link, int64_t now_ms)
{
    if (digest->link == NULL) {
        digest->reader = reader;
        digest->link = link;
        digest->own = (struct feed_digest){.count = 0};
        digest->deposited_before_ms = now_ms - MARGIN_MS;
        digest->expires_after_ms = now_ms + MARGIN_MS;
        ask_changes(digest, 0);
    }
}

void digest_end(struct digest *digest)
{
    wire_forget(digest->pages.wire, &digest->pages);
    digest->link = NULL;
    digest->ticket = 0;
}
