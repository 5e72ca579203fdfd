/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the board asks hearsayd, and in which order: which questions wait and come first, which
 * answers many readers share, and when an answer is given again or forgotten.
 */
#include "client/web/board/ask.h"

#include "client/web/board/answer.h"
#include "client/web/board/inner.h"
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

/* A phone (0: an open page) asks for a list, and waits. Returns the number of the list that gives
 * way; 0: none. */
static int64_t queue_list(struct asks *asks, unsigned number, uint8_t phone)
{
    struct view view = near_tea();
    struct ask key = {.kind = ASK_LIST, .view = &view};
    view.before_ms = (int64_t)number;
    if (phone != 0) {
        key.client = web_board_phone(phone);
    }
    struct ask *ask = asks_take(asks, &key, true);
    assert_non_null(ask);
    assert_true(ask_add_waiter(ask, &key.client, web_board_on_done, asks));
    struct ask *victim = ask_queue(asks, ask, &key.client, 1);
    if (victim == NULL) {
        return 0;
    }
    int64_t gone = victim->view->before_ms;
    ask_land(asks, victim);
    return gone;
}

static void send_next(struct asks *asks, int64_t number)
{
    struct ask *ask = asks_next(asks, true);
    assert_non_null(ask);
    assert_int_equal(ask->view->before_ms, number);
    ask_sent(asks, ask, 1);
    ask_land(asks, ask);
}

static void end(struct asks *asks)
{
    asks_forget(asks, asks);
    asks_deinit(asks);
}

/* However many lists a phone asks for: others wait for one of them, and so do open pages, which are
 * one sender together. Questions that are no lists wait by themselves. */
TEST(test_senders_take_turns)
{
    struct asks asks;
    const struct http_address client = web_board_phone(1);
    asks_init(&asks, 16);
    for (unsigned i = 1; i <= 4; i++) {
        assert_int_equal(queue_list(&asks, i, 1), 0);
        assert_int_equal(queue_list(&asks, i, 1), 0); /* the same again */
    }
    assert_int_equal(queue_list(&asks, 21, 2), 0);
    assert_int_equal(queue_list(&asks, 31, 0), 0);
    assert_int_equal(queue_list(&asks, 32, 0), 0);
    assert_int_equal(queue_list(&asks, 22, 2), 0);
    struct ask *place = asks_take(
        &asks, &(struct ask){.kind = ASK_PLACE, .host = "default", .client = client}, true);
    assert_null(ask_queue(&asks, place, &client, 1));

    assert_ptr_equal(asks_next(&asks, false), place);
    send_next(&asks, 1);
    send_next(&asks, 21);
    send_next(&asks, 31);
    send_next(&asks, 2);
    assert_int_equal(queue_list(&asks, 51, 5), 0); /* whoever comes has the next turn */
    send_next(&asks, 32);
    send_next(&asks, 22);
    send_next(&asks, 3);
    send_next(&asks, 51);
    send_next(&asks, 4);
    assert_null(asks_next(&asks, true));
    end(&asks);
}

/* A list for which others wait, too, counts for the one who has least waiting: a phone that asks
 * for it among many others does not hold it up, and it does not give way with them. */
TEST(test_a_list_counts_for_who_has_least)
{
    enum { PLACES = 8, SHARED = 100 };
    struct asks asks;
    asks_init(&asks, PLACES);
    for (unsigned i = 1; i < PLACES; i++) {
        assert_int_equal(queue_list(&asks, i, 1), 0);
    }
    assert_int_equal(queue_list(&asks, SHARED, 1), 0);
    assert_int_equal(queue_list(&asks, SHARED, 2), 0);
    assert_int_equal(queue_list(&asks, 50, 3), PLACES - 1); /* not the newest one, which is 2's */
    send_next(&asks, 1);
    send_next(&asks, SHARED);
    send_next(&asks, 50);
    end(&asks);
}

