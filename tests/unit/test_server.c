/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole server in this process, over its own store in a directory of its own: how it starts and
 * stops, with what left behind, and how it is reloaded. Signals are raised, not simulated.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <sodium.h>

#include "core/base/err.h"
#include "tests/lib/server_fixture.h"
#include "tests/unit/notices.h"

struct fixture {
    struct server server;
    struct options options;
    struct config config;
    char directory[LOOP_PATH_BYTES];
    char file[LOOP_PATH_BYTES + 16];   /* the configuration */
    char socket[LOOP_PATH_BYTES + 16]; /* the listener */
    char reason[CONFIG_REASON_BYTES];
    size_t descriptors; /* open before it started */
};

/* --- fixture ---------------------------------------------------------------------------------- */

/* The configuration file: the usual lines, and `more`. */
static void write_file(const struct fixture *fixture, const char *more)
{
    FILE *file = fopen(fixture->file, "w");

    assert_non_null(file);
    assert_true(fprintf(file,
                        "[daemon]\ndata = %s\nlisten = %s\nlisten = 127.0.0.1:0\n"
                        "durability = relaxed\nlog_level = error\n%s",
                        fixture->directory, fixture->socket, more) > 0);
    assert_int_equal(fclose(file), 0);
}

static void load(struct fixture *fixture, const char *more)
{
    write_file(fixture, more);
    assert_int_equal(settings_config_load(&options_program, &fixture->options, &fixture->config,
                                          fixture->reason),
                     0);
}

static int start(struct fixture *fixture)
{
    return server_start(&fixture->server, &fixture->options, &fixture->config, fixture->reason);
}

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    assert_non_null(fixture);
    loop_directory_make(fixture->directory);
    (void)snprintf(fixture->file, sizeof(fixture->file), "%s/conf", fixture->directory);
    (void)snprintf(fixture->socket, sizeof(fixture->socket), "%s/socket", fixture->directory);
    fixture->options.common.config = fixture->file;
    load(fixture, "");
    fixture->descriptors = loop_descriptor_count();
    *state = fixture;
    return 0;
}

static int setup_started(void **state)
{
    (void)setup(state);
    assert_int_equal(start(*state), 0);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    loop_directory_remove(fixture->directory);
    free(fixture);
    return 0;
}

static size_t thread_count(void)
{
    DIR *entries = opendir("/proc/self/task");
    size_t count = 0;

    while (readdir(entries) != NULL) {
        count++;
    }
    (void)closedir(entries);
    return count - 2;
}

/* Nothing of it is left: no descriptor, socket file, or lock. */
static void expect_nothing_left(struct fixture *fixture)
{
    assert_int_equal(loop_descriptor_count(), fixture->descriptors);
    assert_int_equal(access(fixture->socket, F_OK), -1);
}

/* It is told to stop, and runs until it has. */
static void stop(struct fixture *fixture)
{
    assert_int_equal(raise(SIGTERM), 0);
    server_run(&fixture->server);
    expect_nothing_left(fixture);
}

static void connect_to(struct fixture *fixture, struct peer *peer)
{
    peer_init(peer, loop_connect_unix(fixture->socket));
    assert_true(peer->fd >= 0);
}

static void expect(struct fixture *fixture, struct peer *peer, uint64_t id,
                   enum hearsay_response_kind kind)
{
    struct hearsay_response response;

    assert_true(peer_await(peer, &fixture->server.loop.uv, &response));
    assert_int_equal(response.id, id);
    assert_int_equal(response.kind, kind);
}

static void greet(struct fixture *fixture, struct peer *peer)
{
    connect_to(fixture, peer);
    peer_put_hello(peer);
    peer_send(peer, &fixture->server.loop.uv);
    expect(fixture, peer, 1, HEARSAY_RESPONSE_WELCOME);
}

/* Turns until so many sessions are left. */
static void await_sessions(struct fixture *fixture, size_t count)
{
    while (fixture->server.sessions.count > count) {
        loop_turn(&fixture->server.loop.uv, -1, 0);
    }
}

/* Turns until the server has read all that the peer sent: a slow machine takes it in parts. */
static void await_received(struct fixture *fixture, const struct peer *peer)
{
    int unread = 0;

    assert_int_equal(ioctl(peer->fd, SIOCOUTQ, &unread), 0);
    while (unread > 0) {
        loop_turn(&fixture->server.loop.uv, -1, 0);
        assert_int_equal(ioctl(peer->fd, SIOCOUTQ, &unread), 0);
    }
}

/* Ticks come at once from now on, not every second. */
static void hurry_ticks(struct fixture *fixture)
{
    uv_timer_set_repeat(&fixture->server.tick, 1);
    assert_int_equal(uv_timer_again(&fixture->server.tick), 0);
}

/* --- start and stop --------------------------------------------------------------------------- */

