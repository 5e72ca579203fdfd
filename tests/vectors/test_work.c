/* SPDX-License-Identifier: Apache-2.0 */
/* Proofs of work against the vectors that another implementation made. */
#include "proto/work.h"

#include <string.h>

#include <jansson.h>
#include <sodium.h>

#include "tests/lib/check.h"

enum { DATA_MAX = 1024 };

static const char *file;

struct data {
    uint8_t bytes[DATA_MAX];
    size_t count;
};

static struct data data_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    struct data data = {.count = 0};

    assert_non_null(text);
    assert_int_equal(
        sodium_hex2bin(data.bytes, sizeof(data.bytes), text, strlen(text), NULL, &data.count, NULL),
        0);
    return data;
}

static struct msg_bytes borrow(const struct data *data)
{
    return (struct msg_bytes){data->count > 0 ? data->bytes : NULL, data->count};
}

static uint64_t number_of(const json_t *object, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(object, name));
}

static void feed(void *context, const void *data, size_t count)
{
    assert_int_equal(crypto_generichash_update(context, data, count), 0);
}

static void check_case(const json_t *object)
{
    const struct data store_id = data_of(object, "store_id");
    const struct data id = data_of(object, "id");
    const struct data filter = data_of(object, "filter");
    const struct data payload = data_of(object, "payload");
    const struct data withdraw_hash = data_of(object, "withdraw_hash");
    const struct data content = data_of(object, "content");
    const struct data proof = data_of(object, "proof");
    const char *type = json_string_value(json_object_get(object, "media_type"));
    struct msg_deposit deposit = {
        .id = borrow(&id),
        .epoch = number_of(object, "epoch"),
        .filter = borrow(&filter),
        .media_type = {type, strlen(type)},
        .payload = borrow(&payload),
        .reach_ppm = (uint32_t)number_of(object, "reach"),
        .withdraw_hash = borrow(&withdraw_hash),
    };
    const char *host = json_string_value(json_object_get(object, "host"));

    for (int absent = 0; absent < 2; absent++) {
        crypto_generichash_state state;
        uint8_t hash[LIMIT_HASH_BYTES];
        uint8_t sought[WORK_PROOF_BYTES];

        assert_int_equal(crypto_generichash_init(&state, NULL, 0, sizeof(hash)), 0);
        work_feed(&deposit, host, store_id.bytes, (struct work_hash){feed, &state});
        assert_int_equal(crypto_generichash_final(&state, hash, sizeof(hash)), 0);
        assert_memory_equal(hash, content.bytes, sizeof(hash));
        work_proof(hash, number_of(object, "work"), sought);
        assert_int_equal(crypto_generichash(hash, sizeof(hash), sought, sizeof(sought), NULL, 0),
                         0);
        assert_memory_equal(hash, proof.bytes, sizeof(hash));
        assert_int_equal(work_zero_bits(hash), number_of(object, "zero_bits"));
        assert_true(work_zero_bits(hash) >= number_of(object, "bits"));
        if (strcmp(type, "text/plain") == 0) {
            deposit.media_type = (struct msg_text){NULL, 0}; /* means the same */
        }
    }
}

/* The proof's number and hash, given the content's hash so far. */
static void check_proof(const json_t *object, crypto_generichash_state *state)
{
    const struct data content = data_of(object, "content");
    const struct data proof = data_of(object, "proof");
    uint8_t hash[LIMIT_HASH_BYTES];
    uint8_t sought[WORK_PROOF_BYTES];

    assert_int_equal(crypto_generichash_final(state, hash, sizeof(hash)), 0);
    assert_memory_equal(hash, content.bytes, sizeof(hash));
    work_proof(hash, number_of(object, "work"), sought);
    assert_int_equal(crypto_generichash(hash, sizeof(hash), sought, sizeof(sought), NULL, 0), 0);
    assert_memory_equal(hash, proof.bytes, sizeof(hash));
    assert_int_equal(work_zero_bits(hash), number_of(object, "zero_bits"));
    assert_true(work_zero_bits(hash) >= number_of(object, "bits"));
}

static void check_report(const json_t *object)
{
    const struct data store_id = data_of(object, "store_id");
    const struct data id = data_of(object, "id");
    const struct data token = data_of(object, "resume_token");
    crypto_generichash_state state;

    assert_int_equal(crypto_generichash_init(&state, NULL, 0, LIMIT_HASH_BYTES), 0);
    work_feed_report(id.bytes, json_string_value(json_object_get(object, "host")), store_id.bytes,
                     (struct msg_bytes){token.bytes, token.count},
                     (struct work_hash){feed, &state});
    check_proof(object, &state);
}

static void the_vectors_hold(void **state)
{
    json_error_t error;
    json_t *all = json_load_file(file, 0, &error);
    (void)state;

    if (all == NULL) {
        fail_msg("%s:%d: %s", file, error.line, error.text);
    }
    assert_true(json_array_size(all) >= 12);
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *object = json_array_get(all, i);
        if (json_object_get(object, "resume_token") != NULL) {
            check_report(object);
        } else {
            check_case(object);
        }
    }
    json_decref(all);
}

/* From none to all of them, at every bit. */
static void zero_bits_are_counted_from_the_highest(void **state)
{
    uint8_t hash[LIMIT_HASH_BYTES];
    (void)state;

    memset(hash, 0, sizeof(hash));
    assert_int_equal(work_zero_bits(hash), 256);
    for (uint32_t bit = 0; bit < 256; bit++) {
        memset(hash, 0xff, sizeof(hash));
        for (uint32_t zero = 0; zero < bit; zero++) {
            hash[zero / 8] &= (uint8_t) ~(1U << (7 - zero % 8));
        }
        assert_int_equal(work_zero_bits(hash), bit);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_vectors_hold),
        cmocka_unit_test(zero_bits_are_counted_from_the_highest),
    };

    if (argc != 2 || sodium_init() < 0) {
        return 2;
    }
    file = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
