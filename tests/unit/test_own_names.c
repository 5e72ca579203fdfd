/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with functions of its own that have names of functions inside of libhearsay. It links
 * with the archive as `meson install` leaves it, and the library calls its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client/hearsay.h"

void wait_for(void);
void now_monotonic_ms(void);
void arena_take(void);

void wait_for(void)
{
    abort();
}

void now_monotonic_ms(void)
{
    abort();
}

void arena_take(void)
{
    abort();
}

/* Connects to a server that accepts and says nothing, and waits for it. */
int main(void)
{
    char folder[] = "/tmp/own-names-XXXXXX";
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct hearsay_connect options;
    struct hearsay_error error;
    struct hearsay *server = NULL;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    if (fd < 0 || mkdtemp(folder) == NULL) {
        return 1;
    }
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/s", folder);
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(fd, 1) != 0) {
        return 1;
    }
    hearsay_connect_init(&options);
    options.server = address.sun_path;
    options.timeout_ms = 1;
    int status = hearsay_connect(&options, &server, &error);
    (void)unlink(address.sun_path);
    (void)rmdir(folder);
    if (status != HEARSAY_ERR_TIMEOUT || server != NULL) {
        (void)fprintf(stderr, "%d: %s\n", status, error.sentence);
        return 1;
    }
    return 0;
}
