/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C code against the files of this folder, which another implementation wrote. The folder's
 * path is the only argument.
 */
#include <jansson.h>

#include "core/base/hash.h"
#include "core/base/label.h"
#include "core/filter/bloom.h"
#include "core/filter/distance.h"
#include "core/filter/scalable.h"
#include "core/profile/encode.h"
#include "core/profile/phi.h"
#include "tests/lib/profile_of.h"

enum { BYTES_MAX = PROFILE_BYTES_MAX };

static const char *folder;

/* ---- reading ---- */

static json_t *load(const char *name)
{
    char path[4096];
    json_error_t error;

    assert_true(snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path);
    json_t *root = json_load_file(path, 0, &error);
    if (root == NULL) {
        fail_msg("%s:%d: %s", path, error.line, error.text);
    }
    return root;
}

static json_t *field(const json_t *object, const char *name)
{
    json_t *value = json_object_get(object, name);

    if (value == NULL) {
        fail_msg("field %s is missing", name);
    }
    return value;
}

static uint32_t number(const json_t *object, const char *name)
{
    json_int_t value = json_integer_value(field(object, name));

    assert_true(json_is_integer(field(object, name)) && value >= 0 && value <= UINT32_MAX);
    return (uint32_t)value;
}

static const char *text(const json_t *object, const char *name)
{
    assert_true(json_is_string(field(object, name)));
    return json_string_value(field(object, name));
}

static uint64_t hex64(const json_t *object, const char *name)
{
    assert_int_equal(strlen(text(object, name)), 16);
    return strtoull(text(object, name), NULL, 16);
}

