/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fault/power_work.h"

#include "tests/lib/check.h"
#include "tests/lib/pass_vfs.h"

enum {
    BATCH_MAX = 40, /* operations that are submitted together */
    BATCHES = POWER_OPERATIONS_MAX / BATCH_MAX,
    SNAPSHOTS_MAX = 10,                                      /* taken during one work, */
    SNAPSHOTS_OF_BACKUPS = POWER_MOMENTS_MAX - SNAPSHOTS_MAX /* and while backups are made */
};

/* --- snapshots -------------------------------------------------------------------------------- */

static bool takes_snapshot(struct power_work *work)
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
    struct power_work *work = context;

    (void)pthread_mutex_lock(&work->mutex);
    if (takes_snapshot(work)) {
        struct power_moment *moment = &work->taken[work->taken_count++];

        moment->model = malloc(sizeof(*moment->model));
        assert_non_null(moment->model);
        *moment->model = work->model;
        moment->snapshot = power_vfs_snapshot();
    }
    (void)pthread_mutex_unlock(&work->mutex);
}

void power_work_watch(struct power_work *work)
{
    power_vfs_begin(work->fixture->directory);
    power_vfs_observe(before_change, work);
}

/* --- operations ------------------------------------------------------------------------------- */

/* An operation that knows its work: `done` has nothing else. */
struct asked {
    struct store_op op; /* first */
    struct power_work *work;
    uint32_t number;
    unsigned *left;
    struct persist_rule notice;
    struct persist_decision decision;
};

/* What happens to a message that goes happens to the answer to it, too. */
static void mark(struct power_model *model, uint32_t number, uint8_t fate)
{
    model->fates[number] |= fate;
    if (number + 1 < POWER_NUMBERS_MAX && power_parent(number + 1) == number) {
        model->fates[number + 1] |= fate;
    }
}

/* A failed operation has done nothing: what was known of its message holds. */
static bool note_failure(struct power_work *work, const struct persist_op *op)
{
    if (!work->is_short || op->outcome != PERSIST_FAILED) {
        return false;
    }
    work->failed++;
    return true;
}

/* Each number that is given is beyond all that were acknowledged. */
static void note_number(struct power_model *model, uint32_t number, int64_t seq)
{
    assert_true(seq > model->newest_seq);
    model->newest_seq = model->seqs[number] = seq;
}

/* Hidden by a report or by the operator, or restored; or withdrawn before. */
static void note_moderation(struct power_model *model, const struct asked *asked)
{
    const struct persist_op *op = &asked->op.op;

    if (op->outcome == PERSIST_NOT_FOUND) {
        assert_true((model->fates[asked->number] & POWER_REMOVAL_ASKED) != 0);
        return;
    }
    assert_int_equal(op->outcome, PERSIST_APPLIED);
    if (op->kind == PERSIST_WITHHOLD || op->message.reports > 0) {
        model->fates[asked->number] |= POWER_HIDDEN;
        return;
    }
    assert_int_equal(op->shown_seq, op->message.seq);
    note_number(model, asked->number, op->shown_seq);
    model->fates[asked->number] |= POWER_RESTORED;
}

static void note_deposit(struct power_model *model, const struct asked *asked)
{
    switch (asked->op.op.outcome) {
    case PERSIST_APPLIED:
    case PERSIST_DUPLICATE:
        if (asked->op.op.outcome == PERSIST_APPLIED) {
            note_number(model, asked->number, asked->op.op.message.seq);
            model->deposited_ms[asked->number] = asked->op.op.message.deposited_ms;
        }
        model->fates[asked->number] |= POWER_KEPT;
        asked->work->acknowledged++;
        break;
    case PERSIST_GONE: /* withdrawn, or removed by the operator, who may restore it */
        assert_true((model->fates[asked->number] & (POWER_REMOVAL_ASKED | POWER_HIDING_ASKED)) !=
                    0);
        if ((model->fates[asked->number] & POWER_HIDING_ASKED) == 0) {
            model->fates[asked->number] |= POWER_REMOVED;
        }
        break;
    case PERSIST_NO_PARENT: {
        const uint32_t parent = power_parent(asked->number);

        assert_true((model->fates[parent] & (POWER_KEPT | POWER_REMOVAL_ASKED)) != POWER_KEPT ||
                    model->expires_ms[parent] <= asked->op.op.now_ms);
        break;
    }
    default:
        fail_msg("deposit %u: outcome %d: %s", asked->number, asked->op.op.outcome,
                 asked->op.op.reason);
    }
}

