/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/statics.h"

#include <string.h>

const struct statics_file *statics_find(const char *name)
{
    for (size_t i = 0; i < statics_table_count; i++) {
        if (strcmp(statics_table[i].name, name) == 0) {
            return &statics_table[i];
        }
    }
    return NULL;
}
