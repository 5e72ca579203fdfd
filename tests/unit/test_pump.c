/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pump: answers in the order of the lines whatever the server does, nothing lost where the
 * connection is, and an end to all trying.
 */
#include <unistd.h>

#include "client/cli/base/cli.h"
#include "client/cli/input/pump.h"
#include "tests/lib/check.h"
#include "tests/lib/fake_server.h"

struct fixture {
    struct pump_work work; /* first: the pump hands it back */
    struct cli cli;
    struct fake_server server;
    struct lines lines;
    struct pump pump;
    int input; /* the end that the test writes to; -1: closed */
    uint64_t given[4096];
    size_t given_count;
    size_t refused_count;
    char said[400];     /* what the last run complained about, its beginning */
    size_t interactive; /* lines that are written only after the answer to the one before */
};

static struct fixture *fixture_of(struct pump_work *work)
{
    return (struct fixture *)(void *)work;
}

/* A line that says "bad" needs no server. */
static enum pump_verdict submit(struct pump_work *work, struct pump_item *item)
{
    if (strcmp(item->line, "bad") == 0) {
        return PUMP_IS_DONE;
    }
    switch (fake_submit_ping(fixture_of(work)->cli.connection, &item->ticket, NULL)) {
    case HEARSAY_OK:
        return PUMP_IS_SENT;
    case HEARSAY_FULL:
        return PUMP_IS_FULL;
    default:
        return PUMP_IS_LOST;
    }
}

static enum pump_verdict reply(struct pump_work *work, struct pump_item *item,
                               const struct hearsay_reply *got)
{
    (void)item;
    fixture_of(work)->refused_count += got->response.kind == HEARSAY_RESPONSE_ERROR ? 1 : 0;
    return PUMP_IS_DONE;
}

static enum pump_verdict given(struct pump_work *work, struct pump_item *item)
{
    struct fixture *fixture = fixture_of(work);
    fixture->given[fixture->given_count++] = item->number;
    if (fixture->interactive > 0) {
        fixture->interactive--;
        assert_int_equal(write(fixture->input, "more\n", 5), 5);
    } else if (fixture->input >= 0) {
        assert_int_equal(close(fixture->input), 0);
        fixture->input = -1;
    }
    return PUMP_IS_DONE;
}

static void fixture_init(struct fixture *fixture, fake_script *script, void *context)
{
    memset(fixture, 0, sizeof(*fixture));
    fixture->work.submit = submit;
    fixture->work.reply = reply;
    fixture->work.given = given;
    fake_server_listen(&fixture->server, script, context);
    fixture->cli.server = fixture->server.path;
    fixture->cli.timeout_ms = 60000;
    FILE *sink = tmpfile();
    assert_non_null(sink);
    out_init(&fixture->cli.out, sink);
    out_init(&fixture->cli.err, sink);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    fixture->input = ends[1];
    lines_init(&fixture->lines, ends[0]);
    assert_int_equal(connect_server(&fixture->cli), CLI_DONE);
    assert_int_equal(pump_init(&fixture->pump, &fixture->cli, &fixture->work, &fixture->lines),
                     CLI_DONE);
    fixture->pump.backoff_first_ms = 0;
}

static void fixture_write(struct fixture *fixture, const char *line, size_t times)
{
    for (size_t i = 0; i < times; i++) {
        assert_int_equal(write(fixture->input, line, strlen(line)), (ssize_t)strlen(line));
    }
}

static int fixture_run(struct fixture *fixture)
{
    if (fixture->interactive == 0) {
        assert_int_equal(close(fixture->input), 0);
        fixture->input = -1;
    }
    return pump_run(&fixture->pump);
}

static void fixture_deinit(struct fixture *fixture)
{
    pump_deinit(&fixture->pump);
    hearsay_close(fixture->cli.connection);
    assert_int_equal(close(fixture->lines.fd), 0);
    lines_deinit(&fixture->lines);
    rewind(fixture->cli.err.stream);
    fixture->said[fread(fixture->said, 1, sizeof(fixture->said) - 1, fixture->cli.err.stream)] =
        '\0';
    assert_int_equal(fclose(fixture->cli.out.stream), 0);
    fake_server_stop(&fixture->server);
}

static void check_given(const struct fixture *fixture, size_t count)
{
    assert_int_equal(fixture->given_count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(fixture->given[i], i + 1);
    }
}

