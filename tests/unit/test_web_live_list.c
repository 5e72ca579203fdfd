/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live updates and lists: streams get what makes their page agree with its first page as it is
 * loaded; a message that went leaves, and one that others pushed out of the list stays.
 */
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
TEST_WITH(a_stream_gets_what_came_behind_its_page, web_live_setup, web_live_teardown)
{
    web_live_set_list(1, (unsigned[]){1}, false);
    web_live_pass(1000);
    web_live_set_list(3, (unsigned[]){3, 2, 1}, false);
    web_live_pass(1000);
    struct http_stream *without = web_live_open(1, NULL);
    struct http_stream *since = stream_open_since(2, "since=1000500");
    struct http_stream *wrong = stream_open_since(3, "since=1000500x");
    web_live_watch_begins();
    web_live_pass(LIVE_SOON_MS);
    assert_string_equal(web_live_got(since), "m2 m3");
    web_live_pass(2 * LIVE_LIST_MS);
    assert_string_equal(web_live_got(since), "m2 m3 : :");
    assert_string_equal(web_live_got(without), ": :");
    assert_string_equal(web_live_got(wrong), ": :");
    (void)stream_open_since(4, "since=1");
    size_t before = web_live.list_count;
    web_live_pass(LIVE_SOON_MS);
    assert_int_equal(web_live.list_count, before + 1);
}

/* Else one device that leaves two of the longest texts would have all open pages load their list at
 * once, again and again. */
TEST_WITH(long_texts_let_nobody_load_the_list, web_live_setup, web_live_teardown)
{
    static char text[4096];

    struct http_stream *since = stream_open_since(2, "since=1");
    web_live_watch_begins();
    web_live_set_list(3, (unsigned[]){3, 2, 1}, false);
    memset(text, 'x', sizeof(text));
    for (size_t i = 0; i < 3; i++) {
        web_live.listed[i].text = text;
        web_live.listed[i].bytes = sizeof(text);
    }
    web_live_pass(LIVE_SOON_MS);
    assert_string_equal(web_live_got(since), "m1 m2 m3");
}

/* One device posts 40 messages while others post: of the list, which has a share of them, streams
 * get what came, and what is no more in it goes, so that each shows as many as a page does. */
TEST_WITH(a_page_shows_the_share_of_a_sender, web_live_setup, web_live_teardown)
{
    enum { SHARE = 3, OTHERS = 7 };
    unsigned numbers[SHARE + OTHERS];
    char shown[256] = {0};
    size_t shown_count = 0;

    for (size_t i = 0; i < OTHERS; i++) {
        numbers[SHARE + i] = 200 + (unsigned)i;
    }
    web_live_set_list(OTHERS, numbers + SHARE, false);
    web_live_pass(1000);
    struct http_stream *stream = stream_open_since(2, "since=1");
    web_live_watch_begins();
    web_live_pass(LIVE_SOON_MS);
    for (unsigned i = 1; i <= 40; i++) { /* the newest SHARE of them are in the list */
        size_t own = i < SHARE ? i : SHARE;
        for (size_t j = 0; j < own; j++) {
            numbers[j] = i - (unsigned)j;
        }
        memmove(numbers + own, numbers + SHARE, OTHERS * sizeof(numbers[0]));
        web_live_set_list(own + OTHERS, numbers, true);
        memmove(numbers + SHARE, numbers + own, OTHERS * sizeof(numbers[0]));
        web_live_watch_matches();
        web_live_pass(LIVE_TICK_MS);
    }
    stream->sent[stream->count] = '\0';
    for (const char *at = stream->sent; (at = strstr(at, "{\"id\":\"")) != NULL; at++) {
        char id[3] = {at[7], at[8], '\0'};
        shown[strtoul(id, NULL, 16)] = strncmp(at - 21, "event: message", 14) == 0; /* or `out` */
    }
    for (size_t i = 0; i < sizeof(shown); i++) {
        shown_count += shown[i] != 0;
    }
    assert_int_equal(shown_count, SHARE + OTHERS);
    assert_true(shown[38] && shown[39] && shown[40]);
    assert_int_equal(web_live.get_count, 0);
}

