/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/web_stage.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/stats.h"

enum { LINES_BYTES = 2 * CHILD_PATH_BYTES, PATIENCE_S = 20, LOOK_NS = 5000000 };

/* Root may not be a gateway: then the page runs as this user, whom each Debian has. */
static const char *gateway_user(void)
{
    const struct passwd *own = geteuid() == 0 ? NULL : getpwuid(geteuid());

    return own == NULL ? "daemon" : own->pw_name;
}

static void pause_briefly(void)
{
    const struct timespec pause = {.tv_nsec = LOOK_NS};

    (void)nanosleep(&pause, NULL); /* shorter is fine */
}

/* --- connections ------------------------------------------------------------------------------ */

/* Returns a connected socket, or -1. */
static int connect_to(uint16_t port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (descriptor >= 0 &&
        connect(descriptor, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        (void)close(descriptor);
        return -1;
    }
    return descriptor;
}

/* Asks once whether the page has reached its hearsayd. */
static bool is_healthy(uint16_t port)
{
    static const char request[] =
        "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nConnection: close\r\n\r\n";
    char text[512];
    const int descriptor = connect_to(port);
    ssize_t got = -1;

    if (descriptor >= 0) {
        const int bytes = snprintf(text, sizeof(text), request, (unsigned)port);
        if (send(descriptor, text, (size_t)bytes, MSG_NOSIGNAL) == bytes) {
            got = recv(descriptor, text, sizeof(text) - 1, 0);
        }
        (void)close(descriptor);
    }
    text[got > 0 ? got : 0] = '\0';
    return strstr(text, " 200 ") != NULL;
}

/* --- hearsayd and hearsay-web ----------------------------------------------------------------- */

static int start_web(struct web_stage *stage)
{
    char path[CHILD_PATH_BYTES + 16];
    const int64_t start_ns = stats_now_ns();

    (void)snprintf(path, sizeof(path), "%s/web.conf", stage->sockets.path);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        return bench_fail("%s: %s", path, strerror(errno));
    }
    fprintf(file, "[web]\nlisten = 127.0.0.1:0\nserver = %s/gateway.sock\n%s", stage->sockets.path,
            stage->options.web_lines != NULL ? stage->options.web_lines : "");
    if (fclose(file) != 0 || child_start_web(&stage->web, stage->options.hearsay_web, path) != 0) {
        return -1;
    }
    while (!is_healthy(stage->web.port)) {
        if (stats_now_ns() - start_ns > (int64_t)PATIENCE_S * 1000000000) {
            return bench_fail("hearsay-web did not reach hearsayd:\n%s", stage->web.lines);
        }
        pause_briefly();
    }
    return 0;
}

int web_stage_begin(struct web_stage *stage, const struct web_stage_options *options)
{
    char lines[LINES_BYTES + 512];

    memset(stage, 0, sizeof(*stage));
    stage->options = *options;
    if (child_directory_make(&stage->data, options->bench->dir) != 0 ||
        child_directory_make(&stage->sockets, "/tmp") != 0 ||
        chmod(stage->sockets.path, 0755) != 0) {
        return -1;
    }
    (void)snprintf(
        lines, sizeof(lines),
        "listen = %s/admin.sock\nlisten = %s/gateway.sock gateway\ngateway_user = %s\n%s",
        stage->data.path, stage->sockets.path, gateway_user(),
        options->daemon_lines != NULL ? options->daemon_lines : "");
    const struct child_config config = {.daemon = lines, .limits = options->limit_lines};
    return child_start_daemon_with(&stage->daemon, options->bench->hearsayd, stage->data.path,
                                   &config) == 0
               ? start_web(stage)
               : -1;
}

int web_stage_restart_web(struct web_stage *stage)
{
    child_stop(&stage->web);
    return start_web(stage);
}

void web_stage_end(struct web_stage *stage)
{
    child_stop(&stage->web);
    child_stop(&stage->daemon);
    child_directory_remove(&stage->sockets);
    child_directory_remove(&stage->data);
}

void web_stage_name(const struct web_stage *stage, char *out, size_t room)
{
    (void)snprintf(out, room, "hearsay.lan:%u", (unsigned)stage->web.port);
}

double web_stage_figure(const struct web_stage *stage, const char *name)
{
    char command[3 * CHILD_PATH_BYTES];
    char line[64 * 1024];
    char key[64];

    (void)snprintf(command, sizeof(command), "'%s' --server '%s/admin.sock' admin stats --json",
                   stage->options.hearsay, stage->data.path);
    (void)snprintf(key, sizeof(key), "\"%s\":", name);
    FILE *output = popen(command, "r");
    const char *at =
        output != NULL && fgets(line, sizeof(line), output) != NULL ? strstr(line, key) : NULL;
    if (output != NULL) {
        (void)pclose(output);
    }
    return at != NULL ? strtod(at + strlen(key), NULL)
                      : (double)bench_fail("%s: no %s in the answer", command, name);
}

/* --- lighttpd --------------------------------------------------------------------------------- */

static int free_port(uint16_t *out_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool is_bound = descriptor >= 0 &&
                          bind(descriptor, (struct sockaddr *)&address, sizeof(address)) == 0 &&
                          getsockname(descriptor, (struct sockaddr *)&address, &size) == 0;

    if (descriptor >= 0) {
        (void)close(descriptor);
    }
    *out_port = ntohs(address.sin_port);
    return is_bound ? 0 : bench_fail("no free port: %s", strerror(errno));
}

static int write_file(const char *directory, const char *name, const char *text)
{
    char path[CHILD_PATH_BYTES + 32];

    (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) {
        return bench_fail("%s: %s", path, strerror(errno));
    }
    return 0;
}

int web_stage_start_lighttpd(const struct web_stage *stage, struct child *child, const char *page)
{
    char config[CHILD_PATH_BYTES + 512];
    char path[CHILD_PATH_BYTES + 32];
    const char *const arguments[] = {"lighttpd", "-D", "-f", path, NULL};
    const char *program = access("/usr/sbin/lighttpd", X_OK) == 0 ? "/usr/sbin/lighttpd" : NULL;
    const char *const full[] = {program, arguments[1], arguments[2], arguments[3], NULL};
    uint16_t port;

    if (program == NULL) {
        return 1;
    }
    if (free_port(&port) != 0) {
        return -1;
    }
    (void)snprintf(config, sizeof(config),
                   "server.document-root = \"%s\"\nserver.bind = \"127.0.0.1\"\nserver.port = %u\n"
                   "index-file.names = (\"index.html\")\nserver.max-keep-alive-requests = 1000000\n"
                   "mimetype.assign = (\".html\" => \"text/html; charset=utf-8\")\n",
                   stage->sockets.path, (unsigned)port);
    (void)snprintf(path, sizeof(path), "%s/lighttpd.conf", stage->sockets.path);
    if (write_file(stage->sockets.path, "index.html", page) != 0 ||
        write_file(stage->sockets.path, "lighttpd.conf", config) != 0 ||
        child_start(child, full) != 0) {
        return -1;
    }
    child->port = port;
    const int64_t start_ns = stats_now_ns();
    int descriptor;
    while ((descriptor = connect_to(port)) < 0) {
        if (stats_now_ns() - start_ns > (int64_t)PATIENCE_S * 1000000000) {
            return bench_fail("lighttpd did not start");
        }
        pause_briefly();
    }
    (void)close(descriptor);
    return 0;
}
