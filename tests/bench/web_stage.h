/* SPDX-License-Identifier: Apache-2.0 */
/* web_stage: a hearsayd with a hearsay-web in front, each a process of its own on loopback. */
#pragma once

#include "tests/bench/child.h"

struct web_stage_options {
    const struct bench_options *bench;
    const char *hearsay_web; /* the programs */
    const char *hearsay;
    const char *daemon_lines; /* more lines of [daemon], and of sections after [limits]; or NULL */
    const char *limit_lines;
    const char *web_lines; /* more lines of [web], or NULL */
};

struct web_stage {
    struct web_stage_options options;
    struct child_directory data;    /* on the storage that is measured */
    struct child_directory sockets; /* that the page's user may enter */
    struct child daemon;
    struct child web;
};

/* Starts both programs and waits until the page is there. 0 or -1; web_stage_end in both cases. */
int web_stage_begin(struct web_stage *stage, const struct web_stage_options *options);

/* Ends hearsay-web and starts it again; its port changes. 0 or -1. */
int web_stage_restart_web(struct web_stage *stage);

void web_stage_end(struct web_stage *stage); /* a zeroed one is fine */

/* Starts lighttpd with one file of these bytes. 1: there is no lighttpd. 0 or -1. */
int web_stage_start_lighttpd(const struct web_stage *stage, struct child *child, const char *page);

/* Reads one figure of `hearsay admin stats --json`; -1 after a message on standard error. */
double web_stage_figure(const struct web_stage *stage, const char *name);

/* Writes the name of the page into out, as browsers send it in Host. */
void web_stage_name(const struct web_stage *stage, char *out, size_t room);
