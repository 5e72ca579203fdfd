/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/hub/inner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/bridge/feed/feed.h"
#include "client/bridge/wire/subject.h"
#include "core/base/err.h"
#include "core/base/hash.h"
#include "proto/codec/letter.h"

enum {
    ASKED_MAX = 8,
    ARENA_BYTES = 64 * 1024,
    TAG_SHIFT = 48,
    RENEWAL_MS = 60 * 1000,
    OVERLAP_MS = 5000
};

/* Of one page. */
enum { WORDS_MAX = 256, WORDS_BYTES = 512 * 1024 };

#define SEQ_MASK ((UINT64_C(1) << TAG_SHIFT) - 1)

/* A question that waits for hearsayd. */
struct asked {
    struct pages *pages;
    bool is_used;
    bool is_named; /* the owner asks this reader, and no other one */
    struct msg_page_ask ask;
    uint32_t limit;
    uint64_t after;
    struct feed_digest digest; /* so far */
    char reply[WIRE_SUBJECT_BYTES];
};

struct pages {
    struct reader_shared shared;
    struct reader *reader;
    struct wire_subscription *subscription;
    uv_timer_t renewal;
    bool is_renewing;
    uint64_t renewals;
    struct asked asked[ASKED_MAX];
    uint64_t tag; /* in each cursor: another reader's feed has other numbers */
    uint64_t total;
};

static bool ask_feed(struct asked *asked);

/* The bytes of the letter; false: it is too large for one page, or there is no memory. */
static bool send_page(struct asked *asked, const struct msg_page *page)
{
    struct pages *pages = asked->pages;
    struct msg_letter letter = {.kind = MSG_LETTER_PAGE, .page = *page};
    struct bytes bytes;

    bytes_init(&bytes, alloc_system());
    bool is_encoded = letter_encode(&letter, &bytes) == 0;

    if (is_encoded) {
        struct wire_letter out = {.subject = asked->reply, .data = bytes.data, .size = bytes.count};

        (void)wire_publish(pages->shared.wire, &out); /* who gets no answer asks again */
        pages->total++;
        asked->is_used = false;
    }
    bytes_deinit(&bytes);
    return is_encoded;
}

static void send_changes(struct asked *asked, const struct hearsay_changed *changed)
{
    static struct hearsay_change changes[LIMIT_CHANGES];
    struct msg_page page = {.changes = changes,
                            .change_count = changed->change_count,
                            .next = changed->next | asked->pages->tag << TAG_SHIFT,
                            .more = changed->more};

    for (size_t i = 0; i < changed->change_count; i++) { /* at most LIMIT_CHANGES, as decoded */
        changes[i] = feed_for_letter(&changed->changes[i]);
    }
    if (!send_page(asked, &page)) {
        asked->limit = (uint32_t)changed->change_count / 2;
        asked->is_used = asked->limit > 0 && ask_feed(asked);
    }
}

static void on_changed(void *context, const struct hearsay_reply *reply,
                       const struct hearsay_error *error)
{
    struct asked *asked = context;

    (void)error;
    if (reply == NULL) {
        asked->is_used = false; /* silent: the access point asks again */
        return;
    }
    if (asked->ask.kind == MSG_PAGE_STATES) {
        send_changes(asked, &reply->response.changed);
        return;
    }
    for (size_t i = 0; i < reply->response.changed.change_count; i++) {
        if (feed_digest_add(&asked->digest, &reply->response.changed.changes[i],
                            asked->ask.deposited_before_ms, asked->ask.expires_after_ms) != 0) {
            asked->is_used = false; /* no memory: silent, as above */
            return;
        }
    }
    asked->after = reply->response.changed.next;
    if (reply->response.changed.more) {
        asked->is_used = ask_feed(asked);
    } else {
        struct msg_page page = {.count = asked->digest.count, .digest = asked->digest.digest};

        asked->is_used = false;
        if (send_page(asked, &page) && asked->is_named) {
            reader_compared(asked->pages->reader);
        }
    }
}

