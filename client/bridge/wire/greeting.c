/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/wire/version.h"

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <jansson.h>

enum { WAIT_S = 3, LINE_BYTES = 16 * 1024, PORT_MAX = 65535 };

bool greeting_split_url(const char *url, char *out_address, unsigned *out_port)
{
    const char *begin = strstr(url, "://");

    begin = begin != NULL ? begin + 3 : url;
    const char *colon = strrchr(begin, ':');
    char *end = NULL;
    unsigned long port = colon != NULL ? strtoul(colon + 1, &end, 10) : 0;

    if (colon == NULL || colon == begin || colon - begin >= GREETING_ADDRESS_BYTES ||
        end == colon + 1 || *end != '\0' || port == 0 || port > PORT_MAX) {
        return false;
    }
    memcpy(out_address, begin, (size_t)(colon - begin));
    out_address[colon - begin] = '\0';
    *out_port = (unsigned)port;
    return true;
}

/* Without brackets. A connected socket, or -1. */
static int open_socket(char *address, unsigned port, char *out_reason)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct timeval wait = {.tv_sec = WAIT_S};
    struct addrinfo *list = NULL;
    char service[16];
    int fd = -1;

    if (address[0] == '[' && address[strlen(address) - 1] == ']') {
        address[strlen(address) - 1] = '\0';
        address++;
    }
    (void)snprintf(service, sizeof(service), "%u", port);
    int rc = getaddrinfo(address, service, &hints, &list);
    if (rc != 0) {
        (void)snprintf(out_reason, GREETING_REASON_BYTES, "%s", gai_strerror(rc));
        return -1;
    }
    for (struct addrinfo *at = list; at != NULL && fd < 0; at = at->ai_next) {
        fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, 0);
        if (fd >= 0 && (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) != 0 ||
                        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) != 0 ||
                        connect(fd, at->ai_addr, at->ai_addrlen) != 0)) {
            (void)snprintf(out_reason, GREETING_REASON_BYTES, "%s",
                           errno == EINPROGRESS ? "no answer" : strerror(errno));
            (void)close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(list);
    return fd;
}

/* Reads INFO {...}. */
static bool read_line(int fd, char *out)
{
    size_t used = 0;

    while (used < LINE_BYTES - 1) {
        ssize_t got = recv(fd, out + used, LINE_BYTES - 1 - used, 0);

        if (got <= 0) {
            return false;
        }
        used += (size_t)got;
        out[used] = '\0';
        if (strchr(out, '\n') != NULL) {
            return strncmp(out, "INFO {", 6) == 0;
        }
    }
    return false;
}

bool greeting_read_version(const char *url, struct hub_version *out_version, char *out_reason)
{
    char address[GREETING_ADDRESS_BYTES];
    char line[LINE_BYTES];
    unsigned port = 0;

    if (!greeting_split_url(url, address, &port)) {
        (void)snprintf(out_reason, GREETING_REASON_BYTES, "no tls://ADDRESS:PORT");
        return false;
    }
    int fd = open_socket(address, port, out_reason);
    if (fd < 0) {
        return false;
    }
    bool is_read = read_line(fd, line);

    (void)close(fd);
    json_t *info = is_read ? json_loads(line + 5, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
    const char *text = json_string_value(json_object_get(info, "version"));

    is_read = text != NULL && hub_version_parse(text, out_version);
    json_decref(info);
    if (!is_read) {
        (void)snprintf(out_reason, GREETING_REASON_BYTES, "what answers there is no nats-server");
    }
    return is_read;
}
