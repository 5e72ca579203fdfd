/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every engine with every kernel against a list that is compared bit by bit and sorted as a whole:
 * random inserts, removals and searches of all kinds, several of them under way at a time, with
 * messages coming, going and expiring between their steps.
 */
#include "core/index/index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/filter/bloom.h"
#include "core/index/engine.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/rng.h"
#include "tests/reference/check.h"
#include "tests/reference/engines.h"

enum {
    INDEXES = 2,
    MESSAGES_MAX = 700, /* more than a chunk of the list */
    WORDS_MAX = PROFILE_WORDS_MAX,
    PARTS_MAX = 4,
    SEARCHES = 3,
    SENDERS = 5,
    FOUND_MAX = PARTS_MAX * MESSAGES_MAX
};

struct message {
    struct index_item item;
    uint64_t filter[WORDS_MAX];
};

/* One index, and what should be in it, in no order. */
struct store {
    struct index *index;
    struct message messages[MESSAGES_MAX];
    uint32_t count;
};

/* A search under way, and what it was asked. */
struct asked {
    struct index_search *search;
    struct index_query query;
    struct index_part parts[PARTS_MAX];
    uint32_t part_store[PARTS_MAX];
    uint64_t filters[PARTS_MAX][WORDS_MAX];
    uint64_t contains[PARTS_MAX][WORDS_MAX];
    struct scalable seen; /* what query.exclude points into */
    uint32_t steps;
};

struct world {
    struct rng rng;
    struct fail_alloc alloc;
    struct profile profile;
    struct estimate *estimate;
    struct store stores[INDEXES];
    struct asked asked[SEARCHES];
    int64_t now_ms;
    uint32_t next_id;
    uint32_t finished;
    uint32_t capped; /* of these, answers that a cap changed */
    uint32_t fanout;
};

static struct world world; /* too large for a stack */

/* ---- the reference ---- */

struct plain_count {
    uint32_t a, b, both, either;
};

static struct plain_count count_bits(const uint64_t *a, const uint64_t *b, uint32_t first,
                                     uint32_t bits)
{
    struct plain_count counts = {0, 0, 0, 0};

    for (uint32_t p = first; p < first + bits; p++) {
        bool in_a = bloom_test(a, p);
        bool in_b = bloom_test(b, p);

        counts.a += in_a;
        counts.b += in_b;
        counts.both += in_a && in_b;
        counts.either += in_a || in_b;
    }
    return counts;
}

static struct similarity plain_estimate(const uint64_t *a, const uint64_t *b)
{
    int64_t n_a = 0, n_b = 0, n_either = 0;

    for (uint32_t s = 0; s < world.profile.section_count; s++) {
        const struct profile_section *section = &world.profile.sections[s];
        const uint32_t *table = estimate_table(world.estimate, s);
        struct plain_count counts = count_bits(a, b, section->first_bit, section->bits);

        n_a += table[counts.a];
        n_b += table[counts.b];
        n_either += table[counts.either];
    }
    int64_t shared = n_a + n_b - n_either;
    shared = shared < 0 ? 0 : shared > n_either ? n_either : shared;
    if (n_either == 0) {
        return (struct similarity){1, 1};
    }
    return (struct similarity){(uint32_t)shared, (uint32_t)n_either};
}

/* Whether (all - shared) / all <= ppm / 1,000,000. */
static bool plain_within(uint32_t shared, uint32_t all, uint32_t ppm)
{
    return all == 0 || (uint64_t)(all - shared) * 1000000 <= (uint64_t)ppm * all;
}

/* Whether the message is an answer of the part at all; if so, as a candidate. */
static bool plain_match(const struct asked *asked, uint32_t p, const struct message *message,
                        struct nearest_candidate *out)
{
    const struct index_query *query = &asked->query;
    const struct index_item *item = &message->item;
    struct plain_count counts =
        count_bits(asked->filters[p], message->filter, 0, world.profile.bits);
    struct similarity bits = {counts.both, counts.either};

