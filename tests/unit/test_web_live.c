/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live updates: each stream gets each match once and in order, also when it comes again; phones
 * share a watch; streams are limited. hearsayd, HTTP and the loop's clock are played by this file.
 */
#include "client/web/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/web/live_inner.h"
#include "tests/lib/check.h"

enum { VIEWS = 64, STREAMS_MAX = 300, SENT_BYTES = 64 * 1024, WATCHES_MAX = 600 };

/* --- the loop --------------------------------------------------------------------------------- */

static uint64_t clock_ms;
static uv_timer_cb timer_callback;
static uv_timer_t *timer_handle;
static bool timer_runs;

uint64_t uv_now(const uv_loop_t *loop)
{
    (void)loop;
    return clock_ms;
}

int uv_timer_init(uv_loop_t *loop, uv_timer_t *timer)
{
    (void)loop;
    timer_handle = timer;
    timer_runs = false;
    return 0;
}

int uv_timer_start(uv_timer_t *timer, uv_timer_cb callback, uint64_t timeout, uint64_t repeat)
{
    assert_ptr_equal(timer, timer_handle);
    assert_int_equal(timeout, repeat);
    timer_callback = callback;
    timer_runs = true;
    return 0;
}

int uv_timer_stop(uv_timer_t *timer)
{
    assert_ptr_equal(timer, timer_handle);
    timer_runs = false;
    return 0;
}

int uv_is_active(const uv_handle_t *handle)
{
    (void)handle;
    return timer_runs;
}

void uv_close(uv_handle_t *handle, uv_close_cb callback)
{
    (void)handle;
    (void)callback;
    timer_runs = false;
}

static void ticks_pass(int64_t ms)
{
    for (int64_t passed = 0; passed < ms; passed += LIVE_TICK_MS) {
        clock_ms += LIVE_TICK_MS;
        if (timer_runs) {
            timer_callback(timer_handle);
        }
    }
}

/* --- HTTP ------------------------------------------------------------------------------------- */

struct http_exchange {
    unsigned status; /* of an answer; 200 for a stream */
    uint32_t retry_after_s;
    struct http_stream *stream;
};

struct http_stream {
    const struct http_stream_events *events;
    void *context;
    char sent[SENT_BYTES];
    size_t count;
    size_t room; /* that is left of the queue */
    bool is_ended;
    bool is_closed;
};

static struct http_stream streams[STREAMS_MAX];
static size_t stream_count;

void http_answer(struct http_exchange *exchange, const struct http_answer *answer)
{
    exchange->status = answer->status;
    exchange->retry_after_s = answer->retry_after_s;
}

struct http_stream *http_stream_begin(struct http_exchange *exchange,
                                      const struct http_stream_events *events, void *context)
{
    struct http_stream *stream = &streams[stream_count++];

    assert_true(stream_count < STREAMS_MAX);
    *stream = (struct http_stream){.events = events, .context = context, .room = SENT_BYTES - 1};
    exchange->status = 200;
    exchange->stream = stream;
    return stream;
}

bool http_stream_send(struct http_stream *stream, const void *bytes, size_t count)
{
    assert_false(stream->is_closed || stream->is_ended);
    if (count > stream->room) {
        stream->is_ended = true;
        return false;
    }
    stream->room -= count;
    memcpy(stream->sent + stream->count, bytes, count);
    stream->count += count;
    return true;
}

void http_stream_end(struct http_stream *stream)
{
    assert_false(stream->is_ended);
    stream->is_ended = true;
}

static void stream_close(struct http_stream *stream)
{
    stream->is_closed = true;
    stream->events->closed(stream->context);
}

/* As the loop does when it turns: who was ended is closed. */
static void streams_reap(void)
{
    for (size_t i = 0; i < stream_count; i++) {
        if (streams[i].is_ended && !streams[i].is_closed) {
            stream_close(&streams[i]);
        }
    }
}

/* --- hearsayd --------------------------------------------------------------------------------- */

struct board_watch {
    const struct board_watch_events *events;
    void *context;
    uint64_t after_seq;
    bool is_over;
};

static struct board_watch watches[WATCHES_MAX];
static size_t watch_count;
static bool is_connected;
static struct hearsay_host hosts[1];
static struct hearsay_welcome welcome;

const struct hearsay_welcome *board_welcome(const struct board *board)
{
    (void)board;
    return &welcome;
}

bool board_is_connected(const struct board *board)
{
    (void)board;
    return is_connected;
}

static bool has_too_many; /* watches */

