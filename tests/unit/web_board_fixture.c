/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/web_board_fixture.h"

#include <sys/socket.h>

enum { GUARD_MS = 60000, CAPABILITIES = 4 };

/* --- hearsayd --------------------------------------------------------------------------------- */

static void world_init(struct web_board_world *world)
{
    memset(world, 0, sizeof(*world));
    world->house_fd = -1;
    assert_int_equal(pthread_mutex_init(&world->lock, NULL), 0);
    assert_int_equal(pthread_cond_init(&world->changed, NULL), 0);
}

static void send_all(int fd, const struct hearsay_response *response)
{
    struct bytes output;
    bytes_init(&output, alloc_system());
    fake_encode(response, &output);
    (void)!send(fd, output.data, output.count, MSG_NOSIGNAL); /* small: goes out at once */
    bytes_deinit(&output);
}

void web_board_push_match(struct web_board_world *world, uint64_t seq)
{
    static const uint8_t id[LIMIT_ID_BYTES] = "a new message..";
    struct hearsay_response response = {.kind = HEARSAY_RESPONSE_MATCH};
    response.match.watch_id = world->watch_id;
    response.match.seq = seq;
    response.match.result.id = (struct hearsay_bytes){id, LIMIT_ID_BYTES};
    response.match.result.payload = (struct hearsay_bytes){(const uint8_t *)"new", 3};
    send_all(world->house_fd, &response);
}

void web_board_push_here_change(struct web_board_world *world)
{
    struct hearsay_response response = {.kind = HEARSAY_RESPONSE_HERE_CHANGED};
    response.here_changed.host = (struct hearsay_text){"default", 7};
    send_all(world->house_fd, &response);
}

static void answer_query(const struct web_board_world *world, const struct hearsay_request *request,
                         int fd)
{
    static const uint8_t ids[3][LIMIT_ID_BYTES] = {"the third one..", "the second one.",
                                                   "the first one.."};
    static const struct hearsay_text types[] = {
        {"text/plain", 10},
        {HEARSAY_SEALED_TYPE, sizeof(HEARSAY_SEALED_TYPE) - 1},
        {"image/png", 9}};
    struct hearsay_response response = {.id = request->id, .kind = HEARSAY_RESPONSE_RESULTS};
    struct hearsay_result results[3];
    memset(results, 0, sizeof(results));
    for (size_t i = 0; i < 3; i++) {
        results[i].id = (struct hearsay_bytes){ids[i], LIMIT_ID_BYTES};
        results[i].payload = (struct hearsay_bytes){(const uint8_t *)"hello", 5};
        results[i].media_type = types[i];
        results[i].union_count = 2;
        results[i].intersection_count = 1;
        results[i].deposited_ms = 1000 - (int64_t)i;
    }
    response.results.capped = world->is_capped;
    response.results.results = results;
    response.results.result_count = request->query.until_ms == INT64_MAX ? 3 : 0;
    send_all(fd, &response);
}

