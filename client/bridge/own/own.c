/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/own/own.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

    for (size_t i = 0; i < own->count; i++) {
        host_read_figures(own->hosts[i], &figures);
        text_print(out, "host", "%s", figures.name);
        text_print(out, "", "%s", figures.state);
        text_print(out, "", "published up to %" PRIu64 ", %zu on their way", figures.seq,
                   figures.waiting);
        if (figures.has_head) {
            text_print(out, "", "last head %" PRIu64 " s ago", figures.head_age_ms / 1000);
        }
        if (figures.not_compared_since_s != 0) {
            char since[TEXT_TIME_BYTES];

            text_time(figures.not_compared_since_s, since);
            text_print(out, "", "not compared with a reader since %s", since);
        }
        if (figures.error[0] != '\0') {
            text_print(out, "", "%s", figures.error);
        }
    }
}

uint64_t own_failures(const struct own *own)
{
    uint64_t failures = 0;
    struct host_figures of;

    for (size_t i = 0; i < own->count; i++) {
        host_read_figures(own->hosts[i], &of);
        failures += of.failures;
    }
    return failures;
}

bool own_has_trouble(const struct own *own)
{
    struct host_figures of;

    for (size_t i = 0; i < own->count; i++) {
        host_read_figures(own->hosts[i], &of);
        if (of.is_fenced || of.error[0] != '\0' || of.head_age_ms > bridge_trouble_ms() ||
            bridge_is_overdue(of.not_compared_since_s)) {
            return true;
        }
    }
    return false;
}

void own_print_metrics(const struct own *own, FILE *out)
{
    static const char *const names[] = {
        "owner gauge",
        "fenced gauge",
        "published_total counter",
        "waiting gauge",
        "head_age_seconds gauge",
        "compared gauge",
        "rewinds_total counter",
        "restored_total counter",
        "words_refused_total counter",
        "digests_different_total counter",
    };

    for (size_t i = 0; own->count > 0 && i < sizeof(names) / sizeof(names[0]); i++) {
        (void)fprintf(out, "# TYPE hearsay_bridge_%s\n", names[i]);
        for (size_t host = 0; host < own->count; host++) {
            struct host_figures of;
            host_read_figures(own->hosts[host], &of);
            const uint64_t values[] = {
                of.is_owner,         of.is_fenced,          of.published,
                of.waiting,          of.head_age_ms / 1000, of.not_compared_since_s == 0,
                of.rewinds,          of.restored,           of.refused,
                of.digests_different};
            (void)fprintf(out, "hearsay_bridge_%.*s{host=\"%s\"} %" PRIu64 "\n",
                          (int)strcspn(names[i], " "), names[i], of.name, values[i]);
        }
    }
}