/* It serves, keeps what it acknowledged over a restart, and leaves nothing open. */
TEST_OF(messages_outlive_a_restart, struct fixture *fixture, setup_started, teardown)
{
    struct hearsay_response response;
    struct peer peer;
    uint8_t store_id[PERSIST_STORE_ID_BYTES];

    greet(fixture, &peer);
    memcpy(store_id, fixture->server.service->store.store_id, sizeof(store_id));
    peer_put(&peer, server_fixture_deposit(2, 1));
    peer_send(&peer, &fixture->server.loop.uv);
    expect(fixture, &peer, 2, HEARSAY_RESPONSE_DEPOSITED);
    peer_deinit(&peer);
    await_sessions(fixture, 0);
    stop(fixture);

    assert_int_equal(start(fixture), 0);
    assert_memory_equal(fixture->server.service->store.store_id, store_id, sizeof(store_id));
    greet(fixture, &peer);
    peer_put(&peer, server_fixture_query(3, 1));
    peer_send(&peer, &fixture->server.loop.uv);
    assert_true(peer_await(&peer, &fixture->server.loop.uv, &response));
    assert_int_equal(response.kind, HEARSAY_RESPONSE_RESULTS);
    assert_int_equal(response.results.result_count, 1);
    peer_deinit(&peer);
    stop(fixture);
}

/* SIGTERM: what was received is answered and committed, then the streams end, and it is over. */
TEST_OF(stop_answers_what_is_under_way, struct fixture *fixture, setup_started, teardown)
{
    struct peer busy;
    struct peer idle;

    greet(fixture, &idle);
    greet(fixture, &busy);
    for (unsigned i = 0; i < 100; i++) {
        peer_put(&busy, server_fixture_deposit(100 + i, (uint8_t)(i + 1)));
    }
    peer_send(&busy, &fixture->server.loop.uv);
    await_received(fixture, &busy);
    assert_int_equal(raise(SIGTERM), 0);
    for (unsigned i = 0; i < 100; i++) {
        expect(fixture, &busy, 100 + i, HEARSAY_RESPONSE_DEPOSITED);
    }
    peer_await_end(&busy, &fixture->server.loop.uv);
    peer_await_end(&idle, &fixture->server.loop.uv);
    assert_true(fixture->server.stopping);
    assert_int_equal(loop_connect_unix(fixture->socket), -1);         /* nobody new */
    assert_int_equal(raise(SIGHUP), 0);                               /* no reload any more, */
    const struct service_control *control = &fixture->server.control; /* nor by request */
    assert_int_equal(control->reload(control->context, fixture->reason), CONFIG_REFUSED);
    assert_string_equal(fixture->reason, "the server is stopping");
    peer_deinit(&busy);
    peer_deinit(&idle);
    server_run(&fixture->server);
    expect_nothing_left(fixture);

    assert_int_equal(start(fixture), 0);
    assert_int_equal(fixture->server.service->usage.messages, 100);
    stop(fixture);
}

/* Clients that hold on do not hold it up: asked twice, it drops them. */
TEST_OF(second_signal_drops_everybody, struct fixture *fixture, setup_started, teardown)
{
    struct peer peer;

    greet(fixture, &peer);
    assert_int_equal(raise(SIGTERM), 0);
    peer_await_end(&peer, &fixture->server.loop.uv); /* and the client does not end */
    assert_int_equal(fixture->server.sessions.count, 1);
    assert_int_equal(raise(SIGINT), 0);
    server_run(&fixture->server);
    peer_deinit(&peer);
    expect_nothing_left(fixture);
}

/* Asked once, it drops them when its patience is over. */
TEST_OF(patience_with_clients_is_bounded, struct fixture *fixture, setup_started, teardown)
{
    struct peer peer;

    greet(fixture, &peer);
    assert_int_equal(raise(SIGINT), 0);
    peer_await_end(&peer, &fixture->server.loop.uv);
    fixture->server.stop_since_ms -= 3500; /* as if it were so long ago */
    server_run(&fixture->server);
    peer_deinit(&peer);
    expect_nothing_left(fixture);
}

/* --- starts that fail ------------------------------------------------------------------------- */

/* A failing start says why, and leaves no thread, descriptor, file or lock behind. */
static void expect_failure(struct fixture *fixture, int rc, const char *sentence)
{
    const size_t threads = thread_count();

    assert_int_equal(start(fixture), rc);
    if (strstr(fixture->reason, sentence) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", fixture->reason, sentence);
    }
    while (thread_count() > threads) {
        (void)sched_yield(); /* one that has ended may be seen for a moment */
    }
    expect_nothing_left(fixture);
}

