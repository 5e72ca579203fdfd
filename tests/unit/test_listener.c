/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listeners: what they bind, what they refuse and with which words, and what becomes of connections
 * when descriptors or memory are out.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/err.h"
#include "tests/lib/check.h"
#include "tests/lib/server_fixture.h"

/* --- fixture ---------------------------------------------------------------------------------- */

static int setup(void **state)
{
    struct server_fixture *fixture = server_fixture_new();

    server_fixture_make_directory(fixture);
    server_fixture_start(fixture, false);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    server_fixture_free(*state);
    return 0;
}

/* One that is refused is still closing: its place is taken again after a turn of the loop. */
static int bind_one(struct server_fixture *fixture, const struct config_listener *config)
{
    struct server *server = &fixture->server;

    (void)uv_run(&server->loop.uv, UV_RUN_NOWAIT);
    fixture->reason[0] = '\0';
    const int rc = listener_bind(&server->listeners[server->listener_count], &server->home, config,
                                 fixture->reason);
    server->listener_count += rc == 0;
    return rc;
}

static struct config_listener tcp(const char *address, unsigned port)
{
    struct config_listener config = {.kind = CONFIG_LISTENER_TCP, .port = (uint16_t)port};

    (void)snprintf(config.address, sizeof(config.address), "%s", address);
    return config;
}

static struct config_listener local(const char *path)
{
    struct config_listener config = {.kind = CONFIG_LISTENER_UNIX};

    assert_true(strlen(path) < sizeof(config.path));
    (void)snprintf(config.path, sizeof(config.path), "%s", path);
    return config;
}

static struct listener *newest(struct server_fixture *fixture)
{
    return &fixture->server.listeners[fixture->server.listener_count - 1];
}

static unsigned port_of(const struct listener *listener)
{
    struct sockaddr_storage address;
    int size = sizeof(address);

    assert_int_equal(uv_tcp_getsockname(&listener->uv.tcp, (struct sockaddr *)&address, &size), 0);
    return ntohs(address.ss_family == AF_INET6
                     ? ((const struct sockaddr_in6 *)(const void *)&address)->sin6_port
                     : ((const struct sockaddr_in *)(const void *)&address)->sin_port);
}

static void expect_reason(const struct server_fixture *fixture, const char *part)
{
    if (strstr(fixture->reason, part) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", fixture->reason, part);
    }
}

/* The connection is served: Hello and Ping are answered. */
static void expect_service(struct server_fixture *fixture, struct peer *peer)
{
    struct hearsay_response response;

    peer_put_hello(peer);
    peer_put_ping(peer, 2);
    peer_send(peer, &fixture->server.loop.uv);
    assert_true(peer_await(peer, &fixture->server.loop.uv, &response));
    assert_int_equal(response.kind, HEARSAY_RESPONSE_WELCOME);
    assert_true(peer_await(peer, &fixture->server.loop.uv, &response));
    assert_int_equal(response.kind, HEARSAY_RESPONSE_PONG);
}

static void serve_one(struct server_fixture *fixture, int fd, bool is_administrator)
{
    struct peer peer;

    peer_init(&peer, fd);
    assert_true(fd >= 0);
    expect_service(fixture, &peer);
    assert_int_equal(fixture->server.sessions.first->prev->client.is_administrator,
                     is_administrator);
    peer_deinit(&peer);
    server_fixture_await_sessions(fixture, 0);
}

/* A listening Unix socket that is somebody else's. */
static int listen_on(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    memcpy(address.sun_path, path, strlen(path) + 1);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 4), 0);
    return fd;
}

/* A machine without IPv6 cannot test it: seen as a skip. */
static bool has_ipv6(void)
{
    const struct sockaddr_in6 address = {.sin6_family = AF_INET6,
                                         .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    const int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool has = fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;

    if (fd >= 0) {
        (void)close(fd);
    }
    return has;
}

/* A port that the kernel gives to no other program, neither over IPv4 nor over IPv6. A listener may
 * bind it: both have SO_REUSEADDR, and the holder does not listen. Returns the holder. */
static int hold_port(unsigned *out_port)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6};
    socklen_t bytes = sizeof(address);
    const int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    const int off = 0;

    assert_int_equal(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)), 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, bytes), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &bytes), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), 0);
    *out_port = ntohs(address.sin6_port);
    return fd;
}

/* --- TCP -------------------------------------------------------------------------------------- */

