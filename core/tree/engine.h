/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine: the BloomFilterTree as an engine of an index (core/index/index.h). It gives the answers
 * that a comparison of every filter would give, and reads few filters. docs/tree.md
 */
#ifndef CORE_TREE_ENGINE_H
#define CORE_TREE_ENGINE_H

#include "core/index/engine.h"

extern const struct index_engine tree_engine;

#endif
