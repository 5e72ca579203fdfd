/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deposit: adds a message. First, admission.c checks the deposit, and may refuse it. Then the store
 * stores the message, or refuses it: for example, because another message has its id, or because
 * the storage is nearly full. A stored message is added to index and cache, unless it is held for
 * review. Last, watches are notified and the client gets the answer.
 */
#include <string.h>

#include "core/base/err.h"
#include "daemon/handler/inner.h"
#include "daemon/handler/job.h"
#include "daemon/system/container.h"
#include "daemon/system/list.h"
#include "daemon/watch/feed.h"
#include "daemon/watch/watch.h"

/*
 * The messages that are removed for a deposit. They are promised first (room.h). The store deletes
 * them when it stores the deposit.
 */
struct going {
    struct room room;
    struct persist_removed removed[ROOM_EVICT_MAX];
};

/* A deposit that waits for the store. It has a copy of the data that the operation points to. */
struct deposit_job {
    struct job base; /* first */
    struct persist_op op;
    bool reserved;     /* the usage counts the message */
    bool is_shared;    /* this deposit has added the message to host->shares */
    bool without_here; /* its filter lacks here labels of the client */
    /* tag of the /64 of the sender (senders_wide_tag); the address has the tag op.message.sender */
    uint32_t wide_tag;
    struct waiting_answer waiting; /* of an answer that is reserved: in host->answers */
    struct going *going;           /* owned; NULL: no message is removed */
    uint8_t content[];             /* filter, media type, payload */
};

static void free_going(struct job *job)
{
    struct deposit_job *deposit = CONTAINER_OF(job, struct deposit_job, base);

    alloc_release(job->service->alloc, deposit->going);
}

/* --- before the store ------------------------------------------------------------------------- */

/* Fills in which messages the store deletes when it stores the deposit. Returns 0 or -ERR_NOMEM. */
static int ask_for_room(struct deposit_job *job, const struct room *room)
{
    struct persist_op *op = &job->op;

    if (room->need.messages == 0 && room->need.bytes == 0 && room->own_count == 0) {
        return 0;
    }
    job->going = alloc_array(job->base.service->alloc, 1, sizeof(*job->going));
    if (job->going == NULL) {
        return -ERR_NOMEM;
    }
    job->going->room = *room;
    op->removed = job->going->removed;
    op->limit = ROOM_EVICT_MAX;
    op->chosen = job->going->room.own_ids[0];
    op->chosen_count = room->own_count;
    if (room->need.messages > 0 || room->need.bytes > 0) {
        op->evict = job->base.host->config.evict == CONFIG_EVICT_OLDEST ? PERSIST_EVICT_OLDEST
                                                                        : PERSIST_EVICT_SOONEST;
        op->evict_messages = room->need.messages;
        op->evict_bytes = room->need.bytes;
    }
    return 0;
}

static void copy_content(struct deposit_job *job, const struct hearsay_deposit *deposit)
{
    struct persist_message *message = &job->op.message;
    uint8_t *at = job->content;

    memcpy(at, deposit->filter.data, deposit->filter.count);
    message->filter = at;
    message->filter_bytes = deposit->filter.count;
    at += deposit->filter.count;
    memcpy(at, deposit->media_type.text, deposit->media_type.length);
    message->media_type = (const char *)at;
    message->media_type_bytes = deposit->media_type.length;
    at += deposit->media_type.length;
    if (deposit->payload.count > 0) {
        memcpy(at, deposit->payload.data, deposit->payload.count);
    }
    message->payload = at;
    message->payload_bytes = deposit->payload.count;
}

/*
 * Called when the store has answered. If deposit_reserve has counted the message, takes the message
 * off the usage again, and ends the promise of the messages that are removed for it.
 */
static void release_reservation(struct deposit_job *job)
{
    uint32_t bytes = host_message_bytes(&job->op.message);

    if (!job->reserved) {
        return;
    }
    service_uncount(job->base.service, job->base.host, bytes);
    usage_subtract(&job->base.host->waiting, bytes);
    if (job->op.message.is_answer) {
        DL_DELETE(job->base.host->answers.waiting, &job->waiting);
    }
    if (job->going != NULL) {
        room_unpromise(job->base.service, job->base.host, &job->going->room);
    }
    job->reserved = false;
}

