/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree against the list, on data that is hard on a tree: it is loaded, grows, loses and gets
 * messages at the edges of its nodes, shrinks and gets empty; with nodes of all sizes, and enough
 * of them for summaries. After each phase its invariants hold, and it answers all kinds of queries
 * as the list does. (test_index.c compares both with a reference that is plainer than the list.)
 */
#include "core/tree/inner.h"

#include "core/filter/bloom.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"
#include "tests/model/some_metric.h"
#include "tests/reference/check.h"
#include "tests/reference/engines.h"

enum { MESSAGES_MAX = 70000, WORDS_MAX = 8, PLACES = 60, HOT_BITS = 24 };

struct message {
    struct index_item item;
    uint64_t filter[WORDS_MAX];
};

struct world {
    struct rng rng;
    struct fail_alloc alloc;
    struct profile profile;
    struct index *list;
    struct index *index; /* of the tree */
    struct tree *tree;   /* what is in it */
    struct message messages[MESSAGES_MAX];
    uint32_t count;
    uint32_t next_id;
    struct bits_kernels kernels;
    uint32_t searches;
    uint32_t short_cuts; /* searches that did not compare all */
    uint32_t most_summaries;
    uint32_t most_twins;
    int64_t next_ms; /* of the next message, if step_ms is not 0 */
    int64_t step_ms;
};

static struct world world; /* too large for a stack */

static const struct profile narrow = {
    .bits = 64, .section_count = 1, .sections = {{.bits = 64, .hashes = 2}}};
static const struct profile sectioned = {.bits = 192,
                                         .section_count = 3,
                                         .sections = {{.bits = 100, .hashes = 3},
                                                      {.first_bit = 100, .bits = 60, .hashes = 1},
                                                      {.first_bit = 160, .bits = 32, .hashes = 2}}};
static const struct profile wide = {
    .bits = 512, .section_count = 1, .sections = {{.bits = 512, .hashes = 4}}};

/* ---- data ---- */

/* The filter of message i of about n. */
typedef void make_filter(uint32_t i, uint32_t n, uint64_t *out);

static void make_equal(uint32_t i, uint32_t n, uint64_t *out)
{
    (void)i;
    (void)n;
    for (uint32_t bit = 0; bit < world.profile.bits; bit += 5) {
        bloom_set(out, bit);
    }
}

static void make_one_bit(uint32_t i, uint32_t n, uint64_t *out)
{
    (void)n;
    bloom_set(out, i % world.profile.bits);
}

static void make_full(uint32_t i, uint32_t n, uint64_t *out)
{
    (void)i;
    (void)n;
    rng_filter(&world.rng, world.profile.bits, 100, out);
}

static void make_empty(uint32_t i, uint32_t n, uint64_t *out)
{
    (void)i;
    (void)n;
    (void)out;
}

/* Each is in the next one. */
static void make_chain(uint32_t i, uint32_t n, uint64_t *out)
{
    (void)n;
    for (uint32_t bit = 0; bit < i % (world.profile.bits + 1); bit++) {
        bloom_set(out, bit);
    }
}

/* By cardinality. */
static void make_sorted(uint32_t i, uint32_t n, uint64_t *out)
{
    rng_filter(&world.rng, world.profile.bits, 101 * (i % n) / n, out);
}

static void set_some(uint32_t place, uint32_t bits, uint32_t percent, uint64_t *out)
{
    for (uint32_t i = 0; i < bits; i++) {
        if (rng_chance(&world.rng, percent)) {
            bloom_set(out, (place * 7919 + i * (2 * place + 3)) % world.profile.bits);
        }
    }
}

/* Half of them at one place, the others alone. */
static void make_hot(uint32_t i, uint32_t n, uint64_t *out)
{
    (void)n;
    if (i % 2 == 0) {
        set_some(1, HOT_BITS, 80, out);
    } else {
        rng_filter(&world.rng, world.profile.bits, 5, out);
    }
}

/* Some places, and rare labels. */
static void make_places(uint32_t i, uint32_t n, uint64_t *out)
{
    (void)i;
    (void)n;
    set_some(rng_below(&world.rng, PLACES), HOT_BITS, 80, out);
    if (rng_chance(&world.rng, 70)) {
        bloom_set(out, rng_below(&world.rng, world.profile.bits));
    }
}

