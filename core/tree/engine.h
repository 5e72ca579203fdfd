/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine: the BloomFilterTree as the engine of an index (core/index/index.h). The tree returns the
 * same answers as a comparison with every filter, but usually reads few filters. See docs/tree.md.
 */
#pragma once

#include "core/index/engine.h"

extern const struct index_engine tree_engine;
