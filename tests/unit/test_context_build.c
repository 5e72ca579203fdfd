/* SPDX-License-Identifier: Apache-2.0 */
/* The context builder: its limits, its memory, and input that is cut or mad. */
#include <math.h>

#include "client/context/build.h"
#include "core/base/label.h"
#include "core/filter/bloom.h"
#include "core/profile/profile.h"
#include "tests/lib/check.h"
#include "tests/lib/encode.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/rng.h"

static struct hearsay_context *new_context(void)
{
    struct hearsay_context *context = NULL;
    assert_int_equal(hearsay_context_new(&context, NULL), HEARSAY_OK);
    return context;
}

static size_t count_of(const struct hearsay_context *context)
{
    size_t count = 0;
    assert_non_null(hearsay_context_labels(context, &count));
    return count;
}

/* A context is a set: what is there already adds nothing, and the order is that of arrival. */
TEST(test_set)
{
    struct hearsay_context *context = new_context();
    assert_int_equal(count_of(context), 0);
    const char *added[] = {"b:1", "a:1", "b:1", "a:11", "a:1"};
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(hearsay_context_add_label(context, added[i], NULL), HEARSAY_OK);
    }
    size_t count = 0;
    const char *const *labels = hearsay_context_labels(context, &count);
    assert_int_equal(count, 3);
    assert_string_equal(labels[0], "b:1");
    assert_string_equal(labels[1], "a:1");
    assert_string_equal(labels[2], "a:11");
    struct hearsay_error error;
    assert_int_equal(hearsay_context_add_label(context, "no label", &error), HEARSAY_ERR_ARGUMENT);
    assert_non_null(strstr(error.sentence, "no label"));
    assert_int_equal(count_of(context), 3);
    hearsay_context_free(context);
    hearsay_context_free(NULL);
}

/* As many labels as the limit says, and not one more; a cleared context takes them again. */
TEST(test_most_labels)
{
    struct hearsay_context *context = new_context();
    struct hearsay_error error;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < HEARSAY_CONTEXT_LABELS_MAX; i++) {
            char label[32];
            (void)snprintf(label, sizeof(label), "a:%d", i);
            assert_int_equal(hearsay_context_add_label(context, label, NULL), HEARSAY_OK);
        }
        assert_int_equal(hearsay_context_add_label(context, "a:0", NULL), HEARSAY_OK);
        assert_int_equal(hearsay_context_add_label(context, "b:0", &error), HEARSAY_ERR_ARGUMENT);
        assert_non_null(strstr(error.sentence, "4096"));
        assert_int_equal(count_of(context), HEARSAY_CONTEXT_LABELS_MAX);
        hearsay_context_clear(context);
    }
    hearsay_context_free(context);
}

