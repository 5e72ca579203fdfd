/* SPDX-License-Identifier: Apache-2.0 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/web/route/router.h"

static void print_head(FILE *out, const char *name, const char *type, const char *help)
{
    (void)fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void print_one(FILE *out, const char *name, const char *type, const char *help,
                      uint64_t value)
{
    print_head(out, name, type, help);
    (void)fprintf(out, "%s %" PRIu64 "\n", name, value);
}

static void print_answers(FILE *out, const struct http_figures *figures)
{
    static const char name[] = "hearsay_web_answers_total";

    print_head(out, name, "counter", "Answers, by status; streams are begun with 200.");
    for (size_t i = 0; i < HTTP_STATUSES; i++) {
        char code[12] = "other";

        if (http_status(i) != 0) {
            (void)snprintf(code, sizeof(code), "%u", http_status(i));
        }
        (void)fprintf(out, "%s{code=\"%s\"} %" PRIu64 "\n", name, code, figures->answers[i]);
    }
}

static void print_durations(FILE *out, const struct http_figures *figures)
{
    static const char name[] = "hearsay_web_answer_duration_seconds";

    print_head(out, name, "histogram", "From a whole request to its answer, without streams.");
    for (size_t i = 0; i < HTTP_BOUNDS; i++) {
        (void)fprintf(out, "%s_bucket{le=\"%g\"} %" PRIu64 "\n", name,
                      (double)http_bound_us(i) / 1e6, figures->within[i]);
    }
    (void)fprintf(out, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, figures->requests);
    (void)fprintf(out, "%s_sum %" PRIu64 ".%06" PRIu64 "\n%s_count %" PRIu64 "\n", name,
                  figures->sum_us / 1000000, figures->sum_us % 1000000, name, figures->requests);
}

static void print_all(FILE *out, const struct router *router)
{
    const struct http_figures *figures = http_server_figures(router->http);
    size_t resident = 0;

    print_head(out, "hearsay_web_build_info", "gauge", "The version of hearsay-web.");
    (void)fputs("hearsay_web_build_info{version=\"" HEARSAY_VERSION "\"} 1\n", out);
    print_one(out, "hearsay_web_upstream_connected", "gauge", "1 while hearsayd is connected.",
              board_is_connected(router->board));
    print_one(out, "hearsay_web_last_reload_successful", "gauge",
              "0 if the last reload of the configuration was refused.", !router->was_refused);
    print_one(out, "hearsay_web_last_reload_timestamp_seconds", "gauge",
              "When the configuration was last read, by the system's clock.",
              (uint64_t)router->read_ms / 1000);
    print_one(out, "hearsay_web_connections", "gauge", "Connections now.",
              http_server_connections(router->http));
    print_one(out, "hearsay_web_connections_refused_total", "counter",
              "Connections that a limit closed at once.", figures->refused);
    print_one(out, "hearsay_web_event_streams", "gauge", "Open pages that are told of messages.",
              live_stream_count(router->live));
    print_answers(out, figures);
    print_durations(out, figures);
    if (uv_resident_set_memory(&resident) == 0) {
        print_one(out, "process_resident_memory_bytes", "gauge", "Resident memory.", resident);
    }
}

void metrics_answer(const struct router *router, struct http_exchange *exchange,
                    const struct http_request *request)
{
    struct http_answer answer = {.status = 503, .retry_after_s = 1};
    char *text = NULL;
    size_t bytes = 0;

    if (!names_allow_host(&router->names, true, request->host)) {
        answer = http_text(421, "Ask for the address of a `listen` line with the word metrics, or "
                                "for one of the `name` lines.\n");
    } else if (strcmp(request->path, "/metrics") != 0 || request->method == HTTP_POST) {
        answer = (struct http_answer){.status = 404};
    } else {
        FILE *out = open_memstream(&text, &bytes);
        if (out != NULL) {
            print_all(out, router);
        }
        if (out != NULL && fclose(out) == 0) {
            answer = (struct http_answer){.status = 200,
                                          .type = "text/plain; version=0.0.4; charset=utf-8",
                                          .body = text,
                                          .body_bytes = bytes,
                                          .is_given = true};
        } else {
            free(text);
        }
    }
    http_answer(exchange, &answer);
}
