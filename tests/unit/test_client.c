/* SPDX-License-Identifier: Apache-2.0 */
/* libhearsay against a server that a test scripts, over a socket. */
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/call/client.h"
#include "client/net/wait.h"
#include "proto/codec/codec.h"
#include "tests/lib/check.h"
#include "tests/lib/encode.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/fake_server.h"

enum { LONG_MS = 60000 }; /* a deadline that is never meant to pass */

_Static_assert(offsetof(struct hearsay_reply, error) < offsetof(struct hearsay_reply, response),
               "a larger response moves no other field");

static struct fake_server served;

/* A client whose server follows the script. */
static struct hearsay *open_served(fake_script *script, void *context)
{
    struct hearsay *client = NULL;
    struct hearsay_error error;
    fake_server_pair(&served, script, context);
    assert_int_equal(fake_server_open(&served, alloc_system(), &client, &error), 0);
    return client;
}

/* Closes the pipe that the script reads, too; NULL: it reads none. */
static void close_served(struct hearsay *client, const int *ends)
{
    hearsay_close(client);
    if (ends != NULL) {
        (void)close(ends[1]);
    }
    fake_server_stop(&served);
    if (ends != NULL) {
        (void)close(ends[0]);
    }
}

static int ping(struct hearsay *client, int timeout_ms, struct hearsay_error *out_error)
{
    static const struct hearsay_request request = {.kind = HEARSAY_REQUEST_PING};
    return hearsay_ask(client, &request, timeout_ms, NULL, out_error);
}

static void fill_deposit(struct hearsay_deposit *deposit, struct hearsay_receipt *receipt,
                         struct hearsay_filter *filter)
{
    const char *label = "topic:tea";
    assert_int_equal(encode_labels("v2:512/4", NULL, &label, 1, filter, NULL), 0);
    hearsay_deposit_init(deposit, receipt);
    deposit->filter = hearsay_filter_bytes(filter);
    deposit->payload = hearsay_bytes("hello", 5);
}

/* Answers everything as a server would. */
static void script_answers(struct fake_peer *peer, void *context)
{
    static const uint8_t id[16] = "an id of 16 by.";
    static const uint8_t payload[] = "hello";
    (void)context;
    struct hearsay_request request;
    if (!fake_greet(peer, 8)) {
        return;
    }
    while (fake_read(peer, &request)) {
        struct hearsay_response response = {.id = request.id};
        struct hearsay_result result;
        struct hearsay_exported_message exported;
        memset(&result, 0, sizeof(result));
        memset(&exported, 0, sizeof(exported));
        switch (request.kind) {
        case HEARSAY_REQUEST_DEPOSIT:
            response = fake_deposited(request.id, false);
            break;
        case HEARSAY_REQUEST_QUERY:
            response.kind = HEARSAY_RESPONSE_RESULTS;
            result.id = (struct hearsay_bytes){id, 16};
            result.distance_ppm = 250000;
            result.payload = (struct hearsay_bytes){payload, 5};
            result.media_type = (struct hearsay_text){"text/plain", 10};
            response.results.results = &result;
            response.results.result_count = 1;
            response.results.exact = true;
            break;
        case HEARSAY_REQUEST_GET:
            response = fake_error(request.id, HEARSAY_CODE_NOT_FOUND, 0);
            break;
        case HEARSAY_REQUEST_WITHDRAW:
            response.kind = HEARSAY_RESPONSE_WITHDRAWN;
            break;
        case HEARSAY_REQUEST_EXPORT:
            response.kind = HEARSAY_RESPONSE_EXPORTED;
            exported.id = (struct hearsay_bytes){id, 16};
            exported.filter = (struct hearsay_bytes){id, 8};
            exported.payload = (struct hearsay_bytes){payload, 5};
            exported.reach_ppm = 1000000;
            response.exported.messages = &exported;
            response.exported.message_count = 1;
            response.exported.next = (struct hearsay_bytes){id, 4};
            break;
        default:
            response.kind = HEARSAY_RESPONSE_PONG;
            response.pong.now_ms = 5;
            break;
        }
        if (!fake_send(peer, &response)) {
            return;
        }
    }
}

