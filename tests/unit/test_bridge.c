/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of hearsay-bridge without a hub: its configuration, cursors, what JetStream answers,
 * subjects, digests. */
#include "client/bridge/ask/inner.h"
#include "client/bridge/feed/feed.h"
#include "client/bridge/hub/inner.h"
#include "client/bridge/own/inner.h"
#include "client/bridge/setup/options.h"
#include "client/bridge/wire/inner.h"
#include "client/bridge/wire/subject.h"
#include "client/bridge/wire/version.h"
#include "client/bridge/wire/wire.h"
#include "tests/lib/check.h"

#include <fcntl.h>
#include <unistd.h>

static struct bridge_config config;
static char reason[SETTINGS_REASON_BYTES];

static int load_text(const char *text)
{
    int rc = settings_config_parse(&bridge_program, text, strlen(text), "b.conf", &config, reason);

    return rc == 0 ? bridge_config_finish(&config, reason) : rc;
}

TEST(test_a_file_and_its_defaults)
{
    assert_int_equal(
        load_text("[bridge]\nnats = tls://a:1\nnats = tls://b:2\ncert = /c\nkey = /k\n"
                  "ca = /a\n[host lobby]\nhood = campus\n[host staff]\npublish = no\n"),
        0);
    assert_int_equal(config.nats_count, 2);
    assert_string_equal(config.name, "lobby");
    assert_true(config.hosts[0].publishes);
    assert_false(config.hosts[1].publishes);
    assert_int_equal(bridge_config_hood(&config, "campus")->asks_per_minute, 600);
    assert_string_equal(config.state, "/var/lib/hearsay-bridge");
}

TEST(test_what_is_wrong_is_named)
{
    static const struct {
        const char *text;
        const char *sentence;
    } wrong[] = {
        {"[bridge]\n[host a]\n", "`nats` is missing"},
        {"[bridge]\nnats = tls://a:1\ncert = /c\n[host a]\n", "belong together"},
        {"[bridge]\nnats = nats://10.0.0.1:4222\n[host a]\n", "is another machine"},
        {"[bridge]\nnats = a:1\n[host a]\n", "b.conf:2: `nats` must be the address"},
        {"[bridge]\nnats = nats://u:p@a:1\n[host a]\n", "without a password"},
        {"[bridge]\nnats = nats://127.0.0.1:1\n", "there is nothing to do"},
        {"[bridge]\nnats = nats://127.0.0.1:1\n[host A]\n", "[host NAME] needs a name"},
        {"[bridge]\nnats = nats://127.0.0.1:1\n[host a]\n[host a]\n", "stands in line 3 already"},
        {"[bridge]\nnats = nats://127.0.0.1:1\n[host a]\n[reader]\nhosts = a\n",
         "a host has one owner"},
        {"[bridge]\nnats = nats://127.0.0.1:1\n[reader]\nhosts = b b\n", "b stands twice"},
        {"[bridge]\nnats = nats://127.0.0.1:1\n[reader]\nhosts = b\n", "`name` is missing"},
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(load_text(wrong[i].text), SETTINGS_REFUSED);
        if (strstr(reason, wrong[i].sentence) == NULL) {
            fail_msg("%s: %s", wrong[i].text, reason);
        }
    }
}

static int parse_words(int count, char *words[], struct bridge_options *options)
{
    memset(options, 0, sizeof(*options));
    return settings_options_parse(&bridge_program, count, words, options, reason);
}

TEST(test_commands)
{
    char *take[] = {"hearsay-bridge", "take", "lobby", "--now"};
    char *status[] = {"hearsay-bridge", "status", "--metrics"};
    char *nothing[] = {"hearsay-bridge"};
    char *other[] = {"hearsay-bridge", "fetch"};
    struct bridge_options options;

    assert_int_equal(parse_words(4, take, &options), 0);
    assert_int_equal(options.command, BRIDGE_TAKE);
    assert_true(options.is_now);
    assert_int_equal(parse_words(3, status, &options), 0);
    assert_true(options.prints_metrics);
    assert_int_equal(parse_words(1, nothing, &options), SETTINGS_REFUSED);
    assert_non_null(strstr(reason, "say what to do"));
    assert_int_equal(parse_words(2, other, &options), SETTINGS_REFUSED);
    assert_non_null(strstr(reason, "`fetch` is none of run, status"));
    assert_int_equal(parse_words(2, take, &options), SETTINGS_REFUSED);
}

