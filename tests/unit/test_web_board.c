/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The board against a hearsayd that the test scripts: reads through one connection, with a cache
 * and without asking twice; writes on behalf of phones, and what becomes of them.
 */
#include "client/web/board.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/web/board/answer.h"
#include "client/web/board/ask.h"
#include "client/web/board/house.h"
#include "client/web/board/pool.h"
#include "core/base/err.h"
#include "tests/lib/check.h"
#include "tests/lib/fake_server.h"

enum { GUARD_MS = 60000, PER_PAGE = 2, CACHE_MS = 60000, VIEWS = 8, CAPABILITIES = 3 };

/* --- hearsayd --------------------------------------------------------------------------------- */

/* What the threads of hearsayd and the test share, under the lock. */
struct world {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int house_fd;       /* the connection without on_behalf; -1: none */
    unsigned hellos;    /* connections on behalf of phones */
    uint8_t phones[32]; /* last bytes of their addresses */
    unsigned queries;
    bool is_capped; /* one sender has too many messages */
    bool is_ever_newer;
    unsigned gets;
    unsigned places;
    unsigned watches;   /* begun, less ended */
    uint64_t watch_id;  /* of the last one */
    uint64_t after_seq; /* of the last one */
    unsigned deposits;  /* last bytes of the phones, in the order of arrival */
    uint8_t depositors[32];
    bool stalls;     /* deposits wait until this is false */
    bool is_deaf;    /* to on_behalf */
    bool drops_next; /* the next connection on behalf is closed after the next request */
    enum msg_error_code refusal; /* of writes; 0: none */
};

static void world_init(struct world *world)
{
    memset(world, 0, sizeof(*world));
    world->house_fd = -1;
    assert_int_equal(pthread_mutex_init(&world->lock, NULL), 0);
    assert_int_equal(pthread_cond_init(&world->changed, NULL), 0);
}

static void send_all(int fd, const struct msg_response *response)
{
    struct bytes output;
    bytes_init(&output, alloc_system());
    fake_encode(response, &output);
    (void)!send(fd, output.data, output.count, MSG_NOSIGNAL); /* small: goes out at once */
    bytes_deinit(&output);
}

static void push_match(struct world *world, uint64_t seq)
{
    static const uint8_t id[LIMIT_ID_BYTES] = "a new message..";
    struct msg_response response = {.kind = MSG_RESPONSE_MATCH};
    response.match.watch_id = world->watch_id;
    response.match.seq = seq;
    response.match.result.id = (struct msg_bytes){id, LIMIT_ID_BYTES};
    response.match.result.payload = (struct msg_bytes){(const uint8_t *)"new", 3};
    send_all(world->house_fd, &response);
}

static void push_here_change(struct world *world)
{
    struct msg_response response = {.kind = MSG_RESPONSE_HERE_CHANGED};
    response.here_changed.host = (struct msg_text){"default", 7};
    send_all(world->house_fd, &response);
}

static void answer_query(const struct world *world, const struct msg_request *request, int fd)
{
    static const uint8_t ids[3][LIMIT_ID_BYTES] = {"the third one..", "the second one.",
                                                   "the first one.."};
    static const struct msg_text types[] = {{"text/plain", 10},
                                            {HEARSAY_SEALED_TYPE, sizeof(HEARSAY_SEALED_TYPE) - 1},
                                            {"image/png", 9}};
    struct msg_response response = {.id = request->id, .kind = MSG_RESPONSE_RESULTS};
    struct msg_result results[3];
    memset(results, 0, sizeof(results));
    for (size_t i = 0; i < 3; i++) {
        results[i].id = (struct msg_bytes){ids[i], LIMIT_ID_BYTES};
        results[i].payload = (struct msg_bytes){(const uint8_t *)"hello", 5};
        results[i].media_type = types[i];
        results[i].union_count = 2;
        results[i].intersection_count = 1;
        results[i].deposited_ms = 1000 - (int64_t)i;
        if (world->is_ever_newer) {
            results[i].deposited_ms += 10 * (int64_t)world->queries;
        }
    }
    response.results.capped = world->is_capped;
    response.results.results = results;
    response.results.result_count = request->query.until_ms == INT64_MAX ? 3 : 0;
    send_all(fd, &response);
}

/* Answers what the house connection asks. Under the lock. */
static void answer_house(struct world *world, const struct msg_request *request, int fd)
{
    static const struct msg_text labels[] = {{"place:bar", 9}, {"place:hall", 10}};
    struct msg_response response = {.id = request->id};
    switch (request->kind) {
    case MSG_REQUEST_QUERY:
        world->queries++;
        answer_query(world, request, fd);
        return;
    case MSG_REQUEST_GET:
        world->gets++;
        response.kind = MSG_RESPONSE_GOT;
        response.got.id = request->get.id;
        response.got.payload = (struct msg_bytes){(const uint8_t *)"one", 3};
        break;
    case MSG_REQUEST_HERE:
        world->places++;
        response.kind = MSG_RESPONSE_HERE_LABELS;
        response.here_labels.labels = labels;
        response.here_labels.label_count = 2;
        break;
    case MSG_REQUEST_WATCH:
        world->watches++;
        world->after_seq = request->watch.after_seq;
        response.kind = MSG_RESPONSE_WATCHING;
        response.watching.watch_id = ++world->watch_id;
        response.watching.seq = 10;
        break;
    default:
        world->watches--;
        response.kind = MSG_RESPONSE_UNWATCHED;
        break;
    }
    send_all(fd, &response);
}

/* Answers what a phone writes. Under the lock. */
static void answer_phone(struct world *world, const struct msg_request *request, uint8_t phone,
                         int fd)
{
    struct msg_response response = {.id = request->id};
    if (request->kind == MSG_REQUEST_DEPOSIT) {
        world->depositors[world->deposits++ % 32] = phone;
        (void)pthread_cond_broadcast(&world->changed);
        while (world->stalls) {
            (void)pthread_cond_wait(&world->changed, &world->lock);
        }
    }
    if (world->refusal != 0) {
        response = fake_error(request->id, world->refusal, 5000);
    } else if (request->kind == MSG_REQUEST_DEPOSIT) {
        response = fake_deposited(request->id, false);
    } else {
        response.kind = request->kind == MSG_REQUEST_REPORT ? MSG_RESPONSE_REPORT_TAKEN
                                                            : MSG_RESPONSE_WITHDRAWN;
    }
    send_all(fd, &response);
}

