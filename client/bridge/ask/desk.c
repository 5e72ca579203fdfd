/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/ask/inner.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "client/bridge/wire/subject.h"
#include "client/link/link.h"
#include "proto/codec/letter.h"

enum { LINK_RETRY_MS = 1000, CLOCK_MS = 30 * 1000, ROUNDS_MAX = SHUFFLE_MAX };

struct desk {
    uv_loop_t *loop;
    const struct bridge_config *config;
    struct wire *wire;
    struct hoods *hoods;
    uv_timer_t retry; /* of the link; of the clock */
    struct link *link;
    bool is_greeted;
    uint64_t ping;                    /* ticket */
    uv_timer_t tick;                  /* when a round or the shuffle is due */
    struct round *rounds[ROUNDS_MAX]; /* owned */
    size_t round_count;
    struct shuffle shuffle; /* of rounds that have not begun */
    struct log_gate gate;
    struct desk_figures figures;
    char error[WIRE_ERROR_BYTES];
};

static void open_link(struct desk *desk);

static void note_trouble(struct desk *desk, const char *why)
{
    uint64_t withheld;

    (void)snprintf(desk->error, sizeof(desk->error), "%.250s", why);
    if (log_gate_opens(&desk->gate, (int64_t)uv_now(desk->loop), &withheld)) {
        log_warning("no neighbour is asked: %s; trying on", why);
    }
}

/* --- answers to hearsayd ---------------------------------------------------------------------- */

/* Answers an ask. NULL: there is no answer, for the reason `why`. */
static void answer_ask(struct desk *desk, uint64_t ask_id, const struct hearsay_results *results,
                       const char *why)
{
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_ANSWERED,
                                      .answered = {.ask_id = ask_id}};
    struct hearsay_error error;
    uint64_t ticket;

    if (results != NULL) {
        request.answered.has_results = true;
        request.answered.results = *results;
    } else {
        request.answered.has_error = true;
        msg_error_set(&request.answered.error, HEARSAY_CODE_INTERNAL, NULL, "%s", why);
    }
    if (hearsay_submit(link_server(desk->link), &request, &ticket, &error) == HEARSAY_OK) {
        link_submitted(desk->link);
    } else {
        note_trouble(desk, error.sentence);
    }
}

static void drop_round(struct desk *desk, struct round *round)
{
    wire_forget(desk->wire, round);
    shuffle_remove(&desk->shuffle, round);
    for (size_t i = 0; i < desk->round_count; i++) {
        if (desk->rounds[i] == round) {
            desk->rounds[i] = desk->rounds[--desk->round_count];
            break;
        }
    }
    round_free(round);
}

/* --- rounds ----------------------------------------------------------------------------------- */

static void on_answer(void *context, uint64_t tag, enum wire_outcome outcome,
                      const struct wire_message *message);

static bool send_query(void *context, struct round *round, uint32_t peer, const void *data,
                       size_t size)
{
    struct desk *desk = context;
    const struct circle *circle = round_circle(round);
    char subject[SUBJECT_BYTES];
    struct wire_letter letter = {
        .use = WIRE_USE_QUERIES, .subject = subject, .data = data, .size = size};

    subject_query(circle->hood_name, circle->peers[peer].host, subject);
    return wire_request(desk->wire, &letter, 2 * ROUND_WAVE_MS, on_answer, round, peer);
}

static void finish_round(void *context, struct round *round, const struct hearsay_results *results)
{
    struct desk *desk = context;

    if (results != NULL) {
        desk->figures.peers_asked += results->peers_asked;
        desk->figures.peers_silent += results->peers_silent;
    }
    desk->figures.waves += round_waves(round);
    desk->figures.incomplete += results == NULL || !results->complete ? 1 : 0;
    answer_ask(desk, round_ask_id(round), results, "the neighbours cannot be asked this");
    drop_round(desk, round);
}

static const struct round_events round_events = {send_query, finish_round};

static void set_tick(struct desk *desk);

/* --- the link to hearsayd --------------------------------------------------------------------- */

