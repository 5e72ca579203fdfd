/* SPDX-License-Identifier: Apache-2.0 */

#include <string.h>

#include "daemon/net/here_watch.h"
#include "daemon/net/session_inner.h"
#include "daemon/settings/value.h"
#include "daemon/system/container.h"
#include "daemon/system/list.h"
#include "daemon/watch/watch.h"

enum {
    LINGER_MS = 2000,           /* for the client to take the last answers and end */
    STUCK_MS = 30 * 1000,       /* for a client to take some of the output that waits */
    HANDSHAKE_MS = 2000,        /* for a TLS handshake while handshakes are scarce */
    PUSH_BYTES_MAX = 64 * 1024, /* output up to which pushes are made */
    READ_BYTES = 64 * 1024,     /* of one read, so that one busy client cannot fill a turn */
    /* Bytes of one read of a session whose requests wait for a turn, or when this turn has used
     * much CPU time. The read is short, because many sessions may hold the bytes of such a read at
     * the same time. */
    READ_BYTES_LATER = 2 * 1024,
    DECODE_BYTES_MAX = 4 * LIMIT_FRAME_BYTES_MAX
};

/* --- the handlers' events --------------------------------------------------------------------- */

static void on_work_ended(struct requester *client)
{
    struct session *session = session_of_client(client);

    if (session->state == SESSION_CLOSED) {
        loop_add_gone(session->all->loop, &session->entry); /* may be freed now */
    } else if (session_takes_requests(session)) {
        session_mark_ready_if_held(session);
    } else {
        session_mark_dirty(session); /* session_flush ends it when all is answered */
    }
}

/* Whether a push may be added to the client's output now: little output waits to be sent. Otherwise
 * the push stays in a queue, where it takes less memory than in the output. */
static bool on_has_room(const struct requester *client)
{
    const struct session *session = CONTAINER_OF(client, const struct session, client);
    uint64_t most = session->all->service->config.limits.session_output_bytes / 4;
    size_t waiting = transport_output_bytes(&session->transport);

    return session->state == SESSION_OPEN && waiting < PUSH_BYTES_MAX && waiting < most;
}

static bool on_queued(struct requester *client, size_t bytes)
{
    struct session *session = session_of_client(client);

    if (session->state != SESSION_CLOSED) {
        session->queued_bytes = bytes;
        session_check_output(session);
    }
    return session->state != SESSION_CLOSED;
}

static void on_drop(struct requester *client, enum hearsay_code code, const char *sentence)
{
    struct session *session = session_of_client(client);

    if (session->state != SESSION_CLOSED) {
        session_note_drop(session, DROP_FAILED);
        session_drop(session, code, sentence);
    }
}

static void on_spent(struct requester *client, uint64_t spent_ns)
{
    session_spend_elsewhere(session_of_client(client), spent_ns);
}

const struct requester_events session_client_events = {
    .respond = session_respond,
    .work_ended = on_work_ended,
    .has_room = on_has_room,
    .queued = on_queued,
    .drop = on_drop,
    .spent = on_spent,
};

/* --- the transport's events ------------------------------------------------------------------- */

static struct session *session_of(struct transport *transport)
{
    return CONTAINER_OF(transport, struct session, transport);
}

static size_t on_reading(struct transport *transport)
{
    struct session *session = session_of(transport);
    const struct sessions *all = session->all;
    bool is_later = session->entry.is_ready || all->loop->spent_ns > SESSION_SLICE_NS;

    session->read_began_ns = service_monotonic_ns(all->service);
    return is_later ? READ_BYTES_LATER : READ_BYTES;
}

/* Handles the requests at once if the session is within its share of CPU time and requests have not
 * used SESSION_SLICE_NS in this turn yet. Otherwise the session waits for its turn. */
static void on_readable(struct transport *transport)
{
    struct session *session = session_of(transport);
    uint64_t began_ns = session->read_began_ns;
    uint64_t spent_ns = session->all->loop->spent_ns;

    session->activity_ms = loop_now_ms(session->all->loop);
    if (session->entry.is_ready || session_is_over_share(session, began_ns)) {
        transport_pause(transport); /* until the session's turn: the buffer may be full */
    } else if (spent_ns <= SESSION_SLICE_NS) {
        session_process_since(session, began_ns, SESSION_SLICE_NS - spent_ns);
        return;
    } else if (transport->tls != NULL) {
        transport_pause(transport); /* until the bytes that were read are decrypted */
    } /* Otherwise reading goes on, with short reads, until the session's turn. */
    session_spend(session, began_ns);
    session_mark_ready(session);
}