/* What is no number, and what no calendar of four digits has. */
TEST(test_ranges)
{
    struct hearsay_context *context = new_context();
    struct hearsay_error error;
    const double bad[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 180.5};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(hearsay_context_add_position(context, bad[i], 0, &error),
                         HEARSAY_ERR_ARGUMENT);
        assert_int_equal(hearsay_context_add_position(context, 0, bad[i], &error),
                         HEARSAY_ERR_ARGUMENT);
    }
    const int64_t never[] = {INT64_MIN, INT64_MAX, INT64_C(253402300800000),
                             INT64_C(-62167219200001)};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(hearsay_context_add_time(context, never[i], &error), HEARSAY_ERR_ARGUMENT);
    }
    assert_int_equal(hearsay_context_add_wifi(context, "02:00:00:00:00:01", INT32_MIN, &error),
                     HEARSAY_ERR_ARGUMENT);
    assert_int_equal(hearsay_context_add_wifi(context, "02:00:00:00:00:01", INT32_MAX, &error),
                     HEARSAY_ERR_ARGUMENT);
    assert_int_equal(hearsay_context_add_topic(context, "\xff", &error), HEARSAY_ERR_ARGUMENT);
    assert_non_null(strstr(error.sentence, "UTF-8"));
    char topic[CONTEXT_TOPIC_BYTES + 2];
    memset(topic, 'a', sizeof(topic) - 1);
    topic[sizeof(topic) - 1] = '\0';
    assert_int_equal(hearsay_context_add_topic(context, topic, &error), HEARSAY_ERR_ARGUMENT);
    assert_non_null(strstr(error.sentence, "takes 1025 bytes; there is room for 234"));
    assert_int_equal(hearsay_context_add_scan(context, "hello", 5, NULL, &error),
                     HEARSAY_ERR_ARGUMENT);
    assert_non_null(strstr(error.sentence, "`iwlist wlan0 scan`"));
    assert_null(strstr(error.sentence, "termux")); /* which prints JSON */
    assert_int_equal(count_of(context), 0);
    assert_int_equal(hearsay_context_add_time(context, INT64_C(253402300799999), NULL), HEARSAY_OK);
    assert_int_equal(hearsay_context_add_time(context, INT64_C(-62167219200000), NULL), HEARSAY_OK);
    size_t count = 0;
    const char *const *labels = hearsay_context_labels(context, &count);
    assert_string_equal(labels[0], "time:9999-12-31T23");
    assert_string_equal(labels[2], "time:0000-01-01T00");
    assert_string_equal(labels[3], "time:w6T00");
    hearsay_context_free(context);
}

/* How many bits of a filter from `first` on are set. */
static uint32_t set_from(const struct hearsay_filter *filter, uint32_t first)
{
    uint64_t words[PROFILE_WORDS_MAX];
    assert_int_equal(bloom_load(words, filter->bits, filter->bytes, filter->byte_count), 0);
    return bloom_union_count_range(words, words, first, filter->bits - first);
}

/*
 * Of a position and a time joint sections pair the geohash of 6 characters with the date and hour
 * alone: not those of 7 and 8, nor the hour of the week. So there is always one pair.
 */
TEST(test_pairs)
{
    static const char profile[] = "v2:geo=64/1,time=64/1,joint(geo,time)=64/2";
    enum { LABELS = 8 };
    struct hearsay_context *context = new_context();
    assert_int_equal(hearsay_context_add_position(context, 48.1497, 11.5678, NULL), HEARSAY_OK);
    assert_int_equal(hearsay_context_add_time(context, INT64_C(1795183200000), NULL), HEARSAY_OK);
    size_t count = 0;
    const char *const *labels = hearsay_context_labels(context, &count);
    assert_int_equal(count, LABELS);
    assert_string_equal(labels[0], "geo:u281zj");
    assert_string_equal(labels[6], "time:2026-11-20T14");
    assert_string_equal(labels[7], "time:w5T14");
    struct hearsay_filter whole;
    struct hearsay_filter part;
    const char *pair[] = {labels[0], labels[6]};
    assert_int_equal(encode_labels(profile, NULL, labels, count, &whole, NULL), HEARSAY_OK);
    assert_int_equal(encode_labels(profile, NULL, pair, 2, &part, NULL), HEARSAY_OK);
    assert_int_equal(set_from(&part, 128), 2);
    assert_memory_equal(whole.bytes + 16, part.bytes + 16, part.byte_count - 16);
    /* Without either label of the pair, the others set none of the joint bits. */
    assert_int_equal(encode_labels(profile, NULL, labels + 1, count - 1, &part, NULL), HEARSAY_OK);
    assert_int_equal(set_from(&part, 128), 0);
    pair[1] = labels[7];
    assert_int_equal(encode_labels(profile, NULL, pair, 2, &part, NULL), HEARSAY_OK);
    assert_int_equal(set_from(&part, 128), 0);
    hearsay_context_free(context);
}