static void on_done(struct persist_op *op)
{
    struct asked *asked = (struct asked *)(void *)op;
    struct power_work *work = asked->work;
    struct power_model *model = &work->model;

    (void)pthread_mutex_lock(&work->mutex);
    if (note_failure(work, op)) {
        (*asked->left)--;
        (void)pthread_mutex_unlock(&work->mutex);
        return;
    }
    if (op->kind == PERSIST_DEPOSIT) {
        note_deposit(model, asked);
    } else if (op->kind == PERSIST_MODERATE || op->kind == PERSIST_WITHHOLD) {
        note_moderation(model, asked);
        work->acknowledged++;
    } else if (op->kind == PERSIST_RULE_PUT) {
        assert_int_equal(op->outcome, PERSIST_APPLIED);
        model->notice_kept = op->rule->number;
        work->acknowledged++;
    } else if (op->kind == PERSIST_WITHDRAW) {
        assert_true(op->outcome == PERSIST_APPLIED || op->outcome == PERSIST_NOT_FOUND);
        /* One whose deposit failed may still come. */
        if (op->outcome == PERSIST_APPLIED || (model->fates[asked->number] & POWER_KEPT) != 0) {
            mark(model, asked->number, POWER_REMOVED);
        }
        work->acknowledged++;
    } else {
        assert_int_equal(op->outcome, PERSIST_APPLIED);
        for (uint32_t i = 0; i < op->removed_count; i++) {
            mark(model, power_number(op->removed[i].id), POWER_REMOVED);
        }
    }
    (*asked->left)--;
    (void)pthread_mutex_unlock(&work->mutex);
}

/* A message that somebody may have: any number that was used. */
static uint32_t some_number(struct power_work *work)
{
    return rng_below(work->rng, work->model.next);
}

static void make_deposit(struct power_work *work, struct asked *asked, uint32_t number)
{
    struct power_model *model = &work->model;
    const uint32_t parent = power_parent(number);

    if ((model->fates[number] & POWER_ASKED) == 0) {
        model->expires_ms[number] = rng_chance(work->rng, 30)
                                        ? model->now_ms + 1 + rng_below(work->rng, 40)
                                        : POWER_LATER_MS;
        if (model->expires_ms[number] > model->expires_ms[parent]) {
            model->expires_ms[number] = model->expires_ms[parent];
        }
    }
    asked->number = number;
    model->fates[number] |= POWER_ASKED;
    store_make_deposit(work->fixture, &asked->op, number, model->now_ms, model->expires_ms[number]);
    asked->op.op.message.epoch = 0; /* the one that every host has */
    if (parent != number) {
        struct store_op other;

        store_make_withdraw(work->fixture, &other, parent, 0); /* only for its id */
        asked->op.op.message.is_answer = true;
        memcpy(asked->op.op.message.answers, other.op.message.id, MESSAGE_ID_BYTES);
    }
}

static void make_withdrawal(struct power_work *work, struct asked *asked, uint32_t number)
{
    asked->number = number;
    mark(&work->model, number, POWER_REMOVAL_ASKED);
    store_make_withdraw(work->fixture, &asked->op, number, work->model.now_ms);
}

static void make_expiry(struct power_work *work, struct asked *asked)
{
    struct power_model *model = &work->model;

    for (uint32_t i = 0; i < model->next; i++) {
        if (model->expires_ms[i] <= model->now_ms) {
            model->fates[i] |= POWER_REMOVAL_ASKED;
        }
    }
    store_make_expire(&asked->op, model->now_ms, 1 + rng_below(work->rng, PERSIST_EXPIRE_MAX));
}

