/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handler_fixture: handlers over a service with a store in memory, a clock that the test sets, and
 * no loop. The client is an administrator unless the test says otherwise; what it is answered last
 * is kept as the codec would give it to its peer.
 */
#pragma once

#include "daemon/handler/handler.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/fake_clock.h"
#include "tests/lib/fake_persist.h"

enum { HANDLER_FILTER_BYTES = 64 };

struct handler_fixture {
    struct requester client; /* first */
    struct config config;
    struct persist *persist;
    struct service *service;
    struct fail_alloc alloc;
    struct fake_clock clock;
    struct arena arena;
    struct hearsay_response answer; /* the latest; its memory is the arena's */
    size_t answers;
    size_t ended; /* how often the work of a request has ended */
    bool dropped;
};

/* Owned; its configuration is at the defaults and may be changed until it is started. */
struct handler_fixture *handler_fixture_new(void);
void handler_fixture_start(struct handler_fixture *fixture);
void handler_fixture_set(struct handler_fixture *fixture, const char *section, const char *key,
                         const char *value);

/* Commits and reads what waits; checks that no work and no memory is left. */
void handler_fixture_free(struct handler_fixture *fixture);

/* As tear-down of a test whose state is the fixture. */
int handler_fixture_tear_down(void **state);

/* Asks, without a commit; what `request` has is borrowed for the call. */
void handler_fixture_ask(struct handler_fixture *fixture, const struct hearsay_request *request);

/* Commits and reads until nothing waits; the kind of the latest answer, which must be a new one. */
enum hearsay_response_kind handler_fixture_settle(struct handler_fixture *fixture);

/* Both. What it is; for an error, see the next one. */
enum hearsay_response_kind handler_fixture_do(struct handler_fixture *fixture,
                                              const struct hearsay_request *request);

/* Both, and it is refused: the code. */
enum hearsay_code handler_fixture_refused(struct handler_fixture *fixture,
                                          const struct hearsay_request *request);

/* Of messages: the id begins with the number, and the filter at that bit. The request is static. */
const struct hearsay_request *handler_fixture_deposit(uint8_t number, const char *text,
                                                      uint32_t ttl_s);

/* Of a message: report (by the client's sender_tag), remove, restore, get. */
const struct hearsay_request *handler_fixture_about(enum hearsay_request_kind kind, uint8_t number);

/* Whether a query near to the message finds it, and a get. */
bool handler_fixture_finds(struct handler_fixture *fixture, uint8_t number);
