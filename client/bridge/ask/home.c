/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/ask/home.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "client/bridge/wire/subject.h"

enum {
    GROUPS_REPEATS = 2, /* full words more after joining: the hub's servers may not yet know who
                         * hears them */
    KEEPALIVE_MS = 30 * 1000,
    ALL_GAP_SHARE = 3 /* a third of this time is between two full words for all who ask */
};

static void open_link(struct home *home);

/* --- the link to hearsayd --------------------------------------------------------------------- */

static void on_retry(uv_timer_t *timer)
{
    open_link(timer->data);
}

static void try_later(struct home *home)
{
    (void)uv_timer_start(&home->retry, on_retry, HOME_RETRY_MS, 0);
}

static void end_link(struct home *home)
{
    link_close(home->link);
    home->link = NULL;
    home->answers.link = NULL;
    home->is_greeted = false;
    home->groups.ticket = home->changes.ticket = home->ping.ticket = 0;
    due_begin(&home->due);
    home->clock_shift_ms = 0;
    told_forget(&home->told);
    answers_clear(&home->answers);
    (void)uv_timer_stop(&home->turn);
}

/* What is wrong with the host at hearsayd; NULL: nothing. */
static const char *find_fault(const struct home *home, const struct hearsay_host *info)
{
    if (info == NULL) {
        return "hearsayd has no such host";
    }
    if (info->role == HEARSAY_ROLE_REPLICA) {
        return "hearsayd has a copy of it only: see `role` in hearsayd.conf";
    }
    if (info->hood == NULL || strcmp(info->hood, home->host->hood) != 0) {
        return "it has another `hood` in hearsayd.conf";
    }
    /* What a summary says of a part of the messages would be taken for all of them, and the host
     * would not be asked for those that have come back since. */
    if (info->role == HEARSAY_ROLE_RESTORING && home->host->publishes) {
        return "it gets its messages back from the hub first";
    }
    return NULL;
}

/* Takes the profile over. False: no memory. */
static bool take_profile(struct home *home, const char *text)
{
    struct profile profile;

    if (strcmp(home->profile, text) == 0) {
        return true;
    }
    told_deinit(&home->told);
    home->profile[0] = '\0';
    if (profile_parse(text, strlen(text), &profile, NULL) != 0 ||
        told_init(&home->told, &profile) != 0) {
        return false;
    }
    msg_text_copy(home->profile, sizeof(home->profile), text, strlen(text));
    return true;
}

static void on_greeted(void *context)
{
    struct home *home = context;
    const struct hearsay_host *info = hearsay_find_host(link_server(home->link), home->host->name);
    const char *fault = find_fault(home, info);

    if (fault == NULL && !take_profile(home, info->profile)) {
        fault = "its profile cannot be read";
    }
    if (fault != NULL) {
        home_note_trouble(home, "its neighbours do not find it", fault);
        end_link(home);
        try_later(home);
        return;
    }
    home->is_greeted = true;
    home->error[0] = '\0';
    home->gate = (struct log_gate){.opened = false};
    home->answers.link = home->link;
    due_want(&home->due, uv_now(home->loop), 0);
    home_take_turn(home);
}

static void on_replied(void *context, const struct hearsay_reply *reply)
{
    home_take_response(context, &reply->response);
}

static void on_lost(void *context, const struct hearsay_error *why)
{
    struct home *home = context;

    home_note_trouble(home, "no connection to hearsayd", why->sentence);
    end_link(home);
    try_later(home);
}

static const struct link_events link_events = {on_greeted, on_replied, NULL, on_lost};

static void open_link(struct home *home)
{
    struct hearsay_connect options = {.server = home->config->server,
                                      .agent = "hearsay-bridge/" HEARSAY_VERSION,
                                      .is_small = true};
    struct hearsay_error error;

    if (link_open(home->loop, &options, &link_events, home, &home->link, &error) != HEARSAY_OK) {
        home_note_trouble(home, "no connection to hearsayd", error.sentence);
        try_later(home);
    }
}

