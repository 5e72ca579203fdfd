/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole conversations of two clients with a server: requests, bytes that are none, commits, expiry,
 * failing storage and clients that leave, in any order. The server is the real one but for its
 * listener and its store, which commits when the input says so; a client's stream is a pair of
 * sockets within this process.
 *
 * Properties: each request has at most one answer, and one unless its client was dropped; every
 * answer to a query is what comparing with all messages gives; index and store have the same
 * messages in the end; and nothing is left of anybody who left (server_fixture_free).
 */
#include <signal.h>
#include <unistd.h>

#include "core/filter/bloom.h"
#include "tests/fuzz/fuzz.h"
#include "tests/lib/host_count.h"
#include "tests/lib/keep_alloc.h"
#include "tests/lib/plain_request.h"
#include "tests/lib/server_fixture.h"
#include "tests/reference/check.h"

enum {
    PEERS = 2,
    MESSAGES = 12,
    FILTER_BYTES = 64,
    FILTER_WORDS = FILTER_BYTES / 8,
    STEPS_MAX = 200,
    ASKED_MAX = 256
};

/* What a client asked, by the number of the request. */
struct asked {
    enum hearsay_request_kind kind;
    bool answered;
    uint32_t k;
    uint32_t max_distance_ppm;
    bool with_payload;
    uint64_t filter[FILTER_WORDS];
};

struct client {
    struct peer peer;
    bool connected;
    bool is_wild; /* it sent bytes of its own: its requests' numbers are not known */
    uint64_t next_id;
    struct asked asked[ASKED_MAX];
};

struct play {
    struct server_fixture *fixture;
    struct client clients[PEERS];
    struct fuzz_input input;
};

/* --- connections ------------------------------------------------------------------------------ */

/* The listener's place is taken by whoever waits here. */
static int waiting_fd = -1;

int __wrap_uv_accept(uv_stream_t *server, uv_stream_t *client);

int __wrap_uv_accept(uv_stream_t *server, uv_stream_t *client)
{
    const int fd = waiting_fd;
    (void)server;

    waiting_fd = -1;
    return uv_pipe_open((uv_pipe_t *)client, fd);
}

static void connect_client(struct play *play, struct client *client)
{
    struct listener listener = {.is_unix = true};
    int ends[2];

    loop_socket_pair(false, ends);
    memset(client, 0, sizeof(*client));
    peer_init(&client->peer, ends[0]);
    client->connected = true;
    client->next_id = 1;
    waiting_fd = ends[1];
    FUZZ_CHECK(session_accept(&play->fixture->server.sessions, &listener) == 0);
    /* Every other one is a stranger. */
    play->fixture->server.sessions.first->prev->client.is_administrator =
        fuzz_byte(&play->input) % 2;
}

static void disconnect_client(struct client *client)
{
    if (client->connected) {
        peer_deinit(&client->peer);
        client->connected = false;
    }
}

/* --- what is right ---------------------------------------------------------------------------- */

static void make_id(uint32_t number, uint8_t *out)
{
    memset(out, 0, LIMIT_ID_BYTES);
    out[0] = (uint8_t)(number + 1);
}

static const struct host *the_host(const struct play *play)
{
    return &play->fixture->server.service->hosts[0];
}

struct found {
    struct index_item item;
    uint32_t both;
    uint32_t either;
};

static bool comes_before(const struct found *a, const struct found *b)
{
    const uint64_t a_share = (uint64_t)a->both * (b->either == 0 ? 1 : b->either);
    const uint64_t b_share = (uint64_t)b->both * (a->either == 0 ? 1 : a->either);

    if (a_share != b_share) {
        return a_share > b_share;
    }
    if (a->item.deposited_ms != b->item.deposited_ms) {
        return a->item.deposited_ms > b->item.deposited_ms;
    }
    return memcmp(a->item.id, b->item.id, MESSAGE_ID_BYTES) < 0;
}

/* Distance at most `ppm` millionths, without a fraction. */
static bool is_within(const struct found *found, uint32_t ppm)
{
    return (uint64_t)(found->either - found->both) * 1000000 <= (uint64_t)ppm * found->either;
}

static void compare(const uint64_t *a, const uint64_t *b, struct found *out)
{
    out->both = out->either = 0;
    for (size_t i = 0; i < FILTER_WORDS; i++) {
        out->both += (uint32_t)__builtin_popcountll(a[i] & b[i]);
        out->either += (uint32_t)__builtin_popcountll(a[i] | b[i]);
    }
}

