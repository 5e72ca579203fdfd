/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What readers and the operator decide, in the store: it lasts, it goes with its message, and what
 * was removed leaves no byte behind.
 */
#include "tests/lib/check.h"

#include <sodium.h>

#include "tests/lib/store_fixture.h"

enum { NEVER = 1000000 };

static struct store_fixture fixture;

static enum persist_outcome moderate(uint32_t number, int64_t deposited_ms,
                                     enum persist_state state, uint32_t reports, const char *words)
{
    struct store_op op;

    store_make_moderate(&fixture, &op, number, deposited_ms, state, reports, words);
    return store_do(&fixture, &op);
}

/* --- states ----------------------------------------------------------------------------------- */

struct found {
    enum persist_state state;
    uint32_t reports;
    uint32_t texts_bytes;
    bool there;
};

static int visit(void *context, const struct persist_message *message)
{
    struct found *found = context;
    const uint32_t number = store_check_message(message);

    assert_true(number < 16);
    found[number] = (struct found){message->state, message->reports, message->texts_bytes, true};
    return 0;
}

static void replay(struct found *found)
{
    memset(found, 0, 16 * sizeof(*found));
    assert_int_equal(
        fixture.persist->interface->replay(fixture.persist, visit, found, fixture.reason), 0);
}

/* States and counts last over a restart; a count never goes down, done twice is done once. */
TEST_ON(test_states_last, store_setup, store_teardown, &fixture)
{
    struct found found[16];

    for (uint32_t i = 1; i <= 4; i++) {
        assert_int_equal(store_deposit(&fixture, i, i, NEVER), PERSIST_APPLIED);
    }
    assert_int_equal(moderate(1, 1, PERSIST_HIDDEN, 5, "rude"), PERSIST_APPLIED);
    assert_int_equal(moderate(1, 1, PERSIST_HIDDEN, 5, "rude"), PERSIST_APPLIED);
    assert_int_equal(moderate(2, 2, PERSIST_SHOWN, 2, NULL), PERSIST_APPLIED);
    assert_int_equal(moderate(2, 2, PERSIST_SHOWN, 1, NULL), PERSIST_APPLIED);
    assert_int_equal(moderate(3, 3, PERSIST_APPROVED, 0, NULL), PERSIST_APPLIED);
    assert_int_equal(moderate(9, 9, PERSIST_HIDDEN, 1, NULL), PERSIST_NOT_FOUND);
    assert_int_equal(moderate(4, 77, PERSIST_HIDDEN, 1, NULL), PERSIST_NOT_FOUND); /* another one */
    for (int i = 0; i < 2; i++, store_reopen(&fixture)) {
        replay(found);
        assert_true(found[1].state == PERSIST_HIDDEN && found[1].reports == 5);
        assert_true(found[2].state == PERSIST_SHOWN && found[2].reports == 2);
        assert_true(found[3].state == PERSIST_APPROVED && found[3].reports == 0);
        assert_true(found[4].there && found[4].state == PERSIST_SHOWN && found[4].reports == 0);
    }
}

/* A deposit may begin hidden; who sends it again is told so. */
TEST_ON(test_pending_deposit, store_setup, store_teardown, &fixture)
{
    struct found found[16];
    struct store_op op;

    store_make_deposit(&fixture, &op, 1, 10, NEVER);
    op.op.message.state = PERSIST_PENDING;
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    store_make_deposit(&fixture, &op, 1, 20, NEVER);
    assert_int_equal(store_do(&fixture, &op), PERSIST_DUPLICATE);
    assert_int_equal(op.op.message.state, PERSIST_PENDING);
    store_reopen(&fixture);
    replay(found);
    assert_int_equal(found[1].state, PERSIST_PENDING);
    assert_int_equal(moderate(1, 10, PERSIST_APPROVED, 0, NULL), PERSIST_APPLIED);
    store_make_deposit(&fixture, &op, 1, 20, NEVER);
    assert_int_equal(store_do(&fixture, &op), PERSIST_DUPLICATE);
    assert_int_equal(op.op.message.state, PERSIST_APPROVED);
}

