/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/hub/inner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/bridge/setup/config.h"
#include "client/bridge/wire/subject.h"
#include "core/base/err.h"
#include "core/base/expiry.h"
#include "proto/codec/letter.h"

enum {
    QUEUE_BUSY = 2 * FOLLOW_BATCH, /* then followers ask for nothing more */
    ARENA_BYTES = 4 * 1024 * 1024,
    SILENT_HEADS = 3 /* so many heads have not come: the owner is silent */
};

enum { OF_STATES, OF_RULES, OF_WORDS, OF_RULE_WORDS, FOLLOWS };

/* One of the followers, which tells which one it is. */
struct part {
    struct reader *reader;
    struct follow *follow;
    struct scan *scan;
    bool is_word;
    char stream[16];
};

struct reader {
    struct reader_shared shared;
    char host[LIMIT_HOST_BYTES + 1];
    struct part parts[FOLLOWS];
    struct table table;
    struct reader_word *words;
    uint64_t look; /* at the decisions that wait; 0: there was none */
    struct queue queue;
    struct missing missing;
    struct arena arena;
    int64_t head_ms;              /* the owner's time in its last head; 0: there was none */
    uint64_t head_at_ms;          /* steady_ms when the head came */
    int64_t not_compared_since_s; /* wall clock; 0: compared since the last interruption */
    uint64_t heads;               /* of the owner, ever */
    uint64_t head_seq;            /* of the last head in the stream; 0: there was none */
    int64_t head_stored_s;        /* when the hub stored it, by a server's clock */
    uint64_t heard_at_ms;         /* steady_ms of the last new head; at first, of the connection */
    struct log_gate odd_gate;
};

/* --- words of operators ----------------------------------------------------------------------- */

static struct reader_word **find_word(struct reader *reader, const uint8_t *key)
{
    struct reader_word **at = &reader->words;

    while (*at != NULL && memcmp((*at)->state.key, key, TABLE_KEY_BYTES) != 0) {
        at = &(*at)->next;
    }
    return at;
}

const struct reader_word *reader_word(const struct reader *reader, const uint8_t *key)
{
    const struct reader_word *word = reader->words;

    while (word != NULL && memcmp(word->state.key, key, TABLE_KEY_BYTES) != 0) {
        word = word->next;
    }
    return word;
}

const struct reader_word *reader_words(const struct reader *reader)
{
    return reader->words;
}

static void drop_word(struct reader_word **at)
{
    struct reader_word *word = *at;

    *at = word->next;
    free(word);
}

static void put_word(struct reader *reader, const struct state *state,
                     const struct follow_message *message)
{
    struct reader_word **at = find_word(reader, state->key);
    struct reader_word *word = malloc(sizeof(*word) + message->size);

    if (*at != NULL) {
        drop_word(at);
    }
    if (word != NULL) {
        word->next = reader->words;
        word->state = *state;
        word->seq = message->seq;
        word->look = reader->look;
        word->waits = false;
        word->size = message->size;
        memcpy(word->letter, message->data, message->size);
        reader->words = word;
    }
}

static void subject_of_key(const struct reader *reader, char tree, const struct state *state,
                           char *out)
{
    char text[SUBJECT_BYTES];

    subject_state(reader->host, state->key, text);
    (void)snprintf(out, SUBJECT_BYTES, "%c%s", tree, text + 1);
}

/* The word about the message or rule of this state is at the hub no more. `subject`: of the state,
 * or of the word, whose first letter alone differs. */
static void end_word(struct reader *reader, const struct state *state, const char *subject)
{
    struct reader_word **at = find_word(reader, state->key);
    char word[SUBJECT_BYTES];

    if (*at != NULL) {
        (void)snprintf(word, sizeof(word), "o%s", subject + 1);
        (void)erase_subject(reader->shared.erase, state->is_rule ? "rule" : "o", word, (*at)->seq,
                            NULL, NULL, NULL);
        drop_word(at);
    }
}

/* Whether the owner's state shows that it knows the word, or that the word has nothing to do any
 * more. An evicted message may be deposited again, so that its removal still matters. */
static bool is_settled(const struct state *state, const struct reader_word *word)
{
    if (state->state == STATE_GONE) {
        return !state->is_evicted || word->state.state != STATE_GONE;
    }
    return state->decision != 0 && state->decision == word->state.decision;
}

