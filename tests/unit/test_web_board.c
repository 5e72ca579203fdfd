/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The board against a hearsayd that the test scripts: reads and watches through one connection;
 * writes on behalf of phones, and what becomes of them.
 */
#include "client/web/board/inner.h"
#include "client/web/board/pool.h"
#include "tests/unit/web_board_fixture.h"

/* --- reading ------------------------------------------------------------------------------------
 */

/* A list is a page of what hearsayd answers, without sealed messages; only text is text. */
WEB_BOARD_TEST(test_list)
{
    struct view view = web_board_tea();
    int64_t now_ms = 0;
    struct web_board_told told = web_board_list(fixture, &view);
    assert_int_equal(told.outcome, BOARD_DONE);
    assert_int_equal(told.messages, 2);
    assert_int_equal(told.sealed, 1);
    assert_false(told.has_older);
    assert_true(told.is_text[0]);
    assert_false(told.is_text[1]);
    assert_string_equal(board_welcome(fixture->board)->agent, "fake/1");
    assert_true(board_now_ms(fixture->board, &now_ms));
    assert_true(now_ms >= 1700000000000);
    view.before_ms = 500;
    told = web_board_list(fixture, &view);
    assert_int_equal(told.messages, 0);
    view.topic_count = 0; /* without labels: all messages */
    assert_int_equal(web_board_list(fixture, &view).outcome, BOARD_DONE);
    (void)snprintf(view.host, sizeof(view.host), "attic");
    assert_int_equal(web_board_list(fixture, &view).outcome, BOARD_REFUSED);
}

/* A list by time asks for the newest messages, for one more than the page shows. One of the three
 * is sealed, so the page asks once more, for as many as may be. Then there may be older ones only
 * if hearsayd leaves out messages of one sender all the same. */
WEB_BOARD_TEST(test_newest_list)
{
    struct view view = web_board_tea();
    for (unsigned capped = 0; capped < 2; capped++) {
        (void)pthread_mutex_lock(&fixture->world.lock);
        fixture->world.is_capped = capped == 1;
        fixture->world.queries = 0;
        (void)pthread_mutex_unlock(&fixture->world.lock);
        view.topics[0][0] = capped == 1 ? 'p' : 't';
        struct web_board_told told = web_board_list(fixture, &view);
        assert_int_equal(told.outcome, BOARD_DONE);
        assert_int_equal(told.messages, 2);
        assert_int_equal(told.has_older, capped == 1);
        assert_int_equal(web_board_look(fixture, &fixture->world.queries), 2);
        assert_int_equal(fixture->world.order, HEARSAY_ORDER_NEWEST);
        assert_int_equal(fixture->world.k, 100);
    }
    view.order = VIEW_NEAREST;
    assert_int_equal(web_board_list(fixture, &view).messages, 2);
    assert_int_equal(web_board_look(fixture, &fixture->world.queries), 3);
    assert_int_equal(fixture->world.order, HEARSAY_ORDER_SIMILARITY);
    assert_int_equal(fixture->world.k, 3);
}

/* One message, and the labels of a phone's place until they change. */
WEB_BOARD_TEST(test_get_and_place)
{
    const struct http_address client = web_board_phone(9);
    struct web_board_told told = web_board_get(fixture, web_board_id, NULL);
    assert_int_equal(told.outcome, BOARD_DONE);
    assert_string_equal(told.text, "one");
    for (unsigned i = 0; i < 2; i++) {
        told = web_board_place(fixture, &client);
        assert_string_equal(told.place, "place:bar\nplace:hall\n");
        assert_string_equal(told.name, "The bar");
        assert_int_equal(web_board_look(fixture, &fixture->world.places), 1);
    }
    for (uint8_t i = 0; i < 2; i++) { /* the names are the same for all phones */
        const struct http_address other = web_board_phone(i);
        told = web_board_places(fixture, &other);
        assert_string_equal(told.place, "The bar\nThe hall\n");
        assert_int_equal(web_board_look(fixture, &fixture->world.places), 2);
    }
    const struct view bar = {.place = "place:bar\n"};
    struct web_board_watcher watcher = {.begun = 0};
    assert_non_null(board_watch(fixture->board, &bar, &web_board_events, &watcher));
    WEB_BOARD_WHILE(fixture, watcher.begun == 0);
    web_board_tell_change(fixture);
    WEB_BOARD_WHILE(fixture, watcher.ended == 0); /* the places have changed */
    told = web_board_place(fixture, &client);
    assert_int_equal(web_board_look(fixture, &fixture->world.places), 3);
    told = web_board_places(fixture, &client);
    assert_int_equal(web_board_look(fixture, &fixture->world.places), 4);
}

