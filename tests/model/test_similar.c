/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of near-duplicates against all pairs. The rules: the groups are exactly those of
 * core/index/similar.h, whatever the order of the messages, whether the index is arranged or not,
 * and however the work is cut into steps; other messages that come and go meanwhile change no
 * group; the list has the largest groups; memory is bounded; and if memory is short, nothing is
 * lost or leaked.
 */
#include "core/index/similar.h"

#include "core/base/err.h"
#include "core/filter/bloom.h"
#include "core/filter/distance.h"
#include "core/tree/engine.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/profile_of.h"
#include "tests/lib/rng.h"

enum { WORLDS = 150, MESSAGES_MAX = 10000, PLACES_MAX = 1000, ROOM = MESSAGES_MAX };

struct message {
    struct similar_message similar;
    uint64_t *filter;
    uint32_t cardinality;
};

struct world {
    struct rng rng;
    uint32_t bits;
    size_t words;
    uint32_t within_ppm;
    size_t count;
    struct message messages[MESSAGES_MAX];
    uint64_t filters[MESSAGES_MAX * PROFILE_WORDS_MAX / 8]; /* `words` each */
    uint64_t places[PLACES_MAX * PROFILE_WORDS_MAX / 8];
    struct similar_group wanted[ROOM];
    size_t wanted_count;
    struct profile profile;
    struct index *index;
    size_t most_bytes;   /* of a run's own memory */
    uint32_t others;     /* messages that come and go during the run; 0: none */
    uint64_t next_other; /* the id of the next one */
};

static int by_time(const void *a, const void *b)
{
    const struct similar_message *x = &((const struct message *)a)->similar;
    const struct similar_message *y = &((const struct message *)b)->similar;

    return x->deposited_ms != y->deposited_ms
               ? (x->deposited_ms > y->deposited_ms) - (x->deposited_ms < y->deposited_ms)
               : memcmp(x->id, y->id, MESSAGE_ID_BYTES);
}

static int by_size(const void *a, const void *b)
{
    const struct similar_group *x = a;
    const struct similar_group *y = b;
    struct message of_x = {.similar = x->oldest};
    struct message of_y = {.similar = y->oldest};

    return x->count != y->count ? (x->count < y->count) - (x->count > y->count)
                                : by_time(&of_x, &of_y);
}

/* A message of a place: most of the place's bits, and a few others; at times an earlier filter. */
static void make_filter(struct world *world, size_t number, size_t places, uint32_t kept)
{
    uint64_t *filter = world->filters + number * world->words;
    uint64_t noise[PROFILE_WORDS_MAX];
    uint32_t dice = rng_below(&world->rng, 100);

    if (dice < 10 && number > 0) {
        size_t other = rng_below(&world->rng, (uint32_t)number);

        memcpy(filter, world->filters + other * world->words, world->words * sizeof(*filter));
        return;
    }
    if (dice < 12) {
        rng_filter(&world->rng, world->bits, dice < 11 ? 0 : 100, filter);
        return;
    }
    rng_filter(&world->rng, world->bits, kept, filter);
    rng_filter(&world->rng, world->bits, rng_below(&world->rng, 3), noise);
    bloom_intersection(filter, filter,
                       world->places + rng_below(&world->rng, (uint32_t)places) * world->words,
                       world->words);
    bloom_union(filter, filter, noise, world->words);
}

/* `place_percent` of the bits of a place are set; a message has `kept` percent of them. */
static void make_world(struct world *world, uint32_t bits, size_t count, size_t places,
                       uint32_t place_percent, uint32_t kept)
{
    world->bits = bits;
    world->words = bloom_words(bits);
    world->count = count;
    for (size_t p = 0; p < places; p++) {
        rng_filter(&world->rng, bits, place_percent, world->places + p * world->words);
    }
    for (size_t i = 0; i < count; i++) {
        struct message *message = &world->messages[i];

        make_filter(world, i, places, kept);
        message->filter = world->filters + i * world->words;
        message->cardinality = bloom_cardinality(message->filter, world->words);
        message->similar.deposited_ms = rng_below(&world->rng, (uint32_t)count / 2 + 1);
        memset(message->similar.id, 0, MESSAGE_ID_BYTES);
        for (size_t b = 0; b < 4; b++) {
            message->similar.id[b] = (uint8_t)(i * UINT32_C(2654435761) >> 8 * b);
        }
    }
}

static bool is_near(const struct world *world, const struct message *a, const struct message *b)
{
    uint32_t shared = bloom_intersection_count(a->filter, b->filter, world->words);

    return distance_within(similarity_of(shared, a->cardinality + b->cardinality - shared),
                           world->within_ppm);
}

