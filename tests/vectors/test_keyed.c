/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libhearsay's groups, keyed contexts and sealing against keyed.json, which another implementation
 * wrote. The file's path is the only argument.
 */
#include <jansson.h>
#include <sodium.h>

#include "client/context/context.h"
#include "tests/lib/check.h"
#include "tests/lib/encode.h"

static json_t *vectors;

enum { SEALED_BYTES_MAX = 4096 };

static const json_t *cases(const char *name, size_t least)
{
    const json_t *array = json_object_get(vectors, name);
    assert_true(json_array_size(array) >= least);
    return array;
}

static const char *string_of(const json_t *entry, const char *name)
{
    const char *text = json_string_value(json_object_get(entry, name));
    assert_non_null(text);
    return text;
}

static size_t hex_of(const json_t *entry, const char *name, uint8_t *out, size_t room)
{
    const char *text = string_of(entry, name);
    size_t count = 0;
    assert_int_equal(sodium_hex2bin(out, room, text, strlen(text), NULL, &count, NULL), 0);
    assert_int_equal(2 * count, strlen(text));
    return count;
}

/* The keys of an entry; what they point to lasts as long as `keys` does. */
struct keys {
    struct hearsay_group group;
    uint8_t epoch_key[HEARSAY_KEY_BYTES];
    struct hearsay_keys keys;
};

static void read_keys(const json_t *entry, struct keys *out)
{
    uint8_t key[HEARSAY_KEY_BYTES];
    memset(out, 0, sizeof(*out));
    if (json_is_string(json_object_get(entry, "group_key"))) {
        assert_int_equal(hex_of(entry, "group_key", key, sizeof(key)), sizeof(key));
        group_from_key(key, &out->group);
        out->keys.group = &out->group;
    }
    if (json_is_string(json_object_get(entry, "epoch_key"))) {
        assert_int_equal(hex_of(entry, "epoch_key", out->epoch_key, sizeof(out->epoch_key)),
                         sizeof(out->epoch_key));
        out->keys.epoch_key = out->epoch_key;
    }
}

/* A secret becomes a key by Argon2id with our numbers. */
TEST(test_groups)
{
    size_t at = 0;
    json_t *entry = NULL;
    json_array_foreach(cases("groups", 3), at, entry)
    {
        struct hearsay_group *group = NULL;
        uint8_t key[HEARSAY_KEY_BYTES];
        const char *secret = string_of(entry, "secret");
        assert_int_equal(hearsay_group_new(secret, strlen(secret), &group, NULL), HEARSAY_OK);
        (void)hex_of(entry, "group_key", key, sizeof(key));
        assert_memory_equal(group->label_key, key, sizeof(key));
        hearsay_group_free(group);
    }
}

TEST(test_labels)
{
    size_t at = 0;
    json_t *entry = NULL;
    json_array_foreach(cases("labels", 9), at, entry)
    {
        struct keys keys;
        uint8_t expected[HEARSAY_KEY_BYTES];
        uint8_t keyed[HEARSAY_KEY_BYTES];
        const char *label = string_of(entry, "label");
        read_keys(entry, &keys);
        assert_int_equal(hex_of(entry, "keyed", expected, sizeof(expected)), sizeof(expected));
        group_key_label(&keys.keys, label, strlen(label), keyed);
        assert_memory_equal(keyed, expected, sizeof(keyed));
    }
}

TEST(test_contexts)
{
    size_t at = 0;
    json_t *entry = NULL;
    json_array_foreach(cases("contexts", 150), at, entry)
    {
        const char *labels[32];
        size_t count = 0;
        size_t i = 0;
        json_t *label = NULL;
        json_array_foreach(json_object_get(entry, "labels"), i, label)
        {
            assert_true(count < sizeof(labels) / sizeof(labels[0]));
            labels[count++] = json_string_value(label);
        }
        struct keys keys;
        struct hearsay_filter filter;
        uint8_t expected[HEARSAY_FILTER_BYTES_MAX];
        read_keys(entry, &keys);
        assert_int_equal(
            encode_labels(string_of(entry, "profile"), &keys.keys, labels, count, &filter, NULL),
            HEARSAY_OK);
        assert_int_equal(hex_of(entry, "filter", expected, sizeof(expected)), filter.byte_count);
        assert_memory_equal(filter.bytes, expected, filter.byte_count);
    }
}

