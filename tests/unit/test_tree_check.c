/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree's own check can fail: each invariant is broken by hand, and the check names it. What is
 * broken is put back, which the check confirms.
 */
#include "core/tree/inner.h"

#include "core/bits/sliced.h"
#include "core/filter/bloom.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"
#include "tests/reference/check.h"
#include "tests/reference/engines.h"

enum {
    BITS = 256,
    WORDS = BITS / 64,
    FANOUT = 80, /* groups: more than a word of lanes */
    MESSAGES = 17 * FANOUT * TREE_GROUP
};

struct fixture {
    struct fail_alloc alloc;
    struct profile profile;
    struct tree *tree;
    struct tree_node *node;   /* one that is summarised, with groups in two words */
    struct tree_group *full;  /* a group of it */
    struct tree_group *noted; /* another, that has room for one more */
};

/* 40 places, most bits of which each message has, and one of its own. No two messages have equal
 * filters and equal reach. */
static void make_message(uint32_t number, struct index_item *item, uint64_t *filter)
{
    uint32_t place = number % 40;

    *item = (struct index_item){.expires_ms = INT64_MAX, .reach_ppm = DISTANCE_ONE_PPM - number};
    memcpy(item->id, &number, sizeof number);
    item->deposited_ms = number;
    memset(filter, 0, WORDS * sizeof *filter);
    for (uint32_t i = 0; i < 16; i++) {
        if ((number / 40 + i) % 5 != 0) {
            bloom_set(filter, (place * 67 + i * 13) % BITS);
        }
    }
    bloom_set(filter, number * 97 % BITS);
}

/* A node, and two neighbours of its full groups, of which one then loses a message. */
static void choose_places(struct fixture *f)
{
    uint32_t g = 1;

    f->node = f->tree->nodes[1];
    while (f->node->groups[g].used < TREE_GROUP || f->node->groups[g + 1].used < TREE_GROUP) {
        assert_true(++g < f->node->group_count - 1);
    }
    f->full = &f->node->groups[g];
    f->noted = &f->node->groups[g + 1];
    struct tree_spot spot = {f->node, f->noted->first};
    assert_int_equal(tree_engine.remove(f->tree, tree_item(spot)->id, NULL), 0);
    assert_int_equal(f->noted->used, TREE_GROUP - 1);
    assert_int_equal(tree_reserve(f->tree, f->node, f->node->slot_room + 1), 0);
    assert_true(f->node->span_count > 1);
    assert_true(f->node->group_count > 64 && f->node->group_count < FANOUT);
    assert_true(f->tree->node_count < f->tree->node_room);
}

static int set_up(void **state)
{
    static struct fixture fixture;
    struct fixture *f = &fixture;
    void *engine = NULL;

    memset(f, 0, sizeof *f);
    fail_alloc_init(&f->alloc);
    f->profile = (struct profile){
        .bits = BITS, .section_count = 1, .sections = {{.bits = BITS, .hashes = 3}}};
    struct index_options options = {
        .alloc = &f->alloc.alloc,
        .profile = &f->profile,
        .kernels = bits_select(BITS_BEST),
        .hash_seed = 4711,
    };
    assert_int_equal(small_tree_engine(FANOUT)->create(&options, &engine), 0);
    f->tree = engine;
    for (uint32_t i = 0; i < MESSAGES; i++) {
        struct index_item item;
        uint64_t filter[WORDS];

        make_message(i, &item, filter);
        assert_int_equal(tree_engine.insert(engine, &item, filter), 0);
    }
    assert_int_equal(tree_engine.arrange(engine, NULL), 0);
    choose_places(f);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    tree_engine.destroy(f->tree);
    assert_int_equal(f->alloc.live_bytes, 0);
    return 0;
}

static void check_names(const struct fixture *f, const char *expected)
{
    const char *found = check_tree(f->tree);

    if (found == NULL || strcmp(found, expected) != 0) {
        fail_msg("found \"%s\", not \"%s\"", found == NULL ? "nothing" : found, expected);
    }
}

static void check_sound(const struct fixture *f)
{
    const char *found = check_tree(f->tree);

    if (found != NULL) {
        fail_msg("found \"%s\", not nothing", found);
    }
}

