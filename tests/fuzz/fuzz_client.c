/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hostile server against libhearsay: a client with a request of each kind under way and a watch
 * reads what the input says, as a greeting or after one. Properties: no call waits for more than
 * there is, whatever a reply says can be read, and nothing is left when the client has closed.
 */
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/call/client.h"
#include "client/net/wait.h"
#include "tests/fuzz/fuzz.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/fake_server.h"

enum { PIECES = 8, IN_FLIGHT = 16, LONG_MS = 60000 };

static void put(int fd, const uint8_t *bytes, size_t count)
{
    if (count > 0) { /* the rest is lost when the client has gone, or does not read */
        (void)send(fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

static void put_welcome(int fd)
{
    static struct bytes frame;

    if (frame.count == 0) {
        struct hearsay_response response = {.id = 1, .kind = HEARSAY_RESPONSE_WELCOME};

        bytes_init(&frame, alloc_system());
        response.welcome = fake_welcome(IN_FLIGHT);
        fake_encode(&response, &frame);
    }
    put(fd, frame.data, frame.count);
}

/* What a caller may read of a result, so that a sanitizer sees it. */
static size_t read_result(const struct hearsay_result *result)
{
    size_t sum = result->media_type.text != NULL ? strlen(result->media_type.text) : 0;

    for (size_t i = 0; i < result->payload.count; i++) {
        sum += result->payload.data[i];
    }
    return sum + result->id.data[0] + (result->host.text != NULL ? strlen(result->host.text) : 0);
}

static size_t read_here(const struct hearsay_here_labels *here)
{
    size_t sum = 0;

    for (size_t i = 0; i < here->label_count; i++) {
        sum += strlen(here->labels[i].text);
    }
    return sum;
}

static size_t read_reply(const struct hearsay_reply *reply)
{
    size_t sum = 0;

    switch (reply->response.kind) {
    case HEARSAY_RESPONSE_ERROR:
        FUZZ_CHECK(reply->error.sentence[0] != '\0');
        return strlen(reply->error.sentence);
    case HEARSAY_RESPONSE_RESULTS:
        for (size_t i = 0; i < reply->response.results.result_count; i++) {
            sum += read_result(&reply->response.results.results[i]);
        }
        return sum;
    case HEARSAY_RESPONSE_MATCH:
        return read_result(&reply->response.match.result);
    case HEARSAY_RESPONSE_HERE_LABELS:
        return read_here(&reply->response.here_labels);
    default:
        return (size_t)reply->response.id;
    }
}

static void ask_everything(struct hearsay *server)
{
    static const uint8_t id[HEARSAY_ID_BYTES] = {1};
    static const uint8_t token[HEARSAY_TOKEN_BYTES] = {2};
    static const struct hearsay_request get = {.kind = HEARSAY_REQUEST_GET,
                                               .get.id = {id, sizeof(id)}};
    static const struct hearsay_request withdraw = {
        .kind = HEARSAY_REQUEST_WITHDRAW,
        .withdraw = {.id = {id, sizeof(id)}, .token = {token, sizeof(token)}}};
    static const struct hearsay_request changes = {.kind = HEARSAY_REQUEST_CHANGES,
                                                   .changes.limit = 10};
    struct hearsay_error error;
    struct hearsay_query query;
    uint64_t ticket;

    hearsay_query_init(&query);
    (void)hearsay_submit(server, &get, &ticket, &error);
    (void)hearsay_submit(server, &withdraw, &ticket, &error);
    (void)hearsay_submit(server, &changes, &ticket, &error);
    (void)hearsay_submit_query(server, &query, &ticket, &error);
    (void)hearsay_submit_watch(server, &query, 0, &ticket, &error);
    hearsay_take_here_changes(server);
}

static void read_replies(struct hearsay *server)
{
    const struct hearsay_reply *reply = NULL;
    struct hearsay_error error;

    while (hearsay_next(server, 0, &reply, &error) == HEARSAY_OK) {
        FUZZ_CHECK(read_reply(reply) < SIZE_MAX); /* so that no reading is optimised away */
    }
}

static void talk(struct hearsay *server, int peer, struct fuzz_input *input)
{
    uint8_t requests[4096];

    ask_everything(server);
    for (int i = 0; i < PIECES; i++) {
        size_t most = i + 1 == PIECES ? input->left : fuzz_u16(input);
        size_t count = 0;
        const uint8_t *bytes = fuzz_bytes(input, most, &count);

        put(peer, bytes, count);
        read_replies(server);
        (void)recv(peer, requests, sizeof requests, MSG_DONTWAIT);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    const uint8_t how = fuzz_byte(&input);
    struct hearsay_error error;
    struct hearsay *server = NULL;
    struct fail_alloc alloc;
    int ends[2];

    fail_alloc_init(&alloc);
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    FUZZ_CHECK(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
    if (how % 8 != 0) {
        put_welcome(ends[1]);
    } else { /* the input greets, and nothing follows that could be waited for */
        put(ends[1], input.data, input.left);
        (void)shutdown(ends[1], SHUT_WR);
    }
    const struct client_open options = {.alloc = &alloc.alloc,
                                        .fd = ends[0],
                                        .is_small = how / 8 % 2 == 1,
                                        .hello = {.agent = "fuzz/1"},
                                        .deadline_ms = wait_deadline_ms(LONG_MS)};
    if (client_open(&options, &server, &error) == HEARSAY_OK) {
        talk(server, ends[1], &input);
        hearsay_close(server);
    } else {
        FUZZ_CHECK(how % 8 == 0 && error.sentence[0] != '\0');
    }
    (void)close(ends[1]);
    FUZZ_CHECK(alloc.live_blocks == 0);
    return 0;
}
