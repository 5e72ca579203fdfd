/* SPDX-License-Identifier: Apache-2.0 */
/* sim_gate: see sim_world.h. */
#include <stdlib.h>
#include <string.h>

#include "daemon/store/thread/sqlite.h"
#include "daemon/system/container.h"
#include "daemon/watch/inner.h"
#include "tests/lib/fake_persist.h"
#include "tests/sim/sim_world.h"

static const char failure[] = "the simulation lets it fail";

/* --- operations ------------------------------------------------------------------------------- */

static void submit(struct persist *persist, struct persist_op *op)
{
    struct world *world = the_world;
    (void)persist;

    SIM_CHECK(world->op_count < W_HELD);
    world->ops[world->op_count++] =
        (struct w_held_op){.op = op, .done = op->done, .owner = world->owner};
    expect_op_submitted(world, world->owner, op);
}

static void tell_done(struct world *world, const struct w_held_op *held, bool failed)
{
    struct persist_op *op = held->op;

    op->done = held->done;
    expect_op_done(world, held->owner, op, failed);
    world->owner = held->owner;
    held->done(op);
    world->owner = NULL;
}

/* From the store, in the order in which they were submitted. */
static void on_op_done(struct persist_op *op)
{
    struct world *world = the_world;
    size_t at = 0;

    while (world->ops[at].is_through) {
        at++;
    }
    SIM_CHECK(world->ops[at].op == op);
    world->ops[at].is_through = true;
    const struct w_held_op held = world->ops[at];
    tell_done(world, &held, false);
}

static void on_job_done(struct persist_job *job)
{
    struct world *world = the_world;
    struct w_request *owner = world->job_owner;

    job->done = world->job_done;
    world->job = NULL;
    world->job_owner = NULL;
    owner->expected.is_known = true;
    if (job->failed) {
        owner->expected.kind = HEARSAY_RESPONSE_ERROR;
        owner->expected.code = HEARSAY_CODE_STORAGE;
    }
    job->done(job);
}

static void run_job(struct world *world, bool fails)
{
    struct persist_job *job = world->job;

    if (job == NULL) {
        return;
    }
    job->done = on_job_done;
    if (fails) {
        job->failed = true;
        (void)snprintf(job->reason, sizeof(job->reason), "%s", failure);
        on_job_done(job);
        return;
    }
    SIM_CHECK(world->store->interface->begin_job(world->store, job));
    while (world->on_sqlite && world->job != NULL) {
        (void)uv_run(&world->loop, UV_RUN_ONCE);
    }
    if (!world->on_sqlite) {
        (void)fake_persist_commit(world->store);
    }
}

static void let_fail(struct world *world, size_t at)
{
    const struct w_held_op held = world->ops[at];

    world->ops[at].is_through = true;
    held.op->outcome = PERSIST_FAILED;
    held.op->reason = failure;
    tell_done(world, &held, true);
}

/*
 * The thread that writes asks for the free storage before it takes its batch. Here it waits until
 * the store has been given all operations of a commit: so its batches follow from the world alone,
 * and not from which thread is faster.
 */
static uint64_t wait_for_all(const char *path)
{
    (void)path;
    uv_mutex_lock(&the_world->submitting);
    uv_mutex_unlock(&the_world->submitting);
    return UINT64_MAX; /* there is no limit */
}

/* Commits the operations from place `from` to place `to` - 1 in one transaction. */
static void commit_together(struct world *world, size_t from, size_t to)
{
    uv_mutex_lock(&world->submitting);
    for (size_t i = from; i < to; i++) {
        struct persist_op *op = world->ops[i].op;
        op->done = on_op_done;
        world->store->interface->submit(world->store, op);
    }
    uv_mutex_unlock(&world->submitting);
    if (!world->on_sqlite) {
        (void)fake_persist_commit(world->store);
    }
    while (!world->ops[to - 1].is_through) {
        SIM_CHECK(world->on_sqlite);
        (void)uv_run(&world->loop, UV_RUN_ONCE);
    }
}

