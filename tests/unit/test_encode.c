/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts to filters: sections, joint sections, and the rates that profiles promise. */
#include "core/profile/encode.h"

#include "core/filter/bloom.h"
#include "core/filter/sizing.h"
#include "tests/lib/profile_of.h"
#include "tests/lib/rng.h"

static const char *const full_profile =
    "v2:wifi=256/2,geo=96/1,time=32/1,topic=96/2,joint(geo,time)=32/1";

static void encode(const struct profile *profile, const char *const *labels, size_t count,
                   uint64_t *out_filter)
{
    struct encoder encoder;

    encoder_begin(&encoder, profile);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(encoder_add(&encoder, labels[i], strlen(labels[i])), 0);
    }
    encoder_end(&encoder, out_filter);
}

/* Positions of one label, or of a pair, written out once more. */
static void set_expected(uint64_t *filter, uint32_t first, uint32_t bits, uint32_t hashes,
                         const char *label, const char *with)
{
    struct hash128 a = hash_label(label, strlen(label));
    struct hash128 b = {0, 0};

    if (with != NULL) {
        b = hash_label(with, strlen(with));
    }
    bool taken[PROFILE_BITS_MAX] = {false};
    for (uint32_t i = 0; i < hashes; i++) {
        uint64_t value = bloom_value(a, i) ^ (with != NULL ? bloom_value(b, i) : 0);
        uint32_t position = (uint32_t)(value % bits);

        while (taken[position]) {
            position = (position + 1) % bits;
        }
        taken[position] = true;
        bloom_set(filter, first + position);
    }
}

static void check_filter(const char *profile_text, const char *const *labels, size_t count,
                         const uint64_t *expected)
{
    struct profile profile = profile_of(profile_text);
    uint64_t filter[PROFILE_WORDS_MAX];

    memset(filter, 0xff, sizeof filter); /* all of it is written */
    encode(&profile, labels, count, filter);
    assert_memory_equal(filter, expected, bloom_words(profile.bits) * sizeof *filter);
}

TEST(test_sections_and_pairs)
{
    const char *labels[] = {"wifi:a", "time:2026-11-20T14", "topic:tea", "geo:u281zd"};
    uint64_t expected[8] = {0};

    set_expected(expected, 0, 256, 2, labels[0], NULL);
    set_expected(expected, 352, 32, 1, labels[1], NULL);
    set_expected(expected, 384, 96, 2, labels[2], NULL);
    check_filter(full_profile, labels, 3, expected); /* half a pair: no joint bit */
    set_expected(expected, 256, 96, 1, labels[3], NULL);
    set_expected(expected, 480, 32, 1, labels[3], labels[1]);
    check_filter(full_profile, labels, 4, expected);
}

/* Values that are no geohash of 6 or no date and hour go to their section, but make no pairs. */
TEST(test_only_candidates_make_pairs)
{
    static const char *const not_geo[] = {"geo:u281z",
                                          "geo:u281zdq",
                                          "geo:u281za",
                                          "geo:U281ZD",
                                          "geo:u281zi",
                                          "geo:u28 zd",
                                          "geo:\xc3\xbc\xc3\xbc\xc3\xbc"};
    static const char *const not_time[] = {"time:2026-11-20",    "time:2026-11-20T14:00",
                                           "time:2026-11-20t14", "time:2026/11/20T14",
                                           "time:w5T14",         "time:2026-1-020T14"};
    const struct profile profile = profile_of(full_profile);
    uint64_t filter[8];

    for (size_t i = 0; i < sizeof not_geo / sizeof not_geo[0]; i++) {
        const char *labels[] = {not_geo[i], "time:2026-11-20T14"};

        encode(&profile, labels, 2, filter);
        assert_int_equal(bloom_union_count_range(filter, filter, 480, 32), 0);
        assert_int_equal(bloom_union_count_range(filter, filter, 256, 96), 1);
    }
    for (size_t i = 0; i < sizeof not_time / sizeof not_time[0]; i++) {
        const char *labels[] = {not_time[i], "geo:u281zd"};

        encode(&profile, labels, 2, filter);
        assert_int_equal(bloom_union_count_range(filter, filter, 480, 32), 0);
        assert_int_equal(bloom_union_count_range(filter, filter, 352, 32), 1);
    }
}

