/* SPDX-License-Identifier: Apache-2.0 */
/* inner: the keys of hearsay-bridge, and the types of values that only hearsay-bridge has. */
#pragma once

#include "daemon/settings/table.h"

/* Begins a section of a file, as settings_target.enter: `config` is a struct bridge_config. */
int bridge_config_enter(void *config, const struct settings_source *source,
                        const struct settings_heading *heading, void **out_base);

extern const struct settings_table bridge_table;

extern const struct settings_own bridge_type_nats;  /* struct bridge_config: nats */
extern const struct settings_own bridge_type_hosts; /* struct bridge_config: reader_hosts */
