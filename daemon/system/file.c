/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/system/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
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

bool file_remove_stale_socket(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat status;

    if (lstat(path, &status) != 0 || !S_ISSOCK(status.st_mode)) {
        return false;
    }
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) {
        return false;
    }
    memcpy(address.sun_path, path, strlen(path) + 1); /* the configuration bounds its length */
    bool refused = connect(descriptor, (const struct sockaddr *)&address, sizeof(address)) != 0 &&
                   errno == ECONNREFUSED;
    (void)close(descriptor);
    return refused && unlink(path) == 0;
}
