/* SPDX-License-Identifier: Apache-2.0 */
/* sim_client: see sim_world.h. */
#include <stdlib.h>
#include <string.h>

#include "daemon/net/session_inner.h"
#include "daemon/system/container.h"
#include "daemon/system/list.h"
#include "daemon/watch/watch.h"
#include "proto/codec/codec.h"
#include "tests/sim/sim_world.h"

/* --- between sessions and handlers ------------------------------------------------------------ */

static const struct requester_events *session_events;
static struct requester_events hooked_events;

struct w_client *client_of(struct world *world, const struct requester *peer)
{
    for (unsigned i = 0; i < W_CLIENTS; i++) {
        if (world->clients[i].peer == peer) {
            return &world->clients[i];
        }
    }
    return NULL;
}

static struct w_request *request_of(struct world *world, uint64_t id)
{
    SIM_EXPECT(id >= 1 && id <= world->request_count, "an answer to nothing");
    return world->requests[id - 1];
}

/* An answer leaves the handlers: not before it may. */
static void on_respond(struct requester *peer, const struct hearsay_response *response)
{
    struct world *world = the_world;
    struct w_client *client = client_of(world, peer);

    if (client != NULL && response->id != 0) {
        struct w_request *request = request_of(world, response->id);
        SIM_EXPECT(request->client == client && request->session == client->session,
                   "an answer to somebody else");
        SIM_EXPECT(!request->expected.responded, "a second answer");
        SIM_EXPECT(request->expected.is_known, "an answer too early");
        request->expected.responded = true;
    }
    if (client != NULL && response->kind == HEARSAY_RESPONSE_MATCH) {
        watches_pushed(world, client, &response->match);
    }
    if (client != NULL && response->kind == HEARSAY_RESPONSE_WELCOME) {
        client->welcomed = true;
    }
    session_events->respond(peer, response);
}

void __wrap_handler_handle(struct service *service, struct requester *peer,
                           const struct hearsay_request *request);
void __real_handler_handle(struct service *service, struct requester *peer,
                           const struct hearsay_request *request);
bool __wrap_handler_welcome(struct service *service, struct requester *peer,
                            const struct hearsay_request *request);
bool __real_handler_welcome(struct service *service, struct requester *peer,
                            const struct hearsay_request *request);

/*
 * Messages of one id are told apart by when they were deposited. Two of them within a millisecond,
 * with the first gone in between, are beyond what is promised.
 */
static bool was_just_deposited(const struct world *world, const struct w_request *request)
{
    for (uint32_t i = 0; i < world->model.message_count; i++) {
        const struct m_message *message = &world->model.messages[i];
        if (message->deposited_ms == world->model.now_ms &&
            memcmp(message->id, request->message_id, MESSAGE_ID_BYTES) == 0) {
            return true;
        }
    }
    return false;
}

void __wrap_handler_handle(struct service *service, struct requester *peer,
                           const struct hearsay_request *request)
{
    struct world *world = the_world;
    struct w_request *asked = request_of(world, request->id);

    SIM_CHECK(asked->client == client_of(world, peer) && asked->kind == request->kind);
    if (asked->kind == HEARSAY_REQUEST_DEPOSIT && was_just_deposited(world, asked)) {
        world_set_clocks(world, world->wall_ms + 1, world->monotonic_ms + 1, world->synchronised);
    }
    expect_request(world, asked);
    world->owner = asked;
    __real_handler_handle(service, peer, request);
    world->owner = NULL;
    expect_later(asked);
    SIM_EXPECT(!asked->expected.is_known || asked->expected.responded ||
                   asked->kind == HEARSAY_REQUEST_CHECK,
               "a request of kind %d should have been answered at once", asked->kind);
}

