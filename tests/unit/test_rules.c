/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules over midnight, and bans against messages. */
#include "daemon/host/rules.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"

#include <sodium.h>

#include "core/base/err.h"

TEST(test_schedule_texts)
{
    static const char *const good[] = {"22:00-06:00 closed", "00:00-23:59 open",
                                       "09:05-09:06 review"};
    static const char *const bad[] = {"",
                                      "22:00",
                                      "22:00-06:00",
                                      "22:00-06:00 ",
                                      "22:00-06:00 shut",
                                      "22:00-06:00closed",
                                      "24:00-06:00 closed",
                                      "22:60-06:00 closed",
                                      "2:00-06:00 closed",
                                      "22:00-6:00 closed",
                                      "22.00-06:00 closed",
                                      "22:00 06:00 closed",
                                      "22:00-06:00 closed x",
                                      "06:00-06:00 closed"};
    struct schedule_entry entry;
    char text[SCHEDULE_BYTES];

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(schedule_parse(good[i], &entry), 0);
        schedule_print(&entry, text);
        assert_string_equal(text, good[i]);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(schedule_parse(bad[i], &entry), SCHEDULE_REFUSED);
    }
}

/* Every minute of the day against a table; the first entry that covers it counts. */
TEST(test_schedule_minutes)
{
    const struct schedule_entry entries[] = {
        {.from = 22 * 60, .to = 6 * 60, .mode = ACCEPT_CLOSED},
        {.from = 5 * 60, .to = 7 * 60, .mode = ACCEPT_REVIEW},
    };

    for (uint32_t minute = 0; minute < DAY_MINUTES; minute++) {
        uint32_t left = 0;
        const struct schedule_entry *found = schedule_find(entries, 2, minute, &left);
        if (minute >= 22 * 60 || minute < 6 * 60) {
            assert_ptr_equal(found, &entries[0]);
            assert_int_equal((minute + left) % DAY_MINUTES, 6 * 60);
        } else if (minute < 7 * 60) {
            assert_ptr_equal(found, &entries[1]);
            assert_int_equal(minute + left, 7 * 60);
        } else {
            assert_null(found);
        }
    }
}

/* Where no entry holds, the next one with another mode is known. */
TEST(test_schedule_next)
{
    const struct schedule_entry entries[] = {
        {.from = 20 * 60, .to = 22 * 60, .mode = ACCEPT_REVIEW},
        {.from = 7 * 60, .to = 8 * 60, .mode = ACCEPT_CLOSED},
        {.from = 9 * 60, .to = 18 * 60, .mode = ACCEPT_OPEN},
    };

    assert_int_equal(schedule_next(entries, 3, 6 * 60, ACCEPT_CLOSED), 3 * 60);
    assert_int_equal(schedule_next(entries, 3, 6 * 60, ACCEPT_OPEN), 60);
    assert_int_equal(schedule_next(entries, 3, 19 * 60 + 59, ACCEPT_CLOSED), 1);
    assert_int_equal(schedule_next(entries, 3, 23 * 60, ACCEPT_CLOSED), 10 * 60);
    assert_int_equal(schedule_next(entries, 1, 23 * 60, ACCEPT_REVIEW), 0);
    assert_int_equal(schedule_next(entries, 0, 0, ACCEPT_OPEN), 0);
}

/* --- bans ------------------------------------------------------------------------------------- */

static struct persist_rule ban_of(enum persist_rule_kind kind, const uint8_t *value, size_t bytes,
                                  uint32_t number)
{
    return (struct persist_rule){
        .host = 1, .kind = kind, .value = value, .value_bytes = bytes, .number = number};
}

static const struct ban *look(const struct rules *rules, const uint8_t *filter, const char *payload)
{
    return rules_find_ban(rules, filter, 8, (const uint8_t *)payload, strlen(payload));
}

