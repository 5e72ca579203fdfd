/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/load_client.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "proto/codec/codec.h"
#include "tests/bench/bench.h"
#include "tests/bench/filters.h"
#include "tests/bench/load_standing.h"
#include "tests/bench/peer.h"
#include "tests/bench/stats.h"

enum {
    IN_FLIGHT_MAX = 1 << 18, /* a power of two; more than these are not told apart */
    EVENTS_MAX = 256,
    READ_BYTES = 64 * 1024,
    LAST_ANSWERS_S = 10,
    ARENA_BYTES = 1024 * 1024
};

struct connection {
    struct peer peer; /* its descriptor and decoder */
    struct bytes output;
};

struct request {
    int64_t planned_ns;
    enum load_kind kind;
    uint64_t id; /* 0: none */
};

/* A deposit that watches wait for. The message's id ends with the id of the request. */
struct watched {
    uint64_t id; /* 0: none */
    int64_t planned_ns;
    uint32_t due; /* matches */
};

struct load_client {
    struct load_plan plan;
    struct load_standing standing;
    struct connection *connections;
    size_t connection_count;
    size_t next_connection;
    int epoll;
    int timer;
    struct request *requests; /* IN_FLIGHT_MAX, at id mod that */
    struct watched *watched;  /* the same */
    uint64_t in_flight;
    uint64_t matches_due;
    uint64_t last_id;
    uint64_t counting_id; /* of the Summary under way; 0: none is */
    uint64_t messages;    /* that the last one told of */
    struct arena arena;
    uint64_t random;
    uint64_t message_number;
    int64_t next_ns[LOAD_REQUESTS];
    bool failed;
};

/* --- connecting ------------------------------------------------------------------------------- */

static int connect_one(struct load_client *client)
{
    struct connection *connection = &client->connections[client->connection_count];
    struct hearsay_response welcome;
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = client->connection_count};

    client->connection_count++;
    bytes_init(&connection->output, alloc_system());
    if (peer_connect(&connection->peer, client->plan.port) != 0 ||
        peer_greet(&connection->peer, &client->arena, &welcome) != 0) {
        return -1;
    }
    arena_reset(&client->arena);
    return epoll_ctl(client->epoll, EPOLL_CTL_ADD, connection->peer.descriptor, &event) == 0
               ? 0
               : bench_fail("epoll: %s", strerror(errno));
}

static int connect_all(struct load_client *client)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = UINT64_MAX};
    int rc = 0;

    client->epoll = epoll_create1(EPOLL_CLOEXEC);
    client->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (client->epoll < 0 || client->timer < 0 ||
        epoll_ctl(client->epoll, EPOLL_CTL_ADD, client->timer, &event) != 0) {
        return bench_fail("epoll: %s", strerror(errno));
    }
    while (rc == 0 && client->connection_count < client->plan.sessions) {
        rc = connect_one(client);
    }
    return rc;
}

/* Watches begin on all connections in turn. */
static int begin_watches(struct load_client *client)
{
    struct frames frames = {0};
    struct hearsay_response answer;

    int rc = load_standing_init(&client->standing, client->plan.seed + 3, client->plan.watches);
    if (rc == 0) {
        rc = load_standing_make_watches(&client->standing, &frames);
    }
    for (size_t i = 0; i < frames.count && rc == 0; i++) {
        struct connection *connection = &client->connections[i % client->connection_count];
        rc = peer_ask(&connection->peer, &frames, i, &client->arena, &answer, NULL);
        if (rc == 0 && answer.kind != HEARSAY_RESPONSE_WATCHING) {
            rc = bench_fail("a watch was refused");
        }
        arena_reset(&client->arena);
    }
    frames_deinit(&frames);
    return rc;
}

struct load_client *load_client_new(const struct load_plan *plan)
{
    struct load_client *client = calloc(1, sizeof(*client));

    if (client != NULL) {
        client->plan = *plan;
        client->epoll = -1;
        client->timer = -1;
        client->random = plan->seed;
        client->connections = calloc(plan->sessions, sizeof(*client->connections));
        client->requests = calloc(IN_FLIGHT_MAX, sizeof(*client->requests));
        client->watched = calloc(IN_FLIGHT_MAX, sizeof(*client->watched));
        arena_init(&client->arena, alloc_system(), ARENA_BYTES);
    }
    if (client == NULL || client->connections == NULL || client->requests == NULL ||
        client->watched == NULL) {
        (void)bench_fail("out of memory");
        load_client_free(client);
        return NULL;
    }
    if (connect_all(client) != 0 || begin_watches(client) != 0) {
        load_client_free(client);
        return NULL;
    }
    return client;
}

