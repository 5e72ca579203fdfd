/* SPDX-License-Identifier: Apache-2.0 */
/* Query and Watch: what is refused, and which payloads an answer holds. */
#include "proto/codec/codec.h"
#include "tests/lib/check.h"
#include "tests/lib/handler_fixture.h"
#include "tests/lib/plain_request.h"

enum { MESSAGES = 100 };

static struct hearsay_query_part part;
static uint8_t part_filter[HANDLER_FILTER_BYTES];

/* A query that every message of the fixture may answer. */
static struct hearsay_request make_query(uint32_t k)
{
    memset(part_filter, 0xff, 8);
    part = (struct hearsay_query_part){.filter = {part_filter, sizeof(part_filter)}};
    return (struct hearsay_request){
        .id = 5,
        .name = "query",
        .kind = HEARSAY_REQUEST_QUERY,
        .query = plain_query(&part, 1, k),
    };
}

static void expect_refused(struct handler_fixture *fixture, const struct hearsay_request *request,
                           const char *field)
{
    assert_int_equal(handler_fixture_refused(fixture, request), HEARSAY_CODE_INVALID);
    assert_string_equal(fixture->answer.error.field, field);
}

/* --- payloads --------------------------------------------------------------------------------- */

/* A store of `count` messages whose payloads have `bytes` bytes each. */
static struct handler_fixture *fixture_with(const char *frame, unsigned count, size_t bytes)
{
    struct handler_fixture *fixture = handler_fixture_new();
    char text[1024];

    handler_fixture_set(fixture, "limits", "frame", frame);
    handler_fixture_set(fixture, "limits", "payload", "1K");
    handler_fixture_start(fixture);
    memset(text, 'x', bytes);
    text[bytes] = '\0';
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(handler_fixture_do(fixture, handler_fixture_deposit((uint8_t)i, text, 60)),
                         HEARSAY_RESPONSE_DEPOSITED);
    }
    return fixture;
}

static unsigned count_omitted(struct handler_fixture *fixture, unsigned k, unsigned *out_last)
{
    struct hearsay_request request = make_query(k);
    unsigned omitted = 0;

    request.query.with_payload = true;
    assert_int_equal(handler_fixture_do(fixture, &request), HEARSAY_RESPONSE_RESULTS);
    const struct hearsay_results *results = &fixture->answer.results;
    assert_int_equal(results->result_count, k);
    for (unsigned i = 0; i < k; i++) {
        assert_int_equal(results->results[i].payload_omitted,
                         results->results[i].payload.data == NULL);
        omitted += results->results[i].payload_omitted;
    }
    *out_last = k;
    while (*out_last > 0 && results->results[*out_last - 1].payload_omitted) {
        (*out_last)--;
    }
    return omitted;
}

TEST(no_payload_that_fits_is_omitted)
{
    static const struct {
        const char *frame;
        unsigned k;
        size_t bytes;
    } cases[] = {{"64K", 100, 584}, {"4K", 50, 14}, {"4K", 30, 54}, {"64K", 100, 0}};
    unsigned last = 0;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct handler_fixture *fixture = fixture_with(cases[i].frame, cases[i].k, cases[i].bytes);

        assert_int_equal(count_omitted(fixture, cases[i].k, &last), 0);
        handler_fixture_free(fixture);
    }
}

/*
 * With payloads of one size, the first message too large for the frame is one byte over it: a
 * payload is omitted only if the frame would have exceeded the limit, and then the last ones are.
 */
TEST(payloads_fill_the_frame)
{
    enum { LIMIT = 4096, K = 40 };
    unsigned omitted_before = 0;
    unsigned last = 0;

    for (size_t bytes = 30; bytes < 90; bytes++) {
        struct handler_fixture *fixture = fixture_with("4K", K, bytes);
        const unsigned omitted = count_omitted(fixture, K, &last);
        /* A result's payload, its tag, its length; its media type; no flag. The frame is whole. */
        const size_t more = bytes + 2 + 12 - 2;
        struct bytes frame;

        bytes_init(&frame, alloc_system());
        assert_int_equal(codec_encode_response(&fixture->answer, LIMIT, &frame), 0);
        const size_t length = frame.count - LIMIT_FRAME_HEADER_BYTES;
        assert_int_equal(last, K - omitted); /* the nearest have theirs */
        assert_true(omitted >= omitted_before);
        assert_true(omitted == 0 || length + more > LIMIT);
        omitted_before = omitted;
        bytes_deinit(&frame);
        handler_fixture_free(fixture);
    }
    assert_true(omitted_before > 0);
}

/* --- fields ----------------------------------------------------------------------------------- */

