/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An owner, a hub that keeps the last state of each message and rule, and a reader, in random
 * worlds: deposits, evictions, withdrawals, removals, decisions here and at the hub, time, cuts of
 * the uplink, crashes of the owner and of its bridge, a hub that loses all, an owner that is wiped
 * and restored from the reader, states that come in another order, and twice. Once all is quiet,
 * the reader has what the owner has, nothing withdrawn is back, nothing that the reader had at a
 * wipe is missing, and all of the feed once more changes nothing.
 *
 * Only the hub and the bridge are simulated; both stores are SQLite's. A bridge with a planted
 * fault is found out, for each of the faults. HEARSAY_FEED_WORLDS: how many worlds.
 */
#include "tests/lib/check.h"
#include "tests/lib/pass_vfs.h"
#include "tests/lib/rng.h"
#include "tests/lib/store_fixture.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { WORLDS = 25 };
#else
enum { WORLDS = 100 };
#endif

enum {
    STEPS = 120,
    NUMBERS = 24, /* of messages: few, so that ids meet */
    RULES = 4,
    KEYS = NUMBERS + RULES,
    PLACES = 8,
    LIFE_MS = 400, /* of a message, at most */
    FAULT_WORLDS = 400
};

static const uint8_t rule_values[RULES] = {0, 1, 2, 3};

/* What a bridge may do wrong. */
enum fault {
    FAULT_NONE,
    FAULT_CURSOR_JUMPS, /* after a restore the cursor goes to the newest number */
    FAULT_PAGE_IS_LOST, /* the cursor is saved before a page is published */
    FAULT_NO_REWIND,    /* a hub that lost all is not noticed */
    FAULT_GONE_IS_LEFT, /* what is withdrawn is not published */
    FAULT_RULES_ARE_LEFT,
    FAULT_NO_RESTORE, /* a wiped owner does not get back what it had */
    FAULTS
};

struct state {
    bool there;
    uint64_t at; /* place in the hub's order */
    struct persist_change change;
};

struct world {
    struct rng rng;
    enum fault fault;
    struct store_fixture owner;
    struct store_fixture reader;
    int64_t now_ms;
    int64_t cursor;       /* of the owner's bridge */
    int64_t saved_cursor; /* that a crash of the bridge leaves */
    struct state hub[KEYS];
    uint64_t hub_at;
    uint64_t reader_at;          /* what the reader has of the hub */
    struct state words[NUMBERS]; /* the operator's, at the hub */
    bool is_cut;
    unsigned restores;
    unsigned applied;
    const char *wrong;
};

/* --- stores ----------------------------------------------------------------------------------- */

static uint32_t number_of(const uint8_t *id)
{
    uint32_t number = 0;

    memcpy(&number, id + 4, sizeof(number));
    return number;
}

static size_t key_of(const struct persist_change *change)
{
    return change->kind == PERSIST_CHANGE_RULE ? NUMBERS + (size_t)change->rule.value[0]
                                               : number_of(change->message.id);
}

static void open_store(struct store_fixture *fixture)
{
    struct store_op op;

    fixture->options.relaxed = true;
    store_open(fixture);
    store_make_expire(&op, 1, 1);
    op.op.kind = PERSIST_REPLICATE;
    op.op.message.host = fixture->host;
    op.op.replicate = true;
    (void)store_do(fixture, &op);
}

static void make_message(const struct world *world, const struct store_fixture *fixture,
                         uint32_t number, struct store_op *op)
{
    store_make_deposit(fixture, op, number, world->now_ms, world->now_ms + 1);
    op->op.message.epoch = 0;
    op->op.message.can_withdraw = true;
}

static enum persist_outcome apply(struct world *world, struct store_fixture *fixture,
                                  const struct persist_change *change, enum persist_as as)
{
    struct persist_rule rule = change->rule;
    struct store_op op;

    make_message(world, fixture, number_of(change->message.id), &op);
    op.op.kind = PERSIST_APPLY;
    op.op.change = change->kind;
    op.op.as = as;
    op.op.why = change->why;
    op.op.message.deposited_ms = change->message.deposited_ms;
    op.op.message.expires_ms = change->message.expires_ms;
    op.op.message.state = change->message.state;
    op.op.message.reports = change->message.reports;
    rule.host = fixture->host;
    if (change->kind == PERSIST_CHANGE_RULE) {
        rule.value = &rule_values[change->rule.value[0]];
        op.op.rule = &rule;
    }
    const enum persist_outcome outcome = store_do(fixture, &op);
    assert_true(outcome == PERSIST_APPLIED || outcome == PERSIST_DUPLICATE);
    world->applied += outcome == PERSIST_APPLIED;
    return outcome;
}