/* Words and options stand in any order. */
TEST(test_the_order_of_a_command_line)
{
    char *orders[][7] = {
        {"hearsay-bridge", "take", "lobby", "--config", "F", "--now"},
        {"hearsay-bridge", "take", "--now", "lobby", "--config", "F"},
        {"hearsay-bridge", "--config", "F", "take", "--now", "lobby"},
        {"hearsay-bridge", "--now", "--config=F", "take", "lobby"},
    };
    char *status[] = {"hearsay-bridge", "status", "--config", "F", "--metrics"};
    char *setup[] = {"hearsay-bridge", "--age", "3d", "setup-hub", "--disk", "1G", "--print"};
    static const struct {
        char *words[5];
        const char *sentence;
    } wrong[] = {
        {{"hearsay-bridge", "status", "--now"}, "--now is an option of take, and not of status"},
        {{"hearsay-bridge", "--print", "forget", "a"}, "--print is an option of setup-hub"},
        {{"hearsay-bridge", "status", "lobby"}, "`lobby` is one word too many"},
        {{"hearsay-bridge", "take", "a", "b"}, "`b` is one word too many"},
        {{"hearsay-bridge", "take", "--now"}, "take needs the name of a host"},
        {{"hearsay-bridge", "forget", "Lobby"}, "forget needs the name of a host"},
        {{"hearsay-bridge", "--now"}, "say what to do"},
        {{"hearsay-bridge", "take", "a", "--now=1"}, "--now: takes no value"},
    };
    struct bridge_options options;

    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        int count = 0;

        while (orders[i][count] != NULL) {
            count++;
        }
        assert_int_equal(parse_words(count, orders[i], &options), 0);
        assert_true(options.command == BRIDGE_TAKE && options.is_now);
        assert_string_equal(options.host, "lobby");
        assert_string_equal(options.common.config, "F");
    }
    assert_int_equal(parse_words(5, status, &options), 0);
    assert_true(options.command == BRIDGE_STATUS && options.prints_metrics);
    assert_int_equal(parse_words(7, setup, &options), 0);
    assert_true(options.command == BRIDGE_SETUP_HUB && options.is_dry);
    assert_string_equal(options.age, "3d");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        int count = 0;

        while (count < 5 && wrong[i].words[count] != NULL) {
            count++;
        }
        assert_int_equal(parse_words(count, (char **)wrong[i].words, &options), SETTINGS_REFUSED);
        assert_non_null(strstr(reason, wrong[i].sentence));
    }
}

