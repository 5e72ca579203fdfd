/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Check: compares index, counters and store while hearsayd serves requests.
 *
 * First the check compares message by message. The store's messages are read in pages on another
 * thread, and each message is looked up in memory. Memory may have changed since the store read the
 * page. So a message that differs is only a suspect. After a barrier, when all operations that were
 * submitted before have changed memory, the suspect is read and compared again. A suspect that
 * still differs in round ROUNDS is reported.
 *
 * Then the check compares sums, which also finds messages that are in memory only. First the check
 * waits until all earlier reads have ended, and deletes expired messages. Then the store counts in
 * an operation (PERSIST_TALLY), in order with the other operations. When `done` of this operation
 * is called, the earlier operations have changed memory, and the later ones have not. If a sum
 * differs, all three steps are repeated, in ROUNDS rounds at most.
 *
 *   page ... page (suspects? barrier, read each again)    wait for reads, expire ..., tally
 */
#include <stdio.h>
#include <string.h>

#include "daemon/handler/inner.h"
#include "daemon/handler/job.h"
#include "daemon/host/check.h"
#include "daemon/system/container.h"

enum {
    /* number of messages in a page */
    PAGE_MESSAGES = 128,
    PAGE_BYTES = 512 * 1024, /* most bytes of one read */
    ROUNDS = 5               /* rounds until a difference is reported */
};

struct check {
    struct job base; /* first */
    struct persist_read read;
    struct persist_op op;
    uint64_t messages; /* that were compared so far */
    int64_t after;     /* position of the last page's last message */
    bool more;         /* there are pages after it */
    uint32_t round;
    /* seq of the messages of this page that have differed so far */
    int64_t suspects[PAGE_MESSAGES];
    size_t suspect_count;
    size_t at;                     /* index of the suspect that is being read again */
    size_t guilty;                 /* number of suspects that differed again in this round */
    struct persist_tally *tallies; /* of this round */
    size_t tally_count;
    uint64_t found; /* problems in the messages */
    struct check_problems problems;
    struct persist_removed removed[PERSIST_EXPIRE_MAX];
    struct persist_entry entries[PAGE_MESSAGES];
};

static void begin_tally(struct check *check);

/* --- ends ------------------------------------------------------------------------------------- */

static void deinit_check(struct job *job)
{
    struct check *check = CONTAINER_OF(job, struct check, base);
    struct service *service = job->service;

    alloc_release(service->alloc, check->tallies);
    service->checking = false;
}

static void check_answer(struct check *check)
{
    struct hearsay_text texts[CHECK_PROBLEMS_MAX];
    struct hearsay_response response = {.id = check->base.request_id,
                                        .kind = HEARSAY_RESPONSE_CHECKED};
    uint64_t count = check->problems.count;

    response.checked.problems = texts;
    response.checked.problem_count =
        count < CHECK_PROBLEMS_MAX ? (size_t)count : CHECK_PROBLEMS_MAX;
    response.checked.messages = check->messages;
    for (size_t i = 0; i < response.checked.problem_count; i++) {
        const char *sentence = check->problems.sentences[i];
        texts[i] = (struct hearsay_text){sentence, strlen(sentence)};
        log_warning("check: %s", sentence);
    }
    if (count == 0) {
        log_info("checked: index, counters and store agree");
    }
    job_finish(&check->base, &response);
}

static void check_fail(struct check *check, const char *what, const char *reason)
{
    char sentence[LIMIT_ERROR_BYTES + 1];

    (void)snprintf(sentence, sizeof(sentence), "%s: %s", what, reason != NULL ? reason : "failed");
    job_fail_storage(&check->base, what, reason, sentence);
}

/*
 * Ends the check if the service is stopping, or if the client has disconnected. Returns whether the
 * check has ended.
 */
static bool ends_early(struct check *check)
{
    if (check->base.service->stopping) {
        job_fail(&check->base, HEARSAY_CODE_SHUTTING_DOWN, NULL, "the server is shutting down");
        return true;
    }
    if (check->base.client->is_gone) {
        job_end(&check->base);
        return true;
    }
    return false;
}

/* --- steps ------------------------------------------------------------------------------------ */

/*
 * Reads `count` messages after a position. With `count` 0 reads nothing, and `done` is called after
 * all earlier reads.
 */
static void begin_read(struct check *check, int64_t after, size_t count,
                       void (*done)(struct persist_read *read))
{
    check->read = (struct persist_read){
        .kind = count > 0 ? PERSIST_READ_CHECK : PERSIST_READ_PAYLOADS,
        .entries = check->entries,
        .entry_count = count,
        .page_after = after,
        .page_bytes_limit = PAGE_BYTES,
        .done = done,
    };
    job_read(&check->base, &check->read);
}

/* Submits an operation of `kind`, which is PERSIST_EXPIRE or PERSIST_TALLY. */
static void begin_op(struct check *check, enum persist_kind kind,
                     void (*done)(struct persist_op *op))
{
    check->op = (struct persist_op){
        .kind = kind,
        .now_ms = service_now_ms(check->base.service),
        .done = done,
    };
    if (kind == PERSIST_EXPIRE) {
        check->op.removed = check->removed;
        check->op.limit = PERSIST_EXPIRE_MAX;
    } else {
        check->op.tallies = check->tallies;
        check->op.tally_count = check->tally_count;
    }
    job_submit(&check->base, &check->op);
}

/* --- message by message ----------------------------------------------------------------------- */

static void on_page(struct persist_read *read);
static void on_barrier(struct persist_op *op);

static void go_on(struct check *check)
{
    if (check->more) {
        begin_read(check, check->after, PAGE_MESSAGES, on_page);
        return;
    }
    check->found = check->problems.count;
    check->round = 0;
    begin_tally(check);
}

