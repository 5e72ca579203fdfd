/* SPDX-License-Identifier: Apache-2.0 */
#include "core/filter/bloom.h"
#include "tests/lib/profile_of.h"
#include "tests/lib/rng.h"

TEST(test_round_trip)
{
    for (uint32_t m = PROFILE_BITS_MIN; m <= PROFILE_BITS_MAX; m += 64) {
        for (uint32_t d = 1; d <= PROFILE_HASHES_MAX; d++) {
            char text[PROFILE_TEXT_MAX];
            char printed[PROFILE_TEXT_MAX];
            struct profile profile;
            struct profile again;
            const char *reason = NULL;
            size_t length = (size_t)snprintf(text, sizeof text, "v2:%u/%u", m, d);

            assert_int_equal(profile_parse(text, length, &profile, &reason), 0);
            assert_null(reason);
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
    {"v2", "begins with its version"},
    {"512/4", "begins with its version"},
    {"v1:512/4", "v1: is of hearsay 0.2.0"},
    {"v3:512/4", "begins with its version"},
    {"V2:512/4", "begins with its version"},
    {" v2:512/4", "begins with its version"},
    {"v2:", "m must be a decimal number"},
    {"v2:/4", "m must be a decimal number"},
    {"v2: 512/4", "m must be a decimal number"},
    {"v2:+512/4", "m must be a decimal number"},
    {"v2:-512/4", "m must be a decimal number"},
    {"v2:0512/4", "m must be a decimal number"},
    {"v2:00/4", "m must be a decimal number"},
    {"v2:0x200/4", "'/' and d are missing"},
    {"v2:512", "'/' and d are missing"},
    {"v2:512 /4", "'/' and d are missing"},
    {"v2:512.0/4", "'/' and d are missing"},
    {"v2:512/", "d must be a decimal number"},
    {"v2:512/ 4", "d must be a decimal number"},
    {"v2:512/+4", "d must be a decimal number"},
    {"v2:512/04", "d must be a decimal number"},
    {"v2:512/0", "d must be 1 to 32"},
    {"v2:512/33", "d must be 1 to 32"},
    {"v2:512/4294967297", "d must be 1 to 32"},
    {"v2:512/18446744073709551617", "d must be 1 to 32"},
    {"v2:512/4 ", "more text"},
    {"v2:512/4,", "more text"},
    {"v2:512/4,512/4", "more text"},
    {"v2:512/4\n", "more text"},
    {"v2:512/4/4", "more text"},
    {"v2:0/4", "multiple of 64"},
    {"v2:1/4", "multiple of 64"},
    {"v2:63/4", "multiple of 64"},
    {"v2:65/4", "multiple of 64"},
    {"v2:4095/4", "multiple of 64"},
    {"v2:4097/4", "at most 4096"},
    {"v2:4160/4", "at most 4096"},
    {"v2:4294967360/4", "at most 4096"},           /* 2^32 + 64 */
    {"v2:18446744073709551680/4", "at most 4096"}, /* 2^64 + 64 */
    {"v2:=512/4", "an attribute begins with a letter"},
    {"v2:Wifi=512/4", "an attribute begins with a letter"},
    {"v2:wifi=256/2, geo=256/1", "an attribute begins with a letter"},
    {"v2:1wifi=512/4", "among several sections each has a name"},
    {"v2:512/4,geo=64/1", "among several sections each has a name"},
    {"v2:geo=64/1,512/4", "among several sections each has a name"},
    {"v2:wifi", "'=' is missing after the section's name"},
    {"v2:wifi:512/4", "'=' is missing after the section's name"},
    {"v2:wi-fi=512/4", "'=' is missing after the section's name"},
    {"v2:wifi =512/4", "'=' is missing after the section's name"},
    {"v2:wifi=", "m must be a decimal number"},
    {"v2:wifi= 512/4", "m must be a decimal number"},
    {"v2:wifi=512", "'/' and d are missing"},
    {"v2:wifi=512/", "d must be a decimal number"},
    {"v2:wifi=512/0", "d must be 1 to 32"},
    {"v2:wifi=512/33,geo=64/1", "d must be 1 to 32"},
    {"v2:wifi=512/4;geo=64/1", "more text"},
    {"v2:wifi=0/1,geo=64/1", "at least 1 bit"},
    {"v2:wifi=2/3,geo=62/1", "d must be at most the bits"},
    {"v2:wifi=4097/1", "at most 4096"},
    {"v2:wifi=4294967360/1", "at most 4096"},
    {"v2:wifi=512/4,", "a section is missing"},
    {"v2:,wifi=512/4", "a section is missing"},
    {"v2:wifi=256/4,,geo=256/4", "a section is missing"},
    {"v2:wifi=256/4,wifi=256/4", "there already"},
    {"v2:any=256/4,geo=128/1,any=128/4", "there already"},
    {"v2:any=64/1,joint(geo,time)=32/1,joint(geo,time)=32/2", "there already"},
    {"v2:any=512/4", "a single section for all labels has no name"},
    {"v2:wifi=100/2,geo=100/1", "multiple of 64"},
    {"v2:wifi=63/2", "multiple of 64"},
    {"v2:wifi=4096/2,geo=64/1", "multiple of 64"},
    {"v2:a=4096/1,b=4096/1,c=4096/1,d=4096/1,e=4096/1,f=4096/1,g=4096/1", "multiple of 64"},
    {"v2:abcdefghijklmnopqrstuvwxyz0123456=512/4", "at most 32 letters"},
    {"v2:a=1/1,b=1/1,c=1/1,d=1/1,e=1/1,f=1/1,g=1/1,h=1/1,i=1/1,j=1/1,k=1/1,l=1/1,m=1/1,n=1/1,"
     "o=1/1,p=1/1,q=48/1",
     "at most 16 sections"},
    {"v2:joint=512/4", "joint takes two attributes"},
    {"v2:geo=32/1,joint(geo)=32/1", "joint takes two attributes"},
    {"v2:geo=32/1,joint()=32/1", "an attribute begins with a letter"},
    {"v2:geo=32/1,joint(geo,)=32/1", "an attribute begins with a letter"},
    {"v2:geo=32/1,joint(geo,time,wifi)=32/1", "joint takes two attributes"},
    {"v2:geo=32/1,joint(geo, time)=32/1", "an attribute begins with a letter"},
    {"v2:geo=32/1,joint(geo,time=32/1", "joint takes two attributes"},
    {"v2:geo=32/1,time=32/1,joint(geo,time=64/1,a=64/1", "joint takes two attributes"},
    {"v2:geo=32/1,joint(geo,time)32/1", "'=' is missing after the section's name"},
    {"v2:geo=32/1,joint(joint(geo,time),wifi)=32/1", "joint takes two attributes"},
    {"v2:geo=32/1,joint(geo,joint)=32/1", "any and joint are none"},
    {"v2:any=32/1,joint(any,geo)=32/1", "any and joint are none"},
    {"v2:geo=32/1,joint(geo,geo)=32/1", "must differ"},
    {"v2:geo=32/1,time=32/1,joint(time,geo)=64/1", "alphabetical order"},
    {"v2:geo=32/1,joint(geo,time)=32/1", "has no section of its own"},
    {"v2:time=32/1,joint(geo,time)=32/1", "has no section of its own"},
    {"v2:joint(geo,time)=64/1", "has no section of its own"},
};

TEST(test_refusals)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        struct profile profile = {.bits = 4711};
        const char *reason = NULL;
        int result = profile_parse(refusals[i].text, strlen(refusals[i].text), &profile, &reason);

        assert_int_equal(result, PROFILE_REFUSED);
        assert_non_null(reason);
        if (strstr(reason, refusals[i].reason) == NULL) {
            fail_msg("%s: \"%s\" does not say \"%s\"", refusals[i].text, reason,
                     refusals[i].reason);
        }
        assert_int_equal(profile.bits, 4711); /* untouched */

        /* For people the same, with the place where there are several sections. */
        char sentence[PROFILE_SENTENCE_MAX];
        profile_explain(refusals[i].text, strlen(refusals[i].text), sentence);
        assert_non_null(strstr(sentence, reason));
    }
}

