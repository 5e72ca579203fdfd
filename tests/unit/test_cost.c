/* SPDX-License-Identifier: Apache-2.0 */
/* What requests cost, and that the work of the worst ones is in proportion to it. */
#include "daemon/limits/cost.h"

#include "daemon/handler/inner.h"
#include "tests/lib/plain_query.h"
#include "tests/lib/profile_of.h"
#include "tests/lib/rng.h"
#include "tests/reference/engines.h"

enum {
    MESSAGES = 2000,
    SLICES = 8,
    SLICE_BYTES = 8 * 1024, /* eight of them fill a frame */
    FACTOR = 3              /* dearest and cheapest work of a token are so far apart at most */
};

static struct service service; /* by default no query may be full, so it looks at no filter */
static struct index *messages;
static uint8_t slice_bits[SLICES][SLICE_BYTES];
static struct scalable_slice slices[SLICES];

/* --- the table -------------------------------------------------------------------------------- */

static uint32_t cost_of_kind(enum hearsay_request_kind kind, enum sender_action *out_action)
{
    const struct hearsay_request request = {.id = 1, .kind = kind};

    return handler_cost(&service, &request, out_action);
}

TEST(small_requests_cost_one_token_or_none)
{
    static const enum hearsay_request_kind deposits[] = {
        HEARSAY_REQUEST_DEPOSIT, HEARSAY_REQUEST_WITHDRAW, HEARSAY_REQUEST_REPORT};
    static const enum hearsay_request_kind reads[] = {HEARSAY_REQUEST_GET, HEARSAY_REQUEST_SUMMARY,
                                                      HEARSAY_REQUEST_HERE};
    static const enum hearsay_request_kind free_ones[] = {
        HEARSAY_REQUEST_HELLO, HEARSAY_REQUEST_PING, HEARSAY_REQUEST_UNWATCH,
        HEARSAY_REQUEST_UNKNOWN};
    enum sender_action action = SENDER_ACTIONS;

    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(cost_of_kind(deposits[i], &action), 1);
        assert_int_equal(action, SENDER_DEPOSIT);
        assert_int_equal(cost_of_kind(reads[i], &action), 1);
        assert_int_equal(action, SENDER_QUERY);
    }
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(cost_of_kind(free_ones[i], &action), 0);
    }
}

static uint32_t cost_of_query(size_t parts, const struct scalable_slice *exclude, size_t count)
{
    struct hearsay_slice sent[LIMIT_SLICES];
    struct hearsay_request request = {.id = 1, .kind = HEARSAY_REQUEST_QUERY};
    struct hearsay_request watch = {.id = 1, .kind = HEARSAY_REQUEST_WATCH};
    enum sender_action action = SENDER_ACTIONS;

    for (size_t i = 0; i < count; i++) {
        sent[i] = (struct hearsay_slice){.hashes = exclude[i].hashes};
    }
    request.query =
        (struct hearsay_query){.part_count = parts, .exclude = sent, .exclude_count = count};
    watch.watch.query = request.query;
    const uint32_t tokens = handler_cost(&service, &request, &action);
    assert_int_equal(action, SENDER_QUERY);
    request.query.scope = HEARSAY_SCOPE_HOOD;
    assert_int_equal(handler_cost(&service, &request, &action), 4 * tokens);
    assert_int_equal(handler_cost(&service, &watch, &action), tokens);
    return tokens;
}

/* A part is a token; slices and their hashes together are one for each 3, rounded up. A query of a
 * hood costs four times as many. */
TEST(queries_cost_what_they_compare)
{
    struct scalable_slice many[LIMIT_SLICES];

    assert_int_equal(cost_of_query(0, NULL, 0), 1); /* is refused, but not for nothing */
    assert_int_equal(cost_of_query(1, NULL, 0), 1);
    assert_int_equal(cost_of_query(64, NULL, 0), 64);
    for (size_t i = 0; i < LIMIT_SLICES; i++) {
        many[i] = (struct scalable_slice){.hashes = LIMIT_SLICES_HASHES / LIMIT_SLICES};
    }
    assert_int_equal(cost_of_query(64, many, LIMIT_SLICES), 64 + (32 + 256) / 3);
    many[0].hashes = 1;
    assert_int_equal(cost_of_query(1, many, 1), 2);
    many[0].hashes = 2;
    assert_int_equal(cost_of_query(1, many, 1), 2);
    many[0].hashes = 3;
    assert_int_equal(cost_of_query(1, many, 1), 3);
    assert_int_equal(COST_PAGE, 1);
}

/* --- full parts ------------------------------------------------------------------------------- */

