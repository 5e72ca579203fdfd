/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulated worlds, each made from a number: clients of all kinds ask at random, their bytes come
 * in pieces, they leave and come again; the store commits, or fails, when it likes; the server is
 * stopped, or killed, and started again; clocks run, jump, stop and wake up in 1970. Every answer
 * is held against the model (sim_model.h), and in the end nothing may be missing, and `check` must
 * agree.
 *
 * HEARSAY_SEED gives all worlds anew, HEARSAY_SIM_WORLD one of them (add "s": over SQLite),
 * HEARSAY_SIM_WORLDS says how many.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "tests/sim/sim_random.h"
#include "tests/sim/sim_world.h"

enum {
    WORLDS = 240,     /* unless the environment says otherwise */
    SQLITE_EVERY = 4, /* the others are in memory */
    STEPS_MAX = 700
};

/* --- what happens ----------------------------------------------------------------------------- */

static void pass_time(struct world *world, int64_t ms)
{
    world_set_clocks(world, world->wall_ms + ms, world->monotonic_ms + ms, world->synchronised);
}

/* Somebody asks for a message in the last millisecond in which it is there, or in the next. */
static void pass_to_an_expiry(struct world *world, struct w_client *client)
{
    const struct model *model = &world->model;
    const struct m_message *message =
        &model->messages[rng_below(&world->rng, model->message_count)];
    const int64_t left_ms = message->expires_ms - model->now_ms;

    if (left_ms > 0 && left_ms < 400 * 1000) {
        pass_time(world, left_ms - rng_below(&world->rng, 2));
        if (client->connected && !client->stream.client_ended) {
            ask_get(world, client, message);
            client_send(world, client, SIZE_MAX);
            (void)sim_stream_deliver(&client->stream, SIZE_MAX);
        }
    }
}

/* To the last millisecond before an epoch ends, or is over, or to the next. */
static void pass_to_an_end(struct world *world)
{
    const struct m_host *host = &world->model.hosts[rng_below(&world->rng, M_HOSTS)];

    if (host->epoch_count == 0) {
        return;
    }
    const struct m_epoch *epoch = &host->epochs[rng_below(&world->rng, host->epoch_count)];
    const int64_t left_ms =
        (rng_chance(&world->rng, 50) ? epoch->ends_ms : epoch->kept_ms) - world->model.now_ms;
    if (left_ms > 0 && left_ms < 400 * 1000) {
        pass_time(world, left_ms - rng_below(&world->rng, 2));
    }
}

static void jump(struct world *world)
{
    static const int64_t steps_s[] = {61, 3600, 23 * 3600, 25 * 3600, 40 * 24 * 3600};
    const int64_t step_ms = steps_s[rng_below(&world->rng, 5)] * 1000;
    int64_t wall_ms =
        rng_chance(&world->rng, 50) ? world->wall_ms + step_ms : world->wall_ms - step_ms;

    if (world->wall_ms < W_FIRST_MS / 2 && rng_chance(&world->rng, 30)) {
        wall_ms = W_FIRST_MS + step_ms; /* a machine that started in 1970 learns the time */
    }
    world_set_clocks(world, wall_ms, world->monotonic_ms, rng_chance(&world->rng, 30));
}

static void connect_or_not(struct world *world, struct w_client *client)
{
    if (!client->connected) {
        client_connect(world, client);
        for (unsigned i = 0; i < 2; i++) {
            struct w_interest *interest = &client->interests[i];
            if (interest->is_set || rng_chance(&world->rng, 60)) {
                ask_interest(world, client, interest);
            }
        }
    } else if (rng_chance(&world->rng, 70)) {
        client_cut(world, client);
    } else if (client->output.count == 0) {
        client->stream.client_ended = true; /* it still reads */
    }
}

/* Off for a while; the clock of the machine may not know the time when it is on again. */
static void restart(struct world *world)
{
    struct rng *rng = &world->rng;

    world_stop(world, rng_chance(rng, 50));
    const int64_t off_ms =
        rng_chance(rng, 70) ? rng_below(rng, 5000) : (int64_t)rng_below(rng, 3 * 24 * 3600) * 1000;
    world->wall_ms += off_ms;
    if (rng_chance(rng, 15)) {
        world->wall_ms = (int64_t)rng_below(rng, 2000000) - 1000000; /* 1969 or 1970 */
    }
    world->monotonic_ms = sim_stream_now_ms = 1 + rng_below(rng, 100000);
    world->synchronised = rng_chance(rng, 50);
    world_start(world);
}

static void act(struct world *world, struct w_client *client)
{
    if (!client->connected) {
        if (rng_chance(&world->rng, 30)) {
            connect_or_not(world, client);
        }
        return;
    }
    for (uint32_t i = 1 + rng_below(&world->rng, 3); i > 0 && !client->stream.client_ended; i--) {
        ask_something(world, client);
    }
}