/* Of several candidates all pairs count, of attributes in the section `any`, too. */
TEST(test_all_pairs)
{
    const char *labels[] = {"geo:u281zd", "geo:u281ze",         "geo:u281",
                            "time:w5T13", "time:2026-11-20T14", "time:2026-11-20T15"};
    uint64_t expected[8] = {0};

    for (size_t i = 0; i < 6; i++) {
        set_expected(expected, 0, 440, 3, labels[i], NULL);
    }
    for (size_t g = 0; g < 2; g++) {
        for (size_t t = 4; t < 6; t++) {
            set_expected(expected, 440, 72, 2, labels[g], labels[t]);
        }
    }
    check_filter("v2:any=440/3,joint(geo,time)=72/2", labels, 6, expected);
}

/* One label may stand in several joint sections, on either side. */
TEST(test_several_joint_sections)
{
    const char *labels[] = {"b:1", "c:1", "a:1", "a:2"};
    uint64_t expected[1] = {0};

    for (size_t i = 0; i < 4; i++) {
        set_expected(expected, 0, 20, 1, labels[i], NULL);
    }
    set_expected(expected, 20, 20, 2, labels[2], labels[0]); /* joint(a,b) */
    set_expected(expected, 20, 20, 2, labels[3], labels[0]);
    set_expected(expected, 40, 24, 1, labels[0], labels[1]); /* joint(b,c) */
    check_filter("v2:any=20/1,joint(a,b)=20/2,joint(b,c)=24/1", labels, 4, expected);
}

/* A refusal changes nothing, and what follows it is added as if it had not been. */
TEST(test_refusals_change_nothing)
{
    const struct profile profile = profile_of(full_profile);
    uint64_t filter[8];
    uint64_t before[8];
    struct encoder encoder;

    encoder_begin(&encoder, &profile);
    assert_int_equal(encoder_add(&encoder, "wifi:a", 6), 0);
    encoder_end(&encoder, before);
    assert_int_equal(encoder_add(&encoder, "word:a", 6), ENCODE_NO_SECTION);
    assert_int_equal(encoder_add(&encoder, "joint:a", 7), ENCODE_NO_SECTION);
    assert_int_equal(encoder_add(&encoder, "wif:a", 5), ENCODE_NO_SECTION);
    encoder_end(&encoder, filter);
    assert_memory_equal(filter, before, sizeof before);
    assert_int_equal(encoder_add(&encoder, "topic:a", 7), 0);
    encoder_end(&encoder, filter);
    assert_memory_not_equal(filter, before, sizeof before);
}

/* 256 different candidates, and known ones again; the next new one is too many. */
TEST(test_crowded)
{
    const struct profile profile = profile_of("v2:any=480/4,joint(a,b)=32/1");
    uint64_t filter[8];
    uint64_t before[8];
    struct encoder encoder;
    char label[32];

    encoder_begin(&encoder, &profile);
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < ENCODE_CANDIDATES_MAX; i++) {
            int length = snprintf(label, sizeof label, "%s:%u", i % 2 == 0 ? "a" : "b", i);

            assert_int_equal(encoder_add(&encoder, label, (size_t)length), 0);
        }
    }
    encoder_end(&encoder, before);
    assert_int_equal(encoder_add(&encoder, "a:new", 5), ENCODE_CROWDED);
    encoder_end(&encoder, filter);
    assert_memory_equal(filter, before, sizeof before);
    assert_int_equal(encoder_add(&encoder, "c:new", 5), 0); /* pairs with nothing */
}

/*
 * Each label sets as many bits as its section has hashes, in small and in full sections too, and
 * each pair of labels likewise: else a label of one bit would be near to whoever has this bit.
 */
TEST(test_each_label_sets_all_its_bits)
{
    static const struct {
        const char *profile;
        const char *attributes[2];
        uint32_t first, bits, hashes;
    } rows[] = {
        {"v2:wifi=362/2,place=53/7,any=97/4", {"place"}, 362, 53, 7},
        {"v2:wifi=362/2,place=53/7,any=97/4", {"topic"}, 415, 97, 4},
        {"v2:wifi=362/2,place=53/7,any=97/4", {"wifi"}, 0, 362, 2},
        {"v2:64/32", {"topic"}, 0, 64, 32},
        {"v2:a=32/32,b=32/1", {"a"}, 0, 32, 32},
        {"v2:p=20/1,q=20/1,joint(p,q)=24/5", {"p", "q"}, 40, 24, 5},
    };

    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        const struct profile profile = profile_of(rows[r].profile);
        const size_t count = rows[r].attributes[1] == NULL ? 1 : 2;

        for (uint32_t n = 0; n < 5000; n++) {
            char texts[2][32];
            const char *labels[] = {texts[0], texts[1]};
            uint64_t filter[PROFILE_WORDS_MAX];

            for (size_t i = 0; i < count; i++) {
                (void)snprintf(texts[i], sizeof texts[i], "%s:%u", rows[r].attributes[i], n);
            }
            encode(&profile, labels, count, filter);
            assert_int_equal(bloom_union_count_range(filter, filter, rows[r].first, rows[r].bits),
                             rows[r].hashes);
        }
    }
}

