/* SPDX-License-Identifier: Apache-2.0 */
/*
 * here_watch: watches the files with here labels (`here_file`). Each file is examined once a
 * second, outside of the loop's thread. A file that has changed is read. If a file has an error,
 * the error is logged, and the host's labels stay as they are. For the loop's thread only.
 */
#ifndef DAEMON_NET_HERE_WATCH_H
#define DAEMON_NET_HERE_WATCH_H

#include <uv.h>

struct here_watch;
struct host;
struct service;

struct here_watch_options {
    uv_loop_t *loop;         /* borrowed, as the service is */
    struct service *service; /* whose hosts have the files */
    /* The labels of a host have changed. Also called before here_watch_start returns. */
    void (*changed)(void *context, const struct host *host);
    void *context;
};

/* Reads all files. A file that cannot be read is logged. Returns 0 or -ERR_NOMEM. */
int here_watch_start(const struct here_watch_options *options, struct here_watch **out_watch);

/* Call this function once a second: it finds out which files have changed. NULL is allowed. */
void here_watch_tick(struct here_watch *watch);

/* Reads all files again, after a reload of the configuration. NULL is allowed. */
void here_watch_reload(struct here_watch *watch);

/* No file is read any more. NULL is fine. */
void here_watch_stop(struct here_watch *watch);

/* Frees the watch. No work of the loop may be under way. NULL is allowed. */
void here_watch_free(struct here_watch *watch);

#endif
