/* SPDX-License-Identifier: Apache-2.0 */
/* Both ends in memory, with bytes between them that are cut, changed, or not there. */
#include "proto/tls/tls.h"

#include <sys/stat.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <openssl/pem.h>

#include "tests/lib/certificate.h"
#include "tests/lib/check.h"
#include "tests/lib/rng.h"

enum { MESSAGE_BYTES = 100000 };

static struct certificate certificate;
static char reason[TLS_REASON_BYTES];

struct ends {
    struct tls_pipe *client;
    struct tls_pipe *server;
};

/* Made once: a client's reads all roots of the system. */
static struct tls_context *server_context;
static struct tls_context *client_context;

static void make_contexts(void)
{
    const struct tls_server_options options = {certificate.file, certificate.key_file, NULL};
    const struct tls_client_options ours = {NULL, NULL, NULL};

    assert_int_equal(tls_server_new(&options, &server_context, reason), 0);
    assert_int_equal(tls_client_new(&ours, &client_context, reason), 0);
}

static struct ends make_ends(void)
{
    struct ends ends;

    assert_int_equal(tls_pipe_new(server_context, NULL, &ends.server), 0);
    assert_int_equal(tls_pipe_new(client_context, "server.example", &ends.client), 0);
    return ends;
}

static int setup(void **state)
{
    (void)state;
    certificate_make(&certificate);
    make_contexts();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tls_context_free(server_context);
    tls_context_free(client_context);
    certificate_remove(&certificate);
    return 0;
}

/* --- two ends --------------------------------------------------------------------------------- */

static void free_ends(struct ends *ends)
{
    tls_pipe_free(ends->client);
    tls_pipe_free(ends->server);
}

/* The outcome of reading that is not about a record of the handshake. */
static int read_on(struct tls_pipe *pipe, uint8_t *room, size_t bytes, size_t *out_count)
{
    int rc;

    do {
        rc = tls_pipe_read(pipe, room, bytes, out_count);
    } while (rc == TLS_RECORD);
    return rc;
}

/* Moves at most `most` bytes over the wire. How many. */
static size_t move(struct tls_pipe *from, struct tls_pipe *to, size_t most)
{
    uint8_t wire[4096];
    const size_t count = tls_pipe_take(from, wire, most < sizeof(wire) ? most : sizeof(wire));

    assert_true(tls_pipe_waiting(from) > 0 || count <= most);
    if (count > 0) {
        assert_int_equal(tls_pipe_feed(to, wire, count), 0);
    }
    return count;
}

/* Until both are open, in pieces of `most` bytes. */
static void shake_hands(struct ends *ends, size_t most)
{
    uint8_t room;
    size_t got = 0;

    for (int i = 0; i < 100000; i++) {
        assert_int_equal(read_on(ends->client, &room, 1, &got), TLS_MORE);
        assert_int_equal(read_on(ends->server, &room, 1, &got), TLS_MORE);
        const size_t moved =
            move(ends->client, ends->server, most) + move(ends->server, ends->client, most);
        if (moved == 0) {
            break;
        }
    }
    assert_true(tls_pipe_is_open(ends->client));
    assert_true(tls_pipe_is_open(ends->server));
}

/* Sends all of it one way, in pieces. */
static void send_all(struct tls_pipe *from, struct tls_pipe *to, const uint8_t *data, size_t count,
                     size_t most)
{
    uint8_t *got = calloc(1, count);
    size_t sent = 0;
    size_t received = 0;

    assert_non_null(got);
    while (received < count) {
        size_t some = 0;
        if (sent < count) {
            assert_int_equal(tls_pipe_write(from, data + sent, count - sent, &some), 0);
            sent += some;
        }
        (void)move(from, to, most);
        const int rc = read_on(to, got + received, count - received, &some);
        assert_true(rc == 0 || rc == TLS_MORE);
        received += rc == 0 ? some : 0;
    }
    assert_memory_equal(got, data, count);
    free(got);
}