/* Answers what the house connection asks. Under the lock. */
static void answer_house(struct web_board_world *world, const struct hearsay_request *request,
                         int fd)
{
    static const struct hearsay_text labels[] = {{"place:bar", 9}, {"place:hall", 10}};
    static const struct hearsay_text names[] = {{"The bar", 7}, {"The hall", 8}};
    struct hearsay_response response = {.id = request->id};
    const struct hearsay_bytes *phone = &request->asker.on_behalf;
    if (request->kind != HEARSAY_REQUEST_WATCH && request->kind != HEARSAY_REQUEST_UNWATCH) {
        world->asker = phone->count > 0 ? phone->data[phone->count - 1] : 0;
    } else {
        assert_int_equal(phone->count, 0);
    }
    if (world->tired != 0 && phone->count > 0 && world->asker == world->tired) {
        world->refused_reads++;
        response = fake_error(request->id, HEARSAY_CODE_RATE_LIMITED, 5000);
        send_all(fd, &response);
        return;
    }
    switch (request->kind) {
    case HEARSAY_REQUEST_QUERY:
        world->queries++;
        world->k = request->query.k;
        world->order = request->query.order;
        answer_query(world, request, fd);
        return;
    case HEARSAY_REQUEST_GET:
        world->gets++;
        response.kind = HEARSAY_RESPONSE_GOT;
        response.got.id = request->get.id;
        response.got.payload = (struct hearsay_bytes){(const uint8_t *)"one", 3};
        break;
    case HEARSAY_REQUEST_HERE:
        world->places++;
        response.kind = HEARSAY_RESPONSE_HERE_LABELS;
        response.here_labels.labels = labels;
        response.here_labels.label_count = 2;
        response.here_labels.name = names[0];
        response.here_labels.places = names;
        response.here_labels.place_count = request->here.places ? 2 : 0;
        break;
    case HEARSAY_REQUEST_WATCH:
        if (world->holds_watches) {
            return;
        }
        world->watches++;
        assert_true(request->watch.after_seq == UINT64_MAX);
        assert_false(request->watch.query.with_payload);
        response.kind = HEARSAY_RESPONSE_WATCHING;
        response.watching.watch_id = ++world->watch_id;
        response.watching.seq = 10;
        break;
    default:
        world->watches--;
        response.kind = HEARSAY_RESPONSE_UNWATCHED;
        break;
    }
    send_all(fd, &response);
}

/* Answers what a phone writes. Under the lock. */
static void answer_phone(struct web_board_world *world, const struct hearsay_request *request,
                         uint8_t phone, int fd)
{
    struct hearsay_response response = {.id = request->id};
    if (request->kind == HEARSAY_REQUEST_DEPOSIT) {
        world->depositors[world->deposits++ % 32] = phone;
        (void)pthread_cond_broadcast(&world->changed);
        while (world->stalls) {
            (void)pthread_cond_wait(&world->changed, &world->lock);
        }
    }
    if (world->refusal != 0) {
        response = fake_error(request->id, world->refusal, 5000);
    } else if (request->kind == HEARSAY_REQUEST_DEPOSIT) {
        response = fake_deposited(request->id, false);
    } else {
        response.kind = request->kind == HEARSAY_REQUEST_REPORT ? HEARSAY_RESPONSE_REPORT_TAKEN
                                                                : HEARSAY_RESPONSE_WITHDRAWN;
    }
    send_all(fd, &response);
}