enum { BYTES = 16, HALF = 500000, ALL = 1000000 };

/* The tokens of `parts` parts that all have these filters; `query_fill_max` is most_ppm. */
static uint32_t cost_of_filters(uint32_t most_ppm, size_t parts, const struct hearsay_bytes *filter,
                                const struct hearsay_bytes *contains)
{
    static struct host host;
    static struct service full;
    struct hearsay_query_part part[LIMIT_PARTS];
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_QUERY, .query.parts = part};
    struct hearsay_request watch = {.kind = HEARSAY_REQUEST_WATCH};
    enum sender_action action = SENDER_ACTIONS;

    host.config.profile = profile_of("v2:wifi=120/4,any=8/6");
    full.hosts = &host;
    full.host_count = 1;
    full.config.limits.query_fill_max_ppm = most_ppm;
    for (size_t p = 0; p < parts; p++) {
        part[p] = (struct hearsay_query_part){.filter = *filter, .contains = *contains};
    }
    request.query.part_count = parts;
    watch.watch.query = request.query;
    const uint32_t tokens = handler_cost(&full, &request, &action);
    assert_int_equal(handler_cost(&full, &watch, &action), tokens);
    request.query.host = (struct hearsay_text){"elsewhere", strlen("elsewhere")};
    assert_int_equal(handler_cost(&full, &request, &action), parts); /* is refused anyway */
    return tokens;
}

/* A part with a section that is more than half full costs four tokens, where one is taken at all.
 */
TEST(full_parts_cost_four_tokens)
{
    static const uint8_t half[BYTES] = {255, 255, 255, 255, 255, 255, 255, 15}; /* 60 of wifi's */
    static const uint8_t more[BYTES] = {255, 255, 255, 255, 255, 255, 255, 31};
    static const uint8_t label[BYTES] = {[15] = 63}; /* 6 of the 8 bits: one label sets them */
    static const uint8_t labels[BYTES] = {[15] = 127};
    static const struct hearsay_bytes none = {NULL, 0};
    static const struct hearsay_bytes usual = {half, BYTES};
    static const struct hearsay_bytes full = {more, BYTES};
    static const struct hearsay_bytes small = {label, BYTES};
    static const struct hearsay_bytes small_full = {labels, BYTES};
    static const struct hearsay_bytes cut = {more, BYTES - 1};

    assert_int_equal(cost_of_filters(ALL, 1, &usual, &none), 1);
    assert_int_equal(cost_of_filters(ALL, 1, &full, &none), 4);
    assert_int_equal(cost_of_filters(ALL, 3, &full, &none), 12);
    assert_int_equal(cost_of_filters(ALL, 1, &usual, &full), 4);
    assert_int_equal(cost_of_filters(ALL, 1, &full, &full), 4);
    assert_int_equal(cost_of_filters(ALL, 1, &small, &small), 1);
    assert_int_equal(cost_of_filters(ALL, 1, &small_full, &none), 4);
    assert_int_equal(cost_of_filters(ALL, 1, &cut, &none), 1); /* is refused anyway */
    assert_int_equal(cost_of_filters(HALF + 1, 1, &full, &none), 4);
    assert_int_equal(cost_of_filters(HALF, 1, &full, &full), 1); /* as by default */
    assert_int_equal(cost_of_filters(ALL, LIMIT_PARTS, &full, &full), COST_FULL * LIMIT_PARTS);
}

/* --- work ------------------------------------------------------------------------------------- */

static void make_id(uint32_t number, uint8_t *out)
{
    memset(out, 0, MESSAGE_ID_BYTES);
    memcpy(out, &number, sizeof(number));
}

