/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/model/index_world.h"

#include "core/filter/bloom.h"
#include "tests/lib/check.h"
#include "tests/model/some_metric.h"
#include "tests/reference/check.h"
#include "tests/reference/engines.h"

struct world world;

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

void check_answer(struct asked *asked)
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
        assert_int_equal(found[i].similarity.shared, expected[i].similarity.shared);
        assert_int_equal(found[i].similarity.all, expected[i].similarity.all);
        assert_int_equal(found[i].intersection, expected[i].intersection);
        assert_int_equal(found[i].union_count, expected[i].union_count);
        assert_int_equal(found[i].cardinality, expected[i].cardinality);
        assert_int_equal(found[i].part, expected[i].part);
    }
    assert_true(index_search_is_exact(asked->search));
    assert_int_equal(index_search_is_capped(asked->search), capped);
    world.capped += capped;
}

void check_store(const struct store *store)
{
    const char *wrong = check_index(store->index);

    if (wrong != NULL) {
        fail_msg("%s", wrong);
    }
    assert_int_equal(index_count(store->index), store->count);
}

/* Every message can be looked up, and what is held is what is accounted for. */
void check_contents(const struct store *store)
{
    int64_t soonest_ms = INT64_MAX;

    for (uint32_t i = 0; i < store->count; i++) {
        struct index_item item;
        uint64_t filter[WORDS_MAX];

        assert_int_equal(index_find(store->index, store->messages[i].item.id, &item, filter), 0);
        check_item(&item, &store->messages[i].item);
        soonest_ms = item.expires_ms < soonest_ms ? item.expires_ms : soonest_ms;
        assert_memory_equal(filter, store->messages[i].filter,
                            bloom_words(world.profile.bits) * sizeof *filter);
    }
    assert_int_equal(index_soonest_ms(store->index), soonest_ms);
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
    if (kind < 30) { /* a poster: many have the same filter */
        bloom_set(filter, rng_below(rng, 100) < 80 ? 5 : 6);
        bloom_set(filter, 17);
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

void insert_message(struct store *store)
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
        rng_chance(&world.rng, 80) ? INT64_MAX / 2 : world.now_ms + rng_below(&world.rng, 60) - 5;
    message.item.reach_ppm = make_ppm();
    message.item.bytes = rng_below(&world.rng, 1000);
    message.item.sender = rng_chance(&world.rng, 40) ? 1 : rng_below(&world.rng, SENDERS);
    make_filter(message.filter);
    assert_int_equal(index_insert(store->index, &message.item, message.filter), expected);
    if (expected == 0) {
        store->messages[store->count++] = message;
    }
}

void remove_message(struct store *store)
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

void begin_search(struct asked *asked)
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
        .metric = some_metric(rng),
        .order = some_order(rng),
    };
    if (rng_chance(rng, 30)) {
        asked->query.floor.all = 1 + rng_below(rng, 200);
        asked->query.floor.shared = rng_below(rng, asked->query.floor.all + 1);
    }
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

void end_search(struct asked *asked)
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

/* Inserts and removes up to 99 messages while searches are under way. */
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

/*
 * Sets the clock forward, as the daemon does. Messages that were deposited at from_ms or later move
 * by the same time, so that their age and the rest of their lifetime stay.
 */
static void set_clock(void)
{
    const int64_t from_ms = world.now_ms - rng_below(&world.rng, 30);
    const int64_t by_ms = 1 + rng_below(&world.rng, 1000);

    for (uint32_t s = 0; s < INDEXES; s++) {
        struct store *store = &world.stores[s];

        index_shift(store->index, from_ms, by_ms);
        for (uint32_t i = 0; i < store->count; i++) {
            struct index_item *item = &store->messages[i].item;
            const bool moves = item->deposited_ms >= from_ms;

            item->deposited_ms += moves ? by_ms : 0;
            item->expires_ms += moves ? by_ms : 0;
        }
    }
    world.now_ms += by_ms;
}

void one_operation(uint32_t step)
{
    struct rng *rng = &world.rng;
    struct store *store = &world.stores[rng_below(rng, INDEXES)];
    struct asked *asked = &world.asked[rng_below(rng, SEARCHES)];
    uint32_t growth = step / 1000 % 2 == 0 ? 35 : 15; /* grows and shrinks in turn */

    world.now_ms += rng_chance(rng, 20) ? rng_below(rng, 4) : 0;
    if (rng_chance(rng, 1)) {
        load_messages(store);
    }
    if (rng_below(rng, 200) == 0) {
        set_clock();
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

/* ---- the world ---- */

void begin_world(const struct index_engine *engine, const struct bits_kernels *kernels,
                 const struct profile *profile)
{
    world.profile = *profile;
    world.now_ms = -2000; /* so that a time of 0 means nothing special */
    world.next_id = 1;
    world.finished = 0;
    world.capped = 0;
    fail_alloc_init(&world.alloc);
    struct index_options options = {
        .alloc = &world.alloc.alloc,
        .profile = profile,
        .kernels = kernels,
        .hash_seed = rng_next(&world.rng),
    };
    for (uint32_t s = 0; s < INDEXES; s++) {
        world.stores[s].count = 0;
        assert_int_equal(index_new(engine, &options, &world.stores[s].index), 0);
    }
}

void end_world(void)
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
    assert_int_equal(world.alloc.live_bytes, 0);
}