/*
 * Counts the message, which waits for the store, in the usage and in its sender's share.
 * -ERR_NOMEM: nothing is counted.
 */
static int deposit_reserve(struct deposit_job *job)
{
    struct sender_tags sender = {job->op.message.sender, job->wide_tag};
    uint32_t bytes = host_message_bytes(&job->op.message);
    struct host *host = job->base.host;

    int rc = shares_add(&host->shares, job->op.message.id, &sender, bytes, &job->is_shared);
    if (rc != 0) {
        return rc;
    }
    service_count(job->base.service, host, bytes);
    usage_add(&host->waiting, bytes);
    if (job->op.message.is_answer) {
        job->waiting.sender = sender.address;
        memcpy(job->waiting.parent, job->op.message.answers, MESSAGE_ID_BYTES);
        DL_APPEND(host->answers.waiting, &job->waiting);
    }
    job->reserved = true;
    return 0;
}

/*
 * Called when the store has answered a deposit. `is_stored`: this deposit has added a message to
 * the store and to memory. If so, adds the message to its sender's share unless the share counts
 * the id already. If not, takes the message off the share if this deposit has added it. The share
 * does not count a stored message yet if an older message of the same id was counted when the
 * deposit was submitted, and was removed since. If memory is short, the message counts for no
 * sender.
 */
static void settle_share(struct deposit_job *job, bool is_stored)
{
    struct sender_tags sender = {job->op.message.sender, job->wide_tag};
    const uint8_t *id = job->op.message.id;

    if (is_stored) {
        (void)shares_add(&job->base.host->shares, id, &sender, host_message_bytes(&job->op.message),
                         &job->is_shared);
    } else if (job->is_shared) {
        shares_remove(&job->base.host->shares, id);
    }
}

/* --- after the store -------------------------------------------------------------------------- */

/*
 * Adds a stored message to memory. Memory may have a message of the same id already. With
 * PERSIST_DUPLICATE it is this message. Otherwise the older message has expired: the store has
 * replaced it, and the sweep has not removed it from memory yet.
 */
static int index_message(struct deposit_job *job)
{
    struct service *service = job->base.service;
    struct host *host = job->base.host;
    const struct persist_message *message = &job->op.message;

    if (host_has(host, message->id, INT64_MIN)) {
        if (job->op.outcome == PERSIST_DUPLICATE) {
            return 0;
        }
        service_forget(service, host, message->id);
        metrics_note_left(&service->metrics, LEFT_EXPIRED, 1);
    }
    int rc = service_keep(service, host, message);
    if (rc == 0) {
        service_remember_kept(service, message);
    }
    return rc;
}

/* Tells the watches about the message, which is in memory now. `was_missed`: the message was stored
 * earlier, but there was no memory to index it then. */
static void tell_watches(struct deposit_job *job, bool was_missed)
{
    const struct persist_message *message = &job->op.message;
    struct service *service = job->base.service;
    struct host *host = job->base.host;
    bool is_shown = message->state < PERSIST_HIDDEN;

    if (job->op.outcome == PERSIST_APPLIED) {
        watch_numbered(service, host, is_shown ? message : NULL, message->seq);
    } else if (was_missed && is_shown) {
        watch_found(service, host, message);
    }
}

/* --- copies ----------------------------------------------------------------------------------- */

/* The answer to a deposit that waits until the copies have the message. */
struct late_answer {
    struct job base; /* first */
    struct feed_wait wait;
    struct hearsay_deposited deposited;
};

static void on_copies(struct feed_wait *wait, bool is_there)
{
    struct late_answer *late = CONTAINER_OF(wait, struct late_answer, wait);
    struct hearsay_response response = {
        .id = late->base.request_id,
        .kind = HEARSAY_RESPONSE_DEPOSITED,
        .deposited = late->deposited,
    };

    if (is_there) {
        response.deposited.durability = HEARSAY_DURABILITY_REPLICATED;
    }
    service_note(late->base.service, METRIC_DEPOSIT, late->base.began_ns);
    job_finish(&late->base, &response);
}

/* Whether the copies have the message already: it was deposited again. */
static bool has_copies(const struct deposit_job *job)
{
    const struct host *host = job->base.host;

    return host->config.acknowledge_replicated && job->op.message.epoch == 0 &&
           !job->op.message.is_answer && (uint64_t)job->op.message.seq <= host->feed.replicated;
}

