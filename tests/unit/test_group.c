/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups beyond what the vectors say: what is refused, that sealing is random, and that keyed
 * contexts are as similar as plain ones, up to collisions, and no more similar to others than
 * chance has it.
 */
#include "client/context/context.h"

#include <inttypes.h>
#include <sodium.h>

#include "tests/lib/check.h"
#include "tests/lib/encode.h"
#include "tests/lib/rng.h"

static struct hearsay_group group_numbered(uint8_t number)
{
    uint8_t key[HEARSAY_KEY_BYTES] = {number};
    struct hearsay_group group;
    group_from_key(key, &group);
    return group;
}

TEST(secrets_have_a_size)
{
    char secret[HEARSAY_SECRET_BYTES_MAX + 1] = "1234567";
    struct hearsay_group *group = NULL;
    struct hearsay_error error;
    assert_int_equal(hearsay_group_new(secret, 7, &group, &error), HEARSAY_ERR_ARGUMENT);
    assert_non_null(strstr(error.sentence, "7 bytes"));
    assert_int_equal(hearsay_group_new(secret, sizeof(secret), &group, &error),
                     HEARSAY_ERR_ARGUMENT);
    assert_null(group);
    hearsay_group_free(NULL);
}

TEST(what_is_too_large_is_not_sealed)
{
    struct hearsay_group group = group_numbered(1);
    uint8_t id[HEARSAY_ID_BYTES] = {0};
    char type[130];
    struct hearsay_content content;
    struct hearsay_error error;
    memset(type, 'x', 128);
    type[128] = '\0';
    assert_int_equal(hearsay_group_seal(&group, &(struct hearsay_sealing){id, type, "", 0, false},
                                        &content, &error),
                     HEARSAY_ERR_ARGUMENT);
    assert_int_equal(hearsay_group_seal(&group,
                                        &(struct hearsay_sealing){id, NULL, "", 1 << 30, false},
                                        &content, &error),
                     HEARSAY_ERR_ARGUMENT);
}

/* What no server takes as a media type is not sealed, as nobody could look at it later. */
TEST(what_is_no_media_type_is_not_sealed)
{
    static const char *const wrong[] = {"",    "text",          "/",   "/a", "a/",
                                        "//a", "text/\x1b[31m", "a/\n"};
    static const char *const right[] = {"a/b", "a//", "a/b/c", "text/plain; charset=utf-8"};
    struct hearsay_group group = group_numbered(1);
    uint8_t id[HEARSAY_ID_BYTES] = {0};
    struct hearsay_content content;
    struct hearsay_error error;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(hearsay_group_seal(&group,
                                            &(struct hearsay_sealing){id, wrong[i], "x", 1, false},
                                            &content, &error),
                         HEARSAY_ERR_ARGUMENT);
        assert_non_null(strstr(error.sentence, "media type"));
        assert_int_equal(hearsay_group_seal(&group,
                                            &(struct hearsay_sealing){id, wrong[i], "x", 1, true},
                                            &content, &error),
                         HEARSAY_ERR_ARGUMENT);
    }
    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
        assert_int_equal(hearsay_group_seal(&group,
                                            &(struct hearsay_sealing){id, right[i], "x", 1, false},
                                            &content, &error),
                         HEARSAY_OK);
        hearsay_content_free(&content);
    }
}

