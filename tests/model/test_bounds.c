/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bounds of phi as the tree computes them, of groups and of spans, against phi itself: no
 * message is above a bound of those that it is in. Random profiles of several sections, also of one
 * and two bits; random messages and queries whose sections are up to half full; small trees that
 * were arranged, got more messages and lost some; each table of kernels in turn. (test_phi.c has
 * groups without a tree, and tries all numbers of small sections.)
 */
#include "core/filter/bloom.h"
#include "core/tree/walk.h"
#include "tests/lib/profile_of.h"
#include "tests/lib/rng.h"
#include "tests/reference/engines.h"

enum {
    WORLDS = 24,
    QUERIES = 40, /* of a world */
    MESSAGES = 600,
    PLACES = 12,
    NODES_ROOM = 1024,
    WORDS = 16 /* of the largest profile here */
};

/* What the test has seen. */
struct sums {
    uint64_t groups;    /* messages against the bound of their group */
    uint64_t spans;     /* the same of their span */
    uint64_t ranges;    /* the same by phi_bound, of groups and of spans */
    uint64_t low;       /* of the bounds of groups and spans: those below 1 */
    uint64_t ruled_out; /* those below a floor */
};

struct world {
    struct rng rng;
    struct profile profile;
    struct index *index;
    struct tree *tree;
    struct bits_kernels kernels;
    uint64_t places[PLACES][WORDS];
    struct sums sums;
};

static struct world world; /* too large for a stack */

/* --- data ------------------------------------------------------------------------------------- */

/* 1 to 6 sections, many of them small or of an odd number of bits. The last one fills the filter.
 */
static struct profile some_profile(struct rng *rng)
{
    static const uint32_t sizes[] = {1, 2, 3, 5, 7, 13, 31, 63, 79, 113, 127, 192, 255, 320};
    char text[PROFILE_TEXT_MAX] = "v2:";
    uint32_t sum = 0;
    uint32_t count = 1 + rng_below(rng, 6);

    for (uint32_t s = 0; s < count && sum < 512; s++) {
        uint32_t bits = sizes[rng_below(rng, sizeof(sizes) / sizeof(sizes[0]))];
        size_t used = strlen(text);

        (void)snprintf(text + used, sizeof(text) - used, "%c=%u/1,", (char)('a' + s), bits);
        sum += bits;
    }
    uint32_t whole = (sum / 64 + 1 + rng_below(rng, 2)) * 64;
    (void)snprintf(text + strlen(text), 20, "any=%u/1", whole - sum);
    const struct profile profile = profile_of(text);
    assert_true(bloom_words(profile.bits) <= WORDS);
    return profile;
}

/* Sets at most `most` random bits of a section that `like` has; like NULL: any bits. */
static void set_some(struct rng *rng, const struct profile_section *section, const uint64_t *like,
                     uint32_t most, uint64_t *out)
{
    for (uint32_t i = 0; i < most; i++) {
        uint32_t bit = section->first_bit + rng_below(rng, section->bits);

        if (like == NULL || bloom_test(like, bit)) {
            bloom_set(out, bit);
        }
    }
}

/* At most half of the bits of each section; sometimes just half, or none. Few filters have more,
 * which no bound holds for. */
static void make_filter(struct rng *rng, const uint64_t *like, uint64_t *out)
{
    const struct profile *profile = &world.profile;

    memset(out, 0, WORDS * sizeof(*out));
    for (uint32_t s = 0; s < profile->section_count; s++) {
        const struct profile_section *section = &profile->sections[s];
        uint32_t half = section->bits / 2;
        uint32_t most = rng_chance(rng, 25)   ? 0
                        : rng_chance(rng, 3)  ? section->bits
                        : rng_chance(rng, 10) ? half
                                              : rng_below(rng, half + 1);

        if (like == NULL) {
            set_some(rng, section, NULL, most, out);
        } else {
            set_some(rng, section, like, 3 * most, out);
            set_some(rng, section, NULL, most / 8, out);
        }
    }
}