    for (uint32_t bit = 0; asked->parts[p].contains != NULL && bit < world.profile.bits; bit++) {
        if (bloom_test(asked->contains[p], bit) && !bloom_test(message->filter, bit)) {
            return false;
        }
    }
    if (scalable_slices_have(query->exclude, query->exclude_count, item->id, MESSAGE_ID_BYTES,
                             NULL)) {
        return false;
    }
    if (item->expires_ms <= world.now_ms || item->deposited_ms < query->since_ms ||
        (query->until_ms != INT64_MAX && item->deposited_ms >= query->until_ms) ||
        !plain_within(bits.shared, bits.all, query->max_distance_ppm) ||
        !plain_within(bits.shared, bits.all, item->reach_ppm)) {
        return false;
    }
    if (counts.either == 0) {
        bits = (struct similarity){1, 1};
    }
    memset(out, 0, sizeof *out);
    out->rank = query->metric == INDEX_METRIC_BITS
                    ? bits
                    : plain_estimate(asked->filters[p], message->filter);
    out->item = *item;
    out->intersection = counts.both;
    out->union_count = counts.either;
    out->cardinality = counts.b;
    out->part = p;
    return true;
}

static int plain_order(const void *left, const void *right)
{
    const struct nearest_candidate *a = left;
    const struct nearest_candidate *b = right;
    uint64_t a_cross = (uint64_t)a->rank.shared * b->rank.all;
    uint64_t b_cross = (uint64_t)b->rank.shared * a->rank.all;

    if (a_cross != b_cross) {
        return a_cross > b_cross ? -1 : 1;
    }
    if (a->item.deposited_ms != b->item.deposited_ms) {
        return a->item.deposited_ms > b->item.deposited_ms ? -1 : 1;
    }
    int order = memcmp(a->item.id, b->item.id, MESSAGE_ID_BYTES);
    return order != 0 ? order : (a->part > b->part) - (a->part < b->part);
}

/* The best that any part from p on, of those that look at p's store, makes of the message. */
static bool plain_best(const struct asked *asked, uint32_t p, const struct message *message,
                       struct nearest_candidate *out)
{
    struct nearest_candidate other;
    bool found = false;

    for (uint32_t q = p; q < asked->query.part_count; q++) {
        if (asked->part_store[q] == asked->part_store[p] &&
            plain_match(asked, q, message, &other) && (!found || plain_order(&other, out) < 0)) {
            *out = other;
            found = true;
        }
    }
    return found;
}

static bool is_first_of_store(const struct asked *asked, uint32_t p)
{
    for (uint32_t earlier = 0; earlier < p; earlier++) {
        if (asked->part_store[earlier] == asked->part_store[p]) {
            return false;
        }
    }
    return true;
}

/*
 * Takes them in order, and passes over those of senders that have their share. How many are taken;
 * *out_capped: whether one of the first k was passed over.
 */
static uint32_t plain_shares(const struct asked *asked, struct nearest_candidate *all,
                             uint32_t count, bool *out_capped)
{
    uint32_t taken_of[SENDERS] = {0};
    uint32_t taken = 0;

    *out_capped = false;
    for (uint32_t i = 0; i < count && taken < asked->query.k; i++) {
        const uint32_t sender = all[i].item.sender;

        if (sender != 0 && asked->query.sender_share > 0 &&
            taken_of[sender] >= asked->query.sender_share) {
            *out_capped = *out_capped || i < asked->query.k;
            continue;
        }
        taken_of[sender]++;
        all[taken++] = all[i];
    }
    return taken;
}

/* A message counts once, however many parts find it. */
static uint32_t plain_search(const struct asked *asked, struct nearest_candidate *out,
                             bool *out_capped)
{
    uint32_t count = 0;

    for (uint32_t p = 0; p < asked->query.part_count; p++) {
        const struct store *store = &world.stores[asked->part_store[p]];

        for (uint32_t i = 0; is_first_of_store(asked, p) && i < store->count; i++) {
            count += plain_best(asked, p, &store->messages[i], &out[count]);
        }
    }
    qsort(out, count, sizeof *out, plain_order);
    return plain_shares(asked, out, count, out_capped);
}

/* ---- comparing ---- */

