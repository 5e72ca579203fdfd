/* SPDX-License-Identifier: Apache-2.0 */
/*
 * similar: the request Similar, which finds groups of near-duplicates (core/index/similar.h). Both
 * functions are called on the loop thread.
 */
#pragma once

#include "daemon/handler/ask.h"

/* In the table of handler.c. */
void handler_similar(struct ask *ask);

/*
 * Goes on with the request that is under way, if there is one. Begins no further piece of work when
 * `most_ns` or more have passed. Returns whether the next turn has more to do.
 */
bool handler_run_similar(struct service *service, uint64_t most_ns);