static bool is_own(const struct reader *reader, const struct reader_word *word)
{
    return word->state.store != 0 && word->state.store == near_store(reader->shared.near);
}

bool reader_gives_word(const struct reader *reader, const struct reader_word *word)
{
    return word->waits || !is_own(reader, word);
}

void reader_look_begin(struct reader *reader)
{
    reader->look++;
}

void reader_look_word(struct reader *reader, const uint8_t *key)
{
    struct reader_word *word = *find_word(reader, key);

    if (word != NULL) {
        word->look = reader->look;
        word->waits = true;
    }
}

static void forget_word(struct reader *reader, const struct reader_word *word)
{
    char subject[SUBJECT_BYTES];
    struct hearsay_change change;
    struct state state;

    arena_reset(&reader->arena);
    if (!state_decode(word->letter, word->size, &reader->arena, &change, &state)) {
        return; /* there is no memory: the next look */
    }
    if (state.is_rule) {
        subject_rule_word(reader->host, change.rule.kind, change.rule.value.data,
                          change.rule.value.count, subject);
    } else {
        subject_word(reader->host, state.key, subject);
    }
    end_word(reader, &state, subject);
}

void reader_look_end(struct reader *reader)
{
    struct reader_word *next;

    for (struct reader_word *word = reader->words; word != NULL; word = next) {
        next = word->next;
        if (word->look < reader->look && is_own(reader, word)) {
            forget_word(reader, word);
        }
    }
}

/* --- the queue -------------------------------------------------------------------------------- */

static void on_no_room(void *context, uint32_t messages)
{
    struct reader *reader = context;

    missing_note_no_room(&reader->missing, messages);
}

static void look_settled(struct reader *reader)
{
    if (reader_is_current(reader)) {
        missing_settled(&reader->missing);
    }
}

static void on_moved(void *context)
{
    struct reader *reader = context;

    look_settled(reader);
    for (size_t i = 0; i < FOLLOWS; i++) {
        follow_go(reader->parts[i].follow);
    }
}

static const struct queue_events queue_events = {on_no_room, on_moved};

/* Something was left out: all states of the owner come once more. */
static void on_again(void *context)
{
    struct reader *reader = context;

    follow_restart(reader->parts[OF_STATES].follow);
    follow_restart(reader->parts[OF_RULES].follow);
}

/* --- the clock of the owner ------------------------------------------------------------------- */

static uint64_t steady_ms(void)
{
    return uv_hrtime() / 1000000;
}

static void take_head(struct reader *reader, const struct follow_message *message)
{
    struct msg_letter letter;
    struct msg_error error;

    arena_reset(&reader->arena);
    if (letter_decode(message->data, message->size, &reader->arena, &letter, &error) == 0 &&
        letter.kind == MSG_LETTER_HEAD && letter.head.as_of_ms > 0 &&
        message_time_fits(letter.head.as_of_ms)) {
        reader->head_ms = letter.head.as_of_ms;
        reader->head_at_ms = steady_ms();
        reader->heads++;
        reader->heard_at_ms =
            message->seq != reader->head_seq ? reader->head_at_ms : reader->heard_at_ms;
        reader->head_seq = message->seq;
        reader->head_stored_s = message->stored_s;
    }
}

/* At each head of an owner, which is there then. The request may get lost; the next head comes. */
static void request_comparison(struct reader *reader)
{
    char subject[SUBJECT_BYTES];
    struct wire_letter letter = {.subject = subject};

    if (reader->not_compared_since_s != 0 && reader_is_whole(reader)) {
        subject_compare(reader->host, reader->shared.name, subject);
        (void)wire_publish(reader->shared.wire, &letter);
    }
}

/*
 * What the clock of the owner shows now, or earlier: its time in the last head, and what has passed
 * here since then. No wall clock of this machine or of a server counts: one that is wrong would
 * erase messages that live. 0: there was no head.
 */
static int64_t owner_now_ms(const struct reader *reader)
{
    return reader->head_ms == 0 ? 0 : reader->head_ms + (int64_t)(steady_ms() - reader->head_at_ms);
}

/* --- what comes from the hub ------------------------------------------------------------------ */

/* Keeps where the state stands, and has the one before it overwritten. False: a new id above the
 * bound of the host. */
