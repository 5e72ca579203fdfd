/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keep_alloc: libc's heap, but large blocks that are freed are kept for the next who asks for as
 * much. A fuzz target that opens and closes a service for each input spends most of its time on
 * them otherwise: a sanitizer maps each large block anew and unmaps it again.
 */
#pragma once

#include "core/base/alloc.h"

/* Static storage; one thread may use it. What it keeps is never given back. */
const struct alloc *keep_alloc(void);
