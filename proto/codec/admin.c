/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/codec/admin.h"

#include "proto/codec/form.h"
#include "proto/hearsay.pb-c.h"

/* --- requests --------------------------------------------------------------------------------- */

#define HOST_ROW(Wire, Own)                                                     \
    {                                                                           \
        MAP_TEXT_ROW(Wire, host, Own, host), .min = 1, .max = LIMIT_HOST_BYTES, \
                                             .form = &codec_form_host           \
    }
#define ID_ROW(Wire, Own)                                                        \
    {                                                                            \
        MAP_BYTES_ROW(Wire, id, Own, id), .needed = true, .min = LIMIT_ID_BYTES, \
                                          .max = LIMIT_ID_BYTES                  \
    }
#define WORD_ROW(Wire, wire_name, most)                                                 \
    {                                                                                   \
        MAP_TEXT_ROW(Wire, wire_name, struct msg_admin, word), .min = 1, .max = (most), \
                                                               .form = &codec_form_line \
    }

static const struct map_field report_fields[] = {
    HOST_ROW(Hearsay__V1__Report, struct msg_report),
    ID_ROW(Hearsay__V1__Report, struct msg_report),
    {MAP_TEXT_ROW(Hearsay__V1__Report, reason, struct msg_report, reason), .min = 1,
     .max = LIMIT_REASON_BYTES, .form = &codec_form_line},
    {MAP_U64_ROW(Hearsay__V1__Report, work, struct msg_report, work)},
};
const struct map codec_report_map =
    MAP_OF("report", &hearsay__v1__report__descriptor, struct msg_report, report_fields);

static const struct map_field stats_fields[] = {
    HOST_ROW(Hearsay__V1__Stats, struct msg_admin),
};
const struct map codec_stats_map =
    MAP_OF("stats", &hearsay__v1__stats__descriptor, struct msg_admin, stats_fields);

static const struct map_field remove_fields[] = {
    HOST_ROW(Hearsay__V1__Remove, struct msg_admin),
    ID_ROW(Hearsay__V1__Remove, struct msg_admin),
    {MAP_BOOL_ROW(Hearsay__V1__Remove, ban, struct msg_admin, ban)},
};
const struct map codec_remove_map =
    MAP_OF("remove", &hearsay__v1__remove__descriptor, struct msg_admin, remove_fields);

static const struct map_field restore_fields[] = {
    HOST_ROW(Hearsay__V1__Restore, struct msg_admin),
    ID_ROW(Hearsay__V1__Restore, struct msg_admin),
};
const struct map codec_restore_map =
    MAP_OF("restore", &hearsay__v1__restore__descriptor, struct msg_admin, restore_fields);

static const struct map_field reported_fields[] = {
    HOST_ROW(Hearsay__V1__Reported, struct msg_admin),
    {MAP_U32_ROW(Hearsay__V1__Reported, limit, struct msg_admin, number)},
    {MAP_BOOL_ROW(Hearsay__V1__Reported, pending, struct msg_admin, pending)},
};
const struct map codec_reported_map =
    MAP_OF("reported", &hearsay__v1__reported__descriptor, struct msg_admin, reported_fields);

static const struct map_field ban_fields[] = {
    HOST_ROW(Hearsay__V1__Ban, struct msg_admin),
    {MAP_BYTES_ROW(Hearsay__V1__Ban, payload_hash, struct msg_admin, payload_hash),
     .min = LIMIT_HASH_BYTES, .max = LIMIT_HASH_BYTES},
    {MAP_BYTES_ROW(Hearsay__V1__Ban, filter, struct msg_admin, filter), .min = 1,
     .max = LIMIT_FILTER_BYTES},
    {MAP_U32_ROW(Hearsay__V1__Ban, max_distance, struct msg_admin, max_distance_ppm),
     .max = LIMIT_DISTANCE_PPM},
};
const struct map codec_ban_map =
    MAP_OF("ban", &hearsay__v1__ban__descriptor, struct msg_admin, ban_fields);

