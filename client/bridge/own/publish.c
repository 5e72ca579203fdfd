/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/own/inner.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/bridge/feed/feed.h"
#include "client/bridge/wire/subject.h"
#include "core/base/err.h"
#include "proto/codec/letter.h"

enum { ACK_MS = 5000, RETRY_FIRST_MS = 100, RETRY_MOST_MS = 10 * 1000, ON_ROAD = LIMIT_CHANGES };

struct entry {
    char subject[SUBJECT_BYTES];
    size_t begin; /* in `letters` */
    size_t size;
    bool is_acked;
    bool is_on_road; /* an answer may come */
};

struct publish {
    struct publish_options options;
    uv_timer_t retry;
    struct bytes letters;
    struct entry *entries; /* LIMIT_CHANGES */
    size_t count;
    size_t acked;
    size_t on_road;
    uint64_t page; /* number of the page; answers to an earlier one are ignored */
    uint64_t retry_ms;
    uint64_t total;
    uint64_t failures;
    char error[WIRE_ERROR_BYTES];
    struct log_gate gate;
};

static void send_page(struct publish *publish);

static void on_retry(uv_timer_t *timer)
{
    send_page(timer->data);
}

struct publish *publish_new(const struct publish_options *options)
{
    struct publish *publish = calloc(1, sizeof(*publish));

    if (publish != NULL) {
        publish->options = *options;
        bytes_init(&publish->letters, alloc_system());
        (void)uv_timer_init(options->loop, &publish->retry); /* never fails */
        publish->retry.data = publish;
    }
    return publish;
}

void publish_drop(struct publish *publish)
{
    wire_forget(publish->options.wire, publish);
    (void)uv_timer_stop(&publish->retry);
    free(publish->entries);
    publish->entries = NULL;
    bytes_deinit(&publish->letters);
    bytes_init(&publish->letters, alloc_system());
    publish->count = 0;
    publish->acked = 0;
    publish->on_road = 0;
    publish->page++;
}

void publish_stop(struct publish *publish)
{
    publish_drop(publish);
    uv_close((uv_handle_t *)&publish->retry, NULL);
}

void publish_free(struct publish *publish)
{
    if (publish != NULL) {
        bytes_deinit(&publish->letters);
        free(publish);
    }
}

/* --- answers ---------------------------------------------------------------------------------- */

static void note_failure(struct publish *publish, const char *why)
{
    uint64_t withheld;

    publish->failures++;
    (void)snprintf(publish->error, sizeof(publish->error), "%s", why);
    if (log_gate_opens(&publish->gate, (int64_t)uv_now(publish->options.loop), &withheld)) {
        log_warning("host %s: the hub does not store what is published: %s; trying on",
                    publish->options.host, why);
    }
}

static void judge_answer(struct publish *publish, struct entry *entry, enum wire_outcome outcome,
                         const struct wire_message *message)
{
    struct ack ack;

    if (outcome == WIRE_NOBODY || outcome == WIRE_SILENT) {
        note_failure(publish, "no answer: it has no stream for this host (run setup-hub there), no "
                              "quorum, or no right for this certificate");
    } else if (outcome == WIRE_ANSWERED && !ack_read(message->data, message->size, &ack)) {
        note_failure(publish, "its answer is not one of JetStream");
    } else if (outcome == WIRE_ANSWERED && ack.code != 0) {
        note_failure(publish, ack.text);
    } else if (outcome == WIRE_ANSWERED) {
        entry->is_acked = true;
        publish->acked++;
        publish->total++;
    }
}

static void on_answer(void *context, uint64_t tag, enum wire_outcome outcome,
                      const struct wire_message *message)
{
    struct publish *publish = context;
    struct entry *entry = &publish->entries[tag];

    entry->is_on_road = false;
    publish->on_road--;
    if (!entry->is_acked) {
        judge_answer(publish, entry, outcome, message);
    }
    if (publish->acked == publish->count) {
        publish->error[0] = '\0';
        publish->retry_ms = 0;
        publish_drop(publish);
        publish->options.done(publish->options.context);
    } else if (publish->on_road == 0 && outcome != WIRE_LOST) {
        publish->retry_ms = publish->retry_ms == 0 ? RETRY_FIRST_MS : 2 * publish->retry_ms;
        publish->retry_ms = publish->retry_ms < RETRY_MOST_MS ? publish->retry_ms : RETRY_MOST_MS;
        (void)uv_timer_start(&publish->retry, on_retry, publish->retry_ms, 0);
    }
}