/* While hearsayd is away the last answer is given, with its age; what was never asked is not there.
 * Then the board connects again by itself. */
WEB_BOARD_TEST(test_away_and_back)
{
    const struct view view = web_board_tea();
    struct view other = web_board_tea();
    assert_int_equal(web_board_list(fixture, &view).outcome, BOARD_DONE);
    web_board_cut(fixture);
    WEB_BOARD_WHILE(fixture, board_is_connected(fixture->board));
    struct web_board_told told = web_board_list(fixture, &view);
    assert_int_equal(told.outcome, BOARD_DONE);
    assert_int_equal(told.messages, 2);
    other.is_now = true;
    assert_int_equal(web_board_list(fixture, &other).outcome, BOARD_AWAY);
    told.count = 0;
    web_board_leave(fixture, 1, &told);
    assert_int_equal(told.count, 1);
    assert_int_equal(told.outcome, BOARD_AWAY);
    assert_string_equal(board_welcome(fixture->board)->agent, "fake/1");

    WEB_BOARD_WHILE(fixture, !board_is_connected(fixture->board));
    assert_int_equal(web_board_list(fixture, &view).outcome, BOARD_DONE);
    assert_int_equal(web_board_look(fixture, &fixture->world.queries), 4); /* asked anew, twice */
}

/* --- connecting again: with a clock that goes ahead, and the waits that the board begins --------
 */

enum { FIRST_WAIT_MS = 1000, LONG_MS = 60 * 1000 };

static uint64_t clock_ahead_ms;
static uint64_t clock_stands_ms; /* 0: it goes. Else nobody waits too long, however slow we are */
static unsigned waits_none;      /* one shot timers of 0 ms */
static unsigned waits_long;      /* and of FIRST_WAIT_MS */

uint64_t __real_uv_now(const uv_loop_t *loop);
uint64_t __wrap_uv_now(const uv_loop_t *loop);
int __real_uv_timer_start(uv_timer_t *timer, uv_timer_cb on_time, uint64_t ms, uint64_t repeat_ms);
int __wrap_uv_timer_start(uv_timer_t *timer, uv_timer_cb on_time, uint64_t ms, uint64_t repeat_ms);

uint64_t __wrap_uv_now(const uv_loop_t *loop)
{
    return (clock_stands_ms > 0 ? clock_stands_ms : __real_uv_now(loop)) + clock_ahead_ms;
}

int __wrap_uv_timer_start(uv_timer_t *timer, uv_timer_cb on_time, uint64_t ms, uint64_t repeat_ms)
{
    waits_none += repeat_ms == 0 && ms == 0;
    waits_long += repeat_ms == 0 && ms == FIRST_WAIT_MS;
    return __real_uv_timer_start(timer, on_time, ms, repeat_ms);
}

static void end_connection(struct web_board *fixture)
{
    waits_none = 0;
    waits_long = 0;
    web_board_cut(fixture);
    WEB_BOARD_WHILE(fixture, board_is_connected(fixture->board));
}

/* A connection that ends after a long time is made again at once; one that ends soon is not, nor
 * is one that cannot be made. */
TEST(test_idle_end)
{
    struct web_board fixture;
    char elsewhere[128];
    web_board_start(&fixture, 2);
    clock_ahead_ms += LONG_MS;
    end_connection(&fixture);
    assert_int_equal(waits_none, 1);
    WEB_BOARD_WHILE(&fixture, !board_is_connected(fixture.board));
    assert_int_equal(waits_none, 1);
    assert_int_equal(waits_long, 0);
    end_connection(&fixture);
    assert_int_equal(waits_none, 0);
    assert_int_equal(waits_long, 1);
    WEB_BOARD_WHILE(&fixture, !board_is_connected(fixture.board));

    clock_ahead_ms += LONG_MS;
    (void)snprintf(elsewhere, sizeof(elsewhere), "%s.away", fixture.server.path);
    assert_int_equal(rename(fixture.server.path, elsewhere), 0);
    end_connection(&fixture);
    WEB_BOARD_WHILE(&fixture, waits_long == 0);
    assert_int_equal(waits_none, 1);
    assert_int_equal(rename(elsewhere, fixture.server.path), 0);
    web_board_stop(&fixture);
    clock_ahead_ms = 0;
}

