/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Get and Export over a service with a store in memory, a clock that the test sets, and no loop.
 * What is answered is also encoded: it must fit the frame that was promised.
 */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/handler.h"
#include "proto/codec.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/fake_persist.h"
#include "tests/lib/rng.h"

enum {
    FILTER_BYTES = 64,
    CURSOR_BYTES = 8,
    PAGE_MAX = 128, /* messages on a page, whatever is asked for */
    PAYLOAD_MAX = 1900,
    CODE_NONE = 0
};

/* The last response, and how many there were. */
struct answers {
    size_t count;
    uint64_t id;
    enum msg_response_kind kind;
    enum msg_error_code code;
    char field[LIMIT_FIELD_BYTES + 1];
    int64_t deposited_ms;
    int64_t expires_ms;
    char media_type[32];
    uint8_t payload[PAYLOAD_MAX]; /* of Got, or of the last message on the page */
    size_t payload_bytes;
    uint32_t numbers[PAGE_MAX]; /* of the page's messages */
    size_t page_count;
    size_t page_bytes;                 /* of filters, media types and payloads */
    struct msg_exported_message first; /* without what it points to */
    uint8_t first_filter[FILTER_BYTES];
    uint8_t first_hash[LIMIT_HASH_BYTES];
    uint8_t next[CURSOR_BYTES];
    bool has_next;
};

/* As a session does, it stays while work is under way, and a gone one goes with the last of it. */
struct test_client {
    struct handler_client client; /* first */
    struct fixture *fixture;
};

struct fixture {
    struct test_client *client; /* NULL: it is freed */
    struct fail_alloc alloc;
    struct config config;
    struct persist *persist;
    struct service *service;
    int64_t wall_ms;
    int64_t monotonic_ms;
    bool synchronised; /* the wall clock, as the system says */
    struct answers answers;
    char got_ids[128];                       /* of all the requests answered by Got, in order */
    uint8_t withdraw_hash[LIMIT_HASH_BYTES]; /* of every deposit */
};

static const uint8_t token[LIMIT_TOKEN_BYTES] = {42}; /* takes every message back */
static const char host_a[] = "a";
static const char host_b[] = "b";

/* --- fixture ---------------------------------------------------------------------------------- */

static uint32_t number_of(const struct msg_bytes *id)
{
    assert_int_equal(id->count, MESSAGE_ID_BYTES);
    return (uint32_t)id->data[0] | (uint32_t)id->data[1] << 8;
}

static void make_id(uint32_t number, uint8_t *out)
{
    memset(out, 0xee, MESSAGE_ID_BYTES);
    out[0] = (uint8_t)number;
    out[1] = (uint8_t)(number >> 8);
}

/* A filter with ten bits set; another number, another filter, mostly. */
static void make_filter(uint32_t number, uint8_t *out)
{
    memset(out, 0, FILTER_BYTES);
    for (unsigned p = number % 500; p < number % 500 + 10; p++) {
        out[p / 8] |= (uint8_t)(1U << p % 8);
    }
}

static void note_payload(struct answers *answers, const struct msg_bytes *payload)
{
    assert_non_null(payload->data);
    assert_true(payload->count <= sizeof(answers->payload));
    memcpy(answers->payload, payload->data, payload->count);
    answers->payload_bytes = payload->count;
}

static void note_media_type(struct answers *answers, const struct msg_text *media_type)
{
    assert_true(media_type->length < sizeof(answers->media_type));
    memcpy(answers->media_type, media_type->text, media_type->length);
    answers->media_type[media_type->length] = '\0';
}

static void note_page(struct answers *answers, const struct msg_exported *page)
{
    assert_true(page->message_count <= PAGE_MAX);
    answers->page_count = page->message_count;
    for (size_t i = 0; i < page->message_count; i++) {
        const struct msg_exported_message *message = &page->messages[i];
        answers->numbers[i] = number_of(&message->id);
        assert_int_equal(message->filter.count, FILTER_BYTES);
        note_payload(answers, &message->payload);
        answers->page_bytes +=
            message->filter.count + message->media_type.length + message->payload.count;
    }
    if (page->message_count > 0) {
        const struct msg_exported_message *first = &page->messages[0];
        answers->first = *first;
        memcpy(answers->first_filter, first->filter.data, FILTER_BYTES);
        note_media_type(answers, &first->media_type);
        if (first->withdraw_hash.data != NULL) {
            assert_int_equal(first->withdraw_hash.count, LIMIT_HASH_BYTES);
            memcpy(answers->first_hash, first->withdraw_hash.data, LIMIT_HASH_BYTES);
        }
    }
    answers->has_next = page->next.data != NULL;
    if (answers->has_next) {
        assert_int_equal(page->next.count, CURSOR_BYTES);
        memcpy(answers->next, page->next.data, CURSOR_BYTES);
    }
}

