/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Epochs of a service, over a store in memory and a clock that the test sets: when they begin and
 * end, who is given their keys, what is found in which, and, in a random walk with restarts, that a
 * message is found exactly as long as it should be.
 */
#include "daemon/config/options.h"

#include <sodium.h>

#include "core/filter/bloom.h"
#include "daemon/handler/handler.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/fake_clock.h"
#include "tests/lib/fake_persist.h"
#include "tests/lib/plain_request.h"
#include "tests/lib/rng.h"

enum { FILTER_BYTES = 64, SECOND_MS = 1000, HOUR_MS = 3600 * 1000, PARTS = 64, FOUND_MAX = 100 };

struct fixture {
    struct requester client; /* first */
    struct config config;
    struct persist *persist;
    struct service *service;
    struct service_control control;
    struct fail_alloc alloc;
    struct fake_clock clock;
    enum hearsay_response_kind last;
    enum hearsay_code code;
    int64_t expires_ms;
    size_t found_count;
    uint32_t found[FOUND_MAX]; /* numbers of messages */
    uint64_t found_epochs[FOUND_MAX];
    struct hearsay_epoch_info told; /* by the last push, or Welcome */
    uint8_t told_key[LIMIT_KEY_BYTES];
    bool told_any;
    unsigned pushes;
    char reason[CONFIG_REASON_BYTES];
};

/* --- fixture ---------------------------------------------------------------------------------- */

static void note_epoch(struct fixture *fixture, const struct hearsay_epoch_info *epoch)
{
    fixture->told = *epoch;
    if (epoch->key.data != NULL) {
        assert_int_equal(epoch->key.count, LIMIT_KEY_BYTES);
        memcpy(fixture->told_key, epoch->key.data, LIMIT_KEY_BYTES);
    }
}

static void on_respond(struct requester *client, const struct hearsay_response *response)
{
    struct fixture *fixture = (struct fixture *)(void *)client;

    if (response->id != 0) {
        fixture->last = response->kind;
    }
    switch (response->kind) {
    case HEARSAY_RESPONSE_ERROR:
        fixture->code = response->error.code;
        break;
    case HEARSAY_RESPONSE_DEPOSITED:
        fixture->expires_ms = response->deposited.expires_ms;
        break;
    case HEARSAY_RESPONSE_RESULTS:
        fixture->found_count = response->results.result_count;
        for (size_t i = 0; i < fixture->found_count; i++) {
            memcpy(&fixture->found[i], response->results.results[i].id.data, sizeof(uint32_t));
            fixture->found_epochs[i] = response->results.results[i].epoch;
        }
        break;
    case HEARSAY_RESPONSE_WELCOME:
        fixture->told_any = response->welcome.hosts[0].has_epoch;
        note_epoch(fixture, &response->welcome.hosts[0].epoch);
        break;
    case HEARSAY_RESPONSE_EPOCH_CHANGED:
        assert_int_equal(response->id, 0);
        assert_string_equal(response->epoch_changed.host.text, "default");
        fixture->pushes++;
        note_epoch(fixture, &response->epoch_changed.epoch);
        break;
    default:
        break;
    }
}

static void on_work_ended(struct requester *client)
{
    (void)client;
}

static const struct requester_events events = {.respond = on_respond, .work_ended = on_work_ended};

static void on_epoch_changed(void *context, const struct host *host)
{
    struct fixture *fixture = context;

    handler_push_epoch(&fixture->client, host);
}

static void start(struct fixture *fixture)
{
    struct service_options options = fake_clock_options(&fixture->clock);

    options.alloc = &fixture->alloc.alloc;
    options.config = &fixture->config;
    options.persist = fixture->persist;
    options.control = &fixture->control;
    fixture->control.epoch_changed = on_epoch_changed;
    fixture->control.context = fixture;
    assert_int_equal(handler_open(&options, &fixture->service, fixture->reason), 0);
}