static void expect_welcome(struct world *world, struct w_client *client, struct w_request *request)
{
    struct w_expected *expected = &request->expected;

    expected->is_known = true;
    expected->kind = HEARSAY_RESPONSE_WELCOME;
    expected->now_ms = world->model.now_ms;
    expected->trusted = model_clock_trusted(&world->model);
    for (size_t h = 0; h < world->config.host_count; h++) {
        const struct m_host *host = &world->model.hosts[h];
        const char *source = NULL;
        expected->accept[h] =
            m_accept(&world->model, (uint32_t)h, &source, &expected->accept_until_ms[h]);
        if (host->current > 0) {
            const struct m_epoch *epoch = &host->epochs[host->current - 1];
            expected->epochs[h] = (struct hearsay_epoch_info){.number = epoch->number,
                                                              .starts_ms = epoch->starts_ms,
                                                              .ends_ms = epoch->ends_ms,
                                                              .kept_ms = epoch->kept_ms};
        }
    }
    for (uint32_t i = 0; i < client->drop_count && request->has_shown; i++) {
        if (memcmp(client->drops[i].token, request->shown, RESUME_TOKEN_BYTES) == 0) {
            expected->has_dropped = world->monotonic_ms - client->drops[i].at_ms < 15 * 60 * 1000;
            client->drops[i] = client->drops[--client->drop_count]; /* told once */
            return;
        }
    }
}

bool __wrap_handler_welcome(struct service *service, struct requester *peer,
                            const struct hearsay_request *request)
{
    struct world *world = the_world;

    expect_welcome(world, client_of(world, peer), request_of(world, request->id));
    return __real_handler_welcome(service, peer, request);
}

/* --- connections ------------------------------------------------------------------------------ */

/* The server closes it: by the client's doing, or for a reason. */
static void on_closing(struct sim_stream *stream)
{
    struct w_client *client = CONTAINER_OF(stream, struct w_client, stream);

    client_gone(the_world, client);
}

/* It is told why when it comes again. */
static void note_drop(const struct world *world, struct w_client *client)
{
    SIM_CHECK(client->drop_count < W_DROPS);
    client->drops[client->drop_count].at_ms = world->monotonic_ms;
    memcpy(client->drops[client->drop_count++].token, client->peer->resume_token,
           RESUME_TOKEN_BYTES);
}

void client_gone(struct world *world, struct w_client *client)
{
    const struct transport *transport = client->stream.transport;

    SIM_EXPECT(!client->connected || client->may_be_dropped || client->is_refused ||
                   transport->ending || client->stream.end_told || world->page_failed,
               "client %u was dropped without a reason", client->number);
    if ((client->is_stuck || world->page_failed) && client->welcomed && client->connected &&
        !client->is_refused) {
        note_drop(world, client);
    }
    client->peer = NULL;
    if (client->is_counted) {
        world->model.connections[client->sender]--;
    }
    watches_end_session(world, client);
}

/* The client of the same address that gives its place to one more: of those that do nothing and do
 * not watch, the one that was silent longest. NULL: there is none. */
static struct w_client *expect_victim(struct world *world, const struct w_client *newcomer)
{
    struct w_client *victim = NULL;
    const struct session *session;
    int64_t since_ms = loop_now_ms(world->server.sessions.loop) - SESSION_IDLE_MS;

    DL_FOREACH (world->server.sessions.first, session) {
        struct w_client *client = client_of(world, &session->client);
        if (client != NULL && client->sender == newcomer->sender && !client->is_refused &&
            session->state < SESSION_ENDING && session->client.work_count == 0 &&
            session->counted_output == 0 && !watch_is_watching(&session->client) &&
            (victim == NULL ? session->activity_ms <= since_ms : session->activity_ms < since_ms)) {
            victim = client;
            since_ms = session->activity_ms;
        }
    }
    return victim;
}

/* Whether one more connection of its address is taken. Sets *out_victim to the client that makes
 * room for it, if there is one. */
static bool expect_connection(struct world *world, struct w_client *client,
                              struct w_client **out_victim)
{
    const uint32_t most = world->config.limits.sessions_per_address;

    client->is_counted = false;
    *out_victim = NULL;
    if (client->sender == 0) {
        return true;
    }
    if (world->model.connections[client->sender] >= most) {
        *out_victim = expect_victim(world, client);
        if (*out_victim == NULL) {
            return false;
        }
    }
    if (m_take_tokens(&world->model, client->sender, false, 1) != 0) {
        return false; /* and it takes nobody's place while it ends */
    }
    world->model.connections[client->sender]++;
    client->is_counted = true;
    return true;
}