/* An absent until_ms is no bound, whatever since_ms is. */
TEST(a_window_that_is_open_is_not_refused)
{
    struct handler_fixture *fixture = fixture_with("64K", 3, 1);
    struct hearsay_request request = make_query(10);

    request.query.since_ms = INT64_MAX;
    assert_int_equal(handler_fixture_do(fixture, &request), HEARSAY_RESPONSE_RESULTS);
    assert_int_equal(fixture->answer.results.result_count, 0);
    request.query.until_ms = INT64_MAX - 1;
    expect_refused(fixture, &request, "until_ms");
    request.query.since_ms = request.query.until_ms;
    expect_refused(fixture, &request, "until_ms");
    handler_fixture_free(fixture);
}

/* What has no meaning for a watch is refused, unless it is spelled out as what it is when absent.
 */
TEST(a_watch_takes_absent_values)
{
    struct handler_fixture *fixture = fixture_with("64K", 1, 1);
    struct hearsay_request request = make_query(0);
    const struct hearsay_query query = request.query;

    request.kind = HEARSAY_REQUEST_WATCH;
    request.watch = (struct msg_watch){.query = query, .after_seq = UINT64_MAX};
    assert_int_equal(handler_fixture_do(fixture, &request), HEARSAY_RESPONSE_WATCHING);
    request.watch.query.k = 1;
    expect_refused(fixture, &request, "query.k");
    request.watch.query = query;
    request.watch.query.until_ms = INT64_MAX - 1;
    expect_refused(fixture, &request, "query.until_ms");
    request.watch.query = query;
    request.watch.query.order = HEARSAY_ORDER_TIME;
    expect_refused(fixture, &request, "query.order");
    request.watch.query = query;
    request.watch.query.wait_ms = LIMIT_WAIT_MS_DEFAULT + 1;
    expect_refused(fixture, &request, "query.wait_ms");
    request.watch.query = query;
    request.watch.query.max_staleness_ms = 0;
    expect_refused(fixture, &request, "query.max_staleness_ms");
    handler_fixture_free(fixture);
}

/* --- slices ----------------------------------------------------------------------------------- */

TEST(slices_that_leave_out_everything_are_refused)
{
    static uint8_t bits[1000];
    struct handler_fixture *fixture = fixture_with("64K", 1, 1);
    struct hearsay_slice slices[8];
    struct hearsay_request request = make_query(10);

    request.query.exclude = slices;
    for (size_t i = 0; i < 8; i++) {
        slices[i] = (struct hearsay_slice){.bits = {bits, sizeof(bits)}, .hashes = 32, .seed = i};
    }
    memset(bits, 0xff, sizeof(bits));
    request.query.exclude_count = 1;
    assert_int_equal(handler_fixture_refused(fixture, &request), HEARSAY_CODE_FILL_OUT_OF_RANGE);
    assert_string_equal(fixture->answer.error.field, "exclude.bits");

    /* 0.6 is taken, and one bit more is not; what counts is the sum of all slices */
    slices[0].hashes = 1;
    memset(bits, 0, sizeof(bits));
    memset(bits, 0xff, 600);
    assert_int_equal(handler_fixture_do(fixture, &request), HEARSAY_RESPONSE_RESULTS);
    bits[600] = 1;
    assert_int_equal(handler_fixture_refused(fixture, &request), HEARSAY_CODE_FILL_OUT_OF_RANGE);
    memset(bits, 0x77, sizeof(bits)); /* 0.75^8 = 0.1 each */
    for (size_t i = 0; i < 8; i++) {
        slices[i].hashes = 8;
    }
    request.query.exclude_count = 5;
    assert_int_equal(handler_fixture_do(fixture, &request), HEARSAY_RESPONSE_RESULTS);
    request.query.exclude_count = 6;
    assert_int_equal(handler_fixture_refused(fixture, &request), HEARSAY_CODE_FILL_OUT_OF_RANGE);
    handler_fixture_free(fixture);
}

/* Whatever rate it is made for, and however many ids it has: our own filters are taken. */
TEST(filters_of_the_library_are_taken)
{
    enum { FRAME = 60 * 1024, SEEDS = 40 };
    static const uint32_t rates[] = {1, 1000, 100000, SCALABLE_RATE_MAX_PPM};

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        const uint32_t rate = rates[seed % 4];
        struct scalable seen;
        uint64_t id[2] = {seed, 0};

        scalable_init(&seen, alloc_system(), rate, seed, FRAME);
        while (scalable_add(&seen, id, sizeof(id)) == 0) {
            id[1]++;
            if (seen.room > 0) {
                continue; /* fullest when it has no room left */
            }
            uint64_t chance_ppm = 0;
            for (uint32_t i = 0; i < seen.slice_count; i++) {
                chance_ppm += scalable_slice_chance_ppm(&seen.slices[i]);
            }
            assert_true(chance_ppm <= LIMIT_SLICES_PPM);
        }
        assert_true(id[1] > 1000);
        scalable_deinit(&seen);
    }
}