static const uint64_t *some_place(struct rng *rng)
{
    return rng_chance(rng, 90) ? world.places[rng_below(rng, PLACES)] : NULL;
}

static void insert_some(uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++) {
        struct index_item item = {.expires_ms = INT64_MAX, .reach_ppm = DISTANCE_ONE_PPM};
        uint64_t filter[WORDS];

        memcpy(item.id, &i, sizeof(i));
        make_filter(&world.rng, some_place(&world.rng), filter);
        assert_int_equal(index_insert(world.index, &item, filter), 0);
    }
}

static void remove_some(uint32_t count)
{
    uint8_t id[MESSAGE_ID_BYTES] = {0};

    for (uint32_t i = 0; i < count; i += 1 + rng_below(&world.rng, 8)) {
        memcpy(id, &i, sizeof(i));
        assert_int_equal(index_remove(world.index, id, NULL), 0);
    }
}

static void begin_world(const struct bits_kernels *kernels)
{
    world.profile = some_profile(&world.rng);
    world.kernels = *kernels;
    struct index_options options = {
        .alloc = alloc_system(), .profile = &world.profile, .kernels = &world.kernels};
    const struct index_engine *engine = small_tree_engine(2 + rng_below(&world.rng, 3));

    for (uint32_t i = 0; i < PLACES; i++) {
        make_filter(&world.rng, NULL, world.places[i]);
    }
    assert_int_equal(index_new(engine, &options, &world.index), 0);
    insert_some(0, MESSAGES * 2 / 3);
    assert_int_equal(renew_index(world.index), 0);
    insert_some(MESSAGES * 2 / 3, MESSAGES / 3);
    remove_some(MESSAGES);
    world.tree = tree_of_index(world.index);
    assert_true(world.tree->node_count <= NODES_ROOM);
}

/* --- bounds ----------------------------------------------------------------------------------- */

/* Some messages, and what the tree knows of them. `reach`: 1 + the bound of their floor, or 0. */
struct some {
    const struct tree_node *node;
    uint32_t first; /* groups */
    uint32_t end;
    uint16_t reach;
    struct phi_range ranges[PROFILE_SECTIONS_MAX];
};

static void check_message(const struct walk *walk, const struct some *some, struct tree_spot spot)
{
    const struct index_probe *probe = walk->probe;
    uint64_t message[PROFILE_WORDS_MAX];
    struct similarity bound = {0, 0};

    tree_read_filter(walk->tree, spot, message);
    struct similarity phi = phi_similarity(
        &probe->phi, message, bloom_intersection_count(probe->filter, message, walk->tree->words));
    uint32_t floor = phi_floor(phi);

    assert_true(floor < walk->floor || some->reach > floor);
    assert_true(phi_bound(&probe->phi, some->ranges, 0, &bound) && bound.all == PHI_ONE);
    assert_true(bound.shared >= phi.shared);
    assert_true(phi_bound(&probe->phi, some->ranges, phi.shared, &bound));
    world.sums.ranges++;
}

/* Returns how many messages there were. */
static uint64_t check_some(const struct walk *walk, const struct some *some)
{
    uint64_t count = 0;

    for (uint32_t g = some->first; g < some->end; g++) {
        const struct tree_group *group = &some->node->groups[g];

        for (uint32_t i = 0; i < group->used; i++, count++) {
            struct tree_spot spot = {world.tree->by_number[some->node->number], group->first + i};

            check_message(walk, some, spot);
        }
    }
    world.sums.low += some->reach < REACH_MOST ? 1 : 0;
    world.sums.ruled_out += some->reach == REACH_DONE ? 1 : 0;
    return count;
}

/* How many bits a lane of some columns shares with the query in a section, one by one. */
static uint32_t count_shared(const struct walk *walk, const struct profile_section *section,
                             const uint64_t *columns, uint32_t lane)
{
    uint32_t count = 0;

    for (uint32_t bit = section->first_bit; bit < section->first_bit + section->bits; bit++) {
        count += bloom_test(walk->probe->filter, bit) && sliced_test(columns, bit, lane) ? 1 : 0;
    }
    return count;
}

