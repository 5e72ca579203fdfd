/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check: everything that must be true of a structure of core between two calls. Each function
 * returns NULL, or one sentence (static storage) that says what is wrong. They read the structure's
 * inner headers, and compute anew what the structure keeps.
 */
#ifndef TESTS_REFERENCE_CHECK_H
#define TESTS_REFERENCE_CHECK_H

struct idmap;
struct index;
struct standing;

/* An index of the list, of the tree, or of an engine made from the tree. O(n) */
const char *check_index(const struct index *index);

const char *check_standing(const struct standing *standing);
const char *check_idmap(const struct idmap *map);

/* What an index keeps: struct list, struct tree. */
const char *check_list(const void *list);
const char *check_tree(const void *tree);

#endif