static bool greet(struct fake_peer *peer, struct world *world, uint8_t *out_phone)
{
    static const struct msg_text capabilities[CAPABILITIES] = {
        {"deposit", 7}, {"query", 5}, {"on_behalf", 9}};
    struct msg_request request;
    if (!fake_read(peer, &request)) {
        return false;
    }
    struct msg_response response = {.id = request.id, .kind = MSG_RESPONSE_WELCOME};
    response.welcome = fake_welcome(100);
    response.welcome.limits.k_max = 100;
    response.welcome.limits.watches_per_session = 3;
    response.welcome.capabilities = capabilities;
    response.welcome.capability_count = world->is_deaf ? CAPABILITIES - 1 : CAPABILITIES;
    const struct msg_bytes *phone = &request.hello.on_behalf;
    *out_phone = phone->count > 0 ? phone->data[phone->count - 1] : 0;
    (void)pthread_mutex_lock(&world->lock);
    if (*out_phone == 0) {
        world->house_fd = peer->fd;
    } else {
        world->phones[world->hellos++ % 32] = *out_phone;
    }
    send_all(peer->fd, &response);
    (void)pthread_mutex_unlock(&world->lock);
    return true;
}

static void script(struct fake_peer *peer, void *context)
{
    struct world *world = context;
    struct msg_request request;
    uint8_t phone = 0;
    bool goes_on = greet(peer, world, &phone);
    while (goes_on && fake_read(peer, &request)) {
        (void)pthread_mutex_lock(&world->lock);
        if (phone != 0 && world->drops_next) {
            world->drops_next = false;
            goes_on = false;
        } else if (phone == 0) {
            answer_house(world, &request, peer->fd);
        } else {
            answer_phone(world, &request, phone, peer->fd);
        }
        (void)pthread_mutex_unlock(&world->lock);
    }
}

/* --- hearsay-web ------------------------------------------------------------------------------ */

struct fixture {
    struct world world;
    struct fake_server server;
    uv_loop_t loop;
    uv_timer_t guard;
    struct board *board;
};

static void on_guard(uv_timer_t *timer)
{
    (void)timer;
    (void)fprintf(stderr, "nothing happened for %d ms\n", GUARD_MS);
    abort();
}

static void turn(struct fixture *fixture)
{
    assert_int_equal(uv_timer_start(&fixture->guard, on_guard, GUARD_MS, 0), 0);
    (void)uv_run(&fixture->loop, UV_RUN_ONCE);
}

static void start_cached(struct fixture *fixture, unsigned upstreams, bool is_deaf,
                         uint32_t cache_ms)
{
    world_init(&fixture->world);
    fixture->world.is_deaf = is_deaf;
    fake_server_listen_many(&fixture->server, script, &fixture->world);
    assert_int_equal(uv_loop_init(&fixture->loop), 0);
    assert_int_equal(uv_timer_init(&fixture->loop, &fixture->guard), 0);
    const struct board_options options = {.loop = &fixture->loop,
                                          .server = fixture->server.path,
                                          .cache_ms = cache_ms,
                                          .per_page = PER_PAGE,
                                          .views = VIEWS,
                                          .upstreams = upstreams};
    assert_int_equal(board_new(&options, &fixture->board), 0);
    assert_false(board_is_connected(fixture->board));
    assert_null(board_welcome(fixture->board));
    while (!board_is_connected(fixture->board)) {
        turn(fixture);
    }
}

static void start(struct fixture *fixture, unsigned upstreams, bool is_deaf)
{
    start_cached(fixture, upstreams, is_deaf, CACHE_MS);
}

static void stop(struct fixture *fixture)
{
    board_stop(fixture->board);
    uv_close((uv_handle_t *)&fixture->guard, NULL);
    assert_int_equal(uv_run(&fixture->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&fixture->loop), 0);
    board_free(fixture->board);
    fake_server_stop(&fixture->server);
}

/* What a reader was told. */
struct told {
    unsigned count;
    enum board_outcome outcome;
    size_t messages;
    size_t sealed;
    bool has_older;
    bool is_text[PER_PAGE];
    char text[16];
    char place[64];
    int64_t age_ms;
    uint64_t retry_after_ms;
    unsigned order; /* among all that were told */
};

static unsigned told_count;

static void on_done(void *context, const struct board_reply *reply)
{
    struct told *told = context;
    told->count++;
    told->order = ++told_count;
    told->outcome = reply->outcome;
    told->retry_after_ms = reply->error != NULL ? reply->error->retry_after_ms : 0;
    if (reply->list != NULL) {
        told->messages = reply->list->count;
        told->sealed = reply->list->sealed;
        told->has_older = reply->list->has_older;
        told->age_ms = reply->list->age_ms;
        for (size_t i = 0; i < told->messages && i < PER_PAGE; i++) {
            told->is_text[i] = reply->list->messages[i].text != NULL;
        }
    }
    if (reply->message != NULL) {
        (void)snprintf(told->text, sizeof(told->text), "%.*s", (int)reply->message->bytes,
                       reply->message->text);
    }
    if (reply->place != NULL) {
        (void)snprintf(told->place, sizeof(told->place), "%s", reply->place);
    }
}

static void wait_told(struct fixture *fixture, const struct told *told)
{
    while (told->count == 0) {
        turn(fixture);
    }
}

static struct view tea_view(void)
{
    struct view view = {.before_ms = INT64_MAX, .topics = {"tea"}, .topic_count = 1};
    return view;
}

static struct told list(struct fixture *fixture, const struct view *view)
{
    struct told told = {.count = 0};
    board_list(fixture->board, view, NULL, on_done, &told);
    wait_told(fixture, &told);
    return told;
}

static struct http_address phone_address(uint8_t last)
{
    return (struct http_address){.family = 4, .bytes = {192, 0, 2, last}};
}

static const uint8_t some_id[HEARSAY_ID_BYTES] = {1};
static const uint8_t some_token[HEARSAY_TOKEN_BYTES] = {2};

static void leave(struct fixture *fixture, uint8_t phone, struct told *told)
{
    const struct view view = tea_view();
    const struct http_address client = phone_address(phone);
    const struct board_leave message = {
        .view = &view, .text = "hello", .bytes = 5, .id = some_id, .token = some_token};
    board_leave(fixture->board, &client, &message, on_done, told);
}

