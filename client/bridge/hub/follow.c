/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/hub/inner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "core/base/err.h"

enum {
    BATCH_BYTES = 1024 * 1024,
    REQUEST_MS = 5000,
    RETRY_MS = 1000,
    EXPIRES_S = 20,
    HEARTBEAT_S = 5,
    SILENCE_MS = 3 * HEARTBEAT_S * 1000,
    BEATS = 2,         /* so many heartbeats without a message between them: there is none */
    HEADS_STUCK = 2,   /* so many heads without one that came: the consumer is stuck */
    ERROR_BYTES = 192, /* of a sentence with what the hub says */
    UNUSED_S = 60,     /* then the server drops the consumer */
    ACK_WORDS = 9,     /* $JS.ACK.STREAM.CONSUMER.DELIVERED.SEQ.NUMBER.TIME.PENDING */
    NUMBER_BYTES = 24, /* a dot and a number */
    NS_PER_S = 1000000000
};

enum follow_state {
    FOLLOW_AWAY,   /* no connection */
    FOLLOW_MAKING, /* the consumer is asked for, or soon will be */
    FOLLOW_READY,  /* there is a consumer, and nothing is asked for */
    FOLLOW_PULLING
};

struct follow {
    struct wire *wire;
    const struct follow_events *events;
    void *context;
    uv_timer_t timer; /* the next attempt, or too long a silence */
    struct wire_subscription *inbox;
    char stream[64];
    char filter[WIRE_SUBJECT_BYTES];
    char own[WIRE_SUBJECT_BYTES - NUMBER_BYTES]; /* where messages are sent to, with a number */
    char asked[WIRE_SUBJECT_BYTES];              /* where those asked for last are sent to */
    uint64_t pulls;                              /* how often messages were asked for */
    char consumer[64];
    enum follow_state state;
    bool is_scan;
    bool is_caught_up;
    bool checks_place; /* the next message must be the one at `seq` */
    uint64_t seq;      /* of the last message taken; 0: none */
    uint64_t time_ns;  /* when the stream got it */
    uint64_t number;   /* of the last message of this consumer */
    uint64_t owed;     /* messages that the stream had for the consumer when it was made */
    size_t wanted;     /* of the messages asked for, how many are still to come */
    unsigned beats;    /* heartbeats since the last message, or since messages were asked for */
    unsigned silent;   /* heartbeats since the last message */
    uint64_t stuck;    /* so many of them are too many; 0: no message need come */
    char error[ERROR_BYTES]; /* why there is no consumer; "": nothing is known to be wrong */
};

static void on_timer(uv_timer_t *timer)
{
    struct follow *follow = timer->data;

    follow_make_consumer(follow);
}

static void try_later(struct follow *follow, uint64_t ms)
{
    (void)uv_timer_start(&follow->timer, on_timer, ms, 0);
}

static void note_caught_up(struct follow *follow)
{
    if (!follow->is_caught_up) {
        follow->is_caught_up = true;
        follow->events->caught_up(follow->context);
    }
}

/* --- the consumer ----------------------------------------------------------------------------- */

static void begin_again(struct follow *follow)
{
    follow->seq = 0;
    follow->checks_place = false;
    follow_make_consumer(follow);
}

/* Keeps why the hub has made no consumer. */
static void note_error(struct follow *follow, enum wire_outcome outcome,
                       const struct wire_message *message)
{
    struct ack ack;

    if (outcome == WIRE_ANSWERED && ack_read(message->data, message->size, &ack) && ack.code != 0) {
        (void)snprintf(follow->error, sizeof(follow->error), "the hub says: %s%s", ack.text,
                       strstr(ack.text, "stream not found") != NULL ? "; run setup-hub" : "");
    } else {
        (void)snprintf(follow->error, sizeof(follow->error),
                       "the hub does not answer: it has no streams (run setup-hub), no quorum, or "
                       "no right for this certificate");
    }
}

