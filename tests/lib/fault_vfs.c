/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/fault_vfs.h"

#include <assert.h>
#include <pthread.h>

#include "tests/lib/pass_vfs.h"

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
    sqlite3_mem_methods memory;
} fault = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

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

static int file_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset)
{
    if (fault_vfs_fails(FAULT_READ)) {
        return SQLITE_IOERR_READ;
    }
    return pass_real(file)->pMethods->xRead(pass_real(file), bytes, count, offset);
}

static int file_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset)
{
    if (fault_vfs_fails(FAULT_WRITE)) {
        (void)pass_write(file, bytes, count / 2, offset);
        return SQLITE_FULL;
    }
    if (fault_vfs_fails(FAULT_WRITE_ERROR)) {
        return SQLITE_IOERR_WRITE;
    }
    return pass_write(file, bytes, count, offset);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    if (fault_vfs_fails(FAULT_TRUNCATE)) {
        return SQLITE_IOERR_TRUNCATE;
    }
    return pass_truncate(file, size);
}

static int file_sync(sqlite3_file *file, int flags)
{
    wait_if_held();
    if (fault_vfs_fails(FAULT_SYNC)) {
        return SQLITE_IOERR_FSYNC;
    }
    return fault.skips_syncs ? SQLITE_OK : pass_real(file)->pMethods->xSync(pass_real(file), flags);
}

static sqlite3_io_methods file_methods;

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    file->pMethods = NULL; /* then SQLite does not close it */
    if (fault_vfs_fails(FAULT_OPEN)) {
        return SQLITE_CANTOPEN;
    }
    return pass_open(vfs, name, file, sizeof(struct pass_file), &file_methods, flags, out);
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
    (void)rc;
    file_methods = pass_methods();
    file_methods.xRead = file_read;
    file_methods.xWrite = file_write;
    file_methods.xTruncate = file_truncate;
    file_methods.xSync = file_sync;
    (void)pass_install(&vfs, "fault", sizeof(struct pass_file), vfs_open);
    pass_refuse_maps_if_asked(&vfs);
}