/* hearsayd's clock may be corrected; see hoods_set_clock. */
static void ask_clock(struct desk *desk)
{
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_PING};
    struct hearsay_error error;

    if (hearsay_submit(link_server(desk->link), &request, &desk->ping, &error) == HEARSAY_OK) {
        link_submitted(desk->link);
    }
}

static void on_retry(uv_timer_t *timer)
{
    struct desk *desk = timer->data;

    if (desk->link == NULL) {
        open_link(desk);
    } else if (desk->is_greeted) {
        ask_clock(desk);
        (void)uv_timer_start(timer, on_retry, CLOCK_MS, 0);
    }
}

static void lose_link(struct desk *desk, const char *why)
{
    note_trouble(desk, why);
    desk->is_greeted = false;
    desk_end_rounds(desk);
    link_close(desk->link);
    desk->link = NULL;
    (void)uv_timer_start(&desk->retry, on_retry, LINK_RETRY_MS, 0);
}

/* Tells hearsayd which hoods it may ask for. */
static void serve_hoods(struct desk *desk)
{
    struct hearsay_text hoods[BRIDGE_HOODS_MAX];
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_SERVE, .serve = {.hoods = hoods}};
    struct hearsay_error error;
    uint64_t ticket;

    for (size_t i = 0; i < desk->config->hood_count; i++) {
        const char *name = desk->config->hoods[i].name;

        hoods[request.serve.hood_count++] = (struct hearsay_text){name, strlen(name)};
    }
    if (hearsay_submit(link_server(desk->link), &request, &ticket, &error) == HEARSAY_OK) {
        link_submitted(desk->link);
    } else {
        note_trouble(desk, error.sentence);
    }
}

static void on_greeted(void *context)
{
    struct desk *desk = context;
    const struct hearsay *server = link_server(desk->link);

    if (!hoods_meet(desk->hoods, hearsay_welcome(server))) {
        lose_link(desk, "no memory");
        return;
    }
    hoods_set_clock(desk->hoods, hearsay_now_ms(server) - (int64_t)uv_now(desk->loop));
    serve_hoods(desk);
    desk->is_greeted = true;
    desk->error[0] = '\0';
    desk->gate = (struct log_gate){.opened = false};
    (void)uv_timer_start(&desk->retry, on_retry, CLOCK_MS, 0);
}

static void take_ask(struct desk *desk, const struct hearsay_ask *ask)
{
    const char *host = ask->query.host.text != NULL ? ask->query.host.text : "";
    struct circle *circle = hoods_circle_of(desk->hoods, host);
    struct round *round = NULL;

    desk->figures.asks++;
    if (!wire_is_joined(desk->wire) || circle == NULL || desk->round_count == ROUNDS_MAX) {
        desk->figures.incomplete++;
        answer_ask(desk, ask->ask_id, NULL, "there is no connection to the hub");
        return;
    }
    round = round_new(circle, ask, hearsay_welcome(link_server(desk->link))->limits.frame_bytes,
                      &round_events, desk, (int64_t)uv_now(desk->loop));
    if (round == NULL || !shuffle_add(&desk->shuffle, round)) {
        round_free(round);
        answer_ask(desk, ask->ask_id, NULL, "the ask cannot be carried out");
        return;
    }
    desk->rounds[desk->round_count++] = round;
    set_tick(desk);
}

static void on_replied(void *context, const struct hearsay_reply *reply)
{
    struct desk *desk = context;
    const struct hearsay_response *response = &reply->response;

    if (response->kind == HEARSAY_RESPONSE_ASK) {
        take_ask(desk, &response->ask);
    } else if (response->kind == HEARSAY_RESPONSE_PONG && response->id == desk->ping) {
        hoods_set_clock(desk->hoods, response->pong.now_ms - (int64_t)uv_now(desk->loop));
    }
}

/* All asks that have arrived are in the shuffle: those that may go out go out in random order. */
static void begin_rounds(struct desk *desk)
{
    int64_t now = (int64_t)uv_now(desk->loop);
    void *due[SHUFFLE_MAX];
    size_t count = shuffle_take(&desk->shuffle, now, randombytes_uniform, due);

    for (size_t i = 0; i < count; i++) {
        round_begin(due[i], hoods_now_ms(desk->hoods), now);
    }
}

