/* SPDX-License-Identifier: Apache-2.0 */
/* What each sender has stored, and whose message goes first. */
#include "daemon/host/shares.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/rng.h"
#include "tests/reference/check.h"

#include "core/base/err.h"
#include "core/index/nearest.h"

enum { IDS = 200, ADDRESSES = 12, WIDES = 3, STEPS = 30000 };

/* Addresses from 1 on; the even ones are of a /64, each of one of WIDES. */
static struct sender_tags sender_of(uint32_t address)
{
    return (struct sender_tags){.address = address,
                                .wide = address % 2 == 0 ? 1 + address % WIDES : 0};
}

static void make_id(uint32_t number, uint8_t out_id[MESSAGE_ID_BYTES])
{
    memset(out_id, 0, MESSAGE_ID_BYTES);
    memcpy(out_id, &number, sizeof(number));
}

static uint32_t number_of(const uint8_t *id)
{
    uint32_t number;

    memcpy(&number, id, sizeof(number));
    return number;
}

static bool add(struct shares *shares, uint32_t number, uint32_t address, uint32_t bytes)
{
    const struct sender_tags sender = sender_of(address);
    uint8_t id[MESSAGE_ID_BYTES];
    bool added = false;

    make_id(number, id);
    assert_int_equal(shares_add(shares, id, &sender, bytes, &added), 0);
    return added;
}

static void take_out(struct shares *shares, uint32_t number)
{
    uint8_t id[MESSAGE_ID_BYTES];

    make_id(number, id);
    shares_remove(shares, id);
}

/* --- every field of the structure ------------------------------------------------------------- */

#define NONE    UINT32_MAX
#define LEAVING (UINT32_C(1) << 31)

static const uint8_t *id_at(const void *context, uint32_t position)
{
    return ((const struct shares *)context)->records[position].id;
}

/* Whether a sharer is in the chain of its tag. */
static bool is_in_chain(const struct shares *shares, uint32_t wanted)
{
    uint32_t at = shares->chains[shares->sharers[wanted].tag & (shares->sharer_room - 1)];

    while (at != NONE && at != wanted) {
        at = shares->sharers[at].next;
    }
    return at != NONE;
}

/* What the list of an address adds up to is what its sharer says. */
static const char *check_address(const struct shares *shares, uint32_t by, uint32_t *records)
{
    const struct sharer *sharer = &shares->sharers[by];
    struct usage all = {0};
    struct usage leaving = {0};
    uint32_t prev = NONE;

    for (uint32_t at = sharer->first; at != NONE; at = shares->records[at].next) {
        const struct share_record *record = &shares->records[at];
        uint32_t bytes = record->bytes & ~LEAVING;
        uint32_t found = 0;
        if (record->sharer != by || record->prev != prev) {
            return "a record is in a wrong list";
        }
        if (!idmap_find(&shares->ids, record->id, id_at, shares, &found) || found != at) {
            return "a record is not found by its id";
        }
        all.messages++;
        all.bytes += bytes;
        leaving.messages += (record->bytes & LEAVING) != 0;
        leaving.bytes += (record->bytes & LEAVING) != 0 ? bytes : 0;
        prev = at;
        (*records)++;
    }
    if (sharer->last != prev) {
        return "a list does not end with its last record";
    }
    return all.messages == sharer->messages && all.bytes == sharer->bytes &&
                   leaving.messages == sharer->leaving_messages &&
                   leaving.bytes == sharer->leaving_bytes
               ? NULL
               : "an address is counted wrongly";
}

static const char *check_sums(const struct shares *shares, uint32_t wide)
{
    const struct sharer *sharer = &shares->sharers[wide];
    struct sharer sum = {0};

    for (uint32_t at = 0; at < shares->sharer_room; at++) {
        const struct sharer *one = &shares->sharers[at];
        if (one->tag != 0 && one->wide == wide) {
            sum.addresses++;
            sum.messages += one->messages;
            sum.bytes += one->bytes;
            sum.leaving_messages += one->leaving_messages;
            sum.leaving_bytes += one->leaving_bytes;
        }
    }
    return sum.addresses == sharer->addresses && sum.messages == sharer->messages &&
                   sum.bytes == sharer->bytes && sum.leaving_messages == sharer->leaving_messages &&
                   sum.leaving_bytes == sharer->leaving_bytes
               ? NULL
               : "a /64 is counted wrongly";
}