/*
 * Commits all operations that were submitted until now. What their `done` submits waits for the
 * next commit. In worlds with an odd seed the operations share a transaction; in the other worlds
 * each operation has a transaction of its own.
 */
size_t gate_commit(struct world *world, bool fails)
{
    const size_t count = world->op_count;
    const size_t step = world->seed % 2 == 0 ? 1 : count;

    run_job(world, fails);
    for (size_t i = 0; i < count && fails; i++) {
        let_fail(world, i);
    }
    for (size_t i = 0; i < count && !fails; i += step) {
        commit_together(world, i, i + step);
    }
    world->op_count -= count;
    memmove(world->ops, world->ops + count, world->op_count * sizeof(world->ops[0]));
    return count;
}

/* --- reads ------------------------------------------------------------------------------------ */

/* A page that a watch catches up with costs its client a token. */
static void pay_page(struct world *world, const struct persist_read *read)
{
    const struct watch_page *page = CONTAINER_OF(read, struct watch_page, read);
    const struct session *session = CONTAINER_OF(page->catch->client, struct session, client);

    for (unsigned i = 0; i < W_CLIENTS; i++) {
        const struct w_client *client = &world->clients[i];
        if (client->connected && client->stream.transport == &session->transport) {
            SIM_EXPECT(m_may_read_page(&world->model, client->sender),
                       "a page is read for client %u, which has no token for it", client->number);
            SIM_CHECK(m_take_tokens(&world->model, client->sender, false, 1) == 0);
            return;
        }
    }
    SIM_EXPECT(false, "a page is read for nobody");
}

static void hold_read(struct persist *persist, struct persist_read *read)
{
    struct world *world = the_world;
    (void)persist;

    SIM_CHECK(world->read_count < W_HELD);
    world->reads[world->read_count++] =
        (struct w_held_read){.read = read, .done = read->done, .owner = world->owner};
    if (read->kind == PERSIST_READ_PAGE && world->owner == NULL) {
        pay_page(world, read);
    }
}

uint32_t gate_host(const struct world *world, uint32_t number)
{
    uint32_t host = 0;

    while (world->host_numbers[host] != number) {
        host++;
        SIM_CHECK(host < M_HOSTS);
    }
    return host;
}

/* What is on a page, in order. */
static void find_page(struct world *world, struct w_held_read *held)
{
    const struct persist_read *read = held->read;
    const bool is_check = read->kind == PERSIST_READ_CHECK;
    const uint32_t host = is_check ? M_HOSTS : gate_host(world, read->page_host);
    int64_t after = read->page_after;

    for (;;) {
        const struct m_message *next = NULL;
        for (uint32_t i = 0; i < world->model.message_count; i++) {
            const struct m_message *one = &world->model.messages[i];
            const bool is_on = one->stored && one->seq > after &&
                               (is_check || (one->host == host && one->state < PERSIST_HIDDEN));
            next = is_on && (next == NULL || one->seq < next->seq) ? one : next;
        }
        held->more = next != NULL;
        if (next == NULL || held->count == read->entry_count || held->count == W_FOUND) {
            return;
        }
        held->found[held->count++] = (uint32_t)(next - world->model.messages);
        after = next->seq;
    }
}

static void find_messages(struct world *world, struct w_held_read *held)
{
    const struct persist_read *read = held->read;

    SIM_CHECK(read->entry_count <= W_FOUND);
    for (size_t i = 0; i < read->entry_count; i++) {
        const struct persist_message *wanted = &read->entries[i].message;
        const struct m_message *stored =
            m_stored(&world->model, gate_host(world, wanted->host), wanted->id);
        held->found[held->count++] =
            stored == NULL ? M_MESSAGES : (uint32_t)(stored - world->model.messages);
    }
}

