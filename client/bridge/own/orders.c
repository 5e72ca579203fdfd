/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/own/inner.h"

#include "client/bridge/wire/subject.h"
#include "proto/codec/letter.h"

static void on_applied(void *context, bool is_applied, const char *why)
{
    struct orders *orders = context;

    if (!is_applied) {
        (void)snprintf(orders->restore->error, sizeof(orders->restore->error), "%.250s", why);
        restore_words_later(orders->restore);
    }
}

static void on_word(void *context, const struct wire_message *message)
{
    struct orders *orders = context;
    struct msg_letter letter;
    struct msg_error error;
    struct arena arena;
    uint64_t withheld;

    arena_init(&arena, alloc_system(), CODEC_RESPONSE_ARENA_BYTES + message->size);
    int rc = letter_decode(message->data, message->size, &arena, &letter, &error);
    if (rc == 0 && letter.kind == MSG_LETTER_CHANGE) {
        rc = apply_push(orders->apply, &letter.change, 1, HEARSAY_AS_OPERATOR, false, on_applied,
                        orders);
        if (rc != 0) { /* too many at once: they come as pages */
            restore_words(orders->restore);
        }
    } else if (log_gate_opens(&orders->gate, (int64_t)uv_now(orders->loop), &withheld)) {
        log_warning("host %s: an operator's word is not of this version: %s", orders->host,
                    rc != 0 ? error.message : "it is no change");
    }
    arena_deinit(&arena);
}

void orders_begin(struct orders *orders, struct wire *wire)
{
    char subject[SUBJECT_BYTES];

    subject_words(orders->host, subject);
    orders->subscriptions[0] = wire_subscribe(wire, subject, on_word, orders);
    subject_rule_words(orders->host, subject);
    orders->subscriptions[1] = wire_subscribe(wire, subject, on_word, orders);
}

void orders_end(struct orders *orders)
{
    wire_unsubscribe(orders->subscriptions[0]);
    wire_unsubscribe(orders->subscriptions[1]);
}