/* --- tests ------------------------------------------------------------------------------------ */

TEST(test_bytes_come_through_in_pieces_of_any_size)
{
    static const size_t pieces[] = {1, 2, 5, 100, 4096};
    static uint8_t message[MESSAGE_BYTES];
    struct rng rng;

    rng_init(&rng);
    for (size_t i = 0; i < sizeof(message); i++) {
        message[i] = (uint8_t)rng_next(&rng);
    }
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        const size_t count = pieces[i] < 100 ? 500 : sizeof(message);
        struct ends ends = make_ends();
        shake_hands(&ends, pieces[i]);
        send_all(ends.client, ends.server, message, count, pieces[i]);
        send_all(ends.server, ends.client, message, count, pieces[i]);
        free_ends(&ends);
    }
}

TEST(test_a_clean_end_is_told_from_a_broken_one)
{
    struct ends ends = make_ends();
    uint8_t room[16];
    size_t got = 0;

    shake_hands(&ends, 4096);
    tls_pipe_end(ends.server);
    assert_true(move(ends.server, ends.client, 4096) > 0);
    assert_int_equal(read_on(ends.client, room, sizeof(room), &got), TLS_ENDED);
    assert_string_equal(tls_pipe_reason(ends.client), "");
    free_ends(&ends);
}

/* One bit wrong anywhere in a record: nothing of it is read. */
TEST(test_changed_bytes_are_noticed)
{
    static const uint8_t message[] = "a payload that nobody may change";
    struct rng rng;

    rng_init(&rng);
    for (int i = 0; i < 40; i++) {
        struct ends ends = make_ends();
        uint8_t wire[4096];
        uint8_t room[sizeof(message)];
        size_t got = 0;

        shake_hands(&ends, 4096);
        assert_int_equal(tls_pipe_write(ends.client, message, sizeof(message), &got), 0);
        const size_t count = tls_pipe_take(ends.client, wire, sizeof(wire));
        assert_true(count > sizeof(message));
        /* The record's length is in bytes 3 and 4: a longer one would only be waited for. */
        const size_t at = 5 + (size_t)(rng_next(&rng) % (count - 5));
        wire[at] ^= (uint8_t)(1U << (rng_next(&rng) % 8));
        assert_int_equal(tls_pipe_feed(ends.server, wire, count), 0);
        assert_int_equal(read_on(ends.server, room, sizeof(room), &got), TLS_FAILED);
        assert_true(tls_pipe_reason(ends.server)[0] != '\0');
        /* And it stays so. */
        assert_int_equal(read_on(ends.server, room, sizeof(room), &got), TLS_FAILED);
        assert_int_equal(tls_pipe_write(ends.server, message, 1, &got), TLS_FAILED);
        free_ends(&ends);
    }
}

TEST(test_noise_is_no_handshake)
{
    struct rng rng;

    rng_init(&rng);
    for (int i = 0; i < 200; i++) {
        struct ends ends = make_ends();
        uint8_t noise[600];
        uint8_t room[16];
        size_t got = 0;

        for (size_t j = 0; j < sizeof(noise); j++) {
            noise[j] = (uint8_t)rng_next(&rng);
        }
        assert_int_equal(tls_pipe_feed(ends.server, noise, sizeof(noise)), 0);
        const int rc = read_on(ends.server, room, sizeof(room), &got);
        assert_true(rc == TLS_FAILED || rc == TLS_MORE);
        assert_false(tls_pipe_is_open(ends.server));
        free_ends(&ends);
    }
}

TEST(test_nothing_is_written_before_the_handshake)
{
    struct ends ends = make_ends();
    size_t count = 1;

    assert_int_equal(tls_pipe_write(ends.server, (const uint8_t *)"x", 1, &count), 0);
    assert_int_equal(count, 0);
    free_ends(&ends);
}