/* Sentences name no options: the library's caller may have none. */
TEST(test_scans_of_other_programs)
{
    static const char *const texts[] = {
        "Schnittstellenname : WLAN\n    BSSID 1      : a4:2b:8c:01:02:03\n",
        "                            SSID BSSID             RSSI CHANNEL HT CC SECURITY\n",
    };
    struct hearsay_context *context = NULL;
    struct hearsay_error error;
    assert_int_equal(hearsay_context_new(&context, NULL), HEARSAY_OK);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(
            hearsay_context_add_scan(context, texts[i], strlen(texts[i]), NULL, &error),
            HEARSAY_ERR_ARGUMENT);
        assert_non_null(strstr(error.sentence, "with its strength in dBm"));
        assert_null(strstr(error.sentence, "--"));
    }
    hearsay_context_free(context);
}

/* The limits of a scan: bytes, bytes of a line, access points; the largest that fit, and one more.
 */
TEST(test_scan_limits)
{
    struct hearsay_context *context = new_context();
    struct hearsay_error error;
    size_t sightings = 0;
    char *text = malloc(HEARSAY_SCAN_BYTES_MAX + 1);
    assert_non_null(text);
    memset(text, '\n', HEARSAY_SCAN_BYTES_MAX + 1);
    assert_int_equal(
        hearsay_context_add_scan(context, text, HEARSAY_SCAN_BYTES_MAX, &sightings, &error),
        HEARSAY_OK);
    assert_int_equal(sightings, 0);
    assert_int_equal(
        hearsay_context_add_scan(context, text, HEARSAY_SCAN_BYTES_MAX + 1, NULL, &error),
        HEARSAY_ERR_ARGUMENT);
    size_t length = 0;
    for (unsigned i = 0; i <= HEARSAY_SCAN_SIGHTINGS_MAX; i++) {
        length += (size_t)sprintf(text + length, "02:00:00:00:%02x:%02x:0\n", i >> 8, i & 0xff);
    }
    assert_int_equal(hearsay_context_add_scan(context, text, length, &sightings, &error),
                     HEARSAY_OK);
    assert_int_equal(sightings, HEARSAY_SCAN_SIGHTINGS_MAX);
    struct hearsay_left_out left_out;
    size_t count = 0;
    (void)hearsay_context_labels(context, &count); /* of the scan that fits; one label for each */
    assert_int_equal(count, HEARSAY_SCAN_STRONGEST);
    hearsay_context_left_out(context, &left_out);
    assert_int_equal(left_out.no_address, 1); /* the first one, 02:00:00:00:00:00 */
    assert_int_equal(left_out.weaker, HEARSAY_SCAN_SIGHTINGS_MAX - 1 - HEARSAY_SCAN_STRONGEST);
    assert_int_equal(left_out.no_strength, 0);
    assert_int_equal(left_out.unreadable, 1);
    assert_int_equal(left_out.unreadable_line, HEARSAY_SCAN_SIGHTINGS_MAX + 1);
    hearsay_context_clear(context);
    static const char start[] = "BSS 02:00:00:00:00:01(on wlan0)\n";
    memcpy(text, start, strlen(start));
    memset(text + strlen(start), 'x', HEARSAY_SCAN_LINE_BYTES_MAX + 1);
    assert_int_equal(hearsay_context_add_scan(
                         context, text, strlen(start) + HEARSAY_SCAN_LINE_BYTES_MAX, NULL, &error),
                     HEARSAY_OK);
    hearsay_context_left_out(context, &left_out);
    assert_int_equal(left_out.unreadable, 0);
    assert_int_equal(hearsay_context_add_scan(context, text,
                                              strlen(start) + HEARSAY_SCAN_LINE_BYTES_MAX + 1, NULL,
                                              &error),
                     HEARSAY_OK);
    hearsay_context_left_out(context, &left_out);
    assert_int_equal(left_out.unreadable, 1);
    assert_int_equal(left_out.unreadable_line, 2);
    free(text);
    hearsay_context_free(context);
}

/* The command reads JSON, the library does not; what stands in brackets before a scan is no JSON.
 */
