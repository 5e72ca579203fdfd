/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A damaged database: it is opened and all its messages are as they were written, and can be
 * followed by another one; or it is refused with a sentence, and left as it is, bit by bit.
 *
 * The input: which of a few sound databases to begin with, a length to cut it to, and bytes to
 * change in it and in its log. The first byte 0xff: the rest is the file as it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>
#include <sqlite3.h>

#include "core/profile/profile.h"
#include "daemon/store/load.h"
#include "daemon/store/ops.h"
#include "daemon/store/schema.h"
#include "daemon/store/thread/replay.h"
#include "tests/fuzz/fuzz.h"

enum {
    WHOLE_FILE = 0xff,
    FILE_BYTES_MAX = 256 * 1024,
    MESSAGES = 6,
    PAYLOAD_BYTES = 7000, /* below that; the larger ones overflow their pages */
    FILTER_BYTES = 64,
    NOW = 1000,
    LATER = 1000000,
    BASES = 2
};

static const char profile[] = "v2:512/4";

/* A file of a database as it is before it is damaged. */
struct file {
    uint8_t bytes[FILE_BYTES_MAX];
    size_t count;
};

static struct {
    char directory[64];
    char path[96];
    char log_path[104];
    char shared_path[104];
    struct file databases[BASES];
    struct file logs[BASES];
    struct file before;
    struct file after;
    struct store_numbers *numbers;
} fuzz;

/* --- files ------------------------------------------------------------------------------------ */

static void read_file(const char *path, struct file *out)
{
    const int fd = open(path, O_RDONLY);
    ssize_t count = 0;

    if (fd >= 0) {
        count = read(fd, out->bytes, sizeof(out->bytes));
        FUZZ_CHECK(count >= 0 && count < FILE_BYTES_MAX);
        (void)close(fd);
    }
    out->count = (size_t)count;
}

static void write_file(const char *path, const struct file *file)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    FUZZ_CHECK(fd >= 0 && write(fd, file->bytes, file->count) == (ssize_t)file->count);
    (void)close(fd);
}

static void remove_files(void)
{
    (void)unlink(fuzz.path);
    (void)unlink(fuzz.log_path);
    (void)unlink(fuzz.shared_path);
}

static void remove_directory(void)
{
    remove_files();
    (void)rmdir(fuzz.directory);
}

/* --- messages --------------------------------------------------------------------------------- */

static void make_deposit(uint32_t host, uint8_t number, struct persist_op *out)
{
    static uint8_t filter[FILTER_BYTES];
    static uint8_t payload[PAYLOAD_BYTES];

    memset(filter, number, sizeof(filter));
    memset(payload, number, sizeof(payload));
    memset(out, 0, sizeof(*out));
    out->kind = PERSIST_DEPOSIT;
    out->now_ms = NOW;
    out->message.host = host;
    memset(out->message.id, number, MESSAGE_ID_BYTES);
    out->message.filter = filter;
    out->message.filter_bytes = sizeof(filter);
    out->message.media_type = "text/plain";
    out->message.media_type_bytes = 10;
    out->message.payload = payload;
    out->message.payload_bytes = (size_t)number * 1000 % PAYLOAD_BYTES;
    out->message.deposited_ms = NOW;
    out->message.expires_ms = LATER + number;
    out->message.reach_ppm = LIMIT_DISTANCE_PPM;
    out->message.can_withdraw = number % 2 == 0;
    memset(out->message.withdraw_hash, out->message.can_withdraw ? number : 0, LIMIT_HASH_BYTES);
}

/* The message that the base was given under this id, unless the number is none of its. */
static int check_message(void *context, const struct persist_message *message)
{
    unsigned *count = context;
    const uint8_t number = message->id[0];
    struct persist_op op;

    make_deposit(message->host, number, &op);
    FUZZ_CHECK(number >= 1 && number <= MESSAGES);
    FUZZ_CHECK(memcmp(message->id, op.message.id, MESSAGE_ID_BYTES) == 0);
    FUZZ_CHECK(message->filter_bytes == FILTER_BYTES &&
               memcmp(message->filter, op.message.filter, FILTER_BYTES) == 0);
    FUZZ_CHECK(message->payload_bytes == op.message.payload_bytes);
    FUZZ_CHECK(message->expires_ms == op.message.expires_ms);
    FUZZ_CHECK(message->can_withdraw == op.message.can_withdraw);
    (*count)++;
    return 0;
}

