/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Power cuts, simulated (power_vfs.h), at any moment of random work: deposits, deposits sent again,
 * withdrawals, expiry, scrubs, backups, making a database and bringing an old one up to date. After
 * each cut the store opens with nothing wrong in it, every acknowledged deposit is there and every
 * acknowledged withdrawal gone, and the index that a service makes of it has what the store has; a
 * backup that was acknowledged is there and can be restored, with all that was acknowledged before
 * it began. What a cut left is where the next work begins, and cuts happen during recovery, too.
 *
 * HEARSAY_POWER_CUTS in the environment: how many cuts. HEARSAY_SEED: as in rng.h. HEARSAY_TEST: a
 * pattern of the names of the tests to be run.
 */
#include "daemon/system/log.h"
#include "tests/fault/power_check.h"
#include "tests/lib/check.h"
#include "tests/lib/pass_vfs.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { CUTS = 250, STEP_RESTORES = 1 };
#else
enum { CUTS = 2200, STEP_RESTORES = 3 };
#endif
/* STEP_RESTORES: cuts at each write of one operation, each with other remains */

enum {
    RESTORES = 3, /* cuts at the same moment, each with other remains */
    CHAIN = 6,    /* works, each on what a cut left of the one before */
    AGAIN = 10    /* of a hundred cuts, after which there is another */
};

/* A figure for the report. */
static struct {
    unsigned cuts;
    unsigned recoveries_cut;
    unsigned made;
    unsigned acknowledged;
    unsigned failed;
    unsigned backups_whole;
    unsigned backups_cut;
    unsigned parts_refused;
    unsigned parts_whole;
} total;

/* --- one work, and cuts in it ----------------------------------------------------------------- */

static uint8_t fate_of(uint8_t state)
{
    switch (state) {
    case PERSIST_HIDDEN:
    case PERSIST_WITHHELD:
        return POWER_HIDING_ASKED | POWER_HIDDEN;
    case PERSIST_APPROVED:
        return POWER_HIDING_ASKED | POWER_HIDDEN | POWER_RESTORING_ASKED | POWER_RESTORED;
    default:
        return 0;
    }
}

/* What was uncertain at the cut is certain now. */
static void settle_model(struct power_model *model, const struct power_proof *proof)
{
    model->backup_count = 0;
    model->newest_seq = proof->newest_seq;
    for (uint32_t i = 0; i < POWER_NUMBERS_MAX; i++) {
        if (proof->messages.found[i]) {
            model->fates[i] = POWER_ASKED | POWER_KEPT | fate_of(proof->messages.states[i]);
            model->seqs[i] = proof->messages.seqs[i];
            model->deposited_ms[i] = proof->messages.deposited_ms[i];
        } else if (model->fates[i] != 0) {
            model->fates[i] = POWER_ASKED | POWER_REMOVAL_ASKED | POWER_REMOVED;
            model->expires_ms[i] = 0; /* never sent again */
        }
    }
}

/*
 * Cuts the power at that moment, and checks what is left; it is in the fixture's directory then,
 * open for a moment and closed again. *model becomes what is certain. False: see proof->reason.
 */
static bool cut(const struct power_moment *moment, struct rng *rng, struct store_fixture *fixture,
                struct power_proof *proof)
{
    power_empty_directory(fixture->directory);
    power_snapshot_restore(moment->snapshot, rng, fixture->directory);
    power_vfs_begin(fixture->directory);
    total.cuts++;
    if (!power_check_store(fixture, proof, moment->model)) {
        return false;
    }
    store_close(fixture);
    power_check_backups(proof, fixture);
    total.backups_cut += proof->backups_cut;
    total.parts_refused += proof->parts_refused;
    total.parts_whole += proof->parts_whole;
    return proof->reason[0] == '\0';
}

/* The power fails while what a cut left is being recovered: what holds then is what held before. */
static bool cut_again(const struct power_moment *moment, struct rng *rng,
                      struct store_fixture *fixture, struct power_proof *proof)
{
    struct power_work recovery;
    bool holds;