struct board_watch *board_watch(struct board *board, const struct view *view, uint64_t after_seq,
                                const struct board_watch_events *events, void *context)
{
    struct board_watch *watch = &watches[watch_count];

    (void)board;
    if (has_too_many) {
        return NULL;
    }
    watch_count++;
    assert_true(is_connected && watch_count < WATCHES_MAX);
    assert_int_equal(view->order, VIEW_NEWEST);
    assert_true(view->before_ms == INT64_MAX);
    *watch = (struct board_watch){.events = events, .context = context, .after_seq = after_seq};
    return watch;
}

void board_unwatch(struct board_watch *watch)
{
    if (watch != NULL) {
        assert_false(watch->is_over);
        watch->is_over = true;
    }
}

static bool has_list; /* hearsayd answers lists at once; else lists wait for ever */
static struct board_message listed[4];
static struct board_list list;
static size_t list_count;
static uint8_t gone_id;   /* the first byte of the id of a message that is not there */
static uint8_t gone_last; /* so are those up to this one */
static size_t get_count;

void board_list(struct board *board, const struct view *view, const struct http_address *client,
                board_done *done, void *context)
{
    (void)board;
    (void)view;
    assert_null(client);
    list_count++;
    if (has_list) {
        done(context, &(struct board_reply){.outcome = BOARD_DONE, .list = &list});
    }
}

void board_get(struct board *board, const char *host, const uint8_t *id, board_done *done,
               void *context)
{
    (void)board;
    (void)host;
    get_count++;
    bool is_gone = id[0] == gone_id || (id[0] > gone_id && id[0] <= gone_last);
    done(context, &(struct board_reply){.outcome = is_gone ? BOARD_GONE : BOARD_DONE});
}

void board_forget(struct board *board, const void *context)
{
    (void)board;
    (void)context;
}

/* The list has these messages, as m1, m2 ..., of ids 1, 2 ..., the newest first. */
static void list_is(size_t count, const unsigned *numbers, bool has_older)
{
    static char texts[4][16];

    for (size_t i = 0; i < count; i++) {
        (void)snprintf(texts[i], sizeof(texts[i]), "m%u", numbers[i]);
        listed[i] = (struct board_message){.media_type = "text/plain",
                                           .text = texts[i],
                                           .bytes = strlen(texts[i]),
                                           .deposited_ms = 1000 + (int64_t)numbers[i]};
        listed[i].id[0] = (uint8_t)numbers[i];
    }
    list = (struct board_list){.messages = listed, .count = count, .has_older = has_older};
    has_list = true;
}

static struct board_watch *watch_last(void)
{
    assert_true(watch_count > 0 && !watches[watch_count - 1].is_over);
    return &watches[watch_count - 1];
}

static void watch_begins(uint64_t seq)
{
    struct board_watch *watch = watch_last();

    watch->events->begun(watch->context, seq);
}

static void watch_matches(uint64_t seq)
{
    struct board_watch *watch = watch_last();
    char text[32];
    struct board_message message = {.media_type = "text/plain",
                                    .text = text,
                                    .deposited_ms = 1000 + (int64_t)seq,
                                    .expires_ms = 9000 + (int64_t)seq,
                                    .similarity_ppm = 250000};

    (void)snprintf(text, sizeof(text), "m%u", (unsigned)seq);
    message.bytes = strlen(text);
    message.id[0] = (uint8_t)seq;
    message.id[1] = (uint8_t)(seq >> 8);
    watch->events->match(watch->context, seq, &message);
}

static void watch_ends(void)
{
    struct board_watch *watch = watch_last();

    watch->is_over = true;
    watch->events->ended(watch->context);
}

/* --- fixture ---------------------------------------------------------------------------------- */

static struct live *live;
static char store[LIVE_STORE_BYTES];
static struct view plain;

static int live_set_up(void **state)
{
    struct live_options options = {.events = 8, .events_per_address = 2, .views = VIEWS};

    (void)state;
    clock_ms = 1000000;
    stream_count = 0;
    watch_count = 0;
    is_connected = true;
    has_list = false;
    list_count = 0;
    get_count = 0;
    gone_id = 0;
    gone_last = 0;
    hosts[0] = (struct hearsay_host){.name = "cafe"};
    welcome = (struct hearsay_welcome){.hosts = hosts, .host_count = 1, .store_id = {7}};
    live_write_store(&welcome, "", "", store);
    plain = (struct view){.before_ms = INT64_MAX};
    return live_new(&options, &live);
}

static int live_tear_down(void **state)
{
    (void)state;
    live_stop(live);
    streams_reap();
    for (size_t i = 0; i < stream_count; i++) {
        assert_true(streams[i].is_closed);
    }
    for (size_t i = 0; i < watch_count; i++) {
        assert_true(watches[i].is_over);
    }
    live_free(live);
    return 0;
}

