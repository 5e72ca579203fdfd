/* SPDX-License-Identifier: Apache-2.0 */
/* word: how far a mistyped word is from a name. */
#pragma once

#include <stddef.h>

/*
 * Returns the edit distance of two texts (optimal string alignment): how many bytes must be
 * inserted, deleted or changed, and how many pairs of neighbouring bytes swapped, to turn one text
 * into the other. Compares only the first 64 bytes of each text.
 */
size_t word_distance(const char *a, const char *b);
