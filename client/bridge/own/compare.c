/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/own/inner.h"

#include <string.h>
#include <time.h>

#include "client/bridge/wire/subject.h"

enum {
    HEADS_A_DIGEST = 120, /* an hour */
    HEADS_DOUBT = 2,      /* the first head comes at once, when not all is published yet */
    HEADS_AGAIN = 2,      /* after a difference: a change may have been on its way */
    HEADS_SILENT = 10     /* no reader has answered; then twice as long each time, up to an hour */
};

static void take_result(struct compare *compare, enum digest_outcome outcome)
{
    if (outcome == DIGEST_UNKNOWN) {
        if (compare->since_s != 0) {
            compare->heads_left = compare->pause;
            compare->pause =
                compare->pause < HEADS_A_DIGEST / 2 ? 2 * compare->pause : HEADS_A_DIGEST;
        }
        compare->reader[0] = '\0';
        return;
    }
    compare->pause = HEADS_SILENT;
    if (outcome == DIGEST_SAME) {
        compare->different = 0;
        compare->since_s = compare->is_doubted_again ? compare->since_s : 0;
        compare->reader[0] = '\0';
        return;
    }
    compare->different_total++;
    if (++compare->different < 2) {
        compare->heads_left = HEADS_AGAIN;
        return;
    }
    compare->different = 0;
    compare->since_s = 0; /* what was lost is published again */
    compare->reader[0] = '\0';
    compare->events->differs(compare->context);
}

static void on_compared(void *context, enum digest_outcome outcome)
{
    struct compare *compare = context;

    take_result(compare, outcome);
    if (compare->is_doubted_again && compare->heads_left > HEADS_DOUBT) {
        compare->heads_left = HEADS_DOUBT;
    }
}

/* o.compare.HOST.READER: a reader was without the hub, and says so at each head until it has been
 * compared. The name is checked, since it goes into the request for the digest. */
static void on_request(void *context, const struct wire_message *message)
{
    struct compare *compare = context;
    const char *dot = strrchr(message->subject, '.');

    if (dot == NULL || !settings_is_name(dot + 1, strlen(dot + 1)) ||
        compare->digest.link != NULL) {
        return;
    }
    memcpy(compare->reader, dot + 1, strlen(dot + 1) + 1);
    compare->heads_left = 0;
    compare->events->wanted(compare->context);
}

bool compare_init(struct compare *compare, struct wire *wire, const char *host,
                  const struct compare_events *events, void *context)
{
    char subject[SUBJECT_BYTES];

    *compare = (struct compare){.events = events,
                                .context = context,
                                .heads_left = HEADS_DOUBT,
                                .pause = HEADS_SILENT,
                                .since_s = (int64_t)time(NULL)};
    digest_init(&compare->digest, wire, host, on_compared, compare);
    subject_compare(host, "*", subject);
    compare->requests = wire_subscribe(wire, subject, on_request, compare);
    return compare->requests != NULL;
}

void compare_stop(struct compare *compare)
{
    compare_end(compare);
    wire_unsubscribe(compare->requests);
}

void compare_doubt(struct compare *compare)
{
    compare->since_s = compare->since_s != 0 ? compare->since_s : (int64_t)time(NULL);
    compare->pause = HEADS_SILENT;
    compare->is_doubted_again = compare->digest.link != NULL;
    if (compare->heads_left > HEADS_DOUBT) {
        compare->heads_left = HEADS_DOUBT;
    }
}

bool compare_head(struct compare *compare)
{
    compare->heads_left -= compare->heads_left > 0 ? 1 : 0;
    return compare->heads_left == 0;
}

void compare_now(struct compare *compare, struct link *link, int64_t now_ms)
{
    if (compare->digest.link == NULL) {
        compare->heads_left = HEADS_A_DIGEST;
        compare->is_doubted_again = false;
        digest_begin(&compare->digest, compare->reader, link, now_ms);
    }
}

void compare_end(struct compare *compare)
{
    digest_end(&compare->digest);
}
