/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/reference/engines.h"

#include <assert.h>
#include <string.h>

#include "core/index/inner.h"
#include "core/tree/inner.h"

static uint32_t small_fanout;

static int create_small_tree(const struct index_options *options, void **out_engine)
{
    const int rc = tree_engine.create(options, out_engine);

    if (rc == 0) {
        struct tree *tree = *out_engine;
        tree->fanout = small_fanout;
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
    return &engine;
}

struct tree *tree_of_index(const struct index *index)
{
    assert(index->engine != &list_engine);
    return index->handle;
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
