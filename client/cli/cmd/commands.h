/* SPDX-License-Identifier: Apache-2.0 */
/* commands: the rows of the table of commands. Each row is defined in the file of its command. */
#pragma once

#include "client/cli/base/cli.h"

/* The options of the commands that take at most --host and --json. */
struct plain_options {
    const char *host; /* NULL: the default host, or all */
    bool json;
};

extern const struct cli_command command_admin;
extern const struct cli_command command_admin_accept;
extern const struct cli_command command_admin_backup;
extern const struct cli_command command_admin_ban;
extern const struct cli_command command_admin_bans;
extern const struct cli_command command_admin_check;
extern const struct cli_command command_admin_compact;
extern const struct cli_command command_admin_hide;
extern const struct cli_command command_admin_hosts;
extern const struct cli_command command_admin_list;
extern const struct cli_command command_admin_log;
extern const struct cli_command command_admin_notice;
extern const struct cli_command command_admin_notices;
extern const struct cli_command command_admin_remove;
extern const struct cli_command command_admin_restore;
extern const struct cli_command command_admin_similar;
extern const struct cli_command command_admin_stats;
extern const struct cli_command command_admin_unban;
extern const struct cli_command command_admin_wait;
extern const struct cli_command command_admin_feed;
extern const struct cli_command command_channel;
extern const struct cli_command command_context;
extern const struct cli_command command_deposit;
extern const struct cli_command command_export;
extern const struct cli_command command_get;
extern const struct cli_command command_here;
extern const struct cli_command command_hosts;
extern const struct cli_command command_import;
extern const struct cli_command command_ping;
extern const struct cli_command command_known;
extern const struct cli_command command_profile;
extern const struct cli_command command_query;
extern const struct cli_command command_report;
extern const struct cli_command command_summary;
extern const struct cli_command command_watch;
extern const struct cli_command command_withdraw;

/* --- admin_prometheus ------------------------------------------------------------------------- */

/* The figures of the daemon in Prometheus' text format 0.0.4. */

/*
 * Connects, asks for the figures of `host` (NULL: of all hosts) and prints them. `file` NULL: to
 * standard output. Otherwise replaces the file whole; if the daemon does not answer, the new file
 * has hearsay_up 0 and nothing else. Returns an exit code.
 */
int admin_prometheus(struct cli *cli, const char *host, const char *file);

/* --- moderate --------------------------------------------------------------------------------- */

/* The names of the kinds of reports, for the commands report, admin list and others. */

/* Ends with NULL. The index of a name is the number of the kind (enum hearsay_report_kind). The
 * name "other" has the index 0. */
extern const char *const moderate_kinds[];

/* Ends with NULL. The index of a name is the number of the kind. "none": no kind is said. */
extern const char *const moderate_whys[];