/* Gives a number of so many bytes another value, has that named, and puts it back. */
static void break_number(const struct fixture *f, void *place, size_t bytes, uint64_t value,
                         const char *expected)
{
    uint8_t whole[sizeof(uint64_t)];
    const uint8_t one = (uint8_t)value;
    const uint16_t two = (uint16_t)value;
    const uint32_t four = (uint32_t)value;

    memcpy(whole, place, bytes);
    memcpy(place,
           bytes == 1   ? (const void *)&one
           : bytes == 2 ? (const void *)&two
           : bytes == 4 ? (const void *)&four
                        : (const void *)&value,
           bytes);
    assert_memory_not_equal(whole, place, bytes);
    check_names(f, expected);
    memcpy(place, whole, bytes);
    check_sound(f);
}

#define BREAK(place, value, expected) \
    break_number(f, &(place), sizeof(place), (uint64_t)(value), expected)

TEST(test_sound)
{
    check_sound(*state);
}

TEST(test_counts)
{
    static const char counts[] = "tree: its counts are wrong";
    struct fixture *f = *state;
    struct tree *tree = f->tree;

    BREAK(tree->count, tree->count + 1, counts);
    BREAK(tree->message_count, tree->message_count + 1,
          "tree: the numbers of ids and of messages differ");
    BREAK(f->node->entry_count, f->node->entry_count + 1, counts);
    BREAK(tree->ids.current.used, tree->ids.current.used + 1,
          "idmap: the number of entries is wrong");
    uint32_t number = 0;
    while (tree->by_number[number] != NULL) {
        number++;
    }
    tree->by_number[number] = f->node; /* twice */
    check_names(f, counts);
    tree->by_number[number] = NULL;
    tree->count++;
    tree->message_count++;
    f->node->entry_count++;
    check_names(f, "tree: the numbers of ids and of messages differ");
    tree->count--;
    tree->message_count--;
    f->node->entry_count--;
    check_sound(f);
}

/* Puts in a message that is equal to `number`, with another id. */
static void put_twin(const struct fixture *f, uint32_t number, uint32_t id)
{
    struct index_item item;
    uint64_t filter[WORDS];

    make_message(number, &item, filter);
    memcpy(item.id, &id, sizeof id);
    item.deposited_ms -= id % 2;
    assert_int_equal(tree_engine.insert(f->tree, &item, filter), 0);
}

TEST(test_entries)
{
    static const char slots[] = "tree: a slot's entry is not its own";
    static const char other[] = "tree: a twin is in another entry than it says";
    static const uint32_t last = MESSAGES - 1;
    struct fixture *f = *state;
    struct index_item item;
    uint64_t filter[WORDS];
    uint32_t position = 0;

    /* the hint of a message that was arranged may be old: put_twin may put a slot of its own */
    put_twin(f, last, MESSAGES + 2);
    put_twin(f, last, MESSAGES + 4);
    put_twin(f, last, MESSAGES + 5);
    make_message(last, &item, filter);
    memcpy(item.id, &(uint32_t){MESSAGES + 4}, sizeof(uint32_t));
    assert_true(idmap_find(&f->tree->ids, item.id, tree_id_at, f->tree, &position));
    assert_true(position >= TREE_TWIN);
    struct tree_twin *twin = tree_twin(f->tree, position - TREE_TWIN);
    struct tree_entry *entry = &f->tree->entries[twin->entry];
    check_sound(f);
    BREAK(entry->position, entry->position + 1, slots);
    BREAK(entry->newest, twin->older, other);
    BREAK(entry->oldest, entry->newest, "tree: an entry does not know its oldest twin");
    BREAK(twin->entry, twin->entry + 1, other);
    BREAK(twin->newer, twin->older, other);
    BREAK(twin->item.reach_ppm, twin->item.reach_ppm - 1, other);
    BREAK(twin->item.deposited_ms, 0, "tree: twins are not in the order of their deposits");
    BREAK(f->tree->twin_count, f->tree->twin_count + 1, "tree: a twin is in no entry");
    for (uint32_t id = MESSAGES + 2; id <= MESSAGES + 5; id++) {
        memcpy(item.id, &id, sizeof id);
        assert_int_equal(tree_engine.remove(f->tree, item.id, NULL),
                         id == MESSAGES + 3 ? INDEX_NOT_FOUND : 0);
        check_sound(f);
    }
    assert_int_equal(f->tree->twin_count, 0);
}