static void stop(struct fixture *fixture)
{
    (void)fake_persist_commit(fixture->persist);
    assert_int_equal(fixture->service->working, 0);
    handler_close(fixture->service);
    fixture->service = NULL;
}

static void configure(struct config *config, const char *text)
{
    char reason[CONFIG_REASON_BYTES];

    assert_int_equal(
        settings_config_parse(&options_program, text, strlen(text), "test.conf", config, reason),
        0);
    (void)snprintf(config->data, sizeof(config->data), "/nowhere");
    assert_int_equal(config_finish(config, reason), 0);
}

/* Epochs of an hour that are kept for two more. */
static const char hourly[] = "[limits]\nttl_max = 7d\n"
                             "[host default]\nepoch_length = 1h\nepoch_keep = 2h\n";

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    assert_non_null(fixture);
    fixture->client.events = &events;
    fixture->client.is_on_site = true;
    fake_clock_init(&fixture->clock);
    fixture->clock.is_single = true;
    fail_alloc_init(&fixture->alloc);
    configure(&fixture->config, hourly);
    fixture->persist = fake_persist_new();
    start(fixture);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    if (fixture->service != NULL) {
        stop(fixture);
    }
    assert_int_equal(fixture->client.work_count, 0);
    assert_int_equal(fixture->alloc.live_blocks, 0);
    fake_persist_free(fixture->persist);
    free(fixture);
    return 0;
}

static struct host *host_of(const struct fixture *fixture)
{
    return &fixture->service->hosts[0];
}

static void tick(struct fixture *fixture, int64_t ms)
{
    fixture->clock.wall_ms += ms;
    epochs_tick(fixture->service);
    (void)fake_persist_commit(fixture->persist);
}

static void sweep(struct fixture *fixture)
{
    service_sweep(fixture->service);
    while (fake_persist_commit(fixture->persist) > 0) {
    }
}

static void welcome(struct fixture *fixture)
{
    struct hearsay_request request = {.id = 1, .kind = HEARSAY_REQUEST_HELLO};

    memset(&fixture->told, 0, sizeof(fixture->told));
    request.hello.versions[0] = LIMIT_VERSION;
    request.hello.version_count = 1;
    assert_true(handler_welcome(fixture->service, &fixture->client, &request));
}

static void send_deposit(struct fixture *fixture, uint32_t number, uint64_t epoch, uint32_t ttl_s)
{
    uint8_t id[MESSAGE_ID_BYTES] = {0};
    uint8_t filter[FILTER_BYTES] = {0xff, 0x0f};
    struct hearsay_request request = {.id = 2, .kind = HEARSAY_REQUEST_DEPOSIT};

    memcpy(id, &number, sizeof(number));
    request.deposit = plain_deposit(id, filter, sizeof(filter), "");
    request.deposit.epoch = epoch;
    request.deposit.has_ttl_s = true;
    request.deposit.ttl_s = ttl_s;
    handler_handle(fixture->service, &fixture->client, &request);
}

static void deposit(struct fixture *fixture, uint32_t number, uint64_t epoch, uint32_t ttl_s)
{
    send_deposit(fixture, number, epoch, ttl_s);
    (void)fake_persist_commit(fixture->persist);
    assert_int_equal(fixture->last, HEARSAY_RESPONSE_DEPOSITED);
}

/* Asks in some epochs, with the filter that all messages have. */
static void query(struct fixture *fixture, const uint64_t *epochs, size_t count)
{
    uint8_t filter[FILTER_BYTES] = {0xff, 0x0f};
    struct hearsay_query_part parts[PARTS];
    struct hearsay_request request = {.id = 3, .kind = HEARSAY_REQUEST_QUERY};

    memset(parts, 0, sizeof(parts));
    for (size_t i = 0; i < count; i++) {
        parts[i].epoch = epochs[i];
        parts[i].filter = (struct hearsay_bytes){filter, sizeof(filter)};
    }
    request.query = plain_query(parts, count, FOUND_MAX);
    handler_handle(fixture->service, &fixture->client, &request);
}

/* --- who is told what ------------------------------------------------------------------------- */

