/* SPDX-License-Identifier: Apache-2.0 */
/* What the host has: from hearsayd, and on to the neighbours. */
#include <string.h>

#include "client/bridge/ask/home.h"
#include "client/bridge/wire/subject.h"
#include "core/base/least.h"
#include "proto/codec/letter.h"

enum {
    FEED_WAIT_MS = 2000,           /* less than LINK_SILENCE_MS; as_of_ms may be so old */
    GROUPS_REPEAT_MS = 2000,       /* between the full words after joining */
    GROUPS_AGE_MS = 10 * 60 * 1000 /* so old groups have messages that have gone */
};

void home_note_trouble(struct home *home, const char *what, const char *why)
{
    uint64_t withheld;

    (void)snprintf(home->error, sizeof(home->error), "%.250s", why);
    if (log_gate_opens(&home->gate, (int64_t)uv_now(home->loop), &withheld)) {
        log_warning("host %s: %s: %s; trying on", home->host->name, what, why);
    }
}

static int64_t clock_of(const struct home *home)
{
    return hearsay_now_ms(link_server(home->link)) + home->clock_shift_ms;
}

/* --- words ------------------------------------------------------------------------------------ */

static bool publish_word(struct home *home, const struct msg_peer_summary *word)
{
    struct msg_letter letter = {.kind = MSG_LETTER_PEER_SUMMARY, .peer_summary = *word};
    char subject[SUBJECT_BYTES];
    struct bytes bytes;

    subject_summary(home->host->hood, home->host->name, subject);
    bytes_init(&bytes, alloc_system());
    bool is_sent = letter_encode(&letter, &bytes) == 0;
    struct wire_letter sent = {.subject = subject, .data = bytes.data, .size = bytes.count};

    is_sent = is_sent && wire_publish(home->wire, &sent);
    bytes_deinit(&bytes);
    return is_sent;
}

/* Tells the neighbours the next word. */
static void tell_word(struct home *home)
{
    struct hearsay_summary_group groups[GROUPS_MAX];
    struct msg_peer_summary word;

    told_write(&home->told, &word, groups);
    word.store_id =
        (struct hearsay_bytes){hearsay_welcome(link_server(home->link))->store_id, LIMIT_ID_BYTES};
    word.profile = (struct hearsay_text){home->profile, strlen(home->profile)};
    word.as_of_ms = home->as_of_ms;
    if (!publish_word(home, &word)) {
        told_forget(&home->told);
        due_want(&home->due, uv_now(home->loop), DUE_GAP_MS);
        return;
    }
    home->full += word.full ? 1 : 0;
    home->deltas += !word.full && word.group_count > 0 ? 1 : 0;
    home->keepalives += !word.full && word.group_count == 0 ? 1 : 0;
    if (word.full && home->repeats > 0) {
        home->repeats--;
        due_want(&home->due, uv_now(home->loop), GROUPS_REPEAT_MS);
    }
    told_sent(&home->told);
    due_told(&home->due, uv_now(home->loop));
}

/* --- requests --------------------------------------------------------------------------------- */

static uint64_t submit_request(struct home *home, struct hearsay_request *request)
{
    struct hearsay_error error;
    uint64_t ticket = 0;

    if (hearsay_submit(link_server(home->link), request, &ticket, &error) != HEARSAY_OK) {
        home_note_trouble(home, "hearsayd cannot be asked", error.sentence);
        return 0;
    }
    link_submitted(home->link);
    return ticket;
}

static struct hearsay_text name_of(const struct home *home)
{
    return (struct hearsay_text){home->host->name, strlen(home->host->name)};
}

static void ask_groups(struct home *home)
{
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_SUMMARY,
                                      .summary = {.host = name_of(home), .groups = 1}};

    home->groups.asked_ms = clock_of(home);
    home->groups.ticket = submit_request(home, &request);
    due_begin(&home->due);
    if (home->groups.ticket == 0) {
        due_hold(&home->due, uv_now(home->loop), HOME_RETRY_MS);
    }
}

static void ask_changes(struct home *home)
{
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_CHANGES,
                                      .changes = {.host = name_of(home),
                                                  .after = home->cursor,
                                                  .wait_ms = FEED_WAIT_MS,
                                                  .no_copy = true}};

    home->changes.asked_ms = clock_of(home);
    home->changes.after = home->cursor;
    home->changes.ticket = submit_request(home, &request);
    home->changes_due_ms = home->changes.ticket != 0 ? 0 : uv_now(home->loop) + HOME_RETRY_MS;
}

/* hearsayd's clock may have been corrected since its greeting. */
static void ask_clock(struct home *home)
{
    struct hearsay_request request = {.kind = HEARSAY_REQUEST_PING};

    home->ping.ticket = submit_request(home, &request);
}

/* --- answers ---------------------------------------------------------------------------------- */

/* A host with `summary_groups = 0` tells one group that may hold anything: neighbours ask it each
 * time. */
static bool begin_told(struct home *home, const struct hearsay_summarized *summarized)
{
    uint8_t ones[LIMIT_FILTER_BYTES];
    const struct profile *profile = &home->told.profile;
    struct hearsay_summary_group all = {.union_filter = {ones, profile->bits / 8},
                                        .least_count = profile->section_count,
                                        .most_count = profile->section_count,
                                        .count = summarized->count,
                                        .newest_ms = INT64_MAX / 2};
    bool is_any = summarized->group_count == 0 && summarized->count > 0;

    memset(ones, 0xff, sizeof(ones));
    for (uint32_t s = 0; s < profile->section_count; s++) {
        all.most[s] = profile->sections[s].bits;
    }
    return told_begin(&home->told, is_any ? &all : summarized->groups,
                      is_any ? 1 : summarized->group_count, summarized->seq);
}