static void check_item(const struct index_item *a, const struct index_item *b)
{
    assert_memory_equal(a->id, b->id, MESSAGE_ID_BYTES);
    assert_true(a->deposited_ms == b->deposited_ms);
    assert_true(a->expires_ms == b->expires_ms);
    assert_int_equal(a->reach_ppm, b->reach_ppm);
    assert_int_equal(a->bytes, b->bytes);
    assert_int_equal(a->sender, b->sender);
}

static void check_answer(struct asked *asked)
{
    static struct nearest_candidate expected[FOUND_MAX];
    bool capped = false;
    uint32_t expected_count = plain_search(asked, expected, &capped);
    uint32_t count = 0;
    const struct nearest_candidate *found = index_search_results(asked->search, &count);

    assert_int_equal(count, expected_count);
    for (uint32_t i = 0; i < count; i++) {
        check_item(&found[i].item, &expected[i].item);
        assert_int_equal(found[i].rank.shared, expected[i].rank.shared);
        assert_int_equal(found[i].rank.all, expected[i].rank.all);
        assert_int_equal(found[i].intersection, expected[i].intersection);
        assert_int_equal(found[i].union_count, expected[i].union_count);
        assert_int_equal(found[i].cardinality, expected[i].cardinality);
        assert_int_equal(found[i].part, expected[i].part);
    }
    assert_true(index_search_is_exact(asked->search));
    assert_int_equal(index_search_is_capped(asked->search), capped);
    world.capped += capped;
}

static void check_store(const struct store *store)
{
    const char *wrong = check_index(store->index);

    if (wrong != NULL) {
        fail_msg("%s", wrong);
    }
    assert_int_equal(index_count(store->index), store->count);
}

/* Every message can be looked up, and what is held is what is accounted for. */
static void check_contents(const struct store *store)
{
    for (uint32_t i = 0; i < store->count; i++) {
        struct index_item item;
        uint64_t filter[WORDS_MAX];

        assert_int_equal(index_find(store->index, store->messages[i].item.id, &item, filter), 0);
        check_item(&item, &store->messages[i].item);
        assert_memory_equal(filter, store->messages[i].filter,
                            bloom_words(world.profile.bits) * sizeof *filter);
    }
}

/* ---- operations ---- */

/* Few places and few topics, so that near, equal and tied ones are common; now and then an edge. */
static void make_filter(uint64_t *filter)
{
    struct rng *rng = &world.rng;
    uint32_t kind = rng_below(rng, 100);

    memset(filter, 0, WORDS_MAX * sizeof *filter);
    if (kind < 2) {
        return; /* empty */
    }
    if (kind < 4) {
        rng_filter(rng, world.profile.bits, 100, filter);
        return;
    }
    if (kind < 7) {
        rng_filter(rng, world.profile.bits, rng_below(rng, 101), filter);
        return;
    }
    uint32_t place = rng_below(rng, 6);
    for (uint32_t i = 0; i < 6; i++) {
        if (rng_chance(rng, 75)) {
            for (uint32_t h = 0; h < 3; h++) {
                bloom_set(filter, (place * 37 + i * 11 + h * 101) % world.profile.bits);
            }
        }
    }
    if (rng_chance(rng, 50)) {
        bloom_set(filter, rng_below(rng, world.profile.bits));
    }
}

static uint32_t make_ppm(void)
{
    static const uint32_t usual[] = {0, 1, 250000, 333333, 333334, 500000, 999999};

    if (rng_chance(&world.rng, 70)) {
        return DISTANCE_ONE_PPM;
    }
    return rng_chance(&world.rng, 50) ? usual[rng_below(&world.rng, 7)]
                                      : rng_below(&world.rng, DISTANCE_ONE_PPM + 1);
}

static void insert_message(struct store *store)
{
    struct message message;
    int expected = 0;

    memset(&message, 0, sizeof message);
    if (store->count > 0 && rng_chance(&world.rng, 5)) { /* an id that is there */
        message = store->messages[rng_below(&world.rng, store->count)];
        expected = INDEX_EXISTS;
    } else if (store->count == MESSAGES_MAX) {
        return;
    } else {
        uint32_t id = world.next_id++ * 2654435761u; /* spread, never repeated */

        memcpy(message.item.id, &id, sizeof id);
    }
    message.item.deposited_ms = world.now_ms - rng_below(&world.rng, 20);
    message.item.expires_ms =
        rng_chance(&world.rng, 80) ? INT64_MAX : world.now_ms + rng_below(&world.rng, 60) - 5;
    message.item.reach_ppm = make_ppm();
    message.item.bytes = rng_below(&world.rng, 1000);
    message.item.sender = rng_chance(&world.rng, 40) ? 1 : rng_below(&world.rng, SENDERS);
    make_filter(message.filter);
    assert_int_equal(index_insert(store->index, &message.item, message.filter), expected);
    if (expected == 0) {
        store->messages[store->count++] = message;
    }
}

