/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_fixture: a service with the hosts "alpha" and "beta" over a store in memory and a clock
 * that the test sets. Requests come through the handlers, as they do in the daemon; the fixture is
 * the client, and keeps the last answer.
 */
#pragma once

#include "daemon/handler/handler.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/fake_clock.h"
#include "tests/lib/fake_persist.h"

enum {
    SERVICE_FIXTURE_FILTER_BYTES = 64,
    SERVICE_FIXTURE_LONG_S = 100000 /* a lifetime that no test outlives */
};

struct service_fixture {
    struct requester client; /* first */
    struct config config;
    struct persist *persist;
    struct service *service; /* NULL: not started */
    struct fail_alloc alloc;
    struct fake_clock clock;
    struct worker *worker;
    unsigned answered;
    enum hearsay_response_kind last; /* of the last answer */
    enum hearsay_code code;
    uint64_t last_id;
    size_t result_count;
    char reason[CONFIG_REASON_BYTES];
};

/* For cmocka: a started service, one that is not started, and the end of both. */
int service_fixture_setup(void **state);
int service_fixture_setup_stopped(void **state);
int service_fixture_teardown(void **state);

/* Starts the service: what handler_open returns. Restarts it on the same store. */
int service_fixture_start(struct service_fixture *fixture);
void service_fixture_restart(struct service_fixture *fixture);

/* Both clocks go on. */
void service_fixture_advance(struct service_fixture *fixture, int64_t ms);

/* The id of message `number`. */
void service_fixture_make_id(uint32_t number, uint8_t *out_id);

/* Asks; a deposit is answered by the next commit. All messages have the same filter. */
void service_fixture_send_deposit(struct service_fixture *fixture, const char *host,
                                  uint32_t number, uint32_t ttl_s);
void service_fixture_send_query(struct service_fixture *fixture, const char *host);

/* Deposits, commits, and checks that the message is stored. */
void service_fixture_deposit(struct service_fixture *fixture, const char *host, uint32_t number,
                             uint32_t ttl_s);

/* Takes a message back that was deposited so. */
void service_fixture_withdraw(struct service_fixture *fixture, const char *host, uint32_t number);

/* How many messages a query finds. */
size_t service_fixture_count_found(struct service_fixture *fixture, const char *host);

/* Puts messages into a host's index that are in no store: for long searches. */
void service_fixture_fill_index(struct host *host, uint32_t count);

/* What `act` writes to the log; static storage. */
const char *service_fixture_log_of(struct service_fixture *fixture,
                                   void (*act)(struct service_fixture *fixture));
