/* SPDX-License-Identifier: Apache-2.0 */
#include "client/call/client.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "client/fail.h"
#include "client/net/sock.h"
#include "client/net/wait.h"
#include "client/now.h"

/*
 * Sends as many bytes as the socket takes without waiting. A write error is only stored in
 * write_errno. The caller still reads: the server may have sent the reason before it closed the
 * connection, and that reason says more than "broken pipe".
 */
static void client_flush(struct hearsay *server)
{
    for (;;) {
        size_t count = 0;
        const uint8_t *data = conn_output(&server->conn, &count);
        if (server->write_errno != 0) {
            return;
        }
        if (count == 0) {
            if (server->secure != NULL) { /* its last bytes may still wait */
                (void)secure_flush(server->secure, &server->write_errno);
            }
            return;
        }
        size_t sent = 0;
        int status = server->secure != NULL
                         ? secure_write(server->secure, data, count, &sent, &server->write_errno)
                         : sock_write(server->fd, data, count, &sent, &server->write_errno);
        if (status != HEARSAY_OK) {
            return;
        }
        conn_sent(&server->conn, sent);
    }
}

static bool wants_write(const struct hearsay *server)
{
    size_t count = 0;
    (void)conn_output(&server->conn, &count);
    bool waits = count > 0 || (server->secure != NULL && secure_wants_write(server->secure));
    return waits && server->write_errno == 0;
}

/* Breaks the connection. The error is the reason why TLS failed, if TLS has failed; otherwise the
 * error of the errno `reason`. */
static int client_lose(struct hearsay *server, int reason, struct hearsay_error *error)
{
    struct hearsay_error refused;

    if (server->secure == NULL || secure_reason(server->secure)[0] == '\0') {
        return conn_lose(&server->conn, reason, error);
    }
    (void)fail_set(&refused, HEARSAY_ERR_TRUST, "the encryption failed: %s",
                   secure_reason(server->secure));
    return conn_break(&server->conn, &refused, error);
}

/* Reads from the socket. Returns 0, SOCK_AGAIN, or an error. */
static int client_fill(struct hearsay *server, struct hearsay_error *error)
{
    uint8_t *room = NULL;
    size_t room_bytes = 0;
    int status = conn_room(&server->conn, &room, &room_bytes, error);
    if (status != HEARSAY_OK) {
        return status;
    }
    size_t got = 0;
    int reason = 0;
    status = server->secure != NULL ? secure_read(server->secure, room, room_bytes, &got, &reason)
                                    : sock_read(server->fd, room, room_bytes, &got, &reason);
    if (status == SOCK_CLOSED) {
        return client_lose(server, reason, error);
    }
    if (status == HEARSAY_OK) {
        conn_filled(&server->conn, got);
    }
    return status;
}

/* Stores an epoch and its key. Without this copy the key would be lost when a later epoch begins,
 * because server->welcome has only the current epoch of each host. */
static void remember_epoch(struct hearsay *server, size_t host, const struct hearsay_epoch *epoch)
{
    if (epoch->has_key) {
        server->epochs[server->epoch_count++ % CLIENT_EPOCHS_MAX] =
            (struct client_epoch){host, *epoch};
    }
}

/* A new epoch of a host has begun: writes the epoch to the host in the Welcome. */
static void take_epoch(struct hearsay *server, const struct hearsay_epoch_changed *changed)
{
    for (size_t i = 0; i < server->welcome.host_count; i++) {
        struct hearsay_host *host = &server->hosts[i];

        if (strcmp(host->name, changed->host.text) != 0) {
            continue;
        }
        reply_translate_epoch(&changed->epoch, &host->epoch);
        server->epoch_changed = true;
        remember_epoch(server, i, &host->epoch);
        return;
    }
}

