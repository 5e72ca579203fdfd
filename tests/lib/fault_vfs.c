/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/fault_vfs.h"

#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#include <sqlite3.h>

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    unsigned kinds;
    unsigned nth;
    unsigned times;
    unsigned seen;
    bool failed;
    bool hold;
    bool held;
    bool skips_syncs;
    sqlite3_vfs *real;
    sqlite3_mem_methods memory;
} fault = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

struct fault_file {
    sqlite3_file base;
    sqlite3_file *real; /* lies behind this struct */
};

/* --- when to fail ----------------------------------------------------------------------------- */

static _Thread_local bool is_exempt;

void fault_vfs_exempt(bool exempt)
{
    is_exempt = exempt;
}

bool fault_vfs_fails(unsigned kinds)
{
    bool answer = false;

    if (is_exempt) {
        return false;
    }
    (void)pthread_mutex_lock(&fault.mutex);
    if ((fault.kinds & kinds) != 0) {
        fault.seen++;
        answer = fault.seen >= fault.nth &&
                 (fault.times == FAULT_FOR_EVER || fault.seen < fault.nth + fault.times);
        fault.failed = fault.failed || answer;
    }
    (void)pthread_mutex_unlock(&fault.mutex);
    return answer;
}

void fault_vfs_arm(unsigned kinds, unsigned nth, unsigned times)
{
    (void)pthread_mutex_lock(&fault.mutex);
    fault.kinds = kinds;
    fault.nth = nth;
    fault.times = times;
    fault.seen = 0;
    fault.failed = false;
    (void)pthread_mutex_unlock(&fault.mutex);
}

bool fault_vfs_disarm(void)
{
    bool failed;

    (void)pthread_mutex_lock(&fault.mutex);
    fault.kinds = 0;
    failed = fault.failed;
    (void)pthread_mutex_unlock(&fault.mutex);
    return failed;
}

void fault_vfs_skip_syncs(void)
{
    fault.skips_syncs = true;
}

void fault_vfs_hold_sync(void)
{
    (void)pthread_mutex_lock(&fault.mutex);
    fault.hold = true;
    (void)pthread_mutex_unlock(&fault.mutex);
}

void fault_vfs_await_held(void)
{
    (void)pthread_mutex_lock(&fault.mutex);
    while (!fault.held) {
        (void)pthread_cond_wait(&fault.changed, &fault.mutex);
    }
    (void)pthread_mutex_unlock(&fault.mutex);
}

void fault_vfs_let_go(void)
{
    (void)pthread_mutex_lock(&fault.mutex);
    fault.hold = false;
    (void)pthread_cond_broadcast(&fault.changed);
    (void)pthread_mutex_unlock(&fault.mutex);
}

static void wait_if_held(void)
{
    (void)pthread_mutex_lock(&fault.mutex);
    fault.held = fault.hold;
    (void)pthread_cond_broadcast(&fault.changed);
    while (fault.hold) {
        (void)pthread_cond_wait(&fault.changed, &fault.mutex);
    }
    fault.held = false;
    (void)pthread_mutex_unlock(&fault.mutex);
}

/* --- files ------------------------------------------------------------------------------------ */

static sqlite3_file *real(sqlite3_file *file)
{
    return ((struct fault_file *)(void *)file)->real;
}

static int file_close(sqlite3_file *file)
{
    return real(file)->pMethods->xClose(real(file));
}

static int file_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset)
{
    if (fault_vfs_fails(FAULT_READ)) {
        return SQLITE_IOERR_READ;
    }
    return real(file)->pMethods->xRead(real(file), bytes, count, offset);
}

static int file_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset)
{
    if (fault_vfs_fails(FAULT_WRITE)) {
        (void)real(file)->pMethods->xWrite(real(file), bytes, count / 2, offset);
        return SQLITE_FULL;
    }
    if (fault_vfs_fails(FAULT_WRITE_ERROR)) {
        return SQLITE_IOERR_WRITE;
    }
    return real(file)->pMethods->xWrite(real(file), bytes, count, offset);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    if (fault_vfs_fails(FAULT_TRUNCATE)) {
        return SQLITE_IOERR_TRUNCATE;
    }
    return real(file)->pMethods->xTruncate(real(file), size);
}

