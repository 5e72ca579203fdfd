/* SPDX-License-Identifier: Apache-2.0 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "client/bridge/wire/inner.h"
#include "client/bridge/wire/version.h"
#include "core/base/err.h"

enum {
    RETRY_FIRST_MS = 250,
    RETRY_MOST_MS = 4000,
    BUFFERED_MAX = 1024 * 1024,
    END_MS = 3000,
    SERVER_SENTENCE_BYTES = 256
};

/* Stays until wire_free, because threads of libnats may still have it. */
struct wire_subscription {
    struct wire_subscription *next;
    struct wire *wire;
    char subject[WIRE_SUBJECT_BYTES];
    uint64_t renewed;         /* how often */
    natsSubscription *older;  /* of before wire_renew; NULL: none */
    natsSubscription *handle; /* NULL: not connected */
    void (*take)(void *context, const struct wire_message *message); /* NULL: unsubscribed */
    void *context;
};

/* The nats-server that the connection goes to. */
struct server_version {
    bool is_known;
    struct hub_version version;
};

struct wire {
    uv_loop_t *loop;
    const struct bridge_config *config;
    const struct wire_events *events;
    void *context;
    uv_async_t wake;
    uv_timer_t retry;
    uv_work_t connecting;
    struct inbound inbound;
    bool is_connecting;
    bool is_stopping;
    natsConnection *nats; /* NULL: none */
    natsConnection *made; /* made_...: of the thread of `connecting` until on_connected */
    char made_error[CONNECT_ERROR_BYTES];
    struct server_version made_server;
    struct server_version server;    /* of the last connection */
    char warned[HUB_VERSION_BYTES];  /* the version that the log has warned of last; "": none */
    char error[CONNECT_ERROR_BYTES]; /* why there is no connection */
    uint64_t retry_ms;
    uint64_t joins;
    uint64_t errors;
    uint64_t dropped;
    struct log_gate gate;
    struct log_gate error_gate;
    struct wire_subscription *subscriptions;
    struct requests requests;
    char inbox[BRIDGE_NAME_BYTES + 32];
};

static void wire_connect(struct wire *wire);

/* --- on the threads of libnats ---------------------------------------------------------------- */

static void on_message(natsConnection *nats, natsSubscription *handle, natsMsg *message,
                       void *closure)
{
    struct wire_subscription *subscription = closure;

    (void)nats;
    (void)handle;
    inbound_put(&subscription->wire->inbound, subscription, message);
}

static void on_closed(natsConnection *nats, void *closure)
{
    struct wire *wire = closure;

    (void)nats;
    inbound_note_closed(&wire->inbound);
}

static void on_error(natsConnection *nats, natsSubscription *handle, natsStatus status,
                     void *closure)
{
    struct wire *wire = closure;
    const char *text = NULL;

    (void)handle;
    (void)natsConnection_GetLastError(nats, &text);
    inbound_note_error(&wire->inbound,
                       text != NULL && text[0] != '\0' ? text : natsStatus_GetText(status));
}

/* libnats does not tell the version. A server names it in its first line to whoever connects, so a
 * second connection asks for it, and ends before TLS begins. */
static void read_server(struct wire *wire)
{
    char reason[GREETING_REASON_BYTES];
    char url[GREETING_ADDRESS_BYTES];

    wire->made_server = (struct server_version){.is_known = false};
    if (natsConnection_GetConnectedUrl(wire->made, url, sizeof(url)) == NATS_OK) {
        wire->made_server.is_known = greeting_read_version(url, &wire->made_server.version, reason);
    }
}

/* On a thread of libuv: connecting waits for the network. */
static void connect_work(uv_work_t *work)
{
    struct wire *wire = work->data;
    natsOptions *options = NULL;

    wire->made = NULL;
    natsStatus status = connect_options(wire->config, &options, wire->made_error);
    if (status != NATS_OK) {
        return;
    }
    status = natsOptions_SetClosedCB(options, on_closed, wire);
    status = status == NATS_OK ? natsOptions_SetErrorHandler(options, on_error, wire) : status;
    status = status == NATS_OK ? natsConnection_Connect(&wire->made, options) : status;
    if (status != NATS_OK) {
        connect_explain(status, wire->made_error);
        wire->made = NULL;
    } else {
        read_server(wire);
    }
    natsOptions_Destroy(options);
}

/* --- requests --------------------------------------------------------------------------------- */

