/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of messages besides, and who has reported what. */
#include "daemon/host/moderation.h"
#include "daemon/host/service.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/rng.h"

#include "core/base/err.h"

enum { IDS = 300, STEPS = 20000 };

static struct moderated make(uint32_t number, enum persist_state state)
{
    struct moderated made = {
        .state = state, .reports = number, .bytes = number * 3, .texts_bytes = number % 7};

    memcpy(made.id, &number, sizeof(number));
    return made;
}

/* Random puts and removals against a plain table. */
TEST(test_against_a_table)
{
    static struct moderated table[IDS];
    static bool there[IDS];
    struct moderation moderation;
    struct rng rng;
    struct moderation_counts counts;
    struct moderation_counts expected = {0};

    rng_init(&rng);
    moderation_init(&moderation, alloc_system(), 7);
    for (int step = 0; step < STEPS; step++) {
        const uint32_t number = rng_below(&rng, IDS);
        struct moderated one = make(number, (enum persist_state)rng_below(&rng, 4));
        struct moderated out;
        if (rng_chance(&rng, 60)) {
            assert_int_equal(moderation_put(&moderation, &one), 0);
            table[number] = one;
            there[number] = true;
        } else {
            assert_int_equal(moderation_remove(&moderation, one.id, &out), there[number]);
            if (there[number]) {
                assert_memory_equal(&out, &table[number], sizeof(out));
            }
            there[number] = false;
        }
        struct moderated *changed = moderation_find(&moderation, one.id);
        if (changed != NULL) {
            moderation_set_texts(&moderation, changed, rng_below(&rng, 1000));
            table[number] = *changed;
        }
        const uint32_t other = rng_below(&rng, IDS);
        const struct moderated key = make(other, PERSIST_SHOWN);
        const struct moderated *found = moderation_find(&moderation, key.id);
        assert_int_equal(found != NULL, there[other]);
        assert_int_equal(moderation_hides(&moderation, key.id),
                         there[other] && table[other].state >= PERSIST_HIDDEN);
    }
    uint64_t texts_bytes = 0;
    for (uint32_t i = 0; i < IDS; i++) {
        texts_bytes += there[i] ? table[i].texts_bytes : 0;
        expected.hidden += there[i] && table[i].state >= PERSIST_HIDDEN;
        expected.pending += there[i] && table[i].state == PERSIST_PENDING;
        expected.reported += there[i] && table[i].state != PERSIST_PENDING &&
                             moderation_is_open(&table[i], INT64_MIN);
    }
    moderation_count(&moderation, &counts);
    assert_int_equal(counts.hidden, expected.hidden);
    assert_int_equal(counts.pending, expected.pending);
    assert_int_equal(counts.reported, expected.reported);
    assert_int_equal(moderation.texts_bytes, texts_bytes);
    moderation_deinit(&moderation);
}

/* Without memory nothing changes, and nothing is lost. */
TEST(test_without_memory)
{
    const struct moderated one = make(1, PERSIST_HIDDEN);
    struct moderation moderation;
    struct fail_alloc alloc;

    for (size_t n = 1;; n++) {
        fail_alloc_init(&alloc);
        moderation_init(&moderation, &alloc.alloc, 7);
        fail_alloc_arm(&alloc, n);
        const int rc = moderation_put(&moderation, &one);
        fail_alloc_arm(&alloc, 0);
        if (rc == 0) {
            moderation_deinit(&moderation);
            assert_true(n > 1);
            break;
        }
        assert_int_equal(rc, -ERR_NOMEM);
        assert_null(moderation_find(&moderation, one.id));
        assert_int_equal(moderation_put(&moderation, &one), 0);
        assert_true(moderation_hides(&moderation, one.id));
        moderation_deinit(&moderation);
        assert_int_equal(alloc.live_bytes, 0);
    }
}

/* --- reports ---------------------------------------------------------------------------------- */

static bool note(struct reports *reports, uint32_t id, uint32_t sender)
{
    uint8_t bytes[MESSAGE_ID_BYTES] = {0};

    memcpy(bytes, &id, sizeof(id));
    return reports_note(reports, 1, bytes, sender);
}

/* Each sender counts once for a message, until some thousand others have come. */
TEST(test_reports)
{
    struct reports *reports = malloc(sizeof(*reports));
    const uint8_t id[MESSAGE_ID_BYTES] = {0};

    assert_non_null(reports);
    reports_init(reports);
    assert_true(note(reports, 0, 1));
    assert_false(note(reports, 0, 1));
    assert_true(note(reports, 0, 2));
    assert_true(note(reports, 5, 1));
    assert_true(reports_note(reports, 2, id, 1)); /* another host's */
    reports_forget(reports, 1, id, 1);
    assert_true(note(reports, 0, 1));
    assert_false(note(reports, 0, 1));
    for (uint32_t i = 100; i < 100 + REPORTS_KEPT; i++) {
        assert_true(note(reports, i, 1));
        assert_false(note(reports, i, 1));
    }
    assert_false(note(reports, 100, 1)); /* of the older generation, and known still */
    for (uint32_t i = 100000; i < 100000 + 2 * REPORTS_KEPT; i++) {
        assert_true(note(reports, i, 1));
    }
    assert_true(note(reports, 0, 1)); /* forgotten */
    free(reports);
}