/* A host accepts other deposits: writes it to the host in the Welcome. */
static void take_acceptance(struct hearsay *server, const struct hearsay_accept_changed *changed)
{
    for (size_t i = 0; i < server->welcome.host_count; i++) {
        struct hearsay_host *host = &server->hosts[i];

        if (strcmp(host->name, changed->host.text) == 0) {
            host->accept = changed->accept;
            host->accept_until_ms = changed->accept_until_ms;
        }
    }
}

/* Takes a push that changes the Welcome, or that nobody can use. Returns 0 with *out_taken false if
 * the response is something else, or the error that broke the connection. */
static int take_push(struct hearsay *server, struct arena *arena,
                     const struct hearsay_response *response, bool *out_taken,
                     struct hearsay_error *error)
{
    *out_taken = true;
    switch (response->kind) {
    case HEARSAY_RESPONSE_EPOCH_CHANGED:
        take_epoch(server, &response->epoch_changed);
        return HEARSAY_OK;
    case HEARSAY_RESPONSE_ACCEPT_CHANGED:
        take_acceptance(server, &response->accept_changed);
        return HEARSAY_OK;
    case HEARSAY_RESPONSE_NOTICES_CHANGED:
        return client_take_notices(server, arena, &response->notices_changed, error);
    case HEARSAY_RESPONSE_HERE_CHANGED: /* of a host that the Welcome does not have: dropped */
        *out_taken = hearsay_find_host(server, response->here_changed.host.text) == NULL;
        return HEARSAY_OK;
    default:
        *out_taken = false;
        return HEARSAY_OK;
    }
}

/*
 * Returns how many reads a call may do after its deadline; a call with timeout 0 has only these.
 * They are enough for two frames of the largest size if each read fills its room. Without this
 * limit, a server that never stops sending would keep the caller reading forever.
 */
static size_t late_reads_max(const struct hearsay *server)
{
    return 2 * (size_t)LIMIT_FRAME_BYTES_MAX / server->conn.read_bytes;
}

/*
 * Decodes the next response into `arena`, which the caller has reset. Returns 0, WAIT_TIMEOUT, or
 * an error.
 */
static int client_receive(struct hearsay *server, struct arena *arena, int64_t deadline_ms,
                          struct hearsay_response *out_response, struct hearsay_error *error)
{
    size_t late_reads = 0;

    for (;;) {
        int status = conn_next(&server->conn, arena, out_response, error);
        bool is_taken = false;
        if (status == HEARSAY_OK) {
            status = take_push(server, arena, out_response, &is_taken, error);
        }
        if (status == HEARSAY_OK && is_taken) {
            arena_reset(arena);
            continue;
        }
        if (status != CONN_MORE) {
            return status;
        }
        client_flush(server);
        status = client_fill(server, error);
        if (status != HEARSAY_OK && status != SOCK_AGAIN) {
            return status;
        }
        late_reads += now_monotonic_ms() >= deadline_ms ? 1 : 0;
        if (late_reads > late_reads_max(server)) {
            return WAIT_TIMEOUT;
        }
        if (status == HEARSAY_OK) {
            continue;
        }
        short events = wants_write(server) ? POLLIN | POLLOUT : POLLIN;
        status = wait_for(server->fd, events, deadline_ms, error);
        if (status != HEARSAY_OK) {
            return status;
        }
    }
}

/*
 * Receives the next reply to server->reply; its memory is in server->arena. Returns 0,
 * WAIT_TIMEOUT, or an error.
 */
static int receive_reply(struct hearsay *server, int64_t deadline_ms, struct hearsay_error *error)
{
    struct hearsay_error local;
    arena_reset(&server->arena);
    int status =
        client_receive(server, &server->arena, deadline_ms, &server->reply.response, error);
    if (status != HEARSAY_OK || reply_complete(&server->reply, &local) == HEARSAY_OK) {
        return status;
    }
    /* The reply is lost. A caller would wait for this reply until its timeout, so the connection
     * is broken. */
    return conn_break(&server->conn, &local, error);
}

static void kept_free(const struct alloc *alloc, struct client_kept *kept)
{
    arena_deinit(&kept->arena);
    alloc_release(alloc, kept);
}