TEST(test_scan_json)
{
    static const char json[] = " [\n {\"bssid\": \"a4:2b:8c:01:02:03\", \"rssi\": -60}\n]\n";
    static const char prompt[] = "[root@ap ~]# iw dev wlan0 scan\n"
                                 "BSS a4:2b:8c:01:02:03(on wlan0)\n\tsignal: -60.00 dBm\n";
    struct hearsay_context *context = new_context();
    struct hearsay_error error;
    size_t sightings = 0;
    assert_int_equal(hearsay_context_add_scan(context, json, strlen(json), &sightings, &error),
                     HEARSAY_ERR_ARGUMENT);
    assert_non_null(strstr(error.sentence, "JSON"));
    assert_int_equal(hearsay_context_add_scan(context, prompt, strlen(prompt), &sightings, &error),
                     HEARSAY_OK);
    assert_int_equal(sightings, 1);
    hearsay_context_free(context);
}

static const char iw_scan[] = "BSS a4:2b:8c:01:02:03(on wlan0) -- associated\n"
                              "\tsignal: -54.00 dBm\n\tSSID: cafe\n"
                              "BSS a6:2b:8c:01:02:04(on wlan0)\n\tsignal: 77/100\n";
static const char wpa_cli_scan[] = "bssid / frequency / signal level / flags / ssid\n"
                                   "a4:2b:8c:01:02:03\t2412\t-54\t[ESS]\tcafe\n"
                                   "a6:2b:8c:01:02:04\t5180\t-81\t[ESS]\t\n";
static const char cells_scan[] = "Cell 01 - Address: A4:2B:8C:01:02:03\n  Signal: -54 dBm\n"
                                 "Cell 02 - Address: A6:2B:8C:01:02:04\n"
                                 "  Quality=56/70  Signal level=-54 dBm\n";
static const char nmcli_scan[] = "A4\\:2B\\:8C\\:01\\:02\\:03:77\nA6\\:2B\\:8C\\:01\\:02\\:04:30\n";

/*
 * Scans cut short anywhere and with bytes changed: refused with a sentence or read, and all labels
 * are labels. The block has no room behind the text, so that reading beyond it shows under ASan.
 */
TEST(test_mad_scans)
{
    struct rng rng;
    rng_init(&rng);
    struct hearsay_context *context = new_context();
    const char *scans[] = {iw_scan, nmcli_scan, wpa_cli_scan, cells_scan};
    for (size_t s = 0; s < 4; s++) {
        size_t length = strlen(scans[s]);
        for (unsigned i = 0; i < 10000; i++) {
            size_t cut = i < length ? i + 1 : length;
            char *text = malloc(cut);
            assert_non_null(text);
            memcpy(text, scans[s], cut);
            for (size_t j = 0; i >= length && j < 1 + i % 4; j++) {
                text[rng_below(&rng, (uint32_t)cut)] = (char)rng_below(&rng, 256);
            }
            struct hearsay_error error = {.sentence = ""};
            int status = hearsay_context_add_scan(context, text, cut, NULL, &error);
            assert_true(status == HEARSAY_OK ||
                        (status == HEARSAY_ERR_ARGUMENT &&
                         (strstr(error.sentence, "line ") != NULL ||
                          strstr(error.sentence, "UTF-16") != NULL ||
                          strstr(error.sentence, "channels where strengths") != NULL)));
            size_t count = 0;
            const char *const *labels = hearsay_context_labels(context, &count);
            for (size_t j = 0; j < count; j++) {
                const char *reason = NULL;
                assert_int_equal(label_check(labels[j], strlen(labels[j]), &reason), 0);
            }
            hearsay_context_clear(context);
            free(text);
        }
    }
    hearsay_context_free(context);
}

