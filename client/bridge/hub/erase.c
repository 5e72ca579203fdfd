/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/hub/inner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "core/base/err.h"

enum { JOBS_OUT = 64, REQUEST_MS = 5000, NO_MESSAGE = 10037, NO_SEQUENCE = 10057, ATTEMPTS = 5 };

/* The messages of one subject; or one message, without a subject. */
struct job {
    struct job *next;
    struct erase *erase;
    char stream[64];
    char subject[WIRE_SUBJECT_BYTES];
    uint64_t last;
    uint64_t found; /* the message that is being erased */
    unsigned attempts;
    erase_done *done;
    void *context;
    uint8_t key[ERASE_KEY_BYTES];
};

struct erase {
    struct wire *wire;
    void (*has_room)(void *context);
    void *context;
    struct job *first; /* that wait */
    struct job **end;
    struct job *out; /* under way */
    size_t out_count;
    bool is_starting;
    uint64_t count;
    uint64_t waiting;
    bool was_busy; /* more waited than there is room for */
    bool has_missed;
};

static void begin_job(struct job *job);
static void find_message(struct job *job);

static void end_job(struct job *job, bool is_erased)
{
    struct erase *erase = job->erase;
    struct job **at = &erase->out;

    while (*at != job) {
        at = &(*at)->next;
    }
    *at = job->next;
    erase->out_count--;
    erase->waiting--;
    if (job->done != NULL) {
        job->done(job->context, job->key, is_erased);
    } else {
        erase->has_missed = erase->has_missed || !is_erased;
    }
    free(job);
    erase_start(erase);
    if (erase->was_busy && erase_has_room(erase)) {
        erase->was_busy = false;
        erase->has_room(erase->context);
    }
}

/* JetStream's number of an error; 0: none; -1: this is no answer of JetStream. */
static int error_of(json_t *answer)
{
    json_t *error = answer != NULL ? json_object_get(answer, "error") : NULL;

    if (answer == NULL) {
        return -1;
    }
    return error != NULL ? (int)json_integer_value(json_object_get(error, "err_code")) : 0;
}

static json_t *read_answer(enum wire_outcome outcome, const struct wire_message *message)
{
    return outcome == WIRE_ANSWERED
               ? json_loadb((const char *)message->data, message->size, 0, NULL)
               : NULL;
}

/* The servers may be choosing a leader. */
static void try_again(struct job *job)
{
    if (++job->attempts < ATTEMPTS && wire_is_joined(job->erase->wire)) {
        begin_job(job);
    } else {
        end_job(job, false);
    }
}

static bool send_request(struct job *job, const char *verb, const char *text, wire_done *done)
{
    char subject[WIRE_SUBJECT_BYTES];

    (void)snprintf(subject, sizeof(subject), "$JS.API.STREAM.MSG.%s.%s", verb, job->stream);
    struct wire_letter letter = {.subject = subject, .data = text, .size = strlen(text)};

    return wire_request(job->erase->wire, &letter, REQUEST_MS, done, job, 0);
}

static void on_deleted(void *context, uint64_t tag, enum wire_outcome outcome,
                       const struct wire_message *message)
{
    struct job *job = context;
    json_t *answer = read_answer(outcome, message);
    int code = error_of(answer);

    (void)tag;
    json_decref(answer);
    if (code == 0) {
        job->erase->count++;
    } else if (code != NO_SEQUENCE && code != NO_MESSAGE) {
        try_again(job);
        return;
    }
    if (job->subject[0] == '\0') {
        end_job(job, true);
    } else {
        find_message(job);
    }
}

static void delete_message(struct job *job)
{
    char text[80];

    (void)snprintf(text, sizeof(text), "{\"seq\":%" PRIu64 ",\"no_erase\":false}", job->found);
    if (!send_request(job, "DELETE", text, on_deleted)) {
        end_job(job, false);
    }
}

static void on_found(void *context, uint64_t tag, enum wire_outcome outcome,
                     const struct wire_message *message)
{
    struct job *job = context;
    json_t *answer = read_answer(outcome, message);
    int code = error_of(answer);
    json_int_t seq = 0;

    (void)tag;
    if (code == 0 && json_unpack(answer, "{s:{s:I}}", "message", "seq", &seq) != 0) {
        code = -1;
    }
    json_decref(answer);
    if (code == NO_MESSAGE || (code == 0 && (uint64_t)seq > job->last)) {
        end_job(job, true);
    } else if (code != 0) {
        try_again(job);
    } else {
        job->found = (uint64_t)seq;
        delete_message(job);
    }
}

