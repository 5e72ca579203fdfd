/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hearsay_watch against a server that a test scripts: how it comes again, after what it saw, with
 * its resume token; how long it waits; what it gives to its caller, and what ends it. Waits take no
 * time: the clock and the pause of client/call/watch.c are the test's (--wrap).
 */
#include <poll.h>

#include "client/now.h"
#include "tests/lib/check.h"
#include "tests/lib/encode.h"
#include "tests/lib/fake_server.h"

enum { TIMEOUT_MS = 60000, EVENTS_MAX = 64, LONG_MS = 60000, FIRST_MS = 1000 };

/* --- time ------------------------------------------------------------------------------------- */

static int64_t clock_offset_ms;

int64_t __real_now_monotonic_ms(void);
int64_t __wrap_now_monotonic_ms(void);
int __real_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms);

int64_t __wrap_now_monotonic_ms(void)
{
    return __real_now_monotonic_ms() + clock_offset_ms;
}

/* Waiting for nothing but time is over at once. */
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    if (count > 0) {
        return __real_poll(fds, count, timeout_ms);
    }
    clock_offset_ms += timeout_ms;
    return 0;
}

/* --- what the server does --------------------------------------------------------------------- */

/* One connection: what is answered to Hello and to Watch, and what is pushed then. */
struct scene {
    uint8_t store;             /* first byte of the store's id */
    enum hearsay_code dropped; /* told in Welcome; 0: nothing */
    bool hangs_up;             /* instead of a Welcome */
    enum hearsay_code refusal; /* of Watch; 0: none */
    uint64_t retry_after_ms;   /* of that */
    uint64_t seq;              /* of Watching */
    uint64_t pushes[8];        /* then; 0: no more */
};

struct play {
    const struct scene *scenes;
    unsigned count;
    /* What each connection asked, by the server's thread; read when that has ended. */
    uint64_t after_seq[EVENTS_MAX];
    uint8_t token[EVENTS_MAX]; /* first byte; 0: none */
    unsigned watched;          /* connections that came as far as Watch */
};

static bool welcome(struct fake_peer *peer, const struct scene *scene,
                    const struct hearsay_request *hello)
{
    static uint8_t store_id[LIMIT_ID_BYTES];
    uint8_t token[16] = {(uint8_t)(peer->number + 1)};
    struct hearsay_response response = {.id = hello->id, .kind = HEARSAY_RESPONSE_WELCOME};

    response.welcome = fake_welcome(8);
    store_id[0] = scene->store;
    response.welcome.store_id.data = store_id;
    response.welcome.resume_token = (struct hearsay_bytes){token, sizeof(token)};
    if (scene->dropped != 0) {
        response.welcome.has_dropped = true;
        msg_error_set(&response.welcome.dropped, scene->dropped, NULL, "the reason");
    }
    return fake_send(peer, &response);
}

static bool answer_watch(struct fake_peer *peer, const struct scene *scene, uint64_t id)
{
    struct hearsay_response response = {.id = id, .kind = HEARSAY_RESPONSE_WATCHING};

    response.watching.watch_id = 7;
    response.watching.seq = scene->seq;
    if (scene->refusal != 0) {
        response = fake_error(id, scene->refusal, scene->retry_after_ms);
    }
    return fake_send(peer, &response);
}

static bool push(struct fake_peer *peer, uint64_t seq)
{
    static const uint8_t id[LIMIT_ID_BYTES] = "an id of 16 by.";
    struct hearsay_response response = {.kind = HEARSAY_RESPONSE_MATCH};

    response.match.watch_id = 7;
    response.match.seq = seq;
    response.match.result.id = (struct hearsay_bytes){id, LIMIT_ID_BYTES};
    return fake_send(peer, &response);
}

static void act(struct fake_peer *peer, void *context)
{
    struct play *play = context;
    const struct scene *scene =
        &play->scenes[peer->number < play->count ? peer->number : play->count - 1];
    struct hearsay_request request;

    if (!fake_read(peer, &request)) {
        return;
    }
    if (request.hello.resume_token.count > 0) {
        play->token[peer->number] = request.hello.resume_token.data[0];
    }
    if (scene->hangs_up || !welcome(peer, scene, &request) || !fake_read(peer, &request)) {
        return;
    }
    play->after_seq[peer->number] = request.watch.after_seq;
    play->watched++;
    if (!answer_watch(peer, scene, request.id)) {
        return;
    }
    for (unsigned i = 0; i < 8 && scene->pushes[i] != 0; i++) {
        if (!push(peer, scene->pushes[i])) {
            return;
        }
    }
}

/* --- what the caller is told ------------------------------------------------------------------ */

struct told {
    uint64_t seqs[EVENTS_MAX];
    unsigned count;
    uint64_t last; /* after this one it ends it */
    int waits[EVENTS_MAX];
    unsigned losses;
    unsigned losses_max; /* after so many it ends it; 0: never */
    int dropped;         /* code of the last such reason */
    struct hearsay_filter filter;
    struct hearsay_query_part part;
    int prepare_status;
};

