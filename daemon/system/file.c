/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/system/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

ssize_t file_read_all(int fd, char *buffer, size_t room)
{
    static const char mark[] = "\xef\xbb\xbf"; /* byte order mark, as some editors write it */
    bool has_begun = false;
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
        if (!has_begun && length >= strlen(mark)) {
            has_begun = true;
            if (memcmp(buffer, mark, strlen(mark)) == 0) {
                length -= strlen(mark);
                memmove(buffer, buffer + strlen(mark), length);
            }
        }
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
