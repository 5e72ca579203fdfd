/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/net/here_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* The two files of a host. */
enum kind { KIND_LABELS, KIND_MAP, KINDS };

static const size_t bytes_max[KINDS] = {HERE_FILE_BYTES_MAX, HERE_MAP_BYTES_MAX};

/* A file that is read, on the loop's thread or on another one. */
struct reading {
    char path[CONFIG_HERE_FILE_BYTES];
    enum kind kind;
    size_t frame_bytes;
    const struct alloc *alloc;
    struct file_state state;
    char *text;           /* owned */
    ssize_t length;       /* of `text`; -errno: the file could not be read */
    struct here_map *map; /* of KIND_MAP: owned */
    int rc;               /* of here_map_new */
    char reason[HERE_MAP_REASON_BYTES];
};

struct watched {
    struct here_watch *watch;
    enum kind kind;
    size_t host; /* index in service->hosts */
    uv_fs_t look;
    uv_work_t work;
    bool is_busy;     /* `look` or `work` is under way */
    bool reads_again; /* when `look` or `work` is done, the file is read again: the configuration
                         has changed */
    struct file_state state;           /* of the file when it was last read */
    char path[CONFIG_HERE_FILE_BYTES]; /* the file that was last read, or tried; "": none */
    struct reading reading;
};

struct here_watch {
    struct here_watch_options options;
    bool is_stopped;
    size_t count;
    struct watched hosts[LIMIT_HOSTS][KINDS];
};

static struct host *host_of(const struct watched *watched)
{
    return &watched->watch->options.service->hosts[watched->host];
}

/* The path that the configuration names; "": none. */
static const char *path_of(const struct watched *watched)
{
    const struct config_host *config = &host_of(watched)->config;

    return watched->kind == KIND_MAP ? config->here_map : config->here_file;
}