TEST_OF(tcp_over_ipv4, struct server_fixture *fixture, setup, teardown)
{
    const struct config_listener config = tcp("127.0.0.1", 0);

    assert_int_equal(bind_one(fixture, &config), 0);
    assert_false(newest(fixture)->is_unix);
    /* Loopback or not, nobody is the administrator here. */
    serve_one(fixture, loop_connect_tcp("127.0.0.1", port_of(newest(fixture))), false);
}

/* [::] is IPv6 alone, so that 0.0.0.0 with the same port can be named beside it. */
TEST_OF(tcp_over_ipv6, struct server_fixture *fixture, setup, teardown)
{
    unsigned port = 0;

    if (!has_ipv6()) {
        skip();
    }
    const int holder = hold_port(&port);
    const struct config_listener any6 = tcp("::", port);
    assert_int_equal(bind_one(fixture, &any6), 0);
    assert_int_equal(loop_connect_tcp("127.0.0.1", port), -1);
    assert_int_equal(errno, ECONNREFUSED);
    serve_one(fixture, loop_connect_tcp("::1", port), false);
    const struct config_listener any4 = tcp("0.0.0.0", port);
    assert_int_equal(bind_one(fixture, &any4), 0);
    serve_one(fixture, loop_connect_tcp("127.0.0.1", port), false);
    serve_one(fixture, loop_connect_tcp("::1", port), false);
    (void)close(holder);
}

/* A port that is in use is refused with the address and what to do; nothing stays open. */
TEST_OF(port_in_use_is_refused, struct server_fixture *fixture, setup, teardown)
{
    const struct config_listener config = tcp("127.0.0.1", 0);

    assert_int_equal(bind_one(fixture, &config), 0);
    const unsigned port = port_of(newest(fixture));
    const size_t descriptors = loop_descriptor_count();
    const struct config_listener same = tcp("127.0.0.1", port);
    char where[64];

    assert_int_equal(bind_one(fixture, &same), -ERR_SYSTEM);
    (void)snprintf(where, sizeof(where), "cannot listen on 127.0.0.1:%u: ", port);
    expect_reason(fixture, where);
    expect_reason(fixture, "another program has it");
    (void)uv_run(&fixture->server.loop.uv, UV_RUN_NOWAIT); /* the handle's close comes through */
    assert_int_equal(loop_descriptor_count(), descriptors);
    serve_one(fixture, loop_connect_tcp("127.0.0.1", port), false);
}

/* An address that the machine does not have: refused, or left out where it is a default. */
TEST_OF(address_of_another_machine, struct server_fixture *fixture, setup, teardown)
{
    struct config_listener config = tcp("192.0.2.1", 0); /* for documentation: nobody has it */

    assert_int_equal(bind_one(fixture, &config), -ERR_SYSTEM);
    expect_reason(fixture, "192.0.2.1:0");
    expect_reason(fixture, "this machine has no such address");
    config.optional = true;
    assert_int_equal(bind_one(fixture, &config), LISTENER_SKIPPED);
    assert_string_equal(fixture->reason, "");
    config = tcp("2001:db8::1", 0);
    assert_int_equal(bind_one(fixture, &config), -ERR_SYSTEM);
    expect_reason(fixture, "[2001:db8::1]:0");
    config = tcp("no address", 1);
    assert_int_equal(bind_one(fixture, &config), -ERR_SYSTEM);
    expect_reason(fixture, "set `listen` to another");
}

/* A default that is in use is refused all the same: somebody wanted to be served there. */
TEST_OF(optional_is_not_for_ports_in_use, struct server_fixture *fixture, setup, teardown)
{
    struct config_listener config = tcp("127.0.0.1", 0);

    assert_int_equal(bind_one(fixture, &config), 0);
    config.port = (uint16_t)port_of(newest(fixture));
    config.optional = true;
    assert_int_equal(bind_one(fixture, &config), -ERR_SYSTEM);
}

/* --- Unix sockets ----------------------------------------------------------------------------- */

/* Only its owner may connect, whatever the umask is; the file goes with the listener. */
TEST_OF(unix_socket_is_the_owners, struct server_fixture *fixture, setup, teardown)
{
    const struct config_listener config = local(fixture->path);
    struct stat status;
    const mode_t before = umask(0);

    assert_int_equal(bind_one(fixture, &config), 0);
    assert_int_equal(umask(before), 0); /* left as it was */
    assert_int_equal(stat(fixture->path, &status), 0);
    assert_true(S_ISSOCK(status.st_mode));
    assert_int_equal(status.st_mode & 0777, 0600);
    serve_one(fixture, loop_connect_unix(fixture->path), true);
    listener_close(newest(fixture));
    listener_close(newest(fixture)); /* harmless */
    assert_int_equal(stat(fixture->path, &status), -1);
    assert_int_equal(loop_connect_unix(fixture->path), -1);
}

