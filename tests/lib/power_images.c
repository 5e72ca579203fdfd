/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/power_images.h"

#include <assert.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A write (count is not 0) or a truncation that is on its way. */
struct change {
    struct change *next;
    size_t offset; /* a truncation: the size */
    size_t count;
    uint8_t bytes[];
};

struct content {
    uint8_t *bytes; /* on storage */
    size_t count;
    struct change *first; /* on its way, in order */
    struct change **last;
    unsigned users;
    struct content *copy; /* while a snapshot is taken */
};

static void *need(void *memory)
{
    if (memory == NULL) {
        abort();
    }
    return memory;
}

/* --- contents --------------------------------------------------------------------------------- */

static struct content *content_new(void)
{
    struct content *content = need(calloc(1, sizeof(*content)));

    content->last = &content->first;
    return content;
}

static void forget_changes(struct content *content)
{
    while (content->first != NULL) {
        struct change *next = content->first->next;

        free(content->first);
        content->first = next;
    }
    content->last = &content->first;
}

void content_use(struct content *content)
{
    content->users++;
}

void content_leave(struct content *content)
{
    if (content != NULL && --content->users == 0) {
        forget_changes(content);
        free(content->bytes);
        free(content);
    }
}

static void add_change(struct content *content, size_t offset, const void *bytes, size_t count)
{
    struct change *change = need(malloc(sizeof(*change) + count));

    change->next = NULL;
    change->offset = offset;
    change->count = count;
    if (count > 0) {
        memcpy(change->bytes, bytes, count);
    }
    *content->last = change;
    content->last = &change->next;
}

void content_write(struct content *content, size_t offset, const void *bytes, size_t count)
{
    if (count > 0) {
        add_change(content, offset, bytes, count);
    }
}

void content_cut(struct content *content, size_t size)
{
    add_change(content, size, NULL, 0);
}

/* What was there stays, and a gap is zeros. */
static void put(struct content *content, size_t offset, const uint8_t *bytes, size_t count)
{
    if (offset + count > content->count) {
        content->bytes = need(realloc(content->bytes, offset + count));
        memset(content->bytes + content->count, 0, offset + count - content->count);
        content->count = offset + count;
    }
    memcpy(content->bytes + offset, bytes, count);
}

static void cut(struct content *content, size_t count)
{
    if (count < content->count) {
        content->count = count;
    }
}

void content_sync(struct content *content)
{
    for (struct change *change = content->first; change != NULL; change = change->next) {
        if (change->count > 0) {
            put(content, change->offset, change->bytes, change->count);
        } else {
            cut(content, change->offset);
        }
    }
    forget_changes(content);
}

static struct content *content_copy(const struct content *content)
{
    struct content *copy = content_new();

    if (content->count > 0) {
        put(copy, 0, content->bytes, content->count);
    }
    for (const struct change *change = content->first; change != NULL; change = change->next) {
        add_change(copy, change->offset, change->bytes, change->count);
    }
    return copy;
}

/* --- names ------------------------------------------------------------------------------------ */

struct image *images_find(const struct power_snapshot *images, const char *path)
{
    for (size_t i = 0; i < images->count; i++) {
        if (!images->images[i]->is_gone && strcmp(images->images[i]->path, path) == 0) {
            return images->images[i];
        }
    }
    return NULL;
}

struct image *images_add(struct power_snapshot *images, const char *path, struct content *content)
{
    struct image *image = need(calloc(1, sizeof(*image)));

    assert(images->count < POWER_NAMES_MAX);
    (void)snprintf(image->path, sizeof(image->path), "%s", path);
    image->content = content != NULL ? content : content_new();
    content_use(image->content);
    images->images[images->count++] = image;
    return image;
}

static void image_free(struct image *image)
{
    content_leave(image->content);
    free(image);
}

void images_sync(struct power_snapshot *images)
{
    size_t kept = 0;

    for (size_t i = 0; i < images->count; i++) {
        struct image *image = images->images[i];

        if (image->is_gone) {
            image_free(image);
        } else {
            image->is_named = true;
            images->images[kept++] = image;
        }
    }
    images->count = kept;
}

void images_clear(struct power_snapshot *images)
{
    for (size_t i = 0; i < images->count; i++) {
        image_free(images->images[i]);
    }
    images->count = 0;
}

static void load(struct power_snapshot *images, const char *path)
{
    struct image *image = images_add(images, path, NULL);
    uint8_t piece[4096];
    FILE *file = need(fopen(path, "rb"));
    size_t count;

    while ((count = fread(piece, 1, sizeof(piece), file)) > 0) {
        put(image->content, image->content->count, piece, count);
    }
    (void)fclose(file); /* it was only read */
    image->is_named = true;
}

void images_load(struct power_snapshot *images, const char *directory)
{
    DIR *entries = need(opendir(directory));
    struct dirent *entry;
    char path[POWER_PATH_BYTES];

    while ((entry = readdir(entries)) != NULL) {
        if (entry->d_name[0] != '.') {
            (void)snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
            load(images, path);
        }
    }
    (void)closedir(entries);
}

void images_copy(const struct power_snapshot *images, struct power_snapshot *out)
{
    for (size_t i = 0; i < images->count; i++) {
        images->images[i]->content->copy = NULL;
    }
    for (size_t i = 0; i < images->count; i++) {
        const struct image *from = images->images[i];
        struct image *to;

        if (from->content->copy == NULL) {
            from->content->copy = content_copy(from->content);
        }
        to = images_add(out, from->path, from->content->copy);
        to->is_named = from->is_named;
        to->is_gone = from->is_gone;
    }
}

void power_snapshot_free(struct power_snapshot *snapshot)
{
    if (snapshot != NULL) {
        images_clear(snapshot);
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
                          uint32_t place, struct content *out)
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
    const struct content *content = image->content;
    struct content out = {.bytes = NULL};
    char path[2 * POWER_PATH_BYTES];
    uint32_t place = 0;
    uint32_t changes = 0;
    FILE *file;

    for (const struct change *change = content->first; change != NULL; change = change->next) {
        changes++;
    }
    weather->in_order = rng_below(weather->rng, changes + 1);
    if (content->count > 0) {
        put(&out, 0, content->bytes, content->count);
    }
    for (const struct change *change = content->first; change != NULL; change = change->next) {
        if (change->count > 0) {
            restore_write(weather, change, place, &out);
        } else if (arrives(weather, place)) {
            cut(&out, change->offset);
        }
        place++;
    }
    (void)snprintf(path, sizeof(path), "%s/%s", directory, strrchr(image->path, '/') + 1);
    file = need(fopen(path, "wb"));
    if ((out.count > 0 && fwrite(out.bytes, 1, out.count, file) != out.count) ||
        fclose(file) != 0) { /* bytes of an empty one are NULL */
        abort();
    }
    free(out.bytes);
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
