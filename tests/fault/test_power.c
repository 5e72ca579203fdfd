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
#include "daemon/persist_sqlite.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/log.h"
#include "daemon/service.h"
#include "tests/fault/power_backup.h"
#include "tests/lib/check.h"
#include "tests/lib/power_vfs.h"
#include "tests/lib/rng.h"
#include "tests/lib/store_fixture.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { CUTS = 250 };
#else
enum { CUTS = 2200 };
#endif

enum {
    NUMBERS_MAX = POWER_NUMBERS_MAX, /* of messages in one chain of works and cuts */
    BATCH_MAX = 40,                  /* operations that are submitted together */
    BATCHES = 12,                    /* in one work */
    SNAPSHOTS_MAX = 10,              /* taken during one work, */
    SNAPSHOTS_OF_BACKUPS = 10,       /* and so many more while backups are made */
    BACKUPS_MAX = 2,                 /* in one work */
    RESTORES = 3,                    /* cuts at the same moment, each with other remains */
    CHAIN = 6,                       /* works, each on what a cut left of the one before */
    OLD_MESSAGES = 30,               /* in the old databases of tests/data */
    LATER = 100000000,
    REASON_BYTES = POWER_REASON_BYTES
};

/* What is known of a message. */
enum {
    ASKED = 1,         /* its deposit was submitted */
    KEPT = 2,          /* and acknowledged */
    REMOVAL_ASKED = 4, /* its withdrawal, or an expiry that it has to go with */
    REMOVED = 8        /* and acknowledged */
};

/* A copy of the store: what was known as it was asked for, and as it was acknowledged. */
struct backup {
    uint8_t before[NUMBERS_MAX]; /* fates */
    uint8_t after[NUMBERS_MAX];
    bool is_done;
};

struct model {
    uint8_t fates[NUMBERS_MAX];
    struct backup backups[BACKUPS_MAX];
    uint32_t backup_count; /* asked for, one after the other */
    int64_t expires_ms[NUMBERS_MAX];
    uint32_t next;
    int64_t now_ms;
};

struct moment {
    struct power_snapshot *snapshot;
    struct model *model;
};

struct work {
    struct rng *rng;
    struct store_fixture *fixture;
    pthread_mutex_t mutex; /* guards what follows: the store's thread takes snapshots */
    struct model model;
    struct rng moments; /* the store's thread's own, so that one seed is one run of the loop's */
    struct moment taken[SNAPSHOTS_MAX + SNAPSHOTS_OF_BACKUPS];
    size_t taken_count;
    bool is_backing_up;
    size_t usual_count; /* of the snapshots that were not of a backup */
    uint32_t share;     /* of changes before which a snapshot is taken, per thousand */
    uint32_t batches;   /* of operations */
    uint32_t backups;   /* at most */
    uint32_t again;     /* of cuts after which there is another, in hundredths */
};

/* A figure for the report. */
static struct {
    unsigned cuts;
    unsigned recoveries_cut;
    unsigned migrated;
    unsigned made;
    unsigned acknowledged;
    unsigned backups_whole;
    unsigned backups_cut;
    unsigned parts_refused;
    unsigned parts_whole;
} total;

/* --- snapshots -------------------------------------------------------------------------------- */

static bool takes_snapshot(struct work *work)
{
    if (work->is_backing_up && work->taken_count - work->usual_count < SNAPSHOTS_OF_BACKUPS) {
        return rng_below(&work->moments, 100) < 12;
    }
    if (work->usual_count >= SNAPSHOTS_MAX || rng_below(&work->moments, 1000) >= work->share) {
        return false;
    }
    work->usual_count++;
    return true;
}

static void before_change(void *context)
{
    struct work *work = context;

    (void)pthread_mutex_lock(&work->mutex);
    if (takes_snapshot(work)) {
        struct moment *moment = &work->taken[work->taken_count++];

        moment->model = malloc(sizeof(*moment->model));
        assert_non_null(moment->model);
        *moment->model = work->model;
        moment->snapshot = power_vfs_snapshot();
    }
    (void)pthread_mutex_unlock(&work->mutex);
}