/* Builds a context that needs every kind of memory. The first failure ends it. */
static int build(const struct alloc *alloc)
{
    struct hearsay_context *context = NULL;
    struct hearsay_error error = {.status = HEARSAY_OK};
    int status = context_new(alloc, &context, &error);
    if (status != HEARSAY_OK) {
        assert_int_equal(error.status, status);
        return status;
    }
    for (int i = 0; i < 1000 && status == HEARSAY_OK; i++) {
        char label[LABEL_BYTES_MAX + 1];
        (void)snprintf(label, sizeof(label), "a:%0200d", i);
        status = hearsay_context_add_label(context, label, &error);
    }
    if (status == HEARSAY_OK) {
        status = hearsay_context_add_scan(context, iw_scan, strlen(iw_scan), NULL, &error);
    }
    assert_int_equal(error.status, status);
    hearsay_context_free(context);
    return status;
}

/* Whichever request for memory fails: out of memory is what is said, and nothing leaks. */
TEST(test_memory)
{
    struct fail_alloc fail;
    fail_alloc_init(&fail);
    size_t n = 0;
    int status = HEARSAY_ERR_NOMEM;
    while (status != HEARSAY_OK) {
        n++;
        fail_alloc_arm(&fail, n);
        status = build(&fail.alloc);
        assert_true(status == HEARSAY_OK || status == HEARSAY_ERR_NOMEM);
        assert_int_equal(fail.live_blocks, 0);
        assert_true(n < 10000);
    }
    assert_true(n > 5);
}

/* Here labels: those that the profile takes, in their order, each once; wrong ones are no error. */
TEST(test_here)
{
    static const struct hearsay_text here[] = {
        {"place:a", 7}, {"wifi:b", 6}, {"no label", 8}, {"topic:c", 7}, {"wifi:b", 6}};
    struct hearsay_host host = {
        .name = "h", .profile = "v2:place=64/2,wifi=64/2", .here = here, .here_count = 5};
    struct hearsay_context *context = new_context();
    assert_int_equal(hearsay_context_add_label(context, "wifi:b", NULL), HEARSAY_OK);
    assert_int_equal(hearsay_context_add_here(context, &host, NULL), HEARSAY_OK);
    size_t count = 0;
    const char *const *labels = hearsay_context_labels(context, &count);
    assert_int_equal(count, 2);
    assert_string_equal(labels[1], "place:a");
    host.profile = "v9:what";
    assert_int_equal(hearsay_context_add_here(context, &host, NULL), HEARSAY_OK);
    host.profile = "v2:64/2";
    assert_int_equal(hearsay_context_add_here(context, &host, NULL), HEARSAY_OK);
    assert_int_equal(count_of(context), 3); /* topic:c */
    hearsay_context_free(context);
}

enum {
    HERE_ACCESS_POINTS = 66,
    HERE_LEVELS = 3,
    HERE_LABELS = HERE_ACCESS_POINTS * HERE_LEVELS + 2
};

/* A here file of hearsay-scan: 66 access points with three labels each, then a place and a topic.
 */
static struct hearsay_host host_with_scan(const char *profile)
{
    static char texts[HERE_LABELS][32];
    static struct hearsay_text here[HERE_LABELS];

    for (int i = 0; i < HERE_LABELS; i++) {
        int n = i / HERE_LEVELS;
        int length = snprintf(texts[i], sizeof(texts[i]), "wifi:10:22:33:44:%02x:%02x", n, 7 * n);

        if (i % HERE_LEVELS > 0) {
            (void)snprintf(texts[i] + length, 8, "@%d", i % HERE_LEVELS + 1);
        }
        here[i] = hearsay_text(texts[i]);
    }
    here[HERE_LABELS - 2] = hearsay_text("place:cafe-jules");
    here[HERE_LABELS - 1] = hearsay_text("topic:tea");
    return (struct hearsay_host){
        .name = "h", .profile = profile, .here = here, .here_count = HERE_LABELS};
}

static size_t count_wifi(const struct hearsay_context *context)
{
    size_t count = 0;
    size_t found = 0;
    const char *const *labels = hearsay_context_labels(context, &count);

    for (size_t i = 0; i < count; i++) {
        found += strncmp(labels[i], "wifi:", 5) == 0 ? 1 : 0;
    }
    return found;
}

/* Adds the here labels to so many labels of access points; returns how many there are then. The two
 * other here labels are always added. */