/* Filters can be read at any time; what is added later is in the next one. */
TEST(test_ends_more_than_once)
{
    const struct profile profile = profile_of("v2:512/4");
    const char *labels[] = {"wifi:a", "wifi:b"};
    uint64_t expected[8], filter[8];
    struct encoder encoder;

    encoder_begin(&encoder, &profile);
    for (size_t i = 0; i < 2; i++) {
        encode(&profile, labels, i + 1, expected);
        assert_int_equal(encoder_add(&encoder, labels[i], strlen(labels[i])), 0);
        encoder_end(&encoder, filter);
        assert_memory_equal(filter, expected, sizeof filter);
    }
}

/* ---- what must hold for any labels ---- */

static const char *const profiles[] = {
    "v2:wifi=256/2,geo=96/1,time=32/1,topic=96/2,joint(geo,time)=32/1",
    "v2:wifi=200/2,any=100/3,geo=51/1,joint(geo,time)=32/1,joint(topic,wifi)=1/1",
    "v2:any=500/4,joint(geo,time)=7/2,joint(geo,wifi)=5/1",
    "v2:512/3",
};

static void random_label(struct rng *rng, char *out, size_t room)
{
    uint32_t number = rng_below(rng, 12);

    switch (rng_below(rng, 6)) {
    case 0:
        (void)snprintf(out, room, "geo:u281z%c", "0123456789bc"[number]);
        break;
    case 1:
        (void)snprintf(out, room, "geo:u28%u", number);
        break;
    case 2:
        (void)snprintf(out, room, "time:2026-11-20T%02u", number);
        break;
    case 3:
        (void)snprintf(out, room, "topic:%u", number);
        break;
    default:
        (void)snprintf(out, room, "wifi:%u", number);
        break;
    }
}

/* Order and repetition do not matter, and fewer labels set fewer bits: what contains needs. */
TEST(test_subsets_and_orders)
{
    enum { LABELS = 12, ROUNDS = 3000 };
    struct rng rng;

    rng_init(&rng);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct profile profile = profile_of(profiles[round % 4]);
        const char *labels[LABELS];
        char texts[LABELS][32];
        uint64_t whole[8], shuffled[8], part[8];

        for (size_t i = 0; i < LABELS; i++) {
            random_label(&rng, texts[i], sizeof texts[i]);
            labels[i] = texts[i];
        }
        encode(&profile, labels, LABELS, whole);
        for (size_t i = LABELS - 1; i > 0; i--) {
            size_t j = rng_below(&rng, (uint32_t)i + 1);
            const char *swapped = labels[i];

            labels[i] = labels[j];
            labels[j] = swapped;
        }
        encode(&profile, labels, LABELS, shuffled);
        assert_memory_equal(whole, shuffled, sizeof whole);
        encode(&profile, labels, rng_below(&rng, LABELS + 1), part);
        assert_true(bloom_is_subset(part, whole, bloom_words(profile.bits)));
    }
}

/* Sections of every size set the bits of the definition, which is written with a division. */
TEST(test_every_size)
{
    enum { LABELS = 12, WHOLE = PROFILE_BITS_MAX };
    struct rng rng;

    rng_init(&rng);
    for (uint32_t bits = 1; bits < WHOLE; bits++) {
        const uint32_t rest = WHOLE - bits;
        const uint32_t hashes = bits < 3 ? bits : 3;
        const uint32_t rest_hashes = rest < 2 ? rest : 2;
        char text[64];
        uint64_t filter[PROFILE_WORDS_MAX];
        uint64_t expected[PROFILE_WORDS_MAX] = {0};
        struct encoder encoder;

        (void)snprintf(text, sizeof text, "v2:any=%u/%u,a=%u/%u", rest, rest_hashes, bits, hashes);
        struct profile profile = profile_of(text);
        encoder_begin(&encoder, &profile);
        for (uint32_t i = 0; i < LABELS; i++) {
            char label[32];

            (void)snprintf(label, sizeof label, "%s:%llx", i % 2 == 0 ? "a" : "b",
                           (unsigned long long)rng_next(&rng));
            assert_int_equal(encoder_add(&encoder, label, strlen(label)), 0);
            if (i % 2 == 0) {
                set_expected(expected, rest, bits, hashes, label, NULL);
            } else {
                set_expected(expected, 0, rest, rest_hashes, label, NULL);
            }
        }
        encoder_end(&encoder, filter);
        assert_memory_equal(filter, expected, sizeof filter);
    }
}