static struct http_exchange exchange_of(unsigned phone, const struct view *view, const char *last)
{
    struct http_exchange exchange = {.status = 0};
    struct http_request request = {.method = HTTP_GET,
                                   .path = "/events",
                                   .query = "",
                                   .last_event_id = last,
                                   .client = {.family = 4, .bytes = {10, 0, 0, (uint8_t)phone}}};

    live_begin(live, &exchange, &request, view);
    return exchange;
}

/* A stream of a phone; `seq` -1: the phone does not come again. */
static struct http_stream *stream_open(unsigned phone, int64_t seq)
{
    char last[40];

    (void)snprintf(last, sizeof(last), "%s-%lld", store, (long long)seq);
    struct http_exchange exchange = exchange_of(phone, &plain, seq < 0 ? NULL : last);

    assert_int_equal(exchange.status, 200);
    return exchange.stream;
}

/* What a stream got, in short: m and the number of a match, G for gone, : for a comment, l and the
 * number of a message of the list, -01 for a message that went. Checks the ids of the events. */
static const char *got(const struct http_stream *stream)
{
    static char text[4096];
    static char copy[SENT_BYTES];
    size_t used = 0;

    memcpy(copy, stream->sent, stream->count);
    copy[stream->count] = '\0';
    assert_memory_equal(copy, "retry: 5000\n\n", 13);
    text[0] = '\0';
    for (char *event = copy + 13; *event != '\0';) {
        char *end = strstr(event, "\n\n");
        assert_non_null(end);
        *end = '\0';
        if (strcmp(event, ":") == 0) {
            used += (size_t)snprintf(text + used, sizeof(text) - used, ": ");
        } else if (strcmp(event, "event: gone\ndata: {}") == 0) {
            used += (size_t)snprintf(text + used, sizeof(text) - used, "G ");
        } else if (strncmp(event, "event: out\ndata: {\"id\":\"", 24) == 0) {
            used += (size_t)snprintf(text + used, sizeof(text) - used, "-%.2s ", event + 24);
            assert_string_equal(event + 26, "000000000000000000000000000000\"}");
        } else if (strncmp(event, "event: message\n", 15) == 0) {
            used +=
                (size_t)snprintf(text + used, sizeof(text) - used, "l%u ",
                                 (unsigned)strtoul(strstr(event, "\"text\":\"m") + 9, NULL, 10));
        } else {
            char *middle = strstr(event, "\nevent: message\ndata: {\"id\":\"");
            char expected[40];
            assert_non_null(middle);
            unsigned seq = (unsigned)strtoul(strstr(middle, "\"text\":\"m") + 9, NULL, 10);
            *middle = '\0';
            (void)snprintf(expected, sizeof(expected), "id: %s-%u", store, seq);
            assert_string_equal(event, expected);
            used += (size_t)snprintf(text + used, sizeof(text) - used, "m%u ", seq);
        }
        event = end + 2;
    }
    if (used > 0) {
        text[used - 1] = '\0';
    }
    return text;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void phones_share_a_watch(void **state)
{
    struct http_stream *first = stream_open(1, -1);
    struct http_stream *second = stream_open(2, -1);

    (void)state;
    assert_int_equal(watch_count, 1);
    assert_true(watches[0].after_seq == HEARSAY_NO_SEQ);
    watch_begins(100);
    watch_matches(101);
    struct http_stream *third = stream_open(3, -1);
    watch_matches(105);
    assert_int_equal(watch_count, 1);
    assert_string_equal(got(first), "m101 m105");
    assert_string_equal(got(second), "m101 m105");
    assert_string_equal(got(third), "m105");
}

static void another_view_has_its_own_watch(void **state)
{
    struct view jazz = plain;
    struct view near = plain;

    (void)state;
    jazz.topic_count = 1;
    (void)snprintf(jazz.topics[0], sizeof(jazz.topics[0]), "jazz");
    near.order = VIEW_NEAREST;
    near.before_ms = 5;
    struct http_stream *first = stream_open(1, -1);
    watch_begins(1);
    struct http_stream *second = exchange_of(2, &jazz, NULL).stream;
    assert_int_equal(watch_count, 2);
    watch_begins(1);
    watch_matches(2);
    assert_string_equal(got(first), "");
    assert_string_equal(got(second), "m2");
    (void)exchange_of(3, &near, NULL); /* order and page do not matter */
    assert_int_equal(watch_count, 2);
}

static void an_event_has_the_fields_of_a_message(void **state)
{
    char expected[300];
    struct http_stream *stream = stream_open(1, -1);

    (void)state;
    watch_begins(1);
    watch_matches(258);
    (void)snprintf(expected, sizeof(expected),
                   "retry: 5000\n\nid: %s-258\nevent: message\ndata: "
                   "{\"id\":\"02010000000000000000000000000000\",\"text\":\"m258\",\"ms\":1258,"
                   "\"expires\":9258,\"sim\":250000}\n\n",
                   store);
    assert_int_equal(stream->count, strlen(expected));
    assert_memory_equal(stream->sent, expected, stream->count);
}

/* Whatever others leave, an event is one line of data and fits into the queue of a stream. */
static void an_event_is_one_line_whatever_its_text(void **state)
{
    static char bad[8192];
    size_t bytes;

    (void)state;
    memset(bad, '\xff', sizeof(bad));
    memcpy(bad, "a\n\nid: x\r\rdata: \"\\\n", 20);
    struct board_message message = {.media_type = "text/plain", .text = bad, .bytes = sizeof(bad)};
    char *event = live_event_new(store, UINT64_MAX, &message, &bytes);
    assert_non_null(event);
    assert_true(bytes < HTTP_STREAM_BYTES);
    size_t lines = 0;
    for (size_t i = 0; i < bytes; i++) {
        lines += event[i] == '\n';
        assert_true(event[i] != '\r' && event[i] != '\0');
    }
    assert_int_equal(lines, 4);
    assert_memory_equal(event + bytes - 3, "}\n\n", 3);
    free(event);

    message = (struct board_message){.media_type = "image/\"png", .bytes = 812};
    event = live_event_new(store, 1, &message, &bytes);
    assert_non_null(event);
    event[bytes - 1] = '\0';
    assert_non_null(strstr(event, ",\"type\":\"image/\\\"png\",\"bytes\":812,"));
    free(event);
}

static void who_comes_again_gets_the_rest_from_the_ring(void **state)
{
    struct http_stream *first = stream_open(1, -1);

    (void)state;
    watch_begins(10);
    for (uint64_t seq = 11; seq <= 15; seq++) {
        watch_matches(seq);
    }
    stream_close(first);
    assert_string_equal(got(stream_open(1, 12)), "m13 m14 m15");
    assert_string_equal(got(stream_open(2, 15)), "");
    assert_string_equal(got(stream_open(3, 10)), "m11 m12 m13 m14 m15");
    ticks_pass(1000);
    assert_int_equal(watch_count, 1);
}

static void the_place_may_be_in_the_query(void **state)
{
    struct http_exchange exchange = {.status = 0};
    char query[60];
    struct http_request request = {
        .path = "/events", .query = query, .client = {.family = 4, .bytes = {10}}};

    (void)state;
    (void)stream_open(1, -1);
    watch_begins(10);
    watch_matches(11);
    watch_matches(12);
    (void)snprintf(query, sizeof(query), "t=jazz&last=%s-11", store);
    live_begin(live, &exchange, &request, &plain);
    assert_string_equal(got(exchange.stream), "m12");
}

static void another_store_is_gone(void **state)
{
    struct http_exchange exchange;

    (void)state;
    (void)stream_open(1, -1);
    watch_begins(10);
    watch_matches(11);
    exchange = exchange_of(2, &plain, "00000000-5");
    watch_matches(12);
    assert_string_equal(got(exchange.stream), "G m12");
    assert_string_equal(got(stream_open(3, 99)), "G"); /* a number that was never given */
}

static void a_text_that_is_no_place_is_passed_over(void **state)
{
    static const char *const texts[] = {
        "",          "x",           "0123456-5",   "01234567",
        "01234567-", "01234567-1x", "01234567--1", "01234567-18446744073709551616"};
    struct live_place place;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_false(live_place_read(texts[i], &place));
    }
    assert_true(live_place_read("0123abcd-18446744073709551615", &place));
    assert_string_equal(place.store, "0123abcd");
    assert_true(place.seq == UINT64_MAX);
    (void)stream_open(1, -1);
    watch_begins(10);
    assert_string_equal(got(exchange_of(2, &plain, "nonsense").stream), "");
}

