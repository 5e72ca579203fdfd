/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/inner.h"
#include "tests/reference/check.h"
#include "tests/reference/engines.h"

const char *check_index(const struct index *index)
{
    return index->engine == &list_engine ? check_list(index->handle) : check_tree(index->handle);
}
