/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/own/inner.h"

#include <stdlib.h>
#include <string.h>

enum {
    LINK_RETRY_MS = 1000,
    FEED_WAIT_MS = 5000 /* less than LINK_SILENCE_MS */
};

struct host {
    uv_loop_t *loop;
    const struct bridge_config *config;
    const char *name;
    struct wire *wire;
    uv_timer_t retry; /* of the link, and of the feed */
    struct link *link;
    bool is_greeted;
    bool is_stopping;
    char error[WIRE_ERROR_BYTES]; /* of hearsayd */
    char cursor_error[WIRE_ERROR_BYTES];
    struct log_gate gate;
    struct cursor cursor;
    struct cursor before; /* of another store, as the file has it */
    bool is_restored;     /* the store comes from the hub, and may have no head yet */
    uint64_t saved_seq;
    uint64_t saved_term;
    bool is_saved_owned; /* the file has a head: one of this store was accepted */
    struct claim claim;
    struct publish *publish;
    uint64_t ticket; /* of the feed; 0: none */
    uint64_t next;   /* the cursor when the page is stored */
    bool has_page;
    bool has_more; /* than this page */
    struct apply apply;
    struct restore restore;
    struct compare compare;
    uint64_t began_at_ms; /* uv_now */
    uint64_t failures;    /* of heads and of states, when the last head was accepted */
    struct orders orders;
    void (*fenced)(void *context, const char *host, bool is_fenced);
    void *context;
};

static void open_link(struct host *host);
static void ask_feed(struct host *host);

static void note_trouble(struct host *host, const char *what, const char *why)
{
    uint64_t withheld;

    (void)snprintf(host->error, sizeof(host->error), "%.250s", why);
    if (log_gate_opens(&host->gate, (int64_t)uv_now(host->loop), &withheld)) {
        log_warning("host %s: %s: %s; trying on", host->name, what, why);
    }
}

static void on_retry(uv_timer_t *timer)
{
    struct host *host = timer->data;

    if (host->link == NULL) {
        open_link(host);
    } else {
        ask_feed(host);
    }
}

static void try_later(struct host *host)
{
    (void)uv_timer_start(&host->retry, on_retry, LINK_RETRY_MS, 0);
}

/* --- publishing ------------------------------------------------------------------------------- */

static void write_cursor(struct host *host)
{
    struct cursor kept = host->cursor;

    if (host->claim.owes_rewind) { /* as in the head: a bridge that starts again owes it, too */
        kept.seq = 0;
    }
    int rc = cursor_save(host->config->state, host->name, &kept);

    host->cursor_error[0] = '\0';
    if (rc != 0) {
        (void)snprintf(host->cursor_error, sizeof(host->cursor_error),
                       "its cursor cannot be saved: %s", strerror(rc));
        note_trouble(host, "its cursor cannot be saved", strerror(rc));
    } else {
        host->saved_seq = host->cursor.seq;
        host->saved_term = host->cursor.term;
        host->is_saved_owned = host->cursor.head > 0;
    }
}

static void save_cursor(struct host *host)
{
    if (host->saved_seq != host->cursor.seq || host->saved_term != host->cursor.term ||
        host->is_saved_owned != (host->cursor.head > 0)) {
        write_cursor(host);
    }
}

static void ask_feed(struct host *host)
{
    struct hearsay_request ask = {.kind = HEARSAY_REQUEST_CHANGES,
                                  .changes = {.host = hearsay_text(host->name),
                                              .after = host->cursor.seq,
                                              .wait_ms = FEED_WAIT_MS,
                                              .replicated = host->cursor.seq}};
    struct hearsay_error error;

    if (host->claim.state != CLAIM_OWNER || !host->is_greeted || host->ticket != 0 ||
        host->has_page) {
        return;
    }
    if (hearsay_submit(link_server(host->link), &ask, &host->ticket, &error) == HEARSAY_OK) {
        link_submitted(host->link);
    } else {
        note_trouble(host, "hearsayd cannot be asked", error.sentence);
        try_later(host);
    }
}

static void on_published(void *context)
{
    struct host *host = context;

    host->has_page = false;
    host->cursor.seq = host->next;
    if (!host->has_more) {
        claim_caught_up(&host->claim);
    }
    ask_feed(host);
}

