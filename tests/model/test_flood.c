/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What peers may leave to make searches slow: many messages with equal filters, which are one entry
 * of the tree, and filters that are nearly equal. Tests count comparisons: of a query, beside those
 * in a store of usual contexts, and of each step, also when all messages are hidden from the
 * reader. Answers while messages come and go are those of the list. All seeds are fixed.
 */
#include "core/tree/walk.h"

#include "core/filter/bloom.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/plain_query.h"
#include "tests/lib/rng.h"
#include "tests/reference/check.h"
#include "tests/reference/engines.h"

enum { WORDS = 8, PLACES = 2000, LABELS = 16, NOW_MS = 1000000, K = 10 };

/* The sections of the daemon's default profile. */
static const struct profile profile = {
    .bits = 512,
    .section_count = 3,
    .sections = {{.bits = 362, .hashes = 2},
                 {.first_bit = 362, .bits = 57, .hashes = 8},
                 {.first_bit = 419, .bits = 93, .hashes = 5}},
};

struct world {
    struct rng rng;
    struct fail_alloc alloc;
    struct index *index; /* of the tree */
    struct index *list;  /* NULL: none */
    uint32_t count;      /* messages inserted */
};

static struct world world;

static void begin_world(bool with_list)
{
    fail_alloc_init(&world.alloc);
    struct index_options options = {
        .alloc = &world.alloc.alloc,
        .profile = &profile,
        .kernels = bits_select(BITS_AVX512),
        .hash_seed = 1,
    };

    world.rng.state = 1;
    world.count = 0;
    world.list = NULL;
    assert_int_equal(index_new(&tree_engine, &options, &world.index), 0);
    if (with_list) {
        assert_int_equal(index_new(&list_engine, &options, &world.list), 0);
    }
}

static void end_world(void)
{
    index_free(world.index);
    index_free(world.list);
    assert_int_equal(world.alloc.live_bytes, 0);
}

/* ---- messages ---- */

static void id_of(uint32_t number, uint8_t *out)
{
    uint32_t spread = (number + 1) * 2654435761u;

    memset(out, 0, MESSAGE_ID_BYTES);
    memcpy(out, &spread, sizeof spread);
}

/* Message i is deposited at i. */
static void insert(const uint64_t *filter, uint32_t sender, int64_t expires_ms, uint32_t reach_ppm)
{
    struct index_item item = {
        .deposited_ms = world.count,
        .expires_ms = expires_ms,
        .reach_ppm = reach_ppm,
        .sender = sender,
    };

    id_of(world.count++, item.id);
    assert_int_equal(index_insert(world.index, &item, filter), 0);
    if (world.list != NULL) {
        assert_int_equal(index_insert(world.list, &item, filter), 0);
    }
}

static void remove_id(const uint8_t *id)
{
    uint8_t copy[MESSAGE_ID_BYTES];

    memcpy(copy, id, sizeof copy);
    assert_int_equal(index_remove(world.index, copy, NULL), 0);
    if (world.list != NULL) {
        assert_int_equal(index_remove(world.list, copy, NULL), 0);
    }
}

static void set_label(uint32_t section, uint32_t label, uint64_t *filter)
{
    struct rng bits = {.state = 1000003u * section + label};

    for (uint32_t i = 0; i < profile.sections[section].hashes; i++) {
        bloom_set(filter, profile.sections[section].first_bit +
                              rng_below(&bits, profile.sections[section].bits));
    }
}

/* A filter of message i, in words that are 0. */
typedef void make_filter(uint32_t i, uint64_t *out);

/* A scan at a place: most of its access points, and a topic. */
static void make_usual(uint32_t i, uint64_t *out)
{
    uint32_t place = rng_below(&world.rng, PLACES);

    (void)i;
    for (uint32_t label = 0; label < LABELS; label++) {
        if (rng_chance(&world.rng, 80)) {
            set_label(0, place * LABELS + label, out);
        }
    }
    set_label(2, rng_below(&world.rng, 50), out);
}

/* What all have that are at one place. */
static void make_equal(uint32_t i, uint64_t *out)
{
    (void)i;
    for (uint32_t label = 0; label < LABELS; label++) {
        set_label(0, label, out);
    }
    set_label(1, 0, out);
}