static size_t hex_bytes(const json_t *object, const char *name, uint8_t *out)
{
    const char *hex = text(object, name);
    size_t length = strlen(hex) / 2;

    assert_true(length <= BYTES_MAX);
    for (size_t i = 0; i < length; i++) {
        char digits[3] = {hex[2 * i], hex[2 * i + 1], '\0'};

        out[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return length;
}

static void hex_filter(const json_t *object, const char *name, uint32_t m, uint64_t *out)
{
    uint8_t bytes[BYTES_MAX];
    size_t length = hex_bytes(object, name, bytes);

    assert_int_equal(bloom_load(out, m, bytes, length), 0);
}

/* ---- labels ---- */

static void check_stored(const json_t *object, const uint64_t *filter, uint32_t m)
{
    uint8_t expected[BYTES_MAX];
    uint8_t bytes[BYTES_MAX];

    assert_int_equal(hex_bytes(object, "filter", expected), bloom_bytes(m));
    bloom_store(filter, m, bytes);
    assert_memory_equal(bytes, expected, bloom_bytes(m));
}

/* A section of m bits is the first one of a profile that is as large as profiles are. */
static void check_size(const json_t *size, const uint8_t *label, size_t length)
{
    uint64_t filter[PROFILE_WORDS_MAX];
    uint64_t expected[PROFILE_WORDS_MAX] = {0};
    uint32_t m = number(size, "m");
    uint32_t d = number(size, "d");
    const json_t *positions = field(size, "positions");
    struct encoder encoder;
    char spelling[64];

    (void)snprintf(spelling, sizeof(spelling), m % 64 == 0 ? "v2:%u/%u" : "v2:any=%u/%u,x=%u/1", m,
                   d, 64 - m % 64);
    const struct profile profile = profile_of(spelling);
    encoder_begin(&encoder, &profile);
    assert_int_equal(encoder_add(&encoder, (const char *)label, length), 0);
    encoder_end(&encoder, filter);
    check_stored(size, filter, m);
    assert_int_equal(json_array_size(positions), d);
    for (uint32_t i = 0; i < d; i++) {
        bloom_set(expected, (uint32_t)json_integer_value(json_array_get(positions, i)));
    }
    assert_memory_equal(filter, expected, bloom_words(profile.bits) * sizeof(*filter));
}

TEST(test_labels)
{
    json_t *root = load("labels.json");
    const json_t *entries = field(root, "labels");
    size_t i = 0;
    const json_t *entry = NULL;

    assert_true(json_array_size(entries) >= 30);
    json_array_foreach(entries, i, entry)
    {
        uint8_t bytes[BYTES_MAX];
        size_t length = hex_bytes(entry, "bytes", bytes);
        struct hash128 hash = hash_label(bytes, length);
        const char *reason = NULL;
        size_t j = 0;
        const json_t *size = NULL;

        assert_int_equal(strlen(text(entry, "label")), length);
        assert_memory_equal(text(entry, "label"), bytes, length);
        assert_int_equal(label_check((const char *)bytes, length, &reason) == 0,
                         json_is_true(field(entry, "is_label")));
        assert_true(hash.low64 == hex64(entry, "low64"));
        assert_true(hash.high64 == hex64(entry, "high64"));
        json_array_foreach(field(entry, "filters"), j, size)
        {
            check_size(size, bytes, length);
        }
    }
    json_decref(root);
}

static void check_context(const json_t *context)
{
    const struct profile profile = profile_of(text(context, "profile"));
    uint64_t filter[PROFILE_WORDS_MAX];
    struct encoder encoder;
    size_t i = 0;
    const json_t *label = NULL;

    encoder_begin(&encoder, &profile);
    json_array_foreach(field(context, "labels"), i, label)
    {
        assert_int_equal(encoder_add(&encoder, json_string_value(label), json_string_length(label)),
                         0);
    }
    encoder_end(&encoder, filter);
    check_stored(context, filter, profile.bits);
    assert_int_equal(bloom_cardinality(filter, bloom_words(profile.bits)),
                     number(context, "cardinality"));
}

TEST(test_contexts)
{
    json_t *root = load("labels.json");
    const json_t *contexts = field(root, "contexts");
    size_t i = 0;
    const json_t *context = NULL;

    assert_true(json_array_size(contexts) >= 10);
    json_array_foreach(contexts, i, context)
    {
        check_context(context);
    }
    json_decref(root);
}

/* ---- distances ---- */

static void check_bits(const json_t *pair, const uint64_t *a, const uint64_t *b, uint32_t m)
{
    size_t words = bloom_words(m);
    uint32_t both = bloom_intersection_count(a, b, words);
    uint32_t either = bloom_union_count(a, b, words);
    struct similarity s = similarity_of(both, either);

    assert_int_equal(bloom_cardinality(a, words), number(pair, "cardinality_a"));
    assert_int_equal(bloom_cardinality(b, words), number(pair, "cardinality_b"));
    assert_int_equal(both, number(pair, "intersection"));
    assert_int_equal(either, number(pair, "union"));
    assert_int_equal(distance_ppm(s), number(pair, "distance_ppm"));
    assert_int_equal(DISTANCE_ONE_PPM - distance_ppm(s), number(pair, "similarity_ppm"));
}

TEST(test_distances)
{
    json_t *root = load("distances.json");
    const json_t *pairs = field(root, "pairs");
    size_t i = 0;
    const json_t *pair = NULL;

    assert_true(json_array_size(pairs) >= 100);
    json_array_foreach(pairs, i, pair)
    {
        struct profile profile = profile_of(text(pair, "profile"));
        uint64_t a[PROFILE_WORDS_MAX];
        uint64_t b[PROFILE_WORDS_MAX];

        hex_filter(pair, "a", profile.bits, a);
        hex_filter(pair, "b", profile.bits, b);
        check_bits(pair, a, b, profile.bits);
    }
    json_decref(root);
}

/* ---- phi ---- */

static uint32_t phi_between(const struct profile *profile, const uint64_t *asking,
                            const uint64_t *other)
{
    struct phi_query query;

    phi_ask(&query, profile, asking);
    struct similarity s = phi_similarity(
        &query, other, bloom_intersection_count(asking, other, bloom_words(profile->bits)));
    assert_int_equal(s.all, 1 << 24);
    return s.shared;
}

TEST(test_phi)
{
    json_t *root = load("phi.json");
    size_t i = 0;
    const json_t *pair = NULL;

    assert_true(json_array_size(field(root, "pairs")) >= 300);
    json_array_foreach(field(root, "pairs"), i, pair)
    {
        struct profile profile = profile_of(text(pair, "profile"));
        struct phi_query query;
        uint64_t a[PROFILE_WORDS_MAX];
        uint64_t b[PROFILE_WORDS_MAX];

        hex_filter(pair, "a", profile.bits, a);
        hex_filter(pair, "b", profile.bits, b);
        phi_ask(&query, &profile, a);
        assert_int_equal(query.spread, number(pair, "spread_a"));
        assert_int_equal(phi_between(&profile, a, b), number(pair, "phi"));
        assert_int_equal(phi_between(&profile, b, a), number(pair, "phi_b_asks"));
        assert_int_equal(distance_ppm((struct similarity){number(pair, "phi"), 1 << 24}),
                         number(pair, "distance_ppm"));
    }
    json_decref(root);
}

/* ---- sections ---- */

TEST(test_section_profiles)
{
    json_t *root = load("sections.json");
    size_t i = 0;
    const json_t *entry = NULL;

    assert_true(json_array_size(field(root, "profiles")) >= 10);
    json_array_foreach(field(root, "profiles"), i, entry)
    {
        struct profile profile = profile_of(text(entry, "profile"));
        char printed[PROFILE_TEXT_MAX];
        size_t s = 0;
        const json_t *expected = NULL;

        profile_print(&profile, printed);
        assert_string_equal(printed, text(entry, "profile"));
        assert_int_equal(profile.bits, number(entry, "bits"));
        assert_int_equal(profile.section_count, json_array_size(field(entry, "sections")));
        json_array_foreach(field(entry, "sections"), s, expected)
        {
            profile_print_name(&profile.sections[s], printed);
            assert_string_equal(printed, text(expected, "name"));
            assert_int_equal(profile.sections[s].first_bit, number(expected, "first_bit"));
            assert_int_equal(profile.sections[s].bits, number(expected, "bits"));
            assert_int_equal(profile.sections[s].hashes, number(expected, "hashes"));
        }
    }
    assert_true(json_array_size(field(root, "refused_profiles")) >= 25);
    json_array_foreach(field(root, "refused_profiles"), i, entry)
    {
        struct profile profile;
        const char *spelling = text(entry, "profile");
        const char *reason = NULL;

        if (profile_parse(spelling, strlen(spelling), &profile, &reason) != PROFILE_REFUSED) {
            fail_msg("%s is not refused: %s", spelling, text(entry, "why"));
        }
    }
    json_decref(root);
}

TEST(test_section_contexts)
{
    json_t *root = load("sections.json");
    size_t i = 0;
    const json_t *context = NULL;

    assert_true(json_array_size(field(root, "contexts")) >= 40);
    json_array_foreach(field(root, "contexts"), i, context)
    {
        check_context(context);
    }
    assert_true(json_array_size(field(root, "refused_labels")) >= 5);
    json_array_foreach(field(root, "refused_labels"), i, context)
    {
        struct profile profile = profile_of(text(context, "profile"));
        const char *label = text(context, "label");
        struct encoder encoder;

        encoder_begin(&encoder, &profile);
        assert_int_equal(encoder_add(&encoder, label, strlen(label)), ENCODE_NO_SECTION);
    }
    json_decref(root);
}

TEST(test_section_pairs)
{
    json_t *root = load("sections.json");
    size_t i = 0;
    const json_t *pair = NULL;

    assert_true(json_array_size(field(root, "pairs")) >= 15);
    json_array_foreach(field(root, "pairs"), i, pair)
    {
        struct profile profile = profile_of(text(pair, "profile"));
        size_t words = bloom_words(profile.bits);
        uint64_t a[PROFILE_WORDS_MAX];
        uint64_t b[PROFILE_WORDS_MAX];

        hex_filter(pair, "a", profile.bits, a);
        hex_filter(pair, "b", profile.bits, b);
        assert_int_equal(distance_ppm(similarity_of(bloom_intersection_count(a, b, words),
                                                    bloom_union_count(a, b, words))),
                         number(pair, "distance_ppm"));
    }
    json_decref(root);
}

/* ---- slices ---- */

enum { ID_BYTES = 16, SLICES_MAX = 4 };

/* Whether each id of a list is told to be in the slices. */
static void check_ids(const json_t *ids, const struct scalable_slice *slices, uint32_t count,
                      bool expected)
{
    size_t i = 0;
    const json_t *id = NULL;

    json_array_foreach(ids, i, id)
    {
        json_t *object = json_pack("{sO}", "id", id);
        uint8_t bytes[BYTES_MAX];

        assert_int_equal(hex_bytes(object, "id", bytes), ID_BYTES);
        assert_int_equal(scalable_slices_have(slices, count, bytes, ID_BYTES, NULL), expected);
        json_decref(object);
    }
}

TEST(test_slices)
{
    json_t *root = load("slices.json");
    size_t f = 0;
    const json_t *filter = NULL;

    assert_true(json_array_size(field(root, "filters")) >= 5);
    json_array_foreach(field(root, "filters"), f, filter)
    {
        static uint8_t bits[SLICES_MAX][BYTES_MAX];
        struct scalable_slice slices[SLICES_MAX];
        uint32_t count = (uint32_t)json_array_size(field(filter, "slices"));
        size_t s = 0;
        const json_t *slice = NULL;

        assert_in_range(count, 1, SLICES_MAX);
        json_array_foreach(field(filter, "slices"), s, slice)
        {
            slices[s] = (struct scalable_slice){
                .bits = bits[s],
                .byte_count = (uint32_t)hex_bytes(slice, "bits", bits[s]),
                .hashes = number(slice, "hashes"),
                .seed = hex64(slice, "seed"),
            };
            check_ids(field(slice, "added"), &slices[s], 1, true);
        }
        check_ids(field(filter, "excluded"), slices, count, true);
        check_ids(field(filter, "shown"), slices, count, false);
    }
    json_decref(root);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    folder = argv[1];
    return check_run(NULL, NULL);
}