/* When there are as many lists as may be, the newest one of who has most gives way: a newcomer gets
 * its list. (T11: lists of random topics from 32 addresses, and a newcomer was told to come again.)
 */
TEST(test_who_has_most_gives_way)
{
    enum { PLACES = 64, PHONES = 32 };
    struct asks asks;
    asks_init(&asks, PLACES);
    for (unsigned i = 1; i <= PLACES; i++) {
        assert_int_equal(queue_list(&asks, i, (uint8_t)(1 + i % PHONES)), 0);
    }
    for (unsigned i = 0; i < PHONES; i++) { /* each newcomer takes a place of who has two */
        assert_true(queue_list(&asks, 1000 + i, (uint8_t)(100 + i)) > PHONES);
    }
    assert_int_equal(queue_list(&asks, 2000, 100), 1000); /* of its own: the others have fewer */
    assert_int_equal(asks.lists.count, PLACES);
    end(&asks);
}

/* Questions that nobody asks any more are forgotten, with the addresses of those who asked. */
TEST(test_questions_are_forgotten)
{
    struct asks asks;
    struct view view = near_tea();
    asks_init(&asks, 4);
    struct ask *place = asks_take(
        &asks, &(struct ask){.kind = ASK_PLACE, .host = "default", .client = web_board_phone(1)},
        true);
    struct ask *list = asks_take(&asks, &(struct ask){.kind = ASK_LIST, .view = &view}, true);
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
TEST(test_few_places_are_kept)
{
    enum { PHONES = ASK_PLACES_MAX + 10 };
    struct asks asks;
    struct ask key = {.kind = ASK_PLACE, .host = "default", .client = web_board_phone(1)};
    asks_init(&asks, 4);
    for (unsigned i = 0; i < PHONES; i++) {
        key.client.bytes[1] = (uint8_t)(i >> 8);
        key.client.bytes[2] = (uint8_t)i;
        struct ask *ask = asks_take(&asks, &key, true);
        assert_non_null(ask);
        ask->pins = 1; /* a reader is told */
        assert_int_equal(ask_queue(&asks, ask, &key.client, 1) != NULL, i >= ASK_PLACES_MAX);
    }
    for (struct ask *ask = asks.first; ask != NULL; ask = ask->next) {
        ask->pins = 0;
    }
    key.client.bytes[1] = UINT8_MAX; /* a newcomer */
    assert_non_null(asks_take(&asks, &key, true));
    assert_int_equal(asks.counts[ASK_PLACE], ASK_PLACES_KEPT);
    asks_deinit(&asks);
}

/* The answers to one message may be as large as a frame, and are given again only while hearsayd is
 * away. So one phone that reads many messages does not fill the memory with them. */
TEST(test_few_answers_are_kept)
{
    struct asks asks;
    struct ask key = {.kind = ASK_ANSWERS, .host = "default"};
    asks_init(&asks, 4);
    for (unsigned i = 0; i < ASK_GETS_MAX; i++) {
        key.id[0] = (uint8_t)i;
        assert_non_null(asks_take(&asks, &key, true));
    }
    assert_int_equal(asks.counts[ASK_ANSWERS], ASK_ANSWERS_KEPT);
    asks_deinit(&asks);
}

/* Many phones that come at once are told their places, and do not hold up the lists. */
WEB_BOARD_TEST(test_small_questions_do_not_stop_lists)
{
    enum { PHONES = BOARD_SMALL_AT_A_TIME + 50 };
    static struct web_board_told told[PHONES];
    const struct view view = near_tea();
    memset(told, 0, sizeof(told));
    for (unsigned i = 0; i < PHONES; i++) {
        struct http_address client = web_board_phone((uint8_t)i);
        client.bytes[2] = (uint8_t)(i >> 8);
        board_place(fixture->board, "", &client, web_board_on_done, &told[i]);
    }
    struct web_board_told shown = web_board_list_for(fixture, &view, NULL);
    for (unsigned i = 0; i < PHONES; i++) {
        web_board_wait(fixture, &told[i]);
        assert_int_equal(told[i].outcome, BOARD_DONE);
    }
    assert_int_equal(shown.outcome, BOARD_DONE);
    assert_true(shown.order < told[PHONES - 1].order);
}

/* --- answers -----------------------------------------------------------------------------------
 */

/* A text of which nothing can be seen is shown as a message without a text, whoever sent it. */
TEST(test_text_of_nothing)
{
    static const uint8_t id[HEARSAY_ID_BYTES];
    static const char *const texts[] = {"tea", " ", "\xe2\x80\x8b", "\xcc\x81", ""};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct hearsay_result result = {.id = hearsay_bytes(id, sizeof(id)),
                                        .media_type = hearsay_text("text/plain"),
                                        .payload = hearsay_bytes(texts[i], strlen(texts[i]))};
        struct board_message message;

        assert_true(answer_borrow(&result, &message));
        assert_true((message.text != NULL) == (i == 0));
        assert_int_equal(message.bytes, strlen(texts[i]));
    }
}