/* NULL, or what is wrong. */
static const char *check_shares(const struct shares *shares)
{
    uint32_t records = 0;
    uint32_t sharers = 0;

    for (uint32_t at = 0; at < shares->sharer_room; at++) {
        const struct sharer *sharer = &shares->sharers[at];
        if (sharer->tag == 0) {
            continue;
        }
        const char *wrong =
            sharer->is_wide ? check_sums(shares, at) : check_address(shares, at, &records);
        if (wrong != NULL) {
            return wrong;
        }
        if (!is_in_chain(shares, at) || sharer->messages == 0) {
            return "a sharer is not found, or has nothing";
        }
        sharers++;
    }
    if (records != shares->record_count || sharers != shares->sharer_count) {
        return "there are other records or sharers than are counted";
    }
    return NULL;
}

/* --- against a plain table -------------------------------------------------------------------- */

struct entry {
    uint32_t address; /* 0: not there */
    uint32_t bytes;
    uint64_t order;
    bool leaving;
};

static struct usage usage_in(const struct entry *table, uint32_t tag, bool is_wide)
{
    struct usage sum = {0};

    for (int i = 0; i < IDS; i++) {
        const struct entry *one = &table[i];
        const bool counts = one->address != 0 && !one->leaving &&
                            (is_wide ? sender_of(one->address).wide == tag : one->address == tag);
        sum.messages += counts ? 1 : 0;
        sum.bytes += counts ? one->bytes : 0;
    }
    return sum;
}

/* The oldest of an address that is not leaving; IDS: there is none. */
static uint32_t oldest_in(const struct entry *table, uint32_t address)
{
    uint32_t oldest = IDS;

    for (uint32_t i = 0; i < IDS; i++) {
        if (table[i].address == address && !table[i].leaving &&
            (oldest == IDS || table[i].order < table[oldest].order)) {
            oldest = i;
        }
    }
    return oldest;
}

static void check_all(const struct shares *shares, const struct entry *table)
{
    assert_null(check_shares(shares));
    assert_null(check_idmap(&shares->ids));
    for (uint32_t tag = 1; tag <= ADDRESSES; tag++) {
        for (int is_wide = 0; is_wide < 2; is_wide++) {
            const struct usage right = usage_in(table, tag, is_wide == 1);
            struct usage usage;
            shares_usage(shares, tag, is_wide == 1, &usage);
            assert_int_equal(usage.messages, right.messages);
            assert_int_equal(usage.bytes, right.bytes);
        }
    }
}

static void pick_one(struct shares *shares, struct entry *table, uint32_t address)
{
    const uint32_t right = oldest_in(table, address);
    uint8_t id[MESSAGE_ID_BYTES];
    uint32_t bytes = 0;

    assert_int_equal(shares_pick(shares, address, id, &bytes), right < IDS);
    if (right < IDS) {
        assert_int_equal(number_of(id), right);
        assert_int_equal(bytes, table[right].bytes);
        table[right].leaving = true;
    }
}

/* The address that loses one has the most of its /64, and loses its oldest. */
static void pick_wide(struct shares *shares, struct entry *table, uint32_t wide, bool by_bytes)
{
    uint8_t id[MESSAGE_ID_BYTES];
    uint32_t bytes = 0;
    uint64_t most = 0;

    for (uint32_t address = 2; address <= ADDRESSES; address += 2) {
        const struct usage has = usage_in(table, address, false);
        const uint64_t much = by_bytes ? has.bytes : has.messages;
        most = sender_of(address).wide == wide && much > most ? much : most;
    }
    assert_int_equal(shares_pick_wide(shares, wide, by_bytes, id, &bytes), most > 0);
    if (most == 0) {
        return;
    }
    const uint32_t number = number_of(id);
    const uint32_t address = table[number].address;
    const struct usage has = usage_in(table, address, false);
    assert_int_equal(sender_of(address).wide, wide);
    assert_int_equal(by_bytes ? has.bytes : has.messages, most);
    assert_int_equal(number, oldest_in(table, address));
    table[number].leaving = true;
}

