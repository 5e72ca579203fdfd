/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/limits/figures.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/err.h"

int figures_init(struct figures *figures, struct arena *arena)
{
    *figures = (struct figures){.arena = arena};
    figures->list = arena_take_zeroed(arena, LIMIT_FIGURES, sizeof(*figures->list));
    return figures->list != NULL ? 0 : -ERR_NOMEM;
}

void figures_add(struct figures *figures, uint64_t value, const char *format, ...)
{
    char name[LIMIT_FIGURE_BYTES + 1];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(name, sizeof(name), format, arguments); /* names are ours, and short */
    va_end(arguments);
    size_t length = strlen(name);
    char *copy = figures->count < LIMIT_FIGURES ? arena_take(figures->arena, length + 1) : NULL;
    if (copy == NULL) {
        figures->is_short = true;
        return;
    }
    memcpy(copy, name, length + 1);
    figures->list[figures->count++] = (struct hearsay_figure){
        .name = {copy, length}, .value = value > INT64_MAX ? INT64_MAX : (int64_t)value};
}
