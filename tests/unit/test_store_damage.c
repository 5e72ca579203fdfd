/* SPDX-License-Identifier: Apache-2.0 */
/* Files that the store must refuse, or prove to be whole; and leave as they are when refused. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/err.h"
#include "daemon/store/log.h"
#include "daemon/system/log.h"
#include "tests/lib/check.h"
#include "tests/lib/files.h"
#include "tests/lib/rng.h"
#include "tests/lib/store_fixture.h"

enum {
    MESSAGES = 60,
    WITHDRAWN = 12, /* deposited and withdrawn after those */
    FLIPS = 1500,
    LOG_FLIPS = 300,
    LATER = 2000,
    HEADER_BYTES = 100,
    LONG_LOG_BYTES = 16 * 1024 * 1024, /* nothing is copied from such a log, so it is not begun anew
                                          while a test fills it */
    PAGE_BYTES = 4096,
    FRAME_BYTES = PAGE_BYTES + STORE_LOG_FRAME_HEADER_BYTES
};

static void assert_file_is(const char *path, const void *data, size_t count)
{
    struct files_bytes now = files_read(path);

    assert_int_equal(now.count, count);
    assert_memory_equal(now.data, data, count);
    free(now.data);
}

/* A store with messages, marks and free pages, closed. */
static void fill_store(struct store_fixture *fixture)
{
    struct persist_rule rule = {.host = 1,
                                .kind = PERSIST_BAN_PAYLOAD,
                                .value = (const uint8_t *)"value",
                                .value_bytes = 5};
    const struct persist_decision decision = {
        .host = 1, .time_ms = 5, .act = "ban", .reason = "why"};
    struct store_op op;

    store_open(fixture);
    for (uint32_t i = 1; i <= MESSAGES + WITHDRAWN; i++) {
        assert_int_equal(store_deposit(fixture, i, i, LATER), PERSIST_APPLIED);
    }
    for (uint32_t i = MESSAGES + 1; i <= MESSAGES + WITHDRAWN; i++) {
        assert_int_equal(store_withdraw(fixture, i, 100),
                         i % 7 == 0 ? PERSIST_FORBIDDEN : PERSIST_APPLIED);
    }
    store_make_moderate(fixture, &op, 5, 5, PERSIST_HIDDEN, 3, "no");
    assert_int_equal(store_do(fixture, &op), PERSIST_APPLIED);
    store_make_rule(&op, PERSIST_RULE_PUT, &rule);
    op.op.decision = &decision;
    assert_int_equal(store_do(fixture, &op), PERSIST_APPLIED);
}

static bool is_there(uint32_t number)
{
    return number <= MESSAGES || number % 7 == 0;
}

/* Everything that fill_store did is in the store, and nothing else. */
static void assert_whole(struct store_fixture *fixture, const uint32_t *numbers, size_t count)
{
    struct store_op *ops = calloc(MESSAGES + WITHDRAWN, sizeof(*ops));
    struct persist_info info;
    size_t seen = 0;

    assert_non_null(ops);
    for (uint32_t i = 0; i < MESSAGES + WITHDRAWN; i++) {
        store_make_deposit(fixture, &ops[i], i + 1, 200, LATER);
        store_submit(fixture, &ops[i]);
    }
    store_await(fixture, ops, MESSAGES + WITHDRAWN);
    for (uint32_t i = 0; i < MESSAGES + WITHDRAWN; i++) {
        assert_int_equal(ops[i].op.outcome, is_there(i + 1) ? PERSIST_DUPLICATE : PERSIST_GONE);
        if (is_there(i + 1)) {
            assert_true(seen < count);
            assert_int_equal(numbers[seen++], i + 1);
        }
    }
    assert_int_equal(seen, count);
    assert_int_equal(fixture->host, 1);
    fixture->persist->interface->info(fixture->persist, &info);
    assert_int_equal(info.clock_ms, 100);
    free(ops);
}