static void publish_page(struct host *host, const struct hearsay_changed *changed)
{
    host->next = changed->next;
    host->has_more = changed->more;
    host->has_page = true;
    if (publish_begin(host->publish, changed->changes, changed->change_count) != 0) {
        host->has_page = false;
        note_trouble(host, "its changes cannot be published", "no memory");
        try_later(host);
    } else if (publish_waiting(host->publish) == 0) {
        on_published(host);
    }
}

/* The store has given lower numbers than the cursor: it was put back from a backup. */
static bool is_cursor_wrong(const struct host *host, const struct hearsay_error *error)
{
    return host->cursor.seq > 0 && error->code == HEARSAY_CODE_INVALID &&
           strcmp(error->field, "after") == 0;
}

static void take_changes(struct host *host, const struct hearsay_reply *reply)
{
    host->ticket = 0;
    if (reply->response.kind == HEARSAY_RESPONSE_CHANGED && host->claim.state == CLAIM_OWNER) {
        host->error[0] = '\0';
        if (reply->response.changed.change_count > 0) {
            publish_page(host, &reply->response.changed);
        } else { /* numbers may be skipped: the mark of a restored host is not told */
            host->cursor.seq = reply->response.changed.next;
            claim_caught_up(&host->claim);
            ask_feed(host);
        }
    } else if (reply->response.kind == HEARSAY_RESPONSE_ERROR &&
               is_cursor_wrong(host, &reply->error)) {
        claim_rewind(&host->claim, "hearsayd has lower numbers than were published");
        ask_feed(host);
    } else if (reply->response.kind == HEARSAY_RESPONSE_ERROR) {
        note_trouble(host, "hearsayd gives no changes", reply->error.sentence);
        try_later(host);
    }
}

/* --- the claim -------------------------------------------------------------------------------- */

static void on_restore(void *context, enum claim_copies copies, bool is_again)
{
    static const char *const texts[] = {
        [CLAIM_NO_COPIES] = "no message comes back from the hub",
        [CLAIM_MAYBE_COPIES] =
            "the hub has no head of it: its messages come back if a reader has them",
        [CLAIM_COPIES] = "its messages come back from the hub",
    };
    struct host *host = context;

    if (host->restore.is_marked && !is_again) { /* the answer came when the hub was lost */
        claim_restored(&host->claim);
        return;
    }
    log_info("host %s: %s: %s", host->name,
             is_again ? "the store is the owner again" : "the store is new", texts[copies]);
    host->is_restored = true;
    write_cursor(host); /* a bridge that starts again after the restore is to know that */
    restore_begin(&host->restore, copies);
}

static void on_restored(void *context, bool was_restore)
{
    struct host *host = context;

    if (was_restore) {
        log_info("host %s: restored, %llu states", host->name,
                 (unsigned long long)host->restore.states);
        claim_restored(&host->claim);
    }
}

/* All that hearsayd had is at the hub, so that a difference is one. */
static void compare_if_published(struct host *host)
{
    if (host->is_greeted && host->claim.state == CLAIM_OWNER && !host->has_page &&
        !host->claim.is_behind) {
        compare_now(&host->compare, host->link, hearsay_now_ms(link_server(host->link)));
    }
}

static void on_compare_wanted(void *context)
{
    compare_if_published(context);
}

static void on_compare_differs(void *context)
{
    struct host *host = context;

    claim_rewind(&host->claim, "a reader has other messages than hearsayd, twice");
    ask_feed(host);
}

static const struct compare_events compare_events = {on_compare_wanted, on_compare_differs};

/* Each accepted head. */
static void on_owned(void *context)
{
    struct host *host = context;

    host->fenced(host->context, host->name, false);
    save_cursor(host);
    publish_resume(host->publish); /* what was on its way when the hub was lost */
    if (host->failures != host->claim.failures + publish_failures(host->publish)) {
        host->failures = host->claim.failures + publish_failures(host->publish);
        compare_doubt(&host->compare); /* the hub had no leader or no quorum */
    }
    if (compare_head(&host->compare)) {
        compare_if_published(host);
    }
    /* What the hub has of operators' words is asked for with each head: a word that has not come
     * costs one interval. */
    restore_poll(&host->restore);
    ask_feed(host);
}