/* Every answer fits the frame, and the output that was charged for it. */
static void check_frame(const struct fixture *fixture, const struct handler_client *client,
                        const struct msg_response *response)
{
    struct bytes frame;

    bytes_init(&frame, alloc_system());
    assert_int_equal(
        codec_encode_response(response, fixture->service->config.limits.frame_bytes, &frame), 0);
    if (client->work_count == 1) {
        assert_true(client->answer_bytes >= frame.count);
    }
    bytes_deinit(&frame);
}

static void on_respond(struct handler_client *client, const struct msg_response *response)
{
    struct fixture *fixture = ((struct test_client *)client)->fixture;
    struct answers *answers = &fixture->answers;
    const size_t count = answers->count + 1;

    memset(answers, 0, sizeof(*answers));
    answers->count = count;
    answers->id = response->id;
    answers->kind = response->kind;
    if (response->kind == MSG_RESPONSE_ERROR) {
        answers->code = response->error.code;
        memcpy(answers->field, response->error.field, sizeof(answers->field));
        assert_true(strlen(response->error.message) > 10); /* a sentence, always */
    } else if (response->kind == MSG_RESPONSE_GOT) {
        const size_t length = strlen(fixture->got_ids);
        snprintf(fixture->got_ids + length, sizeof(fixture->got_ids) - length, "%u:%.*s ",
                 (unsigned)response->id, (int)response->got.payload.count,
                 (const char *)response->got.payload.data);
        note_payload(answers, &response->got.payload);
        note_media_type(answers, &response->got.media_type);
        answers->numbers[0] = number_of(&response->got.id);
        answers->deposited_ms = response->got.deposited_ms;
        answers->expires_ms = response->got.expires_ms;
    } else if (response->kind == MSG_RESPONSE_EXPORTED) {
        note_page(answers, &response->exported);
    }
    check_frame(fixture, client, response);
}

static void on_work_ended(struct handler_client *client)
{
    struct fixture *fixture = ((struct test_client *)client)->fixture;

    if (client->is_gone && client->work_count == 0) {
        memset(client, 0x5a, sizeof(struct test_client));
        free(client);
        fixture->client = NULL;
    }
}

static const struct handler_client_events events = {.respond = on_respond,
                                                    .work_ended = on_work_ended};

static void read_clocks(void *context, int64_t *out_wall_ms, int64_t *out_monotonic_ms)
{
    const struct fixture *fixture = context;

    *out_wall_ms = fixture->wall_ms;
    *out_monotonic_ms = fixture->monotonic_ms;
}

static bool clock_synchronised(void *context)
{
    const struct fixture *fixture = context;

    return fixture->synchronised;
}

static void configure(struct fixture *fixture, const char *frame, const char *cache)
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
    snprintf(config->hosts[0].name, sizeof(config->hosts[0].name), "%s", host_a);
    snprintf(config->hosts[1].name, sizeof(config->hosts[1].name), "%s", host_b);
}

static struct test_client *client_new(struct fixture *fixture)
{
    struct test_client *client = calloc(1, sizeof(*client));

    assert_non_null(client);
    client->client.events = &events;
    client->fixture = fixture;
    return client;
}

static struct fixture *fixture_new(const char *frame, const char *cache)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    char reason[CONFIG_REASON_BYTES];

    assert_non_null(fixture);
    fixture->wall_ms = INT64_C(1800000000000);
    fixture->synchronised = true;
    crypto_generichash(fixture->withdraw_hash, LIMIT_HASH_BYTES, token, sizeof(token), NULL, 0);
    configure(fixture, frame, cache);
    fail_alloc_init(&fixture->alloc);
    fixture->persist = fake_persist_new();
    fixture->client = client_new(fixture);
    const struct service_options options = {
        .alloc = &fixture->alloc.alloc,
        .config = &fixture->config,
        .persist = fixture->persist,
        .hash_seed = 7,
        .read_clocks = read_clocks,
        .clock_synchronised = clock_synchronised,
        .clock_context = fixture,
    };
    assert_int_equal(service_new(&options, &fixture->service, reason), 0);
    return fixture;
}

static int setup(void **state)
{
    *state = fixture_new("64K", "0");
    return 0;
}

