/* SPDX-License-Identifier: Apache-2.0 */
/* Service notices, read from a socket in place of the service manager's; inherited sockets. */

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/wait.h>

#include "core/base/err.h"
#include "daemon/system/notify.h"
#include "daemon/system/reason.h"
#include "tests/unit/notices.h"

enum { FIRST_INHERITED = 3 };

/* --- notices ---------------------------------------------------------------------------------- */

TEST(test_notices)
{
    int descriptor = notices_listen();
    unsigned long long microseconds = 0;
    char rest[64] = "";
    char long_name[200] = "";

    notify_ready("serving 2 hosts");
#if HEARSAY_SYSTEMD
    assert_string_equal(notices_take(descriptor), "READY=1\nSTATUS=serving 2 hosts");
    notify_reloading();
    assert_int_equal(sscanf(notices_take(descriptor), "RELOADING=1\nMONOTONIC_USEC=%llu\n%63s",
                            &microseconds, rest),
                     2);
    assert_true(microseconds > 0);
    assert_string_equal(rest, "STATUS=Reloading");
    notify_watchdog();
    assert_string_equal(notices_take(descriptor), "WATCHDOG=1");
    notify_stopping("committing");
    assert_string_equal(notices_take(descriptor), "STOPPING=1\nSTATUS=committing");
    assert_non_null(getenv("NOTIFY_SOCKET"));
#else
    assert_string_equal(notices_take(descriptor), "");
    notify_reloading();
    notify_watchdog();
    notify_stopping("committing");
    assert_string_equal(notices_take(descriptor), "");
    (void)microseconds;
    (void)rest;
#endif
    (void)close(descriptor);
    unsetenv("NOTIFY_SOCKET");
    notify_ready("nobody listens"); /* must simply return */
    setenv("NOTIFY_SOCKET", "/nonexistent/socket", 1);
    notify_ready("nobody listens");
    setenv("NOTIFY_SOCKET", "relative", 1);
    notify_ready("nobody listens");
    memset(long_name, 'x', sizeof(long_name) - 1);
    long_name[0] = '@';
    setenv("NOTIFY_SOCKET", long_name, 1);
    notify_ready("nobody listens");
    unsetenv("NOTIFY_SOCKET");
}

TEST(test_watchdog_interval)
{
    char pid[32];

    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    assert_int_equal(notify_watchdog_interval_ms(), 0);
    setenv("WATCHDOG_USEC", "30000000", 1);
    (void)snprintf(pid, sizeof(pid), "%ld", (long)getpid());
    setenv("WATCHDOG_PID", pid, 1);
    assert_int_equal(notify_watchdog_interval_ms(), HEARSAY_SYSTEMD ? 15000 : 0);
    setenv("WATCHDOG_USEC", "30s", 1);
    assert_int_equal(notify_watchdog_interval_ms(), 0);
    setenv("WATCHDOG_USEC", "100", 1);
    assert_int_equal(notify_watchdog_interval_ms(), HEARSAY_SYSTEMD ? 1 : 0);
    setenv("WATCHDOG_PID", "1", 1); /* another process is watched */
    assert_int_equal(notify_watchdog_interval_ms(), 0);
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}

/* --- inherited sockets ------------------------------------------------------------------------ */

static int open_tcp(bool listening)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    int descriptor = socket(AF_INET, SOCK_STREAM, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(descriptor >= 0);
    if (listening) {
        assert_int_equal(bind(descriptor, (struct sockaddr *)&address, sizeof(address)), 0);
        assert_int_equal(listen(descriptor, 1), 0);
    }
    return descriptor;
}

static int open_unix(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);

    assert_true(descriptor >= 0);
    /* Without a path the system gives it an abstract address. */
    assert_int_equal(bind(descriptor, (struct sockaddr *)&address, sizeof(sa_family_t)), 0);
    assert_int_equal(listen(descriptor, 1), 0);
    return descriptor;
}

/* What a daemon that inherits `sockets` from descriptor 3 on would answer. */
struct answer {
    int result;
    size_t count;
    struct inherited_socket sockets[4];
    char reason[256];
    bool forgotten;     /* by the environment */
    bool close_on_exec; /* the first */
};

