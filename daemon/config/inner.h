/* SPDX-License-Identifier: Apache-2.0 */
/* inner: what only the files of this folder share. */
#pragma once

#include "daemon/config/config.h"
#include "daemon/settings/options.h"
#include "daemon/settings/table.h"

/* Begins a section of a file, as settings_target.enter: `config` is a struct config. */
int config_enter(void *config, const struct settings_source *source,
                 const struct settings_heading *heading, void **out_base);

/* --- guest.c: listeners for one user, gateways and bridges ------------------------------------ */

/*
 * Checks that each such listener has a user and a folder of its own, and that no user is both, or
 * the daemon's own. Returns 0, or CONFIG_REFUSED with a sentence.
 */
int config_check_guests(const struct config *config, const struct settings_source *source);

/* --- types.c: types of values of one field each ----------------------------------------------- */

extern const struct settings_own config_type_listener; /* struct config: listeners */
extern const struct settings_own config_type_labels;   /* struct config_host: here */
extern const struct settings_own config_type_schedule; /* struct config_host: schedule */
extern const struct settings_own config_type_profile;  /* struct config_host: profile */

/* --- presets.c, made by scripts/embed: for --print-config NAME -------------------------------- */

extern const struct settings_preset presets[]; /* ends with a row of NULL */

/* --- table ------------------------------------------------------------------------------------ */

/*
 * config_table: the table of all keys of hearsayd. daemon/settings parses, checks and prints a
 * configuration by this table.
 */

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
