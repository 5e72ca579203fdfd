/* SPDX-License-Identifier: Apache-2.0 */
/* defaults: what hearsayd does where nobody chose, for benchmarks that show what people have. */
#pragma once

#include "core/index/index.h"
#include "core/profile/profile.h"

/* Reads the profile of a host whose configuration names none. */
void bench_default_profile(struct profile *out);

/* Returns the metric of a query that names none. */
enum index_metric bench_default_metric(void);