/* Sealed with the vector's nonce it is the vector, and it opens again. */
TEST(test_sealed)
{
    size_t at = 0;
    json_t *entry = NULL;
    json_array_foreach(cases("sealed", 7), at, entry)
    {
        static uint8_t payload[SEALED_BYTES_MAX];
        static uint8_t sealed[SEALED_BYTES_MAX];
        uint8_t id[HEARSAY_ID_BYTES];
        uint8_t nonce[GROUP_NONCE_BYTES];
        uint8_t seal_key[HEARSAY_KEY_BYTES];
        struct hearsay_content content;
        struct hearsay_content opened;
        struct keys keys;
        read_keys(entry, &keys);
        (void)hex_of(entry, "seal_key", seal_key, sizeof(seal_key));
        assert_memory_equal(keys.group.seal_key, seal_key, sizeof(seal_key));
        (void)hex_of(entry, "id", id, sizeof(id));
        (void)hex_of(entry, "nonce", nonce, sizeof(nonce));
        size_t payload_bytes = hex_of(entry, "payload", payload, sizeof(payload));
        size_t sealed_bytes = hex_of(entry, "sealed", sealed, sizeof(sealed));
        const char *type = string_of(entry, "media_type");
        assert_int_equal(
            group_seal_with(&keys.group, nonce,
                            &(struct hearsay_sealing){id, type, payload, payload_bytes, false},
                            &content, NULL),
            HEARSAY_OK);
        assert_int_equal(content.payload_bytes, sealed_bytes);
        assert_int_equal(content.payload_bytes, payload_bytes + strlen(type) + HEARSAY_SEAL_BYTES);
        assert_memory_equal(content.payload, sealed, sealed_bytes);
        assert_string_equal(content.media_type, HEARSAY_SEALED_TYPE);
        assert_int_equal(
            hearsay_group_open(&keys.group,
                               &(struct hearsay_sealing){id, content.media_type, content.payload,
                                                         content.payload_bytes, false},
                               &opened, NULL),
            HEARSAY_OK);
        assert_string_equal(opened.media_type, string_of(entry, "opens_as"));
        assert_int_equal(opened.payload_bytes, payload_bytes);
        assert_memory_equal(opened.payload, payload, payload_bytes);
        hearsay_content_free(&opened);
        hearsay_content_free(&content);
    }
}

TEST(test_refused)
{
    size_t at = 0;
    json_t *entry = NULL;
    json_array_foreach(cases("refused", 8), at, entry)
    {
        static uint8_t sealed[SEALED_BYTES_MAX];
        uint8_t id[HEARSAY_ID_BYTES];
        struct hearsay_content opened = {.payload_bytes = 4711};
        struct hearsay_group group;
        uint8_t key[HEARSAY_KEY_BYTES];
        (void)hex_of(entry, "group_key", key, sizeof(key));
        group_from_key(key, &group);
        (void)hex_of(entry, "id", id, sizeof(id));
        size_t count = hex_of(entry, "sealed", sealed, sizeof(sealed));
        if (hearsay_group_open(
                &group, &(struct hearsay_sealing){id, HEARSAY_SEALED_TYPE, sealed, count, false},
                &opened, NULL) != HEARSAY_NOT_OURS) {
            fail_msg("opened although %s", string_of(entry, "what"));
        }
        assert_int_equal(opened.payload_bytes, 4711); /* untouched */
    }
}

int main(int argc, char **argv)
{
    json_error_t error;

    vectors = argc == 2 ? json_load_file(argv[1], 0, &error) : NULL;
    if (vectors == NULL || sodium_init() < 0) {
        (void)fprintf(stderr, "usage: %s keyed.json\n", argv[0]);
        return 2;
    }
    int failed = check_run(NULL, NULL);
    json_decref(vectors);
    return failed;
}
