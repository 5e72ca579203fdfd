/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory an index takes for a message, and how much a rebuild takes besides. The seeds
 * are fixed, so that the figures are the same in each run. */
#include "core/index/index.h"

#include "core/filter/bloom.h"
#include "core/tree/engine.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/rng.h"

enum { COUNT = 60000, WORDS = 8, PLACES = 2000, LABELS = 16, TOPICS = 1000 };

static const struct profile profile = {
    .bits = 512,
    .section_count = 3,
    .sections = {{.bits = 362, .hashes = 2},
                 {.first_bit = 362, .bits = 53, .hashes = 8},
                 {.first_bit = 415, .bits = 97, .hashes = 4}},
};

/* Numbers of bytes, for each message. */
struct taken {
    double before;
    double most; /* while the index is rebuilt */
    double after;
};

static void set_label(uint32_t section, uint32_t label, uint64_t *filter)
{
    struct rng bits = {.state = 1000003u * section + label};

    for (uint32_t i = 0; i < profile.sections[section].hashes; i++) {
        bloom_set(filter, profile.sections[section].first_bit +
                              rng_below(&bits, profile.sections[section].bits));
    }
}

typedef void make_filter(struct rng *rng, uint64_t *out);

/* A scan at a place. */
static void make_scan(struct rng *rng, uint64_t *out)
{
    uint32_t place = rng_below(rng, PLACES);

    for (uint32_t label = 0; label < LABELS; label++) {
        if (rng_chance(rng, 80)) {
            set_label(0, place * LABELS + label, out);
        }
    }
}

/* A poster of the one place there is; three of ten have a topic. */
static void make_poster(struct rng *rng, uint64_t *out)
{
    set_label(1, 0, out);
    if (rng_chance(rng, 30)) {
        set_label(2, rng_below(rng, TOPICS), out);
    }
}

static struct taken measure(make_filter *make)
{
    struct fail_alloc alloc;
    struct index_options options = {
        .alloc = &alloc.alloc,
        .profile = &profile,
        .kernels = bits_select(BITS_BEST),
        .hash_seed = 1,
    };
    struct rng rng = {.state = 1};
    struct renewal *renewal;
    struct index *index;
    struct taken taken;
    int rc;

    fail_alloc_init(&alloc);
    assert_int_equal(index_new(&tree_engine, &options, &index), 0);
    assert_int_equal(index_expect(index, COUNT), 0); /* as a start does */
    for (uint32_t i = 0; i < COUNT; i++) {
        struct index_item item = {.deposited_ms = i, .expires_ms = INT64_MAX};
        uint64_t filter[WORDS] = {0};
        uint32_t spread = (i + 1) * 2654435761u;

        memcpy(item.id, &spread, sizeof spread);
        make(&rng, filter);
        assert_int_equal(index_insert(index, &item, filter), 0);
    }
    taken.before = (double)alloc.live_bytes / COUNT;
    alloc.most_bytes = 0;
    assert_int_equal(renewal_begin(index, &renewal), 0);
    do {
        rc = renewal_copy(renewal);
        if (rc == RENEWAL_FULL) {
            assert_int_equal(renewal_take(renewal, NULL), 0);
        }
    } while (rc == RENEWAL_MORE || rc == RENEWAL_FULL);
    assert_int_equal(rc, 0);
    assert_int_equal(renewal_arrange(renewal, NULL), 0);
    assert_int_equal(renewal_follow(renewal, 1), 0);
    renewal_free(renewal);
    taken.most = (double)alloc.most_bytes / COUNT;
    taken.after = (double)alloc.live_bytes / COUNT;
    index_free(index);
    printf("bytes a message: %.1f, at most %.1f, %.1f in the end\n", taken.before, taken.most,
           taken.after);
    return taken;
}

TEST(test_scans)
{
    struct taken taken = measure(make_scan);
    assert_true(taken.after <= 150);
    assert_true(taken.most <= 325);
}

TEST(test_posters)
{
    struct taken taken = measure(make_poster);
    assert_true(taken.after <= 92);
    assert_true(taken.most <= 208);
}