/* The same message twice is two texts, and each opens; plain messages are nobody's. */
TEST(sealing_is_random)
{
    struct hearsay_group group = group_numbered(1);
    uint8_t id[HEARSAY_ID_BYTES];
    uint8_t other[HEARSAY_ID_BYTES];
    struct hearsay_content a;
    struct hearsay_content b;
    struct hearsay_content opened;
    randombytes_buf(id, sizeof(id));
    randombytes_buf(other, sizeof(other));
    assert_memory_not_equal(id, other, sizeof(id));
    assert_int_equal(hearsay_group_seal(
                         &group, &(struct hearsay_sealing){id, NULL, "hello", 5, false}, &a, NULL),
                     HEARSAY_OK);
    assert_int_equal(hearsay_group_seal(
                         &group, &(struct hearsay_sealing){id, NULL, "hello", 5, false}, &b, NULL),
                     HEARSAY_OK);
    assert_memory_not_equal(a.payload, b.payload, a.payload_bytes);
    assert_int_equal(hearsay_group_open(&group,
                                        &(struct hearsay_sealing){id, b.media_type, b.payload,
                                                                  b.payload_bytes, false},
                                        &opened, NULL),
                     HEARSAY_OK);
    assert_string_equal(opened.media_type, "text/plain");
    assert_memory_equal(opened.payload, "hello", 5);
    hearsay_content_free(&opened);
    assert_int_equal(hearsay_group_open(&group,
                                        &(struct hearsay_sealing){id, "text/plain", a.payload,
                                                                  a.payload_bytes, false},
                                        &opened, NULL),
                     HEARSAY_NOT_OURS);
    assert_int_equal(hearsay_group_open(
                         &group, &(struct hearsay_sealing){id, HEARSAY_SEALED_TYPE, NULL, 0, false},
                         &opened, NULL),
                     HEARSAY_NOT_OURS);
    hearsay_content_free(&a);
    hearsay_content_free(&b);
    hearsay_content_free(&b); /* a zeroed one is fine */
}

/* The same input gives the same bytes, and any other input another nonce; members open it. */
TEST(sealing_can_be_repeated)
{
    static const struct {
        uint8_t group;
        uint8_t id;
        const char *type;
        const char *payload;
    } rows[] = {{1, 1, "a/b", "cd"}, {1, 1, "a/bc", "d"}, {1, 1, NULL, "cd"},
                {1, 2, "a/b", "cd"}, {2, 1, "a/b", "cd"}, {1, 1, "a/b", ""}};
    enum { ROWS = sizeof(rows) / sizeof(rows[0]) };
    struct hearsay_content sealed[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        const struct hearsay_group group = group_numbered(rows[i].group);
        const uint8_t id[HEARSAY_ID_BYTES] = {rows[i].id};
        const size_t count = strlen(rows[i].payload);
        struct hearsay_content again;
        struct hearsay_content opened;
        assert_int_equal(hearsay_group_seal(&group,
                                            &(struct hearsay_sealing){id, rows[i].type,
                                                                      rows[i].payload, count, true},
                                            &sealed[i], NULL),
                         HEARSAY_OK);
        assert_int_equal(hearsay_group_seal(&group,
                                            &(struct hearsay_sealing){id, rows[i].type,
                                                                      rows[i].payload, count, true},
                                            &again, NULL),
                         HEARSAY_OK);
        assert_int_equal(again.payload_bytes, sealed[i].payload_bytes);
        assert_memory_equal(again.payload, sealed[i].payload, again.payload_bytes);
        assert_int_equal(
            hearsay_group_open(&group,
                               &(struct hearsay_sealing){id, again.media_type, again.payload,
                                                         again.payload_bytes, false},
                               &opened, NULL),
            HEARSAY_OK);
        assert_int_equal(opened.payload_bytes, count);
        hearsay_content_free(&opened);
        hearsay_content_free(&again);
        for (size_t other = 0; other < i; other++) {
            assert_memory_not_equal(sealed[i].payload, sealed[other].payload, GROUP_NONCE_BYTES);
        }
    }
    for (size_t i = 0; i < ROWS; i++) {
        hearsay_content_free(&sealed[i]);
    }
}

