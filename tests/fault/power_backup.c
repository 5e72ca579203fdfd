/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fault/power_backup.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "daemon/store/thread/backup.h"
#include "tests/lib/check.h"
#include "tests/lib/power_vfs.h"

enum { SNAPSHOTS_MAX = 12, RESTORES = 3, FAILED = -1 };

/* --- reading ---------------------------------------------------------------------------------- */

uint32_t power_number(const uint8_t *id)
{
    uint32_t number;

    memcpy(&number, id + 4, sizeof(number)); /* as store_fixture makes them */
    return number;
}

int power_note_message(void *context, const struct persist_message *message)
{
    struct power_messages *messages = context;
    const uint32_t number = power_number(message->id);
    struct persist_message checked = *message;

    if (number >= POWER_NUMBERS_MAX) {
        return FAILED;
    }
    assert_int_equal(message->epoch, 0);
    checked.epoch = number % 3 == 0 ? UINT64_MAX - number : number; /* as store_fixture has it */
    assert_int_equal(store_check_message(&checked), number);
    messages->found[number] = 1;
    messages->states[number] = (uint8_t)message->state;
    messages->seqs[number] = message->seq;
    messages->deposited_ms[number] = message->deposited_ms;
    messages->count++;
    return 0;
}

void power_empty_directory(const char *directory)
{
    DIR *entries = opendir(directory);
    struct dirent *entry;

    assert_non_null(entries);
    while ((entry = readdir(entries)) != NULL) {
        (void)unlinkat(dirfd(entries), entry->d_name, 0); /* not . and .. */
    }
    (void)closedir(entries);
}

/* What the store in the fixture's directory has. 0, or FAILED with a reason. */
static int read_store(struct store_fixture *fixture, struct power_messages *out, char *out_reason)
{
    int code;

    memset(out, 0, sizeof(*out));
    code = store_try_open(fixture);
    if (code == 0) {
        code = fixture->persist->interface->replay(fixture->persist, power_note_message, out,
                                                   fixture->reason);
    }
    if (code != 0) {
        (void)snprintf(out_reason, POWER_REASON_BYTES, "it does not open: %.900s", fixture->reason);
    }
    if (fixture->persist != NULL) {
        store_close(fixture);
    }
    (void)uv_run(&fixture->loop, UV_RUN_DEFAULT);
    return code == 0 ? 0 : FAILED;
}

/* 0 or POWER_REFUSED. */
static int restore(struct store_fixture *into, const char *file, uint64_t *out_count,
                   char *out_reason)
{
    char said[PERSIST_REASON_BYTES] = "";
    const int source = open(file, O_RDONLY);
    int code;

    assert_true(source >= 0);
    code = store_restore(into->directory, source, file, out_count, said);
    (void)close(source);
    if (code != 0) {
        (void)snprintf(out_reason, POWER_REASON_BYTES, "refused: %.900s", said);
    }
    return code == 0 ? 0 : POWER_REFUSED;
}

int power_restore(struct store_fixture *into, const char *file, struct power_messages *out,
                  char *out_reason)
{
    uint64_t count = 0;
    int code;

    power_empty_directory(into->directory);
    power_vfs_begin(into->directory);
    code = restore(into, file, &count, out_reason);
    if (code == 0) {
        code = read_store(into, out, out_reason);
    }
    if (code == 0 && count != out->count) {
        (void)snprintf(out_reason, POWER_REASON_BYTES, "it said %u messages, and has %u",
                       (unsigned)count, (unsigned)out->count);
        code = FAILED;
    }
    return code;
}

/* --- cuts ------------------------------------------------------------------------------------- */

struct restoration {
    struct rng *rng;
    uint32_t share; /* of changes before which a snapshot is taken, in hundredths */
    struct power_snapshot *taken[SNAPSHOTS_MAX];
    size_t taken_count;
};

/* Everything happens on one thread here. */
static void before_change(void *context)
{
    struct restoration *restoration = context;

    if (restoration->taken_count < SNAPSHOTS_MAX &&
        rng_chance(restoration->rng, restoration->share)) {
        restoration->taken[restoration->taken_count++] = power_vfs_snapshot();
    }
}

/* Restores, with snapshots; the last is of after the acknowledgement. False: it was refused. */
static bool restore_observed(struct restoration *restoration, struct store_fixture *into,
                             const char *file, struct power_snapshot **out_after, char *out_reason)
{
    uint64_t count = 0;
    int code;

    power_vfs_begin(into->directory);
    power_vfs_observe(before_change, restoration);
    code = restore(into, file, &count, out_reason);
    power_vfs_observe(NULL, NULL);
    *out_after = power_vfs_snapshot();
    return code == 0;
}