static void forget_moments(struct work *work)
{
    for (size_t i = 0; i < work->taken_count; i++) {
        power_snapshot_free(work->taken[i].snapshot);
        free(work->taken[i].model);
    }
    work->taken_count = 0;
    work->usual_count = 0;
}

/* --- work ------------------------------------------------------------------------------------- */

/* An operation that knows its work: `done` has nothing else. */
struct asked {
    struct store_op op; /* first */
    struct work *work;
    uint32_t number;
    unsigned *left;
};

static void note_deposit(struct model *model, const struct asked *asked)
{
    switch (asked->op.op.outcome) {
    case PERSIST_APPLIED:
    case PERSIST_DUPLICATE:
        model->fates[asked->number] |= KEPT;
        total.acknowledged++;
        break;
    case PERSIST_GONE:
        assert_true((model->fates[asked->number] & REMOVAL_ASKED) != 0);
        model->fates[asked->number] |= REMOVED;
        break;
    default:
        fail_msg("deposit %u: outcome %d: %s", asked->number, asked->op.op.outcome,
                 asked->op.op.reason);
    }
}

static void on_done(struct persist_op *op)
{
    struct asked *asked = (struct asked *)(void *)op;
    struct work *work = asked->work;
    struct model *model = &work->model;

    (void)pthread_mutex_lock(&work->mutex);
    if (op->kind == PERSIST_DEPOSIT) {
        note_deposit(model, asked);
    } else if (op->kind == PERSIST_WITHDRAW) {
        assert_true(op->outcome == PERSIST_APPLIED || op->outcome == PERSIST_NOT_FOUND);
        model->fates[asked->number] |= REMOVED;
        total.acknowledged++;
    } else {
        assert_int_equal(op->outcome, PERSIST_APPLIED);
        for (uint32_t i = 0; i < op->removed_count; i++) {
            model->fates[power_number(op->removed[i].id)] |= REMOVED;
        }
    }
    (*asked->left)--;
    (void)pthread_mutex_unlock(&work->mutex);
}

/* A message that somebody may have: any number that was used. */
static uint32_t some_number(struct work *work)
{
    return rng_below(work->rng, work->model.next);
}

static void make_deposit(struct work *work, struct asked *asked, uint32_t number)
{
    struct model *model = &work->model;

    if ((model->fates[number] & ASKED) == 0) {
        model->expires_ms[number] =
            rng_chance(work->rng, 30) ? model->now_ms + 1 + rng_below(work->rng, 40) : LATER;
    }
    asked->number = number;
    model->fates[number] |= ASKED;
    store_make_deposit(work->fixture, &asked->op, number, model->now_ms, model->expires_ms[number]);
    asked->op.op.message.epoch = 0; /* the one that every host has */
}

static void make_withdrawal(struct work *work, struct asked *asked, uint32_t number)
{
    asked->number = number;
    work->model.fates[number] |= REMOVAL_ASKED;
    store_make_withdraw(work->fixture, &asked->op, number, work->model.now_ms);
}

static void make_expiry(struct work *work, struct asked *asked)
{
    struct model *model = &work->model;

    for (uint32_t i = 0; i < model->next; i++) {
        if (model->expires_ms[i] <= model->now_ms) {
            model->fates[i] |= REMOVAL_ASKED;
        }
    }
    store_make_expire(&asked->op, model->now_ms, 1 + rng_below(work->rng, PERSIST_EXPIRE_MAX));
}

/* Only what does not expire is sent again or withdrawn: a message has one way to go. */
static bool stays(const struct model *model, uint32_t number)
{
    return (model->fates[number] & ASKED) != 0 && model->expires_ms[number] == LATER;
}