/* An answer: the last part of its subject is the number of the request. */
static void take_answer(void *context, const struct wire_message *message)
{
    struct wire *wire = context;
    const char *dot = strrchr(message->subject, '.');
    uint64_t number = dot != NULL ? strtoull(dot + 1, NULL, 10) : 0;
    bool is_nobody = natsMsg_IsNoResponders(message->handle);

    requests_end(&wire->requests, number, is_nobody ? WIRE_NOBODY : WIRE_ANSWERED,
                 is_nobody ? NULL : message);
}

bool wire_request(struct wire *wire, const struct wire_letter *letter, uint32_t timeout_ms,
                  wire_done *done, void *context, uint64_t tag)
{
    char reply[WIRE_SUBJECT_BYTES];
    struct wire_letter sent = *letter;
    uint64_t number = requests_next(&wire->requests, letter->use);

    (void)snprintf(reply, sizeof(reply), "%s.%" PRIu64, wire->inbox, number);
    sent.reply = reply;
    if (number == 0 || !wire_publish(wire, &sent)) {
        return false;
    }
    requests_add(&wire->requests, number, letter->use, timeout_ms, done, context, tag);
    return true;
}

void wire_forget(struct wire *wire, const void *context)
{
    requests_forget(&wire->requests, context);
}

/* --- subscriptions ---------------------------------------------------------------------------- */

static void attach_subscription(struct wire *wire, struct wire_subscription *subscription)
{
    natsStatus status;

    if (subscription->renewed == 0) {
        status = natsConnection_Subscribe(&subscription->handle, wire->nats, subscription->subject,
                                          on_message, subscription);
    } else {
        char group[sizeof(wire->inbox) + 24];

        (void)snprintf(group, sizeof(group), "%s-%" PRIu64, wire->inbox, subscription->renewed);
        status =
            natsConnection_QueueSubscribe(&subscription->handle, wire->nats, subscription->subject,
                                          group, on_message, subscription);
    }
    if (status == NATS_OK) {
        /* The queue of the wire has the bound. */
        (void)natsSubscription_SetPendingLimits(subscription->handle, -1, -1);
    } else {
        subscription->handle = NULL;
        log_warning("the hub: cannot subscribe to %s: %s", subscription->subject,
                    natsStatus_GetText(status));
    }
}

static void end_handle(natsSubscription **handle)
{
    if (*handle != NULL) {
        (void)natsSubscription_Unsubscribe(*handle);
        natsSubscription_Destroy(*handle);
        *handle = NULL;
    }
}

static void detach_subscription(struct wire_subscription *subscription)
{
    end_handle(&subscription->handle);
    end_handle(&subscription->older);
}

struct wire_subscription *
wire_subscribe(struct wire *wire, const char *subject,
               void (*take)(void *context, const struct wire_message *message), void *context)
{
    struct wire_subscription *subscription = calloc(1, sizeof(*subscription));

    if (subscription != NULL) {
        subscription->wire = wire;
        subscription->take = take;
        subscription->context = context;
        (void)snprintf(subscription->subject, sizeof(subscription->subject), "%s", subject);
        subscription->next = wire->subscriptions;
        wire->subscriptions = subscription;
        if (wire->nats != NULL) {
            attach_subscription(wire, subscription);
        }
    }
    return subscription;
}

void wire_renew(struct wire_subscription *subscription)
{
    wire_renewed(subscription);
    if (subscription->handle == NULL || subscription->take == NULL) {
        return;
    }
    subscription->older = subscription->handle;
    subscription->renewed++;
    attach_subscription(subscription->wire, subscription);
    if (subscription->handle == NULL) { /* as if it had not been asked for */
        subscription->handle = subscription->older;
        subscription->older = NULL;
    }
}

void wire_renewed(struct wire_subscription *subscription)
{
    end_handle(&subscription->older);
}

void wire_unsubscribe(struct wire_subscription *subscription)
{
    if (subscription != NULL) {
        subscription->take = NULL;
        detach_subscription(subscription);
    }
}

static void deliver_item(const struct inbound_item *item)
{
    struct wire_subscription *subscription = item->subscription;
    natsMsg *handle = item->message;
    const char *reply = natsMsg_GetReply(handle);
    struct wire_message message = {
        .subject = natsMsg_GetSubject(handle),
        .reply = reply != NULL ? reply : "",
        .data = (const uint8_t *)natsMsg_GetData(handle),
        .size = (size_t)natsMsg_GetDataLength(handle),
        .handle = handle,
    };

    if (subscription->take != NULL) {
        subscription->take(subscription->context, &message);
    }
}

const char *wire_header(const struct wire_message *message, const char *name)
{
    const char *value = NULL;

    return natsMsgHeader_Get(message->handle, name, &value) == NATS_OK ? value : NULL;
}

/* --- the connection --------------------------------------------------------------------------- */