/* Asks for the oldest message of the subject. */
static void find_message(struct job *job)
{
    char text[WIRE_SUBJECT_BYTES + 48];

    (void)snprintf(text, sizeof(text), "{\"seq\":1,\"next_by_subj\":\"%s\"}", job->subject);
    if (!send_request(job, "GET", text, on_found)) {
        end_job(job, false);
    }
}

static void begin_job(struct job *job)
{
    if (job->subject[0] == '\0') {
        delete_message(job);
    } else {
        find_message(job);
    }
}

void erase_start(struct erase *erase)
{
    if (erase->is_starting) { /* a job that ended at once calls this again */
        return;
    }
    erase->is_starting = true;
    while (erase->first != NULL && erase->out_count < JOBS_OUT && wire_is_joined(erase->wire)) {
        struct job *job = erase->first;

        erase->first = job->next;
        if (erase->first == NULL) {
            erase->end = &erase->first;
        }
        job->next = erase->out;
        erase->out = job;
        erase->out_count++;
        begin_job(job);
    }
    erase->is_starting = false;
}

static int make_job(struct erase *erase, const char *stream, const char *subject,
                    struct job **out_job)
{
    struct job *job;

    if (erase->waiting >= ERASE_WAITING_MAX) {
        return ERASE_FULL;
    }
    job = calloc(1, sizeof(*job));
    if (job == NULL) {
        return -ERR_NOMEM;
    }
    job->erase = erase;
    (void)snprintf(job->stream, sizeof(job->stream), "%s", stream);
    (void)snprintf(job->subject, sizeof(job->subject), "%s", subject);
    *erase->end = job;
    erase->end = &job->next;
    erase->waiting++;
    erase->was_busy = erase->was_busy || !erase_has_room(erase);
    *out_job = job;
    return 0;
}

int erase_subject(struct erase *erase, const char *stream, const char *subject, uint64_t last,
                  erase_done *done, void *context, const uint8_t *key)
{
    struct job *job = NULL;
    int rc = make_job(erase, stream, subject, &job);

    if (rc != 0) {
        erase->has_missed = erase->has_missed || done == NULL;
        return rc;
    }
    job->last = last;
    job->done = done;
    job->context = context;
    if (key != NULL) {
        memcpy(job->key, key, ERASE_KEY_BYTES);
    }
    erase_start(erase);
    return 0;
}

void erase_message(struct erase *erase, const char *stream, uint64_t seq)
{
    struct job *job = NULL;

    if (make_job(erase, stream, "", &job) != 0) {
        erase->has_missed = true;
        return;
    }
    job->found = seq;
    erase_start(erase);
}

bool erase_has_room(const struct erase *erase)
{
    return erase->waiting <= ERASE_WAITING_MAX / 2;
}

bool erase_take_missed(struct erase *erase)
{
    bool has_missed = erase->has_missed && erase->waiting == 0;

    erase->has_missed = erase->has_missed && !has_missed;
    return has_missed;
}

int erase_new(struct wire *wire, void (*has_room)(void *context), void *context,
              struct erase **out_erase)
{
    struct erase *erase = calloc(1, sizeof(*erase));

    if (erase == NULL) {
        return -ERR_NOMEM;
    }
    erase->wire = wire;
    erase->has_room = has_room;
    erase->context = context;
    erase->end = &erase->first;
    *out_erase = erase;
    return 0;
}

static void free_jobs(struct erase *erase, struct job *job)
{
    while (job != NULL) {
        struct job *next = job->next;

        wire_forget(erase->wire, job);
        free(job);
        job = next;
    }
}

void erase_free(struct erase *erase)
{
    if (erase != NULL) {
        free_jobs(erase, erase->first);
        free_jobs(erase, erase->out);
        free(erase);
    }
}

uint64_t erase_count(const struct erase *erase)
{
    return erase->count;
}

uint64_t erase_waiting(const struct erase *erase)
{
    return erase->waiting;
}