/* Whether the file was accepted; if not, it must be as it was. */
static bool try_file(struct store_fixture *fixture, const struct files_bytes *bytes)
{
    uint32_t numbers[MESSAGES + WITHDRAWN];
    int code;

    files_write(fixture->file, bytes->data, bytes->count);
    fixture->reason[0] = '\0';
    code = store_try_open(fixture);
    if (code == 0) {
        code = store_replay(fixture, numbers, MESSAGES + WITHDRAWN);
    }
    if (code >= 0) {
        assert_whole(fixture, numbers, (size_t)code);
        store_close(fixture);
        return true;
    }
    assert_true(code == -ERR_DAMAGED || code == -ERR_VERSION || code == -ERR_STORAGE);
    assert_non_null(strstr(fixture->reason, fixture->file)); /* a sentence that names the file */
    if (fixture->persist != NULL) {
        store_close(fixture);
    }
    assert_file_is(fixture->file, bytes->data, bytes->count);
    return false;
}

TEST(test_changed_bytes)
{
    struct store_fixture fixture;
    struct files_bytes bytes;
    struct rng rng;
    unsigned accepted = 0;

    rng_init(&rng);
    store_fixture_init(&fixture);
    fill_store(&fixture);
    store_close(&fixture);
    bytes = files_read(fixture.file);
    assert_true(try_file(&fixture, &bytes));
    for (size_t i = 0; i < HEADER_BYTES + FLIPS; i++) {
        size_t at = i < HEADER_BYTES ? i : rng_below(&rng, (uint32_t)bytes.count);
        uint8_t flip = (uint8_t)(1 + rng_below(&rng, 255));

        bytes.data[at] ^= flip;
        accepted += try_file(&fixture, &bytes);
        bytes.data[at] ^= flip;
    }
    print_message("%u of %u changed files were whole all the same\n", accepted,
                  HEADER_BYTES + FLIPS);
    free(bytes.data);
    store_fixture_deinit(&fixture);
}

TEST(test_truncated_files)
{
    struct store_fixture fixture;
    struct files_bytes bytes;

    store_fixture_init(&fixture);
    fill_store(&fixture);
    store_close(&fixture);
    bytes = files_read(fixture.file);
    for (size_t count = 2; count < bytes.count; count += 509) {
        struct files_bytes part = {.data = bytes.data, .count = count};

        /* The last page may be one that is free; a whole page less is missed in any case. */
        if (count <= bytes.count - PAGE_BYTES) {
            assert_false(try_file(&fixture, &part));
        } else {
            (void)try_file(&fixture, &part); /* proves what it accepts */
        }
    }
    free(bytes.data);
    store_fixture_deinit(&fixture);
}

/* A log that a crash left is no damage, with or without a transaction that was not finished. */
static void assert_scans_as_whole(const char *path, const char *log_path)
{
    char said[PERSIST_REASON_BYTES];
    struct files_bytes log = files_read(log_path);
    struct store_log_scan scan;

    assert_int_equal(store_log_scan(path, &scan), 0);
    assert_false(store_log_is_damaged(path, &scan, said));
    assert_int_equal(scan.valid_bytes, log.count);
    assert_int_equal(scan.lost_commits, 0);
    /* The last commit was being written. */
    files_write(log_path, log.data, log.count - FRAME_BYTES / 2);
    assert_int_equal(store_log_scan(path, &scan), 0);
    assert_false(store_log_is_damaged(path, &scan, said));
    assert_true(scan.valid_bytes <= log.count - FRAME_BYTES);
    files_write(log_path, log.data, log.count);
    free(log.data);
}

/*
 * Whether the loss of a commit must be noticed: all but that of the last one, when its frame does
 * not say any more that it is a commit of this log. Then it looks like a frame that is left over.
 */
static bool must_be_noticed(size_t changed_at, size_t log_bytes)
{
    const size_t frame = log_bytes - FRAME_BYTES;

    return changed_at < frame + 4 || changed_at >= frame + 16;
}