/* What the ring lacks is caught up by one watch for all who lack something. */
static void who_is_behind_the_ring_is_caught_up(void **state)
{
    (void)state;
    struct http_stream *fresh = stream_open(1, -1);
    struct http_stream *late = stream_open(2, 40);
    watch_begins(50);
    struct http_stream *later = stream_open(3, 45);
    watch_matches(51);
    assert_string_equal(got(late), "");
    ticks_pass(LIVE_TICK_MS);
    assert_int_equal(watch_count, 2);
    assert_true(watches[0].is_over);
    assert_int_equal(watches[1].after_seq, 40);
    watch_begins(51);
    for (uint64_t seq = 41; seq <= 52; seq += seq == 41 ? 5 : seq == 46 ? 5 : 1) {
        watch_matches(seq);
    }
    assert_string_equal(got(fresh), "m51 m52");
    assert_string_equal(got(late), "m41 m46 m51 m52");
    assert_string_equal(got(later), "m46 m51 m52");
    assert_string_equal(got(stream_open(4, 42)), "m46 m51 m52");
    ticks_pass(2000);
    assert_int_equal(watch_count, 2);
}

static void who_is_far_behind_loads_the_list_again(void **state)
{
    (void)state;
    struct http_stream *far = stream_open(1, 5);
    watch_begins(5 + LIVE_CATCH_UP + 1);
    assert_string_equal(got(far), "G");
    ticks_pass(2000);
    assert_int_equal(watch_count, 1);
}