static const struct map_field unban_fields[] = {
    HOST_ROW(Hearsay__V1__Unban, struct msg_admin),
    {MAP_BYTES_ROW(Hearsay__V1__Unban, payload_hash, struct msg_admin, payload_hash),
     .min = LIMIT_HASH_BYTES, .max = LIMIT_HASH_BYTES},
    {MAP_BYTES_ROW(Hearsay__V1__Unban, filter, struct msg_admin, filter), .min = 1,
     .max = LIMIT_FILTER_BYTES},
};
const struct map codec_unban_map =
    MAP_OF("unban", &hearsay__v1__unban__descriptor, struct msg_admin, unban_fields);

static const struct map_field bans_fields[] = {
    HOST_ROW(Hearsay__V1__Bans, struct msg_admin),
    {MAP_U32_ROW(Hearsay__V1__Bans, skip, struct msg_admin, number)},
};
const struct map codec_bans_map =
    MAP_OF("bans", &hearsay__v1__bans__descriptor, struct msg_admin, bans_fields);

static const struct map_field accept_fields[] = {
    HOST_ROW(Hearsay__V1__Accept, struct msg_admin),
    WORD_ROW(Hearsay__V1__Accept, mode, LIMIT_WORD_BYTES),
};
const struct map codec_accept_map =
    MAP_OF("accept", &hearsay__v1__accept__descriptor, struct msg_admin, accept_fields);

static const struct map_field backup_fields[] = {
    {MAP_TEXT_ROW(Hearsay__V1__Backup, path, struct msg_admin, word), .needed = true, .min = 1,
     .max = LIMIT_PATH_BYTES, .form = &codec_form_line},
};
const struct map codec_backup_map =
    MAP_OF("backup", &hearsay__v1__backup__descriptor, struct msg_admin, backup_fields);

static const struct map_field log_level_fields[] = {
    WORD_ROW(Hearsay__V1__LogLevel, level, LIMIT_WORD_BYTES),
};
const struct map codec_log_level_map =
    MAP_OF("log_level", &hearsay__v1__log_level__descriptor, struct msg_admin, log_level_fields);

/* --- responses -------------------------------------------------------------------------------- */

static const struct map_field figure_fields[] = {
    {MAP_TEXT_ROW(Hearsay__V1__Figure, name, struct msg_figure, name), .needed = true, .min = 1,
     .max = LIMIT_FIGURE_BYTES},
    {MAP_I64_ROW(Hearsay__V1__Figure, value, struct msg_figure, value)},
};
static const struct map figure_map =
    MAP_OF("a figure", &hearsay__v1__figure__descriptor, struct msg_figure, figure_fields);

static const struct map_field stats_taken_fields[] = {
    {MAP_LIST_ROW(Hearsay__V1__StatsTaken, Hearsay__V1__Figure, figures, struct msg_stats_taken,
                  struct msg_figure, figures, figure_count, &figure_map)},
};
const struct map codec_stats_taken_map =
    MAP_OF("stats_taken", &hearsay__v1__stats_taken__descriptor, struct msg_stats_taken,
           stats_taken_fields);

#define REPORTED(Type, field) \
    Type##_ROW(Hearsay__V1__ReportedMessage, field, struct msg_reported_message, field)
static const struct map_field reported_message_fields[] = {
    {REPORTED(MAP_BYTES, id), .needed = true, .min = LIMIT_ID_BYTES, .max = LIMIT_ID_BYTES},
    {REPORTED(MAP_U32, reports)},
    {REPORTED(MAP_TEXT, media_type), .min = 1, .max = LIMIT_MEDIA_TYPE_BYTES,
     .form = &codec_form_media_type},
    {REPORTED(MAP_BYTES, payload)},
    {MAP_TEXTS_ROW(Hearsay__V1__ReportedMessage, reasons, struct msg_reported_message, reasons,
                   reason_count),
     .max = LIMIT_REASON_BYTES},
    {REPORTED(MAP_BOOL, hidden)},
    {REPORTED(MAP_BOOL, pending)},
    {REPORTED(MAP_I64, deposited_ms)},
    {REPORTED(MAP_I64, expires_ms)},
    {REPORTED(MAP_BOOL, payload_omitted)},
};
static const struct map reported_message_map =
    MAP_OF("a message", &hearsay__v1__reported_message__descriptor, struct msg_reported_message,
           reported_message_fields);

