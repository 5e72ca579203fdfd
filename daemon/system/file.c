/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/system/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

ssize_t file_read_all(int fd, char *buffer, size_t room)
{
    size_t length = 0;

    while (length < room) {
        ssize_t count = read(fd, buffer + length, room - length);

        if (count == 0) {
            break;
        }
        if (count < 0 && errno != EINTR) {
            return -errno;
        }
        length += count > 0 ? (size_t)count : 0;
    }
    return (ssize_t)length;
}

ssize_t file_read(const char *path, char *buffer, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    if (fd < 0) {
        return -errno;
    }
    ssize_t length = file_read_all(fd, buffer, room);
    (void)close(fd); /* it was only read */
    return length;
}
