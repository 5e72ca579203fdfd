/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes: sends what has changed at a host since a number, for copies of the host. If there is
 * nothing, waits for it, and reads again.
 */
#include <inttypes.h>

#include "daemon/handler/bridge.h"
#include "daemon/handler/job.h"
#include "daemon/system/container.h"
#include "daemon/watch/feed.h"
#include "daemon/watch/watch.h"
#include "proto/codec/codec.h"

struct changes_job {
    struct job base; /* first */
    struct persist_read read;
    struct feed_wait wait;
    size_t most;         /* changes of an answer */
    size_t bytes;        /* of their content */
    uint64_t replicated; /* as the client says */
    bool keeps_copy;     /* the client is a bridge that copies the host */
};

static void free_places(struct job *job)
{
    struct changes_job *page = CONTAINER_OF(job, struct changes_job, base);

    alloc_release(job->service->alloc, page->read.changes);
}

/* --- the answer ------------------------------------------------------------------------------- */

static void fill_rule(const struct persist_rule *rule, struct hearsay_rule_state *out)
{
    *out = (struct hearsay_rule_state){
        .kind = (uint32_t)rule->kind,
        .number = rule->number,
        .created_ms = rule->created_ms,
        .dropped = rule->dropped,
        .until_ms = rule->until_ms,
    };
    if (rule->value_bytes > 0) {
        out->value = (struct hearsay_bytes){rule->value, rule->value_bytes};
    }
}

/*
 * Returns false for a change that others are not told of: the mark that the host has been restored.
 */
static bool fill_change(const struct persist_change *change, struct hearsay_change *out)
{
    *out = (struct hearsay_change){.seq = (uint64_t)change->seq,
                                   .has_decision = change->decision_id.number != 0};
    if (out->has_decision) {
        out->decision = (struct hearsay_decision_id){
            .store_id = {change->decision_id.store_id, PERSIST_STORE_ID_BYTES},
            .number = change->decision_id.number,
            .time_ms = change->decision_id.time_ms,
        };
    }
    switch (change->kind) {
    case PERSIST_CHANGE_MESSAGE:
        out->has_message = true;
        job_fill_exported(&change->message, &out->message);
        out->message.state = (uint32_t)change->message.state;
        out->message.reports = change->message.reports;
        return true;
    case PERSIST_CHANGE_GONE:
        out->has_gone = true;
        out->gone = (struct hearsay_gone){
            .id = {change->message.id, MESSAGE_ID_BYTES},
            .until_ms = change->message.expires_ms,
            .why = (enum hearsay_why)change->why,
        };
        return true;
    default:
        out->has_rule = true;
        fill_rule(&change->rule, &out->rule);
        return change->rule.kind != PERSIST_RESTORED;
    }
}

static void answer_page(struct changes_job *page)
{
    const struct persist_read *read = &page->read;
    struct job *job = &page->base;
    struct service *service = job->service;
    struct hearsay_response response = {.id = job->request_id, .kind = HEARSAY_RESPONSE_CHANGED};
    struct hearsay_changed *changed = &response.changed;

    struct hearsay_change *changes =
        arena_take_zeroed(&service->arena, read->change_count + 1, sizeof(*changes));
    if (changes == NULL) {
        job_fail_memory(job);
        return;
    }
    for (size_t i = 0; i < read->change_count; i++) {
        changed->change_count += fill_change(&read->changes[i], &changes[changed->change_count]);
    }
    changed->changes = changes;
    changed->next = (uint64_t)read->page_last;
    changed->more = read->page_more;
    changed->waiting = read->waiting;
    changed->waiting_since_ms = read->waiting_since_ms;
    if (changed->next > job->host->feed.told) {
        job->host->feed.told = changed->next;
    }
    job_finish(job, &response);
    arena_reset(&service->arena);
}

/* --- reading and waiting ---------------------------------------------------------------------- */

static void begin_read(struct changes_job *page);

static void on_waited(struct feed_wait *wait, bool is_there)
{
    struct changes_job *page = CONTAINER_OF(wait, struct changes_job, wait);

    if (is_there && !page->base.client->is_gone) {
        begin_read(page);
    } else {
        answer_page(page); /* of nothing */
    }
}

/*
 * Called when nothing has changed. Waits for a change if the client wants to wait and the host can
 * still change; else answers.
 */
static void wait_or_answer(struct changes_job *page)
{
    struct job *job = &page->base;
    bool is_late = page->wait.until_ms <= service_monotonic_ms(job->service);

    if (page->wait.number != job->host->feed.turn) {
        begin_read(page);
        return;
    }
    job_release(job);
    free_places(job);
    job_recharge(job, job->bytes, REQUESTER_ANSWER_BYTES); /* while it waits it holds little */
    page->read.changes = NULL;
    page->read.change_count = 0;
    if (is_late || !feed_await_change(job->service, &page->wait)) {
        answer_page(page);
    }
}