static int setup_cached(void **state)
{
    *state = fixture_new("64K", "1M");
    return 0;
}

static int setup_small_frame(void **state)
{
    *state = fixture_new("4K", "0");
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    if (fixture->client != NULL) {
        assert_int_equal(fixture->client->client.work_count, 0);
        assert_int_equal(fixture->client->client.work_bytes, 0);
        assert_int_equal(fixture->client->client.answer_bytes, 0);
        free(fixture->client);
    }
    assert_int_equal(fixture->service->working, 0);
    service_free(fixture->service);
    assert_int_equal(fixture->alloc.live_blocks, 0);
    assert_int_equal(fixture->alloc.live_bytes, 0);
    fake_persist_free(fixture->persist);
    free(fixture);
    return 0;
}

/* --- what the tests do ------------------------------------------------------------------------ */

static void advance(struct fixture *fixture, int64_t ms)
{
    fixture->wall_ms += ms;
    fixture->monotonic_ms += ms;
}

static struct msg_text text_of(const char *text)
{
    return (struct msg_text){text, text == NULL ? 0 : strlen(text)};
}

static void handle(struct fixture *fixture, const struct msg_request *request)
{
    handler_handle(fixture->service, &fixture->client->client, request);
}

static void deposit_bytes(struct fixture *fixture, const char *host, uint32_t number,
                          const void *payload, size_t payload_bytes, uint32_t ttl_s)
{
    uint8_t id[MESSAGE_ID_BYTES];
    uint8_t filter[FILTER_BYTES];
    struct msg_request request = {.id = 9, .name = "deposit", .kind = MSG_REQUEST_DEPOSIT};

    make_id(number, id);
    make_filter(number, filter);
    request.deposit = (struct msg_deposit){
        .host = text_of(host),
        .id = {id, sizeof(id)},
        .filter = {filter, sizeof(filter)},
        .media_type = text_of("text/plain"),
        .payload = {payload, payload_bytes},
        .has_ttl = true,
        .ttl_s = ttl_s,
        .reach_ppm = 1000000 - number,
        .withdraw_hash = {fixture->withdraw_hash, LIMIT_HASH_BYTES},
    };
    handle(fixture, &request);
    assert_int_equal(fake_persist_commit(fixture->persist), 1);
    assert_int_equal(fixture->answers.kind, MSG_RESPONSE_DEPOSITED);
}

static void deposit(struct fixture *fixture, uint32_t number, const char *text, uint32_t ttl_s)
{
    deposit_bytes(fixture, NULL, number, text, strlen(text), ttl_s);
}

static void withdraw(struct fixture *fixture, uint32_t number)
{
    uint8_t id[MESSAGE_ID_BYTES];
    const struct msg_request request = {
        .id = 5,
        .kind = MSG_REQUEST_WITHDRAW,
        .withdraw = {.id = {id, sizeof(id)}, .token = {token, sizeof(token)}},
    };

    make_id(number, id);
    handle(fixture, &request);
    assert_int_equal(fake_persist_commit(fixture->persist), 1);
    assert_int_equal(fixture->answers.kind, MSG_RESPONSE_WITHDRAWN);
}

/* Asks; the answer may come at once, or when the reads are answered. */
static void send_get(struct fixture *fixture, const char *host, uint32_t number)
{
    uint8_t id[MESSAGE_ID_BYTES];
    const struct msg_request request = {
        .id = 500 + number,
        .name = "get",
        .kind = MSG_REQUEST_GET,
        .get = {.host = text_of(host), .id = {id, sizeof(id)}},
    };

    make_id(number, id);
    handle(fixture, &request);
}

static void send_export(struct fixture *fixture, const char *host, const uint8_t *after,
                        size_t after_bytes, uint32_t limit)
{
    const struct msg_request request = {
        .id = 700,
        .name = "export",
        .kind = MSG_REQUEST_EXPORT,
        .export_page = {.host = text_of(host), .after = {after, after_bytes}, .limit = limit},
    };

    handle(fixture, &request);
}

/* One page; `after` NULL: the first. */
static void export_page(struct fixture *fixture, const uint8_t *after, uint32_t limit)
{
    fixture->client->client.is_administrator = true;
    send_export(fixture, NULL, after, after == NULL ? 0 : CURSOR_BYTES, limit);
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 1);
    assert_int_equal(fixture->answers.kind, MSG_RESPONSE_EXPORTED);
    assert_int_equal(fixture->answers.id, 700);
}

