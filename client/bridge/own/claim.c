/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/own/inner.h"

#include <string.h>

enum {
    AGAIN_MS = 2000, /* after a failure, and for another look at a head that was old */
    LOOK_MS = 300,
    MOST_LOOKS = 20 /* six seconds: a node that was behind has caught up by then */
};

static const char lost_head[] = "the hub has lost the head of this host";
static const char has_twin[] = "another machine publishes as this store, because its data "
                               "directory was copied there: stop one "
                               "of the two";

static void look_again(struct claim *claim);

static void on_timer(uv_timer_t *timer)
{
    look_again(timer->data);
}

static void wake_in(struct claim *claim, uint64_t milliseconds)
{
    (void)uv_timer_start(&claim->timer, on_timer, milliseconds, 0);
}

static void write_head(struct claim *claim)
{
    struct head head = {.seq = claim->owes_rewind ? 0 : claim->cursor->seq,
                        .term = claim->cursor->term,
                        .as_of_ms = claim->events->now_ms(claim->context)};

    memcpy(head.store_id, claim->cursor->store_id, sizeof(head.store_id));
    claim->sent_first_ms = claim->sent_first_ms == 0 ? head.as_of_ms : claim->sent_first_ms;
    claim->sent_last_ms = head.as_of_ms;
    if (!head_write(&claim->keeper, &head, claim->profile,
                    claim->is_new || claim->has_lost_head ? claim->seen : claim->cursor->head)) {
        wake_in(claim, AGAIN_MS);
    }
}

static void read_head(struct claim *claim)
{
    if (!head_read(&claim->keeper)) {
        wake_in(claim, AGAIN_MS);
    }
}

/* What the state needs next. */
static void look_again(struct claim *claim)
{
    bool must_read = claim->state == CLAIM_FENCED || claim->state == CLAIM_WAITING ||
                     claim->is_refused || claim->cursor->head == 0;

    if (claim->state == CLAIM_OFF || claim->state == CLAIM_RESTORING) {
        return;
    }
    if (must_read) {
        read_head(claim);
    } else {
        write_head(claim);
    }
}

void claim_rewind(struct claim *claim, const char *why)
{
    log_warning("host %s: %s: all is published again", claim->host, why);
    claim->rewinds++;
    claim->is_behind = true;
    claim->owes_rewind = false;
    claim->cursor->seq = 0;
    claim->events->rewound(claim->context);
}

static void begin_restore(struct claim *claim, bool has_heads, enum claim_copies copies)
{
    claim->state = CLAIM_RESTORING;
    claim->has_heads = has_heads;
    claim->events->restore(claim->context, copies, false);
}

/* The store was the owner before, and then another one was: what that one has withdrawn must go
 * here before anything is published. */
static void begin_again(struct claim *claim)
{
    claim->state = CLAIM_RESTORING;
    claim->has_heads = false;
    claim->events->restore(claim->context, CLAIM_COPIES, true);
}

static void become_fenced(struct claim *claim)
{
    if (claim->state != CLAIM_FENCED) {
        log_error("host %s: FENCED: another store owns this host at the hub, so nothing is "
                  "published any more, and hearsayd here still takes deposits, which nobody else "
                  "sees; `hearsay-bridge take %s` takes the host back",
                  claim->host, claim->host);
        claim->state = CLAIM_FENCED;
        claim->events->fenced(claim->context);
    }
    wake_in(claim, claim->interval_ms);
}

static void note_seen(struct claim *claim, const struct head *found)
{
    claim->seen = found->place;
    claim->seen_ms = found->as_of_ms;
    memcpy(claim->seen_store_id, found->store_id, LIMIT_ID_BYTES);
    if (claim->cursor->term <= found->term) {
        claim->cursor->term = head_next_term(found->term);
    }
}

/*
 * Whether the head is the one that was seen before. Servers may give it different places, and a hub
 * that was restored from a backup gives a place again to another head. So the time of the head
 * decides, which its store gives once, and the place only for a head without a time.
 */
static bool was_seen(const struct claim *claim, const struct head *found)
{
    bool is_same = claim->seen_ms > 0 || found->as_of_ms > 0 ? claim->seen_ms == found->as_of_ms
                                                             : claim->seen == found->place;

    return is_same && memcmp(claim->seen_store_id, found->store_id, LIMIT_ID_BYTES) == 0;
}

/* Whether the last head of the store that was here before is at this place, so that the store is
 * silent for sure. The place alone does not say that: a restored hub gives its numbers again. */
static bool was_here(const struct claim *claim, uint64_t place, const uint8_t *store_id)
{
    return claim->before.head == place &&
           memcmp(claim->before.store_id, store_id, LIMIT_ID_BYTES) == 0;
}