/* Calls `visit` for each change of a store, from `after` on; at most `most`. Returns the cursor. */
static int64_t each_change(struct world *world, struct store_fixture *fixture, int64_t after,
                           size_t most,
                           void (*visit)(struct world *world, const struct persist_change *change))
{
    struct persist_change changes[PLACES];
    struct persist_read read = {.kind = PERSIST_READ_CHANGES, .page_more = true};

    for (size_t seen = 0; read.page_more && seen < most; seen += read.change_count) {
        read = (struct persist_read){.kind = PERSIST_READ_CHANGES,
                                     .changes = changes,
                                     .change_count = 1 + rng_below(&world->rng, PLACES),
                                     .page_host = fixture->host,
                                     .page_after = after,
                                     .page_bytes_limit = 1 << 20};
        store_read(fixture, &read);
        assert_false(read.failed);
        for (size_t i = 0; i < read.change_count; i++) {
            assert_true(changes[i].seq > after);
            after = changes[i].seq;
            visit(world, &changes[i]);
        }
        fixture->persist->interface->read_release(fixture->persist, &read);
    }
    return after;
}

/* --- the owner -------------------------------------------------------------------------------- */

static uint32_t some_number(struct world *world)
{
    return rng_below(&world->rng, NUMBERS);
}

static void make_deposit(struct world *world, unsigned evict_percent, struct store_op *op)
{
    make_message(world, &world->owner, some_number(world), op);
    op->op.message.expires_ms = world->now_ms + 1 + rng_below(&world->rng, LIFE_MS);
    op->op.message.state = rng_chance(&world->rng, 10) ? PERSIST_PENDING : PERSIST_SHOWN;
    if (rng_chance(&world->rng, evict_percent)) {
        op->op.evict = rng_chance(&world->rng, 50) ? PERSIST_EVICT_OLDEST : PERSIST_EVICT_SOONEST;
        op->op.evict_messages = 1 + rng_below(&world->rng, 2);
        op->op.removed = op->removed;
        op->op.limit = 4;
    }
}

static void deposit(struct world *world)
{
    struct store_op op;

    make_deposit(world, 20, &op);
    (void)store_do(&world->owner, &op);
}

/* Several deposits at once, which share commits. Most evict something. */
static void deposit_many(struct world *world)
{
    static struct store_op ops[6];
    const size_t count = 2 + rng_below(&world->rng, 5);

    for (size_t i = 0; i < count; i++) {
        make_deposit(world, 70, &ops[i]);
    }
    for (size_t i = 0; i < count; i++) {
        store_submit(&world->owner, &ops[i]);
    }
    store_await(&world->owner, ops, count);
}

static void take_away(struct world *world)
{
    static const enum persist_kind kinds[] = {PERSIST_WITHDRAW, PERSIST_REMOVE, PERSIST_WITHHOLD};
    struct store_op op;

    store_make_withdraw(&world->owner, &op, some_number(world), world->now_ms);
    op.op.kind = kinds[rng_below(&world->rng, 3)];
    op.op.message.destroy_ms =
        rng_chance(&world->rng, 50) ? world->now_ms + 1 + rng_below(&world->rng, 60) : 0;
    (void)store_do(&world->owner, &op);
}

/* All messages of a store, in any state. `view` is called for each. */
static void each_message(struct store_fixture *fixture, void *context,
                         void (*view)(void *context, const struct persist_message *message))
{
    struct persist_entry entries[NUMBERS];
    struct persist_read read = {.kind = PERSIST_READ_CHECK,
                                .entries = entries,
                                .entry_count = NUMBERS,
                                .page_bytes_limit = 1 << 20};

    store_read(fixture, &read);
    assert_false(read.failed || read.page_more);
    for (size_t i = 0; i < read.entry_count; i++) {
        assert_false(entries[i].damaged);
        view(context, &entries[i].message);
    }
    fixture->persist->interface->read_release(fixture->persist, &read);
}

static void note_deposited(void *context, const struct persist_message *message)
{
    int64_t *times = context;

    times[number_of(message->id)] = message->deposited_ms;
}