/*
 * Moves the current reply and its arena to the end of the list of kept replies. If memory is out,
 * the reply is lost. A caller would wait for this reply until its timeout, so the connection is
 * broken then.
 */
static int client_keep(struct hearsay *server, struct hearsay_error *error)
{
    struct client_kept *kept = alloc_zeroed(server->alloc, 1, sizeof(*kept));
    if (kept == NULL) {
        struct hearsay_error nomem;
        (void)fail_set_nomem(&nomem);
        return conn_break(&server->conn, &nomem, error);
    }
    kept->arena = server->arena;
    kept->reply = server->reply;
    arena_init(&server->arena, server->alloc, CONN_DECODE_BYTES);
    if (server->kept_last == NULL) {
        server->kept_first = kept;
    } else {
        server->kept_last->next = kept;
    }
    server->kept_last = kept;
    server->kept_count++;
    server->kept_bytes += kept->arena.held_bytes;
    return HEARSAY_OK;
}

static void take_kept(struct hearsay *server)
{
    struct client_kept *kept = server->kept_first;
    server->kept_first = kept->next;
    if (kept->next == NULL) {
        server->kept_last = NULL;
    }
    server->kept_count--;
    server->kept_bytes -= kept->arena.held_bytes;
    arena_deinit(&server->arena);
    server->arena = kept->arena;
    server->reply = kept->reply;
    memset(&kept->arena, 0, sizeof(kept->arena));
    kept_free(server->alloc, kept);
}

int hearsay_submit(struct hearsay *server, const struct hearsay_request *request,
                   uint64_t *out_ticket, struct hearsay_error *out_error)
{
    bool idle = hearsay_in_flight(server) == 0;
    uint64_t unused = 0;
    struct hearsay_request own = *request;
    own.asker = server->asker;
    /* Pushes may arrive right after the answer. */
    server->conn.takes_asks = server->conn.takes_asks || own.kind == HEARSAY_REQUEST_SERVE;
    server->conn.takes_matches = server->conn.takes_matches || own.kind == HEARSAY_REQUEST_WATCH;
    int status =
        conn_submit(&server->conn, &own, out_ticket != NULL ? out_ticket : &unused, out_error);
    if (status == CONN_FULL) {
        client_flush(server);
        return fail_set(out_error, HEARSAY_FULL, "too many requests are under way");
    }
    if (status != HEARSAY_OK) {
        return status;
    }
    /*
     * A request is sent at once if no other request is in flight. Later requests are collected in
     * the output and sent together.
     */
    size_t waiting = 0;
    (void)conn_output(&server->conn, &waiting);
    if (idle || waiting >= CLIENT_COALESCE_BYTES) {
        client_flush(server);
    }
    return HEARSAY_OK;
}

int client_await(struct hearsay *server, uint64_t ticket, int64_t deadline_ms,
                 const struct hearsay_reply **out_reply, struct hearsay_error *out_error)
{
    for (;;) {
        int status = receive_reply(server, deadline_ms, out_error);
        if (status != HEARSAY_OK) {
            conn_abandon(&server->conn, ticket);
            return status == WAIT_TIMEOUT ? HEARSAY_ERR_TIMEOUT : status;
        }
        if (server->reply.response.id == ticket) {
            *out_reply = &server->reply;
            if (server->reply.response.kind != HEARSAY_RESPONSE_ERROR) {
                return HEARSAY_OK;
            }
            if (out_error != NULL) {
                *out_error = server->reply.error;
            }
            return HEARSAY_ERR_REFUSED;
        }
        status = client_keep(server, out_error);
        if (status != HEARSAY_OK) {
            return status;
        }
    }
}

void hearsay_cancel(struct hearsay *server, uint64_t ticket)
{
    conn_abandon(&server->conn, ticket);
}

