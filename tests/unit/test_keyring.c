/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of epochs' keys: by store, host and time, and never more than it should be. */
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/call/client.h"
#include "client/now.h"
#include "tests/lib/check.h"

enum { HOUR_MS = 3600 * 1000, MANY = 5000 };

struct fixture {
    char folder[64];
    char path[100];
    struct hearsay_host hosts[2];
    struct hearsay server; /* of which the keyring looks at the Welcome and the pin */
    struct hearsay_tls_info tls;
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
    fixture.server.welcome_at_ms = now_monotonic_ms();
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
    assert_int_equal(hearsay_keyring_learn(keyring, &fixture->server, NULL, NULL), HEARSAY_OK);
    assert_int_equal(hearsay_keyring_save(keyring, NULL), HEARSAY_OK);
    hearsay_keyring_close(keyring);
}

/* From now on connections are to the server with this pin; 0: without TLS. */
static void use_pin(struct fixture *fixture, uint8_t pin)
{
    memset(fixture->tls.pin, pin, sizeof(fixture->tls.pin));
    fixture->server.tls = pin != 0 ? &fixture->tls : NULL;
}

/* From now on connections are from elsewhere: no keys are given. */
static void leave_site(struct fixture *fixture)
{
    fixture->hosts[0].epoch.has_key = false;
    fixture->hosts[1].epoch.has_key = false;
    fixture->server.epoch_count = 0;
}

