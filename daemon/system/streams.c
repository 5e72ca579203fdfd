/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/system/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void streams_keep(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        }
    }
}

bool streams_finish(const char *program)
{
    if (fflush(stdout) == 0 && ferror(stdout) == 0) {
        return true;
    }
    (void)fprintf(stderr, "%s: standard output: %s\n", program, strerror(errno));
    return false;
}