/* The store has been restored, and takes over from the store of the head when that is silent. */
static void await_silence(struct claim *claim, const struct head *found)
{
    bool is_sure = was_here(claim, found->place, found->store_id);
    uint64_t withheld;

    if ((claim->state == CLAIM_WAITING || claim->is_refused) &&
        (is_sure || was_seen(claim, found))) {
        note_seen(claim, found);
        claim->is_refused = false;
        claim->state = CLAIM_LOOKING;
        write_head(claim);
        return;
    }
    if (claim->state == CLAIM_WAITING &&
        log_gate_opens(&claim->gate, (int64_t)uv_now(claim->timer.loop), &withheld)) {
        log_warning("host %s: another store still publishes this host: revoke its certificate; "
                    "this store takes over when it is silent",
                    claim->host);
    }
    note_seen(claim, found);
    claim->is_refused = false;
    claim->state = CLAIM_WAITING;
    wake_in(claim, is_sure ? 0 : claim->interval_ms);
}

/* The head at this place is the last one that the hub has left; 0: none. A hub that loses one head
 * after another would never have all if each loss began anew. */
static void lose_head(struct claim *claim, uint64_t place)
{
    claim->is_refused = false;
    claim->has_lost_head = true;
    claim->seen = place;
    claim->cursor->head = CURSOR_HEAD_LOST;
    if (claim->is_behind) {
        claim->owes_rewind = true;
    } else {
        claim_rewind(claim, lost_head);
    }
    write_head(claim);
}

/* The head is of another store. */
static void meet_other(struct claim *claim, const struct head *found)
{
    if (claim->is_fresh) {
        bool is_same = strcmp(found->profile, claim->profile) == 0;

        note_seen(claim, found);
        if (!is_same) {
            log_error("host %s: the messages at the hub have the profile %s, and hearsayd has %s: "
                      "they do not come back",
                      claim->host, found->profile, claim->profile);
        }
        begin_restore(claim, true, is_same ? CLAIM_COPIES : CLAIM_NO_COPIES);
    } else if (claim->is_new) {
        await_silence(claim, found);
    } else if (claim->is_refused && found->term < claim->cursor->term) {
        lose_head(claim, found->place); /* an earlier owner's: the hub has lost this store's */
    } else if (claim->is_refused || claim->state == CLAIM_FENCED) {
        become_fenced(claim);
    } else { /* ask for a decision that is not about an old head: it is refused */
        write_head(claim);
    }
}

/* An owner has met a head of its store behind its own last one. It has written it itself, and the
 * acknowledgement was lost, or a copy of the store has. */
static void look_for_twin(struct claim *claim, const struct head *found)
{
    if (claim->state != CLAIM_OWNER || found->is_taken ||
        (found->as_of_ms >= claim->sent_first_ms && found->as_of_ms <= claim->sent_last_ms)) {
        return;
    }
    if (claim->twin_heads == 0) {
        log_error("host %s: %s", claim->host, has_twin);
    }
    claim->twin_heads = 2; /* until two heads in a row were accepted */
}

static void meet_own(struct claim *claim, const struct head *found)
{
    if (claim->has_lost_head) { /* written since, though its acknowledgement was lost */
        claim->cursor->head = found->place;
    } else if (found->place < claim->cursor->head && claim->is_refused) {
        claim->cursor->head = found->place;
        claim_rewind(claim, "the hub has lost states");
    } else if (found->place > claim->cursor->head) {
        look_for_twin(claim, found);
        claim->cursor->head = found->place;    /* written before the last stop, or by `take` */
        if (found->seq < claim->cursor->seq) { /* after a rewind that the file does not have */
            claim->cursor->seq = found->seq;
        }
    }
    if (claim->cursor->term < found->term) { /* `take` has written the head, or the file was lost */
        claim->cursor->term = found->term;
    }
    claim->is_refused = false;
    claim->has_lost_head = false;
    claim->is_new = false; /* it has taken over, though the acknowledgement may have been lost */
    if (claim->is_fresh) { /* `take` has written the head */
        begin_restore(claim, false, CLAIM_COPIES);
        return;
    }
    if (found->is_taken) {
        begin_again(claim);
        return;
    }
    if (claim->state == CLAIM_FENCED || claim->state == CLAIM_WAITING) {
        claim->state = CLAIM_LOOKING;
    }
    write_head(claim);
}

/* Or the node that has answered is behind: the hub decides on the write. */
static void meet_none(struct claim *claim)
{
    if (claim->state == CLAIM_FENCED || claim->state == CLAIM_WAITING) {
        claim->state = CLAIM_LOOKING;
    }
    write_head(claim);
}

void claim_caught_up(struct claim *claim)
{
    claim->is_behind = false;
}

/* The hub has refused a write: another head stands there, or none. */
static void take_refusal(struct claim *claim, uint64_t place)
{
    claim->is_refused = true;
    claim->refused_for = place;
    claim->looks = 0;
    if (place == 0) {
        lose_head(claim, 0);
    } else {
        read_head(claim);
    }
}