static void make_op(struct work *work, struct asked *asked)
{
    struct model *model = &work->model;
    const uint32_t kind = rng_below(work->rng, 100);
    const uint32_t number = model->next > 0 ? some_number(work) : 0;

    if (kind < 8) {
        make_expiry(work, asked);
    } else if (kind < 28 && stays(model, number) && number % 7 != 0) { /* those have no token */
        make_withdrawal(work, asked, number);
    } else if (kind < 33 && stays(model, number)) {
        make_deposit(work, asked, number);
    } else {
        make_deposit(work, asked, model->next++);
    }
    asked->op.op.done = on_done;
}

/* A backup that knows its work. */
struct copying {
    struct persist_job job; /* first */
    char path[STORE_PATH_BYTES + 32];
    struct work *work;
    unsigned *left;
};

static void name_backup(const struct store_fixture *fixture, uint32_t number, const char *suffix,
                        char out_path[STORE_PATH_BYTES + 32])
{
    (void)snprintf(out_path, STORE_PATH_BYTES + 32, "%s/backup-%u%s", fixture->directory, number,
                   suffix);
}

static void on_copied(struct persist_job *job)
{
    struct copying *copying = (struct copying *)(void *)job;
    struct work *work = copying->work;
    struct backup *backup;

    if (job->failed) {
        fail_msg("backup: %s", job->reason);
    }
    (void)pthread_mutex_lock(&work->mutex);
    backup = &work->model.backups[work->model.backup_count - 1];
    memcpy(backup->after, work->model.fates, sizeof(backup->after));
    backup->is_done = true;
    work->is_backing_up = false;
    total.backups_whole++;
    (void)pthread_mutex_unlock(&work->mutex);
    (*copying->left)--;
}

static void begin_copying(struct work *work, struct copying *copying, unsigned *left)
{
    struct model *model = &work->model;
    struct backup *backup;

    (void)pthread_mutex_lock(&work->mutex);
    backup = &model->backups[model->backup_count];
    memcpy(backup->before, model->fates, sizeof(backup->before));
    backup->is_done = false;
    memset(copying, 0, sizeof(*copying));
    copying->job.kind = PERSIST_BACKUP;
    copying->job.path = copying->path;
    copying->job.done = on_copied;
    copying->work = work;
    copying->left = left;
    name_backup(work->fixture, model->backup_count++, "", copying->path);
    work->is_backing_up = true;
    (*left)++;
    (void)pthread_mutex_unlock(&work->mutex);
    assert_true(
        work->fixture->persist->interface->begin_job(work->fixture->persist, &copying->job));
}

static void run_batch(struct work *work)
{
    struct persist *persist = work->fixture->persist;
    const unsigned count = 1 + rng_below(work->rng, BATCH_MAX);
    struct asked *asked = calloc(count, sizeof(*asked));
    struct copying copying;
    unsigned left = count;

    assert_non_null(asked);
    if (work->model.backup_count < work->backups && rng_chance(work->rng, 40)) {
        begin_copying(work, &copying, &left); /* what follows is written while it is made */
    }
    (void)pthread_mutex_lock(&work->mutex);
    work->model.now_ms += rng_below(work->rng, 20);
    for (unsigned i = 0; i < count; i++) {
        make_op(work, &asked[i]);
        asked[i].work = work;
        asked[i].left = &left;
    }
    (void)pthread_mutex_unlock(&work->mutex);
    for (unsigned i = 0; i < count; i++) {
        persist->interface->submit(persist, &asked[i].op.op);
    }
    while (left > 0) {
        (void)uv_run(&work->fixture->loop, UV_RUN_ONCE);
    }
    free(asked);
}

/* --- what is left ----------------------------------------------------------------------------- */

/* A store that was opened after a cut, as a service sees it. */
struct proof {
    const struct model *model;
    struct power_messages messages;
    char reason[REASON_BYTES];
};