/* The definition, word by word. */
static void find_plainly(struct world *world)
{
    static bool is_covered[MESSAGES_MAX];

    memset(is_covered, 0, sizeof is_covered);
    world->wanted_count = 0;
    qsort(world->messages, world->count, sizeof world->messages[0], by_time);
    for (size_t i = 0; i < world->count; i++) {
        struct similar_group group = {.oldest = world->messages[i].similar, .source = 7};

        for (size_t j = 0; !is_covered[i] && j < world->count; j++) {
            if (is_near(world, &world->messages[i], &world->messages[j])) {
                is_covered[j] |= j != i;
                group.newest = world->messages[j].similar;
                group.count++;
            }
        }
        if (group.count > 1) {
            world->wanted[world->wanted_count++] = group;
        }
    }
    qsort(world->wanted, world->wanted_count, sizeof world->wanted[0], by_size);
}

/* --- a run over an index ---------------------------------------------------------------------- */

static void insert(struct world *world, const struct similar_message *message,
                   const uint64_t *filter)
{
    struct index_item item = {.deposited_ms = message->deposited_ms,
                              .expires_ms = INT64_MAX,
                              .reach_ppm = rng_below(&world->rng, DISTANCE_ONE_PPM)};

    memcpy(item.id, message->id, MESSAGE_ID_BYTES);
    assert_int_equal(index_insert(world->index, &item, filter), 0);
}

static void new_index(struct world *world)
{
    char text[32];

    snprintf(text, sizeof text, "v2:%u/1", world->bits);
    world->profile = profile_of(text);
    struct index_options options = {.alloc = alloc_system(),
                                    .profile = &world->profile,
                                    .kernels = bits_select(BITS_BEST),
                                    .hash_seed = rng_next(&world->rng)};
    assert_int_equal(index_new(&tree_engine, &options, &world->index), 0);
}

static void free_index(struct world *world)
{
    index_free(world->index);
}

/* Makes an index of the messages, in a random order; arranges most of them. */
static void fill_index(struct world *world)
{
    size_t arranged = rng_below(&world->rng, 4) * world->count / 3;

    new_index(world);
    for (size_t i = world->count; i > 1; i--) {
        size_t other = rng_below(&world->rng, (uint32_t)i);
        struct message swapped = world->messages[i - 1];

        world->messages[i - 1] = world->messages[other];
        world->messages[other] = swapped;
    }
    for (size_t i = 0; i < world->count; i++) {
        insert(world, &world->messages[i].similar, world->messages[i].filter);
        if (i + 1 == arranged) {
            assert_int_equal(index_arrange(world->index, NULL), 0);
        }
    }
}

/* A message that is far from all others of the world, or equal to one of them. */
static void insert_other(struct world *world, bool is_far)
{
    struct similar_message message = {.deposited_ms = rng_below(&world->rng, 100)};
    uint64_t filter[PROFILE_WORDS_MAX] = {0};

    memset(message.id, 0xff, MESSAGE_ID_BYTES);
    memcpy(message.id, &world->next_other, sizeof world->next_other);
    world->next_other++;
    filter[world->words - 1] = rng_next(&world->rng) | 1;
    insert(world, &message,
           is_far ? filter
                  : world->messages[rng_below(&world->rng, (uint32_t)world->count)].filter);
}

/* Removes some far messages, and inserts others: far ones, and also near ones if all messages of
 * the run are marked. */
static void change_others(struct world *world, bool all_marked)
{
    uint8_t id[MESSAGE_ID_BYTES];

    for (uint32_t i = 0; i < 3; i++) {
        uint64_t number = rng_below(&world->rng, world->others);

        memset(id, 0xff, sizeof id);
        memcpy(id, &number, sizeof number);
        (void)index_remove(world->index, id, NULL); /* it may have gone */
        insert_other(world, !all_marked || rng_chance(&world->rng, 50));
    }
}

static int find(struct world *world, struct fail_alloc *fail, struct similar_list *list)
{
    struct similar_options options = {.alloc = &fail->alloc,
                                      .index = world->index,
                                      .bits = world->bits,
                                      .within_ppm = world->within_ppm,
                                      .seed = rng_next(&world->rng)};
    uint32_t budget = 1 + rng_below(&world->rng, rng_chance(&world->rng, 50) ? 100 : 500000);
    struct similar *similar = NULL;
    int rc = similar_new(&options, list, 7, &similar);
    uint64_t steps = 0;
    uint64_t messages = 0;
    uint32_t same = 0; /* steps after which no message more was marked */

    rc = rc == 0 ? SIMILAR_MORE : rc;
    while (rc == SIMILAR_MORE) {
        rc = similar_step(similar, 1 + rng_below(&world->rng, budget), 0);
        world->most_bytes =
            fail->live_bytes > world->most_bytes ? fail->live_bytes : world->most_bytes;
        same = similar_messages(similar) == messages && messages > 0 ? same + 1 : 0;
        messages = similar_messages(similar);
        if (world->others > 0 && steps++ % 8 == 0) {
            change_others(world, same >= 5);
        }
    }
    if (rc == 0 && world->others == 0) {
        assert_int_equal(similar_messages(similar), index_count(world->index));
    }
    similar_free(similar);
    assert_int_equal(fail->live_blocks, 0);
    return rc;
}