TEST_OF(failing_starts_leave_nothing, struct fixture *fixture, setup, teardown)
{
    int ends[2];
    struct sockaddr_in address;
    socklen_t bytes = sizeof(address);

    loop_socket_pair(true, ends); /* the port of one end is in use */
    fixture->descriptors = loop_descriptor_count();
    assert_int_equal(getsockname(ends[0], (struct sockaddr *)&address, &bytes), 0);
    struct config_listener *listener = &fixture->config.listeners[1];
    listener->port = ntohs(address.sin_port);
    expect_failure(fixture, -ERR_SYSTEM, "cannot listen on 127.0.0.1:");
    (void)close(ends[0]);
    (void)close(ends[1]);
    fixture->descriptors -= 2;

    load(fixture, "");
    (void)snprintf(fixture->config.data, sizeof(fixture->config.data), "/dev/null/data");
    expect_failure(fixture, -ERR_SYSTEM, "/dev/null/data");

    load(fixture, "");
    fixture->config.listener_count = 0;
    expect_failure(fixture, -ERR_SYSTEM, "there is nothing to listen on");
    assert_int_equal(start(fixture), -ERR_SYSTEM); /* the lock was given back: the same again */

    load(fixture, "");
    assert_int_equal(start(fixture), 0);
    stop(fixture);
}

/* Two servers do not share a directory, and the first goes on. */
TEST_OF(one_server_to_a_directory, struct fixture *fixture, setup_started, teardown)
{
    struct server *second = calloc(1, sizeof(*second));
    struct peer peer;

    assert_non_null(second);
    assert_int_equal(server_start(second, &fixture->options, &fixture->config, fixture->reason),
                     -ERR_SYSTEM);
    assert_non_null(strstr(fixture->reason, "another process uses the directory"));
    free(second);
    greet(fixture, &peer);
    peer_deinit(&peer);
    stop(fixture);
}

/* A store that is no database is refused and left as it is. */
TEST_OF(damaged_store_is_refused, struct fixture *fixture, setup, teardown)
{
    char path[LOOP_PATH_BYTES + 16];
    struct stat status;

    (void)snprintf(path, sizeof(path), "%s/messages.db", fixture->directory);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (unsigned i = 0; i < 1000; i++) {
        assert_true(fputs("this is no database\n", file) >= 0);
    }
    assert_int_equal(fclose(file), 0);
    expect_failure(fixture, -ERR_SYSTEM, "messages.db");
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, 20000);
}

/* A host whose stored messages have another profile is the configuration's fault: exit code 2. */
TEST_OF(changed_profile_is_the_configurations_fault, struct fixture *fixture, setup, teardown)
{
    struct peer peer;

    assert_int_equal(start(fixture), 0);
    greet(fixture, &peer);
    peer_put(&peer, server_fixture_deposit(2, 1));
    peer_send(&peer, &fixture->server.loop.uv);
    expect(fixture, &peer, 2, HEARSAY_RESPONSE_DEPOSITED);
    peer_deinit(&peer);
    stop(fixture);
    load(fixture, "[host default]\nprofile = v2:256/2\n");
    expect_failure(fixture, SERVER_REFUSED, "the profile is v2:256/2 here");
}

/* An address that this machine lacks and that is a default is left out; the others are served. */
TEST_OF(default_that_is_not_there_is_left_out, struct fixture *fixture, setup, teardown)
{
    struct peer peer;

    fixture->config.listeners[2] = fixture->config.listeners[0]; /* the Unix socket comes last */
    fixture->config.listeners[0] = fixture->config.listeners[1];
    fixture->config.listener_count = 3;
    struct config_listener *missing = &fixture->config.listeners[1];
    *missing = (struct config_listener){
        .kind = CONFIG_LISTENER_TCP, .address = "192.0.2.1", .optional = true};
    assert_int_equal(start(fixture), 0);
    greet(fixture, &peer);
    peer_deinit(&peer);
    stop(fixture);

    fixture->config.listeners[0] = *missing; /* but one at least there must be */
    fixture->config.listener_count = 1;
    expect_failure(fixture, -ERR_SYSTEM, "there is nothing to listen on");
}

/* --- reload ----------------------------------------------------------------------------------- */

/* Turns until the reload was answered: the pipe of signals is read in order. */
static void reload(struct fixture *fixture)
{
    struct peer peer;

    assert_int_equal(raise(SIGHUP), 0);
    greet(fixture, &peer); /* takes more than one turn: the signal was seen */
    peer_deinit(&peer);
}