static size_t wifi_beside(const char *profile, size_t own_count)
{
    struct hearsay_context *context = new_context();
    struct hearsay_host host = host_with_scan(profile);
    char label[32];

    for (size_t i = 0; i < own_count; i++) {
        (void)snprintf(label, sizeof(label), "wifi:a%zu", i);
        assert_int_equal(hearsay_context_add_label(context, label, NULL), HEARSAY_OK);
    }
    assert_int_equal(hearsay_context_add_here(context, &host, NULL), HEARSAY_OK);
    size_t found = count_wifi(context);
    assert_int_equal(count_of(context), found + 2);
    hearsay_context_free(context);
    return found;
}

/* Access points of the here labels take the room that is left in their section, and are whole. */
TEST(test_here_gives_way)
{
    static const char sections[] = "v2:wifi=320/2,any=192/3";

    assert_int_equal(wifi_beside(sections, 0), 18);
    assert_int_equal(wifi_beside(sections, 64), 64 + 18);
    assert_int_equal(wifi_beside(sections, 80), 80 + 15); /* 96 would be the most */
    assert_int_equal(wifi_beside(sections, 93), 96);
    assert_int_equal(wifi_beside(sections, 94), 94);
    assert_int_equal(wifi_beside(sections, 200), 200); /* what the device has sensed stays */
    assert_int_equal(wifi_beside("v2:1024/2", 0), 18);
    assert_int_equal(wifi_beside("v2:512/4", 70), 70 + 3); /* 76, and the two others count */
    assert_int_equal(wifi_beside("v2:wifi=2/2,any=62/3", 0), 0);
    assert_int_equal(wifi_beside("v2:place=32/2,topic=32/2", 0), 0);
}

/* What an access point has in the context already takes no room again. */
TEST(test_here_of_a_known_access_point)
{
    struct hearsay_context *context = new_context();
    struct hearsay_host host = host_with_scan("v2:wifi=15/1,any=49/1"); /* 9 labels */
    static const char *const own[] = {"wifi:10:22:33:44:01:07", "wifi:10:22:33:44:01:07@2",
                                      "wifi:a0", "wifi:a1"};

    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        assert_int_equal(hearsay_context_add_label(context, own[i], NULL), HEARSAY_OK);
    }
    assert_int_equal(hearsay_context_add_here(context, &host, NULL), HEARSAY_OK);
    assert_int_equal(count_wifi(context), 8); /* three of the first, one of the second */
    size_t count = 0;
    const char *const *labels = hearsay_context_labels(context, &count);
    assert_string_equal(labels[count - 1], "wifi:10:22:33:44:01:07@3");
    hearsay_context_free(context);
}

/* One label, or one access point with its levels, is one thing; all else is none or several. */
TEST(test_only_label)
{
    static const struct {
        const char *labels[3];
        const char *only;
    } cases[] = {
        {{NULL}, NULL},
        {{"topic:a"}, "topic:a"},
        {{"wifi:a@3"}, "wifi:a@3"},
        {{"wifi:a", "wifi:a@2", "wifi:a@3"}, "wifi:a"},
        {{"wifi:a@2", "wifi:a"}, "wifi:a"},
        {{"wifi:a@2", "wifi:a@3"}, NULL},
        {{"wifi:a", "wifi:ab"}, NULL},
        {{"wifi:a", "wifi:b"}, NULL},
        {{"topic:a", "topic:a@2"}, NULL},
        {{"topic:a", "wifi:a"}, NULL},
    };
    struct hearsay_context *context = new_context();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        hearsay_context_clear(context);
        for (size_t j = 0; j < 3 && cases[i].labels[j] != NULL; j++) {
            assert_int_equal(hearsay_context_add_label(context, cases[i].labels[j], NULL), 0);
        }
        const char *only = hearsay_context_only_label(context);
        if (cases[i].only == NULL) {
            assert_null(only);
        } else {
            assert_string_equal(only, cases[i].only);
        }
    }
    hearsay_context_free(context);
}
