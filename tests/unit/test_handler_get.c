/* SPDX-License-Identifier: Apache-2.0 */
/* Get, from storage and from the cache; and what fails, of Get and of Export alike. */
#include "tests/lib/check.h"

#include "tests/unit/read_fixture.h"

static int setup(void **state)
{
    *state = read_fixture_new("64K", "0");
    return 0;
}

static int setup_cached(void **state)
{
    *state = read_fixture_new("64K", "1M");
    return 0;
}

static int teardown(void **state)
{
    read_fixture_free(*state);
    return 0;
}

static void expect_got(const struct read_fixture *fixture, uint32_t number, const char *text)
{
    const struct hearsay_got *got = &fixture->answer.got;

    assert_int_equal(fixture->answer.kind, HEARSAY_RESPONSE_GOT);
    assert_int_equal(fixture->answer.id, 500 + number);
    assert_int_equal(read_fixture_number(&got->id), number);
    assert_int_equal(got->media_type.length, 10);
    assert_memory_equal(got->media_type.text, "text/plain", 10);
    assert_non_null(got->payload.data);
    assert_int_equal(got->payload.count, strlen(text));
    assert_memory_equal(got->payload.data, text, strlen(text));
}

/* --- Get -------------------------------------------------------------------------------------- */

/* The answer comes when the storage has been read, whole, and memory is charged until then. */
TEST_OF(get_answers_what_was_deposited, struct read_fixture *fixture, setup, teardown)
{
    const struct requester *client = &fixture->client->client;
    const int64_t deposited_ms = fixture->clock.wall_ms;

    read_fixture_deposit(fixture, 1, "one", 100);
    read_fixture_deposit(fixture, 2, "", 100); /* an empty payload is one, too */
    read_fixture_advance(fixture, 5000);
    const size_t before = fixture->answers;
    read_fixture_send_get(fixture, "a", 1);
    assert_int_equal(fixture->answers, before);
    assert_int_equal(client->work_count, 1);
    assert_int_equal(client->answer_bytes, fixture->config.limits.frame_bytes);
    assert_true(client->work_bytes > client->answer_bytes);
    assert_int_equal(fixture->service->working, 1);

    assert_int_equal(fake_persist_answer_reads(fixture->persist), 1);
    assert_int_equal(fixture->answers, before + 1);
    expect_got(fixture, 1, "one");
    assert_true(fixture->answer.got.deposited_ms == deposited_ms);
    assert_true(fixture->answer.got.expires_ms == deposited_ms + 100 * 1000);
    read_fixture_send_get(fixture, NULL, 2); /* no host named: the first */
    fake_persist_answer_reads(fixture->persist);
    expect_got(fixture, 2, "");
}

/* Several under way at a time: each has its own answer, in the order of asking. */
TEST_OF(gets_under_way_do_not_mix, struct read_fixture *fixture, setup, teardown)
{
    char text[16];

    for (uint32_t i = 1; i <= 5; i++) {
        snprintf(text, sizeof(text), "text %u", (unsigned)i);
        read_fixture_deposit(fixture, i, text, 100);
    }
    for (uint32_t i = 5; i >= 1; i--) {
        read_fixture_send_get(fixture, NULL, i);
        assert_int_equal(fixture->client->client.work_count, 6 - i);
    }
    read_fixture_send_get(fixture, NULL, 2); /* twice is fine */
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 6);
    assert_string_equal(fixture->got_ids, "505:text 5 504:text 4 503:text 3 502:text 2 "
                                          "501:text 1 502:text 2 ");
}

