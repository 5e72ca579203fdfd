/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Check: whether index, counters and store agree, while messages come and go.
 *
 * First message by message: the store's are read in pages, off the loop, and looked up in memory.
 * A page is of the past when it gets here, so what differs is only suspected: when all operations
 * that were submitted are in memory, it is read and compared again, and told if it stays wrong.
 *
 * Then in sums, which also show what memory has and the store has not. The store counts as one
 * operation among the others, and its answer comes when memory has what came before, and nothing of
 * what came after: they are of the same moment.
 *
 *   page ... page (suspects? barrier, read each again)    barrier of reads, expire ..., tally
 */
#include <string.h>

#include "daemon/handler/handler.h"
#include "daemon/host/check.h"
#include "daemon/system/container.h"

enum {
    PAGE_MESSAGES = 128,     /* that are compared at once: well under a millisecond */
    PAGE_BYTES = 512 * 1024, /* others wait for the reader meanwhile */
    ROUNDS = 5               /* so often in a row wrong is wrong */
};

struct check {
    struct persist_read read;
    struct persist_op op;
    struct service *service;
    struct requester *client;
    uint64_t request_id;
    uint64_t messages; /* that were looked at */
    int64_t after;     /* position of the last page's last message */
    bool more;         /* there are pages after it */
    uint32_t round;
    int64_t suspects[PAGE_MESSAGES]; /* of this page, by seq: suspect_count of them, */
    size_t suspect_count;
    size_t at;                     /* ... the one that is read again, */
    size_t guilty;                 /* ... and so many of those before it were wrong again */
    struct persist_tally *tallies; /* of this round */
    size_t tally_count;
    uint64_t found; /* problems in the messages */
    struct check_problems problems;
    struct persist_removed removed[PERSIST_EXPIRE_MAX];
    struct persist_entry entries[PAGE_MESSAGES];
};

static void begin_tally(struct check *check);

/* --- ends ------------------------------------------------------------------------------------- */

static void finish(struct check *check)
{
    struct service *service = check->service;
    struct requester *client = check->client;

    alloc_release(service->alloc, check->tallies, check->tally_count, sizeof(*check->tallies));
    alloc_release(service->alloc, check, 1, sizeof(*check));
    service->checking = false;
    service->working--;
    requester_work_end(client, sizeof(struct check), sizeof(struct check_problems));
}

static void answer(struct check *check)
{
    struct msg_text texts[CHECK_PROBLEMS_MAX];
    struct msg_response response = {.id = check->request_id, .kind = MSG_RESPONSE_CHECKED};
    const uint64_t count = check->problems.count;

    response.checked.problems = texts;
    response.checked.problem_count =
        count < CHECK_PROBLEMS_MAX ? (size_t)count : CHECK_PROBLEMS_MAX;
    response.checked.messages = check->messages;
    for (size_t i = 0; i < response.checked.problem_count; i++) {
        const char *sentence = check->problems.sentences[i];
        texts[i] = (struct msg_text){sentence, strlen(sentence)};
        log_warning("check: %s", sentence);
    }
    if (count == 0) {
        log_info("checked: index, counters and store agree");
    }
    check->client->events->respond(check->client, &response);
    finish(check);
}

static void fail(struct check *check, const char *what, const char *reason)
{
    service_storage_failed(check->service, what, reason);
    requester_refuse(check->client, check->request_id, MSG_STORAGE, NULL, "%s: %s", what,
                     reason != NULL ? reason : "failed");
    finish(check);
}

/* Nobody waits for it any more: it is over, then. */
static bool ends_early(struct check *check)
{
    if (check->service->stopping) {
        requester_refuse(check->client, check->request_id, MSG_SHUTTING_DOWN, NULL,
                         "the server is shutting down");
    } else if (!check->client->is_gone) {
        return false;
    }
    finish(check);
    return true;
}

/* --- steps ------------------------------------------------------------------------------------ */

/* Reads `count` messages after a position. 0: nothing, but after all reads that wait. */
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
    check->service->persist->interface->read(check->service->persist, &check->read);
}

static void release_read(struct check *check)
{
    check->service->persist->interface->read_release(check->service->persist, &check->read);
}