static void export_next_page(struct fixture *fixture, uint32_t limit)
{
    uint8_t cursor[CURSOR_BYTES];

    assert_true(fixture->answers.has_next);
    memcpy(cursor, fixture->answers.next, CURSOR_BYTES);
    export_page(fixture, cursor, limit);
}

static void expect_error(const struct fixture *fixture, uint64_t id, enum msg_error_code code,
                         const char *field)
{
    assert_int_equal(fixture->answers.kind, MSG_RESPONSE_ERROR);
    assert_int_equal(fixture->answers.id, id);
    assert_int_equal(fixture->answers.code, code);
    assert_string_equal(fixture->answers.field, field);
}

static void expect_got(const struct fixture *fixture, uint32_t number, const char *text)
{
    const struct answers *answers = &fixture->answers;

    assert_int_equal(answers->kind, MSG_RESPONSE_GOT);
    assert_int_equal(answers->id, 500 + number);
    assert_int_equal(answers->numbers[0], number);
    assert_string_equal(answers->media_type, "text/plain");
    assert_int_equal(answers->payload_bytes, strlen(text));
    assert_memory_equal(answers->payload, text, strlen(text));
}

static void expect_page(const struct fixture *fixture, size_t count, const uint32_t *numbers)
{
    assert_int_equal(fixture->answers.page_count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(fixture->answers.numbers[i], numbers[i]);
    }
}

/* --- Get -------------------------------------------------------------------------------------- */

/* The answer comes when the storage has been read, whole, and memory is charged until then. */
static void get_answers_what_was_deposited(void **state)
{
    struct fixture *fixture = *state;
    const struct handler_client *client = &fixture->client->client;
    const int64_t deposited_ms = fixture->wall_ms;

    deposit(fixture, 1, "one", 100);
    deposit(fixture, 2, "", 100); /* an empty payload is one, too */
    advance(fixture, 5000);
    const size_t before = fixture->answers.count;
    send_get(fixture, host_a, 1);
    assert_int_equal(fixture->answers.count, before);
    assert_int_equal(client->work_count, 1);
    assert_int_equal(client->answer_bytes, fixture->config.limits.frame_bytes);
    assert_true(client->work_bytes > client->answer_bytes);
    assert_int_equal(fixture->service->working, 1);

    assert_int_equal(fake_persist_answer_reads(fixture->persist), 1);
    assert_int_equal(fixture->answers.count, before + 1);
    expect_got(fixture, 1, "one");
    assert_true(fixture->answers.deposited_ms == deposited_ms);
    assert_true(fixture->answers.expires_ms == deposited_ms + 100 * 1000);
    send_get(fixture, NULL, 2); /* no host named: the first */
    fake_persist_answer_reads(fixture->persist);
    expect_got(fixture, 2, "");
}

/* Several under way at a time: each has its own answer, in the order of asking. */
static void gets_under_way_do_not_mix(void **state)
{
    struct fixture *fixture = *state;
    char text[16];

    for (uint32_t i = 1; i <= 5; i++) {
        snprintf(text, sizeof(text), "text %u", (unsigned)i);
        deposit(fixture, i, text, 100);
    }
    for (uint32_t i = 5; i >= 1; i--) {
        send_get(fixture, NULL, i);
        assert_int_equal(fixture->client->client.work_count, 6 - i);
    }
    send_get(fixture, NULL, 2); /* twice is fine */
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 6);
    assert_string_equal(fixture->got_ids, "505:text 5 504:text 4 503:text 3 502:text 2 "
                                          "501:text 1 502:text 2 ");
}

/* Unknown, of another host, withdrawn, expired to the millisecond: nothing is read for them. */
static void get_of_what_is_not_there(void **state)
{
    struct fixture *fixture = *state;

    deposit(fixture, 1, "withdrawn", 100);
    deposit(fixture, 2, "expires", 100);
    deposit_bytes(fixture, host_b, 3, "b's", 3, 100);
    withdraw(fixture, 1);
    send_get(fixture, NULL, 1);
    expect_error(fixture, 501, MSG_NOT_FOUND, "id");
    send_get(fixture, NULL, 77);
    expect_error(fixture, 577, MSG_NOT_FOUND, "id");
    send_get(fixture, host_a, 3);
    expect_error(fixture, 503, MSG_NOT_FOUND, "id");
    send_get(fixture, "c", 3);
    expect_error(fixture, 503, MSG_UNKNOWN_HOST, "host");

    advance(fixture, 100 * 1000 - 1);
    send_get(fixture, NULL, 2);
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 1);
    expect_got(fixture, 2, "expires");
    advance(fixture, 1);
    send_get(fixture, NULL, 2); /* it is not swept yet */
    expect_error(fixture, 502, MSG_NOT_FOUND, "id");
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 0);
}

