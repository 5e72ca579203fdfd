/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/main/program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/err.h"

enum { ASKERS_MAX = 8, WORD_BYTES = 16, PATH_BYTES = 256, ASK_S = 10 };

struct report {
    uv_pipe_t pipe;
    report_writer *write;
    void *context;
    size_t askers;
    char path[PATH_BYTES];
};

struct asker {
    uv_pipe_t pipe;
    uv_write_t request;
    struct report *report;
    char *text; /* owned */
    char word[WORD_BYTES];
    size_t word_bytes;
};

static void path_of(const struct bridge_config *config, char *out)
{
    (void)snprintf(out, PATH_BYTES, "%s/status.sock", config->state);
}

static void on_asker_closed(uv_handle_t *handle)
{
    struct asker *asker = handle->data;

    asker->report->askers--;
    free(asker->text);
    free(asker);
}

static void drop_asker(struct asker *asker)
{
    if (!uv_is_closing((uv_handle_t *)&asker->pipe)) {
        uv_close((uv_handle_t *)&asker->pipe, on_asker_closed);
    }
}

static void on_written(uv_write_t *request, int status)
{
    (void)status;
    drop_asker(request->data);
}

static void answer_asker(struct asker *asker)
{
    size_t size = 0;
    FILE *out = open_memstream(&asker->text, &size);

    (void)uv_read_stop((uv_stream_t *)&asker->pipe);
    if (out == NULL) {
        drop_asker(asker);
        return;
    }
    asker->report->write(asker->report->context, strcmp(asker->word, "metrics") == 0, out);
    bool is_written = fclose(out) == 0 && asker->text != NULL;
    uv_buf_t buffer = uv_buf_init(asker->text, (unsigned)size);
    asker->request.data = asker;
    if (!is_written ||
        uv_write(&asker->request, (uv_stream_t *)&asker->pipe, &buffer, 1, on_written) != 0) {
        drop_asker(asker);
    }
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    struct asker *asker = handle->data;

    (void)suggested;
    *out = uv_buf_init(asker->word + asker->word_bytes,
                       (unsigned)(sizeof(asker->word) - 1 - asker->word_bytes));
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
    struct asker *asker = stream->data;
    char *end;

    (void)buffer;
    if (count < 0) {
        drop_asker(asker);
        return;
    }
    asker->word_bytes += (size_t)count;
    end = memchr(asker->word, '\n', asker->word_bytes);
    if (end != NULL) {
        *end = '\0';
        answer_asker(asker);
    }
}

static void on_connection(uv_stream_t *stream, int status)
{
    struct report *report = stream->data;
    struct asker *asker = status == 0 ? calloc(1, sizeof(*asker)) : NULL;

    if (asker == NULL) {
        return;
    }
    asker->report = report;
    (void)uv_pipe_init(stream->loop, &asker->pipe, 0); /* never fails */
    asker->pipe.data = asker;
    report->askers++;
    if (uv_accept(stream, (uv_stream_t *)&asker->pipe) != 0 || report->askers > ASKERS_MAX ||
        uv_read_start((uv_stream_t *)&asker->pipe, on_room, on_read) != 0) {
        drop_asker(asker);
    }
}

int report_new(uv_loop_t *loop, const struct bridge_config *config, report_writer *write,
               void *context, struct report **out_report, char *out_reason)
{
    struct report *report = calloc(1, sizeof(*report));

    if (report == NULL) {
        (void)reason_set(out_reason, "%s", err_text(-ERR_NOMEM));
        return -ERR_NOMEM;
    }
    path_of(config, report->path);
    (void)unlink(report->path); /* of an earlier run: the directory is locked */
    (void)uv_pipe_init(loop, &report->pipe, 0);
    report->pipe.data = report;
    report->write = write;
    report->context = context;
    *out_report = report;
    int rc = uv_pipe_bind(&report->pipe, report->path);
    rc = rc == 0 ? uv_listen((uv_stream_t *)&report->pipe, ASKERS_MAX, on_connection) : rc;
    return rc == 0 ? 0 : reason_set(out_reason, "%s: %s", report->path, uv_strerror(rc));
}

void report_stop(struct report *report)
{
    uv_close((uv_handle_t *)&report->pipe, NULL);
    (void)unlink(report->path);
}

void report_free(struct report *report)
{
    free(report);
}

/* --- the asking side -------------------------------------------------------------------------- */

/* Takes over the descriptor. */
static int read_text(int descriptor, FILE *out, bool *out_has_trouble)
{
    char line[512];
    FILE *in = fdopen(descriptor, "r");
    bool is_first = true;

    if (in == NULL) {
        (void)close(descriptor);
        return errno;
    }
    while (fgets(line, sizeof(line), in) != NULL) {
        *out_has_trouble = *out_has_trouble || (is_first && strcmp(line, REPORT_TROUBLE) == 0);
        if (!is_first || (strcmp(line, REPORT_TROUBLE) != 0 && strcmp(line, REPORT_WELL) != 0)) {
            (void)fputs(line, out);
        }
        is_first = false;
    }
    int rc = ferror(in) ? errno : 0;
    (void)fclose(in);
    return rc;
}

int report_ask(const struct bridge_config *config, bool is_metrics, FILE *out,
               bool *out_has_trouble, char *out_reason)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval patience = {.tv_sec = ASK_S};
    const char *word = is_metrics ? "metrics\n" : "status\n";
    char path[PATH_BYTES];
    int rc = 0;
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    *out_has_trouble = false;
    path_of(config, path);
    if (descriptor < 0 || strlen(path) >= sizeof(address.sun_path)) {
        rc = descriptor < 0 ? errno : ENAMETOOLONG;
    } else {
        memcpy(address.sun_path, path, strlen(path) + 1);
        (void)setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        if (connect(descriptor, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
            write(descriptor, word, strlen(word)) != (ssize_t)strlen(word)) {
            rc = errno;
        } else {
            rc = read_text(descriptor, out, out_has_trouble);
            descriptor = -1;
        }
    }
    if (descriptor >= 0) {
        (void)close(descriptor);
    }
    if (rc == ENOENT || rc == ECONNREFUSED) {
        return reason_set(out_reason, "hearsay-bridge does not run with the state directory %s",
                          config->state);
    }
    return rc == 0 ? 0 : reason_set(out_reason, "%s: %s", path, strerror(rc));
}
