/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/defaults.h"

#include "daemon/config/inner.h"
#include "daemon/settings/table.h"
#include "proto/msg.h"
#include "tests/bench/bench.h"

void bench_default_profile(struct profile *out)
{
    const struct settings_key *key = settings_find(&config_table, CONFIG_SECTION_HOST, "profile");

    (void)bench_profile(key->standard, out); /* config_add_host asserts that it can be parsed */
}

enum index_metric bench_default_metric(void)
{
    return MSG_METRIC_DEFAULT == HEARSAY_METRIC_PHI ? INDEX_METRIC_PHI : INDEX_METRIC_BITS;
}