/* A message that was withdrawn before the storage was read is not there; just after, it was. */
static void get_of_what_goes_meanwhile(void **state)
{
    struct fixture *fixture = *state;

    deposit(fixture, 1, "one", 100);
    deposit(fixture, 2, "two", 100);
    send_get(fixture, NULL, 1);
    withdraw(fixture, 1);
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 1);
    expect_error(fixture, 501, MSG_NOT_FOUND, "id");

    send_get(fixture, NULL, 2);
    fake_persist_carry_out_reads(fixture->persist);
    withdraw(fixture, 2);
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 1);
    expect_got(fixture, 2, "two");
    send_get(fixture, NULL, 2);
    expect_error(fixture, 502, MSG_NOT_FOUND, "id");
}

/* With the cache, an answer comes at once; what was withdrawn or expired is not answered from it.
 */
static void get_from_cache(void **state)
{
    struct fixture *fixture = *state;

    deposit(fixture, 1, "one", 100);
    deposit(fixture, 2, "two", 100);
    send_get(fixture, NULL, 1);
    expect_got(fixture, 1, "one");
    assert_true(fixture->answers.expires_ms == fixture->wall_ms + 100 * 1000);
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 0);
    withdraw(fixture, 1);
    send_get(fixture, NULL, 1);
    expect_error(fixture, 501, MSG_NOT_FOUND, "id");
    advance(fixture, 100 * 1000);
    send_get(fixture, NULL, 2);
    expect_error(fixture, 502, MSG_NOT_FOUND, "id");
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 0);
}

/* What had to be read once is at hand the next time. */
static void get_fills_the_cache(void **state)
{
    struct fixture *fixture = *state;

    deposit(fixture, 1, "one", 100);
    cache_set_limit(fixture->service->cache, 0); /* forgets it */
    cache_set_limit(fixture->service->cache, 1024 * 1024);
    send_get(fixture, NULL, 1);
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 1);
    expect_got(fixture, 1, "one");
    const size_t before = fixture->answers.count;
    send_get(fixture, NULL, 1);
    assert_int_equal(fixture->answers.count, before + 1);
    expect_got(fixture, 1, "one");
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 0);
}

/*
 * An id whose message has expired may be deposited anew while the old one is being read. The answer
 * is one message, not parts of two; and what was read does not push the new one out of the cache.
 */
static void get_of_what_comes_anew(void **state)
{
    struct fixture *fixture = *state;

    deposit(fixture, 1, "old", 1);
    cache_set_limit(fixture->service->cache, 0); /* forgets it */
    cache_set_limit(fixture->service->cache, 1024 * 1024);
    const int64_t old_expires_ms = fixture->wall_ms + 1000;
    send_get(fixture, NULL, 1);
    fake_persist_carry_out_reads(fixture->persist);
    advance(fixture, 1000);
    deposit(fixture, 1, "new", 100);
    const int64_t new_expires_ms = fixture->wall_ms + 100 * 1000;
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 1);
    expect_got(fixture, 1, "old");
    assert_true(fixture->answers.expires_ms == old_expires_ms);
    send_get(fixture, NULL, 1);
    expect_got(fixture, 1, "new");
    assert_true(fixture->answers.expires_ms == new_expires_ms);

    cache_set_limit(fixture->service->cache, 0);
    cache_set_limit(fixture->service->cache, 1024 * 1024);
    send_get(fixture, NULL, 1);
    advance(fixture, 100 * 1000);
    deposit(fixture, 1, "newest", 100);
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 1);
    expect_got(fixture, 1, "newest");
    assert_true(fixture->answers.expires_ms == fixture->wall_ms + 100 * 1000);
}

/* --- what fails ------------------------------------------------------------------------------- */

/* Storage that cannot be read is an error of this request only. */
static void failed_read_gives_storage(void **state)
{
    struct fixture *fixture = *state;

    deposit(fixture, 1, "one", 100);
    fixture->client->client.is_administrator = true;
    send_get(fixture, NULL, 1);
    fake_persist_fail_reads(fixture->persist);
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 1);
    expect_error(fixture, 501, MSG_STORAGE, "");
    send_export(fixture, NULL, NULL, 0, 0);
    fake_persist_fail_reads(fixture->persist);
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 1);
    expect_error(fixture, 700, MSG_STORAGE, "");

    send_get(fixture, NULL, 1);
    fake_persist_answer_reads(fixture->persist);
    expect_got(fixture, 1, "one");
    export_page(fixture, NULL, 0);
    expect_page(fixture, 1, (const uint32_t[]){1});
}