TEST(test_bans)
{
    const uint8_t a[8] = {0x0f};
    const uint8_t near[8] = {0x1f}; /* distance 1/5 */
    const uint8_t far[8] = {0xf0};
    const uint8_t none[8] = {0};
    uint8_t hash[LIMIT_HASH_BYTES];
    struct rules rules;

    rules_init(&rules, alloc_system());
    assert_null(look(&rules, a, "spam"));
    (void)crypto_generichash(hash, sizeof(hash), (const uint8_t *)"spam", 4, NULL, 0);
    struct persist_rule payload = ban_of(PERSIST_BAN_PAYLOAD, hash, sizeof(hash), 0);
    assert_int_equal(rules_put(&rules, &payload), 0);
    assert_int_equal(look(&rules, a, "spam")->kind, PERSIST_BAN_PAYLOAD);
    assert_null(look(&rules, a, "spam!"));

    struct persist_rule filter = ban_of(PERSIST_BAN_FILTER, a, sizeof(a), 0);
    assert_int_equal(rules_put(&rules, &filter), 0);
    assert_non_null(look(&rules, a, "x"));
    assert_null(look(&rules, near, "x"));
    filter.number = 199999;
    assert_int_equal(rules_put(&rules, &filter), 0);
    assert_int_equal(rules.ban_count, 2); /* in its place */
    assert_null(look(&rules, near, "x"));
    filter.number = 200000;
    assert_int_equal(rules_put(&rules, &filter), 0);
    assert_non_null(look(&rules, near, "x"));
    assert_null(look(&rules, far, "x"));
    assert_null(look(&rules, none, "x"));

    struct persist_rule empty = ban_of(PERSIST_BAN_FILTER, none, sizeof(none), 0);
    assert_int_equal(rules_put(&rules, &empty), 0);
    assert_null(look(&rules, none, "x")); /* or no answer could be left any more */
    rules_drop(&rules, &empty);

    rules_drop(&rules, &payload);
    assert_null(look(&rules, far, "spam"));
    assert_int_equal(rules.payload_count, 0);
    rules_drop(&rules, &payload); /* not there any more */
    rules_drop(&rules, &filter);
    assert_null(look(&rules, a, "spam"));
    rules_deinit(&rules);
}

/* There is a cap; what is there already has its place. */
TEST(test_cap)
{
    uint8_t value[LIMIT_HASH_BYTES] = {0};
    struct rules rules;

    rules_init(&rules, alloc_system());
    for (uint32_t i = 0; i < LIMIT_BANS; i++) {
        memcpy(value, &i, sizeof(i));
        const struct persist_rule rule = ban_of(PERSIST_BAN_PAYLOAD, value, sizeof(value), 0);
        assert_true(rules_have_room(&rules, &rule));
        assert_int_equal(rules_put(&rules, &rule), 0);
    }
    const struct persist_rule there = ban_of(PERSIST_BAN_PAYLOAD, value, sizeof(value), 0);
    assert_true(rules_have_room(&rules, &there));
    const struct persist_rule more = ban_of(PERSIST_BAN_FILTER, value, sizeof(value), 0);
    assert_false(rules_have_room(&rules, &more));
    const struct persist_rule accept = ban_of(PERSIST_ACCEPT, value, 0, ACCEPT_CLOSED);
    assert_true(rules_have_room(&rules, &accept));
    assert_int_equal(rules_put(&rules, &accept), 0);
    assert_true(rules.has_accept && rules.accept == ACCEPT_CLOSED);
    rules_drop(&rules, &accept);
    assert_false(rules.has_accept);
    rules_deinit(&rules);
}

static struct persist_rule notice_of(const char *text, int64_t created_ms, int64_t until_ms)
{
    return (struct persist_rule){.kind = PERSIST_NOTICE,
                                 .value = (const uint8_t *)text,
                                 .value_bytes = 6,
                                 .created_ms = created_ms,
                                 .until_ms = until_ms};
}

static void put_notice(struct rules *rules, struct persist_rule rule)
{
    rule.number = rules_take_number(rules, &rule);
    assert_int_not_equal(rule.number, 0);
    assert_int_equal(rules_put(rules, &rule), 0);
    rules_give_number(rules, rule.number);
}