static void explain(const char *text, const char *expected)
{
    char sentence[PROFILE_SENTENCE_MAX];

    profile_explain(text, strlen(text), sentence);
    assert_string_equal(sentence, expected);
}

/* The section that is wrong is quoted, the sum of the bits told. */
TEST(test_explanations)
{
    char long_text[PROFILE_TEXT_MAX];
    char sentence[PROFILE_SENTENCE_MAX];

    explain("v2:512/4", "");
    explain("v2:wifi=256/2,geo=256/1", "");
    explain("v2:512/33", "d must be 1 to 32");
    explain("v2:wifi=256/2,geo=256/0,time=9/9", "section \"geo=256/0\": d must be 1 to 32");
    explain("v2:geo=32/1,time=16/1,any=1/1,joint(geo,time)=30/1",
            "the bits of all sections together must be a multiple of 64 from 64 to 4096; they are "
            "79");
    explain(
        "v2:geo=32/1,joint(geo,time)=32/1,wifi=64/1",
        "section \"joint(geo,time)=32/1\": an attribute of this joint section has no section of "
        "its own, and there is no section any: add one of the two");
    explain("v2:wifi=64/1,\x1b[31m\n geo",
            "section \"?[31m??geo\": an attribute begins with a letter "
            "a-z, as in wifi=256/2 or joint(geo,time)=32/1");
    memset(long_text, 'a', sizeof long_text);
    memcpy(long_text, "v2:", 3);
    profile_explain(long_text, sizeof long_text - 1, sentence);
    assert_non_null(strstr(sentence, "aaaa...\": an attribute with a section has at most 32"));
    assert_true(strlen(sentence) < PROFILE_SENTENCE_MAX);
}

