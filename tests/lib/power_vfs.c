/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/power_vfs.h"

#include <assert.h>
#include <dirent.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

enum { PATH_BYTES = 512, FILES_MAX = 32 };

/* A write (bytes is not NULL) or a truncation that is on its way. */
struct change {
    struct change *next;
    size_t offset; /* a truncation: the size */
    size_t count;
    uint8_t bytes[];
};

/* A file as the storage has it, or will have it. */
struct image {
    char path[PATH_BYTES];
    uint8_t *bytes; /* on storage */
    size_t count;
    struct change *first; /* on its way, in order */
    struct change **last;
    bool is_named; /* its name is on storage */
    bool is_gone;  /* it was deleted, which may not have arrived */
};

/* Images of a directory, those of deleted files before those that took their names. */
struct power_snapshot {
    struct image *images[FILES_MAX];
    size_t count;
};

static struct {
    pthread_mutex_t mutex;
    struct power_snapshot now;
    size_t changes;
    bool ignores_syncs;
    void (*before_change)(void *context);
    void *context;
    sqlite3_vfs *real;
} power = {.mutex = PTHREAD_MUTEX_INITIALIZER};

struct power_file {
    sqlite3_file base;
    struct image *image; /* NULL: a temporary file */
    bool syncs_directory;
    sqlite3_file *real; /* lies behind this struct */
};

/* --- images ----------------------------------------------------------------------------------- */

static void *need(void *memory)
{
    if (memory == NULL) {
        abort();
    }
    return memory;
}

static struct image *image_new(const char *path)
{
    struct image *image = need(calloc(1, sizeof(*image)));

    (void)snprintf(image->path, sizeof(image->path), "%s", path);
    image->last = &image->first;
    return image;
}

static void forget_changes(struct image *image)
{
    while (image->first != NULL) {
        struct change *next = image->first->next;

        free(image->first);
        image->first = next;
    }
    image->last = &image->first;
}

static void image_free(struct image *image)
{
    forget_changes(image);
    free(image->bytes);
    free(image);
}

static struct change *change_new(size_t offset, const void *bytes, size_t count)
{
    struct change *change = need(malloc(sizeof(*change) + count));

    change->next = NULL;
    change->offset = offset;
    change->count = count;
    if (count > 0) {
        memcpy(change->bytes, bytes, count);
    }
    return change;
}

static void add_change(struct image *image, struct change *change)
{
    *image->last = change;
    image->last = &change->next;
}

/* What was there stays, and a gap is zeros. */
static void put(struct image *image, size_t offset, const uint8_t *bytes, size_t count)
{
    if (offset + count > image->count) {
        image->bytes = need(realloc(image->bytes, offset + count));
        memset(image->bytes + image->count, 0, offset + count - image->count);
        image->count = offset + count;
    }
    memcpy(image->bytes + offset, bytes, count);
}

static void cut(struct image *image, size_t count)
{
    if (count < image->count) {
        image->count = count;
    }
}

static void settle(struct image *image)
{
    for (struct change *change = image->first; change != NULL; change = change->next) {
        if (change->count > 0) {
            put(image, change->offset, change->bytes, change->count);
        } else {
            cut(image, change->offset);
        }
    }
    forget_changes(image);
}

static struct image *image_copy(const struct image *image)
{
    struct image *copy = image_new(image->path);

    copy->is_named = image->is_named;
    copy->is_gone = image->is_gone;
    if (image->count > 0) {
        put(copy, 0, image->bytes, image->count);
    }
    for (const struct change *change = image->first; change != NULL; change = change->next) {
        add_change(copy, change_new(change->offset, change->bytes, change->count));
    }
    return copy;
}

/* --- the directory ---------------------------------------------------------------------------- */

static void add_image(struct power_snapshot *snapshot, struct image *image)
{
    assert(snapshot->count < FILES_MAX);
    snapshot->images[snapshot->count++] = image;
}

static struct image *find_image(const char *path)
{
    for (size_t i = 0; i < power.now.count; i++) {
        if (!power.now.images[i]->is_gone && strcmp(power.now.images[i]->path, path) == 0) {
            return power.now.images[i];
        }
    }
    return NULL;
}

/* All names are on storage now, and what was deleted is gone for good. */
static void sync_directory(void)
{
    size_t kept = 0;

    for (size_t i = 0; i < power.now.count; i++) {
        struct image *image = power.now.images[i];

        if (image->is_gone) {
            image_free(image);
        } else {
            image->is_named = true;
            power.now.images[kept++] = image;
        }
    }
    power.now.count = kept;
}

static void clear(struct power_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->count; i++) {
        image_free(snapshot->images[i]);
    }
    snapshot->count = 0;
}

/* --- changes ---------------------------------------------------------------------------------- */

static void announce(void)
{
    if (power.before_change != NULL) {
        power.before_change(power.context);
    }
}

