/* SPDX-License-Identifier: Apache-2.0 */
/* Queries of neighbours on their way to hearsayd and back (client/bridge/ask/home.h). The hub
 * and hearsayd are functions of this file, which the linker puts in the place of the real ones. */
#include "client/bridge/ask/home.h"
#include "core/base/alloc.h"
#include "proto/codec/letter.h"
#include "tests/lib/check.h"
#include "tests/lib/plain_request.h"

enum { BYTES = 64 };

static struct {
    const char *subject; /* of the queries */
    bool is_full;        /* the hub takes no more now */
    size_t answers;      /* that went out with results */
    size_t refusals;
    size_t submitted;
    enum hearsay_order order; /* of the last one that was submitted */
    struct hearsay_welcome welcome;
} fake;

bool __wrap_wire_publish(struct wire *wire, const struct wire_letter *letter);
struct hearsay *__wrap_link_server(const struct link *link);
void __wrap_link_submitted(struct link *link);
const struct hearsay_welcome *__wrap_hearsay_welcome(const struct hearsay *server);
int __wrap_hearsay_submit(struct hearsay *server, const struct hearsay_request *request,
                          uint64_t *out_ticket, struct hearsay_error *out_error);

bool __wrap_wire_publish(struct wire *wire, const struct wire_letter *letter)
{
    struct msg_letter read;
    struct msg_error error;
    struct arena arena;

    (void)wire;
    arena_init(&arena, alloc_system(), CODEC_RESPONSE_ARENA_BYTES);
    assert_int_equal(letter_decode(letter->data, letter->size, &arena, &read, &error), 0);
    fake.answers += !fake.is_full && read.peer_results.has_results ? 1 : 0;
    fake.refusals += !fake.is_full && !read.peer_results.has_results ? 1 : 0;
    arena_deinit(&arena);
    return !fake.is_full;
}

struct hearsay *__wrap_link_server(const struct link *link)
{
    (void)link;
    return NULL;
}

void __wrap_link_submitted(struct link *link)
{
    (void)link;
}

const struct hearsay_welcome *__wrap_hearsay_welcome(const struct hearsay *server)
{
    (void)server;
    return &fake.welcome;
}

int __wrap_hearsay_submit(struct hearsay *server, const struct hearsay_request *request,
                          uint64_t *out_ticket, struct hearsay_error *out_error)
{
    (void)server;
    (void)out_error;
    assert_int_equal(request->kind, HEARSAY_REQUEST_QUERY);
    fake.order = request->query.order;
    *out_ticket = ++fake.submitted;
    return HEARSAY_OK;
}

static struct answers make_answers(uint32_t per_minute)
{
    memset(&fake, 0, sizeof(fake));
    fake.subject = "a.campus.here.lobby";
    return (struct answers){
        .host = "here", .per_minute = per_minute, .link = (struct link *)(void *)&fake};
}

/* A query of a neighbour, which hearsayd answers at once if it gets it. */
static void ask_once(struct answers *answers, const struct hearsay_query *query, int64_t now_ms)
{
    struct msg_letter letter = {.kind = MSG_LETTER_PEER_QUERY, .peer_query = {.query = *query}};
    struct hearsay_response response = {.kind = HEARSAY_RESPONSE_RESULTS};
    struct bytes bytes;
    size_t before = fake.submitted;

    bytes_init(&bytes, alloc_system());
    assert_int_equal(letter_encode(&letter, &bytes), 0);
    struct wire_message message = {
        .subject = fake.subject, .reply = "_R_.1", .data = bytes.data, .size = bytes.count};
    answers_take(answers, &message, now_ms);
    bytes_deinit(&bytes);
    response.id = fake.submitted;
    assert_int_equal(answers_respond(answers, &response, now_ms), fake.submitted > before);
}

/* How many of 200 queries at one moment hearsayd gets of a neighbour with 100 tokens. */
static size_t count_taken(const struct hearsay_query *query)
{
    struct answers answers = make_answers(600);

    for (int i = 0; i < 200; i++) {
        ask_once(&answers, query, 1000);
    }
    assert_int_equal(answers.answered, fake.submitted);
    assert_int_equal(answers.refused, 200 - fake.submitted);
    assert_int_equal(fake.answers, fake.submitted);
    assert_int_equal(fake.refusals, answers.refused);
    answers_clear(&answers);
    return fake.submitted;
}