/* Notes the first thing that is wrong. */
static void complain(struct proof *proof, const char *text, uint32_t number)
{
    if (proof->reason[0] == '\0') {
        (void)snprintf(proof->reason, sizeof(proof->reason), "message %u: %s (fate %u)", number,
                       text, number < NUMBERS_MAX ? proof->model->fates[number] : 0);
    }
}

static void check_fates(struct proof *proof)
{
    for (uint32_t i = 0; i < NUMBERS_MAX; i++) {
        const uint8_t fate = proof->model->fates[i];

        if (proof->messages.found[i] && (fate & ASKED) == 0) {
            complain(proof, "nobody left it", i);
        } else if (proof->messages.found[i] && (fate & REMOVED) != 0) {
            complain(proof, "it was removed, and is there again", i);
        } else if (!proof->messages.found[i] && (fate & (KEPT | REMOVAL_ASKED)) == KEPT) {
            complain(proof, "it was acknowledged, and is lost", i);
        }
    }
}

static void read_clocks(void *context, int64_t *out_wall_ms, int64_t *out_monotonic_ms)
{
    *out_wall_ms = *out_monotonic_ms = *(const int64_t *)context;
}

static void check_index(struct proof *proof, struct service *service)
{
    const struct host *host = service_host(service, NULL);
    size_t indexed = 0;

    for (size_t i = 0; i < host->epoch_count; i++) {
        const char *wrong = index_check(host->epochs[i]->index);

        if (wrong != NULL) {
            complain(proof, wrong, 0);
        }
    }
    for (uint32_t i = 0; i < NUMBERS_MAX; i++) {
        struct store_fixture fixture = {.host = host->number};
        struct store_op op;

        store_make_withdraw(&fixture, &op, i, 0); /* only for its id */
        const bool is_indexed = host_find(host, op.op.message.id, NULL, NULL, NULL) == 0;
        const bool is_over = proof->model->expires_ms[i] <= service_now_ms(service);

        indexed += is_indexed;
        if (is_indexed && !proof->messages.found[i]) {
            complain(proof, "the index has it, the store does not", i);
        } else if (!is_indexed && proof->messages.found[i] && !is_over) {
            complain(proof, "the store has it, the index does not", i);
        }
    }
    if (indexed != host_count(host)) {
        complain(proof, "the index has others, too", 0);
    }
}

/* The service that a daemon would make of this store. */
static void check_service(struct proof *proof, struct persist *persist)
{
    static struct config config;
    char reason[CONFIG_REASON_BYTES];
    int64_t now_ms = proof->model->now_ms;
    struct service *service = NULL;
    const struct service_options options = {.alloc = alloc_system(),
                                            .config = &config,
                                            .persist = persist,
                                            .hash_seed = 7,
                                            .read_clocks = read_clocks,
                                            .clock_context = &now_ms};

    config_defaults(&config);
    (void)snprintf(config.data, sizeof(config.data), "/nowhere");
    assert_int_equal(config_finish(&config, reason), 0);
    if (service_new(&options, &service, reason) != 0) {
        (void)snprintf(proof->reason, sizeof(proof->reason), "no service: %.900s", reason);
        return;
    }
    check_index(proof, service);
    service_free(service);
}

/* Opens what a cut left. False, with a reason, where it does not open; it is closed then. */
static bool open_what_is_left(struct store_fixture *fixture, struct proof *proof)
{
    if (store_try_open(fixture) == 0) {
        return true;
    }
    (void)snprintf(proof->reason, sizeof(proof->reason), "it does not open: %s", fixture->reason);
    if (fixture->persist != NULL) {
        store_close(fixture);
    }
    (void)uv_run(&fixture->loop, UV_RUN_DEFAULT);
    return false;
}