/* A message that moves up into the list because another one went is not new. */
TEST_WITH(a_message_that_moves_up_is_not_new, web_live_setup, web_live_teardown)
{
    web_live_set_list(3, (unsigned[]){3, 2, 1}, false);
    web_live_pass(60 * 1000);
    web_live_set_list(2, (unsigned[]){3, 2}, true);
    struct http_stream *stream = web_live_open(1, NULL);
    web_live_watch_begins();
    web_live_pass(LIVE_SOON_MS);
    web_live_set_list(2, (unsigned[]){3, 1}, true);
    web_live_watch_matches();
    web_live_pass(LIVE_TICK_MS);
    assert_string_equal(web_live_got(stream), "-02");
}

/* Many messages at once are one list, and the next list comes after a while. */
TEST_WITH(many_messages_share_a_list, web_live_setup, web_live_teardown)
{
    struct http_stream *stream = web_live_open(1, NULL);
    web_live_watch_begins();
    for (unsigned number = 1; number <= 20; number++) {
        web_live_leave(number);
    }
    assert_int_equal(web_live.list_count, 1);
    assert_string_equal(web_live_got(stream), "m1");
    web_live_pass(LIVE_TICK_MS);
    assert_int_equal(web_live.list_count, 2);
    assert_non_null(strstr(web_live_got(stream), "m1 m2 m3 m4 m5"));
}

/* A message that was withdrawn, hidden or removed leaves within a minute. */
TEST_WITH(a_message_that_went_leaves, web_live_setup, web_live_teardown)
{
    struct http_stream *stream = web_live_open(1, NULL);
    web_live_watch_begins();
    web_live_set_list(3, (unsigned[]){3, 2, 1}, true);
    web_live_watch_matches();
    assert_string_equal(web_live_got(stream), "m1 m2 m3");
    web_live_pass(1000);
    web_live_set_list(2, (unsigned[]){3, 1}, true);
    web_live_pass(LIVE_LIST_MS + LIVE_SOON_MS);
    assert_non_null(strstr(web_live_got(stream), "-02"));
    assert_int_equal(web_live.get_count, 0);
    web_live_set_list(1, (unsigned[]){1}, true); /* one that is withdrawn here leaves soon */
    web_live_write(3);
    web_live_pass(LIVE_TICK_MS);
    assert_non_null(strstr(web_live_got(stream), "-03"));
}

/* Others that are newer push messages out of the list: they have not gone. If they go later, they
 * leave, also if there are more than are asked for at a time. */
TEST_WITH(messages_that_were_pushed_out_leave_when_they_go, web_live_setup, web_live_teardown)
{
    enum { MANY = 3 * LIVE_CHECKS };
    unsigned numbers[MANY];

    struct http_stream *stream = web_live_open(1, NULL);
    web_live_watch_begins();
    for (unsigned i = 0; i < MANY; i++) {
        numbers[i] = MANY - i;
    }
    web_live_set_list(MANY, numbers, true);
    web_live_watch_matches();
    web_live_pass(1000);
    web_live_set_list(2, (unsigned[]){101, 100}, true);
    web_live_pass(LIVE_LIST_MS + LIVE_SOON_MS);
    assert_int_equal(web_live.get_count, MANY);
    assert_null(strchr(web_live_got(stream), '-'));
    web_live.gone_id = 1;
    web_live.gone_last = MANY - 1;
    web_live_pass(LIVE_LIST_MS);
    assert_non_null(strstr(web_live_got(stream), "-01"));
    assert_non_null(strstr(web_live_got(stream), "-17"));
    assert_null(strstr(web_live_got(stream), "-18"));
}