/* Every call gets what the server said, and the Welcome is there to be read. */
TEST(test_calls)
{
    struct hearsay *client = open_served(script_answers, NULL);
    struct hearsay_error error;
    assert_string_equal(hearsay_welcome(client)->agent, "fake/1");
    assert_int_equal(hearsay_welcome(client)->host_count, 2);
    assert_string_equal(hearsay_find_host(client, NULL)->name, "default");
    assert_int_equal(hearsay_find_host(client, "upstairs")->suggested_max_distance, 1000000);
    assert_null(hearsay_find_host(client, "attic"));
    assert_true(hearsay_has_capability(client, "query"));
    assert_false(hearsay_has_capability(client, "export"));
    assert_true(hearsay_now_ms(client) >= 1700000000000);

    struct hearsay_deposit deposit;
    struct hearsay_filter filter;
    struct hearsay_receipt receipt;
    struct hearsay_deposited deposited;
    fill_deposit(&deposit, &receipt, &filter);
    assert_int_equal(hearsay_deposit(client, &deposit, LONG_MS, &deposited, &error), 0);
    assert_int_equal(deposited.durability, HEARSAY_DURABILITY_ON_STORAGE);

    struct hearsay_query_part part = {.filter = hearsay_filter_bytes(&filter)};
    struct hearsay_query query;
    const struct hearsay_results *results = NULL;
    hearsay_query_init(&query);
    query.parts = &part;
    query.part_count = 1;
    assert_int_equal(hearsay_query(client, &query, LONG_MS, &results, &error), 0);
    assert_int_equal(results->result_count, 1);
    assert_memory_equal(results->results[0].payload.data, "hello", 5);
    assert_string_equal(results->results[0].media_type.text, "text/plain");
    assert_int_equal(results->results[0].distance_ppm, 250000);

    const struct hearsay_response *response = NULL;
    const struct hearsay_request get = {.kind = HEARSAY_REQUEST_GET, .get.id = deposit.id};
    assert_int_equal(hearsay_ask(client, &get, LONG_MS, &response, &error), HEARSAY_ERR_REFUSED);
    assert_null(response);
    assert_int_equal(error.code, HEARSAY_CODE_NOT_FOUND);
    assert_string_equal(error.field, "field");
    const struct hearsay_request withdraw = {
        .kind = HEARSAY_REQUEST_WITHDRAW,
        .withdraw = {.id = deposit.id, .token = hearsay_bytes(receipt.token, HEARSAY_TOKEN_BYTES)}};
    assert_int_equal(hearsay_ask(client, &withdraw, LONG_MS, NULL, &error), 0);

    const struct hearsay_request first = {.kind = HEARSAY_REQUEST_EXPORT};
    assert_int_equal(hearsay_ask(client, &first, LONG_MS, &response, &error), 0);
    assert_int_equal(response->kind, HEARSAY_RESPONSE_EXPORTED);
    assert_int_equal(response->exported.message_count, 1);
    assert_int_equal(response->exported.next.count, 4);
    assert_null(response->exported.messages[0].withdraw_hash.data);

    const struct hearsay_request pinging = {.kind = HEARSAY_REQUEST_PING};
    assert_int_equal(hearsay_ask(client, &pinging, LONG_MS, &response, NULL), 0);
    assert_int_equal(response->pong.now_ms, 5);
    close_served(client, NULL);
}