TEST(test_dear_queries_cost_more)
{
    static const uint8_t bits[BYTES] = {1};
    struct hearsay_query_part parts[LIMIT_PARTS];
    struct hearsay_slice slices[8];
    struct hearsay_query query;

    for (size_t i = 0; i < LIMIT_PARTS; i++) {
        parts[i] = (struct hearsay_query_part){.filter = {bits, BYTES}};
    }
    for (size_t i = 0; i < 8; i++) {
        slices[i] = (struct hearsay_slice){.bits = {bits, BYTES}, .hashes = 32};
    }
    query = plain_query(parts, 1, 10);
    assert_int_equal(count_taken(&query), 100);
    query = plain_query(parts, 1, LIMIT_RESULTS); /* 1 + 999 / 64 = 16 tokens */
    assert_int_equal(count_taken(&query), 6);
    query = plain_query(parts, 25, 10);
    assert_int_equal(count_taken(&query), 4);
    query = plain_query(parts, 1, 10); /* 1 + (8 + 256) / 3 = 89 tokens */
    query.exclude = slices;
    query.exclude_count = 8;
    assert_int_equal(count_taken(&query), 1);
    query = plain_query(parts, LIMIT_PARTS, LIMIT_RESULTS); /* more than there ever are */
    query.exclude = slices;
    query.exclude_count = 8;
    assert_int_equal(count_taken(&query), 1);
}

/* The neighbour sorts what it gets: only which messages these are counts here. */
TEST(test_the_order_of_a_neighbour)
{
    static const uint8_t bits[BYTES] = {1};
    struct hearsay_query_part part = {.filter = {bits, BYTES}};
    struct hearsay_query query = plain_query(&part, 1, 10);
    struct answers answers = make_answers(600);

    for (int order = HEARSAY_ORDER_SIMILARITY; order <= HEARSAY_ORDER_NEWEST; order++) {
        query.order = (enum hearsay_order)order;
        ask_once(&answers, &query, 1000);
        assert_int_equal(fake.order, order == HEARSAY_ORDER_NEWEST ? HEARSAY_ORDER_NEWEST
                                                                   : HEARSAY_ORDER_SIMILARITY);
    }
    answers_clear(&answers);
}

/* A query that nobody answers costs the others nothing, and neither does a dear one. */
TEST(test_neighbours_pay_for_themselves)
{
    static const uint8_t bits[BYTES] = {1};
    struct hearsay_query_part part = {.filter = {bits, BYTES}};
    struct hearsay_query query = plain_query(&part, 1, LIMIT_RESULTS);
    struct answers answers = make_answers(600);

    for (int i = 0; i < 20; i++) {
        ask_once(&answers, &query, 1000);
    }
    assert_int_equal(fake.submitted, 6);
    fake.subject = "a.campus.here.library";
    ask_once(&answers, &query, 1000);
    assert_int_equal(fake.submitted, 7);
    answers_clear(&answers);
}

/* The hub writes the name of who asks as the last part of the subject. A query without a right one
 * is not answered, as nobody would pay for it. */
TEST(test_a_query_of_nobody)
{
    static const uint8_t bits[BYTES] = {1};
    static const char *const subjects[] = {
        "a.campus.here.",
        "a.campus.here.UPPER",
        "",
        "a.campus.here.a-name-that-is-longer-than-the-63-bytes-that-one-name-may-have-at-most",
    };
    struct hearsay_query_part part = {.filter = {bits, BYTES}};
    struct hearsay_query query = plain_query(&part, 1, 10);
    struct answers answers = make_answers(600);

    for (size_t i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++) {
        fake.subject = subjects[i];
        ask_once(&answers, &query, 1000);
        assert_int_equal(fake.submitted, 0);
        assert_int_equal(fake.answers + fake.refusals, 0);
    }
    answers_clear(&answers);
}

/* What did not go out is not counted as answered. */
TEST(test_an_answer_that_the_hub_does_not_take)
{
    static const uint8_t bits[BYTES] = {1};
    struct hearsay_query_part part = {.filter = {bits, BYTES}};
    struct hearsay_query query = plain_query(&part, 1, 10);
    struct answers answers = make_answers(600);

    fake.is_full = true;
    ask_once(&answers, &query, 1000);
    assert_int_equal(fake.submitted, 1);
    assert_int_equal(answers.answered, 0);
    assert_int_equal(answers.refused, 1);
    fake.is_full = false;
    ask_once(&answers, &query, 1000);
    assert_int_equal(answers.answered, 1);
    assert_int_equal(answers.refused, 1);
    answers_clear(&answers);
}