static int setup(void **state)
{
    static struct profile profile;
    uint64_t filter[8] = {0};
    uint8_t id[MESSAGE_ID_BYTES];
    struct rng rng;

    (void)state;
    profile = profile_of("v2:512/4");
    const struct index_options options = {
        .alloc = alloc_system(), .profile = &profile, .kernels = bits_select(BITS_SCALAR)};
    assert_int_equal(index_new(engine_named("list"), &options, &messages), 0);
    rng_init(&rng);
    for (int s = 0; s < SLICES; s++) {
        slices[s] = (struct scalable_slice){
            .bits = slice_bits[s], .byte_count = SLICE_BYTES, .hashes = 32, .seed = rng_next(&rng)};
        if (s + 1 < SLICES) { /* full as far as the chances let them be: 0.9^32 each */
            for (int i = 0; i < SLICE_BYTES * 8; i++) {
                slice_bits[s][i / 8] |= (uint8_t)(rng_chance(&rng, 90) ? 1u << i % 8 : 0);
            }
        }
    }
    for (uint32_t i = 0; i < MESSAGES; i++) {
        struct index_item item = {.expires_ms = INT64_MAX, .reach_ppm = LIMIT_DISTANCE_PPM};

        make_id(i, item.id);
        filter[0] = rng_next(&rng);
        assert_int_equal(index_insert(messages, &item, filter), 0);
        make_id(i, id); /* the last slice has all of them */
        scalable_slice_add(&slices[SLICES - 1], slice_bits[SLICES - 1], id, sizeof(id));
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    index_free(messages);
    return 0;
}

/* The work of a search, and in *out_looks what of it were tests of ids. Nothing is found. */
static uint64_t work_of(uint32_t parts, const struct scalable_slice *exclude, uint32_t count,
                        uint64_t *out_looks)
{
    static const uint64_t filter[8] = {0xffff};
    struct index_part part[INDEX_PARTS_MAX];
    struct index_search *search = NULL;
    const struct index_query query = {
        .parts = part,
        .part_count = parts,
        .k = 100,
        .max_distance_ppm = LIMIT_DISTANCE_PPM,
        .since_ms = INT64_MIN,
        .until_ms = count > 0 ? INT64_MAX : 0, /* the messages were deposited at 0 */
        .metric = INDEX_METRIC_PHI,
        .exclude = exclude,
        .exclude_count = count,
    };
    uint32_t found = 1;

    for (uint32_t p = 0; p < parts; p++) {
        part[p] = (struct index_part){.index = messages, .filter = filter};
    }
    assert_int_equal(index_search_new(alloc_system(), &query, &search), 0);
    while (index_search_step(search, 1000, 1) == INDEX_MORE) {
    }
    (void)index_search_results(search, &found);
    assert_int_equal(found, 0);
    const uint64_t work = search_work(search);
    *out_looks = work - index_search_comparisons(search);
    index_search_free(search);
    return work;
}

/* No message is found, so that nothing prunes: each is compared with each part, and its id, tested
 * with all slices, is in the last. */
TEST(worst_cases_are_in_proportion_to_tokens)
{
    static const struct {
        uint32_t parts;
        uint32_t slices; /* the last of them */
    } classes[] = {{1, 0}, {8, 0}, {64, 0}, {1, 1}, {1, 8}, {64, 1}, {64, 8}, {16, 4}};
    double least = 1e18;
    double most = 0;

    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
        const struct scalable_slice *exclude = slices + SLICES - classes[i].slices;
        uint64_t looks = 0;
        const uint64_t work = work_of(classes[i].parts, exclude, classes[i].slices, &looks);
        const uint32_t tokens = cost_of_query(classes[i].parts, exclude, classes[i].slices);
        const double each = (double)work / tokens;

        printf("%2u parts, %u slices: %u tokens, work %llu, %.0f a token\n", classes[i].parts,
               classes[i].slices, tokens, (unsigned long long)work, each);
        least = each < least ? each : least;
        most = each > most ? each : most;
    }
    assert_true(least >= MESSAGES); /* a token pays for comparing all messages once */
    assert_true(most <= FACTOR * least);
}

/* Ids are tested once a query, not once a part. */
TEST(ids_are_tested_once_a_query)
{
    uint64_t of_one = 0;
    uint64_t of_many = 0;

    (void)work_of(1, slices, SLICES, &of_one);
    (void)work_of(64, slices, SLICES, &of_many);
    assert_true(of_one > MESSAGES * 32);
    assert_int_equal(of_many, of_one);
}

/* A search that loses what it has found begins again, and yet does not do all its work at once. */
TEST(steps_stay_short_though_messages_go)
{
    enum { STEP = 64, BLOCK = 16, LOST = 4 };
    static const uint64_t filter[8] = {0xffff};
    const struct index_part part = {.index = messages, .filter = filter};
    const struct index_query query = plain_index_query(&part, 1, MESSAGES);
    struct index_search *search = NULL;
    uint64_t before = 0;

    assert_int_equal(index_search_new(alloc_system(), &query, &search), 0);
    for (uint32_t i = 0; i <= LOST; i++) { /* the list is walked from its end */
        uint8_t id[MESSAGE_ID_BYTES];

        assert_int_equal(index_search_step(search, STEP, 1), INDEX_MORE);
        assert_true(search_work(search) - before <= 2 * STEP + BLOCK);
        before = search_work(search);
        make_id(MESSAGES - 1 - i, id);
        assert_int_equal(index_remove(messages, id, NULL), 0);
    }
    index_search_free(search);
}

int main(void)
{
    return check_run(setup, teardown);
}