static void take_groups(struct home *home, const struct hearsay_response *response)
{
    home->groups.ticket = 0;
    if (response->kind == HEARSAY_RESPONSE_ERROR) {
        uint64_t later_ms = response->error.retry_after_ms;

        due_hold(&home->due, uv_now(home->loop), later_ms > 0 ? later_ms : HOME_RETRY_MS);
        if (response->error.code != HEARSAY_CODE_RATE_LIMITED) {
            home_note_trouble(home, "hearsayd gives no groups", response->error.message);
        }
        return;
    }
    if (response->kind != HEARSAY_RESPONSE_SUMMARIZED || !begin_told(home, &response->summarized)) {
        home_note_trouble(home, "hearsayd gives no groups", "they do not fit the profile");
        due_hold(&home->due, uv_now(home->loop), HOME_RETRY_MS);
        return;
    }
    due_made(&home->due, uv_now(home->loop));
    home->cursor = response->summarized.seq;
    home->as_of_ms = home->groups.asked_ms;
}

static void add_changes(struct home *home, const struct hearsay_changed *changed)
{
    for (size_t i = 0; i < changed->change_count; i++) {
        const struct hearsay_exported_message *message = &changed->changes[i].message;

        /* 0 and 1: shown, and approved; others are not found */
        if (changed->changes[i].has_message && message->epoch == 0 && message->state <= 1) {
            told_add(&home->told, message->filter.data, message->filter.count,
                     message->deposited_ms);
        }
    }
    home->cursor = changed->next;
    if (told_has_time(&home->told)) {
        due_show(&home->due, uv_now(home->loop), 0);
    }
    if (!changed->more) {
        told_reach(&home->told, changed->next);
        home->as_of_ms = home->changes.asked_ms;
    }
}

static void take_changes(struct home *home, const struct hearsay_response *response)
{
    home->changes.ticket = 0;
    if (response->kind == HEARSAY_RESPONSE_CHANGED) {
        /* one that was asked before the groups came may be of a later cursor */
        if (home->changes.after == home->cursor) {
            home->error[0] = '\0';
            add_changes(home, &response->changed);
        }
        return;
    }
    home_note_trouble(home, "hearsayd gives no changes, so its neighbours do not find it",
                      response->kind == HEARSAY_RESPONSE_ERROR ? response->error.message
                                                               : "a wrong answer");
    told_forget(&home->told);
    due_want(&home->due, uv_now(home->loop), HOME_RETRY_MS);
    home->changes_due_ms = uv_now(home->loop) + HOME_RETRY_MS;
}

static void take_pong(struct home *home, const struct hearsay_response *response)
{
    home->ping.ticket = 0;
    if (response->kind == HEARSAY_RESPONSE_PONG) {
        home->clock_shift_ms = response->pong.now_ms - hearsay_now_ms(link_server(home->link));
    }
}

/* --- what is due ------------------------------------------------------------------------------ */

static void on_turn(uv_timer_t *timer)
{
    home_take_turn(timer->data);
}

/* When a word is due that has no news: UINT64_MAX: never. */
static uint64_t keepalive_due_ms(const struct home *home)
{
    return home->told.has_full
               ? least_u64(home->due.told_ms + home->keepalive_ms, home->due.word_ms)
               : UINT64_MAX;
}

static void keep_alive(struct home *home, uint64_t now)
{
    if (now < keepalive_due_ms(home)) {
        return;
    }
    tell_word(home);
    if (home->ping.ticket == 0) {
        ask_clock(home);
    }
    if (now >= home->due.last_ms + GROUPS_AGE_MS) {
        due_want(&home->due, now, 0);
    }
}

void home_take_turn(struct home *home)
{
    uint64_t now = uv_now(home->loop);

    if (!home->is_greeted || !wire_is_joined(home->wire) || home->is_silent) {
        return;
    }
    if (told_wants_groups(&home->told)) {
        due_want(&home->due, now, 0);
    }
    if (home->groups.ticket == 0 && now >= home->due.full_ms) {
        ask_groups(home);
    }
    if (told_has_news(&home->told)) {
        tell_word(home);
    } else if (!told_waits_for_groups(&home->told)) {
        keep_alive(home, now);
    }
    if (home->told.is_begun && home->changes.ticket == 0 && now >= home->changes_due_ms) {
        ask_changes(home);
    }
    uint64_t next = home->groups.ticket == 0 ? home->due.full_ms : UINT64_MAX;
    if (home->changes.ticket == 0 && home->changes_due_ms > 0) {
        next = least_u64(next, home->changes_due_ms);
    }
    next = least_u64(next, keepalive_due_ms(home));
    if (next != UINT64_MAX) {
        (void)uv_timer_start(&home->turn, on_turn, next > now ? next - now : 1, 0);
    }
}

/* --- answers of hearsayd ---------------------------------------------------------------------- */

void home_take_response(struct home *home, const struct hearsay_response *response)
{
    if (response->id == home->groups.ticket) {
        take_groups(home, response);
    } else if (response->id == home->changes.ticket) {
        take_changes(home, response);
    } else if (response->id == home->ping.ticket) {
        take_pong(home, response);
    } else {
        (void)answers_respond(&home->answers, response, (int64_t)uv_now(home->loop));
        return;
    }
    home_take_turn(home);
}