/* A stream that lacks more than half of what may wait for its client loads its list, and then gets
 * new matches. Without this bound the stream ended in the middle, and came back for the next part.
 */
static void many_old_matches_are_given_up(void **state)
{
    (void)state;
    struct http_stream *late = stream_open(1, 100);
    watch_begins(300);
    ticks_pass(LIVE_TICK_MS);
    watch_begins(300);
    for (uint64_t seq = 101; seq <= 301; seq++) {
        watch_matches(seq);
    }
    const char *text = got(late);
    const char *gone = strstr(text, " G ");
    assert_memory_equal(text, "m101 ", 5);
    assert_non_null(gone);
    assert_string_equal(gone, " G m301");
    assert_true(late->count <= LIVE_CAUGHT_BYTES + 512); /* with the first line, `gone` and m301 */
}

static void the_ring_forgets_the_oldest(void **state)
{
    (void)state;
    (void)stream_open(1, -1);
    watch_begins(100);
    for (uint64_t seq = 101; seq <= 100 + LIVE_RING + 1; seq++) {
        watch_matches(seq);
    }
    /* 101 has left the ring: who had it is served, who lacks it waits for a watch. */
    struct http_stream *had = stream_open(2, 101);
    struct http_stream *lacks = stream_open(3, 100);
    assert_memory_equal(got(had), "m102 ", 5);
    assert_string_equal(got(lacks), "");
    ticks_pass(LIVE_TICK_MS);
    assert_int_equal(watch_count, 2);
    assert_int_equal(watches[1].after_seq, 100);
}

static void nothing_is_missed_over_a_lost_connection(void **state)
{
    (void)state;
    struct http_stream *stream = stream_open(1, -1);
    watch_begins(10);
    watch_matches(11);
    is_connected = false;
    watch_ends();
    ticks_pass(5000);
    assert_int_equal(watch_count, 1);
    struct http_stream *meanwhile = stream_open(2, 10);
    assert_string_equal(got(meanwhile), "");
    is_connected = true;
    ticks_pass(LIVE_TICK_MS);
    assert_int_equal(watch_count, 2);
    assert_int_equal(watches[1].after_seq, 11);
    watch_begins(13);
    watch_matches(12);
    watch_matches(13);
    assert_string_equal(got(stream), "m11 m12 m13");
    assert_string_equal(got(meanwhile), "m11 m12 m13");
}

static void a_new_store_is_gone_for_all(void **state)
{
    (void)state;
    struct http_stream *stream = stream_open(1, -1);
    char before[LIVE_STORE_BYTES];
    watch_begins(10);
    watch_ends();
    memcpy(before, store, sizeof(store));
    welcome.store_id[0] = 8;
    live_write_store(&welcome, "", "", store);
    assert_string_not_equal(before, store);
    ticks_pass(LIVE_TICK_MS);
    assert_true(watches[1].after_seq == HEARSAY_NO_SEQ);
    watch_begins(3);
    watch_matches(4);
    assert_string_equal(got(stream), "G m4");
}

static void a_store_that_was_set_back_is_gone_for_all(void **state)
{
    (void)state;
    struct http_stream *stream = stream_open(1, -1);
    watch_begins(10);
    watch_ends();
    ticks_pass(LIVE_TICK_MS);
    watch_begins(7);
    watch_matches(8);
    assert_string_equal(got(stream), "G m8");
}

/* A host of the same store has its own digits, and the first host has one name or none. */
static void the_digits_tell_hosts_apart(void **state)
{
    char text[LIVE_STORE_BYTES];

    (void)state;
    live_write_store(&welcome, "cafe", "", text);
    assert_string_equal(text, store);
    live_write_store(&welcome, "bar", "", text);
    assert_string_not_equal(text, store);
    live_write_store(&welcome, "cafe", "place:hall\n", text);
    assert_string_not_equal(text, store);
}

static void a_refused_watch_is_tried_more_and_more_seldom(void **state)
{
    size_t before;

    (void)state;
    (void)stream_open(1, -1);
    watch_ends();
    ticks_pass(500);
    assert_int_equal(watch_count, 1);
    ticks_pass(500);
    assert_int_equal(watch_count, 2);
    for (int i = 0; i < 20; i++) {
        if (!watches[watch_count - 1].is_over) {
            watch_ends();
        }
        ticks_pass(10 * 1000);
    }
    before = watch_count;
    assert_in_range(before, 6, 12);
}