static void note(struct power_file *file, struct change *change)
{
    (void)pthread_mutex_lock(&power.mutex);
    add_change(file->image, change);
    power.changes++;
    (void)pthread_mutex_unlock(&power.mutex);
}

static void note_sync(struct power_file *file)
{
    (void)pthread_mutex_lock(&power.mutex);
    if (!power.ignores_syncs) {
        settle(file->image);
        if (file->syncs_directory) {
            sync_directory();
        }
        file->syncs_directory = false;
    }
    power.changes++;
    (void)pthread_mutex_unlock(&power.mutex);
}

/* --- files ------------------------------------------------------------------------------------ */

static struct power_file *self(sqlite3_file *file)
{
    return (struct power_file *)(void *)file;
}

static sqlite3_file *real(sqlite3_file *file)
{
    return self(file)->real;
}

static int file_close(sqlite3_file *file)
{
    return real(file)->pMethods->xClose(real(file));
}

static int file_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset)
{
    return real(file)->pMethods->xRead(real(file), bytes, count, offset);
}

static int file_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset)
{
    if (self(file)->image != NULL && count > 0) {
        announce();
        note(self(file), change_new((size_t)offset, bytes, (size_t)count));
    }
    return real(file)->pMethods->xWrite(real(file), bytes, count, offset);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    if (self(file)->image != NULL) {
        announce();
        note(self(file), change_new((size_t)size, NULL, 0));
    }
    return real(file)->pMethods->xTruncate(real(file), size);
}

static int file_sync(sqlite3_file *file, int flags)
{
    (void)flags;
    if (self(file)->image != NULL) {
        announce();
        note_sync(self(file));
    }
    return SQLITE_OK; /* the machine that runs the test stays on */
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

/* The image of a file that was opened, made if the file was. */
static struct image *image_of(const char *name)
{
    struct image *image;

    (void)pthread_mutex_lock(&power.mutex);
    image = find_image(name);
    if (image == NULL) {
        image = image_new(name);
        add_image(&power.now, image);
        power.changes++;
    }
    (void)pthread_mutex_unlock(&power.mutex);
    return image;
}

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    struct power_file *wrapped = self(file);
    int rc;

    (void)vfs;
    file->pMethods = NULL; /* then SQLite does not close it */
    wrapped->real = (sqlite3_file *)(wrapped + 1);
    wrapped->image = NULL;
    rc = power.real->xOpen(power.real, name, wrapped->real, flags, out);
    if (wrapped->real->pMethods != NULL) {
        file->pMethods = &file_methods;
    }
    if (rc == SQLITE_OK && name != NULL && (flags & SQLITE_OPEN_DELETEONCLOSE) == 0) {
        wrapped->image = image_of(name);
        /* As SQLite's own for Unix does it. */
        wrapped->syncs_directory = (flags & SQLITE_OPEN_CREATE) != 0 &&
                                   (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL)) != 0;
    }
    return rc;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int syncs_directory)
{
    struct image *image;

    (void)vfs;
    announce();
    (void)pthread_mutex_lock(&power.mutex);
    image = find_image(name);
    if (image != NULL) {
        image->is_gone = true;
        power.changes++;
    }
    if (syncs_directory != 0 && !power.ignores_syncs) {
        sync_directory();
    }
    (void)pthread_mutex_unlock(&power.mutex);
    return power.real->xDelete(power.real, name, 0);
}

/* --- from outside ----------------------------------------------------------------------------- */

void power_vfs_install(void)
{
    static sqlite3_vfs vfs;
    int rc;

    power.real = sqlite3_vfs_find(NULL);
    vfs = *power.real; /* what is not replaced gets its own vfs and ignores it, or only names it */
    vfs.zName = "power";
    vfs.szOsFile = (int)sizeof(struct power_file) + power.real->szOsFile;
    vfs.xOpen = vfs_open;
    vfs.xDelete = vfs_delete;
    rc = sqlite3_vfs_register(&vfs, 1);
    assert(rc == SQLITE_OK);
    (void)rc;
}

static void load(const char *path)
{
    struct image *image = image_new(path);
    uint8_t piece[4096];
    FILE *file = need(fopen(path, "rb"));
    size_t count;

    while ((count = fread(piece, 1, sizeof(piece), file)) > 0) {
        put(image, image->count, piece, count);
    }
    (void)fclose(file); /* it was only read */
    image->is_named = true;
    add_image(&power.now, image);
}