/* Returns how many messages a page of two shows if hearsayd answers with these times. */
static size_t count_listed(const int64_t *times_ms, size_t count, bool is_by_time)
{
    struct hearsay_result results[4] = {{.epoch = 0}};
    const struct hearsay_results found = {.results = results, .result_count = count};

    for (size_t i = 0; i < count; i++) {
        results[i].id = hearsay_bytes("sixteen bytes id", HEARSAY_ID_BYTES);
        results[i].media_type = hearsay_text(i == 1 ? HEARSAY_SEALED_TYPE : "text/plain");
        results[i].payload = hearsay_bytes("tea", 3);
        results[i].deposited_ms = times_ms[i];
    }
    struct answer *answer = answer_of_results(&found, 2, is_by_time, "cafe", NULL);
    assert_non_null(answer);
    const size_t listed = answer->list.count;
    assert_true(answer->list.has_older == (count > 3));
    free(answer);
    return listed;
}

/* The next page begins before the time of the last message: so no millisecond is cut in two, unless
 * all messages of the page are of one. The second message is sealed, and not shown. */
TEST(test_pages_end_between_two_milliseconds)
{
    static const int64_t apart[] = {9, 8, 8, 7};
    static const int64_t together[] = {9, 9, 8, 8};
    static const int64_t equal[] = {8, 8, 8, 8};

    assert_int_equal(count_listed(apart, 4, true), 2);
    assert_int_equal(count_listed(together, 4, true), 1);
    assert_int_equal(count_listed(together, 3, true), 2);
    assert_int_equal(count_listed(together, 4, false), 2);
    assert_int_equal(count_listed(equal, 4, true), 2);
}

/* --- answers that are given again ---------------------------------------------------------------
 */

/* Readers of one view share a query, and the answer is given again until its time is over, or an
 * open page is told of a change. */
WEB_BOARD_TEST(test_shares)
{
    const struct view view = near_tea();
    struct web_board_told first = {.count = 0};
    struct web_board_told second = {.count = 0};
    struct web_board_told forgotten = {.count = 0};
    struct web_board_watcher watcher = {.begun = 0};
    struct board_watch *watch = board_watch(fixture->board, &view, &web_board_events, &watcher);
    WEB_BOARD_WHILE(fixture, watcher.begun == 0);
    board_list(fixture->board, &view, NULL, web_board_on_done, &first);
    board_list(fixture->board, &view, NULL, web_board_on_done, &forgotten);
    board_list(fixture->board, &view, NULL, web_board_on_done, &second);
    board_forget(fixture->board, &forgotten);
    web_board_wait(fixture, &second);
    assert_int_equal(first.count, 1);
    assert_int_equal(forgotten.count, 0);
    assert_int_equal(web_board_list(fixture, &view).messages, 2);
    assert_int_equal(web_board_look(fixture, &fixture->world.queries), 1);
    assert_int_equal(web_board_look(fixture, &fixture->world.watches), 1);

    web_board_tell_match(fixture, 11);
    WEB_BOARD_WHILE(fixture, watcher.matches == 0);
    assert_int_equal(web_board_list(fixture, &view).messages, 2);
    assert_int_equal(web_board_look(fixture, &fixture->world.queries), 2);
    assert_int_equal(web_board_look(fixture, &fixture->world.watches), 1);
    board_unwatch(watch); /* `watcher` ends with this function */
}

