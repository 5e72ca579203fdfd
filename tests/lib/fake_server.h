/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_server: the other end for tests of the client. A thread runs a script against one connection
 * after another; a script reads requests and sends whatever the test wants. A mistake of the script
 * itself ends the program.
 */
#pragma once

#include "client/hearsay.h"
#include "proto/arena.h"
#include "proto/bytes.h"
#include "proto/frame.h"
#include "proto/msg.h"

#include <pthread.h>

/* One connection, as a script sees it. */
struct fake_peer {
    int fd;
    unsigned number; /* of the connection, from 0 */
    struct frame_decoder input;
    struct arena arena;
    struct bytes output; /* encoded, not yet sent */
};

enum { FAKE_PEERS_MAX = 128 };

typedef void fake_script(struct fake_peer *peer, void *context);

struct fake_server {
    pthread_t thread;
    bool serves_many;                  /* connections at the same time, each by its thread */
    pthread_t threads[FAKE_PEERS_MAX]; /* of these connections */
    struct fake_task *tasks[FAKE_PEERS_MAX];
    unsigned task_count;
    int listen_fd; /* -1: a socketpair */
    int client_fd; /* the client's end of the pair; the test takes it */
    struct fake_peer peer;
    fake_script *script;
    void *context;
    char folder[64];
    char path[96]; /* of the Unix socket */
};

/* On one connection that is there already: server->client_fd. */
void fake_server_pair(struct fake_server *server, fake_script *script, void *context);

/* Opens a client of that pair, with a deadline that is never meant to pass. As client_open. */
int fake_server_open(struct fake_server *server, const struct alloc *alloc,
                     struct hearsay **out_client, struct hearsay_error *out_error);

/* Submits the smallest request there is. */
int fake_submit_ping(struct hearsay *client, uint64_t *out_ticket, struct hearsay_error *out_error);

/* On a Unix socket, server->path; the script runs for each connection in turn. */
void fake_server_listen(struct fake_server *server, fake_script *script, void *context);

/* The same, with a thread for each connection; FAKE_PEERS_MAX of them. The scripts run at once. */
void fake_server_listen_many(struct fake_server *server, fake_script *script, void *context);

/* Waits for the script to end, after the client has closed. Takes the socket away. */
void fake_server_stop(struct fake_server *server);

/* A Welcome with one host, "default", v2:512/4, suggested 0.7, and so many requests in flight. */
struct msg_welcome fake_welcome(unsigned requests_in_flight);

/* Reads Hello, answers with that Welcome. False: the client is gone. */
bool fake_greet(struct fake_peer *peer, unsigned requests_in_flight);

/* The next request, valid until the next call. False: the client is gone. */
bool fake_read(struct fake_peer *peer, struct hearsay_request *out_request);

/* Puts a response behind others that wait; fake_flush sends them. False: the client is gone. */
void fake_put(struct fake_peer *peer, const struct hearsay_response *response);
bool fake_flush(struct fake_peer *peer);
bool fake_send(struct fake_peer *peer, const struct hearsay_response *response);

/* Responses that fit. */
struct hearsay_response fake_deposited(uint64_t id, bool duplicate);
struct hearsay_response fake_error(uint64_t id, enum hearsay_code code, uint64_t retry_after_ms);

/* A response as a frame, appended. */
void fake_encode(const struct hearsay_response *response, struct bytes *out);