/*
 * Bytes changed in the log that a crash left: what is read is as it was at some earlier commit, and
 * the loss is told.
 */
TEST(test_changed_log)
{
    struct store_fixture fixture;
    struct store_fixture copy;
    struct files_bytes file;
    struct files_bytes log;
    struct rng rng;
    char log_path[STORE_PATH_BYTES + 32];

    rng_init(&rng);
    store_fixture_init(&fixture);
    store_fixture_init(&copy);
    fixture.options.log_bytes = LONG_LOG_BYTES;
    store_open(&fixture);
    for (uint32_t i = 1; i <= MESSAGES; i++) {
        assert_int_equal(store_deposit(&fixture, i, i, LATER), PERSIST_APPLIED);
    }
    store_fixture_copy(&copy, &fixture);
    (void)snprintf(log_path, sizeof(log_path), "%s-wal", copy.file);
    assert_scans_as_whole(copy.file, log_path);
    file = files_read(copy.file);
    log = files_read(log_path);
    assert_true(log.count > 0);
    for (unsigned i = 0; i < LOG_FLIPS; i++) {
        size_t at = i < 32 ? i : rng_below(&rng, (uint32_t)log.count);
        uint8_t flip = (uint8_t)(1 + rng_below(&rng, 255));
        uint32_t numbers[MESSAGES];
        char said[PERSIST_REASON_BYTES];
        struct store_log_scan scan;
        bool is_damaged;
        int code;

        log.data[at] ^= flip;
        files_write(copy.file, file.data, file.count);
        files_write(log_path, log.data, log.count);
        log.data[at] ^= flip;
        assert_int_equal(store_log_scan(copy.file, &scan), 0);
        is_damaged = store_log_is_damaged(copy.file, &scan, said);
        assert_true(!is_damaged || strstr(said, log_path) != NULL);
        code = store_try_open(&copy);
        if (code == 0) {
            code = store_replay(&copy, numbers, MESSAGES);
        }
        for (int j = 0; j < code; j++) {
            assert_int_equal(numbers[j], j + 1);
        }
        if (code < MESSAGES && must_be_noticed(at, log.count) && !is_damaged) {
            fail_msg("byte %zu of %zu was changed, %d messages are left, and nobody says so", at,
                     log.count, code);
        }
        if (copy.persist != NULL) {
            store_close(&copy);
        }
    }
    free(file.data);
    free(log.data);
    store_fixture_deinit(&copy);
    store_fixture_deinit(&fixture);
}