/* What is wrong before anything is sent is said without a server. */
TEST(test_arguments)
{
    struct hearsay *client = open_served(script_answers, NULL);
    struct hearsay_error error;
    struct hearsay_filter filter;
    struct hearsay_deposit deposit;
    struct hearsay_receipt receipt;
    uint64_t ticket = 0;
    const char *bad = "no colon";
    struct hearsay_encode context = {.host = hearsay_find_host(client, NULL)};
    assert_int_equal(hearsay_encode(&context, &filter, &error), HEARSAY_ERR_ARGUMENT);
    assert_non_null(strstr(error.sentence, "empty"));
    context.labels = &bad;
    context.label_count = 1;
    assert_int_equal(hearsay_encode(&context, &filter, &error), HEARSAY_ERR_ARGUMENT);
    assert_non_null(strstr(error.sentence, "no colon"));
    hearsay_deposit_init(&deposit, &receipt);
    assert_int_equal(hearsay_submit_deposit(client, &deposit, &ticket, &error),
                     HEARSAY_ERR_ARGUMENT);
    fill_deposit(&deposit, NULL, &filter);
    assert_int_equal(hearsay_submit_deposit(client, &deposit, &ticket, &error),
                     HEARSAY_ERR_ARGUMENT);
    assert_string_equal(error.sentence, "the message has no id");
    fill_deposit(&deposit, &receipt, &filter);
    deposit.reach_ppm = 1000001;
    assert_int_equal(hearsay_submit_deposit(client, &deposit, &ticket, &error),
                     HEARSAY_ERR_ARGUMENT);
    struct hearsay_query query;
    hearsay_query_init(&query);
    assert_int_equal(hearsay_submit_query(client, &query, &ticket, &error), HEARSAY_ERR_ARGUMENT);
    assert_int_equal(ping(client, -1, &error), HEARSAY_ERR_ARGUMENT);
    const struct hearsay_reply *reply = NULL;
    const struct hearsay_response *response = NULL;
    static const unsigned no_requests[] = {HEARSAY_REQUEST_UNKNOWN, HEARSAY_REQUEST_HELLO, 9999};
    for (size_t i = 0; i < 3; i++) {
        struct hearsay_request request = {.kind = (enum hearsay_request_kind)no_requests[i]};
        assert_int_equal(hearsay_ask(client, &request, LONG_MS, &response, &error),
                         HEARSAY_ERR_ARGUMENT);
        assert_int_equal(hearsay_submit(client, &request, &ticket, &error), HEARSAY_ERR_ARGUMENT);
        assert_string_equal(error.sentence, "there is no such request");
    }
    assert_int_equal(hearsay_next(client, 0, &reply, &error), HEARSAY_IDLE);
    close_served(client, NULL);
}

/* Waits for three requests, then answers them backwards. */
static void script_backwards(struct fake_peer *peer, void *context)
{
    (void)context;
    uint64_t ids[3];
    struct hearsay_request request;
    if (!fake_greet(peer, 8)) {
        return;
    }
    for (size_t i = 0; i < 3; i++) {
        if (!fake_read(peer, &request)) {
            return;
        }
        ids[i] = request.id;
    }
    for (size_t i = 3; i-- > 0;) {
        struct hearsay_response response = {.id = ids[i], .kind = HEARSAY_RESPONSE_PONG};
        response.pong.now_ms = (int64_t)i;
        fake_put(peer, &response);
    }
    (void)fake_flush(peer);
    (void)fake_read(peer, &request); /* until the client closes */
}

/* A call that waits for its own reply keeps the others for hearsay_next, in order. */
TEST(test_overtaking)
{
    struct hearsay *client = open_served(script_backwards, NULL);
    uint64_t first = 0;
    uint64_t second = 0;
    assert_int_equal(fake_submit_ping(client, &first, NULL), 0);
    assert_int_equal(fake_submit_ping(client, &second, NULL), 0);
    uint64_t third = 0;
    const struct hearsay_reply *awaited = NULL;
    const struct hearsay_reply *reply = NULL;
    assert_int_equal(fake_submit_ping(client, &third, NULL), 0);
    assert_int_equal(client_await(client, first, wait_deadline_ms(LONG_MS), &awaited, NULL), 0);
    assert_int_equal(awaited->response.pong.now_ms, 0);
    assert_int_equal(hearsay_in_flight(client), 2);
    assert_int_equal(hearsay_next(client, 0, &reply, NULL), 0);
    assert_int_equal(reply->response.id, third);
    assert_int_equal(reply->response.pong.now_ms, 2);
    assert_int_equal(hearsay_next(client, 0, &reply, NULL), 0);
    assert_int_equal(reply->response.id, second);
    assert_int_equal(hearsay_next(client, 0, &reply, NULL), HEARSAY_IDLE);
    close_served(client, NULL);
}