/* All messages that the query may see, best first. */
static size_t find_all(const struct play *play, const struct asked *asked, struct found *out)
{
    const int64_t now_ms = service_now_ms(play->fixture->server.service);
    size_t count = 0;

    for (uint32_t i = 0; i < MESSAGES; i++) {
        uint8_t id[LIMIT_ID_BYTES];
        uint64_t filter[PROFILE_WORDS_MAX];
        struct found found;
        size_t at = count;

        make_id(i, id);
        if (host_find(the_host(play), id, NULL, &found.item, filter) != 0) {
            continue;
        }
        compare(asked->filter, filter, &found);
        if (found.item.expires_ms <= now_ms || !is_within(&found, asked->max_distance_ppm) ||
            !is_within(&found, found.item.reach_ppm)) {
            continue;
        }
        for (; at > 0 && comes_before(&found, &out[at - 1]); at--) {
            out[at] = out[at - 1];
        }
        out[at] = found;
        count++;
    }
    return count;
}

static void check_results(const struct play *play, const struct asked *asked,
                          const struct hearsay_results *results)
{
    struct found found[MESSAGES];
    const size_t all = find_all(play, asked, found);

    FUZZ_CHECK(results->result_count <= asked->k);
    if (asked->with_payload) { /* was found earlier: what has changed meanwhile is left out */
        return;
    }
    FUZZ_CHECK(results->exact && !results->capped);
    FUZZ_CHECK(results->result_count == (all < asked->k ? all : asked->k));
    for (size_t i = 0; i < results->result_count; i++) {
        const struct hearsay_result *result = &results->results[i];

        FUZZ_CHECK(memcmp(result->id.data, found[i].item.id, LIMIT_ID_BYTES) == 0);
        FUZZ_CHECK(result->intersection_count == found[i].both);
        FUZZ_CHECK(result->union_count == found[i].either);
    }
}

static bool may_answer(enum hearsay_request_kind request, enum hearsay_response_kind response)
{
    switch (request) {
    case HEARSAY_REQUEST_HELLO:
        return response == HEARSAY_RESPONSE_WELCOME;
    case HEARSAY_REQUEST_DEPOSIT:
        return response == HEARSAY_RESPONSE_DEPOSITED;
    case HEARSAY_REQUEST_QUERY:
        return response == HEARSAY_RESPONSE_RESULTS;
    case HEARSAY_REQUEST_GET:
        return response == HEARSAY_RESPONSE_GOT;
    case HEARSAY_REQUEST_WITHDRAW:
        return response == HEARSAY_RESPONSE_WITHDRAWN;
    case HEARSAY_REQUEST_PING:
        return response == HEARSAY_RESPONSE_PONG;
    case HEARSAY_REQUEST_EXPORT:
        return response == HEARSAY_RESPONSE_EXPORTED;
    case HEARSAY_REQUEST_SUMMARY:
        return response == HEARSAY_RESPONSE_SUMMARIZED;
    default:
        return false;
    }
}

/* Of the messages, each payload is the one that its number gives. */
static void check_payload(const struct hearsay_bytes *id, const struct hearsay_bytes *payload)
{
    for (size_t i = 0; i < payload->count; i++) {
        FUZZ_CHECK(payload->data[i] == id->data[0]);
    }
}

static void check_response(struct play *play, struct client *client,
                           const struct hearsay_response *response)
{
    struct asked *asked = &client->asked[response->id % ASKED_MAX];

    if (response->kind == HEARSAY_RESPONSE_ERROR) {
        FUZZ_CHECK(response->error.message[0] != '\0');
    }
    if (client->is_wild) {
        return;
    }
    if (response->id == 0) {
        FUZZ_CHECK(response->kind == HEARSAY_RESPONSE_ERROR);
        return;
    }
    FUZZ_CHECK(response->id < client->next_id);
    FUZZ_CHECK(!asked->answered);
    asked->answered = true;
    FUZZ_CHECK(response->kind == HEARSAY_RESPONSE_ERROR || may_answer(asked->kind, response->kind));
    if (response->kind == HEARSAY_RESPONSE_RESULTS) {
        check_results(play, asked, &response->results);
    } else if (response->kind == HEARSAY_RESPONSE_GOT) {
        check_payload(&response->got.id, &response->got.payload);
    } else if (response->kind == HEARSAY_RESPONSE_DEPOSITED) {
        FUZZ_CHECK(response->deposited.expires_ms > response->deposited.deposited_ms);
    }
}

/* --- turns ------------------------------------------------------------------------------------ */

