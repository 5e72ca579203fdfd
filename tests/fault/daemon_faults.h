/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon_faults: a whole daemon in this process, over its own store, with a client, and what may
 * fail of it; what the files of test_daemon share. The executable needs fault_calls_link_args and
 * --wrap=clock_gettime.
 */
#pragma once

#include "tests/lib/server_fixture.h"

enum {
    MESSAGES = 20,      /* that are always there: numbers 1 .. */
    FIRST_NEW = 100,    /* numbers of filters that no query looks for */
    PLACES_MAX = 20000, /* a sweep ends before */
    PATIENCE_MS = 10000,
    EXPIRING = 5,
    FAULTS_CASES = 16
};

struct faults_fixture {
    struct server server;
    struct options options;
    struct config config;
    char directory[LOOP_PATH_BYTES];
    char file[LOOP_PATH_BYTES + 16];   /* the configuration */
    char socket[LOOP_PATH_BYTES + 16]; /* the listener */
    char backup[LOOP_PATH_BYTES + 16];
    char reason[CONFIG_REASON_BYTES];
    struct peer peer;
    uint32_t next_id; /* of messages that are deposited */
    uint8_t id[LIMIT_ID_BYTES];
};

/* What fails, how often: see fault_vfs_arm. */
struct fault_case {
    const char *name;
    unsigned kinds;
    unsigned times;
};
extern const struct fault_case faults_cases[FAULTS_CASES];

extern unsigned faults_injected;      /* so far: for the report */
extern int64_t faults_clock_offset_s; /* our own code's clocks are so much ahead (--wrap) */

/* For cmocka: a configuration; and a daemon that runs, with MESSAGES and a client. */
int faults_setup(void **state);
int faults_setup_started(void **state);
int faults_teardown(void **state);
int faults_teardown_started(void **state);

/* The monotonic clock as it really is. */
int64_t faults_real_ms(void);

/* Writes the configuration's file anew, with more at the end. */
void faults_write_configuration(const struct faults_fixture *fixture, const char *more);

int faults_start(struct faults_fixture *fixture); /* see server_start */
void faults_stop(struct faults_fixture *fixture);

/* A turn of the loop, in which things may fail. */
void faults_turn(struct faults_fixture *fixture, const struct peer *peer);

enum outcome { OUTCOME_ANSWERED, OUTCOME_DROPPED };

/* Sends what the peer has, and waits for one answer, or for the end of the connection. */
enum outcome faults_exchange(struct faults_fixture *fixture, struct peer *peer,
                             struct hearsay_response *out_response);

/* The fixture's client: connects and is greeted; again, if it was dropped. */
void faults_connect_peer(struct faults_fixture *fixture);
void faults_reconnect_if_dropped(struct faults_fixture *fixture);

/* Asks while nothing fails. The answer is borrowed until the next one. */
void faults_ask(struct faults_fixture *fixture, const struct hearsay_request *request,
                struct hearsay_response *out_response);
void faults_deposit_messages(struct faults_fixture *fixture);

/* Every place, and a sample of them where there are thousands. */
unsigned faults_next_place(unsigned nth);

/* Whether it is an error that memory or storage that fails may lead to. */
bool faults_says_failure(const struct hearsay_response *response);