/* A scan of access points that nobody else sees. */
static void make_alone(uint32_t i, uint64_t *out)
{
    (void)i;
    for (uint32_t label = 0; label < LABELS; label++) {
        set_label(0, rng_below(&world.rng, UINT32_MAX), out);
    }
}

/* The same, and one bit. */
static void make_one_bit(uint32_t i, uint64_t *out)
{
    make_equal(i, out);
    bloom_set(out, i % profile.bits);
}

/* The same, and each message differs from some other ones in one bit. */
static void make_neighbours(uint32_t i, uint64_t *out)
{
    make_equal(i, out);
    for (uint32_t bit = 0; i >> bit != 0; bit++) {
        out[bit % 5] ^= (uint64_t)(i >> bit & 1) << (3 * bit % 64);
    }
}

/* ---- searches ---- */

struct question {
    uint64_t filter[WORDS];
    struct index_part part;
    struct index_query query;
    struct scalable seen;
};

static struct index_search *ask(struct question *question, struct index *index,
                                enum index_metric metric)
{
    struct index_search *search = NULL;

    question->part = (struct index_part){.index = index, .filter = question->filter};
    question->query.parts = &question->part;
    question->query.part_count = 1;
    question->query.metric = metric;
    assert_int_equal(index_search_new(alloc_system(), &question->query, &search), 0);
    return search;
}

static void begin_question(struct question *question, make_filter *make)
{
    memset(question, 0, sizeof *question);
    make(rng_below(&world.rng, world.count), question->filter);
    question->query = plain_index_query(NULL, 0, K);
    question->query.sender_share = 3;
    scalable_init(&question->seen, alloc_system(), 1000, 1, 1 << 20);
}

static void exclude(struct question *question, uint32_t number)
{
    uint8_t id[MESSAGE_ID_BYTES];

    id_of(number, id);
    assert_int_equal(scalable_add(&question->seen, id, sizeof id), 0);
    question->query.exclude = question->seen.slices;
    question->query.exclude_count = question->seen.slice_count;
}

static void check_same(struct question *question, enum index_metric metric,
                       struct index_search *search)
{
    struct index_search *reference = ask(question, world.list, metric);
    uint32_t count = 0;
    uint32_t expected_count = 0;

    assert_int_equal(index_search_step(reference, UINT64_MAX, NOW_MS), 0);
    const struct nearest_candidate *found = index_search_results(search, &count);
    const struct nearest_candidate *expected = index_search_results(reference, &expected_count);
    assert_int_equal(count, expected_count);
    for (uint32_t i = 0; i < count; i++) {
        assert_memory_equal(found[i].item.id, expected[i].item.id, MESSAGE_ID_BYTES);
    }
    assert_true(index_search_is_exact(search));
    index_search_free(reference);
}

static const enum index_metric metrics[] = {INDEX_METRIC_BITS, INDEX_METRIC_PHI};

/* ---- steps within an entry ---- */

enum hidden { EXPIRED, TOO_NEW, EXCLUDED, ONE_SENDER, HIDINGS };

/* Equal messages. The query may show the oldest of them only, or has enough of their sender. */
static void insert_hidden(enum hidden hidden, uint32_t count)
{
    uint64_t filter[WORDS] = {0};

    make_equal(0, filter);
    for (uint32_t i = 0; i < count; i++) {
        insert(filter, hidden == ONE_SENDER ? 1 : 1 + i % 1000,
               hidden == EXPIRED && i >= K / 2 ? NOW_MS - 1 : INT64_MAX, DISTANCE_ONE_PPM);
    }
}

static void begin_hidden_question(enum hidden hidden, struct question *question)
{
    begin_question(question, make_equal);
    if (hidden == TOO_NEW) {
        question->query.until_ms = K / 2;
    }
    for (uint32_t i = K / 2; hidden == EXCLUDED && i < world.count; i++) {
        exclude(question, i);
    }
}

/*
 * A step that meets an entry of very many hidden messages does not look at all of them at once: as
 * much above its budget as a node of messages takes is allowed, as it is for groups.
 */
