/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/read_fixture.h"

#include <sodium.h>

#include "proto/codec/codec.h"
#include "tests/lib/check.h"
#include "tests/lib/plain_request.h"

enum { ARENA_BYTES = 8 * 1024 * 1024 };

static const uint8_t token[LIMIT_TOKEN_BYTES] = {42}; /* takes every message back */

/* --- fixture ---------------------------------------------------------------------------------- */

uint32_t read_fixture_number(const struct hearsay_bytes *id)
{
    assert_int_equal(id->count, MESSAGE_ID_BYTES);
    return (uint32_t)id->data[0] | (uint32_t)id->data[1] << 8;
}

void read_fixture_make_id(uint32_t number, uint8_t out[MESSAGE_ID_BYTES])
{
    memset(out, 0xee, MESSAGE_ID_BYTES);
    out[0] = (uint8_t)number;
    out[1] = (uint8_t)(number >> 8);
}

/* A filter with ten bits set; another number, another filter, mostly. */
void read_fixture_make_filter(uint32_t number, uint8_t out[READ_FILTER_BYTES])
{
    memset(out, 0, READ_FILTER_BYTES);
    for (unsigned p = number % 500; p < number % 500 + 10; p++) {
        out[p / 8] |= (uint8_t)(1U << p % 8);
    }
}

/* Every answer fits the frame, and the output that was charged for it. */
static void on_respond(struct requester *client, const struct hearsay_response *response)
{
    struct read_fixture *fixture = ((struct read_client *)client)->fixture;
    struct bytes frame;
    struct msg_error error;

    bytes_init(&frame, alloc_system());
    assert_int_equal(
        codec_encode_response(response, fixture->service->config.limits.frame_bytes, &frame), 0);
    if (client->work_count == 1) {
        assert_true(client->answer_bytes >= frame.count);
    }
    arena_reset(&fixture->arena);
    assert_int_equal(codec_decode_response(frame.data + LIMIT_FRAME_HEADER_BYTES,
                                           frame.count - LIMIT_FRAME_HEADER_BYTES, &fixture->arena,
                                           &fixture->answer, &error),
                     0);
    bytes_deinit(&frame);
    fixture->answers++;
    if (fixture->answer.kind == HEARSAY_RESPONSE_ERROR) {
        assert_true(strlen(fixture->answer.error.message) > 10); /* a sentence, always */
    } else if (fixture->answer.kind == HEARSAY_RESPONSE_GOT) {
        const size_t length = strlen(fixture->got_ids);
        snprintf(fixture->got_ids + length, sizeof(fixture->got_ids) - length, "%u:%.*s ",
                 (unsigned)response->id, (int)response->got.payload.count,
                 (const char *)response->got.payload.data);
    }
}

static void on_work_ended(struct requester *client)
{
    struct read_fixture *fixture = ((struct read_client *)client)->fixture;

    if (client->is_gone && client->work_count == 0) {
        memset(client, 0x5a, sizeof(struct read_client));
        free(client);
        fixture->client = NULL;
    }
}

static const struct requester_events events = {.respond = on_respond, .work_ended = on_work_ended};

static void configure(struct read_fixture *fixture, const char *frame, const char *cache)
{
    char reason[CONFIG_REASON_BYTES];
    struct config *config = &fixture->config;

    config_defaults(config);
    snprintf(config->data, sizeof(config->data), "/nowhere");
    assert_int_equal(config_set(config, "test", "limits", "frame", frame, reason), 0);
    assert_int_equal(config_set(config, "test", "limits", "payload", "2K", reason), 0);
    assert_int_equal(config_set(config, "test", "limits", "cache", cache, reason), 0);
    assert_int_equal(config_finish(config, reason), 0);
    assert_int_equal(config->host_count, 1);
    config->hosts[1] = config->hosts[0];
    config->host_count = 2;
    snprintf(config->hosts[0].name, sizeof(config->hosts[0].name), "a");
    snprintf(config->hosts[1].name, sizeof(config->hosts[1].name), "b");
}

struct read_client *read_client_new(struct read_fixture *fixture)
{
    struct read_client *client = calloc(1, sizeof(*client));

    assert_non_null(client);
    client->client.events = &events;
    client->fixture = fixture;
    return client;
}

struct read_fixture *read_fixture_new(const char *frame, const char *cache)
{
    struct read_fixture *fixture = calloc(1, sizeof(*fixture));
    char reason[CONFIG_REASON_BYTES];

    assert_non_null(fixture);
    fake_clock_init(&fixture->clock);
    crypto_generichash(fixture->withdraw_hash, LIMIT_HASH_BYTES, token, sizeof(token), NULL, 0);
    configure(fixture, frame, cache);
    fail_alloc_init(&fixture->alloc);
    arena_init(&fixture->arena, alloc_system(), ARENA_BYTES);
    fixture->persist = fake_persist_new();
    fixture->client = read_client_new(fixture);
    struct service_options options = fake_clock_options(&fixture->clock);
    options.alloc = &fixture->alloc.alloc;
    options.config = &fixture->config;
    options.persist = fixture->persist;
    assert_int_equal(handler_open(&options, &fixture->service, reason), 0);
    return fixture;
}

