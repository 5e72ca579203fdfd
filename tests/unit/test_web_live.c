/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live updates: each stream gets what comes into the list once and in order, also when it comes
 * again; phones share a watch; streams are limited.
 */
#include "client/web/live_inner.h"
#include "daemon/system/list.h"
#include "tests/lib/check.h"
#include "tests/unit/web_live_fixture.h"

enum { LIVE_WAKE_S = 5 }; /* an idle process wakes no more often */

TEST_WITH(phones_share_a_watch, web_live_setup, web_live_teardown)
{
    struct http_stream *first = web_live_open(1, NULL);
    struct http_stream *second = web_live_open(2, NULL);

    assert_int_equal(web_live.watch_count, 1);
    web_live_watch_begins();
    web_live_leave(101);
    web_live_pass(LIVE_TICK_MS + 1);
    struct http_stream *third = web_live_open(3, NULL);
    web_live_leave(105);
    assert_int_equal(web_live.watch_count, 1);
    assert_string_equal(web_live_got(first), "m101 m105");
    assert_string_equal(web_live_got(second), "m101 m105");
    assert_string_equal(web_live_got(third), "m105");
}

TEST_WITH(another_view_has_its_own_watch, web_live_setup, web_live_teardown)
{
    struct view jazz = web_live.plain;
    struct view near = web_live.plain;

    jazz.topic_count = 1;
    (void)snprintf(jazz.topics[0], sizeof(jazz.topics[0]), "jazz");
    near.order = VIEW_NEAREST;
    near.before_ms = 5;
    struct http_stream *first = web_live_open(1, NULL);
    web_live_watch_begins();
    struct http_stream *second = web_live_ask(2, &jazz, NULL).stream;
    assert_int_equal(web_live.watch_count, 2);
    web_live_watch_begins();
    web_live_leave(2);
    assert_string_equal(web_live_got(first), "");
    assert_string_equal(web_live_got(second), "m2");
    (void)web_live_ask(3, &near, NULL); /* order and page do not matter */
    assert_int_equal(web_live.watch_count, 2);
}

/* And no text: a page shows that there is a message, and loads its list when somebody wants to see
 * it. */
TEST_WITH(an_event_has_the_id_of_a_message, web_live_setup, web_live_teardown)
{
    char expected[300];
    struct http_stream *stream = web_live_open(1, NULL);

    web_live_watch_begins();
    web_live_leave(2);
    (void)snprintf(expected, sizeof(expected),
                   "retry: 5000\n\nid: %s-%d\nevent: message\ndata: "
                   "{\"id\":\"02000000000000000000000000000000\"}\n\n",
                   web_live.store, 1000000);
    assert_int_equal(stream->count, strlen(expected));
    assert_memory_equal(stream->sent, expected, stream->count);
}

/* Open pages are told when the notices of the host are others, in one line of JSON. */
TEST_WITH(notices_are_told, web_live_setup, web_live_teardown)
{
    static const struct hearsay_house_notice notices[] = {
        {.number = 1, .text = {"a \"b\" <c>", 9}, .lang = {"en", 2}},
        {.number = 2, .text = {"d", 1}},
        {.number = 3, .text = {"e", 1}, .place = {"Bar", 3}}};
    static const char both[] = "event: house\ndata: [{\"lang\":\"en\",\"text\":\"a \\\"b\\\" <c>\"}"
                               ",{\"lang\":\"\",\"text\":\"d\"}]\n\n";
    static const char none[] = "event: house\ndata: []\n\n";
    struct hearsay_host *host = (struct hearsay_host *)web_live.welcome.hosts;
    struct http_stream *stream = web_live_open(1, NULL);

    host->accept = HEARSAY_ACCEPT_OPEN;
    web_live_watch_begins();
    web_live_pass(1000);
    size_t before = stream->count;
    host->notices = notices;
    host->notice_count = 3; /* the third one is for another place */
    host->notices_version = 7;
    web_live_say();
    web_live_pass(1000);
    assert_int_equal(stream->count - before, strlen(both));
    assert_memory_equal(stream->sent + before, both, strlen(both));
    before = stream->count;
    host->notice_count = 0;
    host->notices_version = 0;
    web_live_say();
    web_live_pass(1000);
    assert_int_equal(stream->count - before, strlen(none));
    assert_memory_equal(stream->sent + before, none, strlen(none));
    host->accept = 0;
}