/* What comes first matters: the group's key, then the epoch's. */
TEST(keys_are_applied_in_order)
{
    struct hearsay_group group = group_numbered(1);
    struct hearsay_group other = group_numbered(2);
    uint8_t both[HEARSAY_KEY_BYTES];
    uint8_t swapped[HEARSAY_KEY_BYTES];
    uint8_t inner[HEARSAY_KEY_BYTES];
    uint8_t by_hand[HEARSAY_KEY_BYTES];
    const struct hearsay_keys keys = {&group, other.label_key};
    const struct hearsay_keys reversed = {&other, group.label_key};
    group_key_label(&keys, "topic:tea", 9, both);
    group_key_label(&reversed, "topic:tea", 9, swapped);
    assert_memory_not_equal(both, swapped, sizeof(both));
    (void)crypto_generichash(inner, 32, (const uint8_t *)"topic:tea", 9, group.label_key, 32);
    (void)crypto_generichash(by_hand, 32, inner, 32, other.label_key, 32);
    assert_memory_equal(both, by_hand, sizeof(both));
}

/* --- distances -------------------------------------------------------------------------------- */

enum { CONTEXTS = 60, LABELS = 24 };

struct context {
    char texts[LABELS][32];
    const char *labels[LABELS];
};

/* Of a hundred places, so that contexts share some labels. */
static void fill_context(struct context *context, struct rng *rng)
{
    for (size_t i = 0; i < LABELS; i++) {
        (void)snprintf(context->texts[i], sizeof(context->texts[i]), "wifi:02:00:00:00:00:%02x",
                       (unsigned)rng_below(rng, 100));
        context->labels[i] = context->texts[i];
    }
}

static uint32_t distance_ppm(const struct hearsay_filter *a, const struct hearsay_filter *b)
{
    uint32_t shared = 0;
    uint32_t all = 0;
    for (uint32_t i = 0; i < a->byte_count; i++) {
        shared += (uint32_t)__builtin_popcount(a->bytes[i] & b->bytes[i]);
        all += (uint32_t)__builtin_popcount(a->bytes[i] | b->bytes[i]);
    }
    return all == 0 ? 0 : 1000000 - (uint32_t)((uint64_t)shared * 1000000 / all);
}

static void encode(const struct context *context, const struct hearsay_keys *keys,
                   struct hearsay_filter *out)
{
    assert_int_equal(encode_labels("v2:4096/4", keys, context->labels, LABELS, out, NULL),
                     HEARSAY_OK);
}

/*
 * 24 labels set fewer than 96 of 4096 bits, so two filters that share no label share 96 * 96 / 4096
 * = 2.25 bits by chance, standard deviation 1.5: 15 of them, or collisions that make a difference
 * of 15 bits of some 150, are 8 standard deviations away.
 */
TEST(distances_are_kept_with_the_key_and_lost_without)
{
    static struct context contexts[CONTEXTS];
    static struct hearsay_filter plain[CONTEXTS];
    static struct hearsay_filter keyed[CONTEXTS];
    static struct hearsay_filter foreign[CONTEXTS];
    struct hearsay_group group = group_numbered(1);
    struct hearsay_group other = group_numbered(2);
    const struct hearsay_keys keys = {&group, other.label_key};
    const struct hearsay_keys foreign_keys = {&other, other.label_key};
    struct rng rng;
    uint32_t near = 0;
    rng_init(&rng);
    for (size_t i = 0; i < CONTEXTS; i++) {
        fill_context(&contexts[i], &rng);
        encode(&contexts[i], NULL, &plain[i]);
        encode(&contexts[i], &keys, &keyed[i]);
        encode(&contexts[i], &foreign_keys, &foreign[i]);
    }
    for (size_t i = 0; i < CONTEXTS; i++) {
        assert_int_equal(distance_ppm(&keyed[i], &keyed[i]), 0);
        for (size_t j = 0; j < CONTEXTS; j++) {
            uint32_t before = distance_ppm(&plain[i], &plain[j]);
            uint32_t after = distance_ppm(&keyed[i], &keyed[j]);
            near += before < 800000;
            assert_true((before > after ? before - after : after - before) < 100000);
            assert_true(distance_ppm(&plain[i], &keyed[j]) > 900000);
            assert_true(distance_ppm(&foreign[i], &keyed[j]) > 900000);
        }
    }
    assert_true(near > 3 * CONTEXTS); /* there were similar ones to be told from the others */
}

int main(void)
{
    return sodium_init() < 0 ? 1 : check_run(NULL, NULL);
}