/* Only `length` bytes count, whatever follows; a NUL is a character like any other. */
TEST(test_length_counts)
{
    static const char with_nul[] = "v2:512/4\0";
    char long_text[PROFILE_TEXT_MAX + 1];
    struct profile profile;
    const char *reason = NULL;

    assert_int_equal(profile_parse("v2:512/45", 8, &profile, &reason), 0);
    assert_int_equal(profile.sections[0].hashes, 4);
    assert_int_equal(profile_parse(with_nul, 9, &profile, &reason), PROFILE_REFUSED);
    memset(long_text, '1', sizeof long_text);
    memcpy(long_text, "v2:", 3);
    assert_int_equal(profile_parse(long_text, PROFILE_TEXT_MAX, &profile, &reason),
                     PROFILE_REFUSED);
    assert_non_null(strstr(reason, "too long"));
    assert_int_equal(profile_parse(long_text, PROFILE_TEXT_MAX - 1, &profile, &reason),
                     PROFILE_REFUSED);
    assert_null(strstr(reason, "too long"));
}

/* Each of these is a profile, and differs from all others; each is printed as it was written. */
static const char *const sectioned[] = {
    "v2:512/4",
    "v2:512/5",
    "v2:wifi=512/4",
    "v2:geo=512/4",
    "v2:wifi=256/2,any=256/2",
    "v2:any=256/2,wifi=256/2",
    "v2:wifi=257/2,any=255/2",
    "v2:wifi=256/2,any=256/3",
    "v2:wifi=256/2,geo=96/1,time=32/1,topic=96/2,joint(geo,time)=32/1",
    "v2:wifi=256/2,geo=96/1,time=32/1,joint(geo,time)=32/1,topic=96/2",
    "v2:wifi=256/2,geo=96/1,time=32/1,topic=96/2,joint(geo,topic)=32/1",
    "v2:wifi=256/2,geo=96/1,time=32/1,topic=96/2,joint(time,wifi)=32/1",
    "v2:any=480/4,joint(geo,time)=32/1",
    "v2:any=448/4,joint(geo,time)=32/1,joint(geo,timezone)=32/1",
    "v2:a=1/1,any=63/32",
    ("v2:a=1/1,b=1/1,c=1/1,d=1/1,e=1/1,f=1/1,g=1/1,h=1/1,i=1/1,j=1/1,k=1/1,l=1/1,m=1/1,n=1/1,o=1/1,"
     "any=4081/32"),
    "v2:abcdefghijklmnopqrstuvwxyz012345=4096/1",
};