static void on_fenced(void *context)
{
    struct host *host = context;

    publish_drop(host->publish);
    host->has_page = false;
    host->fenced(host->context, host->name, true);
}

static void on_rewound(void *context)
{
    struct host *host = context;

    publish_drop(host->publish);
    host->has_page = false;
    host->ticket = 0;  /* an answer that is under way is about the old cursor */
    save_cursor(host); /* what the hub has lost is published again, even after a power cut */
}

static int64_t now_of(void *context)
{
    struct host *host = context;

    return host->is_greeted ? hearsay_now_ms(link_server(host->link)) : 0;
}

static const struct claim_events claim_events = {
    .restore = on_restore,
    .owned = on_owned,
    .fenced = on_fenced,
    .rewound = on_rewound,
    .now_ms = now_of,
};

/* The hub and hearsayd are both there. A server that was lost may have kept less than it said. */
static void begin_claim(struct host *host)
{
    const struct hearsay_host *info = hearsay_find_host(link_server(host->link), host->name);

    claim_begin(&host->claim, info->profile,
                info->role == HEARSAY_ROLE_RESTORING && !host->restore.is_marked,
                host->is_restored && host->cursor.head == 0, &host->before);
    compare_doubt(&host->compare);
    restore_end(&host->restore);
    restore_words(&host->restore);
}

/* --- the link to hearsayd --------------------------------------------------------------------- */

static void end_link(struct host *host)
{
    host->is_greeted = false;
    host->ticket = 0;
    host->link = NULL;
    apply_lost(&host->apply);
    compare_end(&host->compare);
    restore_end(&host->restore);
    claim_end(&host->claim);
    publish_drop(host->publish);
    host->has_page = false;
}

/* A new store begins at 0; what the file has is of the store before. */
static void meet_store(struct host *host, const uint8_t *store_id)
{
    struct cursor saved;

    if (memcmp(host->cursor.store_id, store_id, LIMIT_ID_BYTES) == 0) {
        return;
    }
    cursor_load(host->config->state, host->name, &saved);
    apply_clear(&host->apply);
    host->restore.jobs = 0;
    if (memcmp(saved.store_id, store_id, LIMIT_ID_BYTES) == 0) {
        host->cursor = saved;
        host->is_restored = saved.head == 0;
    } else {
        host->is_restored = false;
        host->before = host->cursor.head > 0 ? host->cursor : saved;
        host->cursor = (struct cursor){.term = head_next_term(host->before.term)};
        memcpy(host->cursor.store_id, store_id, LIMIT_ID_BYTES);
    }
    host->saved_seq = host->cursor.seq;
    host->saved_term = host->cursor.term;
    host->is_saved_owned = host->cursor.head > 0;
}

static void on_greeted(void *context)
{
    struct host *host = context;
    const struct hearsay *server = link_server(host->link);
    const struct hearsay_host *info = hearsay_find_host(server, host->name);

    if (info == NULL || info->role == HEARSAY_ROLE_REPLICA ||
        !hearsay_has_capability(server, "changes")) {
        note_trouble(host, "it cannot be published",
                     info == NULL ? "hearsayd has no such host"
                     : info->role == HEARSAY_ROLE_REPLICA
                         ? "hearsayd has a copy of it only: see `role` in hearsayd.conf"
                         : "hearsayd serves no changes here: mark its `listen` line with the word "
                           "bridge");
        link_close(host->link);
        end_link(host);
        try_later(host);
        return;
    }
    host->is_greeted = true;
    host->restore.is_marked = false; /* the role in the greeting counts */
    host->error[0] = '\0';
    host->gate = (struct log_gate){.opened = false};
    meet_store(host, hearsay_welcome(server)->store_id);
    apply_greeted(&host->apply, host->link);
    if (wire_is_joined(host->wire)) {
        begin_claim(host);
    }
}

static void on_replied(void *context, const struct hearsay_reply *reply)
{
    struct host *host = context;

    if (reply->response.id == host->ticket && host->ticket != 0) {
        take_changes(host, reply);
    } else if (!apply_take_reply(&host->apply, reply)) {
        (void)digest_take_reply(&host->compare.digest, reply);
    }
}