static void remove_message(struct store *store)
{
    struct index_item item;
    uint8_t unknown[MESSAGE_ID_BYTES] = {[15] = 1};

    if (store->count == 0 || rng_chance(&world.rng, 3)) {
        assert_int_equal(index_remove(store->index, unknown, &item), INDEX_NOT_FOUND);
        assert_int_equal(index_find(store->index, unknown, NULL, NULL), INDEX_NOT_FOUND);
        return;
    }
    uint32_t i = rng_below(&world.rng, store->count);
    assert_int_equal(index_remove(store->index, store->messages[i].item.id, &item), 0);
    check_item(&item, &store->messages[i].item);
    store->messages[i] = store->messages[--store->count];
}

/* The reader has seen about every second message of one store. */
static void exclude_some(struct asked *asked)
{
    const struct store *store = &world.stores[asked->part_store[0]];

    for (uint32_t i = 0; i < store->count; i++) {
        if (rng_chance(&world.rng, 50)) {
            const uint8_t *id = store->messages[i].item.id;

            assert_int_equal(scalable_add(&asked->seen, id, MESSAGE_ID_BYTES), 0);
        }
    }
    asked->query.exclude = asked->seen.slices;
    asked->query.exclude_count = asked->seen.slice_count;
}

static void begin_search(struct asked *asked)
{
    struct rng *rng = &world.rng;
    static const uint32_t ks[] = {1, 1, 2, 3, 10, 10, 50, MESSAGES_MAX * PARTS_MAX + 1};

    memset(asked, 0, sizeof *asked);
    asked->query = (struct index_query){
        .parts = asked->parts,
        .part_count = rng_chance(rng, 60) ? 1 : 1 + rng_below(rng, PARTS_MAX),
        .k = ks[rng_below(rng, 8)],
        .sender_share = rng_chance(rng, 50) ? 0 : 1 + rng_below(rng, rng_chance(rng, 70) ? 3 : 30),
        .max_distance_ppm = make_ppm(),
        .since_ms = rng_chance(rng, 80) ? INT64_MIN : world.now_ms - rng_below(rng, 200),
        .until_ms = rng_chance(rng, 80) ? INT64_MAX : world.now_ms - rng_below(rng, 100),
        .metric = rng_chance(rng, 60) ? INDEX_METRIC_BITS : INDEX_METRIC_ESTIMATED,
    };
    for (uint32_t p = 0; p < asked->query.part_count; p++) {
        asked->part_store[p] = rng_below(rng, INDEXES);
        make_filter(asked->filters[p]);
        asked->parts[p] = (struct index_part){
            .index = world.stores[asked->part_store[p]].index,
            .filter = asked->filters[p],
        };
        if (rng_chance(rng, 30)) {
            if (rng_chance(rng, 90)) {
                bloom_set(asked->contains[p], rng_below(rng, world.profile.bits));
            }
            asked->parts[p].contains = asked->contains[p];
        }
    }
    scalable_init(&asked->seen, alloc_system(), 1000, rng_next(rng), 1 << 16);
    if (rng_chance(rng, 30)) {
        exclude_some(asked);
    }
    assert_int_equal(index_search_new(&world.alloc.alloc, &asked->query, &asked->search), 0);
}

static void end_search(struct asked *asked)
{
    index_search_free(asked->search);
    scalable_deinit(&asked->seen);
    asked->query.exclude_count = 0;
    asked->search = NULL;
}