/* No structure at all, and so few bits that bounds seem to be worth trying. */
static void make_noise(uint32_t i, uint32_t n, uint64_t *out)
{
    (void)i;
    (void)n;
    rng_filter(&world.rng, world.profile.bits, 10, out);
}

static void make_mixture(uint32_t i, uint32_t n, uint64_t *out)
{
    static make_filter *const kinds[] = {make_equal,  make_one_bit, make_full,   make_empty,
                                         make_sorted, make_hot,     make_places, make_noise};

    kinds[rng_below(&world.rng, 8)](i, n, out);
}

static const struct data {
    const char *name;
    make_filter *make;
} all_data[] = {
    {"equal", make_equal}, {"one bit", make_one_bit}, {"full", make_full}, {"empty", make_empty},
    {"chain", make_chain}, {"sorted", make_sorted},   {"hot", make_hot},   {"places", make_places},
    {"noise", make_noise}, {"mixture", make_mixture},
};
enum { DATA_COUNT = sizeof all_data / sizeof all_data[0] };

/* ---- both indexes ---- */

static void begin_world(const struct profile *profile, uint32_t fanout,
                        const struct bits_kernels *kernels)
{
    world.profile = *profile;
    world.count = 0;
    world.next_id = 1;
    world.searches = 0;
    world.short_cuts = 0;
    world.kernels = *kernels;
    world.kernels.block_columns = 10000; /* so that bounds are used in small nodes, too */
    world.most_summaries = 0;
    world.most_twins = 0;
    world.next_ms = 0;
    world.step_ms = 0;
    fail_alloc_init(&world.alloc);
    struct index_options options = {
        .alloc = &world.alloc.alloc,
        .profile = profile,
        .kernels = &world.kernels,
        .hash_seed = rng_next(&world.rng),
    };
    assert_int_equal(index_new(&list_engine, &options, &world.list), 0);
    assert_int_equal(index_new(small_tree_engine(fanout), &options, &world.index), 0);
    world.tree = tree_of_index(world.index);
    if (rng_chance(&world.rng, 50)) {
        world.tree->small_most = rng_below(&world.rng, 500); /* mostly it is big */
    }
}

static void end_world(void)
{
    assert_int_equal(world.alloc.live_bytes, index_bytes(world.list) + index_bytes(world.index));
    index_free(world.list);
    index_free(world.index);
    assert_int_equal(world.alloc.live_bytes, 0);
}

static void check_both(void)
{
    const char *wrong = check_index(world.index);

    if (wrong != NULL) {
        fail_msg("%s", wrong);
    }
    assert_int_equal(index_count(world.index), world.count);
    assert_int_equal(index_count(world.list), world.count);
    if (world.tree->twin_count > world.most_twins) {
        world.most_twins = world.tree->twin_count;
    }
    if (world.tree->summary_count > world.most_summaries) {
        world.most_summaries = world.tree->summary_count;
    }
}

/* Few times, so that many are equal; few of the messages expire or reach less than all. */
static void insert_filter(const uint64_t *filter)
{
    struct rng *rng = &world.rng;
    struct message *message = &world.messages[world.count];
    uint32_t id = world.next_id++ * 2654435761u; /* spread, never repeated */

    assert_true(world.count++ < MESSAGES_MAX);
    memset(message, 0, sizeof *message);
    memcpy(message->item.id, &id, sizeof id);
    message->item.deposited_ms = world.step_ms != 0 ? world.next_ms : rng_below(rng, 5);
    world.next_ms += world.step_ms;
    message->item.expires_ms = rng_chance(rng, 90) ? INT64_MAX : rng_below(rng, 20);
    message->item.reach_ppm =
        rng_chance(rng, 90) ? DISTANCE_ONE_PPM : rng_below(rng, DISTANCE_ONE_PPM);
    message->item.bytes = id % 1000;
    memcpy(message->filter, filter, bloom_words(world.profile.bits) * sizeof *filter);
    assert_int_equal(index_insert(world.list, &message->item, message->filter), 0);
    assert_int_equal(index_insert(world.index, &message->item, message->filter), 0);
}

