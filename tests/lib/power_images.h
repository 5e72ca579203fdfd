/* SPDX-License-Identifier: Apache-2.0 */
/*
 * power_images: what a directory's files are on storage, and what is on its way there. The inside
 * of power_vfs; its caller lets one thread in at a time.
 *
 * A file's content and its names are two things: a name may be made, given to another content and
 * taken away before the content is on storage, or after.
 */
#pragma once

#include "tests/lib/power_vfs.h"

enum { POWER_PATH_BYTES = 512, POWER_NAMES_MAX = 64 };

/* Counted: by the names that it has, and by those who have it open. */
struct content;

/* A name, or one that was taken away, which may not have arrived. */
struct image {
    char path[POWER_PATH_BYTES];
    struct content *content;
    bool is_named; /* on storage */
    bool is_gone;
};

/* Images of a directory, those of names taken away before those that were made anew. */
struct power_snapshot {
    struct image *images[POWER_NAMES_MAX];
    size_t count;
};

void content_use(struct content *content);
void content_leave(struct content *content); /* NULL is fine */

/* On their way from now on. */
void content_write(struct content *content, size_t offset, const void *bytes, size_t count);
void content_cut(struct content *content, size_t size);
void content_sync(struct content *content); /* all of it has arrived */

/* NULL: there is no such name. */
struct image *images_find(const struct power_snapshot *images, const char *path);

/* A new name, for that content (used) or, with NULL, for an empty one. */
struct image *images_add(struct power_snapshot *images, const char *path, struct content *content);

/* All names are on storage now, and those that were taken away are gone for good. */
void images_sync(struct power_snapshot *images);

void images_clear(struct power_snapshot *images);

/* The files that are in a directory, as on storage. */
void images_load(struct power_snapshot *images, const char *directory);

/* Copies all of it. */
void images_copy(const struct power_snapshot *images, struct power_snapshot *out);
