/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/host/answers.h"

#include <string.h>

#include "core/base/err.h"
#include "core/base/expiry.h"
#include "daemon/system/list.h"

enum { ROOM_MIN = 16 };

static const uint8_t *id_at(const void *context, uint32_t position)
{
    return ((const struct answers *)context)->entries[position]->item.id;
}

static const uint8_t *parent_at(const void *context, uint32_t position)
{
    return ((const struct answers *)context)->parents[position].parent;
}

void answers_init(struct answers *answers, const struct alloc *alloc, uint64_t seed)
{
    *answers = (struct answers){.alloc = alloc};
    idmap_init(&answers->ids, alloc, seed);
    idmap_init(&answers->parent_ids, alloc, seed);
}

void answers_deinit(struct answers *answers)
{
    if (answers->alloc == NULL) {
        return;
    }
    for (uint32_t i = 0; i < answers->count; i++) {
        alloc_release(answers->alloc, answers->entries[i]);
    }
    alloc_release(answers->alloc, answers->entries);
    alloc_release(answers->alloc, answers->parents);
    idmap_deinit(&answers->ids);
    idmap_deinit(&answers->parent_ids);
    memset(answers, 0, sizeof(*answers));
}

struct answer *answers_find(const struct answers *answers, const uint8_t *id)
{
    uint32_t position = 0;

    return answers->count > 0 && idmap_find(&answers->ids, id, id_at, answers, &position)
               ? answers->entries[position]
               : NULL;
}

struct answered *answers_of(const struct answers *answers, const uint8_t *parent)
{
    uint32_t position = 0;

    return answers->count > 0 &&
                   idmap_find(&answers->parent_ids, parent, parent_at, answers, &position)
               ? &answers->parents[position]
               : NULL;
}

/* --- adding ----------------------------------------------------------------------------------- */

/* Makes room for one more answer, to one more message. */
static int answers_grow(struct answers *answers)
{
    uint32_t room = answers->room == 0 ? ROOM_MIN : answers->room * 2;

    if (answers->count < answers->room) {
        return 0;
    }
    if (answers->room > UINT32_MAX / 4) {
        return -ERR_NOMEM;
    }
    struct answer **entries =
        alloc_resize(answers->alloc, answers->entries, room, sizeof(struct answer *));
    if (entries == NULL) {
        return -ERR_NOMEM;
    }
    answers->entries = entries;
    struct answered *parents =
        alloc_resize(answers->alloc, answers->parents, room, sizeof(*parents));
    if (parents == NULL) {
        return -ERR_NOMEM;
    }
    answers->parents = parents;
    answers->room = room;
    return 0;
}

static bool is_later(const struct answer *a, const struct answer *b)
{
    return a->item.deposited_ms != b->item.deposited_ms
               ? a->item.deposited_ms > b->item.deposited_ms
               : memcmp(a->item.id, b->item.id, MESSAGE_ID_BYTES) > 0;
}

/* Puts an answer before the first later one, which is sought from the end. */
static void list_insert(struct answer **first, struct answer *answer)
{
    struct answer *before = *first != NULL ? DL_LAST(*first) : NULL;

    while (before != NULL && is_later(before, answer)) {
        before = before == *first ? NULL : before->prev;
    }
    if (before == NULL) {
        DL_PREPEND(*first, answer);
    } else if (before->next == NULL) {
        DL_APPEND(*first, answer);
    } else {
        answer->prev = before;
        answer->next = before->next;
        before->next->prev = answer;
        before->next = answer;
    }
}

static void list_answer(struct answers *answers, struct answer *answer)
{
    struct answered *answered = answers_of(answers, answer->parent);

    if (answered == NULL) {
        answered = &answers->parents[answers->parent_count];
        *answered = (struct answered){.first = NULL};
        memcpy(answered->parent, answer->parent, MESSAGE_ID_BYTES);
        idmap_insert(&answers->parent_ids, answered->parent, answers->parent_count++);
    }
    list_insert(&answered->first, answer);
    answered->count++;
}

int answers_put(struct answers *answers, const struct answer *answer)
{
    struct answer *there = answers_find(answers, answer->item.id);

    if (there != NULL) {
        there->is_shown = answer->is_shown;
        return 0;
    }
    int rc = answers_grow(answers);
    rc = rc == 0 ? idmap_reserve(&answers->ids) : rc;
    rc = rc == 0 ? idmap_reserve(&answers->parent_ids) : rc;
    there = rc == 0 ? alloc_array(answers->alloc, 1, sizeof(*there)) : NULL;
    if (there == NULL) {
        return -ERR_NOMEM;
    }
    *there = *answer;
    answers->entries[answers->count] = there;
    idmap_insert(&answers->ids, there->item.id, answers->count++);
    list_answer(answers, there);
    return 0;
}

