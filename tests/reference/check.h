/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check: functions that check the invariants of a structure of core. Each function returns NULL, or
 * one sentence (static storage) that says what is wrong. The functions read the inner headers of
 * the structures, and compute again what the structure keeps. Call them between two calls of the
 * structure's own functions.
 */
#pragma once

struct idmap;
struct index;
struct standing;

/*
 * Checks an index whose engine is the list, the tree, or made from the tree. O(n) for n messages.
 */
const char *check_index(const struct index *index);

const char *check_standing(const struct standing *standing);
const char *check_idmap(const struct idmap *map);

/* What an index keeps: struct list, struct tree. */
const char *check_list(const void *list);
const char *check_tree(const void *tree);
