/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/store_fixture.h"

#include "daemon/system/container.h"
#include "tests/lib/check.h"
#include "tests/lib/files.h"
#include "tests/lib/pass_vfs.h"

#include <dirent.h>
#include <unistd.h>

static unsigned done_count;

/* --- directories and files -------------------------------------------------------------------- */

void store_fixture_init(struct store_fixture *fixture)
{
    const char *parent = getenv("TMPDIR");

    memset(fixture, 0, sizeof(*fixture));
    pass_install_if_asked();
    (void)snprintf(fixture->directory, sizeof(fixture->directory), "%.200s/hearsay-test-XXXXXX",
                   parent != NULL ? parent : "/tmp");
    assert_non_null(mkdtemp(fixture->directory));
    (void)snprintf(fixture->file, sizeof(fixture->file), "%s/messages.db", fixture->directory);
    assert_int_equal(uv_loop_init(&fixture->loop), 0);
    fixture->options.loop = &fixture->loop;
    fixture->options.directory = fixture->directory;
}

static void remove_directory(const char *directory)
{
    DIR *entries = opendir(directory);
    struct dirent *entry;

    assert_non_null(entries);
    while ((entry = readdir(entries)) != NULL) {
        (void)unlinkat(dirfd(entries), entry->d_name, 0); /* not . and .. */
    }
    (void)closedir(entries);
    assert_int_equal(rmdir(directory), 0);
}

void store_fixture_deinit(struct store_fixture *fixture)
{
    if (fixture->persist != NULL) {
        store_close(fixture);
    }
    assert_int_equal(uv_loop_close(&fixture->loop), 0);
    remove_directory(fixture->directory);
}

int store_setup(void **state)
{
    store_fixture_init(*state);
    store_open(*state);
    return 0;
}

int store_teardown(void **state)
{
    store_fixture_deinit(*state);
    return 0;
}

/* Where there is no such file, none is made. */
static void copy_file(const char *from, const char *to)
{
    const struct files_bytes bytes = files_read(from);

    if (bytes.count > 0) {
        files_write(to, bytes.data, bytes.count);
    }
    free(bytes.data);
}

void store_fixture_copy(struct store_fixture *fixture, const struct store_fixture *from)
{
    char log_from[STORE_PATH_BYTES + 32];
    char log_to[STORE_PATH_BYTES + 32];

    (void)snprintf(log_from, sizeof(log_from), "%s-wal", from->file);
    (void)snprintf(log_to, sizeof(log_to), "%s-wal", fixture->file);
    copy_file(from->file, fixture->file);
    copy_file(log_from, log_to);
}

/* --- opening and closing ---------------------------------------------------------------------- */

int store_try_open(struct store_fixture *fixture)
{
    char profile[256];
    int code;

    assert_null(fixture->persist);
    code = persist_sqlite_open(&fixture->options, &fixture->persist, fixture->reason);
    if (code != 0) {
        return code;
    }
    return fixture->persist->interface->add_host(fixture->persist, "default", "v2:512/4",
                                                 &fixture->host, profile, fixture->reason);
}

void store_open(struct store_fixture *fixture)
{
    if (store_try_open(fixture) != 0) {
        fail_msg("%s", fixture->reason);
    }
}

int store_open_file(const char *path, sqlite3 **out_db)
{
    return sqlite3_open_v2(path, out_db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                           pass_refuses_maps() ? "unix-excl" : NULL);
}

static void on_closed(void *context)
{
    *(bool *)context = true;
}

void store_close(struct store_fixture *fixture)
{
    bool closed = false;

    fixture->persist->interface->close(fixture->persist, on_closed, &closed);
    assert_false(closed);
    (void)uv_run(&fixture->loop, UV_RUN_DEFAULT);
    assert_true(closed);
    assert_false(uv_loop_alive(&fixture->loop));
    fixture->persist = NULL;
}

void store_reopen(struct store_fixture *fixture)
{
    store_close(fixture);
    store_open(fixture);
}

/* --- the files -------------------------------------------------------------------------------- */