/* ---- rates ---- */

struct tally {
    uint32_t tries;
    uint32_t hits;
};

/* `prefix` and as many random digits, so that two are never the same. */
static size_t fresh_label(struct rng *rng, const char *prefix, char *out, size_t room)
{
    return (size_t)snprintf(out, room, "%s:%016llx", prefix, (unsigned long long)rng_next(rng));
}

/* Fills the sections, then asks for new labels in all of them and new pairs in joint ones. */
static void measure_rate(struct rng *rng, const struct profile *profile, const char *const *names,
                         const uint32_t *labels, size_t name_count, struct tally *tally)
{
    enum { PROBES = 400 };
    uint64_t filter[PROFILE_WORDS_MAX];
    uint64_t probe[PROFILE_WORDS_MAX];
    struct encoder encoder;
    char label[64];

    encoder_begin(&encoder, profile);
    for (size_t a = 0; a < name_count; a++) {
        for (uint32_t i = 0; i < labels[a]; i++) {
            size_t length = fresh_label(rng, names[a], label, sizeof label);
            assert_int_equal(encoder_add(&encoder, label, length), 0);
        }
    }
    encoder_end(&encoder, filter);
    for (uint32_t i = 0; i < PROBES; i++) {
        encoder_begin(&encoder, profile);
        for (size_t a = 0; a < name_count; a++) {
            size_t length = fresh_label(rng, names[a], label, sizeof label);
            assert_int_equal(encoder_add(&encoder, label, length), 0);
        }
        encoder_end(&encoder, probe);
        tally->tries++;
        tally->hits += bloom_is_subset(probe, filter, bloom_words(profile->bits));
    }
}

/*
 * The rate of the whole is the product of the sections' rates. Allowed: five standard deviations of
 * the count, and 15 % for what the formula leaves out, namely that the fill varies from filter to
 * filter (the rate is the mean of its power, not the power of its mean) and that the positions of
 * one label differ.
 */
static void check_rate(struct rng *rng, const char *text, const char *const *names,
                       const uint32_t *labels, size_t name_count, const uint32_t *by_section)
{
    enum { FILTERS = 1500 };
    struct profile profile = profile_of(text);
    struct tally tally = {0, 0};
    double rate = profile_rate(&profile, by_section);

    for (uint32_t i = 0; i < FILTERS; i++) {
        measure_rate(rng, &profile, names, labels, name_count, &tally);
    }
    double expected = rate * tally.tries;
    double apart = tally.hits - expected;
    double allowed = 0.15 * expected;
    printf("%s: computed %.3g, measured %.3g (%u of %u)\n", text, rate,
           (double)tally.hits / tally.tries, tally.hits, tally.tries);
    assert_true(expected > 200); /* else it would say little */
    /* 25 variances of the count against the square of the rest. */
    double beyond = (apart < 0 ? -apart : apart) - allowed;
    assert_true(beyond <= 0 || beyond * beyond <= 25 * expected);
}

TEST(test_rate_is_the_product)
{
    static const char *const three[] = {"a", "b", "c"};
    static const uint32_t three_labels[] = {16, 20, 12};
    static const uint32_t other_labels[] = {20, 6, 5};
    static const char *const pair[] = {"a", "b"};
    static const uint32_t pair_labels[] = {3, 2};
    static const uint32_t pair_sections[] = {3, 2, 6}; /* three times two pairs */
    static const uint32_t more_labels[] = {6, 5};
    static const uint32_t more_sections[] = {6, 5, 30};
    struct rng rng;

    rng_init(&rng);
    check_rate(&rng, "v2:a=64/2,b=64/2,c=64/3", three, three_labels, 3, three_labels);
    check_rate(&rng, "v2:a=96/3,b=30/1,c=66/2", three, other_labels, 3, other_labels);
    /* A joint section: with an odd number of bits it is independent of the others; 4 divides the
     * sizes of the second row, and 32 those of the third, where it is of no use for collisions. */
    check_rate(&rng, "v2:a=22/1,b=21/1,joint(a,b)=21/1", pair, pair_labels, 2, pair_sections);
    check_rate(&rng, "v2:a=20/1,b=20/1,joint(a,b)=24/1", pair, pair_labels, 2, pair_sections);
    check_rate(&rng, "v2:a=96/1,b=32/1,joint(a,b)=64/1", pair, pair_labels, 2, pair_sections);
    check_rate(&rng, "v2:a=26/2,b=25/1,joint(a,b)=77/2", pair, more_labels, 2, more_sections);
}