/* Checks what a cut left. False, with a reason, where a promise was broken. */
static bool check_store(struct store_fixture *fixture, struct proof *proof,
                        const struct model *model)
{
    memset(proof, 0, sizeof(*proof));
    proof->model = model;
    if (!open_what_is_left(fixture, proof)) {
        return false;
    }
    if (fixture->persist->interface->replay(fixture->persist, power_note_message, &proof->messages,
                                            fixture->reason) != 0) {
        (void)snprintf(proof->reason, sizeof(proof->reason), "it cannot be read: %s",
                       fixture->reason);
    }
    if (proof->reason[0] == '\0') {
        check_fates(proof);
    }
    if (proof->reason[0] == '\0') {
        check_service(proof, fixture->persist);
    }
    return proof->reason[0] == '\0';
}

/* --- backups ---------------------------------------------------------------------------------- */

/*
 * What a backup has, against what was known as it was asked for and at a later moment: all that was
 * there in between, nothing that was gone before or nobody left.
 */
static void check_copy(struct proof *proof, const struct backup *backup, const uint8_t *after,
                       const struct power_messages *messages)
{
    for (uint32_t i = 0; i < NUMBERS_MAX; i++) {
        const uint8_t before = backup->before[i];
        const bool is_kept = (before & KEPT) != 0 && (after[i] & REMOVAL_ASKED) == 0;

        if (messages->found[i] && (after[i] & ASKED) == 0) {
            complain(proof, "the backup has it, and nobody left it", i);
        } else if (messages->found[i] && (before & REMOVED) != 0) {
            complain(proof, "it was removed, and the backup has it", i);
        } else if (!messages->found[i] && is_kept) {
            complain(proof, "it was acknowledged, and the backup has lost it", i);
        }
    }
}

/* A copy that has its name is whole; one that was acknowledged has it. */
static void check_backup(struct proof *proof, const struct store_fixture *from, uint32_t number,
                         struct store_fixture *restored)
{
    static struct power_messages messages;
    const struct backup *backup = &proof->model->backups[number];
    const uint8_t *after = backup->is_done ? backup->after : proof->model->fates;
    char path[STORE_PATH_BYTES + 32];
    char reason[REASON_BYTES];

    name_backup(from, number, "", path);
    if (access(path, F_OK) != 0) {
        if (backup->is_done) {
            complain(proof, "a backup was acknowledged, and is not there", 0);
        }
        return;
    }
    if (power_restore(restored, path, &messages, reason) != 0) {
        (void)snprintf(proof->reason, sizeof(proof->reason), "backup: %.900s", reason);
        return;
    }
    check_copy(proof, backup, after, &messages);
}

/*
 * The part that a cut leaves has a name of its own, by which one knows that it is no backup. Who
 * restores it all the same is refused, or has whole messages that somebody left.
 */
static void check_part(struct proof *proof, const struct store_fixture *from, uint32_t number,
                       struct store_fixture *restored)
{
    static struct power_messages messages;
    char path[STORE_PATH_BYTES + 32];
    char reason[REASON_BYTES];

    name_backup(from, number, ".part", path);
    if (access(path, F_OK) != 0) {
        return;
    }
    total.backups_cut++;
    switch (power_restore(restored, path, &messages, reason)) {
    case 0:
        total.parts_whole++;
        for (uint32_t i = 0; i < NUMBERS_MAX; i++) {
            if (messages.found[i] && (proof->model->fates[i] & ASKED) == 0) {
                complain(proof, "the part has it, and nobody left it", i);
            }
        }
        break;
    case POWER_REFUSED:
        total.parts_refused++;
        break;
    default:
        (void)snprintf(proof->reason, sizeof(proof->reason), "part: %.900s", reason);
        break;
    }
}