TEST_OF(a_service_begins_with_an_epoch, struct fixture *fixture, setup, teardown)
{
    assert_int_equal(fake_persist_epochs(fixture->persist), 1);
    welcome(fixture);
    assert_true(fixture->told_any);
    assert_int_equal(fixture->told.starts_ms, fixture->clock.wall_ms);
    assert_int_equal(fixture->told.ends_ms, fixture->clock.wall_ms + HOUR_MS);
    assert_int_equal(fixture->told.kept_ms, fixture->clock.wall_ms + 3 * HOUR_MS);
    assert_int_equal(fixture->told.number, fake_persist_epoch(fixture->persist, 0)->number);
    assert_memory_equal(fixture->told_key, fake_persist_epoch(fixture->persist, 0)->key,
                        LIMIT_KEY_BYTES);
    assert_false(sodium_is_zero(fixture->told_key, LIMIT_KEY_BYTES));
}

/* Who is not on site is told of the epoch, and never of its key. */
TEST_OF(keys_are_for_those_on_site, struct fixture *fixture, setup, teardown)
{
    fixture->client.is_on_site = false;
    welcome(fixture);
    assert_true(fixture->told_any && fixture->told.number != 0);
    assert_null(fixture->told.key.data);
    tick(fixture, HOUR_MS);
    assert_int_equal(fixture->pushes, 1);
    assert_null(fixture->told.key.data);
}

/* The next epoch is current, and told of, when the store has it; not before. */
TEST_OF(the_next_epoch_waits_for_the_store, struct fixture *fixture, setup, teardown)
{
    welcome(fixture);
    const uint64_t first = fixture->told.number;
    tick(fixture, HOUR_MS - 1);
    assert_int_equal(fixture->pushes, 0);
    fixture->clock.wall_ms++;
    epochs_tick(fixture->service);
    epochs_tick(fixture->service); /* it is under way already */
    assert_int_equal(fixture->pushes, 0);
    assert_int_equal(host_of(fixture)->current->number, first);
    assert_int_equal(fake_persist_commit(fixture->persist), 1);
    assert_int_equal(fixture->pushes, 1);
    assert_true(fixture->told.number > first);
    assert_int_equal(host_of(fixture)->current->number, fixture->told.number);
    assert_int_equal(fixture->told.ends_ms, fixture->clock.wall_ms + HOUR_MS);
}

/* Until the next epoch is told of the old one is current, past its end, for deposits too (D16). */
TEST_OF(an_epoch_is_current_until_the_next_is_told_of, struct fixture *fixture, setup, teardown)
{
    welcome(fixture);
    const uint64_t first = fixture->told.number;
    tick(fixture, HOUR_MS - 1);
    fixture->clock.wall_ms += 700; /* between two looks at the clock */
    welcome(fixture);
    assert_int_equal(fixture->told.number, first);
    assert_true(fixture->told.ends_ms < fixture->clock.wall_ms);
    deposit(fixture, 1, first, 60);
    assert_int_equal(fixture->pushes, 0);
    epochs_tick(fixture->service); /* the next one is on its way to the store */
    welcome(fixture);
    assert_int_equal(fixture->told.number, first);
    send_deposit(fixture, 2, first, 60);
    (void)fake_persist_commit(fixture->persist);
    assert_int_equal(fixture->last, HEARSAY_RESPONSE_DEPOSITED);
    assert_int_equal(fixture->pushes, 1);
    query(fixture, &first, 1);
    assert_int_equal(fixture->found_count, 2);
}

TEST_OF(a_store_that_fails_is_asked_again, struct fixture *fixture, setup, teardown)
{
    const uint64_t first = host_of(fixture)->current->number;

    fake_persist_fail_next(fixture->persist);
    tick(fixture, HOUR_MS);
    assert_int_equal(fixture->pushes, 0);
    assert_int_equal(host_of(fixture)->current->number, first);
    deposit(fixture, 1, first, 10); /* what there is goes on */
    tick(fixture, SECOND_MS);
    assert_int_equal(fixture->pushes, 1);
}