/* The living epochs of the first host, in the file. */
static size_t read_living(const struct fixture *fixture, struct hearsay_epoch *epochs, size_t room)
{
    struct hearsay_keyring *keyring = open_ring(fixture);
    const size_t count =
        hearsay_keyring_living(keyring, &fixture->server, &fixture->hosts[0], epochs, room);
    hearsay_keyring_close(keyring);
    return count;
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

TEST_OF(keys_are_those_of_store_and_host, struct fixture *fixture, begin, end)
{
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
TEST_OF(keys_of_epochs_that_turned_meanwhile, struct fixture *fixture, begin, end)
{
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
TEST_OF(keys_of_epochs_that_are_over_are_not_used, struct fixture *fixture, begin, end)
{
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
TEST_OF(keys_are_forgotten, struct fixture *fixture, begin, end)
{
    uint64_t numbers[8];
    uint8_t bytes[1024];
    const struct hearsay_epoch brief = make_epoch(0xaa, now_of(fixture) + 1);
    fixture->hosts[0].epoch = brief;
    fixture->hosts[1].epoch = make_epoch(8, now_of(fixture) + HOUR_MS);
    fixture->server.welcome_at_ms =
        now_monotonic_ms() + 1000; /* so that it is not over as it comes */
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

/* Learns `count` keys of epochs from `first` on, of one store, as many at a time as a connection
 * remembers. */
static void learn_many(struct fixture *fixture, struct hearsay_keyring *keyring, uint8_t store,
                       uint64_t first, size_t count)
{
    leave_site(fixture);
    fixture->server.welcome.store_id[0] = store;
    for (size_t i = 0; i < count; i++) {
        fixture->server.epochs[fixture->server.epoch_count++] =
            (struct client_epoch){0, make_epoch(first + i, now_of(fixture) + HOUR_MS)};
        if (fixture->server.epoch_count == CLIENT_EPOCHS_MAX || i + 1 == count) {
            assert_int_equal(hearsay_keyring_learn(keyring, &fixture->server, NULL, NULL),
                             HEARSAY_OK);
            fixture->server.epoch_count = 0;
        }
    }
}

TEST_OF(the_memory_is_bounded, struct fixture *fixture, begin, end)
{
    uint64_t numbers[8];
    struct hearsay_keyring *keyring = open_ring(fixture);
    learn_many(fixture, keyring, 1, 1, MANY);
    assert_int_equal(hearsay_keyring_save(keyring, NULL), HEARSAY_OK);
    hearsay_keyring_close(keyring);
    assert_int_equal(living(fixture, 0, numbers, 2), 2); /* the oldest went */
    assert_true(numbers[0] == MANY && numbers[1] == MANY - 1);
}

/* S2: a server that imitates another one's store id has another pin, or none. */
TEST_OF(keys_stay_with_the_pin, struct fixture *fixture, begin, end)
{
    struct hearsay_epoch found[2];
    for (uint8_t pin = 0; pin < 3; pin++) {
        use_pin(fixture, pin);
        fixture->hosts[0].epoch = make_epoch(7, now_of(fixture) + HOUR_MS);
        memset(fixture->hosts[0].epoch.key, pin, HEARSAY_KEY_BYTES);
        learn_and_save(fixture);
    }
    leave_site(fixture);
    for (uint8_t pin = 0; pin < 3; pin++) {
        uint8_t key[HEARSAY_KEY_BYTES];
        memset(key, pin, sizeof(key));
        use_pin(fixture, pin);
        assert_int_equal(read_living(fixture, found, 2), 1);
        assert_memory_equal(found[0].key, key, sizeof(key));
        assert_int_equal(found[0].is_certain, pin != 0);
    }
    use_pin(fixture, 3);
    assert_int_equal(read_living(fixture, found, 2), 0);
}

/* S2: the key that this connection gave is used, and takes the place of the other one. */
TEST_OF(the_key_of_now_replaces_another, struct fixture *fixture, begin, end)
{
    struct hearsay_epoch found[2];
    size_t replaced = 7;
    fixture->hosts[0].epoch = make_epoch(7, now_of(fixture) + HOUR_MS);
    memset(fixture->hosts[0].epoch.key, 0xee, HEARSAY_KEY_BYTES);
    learn_and_save(fixture);
    assert_int_equal(read_living(fixture, found, 2), 1);
    assert_true(found[0].is_certain); /* this connection gave it */
    fixture->hosts[0].epoch = make_epoch(7, now_of(fixture) + HOUR_MS);
    struct hearsay_keyring *keyring = open_ring(fixture);
    assert_int_equal(hearsay_keyring_learn(keyring, &fixture->server, &replaced, NULL), HEARSAY_OK);
    assert_int_equal(replaced, 1);
    assert_int_equal(hearsay_keyring_learn(keyring, &fixture->server, &replaced, NULL), HEARSAY_OK);
    assert_int_equal(replaced, 0);
    assert_int_equal(hearsay_keyring_save(keyring, NULL), HEARSAY_OK);
    hearsay_keyring_close(keyring);
    leave_site(fixture);
    assert_int_equal(read_living(fixture, found, 2), 1);
    assert_memory_equal(found[0].key, make_epoch(7, 0).key, HEARSAY_KEY_BYTES);
    assert_false(found[0].is_certain);
}

static size_t count_living(const struct fixture *fixture, const struct hearsay_keyring *keyring)
{
    static struct hearsay_epoch found[2 * MANY];
    return hearsay_keyring_living(keyring, &fixture->server, &fixture->hosts[0], found, 2 * MANY);
}

/*
 * S2: who gives many keys loses its own. With a pin the pin counts, whatever store id comes with
 * it; without one the store id.
 */
TEST_OF(nobody_pushes_out_others_keys, struct fixture *fixture, begin, end)
{
    enum { OURS = 40, LIMIT = 2048 };
    struct hearsay_keyring *keyring = open_ring(fixture);
    for (uint8_t pin = 0; pin < 2; pin++) {
        use_pin(fixture, pin);
        learn_many(fixture, keyring, 1, 1, OURS);
    }
    learn_many(fixture, keyring, 2, 1, LIMIT); /* other stores, the same pin: its own go */
    fixture->server.welcome.store_id[0] = 1;
    assert_int_equal(count_living(fixture, keyring), 0);
    learn_many(fixture, keyring, 1, 1, OURS);
    use_pin(fixture, 2);
    for (uint8_t store = 3; store < 250; store++) {
        learn_many(fixture, keyring, store, 1, 10);
    }
    use_pin(fixture, 0);
    learn_many(fixture, keyring, 2, 1, LIMIT);
    for (uint8_t store = 3; store < 40; store++) { /* 40 owners: 51 records for each */
        learn_many(fixture, keyring, store, 1, OURS + 5);
    }
    for (uint8_t pin = 0; pin < 2; pin++) {
        use_pin(fixture, pin);
        fixture->server.welcome.store_id[0] = 1;
        assert_int_equal(count_living(fixture, keyring), OURS);
    }
    assert_int_equal(hearsay_keyring_save(keyring, NULL), HEARSAY_OK);
    hearsay_keyring_close(keyring);
    hearsay_keyring_close(open_ring(fixture)); /* within its bound */
}

/* S2: no server makes a client keep a key for ever. */
TEST_OF(keys_are_not_kept_for_ever, struct fixture *fixture, begin, end)
{
    enum { DAYS_MAX = 366 };
    struct hearsay_epoch found[2];
    fixture->hosts[0].epoch = make_epoch(7, INT64_MAX);
    learn_and_save(fixture);
    const int64_t most_ms = INT64_C(24) * HOUR_MS * DAYS_MAX;
    fixture->server.welcome.now_ms += most_ms - HOUR_MS;
    assert_int_equal(read_living(fixture, found, 2), 1);
    fixture->server.welcome.now_ms += 2 * HOUR_MS;
    assert_int_equal(read_living(fixture, found, 2), 0);
    fixture->server.welcome.now_ms = INT64_MAX; /* clocks that are no clocks */
    fixture->hosts[0].epoch = make_epoch(8, INT64_MAX);
    learn_and_save(fixture);
    fixture->server.welcome.now_ms = INT64_MIN;
    learn_and_save(fixture);
}

/* A file that others may read is no secret; one of 0.1.0 has no pins. */
TEST_OF(files_that_are_refused, struct fixture *fixture, begin, end)
{
    struct hearsay_keyring *keyring = NULL;
    struct hearsay_error error;
    fixture->hosts[0].epoch = make_epoch(7, now_of(fixture) + HOUR_MS);
    learn_and_save(fixture);
    assert_int_equal(chmod(fixture->path, 0640), 0);
    assert_int_equal(hearsay_keyring_open(fixture->path, &keyring, &error), HEARSAY_ERR_FILE);
    assert_non_null(strstr(error.sentence, "chmod 600"));
    assert_int_equal(chmod(fixture->path, 0600), 0);
    FILE *file = fopen(fixture->path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, 8, SEEK_SET), 0);
    assert_int_equal(fputc(1, file), 1);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(hearsay_keyring_open(fixture->path, &keyring, &error), HEARSAY_ERR_FILE);
    assert_non_null(strstr(error.sentence, "version 1"));
    assert_non_null(strstr(error.sentence, "remove it"));
}

TEST_OF(a_damaged_file_is_refused, struct fixture *fixture, begin, end)
{
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
    return sodium_init() < 0 ? 1 : check_run(NULL, NULL);
}
