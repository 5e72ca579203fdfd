/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/hub/inner.h"

#include <stdio.h>
#include <stdlib.h>

#include "client/link/link.h"
#include "core/base/err.h"
#include "core/base/hash.h"

enum { RETRY_MS = 1000 };

struct call {
    struct call *next;
    uint64_t ticket;
    near_done *done; /* NULL: forgotten */
    void *context;
};

struct near {
    uv_loop_t *loop;
    const char *server;
    const struct near_events *events;
    void *context;
    uv_timer_t retry;
    struct link *link;
    bool is_up;
    struct call *calls;
    struct log_gate gate;
    char error[sizeof(((struct hearsay_error *)0)->sentence)];
};

static void open_link(struct near *near);

static void on_retry(uv_timer_t *timer)
{
    open_link(timer->data);
}

/* Takes all calls away first: a callback may send new requests. */
static void end_calls(struct near *near, const struct hearsay_error *why)
{
    struct call *call = near->calls;

    near->calls = NULL;
    while (call != NULL) {
        struct call *next = call->next;

        if (call->done != NULL) {
            call->done(call->context, NULL, why);
        }
        free(call);
        call = next;
    }
}

static void on_greeted(void *context)
{
    struct near *near = context;

    near->is_up = true;
    near->error[0] = '\0';
    near->events->greeted(near->context);
}

static void on_replied(void *context, const struct hearsay_reply *reply)
{
    struct near *near = context;
    struct call **at = &near->calls;

    while (*at != NULL && (*at)->ticket != reply->response.id) {
        at = &(*at)->next;
    }
    struct call *call = *at;

    if (call == NULL) {
        return;
    }
    *at = call->next;
    if (call->done != NULL) {
        bool is_error = reply->response.kind == HEARSAY_RESPONSE_ERROR;

        call->done(call->context, is_error ? NULL : reply, is_error ? &reply->error : NULL);
    }
    free(call);
}

static void note_loss(struct near *near, const struct hearsay_error *why)
{
    uint64_t withheld;

    near->is_up = false;
    (void)snprintf(near->error, sizeof(near->error), "%s", why->sentence);
    if (log_gate_opens(&near->gate, (int64_t)uv_now(near->loop), &withheld)) {
        log_warning("%s: %s; trying on", near->server, why->sentence);
    }
    (void)uv_timer_start(&near->retry, on_retry, RETRY_MS, 0);
    end_calls(near, why);
}

static void on_lost(void *context, const struct hearsay_error *why)
{
    struct near *near = context;

    link_close(near->link);
    near->link = NULL;
    note_loss(near, why);
}

static const struct link_events link_events = {on_greeted, on_replied, NULL, on_lost};

static void open_link(struct near *near)
{
    struct hearsay_connect options = {.server = near->server,
                                      .agent = "hearsay-bridge/" HEARSAY_VERSION};
    struct hearsay_error error;

    if (link_open(near->loop, &options, &link_events, near, &near->link, &error) != HEARSAY_OK) {
        note_loss(near, &error);
    }
}

int near_new(uv_loop_t *loop, const char *server, const struct near_events *events, void *context,
             struct near **out_near)
{
    struct near *near = calloc(1, sizeof(*near));

    if (near == NULL) {
        return -ERR_NOMEM;
    }
    near->loop = loop;
    near->server = server;
    near->events = events;
    near->context = context;
    (void)uv_timer_init(loop, &near->retry); /* never fails */
    near->retry.data = near;
    (void)uv_timer_start(&near->retry, on_retry, 0, 0);
    *out_near = near;
    return 0;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void near_stop(struct near *near)
{
    if (near == NULL) {
        return;
    }
    for (struct call *call = near->calls; call != NULL; call = call->next) {
        call->done = NULL;
    }
    end_calls(near, NULL);
    link_close(near->link);
    uv_close((uv_handle_t *)&near->retry, on_closed);
}

int near_ask(struct near *near, const struct hearsay_request *request, near_done *done,
             void *context)
{
    struct call *call = near->is_up ? calloc(1, sizeof(*call)) : NULL;
    struct hearsay_error error;

    if (call == NULL) {
        return HEARSAY_ERR_NOMEM;
    }
    int status = hearsay_submit(link_server(near->link), request, &call->ticket, &error);
    if (status != HEARSAY_OK) {
        free(call);
        return status;
    }
    call->done = done;
    call->context = context;
    call->next = near->calls;
    near->calls = call;
    link_submitted(near->link);
    return HEARSAY_OK;
}

void near_forget(struct near *near, const void *context)
{
    for (struct call *call = near->calls; call != NULL; call = call->next) {
        if (call->context == context) {
            call->done = NULL;
        }
    }
}

uint64_t near_messages_max(const struct near *near, const char *host)
{
    const struct hearsay_host *found =
        near->is_up ? hearsay_find_host(link_server(near->link), host) : NULL;

    return found != NULL ? found->messages : 0;
}

uint64_t near_store(const struct near *near)
{
    return near->is_up ? hash_seeded(hearsay_welcome(link_server(near->link))->store_id,
                                     HEARSAY_ID_BYTES, 0)
                       : 0;
}

bool near_is_up(const struct near *near)
{
    return near->is_up;
}

const char *near_error(const struct near *near)
{
    return near->error;
}