/* A number of the world, under its lock. */
static unsigned look(struct fixture *fixture, const unsigned *number)
{
    (void)pthread_mutex_lock(&fixture->world.lock);
    unsigned value = *number;
    (void)pthread_mutex_unlock(&fixture->world.lock);
    return value;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* A list is a page of what hearsayd answers, without sealed messages; only text is text. */
static void test_list(void **state)
{
    (void)state;
    struct fixture fixture;
    struct view view = tea_view();
    int64_t now_ms = 0;
    start(&fixture, 2, false);
    struct told told = list(&fixture, &view);
    assert_int_equal(told.outcome, BOARD_DONE);
    assert_int_equal(told.messages, 2);
    assert_int_equal(told.sealed, 1);
    assert_false(told.has_older);
    assert_true(told.is_text[0]);
    assert_false(told.is_text[1]);
    assert_string_equal(board_welcome(fixture.board)->agent, "fake/1");
    assert_true(board_now_ms(fixture.board, &now_ms));
    assert_true(now_ms >= 1700000000000);
    view.before_ms = 500;
    told = list(&fixture, &view);
    assert_int_equal(told.messages, 0);
    view.topic_count = 0; /* without labels: all messages */
    assert_int_equal(list(&fixture, &view).outcome, BOARD_DONE);
    (void)snprintf(view.host, sizeof(view.host), "attic");
    assert_int_equal(list(&fixture, &view).outcome, BOARD_REFUSED);
    stop(&fixture);
}

/* Where hearsayd leaves messages of one sender out, the page asks again for the newest ones, until
 * that changes nothing, or 8 times; and there may be older ones. */
static void test_capped_list(void **state)
{
    (void)state;
    struct fixture fixture;
    struct view view = tea_view();
    start(&fixture, 2, false);
    (void)pthread_mutex_lock(&fixture.world.lock);
    fixture.world.is_capped = true;
    (void)pthread_mutex_unlock(&fixture.world.lock);
    struct told told = list(&fixture, &view);
    assert_int_equal(told.messages, 2);
    assert_true(told.has_older);
    assert_int_equal(look(&fixture, &fixture.world.queries), 2);

    (void)pthread_mutex_lock(&fixture.world.lock);
    fixture.world.is_ever_newer = true;
    fixture.world.queries = 0;
    (void)pthread_mutex_unlock(&fixture.world.lock);
    view.topics[0][0] = 'p';
    told = list(&fixture, &view);
    assert_int_equal(told.outcome, BOARD_DONE);
    assert_true(told.has_older);
    assert_int_equal(look(&fixture, &fixture.world.queries), 1 + 8);
    stop(&fixture);
}

/* Readers of one view share a query, and the answer is given again until something changes. */
static void test_shares(void **state)
{
    (void)state;
    struct fixture fixture;
    const struct view view = tea_view();
    struct told first = {.count = 0};
    struct told second = {.count = 0};
    struct told forgotten = {.count = 0};
    start(&fixture, 2, false);
    board_list(fixture.board, &view, NULL, on_done, &first);
    board_list(fixture.board, &view, NULL, on_done, &forgotten);
    board_list(fixture.board, &view, NULL, on_done, &second);
    board_forget(fixture.board, &forgotten);
    wait_told(&fixture, &second);
    assert_int_equal(first.count, 1);
    assert_int_equal(forgotten.count, 0);
    assert_int_equal(list(&fixture, &view).messages, 2);
    assert_int_equal(look(&fixture, &fixture.world.queries), 1);
    assert_int_equal(look(&fixture, &fixture.world.watches), 1);

    uint64_t version = board_version(fixture.board);
    (void)pthread_mutex_lock(&fixture.world.lock);
    push_match(&fixture.world, 11);
    (void)pthread_mutex_unlock(&fixture.world.lock);
    while (board_version(fixture.board) == version) {
        turn(&fixture);
    }
    assert_int_equal(list(&fixture, &view).messages, 2);
    assert_int_equal(look(&fixture, &fixture.world.queries), 2);
    assert_int_equal(look(&fixture, &fixture.world.watches), 1);
    stop(&fixture);
}

/* A phone (0: an open page) asks for a list. */
static bool queue_list(struct asks *asks, unsigned number, uint8_t phone)
{
    struct view view = tea_view();
    struct ask key = {.kind = ASK_LIST, .view = &view};
    view.before_ms = (int64_t)number;
    if (phone != 0) {
        key.client = phone_address(phone);
    }
    return ask_queue(asks, asks_take(asks, &key), &key.client, 1);
}

static void send_next(struct asks *asks, const bool may_send[ASK_RANKS], int64_t number)
{
    struct ask *ask = asks_next(asks, may_send);
    assert_non_null(ask);
    assert_int_equal(ask->view->before_ms, number);
    ask->turn = 0;
}

/* Lists that several phones look at come first, then those of one phone, then those of open pages.
 * One phone has at most ASK_OWN_MAX lists waiting that nobody else looks at. */
static void test_shared_lists_come_first(void **state)
{
    (void)state;
    enum { OPEN = 20, SHARED, OTHER, LATER };
    struct asks asks;
    bool may_send[ASK_RANKS] = {true, true, true, true};
    const struct http_address client = phone_address(1);
    asks_init(&asks, 16);
    assert_true(queue_list(&asks, OPEN, 0)); /* an open page's */
    for (unsigned i = 1; i <= ASK_OWN_MAX; i++) {
        assert_true(queue_list(&asks, i, 1));
        assert_true(queue_list(&asks, i, 1)); /* the same again */
    }
    assert_false(queue_list(&asks, ASK_OWN_MAX + 1, 1)); /* too many of phone 1 */
    assert_true(queue_list(&asks, OTHER, 2));
    assert_true(queue_list(&asks, SHARED, 3));
    assert_true(queue_list(&asks, SHARED, 4));
    assert_true(queue_list(&asks, SHARED, 1)); /* also when phone 1 has too many */
    struct ask *place =
        asks_take(&asks, &(struct ask){.kind = ASK_PLACE, .host = "default", .client = client});
    assert_true(ask_queue(&asks, place, &client, 1));

    assert_ptr_equal(asks_next(&asks, may_send), place);
    may_send[ASK_SMALL] = false;
    send_next(&asks, may_send, SHARED);
    send_next(&asks, may_send, 1);
    assert_true(queue_list(&asks, ASK_OWN_MAX + 1, 1)); /* one of phone 1 has gone out */
    may_send[ASK_OWN] = false;
    assert_true(queue_list(&asks, LATER, 0));
    send_next(&asks, may_send, OPEN);
    assert_true(queue_list(&asks, LATER, 5)); /* a phone, too: others look at it */
    send_next(&asks, may_send, LATER);
    assert_null(asks_next(&asks, may_send));
    may_send[ASK_OWN] = true;
    assert_true(queue_list(&asks, SHARED, 1)); /* phones 3 and 4 have looked at it */
    send_next(&asks, may_send, SHARED);
    send_next(&asks, may_send, 2);
    asks_deinit(&asks);
}

/* Many phones that come at once have their places asked for, and do not hold up the lists. */
static void test_small_questions_do_not_stop_lists(void **state)
{
    (void)state;
    enum { PHONES = 250 };
    struct fixture fixture;
    static struct told told[PHONES];
    struct told shown = {.count = 0};
    const struct view view = tea_view();
    memset(told, 0, sizeof(told));
    start(&fixture, 2, false);
    for (unsigned i = 0; i < PHONES; i++) {
        const struct http_address client = phone_address((uint8_t)(i + 1));
        board_place(fixture.board, "", &client, on_done, &told[i]);
    }
    board_list(fixture.board, &view, NULL, on_done, &shown);
    wait_told(&fixture, &shown);
    wait_told(&fixture, &told[PHONES - 1]);
    assert_int_equal(shown.outcome, BOARD_DONE);
    assert_true(shown.order < told[PHONES - 1].order);
    stop(&fixture);
}

struct watcher {
    unsigned begun;
    unsigned matches;
    unsigned ended;
    uint64_t seq;
};

static void on_begun(void *context, uint64_t seq)
{
    ((struct watcher *)context)->begun++;
    ((struct watcher *)context)->seq = seq;
}

static void on_match(void *context, uint64_t seq, const struct board_message *message)
{
    ((struct watcher *)context)->matches++;
    ((struct watcher *)context)->seq = seq;
    assert_memory_equal(message->text, "new", 3);
}

static void on_ended(void *context)
{
    ((struct watcher *)context)->ended++;
}

static const struct board_watch_events events = {on_begun, on_match, on_ended};

/* As many lists as may be under way at a time, so that the next one waits; at a later time of the
 * loop's clock than all answers. */
static void ask_for_others(struct fixture *fixture, struct told told[HOUSE_QUERIES_AT_A_TIME])
{
    struct view view = tea_view();
    const uint64_t before = uv_now(&fixture->loop);
    while (uv_now(&fixture->loop) == before) {
        uv_update_time(&fixture->loop);
    }
    memset(told, 0, HOUSE_QUERIES_AT_A_TIME * sizeof(*told));
    for (unsigned i = 0; i < HOUSE_QUERIES_AT_A_TIME; i++) {
        view.topics[0][0] = (char)('a' + i);
        board_list(fixture->board, &view, NULL, on_done, &told[i]);
        assert_int_equal(told[i].count, 0);
    }
}

static void wait_others(struct fixture *fixture, const struct told told[HOUSE_QUERIES_AT_A_TIME])
{
    for (unsigned i = 0; i < HOUSE_QUERIES_AT_A_TIME; i++) {
        wait_told(fixture, &told[i]);
    }
}

/* A watched list that cannot be asked for now is given again, until hearsayd tells of a change or
 * does not watch any more. */
static void test_watched_lists_do_not_wait(void **state)
{
    (void)state;
    struct fixture fixture;
    struct told others[HOUSE_QUERIES_AT_A_TIME];
    const struct view view = tea_view();
    start_cached(&fixture, 2, false, 0);
    assert_int_equal(list(&fixture, &view).outcome, BOARD_DONE);
    (void)pthread_mutex_lock(&fixture.world.lock);
    uint64_t watch_id = fixture.world.watch_id;
    (void)pthread_mutex_unlock(&fixture.world.lock);

    ask_for_others(&fixture, others);
    struct told told = {.count = 0};
    board_list(fixture.board, &view, NULL, on_done, &told);
    assert_int_equal(told.count, 1); /* at once */
    assert_int_equal(told.outcome, BOARD_DONE);
    assert_int_equal(told.messages, 2);
    assert_int_equal(told.age_ms, 0);
    wait_others(&fixture, others);

    uint64_t version = board_version(fixture.board);
    (void)pthread_mutex_lock(&fixture.world.lock);
    fixture.world.watch_id = watch_id;
    push_match(&fixture.world, 11);
    (void)pthread_mutex_unlock(&fixture.world.lock);
    while (board_version(fixture.board) == version) {
        turn(&fixture);
    }
    ask_for_others(&fixture, others);
    told.count = 0;
    board_list(fixture.board, &view, NULL, on_done, &told);
    assert_int_equal(told.count, 0); /* it has changed */
    wait_told(&fixture, &told);
    wait_others(&fixture, others);

    struct watcher watchers[3]; /* as many as hearsayd allows: the cache loses its watches */
    memset(watchers, 0, sizeof(watchers));
    for (unsigned i = 0; i < 3; i++) {
        struct view other = tea_view();
        other.topics[0][0] = (char)('x' + i);
        assert_non_null(board_watch(fixture.board, &other, HEARSAY_NO_SEQ, &events, &watchers[i]));
    }
    ask_for_others(&fixture, others);
    told.count = 0;
    board_list(fixture.board, &view, NULL, on_done, &told);
    assert_int_equal(told.count, 0); /* nobody tells of changes */
    wait_told(&fixture, &told);
    wait_others(&fixture, others);
    stop(&fixture);
}

/* Who leaves a message sees it at once, and the lists of other places are not asked for again. */
static void test_a_message_changes_its_place(void **state)
{
    (void)state;
    struct fixture fixture;
    struct view bar = tea_view();
    struct view hall = tea_view();
    struct told told = {.count = 0};
    const struct http_address client = phone_address(7);
    const struct board_leave message = {
        .view = &bar, .text = "hello", .bytes = 5, .id = some_id, .token = some_token};
    (void)snprintf(bar.place, sizeof(bar.place), "place:bar\n");
    (void)snprintf(hall.place, sizeof(hall.place), "place:hall\n");
    start(&fixture, 2, false);
    assert_int_equal(list(&fixture, &bar).outcome, BOARD_DONE);
    assert_int_equal(list(&fixture, &hall).outcome, BOARD_DONE);
    board_leave(fixture.board, &client, &message, on_done, &told);
    wait_told(&fixture, &told);
    assert_int_equal(list(&fixture, &hall).outcome, BOARD_DONE);
    assert_int_equal(look(&fixture, &fixture.world.queries), 2);
    assert_int_equal(list(&fixture, &bar).outcome, BOARD_DONE);
    assert_int_equal(look(&fixture, &fixture.world.queries), 3);
    stop(&fixture);
}

/* Questions that nobody asks any more are forgotten, with the addresses of those who asked. */
static void test_questions_are_forgotten(void **state)
{
    (void)state;
    struct asks asks;
    struct view view = tea_view();
    asks_init(&asks, 4);
    struct ask *place = asks_take(
        &asks, &(struct ask){.kind = ASK_PLACE, .host = "default", .client = phone_address(1)});
    struct ask *list = asks_take(&asks, &(struct ask){.kind = ASK_LIST, .view = &view});
    place->answered_ms = 1;
    list->answered_ms = 2;
    list->ticket = 1; /* under way: stays */
    asks_age(&asks, ASK_KEEP_MS + 1);
    assert_int_equal(asks.counts[ASK_PLACE], 1);
    asks_age(&asks, ASK_KEEP_MS + 3);
    assert_int_equal(asks.counts[ASK_PLACE], 0);
    assert_ptr_equal(asks.first, list);
    assert_null(list->next);
    asks_deinit(&asks);
}

/* The address of the phone that asked first goes when another reader comes; what waits goes as a
 * shared list, and does not count for that phone. */
static void test_shared_lists_have_no_address(void **state)
{
    (void)state;
    enum { BY_PHONE = 1, BY_PAGE };
    const bool may_send[ASK_RANKS] = {[ASK_SHARED] = true};
    struct asks asks;
    asks_init(&asks, 16);
    for (uint8_t other = 0; other <= 2; other = (uint8_t)(other + 2)) {
        unsigned number = other == 0 ? BY_PAGE : BY_PHONE;
        assert_true(queue_list(&asks, number, 1));
        assert_int_equal(asks.first->client.bytes[3], 1);
        assert_true(queue_list(&asks, number, other));
        assert_int_equal(asks.first->client.family, 0);
        assert_int_equal(asks.first->client.bytes[3], 0);
        send_next(&asks, may_send, number);
    }
    asks_deinit(&asks);
}

/* However many phones ask for ever other lists: half of the places stay for lists that are shared,
 * and these are kept before those that one phone looks at. */
static void test_own_lists_leave_room(void **state)
{
    (void)state;
    enum { PLACES = 16, SHARED = 100 };
    const bool may_send[ASK_RANKS] = {[ASK_SHARED] = true, [ASK_OWN] = true};
    struct asks asks;
    asks_init(&asks, PLACES);
    assert_true(queue_list(&asks, SHARED, 1));
    assert_true(queue_list(&asks, SHARED, 2));
    send_next(&asks, may_send, SHARED);
    const struct ask *shared = asks.first;
    for (unsigned i = 0; i < 3 * PLACES; i++) {
        assert_true(queue_list(&asks, i, (uint8_t)(i + 3)));
        send_next(&asks, may_send, i);
    }
    assert_int_equal(asks.counts[ASK_LIST], PLACES);
    assert_true(queue_list(&asks, SHARED, 3));
    assert_ptr_equal(asks.first, shared);
    send_next(&asks, may_send, SHARED);
    for (unsigned i = 0; i <= PLACES / 2; i++) {
        assert_int_equal(queue_list(&asks, 200 + i, (uint8_t)(100 + i)), i < PLACES / 2);
    }
    asks_deinit(&asks);
}

/* One message, and the labels of a phone's place until they change. */
static void test_get_and_place(void **state)
{
    (void)state;
    struct fixture fixture;
    const struct http_address client = phone_address(9);
    start(&fixture, 2, false);
    struct told told = {.count = 0};
    board_get(fixture.board, "", some_id, on_done, &told);
    wait_told(&fixture, &told);
    assert_int_equal(told.outcome, BOARD_DONE);
    assert_string_equal(told.text, "one");
    for (unsigned i = 0; i < 2; i++) {
        told.count = 0;
        board_place(fixture.board, "", &client, on_done, &told);
        wait_told(&fixture, &told);
        assert_string_equal(told.place, "place:bar\nplace:hall\n");
        assert_int_equal(look(&fixture, &fixture.world.places), 1);
    }
    uint64_t version = board_version(fixture.board);
    (void)pthread_mutex_lock(&fixture.world.lock);
    push_here_change(&fixture.world);
    (void)pthread_mutex_unlock(&fixture.world.lock);
    while (board_version(fixture.board) == version) {
        turn(&fixture);
    }
    told.count = 0;
    board_place(fixture.board, "", &client, on_done, &told);
    wait_told(&fixture, &told);
    assert_int_equal(look(&fixture, &fixture.world.places), 2);
    stop(&fixture);
}

/* Views beyond the limit push out the one that was asked least recently, with its watch. */
static void test_many_views(void **state)
{
    (void)state;
    struct fixture fixture;
    start(&fixture, 2, false);
    for (unsigned i = 0; i < 10; i++) {
        struct view view = tea_view();
        (void)snprintf(view.topics[0], sizeof(view.topics[0]), "topic %u", i);
        assert_int_equal(list(&fixture, &view).outcome, BOARD_DONE);
    }
    assert_int_equal(look(&fixture, &fixture.world.queries), 10);
    unsigned watches = look(&fixture, &fixture.world.watches);
    assert_true(watches >= 1 && watches <= 3); /* what hearsayd allows */
    stop(&fixture);
}

/* While hearsayd is away the last answer is given, with its age; what was never asked is not there.
 * Then the board connects again by itself. */
static void test_away_and_back(void **state)
{
    (void)state;
    struct fixture fixture;
    const struct view view = tea_view();
    struct view other = tea_view();
    start(&fixture, 2, false);
    assert_int_equal(list(&fixture, &view).outcome, BOARD_DONE);
    (void)pthread_mutex_lock(&fixture.world.lock);
    (void)shutdown(fixture.world.house_fd, SHUT_RDWR);
    (void)pthread_mutex_unlock(&fixture.world.lock);
    while (board_is_connected(fixture.board)) {
        turn(&fixture);
    }
    struct told told = list(&fixture, &view);
    assert_int_equal(told.outcome, BOARD_DONE);
    assert_int_equal(told.messages, 2);
    other.is_now = true;
    assert_int_equal(list(&fixture, &other).outcome, BOARD_AWAY);
    told.count = 0;
    leave(&fixture, 1, &told);
    assert_int_equal(told.count, 1);
    assert_int_equal(told.outcome, BOARD_AWAY);
    assert_string_equal(board_welcome(fixture.board)->agent, "fake/1");

    while (!board_is_connected(fixture.board)) {
        turn(&fixture);
    }
    assert_int_equal(list(&fixture, &view).outcome, BOARD_DONE);
    assert_int_equal(look(&fixture, &fixture.world.queries), 2); /* asked anew */
    stop(&fixture);
}

/* --- watching --------------------------------------------------------------------------------- */

/* Matches come once each; a watch of a place ends when labels change, every watch when hearsayd
 * goes. Watches of pages come before those of the cache. */
static void test_watch(void **state)
{
    (void)state;
    struct fixture fixture;
    struct view view = tea_view();
    struct watcher watcher = {.begun = 0};
    struct watcher placed = {.begun = 0};
    start(&fixture, 2, false);
    struct board_watch *watch = board_watch(fixture.board, &view, 5, &events, &watcher);
    assert_non_null(watch);
    while (watcher.begun == 0) {
        turn(&fixture);
    }
    assert_int_equal(watcher.seq, 10);
    (void)pthread_mutex_lock(&fixture.world.lock);
    assert_int_equal(fixture.world.after_seq, 5);
    push_match(&fixture.world, 11);
    push_match(&fixture.world, 11);
    push_match(&fixture.world, 12);
    (void)pthread_mutex_unlock(&fixture.world.lock);
    while (watcher.seq < 12) {
        turn(&fixture);
    }
    assert_int_equal(watcher.matches, 2);
    assert_int_equal(list(&fixture, &view).outcome, BOARD_DONE);
    assert_int_equal(look(&fixture, &fixture.world.watches), 1); /* the cache shares the watch */

    (void)snprintf(view.place, sizeof(view.place), "place:bar\n");
    assert_non_null(board_watch(fixture.board, &view, HEARSAY_NO_SEQ, &events, &placed));
    while (placed.begun == 0) {
        turn(&fixture);
    }
    (void)pthread_mutex_lock(&fixture.world.lock);
    push_here_change(&fixture.world);
    (void)pthread_mutex_unlock(&fixture.world.lock);
    while (placed.ended == 0) {
        turn(&fixture);
    }
    assert_int_equal(watcher.ended, 0);
    board_unwatch(watch);

    watcher = (struct watcher){.begun = 0};
    view.place[0] = '\0';
    for (unsigned i = 0; i < 5; i++) { /* hearsayd allows three */
        view.topics[0][0] = (char)('a' + i);
        watch = board_watch(fixture.board, &view, HEARSAY_NO_SEQ, &events, &watcher);
        assert_int_equal(watch != NULL, i < 3);
    }
    (void)pthread_mutex_lock(&fixture.world.lock);
    (void)shutdown(fixture.world.house_fd, SHUT_RDWR);
    (void)pthread_mutex_unlock(&fixture.world.lock);
    while (watcher.ended < 3) {
        turn(&fixture);
    }
    assert_null(board_watch(fixture.board, &view, HEARSAY_NO_SEQ, &events, &watcher));
    stop(&fixture);
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Each error of hearsayd has its meaning for a phone. */
static void test_outcomes(void **state)
{
    (void)state;
    static const struct {
        enum msg_error_code code;
        enum board_outcome leave;
        enum board_outcome withdraw;
        enum board_outcome report;
    } rows[] = {
        {0, BOARD_DONE, BOARD_DONE, BOARD_DONE},
        {MSG_RATE_LIMITED, BOARD_LIMITED, BOARD_LIMITED, BOARD_LIMITED},
        {MSG_NOT_FOUND, BOARD_GONE, BOARD_GONE, BOARD_GONE},
        {MSG_FORBIDDEN, BOARD_REFUSED, BOARD_WRONG_CODE, BOARD_REFUSED},
        {MSG_QUOTA, BOARD_FULL, BOARD_FULL, BOARD_FULL},
        {MSG_UNKNOWN_EPOCH, BOARD_REFUSED, BOARD_REFUSED, BOARD_REFUSED},
        {MSG_STORAGE, BOARD_REFUSED, BOARD_REFUSED, BOARD_REFUSED},
    };
    struct fixture fixture;
    const struct http_address client = phone_address(7);
    start(&fixture, 2, false);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct told told[3];
        memset(told, 0, sizeof(told));
        (void)pthread_mutex_lock(&fixture.world.lock);
        fixture.world.refusal = rows[i].code;
        (void)pthread_mutex_unlock(&fixture.world.lock);
        leave(&fixture, 7, &told[0]);
        board_withdraw(fixture.board, &client, "", some_id, some_token, on_done, &told[1]);
        board_report(fixture.board, &client, "", some_id, HEARSAY_REPORT_SPAM, "spam", on_done,
                     &told[2]);
        for (unsigned j = 0; j < 3; j++) {
            wait_told(&fixture, &told[j]);
        }
        assert_int_equal(told[0].outcome, rows[i].leave);
        assert_int_equal(told[1].outcome, rows[i].withdraw);
        assert_int_equal(told[2].outcome, rows[i].report);
        assert_int_equal(told[0].retry_after_ms, rows[i].code != 0 ? 5000 : 0);
    }
    /* one connection, and others where the epoch was over: a message once, others as well */
    assert_true(look(&fixture, &fixture.world.hellos) <= 4);
    stop(&fixture);
}

/* What a phone withdraws is not given from the cache any more. */
static void test_withdrawn(void **state)
{
    (void)state;
    struct fixture fixture;
    const struct view view = tea_view();
    const struct http_address client = phone_address(7);
    struct told told = {.count = 0};
    start(&fixture, 2, false);
    board_get(fixture.board, "", some_id, on_done, &told);
    wait_told(&fixture, &told);
    assert_int_equal(list(&fixture, &view).outcome, BOARD_DONE);
    told.count = 0;
    board_withdraw(fixture.board, &client, "", some_id, some_token, on_done, &told);
    wait_told(&fixture, &told);
    told.count = 0;
    board_get(fixture.board, "", some_id, on_done, &told);
    wait_told(&fixture, &told);
    assert_int_equal(list(&fixture, &view).outcome, BOARD_DONE);
    assert_int_equal(look(&fixture, &fixture.world.gets), 2);
    assert_int_equal(look(&fixture, &fixture.world.queries), 2);
    stop(&fixture);
}

/* A connection that hearsayd closed while it was idle is made again, and nobody notices. */
static void test_stale_connection(void **state)
{
    (void)state;
    struct fixture fixture;
    start(&fixture, 2, false);
    struct told told = {.count = 0};
    leave(&fixture, 7, &told);
    wait_told(&fixture, &told);
    (void)pthread_mutex_lock(&fixture.world.lock);
    fixture.world.drops_next = true;
    (void)pthread_mutex_unlock(&fixture.world.lock);
    told.count = 0;
    leave(&fixture, 7, &told);
    wait_told(&fixture, &told);
    assert_int_equal(told.outcome, BOARD_DONE);
    assert_int_equal(look(&fixture, &fixture.world.hellos), 2);
    stop(&fixture);
}

static void wait_deposits(struct fixture *fixture, unsigned count)
{
    while (look(fixture, &fixture->world.deposits) < count) {
        turn(fixture);
    }
}

static void set_stalls(struct fixture *fixture, bool stalls)
{
    (void)pthread_mutex_lock(&fixture->world.lock);
    fixture->world.stalls = stalls;
    (void)pthread_cond_broadcast(&fixture->world.changed);
    (void)pthread_mutex_unlock(&fixture->world.lock);
}

/* Phones take turns, whoever has sent more; who waits too long, or has too many waiting, is told.
 */
static void test_queue(void **state)
{
    (void)state;
    struct fixture fixture;
    struct told told[4];
    struct told more[POOL_PER_SENDER + 1];
    memset(told, 0, sizeof(told));
    memset(more, 0, sizeof(more));
    start(&fixture, 1, false);
    set_stalls(&fixture, true);
    leave(&fixture, 1, &told[0]);
    wait_deposits(&fixture, 1);
    leave(&fixture, 1, &told[1]);
    leave(&fixture, 1, &told[2]);
    leave(&fixture, 2, &told[3]);
    set_stalls(&fixture, false);
    for (unsigned i = 0; i < 4; i++) {
        wait_told(&fixture, &told[i]);
        assert_int_equal(told[i].outcome, BOARD_DONE);
    }
    assert_true(told[3].order < told[1].order); /* phone 2 before the second one of phone 1 */
    assert_true(told[1].order < told[2].order);
    assert_int_equal(look(&fixture, &fixture.world.hellos), 3);

    set_stalls(&fixture, true);
    struct told stalled = {.count = 0};
    struct told busy = {.count = 0};
    leave(&fixture, 3, &stalled);
    wait_deposits(&fixture, 5);
    for (unsigned i = 0; i <= POOL_PER_SENDER; i++) {
        leave(&fixture, 4, &more[i]);
    }
    assert_int_equal(more[POOL_PER_SENDER].count, 1); /* at once: too many of one phone */
    assert_int_equal(more[POOL_PER_SENDER].outcome, BOARD_BUSY);
    leave(&fixture, 5, &busy);
    board_forget(fixture.board, &more[0]);
    wait_told(&fixture, &busy);
    assert_int_equal(busy.outcome, BOARD_BUSY);
    assert_int_equal(more[1].outcome, BOARD_BUSY);
    assert_int_equal(more[0].count, 0);
    assert_int_equal(stalled.count, 0);
    set_stalls(&fixture, false);
    wait_told(&fixture, &stalled);
    assert_int_equal(stalled.outcome, BOARD_DONE);
    stop(&fixture);
}

/* All phones of an IPv6 /64 have POOL_PER_NETWORK connections together; others find theirs. */
static void test_networks(void **state)
{
    (void)state;
    enum { PHONES = POOL_PER_NETWORK + 2 };
    struct fixture fixture;
    struct told told[PHONES];
    struct told other = {.count = 0};
    struct http_address client = {.family = 6, .bytes = {0x20, 0x01}};
    const struct view view = tea_view();
    const struct board_leave message = {
        .view = &view, .text = "hello", .bytes = 5, .id = some_id, .token = some_token};
    memset(told, 0, sizeof(told));
    start(&fixture, 32, false);
    set_stalls(&fixture, true);
    for (uint8_t i = 0; i < PHONES; i++) {
        client.bytes[15] = (uint8_t)(i + 1);
        board_leave(fixture.board, &client, &message, on_done, &told[i]);
    }
    leave(&fixture, 99, &other);
    /* the lock of the world lets deposits arrive one after another: each is heard, then waits */
    wait_deposits(&fixture, POOL_PER_NETWORK + 1);
    assert_int_equal(look(&fixture, &fixture.world.hellos), POOL_PER_NETWORK + 1);
    set_stalls(&fixture, false);
    wait_told(&fixture, &other);
    for (unsigned i = 0; i < PHONES; i++) {
        wait_told(&fixture, &told[i]);
        assert_int_equal(told[i].outcome, BOARD_DONE);
    }
    stop(&fixture);
}

/* A hearsayd that does not know on_behalf would take all phones for one: nothing is written. */
static void test_old_server(void **state)
{
    (void)state;
    struct fixture fixture;
    const struct view view = tea_view();
    struct told told = {.count = 0};
    start(&fixture, 2, true);
    leave(&fixture, 1, &told);
    assert_int_equal(told.count, 1);
    assert_int_equal(told.outcome, BOARD_REFUSED);
    assert_int_equal(list(&fixture, &view).outcome, BOARD_DONE);
    assert_int_equal(look(&fixture, &fixture.world.hellos), 0);
    stop(&fixture);
}

/* Whoever waits when the program stops is told. */
static void test_stops(void **state)
{
    (void)state;
    struct fixture fixture;
    const struct view view = tea_view();
    struct told waiting[2];
    memset(waiting, 0, sizeof(waiting));
    start(&fixture, 1, false);
    board_list(fixture.board, &view, NULL, on_done, &waiting[0]);
    leave(&fixture, 1, &waiting[1]);
    stop(&fixture);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(waiting[i].count, 1);
        assert_int_equal(waiting[i].outcome, BOARD_AWAY);
    }
}

