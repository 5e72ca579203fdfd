/* SPDX-License-Identifier: Apache-2.0 */
/* What a reader makes of the answers of its hearsayd; hearsayd and the wire are the test's. */
#include "client/bridge/hub/inner.h"

#include "proto/codec/letter.h"
#include "tests/lib/check.h"

typedef void wire_take(void *context, const struct wire_message *message);

static struct {
    near_done *done; /* of the last request */
    void *context;
    uint64_t store;
    wire_take *take;
    struct bytes published;
} fake;

int __wrap_near_ask(struct near *near, const struct hearsay_request *request, near_done *done,
                    void *context);
bool __wrap_near_is_up(const struct near *near);
uint64_t __wrap_near_store(const struct near *near);
void __wrap_near_forget(struct near *near, const void *context);
struct wire_subscription *__wrap_wire_subscribe(struct wire *wire, const char *subject,
                                                wire_take *take, void *context);
void __wrap_wire_unsubscribe(struct wire_subscription *subscription);
bool __wrap_wire_publish(struct wire *wire, const struct wire_letter *letter);
const char *__wrap_reader_host(const struct reader *reader);
bool __wrap_reader_is_current(const struct reader *reader);
bool __wrap_reader_is_whole(const struct reader *reader);

int __wrap_near_ask(struct near *near, const struct hearsay_request *request, near_done *done,
                    void *context)
{
    (void)near;
    (void)request;
    fake.done = done;
    fake.context = context;
    return HEARSAY_OK;
}

bool __wrap_near_is_up(const struct near *near)
{
    (void)near;
    return true;
}

uint64_t __wrap_near_store(const struct near *near)
{
    (void)near;
    return fake.store;
}

void __wrap_near_forget(struct near *near, const void *context)
{
    (void)near;
    (void)context;
}

struct wire_subscription *__wrap_wire_subscribe(struct wire *wire, const char *subject,
                                                wire_take *take, void *context)
{
    static char subscription;

    (void)wire;
    (void)subject;
    (void)context;
    fake.take = take;
    return (struct wire_subscription *)(void *)&subscription;
}

void __wrap_wire_unsubscribe(struct wire_subscription *subscription)
{
    (void)subscription;
}

bool __wrap_wire_publish(struct wire *wire, const struct wire_letter *letter)
{
    (void)wire;
    return bytes_append(&fake.published, letter->data, letter->size) == 0;
}

const char *__wrap_reader_host(const struct reader *reader)
{
    (void)reader;
    return "lobby";
}

bool __wrap_reader_is_current(const struct reader *reader)
{
    (void)reader;
    return true;
}

bool __wrap_reader_is_whole(const struct reader *reader)
{
    (void)reader;
    return true;
}

static const uint8_t id[LIMIT_ID_BYTES] = {1};

static void encode(const struct msg_letter *letter, struct bytes *bytes)
{
    bytes_init(bytes, alloc_system());
    assert_int_equal(letter_encode(letter, bytes), 0);
}

static void end_loop(uv_loop_t *loop)
{
    assert_int_equal(uv_run(loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(loop), 0);
}

/* --- the queue -------------------------------------------------------------------------------- */

static void on_no_room(void *context, uint32_t messages)
{
    (void)context;
    (void)messages;
}

static void on_moved(void *context)
{
    (void)context;
}

/* Adds a word of the store 7, and has hearsayd refuse it for a reason of its own. */
static void add_refused(struct queue *queue)
{
    const struct msg_letter letter = {
        .kind = MSG_LETTER_CHANGE,
        .change = {.has_gone = true,
                   .gone = {.id = {id, sizeof(id)}, .until_ms = 9, .why = HEARSAY_WAS_REMOVED}}};
    const struct state state = {.store = 7};
    const struct hearsay_error full = {.sentence = "the disk is full"};
    struct bytes bytes;

    fake.store = 1;
    encode(&letter, &bytes);
    assert_true(queue_add(queue, &state, bytes.data, bytes.count, true));
    bytes_deinit(&bytes);
    queue_go(queue);
    fake.done(fake.context, NULL, &full);
    assert_string_equal(queue->error, "the disk is full");
}

/* The error ends when the queue is empty. Otherwise `status` would show it for days. */
TEST(test_an_empty_queue_has_no_error)
{
    static const struct queue_events events = {on_no_room, on_moved};
    const struct hearsay_error odd = {.sentence = "too large", .field = "changes.message"};
    struct queue queue;
    uv_loop_t loop;

    assert_int_equal(uv_loop_init(&loop), 0);
    queue_init(&queue, &loop, NULL, "lobby", &events, NULL);
    add_refused(&queue);
    queue_go(&queue);
    fake.done(fake.context, NULL, &odd);
    assert_int_equal(queue.left_out, 1);
    assert_int_equal(queue.count, 0);
    assert_string_equal(queue.error, "");
    add_refused(&queue);
    fake.store = 7; /* of the operator here */
    queue_go(&queue);
    assert_int_equal(queue.count, 0);
    assert_string_equal(queue.error, "");
    queue_stop(&queue);
    end_loop(&loop);
    queue_deinit(&queue);
}

/* --- pages ------------------------------------------------------------------------------------ */

/* Each access point reads pages strictly: one unknown value would make the page unreadable. */
TEST(test_a_page_has_known_reasons)
{
    const struct hearsay_change change = {
        .seq = 3,
        .has_gone = true,
        .gone = {.id = {id, sizeof(id)}, .until_ms = 9, .why = (enum hearsay_why)9}};
    const struct hearsay_reply reply = {
        .response = {.kind = HEARSAY_RESPONSE_CHANGED,
                     .changed = {.changes = &change, .change_count = 1, .next = 3}}};
    struct msg_letter letter = {.kind = MSG_LETTER_PAGE_ASK, .page_ask = {.kind = MSG_PAGE_STATES}};
    struct wire_message message = {.subject = "", .reply = "_INBOX_lobby.1"};
    struct msg_error error;
    struct pages *pages;
    struct arena arena;
    struct bytes bytes;
    uv_loop_t loop;

    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(
        pages_new(&(struct reader_shared){.loop = &loop, .name = "reader"}, NULL, &pages), 0);
    encode(&letter, &bytes);
    message.data = bytes.data;
    message.size = bytes.count;
    bytes_init(&fake.published, alloc_system());
    fake.take(pages, &message);
    fake.done(fake.context, &reply, NULL);
    arena_init(&arena, alloc_system(), 1 << 20);
    assert_int_equal(
        letter_decode(fake.published.data, fake.published.count, &arena, &letter, &error), 0);
    assert_int_equal(letter.page.change_count, 1);
    assert_int_equal(letter.page.changes[0].seq, 3);
    assert_int_equal(letter.page.changes[0].gone.why, HEARSAY_WAS_REMOVED);
    arena_deinit(&arena);
    bytes_deinit(&fake.published);
    bytes_deinit(&bytes);
    pages_stop(pages);
    end_loop(&loop);
    pages_free(pages);
}