/* --- beginning and end ------------------------------------------------------------------------ */

/* Between two keepalives: 30 s, or HEARSAY_BRIDGE_KEEPALIVE_MS of the environment, for tests. */
static uint64_t read_keepalive(void)
{
    const char *text = getenv("HEARSAY_BRIDGE_KEEPALIVE_MS");
    unsigned long ms = text != NULL ? strtoul(text, NULL, 10) : 0;

    return ms > 0 && ms < KEEPALIVE_MS ? ms : KEEPALIVE_MS;
}

static void on_query(void *context, const struct wire_message *message)
{
    struct home *home = context;

    if (home->is_silent) {
        return;
    }
    answers_take(&home->answers, message, (int64_t)uv_now(home->loop));
}

struct home *home_new(uv_loop_t *loop, const struct bridge_config *config,
                      const struct bridge_host *host, struct wire *wire)
{
    struct home *home = calloc(1, sizeof(*home));
    char subject[SUBJECT_BYTES];

    if (home == NULL) {
        return NULL;
    }
    home->loop = loop;
    home->config = config;
    home->host = host;
    home->wire = wire;
    home->keepalive_ms = read_keepalive();
    due_init(&home->due, home->keepalive_ms / ALL_GAP_SHARE);
    home->answers.host = host->name;
    home->answers.wire = wire;
    home->answers.per_minute = bridge_config_hood(config, host->hood)->asks_per_minute;
    (void)uv_timer_init(loop, &home->retry); /* never fails */
    (void)uv_timer_init(loop, &home->turn);
    home->retry.data = home;
    home->turn.data = home;
    subject_asked(host->hood, host->name, subject);
    home->queries = wire_subscribe(wire, subject, on_query, home);
    if (home->queries == NULL) {
        return NULL; /* the process ends */
    }
    open_link(home);
    return home;
}

void home_joined(struct home *home)
{
    told_forget(&home->told); /* words of before the loss may not have arrived */
    home->repeats = GROUPS_REPEATS;
    if (home->is_greeted) {
        due_want(&home->due, uv_now(home->loop), 0);
        home_take_turn(home);
    }
}

void home_parted(struct home *home)
{
    answers_clear(&home->answers);
    (void)uv_timer_stop(&home->turn);
}

void home_tell_all(struct home *home, bool is_named)
{
    if (home->is_greeted) {
        due_ask(&home->due, is_named, uv_now(home->loop), randombytes_uniform(DUE_SPREAD_MS));
        home_take_turn(home);
    }
}

void home_silence(struct home *home, bool is_silent)
{
    if (home->is_silent == is_silent) {
        return;
    }
    home->is_silent = is_silent;
    if (is_silent) {
        home_parted(home);
    } else if (wire_is_joined(home->wire)) {
        home_joined(home);
    }
}

void home_stop(struct home *home)
{
    wire_unsubscribe(home->queries);
    answers_clear(&home->answers);
    link_close(home->link);
    uv_close((uv_handle_t *)&home->retry, NULL);
    uv_close((uv_handle_t *)&home->turn, NULL);
}

void home_free(struct home *home)
{
    if (home != NULL) {
        told_deinit(&home->told);
        free(home);
    }
}

const char *home_hood(const struct home *home)
{
    return home->host->hood;
}

const char *home_name(const struct home *home)
{
    return home->host->name;
}

void home_read_figures(const struct home *home, struct home_figures *out)
{
    *out = (struct home_figures){
        .name = home->host->name,
        .hood = home->host->hood,
        .error = home->error,
        .is_silent = home->is_silent,
        .full = home->full,
        .deltas = home->deltas,
        .keepalives = home->keepalives,
        .answered = home->answers.answered,
        .refused = home->answers.refused,
        .told_ms = home->due.told_ms == 0 ? UINT64_MAX : uv_now(home->loop) - home->due.told_ms,
        .groups = home->told.count,
    };
}
