/* SPDX-License-Identifier: Apache-2.0 */
#include "core/profile.h"

#include <stdio.h>
#include <string.h>

#include "core/bloom.h"
#include "tests/lib/check.h"

static void test_round_trip(void **state)
{
    (void)state;
    for (uint32_t m = PROFILE_BITS_MIN; m <= PROFILE_BITS_MAX; m += 64) {
        for (uint32_t d = 1; d <= PROFILE_HASHES_MAX; d++) {
            char text[PROFILE_TEXT_MAX];
            char printed[PROFILE_TEXT_MAX];
            struct profile profile;
            struct profile again;
            const char *reason = NULL;
            size_t length = (size_t)snprintf(text, sizeof text, "v1:%u/%u", m, d);

            assert_int_equal(profile_parse(text, length, &profile, &reason), 0);
            assert_null(reason);
            assert_int_equal(profile.version, 1);
            assert_int_equal(profile.bits, m);
            assert_int_equal(profile.section_count, 1);
            assert_int_equal(profile.sections[0].first_bit, 0);
            assert_int_equal(profile.sections[0].bits, m);
            assert_int_equal(profile.sections[0].hashes, d);
            profile_print(&profile, printed);
            assert_string_equal(printed, text);
            assert_int_equal(profile_parse(printed, length, &again, &reason), 0);
            assert_true(profile_equal(&profile, &again));
        }
    }
}

struct refusal {
    const char *text;
    const char *reason; /* a part of it */
};

static const struct refusal refusals[] = {
    {"", "begins with its version"},
    {"v", "begins with its version"},
    {"v1", "begins with its version"},
    {"512/4", "begins with its version"},
    {"v2:512/4", "begins with its version"},
    {"V1:512/4", "begins with its version"},
    {" v1:512/4", "begins with its version"},
    {"v1:", "m must be a decimal number"},
    {"v1:/4", "m must be a decimal number"},
    {"v1: 512/4", "m must be a decimal number"},
    {"v1:+512/4", "m must be a decimal number"},
    {"v1:-512/4", "m must be a decimal number"},
    {"v1:0512/4", "m must be a decimal number"},
    {"v1:00/4", "m must be a decimal number"},
    {"v1:0x200/4", "'/' and d are missing"},
    {"v1:512", "'/' and d are missing"},
    {"v1:512 /4", "'/' and d are missing"},
    {"v1:512.0/4", "'/' and d are missing"},
    {"v1:512/", "d must be a decimal number"},
    {"v1:512/ 4", "d must be a decimal number"},
    {"v1:512/+4", "d must be a decimal number"},
    {"v1:512/04", "d must be a decimal number"},
    {"v1:512/0", "d must be 1 to 32"},
    {"v1:512/33", "d must be 1 to 32"},
    {"v1:512/4294967297", "d must be 1 to 32"},
    {"v1:512/18446744073709551617", "d must be 1 to 32"},
    {"v1:512/4 ", "more text"},
    {"v1:512/4,", "more text"},
    {"v1:512/4,512/4", "more text"},
    {"v1:512/4\n", "more text"},
    {"v1:512/4/4", "more text"},
    {"v1:0/4", "multiple of 64"},
    {"v1:1/4", "multiple of 64"},
    {"v1:63/4", "multiple of 64"},
    {"v1:65/4", "multiple of 64"},
    {"v1:4095/4", "multiple of 64"},
    {"v1:4097/4", "at most 4096"},
    {"v1:4160/4", "at most 4096"},
    {"v1:4294967360/4", "at most 4096"},           /* 2^32 + 64 */
    {"v1:18446744073709551680/4", "at most 4096"}, /* 2^64 + 64 */
    {"v1:wifi=256/2,geo=96/1", "sections by attribute are not supported by this version"},
    {"v1:joint(geo,time)=32/1", "sections by attribute are not supported by this version"},
};

static void test_refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        struct profile profile = {.version = 4711};
        const char *reason = NULL;
        int result = profile_parse(refusals[i].text, strlen(refusals[i].text), &profile, &reason);

        assert_int_equal(result, PROFILE_REFUSED);
        assert_non_null(reason);
        if (strstr(reason, refusals[i].reason) == NULL) {
            fail_msg("%s: \"%s\" does not say \"%s\"", refusals[i].text, reason,
                     refusals[i].reason);
        }
        assert_int_equal(profile.version, 4711); /* untouched */
    }
}

/* Only `length` bytes count, whatever follows; a NUL is a character like any other. */
static void test_length_counts(void **state)
{
    static const char with_nul[] = "v1:512/4\0";
    char long_text[PROFILE_TEXT_MAX + 1];
    struct profile profile;
    const char *reason = NULL;

    (void)state;
    assert_int_equal(profile_parse("v1:512/45", 8, &profile, &reason), 0);
    assert_int_equal(profile.sections[0].hashes, 4);
    assert_int_equal(profile_parse(with_nul, 9, &profile, &reason), PROFILE_REFUSED);
    memset(long_text, '1', sizeof long_text);
    memcpy(long_text, "v1:", 3);
    assert_int_equal(profile_parse(long_text, PROFILE_TEXT_MAX, &profile, &reason),
                     PROFILE_REFUSED);
    assert_non_null(strstr(reason, "too long"));
    assert_int_equal(profile_parse(long_text, PROFILE_TEXT_MAX - 1, &profile, &reason),
                     PROFILE_REFUSED);
    assert_null(strstr(reason, "too long"));
}

static void test_equal_tells_apart(void **state)
{
    const struct profile base = {1, 512, 1, {{0, 512, 4}}};
    struct profile other = base;

    (void)state;
    assert_true(profile_equal(&base, &other));
    other.sections[0].hashes = 5;
    assert_false(profile_equal(&base, &other));
    other = base;
    other.version = 2;
    assert_false(profile_equal(&base, &other));
    other = base;
    other.bits = other.sections[0].bits = 256;
    assert_false(profile_equal(&base, &other));
    other = base;
    other.sections[1] = (struct profile_section){9, 9, 9}; /* beyond the count: not looked at */
    assert_true(profile_equal(&base, &other));
}

/* A label sets the d positions of the definition, and adding is the same as setting these. */
static void test_positions_follow_the_definition(void **state)
{
    const struct profile profile = {1, 384, 1, {{0, 384, 7}}};
    const char *label = "wifi:a4:2b:8c:01:02:03";
    struct hash128 hash = hash_label(label, strlen(label));
    uint32_t positions[PROFILE_SECTIONS_MAX * PROFILE_HASHES_MAX];
    uint64_t by_add[6] = {0};
    uint64_t by_hand[6] = {0};

    (void)state;
    assert_int_equal(profile_positions(&profile, label, strlen(label), positions), 7);
    for (uint32_t i = 0; i < 7; i++) {
        uint64_t wrapped = hash.low64 + i * (hash.high64 | 1);

        assert_int_equal(positions[i], wrapped % 384);
        bloom_set(by_hand, positions[i]);
    }
    profile_add(&profile, label, strlen(label), by_add);
    assert_memory_equal(by_add, by_hand, sizeof by_add);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_length_counts),
        cmocka_unit_test(test_equal_tells_apart),
        cmocka_unit_test(test_positions_follow_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