static void on_made(void *context, uint64_t tag, enum wire_outcome outcome,
                    const struct wire_message *message)
{
    struct follow *follow = context;
    const char *name = NULL;
    json_int_t pending = 0;
    json_t *answer = NULL;

    (void)tag;
    if (outcome == WIRE_ANSWERED) {
        answer = json_loadb((const char *)message->data, message->size, 0, NULL);
    }
    if (answer == NULL ||
        json_unpack(answer, "{s:s, s:I}", "name", &name, "num_pending", &pending) != 0 ||
        strlen(name) >= sizeof(follow->consumer)) {
        json_decref(answer);
        note_error(follow, outcome, message);
        try_later(follow, RETRY_MS);
        return;
    }
    (void)snprintf(follow->consumer, sizeof(follow->consumer), "%s", name);
    json_decref(answer);
    follow->error[0] = '\0';
    if (follow->checks_place && pending == 0) {
        begin_again(follow); /* not even the last message that was taken is there */
        return;
    }
    follow->state = FOLLOW_READY;
    follow->owed = pending > 0 ? (uint64_t)pending : 0;
    if (pending == 0) {
        note_caught_up(follow);
    }
    follow_go(follow);
}

static char *describe_consumer(const struct follow *follow)
{
    json_t *config =
        json_pack("{s:s, s:s, s:s, s:I, s:b, s:i}", "ack_policy", "none", "replay_policy",
                  "instant", "filter_subject", follow->filter, "inactive_threshold",
                  (json_int_t)UNUSED_S * 1000000000, "mem_storage", 1, "num_replicas", 1);

    if (follow->seq > 0) {
        (void)json_object_set_new(config, "deliver_policy", json_string("by_start_sequence"));
        (void)json_object_set_new(config, "opt_start_seq", json_integer((json_int_t)follow->seq));
    } else {
        (void)json_object_set_new(config, "deliver_policy",
                                  json_string(follow->is_scan ? "all" : "last_per_subject"));
    }
    if (follow->is_scan) {
        (void)json_object_set_new(config, "headers_only", json_true());
    }
    json_t *request = json_pack("{s:s, s:o}", "stream_name", follow->stream, "config", config);
    char *text = request != NULL ? json_dumps(request, JSON_COMPACT) : NULL;

    json_decref(request);
    return text;
}

void follow_make_consumer(struct follow *follow)
{
    char subject[WIRE_SUBJECT_BYTES];
    char *text = describe_consumer(follow);

    follow->state = FOLLOW_MAKING;
    follow->checks_place = follow->seq > 0;
    follow->number = 0;
    follow->wanted = 0;
    (void)snprintf(subject, sizeof(subject), "$JS.API.CONSUMER.CREATE.%s", follow->stream);
    struct wire_letter letter = {
        .subject = subject, .data = text, .size = text != NULL ? strlen(text) : 0};

    wire_forget(follow->wire, follow);
    if (follow->events->interrupted != NULL) {
        follow->events->interrupted(follow->context);
    }
    if (!follow->checks_place) {
        follow->is_caught_up = false;
        follow->events->began(follow->context);
    }
    if (text == NULL || !wire_request(follow->wire, &letter, REQUEST_MS, on_made, follow, 0)) {
        try_later(follow, RETRY_MS);
    }
    free(text);
}

/* --- messages --------------------------------------------------------------------------------- */

struct place {
    const char *consumer;
    size_t consumer_bytes;
    uint64_t seq;
    uint64_t number;
    uint64_t time_ns;
    uint64_t pending;
};

/* Reads where a message stands from its reply subject. Newer servers may add words. */
static bool read_place(const char *reply, struct place *out)
{
    const char *words[16];
    size_t count = 0;

    for (const char *at = reply; at != NULL && count < 16; count++) {
        const char *dot = strchr(at, '.');

        words[count] = at;
        at = dot != NULL ? dot + 1 : NULL;
    }
    if (count < ACK_WORDS || strncmp(reply, "$JS.ACK.", 8) != 0) {
        return false;
    }
    size_t first = count >= ACK_WORDS + 2 ? 4 : 2; /* a domain and an account may stand before */

    out->consumer = words[first + 1];
    out->consumer_bytes = strcspn(out->consumer, ".");
    out->seq = strtoull(words[first + 3], NULL, 10);
    out->number = strtoull(words[first + 4], NULL, 10);
    out->time_ns = strtoull(words[first + 5], NULL, 10);
    out->pending = strtoull(words[first + 6], NULL, 10);
    return out->seq > 0;
}

