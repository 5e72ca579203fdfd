/* SPDX-License-Identifier: Apache-2.0 */
/* moderate: the names of the kinds of reports, for the commands report, admin list and others. */
#ifndef CLIENT_CLI_CMD_MODERATE_H
#define CLIENT_CLI_CMD_MODERATE_H

/* Ends with NULL. The index of a name is the number of the kind (enum hearsay_report_kind). The
 * name "other" has the index 0. */
extern const char *const moderate_kinds[];

/* Ends with NULL. The index of a name is the number of the kind. "none": no kind is said. */
extern const char *const moderate_whys[];

#endif