static void apply(struct store_database *database, struct persist_op *op)
{
    struct store_times times;

    FUZZ_CHECK(store_database_begin(database) == SQLITE_OK);
    FUZZ_CHECK(store_ops_apply(database, op, &times) == SQLITE_OK);
    FUZZ_CHECK(store_database_commit(database) == SQLITE_OK);
}

/* --- sound databases -------------------------------------------------------------------------- */

/* With messages, a withdrawn one, and (base 1) the last of them still in the log. */
static void make_base(unsigned base)
{
    char stored[PROFILE_TEXT_MAX];
    char reason[PERSIST_REASON_BYTES];
    struct store_database database;
    struct persist_op op;
    uint32_t host = 0;
    sqlite3 *db;

    FUZZ_CHECK(
        store_schema_open(fuzz.path, STORE_USE_WRITER_RELAXED, STORE_PAGE_BYTES, &db, reason) == 0);
    const struct store_load load = {db, fuzz.path, reason};
    FUZZ_CHECK(store_load_host(&load, "default", profile, &host, stored) == 0);
    FUZZ_CHECK(store_load_numbers(&load, fuzz.numbers) == 0);
    FUZZ_CHECK(store_database_init(&database, db, fuzz.numbers, 100) == SQLITE_OK);
    for (uint8_t i = 1; i <= MESSAGES; i++) {
        make_deposit(host, i, &op);
        apply(&database, &op);
        if (i == MESSAGES / 2) {
            FUZZ_CHECK(sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL,
                                                 NULL) == SQLITE_OK);
        }
    }
    make_deposit(host, 2, &op);
    op.kind = PERSIST_WITHDRAW;
    apply(&database, &op);
    db = store_database_deinit(&database);
    if (base == 0) {
        store_schema_close_last(db);
    } else {
        FUZZ_CHECK(sqlite3_close(db) == SQLITE_OK);
    }
    read_file(fuzz.path, &fuzz.databases[base]);
    read_file(fuzz.log_path, &fuzz.logs[base]);
    FUZZ_CHECK(fuzz.databases[base].count > 0 && (fuzz.logs[base].count > 0) == (base == 1));
    remove_files();
}

/* What libsodium gives must be the same each time, as the input is. */
static const char *random_name(void)
{
    return "fuzz";
}

static uint32_t random_number(void)
{
    return 7;
}

static void random_bytes(void *const out, const size_t count)
{
    memset(out, 7, count);
}

static void set_up(void)
{
    static randombytes_implementation fixed = {
        .implementation_name = random_name, .random = random_number, .buf = random_bytes};
    struct stat info;
    /* In memory, where there is such a place: what is proved here is not about disks. */
    const char *parent = stat("/dev/shm", &info) == 0 ? "/dev/shm" : "/tmp";

    FUZZ_CHECK(randombytes_set_implementation(&fixed) == 0);
    FUZZ_CHECK(sodium_init() >= 0);
    (void)snprintf(fuzz.directory, sizeof(fuzz.directory), "%s/hearsay-fuzz-XXXXXX", parent);
    FUZZ_CHECK(mkdtemp(fuzz.directory) != NULL);
    (void)atexit(remove_directory);
    fuzz.numbers = store_numbers_new();
    FUZZ_CHECK(fuzz.numbers != NULL);
    (void)snprintf(fuzz.path, sizeof(fuzz.path), "%s/m.db", fuzz.directory);
    (void)snprintf(fuzz.log_path, sizeof(fuzz.log_path), "%s-wal", fuzz.path);
    (void)snprintf(fuzz.shared_path, sizeof(fuzz.shared_path), "%s-shm", fuzz.path);
    for (unsigned i = 0; i < BASES; i++) {
        make_base(i);
    }
}

/* --- damage ----------------------------------------------------------------------------------- */

/* Three bytes each: where (of either file), and what is there then. */
static void damage(struct fuzz_input *input, struct file *file)
{
    const unsigned changes = fuzz_byte(input) % 32;
    const uint32_t cut = fuzz_u16(input);

    for (unsigned i = 0; i < changes && file->count > 0; i++) {
        const size_t at = ((size_t)fuzz_byte(input) << 16 | fuzz_u16(input)) % file->count;

        file->bytes[at] = fuzz_byte(input);
    }
    if (cut != 0 && file->count > 0) {
        file->count = ((size_t)cut * 8 + cut % 8) % (file->count + 1);
    }
}