static bool ask_feed(struct asked *asked)
{
    struct hearsay_request request = {
        .kind = HEARSAY_REQUEST_CHANGES,
        .changes = {.host = hearsay_text(reader_host(asked->pages->reader)),
                    .after = asked->after,
                    .limit = asked->limit}};

    return near_ask(asked->pages->shared.near, &request, on_changed, asked) == HEARSAY_OK;
}

/* Words of messages and of rules are numbered by two streams. */
static uint64_t place_of(const struct reader_word *word)
{
    return 2 * word->seq + word->state.is_rule;
}

static int compare_words(const void *left, const void *right)
{
    uint64_t a = place_of(*(const struct reader_word *const *)left);
    uint64_t b = place_of(*(const struct reader_word *const *)right);

    return (a > b) - (a < b);
}

/* All words behind a place, the oldest first; NULL: no memory. */
static const struct reader_word **sort_words(const struct reader *reader, uint64_t after,
                                             size_t *out_count)
{
    const struct reader_word **words;
    size_t count = 0;

    for (const struct reader_word *word = reader_words(reader); word != NULL; word = word->next) {
        count += place_of(word) > after && reader_gives_word(reader, word);
    }
    words = malloc((count + 1) * sizeof(const struct reader_word *));
    *out_count = 0;
    for (const struct reader_word *word = words != NULL ? reader_words(reader) : NULL; word != NULL;
         word = word->next) {
        if (place_of(word) > after && reader_gives_word(reader, word)) {
            words[(*out_count)++] = word;
        }
    }
    if (words != NULL) {
        qsort(words, count, sizeof(const struct reader_word *), compare_words);
    }
    return words;
}

static void send_words(struct asked *asked)
{
    static struct hearsay_change changes[WORDS_MAX];
    struct msg_page page = {.changes = changes};
    struct arena arena;
    size_t count;
    size_t bytes = 0;
    size_t i = 0;

    const struct reader_word **words = sort_words(asked->pages->reader, asked->after, &count);
    arena_init(&arena, alloc_system(), (size_t)WORDS_MAX * ARENA_BYTES);
    for (; i < count && page.change_count < WORDS_MAX; i++) {
        struct msg_letter letter;
        struct msg_error error;

        if (bytes > 0 && bytes + words[i]->size > WORDS_BYTES) {
            break;
        }
        bytes += words[i]->size;
        page.next = place_of(words[i]);
        if (letter_decode(words[i]->letter, words[i]->size, &arena, &letter, &error) == 0) {
            changes[page.change_count++] = letter.change;
        }
    }
    page.more = i < count;
    if (words != NULL) { /* else silent: the access point asks again */
        (void)send_page(asked, &page);
    }
    free(words);
    asked->is_used = false;
    arena_deinit(&arena);
}

static struct asked *free_place(struct pages *pages)
{
    for (size_t i = 0; i < ASKED_MAX; i++) {
        if (!pages->asked[i].is_used) {
            return &pages->asked[i];
        }
    }
    return NULL;
}

/* NATS checks no reply subject: an answer elsewhere would speak there with the reader's rights.
 * From an account of its own an access point comes with a reply subject of the servers, _R_. and
 * more. */
static bool reply_is_own(const struct pages *pages, const char *reply)
{
    char inbox[SUBJECT_BYTES];
    int length = snprintf(inbox, sizeof(inbox), "_INBOX_%s.", reader_host(pages->reader));

    return strncmp(reply, "_R_.", 4) == 0 || strncmp(reply, inbox, (size_t)length) == 0;
}

