/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/fake_persist_inner.h"

#include <stdlib.h>
#include <string.h>

/* What an entry of a read points to, until the read is released. */
struct copy {
    struct copy *next;
    uint8_t content[FAKE_CONTENT_MAX];
    char words[FAKE_WORDS_MAX + 1];
};

uint8_t *fake_read_room(struct persist_read *read)
{
    struct copy *copy = malloc(sizeof(*copy));

    if (copy == NULL) {
        abort();
    }
    copy->next = read->memory;
    read->memory = copy;
    return copy->content;
}

/* Its own copy, which goes when the read is released. */
static void fill_entry(struct persist_read *read, const struct fake_message *stored,
                       struct persist_entry *out_entry)
{
    struct copy *copy = malloc(sizeof(*copy));

    if (copy == NULL) {
        abort();
    }
    copy->next = read->memory;
    read->memory = copy;
    fake_copy_message(&stored->message, copy->content, &out_entry->message);
    memcpy(copy->words, stored->words, sizeof(copy->words));
    out_entry->reasons = copy->words[0] == '\0' ? NULL : copy->words;
    out_entry->reasons_bytes = strlen(copy->words);
    out_entry->found = true;
}

static void read_payloads(struct fake *fake, struct persist_read *read)
{
    for (size_t i = 0; i < read->entry_count; i++) {
        struct persist_entry *entry = &read->entries[i];
        const struct fake_message *stored = fake_find(fake, entry->message.host, entry->message.id);
        entry->found = false;
        if (stored != NULL && !stored->withdrawn) {
            fill_entry(read, stored, entry);
        }
    }
}

/* The first message of the page behind position `after`; NULL: there is none. */
static const struct fake_message *next_of_page(const struct fake *fake,
                                               const struct persist_read *read, int64_t after)
{
    const bool is_check = read->kind == PERSIST_READ_CHECK; /* all hosts', hidden or not */
    const struct fake_message *next = NULL;

    for (size_t i = 0; i < fake->count; i++) {
        const struct fake_message *stored = &fake->messages[i];
        if ((is_check ||
             (stored->message.host == read->page_host && stored->message.state < PERSIST_HIDDEN)) &&
            !stored->withdrawn && stored->seq > after &&
            (next == NULL || stored->seq < next->seq)) {
            next = stored;
        }
    }
    return next;
}

/* The message of a list that is next to position `after`; NULL: there is none. */
static const struct fake_message *next_of_list(const struct fake *fake,
                                               const struct persist_read *read, int64_t after)
{
    const struct fake_message *next = NULL;

    for (size_t i = 0; i < fake->count; i++) {
        const struct fake_message *stored = &fake->messages[i];
        const struct persist_message *message = &stored->message;
        if (message->host == read->page_host && !stored->withdrawn && message->destroy_ms == 0 &&
            message->expires_ms > read->page_now_ms &&
            (read->page_newer ? stored->seq > after && (next == NULL || stored->seq < next->seq)
                              : stored->seq < after && (next == NULL || stored->seq > next->seq))) {
            next = stored;
        }
    }
    return next;
}

/* A page, or a page of a list. */
static void read_page(struct fake *fake, struct persist_read *read, bool is_list)
{
    const size_t room = read->entry_count;
    const struct fake_message *next = NULL;
    size_t bytes = 0;

    read->entry_count = 0;
    read->page_last = read->page_after;
    while ((next = is_list ? next_of_list(fake, read, read->page_last)
                           : next_of_page(fake, read, read->page_last)) != NULL) {
        bytes += is_list ? next->message.media_type_bytes + next->message.payload_bytes +
                               strlen(next->words)
                         : fake_content_bytes(&next->message);
        if (read->entry_count == room ||
            (read->entry_count > 0 && bytes > read->page_bytes_limit)) {
            break;
        }
        fill_entry(read, next, &read->entries[read->entry_count++]);
        read->page_last = next->seq;
    }
    read->page_more = next != NULL;
}

void fake_persist_carry_out_reads(struct persist *persist)
{
    struct fake *fake = fake_of(persist);

    for (struct persist_read *read = fake->first_read; read != NULL; read = read->next) {
        read->memory = NULL;
        read->failed = fake->fail_reads;
        read->reason = read->failed ? "the test lets it fail" : NULL;
        if (read->failed) {
            continue;
        }
        if (read->kind == PERSIST_READ_PAGE || read->kind == PERSIST_READ_CHECK) {
            read_page(fake, read, false);
        } else if (read->kind == PERSIST_READ_LIST) {
            read_page(fake, read, true);
        } else if (read->kind == PERSIST_READ_DECISIONS) {
            read->decision_count = 0; /* the fake keeps none */
        } else if (read->kind == PERSIST_READ_CHANGES) {
            fake_read_changes(fake, read);
        } else {
            read_payloads(fake, read);
        }
    }
    if (fake->first_read != NULL) {
        *fake->last_carried = fake->first_read;
        fake->last_carried = fake->last_read;
    }
    fake->first_read = NULL;
    fake->last_read = &fake->first_read;
    fake->fail_reads = false;
}

size_t fake_persist_answer_reads(struct persist *persist)
{
    struct fake *fake = fake_of(persist);
    size_t count = 0;

    fake_persist_carry_out_reads(persist);
    struct persist_read *read = fake->first_carried;
    fake->first_carried = NULL;
    fake->last_carried = &fake->first_carried;
    while (read != NULL) {
        struct persist_read *next = read->next;
        read->done(read);
        read = next;
        count++;
    }
    return count;
}

void fake_persist_fail_reads(struct persist *persist)
{
    fake_of(persist)->fail_reads = true;
}

void fake_read(struct persist *persist, struct persist_read *read)
{
    struct fake *fake = fake_of(persist);

    read->next = NULL;
    *fake->last_read = read;
    fake->last_read = &read->next;
}

void fake_read_release(struct persist *persist, struct persist_read *read)
{
    struct copy *copy = read->memory;
    (void)persist;

    read->memory = NULL;
    while (copy != NULL) {
        struct copy *next = copy->next;
        memset(copy->content, 0x5a, sizeof(copy->content)); /* whoever still looks sees it */
        free(copy);
        copy = next;
    }
}
