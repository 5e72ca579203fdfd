/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/own/own.h"

#include <string.h>

#include <jansson.h>

#include "client/bridge/own/inner.h"
#include "client/bridge/wire/subject.h"

enum { ANSWER_MS = 10 * 1000 };

struct forget {
    struct errand errand;
    json_int_t purged; /* messages that were there */
    bool is_done;
};

static void on_purged(void *context, uint64_t tag, enum wire_outcome outcome,
                      const struct wire_message *message)
{
    struct forget *forget = context;
    json_t *answer = NULL;
    json_int_t purged = 0;
    int success = 0;

    (void)tag;
    if (outcome == WIRE_ANSWERED) {
        answer = json_loadb((const char *)message->data, message->size, 0, NULL);
    }
    forget->is_done =
        answer != NULL &&
        json_unpack(answer, "{s:b, s?I}", "success", &success, "purged", &purged) == 0 && success;
    forget->purged += purged;
    json_decref(answer);
    forget->errand.is_over = true;
}

/* Removes all messages of a stream whose subject fits. */
static int purge_subjects(struct forget *forget, const char *stream, const char *filter,
                          char *out_reason)
{
    char subject[SUBJECT_BYTES];
    char body[SUBJECT_BYTES + 32];
    struct wire_letter letter = {.subject = subject, .data = body};

    (void)snprintf(subject, sizeof(subject), "$JS.API.STREAM.PURGE.%.100s", stream);
    letter.size = (size_t)snprintf(body, sizeof(body), "{\"filter\":\"%s\"}", filter);
    forget->is_done = false;
    if (!wire_request(forget->errand.wire, &letter, ANSWER_MS, on_purged, forget, 0) ||
        !errand_wait(&forget->errand, 2 * ANSWER_MS) || !forget->is_done) {
        return reason_set(out_reason,
                          "the hub does not purge %s: this needs the certificate of a reader, of "
                          "hearsay-hub-certificate FOLDER hub NAME",
                          stream);
    }
    return 0;
}

static int purge_host(struct forget *forget, const char *host, char *out_reason)
{
    char stream[SUBJECT_BYTES];
    char subject[SUBJECT_BYTES];
    int rc;

    subject_stream(host, stream);
    (void)snprintf(subject, sizeof(subject), "h.%u.%.100s.>", subject_shard(host), host);
    rc = purge_subjects(forget, stream, subject, out_reason);
    subject_words(host, subject);
    rc = rc == 0 ? purge_subjects(forget, "o", subject, out_reason) : rc;
    subject_rule_words(host, subject);
    rc = rc == 0 ? purge_subjects(forget, "rule", subject, out_reason) : rc;
    (void)snprintf(subject, sizeof(subject), "h.rule.%.100s.>", host);
    return rc == 0 ? purge_subjects(forget, "rule", subject, out_reason) : rc;
}

int forget_host(const struct bridge_config *config, const char *host, FILE *out, char *out_reason)
{
    struct forget forget = {.is_done = false};
    int rc = errand_open(&forget.errand, config, out_reason);

    rc = rc == 0 ? purge_host(&forget, host, out_reason) : rc;
    errand_close(&forget.errand);
    if (rc == 0) {
        int saved = cursor_remove(config->state, host);

        if (saved != 0) {
            return reason_set(out_reason, "%s of the cursor of %s", strerror(saved), host);
        }
        (void)fprintf(out,
                      forget.purged == 0
                          ? "%s: the hub had nothing of it: is this its name?\n"
                          : "%s: the hub has nothing of it any more; an owner that still "
                            "publishes it puts all of it back\n",
                      host);
    }
    return rc;
}