static void step_search(struct asked *asked)
{
    static const uint64_t budgets[] = {0, 1, 8, 9, 64, 513, 5000, UINT64_MAX};
    int result = index_search_step(asked->search, budgets[rng_below(&world.rng, 8)], world.now_ms);

    asked->steps++;
    /* Four walks of at most 4 parts with 700 messages in blocks of 8. */
    assert_true(asked->steps <= 4 * PARTS_MAX * (MESSAGES_MAX / 8 + 2));
    if (result == 0) {
        check_answer(asked);
        world.finished++;
        end_search(asked);
    } else {
        assert_int_equal(result, INDEX_MORE);
        assert_false(index_search_is_exact(asked->search));
    }
}

/* Some at once, with searches under way. */
static void load_messages(struct store *store)
{
    for (uint32_t count = rng_below(&world.rng, 100); count > 0; count--) {
        if (rng_chance(&world.rng, 80)) {
            insert_message(store);
        } else {
            remove_message(store);
        }
    }
    check_store(store);
    assert_int_equal(renew_index(store->index), 0);
}

static void one_operation(uint32_t step)
{
    struct rng *rng = &world.rng;
    struct store *store = &world.stores[rng_below(rng, INDEXES)];
    struct asked *asked = &world.asked[rng_below(rng, SEARCHES)];
    uint32_t growth = step / 1000 % 2 == 0 ? 35 : 15; /* grows and shrinks in turn */

    world.now_ms += rng_chance(rng, 20) ? rng_below(rng, 4) : 0;
    if (rng_chance(rng, 1)) {
        load_messages(store);
    }
    if (rng_chance(rng, growth)) {
        insert_message(store);
    } else if (rng_chance(rng, 40)) {
        remove_message(store);
    } else if (asked->search == NULL) {
        begin_search(asked);
    } else if (rng_chance(rng, 2)) {
        end_search(asked); /* at any time */
    } else {
        step_search(asked);
    }
}

/* ---- the runs ---- */

static struct profile one_section(uint32_t m)
{
    return (struct profile){
        .version = 1, .bits = m, .section_count = 1, .sections = {{.bits = m, .hashes = 3}}};
}

/* Sections that begin and end within words; the index does not care what goes into them. */
static struct profile several_sections(void)
{
    return (struct profile){
        .version = 1,
        .bits = 192,
        .section_count = 3,
        .sections = {{.first_bit = 0, .bits = 100, .hashes = 3},
                     {.first_bit = 100, .bits = 60, .hashes = 1},
                     {.first_bit = 160, .bits = 32, .hashes = 2}},
    };
}

static void begin_world(const struct index_engine *engine, const struct bits_kernels *kernels,
                        const struct profile *profile)
{
    world.profile = *profile;
    world.now_ms = -2000; /* so that a time of 0 means nothing special */
    world.next_id = 1;
    world.finished = 0;
    world.capped = 0;
    fail_alloc_init(&world.alloc);
    assert_int_equal(estimate_new(alloc_system(), profile, &world.estimate), 0);
    struct index_options options = {
        .alloc = &world.alloc.alloc,
        .profile = profile,
        .estimate = world.estimate,
        .kernels = kernels,
        .hash_seed = rng_next(&world.rng),
    };
    for (uint32_t s = 0; s < INDEXES; s++) {
        world.stores[s].count = 0;
        assert_int_equal(index_new(engine, &options, &world.stores[s].index), 0);
    }
}

static void end_world(void)
{
    size_t held = 0;

    for (uint32_t a = 0; a < SEARCHES; a++) {
        if (world.asked[a].search != NULL) {
            end_search(&world.asked[a]);
        }
    }
    for (uint32_t s = 0; s < INDEXES; s++) {
        held += index_bytes(world.stores[s].index);
    }
    assert_int_equal(world.alloc.live_bytes, held); /* what is held is what is accounted for */
    for (uint32_t s = 0; s < INDEXES; s++) {
        index_free(world.stores[s].index);
    }
    estimate_free(world.estimate);
    assert_int_equal(world.alloc.live_bytes, 0);
}

