/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of epochs' keys: by store, host and time, and never more than it should be. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/client.h"
#include "client/sock.h"
#include "tests/lib/check.h"

enum { HOUR_MS = 3600 * 1000, MANY = 5000 };

struct fixture {
    char folder[64];
    char path[100];
    struct hearsay_host hosts[2];
    struct hearsay server; /* of which the keyring looks at the Welcome only */
};

static struct hearsay_epoch make_epoch(uint64_t number, int64_t kept_ms)
{
    struct hearsay_epoch epoch = {.number = number, .has_key = true, .kept_ms = kept_ms};
    memset(epoch.key, (int)(number & 0xff), sizeof(epoch.key));
    return epoch;
}

static int begin(void **state)
{
    static struct fixture fixture;
    memset(&fixture, 0, sizeof(fixture));
    (void)snprintf(fixture.folder, sizeof(fixture.folder), "keyring-XXXXXX");
    assert_non_null(mkdtemp(fixture.folder));
    (void)snprintf(fixture.path, sizeof(fixture.path), "%s/keys", fixture.folder);
    fixture.hosts[0].name = "a";
    fixture.hosts[1].name = "ab";
    fixture.server.welcome.hosts = fixture.hosts;
    fixture.server.welcome.host_count = 2;
    fixture.server.welcome.store_id[0] = 1;
    fixture.server.welcome.now_ms = INT64_C(1000000000); /* an access point's, in 1970 */
    fixture.server.welcome_at_ms = sock_now_ms();
    *state = &fixture;
    return 0;
}

static int end(void **state)
{
    struct fixture *fixture = *state;
    (void)unlink(fixture->path);
    return rmdir(fixture->folder);
}

static int64_t now_of(const struct fixture *fixture)
{
    return fixture->server.welcome.now_ms;
}

static struct hearsay_keyring *open_ring(const struct fixture *fixture)
{
    struct hearsay_keyring *keyring = NULL;
    assert_int_equal(hearsay_keyring_open(fixture->path, &keyring, NULL), HEARSAY_OK);
    return keyring;
}

static void learn_and_save(const struct fixture *fixture)
{
    struct hearsay_keyring *keyring = open_ring(fixture);
    assert_int_equal(hearsay_keyring_learn(keyring, &fixture->server, NULL), HEARSAY_OK);
    assert_int_equal(hearsay_keyring_save(keyring, NULL), HEARSAY_OK);
    hearsay_keyring_close(keyring);
}

/* Numbers of the living epochs of host `h`, newest first, in the file. */
static size_t living(const struct fixture *fixture, size_t h, uint64_t *numbers, size_t room)
{
    struct hearsay_epoch epochs[8];
    struct hearsay_keyring *keyring = open_ring(fixture);
    assert_true(room <= 8);
    size_t count =
        hearsay_keyring_living(keyring, &fixture->server, &fixture->hosts[h], epochs, room);
    for (size_t i = 0; i < count; i++) {
        const struct hearsay_epoch expected = make_epoch(epochs[i].number, 0);
        assert_true(epochs[i].has_key);
        assert_memory_equal(epochs[i].key, expected.key, sizeof(expected.key));
        numbers[i] = epochs[i].number;
    }
    hearsay_keyring_close(keyring);
    return count;
}