static void on_retry(uv_timer_t *timer)
{
    wire_connect(timer->data);
}

/* Between half of the time and the whole of it, so that not all access points come at once. */
static void retry_later(struct wire *wire)
{
    uint64_t half = wire->retry_ms / 2;

    (void)uv_timer_start(&wire->retry, on_retry, half + randombytes_uniform((uint32_t)half), 0);
    wire->retry_ms = wire->retry_ms * 2 < RETRY_MOST_MS ? wire->retry_ms * 2 : RETRY_MOST_MS;
}

/* Writes a sentence about the version of the server, if there is something to say. */
static bool describe_server(const struct wire *wire, char *out, size_t room)
{
    char text[HUB_VERSION_BYTES];

    if (!wire->server.is_known) {
        (void)snprintf(out, room,
                       "the version of this nats-server is not known; use 2.11.16 or later");
        return true;
    }
    hub_version_text(&wire->server.version, text);
    (void)snprintf(out, room,
                   "this nats-server is %s: before 2.11.16 servers may disagree for good about "
                   "what is stored, after one of them was stopped; use 2.11.16 or later",
                   text);
    return hub_version_diverges(&wire->server.version);
}

/* Once for each version, as a bridge may connect again and again. */
static void warn_of_server(struct wire *wire)
{
    char sentence[SERVER_SENTENCE_BYTES];
    char text[HUB_VERSION_BYTES] = "unknown";

    if (wire->server.is_known) {
        hub_version_text(&wire->server.version, text);
    }
    if (describe_server(wire, sentence, sizeof(sentence)) && strcmp(text, wire->warned) != 0) {
        log_warning("the hub: %s", sentence);
        memcpy(wire->warned, text, sizeof(wire->warned));
    }
}

static void on_connected(uv_work_t *work, int status)
{
    struct wire *wire = work->data;
    uint64_t withheld;

    (void)status;
    wire->is_connecting = false;
    if (wire->is_stopping) {
        natsConnection_Destroy(wire->made);
        wire->made = NULL;
        return;
    }
    if (wire->made == NULL) {
        memcpy(wire->error, wire->made_error, sizeof(wire->error));
        if (log_gate_opens(&wire->gate, (int64_t)uv_now(wire->loop), &withheld)) {
            log_warning("no connection to the hub: %s", wire->error);
        }
        retry_later(wire);
        return;
    }
    wire->nats = wire->made;
    wire->made = NULL;
    wire->error[0] = '\0';
    wire->retry_ms = RETRY_FIRST_MS;
    wire->joins++;
    wire->gate = (struct log_gate){.opened = false};
    for (struct wire_subscription *each = wire->subscriptions; each != NULL; each = each->next) {
        if (each->take != NULL) {
            attach_subscription(wire, each);
        }
    }
    log_info("connected to the hub");
    wire->server = wire->made_server;
    warn_of_server(wire);
    wire->events->joined(wire->context);
}

static void wire_connect(struct wire *wire)
{
    wire->connecting.data = wire;
    wire->is_connecting = true;
    (void)uv_queue_work(wire->loop, &wire->connecting, connect_work, on_connected);
}

static void part_wire(struct wire *wire)
{
    for (struct wire_subscription *each = wire->subscriptions; each != NULL; each = each->next) {
        detach_subscription(each);
    }
    natsConnection_Destroy(wire->nats);
    wire->nats = NULL;
}

static void note_trouble(struct wire *wire, const struct inbound_batch *batch)
{
    uint64_t withheld;

    wire->errors += batch->error_count;
    wire->dropped += batch->dropped;
    if (batch->error_count > 0 &&
        log_gate_opens(&wire->error_gate, (int64_t)uv_now(wire->loop), &withheld)) {
        log_warning("the hub: %s", batch->error);
    }
    if (batch->has_closed && wire->nats != NULL && natsConnection_IsClosed(wire->nats)) {
        const char *text = NULL;

        (void)natsConnection_GetLastError(wire->nats, &text);
        (void)snprintf(wire->error, sizeof(wire->error), "%.200s",
                       text != NULL && text[0] != '\0' ? text : "the connection was closed");
        log_warning("the connection to the hub is lost: %s", wire->error);
        part_wire(wire);
        requests_lose(&wire->requests);
        wire->events->parted(wire->context);
        retry_later(wire);
    }
}

static void on_wake(uv_async_t *wake)
{
    struct wire *wire = wake->data;
    struct inbound_batch batch;

    inbound_take(&wire->inbound, &batch);
    while (batch.first != NULL) {
        struct inbound_item *item = batch.first;

        batch.first = item->next;
        deliver_item(item);
        inbound_free(item);
    }
    if (!wire->is_stopping) {
        note_trouble(wire, &batch);
    }
}