/* The decision of an operation, which is to be in the store with the operation or not at all. */
static void make_decision(struct power_work *work, struct asked *asked, const char *act)
{
    asked->decision = (struct persist_decision){
        .host = work->fixture->host, .time_ms = work->model.now_ms, .has_id = true};
    (void)snprintf(asked->decision.act, sizeof(asked->decision.act), "%s", act);
    memcpy(asked->decision.id, asked->op.op.message.id, MESSAGE_ID_BYTES);
    asked->op.op.decision = &asked->decision;
}

/* The operator hides a message, or removes it for a time that does not end here. */
static void make_withholding(struct power_work *work, struct asked *asked, uint32_t number)
{
    store_make_withdraw(work->fixture, &asked->op, number, work->model.now_ms);
    asked->op.op.kind = PERSIST_WITHHOLD;
    asked->op.op.message.destroy_ms = rng_chance(work->rng, 50) ? POWER_LATER_MS : 0;
    make_decision(work, asked, "hide");
}

/*
 * The next step of a message: a report or the operator hides it, then it is restored. False: there
 * is none now.
 */
static bool make_moderation(struct power_work *work, struct asked *asked, uint32_t number)
{
    struct power_model *model = &work->model;
    const uint8_t fate = model->fates[number];
    const bool hides = (fate & POWER_HIDING_ASKED) == 0;

    if (model->seqs[number] == 0 || (!hides && (fate & POWER_HIDDEN) == 0) ||
        (fate & POWER_RESTORING_ASKED) != 0) {
        return false;
    }
    asked->number = number;
    model->fates[number] |= hides ? POWER_HIDING_ASKED : POWER_RESTORING_ASKED;
    if (hides && rng_chance(work->rng, 50)) {
        make_withholding(work, asked, number);
        return true;
    }
    store_make_moderate(work->fixture, &asked->op, number, model->deposited_ms[number],
                        hides ? PERSIST_HIDDEN : PERSIST_APPROVED, hides, NULL);
    asked->op.op.now_ms = model->now_ms;
    if (!hides) {
        make_decision(work, asked, "restore");
    }
    return true;
}

/* The one notice, whose number rises each time. */
static void make_notice(struct power_work *work, struct asked *asked)
{
    asked->notice = (struct persist_rule){.host = work->fixture->host,
                                          .kind = PERSIST_NOTICE,
                                          .value = (const uint8_t *)"en\0text",
                                          .value_bytes = 7,
                                          .number = ++work->model.notice_asked,
                                          .created_ms = work->model.now_ms,
                                          .until_ms = POWER_LATER_MS};
    store_make_rule(&asked->op, PERSIST_RULE_PUT, &asked->notice);
    asked->op.op.now_ms = work->model.now_ms;
}

/* Only what does not expire is sent again or withdrawn: a message has one way to go. */
static bool stays(const struct power_model *model, uint32_t number)
{
    return (model->fates[number] & POWER_ASKED) != 0 && model->expires_ms[number] == POWER_LATER_MS;
}

static void make_op(struct power_work *work, struct asked *asked)
{
    struct power_model *model = &work->model;
    const uint32_t kind = rng_below(work->rng, 100);
    const uint32_t number = model->next > 0 ? some_number(work) : 0;

    if (kind < 3) {
        make_notice(work, asked);
    } else if (kind < 8) {
        make_expiry(work, asked);
    } else if (kind < 28 && stays(model, number) && number % 7 != 0) { /* those have no token */
        make_withdrawal(work, asked, number);
    } else if (kind < 33 && stays(model, number)) {
        make_deposit(work, asked, number);
    } else if (kind < 55 && stays(model, number) && make_moderation(work, asked, number)) {
        /* it is made */
    } else {
        make_deposit(work, asked, model->next++);
    }
    asked->op.op.done = on_done;
}

/* --- backups ---------------------------------------------------------------------------------- */

/* A backup that knows its work. */
struct copying {
    struct persist_job job; /* first */
    char path[POWER_PATH_BYTES];
    struct power_work *work;
    unsigned *left;
};

void power_name_backup(const struct store_fixture *fixture, uint32_t number, const char *suffix,
                       char out_path[POWER_PATH_BYTES])
{
    (void)snprintf(out_path, POWER_PATH_BYTES, "%s/backup-%u%s", fixture->directory, number,
                   suffix);
}