/* Unknown, of another host, withdrawn, expired to the millisecond: nothing is read for them. */
TEST_OF(get_of_what_is_not_there, struct read_fixture *fixture, setup, teardown)
{
    read_fixture_deposit(fixture, 1, "withdrawn", 100);
    read_fixture_deposit(fixture, 2, "expires", 100);
    read_fixture_deposit_bytes(fixture, "b", 3, "b's", 3, 100);
    read_fixture_withdraw(fixture, 1);
    read_fixture_send_get(fixture, NULL, 1);
    read_fixture_expect_error(fixture, 501, HEARSAY_CODE_NOT_FOUND, "id");
    read_fixture_send_get(fixture, NULL, 77);
    read_fixture_expect_error(fixture, 577, HEARSAY_CODE_NOT_FOUND, "id");
    read_fixture_send_get(fixture, "a", 3);
    read_fixture_expect_error(fixture, 503, HEARSAY_CODE_NOT_FOUND, "id");
    read_fixture_send_get(fixture, "c", 3);
    read_fixture_expect_error(fixture, 503, HEARSAY_CODE_UNKNOWN_HOST, "host");

    read_fixture_advance(fixture, 100 * 1000 - 1);
    read_fixture_send_get(fixture, NULL, 2);
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 1);
    expect_got(fixture, 2, "expires");
    read_fixture_advance(fixture, 1);
    read_fixture_send_get(fixture, NULL, 2); /* it is not swept yet */
    read_fixture_expect_error(fixture, 502, HEARSAY_CODE_NOT_FOUND, "id");
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 0);
}

/* A message that was withdrawn before the storage was read is not there; just after, it was. */
TEST_OF(get_of_what_goes_meanwhile, struct read_fixture *fixture, setup, teardown)
{
    read_fixture_deposit(fixture, 1, "one", 100);
    read_fixture_deposit(fixture, 2, "two", 100);
    read_fixture_send_get(fixture, NULL, 1);
    read_fixture_withdraw(fixture, 1);
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 1);
    read_fixture_expect_error(fixture, 501, HEARSAY_CODE_NOT_FOUND, "id");

    read_fixture_send_get(fixture, NULL, 2);
    fake_persist_carry_out_reads(fixture->persist);
    read_fixture_withdraw(fixture, 2);
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 1);
    expect_got(fixture, 2, "two");
    read_fixture_send_get(fixture, NULL, 2);
    read_fixture_expect_error(fixture, 502, HEARSAY_CODE_NOT_FOUND, "id");
}

/* With the cache, an answer comes at once; what was withdrawn or expired is not answered from it.
 */
TEST_OF(get_from_cache, struct read_fixture *fixture, setup_cached, teardown)
{
    read_fixture_deposit(fixture, 1, "one", 100);
    read_fixture_deposit(fixture, 2, "two", 100);
    read_fixture_send_get(fixture, NULL, 1);
    expect_got(fixture, 1, "one");
    assert_true(fixture->answer.got.expires_ms == fixture->clock.wall_ms + 100 * 1000);
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 0);
    read_fixture_withdraw(fixture, 1);
    read_fixture_send_get(fixture, NULL, 1);
    read_fixture_expect_error(fixture, 501, HEARSAY_CODE_NOT_FOUND, "id");
    read_fixture_advance(fixture, 100 * 1000);
    read_fixture_send_get(fixture, NULL, 2);
    read_fixture_expect_error(fixture, 502, HEARSAY_CODE_NOT_FOUND, "id");
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 0);
}

/* What had to be read once is at hand the next time. */
TEST_OF(get_fills_the_cache, struct read_fixture *fixture, setup_cached, teardown)
{
    read_fixture_deposit(fixture, 1, "one", 100);
    cache_set_limit(fixture->service->cache, 0); /* forgets it */
    cache_set_limit(fixture->service->cache, 1024 * 1024);
    read_fixture_send_get(fixture, NULL, 1);
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 1);
    expect_got(fixture, 1, "one");
    const size_t before = fixture->answers;
    read_fixture_send_get(fixture, NULL, 1);
    assert_int_equal(fixture->answers, before + 1);
    expect_got(fixture, 1, "one");
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 0);
}

/*
 * An id whose message has expired may be deposited anew while the old one is being read. The answer
 * is one message, not parts of two; and what was read does not push the new one out of the cache.
 */
TEST_OF(get_of_what_comes_anew, struct read_fixture *fixture, setup_cached, teardown)
{
    read_fixture_deposit(fixture, 1, "old", 1);
    cache_set_limit(fixture->service->cache, 0); /* forgets it */
    cache_set_limit(fixture->service->cache, 1024 * 1024);
    const int64_t old_expires_ms = fixture->clock.wall_ms + 1000;
    read_fixture_send_get(fixture, NULL, 1);
    fake_persist_carry_out_reads(fixture->persist);
    read_fixture_advance(fixture, 1000);
    read_fixture_deposit(fixture, 1, "new", 100);
    const int64_t new_expires_ms = fixture->clock.wall_ms + 100 * 1000;
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 1);
    expect_got(fixture, 1, "old");
    assert_true(fixture->answer.got.expires_ms == old_expires_ms);
    read_fixture_send_get(fixture, NULL, 1);
    expect_got(fixture, 1, "new");
    assert_true(fixture->answer.got.expires_ms == new_expires_ms);

    cache_set_limit(fixture->service->cache, 0);
    cache_set_limit(fixture->service->cache, 1024 * 1024);
    read_fixture_send_get(fixture, NULL, 1);
    read_fixture_advance(fixture, 100 * 1000);
    read_fixture_deposit(fixture, 1, "newest", 100);
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 1);
    expect_got(fixture, 1, "newest");
    assert_true(fixture->answer.got.expires_ms == fixture->clock.wall_ms + 100 * 1000);
}

