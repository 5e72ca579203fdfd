/* SPDX-License-Identifier: Apache-2.0 */
/* The client of the counts of system calls: one request after another to a real hearsayd. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "proto/codec/codec.h"
#include "tests/count/count.h"
#include "tests/count/requests.h"

enum { ANSWER_BYTES_MAX = 1024 * 1024, PATIENCE_S = 60 };

static int connect_to(uint16_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval patience = {.tv_sec = PATIENCE_S};
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (client < 0 ||
        setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) != 0 ||
        connect(client, (struct sockaddr *)&address, sizeof(address)) != 0) {
        count_fail("cannot connect to 127.0.0.1:%u", (unsigned)port);
    }
    return client;
}

static void read_whole(int client, uint8_t *bytes, size_t count)
{
    while (count > 0) {
        ssize_t got = recv(client, bytes, count, 0);

        if (got <= 0) {
            count_fail("hearsayd does not answer");
        }
        bytes += got;
        count -= (size_t)got;
    }
}

/* Sends a frame, and reads the answer, which must be of this kind. */
static void exchange_frame(int client, struct bytes *frame, enum hearsay_response_kind kind)
{
    static uint8_t answer[ANSWER_BYTES_MAX];
    uint8_t header[LIMIT_FRAME_HEADER_BYTES];
    struct hearsay_response response = {.id = 0};
    struct msg_error error;
    struct arena arena;

    if (send(client, frame->data, frame->count, MSG_NOSIGNAL) != (ssize_t)frame->count) {
        count_fail("hearsayd takes no request");
    }
    read_whole(client, header, sizeof(header));
    size_t bytes =
        (size_t)header[0] << 24 | (size_t)header[1] << 16 | (size_t)header[2] << 8 | header[3];
    if (bytes > sizeof(answer)) {
        count_fail("an answer has %zu bytes", bytes);
    }
    read_whole(client, answer, bytes);
    arena_init(&arena, alloc_system(), ANSWER_BYTES_MAX);
    if (codec_decode_response(answer, bytes, &arena, &response, &error) != 0 ||
        response.kind != kind) {
        count_fail("hearsayd refuses: %s", response.kind == HEARSAY_RESPONSE_ERROR
                                               ? response.error.message
                                               : "another answer");
    }
    arena_deinit(&arena);
    bytes_consume(frame, frame->count);
}

static void ask_all(uint16_t port, uint32_t count, enum hearsay_response_kind kind,
                    void (*add_request)(const struct filters *, size_t, struct bytes *))
{
    struct hearsay_request hello = {
        .id = 1, .kind = HEARSAY_REQUEST_HELLO, .hello = {.versions = {1}, .version_count = 1}};
    struct filters filters;
    struct bytes frame;
    int client = connect_to(port);

    requests_make_filters("campus", count, 1, &filters);
    bytes_init(&frame, alloc_system());
    if (codec_encode_request(&hello, LIMIT_FRAME_BYTES_DEFAULT, &frame) != 0) {
        count_fail("memory is short");
    }
    exchange_frame(client, &frame, HEARSAY_RESPONSE_WELCOME);
    for (uint32_t i = 0; i < count; i++) {
        add_request(&filters, i, &frame);
        exchange_frame(client, &frame, kind);
    }
    (void)close(client);
}

void count_ask_queries(uint16_t port, uint32_t count)
{
    ask_all(port, count, HEARSAY_RESPONSE_RESULTS, requests_add_query);
}

void count_ask_deposits(uint16_t port, uint32_t count)
{
    ask_all(port, count, HEARSAY_RESPONSE_DEPOSITED, requests_add_deposit);
}