/* --- watching -----------------------------------------------------------------------------------
 */

/* Each match is told; a watch of a place ends when labels change, every watch when hearsayd
 * goes. Watches of pages come before those of the cache. */
WEB_BOARD_TEST(test_watch)
{
    struct view view = web_board_tea();
    struct web_board_watcher watcher = {.begun = 0};
    struct web_board_watcher placed = {.begun = 0};
    struct board_watch *watch = board_watch(fixture->board, &view, &web_board_events, &watcher);
    assert_non_null(watch);
    WEB_BOARD_WHILE(fixture, watcher.begun == 0);
    (void)pthread_mutex_lock(&fixture->world.lock);
    web_board_push_match(&fixture->world, 11);
    web_board_push_match(&fixture->world, 12);
    (void)pthread_mutex_unlock(&fixture->world.lock);
    WEB_BOARD_WHILE(fixture, watcher.matches < 2);
    assert_int_equal(web_board_list(fixture, &view).outcome, BOARD_DONE);
    assert_int_equal(web_board_look(fixture, &fixture->world.watches),
                     1); /* the cache shares the watch */

    (void)snprintf(view.place, sizeof(view.place), "place:bar\n");
    assert_non_null(board_watch(fixture->board, &view, &web_board_events, &placed));
    WEB_BOARD_WHILE(fixture, placed.begun == 0);
    web_board_tell_change(fixture);
    WEB_BOARD_WHILE(fixture, placed.ended == 0);
    assert_int_equal(watcher.ended, 0);
    board_unwatch(watch);

    watcher = (struct web_board_watcher){.begun = 0};
    view.place[0] = '\0';
    for (unsigned i = 0; i < 5; i++) { /* hearsayd allows three */
        view.topics[0][0] = (char)('a' + i);
        watch = board_watch(fixture->board, &view, &web_board_events, &watcher);
        assert_int_equal(watch != NULL, i < 3);
    }
    web_board_cut(fixture);
    WEB_BOARD_WHILE(fixture, watcher.ended < 3);
    assert_null(board_watch(fixture->board, &view, &web_board_events, &watcher));
}

/* --- writing ------------------------------------------------------------------------------------
 */

/* Each error of hearsayd has its meaning for a phone. */
WEB_BOARD_TEST(test_outcomes)
{
    static const struct {
        enum hearsay_code code;
        enum board_outcome leave;
        enum board_outcome withdraw;
        enum board_outcome report;
    } rows[] = {
        {0, BOARD_DONE, BOARD_DONE, BOARD_DONE},
        {HEARSAY_CODE_RATE_LIMITED, BOARD_LIMITED, BOARD_LIMITED, BOARD_LIMITED},
        {HEARSAY_CODE_NOT_FOUND, BOARD_GONE, BOARD_GONE, BOARD_GONE},
        {HEARSAY_CODE_FORBIDDEN, BOARD_REFUSED, BOARD_WRONG_CODE, BOARD_REFUSED},
        {HEARSAY_CODE_QUOTA, BOARD_FULL, BOARD_FULL, BOARD_FULL},
        {HEARSAY_CODE_UNKNOWN_EPOCH, BOARD_REFUSED, BOARD_REFUSED, BOARD_REFUSED},
        {HEARSAY_CODE_STORAGE, BOARD_REFUSED, BOARD_REFUSED, BOARD_REFUSED},
    };
    clock_stands_ms = uv_now(&fixture->loop);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const uint8_t phone = (uint8_t)(7 + i); /* one whose refusal is not remembered */
        struct board_write write = {.kind = BOARD_WITHDRAW,
                                    .client = web_board_phone(phone),
                                    .host = "",
                                    .id = web_board_id,
                                    .token = web_board_token};
        struct web_board_told told[3];
        memset(told, 0, sizeof(told));
        WEB_BOARD_SET(fixture, refusal, rows[i].code);
        web_board_leave(fixture, phone, &told[0]);
        board_write(fixture->board, &write, web_board_on_done, &told[1]);
        write.kind = BOARD_REPORT;
        write.report_kind = HEARSAY_REPORT_SPAM;
        write.text = "spam";
        board_write(fixture->board, &write, web_board_on_done, &told[2]);
        for (unsigned j = 0; j < 3; j++) {
            web_board_wait(fixture, &told[j]);
        }
        assert_int_equal(told[0].outcome, rows[i].leave);
        assert_int_equal(told[1].outcome, rows[i].withdraw);
        assert_int_equal(told[2].outcome, rows[i].report);
        assert_int_equal(told[0].retry_after_ms, rows[i].code != 0 ? 5000 : 0);
    }
    /* one connection of each phone, and others where the epoch was over: of each request one */
    assert_true(web_board_look(fixture, &fixture->world.hellos) <= 7 + 3);
    clock_stands_ms = 0;
}