static void on_lost(void *context, const struct hearsay_error *why)
{
    struct host *host = context;

    note_trouble(host, "no connection to hearsayd", why->sentence);
    link_close(host->link);
    end_link(host);
    try_later(host);
}

static const struct link_events link_events = {on_greeted, on_replied, NULL, on_lost};

static void open_link(struct host *host)
{
    struct hearsay_connect options = {.server = host->config->server,
                                      .agent = "hearsay-bridge/" HEARSAY_VERSION,
                                      .is_small = true};
    struct hearsay_error error;

    if (link_open(host->loop, &options, &link_events, host, &host->link, &error) != HEARSAY_OK) {
        note_trouble(host, "no connection to hearsayd", error.sentence);
        try_later(host);
    }
}

/* --- beginning and end ------------------------------------------------------------------------ */

struct host *host_new(uv_loop_t *loop, const struct host_options *options)
{
    struct host *host = calloc(1, sizeof(*host));
    const char *name = options->name;
    struct wire *wire = options->wire;
    struct publish_options publish = {
        .loop = loop, .wire = wire, .host = name, .done = on_published, .context = host};

    if (host == NULL || (host->publish = publish_new(&publish)) == NULL) {
        free(host);
        return NULL;
    }
    host->loop = loop;
    host->began_at_ms = uv_now(loop);
    host->config = options->config;
    host->name = name;
    host->wire = wire;
    host->fenced = options->fenced;
    host->context = options->context;
    host->apply.host = name;
    (void)uv_timer_init(loop, &host->retry); /* never fails */
    host->retry.data = host;
    claim_init(&host->claim, loop, wire, name, &host->cursor, &claim_events, host);
    restore_init(&host->restore, loop, wire, &host->apply, name, on_restored, host);
    host->orders = (struct orders){
        .loop = loop, .host = name, .apply = &host->apply, .restore = &host->restore};
    orders_begin(&host->orders, wire);
    if (!compare_init(&host->compare, wire, name, &compare_events, host)) {
        return NULL; /* the process ends */
    }
    open_link(host);
    return host;
}

void host_joined(struct host *host)
{
    if (host->is_greeted) {
        begin_claim(host);
    }
}

void host_parted(struct host *host)
{
    compare_end(&host->compare);
    restore_end(&host->restore);
    claim_end(&host->claim);
    publish_pause(host->publish); /* another store may be the owner after the next joining */
}

void host_stop(struct host *host)
{
    save_cursor(host);
    host_parted(host);
    orders_end(&host->orders);
    compare_stop(&host->compare);
    link_close(host->link);
    apply_clear(&host->apply);
    claim_stop(&host->claim);
    restore_stop(&host->restore);
    publish_stop(host->publish);
    uv_close((uv_handle_t *)&host->retry, NULL);
}

void host_free(struct host *host)
{
    if (host != NULL) {
        publish_free(host->publish);
        free(host);
    }
}

void host_read_figures(const struct host *host, struct host_figures *out)
{
    const struct claim *claim = &host->claim;
    const char *error = publish_error(host->publish);

    error = error[0] == '\0' ? claim->error : error;
    error = error[0] == '\0' ? host->cursor_error : error;
    error = error[0] == '\0' ? host->restore.error : error;
    *out = (struct host_figures){
        .name = host->name,
        .state = !host->is_greeted ? "waits for hearsayd" : claim_text(claim),
        .error = host->error[0] != '\0' ? host->error : error,
        .published = publish_total(host->publish),
        .seq = host->cursor.seq,
        .waiting = publish_waiting(host->publish),
        .rewinds = claim->rewinds,
        .restored = host->restore.states,
        .refused = host->apply.refused,
        .digests_different = host->compare.different_total,
        .failures = claim->failures + publish_failures(host->publish),
        .not_compared_since_s = host->compare.since_s,
        .head_age_ms = uv_now(host->loop) -
                       (claim->accepted_at_ms > 0 ? claim->accepted_at_ms : host->began_at_ms),
        .has_head = claim->accepted_at_ms > 0,
        .is_owner = claim->state == CLAIM_OWNER,
        .is_fenced = claim->state == CLAIM_FENCED,
    };
}