/* Memory that is out at any step of either request is an error, and the next one works. */
static void memory_out_is_answered(void **state)
{
    struct fixture *fixture = *state;
    size_t failed = 0;

    deposit(fixture, 1, "one", 100);
    fixture->client->client.is_administrator = true;
    fail_alloc_arm(&fixture->alloc, 1);
    send_get(fixture, NULL, 1);
    expect_error(fixture, 501, MSG_INTERNAL, "");
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 0);

    for (size_t n = 1; fixture->answers.kind == MSG_RESPONSE_ERROR; n++) {
        fail_alloc_arm(&fixture->alloc, n);
        send_export(fixture, NULL, NULL, 0, 0);
        fake_persist_answer_reads(fixture->persist);
        if (fixture->answers.kind == MSG_RESPONSE_ERROR) {
            expect_error(fixture, 700, MSG_INTERNAL, "");
            failed++;
        }
        assert_int_equal(fixture->client->client.work_count, 0);
    }
    assert_int_equal(failed, 2); /* the job, and the list of the answer */
    expect_page(fixture, 1, (const uint32_t[]){1});
    fail_alloc_arm(&fixture->alloc, 0);
}

/* A client that goes while its reads are under way is kept for them, and no longer. */
static void client_goes_during_reads(void **state)
{
    struct fixture *fixture = *state;

    deposit(fixture, 1, "one", 100);
    fixture->client->client.is_administrator = true;
    send_get(fixture, NULL, 1);
    send_export(fixture, NULL, NULL, 0, 0);
    fake_persist_carry_out_reads(fixture->persist);
    send_get(fixture, NULL, 1); /* and this one finds nothing any more */
    withdraw(fixture, 1);
    fixture->client->client.is_gone = true;
    assert_int_equal(fixture->client->client.work_count, 3);
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 3);
    assert_null(fixture->client);
    assert_int_equal(fixture->service->working, 0);

    fixture->client = client_new(fixture); /* the next one is served */
    deposit(fixture, 2, "two", 100);
    send_get(fixture, NULL, 2);
    fake_persist_answer_reads(fixture->persist);
    expect_got(fixture, 2, "two");
}

/* --- Export ----------------------------------------------------------------------------------- */

/* Refused before anything is read. */
static void export_is_for_the_administrator(void **state)
{
    struct fixture *fixture = *state;

    deposit(fixture, 1, "one", 100);
    send_export(fixture, NULL, NULL, 0, 0);
    expect_error(fixture, 700, MSG_FORBIDDEN, "export");
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 0);
    assert_int_equal(fixture->client->client.work_count, 0);

    fixture->client->client.is_administrator = true;
    send_export(fixture, "c", NULL, 0, 0);
    expect_error(fixture, 700, MSG_UNKNOWN_HOST, "host");
    export_page(fixture, NULL, 0);
    expect_page(fixture, 1, (const uint32_t[]){1});
}

/* A message is exported with all that is needed to deposit it elsewhere. */
static void export_is_complete(void **state)
{
    struct fixture *fixture = *state;
    const struct msg_exported_message *first = &fixture->answers.first;
    uint8_t filter[FILTER_BYTES];
    const int64_t deposited_ms = fixture->wall_ms;

    deposit(fixture, 7, "seven", 100);
    advance(fixture, 3000);
    export_page(fixture, NULL, 0);
    expect_page(fixture, 1, (const uint32_t[]){7});
    assert_false(fixture->answers.has_next);
    make_filter(7, filter);
    assert_memory_equal(fixture->answers.first_filter, filter, FILTER_BYTES);
    assert_string_equal(fixture->answers.media_type, "text/plain");
    assert_int_equal(fixture->answers.payload_bytes, 5);
    assert_memory_equal(fixture->answers.payload, "seven", 5);
    assert_true(first->epoch == 0);
    assert_true(first->deposited_ms == deposited_ms);
    assert_true(first->expires_ms == deposited_ms + 100 * 1000);
    assert_int_equal(first->reach_ppm, 1000000 - 7);
    assert_memory_equal(fixture->answers.first_hash, fixture->withdraw_hash, LIMIT_HASH_BYTES);

    send_export(fixture, host_b, NULL, 0, 0); /* a's message is not b's */
    fake_persist_answer_reads(fixture->persist);
    assert_int_equal(fixture->answers.kind, MSG_RESPONSE_EXPORTED);
    expect_page(fixture, 0, NULL);
    assert_false(fixture->answers.has_next);
}