/*
 * Lets the answer wait for the copies, and ends the job. Returns false if it need not wait or
 * cannot. Messages in an epoch with a key, and answers, have no copies.
 */
static bool wait_for_copies(struct deposit_job *job, const struct hearsay_deposited *deposited)
{
    const struct persist_message *message = &job->op.message;
    struct service *service = job->base.service;
    struct host *host = job->base.host;

    if (!host->config.acknowledge_replicated || message->epoch != 0 || message->is_answer ||
        has_copies(job)) {
        return false;
    }
    struct late_answer *late = job_follow(&job->base, sizeof(*late));
    if (late == NULL) {
        return false;
    }
    late->deposited = *deposited;
    late->wait = (struct feed_wait){
        .host = host,
        .client = job->base.client,
        .until_ms = service_monotonic_ms(service) + host->config.replicate_wait_ms,
        .number = (uint64_t)message->seq,
        .done = on_copies,
    };
    if (!feed_await_copies(service, &late->wait)) {
        alloc_release(service->alloc, late);
        return false;
    }
    job_charge(&late->base, sizeof(*late), REQUESTER_ANSWER_BYTES);
    job_end(&job->base);
    return true;
}

/* The message is in the store. */
static void answer_stored(struct deposit_job *job)
{
    const struct persist_op *op = &job->op;

    bool was_missed =
        op->outcome == PERSIST_DUPLICATE && !host_has(job->base.host, op->message.id, INT64_MIN);
    int rc = index_message(job);
    if (op->outcome == PERSIST_APPLIED) {
        settle_share(job, rc == 0);
        job->base.service->metrics.without_here += job->without_here ? 1 : 0;
    }
    /* the epoch ended while the deposit waited; the sweep deletes the message */
    if (rc == HOST_NO_EPOCH) {
        job_fail(&job->base, HEARSAY_CODE_UNKNOWN_EPOCH, "epoch", "the epoch has ended meanwhile");
        return;
    }
    if (rc != 0) {
        /*
         * The message is stored, but queries do not find it until it is sent again or hearsayd
         * restarts.
         */
        watch_missed(job->base.service, job->base.host);
        job_fail(&job->base, HEARSAY_CODE_INTERNAL, NULL,
                 "the server is out of memory; send it again");
        return;
    }
    struct hearsay_response response = {
        .id = job->base.request_id,
        .kind = HEARSAY_RESPONSE_DEPOSITED,
        .deposited = {.deposited_ms = op->message.deposited_ms,
                      .expires_ms = op->message.expires_ms,
                      .duplicate = op->outcome == PERSIST_DUPLICATE,
                      .held = op->message.state >= PERSIST_HIDDEN,
                      .without_here = job->without_here,
                      .durability = job->base.service->store.relaxed
                                        ? HEARSAY_DURABILITY_RELAXED
                                        : HEARSAY_DURABILITY_ON_STORAGE},
    };
    tell_watches(job, was_missed);
    wait_tell(job->base.service, job->base.host);
    if (wait_for_copies(job, &response.deposited)) {
        return;
    }
    if (has_copies(job)) {
        response.deposited.durability = HEARSAY_DURABILITY_REPLICATED;
    }
    service_note(job->base.service, METRIC_DEPOSIT, job->base.began_ns);
    job_finish(&job->base, &response);
}

static void on_deposited(struct persist_op *op)
{
    struct deposit_job *job = CONTAINER_OF(op, struct deposit_job, op);

    release_reservation(job);
    service_forget_removed(job->base.service, op);
    metrics_note_left(&job->base.service->metrics, LEFT_EVICTED, op->removed_count);
    if (op->outcome != PERSIST_APPLIED) {
        settle_share(job, false);
    }
    switch (op->outcome) {
    case PERSIST_APPLIED:
    case PERSIST_DUPLICATE:
        answer_stored(job);
        return;
    case PERSIST_FULL:
        job_fail(&job->base, HEARSAY_CODE_QUOTA, NULL,
                 "this host is full, and not enough messages can go for this one; there is room "
                 "again when messages expire");
        return;
    case PERSIST_NO_PARENT:
        job_fail(&job->base, HEARSAY_CODE_NOT_FOUND, "answers", handler_no_parent_text);
        return;
    case PERSIST_CONFLICT:
        job_fail(&job->base, HEARSAY_CODE_ALREADY_EXISTS, "id",
                 "another message has this id; a new message takes 16 new random bytes");
        return;
    case PERSIST_GONE:
        job_fail(&job->base, HEARSAY_CODE_ALREADY_EXISTS, "id",
                 "the message with this id was withdrawn or removed; its id is refused until it "
                 "would have expired");
        return;
    case PERSIST_NO_SPACE:
        service_storage_short(job->base.service, op->reason);
        job_fail_later(&job->base,
                       "the storage of the message store is nearly full; nothing was stored, try "
                       "again later");
        return;
    default:
        job_fail_write(&job->base, op->reason);
        return;
    }
}