static void run(const struct index_engine *engine, const struct bits_kernels *kernels,
                const struct profile *profile, uint32_t messages, uint32_t steps)
{
    begin_world(engine, kernels, profile);
    steps /= rng_is_brief() ? 4 : 1;
    for (uint32_t i = 0; i < messages; i++) {
        insert_message(&world.stores[0]);
    }
    for (uint32_t step = 0; step < steps; step++) {
        one_operation(step);
        if (world.fanout == 0 || step % 8 == 0) { /* many small nodes take long to check */
            check_store(&world.stores[0]);
            check_store(&world.stores[1]);
        }
        if (step % 500 == 0) {
            check_contents(&world.stores[0]);
            check_contents(&world.stores[1]);
        }
    }
    printf("%s, %s, m = %u: %u searches, %u of them capped\n", engine->name, kernels->name,
           profile->bits, world.finished, world.capped);
    assert_true(world.finished > steps / 40);
    assert_true(world.finished < 150 || world.capped > world.finished / 40);
    end_world();
}

static void run_all_profiles(const struct index_engine *engine, const struct bits_kernels *kernels)
{
    const struct profile sectioned = several_sections();
    const struct profile smallest = one_section(64);
    const struct profile middle = one_section(320);
    const struct profile largest = one_section(PROFILE_BITS_MAX);

    run(engine, kernels, &smallest, 550, 4000); /* into the second chunk of the list */
    run(engine, kernels, &middle, 550, 4000);
    run(engine, kernels, &sectioned, 550, 4000);
    run(engine, kernels, &largest, 50, 500);
}

/* Small nodes, so that few messages make many: they split, merge and are passed by searches. */
static void run_fanouts(const struct bits_kernels *kernels)
{
    static const uint32_t fanouts[] = {2, 3, 5, 16, 70};
    const struct profile sectioned = several_sections();
    const struct profile wide = one_section(512); /* sparse, so that bounds pay */
    struct bits_kernels eager = *kernels;

    eager.block_columns = 10000; /* so that bounds are used in small nodes, too */
    for (size_t i = 0; i < sizeof fanouts / sizeof fanouts[0]; i++) {
        world.fanout = fanouts[i];
        run(small_tree_engine(fanouts[i]), &eager, &sectioned, 400, 1500);
        run(small_tree_engine(fanouts[i]), &eager, &wide, 400, 1500);
    }
    world.fanout = 0;
}

static void test_random_operations(void **state)
{
    (void)state;
    rng_init(&world.rng);
    for (const struct index_engine *const *e = all_engines(); *e != NULL; e++) {
        const int last = rng_is_brief() ? BITS_SCALAR : BITS_AVX512;

        for (int level = BITS_SCALAR; level <= last; level++) {
            const struct bits_kernels *kernels = bits_table((enum bits_level)level);

            if (kernels == NULL) {
                printf("kernels of level %d: not here, not tested\n", level);
            } else {
                run_all_profiles(*e, kernels);
                if (*e == &tree_engine) {
                    run_fanouts(kernels);
                }
            }
        }
    }
}

static struct asked *ask(uint32_t k)
{
    struct asked *asked = &world.asked[0];

    do {
        begin_search(asked);
        end_search(asked);
    } while (asked->query.part_count != 1 || asked->part_store[0] != 0 ||
             asked->parts[0].contains != NULL);
    asked->query.k = k;
    asked->query.max_distance_ppm = DISTANCE_ONE_PPM;
    asked->query.since_ms = INT64_MIN;
    asked->query.until_ms = INT64_MAX;
    asked->steps = 0;
    assert_int_equal(index_search_new(&world.alloc.alloc, &asked->query, &asked->search), 0);
    return asked;
}

static const struct message *first_answer(const struct asked *asked)
{
    static struct nearest_candidate found[FOUND_MAX];
    const struct store *store = &world.stores[0];

    bool capped = false;

    if (plain_search(asked, found, &capped) == 0) {
        return NULL;
    }
    for (uint32_t i = 0; i < store->count; i++) {
        if (memcmp(store->messages[i].item.id, found[0].item.id, MESSAGE_ID_BYTES) == 0) {
            return &store->messages[i];
        }
    }
    return NULL;
}

