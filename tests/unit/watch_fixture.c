/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/watch_fixture.h"

#include "daemon/config/options.h"
#include "daemon/system/container.h"
#include "daemon/watch/watch.h"
#include "tests/lib/check.h"
#include "tests/lib/plain_request.h"

static void note_push(struct watch_client *client, const struct hearsay_match *match)
{
    assert_true(client->count < WATCH_FIXTURE_PUSHES_MAX);
    assert_true(client->room > 0);
    client->room--;
    client->seqs[client->count] = match->seq;
    client->watches[client->count] = match->watch_id;
    client->numbers[client->count] = match->result.id.data[0];
    client->has_payload[client->count] = match->result.payload.data != NULL;
    if (client->has_payload[client->count]) { /* each message's payload is its id's first byte */
        assert_int_equal(match->result.payload.count, 1);
        assert_int_equal(match->result.payload.data[0], match->result.id.data[0]);
    }
    client->count++;
}

static void on_respond(struct requester *handler, const struct hearsay_response *response)
{
    struct watch_client *client = CONTAINER_OF(handler, struct watch_client, client);

    if (handler->is_gone) {
        return;
    }
    if (response->kind == HEARSAY_RESPONSE_MATCH) {
        note_push(client, &response->match);
        return;
    }
    client->answer = response->kind;
    if (response->kind == HEARSAY_RESPONSE_WATCHING) {
        client->watch_id = response->watching.watch_id;
        client->watching_seq = response->watching.seq;
    } else if (response->kind == HEARSAY_RESPONSE_ERROR) {
        client->refusal = response->error.code;
    }
}

static void on_work_ended(struct requester *client)
{
    (void)client; /* it is the fixture's, and stays */
}

unsigned watch_fixture_room_asked;

static bool on_has_room(const struct requester *client)
{
    watch_fixture_room_asked++;
    return ((const struct watch_client *)(const void *)client)->room > 0;
}

void watch_fixture_leave(struct watch_client *client)
{
    client->client.is_gone = true;
    watch_client_gone(client->fixture->service, &client->client);
}

static bool on_queued(struct requester *handler, size_t bytes)
{
    struct watch_client *client = CONTAINER_OF(handler, struct watch_client, client);

    client->queued = bytes;
    if (bytes > client->queued_max) {
        client->dropped = HEARSAY_CODE_QUOTA;
        watch_fixture_leave(client);
    }
    return !handler->is_gone;
}

static void on_drop(struct requester *handler, enum hearsay_code code, const char *sentence)
{
    struct watch_client *client = CONTAINER_OF(handler, struct watch_client, client);

    assert_true(strlen(sentence) > 10);
    client->dropped = code;
    watch_fixture_leave(client);
}

static const struct requester_events events = {
    .respond = on_respond,
    .work_ended = on_work_ended,
    .has_room = on_has_room,
    .queued = on_queued,
    .drop = on_drop,
};

static void client_init(struct watch_fixture *fixture, struct watch_client *client)
{
    memset(client, 0, sizeof(*client));
    client->client.events = &events;
    client->fixture = fixture;
    client->room = WATCH_FIXTURE_PUSHES_MAX;
    client->queued_max = SIZE_MAX;
}

static int setup_with(void **state, const char *hosts, const char *cache)
{
    struct watch_fixture *fixture = calloc(1, sizeof(*fixture));
    char reason[CONFIG_REASON_BYTES];

    assert_non_null(fixture);
    fake_clock_init(&fixture->clock);
    fixture->clock.is_single = true;
    assert_int_equal(settings_config_parse(&options_program, hosts, strlen(hosts), "test",
                                           &fixture->config, reason),
                     0);
    (void)snprintf(fixture->config.data, sizeof(fixture->config.data), "/nowhere");
    assert_int_equal(config_set(&fixture->config, "test", "limits", "cache", cache, reason), 0);
    assert_int_equal(
        config_set(&fixture->config, "test", "limits", "watches_per_session", "8", reason), 0);
    assert_int_equal(config_set(&fixture->config, "test", "limits", "watches", "10", reason), 0);
    assert_int_equal(config_finish(&fixture->config, reason), 0);
    fail_alloc_init(&fixture->alloc);
    fixture->persist = fake_persist_new();
    struct service_options options = fake_clock_options(&fixture->clock);
    options.alloc = &fixture->alloc.alloc;
    options.config = &fixture->config;
    options.persist = fixture->persist;
    assert_int_equal(handler_open(&options, &fixture->service, reason), 0);
    for (unsigned i = 0; i < WATCH_FIXTURE_CLIENTS; i++) {
        client_init(fixture, &fixture->clients[i]);
    }
    *state = fixture;
    return 0;
}

int watch_fixture_setup(void **state)
{
    return setup_with(state, "", "1M");
}

int watch_fixture_setup_uncached(void **state)
{
    return setup_with(state, "", "0");
}

int watch_fixture_setup_two_hosts(void **state)
{
    return setup_with(state, "[host lobby]\n[host hall]\n", "1M");
}

/* Nothing may be left of watches whose clients have gone, also while reads were under way. */
int watch_fixture_teardown(void **state)
{
    struct watch_fixture *fixture = *state;

    for (unsigned i = 0; i < WATCH_FIXTURE_CLIENTS; i++) {
        if (!fixture->clients[i].client.is_gone) {
            watch_fixture_leave(&fixture->clients[i]);
        }
    }
    while (fake_persist_commit(fixture->persist) + fake_persist_answer_reads(fixture->persist) >
           0) {
    }
    assert_int_equal(fixture->service->working, 0);
    assert_int_equal(fixture->service->watch->counts.watches, 0);
    assert_int_equal(fixture->service->watch->counts.matches, 0);
    assert_int_equal(fixture->service->watch->counts.bytes, 0);
    assert_null(fixture->service->watch->watchers);
    assert_null(fixture->service->watch->ready);
    assert_null(fixture->service->watch->catching);
    handler_close(fixture->service);
    assert_int_equal(fixture->alloc.live_blocks, 0);
    fake_persist_free(fixture->persist);
    free(fixture);
    return 0;
}