/* Drops a session that has sent too many TLS records without data in a row. */
static void drop_flooder(struct session *session)
{
    session_note_drop(session, DROP_RECORDS);
    session_drop(
        session, HEARSAY_CODE_INVALID,
        "the session was dropped because it sent more TLS records without application data than "
        "are taken in a row");
}

static void on_ended(struct transport *transport, bool clean)
{
    struct session *session = session_of(transport);

    session->peer_ended = true;
    session->client.has_ended = true;
    if (transport_is_flooded(transport)) {
        drop_flooder(session);
        return;
    }
    if (transport_tls_failed(transport)) {
        session_note_drop(session, DROP_TLS);
    }
    if (!clean || (session->state == SESSION_ENDING && session_is_done(session))) {
        session_close(session);
    } else if (session_takes_requests(session)) {
        session_mark_ready(session); /* the requests before the end are answered */
    }
}

static void on_written(struct transport *transport)
{
    struct session *session = session_of(transport);

    session_count_output(session);
    if (watch_client_has_room(session->all->service, &session->client)) {
        loop_wake(session->all->loop); /* the loop may be about to wait */
    }
    if (session_takes_requests(session)) {
        session_mark_ready_if_held(session);
    } else if (session->peer_ended && session_is_done(session)) {
        session_close(session);
    }
}

static void on_closed(struct transport *transport)
{
    struct session *session = session_of(transport);

    session->stream_closed = true;
    loop_add_gone(session->all->loop, &session->entry); /* may be freed now */
}

const struct transport_events session_transport_events = {
    .reading = on_reading,
    .readable = on_readable,
    .ended = on_ended,
    .written = on_written,
    .closed = on_closed,
};

void session_flush(struct session *session)
{
    transport_flush(&session->transport);
    if (session->state == SESSION_ENDING && session->client.work_count == 0) {
        transport_end(&session->transport);
    }
}

/* --- deadlines -------------------------------------------------------------------------------- */

/* Drops a session whose TLS handshake took too long. Resets the connection, since no error can be
 * sent before the handshake is done. */
static void drop_handshake(struct session *session)
{
    session_note_drop(session, DROP_HANDSHAKE);
    session_reset(session);
}

static void time_out(struct session *session, const char *awaited, uint32_t seconds)
{
    char limit[SETTINGS_NUMBER_BYTES];

    settings_print_number(SETTINGS_TYPE_DURATION, seconds, limit);
    requester_refuse(&session->client, 0, HEARSAY_CODE_INVALID, NULL, "%s came within %s", awaited,
                     limit);
    session_end(session);
}

/* Whether the session has exceeded the timeout of its state. Before the answer to Hello the timeout
 * is hello_timeout_s, with the TLS handshake included. A session that is ending has LINGER_MS to
 * send its last answers. */
static bool is_late(const struct session *session, int64_t now_ms)
{
    int64_t hello_ms = (int64_t)session->all->service->config.hello_timeout_s * 1000;
    int64_t most_ms = session->state == SESSION_ENDING ? LINGER_MS : hello_ms;

    return session->state != SESSION_OPEN && now_ms - session->since_ms >= most_ms;
}