static bool answer(struct fake_peer *peer, uint64_t id)
{
    struct hearsay_response response = {.id = id, .kind = HEARSAY_RESPONSE_PONG};
    return fake_send(peer, &response);
}

/* Holds every second answer back until the next request. */
static void script_swaps(struct fake_peer *peer, void *context)
{
    (void)context;
    struct hearsay_request first;
    struct hearsay_request second;
    if (!fake_greet(peer, 16)) {
        return;
    }
    while (fake_read(peer, &first) && fake_read(peer, &second)) {
        uint64_t id = first.id;
        if (!answer(peer, second.id) || !answer(peer, id)) {
            return;
        }
    }
}

TEST(test_order)
{
    struct fixture fixture;
    fixture_init(&fixture, script_swaps, NULL);
    fixture_write(&fixture, "line\n", 1000);
    fixture_write(&fixture, "bad\nbad\n", 10);
    fixture_write(&fixture, "line\n", 1000);
    assert_int_equal(fixture_run(&fixture), CLI_DONE);
    check_given(&fixture, 2020);
    fixture_deinit(&fixture);
}

static void script_echoes(struct fake_peer *peer, void *context)
{
    (void)context;
    struct hearsay_request request;
    if (!fake_greet(peer, 16)) {
        return;
    }
    while (fake_read(peer, &request) && answer(peer, request.id)) {
    }
}

/* A program that waits for each answer before it writes the next line gets it. */
TEST(test_interactive)
{
    struct fixture fixture;
    fixture_init(&fixture, script_echoes, NULL);
    fixture.interactive = 20;
    fixture_write(&fixture, "line\n", 1);
    assert_int_equal(fixture_run(&fixture), CLI_DONE);
    check_given(&fixture, 21);
    fixture_deinit(&fixture);
}

/* Answers three requests a connection, then hangs up. */
static void script_drops(struct fake_peer *peer, void *context)
{
    (void)context;
    struct hearsay_request request;
    if (!fake_greet(peer, 16)) {
        return;
    }
    for (int i = 0; i < 3; i++) {
        if (!fake_read(peer, &request) || !answer(peer, request.id)) {
            return;
        }
    }
}

/* A connection that breaks again and again loses nothing, as long as it gets on between. */
TEST(test_reconnect)
{
    struct fixture fixture;
    fixture_init(&fixture, script_drops, NULL);
    fixture_write(&fixture, "line\n", 100);
    assert_int_equal(fixture_run(&fixture), CLI_DONE);
    check_given(&fixture, 100);
    fixture_deinit(&fixture);
}

static void script_hangs_up(struct fake_peer *peer, void *context)
{
    (void)context;
    (void)fake_greet(peer, 16);
}

/* One that never gets on is given up. */
TEST(test_reconnect_bound)
{
    struct fixture fixture;
    fixture_init(&fixture, script_hangs_up, NULL);
    fixture_write(&fixture, "line\n", 5);
    assert_int_equal(fixture_run(&fixture), CLI_CONNECTION);
    check_given(&fixture, 0);
    assert_int_equal(fixture.pump.ring[0].number, 1);
    fixture_deinit(&fixture);
}

/* Refuses with a code, *context times a connection, then answers. */
struct refusals {
    enum hearsay_code code;
    uint64_t retry_after_ms;
    unsigned count;
};

static void script_refuses(struct fake_peer *peer, void *context)
{
    struct refusals *refusals = context;
    struct hearsay_request request;
    if (!fake_greet(peer, 4)) {
        return;
    }
    while (fake_read(peer, &request)) {
        struct hearsay_response response = {.id = request.id, .kind = HEARSAY_RESPONSE_PONG};
        if (refusals->count > 0) {
            refusals->count--;
            response = fake_error(request.id, refusals->code, refusals->retry_after_ms);
        }
        if (!fake_send(peer, &response)) {
            return;
        }
    }
}

static int run_refused(struct fixture *fixture, struct refusals refusals, size_t lines)
{
    fixture_init(fixture, script_refuses, &refusals);
    fixture_write(fixture, "line\n", lines);
    int code = fixture_run(fixture);
    fixture_deinit(fixture);
    return code;
}

