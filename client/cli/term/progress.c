/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/term/out.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

enum { REDRAW_MS = 200, CELLS = 24 };

void progress_init(struct progress *progress, const struct out *err, int fd, int64_t now_ms)
{
    memset(progress, 0, sizeof(*progress));
    progress->err = err;
    progress->began_ms = now_ms;
    progress->drawn_ms = now_ms;
    struct stat state;
    if (fstat(fd, &state) == 0 && S_ISREG(state.st_mode) && state.st_size > 0) {
        progress->total_bytes = (uint64_t)state.st_size;
    }
}

static void draw_bar(const struct progress *progress, uint64_t bytes)
{
    uint64_t total = progress->total_bytes;
    bytes = bytes < total ? bytes : total;
    unsigned filled = (unsigned)(bytes * CELLS / total);
    (void)fputc('[', progress->err->stream);
    for (unsigned i = 0; i < CELLS; i++) {
        (void)fputc(i < filled ? '#' : '.', progress->err->stream);
    }
    (void)fprintf(progress->err->stream, "] %3u %%  ", (unsigned)(bytes * 100 / total));
}

void progress_show(struct progress *progress, uint64_t bytes, uint64_t messages, int64_t now_ms)
{
    FILE *stream = progress->err->stream;
    if (!progress->err->terminal || now_ms - progress->drawn_ms < REDRAW_MS) {
        return;
    }
    uint64_t elapsed_ms = (uint64_t)(now_ms - progress->began_ms);
    (void)fputs("\r\x1b[K", stream);
    if (progress->total_bytes > 0) {
        draw_bar(progress, bytes);
    }
    (void)fprintf(stream, "%" PRIu64 " lines  %" PRIu64 "/s", messages,
                  messages * 1000 / elapsed_ms);
    if (progress->total_bytes > bytes && bytes > 0) {
        uint64_t left_s = (progress->total_bytes - bytes) * elapsed_ms / bytes / 1000;
        (void)fprintf(stream, "  %" PRIu64 ":%02u left", left_s / 60, (unsigned)(left_s % 60));
    }
    (void)fflush(stream); /* only a bar */
    progress->drawn_ms = now_ms;
    progress->drawn = true;
}

void progress_hide(struct progress *progress)
{
    if (progress->drawn) {
        (void)fputs("\r\x1b[K", progress->err->stream);
        progress->drawn = false;
    }
}