/* In a process of its own, whose low descriptors may be overwritten. */
static void inherit(const int *sockets, size_t count, size_t room, struct answer *out_answer)
{
    int ends[2];
    int status;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct answer answer = {.result = -1};
        char number[32];
        int out = fcntl(ends[1], F_DUPFD, 50);
        int high[4];
        char reason[REASON_BYTES] = "";

        for (size_t i = 0; i < count; i++) {
            high[i] = fcntl(sockets[i], F_DUPFD, 60);
        }
        for (size_t i = 0; i < count; i++) {
            (void)dup2(high[i], FIRST_INHERITED + (int)i);
        }
        (void)snprintf(number, sizeof(number), "%ld", (long)getpid());
        setenv("LISTEN_PID", number, 1);
        (void)snprintf(number, sizeof(number), "%zu", count);
        setenv("LISTEN_FDS", number, 1);
        answer.result = inherited_take_sockets(answer.sockets, room, &answer.count, reason);
        (void)snprintf(answer.reason, sizeof(answer.reason), "%.255s", reason);
        answer.forgotten = getenv("LISTEN_FDS") == NULL && getenv("LISTEN_PID") == NULL;
        answer.close_on_exec = (fcntl(FIRST_INHERITED, F_GETFD) & FD_CLOEXEC) != 0;
        _exit(write(out, &answer, sizeof(answer)) == (ssize_t)sizeof(answer) ? 0 : 1);
    }
    assert_int_equal(read(ends[0], out_answer, sizeof(*out_answer)), sizeof(*out_answer));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    for (size_t i = 0; i < count; i++) {
        (void)close(sockets[i]);
    }
    (void)close(ends[0]);
    (void)close(ends[1]);
}

TEST(test_none_inherited)
{
    struct inherited_socket sockets[4];
    char reason[REASON_BYTES];
    size_t count = 7;

    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_PID");
    assert_int_equal(inherited_take_sockets(sockets, 4, &count, reason), 0);
    assert_int_equal(count, 0);
    setenv("LISTEN_FDS", "2", 1);
    setenv("LISTEN_PID", "1", 1); /* meant for another process */
    count = 7;
    assert_int_equal(inherited_take_sockets(sockets, 4, &count, reason), 0);
    assert_int_equal(count, 0);
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_PID");
}

TEST(test_inherited)
{
    struct answer answer;
    const int sockets[] = {open_tcp(true), open_unix()};

    inherit(sockets, 2, 4, &answer);
    assert_int_equal(answer.result, 0);
#if HEARSAY_SYSTEMD
    assert_int_equal(answer.count, 2);
    assert_int_equal(answer.sockets[0].descriptor, 3);
    assert_false(answer.sockets[0].is_unix);
    assert_int_equal(answer.sockets[1].descriptor, 4);
    assert_true(answer.sockets[1].is_unix);
    assert_true(answer.forgotten);
    assert_true(answer.close_on_exec);
#else
    assert_int_equal(answer.count, 0);
#endif
}

#if HEARSAY_SYSTEMD
static void check_refused(int first, int second, size_t room, const char *reason)
{
    struct answer answer;
    const int sockets[] = {first, second};

    inherit(sockets, 2, room, &answer);
    assert_int_equal(answer.result, -ERR_SYSTEM);
    assert_string_equal(answer.reason, reason);
}

TEST(test_inherited_refused)
{
    int datagram = socket(AF_UNIX, SOCK_DGRAM, 0);

    check_refused(open_tcp(true), open_tcp(true), 1,
                  "2 sockets were inherited; at most 1 are served");
    check_refused(open_tcp(true), open_tcp(false), 4,
                  "inherited descriptor 4 does not listen; use Accept=no in the socket unit");
    check_refused(datagram, open_tcp(true), 4,
                  "inherited descriptor 3 is not a stream socket; use ListenStream= in the socket "
                  "unit");
    check_refused(open("/dev/null", O_RDONLY), open_tcp(true), 4,
                  "inherited descriptor 3 is not a socket");
}
#endif