/* The place of a message, by the page that it is on; 0: it is on none. */
static int64_t place_of(uint32_t number)
{
    struct persist_entry entries[8] = {0};
    struct persist_read read = {.kind = PERSIST_READ_PAGE,
                                .entries = entries,
                                .entry_count = 8,
                                .page_host = fixture.host,
                                .page_bytes_limit = 1 << 20};
    int64_t place = 0;

    store_read(&fixture, &read);
    for (size_t i = 0; i < read.entry_count; i++) {
        if (store_check_message(&entries[i].message) == number) {
            place = entries[i].message.seq;
        }
    }
    fixture.persist->interface->read_release(fixture.persist, &read);
    return place;
}

/*
 * What waited for review and what reports had hidden take new numbers when they are shown, and what
 * is known of their moderation goes with them. Also over a restart: no number is given twice.
 */
TEST_ON(test_places_of_what_is_shown, store_setup, store_teardown, &fixture)
{
    struct found found[16];
    struct store_op op;

    store_make_deposit(&fixture, &op, 1, 10, NEVER);
    op.op.message.state = PERSIST_PENDING;
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    assert_int_equal(store_deposit(&fixture, 2, 20, NEVER), PERSIST_APPLIED);
    assert_int_equal(moderate(2, 20, PERSIST_HIDDEN, 3, "rude"), PERSIST_APPLIED);
    assert_int_equal(place_of(1), 0);
    assert_int_equal(place_of(2), 0);
    store_make_moderate(&fixture, &op, 1, 10, PERSIST_APPROVED, 0, NULL);
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    assert_int_equal(op.op.shown_seq, 3);
    assert_int_equal(op.op.message.seq, 3);
    store_make_moderate(&fixture, &op, 2, 20, PERSIST_APPROVED, 0, NULL);
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    assert_int_equal(op.op.shown_seq, 4);
    assert_int_equal(op.op.message.seq, 4);
    assert_int_equal(op.op.message.reports, 3);
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED); /* done twice is done once */
    assert_int_equal(op.op.shown_seq, 0);
    store_reopen(&fixture);
    replay(found); /* which proves the checksums */
    assert_true(found[1].state == PERSIST_APPROVED && found[2].state == PERSIST_APPROVED);
    assert_int_equal(found[2].reports, 3);
    assert_int_equal(place_of(1), 3);
    assert_int_equal(place_of(2), 4);
    assert_int_equal(store_read_number(&fixture, "SELECT count(*) FROM message WHERE seq < 3"), 0);
    assert_int_equal(store_read_number(&fixture, "SELECT count(*) FROM moderation"), 2);
    assert_int_equal(store_deposit(&fixture, 3, 30, NEVER), PERSIST_APPLIED);
    assert_true(place_of(3) > 4); /* further numbers were reserved */
}

/* Reports hide only what nobody has decided on, in whatever order they come. */
TEST_ON(test_reports_do_not_overrule, store_setup, store_teardown, &fixture)
{
    struct store_op op;

    assert_int_equal(store_deposit(&fixture, 1, 10, NEVER), PERSIST_APPLIED);
    assert_int_equal(moderate(1, 10, PERSIST_SHOWN, 1, NULL), PERSIST_APPLIED);
    assert_int_equal(moderate(1, 10, PERSIST_APPROVED, 0, NULL), PERSIST_APPLIED);
    store_make_moderate(&fixture, &op, 1, 10, PERSIST_HIDDEN, 2, NULL);
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    assert_int_equal(op.op.message.state, PERSIST_APPROVED);
    assert_int_equal(op.op.message.reports, 2);
    assert_int_equal(place_of(1), 1);
}