static void a_quiet_stream_gets_comments_and_ends(void **state)
{
    (void)state;
    struct http_stream *stream = stream_open(1, -1);
    watch_begins(1);
    ticks_pass(20 * 1000);
    watch_matches(2);
    ticks_pass(24 * 1000);
    assert_string_equal(got(stream), "m2");
    ticks_pass(1000);
    assert_string_equal(got(stream), "m2 :");
    ticks_pass(15 * 60 * 1000 - 45 * 1000 - LIVE_TICK_MS);
    assert_false(stream->is_ended);
    ticks_pass(LIVE_TICK_MS);
    assert_true(stream->is_ended);
}

static void a_slow_stream_does_not_hold_others_up(void **state)
{
    (void)state;
    struct http_stream *slow = stream_open(1, -1);
    struct http_stream *fast = stream_open(2, -1);
    watch_begins(1);
    slow->room = 150;
    for (uint64_t seq = 2; seq < 6; seq++) {
        watch_matches(seq);
    }
    assert_true(slow->is_ended);
    assert_string_equal(got(slow), "m2");
    assert_string_equal(got(fast), "m2 m3 m4 m5");
    streams_reap();
    assert_string_equal(got(stream_open(1, 2)), "m3 m4 m5");
}

static void an_address_keeps_its_newest_streams(void **state)
{
    (void)state;
    struct http_stream *first = stream_open(1, -1);
    clock_ms++;
    struct http_stream *second = stream_open(1, -1);
    clock_ms++;
    struct http_stream *third = stream_open(1, -1);
    assert_true(first->is_ended);
    assert_false(second->is_ended);
    assert_false(third->is_ended);
}

static void streams_are_limited(void **state)
{
    struct http_exchange exchange;

    (void)state;
    for (unsigned phone = 0; phone < 8; phone++) {
        (void)stream_open(phone, -1);
    }
    exchange = exchange_of(9, &plain, NULL);
    assert_int_equal(exchange.status, 503);
    assert_true(exchange.retry_after_s > 0);
    stream_close(&streams[0]);
    (void)stream_open(9, -1);
}

static void a_network_has_half_of_all_streams(void **state)
{
    struct http_request request = {.path = "/events", .query = "", .client = {.family = 6}};

    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        struct http_exchange exchange = {.status = 0};
        request.client.bytes[15] = (uint8_t)i;
        live_begin(live, &exchange, &request, &plain);
        assert_int_equal(exchange.status, i < 4 ? 200 : 503);
    }
    struct http_exchange exchange = {.status = 0};
    request.client.bytes[7] = 1;
    live_begin(live, &exchange, &request, &plain);
    assert_int_equal(exchange.status, 200);
}

static void views_are_limited_and_unused_ones_make_room(void **state)
{
    struct view view = plain;

    (void)state;
    view.topic_count = 1;
    for (unsigned i = 0; i < VIEWS + 10; i++) {
        (void)snprintf(view.topics[0], sizeof(view.topics[0]), "topic %u", i);
        struct http_exchange exchange = exchange_of(1, &view, NULL);
        assert_int_equal(exchange.status, 200);
        watch_begins(1);
        clock_ms++;
        stream_close(exchange.stream);
    }
    size_t open = 0;
    for (size_t i = 0; i < watch_count; i++) {
        open += !watches[i].is_over;
    }
    assert_int_equal(open, VIEWS);
    ticks_pass(LIVE_LIFE_MS + 1000); /* then nothing is watched, and the timer rests */
    for (size_t i = 0; i < watch_count; i++) {
        assert_true(watches[i].is_over);
    }
    assert_false(timer_runs);
}

/* 200 phones after a restart, spread over many views: at most two watches a second catch up. */
static void few_watches_catch_up_at_once(void **state)
{
    struct view view = plain;
    char last[40];

    (void)state;
    view.topic_count = 1;
    (void)snprintf(last, sizeof(last), "%s-5", store);
    for (unsigned i = 0; i < 8; i++) {
        (void)snprintf(view.topics[0], sizeof(view.topics[0]), "topic %u", i);
        (void)exchange_of(i, &view, last);
        watch_begins(20);
    }
    for (unsigned i = 1; i <= 8; i++) {
        ticks_pass(LIVE_TICK_MS);
        assert_int_equal(watch_count, 8 + i);
        assert_int_equal(watches[watch_count - 1].after_seq, 5);
        watch_begins(20);
    }
    ticks_pass(5000);
    assert_int_equal(watch_count, 16);
}

