/* SPDX-License-Identifier: Apache-2.0 */
/* libhearsay for programs with a loop: connecting without blocking, and requests without waiting.
 */
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/call/client.h"
#include "tests/lib/check.h"
#include "tests/lib/encode.h"
#include "tests/lib/fake_server.h"

enum { LONG_MS = 60000, BIG_BYTES = 50000 };

static const uint8_t wanted[HEARSAY_ID_BYTES];
static const struct hearsay_request get = {.kind = HEARSAY_REQUEST_GET,
                                           .get.id = {wanted, sizeof(wanted)}};
static const struct hearsay_request here = {.kind = HEARSAY_REQUEST_HERE};
static const struct hearsay_request ping = {.kind = HEARSAY_REQUEST_PING};
static const struct hearsay_request unwatch = {.kind = HEARSAY_REQUEST_UNWATCH,
                                               .unwatch.watch_id = 7};
static const uint8_t phone[16] = {0xfd, 0, 0, 7};
static const uint8_t local[16] = {0xfd, 0, 0, 8};

/* What a server was asked, by its thread; read when that has ended. */
struct heard {
    uint8_t on_behalf[16];
    size_t on_behalf_bytes;
    uint8_t local[16];
    size_t local_bytes;
    uint8_t asker[16]; /* of the last get */
    size_t asker_bytes;
    size_t asker_local_bytes;
    unsigned without_asker; /* requests but gets that named nobody */
    char reason[64];
    uint64_t after_seq;
    uint64_t max_staleness_ms; /* of a watch */
    uint32_t wait_ms;
    uint64_t unwatched;
    uint64_t watch_id; /* answered to a watch */
};

static void put_here_change(struct fake_peer *peer, const char *host)
{
    static const struct hearsay_text labels[] = {{"place:cellar", 12}, {"place:attic", 11}};
    struct hearsay_response push = {.kind = HEARSAY_RESPONSE_HERE_CHANGED};
    push.here_changed.host = (struct hearsay_text){host, strlen(host)};
    push.here_changed.labels = labels;
    push.here_changed.label_count = 2;
    fake_put(peer, &push);
}

static void note_hello(const struct hearsay_hello *hello, struct heard *heard)
{
    heard->on_behalf_bytes = hello->on_behalf.count;
    heard->local_bytes = hello->on_behalf_local.count;
    if (hello->on_behalf.count > 0) {
        memcpy(heard->on_behalf, hello->on_behalf.data, hello->on_behalf.count);
    }
    if (hello->on_behalf_local.count > 0) {
        memcpy(heard->local, hello->on_behalf_local.data, hello->on_behalf_local.count);
    }
}

static void answer(struct fake_peer *peer, const struct hearsay_request *request,
                   struct heard *heard)
{
    heard->without_asker +=
        request->kind != HEARSAY_REQUEST_GET && request->asker.on_behalf.count == 0 ? 1 : 0;
    static const struct hearsay_text labels[] = {{"place:bar", 9}};
    static const uint8_t big[BIG_BYTES];
    struct hearsay_response response = {.id = request->id};
    switch (request->kind) {
    case HEARSAY_REQUEST_WATCH:
        heard->after_seq = request->watch.after_seq;
        heard->max_staleness_ms = request->watch.query.max_staleness_ms;
        heard->wait_ms = request->watch.query.wait_ms;
        response.kind = HEARSAY_RESPONSE_WATCHING;
        response.watching.watch_id = heard->watch_id;
        response.watching.seq = 12;
        break;
    case HEARSAY_REQUEST_UNWATCH:
        heard->unwatched = request->unwatch.watch_id;
        response.kind = HEARSAY_RESPONSE_UNWATCHED;
        break;
    case HEARSAY_REQUEST_REPORT:
        (void)snprintf(heard->reason, sizeof(heard->reason), "%s", request->report.reason.text);
        response.kind = HEARSAY_RESPONSE_REPORT_TAKEN;
        break;
    case HEARSAY_REQUEST_HERE:
        response.kind = HEARSAY_RESPONSE_HERE_LABELS;
        response.here_labels.labels = labels;
        response.here_labels.label_count = 1;
        break;
    case HEARSAY_REQUEST_GET:
        heard->asker_bytes = request->asker.on_behalf.count;
        heard->asker_local_bytes = request->asker.on_behalf_local.count;
        if (heard->asker_bytes > 0) {
            memcpy(heard->asker, request->asker.on_behalf.data, heard->asker_bytes);
        }
        response.kind = HEARSAY_RESPONSE_GOT;
        response.got.id = request->get.id;
        response.got.payload = (struct hearsay_bytes){big, sizeof(big)};
        break;
    default: /* a ping: the labels change, and then it is answered */
        put_here_change(peer, "upstairs");
        put_here_change(peer, "garden"); /* which the Welcome does not have */
        response.kind = HEARSAY_RESPONSE_PONG;
        break;
    }
    fake_put(peer, &response);
}

