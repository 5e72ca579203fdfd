/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/hub/inner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/bridge/feed/feed.h"
#include "proto/codec/letter.h"

enum {
    ROOM_STEP = 256,
    RETRY_MS = 1000,
    ARENA_BYTES = 4 * 1024 * 1024,
    NAME_BYTES = 2 * TABLE_KEY_BYTES + 1
};

static void on_retry(uv_timer_t *timer)
{
    queue_go(timer->data);
}

static void drop_items(struct queue *queue, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(queue->items[i].letter);
    }
    queue->count -= count;
    if (queue->count > 0) {
        memmove(queue->items, queue->items + count, queue->count * sizeof(queue->items[0]));
    } else {
        queue->error[0] = '\0'; /* nothing is refused */
    }
}

/* --- what hearsayd does not take -------------------------------------------------------------- */

/* The id of a message in hex digits, as in its subject; of a rule "a rule". */
static void name_state(const struct state *state, char *out)
{
    if (state->is_rule) {
        (void)snprintf(out, NAME_BYTES, "a rule");
        return;
    }
    for (size_t i = 0; i < TABLE_KEY_BYTES; i++) {
        (void)snprintf(out + 2 * i, 3, "%02x", state->key[i]);
    }
}

static void leave_out(struct queue *queue, const char *why)
{
    const struct queue_item *item = &queue->items[0];
    char name[NAME_BYTES];
    uint64_t withheld;

    queue->left_out++;
    name_state(&item->state, name);
    if (log_gate_opens(&queue->gate, (int64_t)(uv_hrtime() / 1000000), &withheld)) {
        log_warning("host %s: %s, a state of %zu bytes, is left out, as hearsayd does not take it: "
                    "%s (%" PRIu64 " left out since the start)",
                    queue->host, name, item->size, why, queue->left_out);
    }
    drop_items(queue, 1);
    queue->events->moved(queue->context);
}

/* `count` items are too many, or one of them is not taken. */
static void split_request(struct queue *queue, size_t count, const char *why)
{
    queue->span = count / 2;
    if (queue->span == 0) {
        queue->span = 1;
        leave_out(queue, why);
    }
}

static void try_later(struct queue *queue, const char *why)
{
    uint64_t withheld;

    (void)snprintf(queue->error, sizeof(queue->error), "%s", why);
    if (log_gate_opens(&queue->gate, (int64_t)(uv_hrtime() / 1000000), &withheld)) {
        log_warning("host %s: hearsayd does not take what the hub has: %s; trying on", queue->host,
                    why);
    }
    (void)uv_timer_start(&queue->retry, on_retry, RETRY_MS, 0);
}

/* --- requests --------------------------------------------------------------------------------- */

static void on_applied(void *context, const struct hearsay_reply *reply,
                       const struct hearsay_error *error)
{
    struct queue *queue = context;
    size_t sent = queue->sent;

    queue->sent = 0;
    if (reply != NULL) {
        queue->error[0] = '\0';
        if (sent >= queue->span && 2 * sent <= LIMIT_CHANGES) {
            queue->span = 2 * sent;
        }
        drop_items(queue, sent);
        queue->not_kept += reply->response.applied.not_kept;
        if (reply->response.applied.no_room > 0) {
            queue->events->no_room(queue->context, reply->response.applied.no_room);
        }
        queue_go(queue);
        queue->events->moved(queue->context);
    } else if (feed_is_about_change(error)) {
        split_request(queue, sent, error->sentence);
        queue_go(queue);
    } else if (near_is_up(queue->near)) {
        try_later(queue, error->sentence);
    }
}

/* A word that the operator of this very hearsayd has said: hearsayd has what was decided, and
 * perhaps something later. */
static bool is_own_word(const struct queue *queue, size_t i)
{
    const struct queue_item *item = &queue->items[i];

    return item->is_word && item->state.store != 0 && item->state.store == near_store(queue->near);
}