/* Messages that come as fast as a search looks at them, and the best one going each time. */
static void test_searches_end_however_fast_messages_come_and_go(void **state)
{
    const struct profile profile = one_section(64);

    (void)state;
    rng_init(&world.rng);
    for (const struct index_engine *const *e = all_engines(); *e != NULL; e++) {
        for (uint32_t take_best = 0; take_best < 2; take_best++) {
            begin_world(*e, bits_select(BITS_AVX512), &profile);
            struct store *store = &world.stores[0];
            for (uint32_t i = 0; i < 200; i++) {
                insert_message(store);
            }
            struct asked *asked = ask(5);
            while (index_search_step(asked->search, 1, world.now_ms) == INDEX_MORE) {
                const struct message *best = take_best == 1 ? first_answer(asked) : NULL;

                assert_true(asked->steps++ < 4 * 30);
                if (best != NULL) {
                    uint32_t at = (uint32_t)(best - store->messages);

                    assert_int_equal(index_remove(store->index, best->item.id, NULL), 0);
                    store->messages[at] = store->messages[--store->count];
                }
                for (uint32_t i = 0; take_best == 0 && i < 16 && store->count < MESSAGES_MAX; i++) {
                    insert_message(store);
                }
            }
            check_answer(asked);
            end_world();
        }
    }
}

/* The answer stands, whatever happens to the index, even its end. */
static void test_results_stay(void **state)
{
    const struct profile profile = one_section(64);
    struct nearest_candidate kept[5];
    uint32_t count = 0;

    (void)state;
    rng_init(&world.rng);
    begin_world(&list_engine, bits_select(BITS_AVX512), &profile);
    for (uint32_t i = 0; i < 100; i++) {
        insert_message(&world.stores[0]);
    }
    struct asked *asked = ask(5);
    assert_int_equal(index_search_step(asked->search, UINT64_MAX, world.now_ms), 0);
    memcpy(kept, index_search_results(asked->search, &count), sizeof kept);
    assert_int_equal(count, 5);
    assert_int_equal(index_search_comparisons(asked->search), world.stores[0].count);
    while (world.stores[0].count > 0) {
        remove_message(&world.stores[0]);
    }
    assert_int_equal(index_search_step(asked->search, 1, world.now_ms + 1000000), 0);
    const struct nearest_candidate *still = index_search_results(asked->search, &count);
    assert_int_equal(count, 5);
    for (uint32_t i = 0; i < count; i++) { /* not their bytes: some are between the fields */
        assert_int_equal(nearest_compare(&still[i], &kept[i]), 0);
        assert_memory_equal(still[i].item.id, kept[i].item.id, sizeof kept[i].item.id);
    }
    end_world();
}

/* A budget ends a search early, which then says so; what it found is there, best first. */
static void test_budget(void **state)
{
    const struct profile profile = one_section(64);

    (void)state;
    rng_init(&world.rng);
    for (const struct index_engine *const *e = all_engines(); *e != NULL; e++) {
        begin_world(*e == &tree_engine ? small_tree_engine(2) : *e, bits_select(BITS_AVX512),
                    &profile);
        for (uint32_t i = 0; i < 500; i++) {
            insert_message(&world.stores[0]);
        }
        for (uint64_t budget = 1; budget <= 1 << 20; budget *= 4) {
            struct asked *asked = ask(5);
            uint32_t count = 0;

            end_search(asked);
            asked->query.budget = budget;
            assert_int_equal(index_search_new(&world.alloc.alloc, &asked->query, &asked->search),
                             0);
            while (index_search_step(asked->search, 64, world.now_ms) == INDEX_MORE) {
            }
            const struct nearest_candidate *found = index_search_results(asked->search, &count);
            for (uint32_t i = 1; i < count; i++) {
                assert_true(nearest_compare(&found[i - 1], &found[i]) < 0);
            }
            if (index_search_is_exact(asked->search)) {
                check_answer(asked);
            } else {
                assert_true(index_search_comparisons(asked->search) >= budget);
            }
            assert_true(budget > 1 || !index_search_is_exact(asked->search));
            assert_true(budget < 1 << 20 || index_search_is_exact(asked->search));
            end_search(asked);
        }
        end_world();
    }
}

static void test_null_is_freed(void **state)
{
    (void)state;
    index_free(NULL);
    index_search_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_operations),
        cmocka_unit_test(test_searches_end_however_fast_messages_come_and_go),
        cmocka_unit_test(test_results_stay),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_null_is_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
