/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deposit and Withdraw: what changes the store. A request becomes an operation; index, cache and
 * client hear of it when the operation is on storage.
 */
#include <inttypes.h>
#include <string.h>

#include <sodium.h>

#include "core/bloom.h"
#include "core/err.h"
#include "daemon/handler.h"
#include "daemon/room.h"

/* An operation under way, with a copy of all it refers to behind it. */
struct job {
    struct persist_op op; /* first: `done` gets it back */
    struct service *service;
    struct handler_client *client;
    struct host *host;
    uint64_t request_id;
    size_t bytes;      /* of this allocation */
    uint64_t began_ns; /* taken then */
    bool reserved;     /* counted in the usage already */
    struct usage need; /* what goes for it, which was promised; zero: nothing */
    uint8_t content[]; /* filter, media type, payload */
};

static struct job *job_new(struct service *service, struct handler_client *client,
                           struct host *host, uint64_t request_id, size_t content_bytes)
{
    const size_t bytes = sizeof(struct job) + content_bytes; /* content: below the frame limit */
    struct job *job = alloc_array(service->alloc, 1, bytes);

    if (job == NULL) {
        handler_refuse(client, request_id, MSG_INTERNAL, NULL, "the server is out of memory");
        return NULL;
    }
    memset(job, 0, sizeof(*job));
    job->service = service;
    job->client = client;
    job->host = host;
    job->request_id = request_id;
    job->bytes = bytes;
    job->began_ns = service_monotonic_ns(service);
    return job;
}

static void job_submit(struct job *job)
{
    struct service *service = job->service;

    handler_work_begin(job->client, job->bytes, HANDLER_ANSWER_BYTES);
    service->writing_bytes += job->bytes;
    service->working++;
    service->persist->interface->submit(service->persist, &job->op);
}

static void job_finish(struct job *job, const struct msg_response *response)
{
    struct service *service = job->service;
    struct handler_client *client = job->client;
    const size_t bytes = job->bytes;

    client->events->respond(client, response);
    service->writing_bytes -= bytes;
    service->working--;
    if (job->op.removed != NULL) {
        alloc_release(service->alloc, job->op.removed, ROOM_EVICT_MAX, sizeof(*job->op.removed));
    }
    alloc_release(service->alloc, job, 1, bytes);
    handler_work_end(client, bytes, HANDLER_ANSWER_BYTES);
}

static void job_fail(struct job *job, enum msg_error_code code, const char *field,
                     const char *sentence)
{
    struct msg_response response = {.id = job->request_id, .kind = MSG_RESPONSE_ERROR};

    msg_error_set(&response.error, code, field, "%s", sentence);
    if (code == MSG_STORAGE) {
        response.error.retry_after_ms = 5000;
    }
    job_finish(job, &response);
}

static void job_fail_storage(struct job *job)
{
    service_storage_failed(job->service, "storage", job->op.reason);
    job_fail(job, MSG_STORAGE, NULL,
             "the message store could not write to its storage; nothing was changed, try again "
             "later");
}

/* --- Deposit ---------------------------------------------------------------------------------- */

static bool check_deposit(struct service *service, struct handler_client *client,
                          const struct msg_request *request, const struct host *host,
                          uint64_t *out_filter)
{
    const struct msg_deposit *deposit = &request->deposit;
    const struct config_limits *limits = &service->config.limits;

    if (handler_epoch(service, client, request, host, deposit->epoch, "epoch") == NULL) {
        return false;
    }
    if (deposit->epoch == 0 && host->config.refuses_open) {
        handler_refuse(client, request->id, MSG_UNKNOWN_EPOCH, "epoch",
                       "host \"%s\" takes no messages in the open, only in epochs, whose keys are "
                       "given to those who are on site",
                       host->config.name);
        return false;
    }
    if (!handler_filter(service, client, request, host, &deposit->filter, "filter", out_filter) ||
        !handler_fill(client, request, host, out_filter, "filter", limits->deposit_fill_min_ppm,
                      limits->deposit_fill_max_ppm)) {
        return false;
    }
    if (deposit->payload.count > limits->payload_bytes) {
        handler_refuse(client, request->id, MSG_TOO_LARGE, "payload",
                       "the payload has %zu bytes; at most %" PRIu32 " are taken here",
                       deposit->payload.count, limits->payload_bytes);
        return false;
    }
    if (deposit->has_ttl && (deposit->ttl_s == 0 || deposit->ttl_s > limits->ttl_max_s)) {
        handler_refuse(client, request->id, MSG_INVALID, "ttl_s",
                       "the ttl is %" PRIu32 " s; it must be 1 s to %" PRIu32 " s", deposit->ttl_s,
                       limits->ttl_max_s);
        return false;
    }
    return handler_check_work(service, client, request, host);
}

/* Whether there is room, or *out_need makes it. */
static bool check_quota(struct service *service, struct handler_client *client,
                        const struct msg_request *request, const struct host *host, uint64_t bytes,
                        enum persist_state state, struct usage *out_need)
{
    const char *cap = NULL;
    const char *whose = NULL;