/* What is known of a message goes with it, however it goes; the next of its id begins anew. */
TEST_ON(test_goes_with_the_message, store_setup, store_teardown, &fixture)
{
    struct found found[16];
    struct store_op op;

    for (uint32_t i = 1; i <= 4; i++) {
        assert_int_equal(store_deposit(&fixture, i, 1, i <= 2 ? 100 : NEVER), PERSIST_APPLIED);
        assert_int_equal(moderate(i, 1, PERSIST_HIDDEN, 5, "x"), PERSIST_APPLIED);
    }
    assert_int_equal(store_deposit(&fixture, 1, 200, NEVER), PERSIST_APPLIED); /* replaced */
    store_make_expire(&op, 300, 10);
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    assert_int_equal(op.op.removed_count, 1); /* 2 */
    assert_int_equal(store_withdraw(&fixture, 3, 300), PERSIST_APPLIED);
    store_make_withdraw(&fixture, &op, 4, 300);
    op.op.kind = PERSIST_REMOVE;
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    assert_int_equal(store_do(&fixture, &op), PERSIST_NOT_FOUND); /* done twice */
    assert_int_equal(store_deposit(&fixture, 4, 400, NEVER), PERSIST_GONE);
    replay(found);
    assert_true(found[1].there && found[1].state == PERSIST_SHOWN && found[1].reports == 0);
    assert_false(found[2].there || found[3].there || found[4].there);
    assert_int_equal(store_read_number(&fixture, "SELECT count(*) FROM moderation"), 0);
    store_reopen(&fixture);
}

/* --- reading ---------------------------------------------------------------------------------- */

static void read_one(uint32_t number, enum persist_read_kind kind, struct persist_entry *out_entry,
                     struct persist_read *out_read)
{
    struct store_op op;

    store_make_withdraw(&fixture, &op, number, 0);
    memset(out_entry, 0, sizeof(*out_entry));
    out_entry->message.host = fixture.host;
    memcpy(out_entry->message.id, op.op.message.id, MESSAGE_ID_BYTES);
    *out_read = (struct persist_read){.kind = kind, .entries = out_entry, .entry_count = 1};
    store_read(&fixture, out_read);
    assert_false(out_read->failed);
}

/* The latest reasons are kept, a line each; pages have nothing that is hidden. */
TEST_ON(test_reasons_and_pages, store_setup, store_teardown, &fixture)
{
    struct persist_entry entries[8] = {{.found = false}};
    struct persist_read read;
    char expected[512] = "";
    char longest[LIMIT_REASON_BYTES + 1];

    memset(longest, 'y', LIMIT_REASON_BYTES);
    longest[LIMIT_REASON_BYTES] = '\0';
    for (uint32_t i = 1; i <= 3; i++) {
        assert_int_equal(store_deposit(&fixture, i, i, NEVER), PERSIST_APPLIED);
    }
    read_one(1, PERSIST_READ_REPORTED, entries, &read);
    assert_true(entries[0].found && entries[0].reasons == NULL);
    fixture.persist->interface->read_release(fixture.persist, &read);
    assert_int_equal(moderate(1, 1, PERSIST_SHOWN, 1, longest), PERSIST_APPLIED);
    for (unsigned i = 2; i <= PERSIST_REASONS_KEPT + 3; i++) {
        char words[32];
        (void)snprintf(words, sizeof(words), "reason %u", i);
        assert_int_equal(moderate(1, 1, i < 5 ? PERSIST_SHOWN : PERSIST_HIDDEN, i, words),
                         PERSIST_APPLIED);
        if (i > 3) {
            (void)snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected), "%s\n",
                           words);
        }
    }
    read_one(1, PERSIST_READ_REPORTED, entries, &read);
    assert_true(entries[0].found);
    assert_int_equal(entries[0].reasons_bytes, strlen(expected));
    assert_memory_equal(entries[0].reasons, expected, strlen(expected));
    fixture.persist->interface->read_release(fixture.persist, &read);

    read = (struct persist_read){.kind = PERSIST_READ_PAGE,
                                 .entries = entries,
                                 .entry_count = 8,
                                 .page_host = fixture.host,
                                 .page_bytes_limit = 65536};
    store_read(&fixture, &read);
    assert_int_equal(read.entry_count, 2);
    assert_int_equal(store_check_message(&entries[0].message), 2);
    fixture.persist->interface->read_release(fixture.persist, &read);
}

