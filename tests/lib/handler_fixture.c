/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/handler_fixture.h"

#include "daemon/watch/watch.h"
#include "proto/codec/codec.h"
#include "tests/lib/check.h"
#include "tests/lib/plain_request.h"

enum { ARENA_BYTES = 8 * 1024 * 1024 };

/* Through the codec, so that nothing is kept that was only borrowed. */
static void on_respond(struct requester *client, const struct hearsay_response *response)
{
    struct handler_fixture *fixture = (struct handler_fixture *)(void *)client;
    struct bytes frame;
    struct msg_error error;

    bytes_init(&frame, alloc_system());
    arena_reset(&fixture->arena);
    assert_int_equal(codec_encode_response(response, fixture->config.limits.frame_bytes, &frame),
                     0);
    assert_int_equal(codec_decode_response(frame.data + LIMIT_FRAME_HEADER_BYTES,
                                           frame.count - LIMIT_FRAME_HEADER_BYTES, &fixture->arena,
                                           &fixture->answer, &error),
                     0);
    bytes_deinit(&frame);
    fixture->answers++;
}

static void on_work_ended(struct requester *client)
{
    ((struct handler_fixture *)(void *)client)->ended++;
}

static bool on_has_room(const struct requester *client)
{
    (void)client;
    return true;
}

static bool on_queued(struct requester *client, size_t bytes)
{
    (void)client;
    (void)bytes;
    return true;
}

static void on_drop(struct requester *client, enum hearsay_code code, const char *sentence)
{
    (void)code;
    (void)sentence;
    ((struct handler_fixture *)(void *)client)->dropped = true;
}

static const struct requester_events events = {
    .respond = on_respond,
    .work_ended = on_work_ended,
    .has_room = on_has_room,
    .queued = on_queued,
    .drop = on_drop,
};

struct handler_fixture *handler_fixture_new(void)
{
    struct handler_fixture *fixture = calloc(1, sizeof(*fixture));

    assert_non_null(fixture);
    fixture->client.events = &events;
    fixture->client.is_local = true;
    fixture->client.is_administrator = true;
    fake_clock_init(&fixture->clock);
    fixture->clock.is_single = true;
    fixture->persist = fake_persist_new();
    fail_alloc_init(&fixture->alloc);
    arena_init(&fixture->arena, alloc_system(), ARENA_BYTES);
    config_defaults(&fixture->config);
    (void)snprintf(fixture->config.data, sizeof(fixture->config.data), "/nowhere");
    return fixture;
}

void handler_fixture_set(struct handler_fixture *fixture, const char *section, const char *key,
                         const char *value)
{
    char reason[CONFIG_REASON_BYTES];

    assert_int_equal(config_set(&fixture->config, "test", section, key, value, reason), 0);
}

void handler_fixture_start(struct handler_fixture *fixture)
{
    char reason[CONFIG_REASON_BYTES];
    struct service_options options = fake_clock_options(&fixture->clock);

    options.alloc = &fixture->alloc.alloc;
    options.config = &fixture->config;
    options.persist = fixture->persist;
    if (fixture->config.host_count == 0) {
        config_add_host(&fixture->config, "default");
    }
    assert_int_equal(config_finish(&fixture->config, reason), 0);
    assert_int_equal(handler_open(&options, &fixture->service, reason), 0);
}

static size_t carry_out(struct handler_fixture *fixture)
{
    return fake_persist_commit(fixture->persist) + fake_persist_answer_reads(fixture->persist);
}

void handler_fixture_free(struct handler_fixture *fixture)
{
    while (carry_out(fixture) > 0) {
    }
    watch_client_gone(fixture->service, &fixture->client);
    assert_int_equal(fixture->client.work_count, 0);
    assert_int_equal(fixture->client.work_bytes, 0);
    assert_int_equal(fixture->client.answer_bytes, 0);
    assert_int_equal(fixture->service->working, 0);
    handler_close(fixture->service);
    assert_int_equal(fixture->alloc.live_blocks, 0);
    fake_persist_free(fixture->persist);
    arena_deinit(&fixture->arena);
    free(fixture);
}

int handler_fixture_tear_down(void **state)
{
    handler_fixture_free(*state);
    return 0;
}