static void on_rested(void *context)
{
    struct desk *desk = context;

    begin_rounds(desk);
    set_tick(desk);
}

static void on_answer(void *context, uint64_t tag, enum wire_outcome outcome,
                      const struct wire_message *message)
{
    struct round *round = context;
    struct desk *desk = round_owner(round);
    struct msg_letter letter;
    struct msg_error error;
    struct arena arena;

    arena_init(&arena, alloc_system(), CODEC_RESPONSE_ARENA_BYTES);
    bool is_answer = outcome == WIRE_ANSWERED &&
                     letter_decode(message->data, message->size, &arena, &letter, &error) == 0 &&
                     letter.kind == MSG_LETTER_PEER_RESULTS;
    round_take(round, (uint32_t)tag, is_answer ? &letter.peer_results : NULL,
               (int64_t)uv_now(desk->loop));
    arena_deinit(&arena);
    set_tick(desk);
}

static void on_tick(uv_timer_t *timer)
{
    struct desk *desk = timer->data;
    int64_t now = (int64_t)uv_now(desk->loop);

    begin_rounds(desk);
    for (size_t i = desk->round_count; i-- > 0;) {
        round_tick(desk->rounds[i], now); /* may drop this one, whose place another one takes */
    }
    set_tick(desk);
}

/* The timer of what is due next. */
static void set_tick(struct desk *desk)
{
    int64_t now = (int64_t)uv_now(desk->loop);
    int64_t due = shuffle_due_ms(&desk->shuffle);

    for (size_t i = 0; i < desk->round_count; i++) {
        int64_t one = round_due_ms(desk->rounds[i]);

        due = one < due ? one : due;
    }
    if (due == INT64_MAX) {
        (void)uv_timer_stop(&desk->tick);
    } else {
        (void)uv_timer_start(&desk->tick, on_tick, due > now ? (uint64_t)(due - now) : 0, 0);
    }
}

static void on_lost(void *context, const struct hearsay_error *why)
{
    lose_link(context, why->sentence);
}

static const struct link_events link_events = {on_greeted, on_replied, on_rested, on_lost};

static void open_link(struct desk *desk)
{
    struct hearsay_connect options = {.server = desk->config->server,
                                      .agent = "hearsay-bridge/" HEARSAY_VERSION};
    struct hearsay_error error;

    if (link_open(desk->loop, &options, &link_events, desk, &desk->link, &error) != HEARSAY_OK) {
        note_trouble(desk, error.sentence);
        (void)uv_timer_start(&desk->retry, on_retry, LINK_RETRY_MS, 0);
    }
}

/* --- beginning and end ------------------------------------------------------------------------ */

struct desk *desk_new(uv_loop_t *loop, const struct bridge_config *config, struct wire *wire,
                      struct hoods *hoods)
{
    struct desk *desk = calloc(1, sizeof(*desk));

    if (desk == NULL) {
        return NULL;
    }
    desk->loop = loop;
    desk->config = config;
    desk->wire = wire;
    desk->hoods = hoods;
    (void)uv_timer_init(loop, &desk->retry); /* never fails */
    desk->retry.data = desk;
    (void)uv_timer_init(loop, &desk->tick);
    desk->tick.data = desk;
    open_link(desk);
    return desk;
}

void desk_end_rounds(struct desk *desk)
{
    while (desk->round_count > 0) {
        struct round *round = desk->rounds[desk->round_count - 1];

        if (desk->is_greeted) {
            answer_ask(desk, round_ask_id(round), NULL, "there is no connection to the hub");
        }
        drop_round(desk, round);
    }
    (void)uv_timer_stop(&desk->tick);
}

void desk_stop(struct desk *desk)
{
    desk->is_greeted = false;
    desk_end_rounds(desk);
    link_close(desk->link);
    uv_close((uv_handle_t *)&desk->tick, NULL);
    uv_close((uv_handle_t *)&desk->retry, NULL);
}

void desk_free(struct desk *desk)
{
    free(desk);
}

void desk_read_figures(const struct desk *desk, struct desk_figures *out)
{
    *out = desk->figures;
    out->error = desk->error;
}
