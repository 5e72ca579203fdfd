/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/nearest.h"

#include <string.h>

#include "core/base/err.h"

int nearest_compare(const struct nearest_candidate *a, const struct nearest_candidate *b)
{
    int order = similarity_compare(b->rank, a->rank);

    if (order != 0) {
        return order;
    }
    if (a->item.deposited_ms != b->item.deposited_ms) {
        return a->item.deposited_ms > b->item.deposited_ms ? -1 : 1;
    }
    order = memcmp(a->item.id, b->item.id, MESSAGE_ID_BYTES);
    if (order != 0) {
        return order;
    }
    order = similarity_compare(b->similarity, a->similarity);
    return order != 0 ? order : (a->part > b->part) - (a->part < b->part);
}

int nearest_init(struct nearest *nearest, const struct alloc *alloc, uint32_t k, uint32_t share)
{
    struct nearest_candidate *heap = alloc_array(alloc, k, sizeof(*heap));

    if (heap == NULL) {
        return -ERR_NOMEM;
    }
    *nearest =
        (struct nearest){.alloc = alloc, .heap = heap, .k = k, .share = share < k ? share : 0};
    return 0;
}

void nearest_deinit(struct nearest *nearest)
{
    if (nearest->heap != NULL) {
        alloc_release(nearest->alloc, nearest->heap);
    }
    *nearest = (struct nearest){0};
}

void nearest_clear(struct nearest *nearest)
{
    nearest->count = 0;
    nearest->passed_over = false;
    memset(nearest->known, 0, sizeof(nearest->known));
}

/* Inserts a candidate into the heap. The entry `at` is empty; parents of this entry that are better
 * than the candidate move down, so that in the end no parent is better than its children. */
static void sift_up(struct nearest_candidate *heap, uint32_t at,
                    const struct nearest_candidate *candidate)
{
    while (at > 0) {
        uint32_t parent = (at - 1) / 2;

        if (nearest_compare(candidate, &heap[parent]) <= 0) {
            break;
        }
        heap[at] = heap[parent];
        at = parent;
    }
    heap[at] = *candidate;
}

/*
 * Inserts a candidate into the heap. The entry `at` is empty; children of this entry that are worse
 * than the candidate move up. Indexes have 64 bits, because 2 * at + 2 may need more than 32 bits.
 */
