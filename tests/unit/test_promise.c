/* SPDX-License-Identifier: Apache-2.0 */
/* libhearsay against a server that lies: each lie breaks the connection, with a sentence. */
#include "client/net/promise.h"

#include <fcntl.h>

#include "client/call/client.h"
#include "client/net/wait.h"
#include "tests/lib/check.h"
#include "tests/lib/encode.h"
#include "tests/lib/fake_server.h"

enum { LONG_MS = 60000, K = 10, ROWS_MAX = 12, NEAR_PPM = 500000, SINCE_MS = 100, UNTIL_MS = 200 };

/* A result, as far as promises are about it. */
struct row {
    uint8_t id;
    uint32_t shared;
    uint32_t all;
    uint32_t distance_ppm;
    int64_t deposited_ms;
};

struct lie {
    const char *sentence; /* a part of it; NULL: this is no lie */
    enum hearsay_metric metric;
    enum hearsay_order order;
    enum { NOTHING, PAYLOAD, HOST } extra; /* sent, and not asked for */
    unsigned count;                        /* rows; the last of `rows` is repeated with other ids */
    struct row rows[2];
};

static const struct lie lies[] = {
    {NULL, HEARSAY_METRIC_BITS, HEARSAY_ORDER_SIMILARITY, NOTHING, 0, {{0}}},
    {NULL, HEARSAY_METRIC_BITS, HEARSAY_ORDER_SIMILARITY, NOTHING, K, {{1, 1, 2, NEAR_PPM, 150}}},
    {"more results",
     HEARSAY_METRIC_BITS,
     HEARSAY_ORDER_SIMILARITY,
     NOTHING,
     K + 1,
     {{1, 1, 2, NEAR_PPM, 150}}},
    {"further away",
     HEARSAY_METRIC_BITS,
     HEARSAY_ORDER_SIMILARITY,
     NOTHING,
     1,
     {{1, 1, 2, NEAR_PPM + 1, 150}}},
    {"another time",
     HEARSAY_METRIC_BITS,
     HEARSAY_ORDER_SIMILARITY,
     NOTHING,
     1,
     {{1, 1, 2, 0, SINCE_MS - 1}}},
    {"another time",
     HEARSAY_METRIC_BITS,
     HEARSAY_ORDER_SIMILARITY,
     NOTHING,
     1,
     {{1, 1, 2, 0, UNTIL_MS}}},
    {"not asked for",
     HEARSAY_METRIC_BITS,
     HEARSAY_ORDER_SIMILARITY,
     PAYLOAD,
     1,
     {{1, 1, 2, 0, 150}}},
    /* by similarity: 1/2 before 1/3; then the newer one, then the smaller id */
    {NULL,
     HEARSAY_METRIC_BITS,
     HEARSAY_ORDER_SIMILARITY,
     NOTHING,
     2,
     {{2, 1, 2, 0, 150}, {1, 1, 3, 0, 160}}},
    {"another order",
     HEARSAY_METRIC_BITS,
     HEARSAY_ORDER_SIMILARITY,
     NOTHING,
     2,
     {{1, 1, 3, 0, 160}, {2, 1, 2, 0, 150}}},
    {NULL,
     HEARSAY_METRIC_BITS,
     HEARSAY_ORDER_SIMILARITY,
     NOTHING,
     2,
     {{2, 1, 2, 0, 160}, {1, 2, 4, 0, 150}}},
    {"another order",
     HEARSAY_METRIC_BITS,
     HEARSAY_ORDER_SIMILARITY,
     NOTHING,
     2,
     {{1, 1, 2, 0, 150}, {2, 2, 4, 0, 160}}},
    {"another order",
     HEARSAY_METRIC_BITS,
     HEARSAY_ORDER_SIMILARITY,
     NOTHING,
     2,
     {{2, 1, 2, 0, 150}, {1, 1, 2, 0, 150}}},
    /* two empty filters are as near as can be */
    {NULL,
     HEARSAY_METRIC_BITS,
     HEARSAY_ORDER_SIMILARITY,
     NOTHING,
     2,
     {{1, 0, 0, 0, 150}, {2, 3, 4, 0, 160}}},
    {"another order",
     HEARSAY_METRIC_BITS,
     HEARSAY_ORDER_SIMILARITY,
     NOTHING,
     2,
     {{1, 3, 4, 0, 160}, {2, 0, 0, 0, 150}}},
    /* by phi, whose distance is rounded: ties may go either way */
    {NULL,
     HEARSAY_METRIC_PHI,
     HEARSAY_ORDER_SIMILARITY,
     NOTHING,
     2,
     {{2, 1, 3, 300, 150}, {1, 2, 3, 300, 160}}},
    /* so is a query that names no metric, as a zeroed one does not */
    {NULL, 0, HEARSAY_ORDER_SIMILARITY, NOTHING, 2, {{2, 1, 3, 300, 150}, {1, 2, 3, 300, 160}}},
    {"another order",
     HEARSAY_METRIC_PHI,
     HEARSAY_ORDER_SIMILARITY,
     NOTHING,
     2,
     {{1, 3, 3, 400, 150}, {2, 1, 3, 300, 150}}},
    /* by time */
    {NULL,
     HEARSAY_METRIC_BITS,
     HEARSAY_ORDER_TIME,
     NOTHING,
     2,
     {{2, 1, 3, 0, 160}, {1, 1, 2, 0, 150}}},
    {"another order",
     HEARSAY_METRIC_BITS,
     HEARSAY_ORDER_TIME,
     NOTHING,
     2,
     {{1, 1, 2, 0, 150}, {2, 1, 3, 0, 160}}},
    {"another order",
     HEARSAY_METRIC_BITS,
     HEARSAY_ORDER_TIME,
     NOTHING,
     2,
     {{2, 1, 2, 0, 150}, {1, 1, 3, 0, 150}}},
    /* the newest */
    {NULL,
     HEARSAY_METRIC_PHI,
     HEARSAY_ORDER_NEWEST,
     NOTHING,
     2,
     {{2, 1, 3, 400, 160}, {1, 1, 2, 300, 150}}},
    {"another order",
     HEARSAY_METRIC_PHI,
     HEARSAY_ORDER_NEWEST,
     NOTHING,
     2,
     {{1, 1, 2, 300, 150}, {2, 1, 3, 400, 160}}},
    {"though one host was asked",
     HEARSAY_METRIC_BITS,
     HEARSAY_ORDER_SIMILARITY,
     HOST,
     1,
     {{1, 1, 2, 0, 150}}},
    {"twice",
     HEARSAY_METRIC_BITS,
     HEARSAY_ORDER_SIMILARITY,
     NOTHING,
     2,
     {{1, 1, 2, 0, 150}, {1, 1, 3, 0, 150}}},
};

