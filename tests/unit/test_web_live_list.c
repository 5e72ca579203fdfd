/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live updates and lists: a stream gets from its view's list what no watch reports, once; a message
 * that went leaves, and one that others pushed out of the list stays.
 */
#include "client/web/live.h"

#include <string.h>

#include "client/web/live_inner.h"
#include "tests/lib/check.h"
#include "tests/unit/web_live_fixture.h"

static struct http_stream *stream_open_since(unsigned phone, const char *query)
{
    struct http_exchange exchange = {.status = 0};
    struct http_request request = {.path = "/events",
                                   .query = query,
                                   .client = {.family = 4, .bytes = {10, 0, 0, (uint8_t)phone}}};

    live_begin(web_live.live, &exchange, &request, &web_live.plain);
    assert_int_equal(exchange.status, 200);
    return exchange.stream;
}

/* What was deposited between a page and its stream comes from the list, once. */
static void a_stream_gets_what_came_behind_its_page(void **state)
{
    (void)state;
    struct http_stream *without = web_live_open(1, -1);
    struct http_stream *since = stream_open_since(2, "since=1002");
    struct http_stream *wrong = stream_open_since(3, "since=1002x");
    web_live_watch_begins(3);
    web_live_set_list(3, (unsigned[]){3, 2, 1}, false);
    web_live_pass(LIVE_SOON_MS);
    assert_string_equal(web_live_got(since), "l2 l3");
    web_live_pass(2 * LIVE_LIST_MS);
    assert_string_equal(web_live_got(since), "l2 l3 : :");
    assert_string_equal(web_live_got(without), ": :");
    assert_string_equal(web_live_got(wrong), ": :");
    (void)stream_open_since(4, "since=1");
    size_t before = web_live.list_count;
    web_live_pass(LIVE_SOON_MS);
    assert_int_equal(web_live.list_count, before + 1);
}

static void who_lacks_too_much_of_the_list_loads_it(void **state)
{
    static char text[4096];

    (void)state;
    struct http_stream *since = stream_open_since(2, "since=1");
    web_live_watch_begins(3);
    web_live_set_list(3, (unsigned[]){3, 2, 1}, false);
    memset(text, 'x', sizeof(text));
    memcpy(text, "m9", 2);
    for (size_t i = 0; i < 3; i++) {
        web_live.listed[i].text = text;
        web_live.listed[i].bytes = sizeof(text);
    }
    web_live_pass(LIVE_SOON_MS);
    assert_string_equal(web_live_got(since), "l9 G");
}

/* A message that was withdrawn, hidden or removed leaves within a minute, of the ring, too. */
static void a_message_that_went_leaves(void **state)
{
    (void)state;
    struct http_stream *stream = web_live_open(1, -1);
    web_live_watch_begins(1);
    web_live_watch_matches(2);
    web_live_watch_matches(3);
    web_live_set_list(3, (unsigned[]){3, 2, 1}, true);
    web_live_pass(LIVE_SOON_MS);
    assert_string_equal(web_live_got(stream), "m2 m3");
    web_live_set_list(2, (unsigned[]){3, 1}, true);
    web_live.gone_id = 2;
    web_live_pass(LIVE_LIST_MS + LIVE_TICK_MS);
    assert_string_equal(web_live_got(stream), "m2 m3 : -02");
    assert_int_equal(web_live.get_count, 1);
    web_live_pass(LIVE_LIST_MS);
    assert_int_equal(web_live.get_count, 1);
    assert_string_equal(web_live_got(web_live_open(2, 1)), "m3");
}

/* More messages than are asked for at a time are hidden at once: all leave. */
static void many_messages_that_went_leave(void **state)
{
    enum { FIRST = 2, MANY = 3 * LIVE_CHECKS };

    (void)state;
    struct http_stream *stream = web_live_open(1, -1);
    web_live_watch_begins(1);
    for (uint64_t seq = FIRST; seq < FIRST + MANY; seq++) {
        web_live_watch_matches(seq);
    }
    web_live_set_list(1, (unsigned[]){1}, false);
    web_live.gone_id = FIRST;
    web_live.gone_last = FIRST + MANY - 1;
    web_live_pass(LIVE_SOON_MS);
    assert_non_null(strstr(web_live_got(stream), "-02"));
    assert_non_null(strstr(web_live_got(stream), "-19"));
    assert_int_equal(web_live.get_count, MANY);
}

/* Messages that are there, but not in the list, do not keep one behind them from leaving. */
static void messages_that_are_there_do_not_keep_others(void **state)
{
    enum { FIRST = 2, LAST = FIRST + LIVE_CHECKS };

    (void)state;
    struct http_stream *stream = web_live_open(1, -1);
    web_live_watch_begins(1);
    for (uint64_t seq = FIRST; seq <= LAST; seq++) {
        web_live_watch_matches(seq);
    }
    web_live_set_list(1, (unsigned[]){1}, false);
    web_live.gone_id = LAST;
    web_live_pass(LIVE_SOON_MS);
    assert_int_equal(web_live.get_count, LIVE_CHECKS + 1);
    assert_non_null(strstr(web_live_got(stream), "-0a"));
}