TEST(test_a_step_ends_within_an_entry)
{
    enum { COUNT = 20000, BUDGET = 256, MOST = BUDGET + TREE_GROUPS };

    for (int hidden = 0; hidden < HIDINGS; hidden++) {
        struct question question;
        uint64_t most = 0;
        uint32_t steps = 0;
        int rc = INDEX_MORE;

        begin_world(true);
        insert_hidden((enum hidden)hidden, COUNT);
        begin_hidden_question((enum hidden)hidden, &question);
        for (size_t m = 0; m < 2; m++) {
            struct index_search *search = ask(&question, world.index, metrics[m]);

            do {
                uint64_t before = search_work(search);

                rc = index_search_step(search, BUDGET, NOW_MS);
                most = search_work(search) - before > most ? search_work(search) - before : most;
                steps++;
            } while (rc == INDEX_MORE);
            check_same(&question, metrics[m], search);
            index_search_free(search);
        }
        printf("hidden %d: %u steps of at most %u\n", hidden, steps, (uint32_t)most);
        assert_in_range(most, 1, MOST);
        assert_true(steps >= 2 * COUNT / MOST);
        scalable_deinit(&question.seen);
        end_world();
    }
}

/* Removes the message with which a search would go on. Returns false if it would not go on within
 * an entry. */
static bool remove_next(void)
{
    struct tree *tree = tree_of_index(world.index);
    const struct tree_cursor *cursor = tree->cursors;

    if (cursor == NULL || cursor->rest_count == 0 || cursor->rests[0].twin == 0) {
        return false;
    }
    remove_id(tree_twin(tree, cursor->rests[0].twin)->item.id);
    return true;
}

static void remove_if_there(uint32_t number)
{
    uint8_t id[MESSAGE_ID_BYTES];

    id_of(number, id);
    if (index_find(world.index, id, NULL, NULL) == 0) {
        remove_id(id);
    }
}

/* Between two steps the message goes at which the search is, and others come and go: also the last
 * ones of an entry, and such as change the groups, so that the search sweeps. */
static void change_all(uint32_t round)
{
    uint64_t filter[WORDS] = {0};

    (void)remove_next();
    if (round % 3 == 0) {
        (void)remove_next();
        remove_if_there(0); /* the first of its entry */
    }
    if (round % 7 == 0) {
        make_usual(0, filter);
        insert(filter, 1, INT64_MAX, DISTANCE_ONE_PPM);
        remove_if_there(world.count - 1);
    }
    remove_if_there(rng_below(&world.rng, world.count));
    memset(filter, 0, sizeof filter);
    make_equal(0, filter);
    insert(filter, 1, INT64_MAX, DISTANCE_ONE_PPM - round % 3);
    remove_if_there(world.count - 1 - rng_below(&world.rng, 100));
}

TEST(test_entries_that_change_between_steps)
{
    enum { ROUNDS = 40, REACHES = 3, EACH = 60 };
    static const uint64_t budgets[] = {1, 7, 64};

    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint64_t filter[WORDS] = {0};
        uint32_t within = 0;
        struct question question;

        begin_world(true);
        world.rng.state += round;
        make_equal(0, filter);
        for (uint32_t i = 0; i < REACHES * EACH; i++) {
            insert(filter, 1 + i % 2, i % 5 > 0 ? NOW_MS : INT64_MAX,
                   DISTANCE_ONE_PPM - i % REACHES);
        }
        begin_question(&question, make_equal);
        question.query.sender_share = round % 2 == 0 ? 0 : 2;
        question.query.order = round % 5 == 0 ? INDEX_ORDER_NEWEST : INDEX_ORDER_SIMILARITY;
        enum index_metric metric = metrics[round / 2 % 2];
        struct index_search *search = ask(&question, world.index, metric);
        while (index_search_step(search, budgets[round % 3], NOW_MS) == INDEX_MORE) {
            const struct tree_cursor *cursor = tree_of_index(world.index)->cursors;

            within += cursor != NULL && cursor->rest_count > 0;
            change_all(round + within);
            assert_null(check_index(world.index));
        }
        assert_true(within > 0);
        check_same(&question, metric, search);
        index_search_free(search);
        scalable_deinit(&question.seen);
        end_world();
    }
}

/* ---- floods ---- */