int hearsay_next(struct hearsay *server, int timeout_ms, const struct hearsay_reply **out_reply,
                 struct hearsay_error *out_error)
{
    const struct hearsay_reply *unused = NULL;
    out_reply = out_reply != NULL ? out_reply : &unused;
    *out_reply = NULL;
    if (timeout_ms < 0) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT, "the timeout is negative");
    }
    if (server->kept_first != NULL) {
        take_kept(server);
        *out_reply = &server->reply;
        return HEARSAY_OK;
    }
    /*
     * An idle connection is read, too: the server may have sent a push, which would keep hearsay_fd
     * readable. A connection that is full of abandoned requests is not idle: a caller whose request
     * did not fit waits here.
     */
    bool is_idle = server->conn.state == CONN_READY && conn_in_flight(&server->conn) == 0 &&
                   !conn_is_full(&server->conn) && !server->conn.takes_matches &&
                   !server->conn.takes_here_changes;
    int status = receive_reply(server, wait_deadline_ms(is_idle ? 0 : timeout_ms), out_error);
    if (status == WAIT_TIMEOUT && is_idle) {
        return fail_set(out_error, HEARSAY_IDLE, "no request is under way");
    }
    if (status == WAIT_TIMEOUT) {
        return fail_set(out_error, HEARSAY_PENDING, "no reply within %d ms", timeout_ms);
    }
    if (status == HEARSAY_OK) {
        *out_reply = &server->reply;
    }
    return status;
}

/*
 * Reads the replies that have arrived, without waiting, and keeps them for hearsay_next, until they
 * take CLIENT_KEPT_BYTES_MAX. Returns 0 or an error.
 */
static int catch_up(struct hearsay *server, struct hearsay_error *error)
{
    while (server->kept_bytes < CLIENT_KEPT_BYTES_MAX) {
        int status = receive_reply(server, wait_deadline_ms(0), error);
        if (status == WAIT_TIMEOUT) {
            return HEARSAY_OK;
        }
        if (status == HEARSAY_OK) {
            status = client_keep(server, error);
        }
        if (status != HEARSAY_OK) {
            return status;
        }
    }
    return HEARSAY_OK;
}

int client_await_slot(struct hearsay *server, int64_t deadline_ms, struct hearsay_error *out_error)
{
    bool is_late = false;
    for (;;) {
        if (server->kept_bytes >= CLIENT_KEPT_BYTES_MAX) {
            return fail_set(out_error, HEARSAY_FULL, "too many replies wait for hearsay_next");
        }
        if (!conn_is_full(&server->conn)) {
            return HEARSAY_OK;
        }
        if (is_late) {
            return HEARSAY_ERR_TIMEOUT;
        }
        is_late = now_monotonic_ms() >= deadline_ms; /* reads once more then */
        int status = catch_up(server, out_error);
        if (status == HEARSAY_OK && conn_is_full(&server->conn)) {
            short events = wants_write(server) ? POLLIN | POLLOUT : POLLIN;
            status = wait_for(server->fd, events, deadline_ms, out_error);
        }
        if (status < 0) {
            return status;
        }
    }
}

int hearsay_current_epoch(struct hearsay *server, const char *host, struct hearsay_epoch *out_epoch,
                          struct hearsay_error *out_error)
{
    const struct hearsay_host *found = hearsay_find_host(server, host);
    if (found == NULL) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT, "the server has no host \"%.200s\"",
                        host != NULL ? host : "");
    }
    int status = catch_up(server, out_error);
    if (status == HEARSAY_OK && out_epoch != NULL) {
        *out_epoch = found->epoch;
    }
    return status;
}

size_t hearsay_in_flight(const struct hearsay *server)
{
    return conn_in_flight(&server->conn) + server->kept_count;
}

bool hearsay_is_broken(const struct hearsay *server)
{
    return server->conn.state == CONN_BROKEN;
}

int hearsay_fd(const struct hearsay *server, bool *out_wants_write)
{
    if (out_wants_write != NULL) {
        *out_wants_write = wants_write(server);
    }
    return server->fd;
}

