/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deposit and Withdraw: what changes the store. A request becomes an operation; index, cache and
 * client hear of it when the operation is on storage.
 */
#include <inttypes.h>
#include <string.h>

#include <sodium.h>

#include "core/base/err.h"
#include "core/filter/bloom.h"
#include "daemon/config/value.h"
#include "daemon/handler/handler.h"
#include "daemon/host/room.h"
#include "daemon/watch/watch.h"

/* What goes for a deposit: promised, and taken out by the store. */
struct going {
    struct room room;
    struct persist_removed removed[ROOM_EVICT_MAX];
};

/* An operation under way, with a copy of all it refers to behind it. */
struct job {
    struct persist_op op; /* first: `done` gets it back */
    struct service *service;
    struct requester *client;
    struct host *host;
    uint64_t request_id;
    size_t bytes;        /* of this allocation */
    uint64_t began_ns;   /* taken then */
    bool reserved;       /* counted in the usage already */
    bool is_shared;      /* counted for its sender in host->shares */
    uint32_t wide_tag;   /* of the sender; its other tag is op.message.sender */
    struct going *going; /* owned; NULL: nothing */
    uint8_t content[];   /* filter, media type, payload */
};

static struct job *job_new(struct service *service, struct requester *client, struct host *host,
                           uint64_t request_id, size_t content_bytes)
{
    const size_t bytes = sizeof(struct job) + content_bytes; /* content: below the frame limit */
    struct job *job = alloc_array(service->alloc, 1, bytes);

    if (job == NULL) {
        requester_refuse(client, request_id, MSG_INTERNAL, NULL, "the server is out of memory");
        return NULL;
    }
    memset(job, 0, sizeof(*job));
    job->service = service;
    job->client = client;
    job->host = host;
    job->request_id = request_id;
    job->wide_tag = client->wide_tag;
    job->bytes = bytes;
    job->began_ns = service_monotonic_ns(service);
    return job;
}

static void job_free(struct job *job)
{
    const struct alloc *alloc = job->service->alloc;

    alloc_release(alloc, job->going, 1, sizeof(*job->going));
    alloc_release(alloc, job, 1, job->bytes);
}

static void job_submit(struct job *job)
{
    struct service *service = job->service;

    requester_work_begin(job->client, job->bytes, REQUESTER_ANSWER_BYTES);
    service->writing_bytes += job->bytes;
    service->working++;
    service->persist->interface->submit(service->persist, &job->op);
}