static void sift_down(struct nearest_candidate *heap, uint32_t count, uint64_t at,
                      const struct nearest_candidate *candidate)
{
    for (;;) {
        uint64_t child = 2 * at + 1;

        if (child >= count) {
            break;
        }
        if (child + 1 < count && nearest_compare(&heap[child + 1], &heap[child]) > 0) {
            child++;
        }
        if (nearest_compare(&heap[child], candidate) <= 0) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = *candidate;
}

/* --- one sender's share ----------------------------------------------------------------------- */

static bool is_capped_sender(const struct nearest *nearest,
                             const struct nearest_candidate *candidate)
{
    return nearest->share > 0 && candidate->item.sender != 0;
}

static struct nearest_known *find_known(struct nearest *nearest, uint32_t sender)
{
    for (uint32_t i = 0; i < NEAREST_KNOWN; i++) {
        if (nearest->known[i].sender == sender) {
            return &nearest->known[i];
        }
    }
    return NULL;
}

/* Clears the cache of senders: the heap is about to change, so the stored places become wrong. */
static void forget_known(struct nearest *nearest)
{
    for (uint32_t i = 0; i < NEAREST_KNOWN; i++) {
        nearest->known[i].sender = 0;
    }
}

/* Returns whether the heap has as many candidates of the sender as `share` allows. If so,
 * *out_worst is the index in the heap of the worst candidate of this sender. */
static bool has_share(struct nearest *nearest, uint32_t sender, uint32_t *out_worst)
{
    const struct nearest_known *known = find_known(nearest, sender);
    uint32_t count = 0;
    uint32_t worst = 0;

    if (known != NULL) {
        *out_worst = known->worst;
        return true;
    }
    for (uint32_t at = 0; at < nearest->count; at++) {
        if (nearest->heap[at].item.sender != sender) {
            continue;
        }
        if (count == 0 || nearest_compare(&nearest->heap[at], &nearest->heap[worst]) > 0) {
            worst = at;
        }
        count++;
    }
    if (count < nearest->share) {
        return false;
    }
    nearest->known[nearest->next_known] = (struct nearest_known){sender, worst};
    nearest->next_known = (nearest->next_known + 1) % NEAREST_KNOWN;
    *out_worst = worst;
    return true;
}

static bool is_message(const struct nearest_candidate *candidate, const uint8_t *id,
                       uint32_t source)
{
    return candidate->source == source && memcmp(candidate->item.id, id, MESSAGE_ID_BYTES) == 0;
}

static bool betters_passed(const struct nearest *nearest, const struct nearest_candidate *candidate)
{
    return !nearest->passed_over || nearest_compare(candidate, &nearest->passed) < 0;
}

static void pass_over(struct nearest *nearest, const struct nearest_candidate *candidate)
{
    if (betters_passed(nearest, candidate)) {
        nearest->passed = *candidate;
        nearest->passed_over = true;
    }
}

/*
 * Prepares the heap for a new candidate. If the candidate's message is `passed`, the best candidate
 * that the cap skipped, clears `passed`: another part found the message before.
 */
static void comes_in(struct nearest *nearest, const struct nearest_candidate *candidate)
{
    if (nearest->passed_over &&
        is_message(&nearest->passed, candidate->item.id, candidate->source)) {
        nearest->passed_over = false;
    }
    forget_known(nearest);
}

/* Offers a candidate of a sender that has as many candidates in the heap as `share` allows. `worst`
 * is the index in the heap of the worst of these candidates. */
static bool offer_within_share(struct nearest *nearest, const struct nearest_candidate *candidate,
                               uint32_t worst)
{
    if (nearest_compare(candidate, &nearest->heap[worst]) >= 0) {
        pass_over(nearest, candidate);
        return false;
    }
    comes_in(nearest, candidate);
    pass_over(nearest, &nearest->heap[worst]);
    sift_down(nearest->heap, nearest->count, worst, candidate); /* better: away from the top */
    return true;
}

bool nearest_wants(struct nearest *nearest, const struct nearest_candidate *candidate)
{
    const struct nearest_candidate *worst = nearest_worst(nearest);
    uint32_t own_worst = 0;

    if (worst != NULL && nearest_compare(candidate, worst) >= 0) {
        return false;
    }
    if (!is_capped_sender(nearest, candidate) ||
        !has_share(nearest, candidate->item.sender, &own_worst) ||
        nearest_compare(candidate, &nearest->heap[own_worst]) < 0) {
        return true;
    }
    return betters_passed(nearest, candidate);
}

bool nearest_is_capped(const struct nearest *nearest)
{
    return nearest->passed_over &&
           (!nearest_is_full(nearest) || nearest_compare(&nearest->passed, &nearest->heap[0]) < 0);
}

bool nearest_passed_over(const struct nearest *nearest, const uint8_t *id, uint32_t source)
{
    return nearest_is_capped(nearest) && is_message(&nearest->passed, id, source);
}

/* --- offers ----------------------------------------------------------------------------------- */

bool nearest_offer(struct nearest *nearest, const struct nearest_candidate *candidate)
{
    uint32_t own_worst = 0;

    if (is_capped_sender(nearest, candidate) &&
        has_share(nearest, candidate->item.sender, &own_worst)) {
        const struct nearest_candidate *worst = nearest_worst(nearest);
        return (worst == NULL || nearest_compare(candidate, worst) < 0) &&
               offer_within_share(nearest, candidate, own_worst);
    }
    if (!nearest_is_full(nearest)) {
        comes_in(nearest, candidate);
        sift_up(nearest->heap, nearest->count, candidate);
        nearest->count++;
        return true;
    }
    if (nearest_compare(candidate, &nearest->heap[0]) >= 0) {
        return false;
    }
    comes_in(nearest, candidate);
    sift_down(nearest->heap, nearest->count, 0, candidate);
    return true;
}

/* Returns the index of a message in the heap, or nearest->count if the heap does not have the
 * message. */
static uint32_t nearest_find(const struct nearest *nearest, const uint8_t *id, uint32_t source)
{
    uint32_t at = 0;

    while (at < nearest->count && !is_message(&nearest->heap[at], id, source)) {
        at++;
    }
    return at;
}

bool nearest_offer_once(struct nearest *nearest, const struct nearest_candidate *candidate)
{
    uint32_t at = nearest_find(nearest, candidate->item.id, candidate->source);

    if (at == nearest->count) {
        return nearest_offer(nearest, candidate);
    }
    if (nearest_compare(candidate, &nearest->heap[at]) >= 0) {
        return false;
    }
    forget_known(nearest);
    sift_down(nearest->heap, nearest->count, at, candidate); /* it got better: away from the top */
    return true;
}

bool nearest_holds(const struct nearest *nearest, const uint8_t *id, uint32_t source)
{
    return nearest_find(nearest, id, source) < nearest->count;
}

const struct nearest_candidate *nearest_sort(struct nearest *nearest)
{
    /* Heap sort in place: moves the worst candidate to the end, again and again. */
    for (uint32_t left = nearest->count; left > 1; left--) {
        struct nearest_candidate last = nearest->heap[left - 1];

        nearest->heap[left - 1] = nearest->heap[0];
        sift_down(nearest->heap, left - 1, 0, &last);
    }
    return nearest->heap;
}
