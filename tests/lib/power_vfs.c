/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/power_vfs.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/pass_vfs.h"
#include "tests/lib/power_images.h"

enum { DESCRIPTORS_MAX = 1024 };

static struct {
    pthread_mutex_t mutex;
    char directory[POWER_PATH_BYTES];
    struct power_snapshot now;
    bool ignores_syncs;
    void (*before_change)(void *context);
    void *context;
    /* Of those that our own code has open: a file's content, or whether it is the directory. */
    struct content *contents[DESCRIPTORS_MAX];
    bool is_directory[DESCRIPTORS_MAX];
} power = {.mutex = PTHREAD_MUTEX_INITIALIZER};

struct power_file {
    struct pass_file pass;   /* first */
    struct content *content; /* NULL: a temporary file */
    bool syncs_directory;
};

/* --- changes ---------------------------------------------------------------------------------- */

static void announce(void)
{
    if (power.before_change != NULL) {
        power.before_change(power.context);
    }
}

static void note_write(struct content *content, size_t offset, const void *bytes, size_t count)
{
    (void)pthread_mutex_lock(&power.mutex);
    content_write(content, offset, bytes, count);
    (void)pthread_mutex_unlock(&power.mutex);
}

static void note_sync(struct content *content, bool and_directory)
{
    (void)pthread_mutex_lock(&power.mutex);
    if (!power.ignores_syncs) {
        if (content != NULL) {
            content_sync(content);
        }
        if (and_directory) {
            images_sync(&power.now);
        }
    }
    (void)pthread_mutex_unlock(&power.mutex);
}

/* The content of a file that was opened, made if the file was. Used once more. */
static struct content *content_of(const char *name)
{
    struct image *image;

    (void)pthread_mutex_lock(&power.mutex);
    image = images_find(&power.now, name);
    if (image == NULL) {
        image = images_add(&power.now, name, NULL);
    }
    content_use(image->content);
    (void)pthread_mutex_unlock(&power.mutex);
    return image->content;
}

static void leave(struct content *content)
{
    (void)pthread_mutex_lock(&power.mutex);
    content_leave(content);
    (void)pthread_mutex_unlock(&power.mutex);
}

/* A name was taken away. */
static void note_gone(const char *name)
{
    struct image *image;

    (void)pthread_mutex_lock(&power.mutex);
    image = images_find(&power.now, name);
    if (image != NULL) {
        image->is_gone = true;
    }
    (void)pthread_mutex_unlock(&power.mutex);
}

/* A file has another name, too. */
static void note_link(const char *from, const char *to)
{
    const struct image *image;

    (void)pthread_mutex_lock(&power.mutex);
    image = images_find(&power.now, from);
    if (image != NULL) {
        (void)images_add(&power.now, to, image->content);
    }
    (void)pthread_mutex_unlock(&power.mutex);
}

/* --- SQLite's files --------------------------------------------------------------------------- */

static struct power_file *self(sqlite3_file *file)
{
    return (struct power_file *)(void *)file;
}

static int file_close(sqlite3_file *file)
{
    leave(self(file)->content);
    self(file)->content = NULL;
    return pass_real(file)->pMethods->xClose(pass_real(file));
}

static int file_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset)
{
    const int allowed = pass_budget_take(file, count, offset);
    int rc = SQLITE_OK;

    if (self(file)->content != NULL && allowed > 0) {
        announce();
        note_write(self(file)->content, (size_t)offset, bytes, (size_t)allowed);
    }
    if (allowed > 0) {
        rc = pass_real(file)->pMethods->xWrite(pass_real(file), bytes, allowed, offset);
    }
    return rc == SQLITE_OK && allowed < count ? SQLITE_FULL : rc;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    if (self(file)->content != NULL) {
        announce();
        (void)pthread_mutex_lock(&power.mutex);
        content_cut(self(file)->content, (size_t)size);
        (void)pthread_mutex_unlock(&power.mutex);
    }
    return pass_truncate(file, size);
}

static int file_sync(sqlite3_file *file, int flags)
{
    (void)flags;
    if (self(file)->content != NULL) {
        announce();
        note_sync(self(file)->content, self(file)->syncs_directory);
        self(file)->syncs_directory = false;
    }
    return SQLITE_OK; /* the machine that runs the test stays on */
}

static sqlite3_io_methods file_methods;

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    struct power_file *wrapped = self(file);
    int rc;

    wrapped->content = NULL;
    rc = pass_open(vfs, name, file, sizeof(*wrapped), &file_methods, flags, out);
    if (rc == SQLITE_OK && name != NULL && (flags & SQLITE_OPEN_DELETEONCLOSE) == 0) {
        wrapped->content = content_of(name);
        /* As SQLite's own for Unix does it. */
        wrapped->syncs_directory = (flags & SQLITE_OPEN_CREATE) != 0 &&
                                   (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL)) != 0;
    }
    return rc;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int syncs_directory)
{
    announce();
    note_gone(name);
    if (syncs_directory != 0) {
        note_sync(NULL, true);
    }
    return pass_delete(vfs, name, 0);
}