static void moderate(struct world *world)
{
    const uint32_t number = some_number(world);
    const uint32_t reports = rng_chance(&world->rng, 50) ? 1 + rng_below(&world->rng, 5) : 0;
    int64_t times[NUMBERS] = {0};
    struct store_op op;

    each_message(&world->owner, times, note_deposited);
    store_make_moderate(&world->owner, &op, number, times[number],
                        reports > 0 && rng_chance(&world->rng, 50) ? PERSIST_HIDDEN
                                                                   : PERSIST_APPROVED,
                        reports, reports > 0 ? "1 no" : NULL);
    op.op.now_ms = world->now_ms;
    (void)store_do(&world->owner, &op);
}

static void change_rule(struct world *world)
{
    struct persist_rule rule = {.host = world->owner.host,
                                .kind = PERSIST_BAN_FILTER,
                                .value = &rule_values[rng_below(&world->rng, RULES)],
                                .value_bytes = 1,
                                .number = rng_below(&world->rng, 1000),
                                .created_ms = world->now_ms};
    struct store_op op;

    store_make_rule(&op, rng_chance(&world->rng, 60) ? PERSIST_RULE_PUT : PERSIST_RULE_DROP, &rule);
    op.op.now_ms = world->now_ms;
    (void)store_do(&world->owner, &op);
}

static void expire(struct world *world, struct store_fixture *fixture)
{
    struct store_op op;

    store_make_expire(&op, world->now_ms, PERSIST_EXPIRE_MAX);
    (void)store_do(fixture, &op);
}

/* --- the bridge and the hub ------------------------------------------------------------------- */

static void publish_state(struct world *world, const struct persist_change *change)
{
    struct state *state = &world->hub[key_of(change)];

    if ((world->fault == FAULT_GONE_IS_LEFT && change->kind == PERSIST_CHANGE_GONE) ||
        (world->fault == FAULT_RULES_ARE_LEFT && change->kind == PERSIST_CHANGE_RULE)) {
        return;
    }
    *state = (struct state){.there = true, .at = ++world->hub_at, .change = *change};
    if (change->kind == PERSIST_CHANGE_RULE) {
        state->change.rule.value = &rule_values[change->rule.value[0]];
    }
}

static void ignore_state(struct world *world, const struct persist_change *change)
{
    (void)world;
    (void)change;
}

static void publish(struct world *world, size_t most)
{
    if (world->fault == FAULT_PAGE_IS_LOST && rng_chance(&world->rng, 20)) {
        world->cursor = each_change(world, &world->owner, world->cursor, most, ignore_state);
        return;
    }
    world->cursor = each_change(world, &world->owner, world->cursor, most, publish_state);
    if (rng_chance(&world->rng, 50)) {
        world->saved_cursor = world->cursor;
    }
}

/* The states of the hub behind `from`, in order; some neighbours change places. */
static size_t list_hub(struct world *world, uint64_t from, size_t *out_keys)
{
    size_t count = 0;

    for (size_t key = 0; key < KEYS; key++) {
        size_t place = count;

        if (!world->hub[key].there || world->hub[key].at <= from) {
            continue;
        }
        for (; place > 0 && world->hub[out_keys[place - 1]].at > world->hub[key].at; place--) {
            out_keys[place] = out_keys[place - 1];
        }
        out_keys[place] = key;
        count++;
    }
    for (size_t i = 1; i < count; i++) {
        if (rng_chance(&world->rng, 30)) {
            const size_t key = out_keys[i];
            out_keys[i] = out_keys[i - 1];
            out_keys[i - 1] = key;
        }
    }
    return count;
}

static void consume(struct world *world)
{
    const uint64_t from = rng_chance(&world->rng, 20) ? 0 : world->reader_at; /* 0: all again */
    size_t keys[KEYS];
    const size_t count = list_hub(world, from, keys);

    for (size_t i = 0; i < count; i++) {
        (void)apply(world, &world->reader, &world->hub[keys[i]].change, PERSIST_AS_REPLICA);
    }
    world->reader_at = world->hub_at;
}

static void apply_words(struct world *world)
{
    for (size_t i = 0; i < NUMBERS; i++) {
        if (world->words[i].there) {
            (void)apply(world, &world->owner, &world->words[i].change, PERSIST_AS_OPERATOR);
        }
    }
}

