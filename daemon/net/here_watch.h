/* SPDX-License-Identifier: Apache-2.0 */
/*
 * here_watch: watches the files with here labels (`here_file`). Each file is looked at once a
 * second, outside of the loop's thread, and read when it has changed. A file with an error is
 * logged, and the host's labels stay as they are. For the loop's thread only.
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
    /* The labels of a host have changed; also called before here_watch_start returns. */
    void (*changed)(void *context, const struct host *host);
    void *context;
};

/* Reads all files. A file that cannot be read is logged. 0 or -ERR_NOMEM. */
int here_watch_start(const struct here_watch_options *options, struct here_watch **out_watch);

/* To be called once a second: looks whether files have changed. NULL is fine. */
void here_watch_tick(struct here_watch *watch);

/* After a reload of the configuration: reads all files again. NULL is fine. */
void here_watch_reload(struct here_watch *watch);

/* No file is read any more. NULL is fine. */
void here_watch_stop(struct here_watch *watch);

/* When the loop has nothing under way any more. NULL is fine. */
void here_watch_free(struct here_watch *watch);

#endif