/* Runs SQL on the closed file, as another program. */
TEST(test_altered_databases)
{
    static const struct {
        const char *sql;
        int code;
        const char *says;
    } alterations[] = {
        {"PRAGMA user_version = 99", -ERR_VERSION, "Install that version again, or use another"},
        {"PRAGMA user_version = 4", -ERR_VERSION, "written by a hearsayd before 0.2.0"},
        {"PRAGMA user_version = 5", -ERR_VERSION, "written by hearsayd 0.2.0"},
        {"PRAGMA user_version = 8", -ERR_VERSION, "Its messages cannot be taken along"},
        {"PRAGMA user_version = 9", -ERR_VERSION, "To take its messages along, install"},
        {"UPDATE host SET replicate = 1", -ERR_DAMAGED, "a host's row"},
        {"UPDATE tombstone SET seq = 7, why = 1", -ERR_DAMAGED, "a withdrawn message's row"},
        {"INSERT INTO evicted VALUES (6, 1, 1, 5, zeroblob(32))", -ERR_DAMAGED,
         "a row of evicted messages"},
        {"INSERT INTO copy_decision VALUES (7, 1, 0, zeroblob(16), zeroblob(16), 1, 1, 9, 4, 1)",
         -ERR_DAMAGED, "a row of a decision at a copy"},
        {"UPDATE moderation SET change_seq = 3", -ERR_DAMAGED, "a reported message's row"},
        {"UPDATE rule SET dropped = 1", -ERR_DAMAGED, "a rule's row"},
        {"PRAGMA user_version = 0", -ERR_DAMAGED, "it has no version"},
        {"PRAGMA application_id = 77", -ERR_DAMAGED, "another program's"},
        {"DROP INDEX tombstone_by_expiry", -ERR_DAMAGED, "its tables"},
        {"CREATE TRIGGER t AFTER INSERT ON message BEGIN DELETE FROM message; END", -ERR_DAMAGED,
         "its tables"},
        {"DELETE FROM host", -ERR_DAMAGED, "the host of a message is missing"},
        {"UPDATE host SET profile = 'v2:256/4'", -ERR_DAMAGED, "a host's row"},
        {"UPDATE tombstone SET expires_ms = 5", -ERR_DAMAGED, "a withdrawn message's row"},
        {"UPDATE moderation SET reports = 9", -ERR_DAMAGED, "a reported message's row"},
        {"UPDATE moderation SET seq = 7777", -ERR_DAMAGED, "a reported message"},
        {"UPDATE moderation SET destroy_ms = 9", -ERR_DAMAGED, "a reported message's row"},
        {"UPDATE moderation SET removed_ms = 9", -ERR_DAMAGED, "a reported message's row"},
        {"UPDATE rule SET number = 9", -ERR_DAMAGED, "a rule's row"},
        {"UPDATE decision SET reason = 'another'", -ERR_DAMAGED, "a decision's row"},
        {"DROP TABLE decision", -ERR_DAMAGED, "its tables are not those of its version"},
        {"DELETE FROM moderation; INSERT INTO moderation SELECT 0, 7777, 0, 0, 0, 0, '', NULL",
         -ERR_DAMAGED, "a reported message"},
        {"UPDATE meta SET next_seq = 1", -ERR_DAMAGED, "meta"},
        {"UPDATE meta SET clock_ms = 1", -ERR_DAMAGED, "meta"},
        {"DELETE FROM meta", -ERR_DAMAGED, "meta"},
        {"UPDATE message SET expires_ms = 7 WHERE seq = 5", -ERR_DAMAGED, "seq 5"},
        {"UPDATE message SET seq = 9999 WHERE seq = 5", -ERR_DAMAGED, "meta"},
        {"UPDATE message SET payload = zeroblob(5000000) WHERE seq = 5", -ERR_STORAGE, ""},
        {"INSERT INTO message SELECT checksum, 99, host_id, id, epoch, deposited_ms, expires_ms,"
         " reach_ppm, withdraw_hash, answers, filter, media_type, payload FROM message WHERE seq = "
         "8",
         -ERR_DAMAGED, "the same id"},
        {"UPDATE message SET id = x'00' WHERE seq = 8", -ERR_DAMAGED, "no message can have"},
    };

    for (size_t i = 0; i < sizeof(alterations) / sizeof(alterations[0]); i++) {
        struct store_fixture fixture;
        struct files_bytes bytes;
        uint32_t numbers[MESSAGES + WITHDRAWN];
        int code;

        store_fixture_init(&fixture);
        fill_store(&fixture);
        store_close(&fixture);
        store_alter(&fixture, alterations[i].sql);
        bytes = files_read(fixture.file);
        code = store_try_open(&fixture);
        if (code == 0) {
            code = store_replay(&fixture, numbers, MESSAGES + WITHDRAWN);
        }
        if (code != alterations[i].code || strstr(fixture.reason, alterations[i].says) == NULL) {
            fail_msg("%s: %d, %s", alterations[i].sql, code, fixture.reason);
        }
        if (fixture.persist != NULL) {
            store_close(&fixture);
        }
        assert_file_is(fixture.file, bytes.data, bytes.count);
        free(bytes.data);
        store_fixture_deinit(&fixture);
    }
}