static void insert_made(make_filter *make, uint32_t i, uint32_t n)
{
    uint64_t filter[WORDS_MAX] = {0};

    make(i, n, filter);
    insert_filter(filter);
}

static void insert_many(make_filter *make, uint32_t count, bool in_bulk)
{
    if (in_bulk) {
    }
    for (uint32_t i = 0; i < count; i++) {
        insert_made(make, i, count);
    }
    if (in_bulk) {
        check_both();
        assert_int_equal(renew_index(world.index), 0);
        world.tree = tree_of_index(world.index);
    }
    check_both();
}

static void remove_number(uint32_t i)
{
    struct index_item item;
    const uint8_t *id = world.messages[i].item.id;

    assert_int_equal(index_remove(world.list, id, NULL), 0);
    assert_int_equal(index_remove(world.index, id, &item), 0);
    assert_memory_equal(&item, &world.messages[i].item, sizeof item);
    assert_int_equal(index_find(world.index, id, NULL, NULL), INDEX_NOT_FOUND);
    world.messages[i] = world.messages[--world.count];
}

/* ---- searches ---- */

struct asked {
    struct index_query query;
    struct index_part part;
    uint64_t filter[WORDS_MAX];
    uint64_t contains[WORDS_MAX];
    int64_t now_ms;
};

/* A stored filter, a few bits more or less, or something else. */
static void ask_filter(uint64_t *out)
{
    struct rng *rng = &world.rng;
    uint32_t kind = rng_below(rng, 10);

    memset(out, 0, WORDS_MAX * sizeof *out);
    if (kind < 7 && world.count > 0) {
        memcpy(out, world.messages[rng_below(rng, world.count)].filter, WORDS_MAX * sizeof *out);
        for (uint32_t i = rng_below(rng, 4); i > 0; i--) {
            uint32_t bit = rng_below(rng, world.profile.bits);

            out[bit / 64] ^= UINT64_C(1) << bit % 64;
        }
    } else if (kind < 9) {
        rng_filter(rng, world.profile.bits, kind == 7 ? 10 : rng_below(rng, 101), out);
    }
}

/* Some bits of a stored filter; rarely one that none may have. */
static void ask_contains(uint64_t *out)
{
    struct rng *rng = &world.rng;
    uint32_t i = rng_below(rng, world.count + 1);
    uint32_t left = 1 + rng_below(rng, 3);

    memset(out, 0, WORDS_MAX * sizeof *out);
    if (i == world.count) {
        bloom_set(out, rng_below(rng, world.profile.bits));
        return;
    }
    for (uint32_t bit = rng_below(rng, world.profile.bits); left > 0; left--) {
        for (uint32_t n = 0; n < world.profile.bits; n++) {
            bit = (bit + 1) % world.profile.bits;
            if (bloom_test(world.messages[i].filter, bit)) {
                bloom_set(out, bit);
                break;
            }
        }
    }
}

static void ask(uint32_t k, struct asked *asked)
{
    static const uint32_t distances[] = {0, 250000, 333333, 500000, 999999};
    struct rng *rng = &world.rng;

    memset(asked, 0, sizeof *asked);
    ask_filter(asked->filter);
    asked->part.filter = asked->filter;
    if (rng_chance(rng, 25)) {
        ask_contains(asked->contains);
        asked->part.contains = asked->contains;
    }
    asked->query = (struct index_query){
        .parts = &asked->part,
        .part_count = 1,
        .k = k,
        .max_distance_ppm = rng_chance(rng, 60) ? DISTANCE_ONE_PPM : distances[rng_below(rng, 5)],
        .since_ms = rng_chance(rng, 80) ? INT64_MIN : rng_below(rng, 6),
        .until_ms = rng_chance(rng, 80) ? INT64_MAX : rng_below(rng, 6),
        .metric = some_metric(rng),
        .order = some_order(rng),
    };
    if (rng_chance(rng, 30)) {
        asked->query.floor.all = 1 + rng_below(rng, 200);
        asked->query.floor.shared = rng_below(rng, asked->query.floor.all + 1);
    }
    asked->now_ms = rng_below(rng, 20);
}