static void put_epoch(struct fake_peer *peer, const char *host, uint64_t number)
{
    uint8_t key[HEARSAY_KEY_BYTES];
    struct hearsay_response response = {.kind = HEARSAY_RESPONSE_EPOCH_CHANGED};
    memset(key, (int)number, sizeof(key));
    response.epoch_changed.host = (struct hearsay_text){host, strlen(host)};
    response.epoch_changed.epoch.number = number;
    response.epoch_changed.epoch.key = (struct hearsay_bytes){key, sizeof(key)};
    fake_put(peer, &response);
}

static void put_acceptance(struct fake_peer *peer, const char *host)
{
    struct hearsay_response response = {.kind = HEARSAY_RESPONSE_ACCEPT_CHANGED};
    response.accept_changed.host = (struct hearsay_text){host, strlen(host)};
    response.accept_changed.accept = HEARSAY_ACCEPT_CLOSED;
    response.accept_changed.accept_until_ms = 77;
    fake_put(peer, &response);
}

static void put_notices(struct fake_peer *peer, const char *host, const char *text,
                        const char *lang, size_t count)
{
    const struct hearsay_house_notice notices[] = {
        {.number = 1,
         .text = {text, strlen(text)},
         .lang = {lang, lang != NULL ? strlen(lang) : 0}},
        {.number = 2, .text = {text, strlen(text)}}};
    struct hearsay_response response = {.kind = HEARSAY_RESPONSE_NOTICES_CHANGED};
    response.notices_changed.host = (struct hearsay_text){host, strlen(host)};
    response.notices_changed.notices = notices;
    response.notices_changed.notice_count = count;
    fake_put(peer, &response);
}

/* Epochs begin before the answer to the first request, and after that to the second. */
static void script_epochs(struct fake_peer *peer, void *context)
{
    struct hearsay_request request;
    (void)context;
    if (!fake_greet(peer, 8)) {
        return;
    }
    for (int i = 0; i < 2 && fake_read(peer, &request); i++) {
        struct hearsay_response pong = {.id = request.id, .kind = HEARSAY_RESPONSE_PONG};
        if (i == 0) {
            put_epoch(peer, "default", 6);
            put_epoch(peer, "attic", 9); /* which the Welcome does not have */
            put_epoch(peer, "upstairs", 3);
            put_acceptance(peer, "attic");
            put_acceptance(peer, "upstairs");
            put_notices(peer, "attic", "nobody's", NULL, 1);
            put_notices(peer, "default", "gone", NULL, 2);
            put_notices(peer, "upstairs", "stays", "en", 2);
            put_notices(peer, "default", "", NULL, 0);
        }
        fake_put(peer, &pong);
        if (i == 1) {
            put_notices(peer, "upstairs", "stays", "de", 2);
            put_epoch(peer, "default", 7);
        }
        (void)fake_flush(peer);
    }
    (void)fake_read(peer, &request); /* then hangs up */
}

static bool is_readable(const struct hearsay *client, int timeout_ms)
{
    struct pollfd waited = {.fd = hearsay_fd(client, NULL), .events = POLLIN};
    return poll(&waited, 1, timeout_ms) == 1;
}