TEST(test_harmless_alterations)
{
    struct store_fixture fixture;
    uint32_t numbers[MESSAGES + WITHDRAWN];

    store_fixture_init(&fixture);
    fill_store(&fixture);
    store_close(&fixture);
    store_alter(&fixture, "ANALYZE; VACUUM; PRAGMA journal_mode = DELETE");
    store_open(&fixture);
    assert_whole(&fixture, numbers, (size_t)store_replay(&fixture, numbers, MESSAGES + WITHDRAWN));
    store_fixture_deinit(&fixture);
}

TEST(test_files_that_are_not_ours)
{
    static const char text[] = "This is a note that someone left here, and no database at all. "
                               "It is longer than a header, to be sure: one hundred bytes.";
    struct store_fixture fixture;

    store_fixture_init(&fixture);
    files_write(fixture.file, text, sizeof(text));
    assert_int_equal(store_try_open(&fixture), -ERR_DAMAGED);
    assert_non_null(strstr(fixture.reason, "move"));
    assert_file_is(fixture.file, text, sizeof(text));

    assert_int_equal(unlink(fixture.file), 0);
    store_alter(&fixture, "CREATE TABLE notes (text); INSERT INTO notes VALUES ('mine')");
    assert_int_equal(store_try_open(&fixture), -ERR_DAMAGED);
    assert_non_null(strstr(fixture.reason, "another program's"));

    assert_int_equal(unlink(fixture.file), 0);
    assert_int_equal(mkdir(fixture.file, 0700), 0);
    assert_int_equal(store_try_open(&fixture), -ERR_STORAGE);
    assert_int_equal(rmdir(fixture.file), 0);
    store_fixture_deinit(&fixture);
}

TEST(test_empty_file_is_a_new_store)
{
    struct store_fixture fixture;

    store_fixture_init(&fixture);
    files_write(fixture.file, "", 0);
    store_open(&fixture);
    assert_int_equal(store_deposit(&fixture, 1, 1, LATER), PERSIST_APPLIED);
    store_fixture_deinit(&fixture);
}

/* SQLite would delete a log whose database is gone, with the messages in it. */
TEST(test_log_without_its_database)
{
    struct store_fixture fixture;
    struct store_fixture copy;
    struct files_bytes log;
    char log_path[STORE_PATH_BYTES + 32];

    store_fixture_init(&fixture);
    store_fixture_init(&copy);
    fill_store(&fixture);
    store_fixture_copy(&copy, &fixture);
    (void)snprintf(log_path, sizeof(log_path), "%s-wal", copy.file);
    log = files_read(log_path);
    assert_int_equal(unlink(copy.file), 0);
    assert_int_equal(store_try_open(&copy), -ERR_DAMAGED);
    assert_non_null(strstr(copy.reason, "is missing"));
    files_write(copy.file, "", 0);
    assert_int_equal(store_try_open(&copy), -ERR_DAMAGED);
    assert_non_null(strstr(copy.reason, "is empty"));
    assert_file_is(log_path, log.data, log.count);
    free(log.data);
    store_fixture_deinit(&copy);
    store_fixture_deinit(&fixture);
}

TEST(test_directories_that_cannot_be_used)
{
    struct store_fixture fixture;

    store_fixture_init(&fixture);
    fixture.options.directory = "/nonexistent/hearsay";
    assert_int_equal(store_try_open(&fixture), -ERR_STORAGE);
    assert_non_null(strstr(fixture.reason, "permissions"));
    fixture.options.directory = fixture.directory;
    if (geteuid() != 0) { /* root may write anywhere */
        assert_int_equal(chmod(fixture.directory, 0500), 0);
        assert_int_equal(store_try_open(&fixture), -ERR_STORAGE);
        assert_int_equal(chmod(fixture.directory, 0700), 0);
    }
    store_fixture_deinit(&fixture);
}

int main(void)
{
    log_set_level(LOG_LEVEL_ERROR);
    return check_run(NULL, NULL);
}