TEST(test_who_the_server_is)
{
    struct ends ends = make_ends();
    uint8_t shown[TLS_PIN_BYTES];
    uint8_t own[TLS_PIN_BYTES];

    shake_hands(&ends, 4096);
    assert_non_null(tls_pipe_objection(ends.client)); /* nobody vouches for it */
    tls_pipe_pin(ends.client, shown);
    tls_context_pin(server_context, own);
    assert_memory_equal(shown, own, sizeof(own));
    free_ends(&ends);
}

TEST(test_pipes_outlive_their_context)
{
    const struct tls_server_options options = {certificate.file, certificate.key_file, NULL};
    struct ends ends = make_ends();
    struct tls_context *replaced = NULL;

    tls_pipe_free(ends.server);
    assert_int_equal(tls_server_new(&options, &replaced, reason), 0);
    assert_int_equal(tls_pipe_new(replaced, NULL, &ends.server), 0);
    tls_context_free(replaced); /* as at a reload */
    shake_hands(&ends, 4096);
    free_ends(&ends);
}

TEST(test_pins_as_text)
{
    static const char *const wrong[] = {
        "",
        "0",
        "zz",
        "00:11",
        "00112233445566778899aabbccddeeff00112233445566778899aabbccdd"
        "eef",
        "00112233445566778899aabbccddeeff00112233445566778899aabbccdd"
        "eeff0",
        "0:0112233445566778899aabbccddeeff00112233445566778899aabbccd"
        "deeff"};
    char text[TLS_PIN_TEXT_BYTES];
    uint8_t pin[TLS_PIN_BYTES];
    uint8_t again[TLS_PIN_BYTES];

    for (size_t i = 0; i < sizeof(pin); i++) {
        pin[i] = (uint8_t)(i * 37);
    }
    tls_pin_print(pin, text);
    assert_true(tls_pin_parse(text, again));
    assert_memory_equal(pin, again, sizeof(pin));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_false(tls_pin_parse(wrong[i], again));
    }
    assert_memory_equal(pin, again, sizeof(pin)); /* untouched */
}

TEST(test_files_that_are_wrong)
{
    struct tls_context *context = NULL;
    struct tls_server_options options = {certificate.file, certificate.key_file, NULL};

    options.certificate = "none.pem";
    assert_true(tls_server_new(&options, &context, reason) < 0);
    assert_non_null(strstr(reason, "none.pem"));
    options.certificate = certificate.key_file; /* a PEM file of something else */
    assert_true(tls_server_new(&options, &context, reason) < 0);
    assert_non_null(strstr(reason, certificate.key_file));
    options.certificate = certificate.file;
    options.client_ca = "nobody.pem";
    assert_true(tls_server_new(&options, &context, reason) < 0);
    assert_non_null(strstr(reason, "nobody.pem"));
    options.client_ca = NULL;
    assert_int_equal(chmod(certificate.key_file, 0604), 0);
    assert_true(tls_server_new(&options, &context, reason) < 0);
    assert_non_null(strstr(reason, "others may read or change the key"));
    assert_int_equal(chmod(certificate.key_file, 0600), 0);
}

/* OpenSSL keeps a key of another kind beside the certificate, without a word. */
TEST(test_a_key_of_another_kind)
{
    static const char other[] = "other-kind.pem";
    struct tls_context *context = NULL;
    const struct tls_server_options options = {certificate.file, other, NULL};
    const struct tls_client_options ours = {NULL, certificate.file, other};
    EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    FILE *file = fopen(other, "we");

    assert_non_null(key);
    assert_non_null(file);
    assert_int_equal(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL), 1);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(other, 0600), 0);
    EVP_PKEY_free(key);
    assert_true(tls_server_new(&options, &context, reason) < 0);
    assert_non_null(strstr(reason, "is not that of the certificate"));
    assert_true(tls_client_new(&ours, &context, reason) < 0);
    assert_non_null(strstr(reason, "is not that of the certificate"));
    assert_int_equal(unlink(other), 0);
}

int main(void)
{
    return check_run(setup, teardown);
}
