/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/pass_vfs.h"

#include <assert.h>

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
    return pass_real(file)->pMethods->xWrite(pass_real(file), bytes, count, offset);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return pass_real(file)->pMethods->xTruncate(pass_real(file), size);
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

int pass_open(sqlite3_vfs *real, const char *name, sqlite3_file *file, size_t bytes,
              const sqlite3_io_methods *methods, int flags, int *out)
{
    struct pass_file *wrapped = (struct pass_file *)(void *)file;
    int rc;

    file->pMethods = NULL; /* then SQLite does not close it */
    wrapped->real = (sqlite3_file *)(void *)((char *)file + bytes);
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

    *vfs = *real; /* what is not replaced gets its own vfs and ignores it, or only names it */
    vfs->zName = name;
    vfs->szOsFile = (int)bytes + real->szOsFile;
    vfs->xOpen = open;
    rc = sqlite3_vfs_register(vfs, 1);
    assert(rc == SQLITE_OK);
    (void)rc;
    return real;
}