TEST(test_sections_round_trip)
{
    const size_t count = sizeof sectioned / sizeof sectioned[0];

    for (size_t i = 0; i < count; i++) {
        struct profile profile = profile_of(sectioned[i]);
        char printed[PROFILE_TEXT_MAX];
        uint32_t bits = 0;

        profile_print(&profile, printed);
        assert_string_equal(printed, sectioned[i]);
        for (uint32_t s = 0; s < profile.section_count; s++) {
            assert_int_equal(profile.sections[s].first_bit, bits);
            bits += profile.sections[s].bits;
        }
        assert_int_equal(profile.bits, bits);
        for (size_t j = 0; j < count; j++) {
            struct profile other = profile_of(sectioned[j]);

            assert_int_equal(profile_equal(&profile, &other), i == j);
        }
    }
}

/* Texts put together from pieces: what is taken is printed as it was, what is not is explained. */
TEST(test_random_texts)
{
    static const char *const pieces[] = {"wifi",   "geo", "time",  "any",   "joint(geo,time)",
                                         "joint(", ")",   "=32/1", "=64/2", "=31/3",
                                         "=96/4",  "=0",  "/1",    "=1/1",  ",",
                                         ",",      ",",   ",",     "4096",  "\0"};
    const size_t count = sizeof pieces / sizeof pieces[0];
    uint32_t taken = 0;
    struct rng rng;

    rng_init(&rng);
    for (uint32_t round = 0; round < 200000; round++) {
        char text[PROFILE_TEXT_MAX] = "v2:";
        char sentence[PROFILE_SENTENCE_MAX];
        char printed[PROFILE_TEXT_MAX];
        struct profile profile;
        const char *reason = NULL;
        size_t length = 3;

        for (uint32_t left = rng_below(&rng, 10); left > 0; left--) {
            const char *piece = pieces[rng_below(&rng, (uint32_t)count)];
            size_t more = piece[0] == '\0' ? 1 : strlen(piece);

            memcpy(text + length, piece, more);
            length += more;
        }
        profile_explain(text, length, sentence);
        if (profile_parse(text, length, &profile, &reason) == 0) {
            taken++;
            profile_print(&profile, printed);
            assert_int_equal(strlen(printed), length);
            assert_memory_equal(printed, text, length);
            assert_string_equal(sentence, "");
        } else {
            assert_non_null(strstr(sentence, reason));
        }
    }
    assert_true(taken > 100); /* else it would say little */
}

TEST(test_equal_tells_apart)
{
    const struct profile base = profile_of("v2:512/4");
    struct profile other = base;

    assert_true(profile_equal(&base, &other));
    other.sections[0].hashes = 5;
    assert_false(profile_equal(&base, &other));
    other = base;
    other.bits = other.sections[0].bits = 256;
    assert_false(profile_equal(&base, &other));
    other = base;
    other.sections[1] = other.sections[0]; /* beyond the count: not looked at */
    assert_true(profile_equal(&base, &other));
}

static void check_section(const struct profile *profile, const char *label, const char *expected)
{
    const struct profile_section *section = profile_section_of(profile, label, strlen(label));
    char name[PROFILE_TEXT_MAX] = "none";

    if (section != NULL) {
        profile_print_name(section, name);
    }
    assert_string_equal(name, expected);
}

/* A label goes by its whole attribute, to `any` where there is none, and never to a joint one. */
TEST(test_labels_find_their_section)
{
    struct profile without = profile_of("v2:wifi=32/1,geo=32/1,joint(geo,wifi)=64/1");
    struct profile with = profile_of("v2:any=64/1,wifi=32/1,joint(geo,wifi)=32/1");
    struct profile single = profile_of("v2:512/4");
    char names[PROFILE_TEXT_MAX];

    check_section(&without, "wifi:a", "wifi");
    check_section(&without, "geo:a", "geo");
    check_section(&without, "wif:i", "none");
    check_section(&without, "wifi2:a", "none");
    check_section(&without, "w:wifi:", "none");
    check_section(&without, "any:a", "none");
    check_section(&without, "joint:a", "none");
    check_section(&with, "wifi:a", "wifi");
    check_section(&with, "geo:a", "any");
    check_section(&with, "any:a", "any");
    check_section(&with, "joint:a", "any");
    check_section(&single, "wifi:a", "");
    profile_print_names(&without, names);
    assert_string_equal(names, "wifi, geo");
    profile_print_names(&with, names);
    assert_string_equal(names, "any, wifi");
    profile_print_name(&with.sections[2], names);
    assert_string_equal(names, "joint(geo,wifi)");
}
