/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress: shows a progress bar with rate and remaining time on standard error, if standard error
 * is a terminal.
 */
#ifndef CLIENT_CLI_TERM_PROGRESS_H
#define CLIENT_CLI_TERM_PROGRESS_H

#include <stdint.h>

#include "client/cli/term/out.h"

struct progress {
    const struct out *err; /* borrowed */
    uint64_t total_bytes;  /* of the input; 0: not known */
    int64_t began_ms;      /* monotonic, as all times here */
    int64_t drawn_ms;
    bool drawn; /* the bar is on the terminal now */
};

/* fd: the input; a file's size becomes total_bytes. */
void progress_init(struct progress *progress, const struct out *err, int fd, int64_t now_ms);

/*
 * Draws the bar, at most once in 200 ms. `bytes` is the number of bytes of the input that are done,
 * `messages` the number of messages.
 */
void progress_show(struct progress *progress, uint64_t bytes, uint64_t messages, int64_t now_ms);

/* Removes the bar. Call it before anything else is written to standard error. */
void progress_hide(struct progress *progress);

#endif