TEST_OF(without_memory_the_old_one_goes_on, struct fixture *fixture, setup, teardown)
{
    unsigned n = 0;

    while (fixture->pushes == 0) {
        fixture->clock.wall_ms += fixture->clock.wall_ms % HOUR_MS == 0 ? HOUR_MS : 0;
        fail_alloc_arm(&fixture->alloc, ++n);
        epochs_tick(fixture->service);
        fail_alloc_arm(&fixture->alloc, 0);
        (void)fake_persist_commit(fixture->persist);
        fixture->clock.wall_ms++;
        assert_true(n < 100);
    }
    assert_true(n > 3);
}

/* --- what is found ---------------------------------------------------------------------------- */

TEST_OF(messages_are_found_in_their_epoch, struct fixture *fixture, setup, teardown)
{
    const uint64_t first = host_of(fixture)->current->number;

    deposit(fixture, 1, 0, 600);
    deposit(fixture, 2, first, 600);
    tick(fixture, HOUR_MS);
    const uint64_t second = host_of(fixture)->current->number;
    deposit(fixture, 3, second, 600);
    deposit(fixture, 4, first, 600); /* still kept */

    query(fixture, &first, 1);
    assert_int_equal(fixture->found_count, 1); /* 2 has expired */
    assert_int_equal(fixture->found[0], 4);
    const uint64_t all[] = {second, 0, first};
    deposit(fixture, 5, 0, 600);
    query(fixture, all, 3);
    assert_int_equal(fixture->found_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(fixture->found_epochs[i], fixture->found[i] == 3   ? second
                                                   : fixture->found[i] == 4 ? first
                                                                            : 0);
    }
    const uint64_t unknown[] = {0, 12345};
    query(fixture, unknown, 2);
    assert_int_equal(fixture->code, HEARSAY_CODE_UNKNOWN_EPOCH);
    send_deposit(fixture, 6, 12345, 600);
    assert_int_equal(fixture->code, HEARSAY_CODE_UNKNOWN_EPOCH);
}

/* A message goes with its epoch at the latest, and nobody may ask for the epoch from then on. */
TEST_OF(an_epoch_takes_its_messages_with_it, struct fixture *fixture, setup, teardown)
{
    struct host *host = host_of(fixture);
    const uint64_t first = host->current->number;
    const struct epoch *epoch = host->current;

    deposit(fixture, 1, first, 7 * 24 * 3600);
    assert_int_equal(fixture->expires_ms, epoch->kept_ms);
    tick(fixture, 3 * HOUR_MS - 1);
    query(fixture, &first, 1);
    assert_int_equal(fixture->found_count, 1);
    tick(fixture, 1);
    query(fixture, &first, 1);
    assert_int_equal(fixture->last, HEARSAY_RESPONSE_ERROR);
    assert_int_equal(fixture->code, HEARSAY_CODE_UNKNOWN_EPOCH);
    assert_true(epoch->is_over); /* its message is still to be swept */
    assert_true(sodium_is_zero(epoch->key, sizeof(epoch->key)));
    sweep(fixture);
    tick(fixture, SECOND_MS);
    assert_null(host_epoch(host, first));
    assert_int_equal(host->epoch_count, 3); /* the open one, one of a moment, the current one */
    assert_int_equal(host->usage.messages, 0);
    assert_int_equal(fake_persist_epochs(fixture->persist), 2);
}