void client_connect(struct world *world, struct w_client *client)
{
    struct server *server = &world->server;
    struct w_client *victim = NULL;
    struct listener *listener = &world->listeners[client->is_unix ? 0 : client->is_on_site ? 2 : 1];

    sim_stream_init(&client->stream, client->address);
    client->stream.closing = on_closing;
    client->session++;
    client->connected = true;
    client->greeted = client->welcomed = client->may_be_dropped = client->is_stuck = false;
    client->is_refused = !expect_connection(world, client, &victim);
    if (victim != NULL) {
        victim->is_refused = true;
        if (victim->welcomed) {
            note_drop(world, victim);
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        client->interests[i].watch = NULL;
    }
    sim_stream_offer(&client->stream);
    SIM_EQUAL(session_accept(&server->sessions, listener),
              client->is_refused ? SESSION_REFUSED : 0);
    struct session *session = DL_LAST(server->sessions.first);
    SIM_EQUAL(session->is_refused, client->is_refused);
    world->sessions++;
    if (client->stream.transport->closing) {
        SIM_CHECK(client->is_refused); /* without a word: it was told often enough */
        return;
    }
    client->peer = &session->client;
    session_events = session->client.events;
    hooked_events = *session_events;
    hooked_events.respond = on_respond;
    session->client.events = &hooked_events;
    session->client.is_administrator = client->is_administrator;
    if (session->client.sender_tag == 0) {
        SIM_EQUAL(client->sender, 0);
    }
    ask_hello(world, client);
}

static void forget_connection(struct w_client *client)
{
    sim_stream_deinit(&client->stream);
    bytes_consume(&client->output, client->output.count);
    frame_decoder_deinit(&client->input);
    frame_decoder_init(&client->input, alloc_system(), LIMIT_FRAME_BYTES_MAX);
}

void client_cut(struct world *world, struct w_client *client)
{
    (void)world;
    client->connected = false;
    sim_stream_cut(&client->stream);
    while (sim_stream_close_all()) {
    }
    forget_connection(client);
}

void client_send(struct world *world, struct w_client *client, size_t most)
{
    const size_t count = client->output.count < most ? client->output.count : most;
    (void)world;

    if (count > 0 && !client->stream.client_ended) {
        SIM_CHECK(bytes_append(&client->stream.up, client->output.data, count) == 0);
    }
    bytes_consume(&client->output, count);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void take_frames(struct world *world, struct w_client *client)
{
    struct hearsay_response response;
    struct msg_error error;
    const uint8_t *frame = NULL;
    size_t length = 0;

    while (frame_next(&client->input, &frame, &length) == 0) {
        arena_reset(&client->arena);
        const int rc = codec_decode_response(frame, length, &client->arena, &response, &error);
        SIM_EXPECT(rc == 0, "an answer that cannot be read: %s (%s)", error.message, error.field);
        if (response.kind != HEARSAY_RESPONSE_STATS_TAKEN &&
            response.kind != HEARSAY_RESPONSE_COMPACTED &&
            response.kind != HEARSAY_RESPONSE_BACKED_UP) { /* that tell of storage and memory */
            world->trace = XXH64(frame, length, world->trace + client->number);
        }
        world->kinds[response.kind]++;
        answer_check(world, client, &response);
    }
}

/* Whether anything happened. */
bool client_receive(struct world *world, struct w_client *client, size_t most)
{
    struct bytes got;
    uint8_t *room = NULL;
    size_t bytes = 0;
    size_t taken = 0;

    bytes_init(&got, alloc_system());
    while (taken < most && sim_stream_take(&client->stream, most - taken, &got) > 0) {
        taken = got.count;
    }
    for (size_t at = 0; at < got.count; at += bytes) {
        SIM_CHECK(frame_decoder_reserve(&client->input, got.count - at, &room, &bytes) == 0);
        bytes = bytes < got.count - at ? bytes : got.count - at;
        memcpy(room, got.data + at, bytes);
        frame_decoder_commit(&client->input, bytes);
        take_frames(world, client);
    }
    bytes_deinit(&got);
    if (client->stream.server_closed) {
        client->connected = false;
        forget_connection(client);
        return true;
    }
    if (client->stream.server_ended && sim_stream_waiting(&client->stream) == 0 &&
        !client->stream.client_ended) {
        bytes_consume(&client->stream.up, client->stream.up.count);
        client->stream.client_ended = true; /* it ends, too */
        return true;
    }
    return taken > 0;
}