/* A page was made before its stream began: each new stream gets the notices, once. */
TEST_WITH(a_new_stream_gets_the_notices, web_live_setup, web_live_teardown)
{
    static const struct hearsay_house_notice notices[] = {{.number = 1, .text = {"a", 1}}};
    static const char begun[] = "retry: 5000\n\n";
    static const char one[] = "event: house\ndata: [{\"lang\":\"\",\"text\":\"a\"}]\n\n";
    static const char none[] = "event: house\ndata: []\n\n";
    struct hearsay_host *host = (struct hearsay_host *)web_live.welcome.hosts;
    struct http_stream *first = web_live_open(1, NULL);

    host->accept = HEARSAY_ACCEPT_OPEN;
    web_live_watch_begins();
    host->notices = notices;
    host->notice_count = 1;
    host->notices_version = 7;
    web_live_say();
    web_live_pass(1000);
    size_t before = first->count;
    struct http_stream *second = web_live_open(2, NULL);
    web_live_pass(2000);
    assert_int_equal(second->count, strlen(begun) + strlen(one));
    assert_memory_equal(second->sent + strlen(begun), one, strlen(one));
    assert_int_equal(first->count, before);

    host->notice_count = 0; /* while the phone was locked */
    host->notices_version = 0;
    web_live_say();
    web_live_close(second);
    web_live_pass(1000);
    second = web_live_open(2, NULL);
    web_live_pass(1000);
    assert_int_equal(second->count, strlen(begun) + strlen(none));
    assert_memory_equal(second->sent + strlen(begun), none, strlen(none));
    host->accept = 0;
}

TEST_WITH(who_comes_again_gets_what_came_meanwhile, web_live_setup, web_live_teardown)
{
    struct http_stream *first = web_live_open(1, NULL);
    char last[40];

    web_live_watch_begins();
    web_live_leave(11);
    (void)snprintf(last, sizeof(last), "%s", web_live_last_id(first));
    web_live_close(first);
    web_live_pass(LIVE_SLACK_MS + LIVE_TICK_MS);
    web_live_leave(12);
    web_live_pass(LIVE_TICK_MS);
    web_live_leave(13);
    struct http_stream *again = web_live_open(1, last);
    struct http_stream *other = web_live_open(2, NULL);
    assert_string_equal(web_live_got(again), "");
    web_live_pass(LIVE_SOON_MS);
    assert_string_equal(web_live_got(again), "m12 m13");
    assert_string_equal(web_live_got(other), "m13"); /* left when it began */
    assert_int_equal(web_live.watch_count, 1);
}

TEST_WITH(the_place_may_be_in_the_query, web_live_setup, web_live_teardown)
{
    struct http_exchange exchange = {.status = 0};
    char query[60];
    struct http_request request = {
        .path = "/events", .query = query, .client = {.family = 4, .bytes = {10}}};

    (void)web_live_open(1, NULL);
    web_live_watch_begins();
    web_live_leave(11);
    web_live_pass(LIVE_TICK_MS);
    web_live_leave(12);
    web_live_pass(10 * 1000);
    (void)snprintf(query, sizeof(query), "t=jazz&last=%s-%d", web_live.store, 1000001);
    live_begin(web_live.live, &exchange, &request, &web_live.plain);
    web_live_pass(LIVE_SOON_MS);
    assert_string_equal(web_live_got(exchange.stream), "m12");
}

TEST_WITH(another_store_is_gone, web_live_setup, web_live_teardown)
{
    struct http_exchange exchange;
    char later[40];

    (void)web_live_open(1, NULL);
    web_live_watch_begins();
    web_live_leave(11);
    web_live_pass(LIVE_TICK_MS);
    exchange = web_live_ask(2, &web_live.plain, "00000000-5");
    web_live_leave(12);
    assert_string_equal(web_live_got(exchange.stream), "G m12");
    (void)snprintf(later, sizeof(later), "%s-2000000", web_live.store);
    assert_string_equal(web_live_got(web_live_open(3, later)), "G"); /* a time to come */
}

TEST_WITH(a_text_that_is_no_place_is_passed_over, web_live_setup, web_live_teardown)
{
    static const char *const texts[] = {
        "",          "x",           "0123456-5",   "01234567",
        "01234567-", "01234567-1x", "01234567--1", "01234567-9223372036854775808"};
    struct live_place place;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_false(live_place_read(texts[i], &place));
    }
    assert_true(live_place_read("0123abcd-9223372036854775807", &place));
    assert_string_equal(place.store, "0123abcd");
    assert_true(place.ms == INT64_MAX);
    (void)web_live_open(1, NULL);
    web_live_watch_begins();
    assert_string_equal(web_live_got(web_live_ask(2, &web_live.plain, "nonsense").stream), "");
}