/* An operator at the hub hides, shows or removes; the reader hears it at once. */
static void speak(struct world *world)
{
    const uint32_t number = some_number(world);
    struct persist_change *word = &world->words[number].change;
    struct store_op op;

    if (world->words[number].there && word->kind == PERSIST_CHANGE_GONE) {
        return; /* it is gone for good */
    }
    make_message(world, &world->owner, number, &op);
    *word = (struct persist_change){.kind = rng_chance(&world->rng, 50) ? PERSIST_CHANGE_GONE
                                                                        : PERSIST_CHANGE_MESSAGE,
                                    .why = PERSIST_WHY_REMOVED};
    memcpy(word->message.id, op.op.message.id, MESSAGE_ID_BYTES);
    word->message.state = rng_chance(&world->rng, 50) ? PERSIST_WITHHELD : PERSIST_APPROVED;
    word->message.expires_ms = world->now_ms + LIFE_MS;
    world->words[number].there = true;
    (void)apply(world, &world->reader, word, PERSIST_AS_OPERATOR);
}

static void restore_state(struct world *world, const struct persist_change *change)
{
    (void)apply(world, &world->owner, change, PERSIST_AS_RESTORE);
}

/* --- what fails ------------------------------------------------------------------------------- */

/* The owner's process is killed: all that was committed is there. */
static void kill_owner(struct world *world)
{
    struct store_fixture left;

    store_fixture_init(&left);
    store_fixture_copy(&left, &world->owner);
    store_fixture_deinit(&world->owner);
    store_fixture_init(&world->owner);
    store_fixture_copy(&world->owner, &left);
    store_fixture_deinit(&left);
    open_store(&world->owner);
}

/*
 * The owner loses its store. It takes deposits in a new one, and then gets back what the reader
 * has, once the reader has all of the hub. The new store's cursor starts at 0, and stays.
 */
static void wipe_owner(struct world *world)
{
    store_fixture_deinit(&world->owner);
    store_fixture_init(&world->owner);
    open_store(&world->owner);
    world->cursor = world->saved_cursor = 0;
    for (unsigned i = 0; i < 3; i++) {
        deposit(world);
    }
    consume(world);
    if (world->fault != FAULT_NO_RESTORE) {
        (void)each_change(world, &world->reader, 0, SIZE_MAX, restore_state);
    }
    apply_words(world);
    if (world->fault == FAULT_CURSOR_JUMPS) {
        world->cursor = world->saved_cursor =
            each_change(world, &world->owner, 0, SIZE_MAX, ignore_state);
    }
    world->restores++;
}

static void lose_hub(struct world *world)
{
    memset(world->hub, 0, sizeof(world->hub));
    if (world->fault != FAULT_NO_REWIND) {
        world->cursor = world->saved_cursor = 0;
    }
}

/* --- comparing -------------------------------------------------------------------------------- */

struct view {
    const struct world *world;
    struct {
        bool there;
        enum persist_state state;
        uint32_t reports;
        int64_t deposited_ms;
        int64_t expires_ms;
    } messages[NUMBERS];
    uint32_t rules[RULES]; /* 1 and the number */
};

static void note_message(void *context, const struct persist_message *message)
{
    struct view *view = context;
    const uint32_t number = number_of(message->id);

    if (message->destroy_ms == 0 && message->expires_ms > view->world->now_ms) {
        view->messages[number].there = true;
        view->messages[number].state = message->state;
        view->messages[number].reports = message->reports;
        view->messages[number].deposited_ms = message->deposited_ms;
        view->messages[number].expires_ms = message->expires_ms;
    }
}

static struct view *rule_view;

static void note_rule(struct world *world, const struct persist_change *change)
{
    (void)world;
    if (change->kind == PERSIST_CHANGE_RULE && !change->rule.dropped) {
        rule_view->rules[change->rule.value[0]] = 1 + change->rule.number;
    }
}

static void take_view(struct world *world, struct store_fixture *fixture, struct view *out)
{
    memset(out, 0, sizeof(*out));
    out->world = world;
    each_message(fixture, out, note_message);
    rule_view = out;
    (void)each_change(world, fixture, 0, SIZE_MAX, note_rule);
}

/* Whether a deposit of a message would be refused for good. Its store has to be thrown away. */
static bool refuses(struct world *world, struct store_fixture *fixture, uint32_t number)
{
    struct store_op op;

    make_message(world, fixture, number, &op);
    op.op.message.expires_ms = world->now_ms + 1;
    return store_do(fixture, &op) == PERSIST_GONE;
}

/* All is quiet: the uplink holds, and everything has been said. */
static void settle(struct world *world)
{
    apply_words(world);
    publish(world, SIZE_MAX);
    world->cursor = each_change(world, &world->owner, world->cursor, SIZE_MAX, publish_state);
    consume(world);
}