static void drop_own_words(struct queue *queue)
{
    size_t count = 0;

    while (count < queue->count && is_own_word(queue, count)) {
        count++;
    }
    if (count > 0) {
        drop_items(queue, count);
        queue->events->moved(queue->context);
    }
}

/* Makes one Apply of the first items. HEARSAY_OK, HEARSAY_ERR_ARGUMENT if it is too large for a
 * frame of hearsayd, or another error. */
static int send_items(struct queue *queue, size_t count)
{
    static struct hearsay_change changes[LIMIT_CHANGES];
    struct hearsay_request request = {
        .kind = HEARSAY_REQUEST_APPLY,
        .apply = {.host = hearsay_text(queue->host), .changes = changes, .as = HEARSAY_AS_REPLICA}};
    size_t *taken = &request.apply.change_count;

    arena_reset(&queue->arena);
    while (*taken < count && !is_own_word(queue, *taken)) {
        const struct queue_item *item = &queue->items[*taken];
        struct msg_letter letter;
        struct msg_error error;

        if (letter_decode(item->letter, item->size, &queue->arena, &letter, &error) != 0) {
            break; /* it was read before: there is no memory for so many */
        }
        /* Only the owner confirms decisions, and an operator's word is not the owner's. */
        letter.change.has_decision = letter.change.has_decision && !item->is_word;
        changes[(*taken)++] = letter.change;
    }
    if (*taken == 0) {
        return HEARSAY_ERR_NOMEM;
    }
    int rc = near_ask(queue->near, &request, on_applied, queue);

    if (rc == HEARSAY_OK) {
        queue->sent = *taken;
    }
    return rc;
}

void queue_go(struct queue *queue)
{
    int rc = HEARSAY_ERR_ARGUMENT;

    if (queue->sent == 0 && near_is_up(queue->near)) {
        drop_own_words(queue);
    }
    while (rc == HEARSAY_ERR_ARGUMENT && queue->sent == 0 && queue->count > 0 &&
           near_is_up(queue->near)) {
        size_t count = queue->count < queue->span ? queue->count : queue->span;

        rc = send_items(queue, count);
        if (rc == HEARSAY_ERR_ARGUMENT) {
            split_request(queue, count, "it is larger than `frame` of hearsayd");
        } else if (rc != HEARSAY_OK) {
            try_later(queue, "a request could not be made");
        }
    }
}

bool queue_add(struct queue *queue, const struct state *state, const uint8_t *letter, size_t size,
               bool is_word)
{
    if (queue->count == queue->room) {
        size_t room = queue->room + ROOM_STEP;
        struct queue_item *items = realloc(queue->items, room * sizeof(*items));

        if (items == NULL) {
            return false;
        }
        queue->items = items;
        queue->room = room;
    }
    uint8_t *copy = malloc(size);

    if (copy == NULL) {
        return false;
    }
    memcpy(copy, letter, size);
    queue->items[queue->count++] =
        (struct queue_item){.state = *state, .is_word = is_word, .size = size, .letter = copy};
    return true;
}

/* --- beginning and end ------------------------------------------------------------------------ */

void queue_init(struct queue *queue, uv_loop_t *loop, struct near *near, const char *host,
                const struct queue_events *events, void *context)
{
    memset(queue, 0, sizeof(*queue));
    queue->near = near;
    queue->host = host;
    queue->events = events;
    queue->context = context;
    queue->span = LIMIT_CHANGES;
    arena_init(&queue->arena, alloc_system(), ARENA_BYTES);
    (void)uv_timer_init(loop, &queue->retry); /* never fails */
    queue->retry.data = queue;
}

void queue_stop(struct queue *queue)
{
    near_forget(queue->near, queue);
    uv_close((uv_handle_t *)&queue->retry, NULL);
}

void queue_deinit(struct queue *queue)
{
    drop_items(queue, queue->count);
    free(queue->items);
    arena_deinit(&queue->arena);
}