TEST_WITH(nothing_is_missed_over_a_lost_connection, web_live_setup, web_live_teardown)
{
    char place[40];

    struct http_stream *stream = web_live_open(1, NULL);
    web_live_watch_begins();
    web_live_leave(11);
    web_live.is_connected = false;
    web_live_watch_ends();
    web_live_pass(5000);
    assert_int_equal(web_live.watch_count, 1);
    (void)snprintf(place, sizeof(place), "%s-999999", web_live.store);
    struct http_stream *meanwhile = web_live_open(2, place);
    assert_string_equal(web_live_got(meanwhile), "");
    web_live_set_list(3, (unsigned[]){13, 12, 11}, false);
    web_live.is_connected = true;
    web_live_say();
    web_live_pass(LIVE_TICK_MS);
    assert_int_equal(web_live.watch_count, 2);
    web_live_watch_begins();
    web_live_pass(LIVE_SOON_MS);
    assert_string_equal(web_live_got(stream), "m11 m12 m13");
    assert_string_equal(web_live_got(meanwhile), "m11 m12 m13");
}

TEST_WITH(a_page_without_hearsayd_has_no_stream, web_live_setup, web_live_teardown)
{
    struct http_stream *stream = web_live_open(1, NULL);

    web_live_watch_begins();
    web_live.is_connected = false;
    web_live_watch_ends();
    web_live_pass(LIVE_AWAY_MS - 1);
    assert_false(stream->is_ended);
    web_live_pass(2 * LIVE_TICK_MS);
    assert_true(stream->is_ended);
    assert_int_equal(web_live_ask(2, &web_live.plain, NULL).status, 503);
    web_live.is_connected = true;
    web_live_say();
    assert_int_equal(web_live_ask(2, &web_live.plain, NULL).status, 200);
}

TEST_WITH(a_new_store_is_gone_for_all, web_live_setup, web_live_teardown)
{
    struct http_stream *stream = web_live_open(1, NULL);
    char before[LIVE_STORE_BYTES];
    web_live_watch_begins();
    web_live_leave(3);
    web_live_watch_ends();
    memcpy(before, web_live.store, sizeof(web_live.store));
    web_live.welcome.store_id[0] = 8;
    live_write_store(&web_live.welcome, "", "", web_live.store);
    assert_string_not_equal(before, web_live.store);
    stream->count = strlen("retry: 5000\n\n"); /* what it got had the digits of before */
    web_live_pass(LIVE_TICK_MS);
    web_live_set_list(1, (unsigned[]){2}, false); /* is there when the page loads its list */
    web_live_watch_begins();
    web_live.clock_ms++;
    web_live_leave(4);
    assert_string_equal(web_live_got(stream), "G m2 m4");
}

/* A host of the same store has its own digits, and the first host has one name or none. */
TEST_WITH(the_digits_tell_hosts_apart, web_live_setup, web_live_teardown)
{
    char text[LIVE_STORE_BYTES];

    live_write_store(&web_live.welcome, "cafe", "", text);
    assert_string_equal(text, web_live.store);
    live_write_store(&web_live.welcome, "bar", "", text);
    assert_string_not_equal(text, web_live.store);
    live_write_store(&web_live.welcome, "cafe", "place:hall\n", text);
    assert_string_not_equal(text, web_live.store);
}

TEST_WITH(a_refused_watch_is_tried_more_and_more_seldom, web_live_setup, web_live_teardown)
{
    size_t before;

    (void)web_live_open(1, NULL);
    web_live_watch_ends();
    web_live_pass(500);
    assert_int_equal(web_live.watch_count, 1);
    web_live_pass(500);
    assert_int_equal(web_live.watch_count, 2);
    for (int i = 0; i < 20; i++) {
        if (!web_live.watches[web_live.watch_count - 1].is_over) {
            web_live_watch_ends();
        }
        web_live_pass(10 * 1000);
    }
    before = web_live.watch_count;
    assert_in_range(before, 6, 12);
}

