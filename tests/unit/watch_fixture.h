/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_fixture: what the tests of watches share: a service with a store in memory, a clock that
 * the test sets, no loop, and clients that keep what is pushed to them.
 */
#pragma once

#include "daemon/handler/handler.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/fake_clock.h"
#include "tests/lib/fake_persist.h"

enum {
    WATCH_FIXTURE_FILTER_BYTES = 64,
    WATCH_FIXTURE_CLIENTS = 4,
    WATCH_FIXTURE_PUSHES_MAX = 8192,
    WATCH_FIXTURE_NOW = -1 /* after_seq: only what comes from now on */
};

struct watch_client {
    struct requester client; /* first */
    struct watch_fixture *fixture;
    uint32_t room; /* pushes that it takes before it has no more */
    size_t queued; /* bytes, as it was told last */
    size_t queued_max;
    enum hearsay_code dropped;         /* 0: it was not */
    enum hearsay_response_kind answer; /* the last one */
    enum hearsay_code refusal;
    uint64_t watch_id;
    uint64_t watching_seq;
    size_t count; /* pushes */
    uint64_t seqs[WATCH_FIXTURE_PUSHES_MAX];
    uint64_t watches[WATCH_FIXTURE_PUSHES_MAX];
    uint8_t numbers[WATCH_FIXTURE_PUSHES_MAX]; /* first bytes of ids */
    bool has_payload[WATCH_FIXTURE_PUSHES_MAX];
};

struct watch_fixture {
    struct fail_alloc alloc;
    struct config config;
    struct persist *persist;
    struct service *service;
    struct watch_client clients[WATCH_FIXTURE_CLIENTS]; /* the last one deposits */
    struct fake_clock clock;
    uint32_t deposits;
    const char *host; /* of what is deposited and watched; NULL: the first one */
};

/* How often clients were asked whether they have room. */
extern unsigned watch_fixture_room_asked;

/* For cmocka: with a cache of payloads, or without one. At the end no watch may be left. */
int watch_fixture_setup(void **state);
int watch_fixture_setup_uncached(void **state);
int watch_fixture_setup_two_hosts(void **state); /* lobby, hall */
int watch_fixture_teardown(void **state);

/* The client goes, as a session does: its watches go at once. */
void watch_fixture_leave(struct watch_client *client);

/* Deposits in a place; each with another id, whose first byte is the payload, too. */
void watch_fixture_deposit_for(struct watch_fixture *fixture, unsigned place, uint32_t ttl_s);

/* Deposits `count` in a place, and commits. Contexts of different places have nothing in common. */
void watch_fixture_deposit(struct watch_fixture *fixture, unsigned place, unsigned count);

/* Deposits one answer to message `parent` in a place, without a commit; watches for such answers.
 */
void watch_fixture_answer(struct watch_fixture *fixture, unsigned place, uint32_t parent);
void watch_fixture_watch_answers(struct watch_fixture *fixture, struct watch_client *client,
                                 uint32_t parent, int64_t after_seq, bool with_payload);

/* Watches a place; without a check of the answer. */
void watch_fixture_watch_place(struct watch_fixture *fixture, struct watch_client *client,
                               unsigned place, int64_t after_seq, bool with_payload);

/* Watches place 1, without payload. */
void watch_fixture_watch(struct watch_fixture *fixture, struct watch_client *client,
                         int64_t after_seq);

/* Turns, and reads answered, until there is nothing more to do. */
void watch_fixture_settle(struct watch_fixture *fixture);

/* Pushes are those of messages `first` .. in order, each once. */
void watch_fixture_expect(const struct watch_client *client, uint64_t first, size_t count);
