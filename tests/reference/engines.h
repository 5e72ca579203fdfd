/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engines: engines of an index that the daemon does not use. The list is what every answer of the
 * tree is compared with; the others are the tree with one thing changed.
 */
#ifndef TESTS_REFERENCE_ENGINES_H
#define TESTS_REFERENCE_ENGINES_H

#include "core/tree/engine.h"

struct tree;

/* The unsorted list: every query is compared with every filter. list.c */
extern const struct index_engine list_engine;

/* The tree, searched as the 2016 thesis searches its tree: fast, and often wrong. best_path.c */
const struct index_engine *best_path_engine(void);

/*
 * The tree with `fanout` groups a node (2 .. TREE_GROUPS) instead of TREE_GROUPS, so that few
 * messages fill many nodes. There is one such engine: the number holds for all trees that it
 * creates from now on.
 */
const struct index_engine *small_tree_engine(uint32_t fanout);

/* Renews an index in one call (renewal.h); the list stays as it is. Searches may be under way. A
 * tree keeps its `fanout` and its `small_most`. 0 or what a renewal's call returned. */
int renew_index(struct index *index);

/* The tree inside an index of any of these engines, but for the list. */
struct tree *tree_of_index(const struct index *index);

/* The list and the tree, ended by NULL. */
const struct index_engine *const *all_engines(void);

/* The work of a search so far, in the unit of a step's budget; bytes of indexes that it read. */
uint64_t search_work(const struct index_search *search);
uint64_t search_bytes(const struct index_search *search);

/* "list", "tree" or "best-path"; NULL for another name. */
const struct index_engine *engine_named(const char *name);

#endif