static int on_prepare(void *context, struct hearsay *server, struct hearsay_query *query,
                      struct hearsay_error *error)
{
    struct told *told = context;
    const char *label = "topic:tea";

    (void)server;
    if (told->prepare_status != HEARSAY_OK) {
        memset(error, 0, sizeof(*error));
        error->status = told->prepare_status;
        return told->prepare_status;
    }
    assert_int_equal(encode_labels("v2:512/4", NULL, &label, 1, &told->filter, error), 0);
    told->part.filter = hearsay_filter_bytes(&told->filter);
    query->parts = &told->part;
    query->part_count = 1;
    return HEARSAY_OK;
}

static bool on_match(void *context, const struct hearsay *server, const struct hearsay_match *match)
{
    struct told *told = context;

    (void)server;
    assert_true(told->count < EVENTS_MAX);
    told->seqs[told->count++] = match->seq;
    return match->seq != told->last;
}

static void on_dropped(void *context, const struct hearsay_error *why)
{
    ((struct told *)context)->dropped = (int)why->code;
}

static bool on_lost(void *context, const struct hearsay_error *why, int retry_ms)
{
    struct told *told = context;

    assert_int_not_equal(why->status, HEARSAY_OK);
    assert_true(told->losses < EVENTS_MAX);
    told->waits[told->losses++] = retry_ms;
    return told->losses != told->losses_max;
}

/* Watches until a callback ends it, or it fails; the server's thread has ended then. */
static int perform(struct play *play, struct told *told, uint64_t after_seq,
                   struct hearsay_error *out_error)
{
    struct fake_server server;
    struct hearsay_watch watch = {
        .connection = {.agent = "test/1", .timeout_ms = TIMEOUT_MS},
        .after_seq = after_seq,
        .context = told,
        .prepare = on_prepare,
        .match = on_match,
        .dropped = on_dropped,
        .lost = on_lost,
    };

    fake_server_listen(&server, act, play);
    watch.connection.server = server.path;
    const int status = hearsay_watch(&watch, out_error);
    fake_server_stop(&server);
    return status;
}

static void expect_seqs(const struct told *told, const uint64_t *seqs, unsigned count)
{
    assert_int_equal(told->count, count);
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(told->seqs[i], seqs[i]);
    }
}

/* --- tests ------------------------------------------------------------------------------------ */

/* It comes again after what it saw, with the token of the last Welcome; what is pushed again is not
 * given again, and why it was dropped is. */
TEST(test_comes_again)
{
    static const struct scene scenes[] = {
        {.seq = 10, .pushes = {11, 12}},
        {.hangs_up = true},
        {.dropped = HEARSAY_CODE_QUOTA, .seq = 14, .pushes = {12, 13, 13, 14}},
        {.seq = 14, .pushes = {13, 14, 15}},
    };
    static const uint64_t expected[] = {11, 12, 13, 14, 15};
    struct play play = {.scenes = scenes, .count = 4};
    struct told told = {.last = 15};

    assert_int_equal(perform(&play, &told, HEARSAY_NO_SEQ, NULL), HEARSAY_OK);
    expect_seqs(&told, expected, 5);
    assert_int_equal(play.watched, 3);
    assert_int_equal(play.after_seq[0], UINT64_MAX);
    assert_int_equal(play.after_seq[2], 12);
    assert_int_equal(play.after_seq[3], 14);
    assert_int_equal(play.token[0], 0);
    assert_int_equal(play.token[1], 1);
    assert_int_equal(play.token[2], 1); /* the second one gave none */
    assert_int_equal(play.token[3], 3);
    assert_int_equal(told.dropped, HEARSAY_CODE_QUOTA);
    assert_int_equal(told.losses, 3);
}

/* Nothing came before the connection was lost: it goes on after what Watching said. */
TEST(test_after_watching)
{
    static const struct scene scenes[] = {
        {.seq = 20},
        {.seq = 22, .pushes = {21, 22}},
    };
    static const uint64_t expected[] = {21, 22};
    struct play play = {.scenes = scenes, .count = 2};
    struct told told = {.last = 22};

    assert_int_equal(perform(&play, &told, HEARSAY_NO_SEQ, NULL), HEARSAY_OK);
    expect_seqs(&told, expected, 2);
    assert_int_equal(play.after_seq[1], 20);
}

/* Another store has numbers of its own: all that is in it is given. One that was set back goes on
 * from where it is. */
TEST(test_other_stores)
{
    static const struct scene scenes[] = {
        {.store = 1, .seq = 100, .pushes = {101}},
        {.store = 2, .seq = 3, .pushes = {1, 2, 3}},
        {.store = 2, .seq = 2, .pushes = {3, 4}},
    };
    static const uint64_t expected[] = {101, 1, 2, 3, 3, 4};
    struct play play = {.scenes = scenes, .count = 3};
    struct told told = {.last = 4};

    assert_int_equal(perform(&play, &told, 100, NULL), HEARSAY_OK);
    expect_seqs(&told, expected, 6);
    assert_int_equal(play.after_seq[0], 100);
    assert_int_equal(play.after_seq[1], 0);
    assert_int_equal(play.after_seq[2], 3);
}

