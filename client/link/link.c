/* SPDX-License-Identifier: Apache-2.0 */
#include "client/link/link.h"

#include <stdio.h>
#include <stdlib.h>

struct link {
    uv_poll_t poll;
    uv_timer_t timer; /* runs while hearsayd owes an answer */
    unsigned open_handles;
    struct hearsay *server; /* owned; NULL: closed */
    bool is_greeted;
    const struct link_events *events;
    void *context;
};

static void on_closed(uv_handle_t *handle)
{
    struct link *link = handle->data;

    if (--link->open_handles == 0) {
        free(link);
    }
}

static void on_poll(uv_poll_t *poll, int status, int events);

/* Waits for what the connection needs next. */
static void link_wait(struct link *link)
{
    bool wants_write = false;

    (void)hearsay_fd(link->server, &wants_write);
    /* Fails for a closed handle only. */
    (void)uv_poll_start(&link->poll, wants_write ? UV_READABLE | UV_WRITABLE : UV_READABLE,
                        on_poll);
}

static void link_lose(struct link *link, const struct hearsay_error *why)
{
    (void)uv_timer_stop(&link->timer);
    (void)uv_poll_stop(&link->poll);
    link->events->lost(link->context, why);
}

static void on_silence(uv_timer_t *timer)
{
    struct link *link = timer->data;
    struct hearsay_error error = {.status = HEARSAY_ERR_TIMEOUT};

    (void)snprintf(error.sentence, sizeof(error.sentence), "hearsayd did not answer for %d s",
                   LINK_SILENCE_MS / 1000);
    link_lose(link, &error);
}

static void link_expect_answer(struct link *link, bool restart)
{
    if (link->is_greeted && hearsay_in_flight(link->server) == 0) {
        (void)uv_timer_stop(&link->timer);
    } else if (restart || !uv_is_active((const uv_handle_t *)&link->timer)) {
        (void)uv_timer_start(&link->timer, on_silence, LINK_SILENCE_MS, 0);
    }
}

/* Goes on with the greeting. True: the greeting is done, and the link still there. */
static bool link_greet(struct link *link)
{
    struct hearsay_error error;
    int status = hearsay_connect_continue(link->server, &error);

    if (status == HEARSAY_PENDING) {
        link_wait(link);
        return false;
    }
    if (status != HEARSAY_OK) {
        link_lose(link, &error);
        return false;
    }
    link->is_greeted = true;
    link->events->greeted(link->context);
    return link->server != NULL;
}

/* Gives the next reply to the owner. HEARSAY_OK; the link may be closed then. */
static int pass_reply(struct link *link, struct hearsay_error *error)
{
    const struct hearsay_reply *reply = NULL;
    int rc = hearsay_next(link->server, 0, &reply, error);

    if (rc == HEARSAY_OK) {
        link->events->replied(link->context, reply);
    }
    return rc;
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct link *link = poll->data;
    struct hearsay_error error;
    bool has_reply = false;

    (void)status; /* reading says what is wrong */
    (void)events;
    if (!link->is_greeted && !link_greet(link)) {
        return;
    }
    int rc = pass_reply(link, &error);
    while (rc == HEARSAY_OK) {
        has_reply = true;
        if (link->server == NULL) {
            return;
        }
        rc = pass_reply(link, &error);
    }
    if (rc < 0) {
        link_lose(link, &error);
        return;
    }
    if (link->events->rested != NULL) {
        link->events->rested(link->context);
    }
    if (link->server != NULL) {
        link_expect_answer(link, has_reply);
        link_wait(link);
    }
}

int link_open(uv_loop_t *loop, const struct hearsay_connect *options,
              const struct link_events *events, void *context, struct link **out_link,
              struct hearsay_error *out_error)
{
    struct hearsay_connect connection = *options;
    struct link *link = calloc(1, sizeof(*link));

    *out_link = NULL;
    if (link == NULL) {
        *out_error = (struct hearsay_error){.status = HEARSAY_ERR_NOMEM, .sentence = "no memory"};
        return HEARSAY_ERR_NOMEM;
    }
    connection.timeout_ms = 2 * LINK_SILENCE_MS; /* the timer of the link ends the wait before */
    int status = hearsay_connect_begin(&connection, &link->server, out_error);
    if (status != HEARSAY_OK) {
        free(link);
        return status;
    }
    if (uv_poll_init(loop, &link->poll, hearsay_fd(link->server, NULL)) != 0) {
        hearsay_close(link->server);
        free(link);
        *out_error = (struct hearsay_error){.status = HEARSAY_ERR_SYSTEM,
                                            .sentence = "the system does not watch the socket"};
        return HEARSAY_ERR_SYSTEM;
    }
    (void)uv_timer_init(loop, &link->timer); /* cannot fail */
    link->poll.data = link;
    link->timer.data = link;
    link->open_handles = 2;
    link->events = events;
    link->context = context;
    link_expect_answer(link, true);
    link_wait(link);
    *out_link = link;
    return HEARSAY_OK;
}

struct hearsay *link_server(const struct link *link)
{
    return link->server;
}

void link_submitted(struct link *link)
{
    link_expect_answer(link, false);
    link_wait(link);
}

struct hearsay *link_detach(struct link *link)
{
    struct hearsay *server = link->server;

    link->server = NULL;
    /* The poll handle lets go of the socket at once, so the caller may close the socket. */
    uv_close((uv_handle_t *)&link->poll, on_closed);
    uv_close((uv_handle_t *)&link->timer, on_closed);
    return server;
}

void link_close(struct link *link)
{
    if (link != NULL) {
        hearsay_close(link_detach(link));
    }
}
