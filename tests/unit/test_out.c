/* SPDX-License-Identifier: Apache-2.0 */
/* What is printed: times, spans, sizes, bars, JSON. */
#include <errno.h>
#include <unistd.h>

#include "client/cli/term/out.h"
#include "tests/lib/check.h"

/* Times print and read back, whatever the year. */
TEST(test_times)
{
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
        {951782400000, "2000-02-29T00:00:00.000Z"},
        {951868800000, "2000-03-01T00:00:00.000Z"},
        {1763647509123, "2025-11-20T14:05:09.123Z"},
        {4107542400000, "2100-03-01T00:00:00.000Z"},
        {4107456000000, "2100-02-28T00:00:00.000Z"},
        {253402300799999, "9999-12-31T23:59:59.999Z"},
    };
    char text[WHEN_BYTES];
    int64_t ms = 0;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        when_print(rows[i].ms, text);
        assert_string_equal(text, rows[i].text);
        assert_int_equal(when_parse(text, &ms), 0);
        assert_true(ms == rows[i].ms);
    }
    /* Every day of 400 years follows the one before. */
    char before[WHEN_BYTES] = "";
    for (int64_t day = 0; day < 146097; day++) {
        when_print(day * 86400000, text);
        assert_true(strcmp(before, text) < 0);
        assert_int_equal(when_parse(text, &ms), 0);
        assert_true(ms == day * 86400000);
        memcpy(before, text, sizeof(text));
    }
    when_print(INT64_MIN, text);
    when_print(INT64_MAX, text);
    assert_string_equal(text, "292278994-08-17T07:12:55.807Z");
}

TEST(test_time_mistakes)
{
    int64_t ms = 0;
    assert_int_equal(when_parse("2026-11-20T14:05Z", &ms), 0);
    assert_int_equal(when_parse("2026-11-20T14:05:09.5Z", &ms), 0);
    assert_int_equal(ms % 1000, 500);
    static const char *const bad[] = {"",
                                      "2026-11-20",
                                      "2026-11-20T14:05",
                                      "2026-13-01T00:00Z",
                                      "2026-02-29T00:00Z",
                                      "2100-02-29T00:00Z",
                                      "2026-11-20T24:00Z",
                                      "2026-11-20T14:60Z",
                                      "2026-11-20T14:05:60Z",
                                      "2026-11-20T14:05:09.Z",
                                      "2026-11-20T14:05:09.1234Z",
                                      "2026-11-20 14:05Z",
                                      "2026-11-00T14:05Z",
                                      "2026-11-20T14:05Zx"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(when_parse(bad[i], &ms), WHEN_REFUSED);
    }
}

/* A server's times may lie as far apart as they can be said. */
TEST(test_differences)
{
    static const struct {
        int64_t later_ms, earlier_ms, difference_ms;
    } cases[] = {{5, 3, 2},
                 {3, 5, -2},
                 {-3, -5, 2},
                 {INT64_MAX, 0, INT64_MAX},
                 {INT64_MAX, -1, INT64_MAX},
                 {INT64_MAX - 1, -1, INT64_MAX},
                 {INT64_MAX, INT64_MIN, INT64_MAX},
                 {0, INT64_MIN, INT64_MAX},
                 {-1, INT64_MIN, INT64_MAX},
                 {INT64_MIN, 0, INT64_MIN},
                 {INT64_MIN, 1, INT64_MIN},
                 {-2, INT64_MAX, INT64_MIN},
                 {-1, INT64_MAX, INT64_MIN},
                 {INT64_MIN, INT64_MIN, 0},
                 {INT64_MAX, INT64_MAX, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(when_difference(cases[i].later_ms, cases[i].earlier_ms),
                         cases[i].difference_ms);
    }
}

TEST(test_small_texts)
{
    char text[WHEN_BYTES];
    static const struct {
        int64_t ms;
        const char *text;
    } spans[] = {{0, "now"},      {999, "now"},     {1000, "1s"},
                 {59999, "59s"},  {60000, "1m"},    {3599999, "59m"},
                 {3600000, "1h"}, {86400000, "1d"}, {864000000, "10d"}};
    for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++) {
        when_print_span(spans[i].ms, text);
        assert_string_equal(text, spans[i].text);
    }
    char size[16];
    static const struct {
        uint64_t bytes;
        const char *text;
    } sizes[] = {
        {0, "0 B"},           {999, "999 B"},      {1000, "1.0 kB"},       {1450, "1.4 kB"},
        {999999, "999.9 kB"}, {1000000, "1.0 MB"}, {UINT64_MAX, "18.4 EB"}};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        out_print_size(sizes[i].bytes, size);
        assert_string_equal(size, sizes[i].text);
    }
    static const struct {
        uint32_t millionths;
        const char *text;
    } decimals[] = {{0, "0"}, {1, "0.000001"}, {750000, "0.75"}, {1000000, "1"}, {100, "0.0001"}};
    for (size_t i = 0; i < sizeof(decimals) / sizeof(decimals[0]); i++) {
        out_print_millionths(decimals[i].millionths, size);
        assert_string_equal(size, decimals[i].text);
    }
}

/* A stream in memory that is no terminal. */
struct sink {
    struct out out;
    char *text;
    size_t size;
};