/* Who stays connected while epochs turn knows the one of now, and misses no answer by asking. */
TEST(test_epochs_turn)
{
    struct hearsay_epoch epoch = {.number = 1};
    struct hearsay_error error;
    const struct hearsay_reply *reply = NULL;
    uint64_t ticket = 0;
    uint8_t key[HEARSAY_KEY_BYTES];
    struct hearsay *client = open_served(script_epochs, NULL);
    assert_int_equal(hearsay_current_epoch(client, NULL, &epoch, &error), 0);
    assert_int_equal(epoch.number, 0);
    assert_int_equal(hearsay_current_epoch(client, "attic", &epoch, &error), HEARSAY_ERR_ARGUMENT);

    assert_int_equal(fake_submit_ping(client, &ticket, &error), 0);
    while (epoch.number != 6) {
        assert_true(is_readable(client, LONG_MS));
        assert_int_equal(hearsay_current_epoch(client, "default", &epoch, &error), 0);
    }
    memset(key, 6, sizeof(key));
    assert_true(epoch.has_key);
    assert_memory_equal(epoch.key, key, sizeof(key));
    assert_int_equal(hearsay_next(client, LONG_MS, &reply, &error), 0);
    assert_int_equal(reply->response.kind, HEARSAY_RESPONSE_PONG);
    assert_int_equal(hearsay_find_host(client, "upstairs")->epoch.number, 3);
    assert_int_equal(hearsay_find_host(client, "upstairs")->accept, HEARSAY_ACCEPT_CLOSED);
    assert_true(hearsay_find_host(client, "upstairs")->accept_until_ms == 77);
    assert_int_not_equal(hearsay_find_host(client, "default")->accept, HEARSAY_ACCEPT_CLOSED);
    assert_int_equal(hearsay_find_host(client, "default")->notice_count, 0);
    assert_int_equal(hearsay_find_host(client, "upstairs")->notice_count, 2);
    assert_string_equal(hearsay_find_host(client, "upstairs")->notices[1].text.text, "stays");
    uint64_t version = hearsay_find_host(client, "upstairs")->notices_version;

    /* Unasked, and with nothing under way: hearsay_next takes it in, or the socket would stay
     * readable for ever. */
    assert_int_equal(ping(client, LONG_MS, &error), 0);
    assert_int_equal(hearsay_next(client, 0, &reply, &error), HEARSAY_IDLE);
    while (hearsay_find_host(client, NULL)->epoch.number != 7) {
        assert_true(is_readable(client, LONG_MS));
        assert_int_equal(hearsay_next(client, 0, &reply, &error), HEARSAY_IDLE);
    }
    assert_string_equal(hearsay_find_host(client, "upstairs")->notices[0].lang.text, "de");
    assert_true(hearsay_find_host(client, "upstairs")->notices_version != version);
    assert_false(is_readable(client, 0));

    assert_int_equal(fake_submit_ping(client, &ticket, &error), 0);
    int status = HEARSAY_OK;
    while (status == HEARSAY_OK) {
        assert_true(is_readable(client, LONG_MS));
        status = hearsay_current_epoch(client, NULL, &epoch, &error);
    }
    assert_int_equal(status, HEARSAY_ERR_LOST);
    close_served(client, NULL);
}

/* Allows two requests in flight, and answers neither before the pipe in *context is written to. */
static void script_full(struct fake_peer *peer, void *context)
{
    struct hearsay_request request;
    char byte = 0;
    if (!fake_greet(peer, 2)) {
        return;
    }
    for (int i = 0; fake_read(peer, &request); i++) {
        struct hearsay_response response = {.id = request.id, .kind = HEARSAY_RESPONSE_PONG};
        response.pong.now_ms = i;
        fake_put(peer, &response);
        if (i == 1 && read(*(const int *)context, &byte, 1) != 1) {
            return;
        }
        if (i >= 1 && !fake_flush(peer)) {
            return;
        }
    }
}

/*
 * Requests whose calls timed out take the places of others until the server answers them. A call
 * waits for a place, and hearsay_next waits with whoever submits; neither says that all is idle.
 */