/* Others that are newer push a message out of the list: it has not gone. If it goes later, it
 * leaves. */
static void a_message_that_was_pushed_out_leaves_when_it_goes(void **state)
{
    (void)state;
    struct http_stream *stream = web_live_open(1, -1);
    web_live_watch_begins(1);
    web_live_set_list(3, (unsigned[]){5, 4, 1}, true);
    web_live_pass(LIVE_SOON_MS);
    web_live_set_list(3, (unsigned[]){7, 5, 3}, true);
    web_live_pass(LIVE_LIST_MS);
    assert_int_equal(web_live.get_count, 2);
    assert_null(strchr(web_live_got(stream), '-'));
    web_live.gone_id = 1;
    web_live_pass(LIVE_LIST_MS);
    assert_non_null(strstr(web_live_got(stream), "-01"));
    assert_null(strstr(web_live_got(stream), "-04"));
}

/* A message that only pages sorted by nearness show leaves them when it goes. */
static void a_message_that_is_near_leaves_when_it_goes(void **state)
{
    struct http_exchange exchange;
    struct view near = web_live.plain;

    (void)state;
    near.order = VIEW_NEAREST;
    exchange = web_live_ask(1, &near, NULL);
    web_live_watch_begins(1);
    web_live_set_list(2, (unsigned[]){5, 4}, true);
    web_live_set_near(2);
    web_live_pass(LIVE_SOON_MS + LIVE_LIST_MS);
    assert_null(strchr(web_live_got(exchange.stream), '-'));
    web_live.gone_id = 2;
    web_live_pass(LIVE_LIST_MS);
    assert_non_null(strstr(web_live_got(exchange.stream), "-02"));
}

/* hearsayd refuses the watch: what is new comes from the list. */
static void without_a_watch_the_list_tells_what_is_new(void **state)
{
    (void)state;
    struct http_stream *stream = web_live_open(1, -1);
    web_live_watch_ends();
    web_live_set_list(2, (unsigned[]){2, 1}, false);
    web_live_pass(LIVE_SOON_MS);
    assert_string_equal(web_live_got(stream), "");
    web_live_set_list(3, (unsigned[]){3, 2, 1}, false);
    web_live_pass(LIVE_LIST_MS);
    assert_non_null(strstr(web_live_got(stream), "l3"));
    assert_null(strstr(web_live_got(stream), "l2"));
}

/* There are too many watches: the page loads its list, and then the list tells what is new, soon.
 */
static void views_beyond_the_watches_are_looked_at(void **state)
{
    (void)state;
    web_live.has_too_many = true;
    struct http_stream *stream = web_live_open(1, 5);
    assert_string_equal(web_live_got(stream), "G");
    web_live_set_list(2, (unsigned[]){2, 1}, false);
    web_live_pass(LIVE_SOON_MS);
    web_live_set_list(3, (unsigned[]){3, 2, 1}, false);
    web_live_pass(LIVE_POLL_MS + LIVE_TICK_MS);
    assert_string_equal(web_live_got(stream), "G l3");
    web_live.has_too_many = false;
    web_live_pass(LIVE_RETRY_MS);
    web_live_watch_begins(7);
    web_live_watch_matches(8);
    assert_non_null(strstr(web_live_got(stream), "m8"));
}

/* The clock of an access point was set: open pages look at it again, once. */
static void pages_look_when_the_clock_was_set(void **state)
{
    (void)state;
    struct http_stream *stream = web_live_open(1, -1);
    web_live_watch_begins(1);
    web_live_pass(2 * LIVE_TICK_MS);
    web_live.offset_ms += LIVE_SHIFT_MS;
    web_live_pass(2 * LIVE_TICK_MS);
    stream->sent[stream->count] = '\0';
    assert_null(strstr(stream->sent, "event: look\n"));
    web_live.offset_ms += LIVE_SHIFT_MS + 1;
    web_live_pass(LIVE_TICK_MS);
    size_t count = stream->count;
    stream->sent[count] = '\0';
    assert_non_null(strstr(stream->sent, "event: look\n"));
    web_live_pass(2 * LIVE_TICK_MS);
    assert_int_equal(stream->count, count);
}

#define LIVE_TEST(name) cmocka_unit_test_setup_teardown(name, web_live_setup, web_live_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIVE_TEST(views_beyond_the_watches_are_looked_at),
        LIVE_TEST(a_stream_gets_what_came_behind_its_page),
        LIVE_TEST(who_lacks_too_much_of_the_list_loads_it),
        LIVE_TEST(a_message_that_went_leaves),
        LIVE_TEST(pages_look_when_the_clock_was_set),
        LIVE_TEST(many_messages_that_went_leave),
        LIVE_TEST(messages_that_are_there_do_not_keep_others),
        LIVE_TEST(a_message_that_was_pushed_out_leaves_when_it_goes),
        LIVE_TEST(a_message_that_is_near_leaves_when_it_goes),
        LIVE_TEST(without_a_watch_the_list_tells_what_is_new),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
