/* SPDX-License-Identifier: Apache-2.0 */
/*
 * count_server: hearsayd in this thread: its loop, its sessions, its handlers and its hosts, over
 * count_store and a clock that stands still. One client is connected over a Unix socket. The client
 * sends ready-made frames, and of the answers it only counts the frames, so that nearly all that is
 * counted is the server's.
 */
#pragma once

#include "daemon/net/server.h"
#include "proto/bytes.h"
#include "tests/lib/fake_clock.h"

struct count_server {
    struct server server;
    struct config config;
    struct fake_clock clock;
    int client;
};

/*
 * Starts a server with the messages of the store, and connects the client. The socket is made in
 * the directory, which is borrowed for the call; the store is borrowed for good. A server is never
 * freed: the program ends after its work.
 */
struct count_server *count_server_new(const char *directory, struct persist *persist);

/* Only makes a service, and loads the messages of the store into it. */
struct service *count_service_new(struct count_server *server, struct persist *persist);

/* Sends frames, and returns when so many frames have come back. Commits whenever operations wait
 * and the server has nothing else to do. */
void count_server_exchange(struct count_server *server, const struct bytes *frames, size_t answers);
