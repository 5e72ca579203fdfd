/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/net/here_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <uv.h>

#include "core/base/err.h"
#include "daemon/host/here.h"
#include "daemon/host/service.h"
#include "daemon/system/file.h"
#include "daemon/system/log.h"

/* The state of a file. If the state differs from the last one, the file has changed. All zero: the
 * file could not be read. The struct has no padding, so memcmp compares it. */
struct file_state {
    uint64_t device;
    uint64_t inode;
    uint64_t size;
    int64_t changed_s;
    int64_t changed_ns;
};

struct watched {
    struct here_watch *watch;
    size_t host; /* index in service->hosts */
    uv_fs_t look;
    bool looking;                      /* `look` is under way */
    struct file_state state;           /* of the file when it was last read */
    char path[CONFIG_HERE_FILE_BYTES]; /* the file that was last read, or tried; "": none */
};

struct here_watch {
    struct here_watch_options options;
    bool is_stopped;
    size_t count;
    char *buffer; /* HERE_FILE_BYTES_MAX + 1 */
    struct watched hosts[LIMIT_HOSTS];
};

static struct host *host_of(const struct watched *watched)
{
    return &watched->watch->options.service->hosts[watched->host];
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Reads the whole file, but at most HERE_FILE_BYTES_MAX + 1 bytes. Returns the number of bytes, or
 * -errno. */
static ssize_t read_whole(const char *path, char *buffer, struct file_state *out_state)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    ssize_t length;

    if (descriptor < 0) {
        return -errno;
    }
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        (void)close(descriptor);
        return -EINVAL;
    }
    length = file_read_all(descriptor, buffer, HERE_FILE_BYTES_MAX + 1);
    (void)close(descriptor); /* it was only read */
    *out_state = (struct file_state){.device = (uint64_t)status.st_dev,
                                     .inode = (uint64_t)status.st_ino,
                                     .size = (uint64_t)status.st_size,
                                     .changed_s = (int64_t)status.st_mtim.tv_sec,
                                     .changed_ns = (int64_t)status.st_mtim.tv_nsec};
    return length;
}

/* Sets the host's labels from the text of a file. `text` is NULL if there is no file. Returns false
 * if the text is wrong; then the labels stay as they were. */
static bool take_labels(struct watched *watched, const char *text, size_t length)
{
    struct host *host = host_of(watched);
    char reason[HERE_REASON_BYTES] = "";
    bool changed = false;
    int rc = service_set_here(watched->watch->options.service, host,
                              &(struct msg_text){text, length}, &changed, reason);

    if (rc != 0) {
        log_warning("host %s: %s: %s; the here labels stay as they were", host->config.name,
                    host->config.here_file, rc == HERE_REFUSED ? reason : err_text(rc));
    } else if (changed) {
        log_info("host %s: %zu here labels", host->config.name, host->here->count);
        watched->watch->options.changed(watched->watch->options.context, host);
    }
    return rc == 0;
}

static void read_file(struct watched *watched)
{
    const struct config_host *config = &host_of(watched)->config;
    bool is_other = strcmp(watched->path, config->here_file) != 0;
    struct file_state state = {.inode = 0};
    ssize_t length = read_whole(config->here_file, watched->watch->buffer, &state);

    if (length < 0 && (is_other || watched->state.inode != 0)) {
        log_warning("host %s: %s cannot be read: %s; the here labels stay as they were",
                    config->name, config->here_file,
                    length == -EINVAL ? "it is no regular file" : strerror((int)-length));
    }
    memcpy(watched->path, config->here_file, sizeof(watched->path));
    watched->state = state;
    bool taken = length >= 0 && take_labels(watched, watched->watch->buffer, (size_t)length);
    if (!taken && is_other) {
        (void)take_labels(watched, NULL, 0); /* the labels of the other file do not stay */
    }
}

/* --- looking ---------------------------------------------------------------------------------- */

static void on_looked(uv_fs_t *look)
{
    struct watched *watched = look->data;
    struct file_state state = {.inode = 0};

    watched->looking = false;
    if (look->result == 0) {
        state = (struct file_state){.device = look->statbuf.st_dev,
                                    .inode = look->statbuf.st_ino,
                                    .size = look->statbuf.st_size,
                                    .changed_s = look->statbuf.st_mtim.tv_sec,
                                    .changed_ns = look->statbuf.st_mtim.tv_nsec};
    }
    uv_fs_req_cleanup(look);
    if (!watched->watch->is_stopped && host_of(watched)->config.here_file[0] != '\0' &&
        memcmp(&state, &watched->state, sizeof(state)) != 0) {
        read_file(watched);
    }
}

void here_watch_tick(struct here_watch *watch)
{
    for (size_t i = 0; watch != NULL && i < watch->count; i++) {
        struct watched *watched = &watch->hosts[i];
        const char *file = host_of(watched)->config.here_file;

        if (file[0] != '\0' && !watched->looking) {
            watched->look.data = watched;
            watched->looking =
                uv_fs_stat(watch->options.loop, &watched->look, file, on_looked) == 0;
        }
    }
}

/* --- beginning and end ------------------------------------------------------------------------ */

void here_watch_reload(struct here_watch *watch)
{
    /* Hosts that a reload has added are at the end. */
    for (; watch != NULL && watch->count < watch->options.service->host_count; watch->count++) {
        watch->hosts[watch->count].watch = watch;
        watch->hosts[watch->count].host = watch->count;
    }
    for (size_t i = 0; watch != NULL && i < watch->count; i++) {
        struct watched *watched = &watch->hosts[i];

        if (host_of(watched)->config.here_file[0] != '\0') {
            read_file(watched);
        } else {
            watched->path[0] = '\0';
            (void)take_labels(watched, NULL, 0);
        }
    }
}

int here_watch_start(const struct here_watch_options *options, struct here_watch **out_watch)
{
    struct here_watch *watch = calloc(1, sizeof(*watch));

    if (watch == NULL || (watch->buffer = malloc(HERE_FILE_BYTES_MAX + 1)) == NULL) {
        free(watch);
        return -ERR_NOMEM;
    }
    watch->options = *options;
    here_watch_reload(watch);
    *out_watch = watch;
    return 0;
}

void here_watch_stop(struct here_watch *watch)
{
    if (watch != NULL) {
        watch->is_stopped = true;
    }
}

void here_watch_free(struct here_watch *watch)
{
    if (watch != NULL) {
        free(watch->buffer);
        free(watch);
    }
}
