/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/own/own.h"

#include <inttypes.h>
#include <stdlib.h>

#include "client/bridge/own/inner.h"
#include "core/base/err.h"

struct own {
    struct host *hosts[BRIDGE_HOSTS_MAX];
    size_t count;
};

int own_new(uv_loop_t *loop, const struct bridge_config *config, struct wire *wire,
            const struct own_events *events, void *context, struct own **out_own)
{
    struct own *own = calloc(1, sizeof(*own));

    if (own == NULL) {
        return -ERR_NOMEM;
    }
    for (size_t i = 0; i < config->host_count; i++) {
        if (config->hosts[i].publishes) {
            struct host_options options = {.config = config,
                                           .name = config->hosts[i].name,
                                           .wire = wire,
                                           .fenced = events->fenced,
                                           .context = context};
            struct host *host = host_new(loop, &options);

            if (host == NULL) {
                return -ERR_NOMEM; /* the process ends */
            }
            own->hosts[own->count++] = host;
        }
    }
    *out_own = own;
    return 0;
}

void own_joined(struct own *own)
{
    for (size_t i = 0; i < own->count; i++) {
        host_joined(own->hosts[i]);
    }
}

void own_parted(struct own *own)
{
    for (size_t i = 0; i < own->count; i++) {
        host_parted(own->hosts[i]);
    }
}

void own_stop(struct own *own)
{
    for (size_t i = 0; i < own->count; i++) {
        host_stop(own->hosts[i]);
    }
}

void own_free(struct own *own)
{
    if (own != NULL) {
        for (size_t i = 0; i < own->count; i++) {
            host_free(own->hosts[i]);
        }
        free(own);
    }
}

void own_print_status(const struct own *own, FILE *out)
{
    struct host_figures figures;
    char line[128];

    for (size_t i = 0; i < own->count; i++) {
        host_read_figures(own->hosts[i], &figures);
        text_print(out, "host", figures.name);
        text_print(out, "", figures.state);
        (void)snprintf(line, sizeof(line), "published up to %" PRIu64 ", %zu on their way",
                       figures.seq, figures.waiting);
        text_print(out, "", line);
        if (figures.head_age_ms != UINT64_MAX) {
            (void)snprintf(line, sizeof(line), "last head %" PRIu64 " s ago",
                           figures.head_age_ms / 1000);
            text_print(out, "", line);
        }
        if (figures.not_compared_since_s != 0) {
            char since[TEXT_TIME_BYTES];

            text_time(figures.not_compared_since_s, since);
            (void)snprintf(line, sizeof(line), "not compared with a reader since %s", since);
            text_print(out, "", line);
        }
        if (figures.error[0] != '\0') {
            text_print(out, "", figures.error);
        }
    }
}

static void print_series(const struct own *own, const char *name, const char *type,
                         uint64_t (*read)(const struct host_figures *figures), FILE *out)
{
    struct host_figures figures;

    (void)fprintf(out, "# TYPE hearsay_bridge_%s %s\n", name, type);
    for (size_t i = 0; i < own->count; i++) {
        host_read_figures(own->hosts[i], &figures);
        (void)fprintf(out, "hearsay_bridge_%s{host=\"%s\"} %" PRIu64 "\n", name, figures.name,
                      read(&figures));
    }
}

static uint64_t owner_of(const struct host_figures *figures)
{
    return figures->is_owner;
}

static uint64_t fenced_of(const struct host_figures *figures)
{
    return figures->is_fenced;
}

static uint64_t published_of(const struct host_figures *figures)
{
    return figures->published;
}

static uint64_t waiting_of(const struct host_figures *figures)
{
    return figures->waiting;
}

static uint64_t rewinds_of(const struct host_figures *figures)
{
    return figures->rewinds;
}

static uint64_t restored_of(const struct host_figures *figures)
{
    return figures->restored;
}

static uint64_t refused_of(const struct host_figures *figures)
{
    return figures->refused;
}

static uint64_t different_of(const struct host_figures *figures)
{
    return figures->digests_different;
}

void own_print_metrics(const struct own *own, FILE *out)
{
    static const struct {
        const char *name;
        const char *type;
        uint64_t (*read)(const struct host_figures *figures);
    } series[] = {
        {"owner", "gauge", owner_of},
        {"fenced", "gauge", fenced_of},
        {"published_total", "counter", published_of},
        {"waiting", "gauge", waiting_of},
        {"rewinds_total", "counter", rewinds_of},
        {"restored_total", "counter", restored_of},
        {"words_refused_total", "counter", refused_of},
        {"digests_different_total", "counter", different_of},
    };

    for (size_t i = 0; own->count > 0 && i < sizeof(series) / sizeof(series[0]); i++) {
        print_series(own, series[i].name, series[i].type, series[i].read, out);
    }
}