TEST(test_full_of_abandoned)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct hearsay *client = open_served(script_full, &ends[0]);
    const struct hearsay_request pinging = {.kind = HEARSAY_REQUEST_PING};
    const struct hearsay_results some = {.exact = true};
    const struct hearsay_results *results = &some;
    const struct hearsay_response *response = NULL;
    const struct hearsay_reply *reply = NULL;
    struct hearsay_error error;
    struct hearsay_filter filter;
    struct hearsay_query_part part;
    struct hearsay_query query;
    const char *label = "topic:tea";
    memset(&part, 0, sizeof(part));
    assert_int_equal(encode_labels("v2:512/4", NULL, &label, 1, &filter, NULL), 0);
    part.filter = hearsay_filter_bytes(&filter);
    hearsay_query_init(&query);
    query.parts = &part;
    query.part_count = 1;

    assert_int_equal(ping(client, 0, &error), HEARSAY_ERR_TIMEOUT);
    assert_int_equal(ping(client, 0, &error), HEARSAY_ERR_TIMEOUT);
    assert_int_equal(hearsay_query(client, &query, 0, &results, &error), HEARSAY_ERR_TIMEOUT);
    assert_null(results);
    assert_int_equal(hearsay_query(client, &query, 1, NULL, NULL), HEARSAY_ERR_TIMEOUT);
    assert_int_equal(hearsay_in_flight(client), 0);
    assert_int_equal(hearsay_submit(client, &pinging, NULL, &error), HEARSAY_FULL);
    assert_int_equal(hearsay_next(client, 0, &reply, &error), HEARSAY_PENDING);
    assert_null(reply);

    assert_int_equal(write(ends[1], "", 1), 1);
    assert_int_equal(hearsay_ask(client, &pinging, LONG_MS, &response, &error), HEARSAY_OK);
    assert_int_equal(response->pong.now_ms, 2);
    assert_int_equal(hearsay_submit(client, &pinging, NULL, &error), HEARSAY_OK);
    assert_int_equal(hearsay_next(client, LONG_MS, NULL, NULL), HEARSAY_OK);
    assert_int_equal(hearsay_next(client, 0, &reply, &error), HEARSAY_IDLE);
    close_served(client, ends);
}

/* A call waits while requests of the program's own fill the connection, and keeps their replies. */
TEST(test_full_of_submitted)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct hearsay *client = open_served(script_full, &ends[0]);
    const struct hearsay_request pinging = {.kind = HEARSAY_REQUEST_PING};
    const struct hearsay_reply *reply = NULL;
    assert_int_equal(hearsay_submit(client, &pinging, NULL, NULL), HEARSAY_OK);
    assert_int_equal(hearsay_submit(client, &pinging, NULL, NULL), HEARSAY_OK);
    assert_int_equal(write(ends[1], "", 1), 1);
    assert_int_equal(ping(client, LONG_MS, NULL), HEARSAY_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hearsay_next(client, 0, &reply, NULL), HEARSAY_OK);
        assert_int_equal(reply->response.pong.now_ms, i);
    }
    close_served(client, ends);
}

/* Greets, then neither reads nor writes until the pipe in *context is closed. */
static void script_deaf(struct fake_peer *peer, void *context)
{
    char byte = 0;
    if (fake_greet(peer, 1000)) {
        (void)!read(*(const int *)context, &byte, 1);
    }
}

/* A server that stops reading fills the buffers, up to a bound; nothing blocks, deadlines pass. */
TEST(test_deaf_server)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct hearsay *client = open_served(script_deaf, &ends[0]);
    struct hearsay_deposit deposit;
    struct hearsay_receipt receipt;
    struct hearsay_filter filter;
    struct hearsay_error error;
    static const char payload[50000];
    fill_deposit(&deposit, &receipt, &filter);
    deposit.payload = hearsay_bytes(payload, sizeof(payload));
    uint64_t ticket = 0;
    int status = 0;
    while ((status = hearsay_submit_deposit(client, &deposit, &ticket, &error)) == 0) {
        assert_true(hearsay_in_flight(client) < 1000);
    }
    assert_true(status == HEARSAY_FULL);
    bool wants_write = false;
    assert_true(hearsay_fd(client, &wants_write) >= 0);
    assert_true(wants_write);
    const struct hearsay_reply *reply = NULL;
    assert_int_equal(hearsay_next(client, 0, &reply, &error), HEARSAY_PENDING);
    assert_int_equal(ping(client, 0, &error), HEARSAY_ERR_TIMEOUT);
    close_served(client, ends);
}