static void check_world(struct world *world)
{
    struct view owner;
    struct view reader;

    settle(world);
    expire(world, &world->owner);
    expire(world, &world->reader);
    take_view(world, &world->owner, &owner);
    take_view(world, &world->reader, &reader);
    if (memcmp(owner.messages, reader.messages, sizeof(owner.messages)) != 0) {
        world->wrong = "the messages differ";
    } else if (memcmp(owner.rules, reader.rules, sizeof(owner.rules)) != 0) {
        world->wrong = "the rules differ";
    }
    world->applied = 0;
    world->reader_at = 0;
    (void)each_change(world, &world->owner, 0, SIZE_MAX, publish_state);
    consume(world);
    world->reader_at = 0;
    consume(world);
    if (world->wrong == NULL && world->applied > 0) {
        world->wrong = "all of the feed once more changes something";
    }
    for (uint32_t i = 0; i < NUMBERS && world->wrong == NULL; i++) {
        if (refuses(world, &world->owner, i) != refuses(world, &world->reader, i)) {
            world->wrong = "one refuses what the other takes";
        }
    }
}

/* --- worlds ----------------------------------------------------------------------------------- */

static void step(struct world *world)
{
    const uint32_t kind = rng_below(&world->rng, 100);

    world->now_ms += rng_below(&world->rng, 8);
    if (kind < 29) {
        deposit(world);
    } else if (kind < 35) {
        deposit_many(world);
    } else if (kind < 45) {
        take_away(world);
    } else if (kind < 52) {
        moderate(world);
    } else if (kind < 58) {
        change_rule(world);
    } else if (kind < 62) {
        expire(world, rng_chance(&world->rng, 50) ? &world->owner : &world->reader);
    } else if (kind < 66) {
        speak(world);
    } else if (kind < 70) {
        world->is_cut = !world->is_cut;
    } else if (kind < 73) {
        world->cursor = world->saved_cursor; /* the bridge is killed */
    } else if (kind < 74) {
        lose_hub(world);
    } else if (kind < 76) {
        wipe_owner(world);
    } else if (kind < 78) {
        kill_owner(world);
    } else if (!world->is_cut && kind < 88) {
        apply_words(world);
        publish(world, 1 + rng_below(&world->rng, 12));
    } else if (!world->is_cut) {
        consume(world);
    }
}

/* What is wrong at the end; NULL: nothing. */
static const char *run_world(uint64_t seed, enum fault fault, unsigned *restores)
{
    static struct world world;

    memset(&world, 0, sizeof(world));
    world.rng.state = seed;
    world.fault = fault;
    world.now_ms = 1000;
    store_fixture_init(&world.owner);
    store_fixture_init(&world.reader);
    open_store(&world.owner);
    open_store(&world.reader);
    for (unsigned i = 0; i < STEPS; i++) {
        step(&world);
    }
    check_world(&world);
    *restores += world.restores;
    store_fixture_deinit(&world.reader);
    store_fixture_deinit(&world.owner);
    return world.wrong;
}

TEST(test_worlds)
{
    const char *text = getenv("HEARSAY_FEED_WORLDS");
    const unsigned worlds = text != NULL ? (unsigned)strtoul(text, NULL, 10) : WORLDS;
    unsigned restores = 0;
    struct rng rng;

    rng_init(&rng);
    for (unsigned i = 0; i < worlds; i++) {
        const uint64_t seed = rng_next(&rng);
        const char *wrong = run_world(seed, FAULT_NONE, &restores);

        if (wrong != NULL) {
            fail_msg("world %u: %s", i, wrong);
        }
    }
    print_message("%u worlds, %u restores\n", worlds, restores);
    assert_true(restores > 0);
}

/* If a fault were not found, test_worlds would prove nothing about it. */
TEST(test_faults_are_found)
{
    unsigned restores = 0;
    struct rng rng;

    rng_init(&rng);
    for (enum fault fault = FAULT_NONE + 1; fault < FAULTS; fault++) {
        const char *wrong = NULL;
        unsigned tries = 0;

        while (wrong == NULL && tries < FAULT_WORLDS) {
            wrong = run_world(rng_next(&rng), fault, &restores);
            tries++;
        }
        if (wrong == NULL) {
            fail_msg("fault %d was not found in %u worlds", (int)fault, tries);
        }
        print_message("fault %d: world %u: %s\n", (int)fault, tries, wrong != NULL ? wrong : "");
    }
}

int main(void)
{
    pass_install_plain();
    return check_run(NULL, NULL);
}