static void job_finish(struct job *job, const struct msg_response *response)
{
    struct service *service = job->service;
    struct requester *client = job->client;
    const size_t bytes = job->bytes;

    client->events->respond(client, response);
    service->writing_bytes -= bytes;
    service->working--;
    job_free(job);
    requester_work_end(client, bytes, REQUESTER_ANSWER_BYTES);
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

static bool check_deposit(struct service *service, struct requester *client,
                          const struct msg_request *request, const struct host *host,
                          uint64_t *out_filter)
{
    const struct msg_deposit *deposit = &request->deposit;
    const struct config_limits *limits = &service->config.limits;

    if (handler_epoch(service, client, request, host, deposit->epoch, "epoch") == NULL) {
        return false;
    }
    if (deposit->epoch == 0 && host->config.refuses_open) {
        requester_refuse(
            client, request->id, MSG_UNKNOWN_EPOCH, "epoch",
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
        requester_refuse(client, request->id, MSG_TOO_LARGE, "payload",
                         "the payload has %zu bytes; at most %" PRIu32 " are taken here",
                         deposit->payload.count, limits->payload_bytes);
        return false;
    }
    if (deposit->has_ttl && (deposit->ttl_s == 0 || deposit->ttl_s > limits->ttl_max_s)) {
        char asked[CONFIG_NUMBER_BYTES];
        char most[CONFIG_NUMBER_BYTES];
        config_value_print_number(CONFIG_TYPE_DURATION, deposit->ttl_s, asked);
        config_value_print_number(CONFIG_TYPE_DURATION, limits->ttl_max_s, most);
        requester_refuse(client, request->id, MSG_INVALID, "ttl_s",
                         "the ttl is %s; it must be 1s to %s", asked, most);
        return false;
    }
    return handler_check_work(service, client, request, host);
}

static void refuse_full(struct requester *client, const struct msg_request *request,
                        enum room_full why, const char *cap)
{
    static const char *const whose[] = {
        [ROOM_HOST_FULL] = "this host is full",
        [ROOM_SERVER_FULL] = "this server is full",
        [ROOM_ADDRESS_FULL] = "this address has left here as much as one address may",
        [ROOM_WIDE_FULL] = "the devices of this network have left here as much as they may",
    };
    const bool is_share = why == ROOM_ADDRESS_FULL || why == ROOM_WIDE_FULL;

    requester_refuse(client, request->id, MSG_QUOTA, NULL,
                     "%s (its limit of %s is reached); there is room again when %smessages expire",
                     whose[why], cap, is_share ? "its " : "");
}

/* Whether there is room: *out_room makes it, and is promised. */
static bool check_quota(struct service *service, struct requester *client,
                        const struct msg_request *request, struct host *host, uint64_t bytes,
                        enum persist_state state, struct room *out_room)
{
    const struct sender_tags sender = {client->sender_tag, client->wide_tag};
    /* What nobody has looked at yet displaces nothing that is shown. */
    const bool may_evict = host->config.evict != CONFIG_EVICT_REJECT && state < PERSIST_HIDDEN;
    enum room_full why = ROOM_HOST_FULL;
    const char *cap = NULL;

    if (!room_find(service, host, &sender, bytes, may_evict, out_room, &why, &cap)) {
        refuse_full(client, request, why, cap);
        return false;
    }
    return true;
}

/* Has the store make room if it stores the deposit. -ERR_NOMEM. */
static int ask_for_room(struct job *job, const struct room *room)
{
    struct persist_op *op = &job->op;

    if (room->need.messages == 0 && room->need.bytes == 0 && room->own_count == 0) {
        return 0;
    }
    job->going = alloc_array(job->service->alloc, 1, sizeof(*job->going));
    if (job->going == NULL) {
        return -ERR_NOMEM;
    }
    job->going->room = *room;
    op->removed = job->going->removed;
    op->limit = ROOM_EVICT_MAX;
    op->chosen = job->going->room.own_ids[0];
    op->chosen_count = room->own_count;
    if (room->need.messages > 0 || room->need.bytes > 0) {
        op->evict = job->host->config.evict == CONFIG_EVICT_OLDEST ? PERSIST_EVICT_OLDEST
                                                                   : PERSIST_EVICT_SOONEST;
        op->evict_messages = room->need.messages;
        op->evict_bytes = room->need.bytes;
    }
    return 0;
}

/*
 * Whether a message that is there may make room for deposits that wait for the store. When it is
 * sent again meanwhile, it can be gone before the store gets to it. Then it is not stored anew: it
 * takes no room only while it is there, and no share, ban or review was looked at.
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
    if (job->going != NULL) {
        room_unpromise(job->service, job->host, &job->going->room);
    }
    job->reserved = false;
}

/* Counts what is waiting to be stored. -ERR_NOMEM: nothing is counted. */
static int reserve(struct job *job)
{
    const struct sender_tags sender = {job->op.message.sender, job->wide_tag};
    const uint32_t bytes = host_message_bytes(&job->op.message);
    struct host *host = job->host;

    const int rc = shares_add(&host->shares, job->op.message.id, &sender, bytes, &job->is_shared);
    if (rc != 0) {
        return rc;
    }
    usage_add(&host->usage, bytes);
    usage_add(&job->service->usage, bytes);
    usage_add(&host->waiting, bytes);
    job->reserved = true;
    return 0;
}

/* The sender's share counts what was stored, also where another message of this id was counted
 * while this one waited, and has gone; without memory it belongs to nobody. */
static void settle_share(struct job *job, bool is_stored)
{
    const struct sender_tags sender = {job->op.message.sender, job->wide_tag};
    const uint8_t *id = job->op.message.id;

    if (is_stored) {
        (void)shares_add(&job->host->shares, id, &sender, host_message_bytes(&job->op.message),
                         &job->is_shared);
    } else if (job->is_shared) {
        shares_remove(&job->host->shares, id);
    }
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

/* It is in the store. */
static void answer_stored(struct job *job)
{
    const struct persist_op *op = &job->op;

    const int rc = admit(job);
    if (op->outcome == PERSIST_APPLIED) {
        settle_share(job, rc == 0);
    }
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
        const bool is_shown = op->message.state < PERSIST_HIDDEN;
        watch_numbered(job->service, job->host, is_shown ? &op->message : NULL, op->message.seq);
    }
    job_finish(job, &response);
}

static void on_deposited(struct persist_op *op)
{
    struct job *job = (struct job *)op;

    release_reservation(job);
    room_take_out(job->service, job->host, op->removed, op->removed_count);
    if (op->outcome != PERSIST_APPLIED) {
        settle_share(job, false);
    }
    switch (op->outcome) {
    case PERSIST_APPLIED:
    case PERSIST_DUPLICATE:
        answer_stored(job);
        return;
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
    case PERSIST_NO_SPACE:
        service_storage_failed(job->service, "a deposit was refused", op->reason);
        job_fail(job, MSG_STORAGE, NULL,
                 "the storage of the message store is nearly full; nothing was stored, try again "
                 "later");
        return;
    default:
        job_fail_storage(job);
        return;
    }
}

/* What the store is to do. */
static void fill_deposit(struct job *job, const struct msg_deposit *deposit, int64_t now_ms,
                         enum persist_state state)
{
    struct persist_op *op = &job->op;
    struct persist_message *message = &op->message;
    const uint32_t ttl_s =
        deposit->has_ttl ? deposit->ttl_s : job->service->config.limits.ttl_default_s;
    const struct epoch *epoch = host_epoch(job->host, deposit->epoch); /* it was checked */

    op->kind = PERSIST_DEPOSIT;
    op->now_ms = now_ms;
    op->done = on_deposited;
    copy_content(job, deposit);
    message->host = job->host->number;
    message->epoch = deposit->epoch;
    message->deposited_ms = now_ms;
    message->expires_ms = now_ms + (int64_t)ttl_s * 1000;
    if (epoch->number != 0 && message->expires_ms > epoch->kept_ms) {
        message->expires_ms = epoch->kept_ms;
    }
    message->reach_ppm = deposit->reach_ppm;
    message->sender = job->client->sender_tag;
    message->state = state;
    memcpy(message->id, deposit->id.data, MESSAGE_ID_BYTES);
    if (deposit->withdraw_hash.data != NULL) {
        message->can_withdraw = true;
        memcpy(message->withdraw_hash, deposit->withdraw_hash.data, LIMIT_HASH_BYTES);
    }
}

void handler_deposit(struct service *service, struct requester *client,
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
    struct room room;
    room.own_count = 0;
    room.own = room.need = (struct usage){.messages = 0};
    if (known && may_be_leaving(host)) {
        room.need.messages = UINT64_MAX; /* the store refuses to store it anew; not promised */
    } else if (!known && !check_quota(service, client, request, host, bytes, state, &room)) {
        return;
    }

    struct job *job = job_new(service, client, host, request->id, bytes);
    int rc = job != NULL ? 0 : -ERR_NOMEM;
    if (rc == 0) {
        fill_deposit(job, deposit, now_ms, state);
        rc = ask_for_room(job, &room);
    }
    if (rc == 0 && !known) {
        rc = reserve(job);
    }
    if (rc == 0) {
        job_submit(job);
        return;
    }
    if (!known) {
        room_unpromise(service, host, &room);
    }
    if (job != NULL) { /* otherwise job_new has answered */
        requester_refuse(client, request->id, MSG_INTERNAL, NULL, "the server is out of memory");
        job_free(job);
    }
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

void handler_withdraw(struct service *service, struct requester *client,
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