/* A reload takes all of a right file and nothing of a wrong one. */
TEST_OF(reload_is_all_or_nothing, struct fixture *fixture, setup_started, teardown)
{
    struct service *service = fixture->server.service;
    const uint32_t k_before = service->config.limits.k_max;

    write_file(fixture, "[limits]\nk = 7\nttl_max = 30h\n");
    reload(fixture);
    assert_int_equal(service->config.limits.k_max, 7);
    assert_int_equal(fixture->server.config.limits.ttl_max_s, 30 * 3600);
    assert_int_not_equal(k_before, 7);

    static const char *const wrong[] = {
        "[limits]\nk = 9\nttl_max = never\n",                    /* not a value */
        "[limits]\nk = 9\ncolour = red\n",                       /* not a key */
        "[limits]\nk = 9\n[host default]\nprofile = v2:256/2\n", /* right, but not while it runs */
        "[limits]\nk = 9\n[host one]\n[host two]\n",
    };
    log_set_level(LOG_LEVEL_ERROR);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        write_file(fixture, wrong[i]);
        reload(fixture);
        assert_int_equal(service->config.limits.k_max, 7);
        assert_int_equal(fixture->server.config.limits.k_max, 7);
        assert_int_equal(service->host_count, 1);
    }
    assert_int_equal(unlink(fixture->file), 0);
    reload(fixture);
    assert_int_equal(service->config.limits.k_max, 7);
    write_file(fixture, "[limits]\nk = 8\n");
    reload(fixture);
    assert_int_equal(service->config.limits.k_max, 8);
    assert_int_equal(service->config.limits.ttl_max_s, 7 * 24 * 3600); /* the default again */
    stop(fixture);
}

/* --- ticks ------------------------------------------------------------------------------------ */

/* Deadlines of sessions and expiry come by themselves. */
TEST_OF(ticks_do_what_is_due, struct fixture *fixture, setup_started, teardown)
{
    struct hearsay_request request = *server_fixture_deposit(2, 1);
    struct hearsay_response response;
    struct peer peer;
    struct peer silent;

    greet(fixture, &peer);
    request.deposit.has_ttl_s = true;
    request.deposit.ttl_s = 1;
    peer_put(&peer, &request);
    peer_send(&peer, &fixture->server.loop.uv);
    expect(fixture, &peer, 2, HEARSAY_RESPONSE_DEPOSITED);
    assert_int_equal(fixture->server.service->usage.messages, 1);
    connect_to(fixture, &silent);
    while (fixture->server.sessions.count < 2) {
        loop_turn(&fixture->server.loop.uv, -1, 0);
    }
    fixture->server.sessions.first->prev->since_ms -= 10 * 1000; /* as if it were so long ago */
    hurry_ticks(fixture);
    assert_true(peer_await(&silent, &fixture->server.loop.uv, &response));
    assert_non_null(strstr(response.error.message, "no Hello came within 10s"));
    while (fixture->server.service->usage.messages > 0) { /* for the second that it was to live */
        loop_turn(&fixture->server.loop.uv, -1, 0);
    }
    peer_deinit(&silent);
    peer_deinit(&peer);
    stop(fixture);
}

/* --- the service manager ---------------------------------------------------------------------- */

#if HEARSAY_SYSTEMD
/* The first notice that waits and is no sign of life, or "". */
static const char *take_notice(int descriptor)
{
    const char *text = notices_take(descriptor);

    while (strcmp(text, "WATCHDOG=1") == 0) {
        text = notices_take(descriptor);
    }
    return text;
}

/* The service manager hears of reloads, refusals, the stop, and signs of life between. */
TEST_OF(notices_in_order, struct fixture *fixture, setup, teardown)
{
    const int notices = notices_listen();
    char text[512] = "";

    fixture->descriptors = loop_descriptor_count();
    setenv("WATCHDOG_USEC", "20000000", 1); /* the first comes at once */
    assert_int_equal(start(fixture), 0);
    while (recv(notices, text, sizeof(text) - 1, 0) <= 0) {
        loop_turn(&fixture->server.loop.uv, -1, 0);
    }
    assert_string_equal(text, "WATCHDOG=1");
    write_file(fixture, "[limits]\nk = 7\n");
    reload(fixture);
    assert_non_null(strstr(take_notice(notices), "RELOADING=1"));
    assert_string_equal(take_notice(notices), "READY=1\nSTATUS=serving");
    write_file(fixture, "[limits]\nk = seven\n");
    reload(fixture);
    assert_non_null(strstr(take_notice(notices), "RELOADING=1"));
    assert_string_equal(take_notice(notices),
                        "READY=1\nSTATUS=serving; the last reload was refused");
    stop(fixture);
    assert_string_equal(take_notice(notices), "READY=1\nSTATUS=serving"); /* server_run's */
    assert_non_null(strstr(take_notice(notices), "STOPPING=1"));
    (void)close(notices);
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
}
#endif

int main(void)
{
    /* libuv keeps a pipe for signals from the first loop on: it is there before we count. */
    uv_loop_t loop;
    if (sodium_init() < 0 || uv_loop_init(&loop) != 0 || uv_loop_close(&loop) != 0) {
        return EXIT_FAILURE;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    (void)umask(0077);
    log_set_level(LOG_LEVEL_ERROR);
    return check_run(NULL, NULL);
}