void store_alter(const struct store_fixture *fixture, const char *sql)
{
    sqlite3 *db = NULL;

    assert_int_equal(store_open_file(fixture->file, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

int64_t store_read_number(const struct store_fixture *fixture, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    sqlite3 *db = NULL;

    assert_int_equal(store_open_file(fixture->file, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    const int64_t number = sqlite3_column_int64(statement, 0);
    assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return number;
}

/* The log is read first: a scrub moves pages from the log into the database, perhaps in between. */
bool store_files_have(const struct store_fixture *fixture, const void *bytes, size_t count)
{
    const char *const suffixes[] = {"-wal", ""};
    bool found = false;

    for (size_t i = 0; i < 2 && !found; i++) {
        char path[STORE_PATH_BYTES + 32];

        (void)snprintf(path, sizeof(path), "%s%s", fixture->file, suffixes[i]);
        const struct files_bytes file = files_read(path);
        found = memmem(file.data, file.count, bytes, count) != NULL;
        free(file.data);
    }
    return found;
}

struct persist_counters store_count(struct store_fixture *fixture)
{
    struct persist_counters counters;

    fixture->persist->interface->count(fixture->persist, &counters);
    return counters;
}

/* Of two scrubs that end after this moment, the second began after it. */
void store_await_scrub(struct store_fixture *fixture, int64_t now_ms)
{
    const uint64_t before = store_count(fixture).scrubs;

    for (uint32_t number = 1000; store_count(fixture).scrubs < before + 2; number += 7) {
        assert_int_equal(store_deposit(fixture, number, now_ms, now_ms + 1000), PERSIST_APPLIED);
        assert_int_equal(store_withdraw(fixture, number, now_ms), PERSIST_APPLIED);
    }
}

/* --- operations ------------------------------------------------------------------------------- */

static const char media_type[] = "text/plain";

static void make_bytes(uint32_t number, uint8_t salt, uint8_t *out, size_t count)
{
    uint64_t state = ((uint64_t)number << 8) + salt + 1;

    for (size_t i = 0; i < count; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        out[i] = (uint8_t)(state >> 56);
    }
}

static void make_id(uint32_t number, uint8_t *out)
{
    make_bytes(number, 1, out, MESSAGE_ID_BYTES);
    memcpy(out + 4, &number, sizeof(number));
}

static void on_done(struct persist_op *op)
{
    CONTAINER_OF(op, struct store_op, op)->done = ++done_count;
}

void store_make_deposit(const struct store_fixture *fixture, struct store_op *op, uint32_t number,
                        int64_t now_ms, int64_t expires_ms)
{
    struct persist_message *message = &op->op.message;

    memset(op, 0, sizeof(*op));
    make_bytes(number, 2, op->filter, sizeof(op->filter));
    make_bytes(number, 3, op->payload, sizeof(op->payload));
    op->op.kind = PERSIST_DEPOSIT;
    op->op.now_ms = now_ms;
    op->op.done = on_done;
    message->host = fixture->host;
    make_id(number, message->id);
    message->epoch = number % 3 == 0 ? UINT64_MAX - number : number;
    message->filter = op->filter;
    message->filter_bytes = sizeof(op->filter);
    message->media_type = media_type;
    message->media_type_bytes = sizeof(media_type) - 1;
    message->payload = op->payload;
    message->payload_bytes = number % STORE_PAYLOAD_BYTES;
    message->deposited_ms = now_ms;
    message->expires_ms = expires_ms;
    message->reach_ppm = number % 1000001;
    message->can_withdraw = number % 7 != 0;
    make_bytes(number, 4, message->withdraw_hash, sizeof(message->withdraw_hash));
}

void store_make_withdraw(const struct store_fixture *fixture, struct store_op *op, uint32_t number,
                         int64_t now_ms)
{
    memset(op, 0, sizeof(*op));
    op->op.kind = PERSIST_WITHDRAW;
    op->op.now_ms = now_ms;
    op->op.done = on_done;
    op->op.message.host = fixture->host;
    make_id(number, op->op.message.id);
    make_bytes(number, 4, op->op.message.withdraw_hash, LIMIT_HASH_BYTES);
}

void store_make_moderate(const struct store_fixture *fixture, struct store_op *op, uint32_t number,
                         int64_t deposited_ms, enum persist_state state, uint32_t reports,
                         const char *words)
{
    memset(op, 0, sizeof(*op));
    op->op.kind = PERSIST_MODERATE;
    op->op.now_ms = deposited_ms;
    op->op.done = on_done;
    op->op.message.host = fixture->host;
    op->op.message.deposited_ms = deposited_ms;
    op->op.message.state = state;
    op->op.message.reports = reports;
    op->op.words = words;
    op->op.words_bytes = words == NULL ? 0 : strlen(words);
    make_id(number, op->op.message.id);
}

void store_make_rule(struct store_op *op, enum persist_kind kind, struct persist_rule *rule)
{
    memset(op, 0, sizeof(*op));
    op->op.kind = kind;
    op->op.done = on_done;
    op->op.rule = rule;
}

void store_make_expire(struct store_op *op, int64_t now_ms, uint32_t limit)
{
    memset(op, 0, sizeof(*op));
    op->op.kind = PERSIST_EXPIRE;
    op->op.now_ms = now_ms;
    op->op.done = on_done;
    op->op.removed = op->removed;
    op->op.limit = limit;
}

uint32_t store_check_message(const struct persist_message *message)
{
    struct store_fixture fixture = {.host = message->host};
    struct store_op expected;
    const struct persist_message *want = &expected.op.message;
    uint32_t number;

    memcpy(&number, message->id + 4, sizeof(number));
    store_make_deposit(&fixture, &expected, number, message->deposited_ms, message->expires_ms);
    assert_memory_equal(message->id, want->id, MESSAGE_ID_BYTES);
    assert_true(message->epoch == want->epoch);
    assert_int_equal(message->reach_ppm, want->reach_ppm);
    assert_int_equal(message->can_withdraw, want->can_withdraw);
    if (want->can_withdraw) {
        assert_memory_equal(message->withdraw_hash, want->withdraw_hash, LIMIT_HASH_BYTES);
    }
    assert_int_equal(message->filter_bytes, want->filter_bytes);
    assert_memory_equal(message->filter, want->filter, want->filter_bytes);
    assert_int_equal(message->media_type_bytes, want->media_type_bytes);
    assert_memory_equal(message->media_type, want->media_type, want->media_type_bytes);
    assert_int_equal(message->payload_bytes, want->payload_bytes);
    if (message->payload != NULL) {
        assert_memory_equal(message->payload, want->payload, want->payload_bytes);
    }
    return number;
}

void store_submit(struct store_fixture *fixture, struct store_op *op)
{
    op->done = 0;
    fixture->persist->interface->submit(fixture->persist, &op->op);
    assert_int_equal(op->done, 0); /* never before the call has returned */
}

void store_await(struct store_fixture *fixture, struct store_op *ops, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        while (ops[i].done == 0) {
            (void)uv_run(&fixture->loop, UV_RUN_ONCE);
        }
    }
}

enum persist_outcome store_do(struct store_fixture *fixture, struct store_op *op)
{
    store_submit(fixture, op);
    store_await(fixture, op, 1);
    return op->op.outcome;
}

enum persist_outcome store_deposit(struct store_fixture *fixture, uint32_t number, int64_t now_ms,
                                   int64_t expires_ms)
{
    struct store_op op;

    store_make_deposit(fixture, &op, number, now_ms, expires_ms);
    return store_do(fixture, &op);
}

enum persist_outcome store_withdraw(struct store_fixture *fixture, uint32_t number, int64_t now_ms)
{
    struct store_op op;

    store_make_withdraw(fixture, &op, number, now_ms);
    return store_do(fixture, &op);
}

void store_assert_removed(const struct store_op *op, const uint32_t *numbers, size_t count)
{
    uint8_t id[MESSAGE_ID_BYTES];

    assert_int_equal(op->op.removed_count, count);
    for (size_t i = 0; i < count; i++) {
        make_id(numbers[i], id);
        assert_memory_equal(op->removed[i].id, id, MESSAGE_ID_BYTES);
        assert_int_equal(op->removed[i].host, op->op.message.host);
    }
}

/* --- reading ---------------------------------------------------------------------------------- */

struct store_reading {
    struct persist_read read; /* first */
    bool done;
};

static void on_read_done(struct persist_read *read)
{
    CONTAINER_OF(read, struct store_reading, read)->done = true;
}

void store_read(struct store_fixture *fixture, struct persist_read *read)
{
    struct store_reading reading = {.read = *read};

    reading.read.done = on_read_done;
    fixture->persist->interface->read(fixture->persist, &reading.read);
    while (!reading.done) {
        (void)uv_run(&fixture->loop, UV_RUN_ONCE);
    }
    *read = reading.read;
}

struct collected {
    uint32_t *numbers;
    size_t room;
    size_t count;
};

static int collect(void *context, const struct persist_message *message)
{
    struct collected *collected = context;

    assert_null(message->payload);
    assert_true(collected->count < collected->room);
    collected->numbers[collected->count++] = store_check_message(message);
    return 0;
}

int store_replay(struct store_fixture *fixture, uint32_t *numbers, size_t room)
{
    struct collected collected = {.numbers = numbers, .room = room};
    int code =
        fixture->persist->interface->replay(fixture->persist, collect, &collected, fixture->reason);

    return code != 0 ? code : (int)collected.count;
}

void store_assert_replays(struct store_fixture *fixture, const uint32_t *expected, size_t count)
{
    uint32_t numbers[64];

    assert_int_equal(store_replay(fixture, numbers, 64), count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(numbers[i], expected[i]);
    }
}