/* A connection that hearsayd closed while it was idle is made again, and nobody notices. */
WEB_BOARD_TEST(test_stale_connection)
{
    struct web_board_told told = web_board_left(fixture, 7);
    WEB_BOARD_SET(fixture, drops_next, true);
    told = web_board_left(fixture, 7);
    assert_int_equal(told.outcome, BOARD_DONE);
    assert_int_equal(web_board_look(fixture, &fixture->world.hellos), 2);
}

static void wait_deposits(struct web_board *fixture, unsigned count)
{
    WEB_BOARD_WHILE(fixture, web_board_look(fixture, &fixture->world.deposits) < count);
}

static void set_stalls(struct web_board *fixture, bool stalls)
{
    (void)pthread_mutex_lock(&fixture->world.lock);
    fixture->world.stalls = stalls;
    (void)pthread_cond_broadcast(&fixture->world.changed);
    (void)pthread_mutex_unlock(&fixture->world.lock);
}

/* Phones take turns, whoever has sent more; who waits too long is told. */
WEB_BOARD_TEST_OF_ONE(test_queue)
{
    struct web_board_told told[4];
    struct web_board_told more[3];
    memset(told, 0, sizeof(told));
    memset(more, 0, sizeof(more));
    set_stalls(fixture, true);
    web_board_leave(fixture, 1, &told[0]);
    wait_deposits(fixture, 1);
    web_board_leave(fixture, 1, &told[1]);
    web_board_leave(fixture, 1, &told[2]);
    web_board_leave(fixture, 2, &told[3]);
    set_stalls(fixture, false);
    for (unsigned i = 0; i < 4; i++) {
        web_board_wait(fixture, &told[i]);
        assert_int_equal(told[i].outcome, BOARD_DONE);
    }
    assert_true(told[3].order < told[2].order); /* phone 2 before the second one that waits */
    assert_true(told[1].order < told[2].order);

    set_stalls(fixture, true);
    struct web_board_told stalled = {.count = 0};
    struct web_board_told busy = {.count = 0};
    web_board_leave(fixture, 3, &stalled);
    wait_deposits(fixture, 5);
    for (unsigned i = 0; i < 3; i++) {
        web_board_leave(fixture, 4, &more[i]);
    }
    web_board_leave(fixture, 5, &busy);
    board_forget(fixture->board, &more[0]);
    web_board_wait(fixture, &busy);
    web_board_wait(fixture, &more[2]);
    assert_int_equal(busy.outcome, BOARD_BUSY);
    assert_int_equal(more[1].outcome, BOARD_BUSY);
    assert_int_equal(more[0].count, 0);
    assert_int_equal(stalled.count, 0);
    set_stalls(fixture, false);
    web_board_wait(fixture, &stalled);
    assert_int_equal(stalled.outcome, BOARD_DONE);
}

/* When as many requests wait as may, the newest one of who has most gives way to a newcomer, here
 * of a device with many addresses, and of a /64 from elsewhere. */