bool wire_is_joined(const struct wire *wire)
{
    return wire->nats != NULL;
}

bool wire_publish(struct wire *wire, const struct wire_letter *letter)
{
    natsMsg *message = NULL;

    if (wire->nats == NULL || natsConnection_Buffered(wire->nats) > BUFFERED_MAX) {
        return false;
    }
    natsStatus status =
        natsMsg_Create(&message, letter->subject, letter->reply, letter->data, (int)letter->size);
    for (size_t i = 0; i < letter->pair_count && status == NATS_OK; i++) {
        status = natsMsgHeader_Set(message, letter->pairs[i].name, letter->pairs[i].value);
    }
    status = status == NATS_OK ? natsConnection_PublishMsg(wire->nats, message) : status;
    natsMsg_Destroy(message);
    return status == NATS_OK;
}

/* --- beginning and end ------------------------------------------------------------------------ */

int wire_new(uv_loop_t *loop, const struct bridge_config *config, const struct wire_events *events,
             void *context, struct wire **out_wire)
{
    struct wire *wire = calloc(1, sizeof(*wire));
    char own[BRIDGE_NAME_BYTES + 16];
    char answers[BRIDGE_NAME_BYTES + 40];

    if (wire == NULL || inbound_init(&wire->inbound, &wire->wake) != 0) {
        free(wire);
        return -ERR_NOMEM;
    }
    if (uv_async_init(loop, &wire->wake, on_wake) != 0) {
        inbound_deinit(&wire->inbound);
        free(wire);
        return -ERR_SYSTEM;
    }
    wire->loop = loop;
    wire->config = config;
    wire->events = events;
    wire->context = context;
    wire->retry_ms = RETRY_FIRST_MS;
    wire->wake.data = wire;
    requests_init(&wire->requests, loop);
    (void)uv_timer_init(loop, &wire->retry); /* never fails */
    wire->retry.data = wire;
    connect_inbox(config, own, sizeof(own));
    (void)snprintf(wire->inbox, sizeof(wire->inbox), "%s.%08" PRIx32, own, randombytes_random());
    (void)snprintf(answers, sizeof(answers), "%s.*", wire->inbox);
    if (wire_subscribe(wire, answers, take_answer, wire) == NULL) {
        wire_stop(wire);
        (void)uv_run(loop, UV_RUN_DEFAULT);
        wire_free(wire);
        return -ERR_NOMEM;
    }
    wire_connect(wire);
    *out_wire = wire;
    return 0;
}

void wire_stop(struct wire *wire)
{
    wire->is_stopping = true;
    requests_stop(&wire->requests);
    for (struct wire_subscription *each = wire->subscriptions; each != NULL; each = each->next) {
        each->take = NULL;
    }
    if (wire->nats != NULL) {
        part_wire(wire);
    }
    inbound_shut(&wire->inbound);
    uv_close((uv_handle_t *)&wire->wake, NULL);
    uv_close((uv_handle_t *)&wire->retry, NULL);
}

void wire_free(struct wire *wire)
{
    if (wire == NULL) {
        return;
    }
    (void)nats_CloseAndWait(END_MS); /* then no thread has the queue or a subscription */
    while (wire->subscriptions != NULL) {
        struct wire_subscription *next = wire->subscriptions->next;

        free(wire->subscriptions);
        wire->subscriptions = next;
    }
    inbound_deinit(&wire->inbound);
    free(wire);
}

/* --- what others are told --------------------------------------------------------------------- */

void wire_print_status(const struct wire *wire, FILE *out)
{
    char line[SERVER_SENTENCE_BYTES];

    text_print(out, "hub", "%s", wire->nats != NULL ? "connected" : "not connected");
    if (wire->nats == NULL) {
        text_print(out, "", "%s", wire->error[0] == '\0' ? "connecting" : wire->error);
    } else if (describe_server(wire, line, sizeof(line))) {
        text_print(out, "", "%s", line);
    }
    if (wire->dropped > 0) {
        text_print(out, "", "messages that came too fast and were dropped: %" PRIu64,
                   wire->dropped);
    }
}

void wire_print_metrics(const struct wire *wire, uint64_t refused, FILE *out)
{
    text_metric(out, "connected", "gauge", wire->nats != NULL);
    text_metric(out, "connects_total", "counter", wire->joins);
    text_metric(out, "hub_errors_total", "counter", wire->errors + refused);
    text_metric(out, "dropped_total", "counter", wire->dropped);
}
