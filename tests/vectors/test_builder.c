/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The context builder of libhearsay against builder.json, which another implementation of the rules
 * wrote. The file's path is the only argument.
 */
#include <jansson.h>

#include "client/context/build.h"
#include "client/hearsay.h"
#include "tests/lib/check.h"

static json_t *vectors;

static struct hearsay_context *new_context(void)
{
    struct hearsay_context *context = NULL;
    assert_int_equal(hearsay_context_new(&context, NULL), HEARSAY_OK);
    return context;
}

/* The cases under `name`, of which there must be some. */
static const json_t *cases(const char *name)
{
    const json_t *array = json_object_get(vectors, name);
    assert_true(json_array_size(array) > 0);
    return array;
}

/* The context's labels are exactly those, in that order. Empties the context. */
static void check_labels(struct hearsay_context *context, const json_t *expected)
{
    size_t count = 0;
    const char *const *labels = hearsay_context_labels(context, &count);
    assert_true(json_is_array(expected));
    for (size_t i = 0; i < count && i < json_array_size(expected); i++) {
        assert_string_equal(labels[i], json_string_value(json_array_get(expected, i)));
    }
    assert_int_equal(count, json_array_size(expected));
    hearsay_context_clear(context);
    (void)hearsay_context_labels(context, &count);
    assert_int_equal(count, 0);
}

static int strength_of(const json_t *entry)
{
    const json_t *dbm = json_object_get(entry, "dbm");
    return json_is_null(dbm) ? HEARSAY_WIFI_NO_STRENGTH : (int)json_integer_value(dbm);
}

static const char *string_of(const json_t *entry, const char *name)
{
    const char *text = json_string_value(json_object_get(entry, name));
    assert_non_null(text);
    return text;
}

/* Sightings: the address in every form, the levels at every edge. */
TEST(test_wifi)
{
    struct hearsay_context *context = new_context();
    struct hearsay_error error;
    size_t at = 0;
    json_t *entry = NULL;
    json_array_foreach(cases("wifi"), at, entry)
    {
        assert_int_equal(hearsay_context_add_wifi(context, string_of(entry, "bssid"),
                                                  strength_of(entry), &error),
                         HEARSAY_OK);
        check_labels(context, json_object_get(entry, "labels"));
    }
    json_array_foreach(cases("wifi_refused"), at, entry)
    {
        assert_int_equal(hearsay_context_add_wifi(context, string_of(entry, "bssid"),
                                                  strength_of(entry), &error),
                         HEARSAY_ERR_ARGUMENT);
        size_t count = 1;
        (void)hearsay_context_labels(context, &count);
        assert_int_equal(count, 0);
    }
    hearsay_context_free(context);
}

/* Positions: cells of every length, their edges and middles, the poles, and 180 degrees. */
TEST(test_positions)
{
    struct hearsay_context *context = new_context();
    struct hearsay_error error;
    size_t at = 0;
    json_t *entry = NULL;
    json_array_foreach(cases("positions"), at, entry)
    {
        double latitude = json_number_value(json_object_get(entry, "latitude"));
        double longitude = json_number_value(json_object_get(entry, "longitude"));
        assert_int_equal(hearsay_context_add_position(context, latitude, longitude, &error),
                         HEARSAY_OK);
        check_labels(context, json_object_get(entry, "labels"));
    }
    json_array_foreach(cases("positions_refused"), at, entry)
    {
        double latitude = json_number_value(json_object_get(entry, "latitude"));
        double longitude = json_number_value(json_object_get(entry, "longitude"));
        assert_int_equal(hearsay_context_add_position(context, latitude, longitude, &error),
                         HEARSAY_ERR_ARGUMENT);
    }
    hearsay_context_free(context);
}

TEST(test_times)
{
    struct hearsay_context *context = new_context();
    size_t at = 0;
    json_t *entry = NULL;
    json_array_foreach(cases("times"), at, entry)
    {
        int64_t ms = json_integer_value(json_object_get(entry, "unix_ms"));
        assert_int_equal(hearsay_context_add_time(context, ms, NULL), HEARSAY_OK);
        check_labels(context, json_object_get(entry, "labels"));
    }
    hearsay_context_free(context);
}

