/* SPDX-License-Identifier: Apache-2.0 */
/* Which session is dropped for a newcomer: by what its sender holds, and whether it watches. */
#include "daemon/net/session_inner.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "daemon/watch/watch.h"
#include "tests/lib/check.h"
#include "tests/lib/server_fixture.h"

enum { SESSIONS = 8, NEWCOMER = SESSIONS, PEERS };

struct fixture {
    struct server_fixture *server;
    struct peer peers[PEERS];
    struct session *sessions[PEERS]; /* the last one is the newcomer's */
};

/* --- fixture ---------------------------------------------------------------------------------- */

static struct sender_address address_of(const char *text)
{
    struct sockaddr_storage peer = {.ss_family = AF_INET6};
    struct sockaddr_in6 local = {.sin6_family = AF_INET6};
    struct sender_address address;

    assert_int_equal(inet_pton(AF_INET6, "2001:db8::1", &local.sin6_addr), 1);
    if (strchr(text, ':') != NULL) {
        struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)(void *)&peer;
        assert_int_equal(inet_pton(AF_INET6, text, &in6->sin6_addr), 1);
    } else {
        struct sockaddr_in *in = (struct sockaddr_in *)(void *)&peer;
        in->sin_family = AF_INET;
        assert_int_equal(inet_pton(AF_INET, text, &in->sin_addr), 1);
    }
    sender_address_of((struct sockaddr *)&peer, (struct sockaddr *)&local, &address);
    return address;
}

/* One session more, of this address. */
static void add(struct fixture *fixture, unsigned at, const char *text)
{
    struct service *service;
    const struct sender_address address = address_of(text);
    const struct sender_limits limits = {.connections = PEERS};

    fixture->sessions[at] = server_fixture_greet(fixture->server, &fixture->peers[at]);
    service = fixture->server->server.service;
    assert_int_equal(senders_enter(service->senders, &address, &limits, 0,
                                   &fixture->sessions[at]->client.sender),
                     0);
}

static void watch(struct fixture *fixture, unsigned at)
{
    const struct hearsay_request *query = server_fixture_query(2, 1);
    struct hearsay_request request = {.id = 2, .name = "watch", .kind = HEARSAY_REQUEST_WATCH};

    request.watch.query = query->query;
    request.watch.query.k = 0;
    request.watch.after_seq = UINT64_MAX;
    handler_handle(fixture->server->server.service, &fixture->sessions[at]->client, &request);
    assert_true(watch_is_watching(&fixture->sessions[at]->client));
}

/* Nothing was heard of it for a while, and it has read all. */
static void make_idle(struct fixture *fixture, unsigned at)
{
    struct session *session = fixture->sessions[at];

    while (session->counted_output > 0) {
        server_fixture_turn(fixture->server, &fixture->peers[at]);
    }
    session->activity_ms -= SESSION_IDLE_MS;
}

/* Which one goes for the newcomer; NEWCOMER: it does not get in. */
static unsigned dropped(struct fixture *fixture)
{
    unsigned at = 0;

    fixture->server->server.service->config.limits.sessions = SESSIONS;
    if (!session_evict_for(&fixture->server->server.sessions, fixture->sessions[NEWCOMER])) {
        return NEWCOMER;
    }
    while (at < NEWCOMER && fixture->sessions[at]->state == SESSION_OPEN) {
        at++;
    }
    assert_true(at < NEWCOMER);
    return at;
}

static void set_up(struct fixture *fixture)
{
    memset(fixture, 0, sizeof(*fixture));
    fixture->server = server_fixture_new();
    server_fixture_start(fixture->server, true);
}

static void tear_down(struct fixture *fixture)
{
    for (unsigned at = 0; at < PEERS; at++) {
        peer_deinit(&fixture->peers[at]);
    }
    server_fixture_await_sessions(fixture->server, 0);
    server_fixture_free(fixture->server);
}

/* Sessions of so many addresses on link, and of other ones; then the newcomer's. */
static void fill(struct fixture *fixture, unsigned on_link, const char *newcomer)
{
    for (unsigned at = 0; at < SESSIONS; at++) {
        char text[40];
        (void)snprintf(text, sizeof(text), at < on_link ? "2001:db8::2:%u" : "192.0.2.%u", at + 1);
        add(fixture, at, text);
    }
    add(fixture, NEWCOMER, newcomer);
}

/* --- tests ------------------------------------------------------------------------------------ */

/* A device whose addresses have a session each, none of them idle: whoever comes gets in, from
 * elsewhere and from the same /64, and a session of that /64 gives way. */
