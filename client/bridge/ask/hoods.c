/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/ask/inner.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/bridge/wire/subject.h"
#include "proto/codec/letter.h"

/* Up to ASKS_A_TICK full words are asked for at a time, and then none for TICK_MS. */
enum { TICK_MS = 500, ASKS_A_TICK = 16 };

/* A host of the hearsayd here. */
struct hoods_host {
    char name[BRIDGE_NAME_BYTES];
    char hood[BRIDGE_NAME_BYTES];
    char profile[PROFILE_TEXT_MAX];
};

struct hoods {
    uv_loop_t *loop;
    const struct bridge_config *config;
    struct wire *wire;
    const struct hoods_events *events;
    void *context;
    uv_timer_t tick;  /* runs until the next summary is to be asked for, if there is one */
    int64_t asked_ms; /* monotonic: when the timer ran last */
    bool has_stopped;
    struct wire_subscription *subscriptions[BRIDGE_HOODS_MAX];
    struct hoods_host hosts[LIMIT_HOSTS];
    size_t host_count;
    struct circle *circles; /* owned list */
    int64_t ahead_ms;
    struct summary_limit limit;
    struct log_gate gate;
    struct log_gate limit_gate;
};

void hoods_set_clock(struct hoods *hoods, int64_t ahead_ms)
{
    hoods->ahead_ms = ahead_ms;
}

int64_t hoods_now_ms(const struct hoods *hoods)
{
    return (int64_t)uv_now(hoods->loop) + hoods->ahead_ms;
}

int64_t hoods_monotonic_ms(const struct hoods *hoods)
{
    return (int64_t)uv_now(hoods->loop);
}

const struct summary_limit *hoods_limit(const struct hoods *hoods)
{
    return &hoods->limit;
}

const struct circle *hoods_first(const struct hoods *hoods)
{
    return hoods->circles;
}

/* --- hosts here, and circles ------------------------------------------------------------------ */

static const struct hoods_host *find_host(const struct hoods *hoods, const char *name)
{
    for (size_t i = 0; i < hoods->host_count; i++) {
        if (strcmp(hoods->hosts[i].name, name) == 0) {
            return &hoods->hosts[i];
        }
    }
    return NULL;
}

static struct circle *find_circle(const struct hoods *hoods, const char *hood, const char *profile)
{
    for (struct circle *circle = hoods->circles; circle != NULL; circle = circle->next) {
        if (strcmp(circle->hood_name, hood) == 0 && strcmp(circle->profile_text, profile) == 0) {
            return circle;
        }
    }
    return NULL;
}

struct circle *hoods_circle_of(const struct hoods *hoods, const char *host)
{
    const struct hoods_host *found = find_host(hoods, host);

    return found != NULL ? find_circle(hoods, found->hood, found->profile) : NULL;
}

static void read_host(const struct hearsay_host *from, struct hoods_host *out)
{
    const char *hood = from->hood != NULL ? from->hood : "";

    memset(out, 0, sizeof(*out));
    msg_text_copy(out->name, sizeof(out->name), from->name, strlen(from->name));
    msg_text_copy(out->hood, sizeof(out->hood), hood, strlen(hood));
    msg_text_copy(out->profile, sizeof(out->profile), from->profile, strlen(from->profile));
}

/* Returns whether the hosts are others than before. */
static bool note_hosts(struct hoods *hoods, const struct hearsay_welcome *welcome)
{
    size_t count = welcome->host_count < LIMIT_HOSTS ? welcome->host_count : LIMIT_HOSTS;
    bool has_changed = count != hoods->host_count;

    for (size_t i = 0; i < count; i++) {
        struct hoods_host host;

        read_host(&welcome->hosts[i], &host);
        has_changed = has_changed || memcmp(&host, &hoods->hosts[i], sizeof(host)) != 0;
        hoods->hosts[i] = host;
    }
    hoods->host_count = count;
    return has_changed;
}

static void drop_circles(struct hoods *hoods)
{
    while (hoods->circles != NULL) {
        struct circle *circle = hoods->circles;

        hoods->circles = circle->next;
        circle_free(circle);
    }
}

/* Circles for the hosts here. False: no memory. */
static bool make_circles(struct hoods *hoods)
{
    for (size_t i = 0; i < hoods->host_count; i++) {
        const struct hoods_host *host = &hoods->hosts[i];
        struct circle *circle = NULL;

        if (host->hood[0] == '\0' || bridge_config_hood(hoods->config, host->hood) == NULL ||
            find_circle(hoods, host->hood, host->profile) != NULL) {
            continue;
        }
        if (circle_new(host->hood, host->profile, &circle) != 0) {
            return false;
        }
        circle->next = hoods->circles;
        hoods->circles = circle;
    }
    return true;
}

