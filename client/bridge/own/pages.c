/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/own/inner.h"

#include "client/bridge/wire/subject.h"
#include "proto/codec/letter.h"

/* How long an answer may take. A reader that is killed, or not up to date, is silent: so the first
 * question does not wait long. Over a slow network an answer takes longer: so the next ones do, as
 * does a digest, for which a reader reads all of the host. */
enum { PAGE_FIRST_MS = 2000, PAGE_MOST_MS = 10 * 1000 };

static void on_page(void *context, uint64_t tag, enum wire_outcome outcome,
                    const struct wire_message *message)
{
    struct pages *pages = context;
    struct msg_letter letter;
    struct msg_error error;
    struct arena arena;

    (void)tag;
    if (outcome != WIRE_ANSWERED) {
        pages->wait_ms = outcome != WIRE_SILENT              ? PAGE_FIRST_MS
                         : pages->wait_ms < PAGE_MOST_MS / 2 ? 2 * pages->wait_ms
                                                             : PAGE_MOST_MS;
        pages->done(pages->context, &pages->ask, NULL, "no reader of this host answers");
        return;
    }
    arena_init(&arena, alloc_system(), CODEC_RESPONSE_ARENA_BYTES + message->size);
    bool is_page = letter_decode(message->data, message->size, &arena, &letter, &error) == 0 &&
                   letter.kind == MSG_LETTER_PAGE;
    pages->done(pages->context, &pages->ask, is_page ? &letter.page : NULL,
                "the reader's answer is no page of this version");
    arena_deinit(&arena);
}

bool pages_ask(struct pages *pages, const struct msg_page_ask *ask)
{
    struct msg_letter letter = {.kind = MSG_LETTER_PAGE_ASK, .page_ask = *ask};
    char subject[SUBJECT_BYTES];
    struct bytes bytes;

    bytes_init(&bytes, alloc_system());
    subject_pages(pages->host, subject);
    bool is_sent = letter_encode(&letter, &bytes) == 0;
    if (is_sent) {
        struct wire_letter sent = {.subject = subject, .data = bytes.data, .size = bytes.count};
        pages->ask = *ask;
        pages->wait_ms = pages->wait_ms == 0 ? PAGE_FIRST_MS : pages->wait_ms;
        is_sent = wire_request(pages->wire, &sent,
                               ask->kind == MSG_PAGE_DIGEST ? PAGE_MOST_MS : pages->wait_ms,
                               on_page, pages, 0);
    }
    bytes_deinit(&bytes);
    return is_sent;
}