TEST(test_places)
{
    static const char expected[] = "tree: a node is not where it says";
    struct fixture *f = *state;

    BREAK(f->node->place, f->node->place + 1, expected);
    BREAK(f->node->number, f->tree->nodes[0]->number, expected);
    BREAK(f->node->number, f->tree->node_room, expected);
    struct tree_node *first = f->tree->nodes[0];
    f->tree->nodes[0] = f->node;
    check_names(f, expected);
    f->tree->nodes[0] = first;
    check_sound(f);
}

TEST(test_sizes)
{
    static const char size[] = "tree: a node is empty or overfull";
    static const char slots[] = "tree: a node's slots are more than it has room for";
    struct fixture *f = *state;
    struct tree_node *node = f->node;

    BREAK(node->group_count, 0, size);
    BREAK(node->group_count, FANOUT + 1, size);
    BREAK(node->group_count, node->group_count + 1, "tree: a node's last group is empty");
    BREAK(node->slot_room, node->slot_count - 1, slots);
    BREAK(node->slot_room, node->slot_room + 1, slots);
    node->slot_count += TREE_SLOTS;
    check_names(f, size);
    node->slot_count -= TREE_SLOTS;
    check_sound(f);
}

TEST(test_slots)
{
    static const char expected[] = "tree: a group's slots are not its own";
    static const char noted[] = "tree: a group's room is not what is noted";
    struct fixture *f = *state;
    uint32_t group = (uint32_t)(f->noted - f->node->groups);
    uint64_t *word = &f->node->room[group / 64];
    uint64_t bit = UINT64_C(1) << group % 64;

    BREAK(f->full->room, TREE_GROUP - 1, expected);  /* fewer than it has */
    BREAK(f->noted->room, TREE_GROUP + 1, expected); /* more than a group may have */
    BREAK(f->noted->first, f->noted->first - 1, expected);
    BREAK(f->noted->room, TREE_GROUP - 1, noted);
    BREAK(*word, *word & ~bit, noted);
    BREAK(f->node->room[BITS_LANE_WORDS - 1], 1, noted); /* of a group that is not there */
    const struct tree_group whole = *f->noted;
    f->noted->used = f->noted->room = 0;
    *word &= ~bit;
    check_names(f, expected);
    *f->noted = whole;
    *word |= bit;
    f->node->slot_count--; /* into the last group */
    check_names(f, expected);
    f->node->slot_count++;
    check_sound(f);
}

TEST(test_messages)
{
    static const char cardinality[] = "tree: a stored cardinality is wrong";
    static const char id[] = "tree: an id does not lead to its message";
    struct fixture *f = *state;
    struct tree_node *node = f->node;
    uint32_t slot = f->full->first;
    uint64_t *row = tree_block(f->tree, node, slot) + slot % BITS_BLOCK;
    uint8_t *ids[2] = {node->items[slot].id, node->items[slot + 1].id};
    uint8_t whole[MESSAGE_ID_BYTES];

    BREAK(node->cardinalities[slot], node->cardinalities[slot] + 1, cardinality);
    BREAK(*row, *row ^ 1, cardinality);
    BREAK(ids[0][MESSAGE_ID_BYTES - 1], 1, id); /* unknown */
    memcpy(whole, ids[0], sizeof whole);        /* twice */
    memcpy(ids[0], ids[1], sizeof whole);
    check_names(f, id);
    memcpy(ids[0], whole, sizeof whole);
    check_sound(f);
}

/* A free slot in a group, and one behind all groups. */
TEST(test_free_slots)
{
    static const char expected[] = "tree: a free slot is not zero";
    struct fixture *f = *state;
    struct tree_node *node = f->node;
    const uint32_t slots[] = {(uint32_t)f->noted->first + f->noted->used, node->slot_room - 1};

    assert_true(node->slot_room > node->slot_count);
    for (size_t i = 0; i < 2; i++) {
        uint32_t slot = slots[i];
        uint64_t *row = tree_block(f->tree, node, slot) + slot % BITS_BLOCK;

        BREAK(node->items[slot].expires_ms, 0, expected);
        BREAK(*row, 1, "tree: a stored cardinality is wrong");
        node->cardinalities[slot] = 1;
        *row = 1;
        check_names(f, expected);
        node->cardinalities[slot] = 0;
        *row = 0;
        check_sound(f);
    }
}