/* --- removing --------------------------------------------------------------------------------- */

static void unlist_answer(struct answers *answers, struct answer *answer)
{
    struct answered *answered = answers_of(answers, answer->parent);

    DL_DELETE(answered->first, answer);
    if (--answered->count > 0) {
        return;
    }
    uint32_t position = (uint32_t)(answered - answers->parents);
    uint32_t last = answers->parent_count - 1;
    idmap_remove(&answers->parent_ids, answer->parent, position);
    if (position != last) { /* the last one takes its place */
        idmap_move(&answers->parent_ids, answers->parents[last].parent, last, position);
        answers->parents[position] = answers->parents[last];
    }
    answers->parent_count = last;
}

bool answers_remove(struct answers *answers, const uint8_t *id, struct index_item *out_item)
{
    uint32_t position = 0;

    if (answers->count == 0 || !idmap_find(&answers->ids, id, id_at, answers, &position)) {
        return false;
    }
    struct answer *answer = answers->entries[position];
    uint32_t last = answers->count - 1;
    if (out_item != NULL) {
        *out_item = answer->item;
    }
    unlist_answer(answers, answer);
    idmap_remove(&answers->ids, answer->item.id, position);
    if (position != last) {
        idmap_move(&answers->ids, answers->entries[last]->item.id, last, position);
        answers->entries[position] = answers->entries[last];
    }
    answers->count = last;
    alloc_release(answers->alloc, answer);
    return true;
}

/* --- looking ---------------------------------------------------------------------------------- */

void answers_shift(struct answers *answers, int64_t from_ms, int64_t by_ms)
{
    for (uint32_t i = 0; i < answers->count; i++) {
        struct index_item *item = &answers->entries[i]->item;

        if (item->deposited_ms >= from_ms) {
            item->deposited_ms += by_ms;
            item->expires_ms += by_ms;
        }
    }
}

uint32_t answers_count_of(const struct answers *answers, const uint8_t *parent, uint32_t sender)
{
    const struct answered *answered = answers_of(answers, parent);
    const struct waiting_answer *waiting = NULL;
    const struct answer *answer = NULL;
    uint32_t count = 0;

    if (answered != NULL) {
        DL_FOREACH (answered->first, answer) {
            count += answer->item.sender == sender;
        }
    }
    DL_FOREACH (answers->waiting, waiting) {
        bool is_to_it = memcmp(waiting->parent, parent, MESSAGE_ID_BYTES) == 0;
        count += is_to_it && waiting->sender == sender;
    }
    return count;
}

static bool may_go(const struct answer *answer, int64_t now_ms)
{
    return answer->is_shown && !answer->is_leaving &&
           !message_expired(answer->item.expires_ms, now_ms);
}

/* How many answers, from this one on, are of its sender and may go. */
static uint32_t count_going(const struct answer *from, int64_t now_ms)
{
    uint32_t count = 1;

    for (const struct answer *other = from->next; other != NULL && from->item.sender != 0;
         other = other->next) {
        count += other->item.sender == from->item.sender && may_go(other, now_ms);
    }
    return count;
}

struct answer *answers_pick(const struct answers *answers, const uint8_t *parent, int64_t now_ms)
{
    const struct answered *answered = answers_of(answers, parent);
    struct answer *answer = NULL;
    struct answer *picked = NULL;
    uint32_t most = 0;

    if (answered != NULL) {
        DL_FOREACH (answered->first, answer) { /* the oldest of each sender counts all of them */
            uint32_t count = may_go(answer, now_ms) ? count_going(answer, now_ms) : 0;
            if (count > most) {
                most = count;
                picked = answer;
            }
        }
    }
    return picked;
}

uint32_t answers_count(const struct answers *answers, const uint8_t *parent, int64_t now_ms)
{
    const struct answered *answered = answers_of(answers, parent);
    const struct answer *answer = NULL;
    uint32_t count = 0;

    if (answered != NULL) {
        DL_FOREACH (answered->first, answer) {
            count += answer->is_shown && !message_expired(answer->item.expires_ms, now_ms);
        }
    }
    return count;
}
