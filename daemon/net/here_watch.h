/* SPDX-License-Identifier: Apache-2.0 */
/*
 * here_watch: looks after the files with here labels (`here_file`). Each is looked at once a
 * second, off the loop, and read when it has changed; content that is wrong is logged and leaves
 * the labels as they were. Sessions are told of labels that changed.
 */
#ifndef DAEMON_NET_HERE_WATCH_H
#define DAEMON_NET_HERE_WATCH_H

struct server;
struct here_watch;

/* Reads all files. A file that cannot be read is logged. -ERR_NOMEM. */
int here_watch_start(struct server *server, struct here_watch **out_watch);

/* To be called every second: looks whether files have changed. NULL is fine. */
void here_watch_tick(struct here_watch *watch);

/* The configuration was reloaded: all labels are made anew. */
void here_watch_reload(struct here_watch *watch);

/* When the loop has nothing under way any more. NULL is fine. */
void here_watch_free(struct here_watch *watch);

#endif