static void script_answers(struct fake_peer *peer, void *context)
{
    struct heard *heard = context;
    struct hearsay_request request;
    if (!fake_read(peer, &request)) {
        return;
    }
    note_hello(&request.hello, heard);
    struct hearsay_response welcome = {.id = request.id, .kind = HEARSAY_RESPONSE_WELCOME};
    welcome.welcome = fake_welcome(1000);
    if (!fake_send(peer, &welcome)) {
        return;
    }
    while (fake_read(peer, &request)) {
        answer(peer, &request, heard);
        if (!fake_flush(peer)) {
            return;
        }
    }
}

static void wait_socket(const struct hearsay *client)
{
    bool wants_write = false;
    struct pollfd waited = {.fd = hearsay_fd(client, &wants_write)};
    waited.events = (short)(wants_write ? POLLIN | POLLOUT : POLLIN);
    assert_int_equal(poll(&waited, 1, LONG_MS), 1);
}

/* Goes on until the greetings are exchanged, as a loop would. */
static int finish(struct hearsay *client, struct hearsay_error *error)
{
    int status = hearsay_connect_continue(client, error);
    while (status == HEARSAY_PENDING) {
        wait_socket(client);
        status = hearsay_connect_continue(client, error);
    }
    return status;
}

static struct hearsay *begin(const char *path, bool is_small)
{
    struct hearsay *client = NULL;
    struct hearsay_error error;
    struct hearsay_connect options;
    hearsay_connect_init(&options);
    options.server = path;
    options.is_small = is_small;
    options.timeout_ms = LONG_MS;
    options.on_behalf = phone;
    options.on_behalf_bytes = sizeof(phone);
    options.on_behalf_local = local;
    assert_int_equal(hearsay_connect_begin(&options, &client, &error), HEARSAY_OK);
    return client;
}

static const struct hearsay_reply *next(struct hearsay *client)
{
    const struct hearsay_reply *reply = NULL;
    struct hearsay_error error;
    assert_int_equal(hearsay_next(client, LONG_MS, &reply, &error), HEARSAY_OK);
    return reply;
}

/* The greeting comes in the background, and Hello names the client for whom the gateway speaks. */
TEST(test_begins)
{
    struct fake_server server;
    struct heard heard = {.watch_id = 7};
    struct hearsay_error error;
    fake_server_listen(&server, script_answers, &heard);
    struct hearsay *client = begin(server.path, false);
    assert_int_equal(finish(client, &error), HEARSAY_OK);
    assert_int_equal(hearsay_connect_continue(client, &error), HEARSAY_OK);
    assert_string_equal(hearsay_welcome(client)->agent, "fake/1");
    assert_int_equal(hearsay_ask(client, &ping, LONG_MS, NULL, &error), HEARSAY_OK);
    hearsay_close(client);
    fake_server_stop(&server);
    assert_int_equal(heard.on_behalf_bytes, sizeof(phone));
    assert_memory_equal(heard.on_behalf, phone, sizeof(phone));
    assert_int_equal(heard.local_bytes, sizeof(local));
    assert_memory_equal(heard.local, local, sizeof(local));
}

/* Reads Hello, and then says nothing until the client is gone. */
static void script_mute(struct fake_peer *peer, void *context)
{
    struct hearsay_request request;
    (void)context;
    (void)fake_read(peer, &request);
    (void)fake_read(peer, &request);
}

static void script_refuses(struct fake_peer *peer, void *context)
{
    struct hearsay_request request;
    (void)context;
    if (fake_read(peer, &request)) {
        const struct hearsay_response refusal = fake_error(0, HEARSAY_CODE_RATE_LIMITED, 1234);
        (void)fake_send(peer, &refusal);
    }
}

