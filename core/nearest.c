/* SPDX-License-Identifier: Apache-2.0 */
#include "core/nearest.h"

#include <string.h>

#include "core/err.h"

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
    return (a->part > b->part) - (a->part < b->part);
}

int nearest_init(struct nearest *nearest, const struct alloc *alloc, uint32_t k)
{
    struct nearest_candidate *heap = alloc_array(alloc, k, sizeof *heap);

    if (heap == NULL) {
        return -ERR_NOMEM;
    }
    *nearest = (struct nearest){.alloc = alloc, .heap = heap, .count = 0, .k = k};
    return 0;
}

void nearest_deinit(struct nearest *nearest)
{
    if (nearest->heap != NULL) {
        alloc_release(nearest->alloc, nearest->heap, nearest->k, sizeof *nearest->heap);
    }
    *nearest = (struct nearest){0};
}

void nearest_clear(struct nearest *nearest)
{
    nearest->count = 0;
}

/* Puts the candidate into the hole at `at`, or above it, so that no parent is better. */
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
 * Puts the candidate into the hole at `at`, or below it. Positions are 64 bits wide, as 2 at + 2
 * may not fit 32.
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

bool nearest_offer(struct nearest *nearest, const struct nearest_candidate *candidate)
{
    if (!nearest_is_full(nearest)) {
        sift_up(nearest->heap, nearest->count, candidate);
        nearest->count++;
        return true;
    }
    if (nearest_compare(candidate, &nearest->heap[0]) >= 0) {
        return false;
    }
    sift_down(nearest->heap, nearest->count, 0, candidate);
    return true;
}

/* Where a message is held; count when it is not. */
static uint32_t find(const struct nearest *nearest, const uint8_t *id, uint32_t source)
{
    uint32_t at = 0;

    while (at < nearest->count && (nearest->heap[at].source != source ||
                                   memcmp(nearest->heap[at].item.id, id, MESSAGE_ID_BYTES) != 0)) {
        at++;
    }
    return at;
}

bool nearest_offer_once(struct nearest *nearest, const struct nearest_candidate *candidate)
{
    uint32_t at = find(nearest, candidate->item.id, candidate->source);

    if (at == nearest->count) {
        return nearest_offer(nearest, candidate);
    }
    if (nearest_compare(candidate, &nearest->heap[at]) >= 0) {
        return false;
    }
    sift_down(nearest->heap, nearest->count, at, candidate); /* it got better: away from the top */
    return true;
}

bool nearest_holds(const struct nearest *nearest, const uint8_t *id, uint32_t source)
{
    return find(nearest, id, source) < nearest->count;
}

const struct nearest_candidate *nearest_sort(struct nearest *nearest)
{
    /* Heap sort: the worst goes to the end of what is left. In place, without recursion. */
    for (uint32_t left = nearest->count; left > 1; left--) {
        struct nearest_candidate last = nearest->heap[left - 1];

        nearest->heap[left - 1] = nearest->heap[0];
        sift_down(nearest->heap, left - 1, 0, &last);
    }
    return nearest->heap;
}