/* Who leaves a message sees it at once, and the lists of other places are not asked for again. */
WEB_BOARD_TEST(test_a_message_changes_its_place)
{
    struct view bar = near_tea();
    struct view hall = near_tea();
    const struct http_address client = web_board_phone(7);
    const struct board_write message = {.kind = BOARD_LEAVE,
                                        .client = client,
                                        .view = &bar,
                                        .text = "hello",
                                        .bytes = 5,
                                        .id = web_board_id,
                                        .token = web_board_token};
    (void)snprintf(bar.place, sizeof(bar.place), "place:bar\n");
    (void)snprintf(hall.place, sizeof(hall.place), "place:hall\n");
    assert_int_equal(web_board_list(fixture, &bar).outcome, BOARD_DONE);
    assert_int_equal(web_board_list(fixture, &hall).outcome, BOARD_DONE);
    assert_int_equal(web_board_write(fixture, &message).outcome, BOARD_DONE);
    assert_int_equal(web_board_list(fixture, &hall).outcome, BOARD_DONE);
    assert_int_equal(web_board_look(fixture, &fixture->world.queries), 2);
    assert_int_equal(web_board_list(fixture, &bar).outcome, BOARD_DONE);
    assert_int_equal(web_board_look(fixture, &fixture->world.queries), 3);
}

/* What a phone withdraws is not given from the cache any more; lists without it are, to open pages.
 */
WEB_BOARD_TEST(test_withdrawn)
{
    const struct view view = near_tea();
    struct view older = near_tea();
    const struct http_address client = web_board_phone(7);
    const uint8_t *listed = (const uint8_t *)"the third one..";
    const struct board_write withdrawal = {.kind = BOARD_WITHDRAW,
                                           .client = client,
                                           .host = "",
                                           .id = listed,
                                           .token = web_board_token};
    older.before_ms = 500;
    (void)web_board_get(fixture, listed, &client);
    assert_int_equal(web_board_list(fixture, &view).messages, 2);
    assert_int_equal(web_board_list(fixture, &older).messages, 0);
    assert_int_equal(web_board_write(fixture, &withdrawal).outcome, BOARD_DONE);
    assert_int_equal(web_board_list(fixture, &older).outcome, BOARD_DONE);
    assert_int_equal(web_board_look(fixture, &fixture->world.queries), 2);
    (void)web_board_get(fixture, listed, &client);
    assert_int_equal(web_board_list(fixture, &view).outcome, BOARD_DONE);
    assert_int_equal(web_board_look(fixture, &fixture->world.gets), 2);
    assert_int_equal(web_board_look(fixture, &fixture->world.queries), 3);
}

/* Views beyond the limit push out the one that was asked least recently. No list has a watch. */
WEB_BOARD_TEST(test_many_views)
{
    for (unsigned i = 0; i < 20; i++) {
        struct view view = near_tea();
        (void)snprintf(view.topics[0], sizeof(view.topics[0]), "topic %u", i);
        assert_int_equal(web_board_list(fixture, &view).outcome, BOARD_DONE);
    }
    assert_int_equal(web_board_look(fixture, &fixture->world.queries), 20);
    assert_int_equal(web_board_look(fixture, &fixture->world.watches), 0);
}