/* Also if it has just got something else: so a page need only wait for these. */
TEST_WITH(a_stream_gets_signs_of_life_and_ends, web_live_setup, web_live_teardown)
{
    struct http_stream *stream = web_live_open(1, NULL);
    web_live_watch_begins();
    web_live_set_list(0, NULL, false);
    web_live_pass(20 * 1000);
    web_live_leave(2);
    web_live_pass(4 * 1000);
    assert_string_equal(web_live_got(stream), "m2");
    web_live_pass(1000);
    assert_string_equal(web_live_got(stream), "m2 :");
    web_live_pass(25 * 1000);
    assert_string_equal(web_live_got(stream), "m2 : :");
    web_live_pass(15 * 60 * 1000 - 50 * 1000 - LIVE_TICK_MS);
    assert_false(stream->is_ended);
    web_live_pass(LIVE_TICK_MS);
    assert_true(stream->is_ended);
}

/* An open page with nothing new wakes the process for comments and lists only. */
TEST_WITH(an_open_page_wakes_seldom, web_live_setup, web_live_teardown)
{
    (void)web_live_open(1, NULL);
    web_live_watch_begins();
    web_live_set_list(1, (unsigned[]){1}, false);
    web_live_pass(10 * 1000);
    size_t before = web_live.timer_count;
    web_live_pass(600 * 1000);
    assert_in_range(web_live.timer_count - before, 1, 600 / LIVE_WAKE_S);
}

TEST_WITH(a_slow_stream_does_not_hold_others_up, web_live_setup, web_live_teardown)
{
    char last[40];

    struct http_stream *slow = web_live_open(1, NULL);
    struct http_stream *fast = web_live_open(2, NULL);
    web_live_watch_begins();
    slow->room = 190;
    for (unsigned number = 2; number < 6; number++) {
        web_live_leave(number);
        web_live_pass(LIVE_TICK_MS);
    }
    assert_true(slow->is_ended);
    assert_string_equal(web_live_got(fast), "m2 m3 m4 m5");
    web_live_reap();
    (void)snprintf(last, sizeof(last), "%s-1000000", web_live.store);
    struct http_stream *again = web_live_open(1, last);
    web_live_pass(LIVE_SOON_MS);
    assert_string_equal(web_live_got(again), "m3 m4 m5");
}

TEST_WITH(an_address_keeps_its_newest_streams, web_live_setup, web_live_teardown)
{
    struct http_stream *first = web_live_open(1, NULL);
    web_live.clock_ms++;
    struct http_stream *second = web_live_open(1, NULL);
    web_live.clock_ms++;
    struct http_stream *third = web_live_open(1, NULL);
    assert_true(first->is_ended);
    assert_false(second->is_ended);
    assert_false(third->is_ended);
}

/* Of all streams, one of whoever has most makes room. At equal shares none does: those that were
 * there first keep theirs, however many addresses come, until one of them goes. */
TEST_WITH(whoever_has_most_streams_gives_way, web_live_setup, web_live_teardown)
{
    for (unsigned phone = 0; phone < 7; phone++) {
        (void)web_live_open(phone, NULL);
        web_live.clock_ms++;
    }
    (void)web_live_open(6, NULL);
    (void)web_live_open(9, NULL);
    assert_true(web_live.streams[6].is_ended);
    web_live_reap();
    for (unsigned phone = 10; phone < 20; phone++) {
        assert_int_equal(web_live_ask(phone, &web_live.plain, NULL).status, 503);
    }
    for (size_t i = 0; i < web_live.stream_count; i++) {
        assert_true(web_live.streams[i].is_ended == (i == 6));
    }
    web_live_close(&web_live.streams[0]);
    assert_int_equal(web_live_ask(10, &web_live.plain, NULL).status, 200);
}

/* Of IPv6 from further away, a /64 is one address. */
TEST_WITH(off_link_a_network_is_one_address, web_live_setup, web_live_teardown)
{
    struct http_request request = {.path = "/events", .query = "", .client = {.family = 6}};

    for (unsigned i = 0; i < 4; i++) {
        struct http_exchange exchange = {.status = 0};
        request.client.bytes[15] = (uint8_t)i;
        request.client.bytes[7] = i == 3;
        live_begin(web_live.live, &exchange, &request, &web_live.plain);
        assert_int_equal(exchange.status, 200);
        web_live.clock_ms++;
    }
    for (size_t i = 0; i < 4; i++) {
        assert_true(web_live.streams[i].is_ended == (i == 0));
    }
}

/* Of the views, one of those who hold most streams gives way, but not one that somebody looks at
 * who has fewer, and never that of all messages; which in turn always gets a place. */
