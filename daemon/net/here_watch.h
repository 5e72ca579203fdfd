/* SPDX-License-Identifier: Apache-2.0 */
/*
 * here_watch: watches the files with here labels (`here_file`) and the tables of places
 * (`here_map`). Each file is looked at once a second. A file that has changed is read on a thread
 * of libuv's pool. If a file is wrong, the error is logged, and the host keeps the labels or the
 * table that it has, unless they are from another path. For the loop's thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include <uv.h>

struct config;
struct here_map;
struct here_watch;
struct host;
struct service;

/* What has changed. */
struct here_change {
    const struct host *host;        /* as it is now */
    const struct here_map *old_map; /* the host's table before, valid during the call; NULL: none */
    bool labels_changed;            /* host->here */
};

struct here_watch_options {
    uv_loop_t *loop;         /* borrowed, as the service is */
    struct service *service; /* whose hosts have the files */
    /*
     * Called when the labels of a host have changed, when the host gets a newly read table of
     * places, which may equal the old one, or when the host loses its table. here_watch_start reads
     * the files itself, and makes these calls before it returns.
     */
    void (*changed)(void *context, const struct here_change *change);
    void *context;
};

/* Reads the files of all hosts before it returns. Logs each file that is wrong or cannot be read.
 * Returns 0 or -ERR_NOMEM. */
int here_watch_start(const struct here_watch_options *options, struct here_watch **out_watch);

/* Call this function once a second. It looks whether files have changed. `watch` may be NULL. */
void here_watch_tick(struct here_watch *watch);

/* Whether the configuration names any file to look at. `watch` may be NULL. */
bool here_watch_has_files(const struct here_watch *watch);

/*
 * Call this function after a reload of the configuration, or when a host was added. It begins to
 * read the files of all hosts again. `watch` may be NULL.
 */
void here_watch_reload(struct here_watch *watch);

/* Reads the files of a configuration once, as here_watch_start does, and writes warnings of what is
 * wrong with them to `out`: for --check-config. */
void here_watch_check(const struct config *config, FILE *out);

/* Stops watching. What was read meanwhile is thrown away. NULL is fine. */
void here_watch_stop(struct here_watch *watch);

/* Frees the watch. Call this function when the loop has ended all its work. NULL is fine. */
void here_watch_free(struct here_watch *watch);
