/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/fake_server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client/call/client.h"
#include "client/net/wait.h"
#include "proto/codec/codec.h"

enum { ARENA_BYTES = 8 * 1024 * 1024 };

static void must(bool holds, const char *what)
{
    if (!holds) {
        (void)fprintf(stderr, "fake_server: %s: %s\n", what, strerror(errno));
        abort();
    }
}

/* A connection that has a thread of its own. */
struct fake_task {
    struct fake_server *server;
    struct fake_peer peer;
    int fd;
    unsigned number;
};

static void peer_run(struct fake_server *server, struct fake_peer *peer, int fd, unsigned number)
{
    memset(peer, 0, sizeof(*peer));
    peer->fd = fd;
    peer->number = number;
    frame_decoder_init(&peer->input, alloc_system(), LIMIT_FRAME_BYTES_MAX);
    arena_init(&peer->arena, alloc_system(), ARENA_BYTES);
    bytes_init(&peer->output, alloc_system());
    server->script(peer, server->context);
    frame_decoder_deinit(&peer->input);
    arena_deinit(&peer->arena);
    bytes_deinit(&peer->output);
    (void)close(fd);
}

static void *run_pair(void *argument)
{
    struct fake_server *server = argument;
    peer_run(server, &server->peer, server->peer.fd, 0);
    return NULL;
}

static void *run_task(void *argument)
{
    struct fake_task *task = argument;
    peer_run(task->server, &task->peer, task->fd, task->number);
    return NULL;
}

static void run_beside(struct fake_server *server, int fd, unsigned number)
{
    must(server->task_count < FAKE_PEERS_MAX, "too many connections");
    struct fake_task *task = calloc(1, sizeof(*task));
    must(task != NULL, "calloc");
    task->server = server;
    task->fd = fd;
    task->number = number;
    must(pthread_create(&server->threads[server->task_count], NULL, run_task, task) == 0,
         "pthread_create");
    server->tasks[server->task_count++] = task;
}

static void *run_listener(void *argument)
{
    struct fake_server *server = argument;
    for (unsigned number = 0;; number++) {
        int fd = accept(server->listen_fd, NULL, NULL);
        if (fd < 0) {
            return NULL; /* fake_server_stop shut it down */
        }
        if (server->serves_many) {
            run_beside(server, fd, number);
        } else {
            peer_run(server, &server->peer, fd, number);
        }
    }
}

static void start(struct fake_server *server, void *(*run)(void *))
{
    must(pthread_create(&server->thread, NULL, run, server) == 0, "pthread_create");
}

void fake_server_pair(struct fake_server *server, fake_script *script, void *context)
{
    int ends[2];
    memset(server, 0, sizeof(*server));
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "socketpair");
    server->listen_fd = -1;
    server->client_fd = ends[0];
    server->peer.fd = ends[1];
    server->script = script;
    server->context = context;
    start(server, run_pair);
}

int fake_server_open(struct fake_server *server, const struct alloc *alloc,
                     struct hearsay **out_client, struct hearsay_error *out_error)
{
    enum { LONG_MS = 60000 };
    const struct client_open how = {.alloc = alloc,
                                    .fd = server->client_fd,
                                    .hello = {.agent = "test/1"},
                                    .deadline_ms = wait_deadline_ms(LONG_MS)};
    if (fcntl(server->client_fd, F_SETFL, O_NONBLOCK) != 0) {
        abort();
    }
    return client_open(&how, out_client, out_error);
}

static void listen_on(struct fake_server *server, fake_script *script, void *context)
{
    (void)snprintf(server->folder, sizeof(server->folder), "/tmp/hearsay-test.XXXXXX");
    must(mkdtemp(server->folder) != NULL, "mkdtemp");
    (void)snprintf(server->path, sizeof(server->path), "%s/socket", server->folder);
    server->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(server->listen_fd >= 0, "socket");
    struct sockaddr_un name;
    memset(&name, 0, sizeof(name));
    name.sun_family = AF_UNIX;
    memcpy(name.sun_path, server->path, strlen(server->path) + 1);
    must(bind(server->listen_fd, (const struct sockaddr *)&name, sizeof(name)) == 0, "bind");
    must(listen(server->listen_fd, 16) == 0, "listen");
    server->script = script;
    server->context = context;
    start(server, run_listener);
}

int fake_submit_ping(struct hearsay *client, uint64_t *out_ticket, struct hearsay_error *out_error)
{
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_PING};

    return hearsay_submit(client, &request, out_ticket, out_error);
}

void fake_server_listen(struct fake_server *server, fake_script *script, void *context)
{
    memset(server, 0, sizeof(*server));
    listen_on(server, script, context);
}

void fake_server_listen_many(struct fake_server *server, fake_script *script, void *context)
{
    memset(server, 0, sizeof(*server));
    server->serves_many = true;
    listen_on(server, script, context);
}

