/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/fair.h"

#include <assert.h>
#include <string.h>

/* A sender or a network. The table is a list, because whoever chooses a victim looks at all things
 * anyhow, and there are no more holders than things. */
struct fair_holder {
    struct fair_holder *next;
    struct fair_holder *network; /* NULL: it has none, or is one */
    struct fair_key key;
    bool is_network;
    uint64_t held;
};

/* --- the victim ------------------------------------------------------------------------------- */

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_shares(const struct fair_share *a, const struct fair_share *b)
{
    int by_holder = compare_numbers(a->held, b->held);

    return by_holder != 0 ? by_holder : compare_numbers(a->by_network, b->by_network);
}

static bool is_own(const struct fair_choice *choice, const struct fair_candidate *candidate)
{
    return candidate->share.holder != NULL && candidate->share.holder == choice->newcomer.holder;
}

/* Whether `a` goes before `b`. */
static bool goes_before(const struct fair_choice *choice, const struct fair_candidate *a,
                        const struct fair_candidate *b)
{
    int order = compare_shares(&a->share, &b->share);

    order = order != 0 ? order : is_own(choice, a) - is_own(choice, b);
    order = order != 0 ? order : compare_numbers(a->rank, b->rank);
    order = order != 0 ? order : compare_numbers(a->age, b->age);
    return order > 0;
}

void fair_consider(struct fair_choice *choice, const struct fair_candidate *candidate)
{
    bool may_be_dropped =
        is_own(choice, candidate) || compare_shares(&candidate->share, &choice->newcomer) >= 0;

    if (may_be_dropped &&
        (choice->victim.thing == NULL || goes_before(choice, candidate, &choice->victim))) {
        choice->victim = *candidate;
    }
}

/* --- counting --------------------------------------------------------------------------------- */

/* NULL: there is none. */
static struct fair_holder *find_holder(const struct fair_table *table, const struct fair_key *key,
                                       bool is_network)
{
    struct fair_holder *holder = table->first;

    while (holder != NULL &&
           (holder->is_network != is_network || memcmp(&holder->key, key, sizeof(*key)) != 0)) {
        holder = holder->next;
    }
    return holder;
}

/* Adds a holder that has nothing yet. NULL: memory is out. */
static struct fair_holder *add_holder(struct fair_table *table, const struct alloc *alloc,
                                      const struct fair_key *key, bool is_network)
{
    struct fair_holder *holder = alloc_zeroed(alloc, 1, sizeof(*holder));

    if (holder != NULL) {
        holder->key = *key;
        holder->is_network = is_network;
        holder->next = table->first;
        table->first = holder;
    }
    return holder;
}

static void free_if_empty(struct fair_table *table, const struct alloc *alloc,
                          struct fair_holder *holder)
{
    struct fair_holder **at = &table->first;

    if (holder == NULL || holder->held > 0) {
        return;
    }
    while (*at != holder) {
        at = &(*at)->next;
    }
    *at = holder->next;
    alloc_release(alloc, holder);
}

/* Adds a sender that has nothing yet, and its network if that is new. NULL: memory is out. */
static struct fair_holder *add_sender(struct fair_table *table, const struct alloc *alloc,
                                      const struct fair_key *sender, const struct fair_key *network)
{
    struct fair_holder *wide = network != NULL ? find_holder(table, network, true) : NULL;

    if (network != NULL && wide == NULL) {
        wide = add_holder(table, alloc, network, true);
        if (wide == NULL) {
            return NULL;
        }
    }
    struct fair_holder *holder = add_holder(table, alloc, sender, false);
    if (holder == NULL) {
        free_if_empty(table, alloc, wide);
        return NULL;
    }
    holder->network = wide;
    return holder;
}

struct fair_holder *fair_enter(struct fair_table *table, const struct alloc *alloc,
                               const struct fair_key *sender, const struct fair_key *network)
{
    struct fair_holder *holder = find_holder(table, sender, false);

    holder = holder != NULL ? holder : add_sender(table, alloc, sender, network);
    if (holder == NULL) {
        return NULL;
    }
    holder->held++;
    if (holder->network != NULL) {
        holder->network->held++;
    }
    return holder;
}

void fair_leave(struct fair_table *table, const struct alloc *alloc, struct fair_holder *holder)
{
    if (holder == NULL) {
        return;
    }
    assert(holder->held > 0);
    holder->held--;
    if (holder->network != NULL) {
        holder->network->held--;
        free_if_empty(table, alloc, holder->network);
    }
    free_if_empty(table, alloc, holder);
}

struct fair_share fair_share(const struct fair_holder *holder)
{
    if (holder == NULL) {
        return (struct fair_share){0};
    }
    return (struct fair_share){
        .holder = holder,
        .held = holder->held,
        .by_network = holder->network != NULL ? holder->network->held : holder->held,
    };
}
