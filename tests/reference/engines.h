/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engines: engines of an index that the daemon does not use. Tests compare every answer of the tree
 * with the answer of the list. The other engines are the tree with one change.
 */
#pragma once

#include "core/tree/engine.h"

struct tree;

/* The unsorted list: compares every query with every filter. In list.c. */
extern const struct index_engine list_engine;

/*
 * The tree, searched with the heuristic of the 2016 thesis: fast, and often wrong. In best_path.c.
 */
const struct index_engine *best_path_engine(void);

/*
 * The tree with `fanout` groups in a node (2 .. TREE_GROUPS) instead of TREE_GROUPS, so that few
 * messages fill many nodes. There is only one such engine: `fanout` holds for all trees that the
 * engine creates after this call.
 */
const struct index_engine *small_tree_engine(uint32_t fanout);

/*
 * Renews an index in one call (index.h). A list stays as it is. A tree keeps its `fanout` and its
 * `small_most`. Searches on the index may be open. Returns 0, or the result of the renewal's
 * function that failed.
 */
int renew_index(struct index *index);

/* Returns the tree inside an index. The index has any of these engines except the list. */
struct tree *tree_of_index(const struct index *index);

/* The list and the tree, ended by NULL. */
const struct index_engine *const *all_engines(void);

/*
 * Return the work of a search so far, in the unit of a step's budget, and the bytes of indexes that
 * the search has read.
 */
uint64_t search_work(const struct index_search *search);
uint64_t search_bytes(const struct index_search *search);

/* "list", "tree" or "best-path"; NULL for another name. */
const struct index_engine *engine_named(const char *name);