static bool greet_client(struct fake_peer *peer, struct web_board_world *world, uint8_t *out_phone)
{
    static const struct hearsay_text capabilities[CAPABILITIES] = {
        {"deposit", 7}, {"query", 5}, {"on_behalf", 9}, {"request_on_behalf", 17}};
    struct hearsay_request request;
    if (!fake_read(peer, &request)) {
        return false;
    }
    struct hearsay_response response = {.id = request.id, .kind = HEARSAY_RESPONSE_WELCOME};
    response.welcome = fake_welcome(1000);
    response.welcome.limits.k_max = 100;
    response.welcome.limits.watches_per_session = 3;
    response.welcome.capabilities = capabilities;
    response.welcome.capability_count = world->is_deaf ? CAPABILITIES - 1 : CAPABILITIES;
    const struct hearsay_bytes *phone = &request.hello.on_behalf;
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

static void play_script(struct fake_peer *peer, void *context)
{
    struct web_board_world *world = context;
    struct hearsay_request request;
    uint8_t phone = 0;
    bool goes_on = greet_client(peer, world, &phone);
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

/* --- hearsay-web --------------------------------------------------------------------------------
 */

static void on_guard(uv_timer_t *timer)
{
    (void)timer;
    (void)fprintf(stderr, "nothing happened for %d ms\n", GUARD_MS);
    abort();
}

void web_board_turn(struct web_board *fixture)
{
    assert_int_equal(uv_timer_start(&fixture->guard, on_guard, GUARD_MS, 0), 0);
    (void)uv_run(&fixture->loop, UV_RUN_ONCE);
}

void web_board_prepare(struct web_board *fixture)
{
    world_init(&fixture->world);
    fake_server_listen_many(&fixture->server, play_script, &fixture->world);
    assert_int_equal(uv_loop_init(&fixture->loop), 0);
    assert_int_equal(uv_timer_init(&fixture->loop, &fixture->guard), 0);
    fixture->board = NULL;
}

void web_board_connect(struct web_board *fixture, unsigned upstreams)
{
    const struct board_options options = {.loop = &fixture->loop,
                                          .server = fixture->server.path,
                                          .cache_ms = WEB_BOARD_CACHE_MS,
                                          .per_page = WEB_BOARD_PER_PAGE,
                                          .views = WEB_BOARD_VIEWS,
                                          .upstreams = upstreams};
    assert_int_equal(board_new(&options, &fixture->board), 0);
    assert_false(board_is_connected(fixture->board));
    assert_null(board_welcome(fixture->board));
}

void web_board_start(struct web_board *fixture, unsigned upstreams)
{
    web_board_prepare(fixture);
    web_board_connect(fixture, upstreams);
    while (!board_is_connected(fixture->board)) {
        web_board_turn(fixture);
    }
}

void web_board_stop(struct web_board *fixture)
{
    if (fixture->board != NULL) {
        board_stop(fixture->board);
    }
    uv_close((uv_handle_t *)&fixture->guard, NULL);
    assert_int_equal(uv_run(&fixture->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&fixture->loop), 0);
    board_free(fixture->board);
    fake_server_stop(&fixture->server);
}

static int set_up(void **state, unsigned upstreams)
{
    static struct web_board fixture;
    web_board_start(&fixture, upstreams);
    *state = &fixture;
    return 0;
}

int web_board_set_up(void **state)
{
    return set_up(state, 2);
}

int web_board_set_up_one(void **state)
{
    return set_up(state, 1);
}

int web_board_tear_down(void **state)
{
    web_board_stop(*state);
    return 0;
}

void web_board_tell_match(struct web_board *fixture, uint64_t seq)
{
    (void)pthread_mutex_lock(&fixture->world.lock);
    web_board_push_match(&fixture->world, seq);
    (void)pthread_mutex_unlock(&fixture->world.lock);
}

void web_board_tell_change(struct web_board *fixture)
{
    (void)pthread_mutex_lock(&fixture->world.lock);
    web_board_push_here_change(&fixture->world);
    (void)pthread_mutex_unlock(&fixture->world.lock);
}

void web_board_cut(struct web_board *fixture)
{
    (void)pthread_mutex_lock(&fixture->world.lock);
    (void)shutdown(fixture->world.house_fd, SHUT_RDWR);
    (void)pthread_mutex_unlock(&fixture->world.lock);
}

static unsigned told_count;

void web_board_on_done(void *context, const struct board_reply *reply)
{
    struct web_board_told *told = context;
    told->count++;
    told->order = ++told_count;
    told->outcome = reply->outcome;
    (void)snprintf(told->why, sizeof(told->why), "%.127s",
                   reply->error != NULL ? reply->error->sentence : "");
    told->retry_after_ms = reply->error != NULL ? reply->error->retry_after_ms : 0;
    if (reply->list != NULL) {
        told->messages = reply->list->count;
        told->sealed = reply->list->sealed;
        told->has_older = reply->list->has_older;
        told->age_ms = reply->list->age_ms;
        for (size_t i = 0; i < told->messages && i < WEB_BOARD_PER_PAGE; i++) {
            told->is_text[i] = reply->list->messages[i].text != NULL;
        }
    }
    if (reply->message != NULL) {
        (void)snprintf(told->text, sizeof(told->text), "%.*s", (int)reply->message->bytes,
                       reply->message->text);
    }
    if (reply->place != NULL) {
        (void)snprintf(told->place, sizeof(told->place), "%s", reply->place);
        (void)snprintf(told->name, sizeof(told->name), "%s",
                       reply->place_name != NULL ? reply->place_name : "");
    }
}

void web_board_wait(struct web_board *fixture, const struct web_board_told *told)
{
    while (told->count == 0) {
        web_board_turn(fixture);
    }
}

struct view web_board_tea(void)
{
    struct view view = {.before_ms = INT64_MAX, .topics = {"tea"}, .topic_count = 1};
    return view;
}

struct web_board_told web_board_list_for(struct web_board *fixture, const struct view *view,
                                         const struct http_address *client)
{
    struct web_board_told told = {.count = 0};
    board_list(fixture->board, view, client, web_board_on_done, &told);
    web_board_wait(fixture, &told);
    return told;
}

struct web_board_told web_board_list(struct web_board *fixture, const struct view *view)
{
    return web_board_list_for(fixture, view, NULL);
}

struct web_board_told web_board_get(struct web_board *fixture, const uint8_t *id,
                                    const struct http_address *client)
{
    struct web_board_told told = {.count = 0};
    board_get(fixture->board, "", id, client, web_board_on_done, &told);
    web_board_wait(fixture, &told);
    return told;
}

struct web_board_told web_board_place(struct web_board *fixture, const struct http_address *client)
{
    struct web_board_told told = {.count = 0};
    board_place(fixture->board, "", client, web_board_on_done, &told);
    web_board_wait(fixture, &told);
    return told;
}

struct web_board_told web_board_places(struct web_board *fixture, const struct http_address *client)
{
    struct web_board_told told = {.count = 0};
    board_places(fixture->board, "", client, web_board_on_done, &told);
    web_board_wait(fixture, &told);
    return told;
}

struct web_board_told web_board_write(struct web_board *fixture, const struct board_write *write)
{
    struct web_board_told told = {.count = 0};
    board_write(fixture->board, write, web_board_on_done, &told);
    web_board_wait(fixture, &told);
    return told;
}

struct http_address web_board_phone(uint8_t last)
{
    return (struct http_address){.family = 4, .bytes = {192, 0, 2, last}};
}

const uint8_t web_board_id[HEARSAY_ID_BYTES] = {1};
const uint8_t web_board_token[HEARSAY_TOKEN_BYTES] = {2};

struct board_write web_board_message(struct http_address client)
{
    static struct view view; /* borrowed until the board is done */

    view = web_board_tea();
    return (struct board_write){.kind = BOARD_LEAVE,
                                .client = client,
                                .view = &view,
                                .text = "hello",
                                .bytes = 5,
                                .id = web_board_id,
                                .token = web_board_token};
}

void web_board_leave(struct web_board *fixture, uint8_t phone, struct web_board_told *told)
{
    const struct board_write message = web_board_message(web_board_phone(phone));

    board_write(fixture->board, &message, web_board_on_done, told);
}

struct web_board_told web_board_left(struct web_board *fixture, uint8_t phone)
{
    struct web_board_told told = {.count = 0};
    web_board_leave(fixture, phone, &told);
    web_board_wait(fixture, &told);
    return told;
}

unsigned web_board_look(struct web_board *fixture, const unsigned *number)
{
    (void)pthread_mutex_lock(&fixture->world.lock);
    unsigned value = *number;
    (void)pthread_mutex_unlock(&fixture->world.lock);
    return value;
}

static void on_begun(void *context)
{
    ((struct web_board_watcher *)context)->begun++;
}

static void on_match(void *context)
{
    ((struct web_board_watcher *)context)->matches++;
}

static void on_ended(void *context)
{
    ((struct web_board_watcher *)context)->ended++;
}

const struct board_watch_events web_board_events = {on_begun, on_match, on_ended};