/* Whether the files are those of a base, damaged or not: its messages are known then. */
static bool put_files(struct fuzz_input *input)
{
    static struct file database;
    static struct file log;
    const uint8_t choice = fuzz_byte(input);

    remove_files();
    if (choice == WHOLE_FILE) {
        const uint8_t *bytes = fuzz_bytes(input, FILE_BYTES_MAX - 1, &database.count);

        memcpy(database.bytes, bytes, database.count);
        write_file(fuzz.path, &database);
        return false;
    }
    database = fuzz.databases[choice % BASES];
    log = fuzz.logs[choice % BASES];
    damage(input, &database);
    damage(input, &log);
    write_file(fuzz.path, &database);
    if (log.count > 0) {
        write_file(fuzz.log_path, &log);
    }
    return true;
}

static int visit_any(void *context, const struct persist_message *message)
{
    unsigned *count = context;

    FUZZ_CHECK(message->filter_bytes >= 1 && message->filter_bytes <= LIMIT_FILTER_BYTES);
    (*count)++;
    return 0;
}

/* A database that was taken works: what is deposited is there when it is opened again. */
static void go_on(sqlite3 *db, uint32_t host, unsigned count)
{
    static const uint8_t number = 200;
    char reason[PERSIST_REASON_BYTES];
    struct store_database database;
    struct persist_op op;
    unsigned counted = 0;

    FUZZ_CHECK(store_database_init(&database, db, fuzz.numbers, 100) == SQLITE_OK);
    make_deposit(host, number, &op);
    apply(&database, &op);
    FUZZ_CHECK(op.outcome == PERSIST_APPLIED);
    FUZZ_CHECK(sqlite3_close(store_database_deinit(&database)) == SQLITE_OK);
    struct store_load load = {.path = fuzz.path, .reason = reason};
    if (store_schema_open(fuzz.path, STORE_USE_WRITER_RELAXED, STORE_PAGE_BYTES, &load.db,
                          reason) != 0 ||
        store_load_numbers(&load, fuzz.numbers) != 0 ||
        store_replay_messages(&load, visit_any, &counted) != 0) {
        (void)fprintf(stderr, "%s\n", reason);
        fuzz_fail(__FILE__, __LINE__, "it opens again");
    }
    FUZZ_CHECK(counted == count + 1);
    FUZZ_CHECK(sqlite3_close(load.db) == SQLITE_OK);
}

static void check_refused(const char *reason)
{
    FUZZ_CHECK(reason[0] != '\0' && memchr(reason, '\0', PERSIST_REASON_BYTES) != NULL);
    read_file(fuzz.path, &fuzz.after);
    FUZZ_CHECK(fuzz.before.count == fuzz.after.count &&
               memcmp(fuzz.before.bytes, fuzz.after.bytes, fuzz.after.count) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    char stored[PROFILE_TEXT_MAX];
    char reason[PERSIST_REASON_BYTES] = "";
    uint32_t host = 0;
    unsigned count = 0;
    sqlite3 *db;

    if (fuzz.path[0] == '\0') {
        set_up();
    }
    const bool is_known = put_files(&input);
    read_file(fuzz.path, &fuzz.before);
    if (store_schema_open(fuzz.path, STORE_USE_WRITER_RELAXED, STORE_PAGE_BYTES, &db, reason) !=
        0) {
        check_refused(reason);
        return 0;
    }
    const struct store_load load = {db, fuzz.path, reason};
    int rc = store_load_host(&load, "default", profile, &host, stored);
    if (rc == 0) {
        rc = store_load_numbers(&load, fuzz.numbers);
    }
    if (rc == 0) {
        rc = store_replay_messages(&load, is_known ? check_message : visit_any, &count);
    }
    if (rc == 0) {
        go_on(db, host, count);
    } else {
        FUZZ_CHECK(rc == PERSIST_PROFILE_CHANGED || reason[0] != '\0');
        FUZZ_CHECK(sqlite3_close(db) == SQLITE_OK);
    }
    return 0;
}