static struct index_search *begin_search(struct asked *asked, struct index *index)
{
    struct index_search *search = NULL;

    asked->part.index = index;
    assert_int_equal(index_search_new(alloc_system(), &asked->query, &search), 0);
    return search;
}

/* The search of the tree, which has ended, found what the list finds now. */
static void check_same(struct asked *asked, struct index_search *search)
{
    struct index_search *reference = begin_search(asked, world.list);
    uint32_t count = 0;
    uint32_t expected_count = 0;

    assert_int_equal(index_search_step(reference, UINT64_MAX, asked->now_ms), 0);
    const struct nearest_candidate *expected = index_search_results(reference, &expected_count);
    const struct nearest_candidate *found = index_search_results(search, &count);
    assert_int_equal(count, expected_count);
    for (uint32_t i = 0; i < count; i++) {
        /* up to its last field: padding behind it is anything */
        assert_memory_equal(&found[i].item, &expected[i].item,
                            offsetof(struct index_item, sender) + sizeof found[i].item.sender);
        assert_int_equal(found[i].rank.shared, expected[i].rank.shared);
        assert_int_equal(found[i].rank.all, expected[i].rank.all);
        assert_int_equal(found[i].similarity.shared, expected[i].similarity.shared);
        assert_int_equal(found[i].similarity.all, expected[i].similarity.all);
        assert_int_equal(found[i].intersection, expected[i].intersection);
        assert_int_equal(found[i].union_count, expected[i].union_count);
        assert_int_equal(found[i].cardinality, expected[i].cardinality);
    }
    assert_true(index_search_is_exact(search));
    world.short_cuts += index_search_comparisons(search) < index_search_comparisons(reference);
    index_search_free(reference);
    index_search_free(search);
    world.searches++;
}

/* In one step, or in many. */
static void check_answers(uint32_t rounds)
{
    static const uint32_t ks[] = {1, 10, 1000};

    for (uint32_t i = 0; i < 3 * rounds; i++) {
        struct asked asked;
        uint64_t budget = rng_chance(&world.rng, 70) ? UINT64_MAX : 1 + rng_below(&world.rng, 600);

        ask(ks[i % 3], &asked);
        struct index_search *search = begin_search(&asked, world.index);
        while (index_search_step(search, budget, asked.now_ms) == INDEX_MORE) {
        }
        check_same(&asked, search);
    }
}

/* Small steps, with messages that come and go in between; now and then a few in bulk. */
static void check_answers_while_changing(make_filter *make, uint32_t rounds)
{
    static const uint64_t budgets[] = {0, 1, 9, 64, 513};
    struct rng *rng = &world.rng;

    for (uint32_t i = 0; i < rounds; i++) {
        struct asked asked;

        ask(1 + rng_below(rng, 20), &asked);
        struct index_search *search = begin_search(&asked, world.index);
        while (index_search_step(search, budgets[rng_below(rng, 5)], asked.now_ms) == INDEX_MORE) {
            for (uint32_t change = rng_below(rng, 3); change > 0; change--) {
                if (rng_chance(rng, 50) && world.count > 1) {
                    remove_number(rng_below(rng, world.count));
                } else if (world.count < MESSAGES_MAX - 100) {
                    insert_made(make, rng_below(rng, 1000), 1000);
                }
            }
            if (rng_chance(rng, 1) && world.count < MESSAGES_MAX - 100) {
                insert_many(make, 20, true);
            }
        }
        check_same(&asked, search);
        check_both();
    }
}

/* ---- phases ---- */

/* As many as it takes for summaries, where nodes are small, and for several nodes. */
static uint32_t usual_count(uint32_t fanout)
{
    return fanout <= 2 ? 400 : fanout <= 5 ? 900 : fanout <= 16 ? 2600 : 5000;
}

/* One message comes and goes, always the last one or any: nodes are split and merged, or nearly. */
static void alternate(make_filter *make, uint32_t rounds)
{
    for (uint32_t i = 0; i < rounds; i++) {
        insert_made(make, i, rounds);
        remove_number(i % 2 == 0 ? world.count - 1 : rng_below(&world.rng, world.count));
        if (i % 16 == 0) {
            check_both();
        }
    }
    check_both();
}

