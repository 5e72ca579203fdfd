/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/hub/hub.h"

#include <inttypes.h>
#include <stdlib.h>

#include "client/bridge/hub/inner.h"
#include "core/base/err.h"

enum { SWEEP_MS = 5 * 1000, SCAN_MS = 60 * 1000 /* between two scans, at least */ };

struct follower {
    struct reader *reader;
    struct words *words;
    struct pages *pages;
};

struct hub {
    const struct bridge_config *config;
    struct reader_shared shared;
    struct follower *followers; /* config->reader_count */
    uv_timer_t sweep;
    uint64_t next_scan_ms; /* of uv_now */
};

/* --- what others tell ------------------------------------------------------------------------- */

static void on_greeted(void *context)
{
    struct hub *hub = context;

    for (size_t i = 0; i < hub->config->reader_count; i++) {
        reader_greeted(hub->followers[i].reader);
        words_greeted(hub->followers[i].words);
    }
}

static const struct near_events near_events = {on_greeted};

static void on_sweep(uv_timer_t *timer)
{
    struct hub *hub = timer->data;
    uint64_t now_ms = uv_now(hub->sweep.loop);
    bool must_scan = wire_is_joined(hub->shared.wire) && now_ms >= hub->next_scan_ms &&
                     erase_take_missed(hub->shared.erase);

    for (size_t i = 0; i < hub->config->reader_count; i++) {
        reader_sweep(hub->followers[i].reader);
        if (must_scan) {
            reader_scan(hub->followers[i].reader);
            hub->next_scan_ms = now_ms + SCAN_MS;
        }
    }
}

static void on_erase_room(void *context)
{
    struct hub *hub = context;

    for (size_t i = 0; i < hub->config->reader_count; i++) {
        reader_erase_has_room(hub->followers[i].reader);
    }
}

void hub_joined(struct hub *hub)
{
    for (size_t i = 0; i < hub->config->reader_count; i++) {
        reader_joined(hub->followers[i].reader);
    }
    if (hub->shared.erase != NULL) {
        erase_start(hub->shared.erase);
    }
}

void hub_parted(struct hub *hub)
{
    for (size_t i = 0; i < hub->config->reader_count; i++) {
        reader_parted(hub->followers[i].reader);
    }
}

/* --- beginning and end ------------------------------------------------------------------------ */

static int add_follower(struct hub *hub, size_t i)
{
    struct follower *follower = &hub->followers[i];
    int rc = reader_new(&hub->shared, hub->config->reader_hosts[i], &follower->reader);

    rc = rc == 0 ? words_new(&hub->shared, follower->reader, &follower->words) : rc;
    return rc == 0 ? pages_new(&hub->shared, follower->reader, &follower->pages) : rc;
}

/* Without [reader] there is nothing to do. */
static int start_reader(struct hub *hub, uv_loop_t *loop)
{
    int rc = near_new(loop, hub->config->server, &near_events, hub, &hub->shared.near);

    rc = rc == 0 ? erase_new(hub->shared.wire, on_erase_room, hub, &hub->shared.erase) : rc;
    hub->followers = calloc(hub->config->reader_count, sizeof(*hub->followers));
    if (hub->followers == NULL) {
        return -ERR_NOMEM;
    }
    for (size_t i = 0; rc == 0 && i < hub->config->reader_count; i++) {
        rc = add_follower(hub, i);
    }
    (void)uv_timer_init(loop, &hub->sweep); /* never fails */
    hub->sweep.data = hub;
    (void)uv_timer_start(&hub->sweep, on_sweep, SWEEP_MS, SWEEP_MS);
    return rc;
}

int hub_new(uv_loop_t *loop, const struct bridge_config *config, struct wire *wire,
            struct hub **out_hub)
{
    struct hub *hub = calloc(1, sizeof(*hub));

    if (hub == NULL) {
        return -ERR_NOMEM;
    }
    hub->config = config;
    hub->shared = (struct reader_shared){.loop = loop, .wire = wire, .name = config->name};
    *out_hub = hub;
    return config->reader_count > 0 ? start_reader(hub, loop) : 0;
}