/* What somebody may leave to make searches slow, and what is asked for. */
struct flood {
    const char *name;
    make_filter *make;
    make_filter *ask;
    uint32_t senders;
    uint32_t usual_percent;  /* messages that are usual ones */
    bool unlike;             /* each message has another reach */
    uint32_t hidden_percent; /* messages that have expired */
    uint32_t seen_percent;   /* of the newest SEEN, that the query excludes */
};

enum { SEEN = 1000 };

/* The comparisons of a query of each kind: by metric, and without and with a change of the tree
 * after its first step. */
struct compared {
    uint64_t of[2][2];
};

static void insert_flood(const struct flood *flood, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t filter[WORDS] = {0};

        (rng_chance(&world.rng, flood->usual_percent) ? make_usual : flood->make)(i, filter);
        insert(filter, 1 + i % flood->senders,
               rng_chance(&world.rng, flood->hidden_percent) ? NOW_MS : INT64_MAX,
               DISTANCE_ONE_PPM - (flood->unlike ? i : 0));
    }
}

/* A message that nobody asks for comes and goes, so that searches under way have to sweep. */
static void change_tree(void)
{
    uint64_t filter[WORDS] = {0};

    make_alone(0, filter);
    insert(filter, 1, INT64_MAX, DISTANCE_ONE_PPM);
    remove_if_there(--world.count);
}

static uint64_t compared_by(struct question *question, enum index_metric metric, bool changes)
{
    struct index_search *search = ask(question, world.index, metric);

    if (changes && index_search_step(search, SEEN, NOW_MS) == INDEX_MORE) {
        change_tree();
    }
    assert_int_equal(index_search_step(search, UINT64_MAX, NOW_MS), 0);
    uint64_t compared = index_search_comparisons(search);
    index_search_free(search);
    return compared;
}

static struct compared compared_in(const struct flood *flood, uint32_t count, bool in_bulk)
{
    enum { QUERIES = 10 };
    struct compared compared = {{{0}}};

    begin_world(false);
    insert_flood(flood, count);
    if (in_bulk) {
        assert_int_equal(renew_index(world.index), 0);
    }
    for (uint32_t i = 0; i < QUERIES; i++) {
        struct question question;

        begin_question(&question, flood->ask);
        if (flood->ask != flood->make) {
            question.query.max_distance_ppm = 772500; /* as clients do by default */
        }
        for (uint32_t n = 0; n < SEEN; n++) {
            if (rng_chance(&world.rng, flood->seen_percent)) {
                exclude(&question, count - 1 - n);
            }
        }
        for (size_t m = 0; m < 2; m++) {
            for (size_t c = 0; c < 2; c++) {
                compared.of[m][c] += compared_by(&question, metrics[m], c == 1) / QUERIES;
            }
        }
        scalable_deinit(&question.seen);
    }
    end_world();
    printf("%-32s%s: by bits %u, %u with changes, by phi %u, %u\n", flood->name,
           in_bulk ? " arranged" : "", (uint32_t)compared.of[0][0], (uint32_t)compared.of[0][1],
           (uint32_t)compared.of[1][0], (uint32_t)compared.of[1][1]);
    return compared;
}

/*
 * No flood costs a query more than 4 times what as many usual contexts cost, whether the tree is
 * arranged or not, and changes or not. All messages of one sender cost more in any case, because
 * the answer takes only a few of them and the search goes on.
 */
