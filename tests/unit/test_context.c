/* SPDX-License-Identifier: Apache-2.0 */
/* Labels to the filter that is sent. */
#include "client/context/context.h"
#include "core/base/hash.h"
#include "core/filter/bloom.h"
#include "tests/lib/encode.h"
#include "tests/lib/profile_of.h"

/* The filter is that of core, byte for byte; order and repetition of labels do not matter. */
TEST(test_filter)
{
    struct profile profile = profile_of("v2:512/4");
    const char *labels[] = {"wifi:a", "topic:tea"};
    const char *others[] = {"topic:tea", "wifi:a", "wifi:a"};
    struct hearsay_filter filter;
    struct hearsay_filter other;
    assert_int_equal(context_encode(&profile, NULL, labels, 2, &filter, NULL), 0);
    assert_int_equal(context_encode(&profile, NULL, others, 3, &other, NULL), 0);
    assert_int_equal(filter.bits, 512);
    assert_int_equal(filter.byte_count, 64);
    assert_memory_equal(&filter, &other, sizeof(filter));
    uint8_t expected[64] = {0};
    for (size_t i = 0; i < 2; i++) {
        struct hash128 hash = hash_label(labels[i], strlen(labels[i]));
        for (uint32_t j = 0; j < 4; j++) {
            uint32_t position = bloom_position(hash, j, 512); /* these are different */
            expected[position / 8] |= (uint8_t)(1u << position % 8);
        }
    }
    assert_memory_equal(filter.bytes, expected, sizeof(expected));
}

/* Labels are taken in lots: the last ones of many are in the filter, and are named when wrong. */
TEST(test_many)
{
    enum { MANY = 200 };
    struct profile profile = profile_of("v2:a=64/1,b=64/1");
    char texts[MANY][8];
    const char *labels[MANY];
    for (size_t i = 0; i < MANY; i++) {
        snprintf(texts[i], sizeof(texts[i]), "%c:%zu", i == MANY - 1 ? 'b' : 'a', i);
        labels[i] = texts[i];
    }
    struct hearsay_filter filter;
    struct hearsay_error error;
    assert_int_equal(context_encode(&profile, NULL, labels, MANY, &filter, &error), 0);
    size_t of_last = 0;
    for (size_t byte = 8; byte < 16; byte++) {
        of_last += filter.bytes[byte] != 0;
    }
    assert_int_equal(of_last, 1);
    texts[MANY - 1][0] = 'c';
    assert_int_equal(context_encode(&profile, NULL, labels, MANY, &filter, &error),
                     HEARSAY_ERR_ARGUMENT);
    assert_string_equal(error.sentence, "label 200, \"c:199\": the profile has no section for the "
                                        "attribute \"c\"; its sections are a, b");
    texts[MANY - 1][0] = 'B';
    assert_int_equal(context_encode(&profile, NULL, labels, MANY, &filter, &error),
                     HEARSAY_ERR_ARGUMENT);
    assert_non_null(strstr(error.sentence, "label 200"));
}

/* Each mistake is named, and the filter stays as it was. */
TEST(test_mistakes)
{
    struct profile profile = profile_of("v2:64/1");
    struct hearsay_filter filter;
    struct hearsay_error error;
    memset(&filter, 7, sizeof(filter));
    assert_int_equal(context_encode(&profile, NULL, NULL, 0, &filter, &error),
                     HEARSAY_ERR_ARGUMENT);
    assert_non_null(strstr(error.sentence, "empty"));
    char longest[260];
    memset(longest, 'a', sizeof(longest));
    longest[1] = ':';
    longest[241] = '\0';
    const char *bad[] = {
        "", "a", ":b", "A:b", "a:", "1a:b", "a b:c", "a:\xff\xfe", longest, "a:\xed\xa0\x80"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const char *labels[] = {"ok:ok", bad[i]};
        assert_int_equal(context_encode(&profile, NULL, labels, 2, &filter, &error),
                         HEARSAY_ERR_ARGUMENT);
        assert_non_null(strstr(error.sentence, "label 2"));
        assert_int_equal(filter.bits, 0x07070707);
    }
    longest[240] = '\0'; /* the limit */
    const char *good = longest;
    assert_int_equal(context_encode(&profile, NULL, &good, 1, &filter, &error), 0);
}

/* A label without a section: its attribute is named, and the sections that there are. */
TEST(test_no_section)
{
    struct profile profile = profile_of("v2:wifi=32/1,geo=16/1,joint(geo,wifi)=16/1");
    const char *labels[] = {"wifi:a", "geo:b", "word:c:d"};
    struct hearsay_filter filter;
    struct hearsay_error error;
    memset(&filter, 7, sizeof(filter));
    assert_int_equal(context_encode(&profile, NULL, labels, 3, &filter, &error),
                     HEARSAY_ERR_ARGUMENT);
    assert_string_equal(error.sentence, "label 3, \"word:c:d\": the profile has no section for the "
                                        "attribute \"word\"; its sections are wifi, geo");
    assert_int_equal(filter.bits, 0x07070707);
    assert_int_equal(context_encode(&profile, NULL, labels, 2, &filter, &error), 0);
}

/* More labels than a joint section pairs. */
TEST(test_crowded)
{
    struct profile profile = profile_of("v2:any=32/1,joint(a,b)=32/1");
    static char texts[300][16];
    const char *labels[300];
    struct hearsay_filter filter;
    struct hearsay_error error;
    for (int i = 0; i < 300; i++) {
        (void)snprintf(texts[i], sizeof(texts[i]), "a:%d", i);
        labels[i] = texts[i];
    }
    assert_int_equal(context_encode(&profile, NULL, labels, 300, &filter, &error),
                     HEARSAY_ERR_ARGUMENT);
    assert_non_null(strstr(error.sentence, "label 257, \"a:256\": over 256 different labels"));
    assert_int_equal(context_encode(&profile, NULL, labels, 256, &filter, &error), 0);
}

/* The public form with a profile as text. */
TEST(test_profile_text)
{
    const char *label = "a:b";
    struct hearsay_filter filter;
    struct hearsay_error error;
    assert_int_equal(encode_labels("v2:64/32", NULL, &label, 1, &filter, &error), 0);
    assert_int_equal(filter.byte_count, 8);
    assert_int_equal(encode_labels("v9:64/32", NULL, &label, 1, &filter, &error),
                     HEARSAY_ERR_ARGUMENT);
    assert_non_null(strstr(error.sentence, "v9:64/32"));
    assert_int_equal(encode_labels("v2:a=32/1,b=32/0", NULL, &label, 1, &filter, &error),
                     HEARSAY_ERR_ARGUMENT);
    assert_non_null(strstr(error.sentence, "section \"b=32/0\": d must be 1 to 32"));
    assert_int_equal(encode_labels(NULL, NULL, &label, 1, &filter, &error), HEARSAY_ERR_ARGUMENT);
}