WEB_BOARD_TEST_OF_ONE(test_who_has_most_gives_way)
{
    enum { DEVICE = POOL_QUEUE_MAX - 2, PHONES = DEVICE + 3, MORE = 3 };
    static struct web_board_told told[PHONES];
    struct web_board_told other = {.count = 0};
    struct web_board_told first = {.count = 0};
    memset(told, 0, sizeof(told));
    clock_stands_ms = uv_now(&fixture->loop);
    set_stalls(fixture, true);
    web_board_leave(fixture, 99, &first);
    wait_deposits(fixture, 1);
    for (unsigned i = 0; i < PHONES; i++) { /* two of the /64 fill the queue, one is too many */
        struct http_address client = web_board_phone((uint8_t)(i + 1));
        client.device = 7;
        if (i >= DEVICE) {
            client = (struct http_address){.family = 6, .bytes = {0x20, 0x01, [15] = (uint8_t)i}};
        }
        const struct board_write message = web_board_message(client);
        board_write(fixture->board, &message, web_board_on_done, &told[i]);
    }
    for (unsigned i = 0; i < PHONES; i++) {
        assert_int_equal(told[i].count, i == DEVICE - 1 ? 1 : 0);
    }
    assert_int_equal(told[DEVICE - 1].outcome, BOARD_BUSY);
    web_board_leave(fixture, 98, &other);
    assert_int_equal(other.count, 0);
    assert_int_equal(told[DEVICE - 2].count, 1);
    set_stalls(fixture, false);
    web_board_wait(fixture, &other);
    assert_int_equal(other.outcome, BOARD_DONE);
    assert_int_equal(told[1].count, 0); /* before the second one of the device */
    assert_int_equal(told[DEVICE + 1].count, 0);
    web_board_wait(fixture, &told[DEVICE - MORE]);
    assert_int_equal(told[DEVICE - MORE].outcome, BOARD_DONE);
    clock_stands_ms = 0;
}

/* A device has one connection at a time, whatever address it writes from: others find theirs. */
TEST(test_a_sender_has_one_connection)
{
    enum { ADDRESSES = 4 };
    struct web_board fixture;
    struct web_board_told told[ADDRESSES];
    struct web_board_told other = {.count = 0};
    memset(told, 0, sizeof(told));
    web_board_start(&fixture, 32);
    clock_stands_ms = uv_now(&fixture.loop);
    set_stalls(&fixture, true);
    for (uint8_t i = 0; i < ADDRESSES; i++) {
        struct http_address client = web_board_phone((uint8_t)(i + 1));
        client.device = 7;
        const struct board_write message = web_board_message(client);
        board_write(fixture.board, &message, web_board_on_done, &told[i]);
    }
    web_board_leave(&fixture, 99, &other);
    wait_deposits(&fixture, 2); /* of each one: each is heard, then waits */
    assert_int_equal(web_board_look(&fixture, &fixture.world.hellos), 2);
    set_stalls(&fixture, false);
    web_board_wait(&fixture, &other);
    for (unsigned i = 0; i < ADDRESSES; i++) {
        web_board_wait(&fixture, &told[i]);
        assert_int_equal(told[i].outcome, BOARD_DONE);
    }
    clock_stands_ms = 0;
    web_board_stop(&fixture);
}

/* A reading request names the phone whose request it is; the plain list that is known already costs
 * nobody. */
WEB_BOARD_TEST_OF_ONE(test_readers_pay)
{
    struct view tea = web_board_tea();
    tea.topic_count = 0;
    struct view older = tea;
    struct http_address client = web_board_phone(7);
    struct web_board_told told = web_board_list_for(fixture, &tea, &client);
    assert_int_equal(web_board_look(fixture, &fixture->world.asker), 7);
    unsigned queries = web_board_look(fixture, &fixture->world.queries);
    client = web_board_phone(8);
    told.count = 0;
    board_list(fixture->board, &tea, &client, web_board_on_done, &told);
    assert_int_equal(told.count, 1);
    assert_int_equal(web_board_look(fixture, &fixture->world.queries), queries);
    told = web_board_get(fixture, web_board_id, &client);
    assert_int_equal(web_board_look(fixture, &fixture->world.asker), 8);
    client = web_board_phone(9);
    told = web_board_place(fixture, &client);
    assert_string_equal(told.place, "place:bar\nplace:hall\n");
    assert_int_equal(web_board_look(fixture, &fixture->world.asker), 9);
    older.before_ms = 5;
    told = web_board_list_for(fixture, &older, NULL); /* an open page */
    assert_int_equal(web_board_look(fixture, &fixture->world.asker), 0);
}

/* What few read is asked for by each phone that reads it, and paid by it, so neither its tokens nor
 * a refusal say that another phone has just read the same. */