static bool put_row(struct part *part, const struct state *state,
                    const struct follow_message *message)
{
    struct reader *reader = part->reader;

    if (table_find(&reader->table, state->key) == NULL &&
        !missing_admits(&reader->missing, state->has_payload)) {
        return false;
    }
    struct table_row *row = table_add(&reader->table, state->key);

    if (row == NULL) {
        return true;
    }
    reader->missing.ids[row->has_payload] -= row->seq != 0;
    reader->missing.ids[state->has_payload]++;
    if (row->seq != 0 && row->seq < message->seq) {
        (void)erase_subject(reader->shared.erase, part->stream, message->subject, message->seq - 1,
                            NULL, NULL, NULL);
    }
    row->seq = message->seq;
    row->decision = state->decision;
    row->until_ms = state->until_ms;
    row->has_payload = state->has_payload;
    row->is_rule = state->is_rule;
    return true;
}

/* An access point chooses the subject below its host, and what the message says. */
static bool subject_fits(const struct part *part, const struct hearsay_change *change,
                         const struct state *state, const char *subject)
{
    const struct hearsay_rule_state *rule = &change->rule;
    char wanted[SUBJECT_BYTES];

    if (state->is_rule) {
        (part->is_word ? subject_rule_word : subject_rule)(
            part->reader->host, rule->kind, rule->value.data, rule->value.count, wanted);
    } else {
        (part->is_word ? subject_word : subject_state)(part->reader->host, state->key, wanted);
    }
    return strcmp(subject, wanted) == 0;
}

/* Keeps the word. False: the owner's state, which has come before, names it already. */
static bool take_word(struct reader *reader, const struct state *state,
                      const struct follow_message *message)
{
    const struct table_row *row = table_find(&reader->table, state->key);

    put_word(reader, state, message);
    if (row == NULL || state->decision == 0 || row->decision != state->decision) {
        return true;
    }
    end_word(reader, state, message->subject);
    return false;
}

static void on_took(void *context, const struct follow_message *message)
{
    struct part *part = context;
    struct reader *reader = part->reader;
    struct hearsay_change change;
    struct state state;
    uint64_t withheld;

    if (subject_is_head(message->subject)) {
        take_head(reader, message);
        request_comparison(reader);
        return;
    }
    arena_reset(&reader->arena);
    if (!state_decode(message->data, message->size, &reader->arena, &change, &state) ||
        !subject_fits(part, &change, &state, message->subject)) {
        missing_note_odd(&reader->missing);
        if (log_gate_opens(&reader->odd_gate, (int64_t)uv_now(reader->shared.loop), &withheld)) {
            log_warning("host %s: %.200s is of another version, or no state of this subject",
                        reader->host, message->subject);
        }
        return;
    }
    if (part->is_word ? !take_word(reader, &state, message) : !put_row(part, &state, message)) {
        return;
    }
    const struct reader_word *word = part->is_word ? NULL : reader_word(reader, state.key);

    if (word != NULL && is_settled(&state, word)) {
        end_word(reader, &state, message->subject);
        word = NULL;
    }
    if (!queue_add(&reader->queue, &state, message->data, message->size, part->is_word) ||
        /* The owner does not know the word yet. */
        (word != NULL &&
         !queue_add(&reader->queue, &word->state, word->letter, word->size, true))) {
        follow_restart(part->follow);
    }
    queue_go(&reader->queue);
}

static bool on_room(void *context)
{
    const struct part *part = context;

    return part->reader->queue.count < QUEUE_BUSY;
}

static void on_began(void *context)
{
    (void)context; /* rows stay: what was gone in the meantime has no newer state */
}

/* What was superseded while no bridge was here is looked for. */
static void on_caught_up(void *context)
{
    struct part *part = context;

    scan_begin(part->scan);
    look_settled(part->reader);
}

/* A server that was away may lack what the hub has acknowledged, and a reader that follows at this
 * server does not get it. Only the owner can tell. */
static void doubt_copy(struct reader *reader)
{
    if (reader->not_compared_since_s == 0) {
        reader->not_compared_since_s = (int64_t)time(NULL);
    }
}

static void on_interrupted(void *context)
{
    struct part *part = context;

    doubt_copy(part->reader);
}

static const struct follow_events follow_events = {on_took, on_room, on_began, on_caught_up,
                                                   on_interrupted};

/* --- comparing with the owner ----------------------------------------------------------------- */