void load_client_free(struct load_client *client)
{
    if (client == NULL) {
        return;
    }
    for (size_t i = 0; i < client->connection_count; i++) {
        peer_close(&client->connections[i].peer);
        bytes_deinit(&client->connections[i].output);
    }
    if (client->epoll >= 0) {
        (void)close(client->epoll);
    }
    if (client->timer >= 0) {
        (void)close(client->timer);
    }
    free(client->connections);
    arena_deinit(&client->arena);
    load_standing_deinit(&client->standing);
    free(client->requests);
    free(client->watched);
    free(client);
}

/* --- sending ---------------------------------------------------------------------------------- */

static void fail(struct load_client *client, const char *what, int error)
{
    if (!client->failed) {
        (void)bench_fail("%s: %s", what, error != 0 ? strerror(error) : "the server closed it");
    }
    client->failed = true;
}

/* What the socket takes now. */
static void flush(struct load_client *client, size_t number)
{
    struct connection *connection = &client->connections[number];
    const int descriptor = connection->peer.descriptor;

    if (connection->output.count > 0) {
        const ssize_t sent =
            send(descriptor, connection->output.data, connection->output.count, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR) {
            fail(client, "sending", errno);
            return;
        }
        bytes_consume(&connection->output, sent > 0 ? (size_t)sent : 0);
    }
    struct epoll_event event = {
        .events = EPOLLIN | (connection->output.count > 0 ? EPOLLOUT : 0U),
        .data.u64 = number,
    };
    (void)epoll_ctl(client->epoll, EPOLL_CTL_MOD, descriptor, &event); /* it is there */
}

/* Notes which watches must report a deposit. The message gets an id that identifies the deposit. */
static void expect_matches(struct load_client *client, struct workload_message *message,
                           const struct request *request, struct load_result *matches)
{
    const uint32_t due = load_standing_count_fitting(&client->standing, message);
    struct watched *watched = &client->watched[request->id % IN_FLIGHT_MAX];

    memcpy(message->id + sizeof(message->id) - sizeof(request->id), &request->id,
           sizeof(request->id));
    *watched = (struct watched){.id = request->id, .planned_ns = request->planned_ns, .due = due};
    client->matches_due += due;
    matches->sent += due;
}

static void send_one(struct load_client *client, enum load_kind kind, struct load_result *results)
{
    const size_t number = client->next_connection;
    struct connection *connection = &client->connections[number];
    struct workload_message message;
    const uint64_t id = ++client->last_id;
    struct request *request = &client->requests[id % IN_FLIGHT_MAX];

    if (request->id != 0 || client->watched[id % IN_FLIGHT_MAX].due > 0) {
        fail(client, "too much is unanswered", ENOBUFS);
        return;
    }
    *request = (struct request){.planned_ns = client->next_ns[kind], .kind = kind, .id = id};
    client->in_flight++;
    results[kind].sent++;
    client->next_connection = (number + 1) % client->connection_count;
    workload_make(client->plan.seed, client->message_number++, &message);
    if (kind == LOAD_DEPOSIT) {
        expect_matches(client, &message, request, &results[LOAD_MATCH]);
    }
    const int rc = kind == LOAD_DEPOSIT
                       ? frames_add_deposit(&connection->output, &message, id, client->plan.ttl_s)
                       : frames_add_query(&connection->output, &message, id);
    if (rc != 0) {
        fail(client, "sending", ENOMEM);
        return;
    }
    flush(client, number);
}

/*
 * Asks how many messages are stored. Only one such request is in flight, on one of the connections.
 */
static void count_messages(struct load_client *client)
{
    const struct hearsay_request request = {.id = client->last_id + 1,
                                            .kind = HEARSAY_REQUEST_SUMMARY};

    if (client->counting_id != 0) {
        return;
    }
    client->counting_id = ++client->last_id;
    if (codec_encode_request(&request, LIMIT_FRAME_BYTES_DEFAULT, &client->connections[0].output) !=
        0) {
        fail(client, "sending", ENOMEM);
        return;
    }
    flush(client, 0);
}