/* False: the place in the stream is lost, or a message is missing. */
static bool check_place(struct follow *follow, const struct place *place, bool *out_is_old)
{
    *out_is_old = follow->checks_place;
    if (follow->checks_place && (place->seq != follow->seq || place->time_ns != follow->time_ns)) {
        follow->seq = 0;
        return false;
    }
    follow->checks_place = false;
    return place->number == follow->number + 1;
}

static void take_state(struct follow *follow, const struct wire_message *message,
                       const struct place *place)
{
    struct follow_message taken = {.subject = message->subject,
                                   .data = message->data,
                                   .size = message->size,
                                   .seq = place->seq,
                                   .stored_s = (int64_t)(place->time_ns / NS_PER_S),
                                   .is_last = place->pending == 0};
    bool is_old = false;

    if (!check_place(follow, place, &is_old)) {
        follow_make_consumer(follow);
        return;
    }
    follow->beats = 0;
    follow->silent = 0;
    follow->number = place->number;
    follow->seq = place->seq;
    follow->time_ns = place->time_ns;
    follow->wanted -= follow->wanted > 0 ? 1 : 0;
    if (!is_old) {
        follow->events->took(follow->context, &taken);
    }
    /* A server that was killed may count one message too many from then on (2.9.10). Where messages
     * come all the time there would be neither a count of 0 nor two heartbeats. */
    if (place->pending == 0 || follow->number >= follow->owed) {
        note_caught_up(follow);
    }
    if (follow->wanted == 0 && follow->state == FOLLOW_PULLING) {
        follow->state = FOLLOW_READY;
        follow_go(follow);
    }
}

/* An owner that is there writes heads. A consumer that was made while servers came back may give
 * nothing for minutes, although the stream gets messages: the server that has it had more numbers
 * then than the stream has now. A new one goes on behind the last message that was taken. */
static bool is_stuck(struct follow *follow)
{
    if (follow->stuck == 0 || ++follow->silent < follow->stuck) {
        return false;
    }
    follow->silent = 0;
    return true;
}

/* The server has nothing to send now. It may have counted messages that have gone since then, or
 * that it has lost. They will never come, so the follower does not wait for them. */
static void take_heartbeat(struct follow *follow)
{
    if (is_stuck(follow)) {
        follow_make_consumer(follow);
        return;
    }
    if (follow->state != FOLLOW_PULLING || follow->is_caught_up || ++follow->beats < BEATS) {
        return;
    }
    if (follow->checks_place) {
        begin_again(follow);
    } else {
        note_caught_up(follow);
    }
}

/* What was asked of a consumer that was given up goes on until its end, with heartbeats. Were they
 * taken for those of the new consumer, that would soon be given up as well, and more be asked each
 * time. */
static bool is_of_earlier(const struct follow *follow, const struct wire_message *message,
                          const char *status)
{
    return status != NULL && strcmp(message->subject, follow->asked) != 0;
}

static void on_message(void *context, const struct wire_message *message)
{
    struct follow *follow = context;
    const char *status = wire_header(message, "Status");
    struct place place;

    if (follow->state < FOLLOW_READY || is_of_earlier(follow, message, status)) {
        return;
    }
    (void)uv_timer_start(&follow->timer, on_timer, SILENCE_MS, 0);
    if (read_place(message->reply, &place)) {
        if (place.consumer_bytes == strlen(follow->consumer) &&
            memcmp(place.consumer, follow->consumer, place.consumer_bytes) == 0) {
            take_state(follow, message, &place);
        }
        return; /* else of a consumer that was given up */
    }
    if (status == NULL) {
        return;
    }
    if (strcmp(status, "100") == 0) {
        take_heartbeat(follow);
    } else if (strcmp(status, "408") == 0) { /* what was asked for has ended */
        follow->state = FOLLOW_READY;
        follow_go(follow);
    } else if (strcmp(status, "409") != 0 || follow->wanted == FOLLOW_BATCH) {
        try_later(follow, RETRY_MS);
    } else { /* the batch had its bytes */
        follow->state = FOLLOW_READY;
        follow_go(follow);
    }
}