void hub_stop(struct hub *hub)
{
    if (hub->shared.near == NULL) {
        return;
    }
    for (size_t i = 0; i < hub->config->reader_count; i++) {
        pages_stop(hub->followers[i].pages);
        words_stop(hub->followers[i].words);
        reader_stop(hub->followers[i].reader);
    }
    near_stop(hub->shared.near);
    uv_close((uv_handle_t *)&hub->sweep, NULL);
}

void hub_free(struct hub *hub)
{
    if (hub == NULL) {
        return;
    }
    erase_free(hub->shared.erase); /* first: its jobs know the words */
    for (size_t i = 0; hub->followers != NULL && i < hub->config->reader_count; i++) {
        pages_free(hub->followers[i].pages);
        words_free(hub->followers[i].words);
        reader_free(hub->followers[i].reader);
    }
    free(hub->followers);
    free(hub);
}

/* --- figures ---------------------------------------------------------------------------------- */

static void print_decisions(const struct follower *follower, FILE *out)
{
    const char *host = reader_host(follower->reader);
    int64_t since_ms;
    uint32_t waiting = words_waiting(follower->words, &since_ms);
    uint64_t not_kept = reader_not_kept(follower->reader);

    if (waiting > 0) {
        char since[TEXT_TIME_BYTES];

        text_time(since_ms / 1000, since);
        (void)fprintf(out, "    %" PRIu32 " decision%s for the owner '%.40s' since\n    %s\n",
                      waiting, waiting == 1 ? " waits" : "s wait", host, since);
    }
    if (not_kept > 0) {
        (void)fprintf(out,
                      "    %" PRIu64 " decision%s not kept by the owner '%.40s':\n"
                      "    the log of hearsayd names %s\n",
                      not_kept, not_kept == 1 ? " was" : "s were", host,
                      not_kept == 1 ? "it" : "them");
    }
}

/* Whether hearsayd has said last that it does not serve the host, for example that it has none of
 * this name. */
static bool is_refused(const struct follower *follower)
{
    return words_error(follower->words)[0] != '\0';
}

static bool has_all(const struct follower *follower)
{
    return reader_is_whole(follower->reader) && !is_refused(follower);
}

/* Why it is behind, and since when its access point is silent. */
static void print_reasons(const struct follower *follower, FILE *out)
{
    const struct reader *reader = follower->reader;
    char why[READER_WHY_BYTES];
    char since[TEXT_TIME_BYTES];
    int64_t since_s;

    if (is_refused(follower)) {
        text_print(out, "    why", "hearsayd here does not serve it: %s",
                   words_error(follower->words));
    } else if (reader_is_behind(reader)) {
        reader_explain(reader, why);
        text_print(out, "    why", "%s", why);
    }
    if (reader_silent_ms(reader, &since_s) == 0) {
        return;
    }
    if (since_s == 0) {
        text_print(out, "    silent", "its access point has never written to the hub");
        return;
    }
    text_time(since_s, since);
    text_print(
        out, "    silent",
        "its access point, since %s: it is off, its bridge does not run, or it does not reach "
        "the hub",
        since);
}

void hub_print_status(const struct hub *hub, FILE *out)
{
    if (hub->shared.near == NULL) {
        return;
    }
    (void)fprintf(out, "reader: hearsayd %s\n",
                  near_is_up(hub->shared.near) ? "is there" : near_error(hub->shared.near));
    for (size_t i = 0; i < hub->config->reader_count; i++) {
        const struct follower *follower = &hub->followers[i];

        (void)fprintf(out, "  %.40s: %s\n", reader_host(follower->reader),
                      has_all(follower) ? "has all that the hub has"
                      : !reader_is_behind(follower->reader) && !is_refused(follower)
                          ? "without what has no room"
                          : "behind");
        print_reasons(follower, out);
        if (reader_not_compared_since(follower->reader) != 0) {
            char since[TEXT_TIME_BYTES];

            text_time(reader_not_compared_since(follower->reader), since);
            (void)fprintf(out, "    not compared with its owner since\n    %s\n", since);
        }
        if (reader_no_room(follower->reader) > 0) {
            (void)fprintf(out,
                          "    %" PRIu64 " messages, bans or notices have no room here:\n"
                          "    raise `messages` and `bytes` of the host, or of\n"
                          "    [limits]; bans and notices wait for others to end\n",
                          reader_no_room(follower->reader));
        }
        if (reader_beyond(follower->reader) > 0) {
            (void)fprintf(out,
                          "    ALARM: more than twice `messages` at the hub, %" PRIu64 "\n"
                          "    states left out. Taken over? Revoke its\n"
                          "    certificate: docs/hub.md, \"To take one out\"\n",
                          reader_beyond(follower->reader));
        }
        print_decisions(follower, out);
        if (reader_left_out(follower->reader) > 0) {
            (void)fprintf(out, "    %" PRIu64 " states left out: the log says why\n",
                          reader_left_out(follower->reader));
        }
    }
    (void)fprintf(out, "  erased at the hub: %" PRIu64 ", waiting %" PRIu64 "\n",
                  erase_count(hub->shared.erase), erase_waiting(hub->shared.erase));
}