/* In the order in which they came (`any`: in no order), until some are left. */
static void shrink(uint32_t left, bool any)
{
    uint32_t every = world.count / 12 + 1;

    while (world.count > left) {
        remove_number(any ? rng_below(&world.rng, world.count) : world.count - 1);
        if (world.count % every == 0) {
            check_both();
            check_answers(1);
        }
    }
    check_both();
}

static void run_phases(const struct data *data, const struct profile *profile, uint32_t fanout,
                       const struct bits_kernels *kernels, bool in_bulk)
{
    uint32_t count = usual_count(fanout);

    begin_world(profile, fanout, kernels);
    insert_many(data->make, count, in_bulk);
    check_answers(4);
    insert_many(data->make, count / 3, false);
    check_answers(4);
    alternate(data->make, 50);
    check_answers_while_changing(data->make, 2);
    shrink(count / 4, in_bulk);
    check_answers(4);
    insert_many(make_mixture, count / 4, false); /* something else */
    insert_many(data->make, count / 4, !in_bulk);
    check_answers(4);
    shrink(0, !in_bulk);
    assert_int_equal(world.tree->node_count, 0);
    check_answers(1);
    insert_many(data->make, 30, in_bulk);
    check_answers(1);
    /* The groups are too many for 16 nodes, unless most messages share few slots. */
    assert_true(fanout > 16 || world.most_summaries > 0 || world.most_twins > count / 2);
    printf("%s, m = %u, fanout %u, %s%s: %u searches, %u cut short, up to %u twins\n", data->name,
           profile->bits, fanout, kernels->name, in_bulk ? ", in bulk" : "", world.searches,
           world.short_cuts, world.most_twins);
    end_world();
}

/* The tables in turn, so that each sees all data and all fanouts in the long run. */
static const struct bits_kernels *next_table(uint32_t turn)
{
    const struct bits_kernels *kernels = NULL;

    for (uint32_t level = turn; kernels == NULL; level++) {
        kernels = bits_table((enum bits_level)(level % (BITS_AVX512 + 1)));
    }
    return kernels;
}

static void run_fanout(uint32_t fanout)
{
    static const struct profile *const profiles[] = {&narrow, &sectioned, &wide};
    uint32_t turn = 0;

    rng_init(&world.rng);
    turn = rng_below(&world.rng, 1000);
    for (size_t d = 0; d < DATA_COUNT; d++) {
        for (uint32_t way = rng_is_brief() ? turn % 2 : 0; way < 2; way += rng_is_brief() ? 2 : 1) {
            run_phases(&all_data[d], profiles[turn % 3], fanout, next_table(turn / 3), way == 1);
            turn++;
        }
    }
}

TEST(test_fanout_2)
{
    run_fanout(2);
}

TEST(test_fanout_5)
{
    run_fanout(5);
}

TEST(test_fanout_16)
{
    run_fanout(16);
}

TEST(test_fanout_512)
{
    run_fanout(512);
}

/* Nodes of many spans, and summaries of them. */
TEST(test_full_nodes_with_summaries)
{
    if (rng_is_brief()) {
        printf("left out: 66,000 messages\n");
        return;
    }
    rng_init(&world.rng);
    begin_world(&wide, 512, bits_select(BITS_AVX512));
    insert_many(make_places, 64000, true);
    assert_true(world.most_summaries > 0);
    check_answers(10);
    insert_many(make_hot, 2000, false);
    check_answers_while_changing(make_mixture, 4);
    for (uint32_t i = 0; i < 2000; i++) {
        remove_number(rng_below(&world.rng, world.count));
    }
    check_both();
    check_answers(10);
    assert_true(world.short_cuts > 0);
    end_world();
}

/* ---- bounds given up ---- */

/* Asks for the messages nearest to one of the newest, without conditions. Returns how many
 * comparisons that took. */