static void script_silent(struct fake_peer *peer, void *context)
{
    (void)context;
    struct hearsay_request request;
    if (!fake_greet(peer, 8)) {
        return;
    }
    /* The first is answered late, together with the second. */
    if (!fake_read(peer, &request)) {
        return;
    }
    struct hearsay_response late = {.id = request.id, .kind = HEARSAY_RESPONSE_PONG};
    if (!fake_read(peer, &request)) {
        return;
    }
    struct hearsay_response response = {.id = request.id, .kind = HEARSAY_RESPONSE_PONG};
    response.pong.now_ms = 2;
    fake_put(peer, &late);
    fake_put(peer, &response);
    (void)fake_flush(peer);
    (void)fake_read(peer, &request);
}

/* After a deadline the connection goes on, and the late reply is nobody's. */
TEST(test_deadline)
{
    struct hearsay *client = open_served(script_silent, NULL);
    struct hearsay_error error;
    const struct hearsay_request pinging = {.kind = HEARSAY_REQUEST_PING};
    const struct hearsay_response *response = NULL;
    assert_int_equal(ping(client, 0, &error), HEARSAY_ERR_TIMEOUT);
    assert_int_equal(hearsay_in_flight(client), 0);
    assert_int_equal(hearsay_ask(client, &pinging, LONG_MS, &response, &error), 0);
    assert_int_equal(response->pong.now_ms, 2);
    close_served(client, NULL);
}

/* The reply to a cancelled request is dropped; 0 is no ticket. */
TEST(test_cancel)
{
    const struct hearsay_reply *reply = NULL;
    uint64_t ticket = 0;
    struct hearsay *client = open_served(script_silent, NULL);
    assert_int_equal(fake_submit_ping(client, &ticket, NULL), HEARSAY_OK);
    hearsay_cancel(client, ticket);
    hearsay_cancel(client, 0);
    assert_int_equal(hearsay_in_flight(client), 0);
    assert_int_equal(fake_submit_ping(client, &ticket, NULL), HEARSAY_OK);
    assert_int_equal(hearsay_next(client, LONG_MS, &reply, NULL), HEARSAY_OK);
    assert_int_equal(reply->response.id, ticket);
    close_served(client, NULL);
}

/* Talks for ever, of nothing that was asked. */
static void script_chatter(struct fake_peer *peer, void *context)
{
    struct hearsay_request request;
    (void)context;
    if (!fake_greet(peer, 8) || !fake_read(peer, &request)) {
        return;
    }
    const struct hearsay_response push = {.kind = HEARSAY_RESPONSE_PONG};
    for (int i = 0; i < 50000; i++) {
        fake_put(peer, &push);
    }
    while (send(peer->fd, peer->output.data, peer->output.count, MSG_NOSIGNAL) > 0) {
    }
}

/* A server that never stops talking does not keep a call beyond its deadline. */
TEST(test_chatter)
{
    struct hearsay *client = open_served(script_chatter, NULL);
    struct hearsay_error error;
    assert_int_equal(ping(client, 100, &error), HEARSAY_ERR_TIMEOUT);
    close_served(client, NULL);
}

/* Sends the first *context bytes of a Welcome and a Pong, and hangs up. */
static void script_cut(struct fake_peer *peer, void *context)
{
    size_t count = *(const size_t *)context;
    struct hearsay_response response = {.id = 1, .kind = HEARSAY_RESPONSE_WELCOME};
    struct hearsay_request request;
    response.welcome = fake_welcome(8);
    fake_put(peer, &response);
    response = (struct hearsay_response){.id = 2, .kind = HEARSAY_RESPONSE_PONG};
    fake_put(peer, &response);
    if (fake_read(peer, &request)) {
        count = count < peer->output.count ? count : peer->output.count;
        (void)send(peer->fd, peer->output.data, count, MSG_NOSIGNAL);
    }
}

