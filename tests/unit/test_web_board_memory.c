/* SPDX-License-Identifier: Apache-2.0 */
/* The board where memory fails, against a hearsayd that the test scripts. */
#include "core/base/err.h"
#include "tests/unit/web_board_fixture.h"

/* Of the thread of hearsay-web, not of hearsayd. */
static _Thread_local unsigned fail_at;   /* the allocation that fails, counted from 1; 0: none */
static _Thread_local void *blocks[4096]; /* that are not freed; of other libraries none */
static _Thread_local size_t block_count;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
char *__real_strdup(const char *text);
void __real_free(void *block);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);
char *__wrap_strdup(const char *text);
void __wrap_free(void *block);

static bool memory_fails(void)
{
    return fail_at > 0 && --fail_at == 0;
}

static void *noted(void *block)
{
    if (block != NULL) {
        assert_true(block_count < sizeof(blocks) / sizeof(blocks[0]));
        blocks[block_count++] = block;
    }
    return block;
}

static void forgotten(const void *block)
{
    for (size_t i = 0; i < block_count; i++) {
        if (blocks[i] == block) {
            blocks[i] = blocks[--block_count];
            return;
        }
    }
}

void *__wrap_malloc(size_t bytes)
{
    return memory_fails() ? NULL : noted(__real_malloc(bytes));
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return memory_fails() ? NULL : noted(__real_calloc(count, bytes));
}

void *__wrap_realloc(void *block, size_t bytes)
{
    if (memory_fails()) {
        return NULL;
    }
    forgotten(block);
    void *moved = __real_realloc(block, bytes);
    (void)noted(moved != NULL ? moved : block);
    return moved;
}

char *__wrap_strdup(const char *text)
{
    return memory_fails() ? NULL : noted(__real_strdup(text));
}

void __wrap_free(void *block)
{
    forgotten(block);
    __real_free(block);
}

/* Whether the allocation that was to fail has failed. */
static bool has_failed(void)
{
    return fail_at == 0;
}

/* Asks for everything that a board does, and waits until all are told. */
static void ask_everything(struct web_board *fixture)
{
    const struct http_address client = web_board_phone(7);
    const struct view view = web_board_tea();
    struct web_board_watcher watcher = {.begun = 0};
    struct board_write write = {.kind = BOARD_WITHDRAW,
                                .client = client,
                                .host = "",
                                .id = web_board_id,
                                .token = web_board_token};
    struct web_board_told told[6];
    memset(told, 0, sizeof(told));

    struct board_watch *watch = board_watch(fixture->board, &view, &web_board_events, &watcher);
    board_list(fixture->board, &view, NULL, web_board_on_done, &told[0]);
    board_get(fixture->board, "", web_board_id, &client, web_board_on_done, &told[1]);
    board_place(fixture->board, "", &client, web_board_on_done, &told[2]);
    web_board_leave(fixture, 7, &told[3]);
    board_write(fixture->board, &write, web_board_on_done, &told[4]);
    write.kind = BOARD_REPORT;
    write.report_kind = HEARSAY_REPORT_SPAM;
    write.text = "spam";
    board_write(fixture->board, &write, web_board_on_done, &told[5]);
    for (unsigned i = 0; i < 6; i++) {
        web_board_wait(fixture, &told[i]);
    }
    WEB_BOARD_WHILE(fixture, watch != NULL && watcher.begun == 0 && watcher.ended == 0);
    if (watcher.ended == 0) {
        board_unwatch(watch);
    }
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(told[i].count, 1);
        assert_true(has_failed() || told[i].outcome == BOARD_DONE);
    }
}

/* A board whose n-th allocation fails. Returns whether there were as many. */
static bool live_with_failure(unsigned n)
{
    struct web_board fixture;

    web_board_prepare(&fixture);
    const struct board_options options = {.loop = &fixture.loop,
                                          .server = fixture.server.path,
                                          .cache_ms = WEB_BOARD_CACHE_MS,
                                          .per_page = WEB_BOARD_PER_PAGE,
                                          .views = 4,
                                          .upstreams = 2};
    block_count = 0;
    fail_at = n;
    int rc = board_new(&options, &fixture.board);
    if (rc == 0) {
        WEB_BOARD_WHILE(&fixture, !board_is_connected(fixture.board) && !has_failed());
        ask_everything(&fixture);
    } else {
        assert_int_equal(rc, -ERR_NOMEM);
        assert_true(has_failed());
        fixture.board = NULL;
    }
    bool was_reached = has_failed();
    fail_at = 0;
    web_board_stop(&fixture);
    assert_int_equal(block_count, 0);
    return was_reached;
}

/* Each allocation fails in turn: everybody is told, once, and nothing is lost. */
TEST(test_no_memory)
{
    unsigned n = 1;
    while (live_with_failure(n)) {
        n++;
    }
    print_message("%u allocations failed, each in its turn\n", n - 1);
    assert_true(n > 20);
}