/* Checks the backups that a cut left beside the store, and takes them away. */
static void check_backups(struct proof *proof, const struct store_fixture *from)
{
    struct store_fixture restored;
    char path[STORE_PATH_BYTES + 32];

    if (proof->model->backup_count == 0) {
        return;
    }
    store_fixture_init(&restored);
    for (uint32_t i = 0; i < proof->model->backup_count && proof->reason[0] == '\0'; i++) {
        check_part(proof, from, i, &restored);
        check_backup(proof, from, i, &restored);
        name_backup(from, i, "", path);
        (void)unlink(path); /* or the next work's would meet it */
        name_backup(from, i, ".part", path);
        (void)unlink(path);
    }
    store_fixture_deinit(&restored);
}

/* --- one work, and cuts in it ----------------------------------------------------------------- */

static void begin_work(struct work *work, struct store_fixture *fixture, struct rng *rng)
{
    memset(work, 0, sizeof(*work));
    (void)pthread_mutex_init(&work->mutex, NULL);
    work->rng = rng;
    work->fixture = fixture;
    work->moments = (struct rng){.state = rng_next(rng)};
    /* The first changes are those of opening; many works are cut there. */
    work->share = rng_chance(rng, 30) ? 300 : 15;
    work->batches = rng_below(rng, BATCHES);
    work->backups = rng_chance(rng, 50) ? 1 + rng_below(rng, BACKUPS_MAX) : 0;
    work->again = 10;
}

/* Opens, works and closes, while snapshots are taken. */
static void do_work(struct work *work)
{
    struct store_fixture *fixture = work->fixture;

    power_vfs_begin(fixture->directory);
    power_vfs_observe(before_change, work);
    fixture->options.scrub_after_ms = rng_chance(work->rng, 50) ? 1 : 0;
    fixture->options.gather_ms = rng_chance(work->rng, 20) ? 1 : 0;
    store_open(fixture);
    for (uint32_t i = 0; i < work->batches; i++) {
        run_batch(work);
    }
    store_close(fixture);
    power_vfs_observe(NULL, NULL);
}

/* What was uncertain at the cut is certain now. */
static void settle_model(struct model *model, const struct proof *proof)
{
    model->backup_count = 0;
    for (uint32_t i = 0; i < NUMBERS_MAX; i++) {
        if (proof->messages.found[i]) {
            model->fates[i] = ASKED | KEPT;
        } else if (model->fates[i] != 0) {
            model->fates[i] = ASKED | REMOVAL_ASKED | REMOVED;
            model->expires_ms[i] = 0; /* never sent again */
        }
    }
}

/*
 * Cuts the power at that moment, and checks what is left; it is in the fixture's directory then,
 * open for a moment and closed again. *model becomes what is certain. False: see proof->reason.
 */
static bool cut(const struct moment *moment, struct rng *rng, struct store_fixture *fixture,
                struct proof *proof)
{
    power_empty_directory(fixture->directory);
    power_snapshot_restore(moment->snapshot, rng, fixture->directory);
    power_vfs_begin(fixture->directory);
    total.cuts++;
    if (!check_store(fixture, proof, moment->model)) {
        return false;
    }
    store_close(fixture);
    check_backups(proof, fixture);
    return proof->reason[0] == '\0';
}

/* The power fails while what a cut left is being recovered: what holds then is what held before. */
static bool cut_again(const struct moment *moment, struct rng *rng, struct store_fixture *fixture,
                      struct proof *proof)
{
    struct work recovery;
    bool holds;

    begin_work(&recovery, fixture, rng);
    recovery.share = 400;
    recovery.model = *moment->model;
    power_empty_directory(fixture->directory);
    power_snapshot_restore(moment->snapshot, rng, fixture->directory);
    power_vfs_begin(fixture->directory);
    power_vfs_observe(before_change, &recovery);
    holds = open_what_is_left(fixture, proof);
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
    forget_moments(&recovery);
    return holds;
}

/* All the cuts of a work. The last of them is where the next work goes on: *model is its. */
static bool cut_everywhere(struct work *work, struct store_fixture *after, struct model *model,
                           struct proof *proof)
{
    bool any = false;