/* Reports `count` times with these words; *in_out_reports is the number of reports so far. */
static void report_often(unsigned count, const char *words, uint32_t *in_out_reports)
{
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(moderate(1, 1, PERSIST_SHOWN, ++*in_out_reports, words), PERSIST_APPLIED);
    }
}

static void assert_reasons(const char *expected)
{
    struct persist_entry entry;
    struct persist_read read;

    read_one(1, PERSIST_READ_REPORTED, &entry, &read);
    assert_int_equal(entry.reasons_bytes, strlen(expected));
    assert_memory_equal(entry.reasons, expected, strlen(expected));
    fixture.persist->interface->read_release(fixture.persist, &read);
}

/* Four places are for grave reasons: ordinary ones never push these out, nor the other way round.
 */
TEST_ON(test_grave_reasons_stay, store_setup, store_teardown, &fixture)
{
    uint32_t reports = 0;

    assert_int_equal(store_deposit(&fixture, 1, 1, NEVER), PERSIST_APPLIED);
    report_often(1, "1law", &reports);
    report_often(100, "4spam", &reports);
    assert_reasons("1law\n4spam\n4spam\n4spam\n4spam\n4spam\n4spam\n4spam\n4spam\n4spam\n4spam\n"
                   "4spam\n4spam\n4spam\n4spam\n4spam\n");
    report_often(3, "2me", &reports);
    assert_reasons("1law\n4spam\n4spam\n4spam\n4spam\n4spam\n4spam\n4spam\n4spam\n4spam\n4spam\n"
                   "4spam\n4spam\n2me\n2me\n2me\n");
    report_often(100, "2you", &reports);
    assert_reasons("4spam\n4spam\n4spam\n4spam\n4spam\n4spam\n4spam\n4spam\n4spam\n4spam\n"
                   "4spam\n4spam\n2you\n2you\n2you\n2you\n");
    report_often(1, "3rude", &reports);
    assert_reasons("4spam\n4spam\n4spam\n4spam\n4spam\n4spam\n4spam\n4spam\n4spam\n4spam\n"
                   "4spam\n2you\n2you\n2you\n2you\n3rude\n");
}

/* The store tells how many bytes the texts of reasons have: after each report, and at a start. */
TEST_ON(test_texts_are_counted, store_setup, store_teardown, &fixture)
{
    struct found found[16];
    struct store_op op;

    assert_int_equal(store_deposit(&fixture, 1, 1, NEVER), PERSIST_APPLIED);
    for (uint32_t reports = 1; reports <= PERSIST_REASONS_KEPT + 4; reports++) {
        uint32_t kept = reports <= PERSIST_REASONS_KEPT ? reports - 1 : PERSIST_REASONS_KEPT;
        store_make_moderate(&fixture, &op, 1, 1, PERSIST_SHOWN, reports,
                            reports == 1 ? "4" : "4spam");
        assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
        assert_int_equal(op.op.message.texts_bytes, strlen("spam") * kept);
    }
    store_reopen(&fixture);
    replay(found);
    assert_int_equal(found[1].texts_bytes, strlen("spam") * PERSIST_REASONS_KEPT);
}

/* --- rules ------------------------------------------------------------------------------------ */

struct rules {
    struct persist_rule list[8];
    uint8_t values[8][PERSIST_RULE_BYTES_MAX];
    size_t count;
};

static int visit_rule(void *context, const struct persist_rule *rule)
{
    struct rules *rules = context;

    assert_true(rules->count < 8);
    rules->list[rules->count] = *rule;
    memcpy(rules->values[rules->count], rule->value, rule->value_bytes);
    rules->list[rules->count].value = rules->values[rules->count];
    rules->count++;
    return 0;
}