static void take_answers(struct play *play)
{
    struct hearsay_response response;

    for (unsigned i = 0; i < PEERS; i++) {
        while (play->clients[i].connected && peer_take(&play->clients[i].peer, &response)) {
            check_response(play, &play->clients[i], &response);
        }
    }
}

/* Turns until nobody has anything to do; a server that keeps a client waiting does not read. */
static void settle(struct play *play)
{
    struct server *server = &play->fixture->server;

    for (unsigned quiet = 0; quiet < 3; quiet++) {
        (void)uv_run(&server->loop.uv, UV_RUN_NOWAIT);
        take_answers(play);
        if (server->loop.ready != NULL || server->loop.dirty != NULL) {
            quiet = 0;
        }
    }
}

static void send_frames(struct play *play, struct client *client)
{
    struct bytes *output = &client->peer.output;

    while (client->connected && output->count > 0) {
        const ssize_t sent =
            send(client->peer.fd, output->data, output->count, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (sent <= 0) { /* the server has ended it, or does not read: what is left is not sent */
            output->count = 0;
            client->is_wild = true;
            break;
        }
        bytes_consume(output, (size_t)sent);
        settle(play);
    }
}

/* --- requests --------------------------------------------------------------------------------- */

static struct asked *ask(struct client *client, enum hearsay_request_kind kind,
                         struct hearsay_request *out_request)
{
    struct asked *asked = &client->asked[client->next_id % ASKED_MAX];

    memset(asked, 0, sizeof(*asked));
    asked->kind = kind;
    memset(out_request, 0, sizeof(*out_request));
    out_request->kind = kind;
    out_request->id = client->next_id++;
    return asked;
}

/* Bits from `start` on, with gaps: neighbours overlap. */
static void make_filter(uint32_t start, uint32_t count, uint8_t *out)
{
    memset(out, 0, FILTER_BYTES);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t bit = (start * 3 + i * 2) % (8 * FILTER_BYTES);

        out[bit / 8] |= (uint8_t)(1U << bit % 8);
    }
}

static void put_deposit(struct play *play, struct client *client)
{
    static const uint8_t token[LIMIT_TOKEN_BYTES];
    struct fuzz_input *input = &play->input;
    const uint32_t number = fuzz_byte(input) % MESSAGES;
    const uint8_t choice = fuzz_byte(input);
    uint8_t id[LIMIT_ID_BYTES];
    uint8_t filter[FILTER_BYTES];
    uint8_t payload[512];
    struct hearsay_request request;

    (void)token;
    (void)ask(client, HEARSAY_REQUEST_DEPOSIT, &request);
    make_id(number, id);
    make_filter(fuzz_byte(input), 1 + fuzz_byte(input) % 40, filter);
    memset(payload, id[0], sizeof(payload));
    request.deposit = plain_deposit(id, filter, sizeof(filter), "");
    request.deposit.payload = (struct hearsay_bytes){payload, fuzz_u16(input) % sizeof(payload)};
    request.deposit.has_ttl_s = (choice & 1) != 0;
    request.deposit.ttl_s = fuzz_byte(input);
    request.deposit.reach_ppm = (choice & 2) != 0 ? fuzz_u16(input) * 16U : LIMIT_DISTANCE_PPM;
    request.deposit.epoch = (choice & 0xe0) == 0xe0;
    if ((choice & 4) != 0) {
        /* BLAKE2b-256 of 32 zero bytes: the token that put_withdraw shows. */
        static const uint8_t hash[LIMIT_HASH_BYTES] = {
            0x89, 0xeb, 0x0d, 0x6a, 0x8a, 0x69, 0x1d, 0xae, 0x2c, 0xd1, 0x5e,
            0xd0, 0x36, 0x99, 0x31, 0xce, 0x0a, 0x94, 0x9e, 0xca, 0xfa, 0x5c,
            0x3f, 0x93, 0xf8, 0x12, 0x18, 0x33, 0x64, 0x6e, 0x15, 0xc3};
        request.deposit.withdraw_hash = (struct hearsay_bytes){hash, sizeof(hash)};
    }
    peer_put(&client->peer, &request);
}