static void sink_open(struct sink *sink)
{
    memset(sink, 0, sizeof(*sink));
    FILE *stream = open_memstream(&sink->text, &sink->size);
    assert_non_null(stream);
    out_init(&sink->out, stream);
    assert_false(sink->out.terminal);
}

static void sink_check(struct sink *sink, const char *expected)
{
    assert_int_equal(out_flush(&sink->out), 0);
    assert_string_equal(sink->text, expected);
    assert_int_equal(fclose(sink->out.stream), 0);
    free(sink->text);
}

TEST(test_bar)
{
    struct sink sink;
    sink_open(&sink);
    out_similarity(&sink.out, 1000000, 2);
    out_similarity(&sink.out, 999999, 1);
    out_similarity(&sink.out, 0, 1);
    sink_check(&sink, "\xe2\x96\x88\xe2\x96\x88 1.00"
                      "\xe2\x96\x88 0.99"
                      "\xe2\x96\x91 0.00");
    /* Escape codes only where somebody wants colours. */
    sink_open(&sink);
    sink.out.colour = true;
    out_similarity(&sink.out, 0, 0);
    sink_check(&sink, "\x1b[31m\x1b[0m 0.00");
}

static void fill_result(struct hearsay_result *result)
{
    static const uint8_t id[HEARSAY_ID_BYTES] = {0xab, 0xab, 0xab, 0xab, 0xab, 0xab, 0xab, 0xab,
                                                 0xab, 0xab, 0xab, 0xab, 0xab, 0xab, 0xab, 0xab};

    memset(result, 0, sizeof(*result));
    result->id = hearsay_bytes(id, sizeof(id));
    result->distance_ppm = 1;
    result->intersection_count = 3;
    result->union_count = 4;
    result->set_bits[0] = 2;
    result->set_bits[1] = 1;
    result->set_bit_count = 2;
    result->expires_ms = 1000;
    result->media_type = hearsay_text("text/plain");
    result->payload = hearsay_bytes("gr\xc3\xbc\x1b", 5);
}

/* The keys of a result, in their order; text that is not UTF-8 as base64. */
TEST(test_json)
{
    struct sink sink;
    struct hearsay_result result;
    fill_result(&result);
    sink_open(&sink);
    assert_int_equal(out_json(&sink.out, out_json_result(&result, true)), 0);
    sink_check(
        &sink,
        "{\"id\":\"abababababababababababababababab\",\"distance\":1e-6,"
        "\"intersection\":3,\"union\":4,"
        "\"deposited\":\"1970-01-01T00:00:00.000Z\","
        "\"expires\":\"1970-01-01T00:00:01.000Z\",\"set_bits\":[2,1],\"type\":\"text/plain\","
        "\"text\":\"gr\xc3\xbc\\u001B\"}\n");
    result.payload = hearsay_bytes("\xff", 1);
    json_t *object = out_json_result(&result, false);
    assert_string_equal(json_string_value(json_object_get(object, "payload_base64")), "/w==");
    assert_null(json_object_get(object, "type"));
    json_decref(object);
    result.payload_omitted = true;
    object = out_json_result(&result, false);
    assert_true(json_is_true(json_object_get(object, "payload_omitted")));
    assert_null(json_object_get(object, "payload_base64"));
    json_decref(object);
    /* On a terminal nothing but ASCII. */
    sink_open(&sink);
    sink.out.terminal = true;
    assert_int_equal(out_json(&sink.out, json_pack("[s]", "\xe2\x80\xae")), 0);
    sink_check(&sink, "[\"\\u202E\"]\n");
}

/* Lines of at most the terminal's width, and every word of the text. */
TEST(test_fold)
{
    static const struct {
        size_t width;
        const char *text;
        const char *folded;
    } rows[] = {
        {0, "one two three", "one two three"},
        {17, "one two three", "one two three"},
        {16, "one two three", "one two\n    three"},
        {11, "one two three", "one two\n    three"},
        {10, "one two three", "one\n    two\n    three"},
        {9, "a,b,c,d,e", "a,b,\n    c,d,e"},
        {8, "endless word", "endless\n    word"},
        {3, "one two", "one two"}, /* no room behind the column: not folded */
        {20, "", ""},
    };
    struct sink sink;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        sink_open(&sink);
        sink.out.width = rows[i].width;
        out_fold(&sink.out, rows[i].text, 4);
        sink_check(&sink, rows[i].folded);
    }
}

/* A reader that is gone is told from a full disk. */
TEST(test_no_reader)
{
    struct out out;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    FILE *stream = fdopen(ends[1], "w");
    assert_non_null(stream);
    out_init(&out, stream);
    errno = 0;
    assert_false(out_has_no_reader(&out));
    assert_int_equal(close(ends[0]), 0);
    assert_true(out_has_no_reader(&out));
    assert_int_equal(errno, 0);
    (void)fclose(stream);
}

/* A disk that is full is noticed. */
TEST(test_write_error)
{
    struct out out;
    FILE *full = fopen("/dev/full", "w");
    if (full == NULL) {
        skip();
    }
    out_init(&out, full);
    (void)fputs("text", full);
    assert_int_equal(out_flush(&out), OUT_WRITE);
    (void)fclose(full);
}