void read_fixture_free(struct read_fixture *fixture)
{
    if (fixture->client != NULL) {
        assert_int_equal(fixture->client->client.work_count, 0);
        assert_int_equal(fixture->client->client.work_bytes, 0);
        assert_int_equal(fixture->client->client.answer_bytes, 0);
        free(fixture->client);
    }
    assert_int_equal(fixture->service->working, 0);
    handler_close(fixture->service);
    assert_int_equal(fixture->alloc.live_blocks, 0);
    assert_int_equal(fixture->alloc.live_bytes, 0);
    fake_persist_free(fixture->persist);
    arena_deinit(&fixture->arena);
    free(fixture);
}

/* --- what the tests do ------------------------------------------------------------------------ */

void read_fixture_advance(struct read_fixture *fixture, int64_t ms)
{
    fake_clock_advance(&fixture->clock, ms);
}

static struct hearsay_text text_of(const char *text)
{
    return (struct hearsay_text){text, text == NULL ? 0 : strlen(text)};
}

static void handle(struct read_fixture *fixture, const struct hearsay_request *request)
{
    handler_handle(fixture->service, &fixture->client->client, request);
}

void read_fixture_deposit_bytes(struct read_fixture *fixture, const char *host, uint32_t number,
                                const void *payload, size_t payload_bytes, uint32_t ttl_s)
{
    uint8_t id[MESSAGE_ID_BYTES];
    uint8_t filter[READ_FILTER_BYTES];
    struct hearsay_request request = {.id = 9, .name = "deposit", .kind = HEARSAY_REQUEST_DEPOSIT};

    read_fixture_make_id(number, id);
    read_fixture_make_filter(number, filter);
    request.deposit = plain_deposit(id, filter, sizeof(filter), "");
    request.deposit.host = text_of(host);
    request.deposit.payload = (struct hearsay_bytes){payload, payload_bytes};
    request.deposit.has_ttl_s = true;
    request.deposit.ttl_s = ttl_s;
    request.deposit.reach_ppm -= number;
    request.deposit.withdraw_hash =
        (struct hearsay_bytes){fixture->withdraw_hash, LIMIT_HASH_BYTES};
    handle(fixture, &request);
    assert_int_equal(fake_persist_commit(fixture->persist), 1);
    assert_int_equal(fixture->answer.kind, HEARSAY_RESPONSE_DEPOSITED);
}

void read_fixture_deposit(struct read_fixture *fixture, uint32_t number, const char *text,
                          uint32_t ttl_s)
{
    read_fixture_deposit_bytes(fixture, NULL, number, text, strlen(text), ttl_s);
}

void read_fixture_withdraw(struct read_fixture *fixture, uint32_t number)
{
    uint8_t id[MESSAGE_ID_BYTES];
    const struct hearsay_request request = {
        .id = 5,
        .kind = HEARSAY_REQUEST_WITHDRAW,
        .withdraw = {.id = {id, sizeof(id)}, .token = {token, sizeof(token)}},
    };

    read_fixture_make_id(number, id);
    handle(fixture, &request);
    assert_int_equal(fake_persist_commit(fixture->persist), 1);
    assert_int_equal(fixture->answer.kind, HEARSAY_RESPONSE_WITHDRAWN);
}

void read_fixture_send_get(struct read_fixture *fixture, const char *host, uint32_t number)
{
    uint8_t id[MESSAGE_ID_BYTES];
    const struct hearsay_request request = {
        .id = 500 + number,
        .name = "get",
        .kind = HEARSAY_REQUEST_GET,
        .get = {.host = text_of(host), .id = {id, sizeof(id)}},
    };

    read_fixture_make_id(number, id);
    handle(fixture, &request);
}

void read_fixture_send_export(struct read_fixture *fixture, const char *host, const uint8_t *after,
                              size_t after_bytes, uint32_t limit)
{
    const struct hearsay_request request = {
        .id = 700,
        .name = "export",
        .kind = HEARSAY_REQUEST_EXPORT,
        .export_ = {.host = text_of(host), .after = {after, after_bytes}, .limit = limit},
    };

    handle(fixture, &request);
}

void read_fixture_export_page(struct read_fixture *fixture, const uint8_t *after, uint32_t limit)
{
    fixture->client->client.is_administrator = true;
    read_fixture_send_export(fixture, NULL, after, after == NULL ? 0 : READ_CURSOR_BYTES, limit);
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 1);
    assert_int_equal(fixture->answer.kind, HEARSAY_RESPONSE_EXPORTED);
    assert_int_equal(fixture->answer.id, 700);
}

void read_fixture_expect_error(const struct read_fixture *fixture, uint64_t id,
                               enum hearsay_code code, const char *field)
{
    assert_int_equal(fixture->answer.kind, HEARSAY_RESPONSE_ERROR);
    assert_int_equal(fixture->answer.id, id);
    assert_int_equal(fixture->answer.error.code, code);
    assert_string_equal(fixture->answer.error.field, field);
}

void read_fixture_expect_page(const struct read_fixture *fixture, size_t count,
                              const uint32_t *numbers)
{
    assert_int_equal(fixture->answer.exported.message_count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(read_fixture_number(&fixture->answer.exported.messages[i].id), numbers[i]);
    }
}