void handler_fixture_ask(struct handler_fixture *fixture, const struct hearsay_request *request)
{
    handler_handle(fixture->service, &fixture->client, request);
}

enum hearsay_response_kind handler_fixture_settle(struct handler_fixture *fixture)
{
    while (carry_out(fixture) > 0) {
    }
    return fixture->answer.kind;
}

enum hearsay_response_kind handler_fixture_do(struct handler_fixture *fixture,
                                              const struct hearsay_request *request)
{
    const size_t before = fixture->answers;

    handler_fixture_ask(fixture, request);
    (void)handler_fixture_settle(fixture);
    assert_int_equal(fixture->answers, before + 1);
    assert_int_equal(fixture->answer.id, request->id);
    return fixture->answer.kind;
}

enum hearsay_code handler_fixture_refused(struct handler_fixture *fixture,
                                          const struct hearsay_request *request)
{
    assert_int_equal(handler_fixture_do(fixture, request), HEARSAY_RESPONSE_ERROR);
    assert_true(strlen(fixture->answer.error.message) > 10); /* a sentence, always */
    return fixture->answer.error.code;
}

/* --- requests --------------------------------------------------------------------------------- */

static const uint8_t *make_filter(uint8_t number)
{
    static uint8_t filter[HANDLER_FILTER_BYTES];

    memset(filter, 0, sizeof(filter));
    for (unsigned p = number; p < number + 10U; p++) {
        filter[p / 8] |= (uint8_t)(1U << p % 8);
    }
    return filter;
}

static const uint8_t *make_id(uint8_t number)
{
    static uint8_t id[MESSAGE_ID_BYTES];

    id[0] = number;
    return id;
}

const struct hearsay_request *handler_fixture_deposit(uint8_t number, const char *text,
                                                      uint32_t ttl_s)
{
    static struct hearsay_request request;

    request = (struct hearsay_request){.id = 1000U + number, .name = "deposit"};
    request.kind = HEARSAY_REQUEST_DEPOSIT;
    request.deposit =
        plain_deposit(make_id(number), make_filter(number), HANDLER_FILTER_BYTES, text);
    request.deposit.has_ttl_s = true;
    request.deposit.ttl_s = ttl_s;
    return &request;
}

const struct hearsay_request *handler_fixture_about(enum hearsay_request_kind kind, uint8_t number)
{
    static struct hearsay_request request;
    const struct hearsay_bytes id = {make_id(number), MESSAGE_ID_BYTES};

    request = (struct hearsay_request){.id = 2000U + number, .name = "", .kind = kind};
    if (kind == HEARSAY_REQUEST_GET) {
        request.get.id = id;
    } else if (kind == HEARSAY_REQUEST_REPORT) {
        request.report.id = id;
        request.report.kind = HEARSAY_REPORT_OTHER_KIND;
    } else {
        request.name = kind == HEARSAY_REQUEST_REMOVE ? "remove" : "restore";
        if (kind == HEARSAY_REQUEST_REMOVE) {
            request.remove.id = id;
        } else if (kind == HEARSAY_REQUEST_RESTORE) {
            request.restore.id = id;
        } else if (kind == HEARSAY_REQUEST_HIDE) {
            request.hide.id = id;
        }
    }
    return &request;
}

bool handler_fixture_finds(struct handler_fixture *fixture, uint8_t number)
{
    const struct hearsay_query_part part = {.filter = {make_filter(number), HANDLER_FILTER_BYTES}};
    const struct hearsay_request query = {
        .id = 77,
        .name = "query",
        .kind = HEARSAY_REQUEST_QUERY,
        .query = plain_query(&part, 1, 100),
    };
    bool found = false;

    assert_int_equal(handler_fixture_do(fixture, &query), HEARSAY_RESPONSE_RESULTS);
    for (size_t i = 0; i < fixture->answer.results.result_count; i++) {
        found = found || fixture->answer.results.results[i].id.data[0] == number;
    }
    const enum hearsay_response_kind got =
        handler_fixture_do(fixture, handler_fixture_about(HEARSAY_REQUEST_GET, number));
    assert_int_equal(got == HEARSAY_RESPONSE_GOT, found);
    return found;
}