/* --- the request ------------------------------------------------------------------------------ */

/* The operation of the store. */
static void fill_deposit(struct deposit_job *job, const struct hearsay_deposit *deposit,
                         const struct admission *admission)
{
    int64_t now_ms = admission->now_ms;
    struct persist_op *op = &job->op;
    struct persist_message *message = &op->message;
    uint32_t ttl_s =
        deposit->has_ttl_s ? deposit->ttl_s : job->base.service->config.limits.ttl_default_s;
    const struct epoch *epoch = host_epoch(job->base.host, deposit->epoch); /* it was checked */

    op->kind = PERSIST_DEPOSIT;
    op->now_ms = now_ms;
    op->done = on_deposited;
    copy_content(job, deposit);
    message->host = job->base.host->number;
    message->epoch = deposit->epoch;
    message->deposited_ms = now_ms;
    message->expires_ms = now_ms + (int64_t)ttl_s * 1000;
    if (epoch->number != 0 && message->expires_ms > epoch->kept_ms) {
        message->expires_ms = epoch->kept_ms;
    }
    message->reach_ppm = deposit->reach_ppm;
    message->sender = job->base.client->sender_tag;
    message->state = admission->state;
    memcpy(message->id, deposit->id.data, MESSAGE_ID_BYTES);
    if (deposit->answers.data != NULL) { /* the store ends it with its parent */
        message->is_answer = true;
        memcpy(message->answers, deposit->answers.data, MESSAGE_ID_BYTES);
    }
    if (deposit->withdraw_hash.data != NULL) {
        message->can_withdraw = true;
        memcpy(message->withdraw_hash, deposit->withdraw_hash.data, LIMIT_HASH_BYTES);
    }
}

/*
 * Whether the store may delete messages of the host for deposits that wait. A client may deposit
 * one of these messages again. If the store deletes the message before it handles the copy, it must
 * not store the copy: a copy of a known message skips the checks of room, share, bans and review.
 */
static bool may_be_leaving(const struct host *host)
{
    return host->config.evict != CONFIG_EVICT_REJECT &&
           (host->leaving.messages > 0 || host->leaving.bytes > 0);
}

void handler_deposit(struct ask *ask)
{
    const struct hearsay_deposit *deposit = &ask->request->deposit;
    struct admission admission;

    if (!ask_host(ask, &deposit->host) || !ask_owns(ask) || !admission_decide(ask, &admission)) {
        return;
    }
    if (admission.is_known && may_be_leaving(ask->host)) {
        /*
         * The store may delete the known message before it handles this copy. It then refuses the
         * copy, because it can never evict UINT64_MAX messages.
         */
        admission.room.need.messages = UINT64_MAX;
    }
    struct deposit_job *job =
        job_new(ask, sizeof(*job), admission_content_bytes(deposit)); /* below the frame limit */
    int rc = job != NULL ? 0 : -ERR_NOMEM;
    if (rc == 0) {
        job->base.deinit = free_going;
        job->wide_tag = ask->client->wide_tag;
        job->without_here = deposit->answers.data == NULL && handler_lacks_here(ask);
        fill_deposit(job, deposit, &admission);
        rc = ask_for_room(job, &admission.room);
    }
    if (rc == 0 && !admission.is_known) {
        rc = deposit_reserve(job);
    }
    if (rc == 0) {
        service_hold_clock(ask->service, admission.now_ms);
        job_write(&job->base, &job->op);
        return;
    }
    if (!admission.is_known) {
        room_unpromise(ask->service, ask->host, &admission.room);
    }
    if (job != NULL) { /* otherwise job_new has answered */
        job_fail_memory(&job->base);
    }
}