static bool same_state(const struct file_state *a, const struct file_state *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

/* --- what is wrong with a file ---------------------------------------------------------------- */

enum { SENTENCE_BYTES = CONFIG_HERE_FILE_BYTES + HERE_MAP_REASON_BYTES + 256 };

static void say_unread(const struct reading *reading, const char *host, char *out_sentence)
{
    (void)snprintf(
        out_sentence, SENTENCE_BYTES, "host %s: %s cannot be read: %s", host, reading->path,
        reading->length == -EINVAL ? "it is no regular file" : strerror((int)-reading->length));
}

static void say_refused(const struct reading *reading, const char *host, int rc, const char *reason,
                        char *out_sentence)
{
    (void)snprintf(out_sentence, SENTENCE_BYTES, "host %s: %s: %s", host, reading->path,
                   rc < 0 ? err_text(rc) : reason);
}

/* Whether a file was read that does not end with a line feed: whoever writes it may not be done. If
 * so, writes a sentence that says it. */
static bool say_cut(const struct reading *reading, const char *host, char *out_sentence)
{
    if (reading->text == NULL || reading->length <= 0 ||
        reading->text[reading->length - 1] == '\n') {
        return false;
    }
    (void)snprintf(out_sentence, SENTENCE_BYTES,
                   "host %s: %s ends without a line feed, so its last line may have been cut off",
                   host, reading->path);
    return true;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Reads the file, at most the allowed size and one byte more. The additional byte shows that the
 * file is too large. */
static void read_whole(struct reading *reading)
{
    int descriptor = open(reading->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;

    if (descriptor < 0) {
        reading->length = -errno;
        return;
    }
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        reading->length = -EINVAL;
    } else {
        size_t most = bytes_max[reading->kind] + 1;
        size_t room = (uint64_t)status.st_size < most ? (size_t)status.st_size + 1 : most;

        reading->text = malloc(room);
        reading->length =
            reading->text == NULL ? -ENOMEM : file_read_all(descriptor, reading->text, room);
        reading->state = (struct file_state){.device = (uint64_t)status.st_dev,
                                             .inode = (uint64_t)status.st_ino,
                                             .size = (uint64_t)status.st_size,
                                             .changed_s = (int64_t)status.st_mtim.tv_sec,
                                             .changed_ns = (int64_t)status.st_mtim.tv_nsec};
    }
    (void)close(descriptor); /* it was only read */
}

/* Reads a file, and makes a table of it if it is a `here_map`. Runs on a worker thread after the
 * start, because a large table takes longer than a turn of the loop should. */
static void reading_run(struct reading *reading)
{
    read_whole(reading);
    if (reading->kind == KIND_MAP && reading->length >= 0) {
        reading->rc = here_map_new(reading->alloc, reading->text, (size_t)reading->length,
                                   reading->frame_bytes, &reading->map, reading->reason);
    }
}

static void reading_begin(struct watched *watched)
{
    const struct service *service = watched->watch->options.service;
    struct reading *reading = &watched->reading;

    *reading = (struct reading){.kind = watched->kind,
                                .frame_bytes = service_here_frame_bytes(&service->config),
                                .alloc = service->alloc};
    memcpy(reading->path, path_of(watched), sizeof(reading->path));
}

static void reading_end(struct reading *reading)
{
    free(reading->text);
    here_map_free(reading->map);
    reading->text = NULL;
    reading->map = NULL;
}

/* --- taking what was read --------------------------------------------------------------------- */

static void tell_changed(const struct watched *watched, const struct here_change *change)
{
    watched->watch->options.changed(watched->watch->options.context, change);
}

static const char *what_stays(const struct watched *watched)
{
    return watched->kind == KIND_MAP ? "the here map stays as it was"
                                     : "the here labels stay as they were";
}

/* Warns of lines that are wrong, and of a file that may have been cut off in its last line. */
static void warn_of_left_out(const struct watched *watched, size_t count, const char *reason)
{
    const struct reading *reading = &watched->reading;
    const char *name = host_of(watched)->config.name;
    char sentence[SENTENCE_BYTES];

    if (count > 0) {
        say_refused(reading, name, HERE_REFUSED, reason, sentence);
        log_warning("%s", sentence);
    }
    if (say_cut(reading, name, sentence)) {
        log_warning("%s", sentence);
    }
}

static void warn_refused(const struct watched *watched, int rc, const char *reason)
{
    char sentence[SENTENCE_BYTES];

    say_refused(&watched->reading, host_of(watched)->config.name, rc, reason, sentence);
    log_warning("%s; %s", sentence, what_stays(watched));
}

/* Sets the host's labels from the text of a file. `text` NULL: there is no file. Returns false if
 * the text is wrong or memory is short. */
static bool take_labels(struct watched *watched, const char *text, size_t length)
{
    struct host *host = host_of(watched);
    struct here_change change = {.host = host, .old_map = host->here_map, .labels_changed = true};
    char reason[HERE_REASON_BYTES] = "";
    bool changed = false;
    int rc = service_set_here(watched->watch->options.service, host,
                              &(struct hearsay_text){text, length}, &changed, reason);

    if (rc != 0) {
        warn_refused(watched, rc, reason);
        return false;
    }
    warn_of_left_out(watched, host->here->left_out.count, reason);
    if (changed) {
        log_info("host %s: %zu here labels", host->config.name, host->here->count);
        tell_changed(watched, &change);
    }
    return true;
}

/* Sets the host's here map, which is taken; NULL: none. */
static void take_map(struct watched *watched, struct here_map *map)
{
    struct host *host = host_of(watched);
    struct here_map *old_map = host->here_map;
    struct here_change change = {.host = host, .old_map = old_map};

    if (map == NULL && old_map == NULL) {
        return;
    }
    host->here_map = map;
    log_info("host %s: here map with %zu prefixes", host->config.name,
             map != NULL ? here_map_count(map) : 0);
    tell_changed(watched, &change);
    here_map_free(old_map);
}

/* Takes the labels or the table of a file away from the host. */
static void take_nothing(struct watched *watched)
{
    if (watched->kind == KIND_MAP) {
        take_map(watched, NULL);
    } else {
        (void)take_labels(watched, NULL, 0);
    }
}

static bool take_text(struct watched *watched)
{
    struct reading *reading = &watched->reading;

    if (watched->kind == KIND_LABELS) {
        return take_labels(watched, reading->text, (size_t)reading->length);
    }
    if (reading->rc != 0) {
        warn_refused(watched, reading->rc, reading->reason);
        return false;
    }
    warn_of_left_out(watched, here_map_left_out(reading->map), reading->reason);
    take_map(watched, reading->map);
    reading->map = NULL;
    return true;
}

/* Takes what was read of a file: on the loop's thread. */
static void take_reading(struct watched *watched)
{
    struct reading *reading = &watched->reading;
    bool is_other = strcmp(watched->path, reading->path) != 0;

    if (reading->length < 0 && (is_other || watched->state.inode != 0)) {
        char sentence[SENTENCE_BYTES];

        say_unread(reading, host_of(watched)->config.name, sentence);
        log_warning("%s; %s", sentence, what_stays(watched));
    }
    memcpy(watched->path, reading->path, sizeof(watched->path));
    watched->state = reading->state;
    bool is_taken = reading->length >= 0 && take_text(watched);
    if (!is_taken && is_other) {
        take_nothing(watched); /* the labels of the other file do not stay */
    }
    reading_end(reading);
}

/* --- on another thread ------------------------------------------------------------------------ */

static void on_work(uv_work_t *work)
{
    struct watched *watched = work->data;

    reading_run(&watched->reading);
}

static void start_reading(struct watched *watched);

static void on_worked(uv_work_t *work, int status)
{
    struct watched *watched = work->data;

    watched->is_busy = false;
    /* A reload may have named another file while this file was read. Then the result is thrown
     * away. */
    if (status != 0 || watched->watch->is_stopped ||
        strcmp(watched->reading.path, path_of(watched)) != 0) {
        reading_end(&watched->reading);
    } else {
        take_reading(watched);
    }
    if (watched->reads_again && !watched->watch->is_stopped) {
        watched->reads_again = false;
        start_reading(watched);
    }
}

static void start_reading(struct watched *watched)
{
    if (path_of(watched)[0] == '\0') {
        watched->path[0] = '\0';
        watched->state = (struct file_state){.inode = 0};
        take_nothing(watched);
        return;
    }
    reading_begin(watched);
    watched->work.data = watched;
    watched->is_busy =
        uv_queue_work(watched->watch->options.loop, &watched->work, on_work, on_worked) == 0;
}

/* --- looking ---------------------------------------------------------------------------------- */

static void on_looked(uv_fs_t *look)
{
    struct watched *watched = look->data;
    struct file_state state = {.inode = 0};

    watched->is_busy = false;
    if (look->result == 0) {
        state = (struct file_state){.device = look->statbuf.st_dev,
                                    .inode = look->statbuf.st_ino,
                                    .size = look->statbuf.st_size,
                                    .changed_s = look->statbuf.st_mtim.tv_sec,
                                    .changed_ns = look->statbuf.st_mtim.tv_nsec};
    }
    uv_fs_req_cleanup(look);
    if (watched->watch->is_stopped) {
        return;
    }
    if (watched->reads_again ||
        (path_of(watched)[0] != '\0' && !same_state(&state, &watched->state))) {
        watched->reads_again = false;
        start_reading(watched);
    }
}

static void tick_one(struct watched *watched)
{
    if (path_of(watched)[0] == '\0' || watched->is_busy) {
        return;
    }
    watched->look.data = watched;
    watched->is_busy =
        uv_fs_stat(watched->watch->options.loop, &watched->look, path_of(watched), on_looked) == 0;
}

void here_watch_tick(struct here_watch *watch)
{
    for (size_t i = 0; watch != NULL && i < watch->count; i++) {
        for (enum kind kind = 0; kind < KINDS; kind++) {
            tick_one(&watch->hosts[i][kind]);
        }
    }
}

bool here_watch_has_files(const struct here_watch *watch)
{
    for (size_t i = 0; watch != NULL && i < watch->count; i++) {
        for (enum kind kind = 0; kind < KINDS; kind++) {
            if (path_of(&watch->hosts[i][kind])[0] != '\0') {
                return true;
            }
        }
    }
    return false;
}

/* --- beginning and end ------------------------------------------------------------------------ */

/* Hosts that a reload has added are at the end. */
static void add_hosts(struct here_watch *watch)
{
    for (; watch->count < watch->options.service->host_count; watch->count++) {
        for (enum kind kind = 0; kind < KINDS; kind++) {
            struct watched *watched = &watch->hosts[watch->count][kind];

            watched->watch = watch;
            watched->kind = kind;
            watched->host = watch->count;
        }
    }
}

void here_watch_reload(struct here_watch *watch)
{
    if (watch == NULL || watch->is_stopped) {
        return;
    }
    add_hosts(watch);
    for (size_t i = 0; i < watch->count; i++) {
        for (enum kind kind = 0; kind < KINDS; kind++) {
            struct watched *watched = &watch->hosts[i][kind];

            if (watched->is_busy) {
                watched->reads_again = true;
            } else {
                start_reading(watched);
            }
        }
    }
}

int here_watch_start(const struct here_watch_options *options, struct here_watch **out_watch)
{
    struct here_watch *watch = calloc(1, sizeof(*watch));

    if (watch == NULL) {
        return -ERR_NOMEM;
    }
    watch->options = *options;
    add_hosts(watch);
    for (size_t i = 0; i < watch->count; i++) {
        for (enum kind kind = 0; kind < KINDS; kind++) {
            struct watched *watched = &watch->hosts[i][kind];

            if (path_of(watched)[0] != '\0') {
                reading_begin(watched);
                reading_run(&watched->reading);
                take_reading(watched);
            }
        }
    }
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
    free(watch);
}

/* --- without a daemon ------------------------------------------------------------------------- */

/* Reads the labels of a file behind those of the configuration, as service_set_here does. */
static int check_labels(const struct config_host *host, const struct reading *reading,
                        size_t *out_left_out, char *out_reason)
{
    struct hearsay_text texts[] = {{host->here, strlen(host->here)},
                                   {reading->text, (size_t)reading->length}};
    struct here *here = NULL;
    int rc = here_new(reading->alloc, texts, reading->frame_bytes, &here, out_reason);

    *out_left_out = rc == 0 ? here->left_out.count : 0;
    here_free(here);
    return rc;
}

static void check_file(const struct config_host *host, struct reading *reading, FILE *out)
{
    char sentence[SENTENCE_BYTES];
    size_t left_out = 0;

    reading_run(reading);
    if (reading->length < 0) {
        say_unread(reading, host->name, sentence);
        (void)fprintf(out, "hearsayd: warning: %s\n", sentence);
        return;
    }
    if (reading->kind == KIND_LABELS) {
        reading->rc = check_labels(host, reading, &left_out, reading->reason);
    } else if (reading->rc == 0) {
        left_out = here_map_left_out(reading->map);
    }
    if (reading->rc != 0 || left_out > 0) {
        say_refused(reading, host->name, reading->rc, reading->reason, sentence);
        (void)fprintf(out, "hearsayd: warning: %s\n", sentence);
    }
    if (reading->rc == 0 && say_cut(reading, host->name, sentence)) {
        (void)fprintf(out, "hearsayd: warning: %s\n", sentence);
    }
}

void here_watch_check(const struct config *config, FILE *out)
{
    for (size_t i = 0; i < config->host_count; i++) {
        for (enum kind kind = 0; kind < KINDS; kind++) {
            const struct config_host *host = &config->hosts[i];
            const char *path = kind == KIND_MAP ? host->here_map : host->here_file;
            struct reading reading = {.kind = kind,
                                      .frame_bytes = service_here_frame_bytes(config),
                                      .alloc = alloc_system()};

            if (path[0] != '\0') {
                memcpy(reading.path, path, strlen(path) + 1);
                check_file(host, &reading, out);
                reading_end(&reading);
            }
        }
    }
}