void reader_compared(struct reader *reader)
{
    reader->not_compared_since_s = 0;
}

int64_t reader_not_compared_since(const struct reader *reader)
{
    return reader->not_compared_since_s;
}

void reader_sweep(struct reader *reader)
{
    int64_t now_ms = owner_now_ms(reader);
    char subject[SUBJECT_BYTES];

    for (size_t i = 0; i < reader->table.room && erase_has_room(reader->shared.erase); i++) {
        struct table_row *row = &reader->table.rows[i];
        struct state state = {.is_rule = row->is_rule};

        if (row->seq == 0 || row->is_rule || row->until_ms == 0 || row->until_ms > now_ms) {
            continue;
        }
        memcpy(state.key, row->key, TABLE_KEY_BYTES);
        subject_of_key(reader, 'h', &state, subject);
        (void)erase_subject(reader->shared.erase, reader->parts[OF_STATES].stream, subject,
                            row->seq, NULL, NULL, NULL);
        reader->missing.ids[row->has_payload]--;
        table_remove(&reader->table, row);
        i--; /* another row may stand here now */
    }
    for (struct reader_word **at = &reader->words;
         *at != NULL && erase_has_room(reader->shared.erase);) {
        if ((*at)->state.is_rule || (*at)->state.until_ms > now_ms) {
            at = &(*at)->next;
            continue;
        }
        subject_of_key(reader, 'o', &(*at)->state, subject);
        (void)erase_subject(reader->shared.erase, "o", subject, (*at)->seq, NULL, NULL, NULL);
        drop_word(at);
    }
}

/* --- coming and going ------------------------------------------------------------------------- */

static int add_part(struct reader *reader, unsigned which, const char *stream, const char *filter)
{
    struct part *part = &reader->parts[which];
    struct follow_source source = {
        .name = reader->shared.name,
        .stream = part->stream,
        .filter = filter,
        .head_ms = which == OF_STATES ? bridge_head_ms() : 0,
    };

    part->reader = reader;
    part->is_word = which == OF_WORDS || which == OF_RULE_WORDS;
    (void)snprintf(part->stream, sizeof(part->stream), "%.15s", stream);
    int rc = follow_new(reader->shared.loop, reader->shared.wire, &source, &follow_events, part,
                        &part->follow);
    return rc != 0 ? rc
                   : scan_new(reader->shared.loop, reader->shared.wire, reader->shared.erase,
                              &source, &part->scan);
}

static int add_parts(struct reader *reader)
{
    char stream[SUBJECT_BYTES];
    char filter[SUBJECT_BYTES];

    subject_stream(reader->host, stream);
    (void)snprintf(filter, sizeof(filter), "h.%u.%s.>", subject_shard(reader->host), reader->host);
    int rc = add_part(reader, OF_STATES, stream, filter);

    (void)snprintf(filter, sizeof(filter), "h.rule.%s.>", reader->host);
    rc = rc == 0 ? add_part(reader, OF_RULES, "rule", filter) : rc;
    subject_words(reader->host, filter);
    rc = rc == 0 ? add_part(reader, OF_WORDS, "o", filter) : rc;
    subject_rule_words(reader->host, filter);
    return rc == 0 ? add_part(reader, OF_RULE_WORDS, "rule", filter) : rc;
}

int reader_new(const struct reader_shared *shared, const char *host, struct reader **out_reader)
{
    struct reader *reader = calloc(1, sizeof(*reader));

    if (reader == NULL) {
        return -ERR_NOMEM;
    }
    reader->shared = *shared;
    (void)snprintf(reader->host, sizeof(reader->host), "%s", host);
    arena_init(&reader->arena, alloc_system(), ARENA_BYTES);
    queue_init(&reader->queue, shared->loop, shared->near, reader->host, &queue_events, reader);
    missing_init(&reader->missing, shared->loop, reader->host, on_again, reader);
    doubt_copy(reader);
    *out_reader = reader; /* also without success: it has handles to close */
    return add_parts(reader);
}

void reader_joined(struct reader *reader)
{
    reader->heard_at_ms = reader->heard_at_ms != 0 ? reader->heard_at_ms : steady_ms();
    for (size_t i = 0; i < FOLLOWS; i++) {
        follow_make_consumer(reader->parts[i].follow);
    }
}