static const uint8_t wanted[LIMIT_ID_BYTES] = "one asked for..";
static const uint8_t other[LIMIT_ID_BYTES] = "one that came..";

/* --- the server ------------------------------------------------------------------------------- */

static void answer_query(const struct lie *lie, struct fake_peer *peer, uint64_t request_id)
{
    static uint8_t ids[ROWS_MAX][LIMIT_ID_BYTES];
    static struct hearsay_result results[ROWS_MAX];
    struct hearsay_response response = {.id = request_id, .kind = HEARSAY_RESPONSE_RESULTS};

    memset(results, 0, sizeof(results));
    for (unsigned i = 0; i < lie->count; i++) {
        const unsigned at = lie->count <= 2 ? i : 0;
        const struct row *row = &lie->rows[at];
        memset(ids[i], 0, LIMIT_ID_BYTES);
        ids[i][0] = (uint8_t)(row->id + (lie->count <= 2 ? 0 : i));
        results[i] = (struct hearsay_result){.id = {ids[i], LIMIT_ID_BYTES},
                                             .intersection_count = row->shared,
                                             .union_count = row->all,
                                             .distance_ppm = row->distance_ppm,
                                             .deposited_ms = row->deposited_ms};
        if (lie->extra == HOST) {
            results[i].host = (struct hearsay_text){"lobby", 5};
        }
        if (lie->extra == PAYLOAD) {
            results[i].payload = (struct hearsay_bytes){wanted, 3};
            results[i].media_type = (struct hearsay_text){"text/plain", 10};
        }
    }
    response.results.results = results;
    response.results.result_count = lie->count;
    (void)fake_send(peer, &response);
}

/* Queries get the lie, gets another message, and exports one message more than was asked for. */
static void script(struct fake_peer *peer, void *context)
{
    struct hearsay_request request;

    if (!fake_greet(peer, 8)) {
        return;
    }
    while (fake_read(peer, &request)) {
        struct hearsay_exported_message exported[2];
        struct hearsay_response response = {.id = request.id};
        memset(exported, 0, sizeof(exported));
        switch (request.kind) {
        case HEARSAY_REQUEST_QUERY:
            answer_query(context, peer, request.id);
            continue;
        case HEARSAY_REQUEST_GET:
            response.kind = HEARSAY_RESPONSE_GOT;
            response.got.id = (struct hearsay_bytes){other, LIMIT_ID_BYTES};
            response.got.payload = (struct hearsay_bytes){other, 3};
            response.got.media_type = (struct hearsay_text){"text/plain", 10};
            break;
        default:
            response.kind = HEARSAY_RESPONSE_EXPORTED;
            for (int i = 0; i < 2; i++) {
                exported[i].id = (struct hearsay_bytes){other, LIMIT_ID_BYTES};
                exported[i].filter = (struct hearsay_bytes){other, 8};
                exported[i].payload = (struct hearsay_bytes){other, 5};
            }
            response.exported.messages = exported;
            response.exported.message_count = 2;
            break;
        }
        (void)fake_send(peer, &response);
    }
}