static void take_step(struct shares *shares, struct entry *table, struct rng *rng, uint64_t order)
{
    const uint32_t number = rng_below(rng, IDS);
    const uint32_t address = rng_below(rng, ADDRESSES + 1); /* 0: nobody */
    uint8_t id[MESSAGE_ID_BYTES];

    make_id(number, id);
    switch (rng_below(rng, 6)) {
    case 0:
        take_out(shares, number);
        table[number] = (struct entry){0};
        break;
    case 1:
        pick_one(shares, table, 1 + rng_below(rng, ADDRESSES));
        break;
    case 2:
        pick_wide(shares, table, 1 + rng_below(rng, WIDES), rng_chance(rng, 50));
        break;
    case 3:
        shares_unpick(shares, id);
        table[number].leaving = false;
        break;
    default: {
        const uint32_t bytes = 1 + rng_below(rng, 500);
        const bool is_new = address != 0 && table[number].address == 0;
        assert_int_equal(add(shares, number, address, bytes), is_new);
        if (is_new) {
            table[number] = (struct entry){.address = address, .bytes = bytes, .order = order};
        }
    }
    }
}

/* Messages come and go, are picked and kept, in any order: all counts stay exact. */
TEST(counts_are_exact)
{
    static struct entry table[IDS];
    struct shares shares;
    struct rng rng;

    rng_init(&rng);
    memset(table, 0, sizeof(table));
    shares_init(&shares, alloc_system(), 7);
    for (uint64_t step = 1; step <= STEPS; step++) {
        take_step(&shares, table, &rng, step);
        if (step % 16 == 0) {
            check_all(&shares, table);
        }
    }
    for (uint32_t number = 0; number < IDS; number++) {
        take_out(&shares, number);
    }
    assert_int_equal(shares.record_count, 0);
    assert_int_equal(shares.sharer_count, 0);
    assert_null(check_shares(&shares));
    assert_null(check_idmap(&shares.ids));
    shares_deinit(&shares);
}

/* The number of an address and that of a /64 may be the same: they are told apart. */
TEST(equal_tags_are_told_apart)
{
    const struct sender_tags sender = {.address = 5, .wide = 5};
    uint8_t id[MESSAGE_ID_BYTES];
    struct shares shares;
    struct usage usage;
    uint32_t bytes = 0;
    bool added = false;

    shares_init(&shares, alloc_system(), 7);
    make_id(1, id);
    assert_int_equal(shares_add(&shares, id, &sender, 100, &added), 0);
    assert_true(added);
    for (int is_wide = 0; is_wide < 2; is_wide++) {
        shares_usage(&shares, 5, is_wide == 1, &usage);
        assert_int_equal(usage.bytes, 100);
    }
    assert_null(check_shares(&shares));
    assert_null(check_idmap(&shares.ids));
    assert_true(shares_pick_wide(&shares, 5, false, id, &bytes));
    assert_false(shares_pick(&shares, 5, id, &bytes));
    take_out(&shares, 1);
    assert_int_equal(shares.sharer_count, 0);
    shares_deinit(&shares);
}

TEST(memory_that_runs_out)
{
    struct fail_alloc alloc;
    struct shares shares;
    struct usage usage;

    fail_alloc_init(&alloc);
    shares_init(&shares, &alloc.alloc, 7);
    for (uint32_t number = 0; number < 100; number++) {
        const struct sender_tags sender = {.address = 1 + number, .wide = 7};
        uint8_t id[MESSAGE_ID_BYTES];
        int rc = -ERR_NOMEM;
        make_id(number, id);
        for (unsigned n = 1; rc != 0; n++) {
            bool added = false;
            fail_alloc_arm(&alloc, n);
            rc = shares_add(&shares, id, &sender, 10, &added);
            assert_true(rc == 0 ? added : rc == -ERR_NOMEM && !added);
            assert_null(check_shares(&shares));
            assert_null(check_idmap(&shares.ids));
            shares_usage(&shares, 7, true, &usage);
            assert_int_equal(usage.messages, number + (rc == 0 ? 1 : 0));
        }
    }
    shares_deinit(&shares);
    shares_deinit(&shares);
    assert_int_equal(alloc.live_blocks, 0);
}