/* --- memory that fails ------------------------------------------------------------------------ */

/* Of the thread of hearsay-web, not of hearsayd. */
static _Thread_local unsigned fail_at;   /* the allocation that fails, counted from 1; 0: none */
static _Thread_local void *blocks[4096]; /* that are not freed; of other libraries none */
static _Thread_local size_t block_count;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
char *__real_strdup(const char *text);
void __real_free(void *block);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);
char *__wrap_strdup(const char *text);
void __wrap_free(void *block);

static bool memory_fails(void)
{
    return fail_at > 0 && --fail_at == 0;
}

static void *noted(void *block)
{
    if (block != NULL) {
        assert_true(block_count < sizeof(blocks) / sizeof(blocks[0]));
        blocks[block_count++] = block;
    }
    return block;
}

static void forgotten(const void *block)
{
    for (size_t i = 0; i < block_count; i++) {
        if (blocks[i] == block) {
            blocks[i] = blocks[--block_count];
            return;
        }
    }
}

void *__wrap_malloc(size_t bytes)
{
    return memory_fails() ? NULL : noted(__real_malloc(bytes));
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return memory_fails() ? NULL : noted(__real_calloc(count, bytes));
}

void *__wrap_realloc(void *block, size_t bytes)
{
    if (memory_fails()) {
        return NULL;
    }
    forgotten(block);
    void *moved = __real_realloc(block, bytes);
    (void)noted(moved != NULL ? moved : block);
    return moved;
}

