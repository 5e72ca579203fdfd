/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/sim_world.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/limits/figures.h"
#include "daemon/store/database.h"
#include "daemon/system/list.h"
#include "daemon/watch/watch.h"
#include "tests/lib/fake_persist.h"
#include "tests/lib/loop_fixture.h"

struct world *the_world;
struct sim_position sim_position;

void sim_fail(const char *file, int line, const char *format, ...)
{
    va_list arguments;

    (void)fflush(stdout);
    (void)fprintf(stderr, "%s:%d: in world %llu, step %u (%s): ", file, line,
                  (unsigned long long)sim_position.seed, sim_position.step,
                  sim_position.doing != NULL ? sim_position.doing : "");
    va_start(arguments, format);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    (void)fprintf(stderr, "\nHEARSAY_SIM_WORLD=%llu%s runs this world again\n",
                  (unsigned long long)sim_position.seed, sim_position.on_sqlite ? "s" : "");
    abort();
}

/* --- clocks ----------------------------------------------------------------------------------- */

static int64_t read_wall_ms(void *context)
{
    return ((const struct world *)context)->wall_ms;
}

static int64_t read_monotonic_ms(void *context)
{
    return ((const struct world *)context)->monotonic_ms;
}

static bool clock_synchronised(void *context)
{
    return ((const struct world *)context)->synchronised;
}

void world_set_clocks(struct world *world, int64_t wall_ms, int64_t monotonic_ms, bool synchronised)
{
    world->wall_ms = wall_ms;
    world->monotonic_ms = sim_stream_now_ms = monotonic_ms;
    world->synchronised = synchronised;
    if (world->is_up) {
        model_tick(&world->model, wall_ms, monotonic_ms, synchronised);
        SIM_EQUAL(service_now_ms(world->server.service), world->model.now_ms);
        SIM_EQUAL(service_clock_trusted(world->server.service), model_clock_trusted(&world->model));
    }
}

/* --- long work -------------------------------------------------------------------------------- */

static void keep_work(struct worker *base, struct long_work *work)
{
    struct w_worker *worker = (struct w_worker *)(void *)base;

    SIM_CHECK(worker->work == NULL);
    worker->work = work;
    worker->turns = 0;
}

static bool do_work(struct w_worker *worker)
{
    struct long_work *work = worker->work;

    if (work == NULL) {
        return false;
    }
    worker->work = NULL; /* `done` may submit the next */
    work->run(work);
    work->done(work);
    return true;
}

/* --- configuration ---------------------------------------------------------------------------- */