static uint64_t ask_plainly(uint32_t i, enum index_metric metric)
{
    struct asked asked;

    ask(10, &asked);
    asked.part.contains = NULL;
    asked.query.max_distance_ppm = DISTANCE_ONE_PPM;
    asked.query.since_ms = INT64_MIN;
    asked.query.floor = (struct similarity){0, 0};
    asked.query.metric = metric;
    asked.query.order = INDEX_ORDER_SIMILARITY;
    memcpy(asked.filter, world.messages[world.count - 1 - i % 100].filter, sizeof asked.filter);
    struct index_search *search = begin_search(&asked, world.index);
    assert_int_equal(index_search_step(search, UINT64_MAX, asked.now_ms), 0);
    const uint64_t comparisons = index_search_comparisons(search);
    check_same(&asked, search);
    return comparisons;
}

/* Asks until a search gives bounds up, or finds them useful. */
static void ask_until(bool given_up)
{
    uint32_t before = world.tree->learned[0][0].retry;

    for (uint32_t i = 0; i < 400; i++) {
        (void)ask_plainly(i, INDEX_METRIC_BITS);
        if (given_up ? world.tree->learned[0][0].retry != before
                     : world.tree->learned[0][0].futile == 0) {
            return;
        }
    }
    fail_msg("400 searches, and futile is %u", world.tree->learned[0][0].futile);
}

/* On data without structure bounds are given up, on other data they come back. */
TEST(test_bounds_given_up_and_tried_again)
{
    for (int in_bulk = 0; in_bulk < 2; in_bulk++) {
        rng_init(&world.rng);
        begin_world(&wide, 64, bits_select(BITS_AVX512));
        insert_many(make_noise, 3000, in_bulk == 1);
        ask_until(true);
        check_answers(40);
        ask_until(true);
        while (world.count > 200) {
            remove_number(rng_below(&world.rng, world.count));
        }
        insert_many(make_places, 6000, true);
        check_answers(40);
        ask_until(false);
        check_answers(10);
        end_world();
    }
}

/*
 * While bounds are of no use, searches try them again more and more rarely: of 600 searches only a
 * few compare more than a list does. What searches of one kind learn holds for that kind only.
 */
TEST(test_bounds_tried_again_more_and_more_rarely)
{
    enum { SEARCHES = 600, TRIES_MOST = 6 };
    uint32_t tries = 0;

    rng_init(&world.rng);
    begin_world(&wide, 64, bits_select(BITS_AVX512));
    insert_many(make_noise, 3000, true);
    ask_until(true);
    for (uint32_t i = 0; i < SEARCHES; i++) {
        tries += ask_plainly(i, INDEX_METRIC_BITS) > world.count;
    }
    assert_in_range(tries, 1, TRIES_MOST);
    assert_true(ask_plainly(0, INDEX_METRIC_PHI) > world.count);
    end_world();
}

/* ---- the newest ---- */

/* Whatever the order in which the messages came, a search for the newest ones compares few. */
TEST(test_the_newest_compare_little)
{
    enum { COUNT = 6000, K = 10 };
    static const int64_t steps[] = {1, -1};

    for (int in_bulk = 0; in_bulk < 2; in_bulk++) {
        for (uint32_t s = 0; s < 2; s++) {
            rng_init(&world.rng);
            begin_world(&wide, 64, bits_select(BITS_AVX512));
            world.next_ms = COUNT;
            world.step_ms = steps[s];
            insert_many(make_places, COUNT, in_bulk == 1);
            for (uint32_t i = 0; i < 20; i++) {
                struct asked asked;

                ask(K, &asked);
                asked.part.contains = NULL;
                asked.query.max_distance_ppm = DISTANCE_ONE_PPM;
                asked.query.floor = (struct similarity){0, 0};
                asked.query.since_ms = INT64_MIN;
                asked.query.until_ms = INT64_MAX;
                asked.query.order = INDEX_ORDER_NEWEST;
                struct index_search *search = begin_search(&asked, world.index);
                while (index_search_step(search, 16, asked.now_ms) == INDEX_MORE) {
                }
                assert_true(index_search_comparisons(search) < COUNT / 5);
                check_same(&asked, search);
            }
            end_world();
        }
    }
}