/* 255 stands for 255 or more. */
static struct phi_range range_of(uint8_t least, uint8_t most, uint32_t shared, uint32_t bits)
{
    return (struct phi_range){least, most < UINT8_MAX ? most : bits, shared};
}

static void check_groups(struct walk *walk, const struct tree_node *node)
{
    static _Alignas(WALK_LINE_BYTES) struct kept_node kept;
    const struct profile *profile = &world.profile;

    (void)walk_bound(walk, node, NULL, &kept);
    for (uint32_t g = 0; g < node->group_count; g++) {
        struct some some = {node, g, g + 1, kept.reach[g], {{0}}};

        for (uint32_t s = 0; s < profile->section_count && node->groups[g].used > 0; s++) {
            some.ranges[s] = range_of(node->section_least[s * TREE_GROUPS + g],
                                      node->section_most[s * TREE_GROUPS + g],
                                      count_shared(walk, &profile->sections[s], node->columns, g),
                                      profile->sections[s].bits);
        }
        world.sums.groups += check_some(walk, &some);
    }
}

/* What the summary of a node says of one span, and its bound, which is computed for one lane. */
static struct some read_span(const struct walk *walk, const struct tree_node *node, uint32_t span)
{
    const struct tree_summary *summary = walk->tree->summaries[node->span_summary];
    const struct index_probe *probe = walk->probe;
    uint32_t lane = node->span_lane + span;
    uint8_t lanes[PROFILE_SECTIONS_MAX][3][BITS_STRIDE] = {{{0}}};
    struct bits_section sections[PROFILE_SECTIONS_MAX];
    uint16_t reach[BITS_STRIDE];
    struct some some = {node,
                        node->span_first[span],
                        span + 1 < node->span_count ? node->span_first[span + 1]
                                                    : node->group_count,
                        0,
                        {{0}}};

    for (uint32_t s = 0; s < probe->phi.count; s++) {
        const struct phi_section *asked = &probe->phi.sections[s];
        uint8_t least = tree_range_row(summary, asked->number,
                                       walk_is_filled(walk) ? TREE_FILLED : TREE_LEAST)[lane];
        uint8_t most = tree_range_row(summary, asked->number, TREE_MOST)[lane];
        uint32_t shared =
            count_shared(walk, &world.profile.sections[asked->number], summary->columns, lane) +
            tree_range_row(summary, asked->number, TREE_OUTSIDE)[lane];

        shared = shared < asked->set ? shared : asked->set;
        lanes[s][0][0] = least;
        lanes[s][1][0] = most;
        lanes[s][2][0] = (uint8_t)shared;
        sections[s] =
            (struct bits_section){lanes[s][0], lanes[s][1], lanes[s][2], asked->bits, asked->set};
        some.ranges[asked->number] =
            least <= most ? range_of(least, most, shared, asked->bits) : (struct phi_range){0};
    }
    world.kernels.bound_phi(sections, probe->phi.count, probe->phi.spread, walk->floor, 1, reach);
    some.reach = reach[0];
    return some;
}

/* The spans of a node; what walk_rank says of the node is the highest of them. */
static void check_spans(const struct walk *walk, const struct tree_node *node, uint16_t of_node)
{
    uint16_t highest = 0;

    for (uint32_t span = 0; span < node->span_count; span++) {
        struct some some = read_span(walk, node, span);

        world.sums.spans += check_some(walk, &some);
        highest = some.reach > highest ? some.reach : highest;
    }
    assert_int_equal(of_node, node->span_count > 0 ? highest : REACH_MOST);
}

struct search {
    struct index_query query;
    struct index_probe probe;
    struct walk walk;
};

