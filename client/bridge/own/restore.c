/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/own/inner.h"

#include <string.h>

enum { RETRY_MS = 2000, JOBS_MAX = 2, ROOM_MOST_MS = 8 * 60 * 1000 };

static void continue_restore(struct restore *restore);

static void on_retry(uv_timer_t *timer)
{
    continue_restore(timer->data);
}

static void try_later(struct restore *restore, const char *why)
{
    uint64_t withheld;

    (void)snprintf(restore->error, sizeof(restore->error), "%.250s", why);
    if (restore->is_restore &&
        log_gate_opens(&restore->gate, (int64_t)uv_now(restore->retry.loop), &withheld)) {
        log_info("host %s: cannot be restored yet: %s; trying on", restore->pages.host, why);
    }
    (void)uv_timer_start(&restore->retry, on_retry,
                         restore->is_restore ? RETRY_MS : bridge_head_ms(), 0);
}

/* --- without room ----------------------------------------------------------------------------- */

/* What `status` says while states come. */
static void set_error(struct restore *restore)
{
    restore->error[0] = '\0';
    if (restore->no_room > 0) {
        (void)snprintf(restore->error, sizeof(restore->error),
                       "%llu message%s no room here: raise `messages` and `bytes` of the host, "
                       "or of [limits], in hearsayd.conf",
                       (unsigned long long)restore->no_room,
                       restore->no_room == 1 ? " has" : "s have");
    }
}

static void begin_round(struct restore *restore)
{
    restore->after = 0;
    restore->has_more = true;
    restore->no_room_before = restore->apply->no_room;
    restore->stage = RESTORE_STATES;
}

/* Some messages had no room. If the host counted as restored, its owner would lose them: so all
 * comes once more, until all has room. False: all had room. */
static bool wait_for_room(struct restore *restore)
{
    uint64_t withheld;

    restore->no_room = restore->apply->no_room - restore->no_room_before;
    if (restore->no_room == 0) {
        return false;
    }
    begin_round(restore);
    set_error(restore);
    if (log_gate_opens(&restore->room_gate, (int64_t)uv_now(restore->retry.loop), &withheld)) {
        log_warning("host %s: it is not restored: %s; trying on", restore->pages.host,
                    restore->error);
    }
    (void)uv_timer_start(&restore->retry, on_retry, restore->room_wait_ms, 0);
    restore->room_wait_ms *= restore->room_wait_ms < ROOM_MOST_MS ? 2 : 1;
    return true;
}

/* --- stages ----------------------------------------------------------------------------------- */

/* The states are followed by the words, and the words of a restore by the mark. */
static void end_stage(struct restore *restore)
{
    bool was_restore = restore->is_restore;

    restore->after = 0;
    if (restore->stage == RESTORE_STATES) {
        restore->stage = RESTORE_WORDS;
        continue_restore(restore);
    } else if (restore->stage == RESTORE_WORDS && was_restore) {
        if (!wait_for_room(restore)) {
            restore->stage = RESTORE_MARK;
            continue_restore(restore);
        }
    } else {
        restore->stage = RESTORE_IDLE;
        restore->error[0] = '\0';
        restore->done(restore->context, was_restore);
        if (restore->wants_words) {
            restore_words(restore);
        }
    }
}

/* Asks for the next page while hearsayd works on this one. */
static void go_on(struct restore *restore)
{
    if (restore->is_asking || restore->stage == RESTORE_IDLE ||
        uv_is_active((uv_handle_t *)&restore->retry)) {
        return;
    }
    if (restore->has_more && restore->jobs < JOBS_MAX) {
        continue_restore(restore);
    } else if (!restore->has_more && restore->jobs == 0) {
        end_stage(restore);
    }
}

static void on_applied(void *context, bool is_applied, const char *why)
{
    struct restore *restore = context;

    restore->jobs--;
    if (restore->stage == RESTORE_IDLE) {
        return;
    }
    if (is_applied) {
        go_on(restore);
    } else { /* applying a state twice does no harm */
        restore->after = 0;
        restore->has_more = true;
        try_later(restore, why);
    }
}

/* The hub may have been lost meanwhile, and even have come back: the host is restored anyway. */
static void on_marked(void *context, bool is_applied, const char *why)
{
    struct restore *restore = context;

    if (!is_applied) {
        on_applied(context, false, why);
        return;
    }
    restore->jobs--;
    restore->is_marked = true;
    if (restore->stage != RESTORE_IDLE && restore->is_restore) {
        restore_end(restore);
        restore->stage = RESTORE_MARK;
        end_stage(restore);
    }
}

static int push_page(struct restore *restore, const struct msg_page *page, enum hearsay_apply_as as)
{
    bool is_mark = restore->stage == RESTORE_MARK;

    restore->jobs++; /* the answer may come at once */
    int rc = apply_push(restore->apply, page->changes, page->change_count, as, is_mark,
                        is_mark ? on_marked : on_applied, restore);
    restore->jobs -= rc != 0;
    return rc;
}