uint64_t load_client_messages(const struct load_client *client)
{
    return client->messages;
}

/* The times between requests are exponential, as the times of independent clients are. */
static int64_t interval_ns(struct load_client *client, double per_second)
{
    const double uniform = (double)(filters_random(&client->random) >> 11) * 0x1p-53;

    return (int64_t)(-log1p(-uniform) / per_second * 1e9);
}

/* Sends all whose time has come. The time of the next one. */
static int64_t send_due(struct load_client *client, int64_t now_ns, struct load_result *results)
{
    int64_t next_ns = INT64_MAX;

    for (int kind = 0; kind < LOAD_REQUESTS; kind++) {
        const double per_second = client->plan.per_second[kind];
        while (per_second > 0 && client->next_ns[kind] <= now_ns && !client->failed) {
            send_one(client, (enum load_kind)kind, results);
            client->next_ns[kind] += interval_ns(client, per_second);
        }
        if (per_second > 0 && client->next_ns[kind] < next_ns) {
            next_ns = client->next_ns[kind];
        }
    }
    return next_ns;
}

/* --- answers ---------------------------------------------------------------------------------- */

/*
 * Reads the id (field 1, the first field) and then the tag of the body. Returns 0 if the frame is
 * no answer.
 */
static uint64_t read_head(const uint8_t *frame, size_t length, uint8_t *out_tag)
{
    uint64_t id = 0;
    size_t at = 1;

    if (length < 3 || frame[0] != 0x08) {
        return 0;
    }
    for (unsigned shift = 0; at < length && shift < 64; shift += 7) {
        const uint8_t byte = frame[at++];
        id |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) {
            break;
        }
    }
    *out_tag = at < length ? frame[at] : 0;
    return id;
}

static void count_time(struct load_result *result, int64_t planned_ns)
{
    const int64_t took_ns = stats_now_ns() - planned_ns;

    result->answered++;
    histogram_add(&result->us, (uint64_t)(took_ns > 0 ? took_ns : 0) / 1000);
}

/* A match that no watch expects is an error, just as a missing match is. */
static void take_match(struct load_client *client, const struct hearsay_match *match,
                       struct load_result *result)
{
    const struct hearsay_bytes *id = &match->result.id;
    uint64_t number = 0;

    if (id->count == MESSAGE_ID_BYTES) {
        memcpy(&number, id->data + id->count - sizeof(number), sizeof(number));
    }
    struct watched *watched = &client->watched[number % IN_FLIGHT_MAX];
    if (number == 0 || watched->id != number || watched->due == 0) {
        result->refused++;
        return;
    }
    watched->due--;
    client->matches_due--;
    count_time(result, watched->planned_ns);
}

/* What is decoded: pushes, and how many messages there are. */
static void take_rest(struct load_client *client, const uint8_t *frame, size_t length,
                      struct load_result *results)
{
    struct hearsay_response response;
    struct msg_error error;

    if (codec_decode_response(frame, length, &client->arena, &response, &error) != 0) {
        fail(client, "decoding", EPROTO);
    } else if (response.kind == HEARSAY_RESPONSE_MATCH) {
        take_match(client, &response.match, &results[LOAD_MATCH]);
    } else if (response.kind == HEARSAY_RESPONSE_SUMMARIZED && response.id == client->counting_id) {
        client->messages = response.summarized.count;
        client->counting_id = 0;
    }
    arena_reset(&client->arena);
}

/* Nobody is told of a deposit that was refused. */
static void expect_no_matches(struct load_client *client, uint64_t id, struct load_result *matches)
{
    struct watched *watched = &client->watched[id % IN_FLIGHT_MAX];

    matches->sent -= watched->due;
    client->matches_due -= watched->due;
    watched->due = 0;
}

static void take_answer(struct load_client *client, const uint8_t *frame, size_t length,
                        struct load_result *results)
{
    enum { TAG_ERROR = 15 * 8 + 2 };
    uint8_t tag = 0;
    const uint64_t id = read_head(frame, length, &tag);
    struct request *request = &client->requests[id % IN_FLIGHT_MAX];