/* A server that does not greet costs no time but the timeout's; one that refuses says why. */
TEST(test_not_greeted)
{
    struct fake_server server;
    struct hearsay_error error;
    struct hearsay_connect options;
    fake_server_listen(&server, script_mute, NULL);
    struct hearsay *client = begin(server.path, false);
    assert_int_equal(hearsay_connect_continue(client, &error), HEARSAY_PENDING);
    hearsay_close(client);
    hearsay_connect_init(&options);
    options.server = server.path;
    options.timeout_ms = 0;
    assert_int_equal(hearsay_connect_begin(&options, &client, &error), HEARSAY_OK);
    assert_int_equal(hearsay_connect_continue(client, &error), HEARSAY_ERR_TIMEOUT);
    hearsay_close(client);
    fake_server_stop(&server);

    fake_server_listen(&server, script_refuses, NULL);
    client = begin(server.path, false);
    assert_int_equal(finish(client, &error), HEARSAY_ERR_REFUSED);
    assert_int_equal(error.code, HEARSAY_CODE_RATE_LIMITED);
    assert_int_equal(error.retry_after_ms, 1234);
    hearsay_close(client);
    fake_server_stop(&server);
}

/* What cannot be begun is said at once. */
TEST(test_arguments)
{
    static const struct hearsay_tls tls;
    struct hearsay *client = NULL;
    struct hearsay_error error;
    struct hearsay_connect options;
    hearsay_connect_init(&options);
    options.server = "/nonexistent/socket";
    assert_int_equal(hearsay_connect_begin(&options, &client, &error), HEARSAY_ERR_CONNECT);
    options.server = "a.name.invalid";
    assert_int_equal(hearsay_connect_begin(&options, &client, &error), HEARSAY_ERR_ARGUMENT);
    options.server = "127.0.0.1";
    options.tls = &tls;
    assert_int_equal(hearsay_connect_begin(&options, &client, &error), HEARSAY_ERR_ARGUMENT);
    options.tls = NULL;
    options.on_behalf = phone;
    for (size_t count = 0; count < 20; count++) {
        options.on_behalf_bytes = count;
        if (count != 4 && count != 16) {
            assert_int_equal(hearsay_connect_begin(&options, &client, &error),
                             HEARSAY_ERR_ARGUMENT);
        }
    }
    options.on_behalf_bytes = 4;
    options.on_behalf_local = local;
    assert_int_equal(hearsay_connect(&options, &client, &error), HEARSAY_ERR_ARGUMENT);
    options.on_behalf = NULL;
    options.on_behalf_local = NULL;
    assert_int_equal(hearsay_connect(&options, &client, &error), HEARSAY_ERR_ARGUMENT);
}

/* A numeric address is connected to in the background, too. */
TEST(test_tcp)
{
    struct sockaddr_in name = {.sin_family = AF_INET};
    socklen_t length = sizeof(name);
    struct hearsay *client = NULL;
    struct hearsay_error error;
    struct hearsay_connect options;
    char server[32];
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&name, sizeof(name)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&name, &length), 0);
    (void)snprintf(server, sizeof(server), "127.0.0.1:%d", ntohs(name.sin_port));
    hearsay_connect_init(&options);
    options.server = server;
    int status = hearsay_connect_begin(&options, &client, &error); /* nobody listens */
    if (status == HEARSAY_OK) {
        status = finish(client, &error);
        hearsay_close(client);
    }
    assert_int_equal(status, HEARSAY_ERR_CONNECT);

    assert_int_equal(listen(fd, 1), 0);
    options.timeout_ms = LONG_MS;
    assert_int_equal(hearsay_connect_begin(&options, &client, &error), HEARSAY_OK);
    while (client->is_connecting || client->conn.output.count > 0) { /* until Hello is sent */
        wait_socket(client);
        assert_int_equal(hearsay_connect_continue(client, &error), HEARSAY_PENDING);
    }
    hearsay_close(client);
    (void)close(fd);
}