static void put_query(struct play *play, struct client *client)
{
    struct fuzz_input *input = &play->input;
    const uint8_t choice = fuzz_byte(input);
    uint8_t filter[FILTER_BYTES];
    const struct hearsay_query_part part = {.filter = {filter, sizeof(filter)}};
    struct hearsay_request request;
    struct asked *asked = ask(client, HEARSAY_REQUEST_QUERY, &request);

    make_filter(fuzz_byte(input), fuzz_byte(input) % 60, filter);
    for (size_t i = 0; i < FILTER_BYTES; i++) {
        asked->filter[i / 8] |= (uint64_t)filter[i] << i % 8 * 8;
    }
    asked->k = 1 + fuzz_byte(input) % 16;
    asked->max_distance_ppm = (choice & 1) != 0 ? fuzz_u16(input) * 16U : LIMIT_DISTANCE_PPM;
    asked->max_distance_ppm =
        asked->max_distance_ppm > LIMIT_DISTANCE_PPM ? LIMIT_DISTANCE_PPM : asked->max_distance_ppm;
    asked->with_payload = (choice & 2) != 0;
    request.query = plain_query(&part, 1, asked->k);
    request.query.max_distance_ppm = asked->max_distance_ppm;
    request.query.with_payload = asked->with_payload;
    peer_put(&client->peer, &request);
}

static void put_other(struct play *play, struct client *client, enum hearsay_request_kind kind)
{
    static const uint8_t tokens[2][LIMIT_TOKEN_BYTES] = {{0}, {1}};
    struct fuzz_input *input = &play->input;
    uint8_t id[LIMIT_ID_BYTES];
    struct hearsay_request request;

    (void)ask(client, kind, &request);
    make_id(fuzz_byte(input) % MESSAGES, id);
    if (kind == HEARSAY_REQUEST_HELLO) {
        request.hello =
            (struct hearsay_hello){.versions = {1U + fuzz_byte(input) / 128U}, .version_count = 1};
    } else if (kind == HEARSAY_REQUEST_GET) {
        request.get.id = (struct hearsay_bytes){id, sizeof(id)};
    } else if (kind == HEARSAY_REQUEST_WITHDRAW) {
        request.withdraw.id = (struct hearsay_bytes){id, sizeof(id)};
        request.withdraw.token =
            (struct hearsay_bytes){tokens[fuzz_byte(input) / 192], LIMIT_TOKEN_BYTES};
    } else if (kind == HEARSAY_REQUEST_EXPORT) {
        request.export_.limit = fuzz_byte(input);
    }
    peer_put(&client->peer, &request);
}

/* Bytes of the input, as a frame or as they are. */
static void put_bytes(struct play *play, struct client *client)
{
    const bool as_frame = fuzz_byte(&play->input) % 4 != 0;
    size_t count = 0;
    const uint8_t *bytes = fuzz_bytes(&play->input, fuzz_byte(&play->input), &count);
    uint8_t header[LIMIT_FRAME_HEADER_BYTES];

    client->is_wild = true;
    if (as_frame && count > 0) {
        frame_write_header(header, count);
        peer_put_bytes(&client->peer, header, sizeof(header));
    }
    peer_put_bytes(&client->peer, bytes, count);
}

/* --- the play --------------------------------------------------------------------------------- */

static void pass_time(struct play *play, uint32_t seconds)
{
    struct server *server = &play->fixture->server;
    struct session *session = server->sessions.first;

    play->fixture->clock.wall_ms += (int64_t)seconds * 1000;
    while (session != NULL) {
        struct session *next = session->next;

        session_tick(session, loop_now_ms(&server->loop) + (int64_t)seconds * 1000);
        session = next;
    }
}

/* Something that is no request. Whether it was that. */
static bool act_on_server(struct play *play, struct client *client, uint8_t what)
{
    struct server_fixture *fixture = play->fixture;

    switch (what) {
    case 10:
    case 11:
        (void)fake_persist_commit(fixture->persist);
        return true;
    case 12:
        (void)fake_persist_answer_reads(fixture->persist);
        return true;
    case 13:
        pass_time(play, fuzz_byte(&play->input) / 8);
        return true;
    case 14:
        service_sweep(fixture->server.service);
        return true;
    case 15:
        fake_persist_fail_next(fixture->persist);
        return true;
    case 16:
        fake_persist_carry_out_reads(fixture->persist);
        return true;
    case 17:
        disconnect_client(client);
        return true;
    case 18:
        if (client->connected) {
            (void)shutdown(client->peer.fd, SHUT_WR);
            client->is_wild = true; /* what it sends now does not arrive */
        }
        return true;
    default:
        return false;
    }
}