static void check_list(const struct world *world, struct similar_list *list)
{
    size_t count = world->wanted_count < list->limit ? world->wanted_count : list->limit;

    similar_list_sort(list);
    assert_int_equal(list->total, world->wanted_count);
    assert_int_equal(list->count, count);
    for (size_t i = 0; i < count; i++) {
        const struct similar_group *group = &list->groups[i];
        const struct similar_group *wanted = &world->wanted[i];

        assert_int_equal(group->count, wanted->count);
        assert_int_equal(group->source, 7);
        assert_int_equal(group->oldest.deposited_ms, wanted->oldest.deposited_ms);
        assert_memory_equal(group->oldest.id, wanted->oldest.id, MESSAGE_ID_BYTES);
        assert_int_equal(group->newest.deposited_ms, wanted->newest.deposited_ms);
        assert_memory_equal(group->newest.id, wanted->newest.id, MESSAGE_ID_BYTES);
    }
}

/* Each group of the messages that stayed is there. */
static void check_others(const struct world *world, struct similar_list *list)
{
    static struct similar_group kept[ROOM];
    size_t count = 0;

    for (size_t i = 0; i < list->count; i++) {
        if (list->groups[i].oldest.id[MESSAGE_ID_BYTES - 1] == 0) {
            kept[count++] = list->groups[i];
        }
    }
    assert_true(list->total <= list->limit);
    qsort(kept, count, sizeof kept[0], by_size);
    assert_int_equal(count, world->wanted_count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(kept[i].count, world->wanted[i].count);
        assert_memory_equal(kept[i].oldest.id, world->wanted[i].oldest.id, MESSAGE_ID_BYTES);
        assert_memory_equal(kept[i].newest.id, world->wanted[i].newest.id, MESSAGE_ID_BYTES);
    }
}

static void check_world(struct world *world, size_t limit)
{
    static struct similar_group groups[ROOM];
    struct similar_list list = {.groups = groups, .limit = limit};

    struct fail_alloc fail;

    find_plainly(world);
    fill_index(world);
    fail_alloc_init(&fail);
    assert_int_equal(find(world, &fail, &list), 0);
    check_list(world, &list);
    list = (struct similar_list){.groups = groups, .limit = limit};
    assert_int_equal(find(world, &fail, &list), 0); /* marks of the first run do no harm */
    check_list(world, &list);
    free_index(world);
}

static struct world *new_world(void)
{
    struct world *world = calloc(1, sizeof(*world));

    assert_non_null(world);
    rng_init(&world->rng);
    return world;
}

/* Small worlds with all kinds of filters and distances. */
TEST(test_small_worlds)
{
    static const uint32_t bits[] = {64, 192, 512, 1024, 4096};
    static const uint32_t distances[] = {0,      1,      30000,  100000, 100000,
                                         250000, 600000, 999999, 1000000};
    struct world *world = new_world();

    for (int i = 0; i < (rng_is_brief() ? WORLDS / 5 : WORLDS); i++) {
        size_t count = rng_below(&world->rng, rng_chance(&world->rng, 10) ? 3 : 150);

        world->within_ppm = distances[rng_below(&world->rng, sizeof distances / sizeof *distances)];
        make_world(world, bits[rng_below(&world->rng, 5)], count, 1 + rng_below(&world->rng, 8),
                   5 + rng_below(&world->rng, 60), 60 + rng_below(&world->rng, 41));
        check_world(world, 1 + rng_below(&world->rng, 20));
    }
    free(world);
}

/* 10,000 messages of 500 places at 512 bits, near and very near. */
TEST(test_large_world)
{
    static const uint32_t distances[] = {0, 100000, 300000, 500000, 900000};
    struct world *world = new_world();

    for (size_t i = 0; i < sizeof distances / sizeof *distances; i++) {
        world->within_ppm = distances[i];
        make_world(world, 512, MESSAGES_MAX, 500, 16, 92);
        check_world(world, ROOM);
        printf("within %.1f: %zu groups\n", (double)distances[i] / 1e6, world->wanted_count);
        assert_true(world->wanted_count > 100 || distances[i] == 900000);
    }
    free(world);
}

