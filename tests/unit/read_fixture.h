/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_fixture: what the tests of Get and of Export share: a service with two hosts, "a", which is
 * the first, and "b", over a store in memory, a clock that the test sets, and no loop. What is
 * answered goes through the codec: it must fit the frame that was promised.
 */
#pragma once

#include "daemon/handler/handler.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/fake_clock.h"
#include "tests/lib/fake_persist.h"

enum {
    READ_FILTER_BYTES = 64,
    READ_CURSOR_BYTES = 8,
    READ_PAGE_MAX = 112, /* messages on a page, whatever is asked for */
    READ_PAYLOAD_MAX = 1900
};

/* As a session does, it stays while work is under way, and a gone one goes with the last of it. */
struct read_client {
    struct requester client; /* first */
    struct read_fixture *fixture;
};

struct read_fixture {
    struct read_client *client; /* NULL: it is freed */
    struct fail_alloc alloc;
    struct config config;
    struct persist *persist;
    struct service *service;
    struct fake_clock clock;
    struct arena arena;
    struct hearsay_response answer; /* the latest, decoded; its memory is the arena's */
    size_t answers;
    char got_ids[128];                       /* of all the requests answered by Got, in order */
    uint8_t withdraw_hash[LIMIT_HASH_BYTES]; /* of every deposit */
};

/* Owned; `frame` and `cache` are limits, as the configuration has them. */
struct read_fixture *read_fixture_new(const char *frame, const char *cache);

/* Checks that no work and no memory is left. */
void read_fixture_free(struct read_fixture *fixture);

/* For a fixture whose client is gone, which owns it. */
struct read_client *read_client_new(struct read_fixture *fixture);

void read_fixture_advance(struct read_fixture *fixture, int64_t ms);

/* Of messages. */
void read_fixture_make_id(uint32_t number, uint8_t out[MESSAGE_ID_BYTES]);
uint32_t read_fixture_number(const struct hearsay_bytes *id);
void read_fixture_make_filter(uint32_t number, uint8_t out[READ_FILTER_BYTES]);

/* These are committed, and succeed. `host` NULL: none is named. */
void read_fixture_deposit(struct read_fixture *fixture, uint32_t number, const char *text,
                          uint32_t ttl_s);
void read_fixture_deposit_bytes(struct read_fixture *fixture, const char *host, uint32_t number,
                                const void *payload, size_t payload_bytes, uint32_t ttl_s);
void read_fixture_withdraw(struct read_fixture *fixture, uint32_t number);

/*
 * These ask; the answer may come at once, or when the reads are answered. Its id is 500 + number,
 * or 700 of an export.
 */
void read_fixture_send_get(struct read_fixture *fixture, const char *host, uint32_t number);
void read_fixture_send_export(struct read_fixture *fixture, const char *host, const uint8_t *after,
                              size_t after_bytes, uint32_t limit);

/* One page, for the administrator; `after` NULL: the first. */
void read_fixture_export_page(struct read_fixture *fixture, const uint8_t *after, uint32_t limit);

/* What the last answer was. */
void read_fixture_expect_error(const struct read_fixture *fixture, uint64_t id,
                               enum hearsay_code code, const char *field);
void read_fixture_expect_page(const struct read_fixture *fixture, size_t count,
                              const uint32_t *numbers);
