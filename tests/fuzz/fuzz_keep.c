/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's small files, which hold serialised filters: one that is taken, saved and opened
 * again says the same; one that is refused is left as it is, with a sentence that names it.
 *
 * The first byte: even, the memory of messages seen; odd, that of contexts. Its second bit: the
 * rest is the file as it is; else it is the body, and gets the head and checksum that belong to it.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/hearsay.h"
#include "client/keep.h"
#include "tests/fuzz/fuzz.h"

enum { RAW = 2, FILE_BYTES_MAX = 64 * 1024 };

static const struct keep_kind kinds[2] = {
    {.magic = "hearSeen", .what = "memory", .body_bytes_max = FILE_BYTES_MAX},
    {.magic = "hearHere", .version = 2, .what = "memory", .body_bytes_max = FILE_BYTES_MAX},
};

static const char *path(void)
{
    static char name[64];

    if (name[0] == '\0') {
        (void)snprintf(name, sizeof(name), "/tmp/hearsay-fuzz-keep-%ld", (long)getpid());
    }
    return name;
}

static size_t read_file(uint8_t *out)
{
    const int fd = open(path(), O_RDONLY);
    ssize_t count;

    FUZZ_CHECK(fd >= 0);
    count = read(fd, out, FILE_BYTES_MAX);
    FUZZ_CHECK(count >= 0);
    (void)close(fd);
    return (size_t)count;
}

static void write_file(const struct fuzz_input *input, bool is_raw, const struct keep_kind *kind)
{
    struct bytes body;

    if (is_raw) {
        const int fd = open(path(), O_WRONLY | O_CREAT | O_TRUNC, 0600);

        FUZZ_CHECK(fd >= 0 && write(fd, input->data, input->left) == (ssize_t)input->left);
        (void)close(fd);
        return;
    }
    bytes_init(&body, alloc_system());
    FUZZ_CHECK(input->left == 0 || bytes_append(&body, input->data, input->left) == 0);
    FUZZ_CHECK(keep_write(path(), kind, &body, NULL) == 0);
    bytes_deinit(&body);
}

/* HEARSAY_OK, or what it was refused with. */
static int try_seen(struct hearsay_error *error)
{
    struct hearsay_seen *seen = NULL;
    struct hearsay_seen *again = NULL;
    const int status = hearsay_seen_open(path(), &seen, error);

    if (status == HEARSAY_OK) {
        FUZZ_CHECK(hearsay_seen_save(seen, error) == HEARSAY_OK);
        FUZZ_CHECK(hearsay_seen_open(path(), &again, error) == HEARSAY_OK);
        FUZZ_CHECK(hearsay_seen_count(seen) == hearsay_seen_count(again));
        hearsay_seen_close(again);
        hearsay_seen_close(seen);
    }
    return status;
}

static const uint8_t key[HEARSAY_KEY_BYTES] = "any key";

static int try_recent(struct hearsay_error *error)
{
    struct hearsay_recent *recent = NULL;
    struct hearsay_recent *again = NULL;
    struct hearsay_filter filter = {.bits = 0};
    struct hearsay_filter filter_again = {.bits = 0};
    struct hearsay_filter keyed = {.bits = 0};
    struct hearsay_filter keyed_again = {.bits = 0};
    const struct hearsay_keys keys = {.epoch_key = key};
    const int status = hearsay_recent_open(path(), NULL, 0, &recent, error);

    if (status != HEARSAY_OK) {
        return status;
    }
    if (hearsay_recent_add(recent, NULL, &filter, error) != HEARSAY_OK) {
        /* Labels that the file's profile does not take are found only here. */
        FUZZ_CHECK(error->status == HEARSAY_ERR_ARGUMENT);
        hearsay_recent_close(recent);
        return HEARSAY_OK;
    }
    FUZZ_CHECK(filter.byte_count == (filter.bits + 7) / 8);
    FUZZ_CHECK(hearsay_recent_add(recent, &keys, &keyed, error) == HEARSAY_OK);
    FUZZ_CHECK(hearsay_recent_save(recent, error) == HEARSAY_OK);
    FUZZ_CHECK(hearsay_recent_open(path(), hearsay_recent_profile(recent), 0, &again, error) ==
               HEARSAY_OK);
    FUZZ_CHECK(hearsay_recent_add(again, NULL, &filter_again, error) == HEARSAY_OK);
    FUZZ_CHECK(filter.bits == filter_again.bits &&
               memcmp(filter.bytes, filter_again.bytes, filter.byte_count) == 0);
    FUZZ_CHECK(hearsay_recent_add(again, &keys, &keyed_again, error) == HEARSAY_OK);
    FUZZ_CHECK(memcmp(keyed.bytes, keyed_again.bytes, keyed.byte_count) == 0);
    hearsay_recent_close(again);
    hearsay_recent_close(recent);
    return HEARSAY_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t before[FILE_BYTES_MAX];
    static uint8_t after[FILE_BYTES_MAX];
    struct fuzz_input input = {data, size};
    const uint8_t choice = fuzz_byte(&input);
    const bool is_recent = choice % 2 != 0;
    struct hearsay_error error = {.status = 0};

    if (size > FILE_BYTES_MAX / 2) {
        return 0;
    }
    write_file(&input, (choice & RAW) != 0, &kinds[is_recent]);
    const size_t count = read_file(before);
    const int status = is_recent ? try_recent(&error) : try_seen(&error);
    if (status != HEARSAY_OK) {
        FUZZ_CHECK(status == HEARSAY_ERR_FILE);
        FUZZ_CHECK(error.sentence[0] != '\0');
        FUZZ_CHECK(read_file(after) == count && memcmp(before, after, count) == 0);
    }
    FUZZ_CHECK(unlink(path()) == 0);
    return 0;
}