void fake_server_stop(struct fake_server *server)
{
    if (server->listen_fd >= 0) {
        (void)shutdown(server->listen_fd, SHUT_RDWR); /* wakes accept */
    }
    must(pthread_join(server->thread, NULL) == 0, "pthread_join");
    for (unsigned i = 0; i < server->task_count; i++) {
        must(pthread_join(server->threads[i], NULL) == 0, "pthread_join");
        free(server->tasks[i]);
    }
    if (server->listen_fd >= 0) {
        (void)close(server->listen_fd);
        (void)unlink(server->path);
        (void)rmdir(server->folder);
    }
}

struct msg_welcome fake_welcome(unsigned requests_in_flight)
{
    static const uint8_t store_id[LIMIT_ID_BYTES] = "0123456789abcde";
    static const struct hearsay_host_info hosts[] = {
        {.name = {"default", 7},
         .profile = {"v2:512/4", 8},
         .suggested_max_distance_ppm = 700000,
         .messages = 5000,
         .role = HEARSAY_ROLE_OWNER,
         .evict = HEARSAY_EVICT_OLDEST,
         .accept = HEARSAY_ACCEPT_REVIEW,
         .accept_until_ms = 99},
        {.name = {"upstairs", 8},
         .profile = {"v2:256/4", 8},
         .suggested_max_distance_ppm = 1000000,
         .role = HEARSAY_ROLE_OWNER,
         .evict = HEARSAY_EVICT_REJECT,
         .accept = HEARSAY_ACCEPT_OPEN},
    };
    static const struct hearsay_text capabilities[] = {{"deposit", 7}, {"query", 5}};
    struct msg_welcome welcome;
    memset(&welcome, 0, sizeof(welcome));
    welcome.version = LIMIT_VERSION;
    welcome.store_id.data = store_id;
    welcome.store_id.count = LIMIT_ID_BYTES;
    welcome.now_ms = 1700000000000;
    welcome.clock_trusted = true;
    welcome.limits.frame_bytes = LIMIT_FRAME_BYTES_DEFAULT;
    welcome.limits.payload_bytes = 4096;
    welcome.limits.requests_in_flight = requests_in_flight;
    welcome.hosts = hosts;
    welcome.host_count = 2;
    welcome.capabilities = capabilities;
    welcome.capability_count = 2;
    welcome.agent.text = "fake/1";
    welcome.agent.length = 6;
    return welcome;
}

bool fake_greet(struct fake_peer *peer, unsigned requests_in_flight)
{
    struct hearsay_request request;
    if (!fake_read(peer, &request)) {
        return false;
    }
    must(request.kind == HEARSAY_REQUEST_HELLO, "the first request is not Hello");
    struct hearsay_response response = {.id = request.id, .kind = HEARSAY_RESPONSE_WELCOME};
    response.welcome = fake_welcome(requests_in_flight);
    return fake_send(peer, &response);
}

bool fake_read(struct fake_peer *peer, struct hearsay_request *out_request)
{
    const uint8_t *frame = NULL;
    size_t length = 0;
    arena_reset(&peer->arena);
    for (;;) {
        int result = frame_next(&peer->input, &frame, &length);
        if (result == 0) {
            break;
        }
        must(result == FRAME_MORE, "a frame cannot be read");
        uint8_t *room = NULL;
        size_t room_bytes = 0;
        must(frame_decoder_reserve(&peer->input, 4096, &room, &room_bytes) == 0, "reserve");
        ssize_t got = recv(peer->fd, room, room_bytes, 0);
        if (got <= 0) {
            return false;
        }
        frame_decoder_commit(&peer->input, (size_t)got);
    }
    struct msg_error error;
    must(codec_decode_request(frame, length, &peer->arena, out_request, &error) == 0,
         "a request cannot be read");
    return true;
}

void fake_encode(const struct hearsay_response *response, struct bytes *out)
{
    must(codec_encode_response(response, LIMIT_FRAME_BYTES_MAX, out) == 0, "encode");
}

void fake_put(struct fake_peer *peer, const struct hearsay_response *response)
{
    fake_encode(response, &peer->output);
}

bool fake_flush(struct fake_peer *peer)
{
    while (peer->output.count > 0) {
        ssize_t sent = send(peer->fd, peer->output.data, peer->output.count, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        bytes_consume(&peer->output, (size_t)sent);
    }
    return true;
}

bool fake_send(struct fake_peer *peer, const struct hearsay_response *response)
{
    fake_put(peer, response);
    return fake_flush(peer);
}

struct hearsay_response fake_deposited(uint64_t id, bool duplicate)
{
    struct hearsay_response response = {.id = id, .kind = HEARSAY_RESPONSE_DEPOSITED};
    response.deposited.deposited_ms = 1700000000000;
    response.deposited.expires_ms = 1700000060000;
    response.deposited.duplicate = duplicate;
    response.deposited.durability = HEARSAY_DURABILITY_ON_STORAGE;
    return response;
}

struct hearsay_response fake_error(uint64_t id, enum hearsay_code code, uint64_t retry_after_ms)
{
    struct hearsay_response response = {.id = id, .kind = HEARSAY_RESPONSE_ERROR};
    msg_error_set(&response.error, code, "field", "because");
    response.error.retry_after_ms = retry_after_ms;
    return response;
}