/* ---- unions ---- */

/* Whether a union of filters, one of each pair p:i, q:i, claims p:0 with q:1. */
static bool union_claims(struct rng *rng, const struct profile *profile, uint32_t size)
{
    uint64_t sum[PROFILE_WORDS_MAX] = {0};
    uint64_t filter[PROFILE_WORDS_MAX];
    char first[64], second[64], p[64], q[64];
    const char *labels[] = {p, q};
    const char *asked[] = {first, second};

    for (uint32_t i = 0; i < size; i++) {
        (void)fresh_label(rng, "p", p, sizeof p);
        (void)fresh_label(rng, "q", q, sizeof q);
        if (i == 0) {
            memcpy(first, p, sizeof p);
        }
        if (i == 1) {
            memcpy(second, q, sizeof q);
        }
        encode(profile, labels, 2, filter);
        bloom_union(sum, sum, filter, bloom_words(profile->bits));
    }
    encode(profile, asked, 2, filter);
    return bloom_is_subset(filter, sum, bloom_words(profile->bits));
}

/*
 * A union claims each combination of what is in it. With a joint section of b bits and d = 1, n
 * pairs leave a new one unclaimed in (1 - 1/b)^n of all cases, whether b is even or odd; allowed
 * are five standard deviations.
 */
TEST(test_unions_claim_what_joint_sections_allow)
{
    enum { TRIALS = 20000 };
    static const uint32_t sizes[] = {2, 5, 20};
    const struct profile without = profile_of("v2:p=96/1,q=32/1");
    const struct profile even = profile_of("v2:p=64/1,q=32/1,joint(p,q)=32/1");
    const struct profile odd = profile_of("v2:p=65/1,q=32/1,joint(p,q)=31/1");
    const struct profile *const both[] = {&even, &odd};
    struct rng rng;

    rng_init(&rng);
    for (size_t s = 0; s < 3; s++) {
        for (size_t b = 0; b < 2; b++) {
            double empty = 1;
            uint32_t claims = 0;

            for (uint32_t i = 0; i < sizes[s]; i++) {
                empty *= 1 - 1.0 / both[b]->sections[2].bits;
            }
            for (uint32_t i = 0; i < TRIALS; i++) {
                claims += union_claims(&rng, both[b], sizes[s]);
            }
            double apart = claims - TRIALS * (1 - empty);
            printf("unions of %u, joint of %u bits: %u of %u claim\n", sizes[s],
                   both[b]->sections[2].bits, claims, TRIALS);
            assert_true(apart * apart <= 25 * TRIALS * empty * (1 - empty));
            assert_true(union_claims(&rng, &without, sizes[s]));
        }
    }
}

/* One section is the formula of one section. */
/* The expected fill, beside that of random labels; one label has exactly d bits. */
TEST(test_fill_of_a_section)
{
    enum { CONTEXTS = 4000, LABELS = 5 };
    const struct profile profile = profile_of("v2:wifi=362/2,place=53/7,any=97/4");
    struct rng rng;
    uint32_t set = 0;

    assert_true(profile_section_fill(&profile, 1, 0) == 0.0);
    double of_one = profile_section_fill(&profile, 1, 1) - 7.0 / 53;
    assert_true(of_one > -1e-12 && of_one < 1e-12); /* i386 computes with more digits */
    rng_init(&rng);
    for (uint32_t i = 0; i < CONTEXTS; i++) {
        char texts[LABELS][64];
        const char *labels[LABELS];
        uint64_t filter[PROFILE_WORDS_MAX];

        for (uint32_t n = 0; n < LABELS; n++) {
            (void)fresh_label(&rng, "place", texts[n], sizeof texts[n]);
            labels[n] = texts[n];
        }
        encode(&profile, labels, LABELS, filter);
        set += bloom_union_count_range(filter, filter, 362, 53);
    }
    double apart = (double)set / CONTEXTS / 53 - profile_section_fill(&profile, 1, LABELS);
    /* A context's fill has a standard deviation of 0.03: 9 of the mean of 4,000. */
    assert_true(apart > -0.0045 && apart < 0.0045);
}

TEST(test_rate_of_one_section)
{
    struct profile profile = profile_of("v2:512/4");
    const uint32_t labels[] = {20};
    const uint32_t none[] = {0};

    assert_true(profile_rate(&profile, labels) == sizing_false_positive_rate(512, 4, 20));
    assert_true(profile_rate(&profile, none) == 0.0);
}