bool hoods_meet(struct hoods *hoods, const struct hearsay_welcome *welcome)
{
    hoods->events->closes(hoods->context);
    if (!note_hosts(hoods, welcome)) {
        return true;
    }
    drop_circles(hoods);
    if (!make_circles(hoods)) {
        drop_circles(hoods);
        hoods->host_count = 0; /* the next greeting has other hosts */
        return false;
    }
    hoods_joined(hoods); /* a new circle knows nobody */
    return true;
}

/* --- when to ask for lost words --------------------------------------------------------------- */

static void on_tick(uv_timer_t *timer);

/* Sets the timer for what is due next. Call it after each change of a circle. While the bridge is
 * not at the hub nothing is asked for, and hoods_joined sets the timer. */
static void wait_for_due(struct hoods *hoods)
{
    int64_t now_ms = (int64_t)uv_now(hoods->loop);
    int64_t due_ms = INT64_MAX;

    if (hoods->has_stopped) {
        return;
    }
    for (const struct circle *circle = hoods->circles; circle != NULL; circle = circle->next) {
        int64_t next_ms = circle_due_ms(circle);

        due_ms = next_ms < due_ms ? next_ms : due_ms;
    }
    if (due_ms == INT64_MAX || !wire_is_joined(hoods->wire)) {
        (void)uv_timer_stop(&hoods->tick);
        return;
    }
    due_ms = due_ms < hoods->asked_ms + TICK_MS ? hoods->asked_ms + TICK_MS : due_ms;
    (void)uv_timer_start(&hoods->tick, on_tick, due_ms > now_ms ? (uint64_t)(due_ms - now_ms) : 0,
                         0);
}

/* --- words of neighbours ---------------------------------------------------------------------- */

static void learn_word(struct hoods *hoods, const char *hood, const char *host,
                       const struct msg_peer_summary *word)
{
    uint64_t withheld;

    if (find_host(hoods, host) != NULL) {
        return; /* the bridge's own word */
    }
    for (struct circle *circle = hoods->circles; circle != NULL; circle = circle->next) {
        if (strcmp(circle->hood_name, hood) == 0 &&
            !circle_hear(circle, host, word, hoods_now_ms(hoods), (int64_t)uv_now(hoods->loop)) &&
            log_gate_opens(&hoods->gate, (int64_t)uv_now(hoods->loop), &withheld)) {
            log_warning("hood %s: it has %" PRIu32
                        " hosts more than the %d that a bridge can ask, so "
                        "answers are not complete: divide the hood",
                        hood, circle->skipped_count, CIRCLE_PEERS_MAX);
        }
    }
}

/* The names in s.HOOD.HOST; both have BRIDGE_NAME_BYTES. False: it is no such subject. */
static bool split_subject(const char *subject, char *out_hood, char *out_host)
{
    const char *hood = subject + 2;
    size_t hood_bytes = strcspn(hood, ".");
    const char *host = hood + hood_bytes + (hood[hood_bytes] == '.' ? 1 : 0);
    size_t host_bytes = strlen(host);

    if (strncmp(subject, "s.", 2) != 0 || !settings_is_name(hood, hood_bytes) ||
        !settings_is_name(host, host_bytes)) {
        return false;
    }
    memcpy(out_hood, hood, hood_bytes);
    memcpy(out_host, host, host_bytes);
    out_hood[hood_bytes] = out_host[host_bytes] = '\0';
    return true;
}

/* Whether the message may be decoded. The loop would spend its time on it otherwise. */
static bool admit_message(struct hoods *hoods, const char *hood, const char *host, size_t size)
{
    int64_t now_ms = (int64_t)uv_now(hoods->loop);
    uint64_t withheld;

    if (find_host(hoods, host) != NULL || summary_limit_admits(&hoods->limit, host, size, now_ms)) {
        return true;
    }
    if (log_gate_opens(&hoods->limit_gate, now_ms, &withheld)) {
        log_warning("hood %s: summaries of %s are dropped, because they come too fast or are "
                    "larger than %d bytes: somebody may have its certificate; docs/hub.md, \"To "
                    "take one out\"",
                    hood, host, SUMMARY_BYTES_MAX);
    }
    return false;
}

