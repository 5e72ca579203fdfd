/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/flash_device.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/loop.h>
#include <spawn.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { IMAGE_BYTES = 512 * 1024 * 1024, SECTOR_BYTES = 512 };

extern char **environ;

/* Without the parts that ext4 would write later by itself. */
static int make_file_system(const char *image)
{
    char name[] = "mkfs.ext4";
    char quiet[] = "-qF";
    char option[] = "-E";
    char lazy[] = "lazy_itable_init=0,lazy_journal_init=0";
    char path[CHILD_PATH_BYTES + 8];
    char *argv[] = {name, quiet, option, lazy, path, NULL};
    pid_t pid;
    int status = 0;

    (void)snprintf(path, sizeof(path), "%s", image);
    const int fd = open(image, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, IMAGE_BYTES) != 0 || close(fd) != 0) {
        return bench_fail("%s: %s", image, strerror(errno));
    }
    if (posix_spawnp(&pid, name, NULL, NULL, argv, environ) != 0 ||
        waitpid(pid, &status, 0) != pid || status != 0) {
        return bench_fail("mkfs.ext4 failed; it is in the package e2fsprogs");
    }
    return 0;
}

/* Binds the image to a free loop device, which goes away with the last user. */
static int bind_loop(struct flash_device *device, const char *image)
{
    struct loop_info64 info = {.lo_flags = LO_FLAGS_AUTOCLEAR};
    char name[32];
    const int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    const int file = open(image, O_RDWR | O_CLOEXEC);

    device->number = control < 0 ? -1 : ioctl(control, LOOP_CTL_GET_FREE);
    (void)snprintf(name, sizeof(name), "/dev/loop%d", device->number);
    device->loop = device->number < 0 ? -1 : open(name, O_RDWR | O_CLOEXEC);
    const bool is_bound = device->loop >= 0 && file >= 0 &&
                          ioctl(device->loop, LOOP_SET_FD, file) == 0 &&
                          ioctl(device->loop, LOOP_SET_STATUS64, &info) == 0;
    const int cause = errno;
    (void)close(control);
    (void)close(file);
    return is_bound ? 0 : bench_fail("no loop device: %s; this needs root", strerror(cause));
}

int flash_device_begin(struct flash_device *device, const char *parent)
{
    char image[CHILD_PATH_BYTES + 8];
    char name[32];

    *device = (struct flash_device){.loop = -1};
    if (child_directory_make(&device->directory, parent) != 0) {
        return -1;
    }
    (void)snprintf(image, sizeof(image), "%s/image", device->directory.path);
    (void)snprintf(device->mount, sizeof(device->mount), "%s/store", device->directory.path);
    if (make_file_system(image) != 0 || bind_loop(device, image) != 0) {
        return -1;
    }
    (void)snprintf(name, sizeof(name), "/dev/loop%d", device->number);
    if (mkdir(device->mount, 0700) != 0 || mount(name, device->mount, "ext4", 0, NULL) != 0) {
        return bench_fail("%s: %s", device->mount, strerror(errno));
    }
    device->is_mounted = true;
    return 0;
}

void flash_device_end(struct flash_device *device)
{
    if (device->is_mounted && umount(device->mount) != 0) {
        (void)bench_fail("%s: %s", device->mount, strerror(errno));
        return; /* the directory stays, with what is mounted in it */
    }
    if (device->loop >= 0) {
        (void)close(device->loop);
    }
    child_directory_remove(&device->directory);
}

int64_t flash_device_written(const struct flash_device *device)
{
    char path[64];
    uint64_t sectors = 0;
    const int fd = open(device->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int rc = fd < 0 ? -1 : syncfs(fd);

    (void)close(fd);
    (void)snprintf(path, sizeof(path), "/sys/class/block/loop%d/stat", device->number);
    FILE *file = rc == 0 ? fopen(path, "re") : NULL;
    if (file == NULL) {
        return bench_fail("%s: %s", path, strerror(errno));
    }
    /* The seventh field: sectors written. */
    const int read = fscanf(file, "%*s %*s %*s %*s %*s %*s %" SCNu64, &sectors);
    (void)fclose(file);
    return read == 1 ? (int64_t)(sectors * SECTOR_BYTES) : bench_fail("%s: not read", path);
}