TEST(test_topics)
{
    struct hearsay_context *context = new_context();
    struct hearsay_error error;
    size_t at = 0;
    json_t *entry = NULL;
    json_array_foreach(cases("topics"), at, entry)
    {
        assert_int_equal(hearsay_context_add_topic(context, string_of(entry, "topic"), &error),
                         HEARSAY_OK);
        check_labels(context, json_object_get(entry, "labels"));
    }
    json_array_foreach(cases("topics_refused"), at, entry)
    {
        assert_int_equal(hearsay_context_add_topic(context, json_string_value(entry), &error),
                         HEARSAY_ERR_ARGUMENT);
    }
    hearsay_context_free(context);
}

/* A percentage of NetworkManager, and the way back by its own formula. */
TEST(test_percent)
{
    const json_t *table = cases("percent_to_dbm");
    assert_int_equal(json_array_size(table), 101);
    for (int percent = 0; percent <= 100; percent++) {
        assert_int_equal(context_percent_to_dbm(percent),
                         json_integer_value(json_array_get(table, (size_t)percent)));
    }
    for (int dbm = -100; dbm <= -40; dbm++) {
        int shown = 100 - (int)(100.0 * (-dbm - 40) / 60.0);
        assert_int_equal(context_percent_to_dbm(shown), dbm);
    }
}

/* What a scan becomes, whether it is read as text or given as sightings, all of which can be read.
 */
static void check_scan(struct hearsay_context *context, const json_t *entry, bool is_text)
{
    static const char *const names[] = {"weaker", "no_address", "no_strength", "unreadable",
                                        "unreadable_line"};
    struct hearsay_left_out left_out;

    hearsay_context_left_out(context, &left_out);
    const size_t counts[] = {left_out.weaker, left_out.no_address, left_out.no_strength,
                             left_out.unreadable, left_out.unreadable_line};
    for (size_t i = 0; i < (is_text ? 5 : 3); i++) {
        const json_t *count = json_object_get(json_object_get(entry, "left_out"), names[i]);
        assert_int_equal(counts[i], json_integer_value(count));
    }
    check_labels(context, json_object_get(entry, "labels"));
    hearsay_context_left_out(context, &left_out); /* check_labels has cleared the context */
    assert_int_equal(left_out.weaker + left_out.no_address + left_out.no_strength, 0);
}

TEST(test_scans)
{
    struct hearsay_context *context = new_context();
    struct hearsay_error error;
    size_t at = 0;
    json_t *entry = NULL;
    json_array_foreach(cases("scans"), at, entry)
    {
        const char *text = string_of(entry, "text");
        const json_t *seen = json_object_get(entry, "seen");
        struct hearsay_sighting sightings[128];
        size_t count = 99;
        size_t i = 0;
        const json_t *pair = NULL;
        assert_int_equal(hearsay_context_add_scan(context, text, strlen(text), &count, &error),
                         HEARSAY_OK);
        assert_int_equal(count, json_array_size(seen));
        check_scan(context, entry, true);
        json_array_foreach(seen, i, pair)
        {
            const json_t *dbm = json_array_get(pair, 1);
            assert_true(i < sizeof(sightings) / sizeof(sightings[0]));
            sightings[i].bssid = json_string_value(json_array_get(pair, 0));
            sightings[i].strength_dbm =
                json_is_null(dbm) ? HEARSAY_WIFI_NO_STRENGTH : (int)json_integer_value(dbm);
        }
        assert_int_equal(hearsay_context_add_sightings(context, sightings, count, &error),
                         HEARSAY_OK);
        check_scan(context, entry, false);
    }
    json_array_foreach(cases("scans_refused"), at, entry)
    {
        const char *text = string_of(entry, "text");
        char line[32];
        int number = (int)json_integer_value(json_object_get(entry, "line"));
        (void)snprintf(line, sizeof(line), number > 0 ? "line %d " : "the scan has channels",
                       number);
        assert_int_equal(hearsay_context_add_scan(context, text, strlen(text), NULL, &error),
                         HEARSAY_ERR_ARGUMENT);
        if (strstr(error.sentence, line) != error.sentence) {
            fail_msg("\"%s\" does not begin with \"%s\"", error.sentence, line);
        }
    }
    hearsay_context_free(context);
}

int main(int argc, char **argv)
{
    json_error_t error;
    vectors = argc == 2 ? json_load_file(argv[1], 0, &error) : NULL;
    if (vectors == NULL) {
        (void)fprintf(stderr, "usage: test_builder builder.json\n");
        return 2;
    }
    int failed = check_run(NULL, NULL);
    json_decref(vectors);
    return failed;
}