    for (size_t i = 0; i < work->taken_count; i++) {
        for (unsigned j = 0; j < RESTORES; j++) {
            if (rng_chance(work->rng, work->again) &&
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

/* The oldest schema, with messages 0 .. OLD_MESSAGES - 1, as its hearsayd left it. */
static void put_old_database(struct store_fixture *fixture, struct model *model)
{
    char command[sizeof(TEST_DATA) + STORE_PATH_BYTES + 64];

    (void)snprintf(command, sizeof(command), "cp '%s/store-v1.db' '%s'", TEST_DATA, fixture->file);
    assert_int_equal(system(command), 0);
    for (uint32_t i = 0; i < OLD_MESSAGES; i++) {
        model->fates[i] = ASKED | KEPT;
        model->expires_ms[i] = LATER;
    }
    model->next = OLD_MESSAGES;
    model->now_ms = 10;
    total.migrated++;
}

/* Works one after the other, each on what a cut has left. False: see proof->reason. */
static bool run_chain(struct rng *rng, struct proof *proof,
                      const struct persist_sqlite_options *how, bool begins_old)
{
    static struct work work;
    static struct model model;
    struct store_fixture fixtures[2];
    bool holds = true;

    memset(&model, 0, sizeof(model));
    for (unsigned i = 0; i < 2; i++) {
        store_fixture_init(&fixtures[i]);
        fixtures[i].options.relaxed = how->relaxed;
    }
    if (begins_old) {
        put_old_database(&fixtures[0], &model);
    } else {
        total.made++;
    }
    for (unsigned i = 0; i < CHAIN && holds; i++) {
        struct store_fixture *before = &fixtures[i % 2];

        begin_work(&work, before, rng);
        work.model = model;
        do_work(&work);
        holds = cut_everywhere(&work, &fixtures[1 - i % 2], &model, proof);
        forget_moments(&work);
        (void)pthread_mutex_destroy(&work.mutex);
        if (model.next + BATCHES * BATCH_MAX > NUMBERS_MAX) {
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

    return text != NULL ? (unsigned)strtoul(text, NULL, 10) : CUTS;
}

static void test_power_cuts(void **state)
{
    static struct proof proof;
    const struct persist_sqlite_options how = {.relaxed = false};
    const unsigned wanted = wanted_cuts();
    struct rng rng;

    (void)state;
    memset(&total, 0, sizeof(total));
    rng_init(&rng);
    /* So few cuts may be asked for that none meets a backup: then on for as long as that takes. */
    for (unsigned i = 0; i < 3 || total.cuts < wanted || (total.backups_cut == 0 && i < 200); i++) {
        if (!run_chain(&rng, &proof, &how, i % 3 == 1)) {
            fail_msg("after %u cuts: %s", total.cuts, proof.reason);
        }
    }
    print_message("%u power cuts, %u of them during recovery; %u databases made, %u old ones; %u "
                  "operations acknowledged\n",
                  total.cuts, total.recoveries_cut, total.made, total.migrated, total.acknowledged);
    print_message("%u backups acknowledged; cuts left %u parts of one: %u were refused, %u whole\n",
                  total.backups_whole, total.backups_cut, total.parts_refused, total.parts_whole);
    assert_true(total.migrated > 0 && total.made > 0);
    assert_true(total.backups_whole > 0 && total.backups_cut > 0);
}

/* A store with something in it, as `work` left it, and its backup. */
static void make_backup(struct work *work, struct store_fixture *fixture, struct rng *rng,
                        char path[STORE_PATH_BYTES + 32])
{
    struct copying copying;
    unsigned left = 0;

    begin_work(work, fixture, rng);
    work->backups = 0;
    power_vfs_begin(fixture->directory);
    store_open(fixture);
    for (uint32_t i = 0; i < 3; i++) {
        run_batch(work);
    }
    begin_copying(work, &copying, &left);
    while (left > 0) {
        (void)uv_run(&fixture->loop, UV_RUN_ONCE);
    }
    memcpy(path, copying.path, sizeof(copying.path));
    store_close(fixture);
}

/* Restoring is cut: all is there or nothing, and then it can be restored again. */
static void test_power_cuts_while_a_backup_is_restored(void **state)
{
    static struct work work;
    static struct power_messages expected;
    const unsigned wanted = wanted_cuts() / 5;
    char path[STORE_PATH_BYTES + 32];
    char reason[REASON_BYTES] = "";
    unsigned cuts = 0;
    struct rng rng;

    (void)state;
    rng_init(&rng);
    while (cuts < wanted) {
        struct store_fixture from;
        struct store_fixture into;

        store_fixture_init(&from);
        store_fixture_init(&into);
        make_backup(&work, &from, &rng, path);
        if (power_restore(&into, path, &expected, reason) != 0 ||
            !power_cut_restoring(&into, path, &expected, &rng, &cuts, reason)) {
            fail_msg("after %u cuts: %s", cuts, reason);
        }
        (void)pthread_mutex_destroy(&work.mutex);
        store_fixture_deinit(&into);
        store_fixture_deinit(&from);
    }
    print_message("%u power cuts while a backup was restored\n", cuts);
}

/*
 * A database is made in several steps, and the power may fail in each, and again while what is left
 * is mended.
 */
static void test_power_cuts_while_a_database_is_made(void **state)
{
    static struct work work;
    static struct model model;
    static struct proof proof;
    const unsigned wanted = total.cuts + wanted_cuts() / 2;
    struct store_fixture before;
    struct store_fixture after;
    struct rng rng;

    (void)state;
    rng_init(&rng);
    store_fixture_init(&after);
    while (total.cuts < wanted) {
        store_fixture_init(&before);
        begin_work(&work, &before, &rng);
        work.share = 400;
        work.batches = 1;
        work.again = 80;
        do_work(&work);
        if (!cut_everywhere(&work, &after, &model, &proof)) {
            fail_msg("after %u cuts: %s", total.cuts, proof.reason);
        }
        forget_moments(&work);
        store_fixture_deinit(&before);
    }
    store_fixture_deinit(&after);
    print_message("%u power cuts in all\n", total.cuts);
}

/* Whether a chain breaks a promise, tried often enough. */
static bool breaks_soon(const struct persist_sqlite_options *how, struct proof *proof)
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
static void test_storage_that_does_not_sync_is_found_out(void **state)
{
    static struct proof proof;
    const struct persist_sqlite_options how = {.relaxed = false};

    (void)state;
    power_vfs_ignore_syncs(true);
    const bool broken = breaks_soon(&how, &proof);
    power_vfs_ignore_syncs(false);
    assert_true(broken);
    print_message("without syncs: %s\n", proof.reason);
}

/* `relaxed` says that the last messages may be lost, and they are; nothing else is wrong. */
static void test_relaxed_loses_messages_and_nothing_else(void **state)
{
    static struct proof proof;
    const struct persist_sqlite_options how = {.relaxed = true};

    (void)state;
    assert_true(breaks_soon(&how, &proof));
    print_message("relaxed: %s\n", proof.reason);
    assert_true(strstr(proof.reason, "is lost") != NULL ||
                strstr(proof.reason, "is there again") != NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_power_cuts),
        cmocka_unit_test(test_power_cuts_while_a_database_is_made),
        cmocka_unit_test(test_power_cuts_while_a_backup_is_restored),
        cmocka_unit_test(test_storage_that_does_not_sync_is_found_out),
        cmocka_unit_test(test_relaxed_loses_messages_and_nothing_else),
    };

    log_set_level(LOG_LEVEL_ERROR);
    cmocka_set_test_filter(getenv("HEARSAY_TEST"));
    power_vfs_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