static const struct {
    const char *name;
    uint32_t weight;
} events[] = {{"a client asks", 150},     {"bytes go up", 130},
              {"bytes come down", 90},    {"a turn", 80},
              {"a commit", 40},           {"reads are carried out", 30},
              {"reads are answered", 30}, {"time passes", 20},
              {"a second passes", 14},    {"a client comes or goes", 8},
              {"a commit fails", 3},      {"reads fail", 2},
              {"the clock jumps", 2},     {"the machine sleeps", 1},
              {"a restart", 2},           {"all is quiet", 2}};
enum { EVENTS = sizeof(events) / sizeof(events[0]) };

static void happen(struct world *world, unsigned event)
{
    struct rng *rng = &world->rng;
    struct w_client *client = &world->clients[rng_below(rng, W_CLIENTS)];
    const size_t some = 1 + rng_below(rng, rng_chance(rng, 50) ? 30 : 3000);

    switch (event) {
    case 0:
        act(world, client);
        break;
    case 1:
        if (client->connected) {
            client_send(world, client, some);
            (void)sim_stream_deliver(&client->stream, some);
        }
        break;
    case 2:
        if (client->connected) {
            (void)client_receive(world, client, some);
        }
        break;
    case 3:
        world_turn(world);
        break;
    case 4:
    case 10:
        (void)gate_commit(world, event == 10);
        break;
    case 5:
    case 11:
        (void)gate_carry_out(world, event == 11);
        break;
    case 6:
        (void)gate_answer(world);
        break;
    case 7:
        if (rng_chance(rng, 30) && world->model.message_count > 0) {
            pass_to_an_expiry(world, client);
        } else if (rng_chance(rng, 20)) {
            pass_to_an_end(world);
        } else {
            pass_time(world, rng_below(rng, 3000));
        }
        break;
    case 8:
        pass_time(world, 1000);
        world_tick(world);
        break;
    case 9:
        connect_or_not(world, client);
        break;
    case 12:
        jump(world);
        break;
    case 13:
        pass_time(world, rng_below(rng, 2 * 3600) * 1000);
        world_tick(world);
        break;
    case 14:
        restart(world);
        break;
    default:
        world_settle(world);
    }
    while (sim_stream_close_all()) {
    }
}

static unsigned choose_event(struct world *world)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < EVENTS; i++) {
        sum += events[i].weight;
    }
    uint32_t dice = rng_below(&world->rng, sum);
    unsigned at = 0;
    for (; dice >= events[at].weight; at++) {
        dice -= events[at].weight;
    }
    return at;
}

/* --- the end of a world ----------------------------------------------------------------------- */

/* The operator looks at everything, and finds it in order. */
static void look_at_all(struct world *world)
{
    struct w_client *operator= & world->clients[0];

    sim_position.doing = "the operator looks at all";
    if (operator->connected) {
        client_cut(world, operator);
    }
    client_connect(world, operator);
    ask_plain(world, operator, HEARSAY_REQUEST_CHECK, 0);
    for (uint32_t h = 0; h < world->config.host_count; h++) {
        ask_plain(world, operator, HEARSAY_REQUEST_STATS, h);
        ask_plain(world, operator, HEARSAY_REQUEST_BANS, h);
        ask_plain(world, operator, HEARSAY_REQUEST_SUMMARY, h);
        for (unsigned c = 0; c < 8; c++) {
            struct w_request *request = client_request(world, operator, HEARSAY_REQUEST_QUERY);
            request->host = h;
            request->names_host = true;
            request->unknown_host = false;
            request->query = (struct m_query){.host = h,
                                              .k = M_RESULTS,
                                              .part_count = 1,
                                              .max_distance_ppm = LIMIT_DISTANCE_PPM,
                                              .since_ms = INT64_MIN,
                                              .until_ms = INT64_MAX,
                                              .order = HEARSAY_ORDER_SIMILARITY,
                                              .with_payload = c % 2 == 0};
            memcpy(request->query.parts[0].filter, world->contexts[h][c], M_FILTER_BYTES);
            client_put(world, operator, request);
        }
    }
    world_settle(world);
    SIM_CHECK(operator->connected);
}

struct sums {
    uint64_t worlds, steps, sessions, restarts, answers, matches, errors, arranged;
    uint64_t kinds[HEARSAY_RESPONSE_SIMILAR_LIST + 1];
};

static void add(struct sums *sums, const struct world *world, uint32_t steps)
{
    sums->worlds++;
    sums->steps += steps;
    sums->sessions += world->sessions;
    sums->restarts += world->restarts;
    sums->answers += world->answers;
    sums->matches += world->matches;
    sums->errors += world->errors;
    sums->arranged += world->arranged;
    for (unsigned i = 0; i <= HEARSAY_RESPONSE_SIMILAR_LIST; i++) {
        sums->kinds[i] += world->kinds[i];
    }
}

