/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/fake_persist.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/profile/profile.h"
#include "daemon/system/container.h"
#include "tests/lib/fake_persist_inner.h"

struct fake *fake_of(const struct persist *persist)
{
    return CONTAINER_OF(persist, struct fake, persist);
}

static int begin_epoch(struct persist *persist, const struct persist_epoch *epoch, char *out_reason)
{
    struct fake *fake = fake_of(persist);
    (void)out_reason;

    fake_put_epoch(fake, epoch);
    return 0;
}

static int replay_epochs(struct persist *persist,
                         int (*visit)(void *context, const struct persist_epoch *epoch),
                         void *context, char *out_reason)
{
    struct fake *fake = fake_of(persist);
    int rc = 0;
    (void)out_reason;

    for (size_t i = 0; i < fake->epoch_count && rc == 0; i++) {
        rc = visit(context, &fake->epochs[i]);
    }
    return rc;
}

size_t fake_persist_epochs(const struct persist *persist)
{
    return fake_of(persist)->epoch_count;
}

const struct persist_epoch *fake_persist_epoch(const struct persist *persist, size_t i)
{
    return &fake_of(persist)->epochs[i];
}

size_t fake_persist_commit(struct persist *persist)
{
    struct fake *fake = fake_of(persist);
    struct persist_op *op = fake->first_op;
    const bool failing = fake->fail_next;
    struct persist_job *job = fake->job;
    size_t count = 0;

    fake->job = NULL;
    if (job != NULL) {
        job->failed = failing;
        memset(job->reason, 'x', failing ? sizeof(job->reason) - 1 : 0);
        job->done(job);
    }

    fake->fail_next = false;
    fake->first_op = NULL;
    fake->last_op = &fake->first_op;
    while (op != NULL) {
        struct persist_op *next = op->next;
        op->outcome = failing ? PERSIST_FAILED : fake_apply(fake, op);
        if (!failing && op->now_ms > fake->clock_ms) {
            fake->clock_ms = op->now_ms; /* the store saves it with everything */
        }
        op->reason = failing ? "the test lets it fail" : NULL;
        fake->operations++;
        op->done(op);
        op = next;
        count++;
    }
    return count;
}

static void give_reason(const struct fake *fake, char *out_reason)
{
    if (fake->start_reason != NULL) {
        (void)snprintf(out_reason, PERSIST_REASON_BYTES, "%s", fake->start_reason);
    }
}

static int add_host(struct persist *persist, const char *name, const char *profile,
                    uint32_t *out_host, char *out_profile, char *out_reason)
{
    const struct fake *fake = fake_of(persist);
    (void)profile;

    if (fake->fail_add_host != 0) {
        give_reason(fake, out_reason);
        return fake->fail_add_host;
    }
    if (fake->stored_profile != NULL) {
        (void)snprintf(out_profile, PROFILE_TEXT_MAX, "%s", fake->stored_profile);
        return PERSIST_PROFILE_CHANGED;
    }
    *out_host = (uint32_t)name[0]; /* tests give hosts different first letters */
    return 0;
}

static int replay(struct persist *persist,
                  int (*visit)(void *context, const struct persist_message *message), void *context,
                  char *out_reason)
{
    struct fake *fake = fake_of(persist);
    int rc = fake->fail_replay;

    if (rc != 0) {
        give_reason(fake, out_reason);
    }
    for (size_t i = 0; i < fake->count && rc == 0; i++) {
        if (!fake->messages[i].withdrawn) {
            rc = visit(context, &fake->messages[i].message);
        }
    }
    return rc;
}

static int replay_rules(struct persist *persist,
                        int (*visit)(void *context, const struct persist_rule *rule), void *context,
                        char *out_reason)
{
    const struct fake *fake = fake_of(persist);
    int rc = 0;
    (void)out_reason;

    for (size_t i = 0; i < fake->rule_count && rc == 0; i++) {
        rc = fake->rules[i].rule.dropped ? 0 : visit(context, &fake->rules[i].rule);
    }
    return rc;
}