/* Other messages come and go meanwhile: far ones, and ones that are equal to those of the world. */
TEST(test_others_come_and_go)
{
    static struct similar_group groups[ROOM];
    static const uint32_t distances[] = {0, 100000, 300000};
    struct world *world = new_world();
    struct fail_alloc fail;

    fail_alloc_init(&fail);
    for (size_t i = 0; i < sizeof distances / sizeof *distances; i++) {
        struct similar_list list = {.groups = groups, .limit = ROOM};

        world->within_ppm = distances[i];
        make_world(world, 512, 9000, 300, 16, 92);
        for (size_t m = 0; m < world->count; m++) {
            struct message *message = &world->messages[m];

            message->filter[world->words - 1] = 0; /* others only have bits there */
            message->filter[0] |= 1;
            message->cardinality = bloom_cardinality(message->filter, world->words);
        }
        find_plainly(world);
        fill_index(world);
        world->others = 5000;
        world->next_other = 0;
        while (world->next_other < world->others) {
            insert_other(world, true);
        }
        assert_int_equal(find(world, &fail, &list), 0);
        check_others(world, &list);
        free_index(world);
        world->others = 0;
    }
    free(world);
}

/*
 * The memory of a run does not grow with the number of messages: the run's own is bounded, and so
 * is that of a search, besides 3 bytes for each node.
 */
TEST(test_memory_is_bounded)
{
    enum { MESSAGES = 120000, LIMIT = 10, SEARCH_BYTES = 64 * 1024 };
    struct similar_group groups[LIMIT];
    struct world *world = new_world();
    uint64_t filter[PROFILE_WORDS_MAX];
    struct fail_alloc fail;

    world->bits = 512;
    world->words = bloom_words(world->bits);
    world->within_ppm = 100000;
    new_index(world);
    for (uint32_t i = 0; i < MESSAGES; i++) {
        struct similar_message message = {.deposited_ms = i};

        memcpy(message.id, &i, sizeof i);
        if (i % 100 != 99) { /* else as the message before */
            rng_filter(&world->rng, world->bits, 16, filter);
        }
        insert(world, &message, filter);
        if (i + 1 == 2000 || i + 1 == MESSAGES) {
            struct similar_list list = {.groups = groups, .limit = LIMIT};

            world->most_bytes = 0;
            fail_alloc_init(&fail);
            if (i + 1 == MESSAGES) {
                assert_int_equal(index_arrange(world->index, NULL), 0);
            }
            assert_int_equal(find(world, &fail, &list), 0);
            assert_true(world->most_bytes <= SIMILAR_BYTES_MAX + SEARCH_BYTES);
            printf("%u messages: %zu bytes\n", i + 1, world->most_bytes);
        }
    }
    free_index(world);
    free(world);
}

/* The example of similar.h: B belongs to both groups, and the older message does not begin one. */
TEST(test_definition)
{
    struct world *world = new_world();
    static const uint64_t filters[] = {0x3ff, 0x1ff, 0xff, 0x7f};

    world->bits = 64;
    world->words = 1;
    world->count = 4;
    world->within_ppm = 130000; /* 9/10, 8/9, 7/8 are near; 8/10 and 7/9 are not */
    for (size_t i = 0; i < 4; i++) {
        world->filters[i] = filters[i];
        world->messages[i] = (struct message){
            {(int64_t)i, {(uint8_t)i}}, &world->filters[i], bloom_cardinality(&filters[i], 1)};
    }
    find_plainly(world);
    assert_int_equal(world->wanted_count, 2);
    assert_int_equal(world->wanted[0].count, 3); /* of message 2: 1, 2, 3 */
    assert_int_equal(world->wanted[0].oldest.deposited_ms, 2);
    assert_int_equal(world->wanted[0].newest.deposited_ms, 3);
    assert_int_equal(world->wanted[1].count, 2); /* of message 0: 0, 1 */
    check_world(world, ROOM);
    free(world);
}

/* The n-th allocation fails, for each n. */
TEST(test_memory_runs_out)
{
    struct world *world = new_world();
    struct fail_alloc fail;
    struct similar_group groups[10];
    size_t n = 0;
    int rc = -ERR_NOMEM;

    world->within_ppm = 100000;
    make_world(world, 256, 1000, 10, 30, 95);
    find_plainly(world);
    fill_index(world);
    fail_alloc_init(&fail);
    while (rc != 0) {
        struct similar_list list = {.groups = groups, .limit = 10};

        fail_alloc_arm(&fail, ++n);
        rc = find(world, &fail, &list);
        assert_true(rc == 0 || rc == -ERR_NOMEM);
        if (rc == 0) {
            check_list(world, &list);
        }
    }
    free_index(world);
    printf("%zu allocations failed\n", n - 1);
    assert_true(n > 6);
    free(world);
}
