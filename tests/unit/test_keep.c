/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are remembered from run to run, and the two memories that live in them. */
#include "client/keep.h"

#include <sys/stat.h>
#include <unistd.h>

#include "core/base/hash.h"
#include "tests/lib/check.h"
#include "tests/lib/encode.h"
#include "tests/lib/fail_alloc.h"

static const struct keep_kind kind = {
    .magic = "testTest", .what = "test file", .body_bytes_max = 100};

#define KEYED_PROFILE "v2:geo=96/2,time=64/2,joint(geo,time)=96/2"

struct fixture {
    char folder[64];
    char path[100];
};

static int begin(void **state)
{
    static struct fixture fixture;
    (void)snprintf(fixture.folder, sizeof(fixture.folder), "keep-XXXXXX");
    assert_non_null(mkdtemp(fixture.folder));
    (void)snprintf(fixture.path, sizeof(fixture.path), "%s/file", fixture.folder);
    *state = &fixture;
    return 0;
}

static int end(void **state)
{
    struct fixture *fixture = *state;
    (void)unlink(fixture->path);
    return rmdir(fixture->folder); /* fails when a test, or a write, left something behind */
}

static void put_file(const char *path, const void *data, size_t count)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static size_t get_file(const char *path, uint8_t *out, size_t most)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t count = fread(out, 1, most, file);
    (void)fclose(file);
    return count;
}

static int read_back(const char *path, struct bytes *body, struct hearsay_error *error)
{
    bytes_init(body, alloc_system());
    return keep_read(path, &kind, body, error);
}

