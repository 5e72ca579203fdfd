/* SPDX-License-Identifier: Apache-2.0 */
/* The answers of a host in memory, beside a plain list of the same answers. */
#include "daemon/host/answers.h"

#include "tests/lib/check.h"

#include "core/base/err.h"
#include "tests/lib/fail_alloc.h"
#include "tests/lib/rng.h"

enum { IDS = 64, PARENTS = 8, STEPS = 4000 };

struct listed {
    bool is_there;
    struct answer answer;
};

static struct answer make(uint8_t id, uint8_t parent, int64_t deposited_ms)
{
    struct answer answer = {.is_shown = true};

    answer.item.id[0] = id;
    answer.item.deposited_ms = deposited_ms;
    answer.item.expires_ms = deposited_ms + 100;
    answer.parent[15] = parent;
    return answer;
}

/* The answers to a message are those of the list, the oldest first, and are counted rightly. */
static void check_parent(const struct answers *answers, const struct listed *list, uint8_t parent,
                         int64_t now_ms)
{
    const uint8_t id[MESSAGE_ID_BYTES] = {[15] = parent};
    const struct answered *answered = answers_of(answers, id);
    const struct answer *answer = answered != NULL ? answered->first : NULL;
    uint32_t count = 0;
    uint32_t seen = 0;
    uint32_t shown = 0;

    for (unsigned i = 0; i < IDS; i++) {
        const struct answer *one = &list[i].answer;
        bool is_of = list[i].is_there && one->parent[15] == parent;

        count += is_of;
        shown += is_of && one->is_shown && one->item.expires_ms > now_ms;
    }
    for (; answer != NULL; answer = answer->next) {
        assert_true(list[answer->item.id[0]].is_there);
        assert_int_equal(answer->parent[15], parent);
        assert_true(answer->next == NULL ||
                    answer->item.deposited_ms <= answer->next->item.deposited_ms);
        seen++;
    }
    assert_int_equal(seen, count);
    assert_int_equal(answered != NULL ? answered->count : 0, count);
    assert_int_equal(answers_count(answers, id, now_ms), shown);
}

TEST(test_beside_a_list)
{
    static struct listed list[IDS];
    struct rng rng;
    struct answers answers;

    rng_init(&rng);
    memset(list, 0, sizeof(list));
    answers_init(&answers, alloc_system(), rng_next(&rng));
    for (int64_t now_ms = 1; now_ms <= STEPS; now_ms++) {
        uint8_t id = (uint8_t)rng_below(&rng, IDS);
        struct answer answer =
            make(id, (uint8_t)rng_below(&rng, PARENTS), now_ms - (int64_t)rng_below(&rng, 3));
        struct index_item item;

        if (rng_chance(&rng, 60) && !list[id].is_there) {
            answer.is_shown = rng_chance(&rng, 80);
            assert_int_equal(answers_put(&answers, &answer), 0);
            list[id] = (struct listed){true, answer};
        } else if (rng_chance(&rng, 20) && list[id].is_there) {
            answer.is_shown = !list[id].answer.is_shown; /* all else stays */
            assert_int_equal(answers_put(&answers, &answer), 0);
            list[id].answer.is_shown = answer.is_shown;
        } else {
            assert_int_equal(answers_remove(&answers, answer.item.id, &item), list[id].is_there);
            assert_true(!list[id].is_there ||
                        item.deposited_ms == list[id].answer.item.deposited_ms);
            list[id].is_there = false;
        }
        assert_int_equal(answers_find(&answers, answer.item.id) != NULL, list[id].is_there);
        check_parent(&answers, list, (uint8_t)rng_below(&rng, PARENTS), now_ms);
    }
    answers_deinit(&answers);
}

/* Times move with the host's clock. */
TEST(test_shift)
{
    const struct answer old = make(1, 1, 10);
    const struct answer recent = make(2, 1, 20);
    struct answers answers;

    answers_init(&answers, alloc_system(), 1);
    assert_int_equal(answers_put(&answers, &recent), 0);
    assert_int_equal(answers_put(&answers, &old), 0);
    answers_shift(&answers, 20, 1000);
    assert_int_equal(answers_find(&answers, old.item.id)->item.expires_ms, 110);
    assert_int_equal(answers_find(&answers, recent.item.id)->item.expires_ms, 1120);
    assert_int_equal(answers_count(&answers, old.parent, 500), 1);
    answers_deinit(&answers);
}

/* Without memory nothing is added, and nothing is lost. */
TEST(test_no_memory)
{
    struct fail_alloc alloc;
    struct answers answers;

    fail_alloc_init(&alloc);
    answers_init(&answers, &alloc.alloc, 1);
    for (uint8_t i = 0; i < 40; i++) {
        const struct answer answer = make(i, i % 3, i);
        int rc = -ERR_NOMEM;

        for (size_t n = 1; rc != 0; n++) {
            fail_alloc_arm(&alloc, n);
            rc = answers_put(&answers, &answer);
            assert_true(rc == 0 || rc == -ERR_NOMEM);
            assert_int_equal(answers_find(&answers, answer.item.id) != NULL, rc == 0);
            assert_int_equal(answers.count, rc == 0 ? i + 1 : i);
        }
    }
    answers_deinit(&answers);
    assert_int_equal(alloc.live_blocks, 0);
}