static void on_copied(struct persist_job *job)
{
    struct copying *copying = (struct copying *)(void *)job;
    struct power_work *work = copying->work;
    struct power_backup *backup;

    if (job->failed) {
        fail_msg("backup: %s", job->reason);
    }
    (void)pthread_mutex_lock(&work->mutex);
    backup = &work->model.backups[work->model.backup_count - 1];
    memcpy(backup->after, work->model.fates, sizeof(backup->after));
    backup->is_done = true;
    work->is_backing_up = false;
    work->backups_whole++;
    (void)pthread_mutex_unlock(&work->mutex);
    (*copying->left)--;
}

static void begin_copying(struct power_work *work, struct copying *copying, unsigned *left)
{
    struct power_model *model = &work->model;
    struct power_backup *backup;

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
    power_name_backup(work->fixture, model->backup_count++, "", copying->path);
    work->is_backing_up = true;
    (*left)++;
    (void)pthread_mutex_unlock(&work->mutex);
    assert_true(
        work->fixture->persist->interface->begin_job(work->fixture->persist, &copying->job));
}

/* --- work ------------------------------------------------------------------------------------- */

static void run_batch(struct power_work *work)
{
    struct persist *persist = work->fixture->persist;
    const unsigned count = 1 + rng_below(work->rng, BATCH_MAX);
    struct asked *asked = calloc(count, sizeof(*asked));
    struct copying copying;
    unsigned left = count;

    assert_non_null(asked);
    if (work->is_short && rng_chance(work->rng, 60)) {
        /* Some end within the batch, some before its first write, some not at all. */
        pass_budget_set(rng_below(work->rng, rng_chance(work->rng, 50) ? 40000 : 400000));
    }
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

void power_work_begin(struct power_work *work, struct store_fixture *fixture, struct rng *rng)
{
    memset(work, 0, sizeof(*work));
    (void)pthread_mutex_init(&work->mutex, NULL);
    work->rng = rng;
    work->fixture = fixture;
    work->moments = (struct rng){.state = rng_next(rng)};
    /* The first changes are those of opening; many works are cut there. */
    work->share = rng_chance(rng, 30) ? 300 : 15;
    work->batches = rng_below(rng, BATCHES);
    work->backups = rng_chance(rng, 50) ? 1 + rng_below(rng, POWER_BACKUPS_MAX) : 0;
}

void power_work_end(struct power_work *work)
{
    for (size_t i = 0; i < work->taken_count; i++) {
        power_snapshot_free(work->taken[i].snapshot);
        free(work->taken[i].model);
    }
    (void)pthread_mutex_destroy(&work->mutex);
}

void power_work_do(struct power_work *work)
{
    struct store_fixture *fixture = work->fixture;

    power_work_watch(work);
    fixture->options.scrub_after_ms = rng_chance(work->rng, 50) ? 1 : 0;
    fixture->options.gather_ms = rng_chance(work->rng, 20) ? 1 : 0;
    fixture->options.group_us = rng_chance(work->rng, 20) ? 100 : 0;
    fixture->options.log_bytes = rng_chance(work->rng, 50) ? 0 : 65536;
    fixture->options.bytes_max = rng_chance(work->rng, 50) ? 0 : 1 << 20; /* small pages */
    work->backups = work->is_short ? 0 : work->backups; /* they fail in ways of their own */
    store_open(fixture);
    if (rng_chance(work->rng, 50)) { /* others are told, from some work on */
        struct store_op op;
        store_make_expire(&op, work->model.now_ms, 1);
        op.op.kind = PERSIST_REPLICATE;
        op.op.message.host = fixture->host;
        op.op.replicate = true;
        (void)store_do(fixture, &op);
    }
    for (uint32_t i = 0; i < work->batches; i++) {
        run_batch(work);
    }
    store_close(fixture);
    pass_budget_set(-1);
    power_vfs_observe(NULL, NULL);
}

void power_work_make_backup(struct power_work *work, struct store_fixture *fixture, struct rng *rng,
                            char out_path[POWER_PATH_BYTES])
{
    struct copying copying;
    unsigned left = 0;

    power_work_begin(work, fixture, rng);
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
    memcpy(out_path, copying.path, sizeof(copying.path));
    store_close(fixture);
}