WEB_BOARD_TEST_OF_ONE(test_readers_learn_nothing_of_others)
{
    const struct http_address victim = web_board_phone(7);
    const struct http_address other = web_board_phone(8);
    const struct view tea = web_board_tea();
    struct view of_few[] = {tea, tea, tea, tea, tea};
    struct web_board_told told;
    for (unsigned i = 1; i < 5; i++) {
        of_few[i].topic_count = 0;
    }
    of_few[1].before_ms = 5;
    of_few[2].is_now = true;
    of_few[3].is_hood = true;
    of_few[4].order = VIEW_NEAREST;
    for (unsigned i = 0; i < 5; i++) {
        told = web_board_list_for(fixture, &of_few[i], &victim);
        told = web_board_list_for(fixture, &of_few[i], &other);
        assert_int_equal(web_board_look(fixture, &fixture->world.asker), 8);
    }
    told = web_board_get(fixture, web_board_id, &victim);
    told = web_board_get(fixture, web_board_id, &other);
    assert_int_equal(web_board_look(fixture, &fixture->world.asker), 8);
    assert_int_equal(web_board_look(fixture, &fixture->world.gets), 2);
    unsigned queries = web_board_look(fixture, &fixture->world.queries);
    told = web_board_list(fixture, &tea);
    assert_int_equal(told.outcome, BOARD_DONE); /* an open page is nobody's: what is known does */
    assert_int_equal(web_board_look(fixture, &fixture->world.queries), queries);
}

static size_t count_refused(const struct board *board)
{
    size_t count = 0;

    for (size_t i = 0; i < REFUSED_MAX; i++) {
        count += board->refused.senders[i].sender != 0;
    }
    return count;
}

/* A reader who reads too often is told so, and then at once, without a question, until the time
 * that hearsayd named. Who waits for the same answer is asked for in its place. */
WEB_BOARD_TEST_OF_ONE(test_refused_readers)
{
    struct web_board_told told[2] = {{.count = 0}, {.count = 0}};
    const struct view tea = web_board_tea();
    struct view older = tea;
    struct view plain = tea;
    plain.topic_count = 0;
    const struct http_address tired = web_board_phone(7);
    const struct http_address other = web_board_phone(8);
    WEB_BOARD_SET(fixture, tired, 7);
    board_list(fixture->board, &tea, &tired, web_board_on_done, &told[0]);
    board_list(fixture->board, &tea, &other, web_board_on_done, &told[1]);
    web_board_wait(fixture, &told[0]);
    web_board_wait(fixture, &told[1]);
    assert_int_equal(told[0].outcome, BOARD_LIMITED);
    assert_in_range(told[0].retry_after_ms, 1, 5000);
    assert_int_equal(told[1].outcome, BOARD_DONE);
    assert_int_equal(web_board_look(fixture, &fixture->world.asker), 8);
    told[0].count = 0;
    older.before_ms = 5;
    board_list(fixture->board, &older, &tired, web_board_on_done, &told[0]);
    assert_int_equal(told[0].count, 1);
    assert_int_equal(told[0].outcome, BOARD_LIMITED);
    board_list(fixture->board, &tea, &tired, web_board_on_done, &told[0]); /* 8 knows it */
    assert_int_equal(told[0].count, 2);
    assert_int_equal(told[0].outcome, BOARD_LIMITED);
    (void)web_board_list_for(fixture, &plain, &other);
    board_list(fixture->board, &plain, &tired, web_board_on_done, &told[0]); /* all know it */
    assert_int_equal(told[0].count, 3);
    assert_int_equal(told[0].outcome, BOARD_DONE);
    assert_int_equal(web_board_look(fixture, &fixture->world.refused_reads), 1);
    WEB_BOARD_SET(fixture, tired, 0);
    board_tidy(fixture->board);
    assert_int_equal(count_refused(fixture->board), 1);
    clock_ahead_ms += 5001;
    board_tidy(fixture->board);
    assert_int_equal(count_refused(fixture->board), 0); /* nothing of the phone stays */
    told[0] = web_board_list_for(fixture, &older, &tired);
    assert_int_equal(told[0].outcome, BOARD_DONE);
    assert_int_equal(web_board_look(fixture, &fixture->world.asker), 7);
    clock_ahead_ms = 0;
}

/* Whoever hearsayd has told when to try again is told so at once until then, for all that counts
 * with the same rate, and from all addresses of the device. Others are asked for. */