/* A wait is a random time from 1 to 2 s. Both bounds double, up to 30 and 60 s; after a success
 * they begin anew. Not all first waits are equal: clients of a server that starts again would come
 * back together. */
TEST(test_backs_off)
{
    enum { FAILURES = 10 };
    struct scene scenes[FAILURES + 3] = {{.seq = 1}};
    struct play play = {.scenes = scenes, .count = FAILURES + 3};
    struct told told = {.losses_max = FAILURES + 2};
    int64_t most_ms = 2 * FIRST_MS;
    int64_t sum_ms = 0;

    for (unsigned i = 1; i <= FAILURES; i++) {
        scenes[i].hangs_up = true;
    }
    scenes[FAILURES + 1].seq = 1; /* and is lost again */
    const int64_t before_ms = clock_offset_ms;
    assert_int_equal(perform(&play, &told, HEARSAY_NO_SEQ, NULL), HEARSAY_OK);
    assert_int_equal(told.losses, FAILURES + 2);
    for (unsigned i = 0; i <= FAILURES; i++) {
        assert_true(told.waits[i] <= most_ms);
        assert_true(told.waits[i] >= most_ms / 2 && told.waits[i] >= FIRST_MS);
        sum_ms += told.waits[i];
        most_ms = 2 * most_ms < LONG_MS ? 2 * most_ms : LONG_MS;
    }
    assert_int_equal(most_ms, LONG_MS);
    assert_in_range(told.waits[FAILURES + 1], FIRST_MS, 2 * FIRST_MS);
    /* A bound of a wait by chance: 1 in 1,001. All of three: 1 in 10^9. */
    assert_true(told.waits[0] % FIRST_MS != 0 || told.waits[1] % FIRST_MS != 0 ||
                told.waits[FAILURES + 1] % FIRST_MS != 0);
    /* It has waited for what it said, less what really passed. */
    assert_true(clock_offset_ms - before_ms > 3 * sum_ms / 4);
    assert_true(clock_offset_ms - before_ms <= sum_ms);
}

/* A refusal that may pass is waited for as long as the server says, up to 60 s. */
TEST(test_retry_after)
{
    static const struct scene scenes[] = {
        {.seq = 1},
        {.refusal = HEARSAY_CODE_RATE_LIMITED, .retry_after_ms = 7000},
        {.refusal = HEARSAY_CODE_QUOTA, .retry_after_ms = 3600 * 1000},
        {.seq = 2, .pushes = {2}},
    };
    static const uint64_t expected[] = {2};
    struct play play = {.scenes = scenes, .count = 4};
    struct told told = {.last = 2};

    assert_int_equal(perform(&play, &told, HEARSAY_NO_SEQ, NULL), HEARSAY_OK);
    expect_seqs(&told, expected, 1);
    assert_int_equal(told.losses, 3);
    assert_int_equal(told.waits[1], 7000);
    assert_int_equal(told.waits[2], LONG_MS);
    assert_int_equal(play.after_seq[3], 1); /* refusals change nothing */
}

/* What trying again does not mend is returned; as is all that fails before the first success. */
TEST(test_what_ends_it)
{
    static const struct scene invalid[] = {{.seq = 1}, {.refusal = HEARSAY_CODE_INVALID}};
    static const struct scene busy[] = {{.refusal = HEARSAY_CODE_QUOTA}};
    static const struct scene nobody[] = {{.hangs_up = true}};
    struct play plays[] = {
        {.scenes = invalid, .count = 2},
        {.scenes = busy, .count = 1},
        {.scenes = nobody, .count = 1},
    };
    static const int statuses[] = {HEARSAY_ERR_REFUSED, HEARSAY_ERR_REFUSED, HEARSAY_ERR_LOST};
    static const unsigned losses[] = {1, 0, 0};

    for (unsigned i = 0; i < 3; i++) {
        struct told told = {.count = 0};
        struct hearsay_error error;

        memset(&error, 0, sizeof(error));
        assert_int_equal(perform(&plays[i], &told, HEARSAY_NO_SEQ, &error), statuses[i]);
        assert_int_equal(error.status, statuses[i]);
        assert_int_equal(told.losses, losses[i]);
        assert_int_equal(told.count, 0);
    }
    struct play play = {.scenes = invalid, .count = 1};
    struct told told = {.prepare_status = HEARSAY_ERR_ARGUMENT};
    struct hearsay_error error;
    assert_int_equal(perform(&play, &told, HEARSAY_NO_SEQ, &error), HEARSAY_ERR_ARGUMENT);
    assert_int_equal(play.watched, 0);
}