/* Begins a search by phi with a floor. `filter` is borrowed. */
static void begin_search(struct search *search, const uint64_t *filter, uint16_t floor)
{
    static struct tree_cursor cursor;

    search->query = (struct index_query){.metric = INDEX_METRIC_PHI};
    search->probe =
        (struct index_probe){.query = &search->query,
                             .filter = filter,
                             .profile = &world.profile,
                             .part_bits = world.profile.bits,
                             .cardinality = bloom_cardinality(filter, world.tree->words)};
    index_probe_ask_phi(&search->probe);
    cursor.room = (world.tree->node_count + BITS_STRIDE - 1) / BITS_STRIDE * BITS_STRIDE;
    search->walk = (struct walk){
        .tree = world.tree, .cursor = &cursor, .probe = &search->probe, .floor = floor};
}

static void check_query(const uint64_t *filter)
{
    static uint16_t reach[NODES_ROOM];
    static struct search search;

    begin_search(
        &search, filter,
        rng_chance(&world.rng, 50) ? 0 : (uint16_t)rng_below(&world.rng, 1 << PHI_FLOOR_SHIFT));
    if (!walk_can_bound(&search.walk)) {
        return; /* the search compares all messages then */
    }
    walk_rank(&search.walk, reach);
    for (uint32_t n = 0; n < world.tree->node_count; n++) {
        check_groups(&search.walk, world.tree->nodes[n]);
        check_spans(&search.walk, world.tree->nodes[n], reach[n]);
    }
}

TEST(test_no_message_is_above_its_bounds)
{
    rng_init(&world.rng);
    for (uint32_t round = 0; round < WORLDS; round++) {
        enum bits_level level = round % (BITS_BEST + 1);
        uint64_t filter[WORDS];

        begin_world(bits_table(level) != NULL ? bits_table(level) : bits_select(BITS_BEST));
        for (uint32_t i = 0; i < QUERIES; i++) {
            make_filter(&world.rng, some_place(&world.rng), filter);
            check_query(filter);
        }
        index_free(world.index);
    }
    const struct sums *sums = &world.sums;
    print_message("%llu messages were below the bounds of their groups, %llu below those of their "
                  "spans, %llu below those of phi_bound; %llu bounds were below 1, %llu below a "
                  "floor\n",
                  (unsigned long long)sums->groups, (unsigned long long)sums->spans,
                  (unsigned long long)sums->ranges, (unsigned long long)sums->low,
                  (unsigned long long)sums->ruled_out);
    assert_true(sums->groups > 10000 && sums->spans > 10000);
    assert_true(sums->low > 1000 && sums->ruled_out > 100);
}

/* No message is as similar to the query as `phi`. Checks that the bounds show this for each group
 * and each span. */
static void check_ruled_out(const uint64_t *filter, double phi)
{
    static _Alignas(WALK_LINE_BYTES) struct kept_node kept;
    static uint16_t reach[NODES_ROOM];
    static struct search search;
    uint32_t with_spans = 0;

    begin_search(&search, filter, (uint16_t)(phi * phi * (1 << PHI_FLOOR_SHIFT)));
    walk_rank(&search.walk, reach);
    for (uint32_t n = 0; n < world.tree->node_count; n++) {
        const struct tree_node *node = world.tree->nodes[n];

        with_spans += node->span_count > 0 ? 1 : 0;
        assert_true(node->span_count == 0 || reach[n] == REACH_DONE);
        assert_int_equal(walk_bound(&search.walk, node, NULL, &kept), REACH_DONE);
    }
    assert_true(with_spans > 0);
}

/*
 * Half of the messages have no bits in the section that the query asks for. The other half have 20
 * of its 64 bits, so no message has a phi above 0.384: (64 * 4 - 4 * 20) / sqrt(4 * 60 * 20 * 44).
 */
