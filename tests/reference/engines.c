/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/reference/engines.h"

#include <assert.h>
#include <string.h>

#include "core/index/inner.h"
#include "core/tree/inner.h"

static uint32_t small_fanout;
static size_t small_most;

static int create_small_tree(const struct index_options *options, void **out_engine)
{
    const int rc = tree_engine.create(options, out_engine);

    if (rc == 0) {
        struct tree *tree = *out_engine;
        tree->fanout = small_fanout;
        tree->small_most = small_most;
    }
    return rc;
}

const struct index_engine *small_tree_engine(uint32_t fanout)
{
    static struct index_engine engine;

    assert(fanout >= 2 && fanout <= TREE_GROUPS);
    engine = tree_engine;
    engine.create = create_small_tree;
    small_fanout = fanout;
    small_most = TREE_SMALL_MOST;
    return &engine;
}

struct tree *tree_of_index(const struct index *index)
{
    assert(index->engine != &list_engine);
    return index->handle;
}

int renew_index(struct index *index)
{
    struct renewal *renewal = NULL;

    if (index->engine == &list_engine) {
        return 0;
    }
    small_fanout = tree_of_index(index)->fanout;
    small_most = tree_of_index(index)->small_most;
    int rc = renewal_begin(index, &renewal);
    if (rc != 0) {
        return rc;
    }
    do {
        rc = renewal_copy(renewal);
        if (rc == RENEWAL_FULL) {
            rc = renewal_take(renewal, NULL);
            rc = rc == 0 ? RENEWAL_MORE : rc;
        }
    } while (rc == RENEWAL_MORE);
    if (rc == 0) {
        rc = renewal_arrange(renewal, NULL);
    }
    if (rc == 0) {
        rc = renewal_follow(renewal, 1);
    }
    renewal_detach(renewal);
    renewal_free(renewal);
    return rc;
}

const struct index_engine *const *all_engines(void)
{
    static const struct index_engine *const engines[] = {&list_engine, &tree_engine, NULL};

    return engines;
}

const struct index_engine *engine_named(const char *name)
{
    const struct index_engine *const engines[] = {&list_engine, &tree_engine, best_path_engine()};

    for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++) {
        if (strcmp(engines[i]->name, name) == 0) {
            return engines[i];
        }
    }
    return NULL;
}

uint64_t search_work(const struct index_search *search)
{
    uint64_t sum = 0;

    for (uint32_t p = 0; p < search->query.part_count; p++) {
        sum += index_probe_work(&search->parts[p].probe);
    }
    return sum;
}

uint64_t search_bytes(const struct index_search *search)
{
    uint64_t sum = 0;

    for (uint32_t p = 0; p < search->query.part_count; p++) {
        sum += search->parts[p].probe.bytes;
    }
    return sum;
}
