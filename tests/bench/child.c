/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/child.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/stats.h"

enum {
    START_PATIENCE_MS = 60 * 1000,
    STOP_PATIENCE_MS = 10 * 1000,
    STOP_LOOK_MS = 5,
    FTW_DESCRIPTORS = 16,
    BACKLOG = 128,
    EXIT_EXEC = 127
};

/* --- directories ------------------------------------------------------------------------------ */

int child_directory_make(struct child_directory *directory, const char *parent)
{
    /* Absolute, as the paths of sockets in a configuration must be. */
    char *absolute = realpath(parent, NULL);
    const int length = snprintf(directory->path, sizeof(directory->path), "%s/hearsay-bench-XXXXXX",
                                absolute != NULL ? absolute : parent);

    free(absolute);
    if (length > 0 && (size_t)length < sizeof(directory->path) &&
        mkdtemp(directory->path) != NULL) {
        return 0;
    }
    directory->path[0] = '\0';
    return bench_fail("no directory can be made in %s: %s", parent, strerror(errno));
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

void child_directory_remove(struct child_directory *directory)
{
    if (directory->path[0] != '\0' &&
        nftw(directory->path, remove_one, FTW_DESCRIPTORS, FTW_DEPTH | FTW_PHYS) != 0) {
        (void)bench_fail("%s could not be removed", directory->path);
    }
    directory->path[0] = '\0';
}

/* --- processes -------------------------------------------------------------------------------- */

/* In the new process: it must not outlive us, however we end. */
static void end_with(pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(EXIT_EXEC);
    }
}

static int write_config(const char *directory, const struct child_config *config, char *out_path)
{
    const int length = snprintf(out_path, CHILD_PATH_BYTES, "%s/hearsayd.conf", directory);
    FILE *file = length < CHILD_PATH_BYTES ? fopen(out_path, "w") : NULL;

    if (file == NULL) {
        return bench_fail("%s/hearsayd.conf: %s", directory, strerror(errno));
    }
    fprintf(file, "[daemon]\nlisten = 127.0.0.1:0\n%s%s",
            config->has_limited ? "listen = 127.0.0.1:0 limited\n" : "",
            config->daemon != NULL ? config->daemon : "");
    fprintf(file, "[limits]\nmessages = %d\nbytes = 1G\n%s", BENCH_COUNT_MAX,
            config->limits != NULL ? config->limits : "");
    return fclose(file) == 0 ? 0 : bench_fail("%s: %s", out_path, strerror(errno));
}

static void run_program(const char *const *arguments, int log)
{
    if (dup2(log, STDERR_FILENO) >= 0) {
        execvp(arguments[0], (char *const *)arguments);
    }
    _exit(EXIT_EXEC);
}

/* Notes what the lines tell that have come so far. */
static void read_lines(struct child *child)
{
    static const char listening[] = "listening on 127.0.0.1:";
    const double now_ms = (double)(stats_now_ns() - child->start_ns) / 1e6;
    const char *at = strstr(child->lines, listening);
    struct child_times *times = &child->times;

    if (at != NULL) {
        child->port = (uint16_t)strtoul(at + strlen(listening), NULL, 10);
        at = strstr(at + 1, listening);
        child->limited_port = at != NULL ? (uint16_t)strtoul(at + strlen(listening), NULL, 10) : 0;
    }
    if (times->loaded_ms <= 0 && strstr(child->lines, "loaded ") != NULL) {
        times->loaded_ms = now_ms;
    }
    if (times->ready_ms <= 0 && strstr(child->lines, "ready: ") != NULL) {
        times->ready_ms = now_ms;
    }
    if (times->arranged_ms <= 0 && strstr(child->lines, "all loaded messages are arranged")) {
        times->arranged_ms = now_ms;
    }
}

/*
 * Reads the daemon's output until it has reported the time. Shows the output if the time does not
 * come.
 */
static int wait_until(struct child *child, const double *time_ms)
{
    struct pollfd polled = {.fd = child->log, .events = POLLIN};
    char *lines = child->lines;

    while (*time_ms <= 0 &&
           stats_now_ns() - child->start_ns < (int64_t)START_PATIENCE_MS * 1000000) {
        if (poll(&polled, 1, STOP_LOOK_MS) <= 0) {
            continue;
        }
        const ssize_t count =
            read(child->log, lines + child->lines_used, CHILD_LINES_BYTES - 1 - child->lines_used);
        if (count <= 0) {
            break;
        }
        child->lines_used += (size_t)count;
        lines[child->lines_used] = '\0';
        read_lines(child);
    }
    return *time_ms > 0 ? 0 : bench_fail("the daemon did not start:\n%s", lines);
}

static int wait_until_ready(struct child *child)
{
    if (wait_until(child, &child->times.ready_ms) != 0) {
        return -1;
    }
    return child->port != 0 ? 0 : bench_fail("the daemon did not say where it listens");
}

int child_wait_until_arranged(struct child *child)
{
    return wait_until(child, &child->times.arranged_ms);
}