/* Receives the Welcome. Returns 0, WAIT_TIMEOUT, or an error. */
static int client_greet(struct hearsay *server, int64_t deadline_ms, struct hearsay_error *error)
{
    struct hearsay_response response;
    int status = client_receive(server, &server->welcome_arena, deadline_ms, &response, error);
    if (status != HEARSAY_OK) {
        return status;
    }
    server->welcome_at_ms = now_monotonic_ms();
    status = reply_translate_welcome(&response.welcome, &server->welcome_arena, &server->welcome,
                                     &server->hosts, error);
    for (size_t i = 0; i < server->welcome.host_count && status == HEARSAY_OK; i++) {
        remember_epoch(server, i, &server->hosts[i].epoch);
    }
    return status;
}

static int say_late(struct hearsay_error *error)
{
    return fail_set(error, HEARSAY_ERR_TIMEOUT, "the server did not greet back in time");
}

int client_begin(const struct client_open *how, struct hearsay **out_server,
                 struct hearsay_error *out_error)
{
    struct hearsay *server = alloc_zeroed(how->alloc, 1, sizeof(*server));
    if (server == NULL) {
        secure_free(how->secure);
        (void)close(how->fd);
        return fail_set_nomem(out_error);
    }
    server->alloc = how->alloc;
    server->fd = how->fd;
    server->secure = how->secure;
    server->tls = how->secure != NULL ? secure_info(how->secure) : NULL;
    server->is_connecting = how->is_connecting;
    server->greet_by_ms = how->deadline_ms;
    conn_init(&server->conn, how->alloc);
    if (how->is_small) {
        server->conn.read_bytes = CONN_SMALL_READ_BYTES;
        server->conn.flight_limit = CONN_FLIGHT_DEFAULT;
    }
    arena_init(&server->arena, how->alloc, CONN_DECODE_BYTES);
    arena_init(&server->welcome_arena, how->alloc, CONN_DECODE_BYTES);
    int status = conn_greet(&server->conn, &how->hello, out_error);
    if (status != HEARSAY_OK) {
        hearsay_close(server);
        return status;
    }
    *out_server = server;
    return HEARSAY_OK;
}

int client_open(const struct client_open *how, struct hearsay **out_server,
                struct hearsay_error *out_error)
{
    struct hearsay *server = NULL;
    int status = client_begin(how, &server, out_error);
    if (status != HEARSAY_OK) {
        return status;
    }
    status = client_greet(server, how->deadline_ms, out_error);
    if (status != HEARSAY_OK) {
        hearsay_close(server);
        return status == WAIT_TIMEOUT ? say_late(out_error) : status;
    }
    *out_server = server;
    return HEARSAY_OK;
}

int hearsay_connect_continue(struct hearsay *server, struct hearsay_error *out_error)
{
    if (server->conn.state == CONN_READY) {
        return HEARSAY_OK;
    }
    int status = server->is_connecting ? sock_connect_continue(server->fd, out_error) : HEARSAY_OK;
    if (status == HEARSAY_OK) {
        server->is_connecting = false;
        status = client_greet(server, now_monotonic_ms(), out_error);
    }
    if (status == HEARSAY_OK || status < 0) {
        return status;
    }
    if (now_monotonic_ms() >= server->greet_by_ms) {
        return say_late(out_error);
    }
    return fail_set(out_error, HEARSAY_PENDING, "the server has not greeted back yet");
}

void hearsay_close(struct hearsay *server)
{
    if (server == NULL) {
        return;
    }
    while (server->kept_first != NULL) {
        struct client_kept *kept = server->kept_first;
        server->kept_first = kept->next;
        kept_free(server->alloc, kept);
    }
    client_free_notices(server);
    sodium_memzero(server->epochs, sizeof(server->epochs));
    secure_free(server->secure);
    if (server->fd >= 0) {
        (void)close(server->fd); /* nothing unsent is waited for, so nothing can be lost here */
    }
    conn_deinit(&server->conn);
    arena_deinit(&server->arena);
    arena_deinit(&server->welcome_arena);
    alloc_release(server->alloc, server);
}
