/* SPDX-License-Identifier: Apache-2.0 */
/* What of a page of changes is sent to the hub; the wire is the test's. */
#include "client/bridge/own/inner.h"

#include "client/bridge/wire/subject.h"
#include "proto/codec/letter.h"
#include "tests/lib/check.h"

enum { SENT_MAX = 8 };

static struct {
    char subject[SUBJECT_BYTES];
    bool is_gone;
    enum hearsay_why why;
} sent[SENT_MAX];
static size_t sent_count;
static wire_done *done_request;
static void *request_context;
static unsigned pages_done;

bool __wrap_wire_request(struct wire *wire, const struct wire_letter *letter, uint32_t timeout_ms,
                         wire_done *done, void *context, uint64_t tag);
void __wrap_wire_forget(struct wire *wire, const void *context);

bool __wrap_wire_request(struct wire *wire, const struct wire_letter *letter, uint32_t timeout_ms,
                         wire_done *done, void *context, uint64_t tag)
{
    struct arena arena;
    struct msg_letter read;
    struct msg_error error;

    (void)wire;
    (void)timeout_ms;
    (void)tag;
    assert_true(sent_count < SENT_MAX);
    arena_init(&arena, alloc_system(), 1 << 20);
    assert_int_equal(letter_decode(letter->data, letter->size, &arena, &read, &error), 0);
    assert_int_equal(read.kind, MSG_LETTER_CHANGE);
    (void)snprintf(sent[sent_count].subject, SUBJECT_BYTES, "%s", letter->subject);
    sent[sent_count].why = read.change.gone.why;
    sent[sent_count++].is_gone = read.change.has_gone;
    arena_deinit(&arena);
    done_request = done;
    request_context = context;
    return true;
}

void __wrap_wire_forget(struct wire *wire, const void *context)
{
    (void)wire;
    (void)context;
}

static void on_page_done(void *context)
{
    (void)context;
    pages_done++;
}

static const uint8_t ids[2][LIMIT_ID_BYTES] = {{1}, {2}};

static struct hearsay_change gone(uint64_t seq, const uint8_t *id)
{
    return (struct hearsay_change){
        .seq = seq,
        .has_gone = true,
        .gone = {.id = {id, LIMIT_ID_BYTES}, .until_ms = 500, .why = HEARSAY_WAS_EVICTED}};
}

static struct hearsay_change message(uint64_t seq, const uint8_t *id)
{
    static const uint8_t filter[64] = {1};
    struct hearsay_change change = {.seq = seq, .has_message = true};

    change.message.id.data = id;
    change.message.id.count = LIMIT_ID_BYTES;
    change.message.filter.data = filter;
    change.message.filter.count = sizeof(filter);
    change.message.deposited_ms = 1;
    change.message.expires_ms = 400;
    return change;
}

/*
 * A page has the eviction of a message and then the message, which was stored again. If both were
 * sent, and only the answer about the first one were lost, it would be sent again and be the last
 * state at the hub.
 */
TEST(test_the_last_state_of_a_page_is_sent)
{
    static const char answer[] = "{\"stream\":\"states\",\"seq\":1}";
    const struct wire_message acknowledged = {.data = (const uint8_t *)answer,
                                              .size = sizeof(answer) - 1};
    struct hearsay_change changes[] = {gone(1, ids[0]), message(2, ids[1]), message(3, ids[0])};
    char subject[SUBJECT_BYTES];
    uv_loop_t loop;
    struct publish *publish;

    assert_int_equal(uv_loop_init(&loop), 0);
    publish =
        publish_new(&(struct publish_options){.loop = &loop, .host = "ap1", .done = on_page_done});
    assert_non_null(publish);
    assert_int_equal(publish_begin(publish, changes, 3), 0);
    assert_int_equal(sent_count, 2);
    assert_int_equal(publish_waiting(publish), 2);
    subject_state("ap1", ids[0], subject);
    for (size_t i = 0; i < sent_count; i++) {
        assert_false(sent[i].is_gone);
    }
    assert_string_equal(sent[0].subject, subject);
    subject_state("ap1", ids[1], subject);
    assert_string_equal(sent[1].subject, subject);
    for (uint64_t tag = 0; tag < 2; tag++) {
        assert_int_equal(pages_done, 0);
        done_request(request_context, tag, WIRE_ANSWERED, &acknowledged);
    }
    assert_int_equal(pages_done, 1);
    publish_stop(publish);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&loop), 0);
    publish_free(publish);
}

/* Each reader reads letters strictly, and would keep the message. */
TEST(test_a_reason_of_a_later_version_is_published_as_removed)
{
    struct hearsay_change change = gone(1, ids[0]);
    uv_loop_t loop;
    struct publish *publish;

    sent_count = 0;
    change.gone.why = (enum hearsay_why)9;
    assert_int_equal(uv_loop_init(&loop), 0);
    publish =
        publish_new(&(struct publish_options){.loop = &loop, .host = "ap1", .done = on_page_done});
    assert_non_null(publish);
    assert_int_equal(publish_begin(publish, &change, 1), 0);
    assert_int_equal(sent_count, 1);
    assert_int_equal(sent[0].why, HEARSAY_WAS_REMOVED);
    publish_stop(publish);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&loop), 0);
    publish_free(publish);
}