static void set(struct world *world, const char *section, const char *key, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void set(struct world *world, const char *section, const char *key, const char *format, ...)
{
    char reason[CONFIG_REASON_BYTES];
    char value[128];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(value, sizeof(value), format, arguments);
    va_end(arguments);
    SIM_EXPECT(config_set(&world->config, "world", section, key, value, reason) == 0, "%s", reason);
}

static void set_host(struct world *world, const char *section, const char *profile)
{
    static const char *const evictions[] = {"reject", "oldest", "soonest-expiring"};
    static const char *const modes[] = {"open", "open", "review"};
    struct rng *rng = &world->rng;

    set(world, section, "profile", "%s", profile);
    /* Of the larger ones a sender has a share of several messages: daemon/host/room.h. */
    set(world, section, "messages", "%u",
        rng_chance(rng, 60) ? 4 + rng_below(rng, 24) : 32 + rng_below(rng, 60));
    set(world, section, "evict", "%s", evictions[rng_below(rng, 3)]);
    set(world, section, "hide_after", "%u", rng_below(rng, 4));
    set(world, section, "hide_per_hour", "%u", 1 + rng_below(rng, 3));
    set(world, section, "remove_after", "0");
    set(world, section, "accept", "%s", modes[rng_below(rng, 3)]);
    if (rng_chance(rng, 30)) {
        set(world, section, "accept_schedule", "22:00-06:00 %s",
            rng_chance(rng, 50) ? "closed" : "review");
    }
    if (rng_chance(rng, 60)) {
        const uint32_t length = 60U << rng_below(rng, 7);
        set(world, section, "epoch_length", "%us", length);
        set(world, section, "epoch_keep", "%us", length * (1 + rng_below(rng, 5)));
    }
    set(world, section, "here", "geo:u281zd");
}

static void configure(struct world *world)
{
    struct rng *rng = &world->rng;
    char reason[CONFIG_REASON_BYTES];

    config_defaults(&world->config);
    (void)snprintf(world->config.data, sizeof(world->config.data), "%s", world->directory);
    set(world, "daemon", "listen", "127.0.0.1:7117 local");
    config_add_host(&world->config, "alpha");
    config_add_host(&world->config, "beta");
    set_host(world, "host alpha", "v2:512/4");
    set_host(world, "host beta",
             rng_chance(rng, 50) ? "v2:512/4" : "v2:geo=64/2,topic=128/2,any=64/1");
    if (rng_chance(rng, 80)) {
        set(world, "host alpha", "hood", "near");
        set(world, "host beta", "hood", rng_chance(rng, 80) ? "near" : "far");
    }
    set(world, "limits", "cache", rng_chance(rng, 50) ? "0" : "64K");
    set(world, "limits", "k", "%d", M_RESULTS);
    set(world, "limits", "messages", "%u", 20 + rng_below(rng, 80));
    set(world, "limits", "deposit_burst", "%u", 5 + rng_below(rng, 40));
    set(world, "limits", "deposits_per_minute", "%u", 10 + rng_below(rng, 100));
    set(world, "limits", "query_burst", "%u", 10 + rng_below(rng, 60));
    set(world, "limits", "queries_per_minute", "%u", 30 + rng_below(rng, 300));
    set(world, "limits", "sender_share", "%u%%", 10 + rng_below(rng, 91));
    set(world, "limits", "sessions_per_address", "%u", 1 + rng_below(rng, 3));
    set(world, "limits", "watches_per_session", "%u", 4);
    set(world, "limits", "idle_timeout", "0");
    set(world, "daemon", "clock_patience", "%us", 60 * (1 + rng_below(rng, 60)));
    SIM_EXPECT(config_finish(&world->config, reason) == 0, "%s", reason);
}

/* --- the server's life ------------------------------------------------------------------------ */

static int reload(void *context, char *out_reason)
{
    struct world *world = context;
    (void)out_reason;

    service_reload(world->server.service, &world->config);
    return 0;
}

static void add_figures(void *context, struct figures *figures)
{
    figures_add(figures, ((struct world *)context)->server.sessions.count, "sessions");
}

static void epoch_changed(void *context, const struct host *host)
{
    struct world *world = context;
    struct session *session;

    DL_FOREACH (world->server.sessions.first, session) {
        if (session->state == SESSION_OPEN) {
            handler_push_epoch(&session->client, host);
        }
    }
}

/* All sessions end; who connects again gets the new time. */
static void clock_set(void *context)
{
    struct world *world = context;

    for (unsigned i = 0; i < W_CLIENTS; i++) {
        world->clients[i].may_be_dropped = true;
    }
    sessions_close(&world->server.sessions);
}

static void check_due_epochs(struct world *world)
{
    for (size_t h = 0; h < world->config.host_count; h++) {
        const struct m_host *host = &world->model.hosts[h];
        const bool is_due =
            host->config->epoch_length_s > 0 && !host->beginning &&
            (host->current == 0 || host->epochs[host->current - 1].ends_ms <= world->model.now_ms);
        SIM_EXPECT(!is_due, "host %s has no epoch, and none begins", host->config->name);
    }
}

void world_start(struct world *world)
{
    char reason[CONFIG_REASON_BYTES];
    struct server *server = &world->server;
    struct persist_info saved;

    gate_open_store(world);
    world->store->interface->info(world->store, &saved);
    SIM_EXPECT(saved.clock_ms >= world->model.saved_ms, "the saved clock has gone back");
    /* Numbers are reserved in the file: what was not given before the restart is left out. */
    SIM_EXPECT(saved.seq >= world->model.seq &&
                   saved.seq < world->model.seq + STORE_NUMBERS_RESERVED,
               "after seq %lld the store goes on from seq %lld", (long long)world->model.seq,
               (long long)saved.seq);
    world->model.seq = saved.seq;
    model_start(&world->model, saved.clock_ms, world->wall_ms, world->monotonic_ms,
                world->synchronised);
    SIM_EQUAL(saved.shift_from_ms, world->model.shift_saved_ms);
    memset(server, 0, sizeof(*server));
    SIM_CHECK(loop_init(&server->loop) == 0);
    SIM_CHECK(uv_timer_init(&server->loop.uv, &server->waits) == 0);
    server->alloc = alloc_system();
    server->lock = -1;
    server->persist = &world->gate;
    server->store_closing = true; /* the store is the world's: sessions that go do not end it */
    server->control = world->control;
    const struct service_options options = {
        .alloc = alloc_system(),
        .config = &world->config,
        .persist = &world->gate,
        .hash_seed = world->seed,
        .read_wall_ms = read_wall_ms,
        .read_monotonic_ms = read_monotonic_ms,
        .clock_synchronised = clock_synchronised,
        .clock_context = world,
        .control = &server->control,
        .worker = &world->worker.worker,
    };
    SIM_EXPECT(handler_open(&options, &server->service, reason) == 0, "%s", reason);
    check_due_epochs(world);
    model_loaded(&world->model); /* the clock may have been set since; the next tick sees that */
    sessions_init(&server->sessions, &server->loop, server->alloc, server->service, &server->tls);
    world->is_up = true;
    world->watch_number = 0;
    SIM_EQUAL(service_now_ms(server->service), world->model.now_ms);
}

static void close_sessions(struct world *world)
{
    for (unsigned i = 0; i < W_CLIENTS; i++) {
        world->clients[i].may_be_dropped = true;
    }
    sessions_close(&world->server.sessions);
    while (sim_stream_close_all()) {
    }
    for (unsigned i = 0; i < W_CLIENTS; i++) {
        if (world->clients[i].connected) {
            client_cut(world, &world->clients[i]);
        }
        world->clients[i].drop_count = 0; /* a server that starts knows nothing of it */
    }
}

/* As on SIGTERM: what was received is answered, what is under way comes to its end. */
static void stop_gently(struct world *world)
{
    service_stop(world->server.service);
    sessions_stop(&world->server.sessions);
    for (unsigned i = 0; i < W_CLIENTS; i++) {
        world->clients[i].may_be_dropped = true;
    }
    const int64_t stopped_ms = world->model.now_ms;
    service_save_clock(world->server.service);
    world_settle(world);
    SIM_EXPECT(world->model.saved_ms >= stopped_ms, "the clock was not saved at the end");
}

void world_stop(struct world *world, bool cleanly)
{
    struct server *server = &world->server;

    if (cleanly) {
        stop_gently(world);
    }
    service_stop(server->service);
    sessions_stop(&server->sessions);
    while (do_work(&world->worker)) {
    }
    close_sessions(world);
    while (gate_commit(world, true) + gate_carry_out(world, true) + gate_answer(world) > 0 ||
           world->job != NULL) {
    }
    while (sim_stream_close_all()) {
    }
    sessions_reap(&server->sessions);
    SIM_CHECK(server->sessions.first == NULL && server->sessions.count == 0);
    SIM_EQUAL(server->service->working, 0);
    SIM_EQUAL(server->service->writing_bytes, 0);
    SIM_EQUAL(server->sessions.output_bytes, 0);
    const struct arrange_figures *arranged = &server->service->arrange.figures;
    world->arranged += arranged->done;
    world->is_up = false;
    world->checking = false;
    handler_close(server->service);
    sessions_deinit(&server->sessions);
    loop_close_handles(&server->loop);
    uv_close((uv_handle_t *)&server->waits, NULL);
    (void)uv_run(&server->loop.uv, UV_RUN_DEFAULT);
    SIM_CHECK(uv_loop_close(&server->loop.uv) == 0);
    gate_close_store(world);
    world->restarts++;
}

void world_turn(struct world *world)
{
    enum { WORK_TURNS = 5 }; /* that long work takes: messages come and go meanwhile */

    if (world->worker.work != NULL && world->worker.turns++ >= WORK_TURNS) {
        (void)do_work(&world->worker);
    }
    server_turn(&world->server);
    (void)sim_stream_close_all();
}

/* --- time passes ------------------------------------------------------------------------------ */

static void end_epochs(struct world *world)
{
    for (size_t h = 0; h < world->config.host_count; h++) {
        struct m_host *host = &world->model.hosts[h];
        for (uint32_t e = 0; e < host->epoch_count; e++) {
            struct m_epoch *epoch = &host->epochs[e];
            epoch->over = epoch->over || epoch->kept_ms <= world->model.now_ms;
        }
        if (host->current > 0 && host->epochs[host->current - 1].over) {
            host->current = 0;
        }
    }
}

/* Who has not read for long is dropped now. */
static void find_stuck(struct world *world)
{
    for (unsigned i = 0; i < W_CLIENTS; i++) {
        struct w_client *client = &world->clients[i];
        struct transport *transport = client->stream.transport;
        if (!client->connected || transport == NULL) {
            continue;
        }
        const bool is_ending =
            client->peer != NULL &&
            ((const struct session *)(const void *)client->peer)->state == SESSION_ENDING;
        client->is_stuck =
            transport_is_stuck(transport, world->monotonic_ms, is_ending ? 2000 : 30 * 1000);
        client->may_be_dropped |= client->is_stuck;
    }
}

void world_tick(struct world *world)
{
    find_stuck(world);
    sessions_tick(&world->server.sessions, world->monotonic_ms);
    end_epochs(world);
    epochs_tick(world->server.service);
    check_due_epochs(world);
    if (world->ticks++ % 5 == 0) {
        service_sweep(world->server.service);
    }
    watch_tick(world->server.service);
    (void)service_arrange(world->server.service);
    (void)sim_stream_close_all();
}

/* --- rest ------------------------------------------------------------------------------------- */

static bool move_all(struct world *world)
{
    bool has_moved = false;

    for (unsigned i = 0; i < W_CLIENTS; i++) {
        struct w_client *client = &world->clients[i];
        if (client->connected) {
            client_send(world, client, SIZE_MAX);
            has_moved |= sim_stream_deliver(&client->stream, SIZE_MAX);
            has_moved |= client_receive(world, client, SIZE_MAX);
        }
    }
    world_turn(world);
    return gate_commit(world, false) + gate_carry_out(world, false) + gate_answer(world) > 0 ||
           has_moved || world->server.loop.ready != NULL || world->server.loop.busy != NULL ||
           world->job != NULL || watch_is_due(world->server.service) ||
           arrange_is_active(&world->server.service->arrange);
}

static void check_all_answered(const struct world *world)
{
    for (uint64_t i = 0; i < world->request_count; i++) {
        const struct w_request *request = world->requests[i];
        const struct w_client *client = request->client;
        SIM_EXPECT(request->expected.answered || request->session != client->session ||
                       !client->connected || client->stream.transport == NULL ||
                       client->stream.transport->ending,
                   "request %llu, of kind %d, was not answered", (unsigned long long)request->id,
                   request->kind);
    }
}

void world_settle(struct world *world)
{
    unsigned turns = 0;

    watch_tick(world->server.service); /* watches whose clients have tokens again go on */
    for (unsigned quiet = 0; quiet < 3;) {
        quiet = move_all(world) ? 0 : quiet + 1;
        SIM_EXPECT(turns++ < 100000, "it does not come to rest");
    }
    check_all_answered(world);
    watches_check_all_got(world);
}

/* --- worlds ----------------------------------------------------------------------------------- */

static void make_contexts(struct world *world)
{
    for (size_t h = 0; h < world->config.host_count; h++) {
        const uint32_t bits = world->config.hosts[h].profile.bits;
        for (unsigned c = 0; c < 8; c++) {
            for (uint32_t i = 0; i < 6 + rng_below(&world->rng, 50); i++) {
                const uint32_t bit = rng_below(&world->rng, bits);
                world->contexts[h][c][bit / 8] |= (uint8_t)(1U << bit % 8);
            }
        }
    }
}

static void make_clients(struct world *world)
{
    /* the operator; somebody else on the machine; by TCP on the machine; and from elsewhere */
    static const uint32_t addresses[W_CLIENTS] = {0, 0, 1, 2, 3, 4, 2};

    for (unsigned i = 0; i < W_CLIENTS; i++) {
        struct w_client *client = &world->clients[i];
        client->number = i;
        client->address = addresses[i];
        client->sender = addresses[i] > 1 ? addresses[i] : 0;
        client->is_unix = addresses[i] == 0;
        client->is_administrator = i == 0;
        client->is_on_site = i == 3 || i == 6;
        bytes_init(&client->output, alloc_system());
        frame_decoder_init(&client->input, alloc_system(), LIMIT_FRAME_BYTES_MAX);
        arena_init(&client->arena, alloc_system(), 8 * 1024 * 1024);
        for (unsigned s = 0; s < 2; s++) {
            client->interests[s].last_seq = -1;
        }
    }
}

/* Some machines start without knowing the time: the wall clock shows 1969 or 1970. */
static int64_t first_wall_ms(struct rng *rng)
{
    if (rng_chance(rng, 5)) {
        return (int64_t)rng_below(rng, 2000000) - 1000000;
    }
    return W_FIRST_MS + rng_below(rng, 1000000000);
}

void world_begin(struct world *world, uint64_t seed, bool on_sqlite)
{
    memset(world, 0, sizeof(*world));
    the_world = world;
    sim_position =
        (struct sim_position){.seed = seed, .on_sqlite = on_sqlite, .doing = "beginning"};
    world->seed = seed;
    world->rng.state = seed;
    world->on_sqlite = on_sqlite;
    world->gate.interface = &sim_gate_interface;
    world->worker.worker.submit = keep_work;
    world->control = (struct service_control){.context = world,
                                              .add_figures = add_figures,
                                              .reload = reload,
                                              .epoch_changed = epoch_changed,
                                              .clock_set = clock_set};
    SIM_CHECK(uv_loop_init(&world->loop) == 0);
    SIM_CHECK(uv_mutex_init(&world->submitting) == 0);
    if (on_sqlite) {
        loop_directory_make(world->directory);
    } else {
        (void)snprintf(world->directory, sizeof(world->directory), "/nowhere");
    }
    configure(world);
    model_init(&world->model, &world->config);
    make_contexts(world);
    make_clients(world);
    world->listeners[0] = (struct listener){.is_unix = true};
    world->listeners[2] = (struct listener){.config = {.local = true}};
    world_set_clocks(world, first_wall_ms(&world->rng), 1 + rng_below(&world->rng, 1000000),
                     rng_chance(&world->rng, 80));
    world_start(world);
}

void world_end(struct world *world)
{
    if (world->is_up) {
        world_stop(world, false);
    }
    for (unsigned i = 0; i < W_CLIENTS; i++) {
        bytes_deinit(&world->clients[i].output);
        frame_decoder_deinit(&world->clients[i].input);
        arena_deinit(&world->clients[i].arena);
    }
    for (uint64_t i = 0; i < world->request_count; i++) {
        free(world->requests[i]);
    }
    for (uint32_t i = 0; i < world->watch_count; i++) {
        free(world->watches[i]);
    }
    if (world->on_sqlite) {
        loop_directory_remove(world->directory);
    } else {
        fake_persist_free(world->store);
    }
    (void)uv_run(&world->loop, UV_RUN_DEFAULT);
    SIM_CHECK(uv_loop_close(&world->loop) == 0);
    uv_mutex_destroy(&world->submitting);
    model_deinit(&world->model);
}
