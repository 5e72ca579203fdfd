/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec_admin: the maps of Report and of what the administrator asks and is told; rows of the
 * envelopes in codec_request.c and codec_response.c. Only the codec uses this.
 */
#ifndef PROTO_CODEC_ADMIN_H
#define PROTO_CODEC_ADMIN_H

#include "proto/codec/map.h"

extern const struct map codec_report_map; /* struct msg_report */

/* struct msg_admin, each with the fields that it has. */
extern const struct map codec_stats_map;
extern const struct map codec_remove_map;
extern const struct map codec_restore_map;
extern const struct map codec_reported_map;
extern const struct map codec_ban_map;
extern const struct map codec_unban_map;
extern const struct map codec_bans_map;
extern const struct map codec_accept_map;
extern const struct map codec_backup_map;
extern const struct map codec_log_level_map;

extern const struct map codec_stats_taken_map;
extern const struct map codec_reported_list_map;
extern const struct map codec_ban_list_map;
extern const struct map codec_accepting_map;
extern const struct map codec_checked_map;
extern const struct map codec_backed_up_map; /* struct msg_bytes_taken */
extern const struct map codec_compacted_map; /* struct msg_bytes_taken */
extern const struct map codec_log_level_set_map;

#endif