static void on_ask(void *context, const struct wire_message *message)
{
    struct pages *pages = context;
    struct asked *asked = free_place(pages);
    struct msg_letter letter;
    struct msg_error error;
    struct arena arena;

    if (!reply_is_own(pages, message->reply) || strlen(message->reply) >= sizeof(asked->reply) ||
        asked == NULL || !reader_is_current(pages->reader)) {
        return;
    }
    arena_init(&arena, alloc_system(), ARENA_BYTES);
    bool is_ask = letter_decode(message->data, message->size, &arena, &letter, &error) == 0 &&
                  letter.kind == MSG_LETTER_PAGE_ASK;

    bool is_named = is_ask && letter.page_ask.reader.text != NULL;
    bool is_other = is_named && strcmp(letter.page_ask.reader.text, pages->shared.name) != 0;

    arena_deinit(&arena);
    letter.page_ask.reader = (struct hearsay_text){NULL, 0}; /* was borrowed from the arena */
    if (!is_ask || is_other ||
        (letter.page_ask.after != 0 && letter.page_ask.kind == MSG_PAGE_STATES &&
         letter.page_ask.after >> TAG_SHIFT != pages->tag)) {
        return;
    }
    *asked = (struct asked){.pages = pages,
                            .is_used = true,
                            .is_named = is_named,
                            .ask = letter.page_ask,
                            .limit = letter.page_ask.limit,
                            .after = letter.page_ask.after & SEQ_MASK};
    (void)snprintf(asked->reply, sizeof(asked->reply), "%s", message->reply);
    if (asked->ask.kind == MSG_PAGE_WORDS) {
        send_words(asked);
        return;
    }
    if (asked->ask.kind == MSG_PAGE_DIGEST) {
        asked->after = 0;
    }
    asked->is_used = reader_is_whole(pages->reader) && ask_feed(asked);
}

/* How often the servers are told anew that the bridge listens: each minute, or
 * HEARSAY_BRIDGE_RENEW_MS of the environment, for tests. */
static uint64_t renewal_ms(void)
{
    const char *text = getenv("HEARSAY_BRIDGE_RENEW_MS");
    uint64_t value = text != NULL ? strtoull(text, NULL, 10) : 0;

    return value >= 10 ? value : RENEWAL_MS;
}

/* For how long the servers have both subscriptions. */
static uint64_t overlap_ms(void)
{
    return renewal_ms() / 2 < OVERLAP_MS ? renewal_ms() / 2 : OVERLAP_MS;
}

static void on_renewal(uv_timer_t *timer)
{
    struct pages *pages = timer->data;

    uint64_t next_ms = renewal_ms() - overlap_ms();

    if (pages->is_renewing) {
        wire_renewed(pages->subscription);
        pages->is_renewing = false;
    } else if (wire_is_joined(pages->shared.wire)) {
        wire_renew(pages->subscription);
        pages->is_renewing = true;
        pages->renewals++;
        next_ms = overlap_ms();
    }
    (void)uv_timer_start(timer, on_renewal, next_ms, 0);
}

int pages_new(const struct reader_shared *shared, struct reader *reader, struct pages **out_pages)
{
    struct pages *pages = calloc(1, sizeof(*pages));
    char subject[SUBJECT_BYTES];

    if (pages == NULL) {
        return -ERR_NOMEM;
    }
    pages->shared = *shared;
    pages->reader = reader;
    pages->tag = 1 + hash_seeded(shared->name, strlen(shared->name), 0) % 0x7fff;
    subject_pages(reader_host(reader), subject);
    pages->subscription = wire_subscribe(shared->wire, subject, on_ask, pages);
    (void)uv_timer_init(shared->loop, &pages->renewal); /* never fails */
    pages->renewal.data = pages;
    (void)uv_timer_start(&pages->renewal, on_renewal, renewal_ms(), 0);
    *out_pages = pages;
    return pages->subscription != NULL ? 0 : -ERR_NOMEM;
}

void pages_stop(struct pages *pages)
{
    if (pages != NULL) {
        wire_unsubscribe(pages->subscription);
        uv_close((uv_handle_t *)&pages->renewal, NULL);
        for (size_t i = 0; i < ASKED_MAX; i++) {
            near_forget(pages->shared.near, &pages->asked[i]);
        }
    }
}

void pages_free(struct pages *pages)
{
    free(pages);
}

uint64_t pages_total(const struct pages *pages)
{
    return pages->total;
}

uint64_t pages_renewals(const struct pages *pages)
{
    return pages->renewals;
}