TEST(test_columns)
{
    static const char expected[] = "tree: a column is not the union of its groups";
    struct fixture *f = *state;
    struct tree_node *node = f->node;
    uint32_t group = (uint32_t)(f->full - node->groups);
    uint64_t bit = UINT64_C(1) << group % 64;
    uint64_t *set = node->columns + group / 64;
    uint64_t *unset = set;

    while ((*set & bit) == 0) {
        set += BITS_LANE_WORDS;
    }
    while ((*unset & bit) != 0) {
        unset += BITS_LANE_WORDS;
    }
    BREAK(*set, *set & ~bit, expected);
    BREAK(*unset, *unset | bit, expected);
    uint64_t *beyond = node->columns + node->group_count / 64;
    BREAK(*beyond, *beyond | UINT64_C(1) << node->group_count % 64,
          "tree: a lane without a group is not zero");
    BREAK(node->columns[(BITS - 1) * BITS_LANE_WORDS + BITS_LANE_WORDS - 1], 1,
          "tree: a lane without a group is not zero");
}

TEST(test_groups_ranges)
{
    static const char range[] = "tree: a group's range of cardinalities is wrong";
    static const char newest[] = "tree: a group's newest deposit is wrong";
    struct fixture *f = *state;

    BREAK(f->full->low, f->full->low - 1, range);
    BREAK(f->full->low, f->full->low + 1, range);
    BREAK(f->full->high, f->full->high - 1, range);
    BREAK(f->full->high, f->full->high + 1, range);
    BREAK(f->full->newest_ms, f->full->newest_ms - 1, newest);
    BREAK(f->full->newest_ms, INT64_MIN, newest);
}

TEST(test_nodes_tally)
{
    static const char counts[] = "tree: a node's counts are wrong";
    static const char newest[] = "tree: a node's newest deposit is wrong";
    static const char lanes[] = "tree: the range of cardinalities of a lane is wrong";
    static const char whole[] = "tree: a node's union is wrong";
    struct fixture *f = *state;
    struct tree_node *node = f->node;

    BREAK(node->cardinality_sum, node->cardinality_sum + 1, counts);
    BREAK(node->column_bits, node->column_bits - 1, counts);
    BREAK(node->empty_count, node->empty_count + 1, counts);
    BREAK(node->newest_ms, node->newest_ms + 1, newest);
    BREAK(node->least[0], node->least[0] - 1, lanes);
    BREAK(node->least[64], node->least[64] + 1, lanes);
    BREAK(node->most[0], node->most[0] - 1, lanes);
    BREAK(node->most[64], node->most[64] + 1, lanes);
    BREAK(node->whole[0], node->whole[0] ^ 1, whole);
    BREAK(node->whole[WORDS - 1], node->whole[WORDS - 1] ^ UINT64_C(1) << 63, whole);
    f->tree->nodes[2]->entry_count--; /* so that the sum is right */
    node->entry_count++;
    check_names(f, counts);
    f->tree->nodes[2]->entry_count++;
    node->entry_count--;
    check_sound(f);
}

TEST(test_summaries)
{
    static const char needs[] = "tree: a message needs less than its summary says";
    static const char lanes[] = "tree: a node's spans have lanes that are not its own";
    static const char units[] = "tree: a summary does not know how many units are used";
    struct fixture *f = *state;
    struct tree_summary *summary = f->tree->summaries[f->node->span_summary];
    uint32_t lane = f->node->span_lane;
    uint64_t core[BITS * BITS_LANE_WORDS];

    for (uint32_t j = 0; j < BITS_NEEDS; j++) {
        int16_t *need = &summary->needs[j * BITS_LANES + lane];

        BREAK(*need, (int16_t)(*need + 1), needs);
        BREAK(need[f->node->span_count - 1], (int16_t)(need[f->node->span_count - 1] + 1), needs);
    }
    memcpy(core, summary->columns, sizeof core);
    memset(summary->columns, 0, sizeof core);
    check_names(f, needs);
    memcpy(summary->columns, core, sizeof core);
    check_sound(f);
    BREAK(summary->owners[lane / TREE_UNIT], 0, lanes);
    BREAK(f->node->span_summary, f->tree->summary_count, lanes);
    BREAK(f->node->span_lane, f->node->span_lane + 1, lanes);
    BREAK(summary->used, summary->used + 1, units);
}

int main(void)
{
    return check_run(set_up, tear_down);
}
