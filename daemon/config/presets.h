/* SPDX-License-Identifier: Apache-2.0 */
/*
 * presets: the configurations that `hearsayd --print-config NAME` prints, from daemon/preset/. The
 * build makes the source file of this header (scripts/embed).
 */
#ifndef DAEMON_CONFIG_PRESETS_H
#define DAEMON_CONFIG_PRESETS_H

#include "daemon/settings/options.h"

extern const struct settings_preset presets[]; /* ends with a row of NULL */

#endif