char *__wrap_strdup(const char *text)
{
    return memory_fails() ? NULL : noted(__real_strdup(text));
}

void __wrap_free(void *block)
{
    forgotten(block);
    __real_free(block);
}

/* Whether the allocation that was to fail has failed. */
static bool has_failed(void)
{
    return fail_at == 0;
}

/* Asks for everything that a board does, and waits until all are told. */
static void ask_everything(struct fixture *fixture)
{
    const struct http_address client = phone_address(7);
    const struct view view = tea_view();
    struct watcher watcher = {.begun = 0};
    struct told told[6];
    memset(told, 0, sizeof(told));

    struct board_watch *watch =
        board_watch(fixture->board, &view, HEARSAY_NO_SEQ, &events, &watcher);
    board_list(fixture->board, &view, NULL, on_done, &told[0]);
    board_get(fixture->board, "", some_id, on_done, &told[1]);
    board_place(fixture->board, "", &client, on_done, &told[2]);
    leave(fixture, 7, &told[3]);
    board_withdraw(fixture->board, &client, "", some_id, some_token, on_done, &told[4]);
    board_report(fixture->board, &client, "", some_id, HEARSAY_REPORT_SPAM, "spam", on_done,
                 &told[5]);
    for (unsigned i = 0; i < 6; i++) {
        wait_told(fixture, &told[i]);
    }
    while (watch != NULL && watcher.begun == 0 && watcher.ended == 0) {
        turn(fixture);
    }
    if (watcher.ended == 0) {
        board_unwatch(watch);
    }
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(told[i].count, 1);
        assert_true(has_failed() || told[i].outcome == BOARD_DONE);
    }
}