TEST(test_a_cursor_survives_and_damage_is_seen)
{
    struct cursor cursor = {.store_id = {9, 8, 7}, .seq = UINT64_MAX, .term = 3, .head = 12};
    char folder[] = "/tmp/hearsay-cursor-XXXXXX";
    char path[64];
    struct cursor read;

    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/lobby.cursor", folder);
    cursor_load(folder, "lobby", &read);
    assert_int_equal(read.seq, 0);
    assert_int_equal(cursor_save(folder, "lobby", &cursor), 0);
    cursor_load(folder, "lobby", &read);
    assert_memory_equal(&read, &cursor, sizeof(cursor));
    for (off_t at = 0; at < 90; at += 7) { /* any byte that differs */
        int file = open(path, O_RDWR);
        char byte;

        assert_int_equal(pread(file, &byte, 1, at), 1);
        byte ^= 1;
        assert_int_equal(pwrite(file, &byte, 1, at), 1);
        cursor_load(folder, "lobby", &read);
        assert_true(read.seq == 0 && read.head == 0 && read.store_id[0] == 0);
        byte ^= 1;
        assert_int_equal(pwrite(file, &byte, 1, at), 1);
        assert_int_equal(close(file), 0);
    }
    assert_int_equal(cursor_remove(folder, "lobby"), 0);
    assert_int_equal(cursor_remove(folder, "lobby"), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_int_not_equal(cursor_save(folder, "lobby", &cursor), 0);
}

static bool read_text(const char *text, struct ack *out)
{
    return ack_read(text, strlen(text), out);
}

TEST(test_what_jetstream_answers)
{
    struct ack ack;

    assert_true(read_text("{\"stream\":\"h_3\",\"seq\":12}", &ack));
    assert_true(ack.code == 0 && ack.seq == 12);
    assert_true(read_text("{\"stream\":\"h_3\",\"seq\":12,\"duplicate\":true}", &ack));
    assert_true(read_text("{\"error\":{\"code\":400,\"err_code\":10071,\"description\":"
                          "\"wrong last sequence: 34\"},\"stream\":\"h_3\",\"seq\":0}",
                          &ack));
    assert_true(ack.code == ACK_WRONG_SEQUENCE && ack.last == 34);
    assert_false(read_text("{}", &ack));
    assert_false(read_text("{\"seq\":0}", &ack));
    assert_false(read_text("{\"seq\":-1}", &ack));
    assert_false(read_text("{\"error\":{}}", &ack));
    assert_false(read_text("[1]", &ack));
    assert_false(read_text("", &ack));
}

TEST(test_subjects)
{
    static const uint8_t id[LIMIT_ID_BYTES] = {0xab};
    char text[SUBJECT_BYTES];
    char expected[SUBJECT_BYTES];

    subject_state("lobby", id, text);
    (void)snprintf(expected, sizeof(expected), "h.%u.lobby.ab000000000000000000000000000000",
                   subject_shard("lobby"));
    assert_string_equal(text, expected);
    subject_get_head("lobby", text);
    (void)snprintf(expected, sizeof(expected), "$JS.API.DIRECT.GET.h_%u.h.%u.lobby.-",
                   subject_shard("lobby"), subject_shard("lobby"));
    assert_string_equal(text, expected);
}

/* What differs in seq only is the same; the order does not matter; what is too new is left out. */
TEST(test_digests)
{
    static const uint8_t bytes[LIMIT_ID_BYTES] = {1};
    struct hearsay_change change = {.seq = 1,
                                    .has_message = true,
                                    .message = {.id = {bytes, sizeof(bytes)},
                                                .filter = {bytes, sizeof(bytes)},
                                                .deposited_ms = 10,
                                                .expires_ms = 100}};
    struct feed_digest one = {.count = 0};
    struct feed_digest other = {.count = 0};

    assert_int_equal(feed_digest_add(&one, &change, 50, 50), 0);
    change.seq = 7;
    assert_int_equal(feed_digest_add(&other, &change, 50, 50), 0);
    assert_true(one.count == 1 && one.digest == other.digest && one.digest != 0);
    assert_int_equal(feed_digest_add(&one, &change, 10, 50), 0);
    assert_int_equal(feed_digest_add(&one, &change, 50, 100), 0);
    assert_int_equal(one.count, 1);
    change.message.state = 2;
    other = (struct feed_digest){.count = 0};
    assert_int_equal(feed_digest_add(&other, &change, 50, 50), 0);
    assert_true(one.digest != other.digest);
}

/* --- what hearsayd says to what the hub says --- */

struct outcome {
    unsigned calls;
    bool is_applied;
};

static void take_outcome(void *context, bool is_applied, const char *why)
{
    struct outcome *outcome = context;

    (void)why;
    outcome->calls++;
    outcome->is_applied = is_applied;
}

static void push_gone(struct apply *apply, size_t count, struct outcome *outcome)
{
    static const uint8_t id[LIMIT_ID_BYTES] = {1};
    struct hearsay_change changes[8];

    for (size_t i = 0; i < count; i++) {
        changes[i] = (struct hearsay_change){.has_gone = true, .gone = {.id = {id, sizeof(id)}}};
    }
    assert_int_equal(
        apply_push(apply, changes, count, HEARSAY_AS_OPERATOR, false, take_outcome, outcome), 0);
}

static void answer(struct apply *apply, const char *field)
{
    struct hearsay_reply reply = {.response = {.id = 1, .kind = HEARSAY_RESPONSE_APPLIED}};

    if (field != NULL) {
        reply.response.kind = HEARSAY_RESPONSE_ERROR;
        (void)snprintf(reply.error.field, sizeof(reply.error.field), "%s", field);
    }
    apply->ticket = 1; /* as if it was sent: hearsayd is away */
    assert_true(apply_take_reply(apply, &reply));
}

/* One change of four is not taken: the others are; a failure of hearsayd is told. */
TEST(test_a_refused_change_is_left_out)
{
    struct apply apply = {.host = "lobby"};
    struct outcome outcome = {.calls = 0};

    push_gone(&apply, 4, &outcome);
    answer(&apply, "changes.message.filter"); /* of four, then of two, then of the first */
    answer(&apply, "changes.message.filter");
    answer(&apply, "changes.message.filter");
    assert_int_equal(outcome.calls, 0);
    answer(&apply, NULL);
    answer(&apply, NULL);
    assert_true(outcome.calls == 1 && outcome.is_applied);
    assert_true(apply.refused == 1 && apply.count == 0);
    push_gone(&apply, 2, &outcome);
    answer(&apply, "");
    assert_true(outcome.calls == 2 && !outcome.is_applied && apply.count == 0);
    push_gone(&apply, 1, &outcome);
    apply_clear(&apply);
    assert_int_equal(outcome.calls, 2);
}

static natsMsg *make_message(const char *header, size_t data_bytes)
{
    static char data[64 * 1024];
    natsMsg *message = NULL;

    assert_int_equal(natsMsg_Create(&message, "r.lobby", "_INBOX_lobby.1", data, (int)data_bytes),
                     NATS_OK);
    if (header != NULL) {
        assert_int_equal(natsMsgHeader_Set(message, "Padding", header), NATS_OK);
        assert_int_equal(natsMsgHeader_Add(message, "Padding", header), NATS_OK);
    }
    return message;
}

/* Puts `count` messages into the queue; returns how many the loop would get. */
static size_t fill_queue(struct inbound *inbound, const char *header, size_t data_bytes,
                         size_t count)
{
    struct inbound_batch batch;
    size_t taken = 0;

    for (size_t i = 0; i < count; i++) {
        inbound_put(inbound, NULL, make_message(header, data_bytes));
    }
    inbound_take(inbound, &batch);
    while (batch.first != NULL) {
        struct inbound_item *item = batch.first;

        batch.first = item->next;
        inbound_free(item);
        taken++;
    }
    assert_int_equal(batch.dropped, count - taken);
    return taken;
}

/* Whether the bytes are in the data or in two values of a header, the queue takes as many. */
TEST(test_the_queue_counts_headers)
{
    enum { MESSAGES = 200, BYTES = 64 * 1024, MOST = INBOUND_BYTES_MAX / BYTES };
    static char half[BYTES / 2];
    uv_async_t wake;
    uv_loop_t loop;
    struct inbound inbound = {.bytes = 0};

    memset(half, 'x', sizeof(half) - 1);
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(uv_async_init(&loop, &wake, NULL), 0);
    assert_int_equal(nats_Open(-1), NATS_OK);
    assert_int_equal(inbound_init(&inbound, &wake), 0);
    assert_in_range(fill_queue(&inbound, NULL, BYTES, MESSAGES), MOST - 1, MOST);
    assert_in_range(fill_queue(&inbound, half, 0, MESSAGES), MOST - 1, MOST);
    inbound_shut(&inbound);
    assert_int_equal(nats_CloseAndWait(3000), NATS_OK);
    inbound_deinit(&inbound);
    uv_close((uv_handle_t *)&wake, NULL);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

/* libnats frees a message with a thread that ends with the library. */
TEST(test_messages_go_before_the_library)
{
    struct inbound inbound = {.bytes = 0};
    uv_async_t wake;
    uv_loop_t loop;
    natsMsg *message = NULL;

    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(uv_async_init(&loop, &wake, NULL), 0);
    assert_int_equal(nats_Open(-1), NATS_OK);
    assert_int_equal(inbound_init(&inbound, &wake), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(natsMsg_Create(&message, "a", NULL, "b", 1), NATS_OK);
        inbound_put(&inbound, NULL, message);
        if (i == 0) {
            inbound_shut(&inbound); /* the second message is dropped at once */
        }
    }
    assert_int_equal(nats_CloseAndWait(3000), NATS_OK);
    inbound_deinit(&inbound);
    uv_close((uv_handle_t *)&wake, NULL);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

/* Makes requests of a use until there is no place. Returns how many. */
static size_t fill_requests(struct requests *requests, enum wire_use use)
{
    size_t count = 0;
    uint64_t number;

    while ((number = requests_next(requests, use)) != 0) {
        requests_add(requests, number, use, 1000, NULL, NULL, 0);
        count++;
    }
    return count;
}

/* Each use may always have WIRE_RESERVED requests that wait. */
TEST(test_no_use_takes_all_places)
{
    static struct requests requests;
    uv_loop_t *loop = uv_default_loop();
    uint64_t first = 1;

    for (size_t use = 0; use < WIRE_USES; use++) {
        requests_init(&requests, loop);
        for (size_t i = 0; i < WIRE_USES; i++) {
            enum wire_use filled = (enum wire_use)((use + i) % WIRE_USES);

            assert_int_equal(fill_requests(&requests, filled),
                             i == 0 ? 2 * WIRE_RESERVED : WIRE_RESERVED);
        }
        assert_int_equal(requests.waiting, WIRE_REQUESTS_MAX);
        while (requests.slots[first % WIRE_REQUESTS_MAX].use != (enum wire_use)use) {
            first++;
        }
        requests_end(&requests, requests.slots[first % WIRE_REQUESTS_MAX].number, WIRE_SILENT,
                     NULL);
        assert_int_equal(fill_requests(&requests, (enum wire_use)use), 1);
        requests_stop(&requests);
        (void)uv_run(loop, UV_RUN_DEFAULT);
        memset(&requests, 0, sizeof(requests));
    }
    (void)uv_loop_close(loop);
}

static void count_again(void *context)
{
    (*(unsigned *)context)++;
}

/* What a host may have is bounded: messages, ids that are gone, and states that are none. All comes
 * again only when something may be taken then. */
TEST(test_a_host_has_a_bound)
{
    uv_loop_t loop;
    struct missing missing;
    unsigned again = 0;

    assert_int_equal(uv_loop_init(&loop), 0);
    missing_init(&missing, &loop, "lobby", count_again, &again);
    assert_true(missing_admits(&missing, true)); /* hearsayd has not said what it stores */
    missing_greeted(&missing, 10);
    missing.ids[true] = 20;
    missing.ids[false] = MISSING_GONE_MAX;
    assert_false(missing_admits(&missing, true));
    assert_false(missing_admits(&missing, false));
    missing.ids[false]--;
    assert_true(missing_admits(&missing, false));
    for (int i = 0; i < MISSING_ODD_MAX; i++) {
        missing_note_odd(&missing);
    }
    assert_int_equal(missing_beyond(&missing), 2);
    missing_note_odd(&missing);
    assert_int_equal(missing_beyond(&missing), 3);
    missing_settled(&missing);
    missing_greeted(&missing, 10);
    (void)uv_run(&loop, UV_RUN_ONCE);
    assert_int_equal(again, 0); /* nothing has room */
    missing.odd = 0;
    missing_greeted(&missing, 11);
    (void)uv_run(&loop, UV_RUN_ONCE);
    assert_int_equal(again, 1);
    assert_int_equal(missing_beyond(&missing), 3); /* until all has come */
    missing_settled(&missing);
    assert_int_equal(missing_beyond(&missing), 0);
    missing_note_no_room(&missing, 2);
    missing_settled(&missing);
    missing_greeted(&missing, 0);
    (void)uv_run(&loop, UV_RUN_ONCE);
    assert_int_equal(again, 2);
    assert_int_equal(missing_no_room(&missing), 2);
    missing_settled(&missing);
    assert_int_equal(missing_no_room(&missing), 0);
    missing_stop(&missing);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

/* --- the version of a nats-server --------------------------------------------------------------
 */

/* What the servers of a hub may say about themselves: what is no version is none, not 0.0.0. */
TEST(test_versions_of_servers)
{
    static const struct {
        const char *text;
        bool diverges;
        const char *written;
    } right[] = {
        {"2.9.10", true, "2.9.10"},
        {"v2.10.29", true, "2.10.29"},
        {"2.10", true, "2.10.0"},
        {"2.11.15", true, "2.11.15"},
        {"2.11.16", false, "2.11.16"},
        {"2.11.16-RC.1", true, "2.11.16 (early release)"},
        {"2.11.17-RC.1", false, "2.11.17 (early release)"},
        {"2.11.16+dfsg-1", false, "2.11.16"},
        {"2.12.0", false, "2.12.0"},
        {"2.15.1", false, "2.15.1"},
        {"3.0.0-beta", false, "3.0.0 (early release)"},
        {"1.4.1", true, "1.4.1"},
    };
    static const char *const wrong[] = {
        "",
        "v",
        "2",
        "2.",
        "2.x",
        ".9.10",
        " 2.9.10",
        "2.9.10 ",
        "+2.9.10",
        "2.-9.10",
        "2.9.10.1",
        "2.9.10-",
        "2.9.10-a b",
        "2.9.",
        "2.9.10RC",
        "vv2.9.1",
        "2.9.10-\xc3",
        "1e3.1.1",
        "0x2.9.1",
        "2.9.10%s",
        "99999999999999999999.1.1",
        "2.99999999999999999999.1",
        "garbage",
    };

    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
        struct hub_version version;
        char text[HUB_VERSION_BYTES];

        assert_true(hub_version_parse(right[i].text, &version));
        hub_version_text(&version, text);
        assert_string_equal(text, right[i].written);
        assert_int_equal(hub_version_diverges(&version), right[i].diverges);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct hub_version version = {.major = 77};

        assert_false(hub_version_parse(wrong[i], &version));
        assert_int_equal(version.major, 77);
    }
}

/* --- limits of summaries -----------------------------------------------------------------------
 */

/* The busiest honest peer is never dropped; a flood is, and only its own; and it ends by itself. */
TEST(test_summaries_have_a_limit)
{
    static struct summary_limit limit;
    unsigned admitted = 0;

    for (int64_t ms = 1000; ms < 61000; ms += 20) { /* 49 deltas a second, and a full summary */
        assert_true(summary_limit_admits(&limit, "busy", ms % 1000 == 0 ? 2600 : 200, ms));
        for (int i = 0; i < 60; i++) {
            admitted += summary_limit_admits(&limit, "flood", 1000, ms);
        }
    }
    assert_in_range(admitted, 6000, 7000 + 1);
    assert_int_equal(limit.dropped, 60 * 3000 - admitted);
    assert_string_equal(limit.over[0].host, "flood");
    assert_int_equal(limit.over[0].dropped, limit.dropped);
    assert_true(limit.over[1].host[0] == '\0');
    assert_true(summary_limit_admits(&limit, "flood", 1000, 62000));
    assert_true(summary_limit_is_over(&limit.over[0], 62000));
    assert_false(summary_limit_is_over(&limit.over[0], 61000 + SUMMARY_OVER_MS));
    assert_false(summary_limit_is_over(&limit.over[1], 62000));
    assert_true(summary_limit_admits(&limit, "large", SUMMARY_BYTES_MAX, 62000));
    assert_false(summary_limit_admits(&limit, "large", SUMMARY_BYTES_MAX + 1, 70000));
    for (int i = 0; i < 2 * SUMMARY_OVER_MAX; i++) { /* the latest are named */
        char name[24];

        (void)snprintf(name, sizeof(name), "host-%d", i);
        assert_false(summary_limit_admits(&limit, name, SUMMARY_BYTES_MAX + 1, 80000 + i));
    }
    for (size_t i = 0; i < SUMMARY_OVER_MAX; i++) {
        assert_true(limit.over[i].last_ms >= 80000 + SUMMARY_OVER_MAX);
    }
}