/* What a killed daemon left is replaced. */
TEST_OF(stale_socket_is_replaced, struct server_fixture *fixture, setup, teardown)
{
    const struct config_listener config = local(fixture->path);

    (void)close(listen_on(fixture->path));
    assert_int_equal(access(fixture->path, F_OK), 0);
    assert_int_equal(bind_one(fixture, &config), 0);
    serve_one(fixture, loop_connect_unix(fixture->path), true);
}

/* A socket that somebody listens on is his, and stays. */
TEST_OF(live_socket_is_refused, struct server_fixture *fixture, setup, teardown)
{
    const struct config_listener config = local(fixture->path);
    const int other = listen_on(fixture->path);

    assert_int_equal(bind_one(fixture, &config), -ERR_SYSTEM);
    expect_reason(fixture, fixture->path);
    expect_reason(fixture, "another program has it");
    const int client = loop_connect_unix(fixture->path);
    assert_true(client >= 0);
    (void)close(client);
    (void)close(other);
}

/* Nor is a socket of another kind stale only because it cannot be connected to. */
TEST_OF(socket_of_another_kind_is_refused, struct server_fixture *fixture, setup, teardown)
{
    const struct config_listener config = local(fixture->path);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int other = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    memcpy(address.sun_path, fixture->path, strlen(fixture->path) + 1);
    assert_int_equal(bind(other, (const struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(bind_one(fixture, &config), -ERR_SYSTEM);
    assert_int_equal(access(fixture->path, F_OK), 0);
    (void)close(other);
}

/* A file that is no socket is not removed, nor what a link leads to. */
TEST_OF(other_files_are_refused, struct server_fixture *fixture, setup, teardown)
{
    const struct config_listener config = local(fixture->path);
    char target[LOOP_PATH_BYTES + 16];
    struct stat status;

    (void)snprintf(target, sizeof(target), "%s/target", fixture->directory);
    (void)close(open(fixture->path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    assert_int_equal(bind_one(fixture, &config), -ERR_SYSTEM);
    expect_reason(fixture, fixture->path);
    expect_reason(fixture, "what is there is no socket");
    assert_int_equal(stat(fixture->path, &status), 0);
    assert_true(S_ISREG(status.st_mode));

    assert_int_equal(unlink(fixture->path), 0);
    (void)close(listen_on(target));
    assert_int_equal(symlink(target, fixture->path), 0);
    assert_int_equal(bind_one(fixture, &config), -ERR_SYSTEM);
    assert_int_equal(lstat(fixture->path, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(access(target, F_OK), 0);
}

TEST_OF(missing_directory_is_named, struct server_fixture *fixture, setup, teardown)
{
    struct config_listener config = local("/nonexistent/hearsay/socket");

    assert_int_equal(bind_one(fixture, &config), -ERR_SYSTEM);
    expect_reason(fixture, "/nonexistent/hearsay/socket");
    expect_reason(fixture, "make the directory first");
    config = local("/proc/socket"); /* not even root makes files there */
    assert_int_equal(bind_one(fixture, &config), -ERR_SYSTEM);
    expect_reason(fixture, "/proc/socket");
}

/* --- inherited -------------------------------------------------------------------------------- */

/* Sockets of the service manager are served; a Unix one's file is the manager's and stays. */
TEST_OF(inherited_sockets_are_served, struct server_fixture *fixture, setup, teardown)
{
    struct server *server = &fixture->server;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct inherited_socket inherited = {.descriptor = listen_on(fixture->path), .is_unix = true};

    assert_int_equal(listener_inherit(&server->listeners[0], &server->home, &server->config,
                                      &inherited, fixture->reason),
                     0);
    server->listener_count = 1;
    serve_one(fixture, loop_connect_unix(fixture->path), true);

    inherited.descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    inherited.is_unix = false;
    assert_int_equal(bind(inherited.descriptor, (const struct sockaddr *)&address, sizeof(address)),
                     0);
    assert_int_equal(listen(inherited.descriptor, 4), 0);
    assert_int_equal(listener_inherit(&server->listeners[1], &server->home, &server->config,
                                      &inherited, fixture->reason),
                     0);
    server->listener_count = 2;
    serve_one(fixture, loop_connect_tcp("127.0.0.1", port_of(newest(fixture))), false);

    listener_close(&server->listeners[0]);
    assert_int_equal(access(fixture->path, F_OK), 0);
}

TEST_OF(inherited_rubbish_is_refused, struct server_fixture *fixture, setup, teardown)
{
    const struct inherited_socket inherited = {.descriptor = -1, .is_unix = false};

    assert_int_equal(listener_inherit(&fixture->server.listeners[0], &fixture->server.home,
                                      &fixture->server.config, &inherited, fixture->reason),
                     -ERR_SYSTEM);
    expect_reason(fixture, "the inherited socket");
}

/* --- out of something ------------------------------------------------------------------------- */

/*
 * Without descriptors a connection is turned away, those who are here go on, and with descriptors
 * again there is room for the next. The lower limit holds for this process alone, and for the time
 * of the test.
 */
TEST_OF(out_of_descriptors, struct server_fixture *fixture, setup, teardown)
{
    const struct config_listener config = local(fixture->path);
    struct rlimit before;
    struct peer here;
    struct peer late;
    struct hearsay_response response;

    assert_int_equal(bind_one(fixture, &config), 0);
    peer_init(&here, loop_connect_unix(fixture->path));
    expect_service(fixture, &here);
    peer_init(&late, loop_connect_unix(fixture->path)); /* waits in the backlog */

    const int lowest_free = dup(here.fd);
    (void)close(lowest_free);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit none = {.rlim_cur = (rlim_t)lowest_free, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    peer_await_end(&late, &fixture->server.loop.uv);
    assert_int_equal(fixture->server.sessions.count, 1);
    peer_put_ping(&here, 3);
    peer_send(&here, &fixture->server.loop.uv);
    assert_true(peer_await(&here, &fixture->server.loop.uv, &response));
    assert_int_equal(response.kind, HEARSAY_RESPONSE_PONG);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);

    peer_deinit(&late);
    peer_init(&late, loop_connect_unix(fixture->path));
    expect_service(fixture, &late);
    peer_deinit(&late);
    peer_deinit(&here);
    server_fixture_await_sessions(fixture, 0);
}

/* Without memory a connection waits, and those behind it; with memory again all come in. */
TEST_OF(out_of_memory, struct server_fixture *fixture, setup, teardown)
{
    const struct config_listener config = local(fixture->path);
    struct peer peers[3];

    assert_int_equal(bind_one(fixture, &config), 0);
    struct listener *listener = newest(fixture);
    listener_retry(listener); /* nothing is held: nothing happens */
    fail_alloc_arm(&fixture->alloc, 1);
    fixture->alloc.fail_from_then = true;
    for (unsigned i = 0; i < 3; i++) {
        peer_init(&peers[i], loop_connect_unix(fixture->path));
    }
    while (!listener->is_held) {
        server_fixture_turn(fixture, NULL);
    }
    listener_retry(listener); /* still none */
    assert_true(listener->is_held);
    assert_int_equal(fixture->server.sessions.count, 0);
    fail_alloc_arm(&fixture->alloc, 0);
    listener_retry(listener);
    assert_false(listener->is_held);
    for (unsigned i = 0; i < 3; i++) {
        expect_service(fixture, &peers[i]);
    }
    for (unsigned i = 0; i < 3; i++) {
        peer_deinit(&peers[i]);
    }
    server_fixture_await_sessions(fixture, 0);
}

/* A listener that is closed while it holds a connection lets go of it. */
TEST_OF(closed_while_it_holds_one, struct server_fixture *fixture, setup, teardown)
{
    const struct config_listener config = local(fixture->path);
    struct peer peer;

    assert_int_equal(bind_one(fixture, &config), 0);
    struct listener *listener = newest(fixture);
    fail_alloc_arm(&fixture->alloc, 1);
    peer_init(&peer, loop_connect_unix(fixture->path));
    while (!listener->is_held) {
        server_fixture_turn(fixture, NULL);
    }
    listener_close(listener);
    listener_retry(listener);
    peer_await_end(&peer, &fixture->server.loop.uv);
    assert_int_equal(fixture->server.sessions.count, 0);
    peer_deinit(&peer);
}

int main(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    return check_run(NULL, NULL);
}