static void take_success(struct claim *claim, uint64_t place)
{
    claim->cursor->head = place;
    claim->has_lost_head = false;
    claim->accepted_at_ms = uv_now(claim->timer.loop);
    claim->sent_first_ms = 0;
    claim->twin_heads -= claim->twin_heads > 0 ? 1 : 0;
    (void)snprintf(claim->error, sizeof(claim->error), "%s", claim->twin_heads > 0 ? has_twin : "");
    if (claim->owes_rewind && !claim->is_behind) {
        claim_rewind(claim, lost_head);
    }
    if (claim->is_fresh) { /* there was no head */
        begin_restore(claim, false, CLAIM_MAYBE_COPIES);
        return;
    }
    claim->is_new = false;
    wake_in(claim, claim->interval_ms);
    if (claim->state != CLAIM_OWNER) {
        claim->state = CLAIM_OWNER;
        log_info("host %s: this store is the owner at the hub", claim->host);
    }
    claim->events->owned(claim->context);
}

static void note_failure(struct claim *claim, const char *why)
{
    uint64_t withheld;

    claim->failures++;
    (void)snprintf(claim->error, sizeof(claim->error), "%s", why);
    if (log_gate_opens(&claim->gate, (int64_t)uv_now(claim->timer.loop), &withheld)) {
        log_warning("host %s: the head is not written: %s; trying on", claim->host, why);
    }
    wake_in(claim, AGAIN_MS < claim->interval_ms ? AGAIN_MS : claim->interval_ms);
}

/* The head is not the one for which a write was refused. There is a newer head, which a write will
 * tell; or the node that has answered is behind; or the hub has lost heads since the refusal. */
static void look_past(struct claim *claim, const struct head *found)
{
    if (found->place > claim->refused_for) {
        claim->is_refused = false;
        write_head(claim);
    } else if (claim->state == CLAIM_FENCED) {
        wake_in(claim, claim->interval_ms);
    } else if (++claim->looks <= MOST_LOOKS) {
        wake_in(claim, LOOK_MS);
    } else {
        claim->is_refused = false;
        claim->seen = 0;
        claim->seen_ms = 0;
        look_again(claim);
    }
}

static void on_head(void *context, enum head_outcome outcome, const struct head *found)
{
    struct claim *claim = context;
    bool is_old = claim->is_refused && found->place != claim->refused_for &&
                  (outcome == HEAD_FOUND || outcome == HEAD_NONE);

    if (claim->state == CLAIM_OFF) {
        return;
    }
    if (is_old) {
        look_past(claim, found);
        return;
    }
    switch (outcome) {
    case HEAD_FOUND:
        if (memcmp(found->store_id, claim->cursor->store_id, LIMIT_ID_BYTES) == 0) {
            meet_own(claim, found);
        } else {
            meet_other(claim, found);
        }
        break;
    case HEAD_NONE:
        meet_none(claim);
        break;
    case HEAD_ACCEPTED:
        take_success(claim, found->place);
        break;
    case HEAD_REFUSED:
        take_refusal(claim, found->place);
        break;
    case HEAD_FAILED:
        note_failure(claim, found->error);
        break;
    }
}

void claim_init(struct claim *claim, uv_loop_t *loop, struct wire *wire, const char *host,
                struct cursor *cursor, const struct claim_events *events, void *context)
{
    memset(claim, 0, sizeof(*claim));
    (void)uv_timer_init(loop, &claim->timer); /* never fails */
    claim->timer.data = claim;
    claim->wire = wire;
    claim->host = host;
    claim->cursor = cursor;
    claim->events = events;
    claim->context = context;
    claim->interval_ms = bridge_head_ms();
    claim->keeper =
        (struct head_keeper){.wire = wire, .host = host, .done = on_head, .context = claim};
}

void claim_stop(struct claim *claim)
{
    claim_end(claim);
    uv_close((uv_handle_t *)&claim->timer, NULL);
}

void claim_begin(struct claim *claim, const char *profile, bool is_fresh, bool is_new,
                 const struct cursor *before)
{
    claim_end(claim);
    (void)snprintf(claim->profile, sizeof(claim->profile), "%s", profile);
    claim->is_fresh = is_fresh;
    claim->is_new = is_new;
    claim->before = *before;
    claim->state = CLAIM_LOOKING;
    look_again(claim);
}

void claim_end(struct claim *claim)
{
    wire_forget(claim->wire, &claim->keeper);
    (void)uv_timer_stop(&claim->timer);
    claim->state = CLAIM_OFF;
    claim->is_refused = false;
    claim->has_lost_head = false;
}

void claim_restored(struct claim *claim)
{
    if (claim->state != CLAIM_RESTORING) {
        return;
    }
    claim->is_fresh = false;
    claim->is_new = claim->has_heads;
    claim->state = claim->has_heads ? CLAIM_WAITING : CLAIM_LOOKING;
    bool is_sure = was_here(claim, claim->seen, claim->seen_store_id);
    wake_in(claim, claim->has_heads && !is_sure ? claim->interval_ms : 0);
}

const char *claim_text(const struct claim *claim)
{
    static const char *const texts[] = {
        [CLAIM_OFF] = "waits for the hub",
        [CLAIM_LOOKING] = "asks the hub who owns it",
        [CLAIM_RESTORING] = "gets its messages back from the hub",
        [CLAIM_WAITING] = "waits until the earlier store is silent",
        [CLAIM_OWNER] = "owner",
        [CLAIM_FENCED] =
            "FENCED: another store owns it at the hub, and nobody else sees what is left here",
    };

    return texts[claim->state];
}
