/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fault/daemon_faults.h"

#include <poll.h>
#include <signal.h>
#include <time.h>

#include "tests/lib/check.h"
#include "tests/lib/fault_calls.h"

const struct fault_case faults_cases[FAULTS_CASES] = {
    {"no memory once", FAULT_ALLOC | FAULT_MEMORY, 1},
    {"no memory", FAULT_ALLOC | FAULT_MEMORY, FAULT_FOR_EVER},
    {"storage full once", FAULT_WRITE, 1},
    {"storage full", FAULT_WRITE, FAULT_FOR_EVER},
    {"write error once", FAULT_WRITE_ERROR, 1},
    {"write error", FAULT_WRITE_ERROR, FAULT_FOR_EVER},
    {"sync error", FAULT_SYNC, FAULT_FOR_EVER},
    {"truncate error", FAULT_TRUNCATE, FAULT_FOR_EVER},
    {"read error once", FAULT_READ, 1},
    {"read error", FAULT_READ, FAULT_FOR_EVER},
    {"no opening", FAULT_OPEN, FAULT_FOR_EVER},
    {"no descriptor once", FAULT_DESCRIPTOR, 1},
    {"no descriptor three times", FAULT_DESCRIPTOR, 3},
    {"no descriptor", FAULT_DESCRIPTOR, FAULT_FOR_EVER},
    {"no thread once", FAULT_THREAD, 1},
    {"no thread", FAULT_THREAD, FAULT_FOR_EVER},
};
_Static_assert(sizeof(faults_cases) / sizeof(faults_cases[0]) == FAULTS_CASES,
               "as the header says");

unsigned faults_injected;

/* --- time ------------------------------------------------------------------------------------- */

/* Our own code's clock, which the test moves on (--wrap). */
int64_t faults_clock_offset_s;

int __real_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);

int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
    const int rc = __real_clock_gettime(clock, out);

    out->tv_sec += (time_t)faults_clock_offset_s;
    return rc;
}

int64_t faults_real_ms(void)
{
    struct timespec now;

    (void)__real_clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* --- fixture ---------------------------------------------------------------------------------- */

void faults_write_configuration(const struct faults_fixture *fixture, const char *more)
{
    FILE *file = fopen(fixture->file, "w");

    assert_non_null(file);
    /* No cache, so that payloads are read; and no filter of calls for the whole test. */
    assert_true(fprintf(file,
                        "[daemon]\ndata = %s\nlisten = %s\ndurability = relaxed\n"
                        "log_level = error\ncall_filter = no\n[limits]\ncache = 0\n%s",
                        fixture->directory, fixture->socket, more) > 0);
    assert_int_equal(fclose(file), 0);
}

int faults_start(struct faults_fixture *fixture)
{
    return server_start(&fixture->server, &fixture->options, &fixture->config, fixture->reason);
}

void faults_stop(struct faults_fixture *fixture)
{
    assert_int_equal(raise(SIGTERM), 0);
    server_run(&fixture->server);
}

/* A turn of the loop, in which things may fail. */
void faults_turn(struct faults_fixture *fixture, const struct peer *peer)
{
    fault_vfs_exempt(false);
    loop_turn(&fixture->server.loop.uv, peer->fd, POLLIN);
    fault_vfs_exempt(true);
}

/* Sends what the peer has, and waits for one answer, or for the end of the connection. */
enum outcome faults_exchange(struct faults_fixture *fixture, struct peer *peer,
                             struct hearsay_response *out_response)
{
    const int64_t begin_ms = faults_real_ms();

    peer_send(peer, &fixture->server.loop.uv);
    while (!peer_take(peer, out_response)) {
        if (peer->ended) {
            return OUTCOME_DROPPED;
        }
        if (faults_real_ms() - begin_ms > PATIENCE_MS) {
            (void)fault_vfs_disarm();
            fail_msg("no answer came, and the connection was not dropped");
        }
        faults_turn(fixture, peer);
    }
    return OUTCOME_ANSWERED;
}

void faults_connect_peer(struct faults_fixture *fixture)
{
    struct hearsay_response response;

    peer_init(&fixture->peer, loop_connect_unix(fixture->socket));
    assert_true(fixture->peer.fd >= 0);
    peer_put_hello(&fixture->peer);
    assert_int_equal(faults_exchange(fixture, &fixture->peer, &response), OUTCOME_ANSWERED);
    assert_int_equal(response.kind, HEARSAY_RESPONSE_WELCOME);
}

void faults_reconnect_if_dropped(struct faults_fixture *fixture)
{
    struct hearsay_response response;

    (void)peer_take(&fixture->peer, &response); /* whether its end has come */
    if (fixture->peer.ended) {
        peer_deinit(&fixture->peer);
        faults_connect_peer(fixture);
    }
}

/* Asks while nothing fails. The answer is borrowed until the next one. */
void faults_ask(struct faults_fixture *fixture, const struct hearsay_request *request,
                struct hearsay_response *out_response)
{
    peer_put(&fixture->peer, request);
    assert_int_equal(faults_exchange(fixture, &fixture->peer, out_response), OUTCOME_ANSWERED);
    assert_int_equal(out_response->id, request->id);
}

void faults_deposit_messages(struct faults_fixture *fixture)
{
    struct hearsay_response response;

    for (uint8_t i = 1; i <= MESSAGES; i++) {
        faults_ask(fixture, server_fixture_deposit(i, i), &response);
        assert_int_equal(response.kind, HEARSAY_RESPONSE_DEPOSITED);
    }
}

int faults_setup(void **state)
{
    struct faults_fixture *fixture = calloc(1, sizeof(*fixture));

    assert_non_null(fixture);
    loop_directory_make(fixture->directory);
    (void)snprintf(fixture->file, sizeof(fixture->file), "%s/conf", fixture->directory);
    (void)snprintf(fixture->socket, sizeof(fixture->socket), "%s/socket", fixture->directory);
    (void)snprintf(fixture->backup, sizeof(fixture->backup), "%s/backup", fixture->directory);
    fixture->options.common.config = fixture->file;
    faults_write_configuration(fixture, "");
    assert_int_equal(settings_config_load(&options_program, &fixture->options, &fixture->config,
                                          fixture->reason),
                     0);
    *state = fixture;
    return 0;
}

int faults_setup_started(void **state)
{
    struct faults_fixture *fixture;

    (void)faults_setup(state);
    fixture = *state;
    assert_int_equal(faults_start(fixture), 0);
    faults_connect_peer(fixture);
    faults_deposit_messages(fixture);
    return 0;
}

int faults_teardown(void **state)
{
    struct faults_fixture *fixture = *state;

    loop_directory_remove(fixture->directory);
    free(fixture);
    return 0;
}

int faults_teardown_started(void **state)
{
    struct faults_fixture *fixture = *state;

    peer_deinit(&fixture->peer);
    faults_stop(fixture);
    return faults_teardown(state);
}

/* Every place, and a sample of them where there are thousands. */
unsigned faults_next_place(unsigned nth)
{
    return nth + 1 + nth / 20;
}

bool faults_says_failure(const struct hearsay_response *response)
{
    return response->kind == HEARSAY_RESPONSE_ERROR &&
           (response->error.code == HEARSAY_CODE_STORAGE ||
            response->error.code == HEARSAY_CODE_INTERNAL);
}