bool hub_has_trouble(const struct hub *hub)
{
    bool has_trouble = hub->shared.near != NULL && !near_is_up(hub->shared.near);

    for (size_t i = 0; hub->shared.near != NULL && i < hub->config->reader_count; i++) {
        const struct reader *reader = hub->followers[i].reader;

        has_trouble = has_trouble || is_refused(&hub->followers[i]) || reader_is_refused(reader) ||
                      reader_no_room(reader) > 0 || reader_beyond(reader) > 0 ||
                      bridge_is_overdue(reader_not_compared_since(reader));
    }
    return has_trouble;
}

static void print_silence(const struct hub *hub, FILE *out)
{
    (void)fputs("# TYPE hearsay_bridge_reader_silent_seconds gauge\n", out);
    for (size_t i = 0; i < hub->config->reader_count; i++) {
        const struct reader *reader = hub->followers[i].reader;
        int64_t since_s;

        (void)fprintf(out, "hearsay_bridge_reader_silent_seconds{host=\"%s\"} %" PRIu64 "\n",
                      reader_host(reader), reader_silent_ms(reader, &since_s) / 1000);
    }
}

void hub_print_metrics(const struct hub *hub, FILE *out)
{
    uint64_t pages = 0;
    uint64_t words = 0;
    uint64_t current = 0;
    uint64_t left_out = 0;
    uint64_t no_room = 0;
    uint64_t compared = 0;
    uint64_t alarms = 0;
    uint64_t renewals = 0;
    uint64_t waiting = 0;
    uint64_t not_kept = 0;
    int64_t since_ms;

    if (hub->shared.near == NULL) {
        return;
    }
    for (size_t i = 0; i < hub->config->reader_count; i++) {
        pages += pages_total(hub->followers[i].pages);
        renewals += pages_renewals(hub->followers[i].pages);
        words += words_total(hub->followers[i].words);
        waiting += words_waiting(hub->followers[i].words, &since_ms);
        not_kept += reader_not_kept(hub->followers[i].reader);
        current += has_all(&hub->followers[i]);
        no_room += reader_no_room(hub->followers[i].reader);
        compared += reader_not_compared_since(hub->followers[i].reader) == 0;
        alarms += reader_beyond(hub->followers[i].reader) > 0;
        left_out += reader_left_out(hub->followers[i].reader);
    }
    text_metric(out, "reader_hosts", "gauge", hub->config->reader_count);
    print_silence(hub, out);
    text_metric(out, "reader_current", "gauge", current);
    text_metric(out, "reader_left_out_total", "counter", left_out);
    text_metric(out, "reader_no_room", "gauge", no_room);
    text_metric(out, "reader_alarms", "gauge", alarms);
    text_metric(out, "reader_compared", "gauge", compared);
    text_metric(out, "renewals_total", "counter", renewals);
    text_metric(out, "pages_total", "counter", pages);
    text_metric(out, "words_total", "counter", words);
    text_metric(out, "decisions_waiting", "gauge", waiting);
    text_metric(out, "decisions_not_kept_total", "counter", not_kept);
    text_metric(out, "erased_total", "counter", erase_count(hub->shared.erase));
    text_metric(out, "erase_waiting", "gauge", erase_waiting(hub->shared.erase));
}