/* A search that looks at an epoch keeps it in memory, and finds nothing in it any more. */
TEST_OF(a_search_outlives_its_epoch, struct fixture *fixture, setup, teardown)
{
    struct host *host = host_of(fixture);
    struct epoch *epoch = host->current;
    const uint64_t filter[FILTER_BYTES / 8] = {0xfff};
    const uint64_t number = epoch->number;

    for (uint32_t i = 0; i < 80000; i++) { /* more than one step looks at */
        struct index_item item = {.expires_ms = epoch->kept_ms,
                                  .reach_ppm = LIMIT_DISTANCE_PPM - i};
        memcpy(item.id, &i, sizeof(i));
        assert_int_equal(index_insert(epoch->index, &item, filter), 0);
        summary_add(&epoch->summary, filter);
    }
    query(fixture, &number, 1);
    assert_int_equal(epoch->users, 1);
    tick(fixture, 3 * HOUR_MS);
    assert_true(epoch->is_over);
    for (uint32_t i = 0; i < 80000; i++) {
        uint8_t id[MESSAGE_ID_BYTES] = {0};
        memcpy(id, &i, sizeof(i));
        assert_int_equal(host_remove(host, id, NULL), 0);
    }
    tick(fixture, SECOND_MS); /* empty, and still used */
    fixture->last = HEARSAY_RESPONSE_UNKNOWN;
    while (handler_run_searches(fixture->service, 1 << 20, UINT64_MAX)) {
    }
    assert_int_equal(fixture->last, HEARSAY_RESPONSE_RESULTS);
    assert_int_equal(fixture->found_count, 0);
    const size_t before = host->epoch_count;
    tick(fixture, SECOND_MS);
    assert_int_equal(host->epoch_count, before - 1);
}

/* A deposit that waits for the store while its epoch ends is told so. */
TEST_OF(a_deposit_that_comes_too_late, struct fixture *fixture, setup, teardown)
{
    const uint64_t first = host_of(fixture)->current->number;

    tick(fixture, 3 * HOUR_MS - 1);
    send_deposit(fixture, 1, first, 600);
    fixture->clock.wall_ms++;
    epochs_tick(fixture->service);
    (void)fake_persist_commit(fixture->persist);
    assert_int_equal(fixture->last, HEARSAY_RESPONSE_ERROR);
    assert_int_equal(fixture->code, HEARSAY_CODE_UNKNOWN_EPOCH);
    assert_int_equal(host_of(fixture)->usage.messages, 0);
    sweep(fixture);
}

TEST_OF(the_open_epoch_may_be_closed, struct fixture *fixture, setup, teardown)
{
    struct config config;

    deposit(fixture, 1, 0, 600);
    configure(&config, "[host default]\nepoch_length = 1h\nepoch_open = refuse\n");
    service_reload(fixture->service, &config);
    send_deposit(fixture, 2, 0, 600);
    assert_int_equal(fixture->code, HEARSAY_CODE_UNKNOWN_EPOCH);
    deposit(fixture, 3, host_of(fixture)->current->number, 600);
    const uint64_t open = 0;
    query(fixture, &open, 1); /* what is there may be read */
    assert_int_equal(fixture->found_count, 1);
}

/* Switched off, the current epoch runs to its end, and is kept as long as it said. */
TEST_OF(epochs_may_be_switched_off, struct fixture *fixture, setup, teardown)
{
    const uint64_t first = host_of(fixture)->current->number;
    struct config config;

    configure(&config, "");
    service_reload(fixture->service, &config);
    deposit(fixture, 1, first, 7000);
    tick(fixture, HOUR_MS);
    welcome(fixture);
    assert_false(fixture->told_any);
    assert_int_equal(fixture->told.number, 0);
    query(fixture, &first, 1);
    assert_int_equal(fixture->found_count, 1);
    stop(fixture);
    fixture->config = config;
    start(fixture);
    query(fixture, &first, 1);
    assert_int_equal(fixture->found_count, 1);
    assert_null(host_of(fixture)->current);
}

/* More epochs than there are places for are not begun: the last one goes on. */
TEST_OF(epochs_are_bounded, struct fixture *fixture, setup, teardown)
{
    struct host *host = host_of(fixture);

    for (int i = 0; i < 100; i++) {
        host->config.epoch_length_s = 86400;
        host->config.epoch_keep_s = 60 * 86400;
        host->current->ends_ms = 0; /* as if its time had come */
        tick(fixture, SECOND_MS);
    }
    assert_int_equal(host->epoch_count, HOST_EPOCHS_MAX);
    deposit(fixture, 1, host->current->number, 600);
}

