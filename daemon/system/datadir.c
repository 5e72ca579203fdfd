/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/system/datadir.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "daemon/system/notify.h"
#include "daemon/system/reason.h"

/* What to do about a data directory that cannot be made or written; UNIT_HINT_BYTES. */
static const char *remedy_for(const char *directory, int code, char *out)
{
    unit_hint(directory, code, out);
    if (out[0] == '\0' && code == EACCES) {
        unsigned long user = geteuid();

        (void)snprintf(out, UNIT_HINT_BYTES,
                       "; user %lu may not: make it for this user (`install -d -m 700 -o %lu "
                       "%.300s`), or set another directory",
                       user, user, directory);
    }
    return out;
}

static int refuse_directory(const char *directory, const char *what, char *out_reason)
{
    char remedy[UNIT_HINT_BYTES];
    int code = errno;

    return reason_set(out_reason, "the data directory %s: cannot %s: %s%s", directory, what,
                      strerror(code), remedy_for(directory, code, remedy));
}

/* Syncs the parent of a new directory to storage, so that the directory survives a power cut.
 * Ignores errors. */
static void sync_parent(const char *directory)
{
    char parent[4096];
    const char *slash = strrchr(directory, '/');
    int length = slash != NULL && slash != directory ? (int)(slash - directory) : 1;

    (void)snprintf(parent, sizeof(parent), "%.*s", length, slash != NULL ? directory : ".");
    int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    (void)fsync(fd); /* some file systems cannot sync a directory */
    (void)close(fd);
}

static int make_one(const char *path, mode_t mode, bool *out_made)
{
    *out_made = mkdir(path, mode) == 0;
    if (!*out_made) {
        return errno == EEXIST ? 0 : -1;
    }
    sync_parent(path);
    return chmod(path, mode); /* whatever the umask is */
}

int datadir_make(const char *directory, mode_t parents, char out_path[DATADIR_PATH_BYTES],
                 bool *out_made, char *out_reason)
{
    char *path = out_path;
    size_t length = strlen(directory);
    int rc = 0;

    if (length == 0 || length >= DATADIR_PATH_BYTES) {
        return reason_set(out_reason, "the data directory's name is empty or too long");
    }
    memcpy(path, directory, length + 1);
    while (length > 1 && path[length - 1] == '/') { /* the directory itself is no parent */
        path[--length] = '\0';
    }
    char *slash = strchr(path + 1, '/');
    while (slash != NULL && rc == 0) {
        *slash = '\0';
        rc = make_one(path, parents, out_made);
        if (rc == 0) {
            *slash = '/';
            slash = strchr(slash + 1, '/');
        }
    }
    rc = rc == 0 ? make_one(path, 0700, out_made) : rc;
    if (rc != 0) {
        char what[DATADIR_PATH_BYTES + sizeof("make ")];

        (void)snprintf(what, sizeof(what), "make %s", path);
        return refuse_directory(directory, what, out_reason);
    }
    return 0;
}

static int check_owner(int fd, const char *directory, char *out_reason)
{
    struct stat info;

    if (fstat(fd, &info) != 0) {
        return reason_set(out_reason, "cannot examine the data directory %s: %s", directory,
                          strerror(errno));
    }
    if (info.st_uid != geteuid() && geteuid() == 0) {
        return reason_set(
            out_reason,
            "the data directory %s belongs to user %lu, but the program runs as root: start "
            "it as that user, or name the user in the configuration (`user`)",
            directory, (unsigned long)info.st_uid);
    }
    if (info.st_uid != geteuid()) {
        return reason_set(
            out_reason,
            "the data directory %s belongs to user %lu, but the program runs as user %lu: "
            "change its owner, or set another directory",
            directory, (unsigned long)info.st_uid, (unsigned long)geteuid());
    }
    if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return reason_set(out_reason,
                          "others may write to the data directory %s (mode %03o): "
                          "run `chmod go-w` on it, or set another directory",
                          directory, (unsigned)(info.st_mode & 0777));
    }
    return 0;
}

static int check_storage(int fd, const char *directory, char *out_reason)
{
    struct statfs info;

    if (fstatfs(fd, &info) != 0) {
        return reason_set(out_reason, "cannot examine the file system of %s: %s", directory,
                          strerror(errno));
    }
    /* The C type of info.f_type differs from machine to machine, and may be signed. The mask keeps
     * the low 32 bits, which hold the magic number. */
    switch ((unsigned long)info.f_type & 0xffffffffUL) {
    case TMPFS_MAGIC:
    case RAMFS_MAGIC:
        return reason_set(
            out_reason,
            "the data directory %s is on a memory file system, which forgets everything "
            "with the power: set a directory on storage (`data`, or --data), or accept "
            "the loss with `durability = relaxed`",
            directory);
    default:
        return 0;
    }
}

static int take_lock(int directory_fd, const char *directory, int *out_lock, char *out_reason)
{
    int fd = openat(directory_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0) {
        return refuse_directory(directory, "make the lock file", out_reason);
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        int rc = errno;

        (void)close(fd);
        if (rc == EWOULDBLOCK) {
            return reason_set(out_reason,
                              "another process uses the directory %s: end that process, or set "
                              "another directory",
                              directory);
        }
        return reason_set(out_reason, "cannot lock the data directory %s: %s", directory,
                          strerror(rc));
    }
    *out_lock = fd;
    return 0;
}

int datadir_lock(const char *directory, bool needs_storage, int *out_lock, char *out_reason)
{
    char path[DATADIR_PATH_BYTES];
    bool made = false;
    int rc = datadir_make(directory, 0700, path, &made, out_reason);

    if (rc != 0) {
        return rc;
    }
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return refuse_directory(directory, "open it", out_reason);
    }
    rc = check_owner(fd, directory, out_reason);
    if (rc == 0 && needs_storage) {
        rc = check_storage(fd, directory, out_reason);
    }
    rc = rc == 0 ? take_lock(fd, directory, out_lock, out_reason) : rc;
    (void)close(fd); /* only ever read */
    return rc;
}

void datadir_unlock(int lock)
{
    (void)close(lock);
}