static int file_sync(sqlite3_file *file, int flags)
{
    wait_if_held();
    if (fault_vfs_fails(FAULT_SYNC)) {
        return SQLITE_IOERR_FSYNC;
    }
    return fault.skips_syncs ? SQLITE_OK : real(file)->pMethods->xSync(real(file), flags);
}

static int file_size(sqlite3_file *file, sqlite3_int64 *out)
{
    return real(file)->pMethods->xFileSize(real(file), out);
}

static int file_lock(sqlite3_file *file, int level)
{
    return real(file)->pMethods->xLock(real(file), level);
}

static int file_unlock(sqlite3_file *file, int level)
{
    return real(file)->pMethods->xUnlock(real(file), level);
}

static int file_check_lock(sqlite3_file *file, int *out)
{
    return real(file)->pMethods->xCheckReservedLock(real(file), out);
}

static int file_control(sqlite3_file *file, int op, void *argument)
{
    return real(file)->pMethods->xFileControl(real(file), op, argument);
}

static int file_sector(sqlite3_file *file)
{
    return real(file)->pMethods->xSectorSize(real(file));
}

static int file_device(sqlite3_file *file)
{
    return real(file)->pMethods->xDeviceCharacteristics(real(file));
}

static int file_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **out)
{
    return real(file)->pMethods->xShmMap(real(file), page, size, extend, out);
}

static int file_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    return real(file)->pMethods->xShmLock(real(file), offset, count, flags);
}

static void file_shm_barrier(sqlite3_file *file)
{
    real(file)->pMethods->xShmBarrier(real(file));
}

static int file_shm_unmap(sqlite3_file *file, int remove)
{
    return real(file)->pMethods->xShmUnmap(real(file), remove);
}

static const sqlite3_io_methods file_methods = {
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

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    struct fault_file *wrapped = (struct fault_file *)(void *)file;
    int rc;

    (void)vfs;
    file->pMethods = NULL; /* then SQLite does not close it */
    if (fault_vfs_fails(FAULT_OPEN)) {
        return SQLITE_CANTOPEN;
    }
    wrapped->real = (sqlite3_file *)(wrapped + 1);
    rc = fault.real->xOpen(fault.real, name, wrapped->real, flags, out);
    if (wrapped->real->pMethods != NULL) {
        file->pMethods = &file_methods;
    }
    return rc;
}

/* --- memory ----------------------------------------------------------------------------------- */

static void *memory_malloc(int bytes)
{
    return fault_vfs_fails(FAULT_MEMORY) ? NULL : fault.memory.xMalloc(bytes);
}

static void *memory_realloc(void *block, int bytes)
{
    return fault_vfs_fails(FAULT_MEMORY) ? NULL : fault.memory.xRealloc(block, bytes);
}

/* --- installing ------------------------------------------------------------------------------- */

void fault_vfs_install(void)
{
    static sqlite3_vfs vfs;
    sqlite3_mem_methods memory;
    int rc = sqlite3_config(SQLITE_CONFIG_GETMALLOC, &fault.memory);

    assert(rc == SQLITE_OK);
    memory = fault.memory;
    memory.xMalloc = memory_malloc;
    memory.xRealloc = memory_realloc;
    rc = sqlite3_config(SQLITE_CONFIG_MALLOC, &memory);
    assert(rc == SQLITE_OK);
    fault.real = sqlite3_vfs_find(NULL);
    vfs = *fault.real; /* what is not replaced gets its own vfs and ignores it, or only names it */
    vfs.zName = "fault";
    vfs.szOsFile = (int)sizeof(struct fault_file) + fault.real->szOsFile;
    vfs.xOpen = vfs_open;
    rc = sqlite3_vfs_register(&vfs, 1);
    assert(rc == SQLITE_OK);
    (void)rc;
}