TEST(addresses_of_one_network_make_room)
{
    static const char *const newcomers[] = {"192.0.2.200", "2001:db8:1::1", "2001:db8::77"};

    for (size_t i = 0; i < 3; i++) {
        struct fixture fixture;
        set_up(&fixture);
        fill(&fixture, 5, newcomers[i]);
        assert_int_equal(dropped(&fixture), 0);
        tear_down(&fixture);
    }
}

/* One address more of the /64 takes no place of those who are elsewhere, watching or idle. */
TEST(who_is_elsewhere_stays)
{
    struct fixture fixture;

    set_up(&fixture);
    fill(&fixture, 2, "2001:db8::77");
    for (unsigned at = 0; at < SESSIONS; at++) {
        watch(&fixture, at);
        if (at != 0 && at != 1) {
            make_idle(&fixture, at);
        }
    }
    assert_int_equal(dropped(&fixture), 0);
    tear_down(&fixture);
}

/* All have one session, and all watch: who comes new gets in, for the one that was silent longest.
 */
TEST(who_watches_makes_room_for_an_equal)
{
    struct fixture fixture;

    set_up(&fixture);
    fill(&fixture, 0, "192.0.2.200");
    for (unsigned at = 0; at < SESSIONS; at++) {
        watch(&fixture, at);
        make_idle(&fixture, at);
    }
    fixture.sessions[3]->activity_ms -= 60000;
    assert_int_equal(dropped(&fixture), 3);
    tear_down(&fixture);
}

/* A sender with two sessions that wants a third takes none of a sender with two. */
TEST(who_has_as_many_keeps_them)
{
    struct fixture fixture;

    set_up(&fixture);
    for (unsigned at = 0; at < SESSIONS; at++) {
        static const char *const addresses[] = {"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"};
        add(&fixture, at, addresses[at % 4]);
        if (at % 4 != 2) {
            make_idle(&fixture, at);
        }
    }
    add(&fixture, NEWCOMER, "192.0.2.3");
    assert_int_equal(dropped(&fixture), 2);
    tear_down(&fixture);
}

/* The sender has as many sessions as it may have: of its idle ones without a watch, the one that
 * was silent longest goes. If there is none, none goes. */
TEST(an_idle_session_makes_room_for_its_own_sender)
{
    struct fixture fixture;

    set_up(&fixture);
    for (unsigned at = 0; at < PEERS; at++) {
        add(&fixture, at, at < 5 ? "192.0.2.1" : "192.0.2.2");
    }
    struct sessions *all = &fixture.server->server.sessions;
    const struct sender *sender = fixture.sessions[0]->client.sender;
    watch(&fixture, 0);
    make_idle(&fixture, 0);
    make_idle(&fixture, 7);
    assert_false(session_evict_idle_of(all, sender));
    make_idle(&fixture, 1);
    make_idle(&fixture, 3);
    fixture.sessions[3]->activity_ms -= 60000;
    assert_true(session_evict_idle_of(all, sender));
    for (unsigned at = 0; at < PEERS; at++) {
        assert_int_equal(fixture.sessions[at]->state, at == 3 ? SESSION_ENDING : SESSION_OPEN);
    }
    tear_down(&fixture);
}

/* A session that has given way, and is dropped before it has ended: its client is told one reason,
 * once. */
TEST(who_gave_way_is_told_one_reason)
{
    struct fixture fixture;

    set_up(&fixture);
    fill(&fixture, 0, "192.0.2.200");
    struct session *session = fixture.sessions[0];
    const struct resume *resume = &session->all->service->resume;
    session_give_way(session);
    assert_int_equal(session->state, SESSION_ENDING);
    session_drop_slow_reader(session, DROP_STUCK);
    assert_int_equal(session->state, SESSION_CLOSED);
    assert_int_equal(resume->next, 1);
    assert_int_equal(resume->reasons[0].code, HEARSAY_CODE_RATE_LIMITED);
    tear_down(&fixture);
}

/* An idle session that does not watch makes room. */
TEST(who_is_idle_makes_room)
{
    struct fixture fixture;

    set_up(&fixture);
    fill(&fixture, 8, "2001:db8::77");
    watch(&fixture, 2);
    make_idle(&fixture, 2);
    make_idle(&fixture, 6);
    assert_int_equal(dropped(&fixture), 6);
    tear_down(&fixture);
}

/* Whoever has more sessions than the newcomer loses one, watching or not. */
TEST(who_has_more_makes_room)
{
    struct fixture fixture;

    set_up(&fixture);
    for (unsigned at = 0; at < SESSIONS; at++) {
        add(&fixture, at, at < 6 ? "192.0.2.1" : "192.0.2.2");
        watch(&fixture, at);
    }
    add(&fixture, NEWCOMER, "192.0.2.3");
    make_idle(&fixture, 4);
    make_idle(&fixture, 7);
    assert_int_equal(dropped(&fixture), 4);
    tear_down(&fixture);
}
