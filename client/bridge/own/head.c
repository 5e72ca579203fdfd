/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/own/inner.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/bridge/wire/subject.h"
#include "proto/codec/letter.h"

enum { HEAD_TIMEOUT_MS = 5000, NOT_FOUND = 404 };

/* A thief of a certificate may have written the highest one. */
uint64_t head_next_term(uint64_t term)
{
    return term < UINT64_MAX ? term + 1 : term;
}

static void fail_head(struct head_keeper *keeper, struct head *head, const char *why)
{
    (void)snprintf(head->error, sizeof(head->error), "%s", why);
    keeper->done(keeper->context, HEAD_FAILED, head);
}

static const char *text_of(enum wire_outcome outcome)
{
    return outcome == WIRE_LOST ? "the connection was lost"
                                : "the hub does not answer: it has no stream for this host (run "
                                  "setup-hub there), no quorum, or no right for this certificate";
}

static bool decode_head(const struct wire_message *message, struct head *head)
{
    struct msg_letter letter;
    struct msg_error error;
    struct arena arena;
    bool is_head;

    arena_init(&arena, alloc_system(), CODEC_REQUEST_ARENA_BYTES + message->size);
    is_head = letter_decode(message->data, message->size, &arena, &letter, &error) == 0 &&
              letter.kind == MSG_LETTER_HEAD;
    if (is_head) {
        memcpy(head->store_id, letter.head.store_id.data, LIMIT_ID_BYTES);
        head->seq = letter.head.seq;
        head->term = letter.head.term;
        head->as_of_ms = letter.head.as_of_ms;
        head->is_taken = letter.head.is_taken;
        (void)snprintf(head->profile, sizeof(head->profile), "%.*s",
                       (int)letter.head.profile.length, letter.head.profile.text);
    }
    arena_deinit(&arena);
    return is_head;
}

static void on_read(void *context, uint64_t tag, enum wire_outcome outcome,
                    const struct wire_message *message)
{
    struct head_keeper *keeper = context;
    struct head head = {.place = 0};
    const char *place;

    (void)tag;
    if (outcome != WIRE_ANSWERED) {
        fail_head(keeper, &head, text_of(outcome));
        return;
    }
    place = wire_header(message, "Nats-Sequence");
    if (place == NULL) {
        const char *status = wire_header(message, "Status");

        if (status != NULL && atoi(status) == NOT_FOUND) {
            keeper->done(keeper->context, HEAD_NONE, &head);
        } else {
            fail_head(keeper, &head, "the hub's streams have no direct get: run setup-hub there");
        }
        return;
    }
    head.place = strtoull(place, NULL, 10);
    if (decode_head(message, &head)) {
        keeper->done(keeper->context, HEAD_FOUND, &head);
    } else {
        fail_head(keeper, &head, "the head at the hub is not one of this version");
    }
}

bool head_read(struct head_keeper *keeper)
{
    char subject[SUBJECT_BYTES];
    struct wire_letter ask = {.subject = subject, .data = "", .size = 0};

    subject_get_head(keeper->host, subject);
    return wire_request(keeper->wire, &ask, HEAD_TIMEOUT_MS, on_read, keeper, 0);
}

static void on_write(void *context, uint64_t tag, enum wire_outcome outcome,
                     const struct wire_message *message)
{
    struct head_keeper *keeper = context;
    struct head head = {.place = 0};
    struct ack ack;

    (void)tag;
    if (outcome != WIRE_ANSWERED) {
        fail_head(keeper, &head, text_of(outcome));
    } else if (!ack_read(message->data, message->size, &ack)) {
        fail_head(keeper, &head, "the hub's answer is not one of JetStream");
    } else if (ack.code == ACK_WRONG_SEQUENCE) {
        head.place = ack.last;
        keeper->done(keeper->context, HEAD_REFUSED, &head);
    } else if (ack.code != 0) {
        fail_head(keeper, &head, ack.text);
    } else {
        head.place = ack.seq;
        keeper->done(keeper->context, HEAD_ACCEPTED, &head);
    }
}

bool head_write(struct head_keeper *keeper, const struct head *head, const char *profile,
                uint64_t last_place)
{
    char subject[SUBJECT_BYTES];
    char last[24];
    struct wire_pair pair = {"Nats-Expected-Last-Subject-Sequence", last};
    struct msg_letter letter = {
        .kind = MSG_LETTER_HEAD,
        .head = {.store_id = {head->store_id, LIMIT_ID_BYTES},
                 .seq = head->seq,
                 .term = head->term,
                 .profile = {profile, strlen(profile)},
                 .as_of_ms = head->as_of_ms,
                 .is_taken = head->is_taken},
    };
    struct bytes bytes;
    bool is_sent;

    bytes_init(&bytes, alloc_system());
    subject_head(keeper->host, subject);
    (void)snprintf(last, sizeof(last), "%" PRIu64, last_place);
    is_sent = letter_encode(&letter, &bytes) == 0;
    if (is_sent) {
        struct wire_letter sent = {.subject = subject,
                                   .pairs = &pair,
                                   .pair_count = 1,
                                   .data = bytes.data,
                                   .size = bytes.count};
        is_sent = wire_request(keeper->wire, &sent, HEAD_TIMEOUT_MS, on_write, keeper, 0);
    }
    bytes_deinit(&bytes);
    return is_sent;
}
