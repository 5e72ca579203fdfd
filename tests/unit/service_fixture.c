/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/service_fixture.h"

#include <sodium.h>
#include <unistd.h>

#include "daemon/config/options.h"
#include "daemon/system/container.h"
#include "tests/lib/check.h"
#include "tests/lib/plain_request.h"

enum { TEXT_MAX = 64 * 1024 };

static const uint8_t token[LIMIT_TOKEN_BYTES] = {42};

static void on_respond(struct requester *client, const struct hearsay_response *response)
{
    struct service_fixture *fixture = CONTAINER_OF(client, struct service_fixture, client);

    fixture->answered++;
    fixture->last = response->kind;
    fixture->last_id = response->id;
    if (response->kind == HEARSAY_RESPONSE_ERROR) {
        fixture->code = response->error.code;
    } else if (response->kind == HEARSAY_RESPONSE_RESULTS) {
        fixture->result_count = response->results.result_count;
    }
}

static void on_work_ended(struct requester *client)
{
    (void)client;
}

static const struct requester_events events = {.respond = on_respond, .work_ended = on_work_ended};

int service_fixture_start(struct service_fixture *fixture)
{
    struct service_options options = fake_clock_options(&fixture->clock);

    options.alloc = &fixture->alloc.alloc;
    options.config = &fixture->config;
    options.persist = fixture->persist;
    options.worker = fixture->worker;
    return handler_open(&options, &fixture->service, fixture->reason);
}

void service_fixture_restart(struct service_fixture *fixture)
{
    handler_close(fixture->service);
    fixture->service = NULL;
    assert_int_equal(service_fixture_start(fixture), 0);
}

/* Two hosts, not started yet. */
int service_fixture_setup_stopped(void **state)
{
    static const char text[] = "[host alpha]\nmessages = 1000\nbytes = 1M\n"
                               "[host beta]\nprofile = v2:512/4\n";
    struct service_fixture *fixture = calloc(1, sizeof(*fixture));

    assert_non_null(fixture);
    fixture->client.events = &events;
    fake_clock_init(&fixture->clock);
    fixture->clock.monotonic_ms = 5000;
    fail_alloc_init(&fixture->alloc);
    assert_int_equal(settings_config_parse(&options_program, text, sizeof(text) - 1, "test.conf",
                                           &fixture->config, fixture->reason),
                     0);
    (void)snprintf(fixture->config.data, sizeof(fixture->config.data), "/nowhere");
    assert_int_equal(config_finish(&fixture->config, fixture->reason), 0);
    fixture->persist = fake_persist_new();
    *state = fixture;
    return 0;
}

int service_fixture_setup(void **state)
{
    (void)service_fixture_setup_stopped(state);
    assert_int_equal(service_fixture_start(*state), 0);
    return 0;
}

int service_fixture_teardown(void **state)
{
    struct service_fixture *fixture = *state;

    if (fixture->service != NULL) {
        assert_int_equal(fixture->client.work_count, 0);
        assert_int_equal(fixture->service->working, 0);
        assert_int_equal(fixture->service->writing_bytes, 0);
        handler_close(fixture->service);
    }
    handler_close(NULL);
    assert_int_equal(fixture->alloc.live_blocks, 0);
    fake_persist_free(fixture->persist);
    free(fixture);
    return 0;
}

void service_fixture_advance(struct service_fixture *fixture, int64_t ms)
{
    fake_clock_advance(&fixture->clock, ms);
}

static void service_fixture_make_filter(uint8_t *out)
{
    memset(out, 0, SERVICE_FIXTURE_FILTER_BYTES);
    out[0] = 0xff;
    out[1] = 0x0f;
}

void service_fixture_make_id(uint32_t number, uint8_t *out_id)
{
    memset(out_id, 0, MESSAGE_ID_BYTES);
    memcpy(out_id, &number, sizeof(number));
}

