/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held_disk: plays storage that takes long. Preloaded into hearsayd it waits in each fdatasync
 * until nobody holds an exclusive lock of the file HEARSAY_HELD_DISK_FILE: so a test stops the
 * storage by locking the file, and lets it go on by unlocking it.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

__attribute__((visibility("default"))) int fdatasync(int fd)
{
    static int (*next)(int);
    const char *path = getenv("HEARSAY_HELD_DISK_FILE");
    int gate = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;

    if (next == NULL) {
        *(void **)&next = dlsym(RTLD_NEXT, "fdatasync"); /* as POSIX has it */
    }
    if (gate >= 0) {
        (void)flock(gate, LOCK_SH);
        (void)close(gate);
    }
    return next(fd);
}
