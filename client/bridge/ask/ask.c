/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/ask/ask.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/bridge/ask/home.h"
#include "core/base/err.h"

struct ask {
    struct hoods *hoods;
    struct desk *desk; /* NULL: no host belongs to a hood */
    struct home *homes[BRIDGE_HOSTS_MAX];
    size_t count;
};

/* --- between the parts ------------------------------------------------------------------------ */

static void on_closes(void *context)
{
    struct ask *ask = context;

    if (ask->desk != NULL) {
        desk_end_rounds(ask->desk);
    }
}

static void on_wanted(void *context, const char *hood, const char *host)
{
    struct ask *ask = context;

    for (size_t i = 0; i < ask->count; i++) {
        if (strcmp(home_hood(ask->homes[i]), hood) == 0 &&
            (host[0] == '\0' || strcmp(home_name(ask->homes[i]), host) == 0)) {
            home_tell_all(ask->homes[i], host[0] != '\0');
        }
    }
}

static const struct hoods_events hoods_events = {on_closes, on_wanted};

int ask_new(uv_loop_t *loop, const struct bridge_config *config, struct wire *wire,
            struct ask **out_ask)
{
    struct ask *ask = calloc(1, sizeof(*ask));

    if (ask == NULL) {
        return -ERR_NOMEM;
    }
    *out_ask = ask; /* without memory the process ends */
    for (size_t i = 0; i < config->host_count; i++) {
        if (config->hosts[i].hood[0] == '\0') {
            continue;
        }
        ask->homes[ask->count] = home_new(loop, config, &config->hosts[i], wire);
        if (ask->homes[ask->count++] == NULL) {
            return -ERR_NOMEM;
        }
    }
    if (ask->count == 0) {
        return 0;
    }
    ask->hoods = hoods_new(loop, config, wire, &hoods_events, ask);
    ask->desk = ask->hoods != NULL ? desk_new(loop, config, wire, ask->hoods) : NULL;
    return ask->desk != NULL ? 0 : -ERR_NOMEM;
}

void ask_joined(struct ask *ask)
{
    for (size_t i = 0; i < ask->count; i++) {
        home_joined(ask->homes[i]);
    }
    if (ask->desk != NULL) {
        hoods_joined(ask->hoods);
    }
}

void ask_parted(struct ask *ask)
{
    for (size_t i = 0; i < ask->count; i++) {
        home_parted(ask->homes[i]);
    }
    if (ask->desk != NULL) {
        desk_end_rounds(ask->desk);
        hoods_parted(ask->hoods);
    }
}

void ask_silence(struct ask *ask, const char *host, bool is_silent)
{
    for (size_t i = 0; i < ask->count; i++) {
        if (strcmp(home_name(ask->homes[i]), host) == 0) {
            home_silence(ask->homes[i], is_silent);
        }
    }
}

void ask_stop(struct ask *ask)
{
    for (size_t i = 0; i < ask->count; i++) {
        home_stop(ask->homes[i]);
    }
    if (ask->desk != NULL) {
        desk_stop(ask->desk);
        hoods_stop(ask->hoods);
    }
}

void ask_free(struct ask *ask)
{
    if (ask == NULL) {
        return;
    }
    for (size_t i = 0; i < ask->count; i++) {
        home_free(ask->homes[i]);
    }
    desk_free(ask->desk);
    hoods_free(ask->hoods);
    free(ask);
}

/* --- reports ---------------------------------------------------------------------------------- */

static void print_home(const struct home *home, FILE *out)
{
    struct home_figures figures;

    home_read_figures(home, &figures);
    text_print(out, "neighbour", "%s", figures.name);
    if (figures.is_silent) {
        text_print(out, "", "silent: another store owns it at the hub");
    } else if (figures.told_ms == UINT64_MAX) {
        text_print(out, "", "has told nothing yet");
    } else {
        text_print(out, "", "told %" PRIu32 " groups, last %" PRIu64 " s ago", figures.groups,
                   figures.told_ms / 1000);
    }
    text_print(out, "", "answered %" PRIu64 " queries, refused %" PRIu64, figures.answered,
               figures.refused);
    if (figures.error[0] != '\0') {
        text_print(out, "", "%s", figures.error);
    }
}