/* A deposit of the id of that number; the filters are all alike. */
void service_fixture_send_deposit(struct service_fixture *fixture, const char *host,
                                  uint32_t number, uint32_t ttl_s)
{
    uint8_t id[MESSAGE_ID_BYTES];
    uint8_t filter[SERVICE_FIXTURE_FILTER_BYTES];
    uint8_t hash[LIMIT_HASH_BYTES];
    struct hearsay_request request = {.id = 1000U + number, .kind = HEARSAY_REQUEST_DEPOSIT};

    service_fixture_make_filter(filter);
    service_fixture_make_id(number, id);
    crypto_generichash(hash, sizeof(hash), token, sizeof(token), NULL, 0);
    request.deposit = plain_deposit(id, filter, sizeof(filter), "hello");
    request.deposit.host = (struct hearsay_text){host, strlen(host)};
    request.deposit.has_ttl_s = true;
    request.deposit.ttl_s = ttl_s;
    request.deposit.withdraw_hash = (struct hearsay_bytes){hash, sizeof(hash)};
    handler_handle(fixture->service, &fixture->client, &request);
}

void service_fixture_deposit(struct service_fixture *fixture, const char *host, uint32_t number,
                             uint32_t ttl_s)
{
    service_fixture_send_deposit(fixture, host, number, ttl_s);
    assert_true(fake_persist_commit(fixture->persist) >= 1); /* the first may save the clock */
    assert_int_equal(fixture->last, HEARSAY_RESPONSE_DEPOSITED);
}

void service_fixture_withdraw(struct service_fixture *fixture, const char *host, uint32_t number)
{
    uint8_t id[MESSAGE_ID_BYTES];
    struct hearsay_request request = {.id = 2, .kind = HEARSAY_REQUEST_WITHDRAW};

    service_fixture_make_id(number, id);
    request.withdraw = (struct hearsay_withdraw){
        .host = {host, strlen(host)}, .id = {id, sizeof(id)}, .token = {token, sizeof(token)}};
    handler_handle(fixture->service, &fixture->client, &request);
}

void service_fixture_send_query(struct service_fixture *fixture, const char *host)
{
    uint8_t filter[SERVICE_FIXTURE_FILTER_BYTES];
    const struct hearsay_query_part part = {.filter = {filter, sizeof(filter)}};
    struct hearsay_request request = {.id = 77, .kind = HEARSAY_REQUEST_QUERY};

    service_fixture_make_filter(filter);
    request.query = plain_query(&part, 1, 100);
    request.query.host = (struct hearsay_text){host, strlen(host)};
    handler_handle(fixture->service, &fixture->client, &request);
}

size_t service_fixture_count_found(struct service_fixture *fixture, const char *host)
{
    service_fixture_send_query(fixture, host);
    assert_int_equal(fixture->last, HEARSAY_RESPONSE_RESULTS);
    return fixture->result_count;
}

void service_fixture_fill_index(struct host *host, uint32_t count)
{
    const uint64_t filter[SERVICE_FIXTURE_FILTER_BYTES / 8] = {1};

    for (uint32_t i = 0; i < count; i++) {
        struct index_item item = {.expires_ms = INT64_MAX, .reach_ppm = LIMIT_DISTANCE_PPM - i};
        memcpy(item.id, &i, sizeof(i));
        assert_int_equal(index_insert(host->epochs[0]->index, &item, filter), 0);
    }
}

/* The log goes to standard error. */
const char *service_fixture_log_of(struct service_fixture *fixture,
                                   void (*act)(struct service_fixture *fixture))
{
    static char text[TEXT_MAX];
    FILE *file = tmpfile();
    const int before = dup(STDERR_FILENO);

    assert_non_null(file);
    assert_int_equal(dup2(fileno(file), STDERR_FILENO), STDERR_FILENO);
    act(fixture);
    (void)fflush(stderr);
    assert_int_equal(dup2(before, STDERR_FILENO), STDERR_FILENO);
    (void)close(before);
    rewind(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    (void)fclose(file);
    return text;
}