static void a_head_request_gets_no_stream(void **state)
{
    struct http_exchange exchange = {.status = 0};
    struct http_request request = {
        .method = HTTP_HEAD, .path = "/events", .query = "", .client = {.family = 4}};

    (void)state;
    live_begin(live, &exchange, &request, &plain);
    assert_int_equal(exchange.status, 200);
    assert_null(exchange.stream);
    assert_int_equal(watch_count, 0);
}

static struct http_stream *stream_open_since(unsigned phone, const char *query)
{
    struct http_exchange exchange = {.status = 0};
    struct http_request request = {.path = "/events",
                                   .query = query,
                                   .client = {.family = 4, .bytes = {10, 0, 0, (uint8_t)phone}}};

    live_begin(live, &exchange, &request, &plain);
    assert_int_equal(exchange.status, 200);
    return exchange.stream;
}

/* What was deposited between a page and its stream comes from the list, once. */
static void a_stream_gets_what_came_behind_its_page(void **state)
{
    (void)state;
    struct http_stream *without = stream_open(1, -1);
    struct http_stream *since = stream_open_since(2, "since=1002");
    struct http_stream *wrong = stream_open_since(3, "since=1002x");
    watch_begins(3);
    list_is(3, (unsigned[]){3, 2, 1}, false);
    ticks_pass(LIVE_SOON_MS);
    assert_string_equal(got(since), "l2 l3");
    ticks_pass(2 * LIVE_LIST_MS);
    assert_string_equal(got(since), "l2 l3 : :");
    assert_string_equal(got(without), ": :");
    assert_string_equal(got(wrong), ": :");
    (void)stream_open_since(4, "since=1");
    size_t before = list_count;
    ticks_pass(LIVE_SOON_MS);
    assert_int_equal(list_count, before + 1);
}

static void who_lacks_too_much_of_the_list_loads_it(void **state)
{
    static char text[4096];

    (void)state;
    struct http_stream *since = stream_open_since(2, "since=1");
    watch_begins(3);
    list_is(3, (unsigned[]){3, 2, 1}, false);
    memset(text, 'x', sizeof(text));
    memcpy(text, "m9", 2);
    for (size_t i = 0; i < 3; i++) {
        listed[i].text = text;
        listed[i].bytes = sizeof(text);
    }
    ticks_pass(LIVE_SOON_MS);
    assert_string_equal(got(since), "l9 G");
}

/* A message that was withdrawn, hidden or removed leaves within a minute, of the ring, too. */
static void a_message_that_went_leaves(void **state)
{
    (void)state;
    struct http_stream *stream = stream_open(1, -1);
    watch_begins(1);
    watch_matches(2);
    watch_matches(3);
    list_is(3, (unsigned[]){3, 2, 1}, true);
    ticks_pass(LIVE_SOON_MS);
    assert_string_equal(got(stream), "m2 m3");
    list_is(2, (unsigned[]){3, 1}, true);
    gone_id = 2;
    ticks_pass(LIVE_LIST_MS + LIVE_TICK_MS);
    assert_string_equal(got(stream), "m2 m3 : -02");
    assert_int_equal(get_count, 1);
    ticks_pass(LIVE_LIST_MS);
    assert_int_equal(get_count, 1);
    assert_string_equal(got(stream_open(2, 1)), "m3");
}

/* More messages than are asked for at a time are hidden at once: all leave soon. */
static void many_messages_that_went_leave_soon(void **state)
{
    enum { FIRST = 2, MANY = 3 * LIVE_CHECKS };

    (void)state;
    struct http_stream *stream = stream_open(1, -1);
    watch_begins(1);
    for (uint64_t seq = FIRST; seq < FIRST + MANY; seq++) {
        watch_matches(seq);
    }
    list_is(1, (unsigned[]){1}, false);
    gone_id = FIRST;
    gone_last = FIRST + MANY - 1;
    ticks_pass(3 * (LIVE_SOON_MS + LIVE_TICK_MS));
    assert_non_null(strstr(got(stream), "-02"));
    assert_non_null(strstr(got(stream), "-19"));
    assert_int_equal(get_count, MANY);
    size_t before = list_count;
    ticks_pass(LIVE_LIST_MS / 2);
    assert_int_equal(list_count, before);
}

/* Messages that are there, but not in the list, do not keep one behind them from leaving. */
static void messages_that_are_there_make_room_for_others(void **state)
{
    enum { FIRST = 2, LAST = FIRST + LIVE_CHECKS };

    (void)state;
    struct http_stream *stream = stream_open(1, -1);
    watch_begins(1);
    for (uint64_t seq = FIRST; seq <= LAST; seq++) {
        watch_matches(seq);
    }
    list_is(1, (unsigned[]){1}, false);
    gone_id = LAST;
    ticks_pass(LIVE_SOON_MS);
    assert_int_equal(get_count, LIVE_CHECKS);
    assert_null(strchr(got(stream), '-'));
    ticks_pass(LIVE_LIST_MS + LIVE_TICK_MS);
    assert_int_equal(get_count, 2 * LIVE_CHECKS);
    assert_non_null(strstr(got(stream), "-0a"));
}

