/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options: hearsay-web as two programs, for daemon/settings: the guests' page and, with --moderate
 * before the options, the moderators' page. The command line of both is a struct settings_options,
 * and the configuration of both a struct web_config.
 */
#pragma once

#include "client/web/setup/config.h"
#include "daemon/settings/options.h"

extern const struct settings_program web_program;
extern const struct settings_program moderate_program;