/* A board whose n-th allocation fails. Returns whether there were as many. */
static bool live_with_failure(unsigned n)
{
    struct fixture fixture;

    world_init(&fixture.world);
    fake_server_listen_many(&fixture.server, script, &fixture.world);
    assert_int_equal(uv_loop_init(&fixture.loop), 0);
    assert_int_equal(uv_timer_init(&fixture.loop, &fixture.guard), 0);
    const struct board_options options = {.loop = &fixture.loop,
                                          .server = fixture.server.path,
                                          .cache_ms = CACHE_MS,
                                          .per_page = PER_PAGE,
                                          .views = 4,
                                          .upstreams = 2};
    block_count = 0;
    fail_at = n;
    int rc = board_new(&options, &fixture.board);
    if (rc == 0) {
        while (!board_is_connected(fixture.board) && !has_failed()) {
            turn(&fixture);
        }
        ask_everything(&fixture);
    } else {
        assert_int_equal(rc, -ERR_NOMEM);
        assert_true(has_failed());
        fixture.board = NULL;
    }
    bool was_reached = has_failed();
    fail_at = 0;
    if (fixture.board != NULL) {
        board_stop(fixture.board);
    }
    uv_close((uv_handle_t *)&fixture.guard, NULL);
    assert_int_equal(uv_run(&fixture.loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&fixture.loop), 0);
    board_free(fixture.board);
    assert_int_equal(block_count, 0);
    fake_server_stop(&fixture.server);
    return was_reached;
}

/* Each allocation fails in turn: everybody is told, once, and nothing is lost. */
static void test_no_memory(void **state)
{
    (void)state;
    unsigned n = 1;
    while (live_with_failure(n)) {
        n++;
    }
    print_message("%u allocations failed, each in its turn\n", n - 1);
    assert_true(n > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_capped_list),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_shared_lists_come_first),
        cmocka_unit_test(test_small_questions_do_not_stop_lists),
        cmocka_unit_test(test_watched_lists_do_not_wait),
        cmocka_unit_test(test_a_message_changes_its_place),
        cmocka_unit_test(test_questions_are_forgotten),
        cmocka_unit_test(test_shared_lists_have_no_address),
        cmocka_unit_test(test_own_lists_leave_room),
        cmocka_unit_test(test_get_and_place),
        cmocka_unit_test(test_many_views),
        cmocka_unit_test(test_away_and_back),
        cmocka_unit_test(test_watch),
        cmocka_unit_test(test_withdrawn),
        cmocka_unit_test(test_outcomes),
        cmocka_unit_test(test_stale_connection),
        cmocka_unit_test(test_queue),
        cmocka_unit_test(test_networks),
        cmocka_unit_test(test_old_server),
        cmocka_unit_test(test_stops),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