static void on_word(void *context, const struct wire_message *message)
{
    struct hoods *hoods = context;
    char hood[BRIDGE_NAME_BYTES];
    char host[BRIDGE_NAME_BYTES];
    struct msg_letter letter;
    struct msg_error error;
    struct arena arena;

    if (!split_subject(message->subject, hood, host) ||
        !admit_message(hoods, hood, host, message->size)) {
        return;
    }
    arena_init(&arena, alloc_system(), CODEC_RESPONSE_ARENA_BYTES);
    if (letter_decode(message->data, message->size, &arena, &letter, &error) == 0) {
        if (letter.kind == MSG_LETTER_PEER_SUMMARY) {
            learn_word(hoods, hood, host, &letter.peer_summary);
            wait_for_due(hoods);
        } else if (letter.kind == MSG_LETTER_SUMMARY_ASK && find_host(hoods, host) == NULL) {
            const char *wanted = letter.summary_ask.host.text;

            hoods->events->wanted(hoods->context, hood, wanted != NULL ? wanted : "");
        }
    }
    arena_deinit(&arena);
}

/* --- lost words ------------------------------------------------------------------------------- */

/* The name under which this bridge speaks in a neighbourhood; NULL: none of its hosts is there. */
static const char *name_in(const struct hoods *hoods, const char *hood)
{
    for (size_t i = 0; i < hoods->config->host_count; i++) {
        if (strcmp(hoods->config->hosts[i].hood, hood) == 0) {
            return hoods->config->hosts[i].name;
        }
    }
    return NULL;
}

/* Asks for the full summary of a host; "": of all. */
static void ask_summary(struct hoods *hoods, const char *hood, const char *host)
{
    const char *own = name_in(hoods, hood);
    struct msg_letter letter = {
        .kind = MSG_LETTER_SUMMARY_ASK,
        .summary_ask = {.host = {host[0] != '\0' ? host : NULL, strlen(host)}}};
    char subject[SUBJECT_BYTES];
    struct bytes bytes;

    if (own == NULL) {
        return;
    }
    subject_summary(hood, own, subject);
    bytes_init(&bytes, alloc_system());
    if (letter_encode(&letter, &bytes) == 0) {
        struct wire_letter sent = {.subject = subject, .data = bytes.data, .size = bytes.count};

        (void)wire_publish(hoods->wire, &sent);
    }
    bytes_deinit(&bytes);
}

static void on_tick(uv_timer_t *timer)
{
    struct hoods *hoods = timer->data;
    const char *host;

    hoods->asked_ms = (int64_t)uv_now(hoods->loop);
    for (struct circle *circle = hoods->circles; circle != NULL && wire_is_joined(hoods->wire);
         circle = circle->next) {
        if (circle_asks_again(circle, hoods->asked_ms)) {
            ask_summary(hoods, circle->hood_name, "");
        }
        for (int i = 0;
             i < ASKS_A_TICK && (host = circle_next_void(circle, hoods->asked_ms)) != NULL; i++) {
            ask_summary(hoods, circle->hood_name, host);
        }
    }
    wait_for_due(hoods);
}

void hoods_joined(struct hoods *hoods)
{
    for (struct circle *circle = hoods->circles; circle != NULL && wire_is_joined(hoods->wire);
         circle = circle->next) {
        circle_join(circle, (int64_t)uv_now(hoods->loop));
        ask_summary(hoods, circle->hood_name, "");
    }
    wait_for_due(hoods);
}

void hoods_parted(struct hoods *hoods)
{
    for (struct circle *circle = hoods->circles; circle != NULL; circle = circle->next) {
        circle_part(circle, (int64_t)uv_now(hoods->loop));
    }
}

/* --- beginning and end ------------------------------------------------------------------------ */

struct hoods *hoods_new(uv_loop_t *loop, const struct bridge_config *config, struct wire *wire,
                        const struct hoods_events *events, void *context)
{
    struct hoods *hoods = calloc(1, sizeof(*hoods));
    char subject[SUBJECT_BYTES];

    if (hoods == NULL) {
        return NULL;
    }
    hoods->loop = loop;
    hoods->config = config;
    hoods->wire = wire;
    hoods->events = events;
    hoods->context = context;
    for (size_t i = 0; i < config->hood_count; i++) {
        subject_summary(config->hoods[i].name, ">", subject);
        hoods->subscriptions[i] = wire_subscribe(wire, subject, on_word, hoods);
        if (hoods->subscriptions[i] == NULL) {
            return NULL; /* the process ends */
        }
    }
    (void)uv_timer_init(loop, &hoods->tick); /* never fails */
    hoods->tick.data = hoods;
    return hoods;
}

void hoods_stop(struct hoods *hoods)
{
    for (size_t i = 0; i < hoods->config->hood_count; i++) {
        wire_unsubscribe(hoods->subscriptions[i]);
    }
    uv_close((uv_handle_t *)&hoods->tick, NULL);
    hoods->has_stopped = true;
}

void hoods_free(struct hoods *hoods)
{
    if (hoods != NULL) {
        drop_circles(hoods);
    }
    free(hoods);
}