void follow_go(struct follow *follow)
{
    char subject[WIRE_SUBJECT_BYTES];
    char text[160];

    if (follow->state != FOLLOW_READY || !follow->events->has_room(follow->context)) {
        return;
    }
    (void)snprintf(subject, sizeof(subject), "$JS.API.CONSUMER.MSG.NEXT.%s.%s", follow->stream,
                   follow->consumer);
    (void)snprintf(text, sizeof(text),
                   "{\"batch\":%d,\"max_bytes\":%d,\"expires\":%d000000000,"
                   "\"idle_heartbeat\":%d000000000}",
                   FOLLOW_BATCH, BATCH_BYTES, EXPIRES_S, HEARTBEAT_S);
    (void)snprintf(follow->asked, sizeof(follow->asked), "%s.%" PRIu64, follow->own,
                   ++follow->pulls);
    struct wire_letter letter = {
        .subject = subject, .reply = follow->asked, .data = text, .size = strlen(text)};

    if (!wire_publish(follow->wire, &letter)) {
        try_later(follow, RETRY_MS);
        return;
    }
    follow->state = FOLLOW_PULLING;
    follow->wanted = FOLLOW_BATCH;
    follow->beats = 0;
    (void)uv_timer_start(&follow->timer, on_timer, SILENCE_MS, 0);
}

/* --- coming and going ------------------------------------------------------------------------- */

int follow_new(uv_loop_t *loop, struct wire *wire, const struct follow_source *source,
               const struct follow_events *events, void *context, struct follow **out_follow)
{
    static uint64_t made;
    char inbox[WIRE_SUBJECT_BYTES];
    struct follow *follow = calloc(1, sizeof(*follow));

    if (follow == NULL) {
        return -ERR_NOMEM;
    }
    follow->wire = wire;
    follow->events = events;
    follow->context = context;
    follow->is_scan = source->is_scan;
    if (source->head_ms > 0) {
        uint64_t beats = HEADS_STUCK * source->head_ms / (HEARTBEAT_S * 1000);

        follow->stuck = beats > BEATS ? beats : BEATS + 1;
    }
    (void)snprintf(follow->stream, sizeof(follow->stream), "%s", source->stream);
    (void)snprintf(follow->filter, sizeof(follow->filter), "%s", source->filter);
    (void)snprintf(follow->own, sizeof(follow->own), "_INBOX_%s.follow.%" PRIu64, source->name,
                   ++made);
    (void)snprintf(inbox, sizeof(inbox), "%s.*", follow->own);
    follow->inbox = wire_subscribe(wire, inbox, on_message, follow);
    if (follow->inbox == NULL) {
        free(follow);
        return -ERR_NOMEM;
    }
    (void)uv_timer_init(loop, &follow->timer); /* never fails */
    follow->timer.data = follow;
    *out_follow = follow;
    return 0;
}

void follow_restart(struct follow *follow)
{
    follow->seq = 0;
    follow->is_caught_up = false;
    try_later(follow, 0);
}

void follow_parted(struct follow *follow)
{
    wire_forget(follow->wire, follow);
    (void)uv_timer_stop(&follow->timer);
    follow->state = FOLLOW_AWAY;
    follow->error[0] = '\0';
    follow->is_caught_up = false;
}

bool follow_is_caught_up(const struct follow *follow)
{
    return follow->is_caught_up;
}

void follow_explain(const struct follow *follow, char *out, size_t room)
{
    uint64_t left = follow->owed > follow->number ? follow->owed - follow->number : 0;

    if (follow->error[0] != '\0') {
        (void)snprintf(out, room, "%s", follow->error);
    } else if (follow->state < FOLLOW_READY) {
        (void)snprintf(out, room, "the hub is asked for what it has");
    } else {
        (void)snprintf(out, room, "%" PRIu64 " states of the hub are still to come", left);
    }
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void follow_stop(struct follow *follow)
{
    if (follow != NULL) {
        wire_forget(follow->wire, follow);
        wire_unsubscribe(follow->inbox);
        uv_close((uv_handle_t *)&follow->timer, on_closed);
    }
}