TEST(test_messages_without_bits_there_do_not_raise_a_bound)
{
    const struct bits_kernels *kernels = bits_select(BITS_BEST);
    struct index_options options = {
        .alloc = alloc_system(), .profile = &world.profile, .kernels = kernels};
    uint64_t filter[WORDS] = {0};

    world.profile = profile_of("v2:a=64/1,any=64/1");
    assert_int_equal(index_new(small_tree_engine(2), &options, &world.index), 0);
    for (uint32_t i = 0; i < MESSAGES; i++) {
        struct index_item item = {.expires_ms = INT64_MAX, .reach_ppm = DISTANCE_ONE_PPM};

        memcpy(item.id, &i, sizeof(i));
        filter[0] = 0xffff | (uint64_t)i << 16; /* messages with one filter would share a slot */
        filter[1] = i % 2 == 0 ? 0 : 0xfffff;
        assert_int_equal(index_insert(world.index, &item, filter), 0);
    }
    assert_int_equal(renew_index(world.index), 0);
    world.tree = tree_of_index(world.index);
    check_ruled_out((uint64_t[WORDS]){0, 0xf}, 0.39);
    index_free(world.index);
}

/* --- by numbers ------------------------------------------------------------------------------- */

enum { CASES = 6000, TRIED = 6 /* messages for each lane */ };

/* A query, and for each lane what is known of some messages. */
struct numbers {
    struct profile profile;
    struct phi_query query;
    uint16_t asked[PROFILE_SECTIONS_MAX];
    uint8_t least[PROFILE_SECTIONS_MAX][BITS_STRIDE];
    uint8_t most[PROFILE_SECTIONS_MAX][BITS_STRIDE];
    uint8_t shared[PROFILE_SECTIONS_MAX][BITS_STRIDE];
};

/* Below `end`; often one of the first or last numbers, where rounding weighs most. */
static uint32_t some_number(struct rng *rng, uint32_t end)
{
    uint32_t near = rng_below(rng, end < 4 ? end : 4);

    return rng_chance(rng, 40) ? near : rng_chance(rng, 40) ? end - 1 - near : rng_below(rng, end);
}

/* The bits of a query in its sections: often as many as phi_has_bound allows with `count` sections.
 */
static void ask_numbers(struct rng *rng, struct numbers *numbers)
{
    const struct profile *profile = &numbers->profile;
    uint64_t filter[WORDS] = {0};

    memset(numbers->asked, 0, sizeof(numbers->asked));
    for (uint32_t s = 0; s < profile->section_count; s++) {
        const struct profile_section *section = &profile->sections[s];
        uint32_t end = (section->bits - section->bits * profile->section_count / 128) / 2;

        if (rng_chance(rng, 70) && section->bits > 2) {
            numbers->asked[s] = (uint16_t)some_number(rng, end + 1);
        }
        for (uint32_t i = 0; i < numbers->asked[s]; i++) {
            bloom_set(filter, section->first_bit + i);
        }
    }
    phi_ask(&numbers->query, profile, filter);
}

static void make_ranges(struct rng *rng, struct numbers *numbers, uint32_t lane)
{
    for (uint32_t s = 0; s < numbers->profile.section_count; s++) {
        uint32_t half = numbers->profile.sections[s].bits / 2;
        uint32_t least = some_number(rng, half + 1);

        if (rng_chance(rng, 3)) {
            half = numbers->profile.sections[s].bits; /* no bound below 1 holds */
        }
        half = half < UINT8_MAX ? half : UINT8_MAX - 1;
        least = least < half ? least : half;
        numbers->least[s][lane] = (uint8_t)least;
        numbers->most[s][lane] = (uint8_t)(least + some_number(rng, half - least + 1));
        numbers->shared[s][lane] = (uint8_t)some_number(rng, numbers->asked[s] + 1);
    }
}

/* A message within the ranges of a lane that shares as much as it can with the query: its phi. Most
 * of its numbers are those that the bound takes for the best. */
static struct similarity some_phi(struct rng *rng, const struct numbers *numbers, uint32_t lane)
{
    uint16_t counts[PROFILE_SECTIONS_MAX] = {0};
    uint32_t asked_spreads[PROFILE_SECTIONS_MAX];
    uint32_t spreads[PROFILE_SECTIONS_MAX];
    struct similarity phi = {0, PHI_ONE};
    uint32_t overlap = 0;

