/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/system/notify.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { TEXT_BYTES = 1024 };

/* The address in NOTIFY_SOCKET: a path, or @ and an abstract name. False: there is none that can be
 * used. */
static bool find_manager(struct sockaddr_un *out_address, socklen_t *out_size)
{
    const char *name = HEARSAY_SYSTEMD ? getenv("NOTIFY_SOCKET") : NULL;
    size_t length = name != NULL ? strlen(name) : 0;

    if (length < 2 || length >= sizeof(out_address->sun_path) ||
        (name[0] != '/' && name[0] != '@')) {
        return false;
    }
    *out_address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(out_address->sun_path, name, length);
    if (name[0] == '@') {
        out_address->sun_path[0] = '\0';
    }
    *out_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    return true;
}

bool notify_has_manager(void)
{
    struct sockaddr_un address;
    socklen_t size;

    return find_manager(&address, &size);
}

/*
 * Sends a message. Not by libsystemd: with the libraries that it needs it takes a megabyte of
 * memory, and hearsay-bridge needs nothing else of it. An error is ignored: the program also serves
 * without a service manager.
 */
static void send_message(const char *text)
{
    struct sockaddr_un address;
    struct iovec part = {.iov_base = (void *)(uintptr_t)text, .iov_len = strlen(text)};
    struct msghdr message = {.msg_name = &address, .msg_iov = &part, .msg_iovlen = 1};

    if (!find_manager(&address, &message.msg_namelen)) {
        return;
    }
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor >= 0) {
        (void)sendmsg(descriptor, &message, MSG_NOSIGNAL);
        (void)close(descriptor);
    }
}

void notify_ready(const char *status)
{
    char text[TEXT_BYTES];

    (void)snprintf(text, sizeof(text), "READY=1\nSTATUS=%s", status);
    send_message(text);
}

void notify_reloading(void)
{
    struct timespec now;
    char text[TEXT_BYTES];

    /* With Type=notify-reload (systemd 253 and newer) the service manager needs the time, to tell
     * this reload from an earlier one. */
    if (clock_gettime(CLOCK_MONOTONIC, &now) == 0) {
        (void)snprintf(text, sizeof(text),
                       "RELOADING=1\nMONOTONIC_USEC=%" PRIu64 "\nSTATUS=Reloading",
                       (uint64_t)now.tv_sec * 1000000 + (uint64_t)(now.tv_nsec / 1000));
        send_message(text);
    }
}

void notify_stopping(const char *status)
{
    char text[TEXT_BYTES];

    (void)snprintf(text, sizeof(text), "STOPPING=1\nSTATUS=%s", status);
    send_message(text);
}

/* A number in the environment; 0: there is none. */
static uint64_t read_number(const char *name)
{
    const char *text = HEARSAY_SYSTEMD ? getenv(name) : NULL;
    char *end = NULL;
    unsigned long long number = text != NULL ? strtoull(text, &end, 10) : 0;

    return text != NULL && end != text && *end == '\0' ? number : 0;
}

uint64_t notify_watchdog_interval_ms(void)
{
    uint64_t microseconds = read_number("WATCHDOG_USEC");

    if (microseconds == 0 || microseconds == UINT64_MAX ||
        (getenv("WATCHDOG_PID") != NULL && read_number("WATCHDOG_PID") != (uint64_t)getpid())) {
        return 0;
    }
    return microseconds / 2000 > 0 ? microseconds / 2000 : 1;
}

void notify_watchdog(void)
{
    send_message("WATCHDOG=1");
}