/* Without a token's hash there is none in the export: empty is not the same as absent. */
static void export_without_hash(void **state)
{
    struct fixture *fixture = *state;
    uint8_t id[MESSAGE_ID_BYTES];
    uint8_t filter[FILTER_BYTES];
    struct msg_request request = {.id = 9, .kind = MSG_REQUEST_DEPOSIT};

    make_id(1, id);
    make_filter(1, filter);
    request.deposit = (struct msg_deposit){
        .id = {id, sizeof(id)},
        .filter = {filter, sizeof(filter)},
        .media_type = text_of("text/plain"),
        .payload = {(const uint8_t *)"x", 1},
        .reach_ppm = 1000000,
    };
    handle(fixture, &request);
    fake_persist_commit(fixture->persist);
    export_page(fixture, NULL, 0);
    expect_page(fixture, 1, (const uint32_t[]){1});
    assert_null(fixture->answers.first.withdraw_hash.data);
}

/* Pages follow each other; the last says so, also when it is just full. */
static void export_goes_page_by_page(void **state)
{
    struct fixture *fixture = *state;

    export_page(fixture, NULL, 2);
    expect_page(fixture, 0, NULL);
    assert_false(fixture->answers.has_next);
    for (uint32_t i = 1; i <= 4; i++) {
        deposit(fixture, 10 - i, "text", 100);
        deposit_bytes(fixture, host_b, 50 + i, "b", 1, 100); /* in between, and not exported */
    }
    export_page(fixture, NULL, 3);
    expect_page(fixture, 3, (const uint32_t[]){9, 8, 7});
    export_next_page(fixture, 3);
    expect_page(fixture, 1, (const uint32_t[]){6});
    assert_false(fixture->answers.has_next);

    export_page(fixture, NULL, 2);
    expect_page(fixture, 2, (const uint32_t[]){9, 8});
    export_next_page(fixture, 2);
    expect_page(fixture, 2, (const uint32_t[]){7, 6});
    assert_false(fixture->answers.has_next);
}

/* What is deposited between two pages comes on a later one; what is withdrawn moves none. */
static void export_while_messages_come_and_go(void **state)
{
    struct fixture *fixture = *state;

    for (uint32_t i = 1; i <= 6; i++) {
        deposit(fixture, i, "text", 100);
    }
    export_page(fixture, NULL, 2);
    expect_page(fixture, 2, (const uint32_t[]){1, 2});
    struct answers first_page = fixture->answers;
    withdraw(fixture, 1); /* sent already */
    withdraw(fixture, 2); /* the cursor's own */
    withdraw(fixture, 4); /* not sent yet */
    deposit(fixture, 7, "late", 100);
    fixture->answers = first_page;
    export_next_page(fixture, 2);
    expect_page(fixture, 2, (const uint32_t[]){3, 5});
    export_next_page(fixture, 2);
    expect_page(fixture, 2, (const uint32_t[]){6, 7});
    assert_false(fixture->answers.has_next);
}

/* Eight bytes are a position, whosever they were; others are refused. */
static void export_with_a_foreign_cursor(void **state)
{
    static const uint8_t beyond[CURSOR_BYTES] = {0, 0, 0, 0, 0, 1, 0, 0}; /* of a larger store */
    static const uint8_t second[CURSOR_BYTES] = {0, 0, 0, 0, 0, 0, 0, 2};
    static const uint8_t largest[CURSOR_BYTES] = {0x7f, 255, 255, 255, 255, 255, 255, 255};
    static const uint8_t negative[CURSOR_BYTES] = {0x80};
    static const uint8_t ones[LIMIT_CURSOR_BYTES] = {255, 255, 255, 255, 255, 255, 255, 255};
    static const uint8_t zero[CURSOR_BYTES] = {0};
    const uint8_t *const last_pages[] = {beyond, largest, negative, ones};
    struct fixture *fixture = *state;

    for (uint32_t i = 1; i <= 3; i++) {
        deposit(fixture, i, "text", 100);
    }
    for (size_t i = 0; i < sizeof(last_pages) / sizeof(last_pages[0]); i++) {
        export_page(fixture, last_pages[i], 0);
        expect_page(fixture, 0, NULL);
        assert_false(fixture->answers.has_next);
    }
    export_page(fixture, zero, 0);
    expect_page(fixture, 3, (const uint32_t[]){1, 2, 3});
    export_page(fixture, second, 0); /* big-endian */
    expect_page(fixture, 1, (const uint32_t[]){3});
    for (size_t bytes = 0; bytes <= LIMIT_CURSOR_BYTES; bytes++) {
        if (bytes != CURSOR_BYTES) {
            send_export(fixture, NULL, ones, bytes, 0);
            expect_error(fixture, 700, MSG_INVALID, "after");
            assert_int_equal(fake_persist_answer_reads(fixture->persist), 0);
        }
    }
}