void reader_parted(struct reader *reader)
{
    doubt_copy(reader);
    for (size_t i = 0; i < FOLLOWS; i++) {
        follow_parted(reader->parts[i].follow);
        scan_parted(reader->parts[i].scan);
    }
}

void reader_greeted(struct reader *reader)
{
    missing_greeted(&reader->missing, near_messages_max(reader->shared.near, reader->host));
    queue_go(&reader->queue);
}

void reader_erase_has_room(struct reader *reader)
{
    for (size_t i = 0; i < FOLLOWS; i++) {
        scan_go(reader->parts[i].scan);
    }
}

void reader_scan(struct reader *reader)
{
    for (size_t i = 0; i < FOLLOWS; i++) {
        if (follow_is_caught_up(reader->parts[i].follow)) { /* else it scans then */
            scan_begin(reader->parts[i].scan);
        }
    }
}

void reader_stop(struct reader *reader)
{
    for (size_t i = 0; i < FOLLOWS; i++) {
        follow_stop(reader->parts[i].follow);
        scan_stop(reader->parts[i].scan);
    }
    queue_stop(&reader->queue);
    missing_stop(&reader->missing);
}

void reader_free(struct reader *reader)
{
    if (reader != NULL) {
        for (size_t i = 0; i < FOLLOWS; i++) {
            scan_free(reader->parts[i].scan);
        }
        while (reader->words != NULL) {
            drop_word(&reader->words);
        }
        table_clear(&reader->table);
        queue_deinit(&reader->queue);
        arena_deinit(&reader->arena);
        free(reader);
    }
}

const char *reader_host(const struct reader *reader)
{
    return reader->host;
}

bool reader_is_current(const struct reader *reader)
{
    bool is_current = reader->queue.count == 0;

    for (size_t i = 0; i < FOLLOWS; i++) {
        is_current = is_current && follow_is_caught_up(reader->parts[i].follow);
    }
    return is_current;
}

bool reader_is_behind(const struct reader *reader)
{
    return !reader_is_current(reader) || !near_is_up(reader->shared.near);
}

bool reader_is_refused(const struct reader *reader)
{
    return reader->queue.error[0] != '\0';
}

void reader_explain(const struct reader *reader, char *out)
{
    if (!wire_is_joined(reader->shared.wire)) {
        (void)snprintf(out, READER_WHY_BYTES, "there is no connection to the hub");
        return;
    }
    if (!near_is_up(reader->shared.near)) {
        (void)snprintf(out, READER_WHY_BYTES, "hearsayd here is away");
        return;
    }
    if (reader->queue.error[0] != '\0') {
        (void)snprintf(out, READER_WHY_BYTES, "hearsayd here does not take what the hub has: %s",
                       reader->queue.error);
        return;
    }
    for (size_t i = 0; i < FOLLOWS; i++) {
        if (!follow_is_caught_up(reader->parts[i].follow)) {
            follow_explain(reader->parts[i].follow, out, READER_WHY_BYTES);
            return;
        }
    }
    (void)snprintf(out, READER_WHY_BYTES, "%zu states wait for hearsayd here", reader->queue.count);
}

uint64_t reader_silent_ms(const struct reader *reader, int64_t *out_since_s)
{
    uint64_t silent_ms = steady_ms() - reader->heard_at_ms;

    *out_since_s = reader->head_stored_s;
    return wire_is_joined(reader->shared.wire) &&
                   follow_is_caught_up(reader->parts[OF_STATES].follow) &&
                   silent_ms > SILENT_HEADS * bridge_head_ms()
               ? silent_ms
               : 0;
}

bool reader_is_whole(const struct reader *reader)
{
    return !reader_is_behind(reader) && reader_no_room(reader) == 0 && reader_beyond(reader) == 0;
}

uint64_t reader_no_room(const struct reader *reader)
{
    return missing_no_room(&reader->missing);
}

uint64_t reader_beyond(const struct reader *reader)
{
    return missing_beyond(&reader->missing);
}

uint64_t reader_heads(const struct reader *reader)
{
    return reader->heads;
}

uint64_t reader_not_kept(const struct reader *reader)
{
    return reader->queue.not_kept;
}

uint64_t reader_left_out(const struct reader *reader)
{
    return reader->queue.left_out;
}

const struct table_row *reader_find(const struct reader *reader, const uint8_t *key)
{
    return table_find(&reader->table, key);
}