/* --- a random walk ---------------------------------------------------------------------------- */

enum { STEPS = 3000, MODEL_MESSAGES = 400 };

struct model_message {
    uint64_t epoch;
    int64_t expires_ms;
};

static void check_all(struct fixture *fixture, const struct model_message *messages,
                      uint32_t message_count)
{
    const struct host *host = host_of(fixture);
    uint64_t epochs[PARTS];
    size_t count = 0;
    size_t expected = 0;

    for (size_t i = 0; i < host->epoch_count; i++) {
        if (!host->epochs[i]->is_over) {
            epochs[count++] = host->epochs[i]->number;
        }
    }
    query(fixture, epochs, count);
    assert_int_equal(fixture->last, HEARSAY_RESPONSE_RESULTS);
    for (uint32_t m = 0; m < message_count; m++) {
        expected += messages[m].expires_ms > fixture->clock.wall_ms;
    }
    assert_int_equal(fixture->found_count, expected < FOUND_MAX ? expected : FOUND_MAX);
    for (size_t i = 0; i < fixture->found_count; i++) {
        const struct model_message *message = &messages[fixture->found[i]];
        assert_true(fixture->found[i] < message_count);
        assert_int_equal(fixture->found_epochs[i], message->epoch);
        assert_true(message->expires_ms > fixture->clock.wall_ms);
    }
}

/*
 * Deposits into any living epoch, time passing in small and large steps, sweeps, restarts: what is
 * found is what the model has, numbers only grow, and the store has the epochs that are kept.
 */
TEST_OF(a_random_walk, struct fixture *fixture, setup, teardown)
{
    struct model_message messages[MODEL_MESSAGES];
    uint64_t newest = 0;
    uint32_t count = 0;
    struct rng rng;

    rng_init(&rng);
    for (int step = 0; step < STEPS; step++) {
        const struct host *host = host_of(fixture);
        const uint32_t dice = rng_below(&rng, 100);

        if (dice < 30 && count < MODEL_MESSAGES) {
            const struct epoch *epoch = host->epochs[rng_below(&rng, (uint32_t)host->epoch_count)];
            if (!epoch->is_over) {
                const uint64_t number = epoch->number;
                const int64_t kept_ms = number == 0 ? INT64_MAX : epoch->kept_ms;
                const uint32_t ttl_s = 1 + rng_below(&rng, 5 * 3600);
                const int64_t expires_ms = fixture->clock.wall_ms + (int64_t)ttl_s * 1000;
                deposit(fixture, count, number, ttl_s);
                messages[count++] =
                    (struct model_message){number, expires_ms < kept_ms ? expires_ms : kept_ms};
                assert_int_equal(fixture->expires_ms, messages[count - 1].expires_ms);
            }
        } else if (dice < 60) {
            tick(fixture, rng_below(&rng, 10 * 60 * 1000));
        } else if (dice < 62) {
            tick(fixture, rng_below(&rng, 5 * HOUR_MS));
        } else if (dice < 75) {
            sweep(fixture);
        } else if (dice < 80) {
            stop(fixture);
            fixture->clock.wall_ms += rng_chance(&rng, 20) ? rng_below(&rng, 4 * HOUR_MS) : 0;
            start(fixture);
        } else {
            epochs_tick(fixture->service);
            (void)fake_persist_commit(fixture->persist);
            check_all(fixture, messages, count);
        }
        assert_non_null(host_of(fixture)->current);
        assert_true(host_of(fixture)->current->number >= newest);
        newest = host_of(fixture)->current->number;
        if (count == MODEL_MESSAGES && dice == 99) {
            tick(fixture, 10 * HOUR_MS);
            sweep(fixture);
            assert_int_equal(fake_persist_count(fixture->persist), 0);
            count = 0;
        }
    }
}

int main(void)
{
    return sodium_init() < 0 ? 1 : check_run(NULL, NULL);
}