/* Nobody gets more on a page than the server's own bound, nor more than was asked for. */
static void export_pages_are_bounded(void **state)
{
    static const uint32_t limits[] = {0, PAGE_MAX, PAGE_MAX + 1, 1000, UINT32_MAX};
    struct fixture *fixture = *state;

    for (uint32_t i = 1; i <= PAGE_MAX + 1; i++) {
        deposit(fixture, i, "x", 100);
    }
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        export_page(fixture, NULL, limits[i]);
        assert_int_equal(fixture->answers.page_count, PAGE_MAX);
        export_next_page(fixture, limits[i]);
        expect_page(fixture, 1, (const uint32_t[]){PAGE_MAX + 1});
        assert_false(fixture->answers.has_next);
    }
    export_page(fixture, NULL, 1);
    expect_page(fixture, 1, (const uint32_t[]){1});
    export_page(fixture, NULL, PAGE_MAX - 1);
    assert_int_equal(fixture->answers.page_count, PAGE_MAX - 1);
}

/*
 * A page with another one behind it is full: it has its number of messages, which take a quarter
 * of the frame besides their content, or the next message would not fit the rest of the frame.
 */
static void check_page_is_full(const struct fixture *fixture)
{
    enum { BESIDES_CONTENT = 160, MESSAGE_MAX = PAYLOAD_MAX + FILTER_BYTES + 10 };
    const size_t frame_bytes = fixture->config.limits.frame_bytes;
    const size_t quarter = frame_bytes / 4 / BESIDES_CONTENT;
    const size_t most = quarter < PAGE_MAX ? quarter : PAGE_MAX;

    assert_true(fixture->answers.page_count >= most ||
                fixture->answers.page_bytes + MESSAGE_MAX + CODEC_ENVELOPE_BYTES_MAX >=
                    frame_bytes / 4 * 3);
}

/* Messages of all sizes: each is exported once, in order, and every page fits (check_frame). */
static void export_pages_fit_the_frame(void **state)
{
    enum { COUNT = 300 };
    struct fixture *fixture = *state;
    uint8_t payload[PAYLOAD_MAX];
    uint32_t seen = 0;
    struct rng rng;

    rng_init(&rng);
    memset(payload, 0xab, sizeof(payload));
    for (uint32_t i = 1; i <= COUNT; i++) {
        /* stretches of small ones, which fill a page by number, and of large ones, by size */
        const uint32_t most = i % 100 < 40 ? 3 : PAYLOAD_MAX;
        const size_t count = i % 100 < 60 ? rng_below(&rng, most + 1) : PAYLOAD_MAX;
        deposit_bytes(fixture, NULL, i, payload, count, 100);
    }
    export_page(fixture, NULL, 0);
    for (;;) {
        assert_true(fixture->answers.page_count > 0);
        for (size_t i = 0; i < fixture->answers.page_count; i++) {
            assert_int_equal(fixture->answers.numbers[i], ++seen);
        }
        if (!fixture->answers.has_next) {
            break;
        }
        check_page_is_full(fixture);
        export_next_page(fixture, 0);
    }
    assert_int_equal(seen, COUNT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(get_answers_what_was_deposited),
        TEST(gets_under_way_do_not_mix),
        TEST(get_of_what_is_not_there),
        TEST(get_of_what_goes_meanwhile),
        cmocka_unit_test_setup_teardown(get_from_cache, setup_cached, teardown),
        cmocka_unit_test_setup_teardown(get_fills_the_cache, setup_cached, teardown),
        cmocka_unit_test_setup_teardown(get_of_what_comes_anew, setup_cached, teardown),
        TEST(failed_read_gives_storage),
        TEST(memory_out_is_answered),
        TEST(client_goes_during_reads),
        TEST(export_is_for_the_administrator),
        TEST(export_is_complete),
        TEST(export_without_hash),
        TEST(export_goes_page_by_page),
        TEST(export_while_messages_come_and_go),
        TEST(export_with_a_foreign_cursor),
        TEST(export_pages_are_bounded),
        TEST(export_pages_fit_the_frame),
        cmocka_unit_test_setup_teardown(export_pages_fit_the_frame, setup_small_frame, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