/* --- what fails ------------------------------------------------------------------------------- */

/* Storage that cannot be read is an error of this request only. */
TEST_OF(failed_read_gives_storage, struct read_fixture *fixture, setup, teardown)
{
    read_fixture_deposit(fixture, 1, "one", 100);
    fixture->client->client.is_administrator = true;
    read_fixture_send_get(fixture, NULL, 1);
    fake_persist_fail_reads(fixture->persist);
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 1);
    read_fixture_expect_error(fixture, 501, HEARSAY_CODE_STORAGE, "");
    read_fixture_send_export(fixture, NULL, NULL, 0, 0);
    fake_persist_fail_reads(fixture->persist);
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 1);
    read_fixture_expect_error(fixture, 700, HEARSAY_CODE_STORAGE, "");

    read_fixture_send_get(fixture, NULL, 1);
    fake_persist_answer_reads(fixture->persist);
    expect_got(fixture, 1, "one");
    read_fixture_export_page(fixture, NULL, 0);
    read_fixture_expect_page(fixture, 1, (const uint32_t[]){1});
}

/* Memory that is out at any step of either request is an error, and the next one works. */
TEST_OF(memory_out_is_answered, struct read_fixture *fixture, setup, teardown)
{
    size_t failed = 0;

    read_fixture_deposit(fixture, 1, "one", 100);
    fixture->client->client.is_administrator = true;
    fail_alloc_arm(&fixture->alloc, 1);
    read_fixture_send_get(fixture, NULL, 1);
    read_fixture_expect_error(fixture, 501, HEARSAY_CODE_INTERNAL, "");
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 0);

    for (size_t n = 1; fixture->answer.kind == HEARSAY_RESPONSE_ERROR; n++) {
        fail_alloc_arm(&fixture->alloc, n);
        read_fixture_send_export(fixture, NULL, NULL, 0, 0);
        fake_persist_answer_reads(fixture->persist);
        if (fixture->answer.kind == HEARSAY_RESPONSE_ERROR) {
            read_fixture_expect_error(fixture, 700, HEARSAY_CODE_INTERNAL, "");
            failed++;
        }
        assert_int_equal(fixture->client->client.work_count, 0);
    }
    assert_int_equal(failed, 2); /* the job, and the list of the answer */
    read_fixture_expect_page(fixture, 1, (const uint32_t[]){1});
    fail_alloc_arm(&fixture->alloc, 0);
}

/* A client that goes while its reads are under way is kept for them, and no longer. */
TEST_OF(client_goes_during_reads, struct read_fixture *fixture, setup, teardown)
{
    read_fixture_deposit(fixture, 1, "one", 100);
    fixture->client->client.is_administrator = true;
    read_fixture_send_get(fixture, NULL, 1);
    read_fixture_send_export(fixture, NULL, NULL, 0, 0);
    fake_persist_carry_out_reads(fixture->persist);
    read_fixture_send_get(fixture, NULL, 1); /* and this one finds nothing any more */
    read_fixture_withdraw(fixture, 1);
    fixture->client->client.is_gone = true;
    assert_int_equal(fixture->client->client.work_count, 3);
    assert_int_equal(fake_persist_answer_reads(fixture->persist), 3);
    assert_null(fixture->client);
    assert_int_equal(fixture->service->working, 0);

    fixture->client = read_client_new(fixture); /* the next one is served */
    read_fixture_deposit(fixture, 2, "two", 100);
    read_fixture_send_get(fixture, NULL, 2);
    fake_persist_answer_reads(fixture->persist);
    expect_got(fixture, 2, "two");
}
