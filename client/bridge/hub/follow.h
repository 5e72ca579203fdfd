/* SPDX-License-Identifier: Apache-2.0 */
/*
 * follow: takes the last message of each subject of a stream, and then what comes, in the stream's
 * order; or only looks through the stream: takes all messages, without their data. Asks for as many
 * messages as the taker has room for. A follower whose place in the stream is not there any more,
 * because servers lost it, begins again.
 */
#ifndef CLIENT_BRIDGE_HUB_FOLLOW_H
#define CLIENT_BRIDGE_HUB_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include "client/bridge/wire/wire.h"

enum { FOLLOW_BATCH = 256 };

/* A message, borrowed until the callback returns. */
struct follow_message {
    const char *subject;
    const uint8_t *data;
    size_t size;
    uint64_t seq; /* in the stream */
    bool is_last; /* there are no others now */
};

struct follow_events {
    void (*took)(void *context, const struct follow_message *message);
    /* Whether up to FOLLOW_BATCH messages more may come. When this changes, call follow_go. */
    bool (*has_room)(void *context);
    /* All comes once more from the beginning. */
    void (*began)(void *context);
    /* All that was there has come. Called once after each `began`. */
    void (*caught_up)(void *context);
    /* The server is asked for a consumer: the connection is a new one, or the server was silent,
     * has lost the consumer or what it had given. May be NULL. */
    void (*interrupted)(void *context);
};

/* What is followed, and who follows. */
struct follow_source {
    const char *name; /* the bridge's own, which is in its inbox's */
    const char *stream;
    const char *filter;
    bool is_scan; /* all messages, without their data */
    uint64_t
        head_ms; /* an owner that is there writes a head at least so often; 0: there are no heads */
};

struct follow;

/* `events` is borrowed, the texts are copied. Asks for nothing before follow_joined. 0, or
 * -ERR_NOMEM. */
int follow_new(uv_loop_t *loop, struct wire *wire, const struct follow_source *source,
               const struct follow_events *events, void *context, struct follow **out_follow);

void follow_joined(struct follow *follow);
void follow_parted(struct follow *follow);
void follow_go(struct follow *follow);
void follow_restart(struct follow *follow); /* all comes once more */

const char *follow_filter(const struct follow *follow);

/* Whether nothing is known to be missing. */
bool follow_is_caught_up(const struct follow *follow);

/* Closes the handles; the memory goes when the loop has closed them. NULL is fine. */
void follow_stop(struct follow *follow);

#endif