/* Others that are newer push a message out of the list; it has not gone. */
static void a_message_that_was_pushed_out_stays(void **state)
{
    (void)state;
    struct http_stream *stream = stream_open(1, -1);
    watch_begins(1);
    list_is(3, (unsigned[]){5, 4, 1}, true);
    ticks_pass(LIVE_SOON_MS);
    list_is(3, (unsigned[]){7, 5, 3}, true);
    ticks_pass(LIVE_LIST_MS);
    /* 1 is older than the list reaches; 4 is asked for, and is there. */
    assert_int_equal(get_count, 1);
    assert_null(strchr(got(stream), '-'));
}

/* hearsayd refuses the watch: what is new comes from the list. */
static void without_a_watch_the_list_tells_what_is_new(void **state)
{
    (void)state;
    struct http_stream *stream = stream_open(1, -1);
    watch_ends();
    list_is(2, (unsigned[]){2, 1}, false);
    ticks_pass(LIVE_SOON_MS);
    assert_string_equal(got(stream), "");
    list_is(3, (unsigned[]){3, 2, 1}, false);
    ticks_pass(LIVE_LIST_MS);
    assert_non_null(strstr(got(stream), "l3"));
    assert_null(strstr(got(stream), "l2"));
}

/* There are too many watches: the page loads its list, and then the list tells what is new, soon.
 */
static void views_beyond_the_watches_are_looked_at(void **state)
{
    (void)state;
    has_too_many = true;
    struct http_stream *stream = stream_open(1, 5);
    assert_string_equal(got(stream), "G");
    list_is(2, (unsigned[]){2, 1}, false);
    ticks_pass(LIVE_SOON_MS);
    list_is(3, (unsigned[]){3, 2, 1}, false);
    ticks_pass(LIVE_POLL_MS + LIVE_TICK_MS);
    assert_string_equal(got(stream), "G l3");
    has_too_many = false;
    ticks_pass(LIVE_RETRY_MS);
    watch_begins(7);
    watch_matches(8);
    assert_non_null(strstr(got(stream), "m8"));
}

#define LIVE_TEST(name) cmocka_unit_test_setup_teardown(name, live_set_up, live_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIVE_TEST(phones_share_a_watch),
        LIVE_TEST(another_view_has_its_own_watch),
        LIVE_TEST(an_event_has_the_fields_of_a_message),
        LIVE_TEST(an_event_is_one_line_whatever_its_text),
        LIVE_TEST(who_comes_again_gets_the_rest_from_the_ring),
        LIVE_TEST(the_place_may_be_in_the_query),
        LIVE_TEST(another_store_is_gone),
        LIVE_TEST(a_text_that_is_no_place_is_passed_over),
        LIVE_TEST(who_is_behind_the_ring_is_caught_up),
        LIVE_TEST(who_is_far_behind_loads_the_list_again),
        LIVE_TEST(many_old_matches_are_given_up),
        LIVE_TEST(the_ring_forgets_the_oldest),
        LIVE_TEST(nothing_is_missed_over_a_lost_connection),
        LIVE_TEST(a_new_store_is_gone_for_all),
        LIVE_TEST(a_store_that_was_set_back_is_gone_for_all),
        LIVE_TEST(the_digits_tell_hosts_apart),
        LIVE_TEST(a_refused_watch_is_tried_more_and_more_seldom),
        LIVE_TEST(views_beyond_the_watches_are_looked_at),
        LIVE_TEST(a_quiet_stream_gets_comments_and_ends),
        LIVE_TEST(a_slow_stream_does_not_hold_others_up),
        LIVE_TEST(an_address_keeps_its_newest_streams),
        LIVE_TEST(streams_are_limited),
        LIVE_TEST(a_network_has_half_of_all_streams),
        LIVE_TEST(views_are_limited_and_unused_ones_make_room),
        LIVE_TEST(few_watches_catch_up_at_once),
        LIVE_TEST(a_head_request_gets_no_stream),
        LIVE_TEST(a_stream_gets_what_came_behind_its_page),
        LIVE_TEST(who_lacks_too_much_of_the_list_loads_it),
        LIVE_TEST(a_message_that_went_leaves),
        LIVE_TEST(many_messages_that_went_leave_soon),
        LIVE_TEST(messages_that_are_there_make_room_for_others),
        LIVE_TEST(a_message_that_was_pushed_out_stays),
        LIVE_TEST(without_a_watch_the_list_tells_what_is_new),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
