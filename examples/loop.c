/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop: a client in an epoll loop, by libhearsay. It leaves a message about a topic, watches for
 * messages with the topic, and connects again when the server has gone away.
 *
 *     cc -o loop loop.c $(pkg-config --cflags --libs hearsay)
 *     ./loop SERVER LABEL TEXT    such as: ./loop 127.0.0.1:7117 topic:tea "Is there any?"
 *
 * SERVER is a numeric address or the path of a Unix socket. Host names and TLS need
 * hearsay_connect, which blocks. Left out: what a device senses (hearsay/context.h), here labels
 * that change, keys of epochs, and a ping for a server that is silent.
 */
#include <hearsay.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

enum { CONNECT_MS = 5000, RETRY_MS = 1000 }; /* where there are many: a random time that grows */

static struct hearsay *server; /* NULL: not connected */
static bool is_greeted;
static struct hearsay_deposit deposit; /* its id stays, so a repeated one is stored once */
static uint64_t deposit_ticket = UINT64_MAX;
static bool is_answered;              /* the deposit was stored, or refused */
static uint64_t seq = HEARSAY_NO_SEQ; /* of the last match: another watch goes on behind it */

/* After each greeting, because the profile and the here labels may be others than before. The here
 * labels go with everything; a watch by one label demands this label, at any distance. */
static int begin(const char *label, struct hearsay_error *error)
{
    static struct hearsay_filter filter, wanted;
    struct hearsay_encode encode = {.host = hearsay_find_host(server, NULL)};
    struct hearsay_query_part part = {.epoch = 0};
    struct hearsay_query query;
    struct hearsay_context *context = NULL;
    encode.labels = &label;
    encode.label_count = 1;
    int status = hearsay_encode(&encode, &wanted, error);
    status = status == HEARSAY_OK ? hearsay_context_new(&context, error) : status;
    status = status == HEARSAY_OK ? hearsay_context_add_label(context, label, error) : status;
    status = status == HEARSAY_OK ? hearsay_context_add_here(context, encode.host, error) : status;
    if (status == HEARSAY_OK) {
        encode.labels = hearsay_context_labels(context, &encode.label_count);
        status = hearsay_encode(&encode, &filter, error);
    }
    hearsay_context_free(context);
    deposit.filter = part.filter = hearsay_filter_bytes(&filter);
    part.contains = hearsay_filter_bytes(&wanted);
    hearsay_query_init(&query);
    query.parts = &part;
    query.part_count = 1;
    status = status == HEARSAY_OK ? hearsay_submit_watch(server, &query, seq, NULL, error) : status;
    return status == HEARSAY_OK && !is_answered
               ? hearsay_submit_deposit(server, &deposit, &deposit_ticket, error)
               : status;
}

static void take(const struct hearsay_reply *reply)
{
    const struct hearsay_response *response = &reply->response;
    is_answered = is_answered || response->id == deposit_ticket;
    if (response->kind == HEARSAY_RESPONSE_MATCH) {
        const struct hearsay_bytes *text = &response->match.result.payload;
        seq = response->match.seq;
        printf("match %.*s\n", (int)text->count, (const char *)text->data);
    } else if (response->kind == HEARSAY_RESPONSE_WATCHING) { /* less: restored from a backup */
        seq = response->watching.seq < seq ? response->watching.seq : seq;
    } else { /* of the deposit; or one of the requests was refused */
        printf("%s\n", response->kind == HEARSAY_RESPONSE_ERROR ? reply->error.sentence : "stored");
    }
}

/* Does all that needs no waiting. Negative: the connection is lost, or a call is wrong. */
static int step(const char *label, struct hearsay_error *error)
{
    const struct hearsay_reply *reply = NULL;
    int status = HEARSAY_OK;
    if (!is_greeted) {
        status = hearsay_connect_continue(server, error);
        is_greeted = status == HEARSAY_OK;
        status = is_greeted ? begin(label, error) : status;
    }
    while (status == HEARSAY_OK &&
           (status = hearsay_next(server, 0, &reply, error)) == HEARSAY_OK) {
        take(reply);
    }
    return status;
}

int main(int argc, char **argv)
{
    struct hearsay_connect options;
    struct hearsay_receipt receipt;
    struct hearsay_error error;
    int epoll = epoll_create1(0);

    if (argc != 4 || epoll < 0 || setvbuf(stdout, NULL, _IOLBF, 0) != 0) {
        return 2;
    }
    hearsay_connect_init(&options);
    options.server = argv[1];
    options.timeout_ms = CONNECT_MS;
    hearsay_deposit_init(&deposit, &receipt);
    deposit.payload = hearsay_bytes(argv[3], strlen(argv[3]));
    for (;;) {
        struct epoll_event event = {.events = EPOLLIN};
        bool wants_write = false, is_new = server == NULL;
        int status = is_new ? hearsay_connect_begin(&options, &server, &error) : HEARSAY_OK;
        status = status == HEARSAY_OK ? step(argv[2], &error) : status;
        if (status < 0) {
            printf("lost: %s\n", error.sentence);
            if (status == HEARSAY_ERR_ARGUMENT || (is_greeted && !hearsay_is_broken(server))) {
                return 1; /* another connection would not help */
            }
            hearsay_close(server); /* its socket leaves the epoll, too */
            server = NULL;
            is_greeted = false;
        } else {
            const int fd = hearsay_fd(server, &wants_write);
            event.events = wants_write ? EPOLLIN | EPOLLOUT : EPOLLIN;
            (void)epoll_ctl(epoll, is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event);
        }
        int patience_ms = is_greeted ? -1 : server != NULL ? CONNECT_MS : RETRY_MS;
        (void)epoll_wait(epoll, &event, 1, patience_ms);
    }
}