static void print_circle(const struct circle *circle, FILE *out)
{

    text_print(out, "hood", "%s", circle->hood_name);
    text_print(out, "", "knows %" PRIu32 " other hosts", hood_count(circle->hood));
    if (circle->skipped_count > 0) {
        text_print(out, "", "does not ask %" PRIu32 " more, as it can ask %d: divide the hood",
                   circle->skipped_count, CIRCLE_PEERS_MAX);
    }
    if (circle->other_count > 0) {
        text_print(out, "", "%" PRIu32 " have another profile than %.60s", circle->other_count,
                   circle->profile_text);
    }
    if (circle_count_faulty(circle) > 0) {
        text_print(out, "", "%" PRIu32 " answered what they had not told",
                   circle_count_faulty(circle));
    }
}

/* Who publishes more summaries than a bridge takes. */
static void print_over(const struct summary_limit *limit, int64_t monotonic_ms, FILE *out)
{

    for (size_t i = 0; i < SUMMARY_OVER_MAX; i++) {
        const struct summary_over *over = &limit->over[i];

        if (summary_limit_is_over(over, monotonic_ms)) {
            text_print(out, "over limit",
                       "%.64s publishes too much: %" PRIu64 " of its summaries dropped, the "
                       "last %" PRId64 " s ago",
                       over->host, over->dropped, (monotonic_ms - over->last_ms) / 1000);
        }
    }
}

void ask_print_status(const struct ask *ask, FILE *out)
{
    struct desk_figures figures;

    if (ask->desk == NULL) {
        return;
    }
    for (size_t i = 0; i < ask->count; i++) {
        print_home(ask->homes[i], out);
    }
    for (const struct circle *each = hoods_first(ask->hoods); each != NULL; each = each->next) {
        print_circle(each, out);
    }
    print_over(hoods_limit(ask->hoods), hoods_monotonic_ms(ask->hoods), out);
    desk_read_figures(ask->desk, &figures);
    text_print(out, "asked",
               "%" PRIu64 " queries, %" PRIu64 " questions, %" PRIu64 " without an answer",
               figures.asks, figures.peers_asked, figures.peers_silent);
    if (figures.error[0] != '\0') {
        text_print(out, "", "%s", figures.error);
    }
}

/* Sums over the hosts here. */
static void print_homes(const struct ask *ask, FILE *out)
{
    struct home_figures sum = {.full = 0};
    struct home_figures one;

    for (size_t i = 0; i < ask->count; i++) {
        home_read_figures(ask->homes[i], &one);
        sum.full += one.full;
        sum.deltas += one.deltas;
        sum.keepalives += one.keepalives;
        sum.answered += one.answered;
        sum.refused += one.refused;
    }
    text_metric(out, "summaries_full_total", "counter", sum.full);
    text_metric(out, "summaries_delta_total", "counter", sum.deltas);
    text_metric(out, "summaries_keepalive_total", "counter", sum.keepalives);
    text_metric(out, "peer_queries_answered_total", "counter", sum.answered);
    text_metric(out, "peer_queries_refused_total", "counter", sum.refused);
}

static void print_circles(const struct ask *ask, FILE *out)
{
    uint64_t peers = 0;
    uint64_t others = 0;
    uint64_t skipped = 0;
    uint64_t faulty = 0;
    uint64_t words = 0;
    uint64_t voids = 0;

    for (const struct circle *each = hoods_first(ask->hoods); each != NULL; each = each->next) {
        peers += hood_count(each->hood);
        others += each->other_count;
        skipped += each->skipped_count;
        faulty += circle_count_faulty(each);
        words += each->words;
        voids += each->voids;
    }
    text_metric(out, "peers", "gauge", peers);
    text_metric(out, "peers_other", "gauge", others);
    text_metric(out, "peers_skipped", "gauge", skipped);
    text_metric(out, "peers_faulty", "gauge", faulty);
    text_metric(out, "peer_summaries_total", "counter", words);
    text_metric(out, "peer_summaries_void_total", "counter", voids);
}

void ask_print_metrics(const struct ask *ask, FILE *out)
{
    struct desk_figures figures;

    if (ask->desk == NULL) {
        return;
    }
    print_homes(ask, out);
    print_circles(ask, out);
    text_metric(out, "peer_summaries_dropped_total", "counter", hoods_limit(ask->hoods)->dropped);
    desk_read_figures(ask->desk, &figures);
    text_metric(out, "asks_total", "counter", figures.asks);
    text_metric(out, "asks_incomplete_total", "counter", figures.incomplete);
    text_metric(out, "peers_asked_total", "counter", figures.peers_asked);
    text_metric(out, "peers_silent_total", "counter", figures.peers_silent);
    text_metric(out, "waves_total", "counter", figures.waves);
}