    *out_need = (struct usage){.messages = 0};
    const int room = room_find(service, host, bytes, out_need, &cap, &whose);
    /* What nobody has looked at yet displaces nothing that is shown. */
    if (room == ROOM_NONE || (room == ROOM_BY_EVICTION && state >= PERSIST_HIDDEN)) {
        handler_refuse(client, request->id, MSG_QUOTA, NULL,
                       "%s is full (its limit of %s is reached); there is room again when "
                       "messages expire",
                       whose, cap);
        return false;
    }
    return true;
}

/* Has the store make room if it stores the deposit. False: out of memory, and it was answered. */
static bool ask_for_room(struct job *job, const struct usage *need)
{
    struct persist_op *op = &job->op;

    if (need->messages == 0 && need->bytes == 0) {
        return true;
    }
    op->removed = alloc_array(job->service->alloc, ROOM_EVICT_MAX, sizeof(*op->removed));
    if (op->removed == NULL) {
        handler_refuse(job->client, job->request_id, MSG_INTERNAL, NULL,
                       "the server is out of memory");
        alloc_release(job->service->alloc, job, 1, job->bytes);
        return false;
    }
    op->limit = ROOM_EVICT_MAX;
    op->evict = job->host->config.evict == CONFIG_EVICT_OLDEST ? PERSIST_EVICT_OLDEST
                                                               : PERSIST_EVICT_SOONEST;
    op->evict_messages = need->messages;
    op->evict_bytes = need->bytes;
    return true;
}

/*
 * A message that is there takes no room, unless it is going to make room for others that wait for
 * the store: then it is stored anew, and needs what it has now.
 */
static bool may_be_leaving(const struct host *host)
{
    return host->config.evict != CONFIG_EVICT_REJECT &&
           (host->leaving.messages > 0 || host->leaving.bytes > 0);
}

static void copy_content(struct job *job, const struct msg_deposit *deposit)
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

static void release_reservation(struct job *job)
{
    const uint32_t bytes = host_message_bytes(&job->op.message);

    if (!job->reserved) {
        return;
    }
    usage_subtract(&job->host->usage, bytes);
    usage_subtract(&job->service->usage, bytes);
    usage_subtract(&job->host->waiting, bytes);
    job->reserved = false;
}

/* Whether we know a message of this id, shown or hidden, that lasts beyond that time. */
static bool is_there(const struct host *host, const uint8_t *id, int64_t now_ms)
{
    const struct moderated *moderated = moderation_find(&host->moderation, id);
    struct index_item item;

    if (host_find(host, id, NULL, &item, NULL) == 0) {
        return item.expires_ms > now_ms;
    }
    return moderated != NULL && moderated->expires_ms > now_ms;
}

/*
 * The message is stored: into the index with it. An item with this id can be there already: the
 * message itself (a duplicate), or one that expired and was replaced in the store before it was
 * swept from the index.
 */
static int admit(struct job *job)
{
    struct service *service = job->service;
    struct host *host = job->host;
    const struct persist_message *message = &job->op.message;

    if (is_there(host, message->id, INT64_MIN)) {
        if (job->op.outcome == PERSIST_DUPLICATE) {
            return 0;
        }
        service_forget(service, host, message->id);
    }
    const int rc = service_keep(service, host, message);
    if (rc == 0) {
        service_remember(service, message);
    }
    return rc;
}

static void on_deposited(struct persist_op *op)
{
    struct job *job = (struct job *)op;

    release_reservation(job);
    room_unpromise(job->service, job->host, &job->need);
    room_take_out(job->service, job->host, op->removed, op->removed_count);
    switch (op->outcome) {
    case PERSIST_APPLIED:
    case PERSIST_DUPLICATE: {
        const int rc = admit(job);
        if (rc == HOST_NO_EPOCH) { /* it ended while the deposit waited; the sweep takes it */
            job_fail(job, MSG_UNKNOWN_EPOCH, "epoch", "the epoch has ended meanwhile");
            return;
        }
        if (rc != 0) {
            /* Stored, but not to be found until it is sent again or the daemon restarts. */
            watch_missed(job->service, job->host);
            job_fail(job, MSG_INTERNAL, NULL, "the server is out of memory; send it again");
            return;
        }
        const struct msg_response response = {
            .id = job->request_id,
            .kind = MSG_RESPONSE_DEPOSITED,
            .deposited = {.deposited_ms = op->message.deposited_ms,
                          .expires_ms = op->message.expires_ms,
                          .duplicate = op->outcome == PERSIST_DUPLICATE,
                          .held = op->message.state >= PERSIST_HIDDEN,
                          .durability = job->service->store.relaxed ? MSG_DURABILITY_RELAXED
                                                                    : MSG_DURABILITY_STORAGE},
        };
        service_note(job->service, METRIC_DEPOSIT, job->began_ns);
        if (op->outcome == PERSIST_APPLIED) {
            watch_deposited(job->service, job->host, &op->message);
        }
        job_finish(job, &response);
        return;
    }
    case PERSIST_FULL:
        job_fail(job, MSG_QUOTA, NULL,
                 "this host is full, and not enough messages can go for this one; there is room "
                 "again when messages expire");
        return;
    case PERSIST_CONFLICT:
        job_fail(job, MSG_ALREADY_EXISTS, "id",
                 "another message has this id; a new message takes 16 new random bytes");
        return;
    case PERSIST_GONE:
        job_fail(job, MSG_ALREADY_EXISTS, "id",
                 "the message with this id was withdrawn or removed; its id is refused until it "
                 "would have expired");
        return;
    default:
        job_fail_storage(job);
        return;
    }
}

