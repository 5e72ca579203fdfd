/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/web_live_fixture.h"

#include "client/web/live_inner.h"
#include "tests/lib/check.h"

struct web_live web_live;

/* --- the loop --------------------------------------------------------------------------------- */

uint64_t __wrap_uv_now(const uv_loop_t *loop);
int __wrap_uv_timer_init(uv_loop_t *loop, uv_timer_t *timer);
int __wrap_uv_timer_start(uv_timer_t *timer, uv_timer_cb callback, uint64_t timeout,
                          uint64_t repeat);
void __wrap_uv_close(uv_handle_t *handle, uv_close_cb callback);

static uv_timer_cb timer_callback;
static uv_timer_t *timer_handle;

uint64_t __wrap_uv_now(const uv_loop_t *loop)
{
    (void)loop;
    return web_live.clock_ms;
}

int __wrap_uv_timer_init(uv_loop_t *loop, uv_timer_t *timer)
{
    (void)loop;
    timer_handle = timer;
    web_live.timer_runs = false;
    return 0;
}

int __wrap_uv_timer_start(uv_timer_t *timer, uv_timer_cb callback, uint64_t timeout,
                          uint64_t repeat)
{
    assert_ptr_equal(timer, timer_handle);
    assert_int_equal(repeat, 0);
    timer_callback = callback;
    web_live.timer_ms = web_live.clock_ms + timeout;
    web_live.timer_runs = true;
    return 0;
}

void __wrap_uv_close(uv_handle_t *handle, uv_close_cb callback)
{
    (void)handle;
    (void)callback;
    web_live.timer_runs = false;
}

void web_live_pass(int64_t ms)
{
    uint64_t until_ms = web_live.clock_ms + (uint64_t)ms;

    while (web_live.timer_runs && web_live.timer_ms <= until_ms) {
        if (web_live.clock_ms < web_live.timer_ms) {
            web_live.clock_ms = web_live.timer_ms;
        }
        web_live.timer_runs = false;
        web_live.timer_count++;
        timer_callback(timer_handle);
    }
    web_live.clock_ms = until_ms;
}

/* --- HTTP ------------------------------------------------------------------------------------- */

void http_answer(struct http_exchange *exchange, const struct http_answer *answer)
{
    exchange->status = answer->status;
    exchange->retry_after_s = answer->retry_after_s;
}