static int replay_removed(struct persist *persist,
                          int (*visit)(void *context, const struct persist_message *message),
                          void *context, char *out_reason)
{
    const struct fake *fake = fake_of(persist);
    int rc = 0;
    (void)out_reason;

    for (size_t i = 0; i < fake->count && rc == 0; i++) {
        if (fake->messages[i].removed) {
            rc = visit(context, &fake->messages[i].message);
        }
    }
    return rc;
}

static void submit(struct persist *persist, struct persist_op *op)
{
    struct fake *fake = fake_of(persist);

    op->next = NULL;
    *fake->last_op = op;
    fake->last_op = &op->next;
}

static void info(const struct persist *persist, struct persist_info *out_info)
{
    memset(out_info, 0, sizeof(*out_info));
    out_info->clock_ms = fake_of(persist)->clock_ms;
    out_info->shift_from_ms = fake_of(persist)->shift_from_ms;
    out_info->seq = fake_of(persist)->last_seq;
}

static bool begin_job(struct persist *persist, struct persist_job *job)
{
    struct fake *fake = fake_of(persist);
    const bool is_free = fake->job == NULL;

    fake->job = is_free ? job : fake->job;
    return is_free;
}

static void cancel_job(struct persist *persist)
{
    (void)persist; /* what is under way ends with the next commit */
}

static void count(struct persist *persist, struct persist_counters *out_counters)
{
    *out_counters = (struct persist_counters){.operations = fake_of(persist)->operations};
}

static const struct persist_interface interface = {
    .name = "fake",
    .add_host = add_host,
    .replay = replay,
    .replay_epochs = replay_epochs,
    .begin_epoch = begin_epoch,
    .replay_rules = replay_rules,
    .replay_removed = replay_removed,
    .submit = submit,
    .read = fake_read,
    .read_release = fake_read_release,
    .begin_job = begin_job,
    .cancel_job = cancel_job,
    .info = info,
    .count = count,
};

/*
 * Zeros for FAKE_MESSAGES_MAX messages, 75 MB, of which a test mostly uses a few. calloc would
 * leave the rest untouched as well, but meson sets MALLOC_PERTURB_, with which glibc writes to all
 * of it.
 */
static struct fake_message *map_messages(void)
{
    void *memory = mmap(NULL, FAKE_MESSAGES_MAX * sizeof(struct fake_message),
                        PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) {
        abort();
    }
    return memory;
}

struct persist *fake_persist_new(void)
{
    struct fake *fake = calloc(1, sizeof(*fake));

    if (fake == NULL) {
        abort();
    }
    fake->messages = map_messages();
    fake->persist.interface = &interface;
    fake->shift_from_ms = INT64_MAX;
    fake->last_op = &fake->first_op;
    fake->last_read = &fake->first_read;
    fake->last_carried = &fake->first_carried;
    return &fake->persist;
}

void fake_persist_free(struct persist *persist)
{
    struct fake *fake = fake_of(persist);

    (void)munmap(fake->messages, FAKE_MESSAGES_MAX * sizeof(struct fake_message));
    free(fake);
}

void fake_persist_fail_next(struct persist *persist)
{
    fake_of(persist)->fail_next = true;
}

size_t fake_persist_count(const struct persist *persist)
{
    return fake_of(persist)->count;
}

void fake_persist_set_profile(struct persist *persist, const char *stored)
{
    fake_of(persist)->stored_profile = stored;
}

void fake_persist_fail_start(struct persist *persist, int add_host_rc, int replay_rc,
                             const char *reason)
{
    struct fake *fake = fake_of(persist);

    fake->fail_add_host = add_host_rc;
    fake->fail_replay = replay_rc;
    fake->start_reason = reason;
}

void fake_persist_set_clock(struct persist *persist, int64_t clock_ms)
{
    fake_of(persist)->clock_ms = clock_ms;
}
