/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/pass_vfs.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { BLOCK_BYTES = 4096 };

static struct {
    sqlite3_vfs *real;      /* the default one before */
    sqlite3_vfs excl;       /* in place of `unix-excl`, where shared memory is refused */
    sqlite3_vfs *real_excl; /* NULL: shared memory is not refused */
    pthread_mutex_t mutex;  /* guards what follows */
    bool is_limited;
    int64_t left;
    uint64_t written;
} pass = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* --- a budget of bytes ------------------------------------------------------------------------ */

void pass_budget_set(int64_t bytes)
{
    (void)pthread_mutex_lock(&pass.mutex);
    pass.is_limited = bytes >= 0;
    pass.left = bytes;
    (void)pthread_mutex_unlock(&pass.mutex);
}

uint64_t pass_budget_free(const char *path)
{
    uint64_t left;

    (void)path;
    (void)pthread_mutex_lock(&pass.mutex);
    left = !pass.is_limited ? UINT64_MAX : pass.left > 0 ? (uint64_t)pass.left : 0;
    (void)pthread_mutex_unlock(&pass.mutex);
    return left;
}

uint64_t pass_written(void)
{
    uint64_t written;

    (void)pthread_mutex_lock(&pass.mutex);
    written = pass.written;
    (void)pthread_mutex_unlock(&pass.mutex);
    return written;
}

static int64_t blocks(sqlite3_int64 size)
{
    return (size + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
}

/* Gives back what a file has beyond `size`, as far as that is whole blocks. */
static void give_back(sqlite3_int64 from, sqlite3_int64 size)
{
    if (blocks(from) > blocks(size)) {
        (void)pthread_mutex_lock(&pass.mutex);
        pass.left += blocks(from) - blocks(size);
        (void)pthread_mutex_unlock(&pass.mutex);
    }
}

int pass_budget_take(sqlite3_file *file, int count, sqlite3_int64 offset)
{
    sqlite3_int64 size = 0;
    int64_t grown;

    if (pass_real(file)->pMethods->xFileSize(pass_real(file), &size) != SQLITE_OK) {
        return count;
    }
    (void)pthread_mutex_lock(&pass.mutex);
    grown = blocks(offset + count) - blocks(size);
    if (pass.is_limited && grown > 0 && grown > pass.left) {
        /* Up to the end of the blocks that are left. */
        const int64_t end = blocks(size) + pass.left / BLOCK_BYTES * BLOCK_BYTES;

        count = end > offset ? (int)(end - offset) : 0;
        grown = blocks(offset + count) - blocks(size);
        grown = count == 0 ? 0 : grown;
    }
    if (pass.is_limited && grown > 0) {
        pass.left -= grown;
    }
    pass.written += (uint64_t)count;
    (void)pthread_mutex_unlock(&pass.mutex);
    return count;
}

int pass_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset)
{
    const int allowed = pass_budget_take(file, count, offset);
    int rc = SQLITE_OK;

    if (allowed > 0) {
        rc = pass_real(file)->pMethods->xWrite(pass_real(file), bytes, allowed, offset);
    }
    return rc == SQLITE_OK && allowed < count ? SQLITE_FULL : rc;
}

int pass_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    sqlite3_int64 before = 0;
    int rc = pass_real(file)->pMethods->xFileSize(pass_real(file), &before);

    if (rc == SQLITE_OK) {
        rc = pass_real(file)->pMethods->xTruncate(pass_real(file), size);
    }
    if (rc == SQLITE_OK) {
        give_back(before, size);
    }
    return rc;
}

int pass_delete(sqlite3_vfs *vfs, const char *name, int syncs_directory)
{
    struct stat status = {.st_size = 0};
    int rc;

    (void)vfs;
    (void)stat(name, &status); /* mostly there */
    rc = pass.real->xDelete(pass.real, name, syncs_directory);
    if (rc == SQLITE_OK) {
        give_back(status.st_size, 0);
    }
    return rc;
}

/* --- files ------------------------------------------------------------------------------------ */

sqlite3_file *pass_real(sqlite3_file *file)
{
    return ((struct pass_file *)(void *)file)->real;
}

static int file_close(sqlite3_file *file)
{
    return pass_real(file)->pMethods->xClose(pass_real(file));
}

static int file_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset)
{
    return pass_real(file)->pMethods->xRead(pass_real(file), bytes, count, offset);
}

static int file_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset)
{
    return pass_write(file, bytes, count, offset);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return pass_truncate(file, size);
}

static int file_sync(sqlite3_file *file, int flags)
{
    return pass_real(file)->pMethods->xSync(pass_real(file), flags);
}

static int file_size(sqlite3_file *file, sqlite3_int64 *out)
{
    return pass_real(file)->pMethods->xFileSize(pass_real(file), out);
}

static int file_lock(sqlite3_file *file, int level)
{
    return pass_real(file)->pMethods->xLock(pass_real(file), level);
}

static int file_unlock(sqlite3_file *file, int level)
{
    return pass_real(file)->pMethods->xUnlock(pass_real(file), level);
}