TEST(test_floods_compare_little)
{
    enum { MANY = 1000, TIMES = 4 };
    const uint32_t count = rng_is_brief() ? 10000 : 100000;
    static const struct flood usual[] = {
        {"usual", make_usual, make_usual, MANY, 0, false, 0, 0},
        {"usual, one sender", make_usual, make_usual, 1, 0, false, 0, 0},
    };
    static const struct flood floods[] = {
        {"equal", make_equal, make_equal, MANY, 0, false, 0, 0},
        {"equal, usual asked", make_equal, make_usual, MANY, 0, false, 0, 0},
        {"equal, one sender", make_equal, make_equal, 1, 0, false, 0, 0},
        {"equal, 90 % expired", make_equal, make_equal, MANY, 0, false, 90, 0},
        {"equal, 90 % seen", make_equal, make_equal, MANY, 0, false, 0, 90},
        {"reach unlike", make_equal, make_equal, MANY, 0, true, 0, 0},
        {"reach unlike, 90 % expired", make_equal, make_equal, MANY, 0, true, 90, 0},
        {"reach unlike, 90 % seen", make_equal, make_equal, MANY, 0, true, 0, 90},
        {"reach unlike, bit asked", make_equal, make_one_bit, MANY, 0, true, 0, 0},
        {"reach unlike, usual asked", make_equal, make_usual, MANY, 0, true, 0, 0},
        {"reach unlike, half usual", make_equal, make_usual, MANY, 50, true, 0, 0},
        {"reach unlike, one sender", make_equal, make_equal, 1, 0, true, 0, 0},
        {"one bit", make_one_bit, make_equal, MANY, 0, false, 0, 0},
        {"one bit, reach unlike", make_one_bit, make_equal, MANY, 0, true, 0, 0},
        {"one bit, bit asked", make_one_bit, make_one_bit, MANY, 0, true, 0, 0},
        {"one bit, usual asked", make_one_bit, make_usual, MANY, 0, true, 0, 0},
        {"neighbours", make_neighbours, make_equal, MANY, 0, false, 0, 0},
        {"neighbours, reach unlike", make_neighbours, make_equal, MANY, 0, true, 0, 0},
        {"neighbours, 90 % expired", make_neighbours, make_equal, MANY, 0, false, 90, 0},
        {"neighbours, neighbour asked", make_neighbours, make_neighbours, MANY, 0, false, 0, 0},
        {"neighbours, usual asked", make_neighbours, make_usual, MANY, 0, false, 0, 0},
        {"neighbours, half usual", make_neighbours, make_usual, MANY, 50, false, 0, 0},
    };

    for (int in_bulk = 0; in_bulk < 2; in_bulk++) {
        const struct compared most[] = {compared_in(&usual[0], count, in_bulk == 1),
                                        compared_in(&usual[1], count, in_bulk == 1)};

        for (size_t i = 0; i < sizeof floods / sizeof floods[0]; i++) {
            const struct compared compared = compared_in(&floods[i], count, in_bulk == 1);

            for (size_t kind = 0; kind < 4; kind++) {
                const struct compared *usually = &most[floods[i].senders == 1];

                assert_in_range(compared.of[kind / 2][kind % 2], 0,
                                TIMES * usually->of[kind / 2][kind % 2]);
            }
        }
    }
}

/* ---- boards ---- */

/* The label of a place, and a topic that no other message has. */
static void make_topic(uint32_t i, uint64_t *out)
{
    set_label(1, 0, out);
    set_label(2, i, out);
}

static void make_place(uint32_t i, uint64_t *out)
{
    (void)i;
    set_label(1, 0, out);
}

/*
 * On a board all messages have the label of the place, and other labels that a reader does not ask
 * for. So all tie, and the newest are the answer. A query compares as many messages as it shows and
 * a few more, besides the groups of each node that it counts, whether the newest ones are in the
 * last groups or, as after a rebuild, anywhere.
 */
TEST(test_a_board_compares_the_newest)
{
    enum { COUNT = 4000, MORE = 16 * TREE_GROUP };

    begin_world(true);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint64_t filter[WORDS] = {0};

        make_topic(i, filter);
        insert(filter, i, INT64_MAX, DISTANCE_ONE_PPM);
    }
    for (int in_bulk = 0; in_bulk < 2; in_bulk++) {
        struct question question;
        uint32_t groups = 0;

        assert_int_equal(in_bulk == 1 ? renew_index(world.index) : 0, 0);
        const struct tree *tree = tree_of_index(world.index);
        for (uint32_t n = 0; n < tree->node_count; n++) {
            groups += tree->nodes[n]->group_count;
        }
        begin_question(&question, make_place);
        struct index_search *search = ask(&question, world.index, INDEX_METRIC_PHI);
        assert_int_equal(index_search_step(search, UINT64_MAX, NOW_MS), 0);
        check_same(&question, INDEX_METRIC_PHI, search);
        uint32_t compared = (uint32_t)index_search_comparisons(search);
        printf("board%s: %u compared, %u groups\n", in_bulk == 1 ? ", arranged" : "", compared,
               groups);
        assert_in_range(compared, K, groups + MORE);
        index_search_free(search);
        scalable_deinit(&question.seen);
    }
    end_world();
}