/* No reader answers, and perhaps there is none: the host begins with what it has. */
static void give_up(struct restore *restore)
{
    log_info("host %s: no reader has answered: if there are copies, `hearsay-bridge take %s` gets "
             "them back",
             restore->pages.host, restore->pages.host);
    restore->gives_up_ms = 0;
    restore->wants_words = true;
    restore->stage = RESTORE_MARK;
    continue_restore(restore);
}

static void on_page(void *context, const struct msg_page_ask *ask, const struct msg_page *page,
                    const char *why)
{
    struct restore *restore = context;
    enum hearsay_apply_as as =
        ask->kind == MSG_PAGE_STATES ? HEARSAY_AS_RESTORE : HEARSAY_AS_OPERATOR;

    restore->is_asking = false;
    if (page == NULL && restore->gives_up_ms != 0 &&
        uv_now(restore->retry.loop) >= restore->gives_up_ms) {
        give_up(restore);
        return;
    }
    if (page == NULL) {
        try_later(restore, why);
        return;
    }
    restore->gives_up_ms = 0;
    if (ask->after != restore->after) { /* a page before it has failed: all begins again */
        go_on(restore);
        return;
    }
    set_error(restore);
    restore->has_more = page->more && page->next > restore->after;
    restore->after = page->next;
    if (page->change_count > 0 && push_page(restore, page, as) != 0) {
        restore->after = ask->after;
        restore->has_more = true;
        try_later(restore, "too much waits for hearsayd");
        return;
    }
    if (ask->kind == MSG_PAGE_STATES && restore->no_room == 0) {
        restore->states += page->change_count;
    }
    go_on(restore);
}

static void continue_restore(struct restore *restore)
{
    struct msg_page_ask ask = {.kind = restore->stage == RESTORE_STATES ? MSG_PAGE_STATES
                                                                        : MSG_PAGE_WORDS,
                               .after = restore->after,
                               .limit = LIMIT_CHANGES};

    struct msg_page nothing = {.change_count = 0};

    (void)uv_timer_stop(&restore->retry);
    if (restore->stage == RESTORE_MARK) {
        restore->has_more = false;
        if (push_page(restore, &nothing, HEARSAY_AS_RESTORE) != 0) {
            try_later(restore, "too much waits for hearsayd");
        }
    } else if (restore->stage != RESTORE_IDLE && !restore->is_asking) {
        restore->is_asking = pages_ask(&restore->pages, &ask);
        if (!restore->is_asking) {
            try_later(restore, "the hub takes no request now");
        }
    }
}

void restore_init(struct restore *restore, uv_loop_t *loop, struct wire *wire, struct apply *apply,
                  const char *host, void (*done)(void *context, bool was_restore), void *context)
{
    memset(restore, 0, sizeof(*restore));
    (void)uv_timer_init(loop, &restore->retry); /* never fails */
    restore->retry.data = restore;
    restore->apply = apply;
    restore->done = done;
    restore->context = context;
    restore->pages =
        (struct pages){.wire = wire, .host = host, .done = on_page, .context = restore};
}

void restore_end(struct restore *restore)
{
    wire_forget(restore->pages.wire, &restore->pages);
    (void)uv_timer_stop(&restore->retry);
    restore->is_asking = false;
    restore->stage = RESTORE_IDLE;
}

void restore_stop(struct restore *restore)
{
    restore_end(restore);
    uv_close((uv_handle_t *)&restore->retry, NULL);
}

void restore_begin(struct restore *restore, enum claim_copies copies)
{
    uint64_t now_ms = uv_now(restore->retry.loop);

    restore_end(restore);
    restore->wants_words = copies == CLAIM_NO_COPIES;
    restore->gives_up_ms = copies == CLAIM_MAYBE_COPIES ? now_ms + bridge_head_ms() : 0;
    restore->is_restore = true;
    restore->no_room = 0;
    restore->room_wait_ms = bridge_head_ms();
    begin_round(restore);
    restore->stage = copies == CLAIM_NO_COPIES ? RESTORE_MARK : RESTORE_STATES;
    continue_restore(restore);
}

void restore_words(struct restore *restore)
{
    restore_words_later(restore);
    if (!restore->is_restore && restore->stage == RESTORE_WORDS && !restore->wants_words) {
        continue_restore(restore);
    }
}

void restore_poll(struct restore *restore)
{
    if (restore->stage == RESTORE_IDLE) {
        restore_words(restore);
    }
}

void restore_words_later(struct restore *restore)
{
    restore->wants_words = restore->stage != RESTORE_IDLE;
    if (restore->stage == RESTORE_IDLE) {
        restore->is_restore = false;
        restore->after = 0;
        restore->has_more = true;
        restore->stage = RESTORE_WORDS;
        (void)uv_timer_start(&restore->retry, on_retry, bridge_head_ms(), 0);
    }
}