/* The store has read what the model says that it has. */
static void check_read(const struct world *world, const struct w_held_read *held)
{
    const struct persist_read *read = held->read;

    SIM_CHECK(!read->failed);
    SIM_EQUAL(read->entry_count, held->count);
    for (size_t i = 0; i < read->entry_count; i++) {
        const struct persist_entry *entry = &read->entries[i];
        const bool is_page = read->kind == PERSIST_READ_PAGE || read->kind == PERSIST_READ_CHECK;
        if (held->found[i] == M_MESSAGES) {
            SIM_CHECK(!entry->found);
            continue;
        }
        const struct m_message *message = &world->model.messages[held->found[i]];
        SIM_CHECK(is_page || entry->found);
        SIM_CHECK(memcmp(entry->message.id, message->id, MESSAGE_ID_BYTES) == 0);
        SIM_EQUAL(entry->message.deposited_ms, message->deposited_ms);
        SIM_EQUAL(entry->message.expires_ms, message->expires_ms);
        SIM_EQUAL(entry->message.payload_bytes, m_payload_bytes(message->payload));
        SIM_CHECK(!is_page || entry->message.seq == message->seq);
    }
    if (read->kind == PERSIST_READ_PAGE || read->kind == PERSIST_READ_CHECK) {
        SIM_EQUAL(read->page_more, held->more);
    }
}

static void on_read_done(struct persist_read *read)
{
    struct world *world = the_world;
    size_t at = 0;

    while (world->reads[at].read != read || world->reads[at].is_carried_out) {
        at++;
        SIM_CHECK(at < world->read_count);
    }
    check_read(world, &world->reads[at]);
    world->reads[at].is_carried_out = true;
}

size_t gate_carry_out(struct world *world, bool fails)
{
    size_t count = 0;

    for (size_t i = 0; i < world->read_count; i++) {
        struct w_held_read *held = &world->reads[i];
        struct persist_read *read = held->read;
        if (held->is_carried_out) {
            continue;
        }
        count++;
        if (fails) {
            read->failed = true;
            read->reason = failure;
            read->memory = NULL;
            held->is_carried_out = true;
            continue;
        }
        if (read->kind == PERSIST_READ_PAGE || read->kind == PERSIST_READ_CHECK) {
            find_page(world, held);
        } else {
            find_messages(world, held);
        }
        read->done = on_read_done;
        world->store->interface->read(world->store, read);
        if (!world->on_sqlite) {
            (void)fake_persist_answer_reads(world->store);
        }
        while (!held->is_carried_out) {
            SIM_CHECK(world->on_sqlite);
            (void)uv_run(&world->loop, UV_RUN_ONCE);
        }
    }
    return count;
}

size_t gate_answer(struct world *world)
{
    size_t count = 0;

    while (count < world->read_count && world->reads[count].is_carried_out) {
        count++;
    }
    for (size_t i = 0; i < count; i++) {
        struct w_held_read *held = &world->reads[i];
        struct persist_read *read = held->read;
        read->done = held->done;
        expect_read_done(world, held);
        world->owner = held->owner;
        world->page_failed = read->failed && read->kind == PERSIST_READ_PAGE;
        read->done(read);
        world->page_failed = false;
        world->owner = NULL;
        expect_later(held->owner);
    }
    world->read_count -= count;
    memmove(world->reads, world->reads + count, world->read_count * sizeof(world->reads[0]));
    return count;
}

static void read_release(struct persist *persist, struct persist_read *read)
{
    (void)persist;
    if (read->memory != NULL) {
        the_world->store->interface->read_release(the_world->store, read);
    }
}

/* --- the rest --------------------------------------------------------------------------------- */

static int add_host(struct persist *persist, const char *name, const char *profile,
                    uint32_t *out_host, char *out_profile, char *out_reason)
{
    struct persist *store = the_world->store;
    (void)persist;

    const int rc =
        store->interface->add_host(store, name, profile, out_host, out_profile, out_reason);
    for (size_t h = 0; h < the_world->config.host_count && rc == 0; h++) {
        if (strcmp(the_world->config.hosts[h].name, name) == 0) {
            the_world->host_numbers[h] = *out_host;
        }
    }
    return rc;
}