static int file_check_lock(sqlite3_file *file, int *out)
{
    return pass_real(file)->pMethods->xCheckReservedLock(pass_real(file), out);
}

static int file_control(sqlite3_file *file, int op, void *argument)
{
    return pass_real(file)->pMethods->xFileControl(pass_real(file), op, argument);
}

static int file_sector(sqlite3_file *file)
{
    return pass_real(file)->pMethods->xSectorSize(pass_real(file));
}

static int file_device(sqlite3_file *file)
{
    return pass_real(file)->pMethods->xDeviceCharacteristics(pass_real(file));
}

static int file_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **out)
{
    if (((struct pass_file *)(void *)file)->refuses_maps) {
        *out = NULL;
        return SQLITE_IOERR_SHMMAP;
    }
    return pass_real(file)->pMethods->xShmMap(pass_real(file), page, size, extend, out);
}

static int file_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    return pass_real(file)->pMethods->xShmLock(pass_real(file), offset, count, flags);
}

static void file_shm_barrier(sqlite3_file *file)
{
    pass_real(file)->pMethods->xShmBarrier(pass_real(file));
}

static int file_shm_unmap(sqlite3_file *file, int remove)
{
    return pass_real(file)->pMethods->xShmUnmap(pass_real(file), remove);
}

sqlite3_io_methods pass_methods(void)
{
    return (sqlite3_io_methods){
        .iVersion = 2,
        .xClose = file_close,
        .xRead = file_read,
        .xWrite = file_write,
        .xTruncate = file_truncate,
        .xSync = file_sync,
        .xFileSize = file_size,
        .xLock = file_lock,
        .xUnlock = file_unlock,
        .xCheckReservedLock = file_check_lock,
        .xFileControl = file_control,
        .xSectorSize = file_sector,
        .xDeviceCharacteristics = file_device,
        .xShmMap = file_shm_map,
        .xShmLock = file_shm_lock,
        .xShmBarrier = file_shm_barrier,
        .xShmUnmap = file_shm_unmap,
    };
}

int pass_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, size_t bytes,
              const sqlite3_io_methods *methods, int flags, int *out)
{
    struct pass_file *wrapped = (struct pass_file *)(void *)file;
    sqlite3_vfs *real = vfs == &pass.excl ? pass.real_excl : pass.real;
    int rc;

    file->pMethods = NULL; /* then SQLite does not close it */
    wrapped->real = (sqlite3_file *)(void *)((char *)file + bytes);
    wrapped->refuses_maps = pass.real_excl != NULL && vfs != &pass.excl;
    rc = real->xOpen(real, name, wrapped->real, flags, out);
    if (wrapped->real->pMethods != NULL) {
        file->pMethods = methods;
    }
    return rc;
}

sqlite3_vfs *pass_install(sqlite3_vfs *vfs, const char *name, size_t bytes,
                          int (*open)(sqlite3_vfs *, const char *, sqlite3_file *, int, int *))
{
    sqlite3_vfs *real = sqlite3_vfs_find(NULL);
    int rc;

    assert(pass.real == NULL);
    pass.real = real;
    *vfs = *real; /* what is not replaced gets its own vfs and ignores it, or only names it */
    vfs->zName = name;
    vfs->szOsFile = (int)bytes + real->szOsFile;
    vfs->xOpen = open;
    vfs->xDelete = pass_delete;
    rc = sqlite3_vfs_register(vfs, 1);
    assert(rc == SQLITE_OK);
    (void)rc;
    return real;
}

void pass_refuse_maps_if_asked(const sqlite3_vfs *vfs)
{
    int rc;

    if (getenv("HEARSAY_TEST_NO_SHARED_MAPS") == NULL) {
        return;
    }
    pass.real_excl = sqlite3_vfs_find("unix-excl");
    assert(pass.real_excl != NULL);
    pass.excl = *vfs;
    pass.excl.zName = "unix-excl";
    pass.excl.pNext = NULL;
    rc = sqlite3_vfs_register(&pass.excl, 0); /* found before the one of the same name */
    assert(rc == SQLITE_OK && sqlite3_vfs_find("unix-excl") == &pass.excl);
    (void)rc;
}

bool pass_refuses_maps(void)
{
    return pass.real_excl != NULL;
}

/* The machine that runs the test stays on. */
static int plain_sync(sqlite3_file *file, int flags)
{
    (void)file;
    (void)flags;
    return SQLITE_OK;
}

static int plain_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    static sqlite3_io_methods methods;

    methods = pass_methods();
    methods.xSync = plain_sync;
    return pass_open(vfs, name, file, sizeof(struct pass_file), &methods, flags, out);
}

void pass_install_plain(void)
{
    static sqlite3_vfs vfs;

    (void)pass_install(&vfs, "pass", sizeof(struct pass_file), plain_open);
    pass_refuse_maps_if_asked(&vfs);
}

void pass_install_if_asked(void)
{
    if (pass.real == NULL && getenv("HEARSAY_TEST_NO_SHARED_MAPS") != NULL) {
        pass_install_plain();
    }
}