void handler_deposit(struct service *service, struct handler_client *client,
                     const struct msg_request *request)
{
    const struct msg_deposit *deposit = &request->deposit;
    struct host *host = handler_host(service, client, request, &deposit->host);
    uint64_t filter[PROFILE_WORDS_MAX];

    if (host == NULL || !check_deposit(service, client, request, host, filter)) {
        return;
    }
    const size_t bytes =
        deposit->filter.count + deposit->media_type.length + deposit->payload.count;
    /* What is there already takes no room, unless its time is over: then it is replaced. */
    const int64_t now_ms = service_now_ms(service);
    const bool known = is_there(host, deposit->id.data, now_ms);
    enum persist_state state = PERSIST_SHOWN;
    /* Who sends again what is here already gets the answer of then, whatever is decided since. */
    if (!known && !handler_takes_deposit(service, client, request, host, &state)) {
        return;
    }
    struct usage need = {.messages = 0};
    if (known && may_be_leaving(host)) {
        need = (struct usage){.messages = 1, .bytes = bytes};
    } else if (!known && !check_quota(service, client, request, host, bytes, state, &need)) {
        return;
    }

    struct job *job = job_new(service, client, host, request->id, bytes);
    if (job == NULL || !ask_for_room(job, &need)) {
        return;
    }
    struct persist_op *op = &job->op;
    const uint32_t ttl_s = deposit->has_ttl ? deposit->ttl_s : service->config.limits.ttl_default_s;
    op->kind = PERSIST_DEPOSIT;
    op->now_ms = now_ms;
    op->done = on_deposited;
    copy_content(job, deposit);
    op->message.host = host->number;
    op->message.epoch = deposit->epoch;
    op->message.deposited_ms = op->now_ms;
    op->message.expires_ms = op->now_ms + (int64_t)ttl_s * 1000;
    const struct epoch *epoch = host_epoch(host, deposit->epoch); /* it was checked */
    if (epoch->number != 0 && op->message.expires_ms > epoch->kept_ms) {
        op->message.expires_ms = epoch->kept_ms;
    }
    op->message.reach_ppm = deposit->reach_ppm;
    op->message.sender = client->sender_tag;
    op->message.state = state;
    memcpy(op->message.id, deposit->id.data, MESSAGE_ID_BYTES);
    if (deposit->withdraw_hash.data != NULL) {
        op->message.can_withdraw = true;
        memcpy(op->message.withdraw_hash, deposit->withdraw_hash.data, LIMIT_HASH_BYTES);
    }
    if (!known) {
        usage_add(&host->usage, bytes);
        usage_add(&service->usage, bytes);
        usage_add(&host->waiting, bytes);
        job->reserved = true;
        job->need = need;
        room_promise(service, host, &need);
    }
    job_submit(job);
}

/* --- Withdraw --------------------------------------------------------------------------------- */

static void on_withdrawn(struct persist_op *op)
{
    struct job *job = (struct job *)op;
    struct service *service = job->service;

    switch (op->outcome) {
    case PERSIST_APPLIED: {
        service_forget(service, job->host, op->message.id);
        const struct msg_response response = {.id = job->request_id,
                                              .kind = MSG_RESPONSE_WITHDRAWN};
        job_finish(job, &response);
        return;
    }
    case PERSIST_NOT_FOUND:
        job_fail(job, MSG_NOT_FOUND, "id", "there is no message with this id");
        return;
    case PERSIST_FORBIDDEN:
        job_fail(job, MSG_FORBIDDEN, "token",
                 "this is not the token that the message was deposited with");
        return;
    default:
        job_fail_storage(job);
        return;
    }
}

void handler_withdraw(struct service *service, struct handler_client *client,
                      const struct msg_request *request)
{
    const struct msg_withdraw *withdraw = &request->withdraw;
    struct host *host = handler_host(service, client, request, &withdraw->host);

    if (host == NULL) {
        return;
    }
    struct job *job = job_new(service, client, host, request->id, 0);
    if (job == NULL) {
        return;
    }
    struct persist_op *op = &job->op;
    op->kind = PERSIST_WITHDRAW;
    op->now_ms = service_now_ms(service);
    op->done = on_withdrawn;
    op->message.host = host->number;
    op->message.can_withdraw = true;
    memcpy(op->message.id, withdraw->id.data, MESSAGE_ID_BYTES);
    (void)crypto_generichash(op->message.withdraw_hash, LIMIT_HASH_BYTES, withdraw->token.data,
                             withdraw->token.count, NULL, 0); /* fails only on wrong sizes */
    job_submit(job);
}