static void on_read_again(struct persist_read *read)
{
    struct check *check = CONTAINER_OF(read, struct check, read);
    bool last_round = check->round == ROUNDS;
    int64_t seq = check->suspects[check->at];

    if (read->failed) {
        check_fail(check, "reading", read->reason);
        return;
    }
    /*
     * The read asks for the first message with the number of the suspect or a larger number. If the
     * store returns a larger number or no message, the suspect was deleted or has a new number.
     */
    if (read->entry_count == 1 && read->entries[0].message.seq == seq) {
        const char *reason = check_message(check->base.service, &read->entries[0]);
        if (reason != NULL && last_round) {
            check_tell_message(check->base.service, &read->entries[0], reason, &check->problems);
        } else if (reason != NULL) {
            check->suspects[check->guilty++] = seq;
        }
    }
    job_release(&check->base);
    if (ends_early(check)) {
        return;
    }
    check->at++;
    if (check->at < check->suspect_count) {
        begin_read(check, check->suspects[check->at] - 1, 1, on_read_again);
        return;
    }
    check->suspect_count = check->guilty;
    if (check->suspect_count == 0) {
        go_on(check);
    } else {
        check->round++;
        begin_op(check, PERSIST_TALLY, on_barrier);
    }
}

/*
 * Called when the store has done all operations that were submitted before the barrier. Their
 * results are in memory, so the suspects are read and compared again.
 */
static void on_barrier(struct persist_op *op)
{
    struct check *check = CONTAINER_OF(op, struct check, op);

    if (ends_early(check)) {
        return;
    }
    check->at = check->guilty = 0;
    begin_read(check, check->suspects[0] - 1, 1, on_read_again);
}

static void on_page(struct persist_read *read)
{
    struct check *check = CONTAINER_OF(read, struct check, read);

    if (read->failed) {
        check_fail(check, "reading", read->reason);
        return;
    }
    check->suspect_count = 0;
    for (size_t i = 0; i < read->entry_count; i++) {
        if (check_message(check->base.service, &read->entries[i]) != NULL) {
            check->suspects[check->suspect_count++] = read->entries[i].message.seq;
        }
    }
    check->messages += read->entry_count;
    check->after = read->page_last;
    check->more = read->page_more;
    job_release(&check->base);
    if (ends_early(check)) {
        return;
    }
    if (check->suspect_count == 0) {
        go_on(check);
    } else {
        check->round = 1;
        begin_op(check, PERSIST_TALLY, on_barrier);
    }
}

/* --- in sums ---------------------------------------------------------------------------------- */

static void on_tally(struct persist_op *op)
{
    struct check *check = CONTAINER_OF(op, struct check, op);
    struct service *service = check->base.service;

    if (op->outcome != PERSIST_APPLIED) {
        check_fail(check, "counting", op->reason);
        return;
    }
    check->problems.count = check->found;
    check_tallies(service, check->tallies, check->tally_count, &check->problems);
    alloc_release(service->alloc, check->tallies);
    check->tallies = NULL;
    check->tally_count = 0;
    if (ends_early(check)) {
        return;
    }
    check->round++;
    if (check->problems.count == check->found || check->round == ROUNDS) {
        check_answer(check);
    } else {
        begin_tally(check); /* a message may have been changed between the two sums */
    }
}

/*
 * Called when the store has deleted expired messages, or has failed. Expired messages are deleted
 * before the sums are compared, because messages that had expired before the start are not in
 * memory.
 */
static void on_expired(struct persist_op *op)
{
    struct check *check = CONTAINER_OF(op, struct check, op);
    struct service *service = check->base.service;

    if (op->outcome != PERSIST_APPLIED) {
        check_fail(check, "removing what has expired", op->reason);
        return;
    }
    service_forget_removed(service, op);
    metrics_note_left(&service->metrics, LEFT_REMOVED, op->destroyed_count);
    metrics_note_left(&service->metrics, LEFT_EXPIRED, op->removed_count - op->destroyed_count);
    if (ends_early(check)) {
        return;
    }
    if (op->removed_count == op->limit) {
        begin_op(check, PERSIST_EXPIRE, on_expired);
        return;
    }
    size_t count = check_tally_count(service);
    check->tallies = alloc_zeroed(service->alloc, count, sizeof(*check->tallies));
    if (check->tallies == NULL) {
        job_fail_memory(&check->base);
        return;
    }
    check->tally_count = count;
    check_ask_tallies(service, check->tallies);
    begin_op(check, PERSIST_TALLY, on_tally);
}

/*
 * Called when all earlier reads of the store have ended. A restore reads a message before it
 * submits the operation that shows the message, so the sums wait for such reads.
 */
static void on_reads_over(struct persist_read *read)
{
    struct check *check = CONTAINER_OF(read, struct check, read);

    job_release(&check->base);
    if (!ends_early(check)) {
        begin_op(check, PERSIST_EXPIRE, on_expired);
    }
}

static void begin_tally(struct check *check)
{
    begin_read(check, 0, 0, on_reads_over);
}

/* --- the request ------------------------------------------------------------------------------ */

void handler_check(struct ask *ask)
{
    if (ask->service->checking) {
        ask_refuse(ask, HEARSAY_CODE_RATE_LIMITED, NULL,
                   "a check is under way; try again when it is done");
        return;
    }
    struct check *check = job_new(ask, sizeof(*check), 0);
    if (check == NULL) {
        return;
    }
    ask->service->checking = true;
    check->base.deinit = deinit_check;
    check->more = true;
    job_charge(&check->base, sizeof(*check), sizeof(struct check_problems));
    go_on(check);
}