/* --- sending ---------------------------------------------------------------------------------- */

/* Without a Nats-Msg-Id: what one server drops as a duplicate, another one stores that has
 * restarted meanwhile; from then on the two number all messages differently. A state that is stored
 * twice does no harm. */
static bool send_entry(struct publish *publish, size_t i)
{
    struct entry *entry = &publish->entries[i];
    struct wire_letter letter = {.use = WIRE_USE_STATES,
                                 .subject = entry->subject,
                                 .data = publish->letters.data + entry->begin,
                                 .size = entry->size};

    entry->is_on_road = wire_request(publish->options.wire, &letter, ACK_MS, on_answer, publish, i);
    publish->on_road += entry->is_on_road;
    return entry->is_on_road;
}

static void send_page(struct publish *publish)
{
    bool is_taken = true;

    for (size_t i = 0; i < publish->count && is_taken; i++) {
        const struct entry *entry = &publish->entries[i];

        if (!entry->is_acked && !entry->is_on_road) {
            is_taken = send_entry(publish, i);
        }
    }
    if (!is_taken && wire_is_joined(publish->options.wire)) {
        (void)uv_timer_start(&publish->retry, on_retry, RETRY_FIRST_MS, 0);
    }
}

void publish_pause(struct publish *publish)
{
    (void)uv_timer_stop(&publish->retry);
}

void publish_resume(struct publish *publish)
{
    publish->retry_ms = 0;
    (void)uv_timer_stop(&publish->retry);
    send_page(publish);
}

/* The subject of a change; false: it has none, as it has no content. */
static bool subject_of(const char *host, const struct hearsay_change *change, char *out)
{
    const struct hearsay_rule_state *rule = &change->rule;

    if (change->has_message) {
        subject_state(host, change->message.id.data, out);
    } else if (change->has_gone) {
        subject_state(host, change->gone.id.data, out);
    } else if (change->has_rule) {
        subject_rule(host, rule->kind, rule->value.data, rule->value.count, out);
    }
    return change->has_message || change->has_gone || change->has_rule;
}

/*
 * The entry with this subject, or the one behind the last. A page may have an eviction and then the
 * message that was stored again. The hub keeps the last state of a subject, so only the last one of
 * the page is sent: if both were, the first one could be sent again after the second one.
 */
static struct entry *find_entry(struct publish *publish, const char *subject)
{
    struct entry *entry = publish->entries;

    while (entry < publish->entries + publish->count && strcmp(entry->subject, subject) != 0) {
        entry++;
    }
    return entry;
}

static int add_entry(struct publish *publish, const struct hearsay_change *change)
{
    struct msg_letter letter = {.kind = MSG_LETTER_CHANGE, .change = feed_for_letter(change)};
    struct entry entry = {.begin = publish->letters.count};
    struct entry *place;
    int rc;

    if (!subject_of(publish->options.host, change, entry.subject)) {
        return 0;
    }
    rc = letter_encode(&letter, &publish->letters);
    if (rc == CODEC_TOO_LARGE) { /* limits of hearsayd do not allow such a message */
        log_error("host %s: change %" PRIu64 " does not fit a message of the hub: left out",
                  publish->options.host, change->seq);
        return 0;
    }
    if (rc == 0) {
        entry.size = publish->letters.count - entry.begin;
        place = find_entry(publish, entry.subject);
        publish->count += place == publish->entries + publish->count;
        *place = entry;
    }
    return rc;
}

int publish_begin(struct publish *publish, const struct hearsay_change *changes, size_t count)
{
    int rc = 0;

    publish_drop(publish);
    publish->entries = calloc(count, sizeof(*publish->entries));
    if (publish->entries == NULL) {
        return -ERR_NOMEM;
    }
    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = add_entry(publish, &changes[i]);
    }
    if (rc != 0) {
        publish_drop(publish);
        return -ERR_NOMEM;
    }
    send_page(publish);
    return 0;
}

size_t publish_waiting(const struct publish *publish)
{
    return publish->count - publish->acked;
}

const char *publish_error(const struct publish *publish)
{
    return publish->error;
}

uint64_t publish_failures(const struct publish *publish)
{
    return publish->failures;
}

uint64_t publish_total(const struct publish *publish)
{
    return publish->total;
}