    power_work_begin(&recovery, fixture, rng);
    recovery.share = 400;
    recovery.model = *moment->model;
    power_empty_directory(fixture->directory);
    power_snapshot_restore(moment->snapshot, rng, fixture->directory);
    power_work_watch(&recovery);
    holds = power_check_opens(fixture, proof);
    if (holds) {
        store_close(fixture);
    }
    power_vfs_observe(NULL, NULL);
    for (size_t i = 0; i < recovery.taken_count && holds; i++) {
        total.recoveries_cut++;
        holds = cut(&recovery.taken[i], rng, fixture, proof);
        if (holds && fixture->persist != NULL) {
            store_close(fixture);
        }
    }
    power_work_end(&recovery);
    return holds;
}

/*
 * All the cuts of a work; after `again` of a hundred there is another, during recovery. The last of
 * them is where the next work goes on: *model is its.
 */
static bool cut_everywhere(struct power_work *work, uint32_t again, struct store_fixture *after,
                           struct power_model *model, struct power_proof *proof)
{
    bool any = false;

    for (size_t i = 0; i < work->taken_count; i++) {
        for (unsigned j = 0; j < RESTORES; j++) {
            if (rng_chance(work->rng, again) &&
                !cut_again(&work->taken[i], work->rng, after, proof)) {
                return false;
            }
            if (!cut(&work->taken[i], work->rng, after, proof)) {
                return false;
            }
            *model = *work->taken[i].model;
            settle_model(model, proof);
            any = true;
        }
    }
    if (!any) { /* nothing was cut: nothing is left to go on with */
        power_empty_directory(after->directory);
        memset(model, 0, sizeof(*model));
    }
    return true;
}

/* --- chains ----------------------------------------------------------------------------------- */