static void on_changes(struct persist_read *read)
{
    struct changes_job *page = CONTAINER_OF(read, struct changes_job, read);

    if (read->failed) {
        job_fail_read(&page->base, read->reason);
        return;
    }
    if (page->keeps_copy && !read->page_more) {
        page->base.host->feed.whole = (uint64_t)read->page_last;
        feed_replicated(page->base.service, page->base.host, (uint64_t)read->page_last,
                        page->replicated);
    }
    if (read->page_last > read->page_after) {
        answer_page(page);
    } else {
        wait_or_answer(page);
    }
}

static void begin_read(struct changes_job *page)
{
    struct job *job = &page->base;
    size_t frame_bytes = job->service->config.limits.frame_bytes;

    job_release(job);
    if (job->is_charged) {
        job_recharge(job, job->bytes + frame_bytes, frame_bytes);
    }
    if (page->read.changes == NULL) {
        page->read.changes =
            alloc_array(job->service->alloc, page->most, sizeof(page->read.changes[0]));
    }
    if (page->read.changes == NULL) {
        job_fail_memory(job);
        return;
    }
    page->wait.number = job->host->feed.turn; /* what changes from now on is seen as a change */
    page->read.change_count = page->most;
    page->read.page_bytes_limit = page->bytes;
    page->read.failed = false;
    job_read(job, &page->read);
}

/* --- the request ------------------------------------------------------------------------------ */

/* Chooses how many changes an answer may have so that it fits one frame: see export.c. */
static void choose_page(uint32_t frame_bytes, uint32_t wanted, struct changes_job *page)
{
    size_t overhead = CODEC_CHANGE_BARE_BYTES_MAX + CODEC_EXPORTED_MESSAGE_BARE_BYTES_MAX +
                      CODEC_DECISION_ID_BARE_BYTES_MAX;
    size_t most = frame_bytes / 4 / overhead;

    page->most = wanted == 0 || wanted > LIMIT_CHANGES ? LIMIT_CHANGES : wanted;
    if (page->most > most) {
        page->most = most > 0 ? most : 1;
    }
    page->bytes = frame_bytes - CODEC_ENVELOPE_BYTES_MAX - page->most * overhead;
}

/*
 * The highest number of which a client of this store can know. A number above it is of another
 * store, or of one that has lost its end.
 */
static uint64_t newest_number(const struct ask *ask)
{
    uint64_t stored = (uint64_t)ask->service->store.seq;
    uint64_t newest = (uint64_t)ask->service->watch->newest_seq;

    newest = stored > newest ? stored : newest;
    return ask->host->feed.told > newest ? ask->host->feed.told : newest;
}

static bool check_changes(struct ask *ask)
{
    const struct hearsay_changes *asked = &ask->request->changes;

    if (!ask_host(ask, &asked->host)) {
        return false;
    }
    if (!host_has_feed(ask->host)) {
        ask_refuse(ask, HEARSAY_CODE_INVALID, "host",
                   "host \"%s\" keeps no changes; `replicate = yes` in its section lets it",
                   ask->host->config.name);
        return false;
    }
    if (asked->after > newest_number(ask)) {
        ask_refuse(ask, HEARSAY_CODE_INVALID, "after",
                   "after is %" PRIu64 ", and this store has not given such a number yet; begin "
                   "again from 0",
                   asked->after);
        return false;
    }
    if (asked->replicated > newest_number(ask)) {
        ask_refuse(ask, HEARSAY_CODE_INVALID, "replicated",
                   "replicated is %" PRIu64 ", and this store has not given such a number yet; "
                   "it is `next` of an answer",
                   asked->replicated);
        return false;
    }
    if (asked->replicated != 0 && !ask->client->is_bridge) {
        ask_refuse(ask, HEARSAY_CODE_INVALID, "replicated",
                   "only a bridge may say what the copies have");
        return false;
    }
    return true;
}

void handler_changes(struct ask *ask)
{
    const struct hearsay_changes *asked = &ask->request->changes;

    if (!check_changes(ask)) {
        return;
    }
    bool keeps_copy = ask->client->is_bridge && !asked->no_copy && !asked->waiting;
    if (keeps_copy) {
        feed_replicated(ask->service, ask->host, asked->after, asked->replicated);
    }
    struct changes_job *page = job_new(ask, sizeof(*page), 0);
    if (page == NULL) {
        return;
    }
    page->base.deinit = free_places;
    choose_page(ask->service->config.limits.frame_bytes, asked->limit, page);
    page->wait.host = ask->host;
    page->wait.client = ask->client;
    page->wait.until_ms = service_monotonic_ms(ask->service) + asked->wait_ms;
    page->wait.done = on_waited;
    page->replicated = asked->replicated;
    page->keeps_copy = keeps_copy;
    page->read.only_waiting = asked->waiting;
    page->read.kind = PERSIST_READ_CHANGES;
    page->read.page_host = ask->host->number;
    page->read.page_after = (int64_t)asked->after;
    page->read.page_last = (int64_t)asked->after;
    page->read.done = on_changes;
    begin_read(page);
}