void power_vfs_begin(const char *directory)
{
    DIR *entries = need(opendir(directory));
    struct dirent *entry;
    char path[PATH_BYTES];

    (void)pthread_mutex_lock(&power.mutex);
    clear(&power.now);
    power.changes = 0;
    while ((entry = readdir(entries)) != NULL) {
        if (entry->d_name[0] != '.') {
            (void)snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
            load(path);
        }
    }
    (void)pthread_mutex_unlock(&power.mutex);
    (void)closedir(entries);
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

size_t power_vfs_changes(void)
{
    size_t changes;

    (void)pthread_mutex_lock(&power.mutex);
    changes = power.changes;
    (void)pthread_mutex_unlock(&power.mutex);
    return changes;
}

struct power_snapshot *power_vfs_snapshot(void)
{
    struct power_snapshot *snapshot = need(calloc(1, sizeof(*snapshot)));

    (void)pthread_mutex_lock(&power.mutex);
    for (size_t i = 0; i < power.now.count; i++) {
        add_image(snapshot, image_copy(power.now.images[i]));
    }
    (void)pthread_mutex_unlock(&power.mutex);
    return snapshot;
}

void power_snapshot_free(struct power_snapshot *snapshot)
{
    if (snapshot != NULL) {
        clear(snapshot);
        free(snapshot);
    }
}

/* --- what is left ----------------------------------------------------------------------------- */

/* How much of what was on its way arrives, in hundredths; drawn for each cut. */
struct weather {
    struct rng *rng;
    uint32_t sector_bytes;
    uint32_t arrives;  /* of a sector */
    uint32_t is_torn;  /* of a sector that arrives: only its first bytes do */
    uint32_t in_order; /* changes of a file until here all arrive, and later ones do not */
    bool has_in_order;
};

static bool arrives(const struct weather *weather, uint32_t place)
{
    if (weather->has_in_order) {
        return place < weather->in_order;
    }
    return rng_chance(weather->rng, weather->arrives);
}

static void restore_write(const struct weather *weather, const struct change *change,
                          uint32_t place, struct image *out)
{
    const size_t sector = weather->sector_bytes;
    size_t at = 0;

    while (at < change->count) {
        const size_t left = change->count - at;
        const size_t in_sector = sector - (change->offset + at) % sector;
        const size_t count = in_sector < left ? in_sector : left;

        if (arrives(weather, place)) {
            const bool is_torn = rng_chance(weather->rng, weather->is_torn);
            const size_t kept = is_torn ? rng_below(weather->rng, (uint32_t)count) : count;

            if (kept > 0) {
                put(out, change->offset + at, change->bytes + at, kept);
            }
        }
        at += count;
    }
}

static void restore_image(const struct image *image, struct weather *weather, const char *directory)
{
    struct image *out = image_new(strrchr(image->path, '/') + 1);
    char path[PATH_BYTES + PATH_BYTES];
    uint32_t place = 0;
    uint32_t changes = 0;
    FILE *file;

    for (const struct change *change = image->first; change != NULL; change = change->next) {
        changes++;
    }
    weather->in_order = rng_below(weather->rng, changes + 1);
    if (image->count > 0) {
        put(out, 0, image->bytes, image->count);
    }
    for (const struct change *change = image->first; change != NULL; change = change->next) {
        if (change->count > 0) {
            restore_write(weather, change, place, out);
        } else if (arrives(weather, place)) {
            cut(out, change->offset);
        }
        place++;
    }
    (void)snprintf(path, sizeof(path), "%s/%s", directory, out->path);
    file = need(fopen(path, "wb"));
    if ((out->count > 0 && fwrite(out->bytes, 1, out->count, file) != out->count) ||
        fclose(file) != 0) { /* bytes of an empty one are NULL */
        abort();
    }
    image_free(out);
}

/* Which of the files of the image's name there is: one of the deleted ones, it, or none. */
static const struct image *survivor(const struct power_snapshot *snapshot, size_t first,
                                    struct rng *rng)
{
    const struct image *chosen = NULL;

    for (size_t i = first; i < snapshot->count; i++) {
        const struct image *image = snapshot->images[i];

        if (strcmp(image->path, snapshot->images[first]->path) != 0) {
            continue;
        }
        if (image->is_named && !image->is_gone) {
            return image;
        }
        /* One that was on storage by name is there, or its deletion has arrived. */
        if (chosen == NULL || rng_chance(rng, 50)) {
            chosen = image;
        }
    }
    return rng_chance(rng, 50) ? NULL : chosen;
}

static bool is_first_of_name(const struct power_snapshot *snapshot, size_t place)
{
    for (size_t i = 0; i < place; i++) {
        if (strcmp(snapshot->images[i]->path, snapshot->images[place]->path) == 0) {
            return false;
        }
    }
    return true;
}

void power_snapshot_restore(const struct power_snapshot *snapshot, struct rng *rng,
                            const char *directory)
{
    static const uint32_t shares[] = {0, 10, 50, 90, 100};
    struct weather weather = {
        .rng = rng,
        .sector_bytes = rng_chance(rng, 50) ? 512 : 4096,
        .arrives = shares[rng_below(rng, 5)],
        .is_torn = rng_chance(rng, 50) ? 20 : 0,
        .has_in_order = rng_chance(rng, 30),
    };

    for (size_t i = 0; i < snapshot->count; i++) {
        const struct image *image;

        if (!is_first_of_name(snapshot, i)) {
            continue;
        }
        image = survivor(snapshot, i, rng);
        if (image != NULL) {
            restore_image(image, &weather, directory);
        }
    }
}