/* Works one after the other, each on what a cut has left. False: see proof->reason. */
static bool run_chain(struct rng *rng, struct power_proof *proof,
                      const struct persist_sqlite_options *how, bool is_short)
{
    static struct power_work work;
    static struct power_model model;
    struct store_fixture fixtures[2];
    bool holds = true;

    memset(&model, 0, sizeof(model));
    for (unsigned i = 0; i < 2; i++) {
        store_fixture_init(&fixtures[i]);
        fixtures[i].options.relaxed = how->relaxed;
    }
    total.made++;
    for (unsigned i = 0; i < CHAIN && holds; i++) {
        struct store_fixture *before = &fixtures[i % 2];

        power_work_begin(&work, before, rng);
        work.model = model;
        work.is_short = is_short;
        power_work_do(&work);
        total.acknowledged += work.acknowledged;
        total.failed += work.failed;
        total.backups_whole += work.backups_whole;
        holds = cut_everywhere(&work, AGAIN, &fixtures[1 - i % 2], &model, proof);
        power_work_end(&work);
        if (model.next + POWER_OPERATIONS_MAX > POWER_NUMBERS_MAX) {
            break;
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        store_fixture_deinit(&fixtures[i]);
    }
    return holds;
}

/* --- tests ------------------------------------------------------------------------------------ */

static unsigned wanted_cuts(void)
{
    const char *text = getenv("HEARSAY_POWER_CUTS");

    if (text != NULL) {
        return (unsigned)strtoul(text, NULL, 10);
    }
    return pass_refuses_maps() ? CUTS / 3 : CUTS; /* once more; most of the code is the same */
}

TEST(test_power_cuts)
{
    static struct power_proof proof;
    const struct persist_sqlite_options how = {.relaxed = false};
    const unsigned wanted = wanted_cuts();
    struct rng rng;

    memset(&total, 0, sizeof(total));
    rng_init(&rng);
    /* So few cuts may be asked for that none meets a backup: then on for as long as that takes. */
    for (unsigned i = 0; i < 3 || total.cuts < wanted || (total.backups_cut == 0 && i < 200); i++) {
        if (!run_chain(&rng, &proof, &how, false)) {
            fail_msg("after %u cuts: %s", total.cuts, proof.reason);
        }
    }
    print_message("%u power cuts, %u of them during recovery; %u databases made; %u operations "
                  "acknowledged\n",
                  total.cuts, total.recoveries_cut, total.made, total.acknowledged);
    print_message("%u backups acknowledged; cuts left %u parts of one: %u were refused, %u whole\n",
                  total.backups_whole, total.backups_cut, total.parts_refused, total.parts_whole);
    assert_true(total.made > 0);
    assert_true(total.backups_whole > 0 && total.backups_cut > 0);
}

/* Storage that ends at some write, and then the power fails. */
TEST(test_power_cuts_on_a_full_disk)
{
    static struct power_proof proof;
    const struct persist_sqlite_options how = {.relaxed = false};
    const unsigned wanted = total.cuts + wanted_cuts() / 2;
    struct rng rng;

    rng_init(&rng);
    total.failed = 0;
    for (unsigned i = 0; total.cuts < wanted || (total.failed == 0 && i < 200); i++) {
        if (!run_chain(&rng, &proof, &how, true)) {
            fail_msg("after %u cuts: %s", total.cuts, proof.reason);
        }
    }
    print_message("%u operations failed for want of storage\n", total.failed);
    assert_true(total.failed > 0);
}

/* Restoring is cut: all is there or nothing, and then it can be restored again. */
TEST(test_power_cuts_while_a_backup_is_restored)
{
    static struct power_work work;
    static struct power_messages expected;
    const unsigned wanted = wanted_cuts() / 5;
    char path[POWER_PATH_BYTES];
    char reason[POWER_REASON_BYTES] = "";
    unsigned cuts = 0;
    struct rng rng;

    rng_init(&rng);
    while (cuts < wanted) {
        struct store_fixture from;
        struct store_fixture into;

        store_fixture_init(&from);
        store_fixture_init(&into);
        power_work_make_backup(&work, &from, &rng, path);
        if (power_restore(&into, path, &expected, reason) != 0 ||
            !power_cut_restoring(&into, path, &expected, &rng, &cuts, reason)) {
            fail_msg("after %u cuts: %s", cuts, reason);
        }
        power_work_end(&work);
        store_fixture_deinit(&into);
        store_fixture_deinit(&from);
    }
    print_message("%u power cuts while a backup was restored\n", cuts);
}

/*
 * A database is made in several steps, and the power may fail in each, and again while what is left
 * is mended.
 */
TEST(test_power_cuts_while_a_database_is_made)
{
    static struct power_work work;
    static struct power_model model;
    static struct power_proof proof;
    const unsigned wanted = total.cuts + wanted_cuts() / 2;
    struct store_fixture before;
    struct store_fixture after;
    struct rng rng;

    rng_init(&rng);
    store_fixture_init(&after);
    while (total.cuts < wanted) {
        store_fixture_init(&before);
        power_work_begin(&work, &before, &rng);
        work.share = 400;
        work.batches = 1;
        power_work_do(&work);
        if (!cut_everywhere(&work, 80, &after, &model, &proof)) {
            fail_msg("after %u cuts: %s", total.cuts, proof.reason);
        }
        power_work_end(&work);
        store_fixture_deinit(&before);
    }
    store_fixture_deinit(&after);
    print_message("%u power cuts in all\n", total.cuts);
}

/* Whether a chain breaks a promise, tried often enough. */
static bool breaks_soon(const struct persist_sqlite_options *how, struct power_proof *proof)
{
    enum { TRIES = 60 };
    struct rng rng;
    bool broken = false;

    rng_init(&rng);
    for (unsigned i = 0; i < TRIES && !broken; i++) {
        broken = !run_chain(&rng, proof, how, false);
    }
    return broken;
}

/* If this did not find anything, test_power_cuts would prove nothing. */
TEST(test_storage_that_does_not_sync_is_found_out)
{
    static struct power_proof proof;
    const struct persist_sqlite_options how = {.relaxed = false};

    power_vfs_ignore_syncs(true);
    const bool broken = breaks_soon(&how, &proof);
    power_vfs_ignore_syncs(false);
    assert_true(broken);
    print_message("without syncs: %s\n", proof.reason);
}

/* `relaxed` says that the last messages may be lost, and they are; nothing else is wrong. If
 * nothing is left of a message that was lost, because its removal was asked for as well, its number
 * would be given again. */
TEST(test_relaxed_loses_messages_and_nothing_else)
{
    static struct power_proof proof;
    const struct persist_sqlite_options how = {.relaxed = true};

    assert_true(breaks_soon(&how, &proof));
    print_message("relaxed: %s\n", proof.reason);
    assert_true(strstr(proof.reason, "is lost") != NULL ||
                strstr(proof.reason, "is there again") != NULL ||
                strstr(proof.reason, "would be given again") != NULL);
}

/* --- the clock is set ------------------------------------------------------------------------- */

enum { SET_MESSAGES = 300, SET_FROM = 100, SET_MS = 1000000, SET_MOMENTS = 100 };

struct moments {
    struct power_snapshot *taken[SET_MOMENTS + 1];
    size_t count;
};

static void take_moment(void *context)
{
    struct moments *moments = context;

    if (moments->count < SET_MOMENTS) {
        moments->taken[moments->count++] = power_vfs_snapshot();
    }
}

/* Either all messages from SET_FROM on have moved, and the clock with them, or nothing has. Returns
 * whether they have. */
static bool have_moved(struct store_fixture *fixture)
{
    static struct power_messages messages;
    struct persist_info info;

    memset(&messages, 0, sizeof(messages));
    store_open(fixture);
    fixture->persist->interface->info(fixture->persist, &info);
    assert_int_equal(fixture->persist->interface->replay(fixture->persist, power_note_message,
                                                         &messages, fixture->reason),
                     0);
    store_close(fixture);
    const bool has_moved = info.clock_ms == SET_MESSAGES + SET_MS;
    assert_true(has_moved || info.clock_ms == SET_MESSAGES);
    for (uint32_t i = 0; i < SET_MESSAGES; i++) {
        assert_true(messages.found[i]);
        assert_true(messages.deposited_ms[i] == i + 1 + (has_moved && i >= SET_FROM ? SET_MS : 0));
    }
    return has_moved;
}

static void set_clock_watched(struct store_fixture *fixture, struct moments *moments)
{
    struct store_op op;

    power_vfs_begin(fixture->directory);
    store_open(fixture);
    for (uint32_t i = 0; i < SET_MESSAGES; i++) {
        store_make_deposit(fixture, &op, i, i + 1, POWER_LATER_MS);
        op.op.message.epoch = 0;
        assert_int_equal(store_do(fixture, &op), PERSIST_APPLIED);
    }
    store_make_expire(&op, SET_MESSAGES + SET_MS, 1);
    op.op.kind = PERSIST_SHIFT;
    op.op.message.seq = 1;
    op.op.shift_from_ms = SET_FROM + 1;
    op.op.shift_ms = SET_MS;
    power_vfs_observe(take_moment, moments);
    assert_int_equal(store_do(fixture, &op), PERSIST_APPLIED);
    power_vfs_observe(NULL, NULL);
    moments->taken[moments->count++] = power_vfs_snapshot(); /* it is acknowledged */
    store_close(fixture);
}

TEST(test_power_cuts_while_the_clock_is_set)
{
    struct moments moments = {.count = 0};
    struct store_fixture before;
    struct store_fixture after;
    struct rng rng;
    unsigned cuts = 0;
    unsigned moved = 0;

    rng_init(&rng);
    store_fixture_init(&before);
    store_fixture_init(&after);
    set_clock_watched(&before, &moments);
    for (size_t i = 0; i < moments.count; i++) {
        for (unsigned j = 0; j < STEP_RESTORES; j++) {
            power_empty_directory(after.directory);
            power_snapshot_restore(moments.taken[i], &rng, after.directory);
            power_vfs_begin(after.directory);
            const bool has_moved = have_moved(&after);
            assert_true(has_moved || i + 1 < moments.count);
            moved += has_moved;
            cuts++;
        }
        power_snapshot_free(moments.taken[i]);
    }
    store_fixture_deinit(&after);
    store_fixture_deinit(&before);
    print_message("%u power cuts while the clock was set; %u after all had moved\n", cuts, moved);
    assert_true(moved > 0 && moved < cuts);
}

int main(void)
{
    log_set_level(LOG_LEVEL_ERROR);
    power_vfs_install();
    return check_run(NULL, NULL);
}