static void keys_are_those_of_store_and_host(void **state)
{
    struct fixture *fixture = *state;
    uint64_t numbers[8];
    struct stat info;
    fixture->hosts[0].epoch = make_epoch(7, now_of(fixture) + HOUR_MS);
    fixture->hosts[1].epoch = make_epoch(8, now_of(fixture) + HOUR_MS);
    learn_and_save(fixture);
    assert_int_equal(stat(fixture->path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    fixture->hosts[0].epoch = make_epoch(9, now_of(fixture) + HOUR_MS);
    fixture->hosts[1].epoch.has_key = false; /* from elsewhere */
    learn_and_save(fixture);
    learn_and_save(fixture); /* what is known stays one */
    assert_int_equal(living(fixture, 0, numbers, 8), 2);
    assert_true(numbers[0] == 9 && numbers[1] == 7);
    assert_int_equal(living(fixture, 0, numbers, 1), 1);
    assert_int_equal(numbers[0], 9);
    assert_int_equal(living(fixture, 1, numbers, 8), 1);
    assert_int_equal(numbers[0], 8);
    fixture->server.welcome.store_id[0] = 2;
    assert_int_equal(living(fixture, 0, numbers, 8), 0);
}

/* Of epochs that began and ended within one connection, too: the newest as they came. */
static void keys_of_epochs_that_turned_meanwhile(void **state)
{
    struct fixture *fixture = *state;
    uint64_t numbers[8];
    for (uint64_t i = 1; i <= CLIENT_EPOCHS_MAX + 3; i++) {
        fixture->server.epochs[fixture->server.epoch_count++ % CLIENT_EPOCHS_MAX] =
            (struct client_epoch){i % 2, make_epoch(i, now_of(fixture) + HOUR_MS)};
    }
    fixture->hosts[1].epoch = make_epoch(CLIENT_EPOCHS_MAX + 3, now_of(fixture) + HOUR_MS);
    learn_and_save(fixture);
    assert_int_equal(living(fixture, 1, numbers, 2), 2);
    assert_true(numbers[0] == CLIENT_EPOCHS_MAX + 3 && numbers[1] == CLIENT_EPOCHS_MAX + 1);
    struct hearsay_epoch all[2 * CLIENT_EPOCHS_MAX];
    struct hearsay_keyring *keyring = open_ring(fixture);
    assert_int_equal(hearsay_keyring_living(keyring, &fixture->server, &fixture->hosts[0], all,
                                            2 * CLIENT_EPOCHS_MAX),
                     CLIENT_EPOCHS_MAX / 2);
    assert_int_equal(all[CLIENT_EPOCHS_MAX / 2 - 1].number, 4);
    hearsay_keyring_close(keyring);
}

/* An epoch lives by the server's clock, whatever that shows. */
static void keys_of_epochs_that_are_over_are_not_used(void **state)
{
    struct fixture *fixture = *state;
    uint64_t numbers[8];
    fixture->hosts[0].epoch = make_epoch(7, now_of(fixture) + HOUR_MS);
    learn_and_save(fixture);
    fixture->server.welcome.now_ms += HOUR_MS - 10 * 1000;
    assert_int_equal(living(fixture, 0, numbers, 8), 1);
    fixture->server.welcome.now_ms += 10 * 1000;
    assert_int_equal(living(fixture, 0, numbers, 8), 0);
    fixture->hosts[0].epoch = make_epoch(8, now_of(fixture)); /* over as it comes */
    learn_and_save(fixture);
    assert_int_equal(living(fixture, 0, numbers, 8), 0);
}

/* By the local clock, too, keys are forgotten, and then they are not in the file any more. */
static void keys_are_forgotten(void **state)
{
    struct fixture *fixture = *state;
    uint64_t numbers[8];
    uint8_t bytes[1024];
    const struct hearsay_epoch brief = make_epoch(0xaa, now_of(fixture) + 1);
    fixture->hosts[0].epoch = brief;
    fixture->hosts[1].epoch = make_epoch(8, now_of(fixture) + HOUR_MS);
    fixture->server.welcome_at_ms = sock_now_ms() + 1000; /* so that it is not over as it comes */
    learn_and_save(fixture);
    size_t count = 2;
    while (count > 1) { /* the local clock passes that millisecond */
        struct hearsay_keyring *keyring = open_ring(fixture);
        assert_int_equal(hearsay_keyring_save(keyring, NULL), HEARSAY_OK);
        hearsay_keyring_close(keyring);
        FILE *file = fopen(fixture->path, "rb");
        assert_non_null(file);
        const size_t length = fread(bytes, 1, sizeof(bytes), file);
        (void)fclose(file);
        count = 1;
        for (size_t at = 0; at + sizeof(brief.key) <= length; at++) {
            count += memcmp(bytes + at, brief.key, sizeof(brief.key)) == 0;
        }
    }
    assert_int_equal(living(fixture, 1, numbers, 8), 1);
}

static void the_memory_is_bounded(void **state)
{
    struct fixture *fixture = *state;
    uint64_t numbers[8];
    struct hearsay_keyring *keyring = open_ring(fixture);
    for (uint64_t i = 1; i <= MANY; i++) {
        fixture->hosts[0].epoch = make_epoch(i, now_of(fixture) + HOUR_MS);
        assert_int_equal(hearsay_keyring_learn(keyring, &fixture->server, NULL), HEARSAY_OK);
    }
    assert_int_equal(hearsay_keyring_save(keyring, NULL), HEARSAY_OK);
    hearsay_keyring_close(keyring);
    assert_int_equal(living(fixture, 0, numbers, 2), 2); /* the oldest went */
    assert_true(numbers[0] == MANY && numbers[1] == MANY - 1);
}

static void a_damaged_file_is_refused(void **state)
{
    struct fixture *fixture = *state;
    struct hearsay_keyring *keyring = NULL;
    struct hearsay_error error;
    fixture->hosts[0].epoch = make_epoch(7, now_of(fixture) + HOUR_MS);
    learn_and_save(fixture);
    FILE *file = fopen(fixture->path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, 30, SEEK_SET), 0);
    assert_int_not_equal(fputc(0x5a, file), EOF);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(hearsay_keyring_open(fixture->path, &keyring, &error), HEARSAY_ERR_FILE);
    assert_null(keyring);
    hearsay_keyring_close(NULL);
}

int main(void)
{
#define KEYRING_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        KEYRING_TEST(keys_are_those_of_store_and_host),
        KEYRING_TEST(keys_of_epochs_that_turned_meanwhile),
        KEYRING_TEST(keys_of_epochs_that_are_over_are_not_used),
        KEYRING_TEST(keys_are_forgotten),
        KEYRING_TEST(the_memory_is_bounded),
        KEYRING_TEST(a_damaged_file_is_refused),
    };

    return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