/* Reports, watches and labels are answered by hearsay_next. */
TEST(test_requests)
{
    const struct hearsay_request report = {.kind = HEARSAY_REQUEST_REPORT,
                                           .report = {.id = {wanted, sizeof(wanted)},
                                                      .kind = HEARSAY_REPORT_SPAM,
                                                      .reason = hearsay_text("spam")}};
    const char *label = "topic:tea";
    struct fake_server server;
    struct heard heard = {.watch_id = 7};
    struct hearsay_filter filter;
    struct hearsay_query_part part;
    struct hearsay_query query;
    uint64_t ticket = 0;
    fake_server_listen(&server, script_answers, &heard);
    struct hearsay *client = begin(server.path, false);
    assert_int_equal(finish(client, NULL), HEARSAY_OK);

    assert_int_equal(hearsay_submit(client, &report, &ticket, NULL), HEARSAY_OK);
    const struct hearsay_reply *reply = next(client);
    assert_int_equal(reply->response.kind, HEARSAY_RESPONSE_REPORT_TAKEN);
    assert_int_equal(reply->response.id, ticket);

    hearsay_query_init(&query);
    assert_int_equal(hearsay_submit_watch(client, &query, 5, &ticket, NULL), HEARSAY_ERR_ARGUMENT);
    assert_int_equal(encode_labels("v2:512/4", NULL, &label, 1, &filter, NULL), 0);
    part = (struct hearsay_query_part){.filter = hearsay_filter_bytes(&filter)};
    query.parts = &part;
    query.part_count = 1;
    query.max_staleness_ms = 0; /* a watch has neither, and a server refuses both */
    query.wait_ms = 5;
    assert_int_equal(hearsay_submit_watch(client, &query, 5, &ticket, NULL), HEARSAY_OK);
    reply = next(client);
    assert_int_equal(reply->response.kind, HEARSAY_RESPONSE_WATCHING);
    assert_int_equal(reply->response.watching.watch_id, 7);
    assert_int_equal(reply->response.watching.seq, 12);
    assert_int_equal(hearsay_submit(client, &unwatch, &ticket, NULL), HEARSAY_OK);
    assert_int_equal(next(client)->response.kind, HEARSAY_RESPONSE_UNWATCHED);

    assert_int_equal(hearsay_submit(client, &here, &ticket, NULL), HEARSAY_OK);
    reply = next(client);
    assert_int_equal(reply->response.kind, HEARSAY_RESPONSE_HERE_LABELS);
    assert_string_equal(reply->response.here_labels.labels[0].text, "place:bar");
    hearsay_close(client);
    fake_server_stop(&server);
    assert_string_equal(heard.reason, "spam");
    assert_int_equal(heard.after_seq, 5);
    assert_int_equal(heard.wait_ms, 1000);
    assert_true(heard.max_staleness_ms == UINT64_MAX);
    assert_int_equal(heard.unwatched, 7);
}

/* Requests are of the client that was named last, until the gateway asks for itself again. */
TEST(test_asking_for_others)
{
    struct fake_server server;
    struct heard heard = {.watch_id = 7};
    uint64_t ticket = 0;
    fake_server_listen(&server, script_answers, &heard);
    struct hearsay *client = begin(server.path, false);
    assert_int_equal(finish(client, NULL), HEARSAY_OK);

    assert_int_equal(hearsay_ask_for(client, phone, 5, NULL, NULL), HEARSAY_ERR_ARGUMENT);
    assert_int_equal(hearsay_submit(client, &here, &ticket, NULL), HEARSAY_OK);
    assert_int_equal(next(client)->response.kind, HEARSAY_RESPONSE_HERE_LABELS);
    assert_int_equal(hearsay_ask_for(client, phone, 4, local, NULL), HEARSAY_ERR_ARGUMENT);
    assert_int_equal(hearsay_ask_for(client, NULL, 0, local, NULL), HEARSAY_ERR_ARGUMENT);
    assert_int_equal(hearsay_ask_for(client, phone, 4, NULL, NULL), HEARSAY_OK);
    assert_int_equal(hearsay_ask_for(client, phone, 16, local, NULL), HEARSAY_OK);
    assert_int_equal(hearsay_submit(client, &get, &ticket, NULL), HEARSAY_OK);
    assert_int_equal(next(client)->response.kind, HEARSAY_RESPONSE_GOT);
    assert_int_equal(hearsay_ask_for(client, NULL, 0, NULL, NULL), HEARSAY_OK);
    assert_int_equal(hearsay_submit(client, &here, &ticket, NULL), HEARSAY_OK);
    assert_int_equal(next(client)->response.kind, HEARSAY_RESPONSE_HERE_LABELS);
    hearsay_close(client);
    fake_server_stop(&server);
    assert_int_equal(heard.without_asker, 2);
    assert_int_equal(heard.asker_bytes, sizeof(phone));
    assert_memory_equal(heard.asker, phone, sizeof(phone));
    assert_int_equal(heard.asker_local_bytes, sizeof(local));
}