struct http_stream *http_stream_begin(struct http_exchange *exchange, http_stream_closed *closed,
                                      void *context)
{
    struct http_stream *stream = &web_live.streams[web_live.stream_count++];

    assert_true(web_live.stream_count < WEB_LIVE_STREAMS_MAX);
    *stream =
        (struct http_stream){.closed = closed, .context = context, .room = WEB_LIVE_SENT_BYTES - 1};
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

void http_stream_abort(struct http_stream *stream)
{
    stream->is_ended = true;
}

void http_stream_end(struct http_stream *stream)
{
    assert_false(stream->is_ended);
    stream->is_ended = true;
}

void web_live_close(struct http_stream *stream)
{
    stream->is_closed = true;
    stream->closed(stream->context);
}

void web_live_reap(void)
{
    for (size_t i = 0; i < web_live.stream_count; i++) {
        if (web_live.streams[i].is_ended && !web_live.streams[i].is_closed) {
            web_live_close(&web_live.streams[i]);
        }
    }
}

/* --- hearsayd --------------------------------------------------------------------------------- */

static struct hearsay_host hosts[1];

const struct hearsay_welcome *board_welcome(const struct board *board)
{
    (void)board;
    return &web_live.welcome;
}

bool board_now_ms(const struct board *board, int64_t *out_now_ms)
{
    (void)board;
    *out_now_ms = (int64_t)web_live.clock_ms + web_live.offset_ms;
    return true;
}

static void (*news_callback)(void *context, const uint8_t *id);
static void *news_context;

void board_on_news(struct board *board, void (*news)(void *context, const uint8_t *id),
                   void *context)
{
    (void)board;
    news_callback = news;
    news_context = context;
}

void web_live_say(void)
{
    news_callback(news_context, NULL);
}

void web_live_write(unsigned number)
{
    uint8_t id[HEARSAY_ID_BYTES] = {(uint8_t)number};

    for (size_t i = 0; i < WEB_LIVE_LISTED_MAX; i++) {
        web_live.listed[i].answer_count = web_live.answers[web_live.listed[i].id[0]];
    }
    news_callback(news_context, id);
}

bool board_is_connected(const struct board *board)
{
    (void)board;
    return web_live.is_connected;
}

struct board_watch *board_watch(struct board *board, const struct view *view,
                                const struct board_watch_events *events, void *context)
{
    struct board_watch *watch = &web_live.watches[web_live.watch_count];

    (void)board;
    if (web_live.has_too_many) {
        return NULL;
    }
    web_live.watch_count++;
    assert_true(web_live.is_connected && web_live.watch_count < WEB_LIVE_WATCHES_MAX);
    assert_int_equal(view->order, VIEW_NEWEST);
    assert_true(view->before_ms == INT64_MAX);
    *watch = (struct board_watch){.events = events, .context = context};
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
static struct board_list list;
static struct board_message nearest; /* the list by nearness */

void board_list(struct board *board, const struct view *view, const struct http_address *client,
                board_done *done, void *context)
{
    const struct board_list near = {.messages = &nearest, .count = 1};
    struct board_list now = list;

    (void)board;
    assert_null(client);
    if (view->order == VIEW_NEAREST) {
        done(context, &(struct board_reply){.outcome = BOARD_DONE, .list = &near});
        return;
    }
    web_live.list_count++;
    if (has_list) {
        now.now_ms = (int64_t)web_live.clock_ms + web_live.offset_ms;
        done(context, &(struct board_reply){.outcome = BOARD_DONE, .list = &now});
    }
}

void board_get(struct board *board, const char *host, const uint8_t *id,
               const struct http_address *client, board_done *done, void *context)
{
    assert_null(client);
    (void)board;
    (void)host;
    web_live.get_count++;
    struct board_message message = {.answer_count = web_live.answers[id[0]]};
    bool is_gone =
        id[0] == web_live.gone_id || (id[0] > web_live.gone_id && id[0] <= web_live.gone_last);
    done(context, &(struct board_reply){.outcome = is_gone ? BOARD_GONE : BOARD_DONE,
                                        .message = is_gone ? NULL : &message});
}

void board_forget(struct board *board, const void *context)
{
    (void)board;
    (void)context;
}

static int64_t deposited_ms[256]; /* of each number; 0: not yet */

void web_live_set_list(size_t count, const unsigned *numbers, bool has_older)
{
    static char texts[WEB_LIVE_LISTED_MAX][16];

    assert_true(count <= WEB_LIVE_LISTED_MAX);
    for (size_t i = 0; i < count; i++) {
        int64_t *ms = &deposited_ms[numbers[i]];

        if (*ms == 0) {
            *ms = (int64_t)(web_live.clock_ms + count - 1 - i) + web_live.offset_ms;
        }
        (void)snprintf(texts[i], sizeof(texts[i]), "m%u", numbers[i]);
        web_live.listed[i] = (struct board_message){.media_type = "text/plain",
                                                    .text = texts[i],
                                                    .bytes = strlen(texts[i]),
                                                    .deposited_ms = *ms,
                                                    .expires_ms = *ms + 9000,
                                                    .answer_count = web_live.answers[numbers[i]],
                                                    .similarity_ppm = 250000};
        web_live.listed[i].id[0] = (uint8_t)numbers[i];
    }
    list = (struct board_list){.messages = web_live.listed, .count = count, .has_older = has_older};
    has_list = true;
}

void web_live_leave(unsigned number)
{
    unsigned numbers[WEB_LIVE_LISTED_MAX] = {number};

    for (size_t i = 0; i < list.count; i++) {
        numbers[i + 1] = web_live.listed[i].id[0];
    }
    web_live_set_list(list.count + 1, numbers, list.has_older);
    web_live_watch_matches();
}

void web_live_set_near(unsigned number)
{
    nearest = (struct board_message){.media_type = "text/plain", .text = "m"};
    nearest.id[0] = (uint8_t)number;
}

static struct board_watch *watch_last(void)
{
    assert_true(web_live.watch_count > 0 && !web_live.watches[web_live.watch_count - 1].is_over);
    return &web_live.watches[web_live.watch_count - 1];
}

void web_live_watch_begins(void)
{
    struct board_watch *watch = watch_last();

    watch->events->begun(watch->context);
}

void web_live_watch_matches(void)
{
    struct board_watch *watch = watch_last();

    watch->events->match(watch->context);
}

void web_live_watch_ends(void)
{
    struct board_watch *watch = watch_last();

    watch->is_over = true;
    watch->events->ended(watch->context);
}

/* --- set-up ----------------------------------------------------------------------------------- */

int web_live_setup(void **state)
{
    struct live_options options = {.events = 8, .events_per_address = 2, .views = WEB_LIVE_VIEWS};

    (void)state;
    web_live.clock_ms = 1000000;
    web_live.stream_count = 0;
    web_live.watch_count = 0;
    web_live.is_connected = true;
    web_live.has_too_many = false;
    has_list = false;
    list = (struct board_list){.count = 0};
    memset(deposited_ms, 0, sizeof(deposited_ms));
    memset(web_live.listed, 0, sizeof(web_live.listed));
    memset(web_live.answers, 0, sizeof(web_live.answers));
    web_live.timer_count = 0;
    web_live.offset_ms = 0;
    web_live.list_count = 0;
    web_live.get_count = 0;
    web_live.gone_id = 0;
    web_live.gone_last = 0;
    hosts[0] = (struct hearsay_host){.name = "cafe"};
    web_live.welcome = (struct hearsay_welcome){.hosts = hosts, .host_count = 1, .store_id = {7}};
    live_write_store(&web_live.welcome, "", "", web_live.store);
    web_live.plain = (struct view){.before_ms = INT64_MAX};
    return live_new(&options, &web_live.live);
}

int web_live_teardown(void **state)
{
    (void)state;
    live_stop(web_live.live);
    web_live_reap();
    for (size_t i = 0; i < web_live.stream_count; i++) {
        assert_true(web_live.streams[i].is_closed);
    }
    for (size_t i = 0; i < web_live.watch_count; i++) {
        assert_true(web_live.watches[i].is_over);
    }
    live_free(web_live.live);
    return 0;
}

struct http_exchange web_live_ask(unsigned phone, const struct view *view, const char *last)
{
    struct http_exchange exchange = {.status = 0};
    struct http_request request = {.method = HTTP_GET,
                                   .path = "/events",
                                   .query = "",
                                   .last_event_id = last,
                                   .client = {.family = 4, .bytes = {10, 0, 0, (uint8_t)phone}}};

    live_begin(web_live.live, &exchange, &request, view);
    return exchange;
}

struct http_stream *web_live_open(unsigned phone, const char *last)
{
    struct http_exchange exchange = web_live_ask(phone, &web_live.plain, last);

    assert_int_equal(exchange.status, 200);
    return exchange.stream;
}

/* Writes the event with numbers of answers, the object `object`, in short. */
static size_t answers_read(const char *object, char *out_text, size_t room)
{
    size_t used = 0;

    for (const char *at = object; (at = strchr(at, '"')) != NULL; at = strchr(at, ':')) {
        assert_memory_equal(at + 3, "000000000000000000000000000000\":", 32);
        used += (size_t)snprintf(out_text + used, room - used, "%.2s=%lu ", at + 1,
                                 strtoul(at + 35, NULL, 10));
    }
    return used;
}

/* Cuts the event at `text` off, and its id, which is written to out_id. Returns the event, and in
 * *out_next what follows. */
static char *event_cut(char *text, char **out_next, char out_id[40])
{
    char *end = strstr(text, "\n\n");

    assert_non_null(end);
    *end = '\0';
    *out_next = end + 2;
    if (strncmp(text, "id: ", 4) == 0) {
        char *line_end = strchr(text, '\n');
        assert_non_null(line_end);
        *line_end = '\0';
        (void)snprintf(out_id, 40, "%s", text + 4);
        assert_memory_equal(out_id, web_live.store, LIVE_STORE_BYTES - 1);
        text = line_end + 1;
    }
    return text;
}

static const char *stream_read(const struct http_stream *stream, char out_id[40])
{
    static char text[4096];
    static char copy[WEB_LIVE_SENT_BYTES];
    size_t used = 0;

    memcpy(copy, stream->sent, stream->count);
    copy[stream->count] = '\0';
    assert_memory_equal(copy, "retry: 5000\n\n", 13);
    text[0] = out_id[0] = '\0';
    for (char *next = copy + 13; *next != '\0';) {
        const char *event = event_cut(next, &next, out_id);
        if (strcmp(event, "event: alive\ndata: {}") == 0) {
            used += (size_t)snprintf(text + used, sizeof(text) - used, ": ");
        } else if (strcmp(event, "event: house\ndata: []") == 0) {
            assert_null(strstr(next, event)); /* each stream gets it once */
        } else if (strcmp(event, "event: gone\ndata: {}") == 0) {
            used += (size_t)snprintf(text + used, sizeof(text) - used, "G ");
        } else if (strncmp(event, "event: out\ndata: {\"id\":\"", 24) == 0) {
            used += (size_t)snprintf(text + used, sizeof(text) - used, "-%.2s ", event + 24);
            assert_string_equal(event + 26, "000000000000000000000000000000\"}");
        } else if (strncmp(event, "event: answers\ndata: {", 22) == 0) {
            used += answers_read(event + 22, text + used, sizeof(text) - used);
        } else {
            char number[3] = {event[28], event[29], '\0'};

            assert_memory_equal(event, "event: message\ndata: {\"id\":\"", 28);
            assert_string_equal(event + 30, "000000000000000000000000000000\"}");
            used += (size_t)snprintf(text + used, sizeof(text) - used, "m%u ",
                                     (unsigned)strtoul(number, NULL, 16));
        }
    }
    if (used > 0) {
        text[used - 1] = '\0';
    }
    return text;
}

const char *web_live_got(const struct http_stream *stream)
{
    char id[40];

    return stream_read(stream, id);
}

const char *web_live_last_id(const struct http_stream *stream)
{
    static char id[40];

    (void)stream_read(stream, id);
    return id;
}
