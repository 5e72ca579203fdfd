/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server: one request of hearsayd or of PostgreSQL with pgvector, for server.c. A request is
 * submitted, and its answer is taken later. hearsayd may answer a later request first.
 */
#pragma once

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/hearsay.h"
#include "tests/bench/filters.h"

enum { K = 10, FILTER_BYTES = 64, FILTER_WORDS = FILTER_BYTES / 8, WAIT_MS = 60000 };

/* What a turn asks of a server. */
enum kind { HEARSAY_PHI, HEARSAY_BITS, POSTGRES, HEARSAY_DEPOSIT, POSTGRES_DEPOSIT, KINDS };

/* One connection to each server. */
struct client {
    struct hearsay *hearsay;
    PGconn *postgres;
};

/* One client's part of a turn. */
struct work {
    const struct filters *filters;
    struct client *client;
    enum kind kind;
    size_t first; /* number of its first query or filter; it takes every `step`th */
    size_t step;
    size_t most;   /* requests */
    size_t window; /* requests in flight */
    int64_t deadline_ns;
    size_t done;
    double *distances; /* of the K results of each query, or NULL */
    bool failed;
};

/* Submit a query or deposit with the query or filter of this number, modulo how many there are.
 * Return 0, or -1: it is said. */
int server_submit_hearsay(struct work *work, size_t number);
int server_submit_postgres(struct work *work, size_t number);

/* Take the next answer; that of a query writes its K distances. Return 0, or -1: it is said. */
int server_take_hearsay(struct work *work, double *out_distances);
int server_take_postgres(PGconn *connection, double *out_distances);

/* Sends a deposit without a Sync. Returns 0, or -1: it is said. */
int server_send_insert(PGconn *connection, const struct filters *filters, size_t number);