/* Changed labels are told to who wants them, with the host's index; unknown hosts are passed over.
 */
TEST(test_here_changes)
{
    struct fake_server server;
    struct heard heard = {.watch_id = 7};
    const struct hearsay_reply *reply = NULL;
    uint64_t ticket = 0;
    fake_server_listen(&server, script_answers, &heard);
    struct hearsay *client = begin(server.path, false);
    assert_int_equal(finish(client, NULL), HEARSAY_OK);
    assert_int_equal(fake_submit_ping(client, &ticket, NULL), HEARSAY_OK);
    assert_int_equal(next(client)->response.kind, HEARSAY_RESPONSE_PONG);
    assert_int_equal(hearsay_next(client, 0, &reply, NULL), HEARSAY_IDLE);

    hearsay_take_here_changes(client);
    assert_int_equal(fake_submit_ping(client, &ticket, NULL), HEARSAY_OK);
    reply = next(client);
    assert_int_equal(reply->response.kind, HEARSAY_RESPONSE_HERE_CHANGED);
    assert_int_equal(reply->response.id, 0);
    assert_string_equal(reply->response.here_changed.host.text, "upstairs");
    assert_int_equal(reply->response.here_changed.label_count, 2);
    assert_string_equal(reply->response.here_changed.labels[1].text, "place:attic");
    assert_int_equal(next(client)->response.kind, HEARSAY_RESPONSE_PONG);
    assert_int_equal(hearsay_next(client, 0, &reply, NULL), HEARSAY_PENDING);
    hearsay_close(client);
    fake_server_stop(&server);
}

/* A small connection takes answers of any size, and has few requests in flight. */
TEST(test_small)
{
    struct fake_server server;
    struct heard heard = {.watch_id = 7};
    struct hearsay_error error;
    const struct hearsay_response *response = NULL;
    uint64_t ticket = 0;
    fake_server_listen(&server, script_answers, &heard);
    struct hearsay *client = begin(server.path, true);
    assert_int_equal(finish(client, &error), HEARSAY_OK);
    assert_true(client->conn.input.capacity <= 2 * CONN_SMALL_READ_BYTES);
    assert_int_equal(hearsay_ask(client, &get, LONG_MS, &response, &error), HEARSAY_OK);
    assert_int_equal(response->got.payload.count, BIG_BYTES);
    for (unsigned i = 0; i < CONN_FLIGHT_DEFAULT; i++) {
        assert_int_equal(fake_submit_ping(client, &ticket, &error), HEARSAY_OK);
    }
    assert_int_equal(fake_submit_ping(client, &ticket, &error), HEARSAY_FULL);
    hearsay_close(client);
    fake_server_stop(&server);
}

/* A watch without a number could never be ended, nor its matches told from those of others. */
TEST(test_watch_without_number)
{
    const char *label = "topic:tea";
    struct fake_server server;
    struct heard heard = {.watch_id = 0};
    struct hearsay_filter filter;
    struct hearsay_query_part part;
    struct hearsay_query query;
    struct hearsay_error error;
    const struct hearsay_reply *reply = NULL;
    uint64_t ticket = 0;
    fake_server_listen(&server, script_answers, &heard);
    struct hearsay *client = begin(server.path, false);
    assert_int_equal(finish(client, &error), HEARSAY_OK);
    assert_int_equal(encode_labels("v2:512/4", NULL, &label, 1, &filter, NULL), 0);
    hearsay_query_init(&query);
    part = (struct hearsay_query_part){.filter = hearsay_filter_bytes(&filter)};
    query.parts = &part;
    query.part_count = 1;
    assert_int_equal(hearsay_submit_watch(client, &query, HEARSAY_NO_SEQ, &ticket, &error), 0);
    assert_int_equal(hearsay_next(client, LONG_MS, &reply, &error), HEARSAY_ERR_PROTOCOL);
    assert_non_null(strstr(error.sentence, "without a number"));
    hearsay_close(client);
    fake_server_stop(&server);
}