static void replay_rules(struct rules *rules)
{
    rules->count = 0;
    assert_int_equal(fixture.persist->interface->replay_rules(fixture.persist, visit_rule, rules,
                                                              fixture.reason),
                     0);
}

static enum persist_outcome do_rule(enum persist_kind kind, struct persist_rule *rule)
{
    struct store_op op;

    store_make_rule(&op, kind, rule);
    return store_do(&fixture, &op);
}

TEST_ON(test_rules, store_setup, store_teardown, &fixture)
{
    static const uint8_t bytes[LIMIT_FILTER_BYTES] = {1, 2, 3};
    struct persist_rule ban = {.host = fixture.host,
                               .kind = PERSIST_BAN_FILTER,
                               .value = bytes,
                               .value_bytes = sizeof(bytes),
                               .number = 5,
                               .created_ms = 7};
    struct persist_rule accept = {
        .host = fixture.host, .kind = PERSIST_ACCEPT, .value = bytes, .number = 2};
    struct rules rules;

    assert_int_equal(do_rule(PERSIST_RULE_PUT, &ban), PERSIST_APPLIED);
    assert_int_equal(do_rule(PERSIST_RULE_PUT, &accept), PERSIST_APPLIED);
    ban.number = 6;
    assert_int_equal(do_rule(PERSIST_RULE_PUT, &ban), PERSIST_APPLIED); /* in its place */
    store_reopen(&fixture);
    replay_rules(&rules);
    assert_int_equal(rules.count, 2);
    assert_int_equal(rules.list[0].number, 6);
    assert_int_equal(rules.list[0].created_ms, 7);
    assert_int_equal(rules.list[0].value_bytes, sizeof(bytes));
    assert_memory_equal(rules.list[0].value, bytes, sizeof(bytes));
    assert_int_equal(rules.list[1].kind, PERSIST_ACCEPT);
    assert_int_equal(rules.list[1].number, 2);
    assert_int_equal(do_rule(PERSIST_RULE_DROP, &ban), PERSIST_APPLIED);
    assert_int_equal(do_rule(PERSIST_RULE_DROP, &ban), PERSIST_NOT_FOUND);
    ban.kind = PERSIST_BAN_PAYLOAD;
    assert_int_equal(do_rule(PERSIST_RULE_DROP, &ban), PERSIST_NOT_FOUND);
    store_reopen(&fixture);
    replay_rules(&rules);
    assert_int_equal(rules.count, 1);
}

/* A notice: in its place, moved with the clock if it was made before the time was known, expired.
 */
TEST_ON(test_notices, store_setup, store_teardown, &fixture)
{
    uint8_t value[PERSIST_RULE_BYTES_MAX] = "de";
    struct persist_rule notice = {.host = fixture.host,
                                  .kind = PERSIST_NOTICE,
                                  .value = value,
                                  .value_bytes = sizeof(value),
                                  .number = 3,
                                  .created_ms = 40,
                                  .until_ms = 100};
    struct persist_rule old = notice;
    struct store_op op;
    struct rules rules;

    old.value = (const uint8_t *)"";
    old.value_bytes = 1;
    old.created_ms = 39;
    assert_int_equal(do_rule(PERSIST_RULE_PUT, &notice), PERSIST_APPLIED);
    assert_int_equal(do_rule(PERSIST_RULE_PUT, &old), PERSIST_APPLIED);
    old.value = value; /* a notice without an end stays */
    old.value_bytes = 3;
    old.until_ms = 0;
    assert_int_equal(do_rule(PERSIST_RULE_PUT, &old), PERSIST_APPLIED);
    store_make_expire(&op, 1050, 0);
    op.op.kind = PERSIST_SHIFT;
    op.op.shift_from_ms = 40;
    op.op.shift_ms = 1000;
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    store_reopen(&fixture); /* the checksums are right */
    replay_rules(&rules);
    assert_int_equal(rules.count, 3);
    for (int64_t now_ms = 1099; now_ms <= 1100; now_ms++) {
        store_make_expire(&op, now_ms, 1);
        assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
        store_reopen(&fixture);
        replay_rules(&rules);
        assert_int_equal(rules.count, now_ms == 1099 ? 2 : 1);
        if (now_ms == 1099) {
            assert_int_equal(rules.list[1].until_ms, 1100);
            assert_int_equal(rules.list[1].created_ms, 1040);
            assert_int_equal(rules.list[1].number, 3);
        }
    }
    assert_int_equal(rules.list[0].until_ms, 0);
}