/* A busy server is waited for; a full one, or one that stays busy, is not waited for for ever. */
TEST(test_busy)
{
    struct fixture fixture;
    struct refusals refusals = {HEARSAY_CODE_RATE_LIMITED, 1, 20};
    assert_int_equal(run_refused(&fixture, refusals, 50), CLI_DONE);
    check_given(&fixture, 50);
    assert_non_null(strstr(fixture.said, "going on as fast as it allows"));
    assert_int_equal(fixture.refused_count, 0);
    refusals = (struct refusals){HEARSAY_CODE_SHUTTING_DOWN, 0, 5};
    assert_int_equal(run_refused(&fixture, refusals, 10), CLI_DONE);
    check_given(&fixture, 10);
    refusals = (struct refusals){HEARSAY_CODE_STORAGE, 1, 100000};
    assert_int_equal(run_refused(&fixture, refusals, 10), CLI_REFUSED);
    refusals = (struct refusals){HEARSAY_CODE_QUOTA, 0, 100000};
    assert_int_equal(run_refused(&fixture, refusals, 10), CLI_REFUSED);
    /* A place that is free soon is waited for; one that is free in an hour is not. */
    refusals = (struct refusals){HEARSAY_CODE_QUOTA, 20, 5};
    assert_int_equal(run_refused(&fixture, refusals, 10), CLI_DONE);
    check_given(&fixture, 10);
    char *first = strstr(fixture.said, "waiting and trying again");
    assert_true(first != NULL && strstr(first + 1, "waiting") == NULL); /* once in five times */
    refusals = (struct refusals){HEARSAY_CODE_QUOTA, 3600000, 1};
    assert_int_equal(run_refused(&fixture, refusals, 10), CLI_REFUSED);
    /* Any other refusal is an answer to its line. */
    refusals = (struct refusals){HEARSAY_CODE_INVALID, 0, 3};
    assert_int_equal(run_refused(&fixture, refusals, 10), CLI_DONE);
    check_given(&fixture, 10);
    assert_int_equal(fixture.refused_count, 3);
}

/* Answers so many at once, and one more each 5 ms; refuses the others. */
struct limited {
    double tokens;
    int64_t at_ms;
    unsigned refused;
};

static void script_limits(struct fake_peer *peer, void *context)
{
    struct limited *limited = context;
    struct hearsay_request request;
    if (!fake_greet(peer, 1024)) {
        return;
    }
    limited->at_ms = pump_now_ms();
    while (fake_read(peer, &request)) {
        struct hearsay_response response = {.id = request.id, .kind = HEARSAY_RESPONSE_PONG};
        int64_t now_ms = pump_now_ms();
        limited->tokens += (double)(now_ms - limited->at_ms) / 5;
        limited->at_ms = now_ms;
        if (limited->tokens >= 1) {
            limited->tokens -= 1;
        } else {
            limited->refused++;
            response = fake_error(request.id, HEARSAY_CODE_RATE_LIMITED, 5);
        }
        if (!fake_send(peer, &response)) {
            return;
        }
    }
}

/* Where the rate is limited, all get through, and not many times as many are sent in vain. */
TEST(test_limited)
{
    struct fixture fixture;
    struct limited limited = {.tokens = 10};
    fixture_init(&fixture, script_limits, &limited);
    fixture_write(&fixture, "line\n", 200);
    assert_int_equal(fixture_run(&fixture), CLI_DONE);
    check_given(&fixture, 200);
    assert_int_equal(fixture.refused_count, 0);
    fixture_deinit(&fixture);
    /* The first 190 are under way before the first refusal; later about one for each answer. */
    assert_in_range(limited.refused, 100, 190 + 2 * 190);
}

/* So slow that a pause of 10 ms, found when it looks for what to send, is over when it waits. */
static void show_slowly(struct pump_work *work, const struct lines *lines, bool hide)
{
    (void)work;
    (void)lines;
    (void)hide;
    (void)usleep(6000);
}

/* A pause that is over already is not waited for. */
TEST(test_short_pause)
{
    struct fixture fixture;
    struct refusals refusals = {HEARSAY_CODE_RATE_LIMITED, 10, 5};
    fixture_init(&fixture, script_refuses, &refusals);
    fixture.work.show = show_slowly;
    fixture_write(&fixture, "line\n", 1);
    assert_int_equal(fixture_run(&fixture), CLI_DONE);
    check_given(&fixture, 1);
    fixture_deinit(&fixture);
}