void session_tick(struct session *session, int64_t now_ms)
{
    const struct config *config = &session->all->service->config;
    bool is_ending = session->state == SESSION_ENDING;

    if (session->state == SESSION_CLOSED) {
        return;
    }
    if (session->is_held_back) {
        session->is_held_back = false;
        session_mark_ready_if_held(session);
    }
    if (session->is_shaking_hands && now_ms - session->since_ms >= HANDSHAKE_MS &&
        session_handshakes_are_short(session->all)) {
        drop_handshake(session);
    } else if (transport_is_stuck(&session->transport, now_ms, is_ending ? LINGER_MS : STUCK_MS)) {
        session_drop_slow_reader(session, DROP_STUCK);
    } else if (is_late(session, now_ms) && transport_is_shaking_hands(&session->transport)) {
        drop_handshake(session);
    } else if (is_late(session, now_ms) && session->state == SESSION_NEW) {
        session_note_drop(session, DROP_HELLO);
        time_out(session, "no Hello", config->hello_timeout_s);
    } else if (session->state == SESSION_OPEN && config->idle_timeout_s > 0 &&
               session_is_done(session) && !watch_is_watching(&session->client) &&
               now_ms - session->activity_ms >= (int64_t)config->idle_timeout_s * 1000) {
        session_note_drop(session, DROP_IDLE);
        time_out(session, "no request, such as Ping,", config->idle_timeout_s);
    } else if (is_ending && session_is_done(session) && now_ms - session->since_ms >= LINGER_MS) {
        session_close(session);
    }
}

/* --- all sessions ----------------------------------------------------------------------------- */

void sessions_init(struct sessions *all, struct loop *loop, const struct alloc *alloc,
                   struct service *service, struct server_tls *tls)
{
    *all = (struct sessions){.loop = loop, .alloc = alloc, .service = service, .tls = tls};
    block_pool_init(&all->buffers, alloc);
    arena_init(&all->decode_arena, alloc, DECODE_BYTES_MAX);
}

void sessions_deinit(struct sessions *all)
{
    if (all->alloc != NULL) {
        block_pool_clear(&all->buffers);
        arena_deinit(&all->decode_arena);
    }
}

/*
 * Whether the change gives a client other here labels (host_here). A gateway gets every change,
 * because it asks for the labels of its clients.
 */
static bool is_concerned(const struct requester *client, const struct here_change *change)
{
    struct hearsay_text labels[LIMIT_LABELS];
    const struct here_map *map = change->host->here_map;

    return client->is_gateway || !here_map_agrees(change->old_map, map, &client->address) ||
           (change->labels_changed && requester_is_here(client) &&
            here_map_find(map, &client->address, labels) == 0);
}

/* The functions below walk over the list of sessions, and may drop sessions meanwhile. A dropped
 * session stays in the list until sessions_reap removes it. */
void sessions_push_here(struct sessions *all, const struct here_change *change)
{
    const struct host *host = change->host;
    struct hearsay_text buffer[LIMIT_LABELS];
    struct session *session;

    DL_FOREACH (all->first, session) {
        if (session->state != SESSION_OPEN || !is_concerned(&session->client, change)) {
            continue;
        }
        struct hearsay_response response = {
            .kind = HEARSAY_RESPONSE_HERE_CHANGED,
            .here_changed = {.host = {host->config.name, strlen(host->config.name)}},
        };
        response.here_changed.label_count =
            host_here(host, &session->client.address, requester_is_here(&session->client), buffer,
                      &response.here_changed.labels);
        session_respond(&session->client, &response);
    }
}

void sessions_tick(struct sessions *all, int64_t now_ms)
{
    struct session *session;

    DL_FOREACH (all->first, session) {
        session_tick(session, now_ms);
    }
}

static int64_t session_due_ms(const struct session *session, int64_t now_ms)
{
    const struct config *config = &session->all->service->config;

    if (session->state != SESSION_OPEN || session->is_held_back ||
        session->transport.write_active) {
        return now_ms;
    }
    if (config->idle_timeout_s == 0 || watch_is_watching(&session->client)) {
        return INT64_MAX;
    }
    return session->activity_ms + (int64_t)config->idle_timeout_s * 1000;
}

int64_t sessions_due_ms(const struct sessions *all, int64_t now_ms)
{
    const struct session *session;
    int64_t due_ms = INT64_MAX;

    DL_FOREACH (all->first, session) {
        int64_t of_session_ms = session_due_ms(session, now_ms);
        due_ms = of_session_ms < due_ms ? of_session_ms : due_ms;
    }
    return due_ms;
}

void sessions_stop(struct sessions *all)
{
    struct session *session;

    all->is_stopping = true;
    DL_FOREACH (all->first, session) {
        session_resume(session); /* takes the requests that were received, then ends */
    }
}

void sessions_close(struct sessions *all)
{
    struct session *session;

    DL_FOREACH (all->first, session) {
        session_close(session);
    }
}
