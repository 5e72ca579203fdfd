/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/hub/inner.h"

#include <stdlib.h>
#include <string.h>

#include "client/bridge/feed/feed.h"
#include "client/bridge/wire/subject.h"
#include "core/base/err.h"
#include "proto/codec/letter.h"

enum {
    WAIT_MS = 5000, /* less than the silence after which link gives hearsayd up */
    AWAY_MS = 500,  /* between two looks at hearsayd while the hub is away */
    RETRY_MS = 1000,
    ACK_MS = 5000
};

/* A word on its way. */
struct word {
    struct word *next;
    struct words *words;
    struct bytes letter;
    char subject[SUBJECT_BYTES];
};

struct words {
    struct reader_shared shared;
    struct reader *reader;
    uv_timer_t timer; /* when to read on */
    uint64_t after;   /* the cursor: decisions up to it are at the hub */
    uint64_t next;    /* the cursor when all words on their way have arrived */
    uint64_t heads;   /* of the reader, when all decisions were looked at */
    bool is_asking;
    bool is_counting; /* words are on their way: the answer is for `status` only */
    bool is_taking;   /* a page: words that end at once do not read on */
    uint32_t waiting; /* decisions, as hearsayd has said last */
    int64_t since_ms; /* when the oldest of them was made */
    struct word *on_way;
    uint64_t total;
    struct log_gate gate;          /* of that the hub does not take words */
    char error[WORDS_ERROR_BYTES]; /* why hearsayd does not say what waits; "": it does */
};

static void read_feed(struct words *words, uint32_t wait_ms);

static void on_timer(uv_timer_t *timer)
{
    read_feed(timer->data, 0);
}

static void read_later(struct words *words, uint64_t ms)
{
    (void)uv_timer_start(&words->timer, on_timer, ms, 0);
}

static void begin_look(struct words *words)
{
    words->after = 0;
    reader_look_begin(words->reader);
}

/* --- to the hub ------------------------------------------------------------------------------- */

static void end_word(struct word *word)
{
    struct words *words = word->words;
    struct word **at = &words->on_way;

    while (*at != word) {
        at = &(*at)->next;
    }
    *at = word->next;
    bytes_deinit(&word->letter);
    free(word);
    if (words->on_way == NULL && !words->is_taking) {
        bool has_failed = words->after == words->next;

        words->after = words->next;
        if (!words->is_asking) {
            read_later(words, has_failed ? RETRY_MS : 0);
        }
    }
}

/* Not arrived: the page of the feed is read again, and brings the word again. */
static void fail_word(struct word *word)
{
    word->words->next = word->words->after;
    end_word(word);
}

/* While the hub has no leader each decision fails, twice a second. */
static void words_warn(struct words *words)
{
    uint64_t withheld;

    if (log_gate_opens(&words->gate, (int64_t)uv_now(words->shared.loop), &withheld)) {
        log_warning("host %s: the hub did not take an operator's word; trying on",
                    reader_host(words->reader));
    }
}

static void on_stored(void *context, uint64_t tag, enum wire_outcome outcome,
                      const struct wire_message *message)
{
    struct word *word = context;
    struct ack ack;

    (void)tag;
    if (outcome != WIRE_ANSWERED || !ack_read(message->data, message->size, &ack) ||
        ack.code != 0) {
        words_warn(word->words);
        fail_word(word);
        return;
    }
    word->words->total++;
    end_word(word);
}

static void on_erased(void *context, const uint8_t *key, bool is_erased)
{
    struct word *word = context;
    struct wire_letter letter = {
        .subject = word->subject, .data = word->letter.data, .size = word->letter.count};

    (void)key;
    if (!is_erased ||
        !wire_request(word->words->shared.wire, &letter, ACK_MS, on_stored, word, 0)) {
        fail_word(word);
    }
}

/* What the owner published is overwritten first, so that a word at the hub means: erased there. */
static bool send_word(struct words *words, const struct hearsay_change *change,
                      const struct state *state)
{
    const char *host = reader_host(words->reader);
    const struct table_row *row = reader_find(words->reader, state->key);
    struct msg_letter letter = {.kind = MSG_LETTER_CHANGE, .change = *change};
    struct word *word = calloc(1, sizeof(*word));
    char stream[SUBJECT_BYTES];
    char subject[SUBJECT_BYTES];

    if (word == NULL) {
        return false;
    }
    word->words = words;
    word->next = words->on_way;
    words->on_way = word;
    bytes_init(&word->letter, alloc_system());
    if (state->is_rule) {
        subject_rule_word(host, change->rule.kind, change->rule.value.data,
                          change->rule.value.count, word->subject);
    } else {
        subject_word(host, state->key, word->subject);
    }
    if (letter_encode(&letter, &word->letter) != 0) {
        fail_word(word);
        return false;
    }
    if (state->state != STATE_GONE || row == NULL) {
        on_erased(word, state->key, true);
        return true;
    }
    subject_stream(host, stream);
    subject_state(host, state->key, subject);
    if (erase_subject(words->shared.erase, stream, subject, row->seq, on_erased, word,
                      state->key) != 0) {
        fail_word(word);
    }
    return true;
}