static int replay(struct persist *persist,
                  int (*visit)(void *context, const struct persist_message *message), void *context,
                  char *out_reason)
{
    struct persist *store = the_world->store;
    (void)persist;

    return store->interface->replay(store, visit, context, out_reason);
}

static int replay_epochs(struct persist *persist,
                         int (*visit)(void *context, const struct persist_epoch *epoch),
                         void *context, char *out_reason)
{
    struct persist *store = the_world->store;
    (void)persist;

    return store->interface->replay_epochs(store, visit, context, out_reason);
}

/* At a start: as an operation that is done at once. */
static int begin_epoch(struct persist *persist, const struct persist_epoch *epoch, char *out_reason)
{
    struct persist *store = the_world->store;
    struct persist_op op = {.kind = PERSIST_EPOCH, .epoch = epoch, .outcome = PERSIST_APPLIED};
    (void)persist;

    op.now_ms = the_world->model.now_ms;
    expect_op_submitted(the_world, NULL, &op);
    op.now_ms = 0; /* which is not saved */
    const int rc = store->interface->begin_epoch(store, epoch, out_reason);
    expect_op_done(the_world, NULL, &op, false);
    return rc;
}

static int replay_rules(struct persist *persist,
                        int (*visit)(void *context, const struct persist_rule *rule), void *context,
                        char *out_reason)
{
    struct persist *store = the_world->store;
    (void)persist;

    return store->interface->replay_rules(store, visit, context, out_reason);
}

static int replay_removed(struct persist *persist,
                          int (*visit)(void *context, const struct persist_message *message),
                          void *context, char *out_reason)
{
    struct persist *store = the_world->store;
    (void)persist;

    return store->interface->replay_removed(store, visit, context, out_reason);
}

static bool begin_job(struct persist *persist, struct persist_job *job)
{
    struct world *world = the_world;
    (void)persist;

    if (world->job != NULL) {
        return false;
    }
    world->job = job;
    world->job_done = job->done;
    world->job_owner = world->owner;
    return true;
}

static void cancel_job(struct persist *persist)
{
    (void)persist; /* what waits is done, or fails, with the next commit */
}

static void info(const struct persist *persist, struct persist_info *out_info)
{
    (void)persist;
    the_world->store->interface->info(the_world->store, out_info);
    memcpy(the_world->store_id, out_info->store_id, sizeof(the_world->store_id));
}

static void counters(struct persist *persist, struct persist_counters *out_counters)
{
    (void)persist;
    the_world->store->interface->count(the_world->store, out_counters);
}

const struct persist_interface sim_gate_interface = {
    .name = "gate",
    .add_host = add_host,
    .replay = replay,
    .replay_epochs = replay_epochs,
    .begin_epoch = begin_epoch,
    .replay_rules = replay_rules,
    .replay_removed = replay_removed,
    .submit = submit,
    .read = hold_read,
    .read_release = read_release,
    .begin_job = begin_job,
    .cancel_job = cancel_job,
    .info = info,
    .count = counters,
};

/* --- the store behind it ---------------------------------------------------------------------- */

void gate_open_store(struct world *world)
{
    char reason[PERSIST_REASON_BYTES] = "";
    const struct persist_sqlite_options options = {.loop = &world->loop,
                                                   .directory = world->directory,
                                                   .relaxed = true,
                                                   .free_bytes = wait_for_all};

    if (!world->on_sqlite) {
        world->store = world->store != NULL ? world->store : fake_persist_new();
        return;
    }
    SIM_EXPECT(persist_sqlite_open(&options, &world->store, reason) == 0, "%s", reason);
}

static void on_closed(void *context)
{
    *(bool *)context = true;
}

/* One in memory stays as it is. */
void gate_close_store(struct world *world)
{
    bool closed = !world->on_sqlite;

    SIM_CHECK(world->op_count == 0 && world->read_count == 0 && world->job == NULL);
    if (world->on_sqlite) {
        world->store->interface->close(world->store, on_closed, &closed);
        world->store = NULL;
    }
    while (!closed) {
        (void)uv_run(&world->loop, UV_RUN_ONCE);
    }
}