/* What was written is read; the format is that of the header; a second write replaces it. */
TEST_OF(test_round_trip, struct fixture *fixture, begin, end)
{
    struct hearsay_error error;
    struct bytes body;
    uint8_t raw[200];
    struct stat info;

    assert_int_equal(read_back(fixture->path, &body, &error), KEEP_ABSENT);
    for (size_t size = 0; size <= kind.body_bytes_max; size += 25) {
        bytes_init(&body, alloc_system());
        for (size_t i = 0; i < size; i++) {
            const uint8_t byte = (uint8_t)i;
            assert_int_equal(bytes_append(&body, &byte, 1), 0);
        }
        assert_int_equal(keep_write(fixture->path, &kind, &body, &error), 0);
        bytes_deinit(&body);
        assert_int_equal(read_back(fixture->path, &body, &error), 0);
        assert_int_equal(body.count, size);
        for (size_t i = 0; i < size; i++) {
            assert_int_equal(body.data[i], i);
        }
        bytes_deinit(&body);
        assert_int_equal(get_file(fixture->path, raw, sizeof(raw)), 12 + size + 8);
        assert_memory_equal(raw, "testTest\1\0\0\0", 12);
        assert_true(keep_u64(raw + 12 + size) == hash_seeded(raw, 12 + size, 0));
    }
    assert_int_equal(stat(fixture->path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
}

/* Every single bit that is wrong, and every length, is noticed, and the file stays as it is. */
TEST_OF(test_damage, struct fixture *fixture, begin, end)
{
    struct hearsay_error error;
    struct bytes body;
    uint8_t raw[200] = {0}; /* longer than what is read into it */
    uint8_t after[200];

    bytes_init(&body, alloc_system());
    assert_int_equal(bytes_append(&body, "hello there", 11), 0);
    assert_int_equal(keep_write(fixture->path, &kind, &body, &error), 0);
    bytes_deinit(&body);
    const size_t count = get_file(fixture->path, raw, sizeof(raw));
    for (size_t bit = 0; bit < count * 8; bit++) {
        raw[bit / 8] ^= (uint8_t)(1u << bit % 8);
        put_file(fixture->path, raw, count);
        assert_int_equal(read_back(fixture->path, &body, &error), HEARSAY_ERR_FILE);
        assert_int_equal(body.count, 0);
        assert_non_null(strstr(error.sentence, fixture->path));
        assert_non_null(strstr(error.sentence, "left as it is"));
        assert_int_equal(get_file(fixture->path, after, sizeof(after)), count);
        assert_memory_equal(raw, after, count);
        bytes_deinit(&body);
        raw[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t length = 0; length < 150; length++) {
        put_file(fixture->path, raw, length);
        int status = read_back(fixture->path, &body, &error);
        assert_int_equal(status, length == count ? 0 : HEARSAY_ERR_FILE);
        bytes_deinit(&body);
    }
    assert_int_equal(read_back(fixture->folder, &body, &error), HEARSAY_ERR_FILE);
    assert_non_null(strstr(error.sentence, "no regular file"));
    bytes_deinit(&body);
}

/* A write that fails leaves the old file, and nothing beside it (see `end`). */
TEST_OF(test_failed_write, struct fixture *fixture, begin, end)
{
    struct hearsay_error error;
    struct bytes body;
    struct fail_alloc fail;
    char elsewhere[120];

    bytes_init(&body, alloc_system());
    assert_int_equal(bytes_append(&body, "old", 3), 0);
    assert_int_equal(keep_write(fixture->path, &kind, &body, &error), 0);
    (void)snprintf(elsewhere, sizeof(elsewhere), "%s/none/file", fixture->folder);
    assert_int_equal(keep_write(elsewhere, &kind, &body, &error), HEARSAY_ERR_SYSTEM);
    assert_non_null(strstr(error.sentence, elsewhere));
    bytes_deinit(&body);
    for (size_t n = 1;; n++) {
        fail_alloc_init(&fail);
        bytes_init(&body, &fail.alloc);
        assert_int_equal(bytes_append(&body, "new", 3), 0);
        fail_alloc_arm(&fail, n);
        int status = keep_write(fixture->path, &kind, &body, &error);
        fail_alloc_arm(&fail, 0);
        bytes_deinit(&body);
        assert_int_equal(fail.live_blocks, 0);
        assert_int_equal(read_back(fixture->path, &body, &error), 0);
        assert_memory_equal(body.data, status == 0 ? "new" : "old", 3);
        bytes_deinit(&body);
        if (status == 0) {
            break;
        }
        assert_int_equal(status, HEARSAY_ERR_NOMEM);
    }
}

/* A link stays a link, and what it points to is replaced. */
TEST_OF(test_link, struct fixture *fixture, begin, end)
{
    struct hearsay_error error;
    struct bytes body;
    struct stat info;
    char link[120];

    (void)snprintf(link, sizeof(link), "%s/link", fixture->folder);
    bytes_init(&body, alloc_system());
    assert_int_equal(keep_write(fixture->path, &kind, &body, &error), 0);
    assert_int_equal(symlink("file", link), 0);
    assert_int_equal(bytes_append(&body, "x", 1), 0);
    assert_int_equal(keep_write(link, &kind, &body, &error), 0);
    bytes_deinit(&body);
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(read_back(fixture->path, &body, &error), 0);
    assert_int_equal(body.count, 1);
    bytes_deinit(&body);
    assert_int_equal(unlink(link), 0);
}

/* --- the memories ----------------------------------------------------------------------------- */

/* Whole files that are sound, but whose numbers are not: refused, and left as they are. */
TEST_OF(test_bodies_that_contradict_themselves, struct fixture *fixture, begin, end)
{
    static const struct keep_kind here = {
        .magic = "hearHere", .version = 2, .what = "", .body_bytes_max = 5000};
    static const struct keep_kind seen = {.magic = "hearSeen", .what = "", .body_bytes_max = 5000};
    static const struct {
        uint32_t rounds;
        uint32_t length;
        const char *profile;
        bool right;
    } rows[] = {
        {3, 7, "v2:64/1", true},  {0, 7, "v2:64/1", false}, {256, 7, "v2:64/1", false},
        {3, 6, "v2:64/1", false}, {3, 8, "v2:64/1", false}, {3, UINT32_MAX, "v2:64/1", false},
        {3, 7, "v9:64/1", false}, {3, 7, "v1:64/1", false}, {3, 0, "", false},
    };
    struct hearsay_error error;
    struct hearsay_recent *recent = NULL;
    struct hearsay_seen *memory = NULL;
    struct bytes body;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        bytes_init(&body, alloc_system());
        assert_int_equal(keep_append_u32(&body, rows[i].rounds), 0);
        assert_int_equal(keep_append_u32(&body, rows[i].length), 0);
        assert_int_equal(bytes_append(&body, rows[i].profile, strlen(rows[i].profile)), 0);
        assert_int_equal(keep_write(fixture->path, &here, &body, &error), 0);
        int status = hearsay_recent_open(fixture->path, NULL, 0, &recent, &error);
        assert_int_equal(status, rows[i].right ? HEARSAY_OK : HEARSAY_ERR_FILE);
        if (status == HEARSAY_OK) {
            hearsay_recent_close(recent);
        } else {
            assert_non_null(strstr(error.sentence, fixture->path));
        }
        assert_int_equal(hearsay_seen_open(fixture->path, &memory, &error), HEARSAY_ERR_FILE);
        bytes_deinit(&body);
    }
    bytes_init(&body, alloc_system());
    assert_int_equal(keep_append_u32(&body, 5), 0); /* no whole record */
    assert_int_equal(keep_write(fixture->path, &seen, &body, &error), 0);
    assert_int_equal(hearsay_seen_open(fixture->path, &memory, &error), HEARSAY_ERR_FILE);
    bytes_deinit(&body);
}

/* What is seen is remembered once, through the file, and not when it is over. */
TEST_OF(test_seen, struct fixture *fixture, begin, end)
{
    struct hearsay_error error;
    struct hearsay_seen *seen = NULL;
    uint8_t id[HEARSAY_ID_BYTES] = {0};

    assert_int_equal(hearsay_seen_open(fixture->path, &seen, &error), 0);
    for (uint8_t i = 0; i < 10; i++) {
        id[0] = i;
        assert_int_equal(hearsay_seen_add(seen, id, i < 7 ? 3600000 : -(int64_t)i, &error), 0);
        assert_int_equal(hearsay_seen_add(seen, id, INT64_MIN, &error), 0);
    }
    assert_int_equal(hearsay_seen_add(seen, id, INT64_MAX, &error), 0);
    assert_int_equal(hearsay_seen_add(seen, id, INT64_MAX, &error), 0);
    assert_int_equal(hearsay_seen_count(seen), 8);
    assert_int_equal(hearsay_seen_save(seen, &error), 0);
    hearsay_seen_close(seen);
    assert_int_equal(hearsay_seen_open(fixture->path, &seen, &error), 0);
    assert_int_equal(hearsay_seen_count(seen), 8);
    hearsay_seen_close(seen);
}

/* Rounds pass through the file; a context goes after as many as were said. */
TEST_OF(test_recent, struct fixture *fixture, begin, end)
{
    struct hearsay_error error;
    struct hearsay_recent *recent = NULL;
    static const char *const labels[5] = {"topic:0", "topic:1", "topic:2", "topic:3", "topic:4"};
    struct hearsay_filter filters[5];
    struct hearsay_filter now;

    for (int i = 0; i < 5; i++) {
        assert_int_equal(encode_labels("v2:512/4", NULL, &labels[i], 1, &filters[i], &error), 0);
    }
    assert_int_equal(hearsay_recent_open(fixture->path, NULL, 3, &recent, &error),
                     HEARSAY_ERR_FILE);
    assert_int_equal(hearsay_recent_open(fixture->path, "v2:512/4", 0, &recent, &error),
                     HEARSAY_ERR_FILE);
    assert_int_equal(hearsay_recent_open(fixture->path, "v2:512/4", 256, &recent, &error),
                     HEARSAY_ERR_ARGUMENT);
    for (int i = 0; i < 5; i++) {
        uint8_t expected[64] = {0};
        assert_int_equal(
            hearsay_recent_open(fixture->path, "v2:512/4", i == 0 ? 3 : 0, &recent, &error), 0);
        assert_int_equal(hearsay_recent_rounds(recent), 3);
        assert_int_equal(hearsay_recent_round(recent, &labels[i], 1, &now, &error), 0);
        assert_int_equal(hearsay_recent_save(recent, &error), 0);
        assert_memory_equal(&now, &filters[i], sizeof(now));
        now = (struct hearsay_filter){.bits = 0};
        assert_int_equal(hearsay_recent_add(recent, NULL, &now, &error), 0);
        for (int past = i < 2 ? 0 : i - 2; past <= i; past++) {
            for (size_t b = 0; b < 64; b++) {
                expected[b] |= filters[past].bytes[b];
            }
        }
        assert_int_equal(now.byte_count, 64);
        assert_memory_equal(now.bytes, expected, 64);
        hearsay_recent_close(recent);
    }
    assert_int_equal(hearsay_recent_open(fixture->path, "v2:256/4", 0, &recent, &error),
                     HEARSAY_ERR_FILE);
    assert_non_null(strstr(error.sentence, "v2:256/4"));
}

/* Adds what a context alone would give, keyed. */
static void add_context(const char *const *labels, size_t count, const struct hearsay_keys *keys,
                        uint8_t *expected)
{
    struct hearsay_filter filter;

    assert_int_equal(encode_labels(KEYED_PROFILE, keys, labels, count, &filter, NULL), 0);
    for (size_t b = 0; b < filter.byte_count; b++) {
        expected[b] |= filter.bytes[b];
    }
}

static void check_keyed(const struct hearsay_recent *recent, const struct hearsay_keys *keys,
                        const uint8_t *expected)
{
    struct hearsay_filter now = {.bits = 0};

    assert_int_equal(hearsay_recent_add(recent, keys, &now, NULL), 0);
    assert_int_equal(now.byte_count, 32);
    assert_memory_equal(now.bytes, expected, 32);
}

/* The labels of the last rounds are keyed with whatever key, as far as the rounds go, also when
 * these become fewer; joint sections pair labels of one context only. */
TEST_OF(test_recent_keyed, struct fixture *fixture, begin, end)
{
    static const char *const stations[6][2] = {
        {"geo:u281z0", "time:2026-11-20T14"}, {"geo:u281z1", "time:2026-11-20T15"},
        {"geo:u281z2", "time:2026-11-20T16"}, {"geo:u281z3", "time:2026-11-20T17"},
        {"geo:u281z1", "time:2026-11-20T15"}, {"geo:u281z4", "time:2026-11-20T18"}};
    struct hearsay_error error;
    struct hearsay_recent *recent = NULL;
    struct hearsay_filter here;
    const uint8_t key[HEARSAY_KEY_BYTES] = {1, 2, 3};
    const struct hearsay_keys keys = {.epoch_key = key};
    const struct hearsay_keys none = {.group = NULL};

    for (int i = 0; i < 6; i++) {
        uint8_t expected[32] = {0};
        uint8_t plain[32] = {0};
        assert_int_equal(
            hearsay_recent_open(fixture->path, KEYED_PROFILE, i == 0 ? 3 : 0, &recent, &error), 0);
        assert_int_equal(hearsay_recent_round(recent, stations[i], 2, &here, &error), 0);
        for (int past = i < 2 ? 0 : i - 2; past <= i; past++) {
            add_context(stations[past], 2, &keys, expected);
            add_context(stations[past], 2, NULL, plain);
        }
        check_keyed(recent, &keys, expected);
        check_keyed(recent, &none, plain);
        check_keyed(recent, NULL, plain);
        assert_int_equal(hearsay_recent_save(recent, &error), 0);
        hearsay_recent_close(recent);
    }
    uint8_t expected[32] = {0};
    assert_int_equal(hearsay_recent_open(fixture->path, NULL, 1, &recent, &error), 0);
    for (int i = 3; i < 6; i++) { /* of those of before none goes, and each goes with the next */
        add_context(stations[i], 2, &keys, expected);
    }
    check_keyed(recent, &keys, expected);
    memset(expected, 0, sizeof(expected));
    assert_int_equal(hearsay_recent_round(recent, stations[0], 2, &here, &error), 0);
    add_context(stations[0], 2, &keys, expected);
    check_keyed(recent, &keys, expected);
    hearsay_recent_close(recent);
}

static uint32_t set_bits(const uint8_t *bytes, size_t count)
{
    uint32_t set = 0;

    for (size_t b = 0; b < 8 * count; b++) {
        set += bytes[b / 8] >> b % 8 & 1;
    }
    return set;
}

/* Adds a context of three labels to `expected` if no section of HALF_PROFILE is more than half full
 * then. Returns whether it has added it. */
#define HALF_PROFILE "v2:place=64/7,any=64/4"
static bool add_if_half_full(struct hearsay_filter *expected, const char *const *labels)
{
    struct hearsay_filter both;

    assert_int_equal(encode_labels(HALF_PROFILE, NULL, labels, 3, &both, NULL), 0);
    for (size_t b = 0; b < 16; b++) {
        both.bytes[b] |= expected->bytes[b];
    }
    if (set_bits(both.bytes, 8) > 32 || set_bits(both.bytes + 8, 8) > 32) {
        return false;
    }
    *expected = both;
    return true;
}

/* Servers refuse a filter with a section that is more than half full. So the oldest contexts are
 * left out, more of them beside another context. The newest one is never left out if it is alone:
 * then the server says what is wrong with it. */
TEST_OF(test_recent_half_full, struct fixture *fixture, begin, end)
{
    static const char *const rounds[4][3] = {{"place:0", "topic:0", "topic:1"},
                                             {"place:1", "place:2", "place:8"},
                                             {"place:3", "place:4", "place:9"},
                                             {"place:5", "topic:4", "topic:5"}};
    static const char *const here[3] = {"place:6", "place:7", "place:A"};
    static const char *const full[7] = {"place:0", "place:1", "place:2", "place:3",
                                        "place:4", "place:5", "place:6"};
    struct hearsay_error error;
    struct hearsay_recent *recent = NULL;

    assert_int_equal(hearsay_recent_open(fixture->path, HALF_PROFILE, 9, &recent, &error), 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(hearsay_recent_round(recent, rounds[i], 3, NULL, &error), 0);
    }
    for (int beside = 0; beside < 2; beside++) {
        struct hearsay_filter expected = {.bits = 0};
        struct hearsay_filter filter = {.bits = 0};
        int oldest = 4;

        if (beside) {
            assert_int_equal(encode_labels(HALF_PROFILE, NULL, here, 3, &filter, NULL), 0);
            expected = filter;
        }
        while (oldest > 0 && add_if_half_full(&expected, rounds[oldest - 1])) {
            oldest--;
        }
        assert_int_equal(oldest, beside ? 3 : 2);
        assert_int_equal(hearsay_recent_add(recent, NULL, &filter, &error), 0);
        assert_memory_equal(filter.bytes, expected.bytes, 16);
    }
    struct hearsay_filter alone = {.bits = 0};
    struct hearsay_filter context;
    assert_int_equal(hearsay_recent_round(recent, full, 7, &context, &error), 0);
    assert_true(set_bits(context.bytes, 8) > 32);
    assert_int_equal(hearsay_recent_add(recent, NULL, &alone, &error), 0);
    assert_memory_equal(alone.bytes, context.bytes, 16);
    hearsay_recent_close(recent);
}

/* What does not fit is refused, and nothing has changed. */
TEST_OF(test_recent_bounds, struct fixture *fixture, begin, end)
{
    struct hearsay_error error;
    struct hearsay_recent *recent = NULL;
    struct hearsay_filter before = {.bits = 0};
    struct hearsay_filter after = {.bits = 0};
    char text[240];
    const char *label = text;
    const char **labels = calloc(4097, sizeof(*labels));
    assert_non_null(labels);
    memset(text, 'x', sizeof(text) - 1);
    memcpy(text, "topic:", 6);
    text[sizeof(text) - 1] = '\0';
    for (size_t i = 0; i < 4097; i++) {
        labels[i] = label;
    }
    assert_int_equal(hearsay_recent_open(fixture->path, "v2:512/4", 200, &recent, &error), 0);
    assert_int_equal(hearsay_recent_round(recent, labels, 4097, NULL, &error),
                     HEARSAY_ERR_ARGUMENT);
    assert_int_equal(hearsay_recent_round(recent, labels, 0, NULL, &error), HEARSAY_ERR_ARGUMENT);
    assert_int_equal(hearsay_recent_round(recent, labels, 4096, NULL, &error), 0);
    assert_int_equal(hearsay_recent_save(recent, &error), 0);
    const char *other = "topic:other";
    labels[0] = other; /* the same context again would take the place of that */
    assert_int_equal(hearsay_recent_add(recent, NULL, &before, NULL), 0);
    assert_int_equal(hearsay_recent_round(recent, labels, 4096, NULL, &error),
                     HEARSAY_ERR_ARGUMENT);
    assert_non_null(strstr(error.sentence, "fewer rounds"));
    assert_int_equal(hearsay_recent_add(recent, NULL, &after, NULL), 0);
    assert_memory_equal(before.bytes, after.bytes, 64);
    labels[0] = label;
    assert_int_equal(hearsay_recent_round(recent, labels, 4096, NULL, &error), 0);
    assert_int_equal(hearsay_recent_round(recent, &other, 1, NULL, &error), 0);
    hearsay_recent_close(recent);
    free(labels);
}

/* Labels whose lengths, counts or rounds are wrong: refused, and left as they are. */
TEST_OF(test_labels_that_are_none, struct fixture *fixture, begin, end)
{
    static const struct keep_kind here = {
        .magic = "hearHere", .version = 2, .what = "", .body_bytes_max = 5000};
    static const struct {
        uint32_t stays, count, bytes;
        const char *text; /* `given` bytes */
        size_t given;
        bool right;
    } rows[] = {
        {3, 2, 10, "a:b\0c:defg\0", 11, false},
        {3, 2, 11, "a:b\0c:defg\0", 11, true},
        {1, 2, 11, "a:b\0c:defg\0", 11, true},
        {0, 2, 11, "a:b\0c:defg\0", 11, false},
        {4, 2, 11, "a:b\0c:defg\0", 11, false},
        {3, 1, 11, "a:b\0c:defg\0", 11, false},
        {3, 3, 11, "a:b\0c:defg\0", 11, false},
        {3, 0, 0, "", 0, false},
        {3, 1, 4, "a.b", 4, false},
        {3, 1, 4, "a:bc", 4, false},
        {3, 1, UINT32_MAX, "a:b", 4, false},
        {3, UINT32_MAX, 4, "a:b", 4, false},
    };
    struct hearsay_error error;
    struct bytes body;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct hearsay_recent *recent = NULL;
        bytes_init(&body, alloc_system());
        assert_int_equal(keep_append_u32(&body, 3), 0);
        assert_int_equal(keep_append_u32(&body, 7), 0);
        assert_int_equal(bytes_append(&body, "v2:64/1", 7), 0);
        assert_int_equal(keep_append_u32(&body, rows[i].stays), 0);
        assert_int_equal(keep_append_u32(&body, rows[i].count), 0);
        assert_int_equal(keep_append_u32(&body, rows[i].bytes), 0);
        assert_int_equal(bytes_append(&body, rows[i].text, rows[i].given), 0);
        assert_int_equal(keep_write(fixture->path, &here, &body, &error), 0);
        bytes_deinit(&body);
        assert_int_equal(hearsay_recent_open(fixture->path, NULL, 0, &recent, &error),
                         rows[i].right ? HEARSAY_OK : HEARSAY_ERR_FILE);
        hearsay_recent_close(recent);
    }
}