int child_start(struct child *child, const char *const *arguments)
{
    int log[2];
    const pid_t parent = getpid();

    *child = (struct child){.log = -1};
    if (pipe2(log, O_CLOEXEC) != 0) {
        return bench_fail("pipe: %s", strerror(errno));
    }
    child->start_ns = stats_now_ns();
    child->pid = fork();
    if (child->pid == 0) {
        end_with(parent);
        run_program(arguments, log[1]);
    }
    (void)close(log[1]);
    child->log = log[0];
    if (child->pid < 0) {
        child->pid = 0;
        return bench_fail("fork: %s", strerror(errno));
    }
    return 0;
}

int child_start_daemon(struct child *child, const char *hearsayd, const char *directory)
{
    const struct child_config none = {0};

    return child_start_daemon_with(child, hearsayd, directory, &none);
}

int child_start_daemon_with(struct child *child, const char *hearsayd, const char *directory,
                            const struct child_config *lines)
{
    char config[CHILD_PATH_BYTES];
    char data[CHILD_PATH_BYTES];
    const char *const arguments[] = {hearsayd, "--config", config, "--data", data, NULL};

    *child = (struct child){.log = -1};
    const int length = snprintf(data, sizeof(data), "%s/data", directory);
    if (length >= (int)sizeof(data) || write_config(directory, lines, config) != 0) {
        return -1;
    }
    if (access(hearsayd, X_OK) != 0) {
        return bench_fail("%s: %s; name the daemon with --hearsayd", hearsayd, strerror(errno));
    }
    return child_start(child, arguments) == 0 ? wait_until_ready(child) : -1;
}

int child_start_web(struct child *child, const char *hearsay_web, const char *config)
{
    /* As systemd starts it: where the program itself becomes a user, libraries of NSS add memory.
     */
    const char *const arguments[] = {
        "/usr/bin/setpriv", "--reuid=daemon", "--regid=daemon", "--clear-groups",
        hearsay_web,        "--config",       config,           NULL};

    return child_start(child, arguments + (geteuid() == 0 ? 0 : 4)) == 0 ? wait_until_ready(child)
                                                                         : -1;
}

/* Returns a listening socket on loopback, on any free port, or -1 if there is no free port. */
static int listen_anywhere(uint16_t *out_port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    socklen_t size = sizeof(address);
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (listener >= 0 && bind(listener, (struct sockaddr *)&address, sizeof(address)) == 0 &&
        listen(listener, BACKLOG) == 0 &&
        getsockname(listener, (struct sockaddr *)&address, &size) == 0) {
        *out_port = ntohs(address.sin_port);
        return listener;
    }
    (void)bench_fail("listening on loopback: %s", strerror(errno));
    if (listener >= 0) {
        (void)close(listener);
    }
    return -1;
}

int child_start_echo(struct child *child, const struct echo_frames *frames)
{
    const pid_t parent = getpid();

    *child = (struct child){.log = -1};
    const int listener = listen_anywhere(&child->port);
    if (listener < 0) {
        return -1;
    }
    (void)fflush(NULL); /* or it would be printed twice */
    child->pid = fork();
    if (child->pid == 0) {
        end_with(parent);
        _exit(echo_serve(listener, frames) == 0 ? 0 : EXIT_FAILURE);
    }
    (void)close(listener);
    if (child->pid < 0) {
        child->pid = 0;
        return bench_fail("fork: %s", strerror(errno));
    }
    return 0;
}

/*
 * Reads the daemon's output, so that the daemon cannot block on a full pipe. Passes on lines about
 * dropped sessions and about errors.
 */
static void drain(const struct child *child)
{
    struct pollfd polled = {.fd = child->log, .events = POLLIN};
    char text[4096];
    char *rest = NULL;
    ssize_t count = 0;

    while (child->log >= 0 && poll(&polled, 1, 0) > 0 &&
           (count = read(child->log, text, sizeof(text) - 1)) > 0) {
        text[count] = '\0';
        for (char *line = strtok_r(text, "\n", &rest); line != NULL;
             line = strtok_r(NULL, "\n", &rest)) {
            if (strstr(line, "dropped") != NULL || strstr(line, "warning: ") != NULL ||
                strstr(line, "error: ") != NULL || strstr(line, "ssert") != NULL) {
                (void)bench_fail("the daemon said: %s", line);
            }
        }
    }
}

void child_stop(struct child *child)
{
    const struct timespec pause = {.tv_nsec = STOP_LOOK_MS * 1000000L};

    if (child->pid > 0) {
        int waited_ms = 0;
        (void)kill(child->pid, SIGTERM);
        while (waitpid(child->pid, NULL, WNOHANG) == 0) {
            drain(child);
            (void)nanosleep(&pause, NULL); /* shorter is fine */
            waited_ms += STOP_LOOK_MS;
            if (waited_ms == STOP_PATIENCE_MS) {
                (void)bench_fail("a server did not end when asked to; killed");
                (void)kill(child->pid, SIGKILL);
            }
        }
        drain(child);
        if (child->log >= 0) {
            (void)close(child->log);
        }
    }
    *child = (struct child){.log = -1};
}

double child_cpu_seconds(const struct child *child)
{
    clockid_t clock;
    struct timespec used = {0};

    if (clock_getcpuclockid(child->pid, &clock) != 0 || clock_gettime(clock, &used) != 0) {
        return 0;
    }
    return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}