WEB_BOARD_TEST(test_refusals_are_remembered)
{
    struct http_address client = web_board_phone(7);
    client.device = 7;
    struct board_write message = web_board_message(client);
    WEB_BOARD_SET(fixture, refusal, HEARSAY_CODE_RATE_LIMITED);
    struct web_board_told told = web_board_write(fixture, &message);
    assert_int_equal(told.outcome, BOARD_LIMITED);
    WEB_BOARD_SET(fixture, refusal, 0);
    unsigned hellos = web_board_look(fixture, &fixture->world.hellos);
    for (unsigned kind = BOARD_LEAVE; kind <= BOARD_REPORT; kind++) {
        message.kind = (enum board_write_kind)kind;
        message.host = "";
        message.client.bytes[3]++;
        told.count = 0;
        board_write(fixture->board, &message, web_board_on_done, &told);
        assert_int_equal(told.count, 1);
        assert_int_equal(told.outcome, BOARD_LIMITED);
        assert_in_range(told.retry_after_ms, 1, 5000);
    }
    assert_int_equal(web_board_look(fixture, &fixture->world.hellos), hellos);
    told.count = 0;
    web_board_leave(fixture, 7, &told); /* the address, of another device or of none */
    web_board_wait(fixture, &told);
    assert_int_equal(told.outcome, BOARD_DONE);
    clock_ahead_ms += 5001;
    message.kind = BOARD_LEAVE;
    told = web_board_write(fixture, &message);
    assert_int_equal(told.outcome, BOARD_DONE);
    clock_ahead_ms = 0;
}

/* A hearsayd that ignores on_behalf of requests would let phones read without limits: it is asked
 * nothing, and the reason names what to update. */
TEST(test_old_server)
{
    struct web_board fixture;
    const struct view view = web_board_tea();
    struct web_board_told told = {.count = 0};
    web_board_prepare(&fixture);
    fixture.world.is_deaf = true;
    web_board_connect(&fixture, 2);
    while (strstr(told.why, "update hearsayd") == NULL) {
        web_board_turn(&fixture);
        told = web_board_list(&fixture, &view);
        assert_int_equal(told.outcome, BOARD_AWAY);
    }
    assert_false(board_is_connected(fixture.board));
    web_board_leave(&fixture, 1, &told);
    assert_int_equal(told.outcome, BOARD_AWAY);
    assert_int_equal(web_board_look(&fixture, &fixture.world.queries), 0);
    assert_int_equal(web_board_look(&fixture, &fixture.world.deposits), 0);
    web_board_stop(&fixture);
}

/* Whoever waits when the program stops is told. */
TEST(test_stops)
{
    struct web_board fixture;
    const struct view view = web_board_tea();
    struct web_board_told waiting[2];
    memset(waiting, 0, sizeof(waiting));
    web_board_start(&fixture, 1);
    board_list(fixture.board, &view, NULL, web_board_on_done, &waiting[0]);
    web_board_leave(&fixture, 1, &waiting[1]);
    web_board_stop(&fixture);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(waiting[i].count, 1);
        assert_int_equal(waiting[i].outcome, BOARD_AWAY);
    }
}

static void count_ticks(uv_handle_t *handle, void *context)
{
    unsigned *ticks = context;

    *ticks += handle->type == UV_TIMER && uv_is_active(handle) &&
              uv_timer_get_repeat((const uv_timer_t *)(const void *)handle) > 0;
}

/* How many timers of the loop come again and again. */
static unsigned ticks_of(struct web_board *fixture)
{
    unsigned ticks = 0;

    uv_walk(&fixture->loop, count_ticks, &ticks);
    return ticks;
}

/*
 * An idle access point sleeps: without a question, an answer that is kept or a watch nothing ticks,
 * and a connection of a phone that is idle waits for its end, and looks at nothing before it.
 */
WEB_BOARD_TEST(test_nothing_due_ticks_nothing)
{
    struct view tea = web_board_tea();

    assert_int_equal(ticks_of(fixture), 0);
    struct web_board_told told = web_board_left(fixture, 1);
    assert_int_equal(told.outcome, BOARD_DONE);
    assert_int_equal(ticks_of(fixture), 0);
    told = web_board_list(fixture, &tea);
    assert_int_equal(told.outcome, BOARD_DONE);
    assert_int_equal(ticks_of(fixture), 1); /* an answer is kept */
}