    for (uint32_t s = 0; s < numbers->profile.section_count; s++) {
        uint32_t least = numbers->least[s][lane];
        uint32_t shared = numbers->shared[s][lane];
        uint32_t most = numbers->most[s][lane];
        uint32_t nearest = shared < least ? least : shared < most ? shared : most;
        uint32_t set = rng_chance(rng, 75) ? nearest : least + some_number(rng, most - least + 1);

        counts[s] = (uint16_t)set;
        overlap += set < shared ? set : shared;
    }
    phi_size(&numbers->profile, numbers->asked, asked_spreads);
    phi_size(&numbers->profile, counts, spreads);
    (void)phi_counted(&numbers->profile, (struct phi_sized){numbers->asked, asked_spreads},
                      (struct phi_sized){counts, spreads}, overlap, 0, &phi);
    return phi;
}

static void bound_numbers(const struct bits_kernels *kernels, const struct numbers *numbers,
                          uint16_t *out_reach)
{
    struct bits_section sections[PROFILE_SECTIONS_MAX];

    for (uint32_t s = 0; s < numbers->query.count; s++) {
        const struct phi_section *asked = &numbers->query.sections[s];

        sections[s] =
            (struct bits_section){numbers->least[asked->number], numbers->most[asked->number],
                                  numbers->shared[asked->number], asked->bits, asked->set};
    }
    kernels->bound_phi(sections, numbers->query.count, numbers->query.spread, 0, BITS_STRIDE,
                       out_reach);
}

/* Returns how many messages were near the bound. */
static uint32_t check_lane(struct rng *rng, const struct numbers *numbers, uint32_t lane,
                           uint16_t reach)
{
    struct phi_range ranges[PROFILE_SECTIONS_MAX];
    struct similarity bound = {0, 0};
    uint32_t near = 0;

    for (uint32_t s = 0; s < numbers->profile.section_count; s++) {
        ranges[s] = (struct phi_range){numbers->least[s][lane], numbers->most[s][lane],
                                       numbers->shared[s][lane]};
    }
    assert_true(phi_bound(&numbers->query, ranges, 0, &bound));
    for (uint32_t i = 0; i < TRIED; i++) {
        struct similarity phi = some_phi(rng, numbers, lane);

        assert_true(phi.shared <= bound.shared && phi_floor(phi) < reach);
        near += phi.shared > 0 && bound.shared - phi.shared < PHI_ONE / 4096 ? 1 : 0;
    }
    return near;
}

/* Rounding: the numbers of set bits alone, at the limits of the proof. */
TEST(test_rounding_is_upwards)
{
    struct rng rng;
    uint32_t tried = 0;
    uint32_t near = 0;

    rng_init(&rng);
    for (uint32_t round = 0; round < CASES; round++) {
        const struct bits_kernels *kernels = bits_table(round % (BITS_BEST + 1));
        struct numbers numbers = {.profile = some_profile(&rng)};
        uint16_t reach[BITS_STRIDE];
        uint32_t set = 0;

        ask_numbers(&rng, &numbers);
        for (uint32_t s = 0; s < numbers.query.count; s++) {
            set += numbers.query.sections[s].set;
        }
        if (numbers.query.count == 0 || !phi_has_bound(&numbers.query) || set > UINT8_MAX) {
            continue;
        }
        for (uint32_t lane = 0; lane < BITS_STRIDE; lane++) {
            make_ranges(&rng, &numbers, lane);
        }
        bound_numbers(kernels != NULL ? kernels : bits_select(BITS_BEST), &numbers, reach);
        for (uint32_t lane = 0; lane < BITS_STRIDE; lane++) {
            near += check_lane(&rng, &numbers, lane, reach[lane]);
            tried += TRIED;
        }
    }
    print_message("%u messages by their numbers, %u of them near the bound\n", tried, near);
    assert_true(tried > 100000 && near > tried / 100);
}