/* The operation is zeroed but for its kind. */
static void begin_op(struct check *check, enum persist_kind kind,
                     void (*done)(struct persist_op *op))
{
    check->op = (struct persist_op){
        .kind = kind,
        .now_ms = service_now_ms(check->service),
        .done = done,
    };
    if (kind == PERSIST_EXPIRE) {
        check->op.removed = check->removed;
        check->op.limit = PERSIST_EXPIRE_MAX;
    } else {
        check->op.tallies = check->tallies;
        check->op.tally_count = check->tally_count;
    }
    check->service->persist->interface->submit(check->service->persist, &check->op);
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
    const bool last_round = check->round == ROUNDS;
    const int64_t seq = check->suspects[check->at];

    if (read->failed) {
        fail(check, "reading", read->reason);
        return;
    }
    /* Another one in its place: it has gone. */
    if (read->entry_count == 1 && read->entries[0].message.seq == seq) {
        const char *reason = check_message(check->service, &read->entries[0]);
        if (reason != NULL && last_round) {
            check_tell_message(check->service, &read->entries[0], reason, &check->problems);
        } else if (reason != NULL) {
            check->suspects[check->guilty++] = seq;
        }
    }
    release_read(check);
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

/* All that was submitted before is in memory. */
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
        fail(check, "reading", read->reason);
        return;
    }
    check->suspect_count = 0;
    for (size_t i = 0; i < read->entry_count; i++) {
        if (check_message(check->service, &read->entries[i]) != NULL) {
            check->suspects[check->suspect_count++] = read->entries[i].message.seq;
        }
    }
    check->messages += read->entry_count;
    check->after = read->page_last;
    check->more = read->page_more;
    release_read(check);
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
    struct service *service = check->service;

    if (op->outcome != PERSIST_APPLIED) {
        fail(check, "counting", op->reason);
        return;
    }
    check->problems.count = check->found;
    check_tallies(service, check->tallies, check->tally_count, &check->problems);
    alloc_release(service->alloc, check->tallies, check->tally_count, sizeof(*check->tallies));
    check->tallies = NULL;
    check->tally_count = 0;
    if (ends_early(check)) {
        return;
    }
    check->round++;
    if (check->problems.count == check->found || check->round == ROUNDS) {
        answer(check);
    } else {
        begin_tally(check); /* something may have been on its way between the two */
    }
}

/* What had expired before the start is not in memory; with this it is not in the store either. */
static void on_expired(struct persist_op *op)
{
    struct check *check = CONTAINER_OF(op, struct check, op);
    struct service *service = check->service;

    if (op->outcome != PERSIST_APPLIED) {
        fail(check, "removing what has expired", op->reason);
        return;
    }
    for (uint32_t i = 0; i < op->removed_count; i++) {
        struct host *host = service_host_numbered(service, op->removed[i].host);
        if (host != NULL) {
            service_forget(service, host, op->removed[i].id);
        }
    }
    if (ends_early(check)) {
        return;
    }
    if (op->removed_count == op->limit) {
        begin_op(check, PERSIST_EXPIRE, on_expired);
        return;
    }
    const size_t count = check_tally_count(service);
    check->tallies = alloc_zeroed(service->alloc, count, sizeof(*check->tallies));
    if (check->tallies == NULL) {
        requester_refuse(check->client, check->request_id, MSG_INTERNAL, NULL,
                         "the server is out of memory");
        finish(check);
        return;
    }
    check->tally_count = count;
    check_ask_tallies(service, check->tallies);
    begin_op(check, PERSIST_TALLY, on_tally);
}

/* A message that is shown again is read before it stands in the index: such reads are over now. */
static void on_reads_over(struct persist_read *read)
{
    struct check *check = CONTAINER_OF(read, struct check, read);

    release_read(check);
    if (!ends_early(check)) {
        begin_op(check, PERSIST_EXPIRE, on_expired);
    }
}

static void begin_tally(struct check *check)
{
    begin_read(check, 0, 0, on_reads_over);
}

/* --- the request ------------------------------------------------------------------------------ */

void handler_check(struct service *service, struct requester *client,
                   const struct msg_request *request)
{
    if (!handler_is_administrator(client, request)) {
        return;
    }
    if (service->checking) {
        requester_refuse(client, request->id, MSG_RATE_LIMITED, NULL,
                         "a check is under way; try again when it is done");
        return;
    }
    struct check *check = alloc_zeroed(service->alloc, 1, sizeof(*check));
    if (check == NULL) {
        requester_refuse(client, request->id, MSG_INTERNAL, NULL, "the server is out of memory");
        return;
    }
    check->service = service;
    check->client = client;
    check->request_id = request->id;
    check->more = true;
    service->checking = true;
    service->working++;
    requester_work_begin(client, sizeof(*check), sizeof(struct check_problems));
    go_on(check);
}