static void step(struct play *play)
{
    const uint8_t what = fuzz_byte(&play->input);
    struct client *client = &play->clients[what / 128];
    const uint8_t kind = what % 20;

    if (act_on_server(play, client, kind)) {
        settle(play);
        return;
    }
    if (!client->connected) {
        connect_client(play, client);
        put_other(play, client, kind == 19 ? HEARSAY_REQUEST_PING : HEARSAY_REQUEST_HELLO);
    } else if (kind < 3) {
        put_deposit(play, client);
    } else if (kind < 5) {
        put_query(play, client);
    } else if (kind == 19) {
        put_bytes(play, client);
    } else {
        static const enum hearsay_request_kind others[] = {
            HEARSAY_REQUEST_GET, HEARSAY_REQUEST_WITHDRAW, HEARSAY_REQUEST_PING,
            HEARSAY_REQUEST_EXPORT, HEARSAY_REQUEST_SUMMARY};

        put_other(play, client, others[kind - 5]);
    }
    /* Several may go out together. */
    if ((what & 0x40) == 0) {
        send_frames(play, client);
        settle(play);
    }
}

static void finish_work(struct play *play)
{
    struct server_fixture *fixture = play->fixture;

    do {
        settle(play);
    } while (fake_persist_commit(fixture->persist) + fake_persist_answer_reads(fixture->persist) >
             0);
    settle(play);
}

/* Nobody who is still there waits for an answer. */
static void check_answered(const struct client *client)
{
    if (!client->connected || client->is_wild || client->peer.ended) {
        return;
    }
    const uint64_t first = client->next_id > ASKED_MAX ? client->next_id - ASKED_MAX : 1;
    for (uint64_t id = first; id < client->next_id; id++) {
        FUZZ_CHECK(client->asked[id % ASKED_MAX].answered);
    }
}

static void on_read(struct persist_read *read)
{
    FUZZ_CHECK(!read->failed);
}

/* The index has what the store has; what has expired may be gone from either. */
static void check_store(struct play *play)
{
    struct persist *persist = play->fixture->persist;
    struct persist_entry entries[MESSAGES];
    struct persist_read read = {.kind = PERSIST_READ_PAYLOADS,
                                .entries = entries,
                                .entry_count = MESSAGES,
                                .done = on_read};
    const int64_t now_ms = service_now_ms(play->fixture->server.service);
    size_t indexed = 0;

    memset(entries, 0, sizeof(entries));
    for (uint32_t i = 0; i < MESSAGES; i++) {
        make_id(i, entries[i].message.id);
        entries[i].message.host = the_host(play)->number;
    }
    persist->interface->read(persist, &read);
    (void)fake_persist_answer_reads(persist);
    for (uint32_t i = 0; i < MESSAGES; i++) {
        struct index_item item;
        uint8_t id[LIMIT_ID_BYTES];

        make_id(i, id);
        const bool is_indexed = host_find(the_host(play), id, NULL, &item, NULL) == 0;
        indexed += is_indexed;
        if (entries[i].found && entries[i].message.expires_ms > now_ms) {
            FUZZ_CHECK(is_indexed && item.expires_ms == entries[i].message.expires_ms);
        } else {
            FUZZ_CHECK(!is_indexed || item.expires_ms <= now_ms);
        }
    }
    persist->interface->read_release(persist, &read);
    FUZZ_CHECK(indexed == host_count(the_host(play)));
    for (size_t i = 0; i < the_host(play)->epoch_count; i++) {
        FUZZ_CHECK(check_index(the_host(play)->epochs[i]->index) == NULL);
    }
    FUZZ_CHECK(the_host(play)->usage.messages == indexed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct play play;

    (void)signal(SIGPIPE, SIG_IGN); /* as in main.c */
    log_set_level(LOG_LEVEL_ERROR);
    memset(&play, 0, sizeof(play));
    play.input = (struct fuzz_input){data, size};
    play.fixture = server_fixture_new();
    play.fixture->config.limits.requests_in_flight = 8;
    play.fixture->config.limits.payload_bytes = 400;
    play.fixture->config.limits.messages = MESSAGES - 2;
    play.fixture->config.addresses = 16; /* a small table is made sooner */
    play.fixture->service_alloc = keep_alloc();
    server_fixture_start(play.fixture, false);
    for (unsigned i = 0; i < STEPS_MAX && play.input.left > 0; i++) {
        step(&play);
    }
    for (unsigned i = 0; i < PEERS; i++) {
        send_frames(&play, &play.clients[i]);
    }
    finish_work(&play);
    check_store(&play);
    for (unsigned i = 0; i < PEERS; i++) {
        check_answered(&play.clients[i]);
        disconnect_client(&play.clients[i]);
    }
    server_fixture_free(play.fixture);
    return 0;
}