/* Removing with a ban: the hash of what went is banned in the same transaction. */
TEST_ON(test_remove_and_ban, store_setup, store_teardown, &fixture)
{
    struct persist_rule ban = {.host = fixture.host, .kind = PERSIST_BAN_PAYLOAD, .created_ms = 9};
    uint8_t hash[LIMIT_HASH_BYTES];
    struct store_op deposit;
    struct store_op op;
    struct rules rules;

    store_make_deposit(&fixture, &deposit, 1, 1, NEVER);
    assert_int_equal(store_do(&fixture, &deposit), PERSIST_APPLIED);
    (void)crypto_generichash(hash, sizeof(hash), deposit.op.message.payload,
                             deposit.op.message.payload_bytes, NULL, 0);
    store_make_withdraw(&fixture, &op, 1, 5);
    op.op.kind = PERSIST_REMOVE;
    op.op.rule = &ban;
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    assert_memory_equal(op.op.payload_hash, hash, sizeof(hash));
    assert_int_equal(store_do(&fixture, &op), PERSIST_NOT_FOUND);
    replay_rules(&rules);
    assert_int_equal(rules.count, 1);
    assert_int_equal(rules.list[0].value_bytes, sizeof(hash));
    assert_memory_equal(rules.list[0].value, hash, sizeof(hash));
}

/* --- nothing is left -------------------------------------------------------------------------- */

static bool has_payload(const struct store_op *deposit)
{
    const struct persist_message *message = &deposit->op.message;

    assert_true(message->payload_bytes >= 16);
    return store_files_have(&fixture, message->payload, message->payload_bytes);
}

/*
 * Payload, filter and reasons of a removed message are in no byte of the database and its log after
 * the next scrub; those of its neighbours are. Every payload is searched for, in pieces too, since
 * long ones lie on several pages.
 */
TEST_ON(test_nothing_is_left, store_setup, store_teardown, &fixture)
{
    static const char reason[] = "this very reason, and no other";
    struct store_op deposits[3];
    struct store_op op;
    const struct persist_message *payload = &deposits[1].op.message;

    for (uint32_t i = 0; i < 3; i++) {
        store_make_deposit(&fixture, &deposits[i], i + 1, 1, NEVER);
        deposits[i].op.message.payload_bytes = STORE_PAYLOAD_BYTES;
        assert_int_equal(store_do(&fixture, &deposits[i]), PERSIST_APPLIED);
        assert_true(has_payload(&deposits[i]));
    }
    assert_int_equal(moderate(2, 1, PERSIST_HIDDEN, 5, reason), PERSIST_APPLIED);
    assert_true(store_files_have(&fixture, reason, strlen(reason)));
    fixture.options.scrub_after_ms = 1;
    store_reopen(&fixture);
    store_make_withdraw(&fixture, &op, 2, 5);
    op.op.kind = PERSIST_REMOVE;
    assert_int_equal(store_do(&fixture, &op), PERSIST_APPLIED);
    store_await_scrub(&fixture, 5);
    assert_false(store_files_have(&fixture, payload->payload, 16));
    assert_false(store_files_have(&fixture, payload->payload + payload->payload_bytes - 16, 16));
    assert_false(store_files_have(&fixture, deposits[1].filter, STORE_FILTER_BYTES));
    assert_false(store_files_have(&fixture, reason, strlen(reason)));
    store_close(&fixture); /* while it is open, a page may be on its way between the files */
    assert_true(has_payload(&deposits[0]));
    assert_true(has_payload(&deposits[2]));
}