/* Oldest first, also when they are loaded in another order; the smallest free number; five. */
TEST(test_notices)
{
    static const char *const texts[] = {"de\0one", "de\0two", "de\0thr", "de\0fou", "de\0fiv"};
    struct rules rules;

    rules_init(&rules, alloc_system());
    for (int i = 0; i < LIMIT_NOTICES; i++) {
        put_notice(&rules, notice_of(texts[i], 10 - i, i == 1 ? 50 : 0));
        assert_true(rules.has_news);
    }
    for (int i = 0; i < LIMIT_NOTICES; i++) {
        assert_int_equal(rules.notices[i]->number, LIMIT_NOTICES - i);
    }
    struct persist_rule sixth = notice_of("de\0six", 20, 0);
    assert_false(rules_have_room(&rules, &sixth));
    struct persist_rule again = notice_of(texts[3], 20, 0);
    assert_true(rules_have_room(&rules, &again));
    put_notice(&rules, again);
    assert_int_equal(rules.notice_count, LIMIT_NOTICES);
    assert_int_equal(rules.notices[4]->number, 4); /* the newest now, with its number */

    assert_true(rules_move(&rules, 9));
    assert_false(rules_move(&rules, 10));
    rules_shift(&rules, 9, 100);
    rules.has_news = false;
    rules_end_notices(&rules, 149);
    assert_false(rules.has_news);
    rules_end_notices(&rules, 150);
    assert_true(rules.has_news);
    assert_null(rules_notice(&rules, 2));
    put_notice(&rules, sixth);
    assert_memory_equal(rules_notice(&rules, 2)->value, "de\0six", 7);
    rules_drop(&rules, &sixth);
    rules_drop(&rules, &sixth); /* not there any more */
    assert_int_equal(rules.notice_count, LIMIT_NOTICES - 1);
    rules_deinit(&rules);
}

/* A file may have more notices than five, and a number twice: the memory takes five. */
TEST(test_too_many_notices)
{
    static const char *const texts[] = {"de\0one", "de\0two", "de\0thr", "de\0fou", "de\0fiv"};
    const struct persist_rule sixth = notice_of("de\0six", 20, 0);
    struct rules rules;

    rules_init(&rules, alloc_system());
    for (uint32_t i = 0; i < LIMIT_NOTICES; i++) {
        struct persist_rule rule = notice_of(texts[i], 10, 0);
        rule.number = i < 2 ? 1 : i;
        assert_true(rules_have_room(&rules, &rule));
        assert_int_equal(rules_put(&rules, &rule), 0);
    }
    assert_false(rules_have_room(&rules, &sixth)); /* number 5 is free */
    rules_deinit(&rules);
}

/* A number that waits for the store is nobody else's, and one that is wished for is had if it is
 * free. */
TEST(test_waiting_numbers)
{
    struct persist_rule rule = notice_of("de\0one", 10, 0);
    const struct persist_rule second = notice_of("de\0two", 10, 0);
    struct rules rules;

    rules_init(&rules, alloc_system());
    rule.number = 3;
    assert_int_equal(rules_take_number(&rules, &rule), 3);
    assert_int_equal(rules_put(&rules, &rule), 0);
    assert_int_equal(rules_take_number(&rules, &rule), 3); /* its own */
    rules_give_number(&rules, 3);
    rules_drop(&rules, &rule);
    const uint32_t free_ones[] = {1, 2, 4, 5, 0};
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(rules_take_number(&rules, &second), free_ones[i]);
    }
    rules_give_number(&rules, 0);
    rules_give_number(&rules, 3);
    assert_int_equal(rules_take_number(&rules, &second), 3);
    rules_deinit(&rules);
}

TEST(test_without_memory)
{
    const uint8_t value[LIMIT_HASH_BYTES] = {0};
    const struct persist_rule rule = ban_of(PERSIST_BAN_PAYLOAD, value, sizeof(value), 0);
    struct fail_alloc alloc;
    struct rules rules;

    fail_alloc_init(&alloc);
    rules_init(&rules, &alloc.alloc);
    fail_alloc_arm(&alloc, 1);
    assert_int_equal(rules_put(&rules, &rule), -ERR_NOMEM);
    assert_int_equal(rules.ban_count, 0);
    assert_int_equal(rules.payload_count, 0);
    assert_int_equal(rules_put(&rules, &rule), 0);
    rules_deinit(&rules);
    assert_int_equal(alloc.live_bytes, 0);
}