/* --- the decisions that wait ------------------------------------------------------------------ */

/* A removed message is overwritten at the hub before the word about it goes there. So the reader
 * must know what the hub has of it. */
static bool can_send(const struct words *words, const struct state *state)
{
    return state->state != STATE_GONE || reader_is_current(words->reader);
}

/* Sends what the hub does not have. */
static void take_change(struct words *words, const struct hearsay_change *told)
{
    struct hearsay_change change = feed_for_letter(told);
    struct state state;

    change.seq = 0;
    if (!state_read(&change, &state)) {
        return;
    }
    const struct reader_word *known = reader_word(words->reader, state.key);

    if (known != NULL && known->state.decision == state.decision) {
        reader_look_word(words->reader, state.key);
        return;
    }
    if (!can_send(words, &state) || !send_word(words, &change, &state)) {
        words->next = words->after; /* the page is read once more */
    }
}

static void take_page(struct words *words, const struct hearsay_changed *changed)
{
    words->next = changed->next;
    words->is_taking = true;
    for (size_t i = 0; i < changed->change_count; i++) {
        take_change(words, &changed->changes[i]);
    }
    words->is_taking = false;
    if (words->on_way != NULL) {
        read_later(words, RETRY_MS);
        return;
    }
    if (words->next == words->after && changed->change_count > 0) {
        read_later(words, RETRY_MS);
        return;
    }
    words->after = words->next;
    if (!changed->more) {
        reader_look_end(words->reader);
    }
    read_feed(words, changed->more ? 0 : WAIT_MS);
}

/* Logs a reason only when it is new, because hearsayd is asked again each second. */
static void note_error(struct words *words, const char *why)
{
    if (strcmp(words->error, why) != 0) {
        (void)snprintf(words->error, sizeof(words->error), "%s", why);
        log_warning("host %s: hearsayd does not serve it to this bridge: %s; trying on",
                    reader_host(words->reader), why);
    }
}

static void on_changed(void *context, const struct hearsay_reply *reply,
                       const struct hearsay_error *error)
{
    struct words *words = context;

    words->is_asking = false;
    if (reply == NULL) {
        if (near_is_up(words->shared.near)) {
            note_error(words, error->sentence);
            read_later(words, RETRY_MS);
        }
        return;
    }
    if (words->error[0] != '\0') {
        words->error[0] = '\0';
        log_info("host %s: hearsayd serves it now", reader_host(words->reader));
    }
    words->waiting = reply->response.changed.waiting;
    words->since_ms = reply->response.changed.waiting_since_ms;
    if (words->is_counting) {
        read_later(words, words->on_way != NULL ? RETRY_MS : 0);
    } else if (wire_is_joined(words->shared.wire)) {
        take_page(words, &reply->response.changed);
    } else {
        begin_look(words); /* the hub may have lost what it had */
        read_later(words, AWAY_MS);
    }
}

/* The owner asks for words with each head. So all decisions that wait are looked at once more then:
 * what the hub has lost, or another reader's word has replaced, goes there again. */
static void read_feed(struct words *words, uint32_t wait_ms)
{
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_CHANGES,
                                      .changes = {.host = hearsay_text(reader_host(words->reader)),
                                                  .wait_ms = wait_ms,
                                                  .waiting = true}};

    if (words->is_asking || !near_is_up(words->shared.near)) {
        return;
    }
    words->is_counting = words->on_way != NULL;
    if (!words->is_counting && words->heads != reader_heads(words->reader)) {
        words->heads = reader_heads(words->reader);
        begin_look(words);
    }
    request.changes.after = words->after;
    words->is_asking = near_ask(words->shared.near, &request, on_changed, words) == HEARSAY_OK;
    if (!words->is_asking) {
        read_later(words, RETRY_MS);
    }
}

/* --- coming and going ------------------------------------------------------------------------- */

int words_new(const struct reader_shared *shared, struct reader *reader, struct words **out_words)
{
    struct words *words = calloc(1, sizeof(*words));

    if (words == NULL) {
        return -ERR_NOMEM;
    }
    words->shared = *shared;
    words->reader = reader;
    (void)uv_timer_init(shared->loop, &words->timer); /* never fails */
    words->timer.data = words;
    *out_words = words;
    return 0;
}

void words_greeted(struct words *words)
{
    begin_look(words); /* the store may be another one */
    read_later(words, 0);
}

void words_stop(struct words *words)
{
    if (words != NULL) {
        near_forget(words->shared.near, words);
        uv_close((uv_handle_t *)&words->timer, NULL);
    }
}

void words_free(struct words *words)
{
    if (words == NULL) {
        return;
    }
    while (words->on_way != NULL) {
        struct word *word = words->on_way;

        words->on_way = word->next;
        wire_forget(words->shared.wire, word);
        bytes_deinit(&word->letter);
        free(word);
    }
    free(words);
}

const char *words_error(const struct words *words)
{
    return words->error;
}

uint64_t words_total(const struct words *words)
{
    return words->total;
}

uint32_t words_waiting(const struct words *words, int64_t *out_since_ms)
{
    *out_since_ms = words->since_ms;
    return words->waiting;
}