/* A message that only pages sorted by nearness show leaves them when it goes. */
TEST_WITH(a_message_that_is_near_leaves_when_it_goes, web_live_setup, web_live_teardown)
{
    struct http_exchange exchange;
    struct view near = web_live.plain;

    near.order = VIEW_NEAREST;
    exchange = web_live_ask(1, &near, NULL);
    web_live_watch_begins();
    web_live_set_list(2, (unsigned[]){5, 4}, true);
    web_live_set_near(2);
    web_live_pass(LIVE_SOON_MS + LIVE_LIST_MS);
    assert_null(strchr(web_live_got(exchange.stream), '-'));
    web_live.gone_id = 2;
    web_live_pass(LIVE_LIST_MS);
    assert_non_null(strstr(web_live_got(exchange.stream), "-02"));
}

static void answer_here(unsigned number)
{
    web_live.answers[number]++;
    web_live_write(number);
}

/* How many answers messages have is told to all who may show them: to a new stream of all, later of
 * what changes, soon if a phone answers here. */
TEST_WITH(answers_are_counted, web_live_setup, web_live_teardown)
{
    web_live_set_list(3, (unsigned[]){3, 2, 1}, true);
    answer_here(1);
    web_live_pass(1000);
    struct http_stream *first = web_live_open(1, NULL);
    web_live_watch_begins();
    web_live_pass(LIVE_SOON_MS);
    assert_string_equal(web_live_got(first), "01=1");
    answer_here(3);
    web_live_pass(LIVE_TICK_MS);
    assert_string_equal(web_live_got(first), "01=1 03=1");
    size_t lists = web_live.list_count;
    answer_here(9); /* nobody shows it */
    assert_int_equal(web_live.list_count, lists);
    web_live_pass(LIVE_TICK_MS);

    struct http_stream *second = web_live_open(2, NULL);
    web_live_pass(LIVE_SOON_MS);
    assert_string_equal(web_live_got(second), "01=1 03=1");
    assert_string_equal(web_live_got(first), "01=1 03=1");

    web_live_set_list(2, (unsigned[]){101, 100}, true); /* others push them out of the list */
    web_live_watch_matches();
    web_live_pass(LIVE_TICK_MS);
    answer_here(2);
    web_live_pass(LIVE_TICK_MS);
    assert_string_equal(web_live_got(second), "01=1 03=1 m100 m101 02=1");
    web_live.answers[3] = 0; /* taken back: seen with the next list */
    web_live_pass(LIVE_LIST_MS);
    assert_non_null(strstr(web_live_got(first), "03=0"));
}

/* There are too many watches: the list tells what is new, soon, until there is a watch. */
TEST_WITH(views_beyond_the_watches_are_looked_at, web_live_setup, web_live_teardown)
{
    web_live.has_too_many = true;
    web_live_set_list(2, (unsigned[]){2, 1}, false);
    web_live_pass(1000);
    struct http_stream *stream = web_live_open(1, NULL);
    web_live_pass(LIVE_SOON_MS);
    web_live_set_list(3, (unsigned[]){3, 2, 1}, false);
    web_live_pass(LIVE_POLL_MS);
    assert_string_equal(web_live_got(stream), "m3");
    web_live.has_too_many = false;
    web_live_pass(LIVE_RETRY_MS);
    web_live_watch_begins();
    web_live_pass(1000);
    web_live_leave(8);
    assert_non_null(strstr(web_live_got(stream), "m8"));
}

/* The clock of an access point was set: open pages look at it again, once. */
TEST_WITH(pages_look_when_the_clock_was_set, web_live_setup, web_live_teardown)
{
    struct http_stream *stream = web_live_open(1, NULL);
    web_live_watch_begins();
    web_live_pass(2 * LIVE_TICK_MS);
    web_live.offset_ms += LIVE_SHIFT_MS;
    web_live_say();
    web_live_pass(2 * LIVE_TICK_MS);
    stream->sent[stream->count] = '\0';
    assert_null(strstr(stream->sent, "event: look\n"));
    web_live.offset_ms += LIVE_SHIFT_MS + 1;
    web_live_say();
    web_live_pass(LIVE_TICK_MS);
    size_t count = stream->count;
    stream->sent[count] = '\0';
    assert_non_null(strstr(stream->sent, "event: look\n"));
    web_live_pass(2 * LIVE_TICK_MS);
    assert_int_equal(stream->count, count);
}
