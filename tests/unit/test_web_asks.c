/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the board asks hearsayd, and in which order: which questions wait and come first, which
 * answers many readers share, and when an answer is given again or forgotten.
 */
#include "client/web/board/ask.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "client/web/board/house.h"
#include "tests/lib/check.h"
#include "tests/unit/web_board_fixture.h"

/* --- the order of questions ---------------------------------------------------------------------
 */

/* A list by similarity, for which the board asks once. For the newest messages it asks twice here,
 * because one of the three is sealed: see test_newest_list of test_web_board.c. */
static struct view near_tea(void)
{
    struct view view = web_board_tea();

    view.order = VIEW_NEAREST;
    return view;
}

/* A phone (0: an open page) asks for a list. */
static bool queue_list(struct asks *asks, unsigned number, uint8_t phone)
{
    struct view view = near_tea();
    struct ask key = {.kind = ASK_LIST, .view = &view};
    view.before_ms = (int64_t)number;
    if (phone != 0) {
        key.client = web_board_phone(phone);
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

/* As many phones ask for a list as make it shared. */
static void queue_shared(struct asks *asks, unsigned number, uint8_t first_phone)
{
    for (uint8_t i = 0; i <= ASK_READERS; i++) {
        assert_true(queue_list(asks, number, (uint8_t)(first_phone + i)));
    }
}

/* Lists that many phones look at come first, then those of few, then those of open pages. One phone
 * has at most ASK_OWN_MAX lists waiting that nobody else looks at. */
static void test_shared_lists_come_first(void **state)
{
    (void)state;
    enum { OPEN = 20, SHARED, OTHER };
    struct asks asks;
    bool may_send[ASK_RANKS] = {true, true, true, true};
    const struct http_address client = web_board_phone(1);
    asks_init(&asks, 16);
    assert_true(queue_list(&asks, OPEN, 0)); /* an open page's */
    for (unsigned i = 1; i <= ASK_OWN_MAX; i++) {
        assert_true(queue_list(&asks, i, 1));
        assert_true(queue_list(&asks, i, 1)); /* the same again */
    }
    assert_false(queue_list(&asks, ASK_OWN_MAX + 1, 1)); /* too many of phone 1 */
    assert_true(queue_list(&asks, OTHER, 2));
    queue_shared(&asks, SHARED, 3);
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
    send_next(&asks, may_send, OPEN);
    assert_null(asks_next(&asks, may_send));
    assert_true(queue_list(&asks, SHARED, 1)); /* others have looked at it */
    send_next(&asks, may_send, SHARED);
    may_send[ASK_OWN] = true;
    send_next(&asks, may_send, 2);
    asks_deinit(&asks);
}

/* A phone with several addresses and open pages makes no list shared. */
static void test_few_addresses_share_nothing(void **state)
{
    (void)state;
    const bool may_send[ASK_RANKS] = {[ASK_SHARED] = true};
    struct asks asks;
    asks_init(&asks, 16);
    for (uint8_t address = 0; address <= ASK_READERS; address++) {
        assert_true(queue_list(&asks, 1, address));
        assert_true(queue_list(&asks, 1, address));
    }
    assert_null(asks_next(&asks, may_send));
    for (unsigned i = 2; i <= ASK_OWN_MAX; i++) {
        assert_true(queue_list(&asks, i, ASK_READERS)); /* the first list counts for each */
    }
    assert_false(queue_list(&asks, ASK_OWN_MAX + 1, ASK_READERS));
    asks_deinit(&asks);
}

/* The addresses of the phones that asked go when the list becomes shared; what waits goes as a
 * shared list, and does not count for these phones. */
static void test_shared_lists_have_no_address(void **state)
{
    (void)state;
    const bool may_send[ASK_RANKS] = {[ASK_SHARED] = true};
    struct asks asks;
    asks_init(&asks, 16);
    assert_true(queue_list(&asks, 1, 1));
    assert_int_equal(asks.first->readers[0].bytes[3], 1);
    queue_shared(&asks, 1, 1);
    for (size_t i = 0; i < ASK_READERS; i++) {
        assert_int_equal(asks.first->readers[i].family, 0);
        assert_int_equal(asks.first->readers[i].bytes[3], 0);
    }
    assert_int_equal(asks.first->client.family, 0);
    send_next(&asks, may_send, 1);
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
    queue_shared(&asks, SHARED, 1);
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

/* Questions that nobody asks any more are forgotten, with the addresses of those who asked. */
static void test_questions_are_forgotten(void **state)
{
    (void)state;
    struct asks asks;
    struct view view = near_tea();
    asks_init(&asks, 4);
    struct ask *place = asks_take(
        &asks, &(struct ask){.kind = ASK_PLACE, .host = "default", .client = web_board_phone(1)});
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

/* More places are kept only while somebody waits for them. */
static void test_few_places_are_kept(void **state)
{
    (void)state;
    enum { PHONES = ASK_PLACES_MAX + 10 };
    struct asks asks;
    struct ask key = {.kind = ASK_PLACE, .host = "default", .client = web_board_phone(1)};
    asks_init(&asks, 4);
    for (unsigned i = 0; i < PHONES; i++) {
        key.client.bytes[1] = (uint8_t)(i >> 8);
        key.client.bytes[2] = (uint8_t)i;
        struct ask *ask = asks_take(&asks, &key);
        assert_int_equal(ask != NULL, i < ASK_PLACES_MAX);
        if (ask != NULL) {
            ask->pins = 1; /* a reader is told */
        }
    }
    for (struct ask *ask = asks.first; ask != NULL; ask = ask->next) {
        ask->pins = 0;
    }
    assert_non_null(asks_take(&asks, &key));
    assert_int_equal(asks.counts[ASK_PLACE], ASK_PLACES_KEPT);
    asks_deinit(&asks);
}

/* Many phones that come at once are told their places, and do not hold up the lists. */
static void test_small_questions_do_not_stop_lists(void **state)
{
    (void)state;
    enum { PHONES = HOUSE_SMALL_AT_A_TIME + 50 };
    struct web_board fixture;
    static struct web_board_told told[PHONES];
    struct web_board_told shown = {.count = 0};
    const struct view view = near_tea();
    memset(told, 0, sizeof(told));
    web_board_start(&fixture, 2, false);
    for (unsigned i = 0; i < PHONES; i++) {
        struct http_address client = web_board_phone((uint8_t)i);
        client.bytes[2] = (uint8_t)(i >> 8);
        board_place(fixture.board, "", &client, web_board_on_done, &told[i]);
    }
    board_list(fixture.board, &view, NULL, web_board_on_done, &shown);
    web_board_wait(&fixture, &shown);
    for (unsigned i = 0; i < PHONES; i++) {
        web_board_wait(&fixture, &told[i]);
        assert_int_equal(told[i].outcome, BOARD_DONE);
    }
    assert_int_equal(shown.outcome, BOARD_DONE);
    assert_true(shown.order < told[PHONES - 1].order);
    web_board_stop(&fixture);
}

/* However many phones ask for ever other lists: what only open pages look at is asked for, too. */
static void test_open_pages_do_not_starve(void **state)
{
    (void)state;
    enum { PHONES = 100 };
    struct web_board fixture;
    static struct web_board_told told[PHONES];
    struct web_board_told looked = {.count = 0};
    const struct view view = near_tea();
    struct view other = near_tea();
    memset(told, 0, sizeof(told));
    web_board_start_cached(&fixture, 2, false, 0);
    struct web_board_watcher watchers[3]; /* as many as hearsayd allows */
    memset(watchers, 0, sizeof(watchers));
    for (unsigned i = 0; i < 3; i++) {
        other.topics[0][0] = (char)('x' + i);
        assert_non_null(
            board_watch(fixture.board, &other, HEARSAY_NO_SEQ, &web_board_events, &watchers[i]));
    }
    for (uint8_t i = 0; i <= ASK_READERS; i++) { /* it is shared, and so has its place */
        const struct http_address client = web_board_phone((uint8_t)(200 + i));
        told[0].count = 0;
        board_list(fixture.board, &view, &client, web_board_on_done, &told[0]);
        web_board_wait(&fixture, &told[0]);
    }
    told[0].count = 0;
    for (unsigned i = 0; looked.count == 0; i++) {
        const struct http_address client = web_board_phone((uint8_t)(i % PHONES + 1));
        if (i == PHONES) { /* all tokens are taken, and phones wait */
            board_list(fixture.board, &view, NULL, web_board_on_done, &looked);
        }
        if (told[i % PHONES].count > 0 || i < PHONES) {
            (void)snprintf(other.topics[0], sizeof(other.topics[0]), "topic %u", i);
            told[i % PHONES].count = 0;
            board_list(fixture.board, &other, &client, web_board_on_done, &told[i % PHONES]);
        }
        if (i % PHONES == PHONES - 1) {
            web_board_turn(&fixture);
        }
    }
    assert_int_equal(looked.outcome, BOARD_DONE);
    web_board_stop(&fixture);
}

/* One phone after the other asks for a list of its own. Returns how long they waited, in ms. */
static uint64_t own_lists_ms(struct web_board *fixture, unsigned first, unsigned count)
{
    const uint64_t began_ns = uv_hrtime();

    for (unsigned i = first; i < first + count; i++) {
        struct web_board_told told = {.count = 0};
        struct view view = near_tea();
        const struct http_address client = web_board_phone((uint8_t)i);
        (void)snprintf(view.topics[0], sizeof(view.topics[0]), "topic %u", i);
        board_list(fixture->board, &view, &client, web_board_on_done, &told);
        web_board_wait(fixture, &told);
        assert_int_equal(told.outcome, BOARD_DONE);
    }
    return (uv_hrtime() - began_ns) / 1000000;
}

/* As many lists as the board keeps are asked for at once; ever new ones wait for their turn.
 * Without a burst, the first ones took 330 ms and more. In a round the machine may be busy. */
static void test_first_lists_do_not_wait(void **state)
{
    (void)state;
    enum { ROUNDS = 20, FIRST_MS = 300, LATER = 24, LATER_MS = 300 };
    uint64_t first_ms = UINT64_MAX;

    for (unsigned round = 0; round < ROUNDS && first_ms >= FIRST_MS; round++) {
        struct web_board fixture;
        web_board_start(&fixture, 2, false);
        first_ms = own_lists_ms(&fixture, 1, WEB_BOARD_VIEWS);
        if (round == 0) {
            assert_true(own_lists_ms(&fixture, 1 + WEB_BOARD_VIEWS, LATER) >= LATER_MS);
        }
        web_board_stop(&fixture);
    }
    assert_true(first_ms < FIRST_MS);
}

/* --- answers that are given again ---------------------------------------------------------------
 */

/* Readers of one view share a query, and the answer is given again until something changes. */
static void test_shares(void **state)
{
    (void)state;
    struct web_board fixture;
    const struct view view = near_tea();
    struct web_board_told first = {.count = 0};
    struct web_board_told second = {.count = 0};
    struct web_board_told forgotten = {.count = 0};
    web_board_start(&fixture, 2, false);
    board_list(fixture.board, &view, NULL, web_board_on_done, &first);
    board_list(fixture.board, &view, NULL, web_board_on_done, &forgotten);
    board_list(fixture.board, &view, NULL, web_board_on_done, &second);
    board_forget(fixture.board, &forgotten);
    web_board_wait(&fixture, &second);
    assert_int_equal(first.count, 1);
    assert_int_equal(forgotten.count, 0);
    assert_int_equal(web_board_list(&fixture, &view).messages, 2);
    assert_int_equal(web_board_look(&fixture, &fixture.world.queries), 1);
    assert_int_equal(web_board_look(&fixture, &fixture.world.watches), 1);

    uint64_t version = board_version(fixture.board);
    (void)pthread_mutex_lock(&fixture.world.lock);
    web_board_push_match(&fixture.world, 11);
    (void)pthread_mutex_unlock(&fixture.world.lock);
    while (board_version(fixture.board) == version) {
        web_board_turn(&fixture);
    }
    assert_int_equal(web_board_list(&fixture, &view).messages, 2);
    assert_int_equal(web_board_look(&fixture, &fixture.world.queries), 2);
    assert_int_equal(web_board_look(&fixture, &fixture.world.watches), 1);
    web_board_stop(&fixture);
}

/* As many lists as may be under way at a time, so that the next one waits; at a later time of the
 * loop's clock than all answers. */
static void ask_for_others(struct web_board *fixture,
                           struct web_board_told told[HOUSE_QUERIES_AT_A_TIME])
{
    struct view view = near_tea();
    const uint64_t before = uv_now(&fixture->loop);
    while (uv_now(&fixture->loop) == before) {
        uv_update_time(&fixture->loop);
    }
    memset(told, 0, HOUSE_QUERIES_AT_A_TIME * sizeof(*told));
    for (unsigned i = 0; i < HOUSE_QUERIES_AT_A_TIME; i++) {
        view.topics[0][0] = (char)('a' + i);
        board_list(fixture->board, &view, NULL, web_board_on_done, &told[i]);
        assert_int_equal(told[i].count, 0);
    }
}

static void wait_others(struct web_board *fixture,
                        const struct web_board_told told[HOUSE_QUERIES_AT_A_TIME])
{
    for (unsigned i = 0; i < HOUSE_QUERIES_AT_A_TIME; i++) {
        web_board_wait(fixture, &told[i]);
    }
}

/* A watched list that cannot be asked for now is given again, until hearsayd tells of a change or
 * does not watch any more. */
static void test_watched_lists_do_not_wait(void **state)
{
    (void)state;
    struct web_board fixture;
    struct web_board_told others[HOUSE_QUERIES_AT_A_TIME];
    const struct view view = near_tea();
    web_board_start_cached(&fixture, 2, false, 0);
    assert_int_equal(web_board_list(&fixture, &view).outcome, BOARD_DONE);
    (void)pthread_mutex_lock(&fixture.world.lock);
    uint64_t watch_id = fixture.world.watch_id;
    (void)pthread_mutex_unlock(&fixture.world.lock);

    ask_for_others(&fixture, others);
    struct web_board_told told = {.count = 0};
    board_list(fixture.board, &view, NULL, web_board_on_done, &told);
    assert_int_equal(told.count, 1); /* at once */
    assert_int_equal(told.outcome, BOARD_DONE);
    assert_int_equal(told.messages, 2);
    assert_int_equal(told.age_ms, 0);
    wait_others(&fixture, others);

    uint64_t version = board_version(fixture.board);
    (void)pthread_mutex_lock(&fixture.world.lock);
    fixture.world.watch_id = watch_id;
    web_board_push_match(&fixture.world, 11);
    (void)pthread_mutex_unlock(&fixture.world.lock);
    while (board_version(fixture.board) == version) {
        web_board_turn(&fixture);
    }
    ask_for_others(&fixture, others);
    told.count = 0;
    board_list(fixture.board, &view, NULL, web_board_on_done, &told);
    assert_int_equal(told.count, 0); /* it has changed */
    web_board_wait(&fixture, &told);
    wait_others(&fixture, others);

    struct web_board_watcher
        watchers[3]; /* as many as hearsayd allows: the cache loses its watches */
    memset(watchers, 0, sizeof(watchers));
    for (unsigned i = 0; i < 3; i++) {
        struct view other = near_tea();
        other.topics[0][0] = (char)('x' + i);
        assert_non_null(
            board_watch(fixture.board, &other, HEARSAY_NO_SEQ, &web_board_events, &watchers[i]));
    }
    ask_for_others(&fixture, others);
    told.count = 0;
    board_list(fixture.board, &view, NULL, web_board_on_done, &told);
    assert_int_equal(told.count, 0); /* nobody tells of changes */
    web_board_wait(&fixture, &told);
    wait_others(&fixture, others);
    web_board_stop(&fixture);
}

/* A page with the view of a list has a watch of its own. Then the one for the list ends, and leaves
 * room for others, and the list is given again while the page is open. */
static void test_a_page_watches_its_list(void **state)
{
    (void)state;
    struct web_board fixture;
    struct web_board_told others[HOUSE_QUERIES_AT_A_TIME];
    struct web_board_watcher watcher = {.begun = 0};
    struct web_board_told told = {.count = 0};
    const struct view view = near_tea();
    web_board_start_cached(&fixture, 2, false, 0);
    assert_int_equal(web_board_list(&fixture, &view).outcome, BOARD_DONE);
    struct board_watch *watch =
        board_watch(fixture.board, &view, HEARSAY_NO_SEQ, &web_board_events, &watcher);
    assert_non_null(watch);
    while (watcher.begun == 0 || web_board_look(&fixture, &fixture.world.watches) != 1) {
        web_board_turn(&fixture);
    }
    ask_for_others(&fixture, others);
    board_list(fixture.board, &view, NULL, web_board_on_done, &told);
    assert_int_equal(told.count, 1); /* at once */
    wait_others(&fixture, others);
    board_unwatch(watch);
    ask_for_others(&fixture, others);
    told.count = 0;
    board_list(fixture.board, &view, NULL, web_board_on_done, &told);
    assert_int_equal(told.count, 0); /* nobody tells of changes */
    web_board_wait(&fixture, &told);
    wait_others(&fixture, others);
    web_board_stop(&fixture);
}

/* Who leaves a message sees it at once, and the lists of other places are not asked for again. */
static void test_a_message_changes_its_place(void **state)
{
    (void)state;
    struct web_board fixture;
    struct view bar = near_tea();
    struct view hall = near_tea();
    struct web_board_told told = {.count = 0};
    const struct http_address client = web_board_phone(7);
    const struct board_leave message = {
        .view = &bar, .text = "hello", .bytes = 5, .id = web_board_id, .token = web_board_token};
    (void)snprintf(bar.place, sizeof(bar.place), "place:bar\n");
    (void)snprintf(hall.place, sizeof(hall.place), "place:hall\n");
    web_board_start(&fixture, 2, false);
    assert_int_equal(web_board_list(&fixture, &bar).outcome, BOARD_DONE);
    assert_int_equal(web_board_list(&fixture, &hall).outcome, BOARD_DONE);
    board_leave(fixture.board, &client, &message, web_board_on_done, &told);
    web_board_wait(&fixture, &told);
    assert_int_equal(web_board_list(&fixture, &hall).outcome, BOARD_DONE);
    assert_int_equal(web_board_look(&fixture, &fixture.world.queries), 2);
    assert_int_equal(web_board_list(&fixture, &bar).outcome, BOARD_DONE);
    assert_int_equal(web_board_look(&fixture, &fixture.world.queries), 3);
    web_board_stop(&fixture);
}

/* A list is not given again before hearsayd has said that it watches. */
static void test_lists_wait_for_their_watch(void **state)
{
    (void)state;
    struct web_board fixture;
    struct web_board_told others[HOUSE_QUERIES_AT_A_TIME];
    struct web_board_told told = {.count = 0};
    const struct view view = near_tea();
    web_board_start_cached(&fixture, 2, false, 0);
    (void)pthread_mutex_lock(&fixture.world.lock);
    fixture.world.holds_watches = true;
    (void)pthread_mutex_unlock(&fixture.world.lock);
    assert_int_equal(web_board_list(&fixture, &view).outcome, BOARD_DONE);
    ask_for_others(&fixture, others);
    board_list(fixture.board, &view, NULL, web_board_on_done, &told);
    assert_int_equal(told.count, 0);
    web_board_wait(&fixture, &told);
    wait_others(&fixture, others);
    web_board_stop(&fixture);
}

/* What a phone withdraws is not given from the cache any more; lists without it are. */
static void test_withdrawn(void **state)
{
    (void)state;
    struct web_board fixture;
    const struct view view = near_tea();
    struct view older = near_tea();
    const struct http_address client = web_board_phone(7);
    const uint8_t *listed = (const uint8_t *)"the third one..";
    struct web_board_told told = {.count = 0};
    older.before_ms = 500;
    web_board_start(&fixture, 2, false);
    board_get(fixture.board, "", listed, web_board_on_done, &told);
    web_board_wait(&fixture, &told);
    assert_int_equal(web_board_list(&fixture, &view).messages, 2);
    assert_int_equal(web_board_list(&fixture, &older).messages, 0);
    told.count = 0;
    board_withdraw(fixture.board, &client, "", listed, web_board_token, web_board_on_done, &told);
    web_board_wait(&fixture, &told);
    assert_int_equal(web_board_list(&fixture, &older).outcome, BOARD_DONE);
    assert_int_equal(web_board_look(&fixture, &fixture.world.queries), 2);
    told.count = 0;
    board_get(fixture.board, "", listed, web_board_on_done, &told);
    web_board_wait(&fixture, &told);
    assert_int_equal(web_board_list(&fixture, &view).outcome, BOARD_DONE);
    assert_int_equal(web_board_look(&fixture, &fixture.world.gets), 2);
    assert_int_equal(web_board_look(&fixture, &fixture.world.queries), 3);
    web_board_stop(&fixture);
}

/* Views beyond the limit push out the one that was asked least recently, with its watch. */
static void test_many_views(void **state)
{
    (void)state;
    struct web_board fixture;
    web_board_start(&fixture, 2, false);
    for (unsigned i = 0; i < 20; i++) {
        struct view view = near_tea();
        (void)snprintf(view.topics[0], sizeof(view.topics[0]), "topic %u", i);
        assert_int_equal(web_board_list(&fixture, &view).outcome, BOARD_DONE);
    }
    assert_int_equal(web_board_look(&fixture, &fixture.world.queries), 20);
    unsigned watches = web_board_look(&fixture, &fixture.world.watches);
    assert_true(watches >= 1 && watches <= 3); /* what hearsayd allows */
    web_board_stop(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_shared_lists_come_first),
        cmocka_unit_test(test_few_addresses_share_nothing),
        cmocka_unit_test(test_small_questions_do_not_stop_lists),
        cmocka_unit_test(test_open_pages_do_not_starve),
        cmocka_unit_test(test_first_lists_do_not_wait),
        cmocka_unit_test(test_watched_lists_do_not_wait),
        cmocka_unit_test(test_lists_wait_for_their_watch),
        cmocka_unit_test(test_a_page_watches_its_list),
        cmocka_unit_test(test_a_message_changes_its_place),
        cmocka_unit_test(test_questions_are_forgotten),
        cmocka_unit_test(test_few_places_are_kept),
        cmocka_unit_test(test_shared_lists_have_no_address),
        cmocka_unit_test(test_own_lists_leave_room),
        cmocka_unit_test(test_many_views),
        cmocka_unit_test(test_withdrawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