/* A server that is gone at any byte: a clear error, or the whole answer. */
TEST(test_hang_up_everywhere)
{
    bool answered = false;
    for (size_t count = 0; !answered; count++) {
        struct fake_server server;
        struct hearsay *client = NULL;
        struct hearsay_error error;
        fake_server_pair(&server, script_cut, &count);
        int status = fake_server_open(&server, alloc_system(), &client, &error);
        if (status == 0) {
            status = ping(client, LONG_MS, &error);
            answered = status == 0;
        }
        if (!answered) {
            assert_int_equal(status, HEARSAY_ERR_LOST);
        }
        hearsay_close(client);
        fake_server_stop(&server);
        assert_true(count < 2000);
    }
}

/* With the n-th allocation failing: an error, or an answer, and nothing leaks. */
TEST(test_allocations)
{
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        struct fail_alloc fail;
        struct fake_server server;
        struct hearsay *client = NULL;
        fail_alloc_init(&fail);
        fail_alloc_arm(&fail, n);
        failed = false;
        fake_server_pair(&server, script_backwards, NULL);
        int status = fake_server_open(&server, &fail.alloc, &client, NULL);
        uint64_t tickets[3] = {0};
        for (size_t i = 0; i < 3 && status == 0; i++) {
            status = fake_submit_ping(client, &tickets[i], NULL);
        }
        const struct hearsay_reply *awaited = NULL;
        const struct hearsay_reply *reply = NULL;
        if (status == 0) {
            status = client_await(client, tickets[0], wait_deadline_ms(LONG_MS), &awaited, NULL);
        }
        while (status == 0 && hearsay_in_flight(client) > 0) {
            status = hearsay_next(client, LONG_MS, &reply, NULL);
        }
        if (status != 0) {
            assert_int_equal(status, HEARSAY_ERR_NOMEM);
            failed = true;
        }
        hearsay_close(client);
        assert_int_equal(fail.live_blocks, 0);
        fake_server_stop(&server);
        assert_true(n < 1000);
    }
}

/* The whole way: a Unix socket by its path. */
TEST(test_connect)
{
    struct fake_server server;
    struct hearsay *client = NULL;
    struct hearsay_error error;
    fake_server_listen(&server, script_answers, NULL);
    struct hearsay_connect options;
    hearsay_connect_init(&options);
    options.server = server.path;
    options.timeout_ms = LONG_MS;
    assert_int_equal(hearsay_connect(&options, &client, &error), 0);
    assert_int_equal(ping(client, LONG_MS, &error), 0);
    hearsay_close(client);
    fake_server_stop(&server);
    assert_int_equal(hearsay_connect(&options, &client, &error), HEARSAY_ERR_CONNECT);
    options.server = "host:0";
    assert_int_equal(hearsay_connect(&options, &client, &error), HEARSAY_ERR_ARGUMENT);
}

/* Greets, refuses a request, and ends the connection with a reason at the next one. */
static void script_ends(struct fake_peer *peer, void *context)
{
    struct hearsay_request request;
    (void)context;
    if (fake_greet(peer, 8) && fake_read(peer, &request)) {
        const struct hearsay_response refusal = fake_error(request.id, HEARSAY_CODE_INVALID, 0);
        const struct hearsay_response end = fake_error(0, HEARSAY_CODE_INVALID, 0);
        (void)fake_send(peer, &refusal);
        (void)(fake_read(peer, &request) && fake_send(peer, &end));
    }
}

/* A refused request and an end with a reason have the same result: a caller can tell them apart. */
TEST(test_broken)
{
    struct hearsay_error error;
    struct hearsay *client = open_served(script_ends, NULL);
    assert_int_equal(ping(client, LONG_MS, &error), HEARSAY_ERR_REFUSED);
    assert_false(hearsay_is_broken(client));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ping(client, LONG_MS, &error), HEARSAY_ERR_REFUSED);
        assert_int_equal(error.code, HEARSAY_CODE_INVALID);
        assert_true(hearsay_is_broken(client));
    }
    close_served(client, NULL);
}