/* --- our own files: the linker brings their calls here (--wrap) ---------------------------------
 */

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __real_close(int fd);
int __wrap_close(int fd);
ssize_t __real_write(int fd, const void *bytes, size_t count);
ssize_t __wrap_write(int fd, const void *bytes, size_t count);
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_link(const char *from, const char *to);
int __wrap_link(const char *from, const char *to);
int __real_unlink(const char *path);
int __wrap_unlink(const char *path);
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);

static bool is_watched(const char *path)
{
    const size_t length = strlen(power.directory);

    return length > 0 && strncmp(path, power.directory, length) == 0 && path[length] == '/';
}

/* Whether a call changes something that is watched; then whoever observes is told before. */
static bool begins(const char *path)
{
    if (!is_watched(path)) {
        return false;
    }
    announce();
    return true;
}

static int open_noted(const char *path, int flags, mode_t mode)
{
    const int fd = __real_open(path, flags | O_LARGEFILE, mode);

    if (fd < 0) {
        return fd;
    }
    if (fd >= DESCRIPTORS_MAX) {
        abort();
    }
    power.is_directory[fd] = power.directory[0] != '\0' && strcmp(path, power.directory) == 0;
    power.contents[fd] = is_watched(path) ? content_of(path) : NULL;
    return fd;
}

int __wrap_open(const char *path, int flags, ...)
{
    va_list arguments;
    mode_t mode = 0;

    if ((flags & O_CREAT) != 0) {
        va_start(arguments, flags);
        mode = (mode_t)va_arg(arguments, int);
        va_end(arguments);
    }
    return open_noted(path, flags, mode);
}

/* The same on 32-bit machines. */
int __wrap_open64(const char *path, int flags, ...)
{
    va_list arguments;
    mode_t mode = 0;

    if ((flags & O_CREAT) != 0) {
        va_start(arguments, flags);
        mode = (mode_t)va_arg(arguments, int);
        va_end(arguments);
    }
    return open_noted(path, flags, mode);
}

static struct content *opened(int fd)
{
    return fd >= 0 && fd < DESCRIPTORS_MAX ? power.contents[fd] : NULL;
}

int __wrap_close(int fd)
{
    if (opened(fd) != NULL) {
        leave(power.contents[fd]);
        power.contents[fd] = NULL;
    }
    if (fd >= 0 && fd < DESCRIPTORS_MAX) {
        power.is_directory[fd] = false;
    }
    return __real_close(fd);
}

ssize_t __wrap_write(int fd, const void *bytes, size_t count)
{
    struct content *content = opened(fd);

    if (content != NULL) {
        announce();
        note_write(content, (size_t)lseek(fd, 0, SEEK_CUR), bytes, count);
    }
    return __real_write(fd, bytes, count);
}

int __wrap_fsync(int fd)
{
    const bool is_directory = fd >= 0 && fd < DESCRIPTORS_MAX && power.is_directory[fd];

    if (opened(fd) == NULL && !is_directory) {
        return __real_fsync(fd);
    }
    announce();
    note_sync(opened(fd), is_directory);
    return 0;
}

int __wrap_link(const char *from, const char *to)
{
    const bool is_noted = begins(to);
    const int rc = __real_link(from, to);

    if (rc == 0 && is_noted) {
        note_link(from, to);
    }
    return rc;
}

int __wrap_unlink(const char *path)
{
    const bool is_noted = begins(path);
    const int rc = __real_unlink(path);

    if (rc == 0 && is_noted) {
        note_gone(path);
    }
    return rc;
}

/* As a link and an unlinking, so that more may be left than by any file system: both, or neither.
 */
int __wrap_rename(const char *from, const char *to)
{
    const bool is_noted = begins(to);
    const int rc = __real_rename(from, to);

    if (rc == 0 && is_noted) {
        note_gone(to);
        note_link(from, to);
        note_gone(from);
    }
    return rc;
}

/* --- from outside ----------------------------------------------------------------------------- */

void power_vfs_install(void)
{
    static sqlite3_vfs vfs;

    file_methods = pass_methods();
    file_methods.xClose = file_close;
    file_methods.xWrite = file_write;
    file_methods.xTruncate = file_truncate;
    file_methods.xSync = file_sync;
    (void)pass_install(&vfs, "power", sizeof(struct power_file), vfs_open);
    vfs.xDelete = vfs_delete;
    pass_refuse_maps_if_asked(&vfs);
}

void power_vfs_begin(const char *directory)
{
    (void)pthread_mutex_lock(&power.mutex);
    images_clear(&power.now);
    (void)snprintf(power.directory, sizeof(power.directory), "%s", directory);
    images_load(&power.now, directory);
    (void)pthread_mutex_unlock(&power.mutex);
}

void power_vfs_observe(void (*before_change)(void *context), void *context)
{
    power.before_change = before_change;
    power.context = context;
}

void power_vfs_ignore_syncs(bool ignored)
{
    (void)pthread_mutex_lock(&power.mutex);
    power.ignores_syncs = ignored;
    (void)pthread_mutex_unlock(&power.mutex);
}

struct power_snapshot *power_vfs_snapshot(void)
{
    struct power_snapshot *snapshot = calloc(1, sizeof(*snapshot));

    if (snapshot == NULL) {
        abort();
    }
    (void)pthread_mutex_lock(&power.mutex);
    images_copy(&power.now, snapshot);
    (void)pthread_mutex_unlock(&power.mutex);
    return snapshot;
}