static struct hearsay *open_client(struct fake_server *server, const struct lie *lie)
{
    struct hearsay *client = NULL;
    struct hearsay_error error;

    fake_server_pair(server, script, (void *)(uintptr_t)lie);
    assert_int_equal(fake_server_open(server, alloc_system(), &client, &error), 0);
    return client;
}

/* --- tests ------------------------------------------------------------------------------------ */

static int ask(struct hearsay *client, const struct lie *lie, struct hearsay_error *error)
{
    const char *label = "topic:tea";
    const struct hearsay_results *results = NULL;
    struct hearsay_filter filter;
    struct hearsay_query query;

    assert_int_equal(encode_labels("v2:512/4", NULL, &label, 1, &filter, NULL), 0);
    const struct hearsay_query_part part = {.filter = hearsay_filter_bytes(&filter)};
    hearsay_query_init(&query);
    query.parts = &part;
    query.part_count = 1;
    query.k = K;
    query.max_distance_ppm = NEAR_PPM;
    query.since_ms = SINCE_MS;
    query.until_ms = UNTIL_MS;
    query.metric = lie->metric;
    query.order = lie->order;
    query.with_payload = false;
    return hearsay_query(client, &query, LONG_MS, &results, error);
}

TEST(results_are_compared_with_the_query)
{
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        struct fake_server server;
        struct hearsay_error error;
        struct hearsay *client = open_client(&server, &lies[i]);
        const int status = ask(client, &lies[i], &error);
        if (lies[i].sentence == NULL) {
            assert_int_equal(status, HEARSAY_OK);
        } else {
            assert_int_equal(status, HEARSAY_ERR_PROTOCOL);
            assert_non_null(strstr(error.sentence, "not to be believed"));
            if (strstr(error.sentence, lies[i].sentence) == NULL) {
                fail_msg("lie %zu: %s", i, error.sentence);
            }
            assert_int_equal(ask(client, &lies[i], &error), HEARSAY_ERR_PROTOCOL); /* for good */
        }
        hearsay_close(client);
        fake_server_stop(&server);
    }
}

static int get(struct hearsay *client, const uint8_t *id, const struct hearsay_response **out_got,
               struct hearsay_error *out_error)
{
    const struct hearsay_request request = {.kind = HEARSAY_REQUEST_GET,
                                            .get.id = hearsay_bytes(id, HEARSAY_ID_BYTES)};
    return hearsay_ask(client, &request, LONG_MS, out_got, out_error);
}

TEST(another_message_is_refused)
{
    struct fake_server server;
    struct hearsay_error error;
    const struct hearsay_response *got = NULL;
    struct hearsay *client = open_client(&server, &lies[0]);

    assert_int_equal(get(client, wanted, &got, &error), HEARSAY_ERR_PROTOCOL);
    assert_non_null(strstr(error.sentence, "another message than the one that was asked for"));
    assert_null(got);
    hearsay_close(client);
    fake_server_stop(&server);

    client = open_client(&server, &lies[0]);
    assert_int_equal(get(client, other, &got, &error), HEARSAY_OK);
    assert_memory_equal(got->got.payload.data, other, 3);
    hearsay_close(client);
    fake_server_stop(&server);
}

TEST(more_than_a_page_is_refused)
{
    struct fake_server server;
    struct hearsay_error error;
    const struct hearsay_response *page = NULL;
    struct hearsay_request first = {.kind = HEARSAY_REQUEST_EXPORT, .export_.limit = 2};
    struct hearsay *client = open_client(&server, &lies[0]);

    assert_int_equal(hearsay_ask(client, &first, LONG_MS, &page, &error), HEARSAY_OK);
    first.export_.limit = 1;
    assert_int_equal(hearsay_ask(client, &first, LONG_MS, &page, &error), HEARSAY_ERR_PROTOCOL);
    assert_non_null(strstr(error.sentence, "more messages"));
    hearsay_close(client);
    fake_server_stop(&server);
}