static bool is_all(const struct power_messages *found, const struct power_messages *expected,
                   char *out_reason)
{
    if (memcmp(found->found, expected->found, sizeof(found->found)) == 0) {
        return true;
    }
    (void)snprintf(out_reason, POWER_REASON_BYTES, "%u messages of the %u of the backup",
                   (unsigned)found->count, (unsigned)expected->count);
    return false;
}

/* Puts what a cut left into the directory. Whether there is a store, by its name. */
static bool put_what_is_left(const struct power_snapshot *snapshot, struct rng *rng,
                             const struct store_fixture *into)
{
    power_empty_directory(into->directory);
    power_snapshot_restore(snapshot, rng, into->directory);
    power_vfs_begin(into->directory);
    return access(into->file, F_OK) == 0;
}

/*
 * What a cut left either has a store, then all of it, which nobody restores over; or it has none,
 * and can be restored into.
 */
static bool check_what_is_left(const struct power_snapshot *snapshot, bool must_be_there,
                               struct rng *rng, struct store_fixture *into, const char *file,
                               const struct power_messages *expected, char *out_reason)
{
    struct power_messages found;
    uint64_t count;
    const bool is_there = put_what_is_left(snapshot, rng, into);

    if (must_be_there && !is_there) {
        (void)snprintf(out_reason, POWER_REASON_BYTES, "it was restored, and is not there");
        return false;
    }
    if (is_there && restore(into, file, &count, out_reason) != POWER_REFUSED) {
        (void)snprintf(out_reason, POWER_REASON_BYTES, "it was restored over a store");
        return false;
    }
    if (!is_there && restore(into, file, &count, out_reason) != 0) {
        return false;
    }
    return read_store(into, &found, out_reason) == 0 && is_all(&found, expected, out_reason);
}

/* The cuts of one restoration; `again`: and of one more on what some of them left. */
static bool check_restoration(const struct restoration *restoration, bool again,
                              struct store_fixture *into, const char *file,
                              const struct power_messages *expected, unsigned *cuts,
                              char *out_reason);

static bool restore_again(const struct power_snapshot *snapshot, struct rng *rng,
                          struct store_fixture *into, const char *file,
                          const struct power_messages *expected, unsigned *cuts, char *out_reason)
{
    struct restoration second = {.rng = rng, .share = 40};
    struct power_snapshot *after = NULL;
    bool holds;

    if (put_what_is_left(snapshot, rng, into)) {
        return true;
    }
    holds = restore_observed(&second, into, file, &after, out_reason) &&
            check_restoration(&second, false, into, file, expected, cuts, out_reason);
    power_snapshot_free(after);
    for (size_t i = 0; i < second.taken_count; i++) {
        power_snapshot_free(second.taken[i]);
    }
    return holds;
}

static bool check_restoration(const struct restoration *restoration, bool again,
                              struct store_fixture *into, const char *file,
                              const struct power_messages *expected, unsigned *cuts,
                              char *out_reason)
{
    bool holds = true;

    for (size_t i = 0; i < restoration->taken_count * RESTORES && holds; i++) {
        const struct power_snapshot *snapshot = restoration->taken[i / RESTORES];

        (*cuts)++;
        holds =
            check_what_is_left(snapshot, false, restoration->rng, into, file, expected, out_reason);
        if (holds && again && rng_chance(restoration->rng, 10)) {
            holds =
                restore_again(snapshot, restoration->rng, into, file, expected, cuts, out_reason);
        }
    }
    return holds;
}

bool power_cut_restoring(struct store_fixture *into, const char *file,
                         const struct power_messages *expected, struct rng *rng, unsigned *cuts,
                         char *out_reason)
{
    struct restoration restoration = {.rng = rng, .share = rng_chance(rng, 50) ? 60 : 15};
    struct power_snapshot *after = NULL;
    bool holds;

    power_empty_directory(into->directory);
    holds = restore_observed(&restoration, into, file, &after, out_reason);
    for (unsigned i = 0; i < RESTORES && holds; i++) {
        (*cuts)++;
        holds = check_what_is_left(after, true, rng, into, file, expected, out_reason);
    }
    power_snapshot_free(after);
    holds = holds && check_restoration(&restoration, true, into, file, expected, cuts, out_reason);
    for (size_t i = 0; i < restoration.taken_count; i++) {
        power_snapshot_free(restoration.taken[i]);
    }
    return holds;
}