/* A whole world. What its clients have got, as a hash. */
static uint64_t live(uint64_t seed, bool on_sqlite, struct sums *sums)
{
    static struct world world;
    uint32_t steps;

    sim_random_seed(~seed);
    world_begin(&world, seed, on_sqlite);
    steps = 200 + rng_below(&world.rng, STEPS_MAX - 200);
    for (uint32_t i = 0; i < steps; i++) {
        const unsigned event = choose_event(&world);
        sim_position.step = i;
        sim_position.doing = events[event].name;
        happen(&world, event);
    }
    sim_position.doing = "the end";
    world_settle(&world);
    look_at_all(&world);
    world_stop(&world, rng_chance(&world.rng, 50));
    world_start(&world);
    look_at_all(&world);
    world_stop(&world, true);
    add(sums, &world, steps);
    const uint64_t trace = world.trace;
    world_end(&world);
    return trace;
}

/* --- all worlds ------------------------------------------------------------------------------- */

static void report(const struct sums *sums)
{
    printf("%" PRIu64 " worlds, %" PRIu64 " steps, %" PRIu64 " sessions, %" PRIu64 " restarts, "
           "%" PRIu64 " answers (%" PRIu64 " errors), %" PRIu64 " matches, %" PRIu64
           " indexes arranged\n",
           sums->worlds, sums->steps, sums->sessions, sums->restarts, sums->answers, sums->errors,
           sums->matches, sums->arranged);
}

/* One that is to be looked at. */
static int run_one(const char *text)
{
    char *end = NULL;
    struct sums sums = {0};
    const uint64_t seed = strtoull(text, &end, 0);
    const bool on_sqlite = *end == 's';

    printf("trace %016" PRIx64 "\n", live(seed, on_sqlite, &sums));
    report(&sums);
    return 0;
}

int main(void)
{
    const char *one = getenv("HEARSAY_SIM_WORLD");
    const char *many = getenv("HEARSAY_SIM_WORLDS");
    const uint64_t worlds = many != NULL ? strtoull(many, NULL, 0) : WORLDS;
    struct sums sums = {0};
    struct rng rng;

    (void)setenv("TZ", "UTC", 1); /* schedules are by local time */
    log_set_level(LOG_LEVEL_ERROR);
    sim_random_init();
    if (one != NULL) {
        return run_one(one);
    }
    rng_init(&rng);
    for (uint64_t i = 0; i < worlds; i++) {
        const uint64_t seed = rng_next(&rng);
        const bool on_sqlite = i % SQLITE_EVERY == SQLITE_EVERY - 1;
        const uint64_t trace = live(seed, on_sqlite, &sums);
        if (i % 16 == 0) { /* the same again is the same */
            struct sums again = {0};
            SIM_EXPECT(live(seed, on_sqlite, &again) == trace, "it went another way");
        }
    }
    report(&sums);
    SIM_CHECK(sums.arranged > 0);
    /* everything that can be asked was answered at times */
    static const enum hearsay_response_kind kinds[] = {
        HEARSAY_RESPONSE_ERROR,         HEARSAY_RESPONSE_WELCOME,
        HEARSAY_RESPONSE_DEPOSITED,     HEARSAY_RESPONSE_RESULTS,
        HEARSAY_RESPONSE_GOT,           HEARSAY_RESPONSE_WITHDRAWN,
        HEARSAY_RESPONSE_PONG,          HEARSAY_RESPONSE_EXPORTED,
        HEARSAY_RESPONSE_SUMMARIZED,    HEARSAY_RESPONSE_HERE_LABELS,
        HEARSAY_RESPONSE_WATCHING,      HEARSAY_RESPONSE_UNWATCHED,
        HEARSAY_RESPONSE_MATCH,         HEARSAY_RESPONSE_REPORT_TAKEN,
        HEARSAY_RESPONSE_STATS_TAKEN,   HEARSAY_RESPONSE_REMOVED,
        HEARSAY_RESPONSE_RESTORED,      HEARSAY_RESPONSE_REPORTED_LIST,
        HEARSAY_RESPONSE_BANNED,        HEARSAY_RESPONSE_UNBANNED,
        HEARSAY_RESPONSE_BAN_LIST,      HEARSAY_RESPONSE_ACCEPTING,
        HEARSAY_RESPONSE_CHECKED,       HEARSAY_RESPONSE_BACKED_UP,
        HEARSAY_RESPONSE_COMPACTED,     HEARSAY_RESPONSE_RELOADED,
        HEARSAY_RESPONSE_LOG_LEVEL_SET, HEARSAY_RESPONSE_EPOCH_CHANGED};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && worlds >= WORLDS; i++) {
        SIM_EXPECT(sums.kinds[kinds[i]] > 0, "no answer of kind %u was ever seen", kinds[i]);
    }
    return 0;
}