TEST_WITH(a_view_of_whoever_has_most_gives_way, web_live_setup, web_live_teardown)
{
    struct view view = web_live.plain;
    struct live_options options = {.events = 100, .events_per_address = 100, .views = 4};
    struct live *live = web_live.live;

    web_live.live->options = options;
    (void)web_live_open(9, NULL); /* 0: the plain view, of somebody who has another one */
    view.topic_count = 1;
    for (unsigned i = 0; i < 3; i++) {
        (void)snprintf(view.topics[0], sizeof(view.topics[0]), "topic %u", i);
        (void)web_live_ask(1, &view, NULL); /* 1, 3, 5 */
        (void)web_live_ask(2, &view, NULL); /* 2, 4, 6 */
        web_live.clock_ms++;
    }
    (void)web_live_ask(3, &view, NULL); /* 7: looks at the last of these and nothing else */
    view.topics[0][0] = 'x';
    (void)web_live_ask(4, &view, NULL); /* 8 */
    for (size_t i = 0; i < 9; i++) {
        assert_true(web_live.streams[i].is_ended == (i == 1 || i == 2));
    }
    web_live_reap();
    web_live_close(&web_live.streams[0]);
    view.topics[0][0] = 'y';
    assert_int_equal(web_live_ask(5, &view, NULL).status, 200); /* 9: the plain one is unused */
    live->options.events_per_address = 1;
    assert_int_equal(web_live_ask(9, &web_live.plain, NULL).status, 200); /* 10 */
    assert_true(web_live.streams[3].is_ended && web_live.streams[4].is_ended);
    assert_false(web_live.streams[5].is_ended);
}

/* Also where there are more places than views. */
TEST_WITH(each_place_has_its_list, web_live_setup, web_live_teardown)
{
    struct view view = web_live.plain;

    web_live.live->options = (struct live_options){.events = 100,
                                                   .events_per_address = 100,
                                                   .views = 4,
                                                   .board = web_live.live->options.board};
    for (unsigned i = 0; i < 10; i++) {
        (void)snprintf(view.place, sizeof(view.place), "place:%u\n", i);
        assert_int_equal(web_live_ask(i, &view, NULL).status, 200);
    }
    const struct live_view *each;
    uint64_t bytes = 0;
    DL_FOREACH (web_live.live->views, each) {
        bytes += sizeof(*each) + sizeof(each->view); /* the watch has a view, too */
    }
    assert_in_range(live_memory_most(4, 10), bytes, 11 * bytes / 10);
    assert_in_range(live_memory_most(10, 4), bytes, 11 * bytes / 10);
    view.topic_count = 1;
    (void)snprintf(view.topics[0], sizeof(view.topics[0]), "topic");
    assert_int_equal(web_live_ask(20, &view, NULL).status, 503);
    for (size_t i = 0; i < web_live.stream_count; i++) {
        assert_false(web_live.streams[i].is_ended);
    }
    web_live_close(&web_live.streams[0]);
    assert_int_equal(web_live_ask(20, &view, NULL).status, 200);
}

TEST_WITH(views_are_limited_and_unused_ones_make_room, web_live_setup, web_live_teardown)
{
    struct view view = web_live.plain;

    view.topic_count = 1;
    for (unsigned i = 0; i < WEB_LIVE_VIEWS + 10; i++) {
        (void)snprintf(view.topics[0], sizeof(view.topics[0]), "topic %u", i);
        struct http_exchange exchange = web_live_ask(1, &view, NULL);
        assert_int_equal(exchange.status, 200);
        web_live_watch_begins();
        web_live.clock_ms++;
        web_live_close(exchange.stream);
    }
    size_t open = 0;
    for (size_t i = 0; i < web_live.watch_count; i++) {
        open += !web_live.watches[i].is_over;
    }
    assert_int_equal(open, WEB_LIVE_VIEWS);
    web_live_pass(LIVE_LIFE_MS + 1000); /* then nothing is watched, and the timer rests */
    for (size_t i = 0; i < web_live.watch_count; i++) {
        assert_true(web_live.watches[i].is_over);
    }
    assert_false(web_live.timer_runs);
}

TEST_WITH(a_head_request_gets_no_stream, web_live_setup, web_live_teardown)
{
    struct http_exchange exchange = {.status = 0};
    struct http_request request = {
        .method = HTTP_HEAD, .path = "/events", .query = "", .client = {.family = 4}};

    live_begin(web_live.live, &exchange, &request, &web_live.plain);
    assert_int_equal(exchange.status, 200);
    assert_null(exchange.stream);
    assert_int_equal(web_live.watch_count, 0);
}