    if (id == 0 || id == client->counting_id) {
        take_rest(client, frame, length, results);
        return;
    }
    if (request->id != id) {
        return; /* of a phase that is over */
    }
    if (tag == TAG_ERROR && request->kind == LOAD_DEPOSIT) {
        expect_no_matches(client, id, &results[LOAD_MATCH]);
    }
    results[request->kind].refused += tag == TAG_ERROR;
    count_time(&results[request->kind], request->planned_ns);
    request->id = 0;
    client->in_flight--;
}

static void receive(struct load_client *client, size_t number, struct load_result *results)
{
    struct peer *peer = &client->connections[number].peer;
    const uint8_t *frame = NULL;
    uint8_t *room = NULL;
    size_t bytes = 0;

    if (frame_decoder_reserve(&peer->input, READ_BYTES, &room, &bytes) != 0) {
        fail(client, "receiving", ENOMEM);
        return;
    }
    const ssize_t count = recv(peer->descriptor, room, bytes, 0);
    if (count <= 0) {
        if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
            fail(client, "receiving", count == 0 ? 0 : errno);
        }
        return;
    }
    frame_decoder_commit(&peer->input, (size_t)count);
    while (frame_next(&peer->input, &frame, &bytes) == 0) {
        take_answer(client, frame, bytes, results);
    }
    frame_decoder_release(&peer->input);
}

/* --- the run ---------------------------------------------------------------------------------- */

/* Waits for answers, or for the time. */
static void wait_until(struct load_client *client, int64_t until_ns, struct load_result *results)
{
    struct epoll_event events[EVENTS_MAX];
    const struct itimerspec alarm = {
        .it_value = {.tv_sec = (time_t)(until_ns / 1000000000),
                     .tv_nsec = (long)(until_ns % 1000000000)},
    };
    uint64_t expired;

    (void)timerfd_settime(client->timer, TFD_TIMER_ABSTIME, &alarm, NULL); /* a time is valid */
    const int count = epoll_wait(client->epoll, events, EVENTS_MAX, -1);
    for (int i = 0; i < count && !client->failed; i++) {
        const size_t number = (size_t)events[i].data.u64;
        if (events[i].data.u64 == UINT64_MAX) {
            (void)!read(client->timer, &expired, sizeof(expired)); /* only to quieten it */
            continue;
        }
        if ((events[i].events & EPOLLOUT) != 0) {
            flush(client, (size_t)number);
        }
        if ((events[i].events & ~(uint32_t)EPOLLOUT) != 0) {
            receive(client, (size_t)number, results);
        }
    }
}

/* Drops the requests that will get no answer any more, and the matches that will not come. */
static void give_up(struct load_client *client, struct load_result *results)
{
    for (size_t i = 0; i < IN_FLIGHT_MAX; i++) {
        if (client->requests[i].id != 0) {
            results[client->requests[i].kind].unanswered++;
            client->requests[i].id = 0;
        }
        results[LOAD_MATCH].unanswered += client->watched[i].due;
        client->watched[i].due = 0;
    }
    client->in_flight = 0;
    client->matches_due = 0;
}

static bool is_waiting(const struct load_client *client)
{
    return client->in_flight > 0 || client->matches_due > 0;
}

int load_client_run(struct load_client *client, double seconds,
                    void (*look)(void *context, double elapsed_s), void *context,
                    struct load_result results[LOAD_KINDS])
{
    const int64_t start_ns = stats_now_ns();
    const int64_t end_ns = start_ns + (int64_t)(seconds * 1e9);
    const int64_t last_ns = end_ns + (int64_t)LAST_ANSWERS_S * 1000000000;
    int64_t look_ns = start_ns;
    int64_t now_ns = start_ns;

    for (int kind = 0; kind < LOAD_REQUESTS; kind++) {
        client->next_ns[kind] = start_ns;
    }
    while (!client->failed && (now_ns < end_ns || (is_waiting(client) && now_ns < last_ns))) {
        int64_t next_ns = now_ns < end_ns ? send_due(client, now_ns, results) : last_ns;
        if (look != NULL && now_ns >= look_ns) {
            count_messages(client);
            look(context, (double)(now_ns - start_ns) / 1e9);
            look_ns += 1000000000;
        }
        next_ns = look != NULL && look_ns < next_ns ? look_ns : next_ns;
        wait_until(client, next_ns < last_ns ? next_ns : last_ns, results);
        now_ns = stats_now_ns();
    }
    give_up(client, results);
    return client->failed ? -1 : 0;
}
