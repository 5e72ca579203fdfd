/* SPDX-License-Identifier: Apache-2.0 */
/*
 * no_shared_maps: plays a file system such as JFFS2, whichever there is. Preloaded into hearsayd it
 * refuses to map a file as shared memory that may be written to: with EINVAL, or with the number of
 * the error in HEARSAY_NO_SHARED_MAPS_ERRNO.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int is_refused(int protection, int flags, int fd)
{
    struct stat status;

    return (flags & MAP_SHARED) != 0 && (protection & PROT_WRITE) != 0 && fd >= 0 &&
           fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

/* 32-bit machines have the call with the offset in pages only. */
static void *map(void *address, size_t length, int protection, int flags, int fd, int64_t offset)
{
    if (is_refused(protection, flags, fd)) {
        const char *number = getenv("HEARSAY_NO_SHARED_MAPS_ERRNO");

        errno = number != NULL ? atoi(number) : EINVAL;
        return MAP_FAILED;
    }
#ifdef SYS_mmap2
    return (void *)syscall(SYS_mmap2, address, length, protection, flags, fd,
                           (long)(offset / 4096));
#else
    return (void *)syscall(SYS_mmap, address, length, protection, flags, fd, (long)offset);
#endif
}

__attribute__((visibility("default"))) void *mmap(void *address, size_t length, int protection,
                                                  int flags, int fd, off_t offset)
{
    return map(address, length, protection, flags, fd, offset);
}

#ifdef __GLIBC__ /* elsewhere it is another name of mmap, or none */
__attribute__((visibility("default"))) void *mmap64(void *address, size_t length, int protection,
                                                    int flags, int fd, off64_t offset)
{
    return map(address, length, protection, flags, fd, offset);
}
#endif
