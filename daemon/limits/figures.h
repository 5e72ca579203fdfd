/* SPDX-License-Identifier: Apache-2.0 */
/*
 * figures: a list of named numbers, for the answer to Stats. The list and the names are in an
 * arena.
 */
#pragma once

#include <stdint.h>

#include "proto/arena.h"
#include "proto/msg.h"

struct figures {
    struct arena *arena;         /* borrowed */
    struct hearsay_figure *list; /* in the arena; room for LIMIT_FIGURES */
    size_t count;
    bool is_short; /* there was no memory or no place for a figure, so figures are missing */
};

/* Makes an empty list. Borrows the arena. Returns 0 or -ERR_NOMEM. */
int figures_init(struct figures *figures, struct arena *arena);

/* Adds a figure. A value above INT64_MAX is written as INT64_MAX. The name is formatted as by
 * printf, and cut to LIMIT_FIGURE_BYTES. Without memory, or after LIMIT_FIGURES figures, adds
 * nothing and sets is_short. */
void figures_add(struct figures *figures, uint64_t value, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
