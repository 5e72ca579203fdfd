/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_table: the table of all keys of hearsayd. daemon/settings parses, checks and prints a
 * configuration by this table.
 */
#ifndef DAEMON_CONFIG_TABLE_H
#define DAEMON_CONFIG_TABLE_H

#include "daemon/config/config.h"
#include "daemon/settings/table.h"

/*
 * The sections. Values of [daemon] and [limits] are in struct config, values of [host NAME] in
 * struct config_host.
 */
enum config_section {
    CONFIG_SECTION_DAEMON,
    CONFIG_SECTION_LIMITS,
    CONFIG_SECTION_HOST,
    CONFIG_SECTIONS
};

enum {
    CONFIG_FRAME_REST_BYTES = 2048 /* bytes of a frame reserved for all but the payload: filter,
                                      ids, headers */
};

extern const struct settings_table config_table;

#endif