/* Contexts of different places have nothing in common. */
static const uint8_t *filter_of(unsigned place)
{
    static uint8_t filter[WATCH_FIXTURE_FILTER_BYTES];

    memset(filter, 0, sizeof(filter));
    filter[place] = 0xff;
    filter[place + 1] = 0x03;
    return filter;
}

static void make_id(uint32_t number, uint8_t *out_id)
{
    memset(out_id, 0, MESSAGE_ID_BYTES);
    out_id[0] = (uint8_t)number;
    memcpy(out_id + 1, &number, sizeof(number));
}

/* `parent` 0: the message answers none. */
static void deposit(struct watch_fixture *fixture, unsigned place, uint32_t ttl_s, uint32_t parent)
{
    uint8_t id[MESSAGE_ID_BYTES];
    uint8_t answered[MESSAGE_ID_BYTES];
    struct hearsay_request request = {.id = 9, .name = "deposit", .kind = HEARSAY_REQUEST_DEPOSIT};

    make_id(++fixture->deposits, id);
    make_id(parent, answered);
    request.deposit = (struct hearsay_deposit){
        .host = {fixture->host, fixture->host != NULL ? strlen(fixture->host) : 0},
        .id = {id, sizeof(id)},
        .filter = {filter_of(place), WATCH_FIXTURE_FILTER_BYTES},
        .media_type = {"image/jxl", 9}, /* a byte of the id is no text */
        .payload = {id, 1},
        .has_ttl_s = true,
        .ttl_s = ttl_s,
        .reach_ppm = LIMIT_DISTANCE_PPM,
        .answers = {parent != 0 ? answered : NULL, parent != 0 ? sizeof(answered) : 0},
    };
    handler_handle(fixture->service, &fixture->clients[WATCH_FIXTURE_CLIENTS - 1].client, &request);
}

void watch_fixture_deposit_for(struct watch_fixture *fixture, unsigned place, uint32_t ttl_s)
{
    deposit(fixture, place, ttl_s, 0);
}

void watch_fixture_answer(struct watch_fixture *fixture, unsigned place, uint32_t parent)
{
    deposit(fixture, place, 3600, parent);
}

void watch_fixture_deposit(struct watch_fixture *fixture, unsigned place, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        watch_fixture_deposit_for(fixture, place, 3600);
    }
    (void)fake_persist_commit(fixture->persist);
    assert_int_equal(fixture->clients[WATCH_FIXTURE_CLIENTS - 1].answer,
                     count > 0 ? (int)HEARSAY_RESPONSE_DEPOSITED : 0);
}

/* Watches for messages near the part, or, without a part, for answers to `parent`. */
static void watch(struct watch_fixture *fixture, struct watch_client *client,
                  const struct hearsay_query_part *part, uint32_t parent, int64_t after_seq,
                  bool with_payload)
{
    uint8_t answered[MESSAGE_ID_BYTES];
    struct hearsay_request request = {.id = 5, .name = "watch", .kind = HEARSAY_REQUEST_WATCH};

    request.watch.query = plain_query(part, part != NULL ? 1 : 0, 0);
    request.watch.query.host =
        (struct hearsay_text){fixture->host, fixture->host != NULL ? strlen(fixture->host) : 0};
    request.watch.query.max_distance_ppm = 500000;
    request.watch.query.with_payload = with_payload;
    make_id(parent, answered);
    if (part == NULL) {
        request.watch.query.answers = (struct hearsay_bytes){answered, sizeof(answered)};
    }
    request.watch.after_seq = after_seq == WATCH_FIXTURE_NOW ? UINT64_MAX : (uint64_t)after_seq;
    client->answer = HEARSAY_RESPONSE_PONG;
    handler_handle(fixture->service, &client->client, &request);
}

void watch_fixture_watch_place(struct watch_fixture *fixture, struct watch_client *client,
                               unsigned place, int64_t after_seq, bool with_payload)
{
    const struct hearsay_query_part part = {
        .filter = {filter_of(place), WATCH_FIXTURE_FILTER_BYTES}};

    watch(fixture, client, &part, 0, after_seq, with_payload);
}

void watch_fixture_watch_answers(struct watch_fixture *fixture, struct watch_client *client,
                                 uint32_t parent, int64_t after_seq, bool with_payload)
{
    watch(fixture, client, NULL, parent, after_seq, with_payload);
}

void watch_fixture_watch(struct watch_fixture *fixture, struct watch_client *client,
                         int64_t after_seq)
{
    watch_fixture_watch_place(fixture, client, 1, after_seq, false);
    assert_int_equal(client->answer, HEARSAY_RESPONSE_WATCHING);
}

void watch_fixture_settle(struct watch_fixture *fixture)
{
    watch_tick(fixture->service);
    do {
        watch_turn(fixture->service);
    } while (fake_persist_answer_reads(fixture->persist) > 0 || watch_is_due(fixture->service));
}

void watch_fixture_expect(const struct watch_client *client, uint64_t first, size_t count)
{
    assert_int_equal(client->count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(client->seqs[i], first + i);
        assert_int_equal(client->numbers[i], (uint8_t)(first + i));
    }
}