static const struct map_field reported_list_fields[] = {
    {MAP_LIST_ROW(Hearsay__V1__ReportedList, Hearsay__V1__ReportedMessage, messages,
                  struct msg_reported_list, struct msg_reported_message, messages, message_count,
                  &reported_message_map)},
    {MAP_U64_ROW(Hearsay__V1__ReportedList, total, struct msg_reported_list, total)},
};
const struct map codec_reported_list_map =
    MAP_OF("reported_list", &hearsay__v1__reported_list__descriptor, struct msg_reported_list,
           reported_list_fields);

static const struct map_field ban_entry_fields[] = {
    {MAP_BYTES_ROW(Hearsay__V1__BanEntry, payload_hash, struct msg_ban_entry, payload_hash),
     .min = LIMIT_HASH_BYTES, .max = LIMIT_HASH_BYTES},
    {MAP_BYTES_ROW(Hearsay__V1__BanEntry, filter, struct msg_ban_entry, filter), .min = 1,
     .max = LIMIT_FILTER_BYTES},
    {MAP_U32_ROW(Hearsay__V1__BanEntry, max_distance, struct msg_ban_entry, max_distance_ppm),
     .max = LIMIT_DISTANCE_PPM},
    {MAP_I64_ROW(Hearsay__V1__BanEntry, since_ms, struct msg_ban_entry, since_ms)},
};
static const struct map ban_entry_map =
    MAP_OF("a ban", &hearsay__v1__ban_entry__descriptor, struct msg_ban_entry, ban_entry_fields);

static const struct map_field ban_list_fields[] = {
    {MAP_LIST_ROW(Hearsay__V1__BanList, Hearsay__V1__BanEntry, bans, struct msg_ban_list,
                  struct msg_ban_entry, bans, ban_count, &ban_entry_map)},
    {MAP_BOOL_ROW(Hearsay__V1__BanList, more, struct msg_ban_list, more)},
};
const struct map codec_ban_list_map =
    MAP_OF("ban_list", &hearsay__v1__ban_list__descriptor, struct msg_ban_list, ban_list_fields);

static const struct map_field accepting_fields[] = {
    {MAP_TEXT_ROW(Hearsay__V1__Accepting, mode, struct msg_accepting, mode), .needed = true,
     .min = 1, .max = LIMIT_WORD_BYTES},
    {MAP_TEXT_ROW(Hearsay__V1__Accepting, source, struct msg_accepting, source),
     .max = LIMIT_WORD_BYTES},
    {MAP_I64_ROW(Hearsay__V1__Accepting, until_ms, struct msg_accepting, until_ms)},
};
const struct map codec_accepting_map = MAP_OF("accepting", &hearsay__v1__accepting__descriptor,
                                              struct msg_accepting, accepting_fields);

static const struct map_field checked_fields[] = {
    {MAP_TEXTS_ROW(Hearsay__V1__Checked, problems, struct msg_checked, problems, problem_count),
     .max = LIMIT_ERROR_BYTES},
    {MAP_U64_ROW(Hearsay__V1__Checked, messages, struct msg_checked, messages)},
};
const struct map codec_checked_map =
    MAP_OF("checked", &hearsay__v1__checked__descriptor, struct msg_checked, checked_fields);

static const struct map_field backed_up_fields[] = {
    {MAP_U64_ROW(Hearsay__V1__BackedUp, bytes, struct msg_bytes_taken, after)},
};
const struct map codec_backed_up_map = MAP_OF("backed_up", &hearsay__v1__backed_up__descriptor,
                                              struct msg_bytes_taken, backed_up_fields);

static const struct map_field compacted_fields[] = {
    {MAP_U64_ROW(Hearsay__V1__Compacted, bytes_before, struct msg_bytes_taken, before)},
    {MAP_U64_ROW(Hearsay__V1__Compacted, bytes_after, struct msg_bytes_taken, after)},
};
const struct map codec_compacted_map = MAP_OF("compacted", &hearsay__v1__compacted__descriptor,
                                              struct msg_bytes_taken, compacted_fields);

static const struct map_field log_level_set_fields[] = {
    {MAP_TEXT_ROW(Hearsay__V1__LogLevelSet, level, struct msg_log_level, level), .needed = true,
     .min = 1, .max = LIMIT_WORD_BYTES},
};
const struct map codec_log_level_set_map =
    MAP_OF("log_level_set", &hearsay__v1__log_level_set__descriptor, struct msg_log_level,
           log_level_set_fields);
