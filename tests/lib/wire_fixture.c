/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/wire_fixture.h"

#include <stdlib.h>

#include "proto/codec/codec.h"

static void wire_append(struct bytes *out, const void *data, size_t count)
{
    if (bytes_append(out, data, count) != 0) {
        abort();
    }
}

void wire_put_varint(struct bytes *out, uint64_t value)
{
    uint8_t encoded[10];
    size_t count = 0;

    do {
        encoded[count] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
        count++;
    } while (value > 0);
    wire_append(out, encoded, count);
}

void wire_put_tag(struct bytes *out, uint32_t field, uint32_t wire_type)
{
    wire_put_varint(out, (uint64_t)field << 3 | wire_type);
}

void wire_put_number(struct bytes *out, uint32_t field, uint64_t value)
{
    wire_put_tag(out, field, 0);
    wire_put_varint(out, value);
}

void wire_put_data(struct bytes *out, uint32_t field, const void *data, size_t count)
{
    wire_put_tag(out, field, 2);
    wire_put_varint(out, count);
    wire_append(out, data, count);
}

/* --- samples ---------------------------------------------------------------------------------- */

#define SAMPLE_TEXT(literal)         \
    {                                \
        literal, sizeof(literal) - 1 \
    }
#define SAMPLE_BYTES(array, bytes) \
    {                              \
        array, bytes               \
    }

static const uint8_t sample_id[LIMIT_ID_BYTES] = {1, 2,  3,  4,  5,  6,  7,  8,
                                                  9, 10, 11, 12, 13, 14, 15, 16};
static const uint8_t sample_hash[LIMIT_HASH_BYTES] = {0xff, 0xfe, 0, 1};
static const uint8_t sample_filter[64] = {0x11, 0x80, 0, 0x42};
static const uint8_t sample_payload[200] = "black coffee at the second window";

static const struct hearsay_query_part sample_parts[] = {
    {.filter = SAMPLE_BYTES(sample_filter, 64)},
    {.epoch = UINT64_MAX,
     .filter = SAMPLE_BYTES(sample_filter, 64),
     .contains = SAMPLE_BYTES(sample_filter, 64)},
};
static const struct hearsay_slice sample_slices[] = {
    {.bits = SAMPLE_BYTES(sample_payload, 100), .hashes = 7},
    {.bits = SAMPLE_BYTES(sample_payload, 200), .hashes = LIMIT_HASHES, .seed = UINT64_MAX},
};

#define QUERY_DEFAULTS                                                                             \
    .max_distance_ppm = LIMIT_DISTANCE_PPM, .since_ms = INT64_MIN, .until_ms = INT64_MAX,          \
    .metric = HEARSAY_METRIC_BITS, .order = HEARSAY_ORDER_SIMILARITY, .scope = HEARSAY_SCOPE_HERE, \
    .wait_ms = LIMIT_WAIT_MS_DEFAULT, .max_staleness_ms = UINT64_MAX

static const struct hearsay_text sample_hoods[] = {SAMPLE_TEXT("campus"), SAMPLE_TEXT("a-1")};
static const struct hearsay_result sample_remote[] = {{.id = SAMPLE_BYTES(sample_id, 16),
                                                       .host = SAMPLE_TEXT("library"),
                                                       .filter = SAMPLE_BYTES(sample_filter, 64)}};

static const struct hearsay_change sample_changes[] = {
    {.seq = UINT64_MAX,
     .has_message = true,
     .message = {.id = SAMPLE_BYTES(sample_id, 16),
                 .filter = SAMPLE_BYTES(sample_filter, 8),
                 .media_type = SAMPLE_TEXT("text/plain"),
                 .payload = SAMPLE_BYTES(sample_payload, 200),
                 .deposited_ms = INT64_MIN,
                 .expires_ms = INT64_MAX,
                 .reach_ppm = 1,
                 .withdraw_hash = SAMPLE_BYTES(sample_hash, 32),
                 .state = LIMIT_STATE,
                 .reports = UINT32_MAX}},
    {.has_gone = true, .gone = {SAMPLE_BYTES(sample_id, 16), INT64_MAX, HEARSAY_WAS_EVICTED}},
    {.seq = 1,
     .has_rule = true,
     .rule = {LIMIT_RULE_KIND, SAMPLE_BYTES(sample_payload, 200), UINT32_MAX, -1, true, INT64_MAX}},
};

static const struct hearsay_request sample_requests[] = {
    {.id = 1, .kind = HEARSAY_REQUEST_HELLO, .hello = {.versions = {1}, .version_count = 1}},
    {.id = UINT64_MAX,
     .kind = HEARSAY_REQUEST_HELLO,
     .hello = {.versions = {1, 2, UINT32_MAX},
               .version_count = 3,
               .agent = SAMPLE_TEXT("caf\xc3\xa9/1.0"),
               .resume_token = SAMPLE_BYTES(sample_hash, 32)}},
    {.id = 2,
     .kind = HEARSAY_REQUEST_DEPOSIT,
     .deposit = {.id = SAMPLE_BYTES(sample_id, 16),
                 .filter = SAMPLE_BYTES(sample_filter, 64),
                 .reach_ppm = LIMIT_DISTANCE_PPM}},
    {.id = 3,
     .kind = HEARSAY_REQUEST_DEPOSIT,
     .deposit = {.host = SAMPLE_TEXT("cafe-1"),
                 .id = SAMPLE_BYTES(sample_id, 16),
                 .epoch = 300,
                 .filter = SAMPLE_BYTES(sample_filter, 64),
                 .media_type = SAMPLE_TEXT("text/plain; charset=utf-8"),
                 .payload = SAMPLE_BYTES(sample_payload, 200),
                 .has_ttl_s = true,
                 .ttl_s = 86400,
                 .reach_ppm = 0,
                 .withdraw_hash = SAMPLE_BYTES(sample_hash, 32)}},
    {.id = 4,
     .kind = HEARSAY_REQUEST_QUERY,
     .query = {.k = 1, .parts = sample_parts, .part_count = 1, QUERY_DEFAULTS}},
    {.id = 5,
     .kind = HEARSAY_REQUEST_QUERY,
     .query = {.host = SAMPLE_TEXT("default"),
               .k = 100,
               .parts = sample_parts,
               .part_count = 2,
               .max_distance_ppm = 500000,
               .since_ms = -1,
               .until_ms = INT64_C(1790000000000),
               .metric = HEARSAY_METRIC_PHI,
               .order = HEARSAY_ORDER_TIME,
               .exclude = sample_slices,
               .exclude_count = 2,
               .with_payload = true,
               .scope = HEARSAY_SCOPE_HOOD,
               .wait_ms = 250,
               .max_staleness_ms = 5000,
               .floor = LIMIT_FLOOR}},
    {.id = 6, .kind = HEARSAY_REQUEST_GET, .get = {.id = SAMPLE_BYTES(sample_id, 16)}},
    {.id = 7,
     .kind = HEARSAY_REQUEST_GET,
     .get = {.host = SAMPLE_TEXT("0"), .id = SAMPLE_BYTES(sample_id, 16)}},
    {.id = 8,
     .kind = HEARSAY_REQUEST_WITHDRAW,
     .withdraw = {.id = SAMPLE_BYTES(sample_id, 16), .token = SAMPLE_BYTES(sample_hash, 32)}},
    {.id = 9,
     .kind = HEARSAY_REQUEST_WITHDRAW,
     .withdraw = {.host = SAMPLE_TEXT("default"),
                  .id = SAMPLE_BYTES(sample_id, 16),
                  .token = SAMPLE_BYTES(sample_hash, 32)}},
    {.id = 10, .kind = HEARSAY_REQUEST_PING},
    {.id = 11, .kind = HEARSAY_REQUEST_EXPORT},
    {.id = 12,
     .kind = HEARSAY_REQUEST_EXPORT,
     .export_ = {.host = SAMPLE_TEXT("default"),
                 .after = SAMPLE_BYTES(sample_hash, 24),
                 .limit = 500}},
    {.id = 15, .kind = HEARSAY_REQUEST_SUMMARY},
    {.id = 61, .kind = HEARSAY_REQUEST_HERE},
    {.id = 62, .kind = HEARSAY_REQUEST_HERE, .here = {.host = SAMPLE_TEXT("default")}},
    {.id = 16,
     .kind = HEARSAY_REQUEST_SUMMARY,
     .summary = {.host = SAMPLE_TEXT("default"), .epoch = 5, .groups = 32}},
    {.id = 17,
     .kind = HEARSAY_REQUEST_REPORT,
     .report = {.kind = HEARSAY_REPORT_HARASSMENT,
                .host = SAMPLE_TEXT("a"),
                .id = SAMPLE_BYTES(sample_id, 16),
                .reason = SAMPLE_TEXT("caf\xc3\xa9")}},
    {.id = 18, .kind = HEARSAY_REQUEST_STATS, .stats = {.host = SAMPLE_TEXT("default")}},
    {.id = 19,
     .kind = HEARSAY_REQUEST_REMOVE,
     .remove = {.id = SAMPLE_BYTES(sample_id, 16),
                .ban = true,
                .kind = HEARSAY_REPORT_ILLEGAL,
                .reason = SAMPLE_TEXT("caf\xc3\xa9")}},
    {.id = 20, .kind = HEARSAY_REQUEST_RESTORE, .restore = {.id = SAMPLE_BYTES(sample_id, 16)}},
    {.id = 31,
     .kind = HEARSAY_REQUEST_HIDE,
     .hide = {.id = SAMPLE_BYTES(sample_id, 16), .kind = HEARSAY_REPORT_OTHER_KIND}},
    {.id = 32, .kind = HEARSAY_REQUEST_DECISIONS, .decisions = {.limit = 7, .before = UINT64_MAX}},
    {.id = 33, .kind = HEARSAY_REQUEST_DECISIONS, .decisions = {.before = 9}},
    {.id = 46,
     .kind = HEARSAY_REQUEST_SIMILAR,
     .similar = {.max_distance_ppm = LIMIT_DISTANCE_PPM, .limit = 7}},
    {.id = 34, .kind = HEARSAY_REQUEST_WAIT, .wait = {.host = SAMPLE_TEXT("default")}},
    {.id = 21,
     .kind = HEARSAY_REQUEST_REPORTED,
     .reported = {.limit = 7,
                  .pending = true,
                  .withheld = true,
                  .all = true,
                  .after = SAMPLE_BYTES(sample_hash, LIMIT_CURSOR_BYTES)}},
    {.id = 22,
     .kind = HEARSAY_REQUEST_BAN,
     .ban = {.filter = SAMPLE_BYTES(sample_filter, 64), .max_distance_ppm = 1000}},
    {.id = 23,
     .kind = HEARSAY_REQUEST_UNBAN,
     .unban = {.payload_hash = SAMPLE_BYTES(sample_hash, 32)}},
    {.id = 24, .kind = HEARSAY_REQUEST_BANS, .bans = {.skip = UINT32_MAX}},
    {.id = 25, .kind = HEARSAY_REQUEST_ACCEPT, .accept = {.mode = SAMPLE_TEXT("closed")}},
    {.id = 26, .kind = HEARSAY_REQUEST_CHECK},
    {.id = 27, .kind = HEARSAY_REQUEST_BACKUP, .backup = {.path = SAMPLE_TEXT("/srv/x.db")}},
    {.id = 28, .kind = HEARSAY_REQUEST_COMPACT},
    {.id = 29, .kind = HEARSAY_REQUEST_RELOAD},
    {.id = 30, .kind = HEARSAY_REQUEST_LOG_LEVEL, .log_level = {.level = SAMPLE_TEXT("debug")}},
    {.id = 31, .kind = HEARSAY_REQUEST_NOTICE, .notice = {.drop = 5}},
    {.id = 32,
     .kind = HEARSAY_REQUEST_NOTICE,
     .notice = {.text = SAMPLE_TEXT("caf\xc3\xa9"), .lang = SAMPLE_TEXT("pt-BR"), .until_ms = 7}},
    {.id = 33, .kind = HEARSAY_REQUEST_SERVE},
    {.id = 34, .kind = HEARSAY_REQUEST_SERVE, .serve = {sample_hoods, 2}},
    {.id = 35,
     .kind = HEARSAY_REQUEST_ANSWERED,
     .answered = {.ask_id = 7,
                  .has_results = true,
                  .results = {.results = sample_remote, .result_count = 1, .peers = 3}}},
    {.id = 36,
     .kind = HEARSAY_REQUEST_ANSWERED,
     .answered = {.ask_id = UINT64_MAX,
                  .has_error = true,
                  .error = {.code = HEARSAY_CODE_INTERNAL, .message = "no hub"}}},
    {.id = 33, .kind = HEARSAY_REQUEST_CHANGES},
    {.id = 34,
     .kind = HEARSAY_REQUEST_CHANGES,
     .changes = {SAMPLE_TEXT("default"), UINT64_MAX, UINT32_MAX, LIMIT_CHANGES_WAIT_MS, 7, true,
                 false}},
    {.id = 35, .kind = HEARSAY_REQUEST_APPLY, .apply = {.as = HEARSAY_AS_REPLICA}},
    {.id = 36,
     .kind = HEARSAY_REQUEST_APPLY,
     .apply = {SAMPLE_TEXT("default"), sample_changes, 3, HEARSAY_AS_RESTORE, true}},
    {.id = 14, .kind = HEARSAY_REQUEST_UNKNOWN, .name = ""},
};

static const struct hearsay_text sample_capabilities[] = {
    SAMPLE_TEXT("hello"),
    SAMPLE_TEXT("deposit"),
    SAMPLE_TEXT("query"),
    SAMPLE_TEXT("get"),
};
static const struct hearsay_text sample_labels[] = {
    SAMPLE_TEXT("geo:u281zd"),
    SAMPLE_TEXT("topic:caf\xc3\xa9"),
};
static const struct hearsay_host_info sample_hosts[] = {
    {.name = SAMPLE_TEXT("default"),
     .profile = SAMPLE_TEXT("v2:512/4"),
     .suggested_max_distance_ppm = 700000,
     .messages = 100000,
     .bytes = UINT64_C(1) << 34,
     .here = sample_labels,
     .here_count = 2,
     .role = HEARSAY_ROLE_RESTORING,
     .evict = HEARSAY_EVICT_OLDEST,
     .accept = HEARSAY_ACCEPT_CLOSED,
     .accept_until_ms = INT64_C(1789999999999)},
    {.name = SAMPLE_TEXT("b"),
     .profile = SAMPLE_TEXT("v2:1024/4"),
     .suggested_max_distance_ppm = LIMIT_DISTANCE_PPM,
     .role = HEARSAY_ROLE_OWNER,
     .evict = HEARSAY_EVICT_REJECT,
     .accept = HEARSAY_ACCEPT_OPEN},
};
static const struct hearsay_house_notice sample_notices[] = {
    {1, SAMPLE_TEXT("one"), SAMPLE_TEXT("en"), 5, 6, SAMPLE_TEXT("The bar")},
    {2, SAMPLE_TEXT("caf\xc3\xa9"), {NULL, 0}, 0, 0, {NULL, 0}},
};

static const struct hearsay_result sample_results[] = {
    {.id = SAMPLE_BYTES(sample_id, 16)},
    {.id = SAMPLE_BYTES(sample_id, 16),
     .epoch = 9,
     .intersection_count = 60,
     .union_count = 64,
     .distance_ppm = 62500,
     .deposited_ms = INT64_C(1789999999999),
     .expires_ms = INT64_C(1790086399999),
     .media_type = SAMPLE_TEXT("image/png"),
     .payload = SAMPLE_BYTES(sample_payload, 200)},
    {.id = SAMPLE_BYTES(sample_id, 16),
     .payload_omitted = true,
     .media_type = SAMPLE_TEXT("a/b"),
     .payload = SAMPLE_BYTES(sample_payload, 0),
     .host = SAMPLE_TEXT("lobby"),
     .filter = SAMPLE_BYTES(sample_filter, 64)},
};
static const struct hearsay_exported_message sample_exported[] = {
    {.id = SAMPLE_BYTES(sample_id, 16),
     .filter = SAMPLE_BYTES(sample_filter, 64),
     .reach_ppm = LIMIT_DISTANCE_PPM},
    {.id = SAMPLE_BYTES(sample_id, 16),
     .epoch = 1,
     .filter = SAMPLE_BYTES(sample_filter, 8),
     .media_type = SAMPLE_TEXT("text/plain"),
     .payload = SAMPLE_BYTES(sample_payload, 200),
     .deposited_ms = INT64_MIN,
     .expires_ms = INT64_MAX,
     .reach_ppm = 1,
     .withdraw_hash = SAMPLE_BYTES(sample_hash, 32)},
};

static const struct hearsay_summary_group sample_groups[] = {
    {.union_filter = SAMPLE_BYTES(sample_filter, 64)},
    {SAMPLE_BYTES(sample_filter, 64), {1, 0}, 2, {320, 192}, 2, UINT64_MAX, INT64_C(1790000000000)},
};

static const struct hearsay_figure sample_figures[] = {
    {SAMPLE_TEXT("messages"), INT64_MAX},
    {SAMPLE_TEXT("host/default/bytes"), 0},
};
static const struct hearsay_report_reason sample_reasons[] = {
    {HEARSAY_REPORT_ILLEGAL, SAMPLE_TEXT("an insult")},
    {.kind = HEARSAY_REPORT_SPAM},
};
static const struct hearsay_reported_message sample_reported[] = {
    {.id = SAMPLE_BYTES(sample_id, 16)},
    {.id = SAMPLE_BYTES(sample_id, 16),
     .reports = 5,
     .media_type = SAMPLE_TEXT("text/plain"),
     .payload = SAMPLE_BYTES(sample_payload, 200),
     .reasons = sample_reasons,
     .reason_count = 2,
     .hidden = true,
     .pending = true,
     .deposited_ms = 1,
     .expires_ms = 2,
     .payload_omitted = true,
     .destroyed_ms = 3},
};
static const struct hearsay_decision sample_decisions[] = {
    {.act = SAMPLE_TEXT("unban")},
    {UINT64_MAX, INT64_C(1790000000000), SAMPLE_TEXT("hide"), SAMPLE_BYTES(sample_id, 16),
     HEARSAY_REPORT_SPAM, UINT32_MAX, SAMPLE_TEXT("an advert"), UINT32_MAX, true},
};
static const struct hearsay_similar_group sample_similar[] = {
    {.oldest = SAMPLE_BYTES(sample_id, 16), .newest = SAMPLE_BYTES(sample_id, 16)},
    {SAMPLE_BYTES(sample_id, 16), 1, SAMPLE_BYTES(sample_id, 16), INT64_MAX, UINT64_MAX, 3},
};
static const struct hearsay_ban_entry sample_bans[] = {
    {.payload_hash = SAMPLE_BYTES(sample_hash, 32), .since_ms = 3},
    {.filter = SAMPLE_BYTES(sample_filter, 64), .max_distance_ppm = LIMIT_DISTANCE_PPM},
};

static const struct hearsay_response sample_responses[] = {
    {.id = 1, .kind = HEARSAY_RESPONSE_ERROR, .error = {.code = HEARSAY_CODE_INTERNAL}},
    {.id = 0,
     .kind = HEARSAY_RESPONSE_ERROR,
     .error = {.code = HEARSAY_CODE_UNSUPPORTED_VERSION,
               .message = "version 9 is not spoken here; 1 is",
               .field = "versions",
               .retry_after_ms = 60000,
               .versions = {1, 2},
               .version_count = 2}},
    {.id = 2,
     .kind = HEARSAY_RESPONSE_WELCOME,
     .welcome = {.version = 1,
                 .store_id = SAMPLE_BYTES(sample_id, 16),
                 .limits = {.sender_share_ppm = LIMIT_DISTANCE_PPM}}},
    {.id = 3,
     .kind = HEARSAY_RESPONSE_WELCOME,
     .welcome = {.version = 1,
                 .store_id = SAMPLE_BYTES(sample_id, 16),
                 .now_ms = INT64_C(1790000000000),
                 .clock_trusted = true,
                 .limits = {65536,  4096, 127,     5000,   900000,
                            900000, 100,  86400,   604800, 64,
                            4096,   60,   1200,    60,     300,
                            256,    16,   1048576, 100000, UINT64_C(1) << 26,
                            300000, 16,   1000},
                 .capabilities = sample_capabilities,
                 .capability_count = 4,
                 .hosts = sample_hosts,
                 .host_count = 2,
                 .agent = SAMPLE_TEXT("hearsayd/0.1.0")}},
    {.id = 4,
     .kind = HEARSAY_RESPONSE_DEPOSITED,
     .deposited = {.durability = HEARSAY_DURABILITY_ON_STORAGE}},
    {.id = 5,
     .kind = HEARSAY_RESPONSE_DEPOSITED,
     .deposited = {INT64_C(1789999999999), INT64_C(1790086399999), true, HEARSAY_DURABILITY_RELAXED,
                   true, false}},
    {.id = 6, .kind = HEARSAY_RESPONSE_RESULTS},
    {.id = 7,
     .kind = HEARSAY_RESPONSE_RESULTS,
     .results = {sample_results, 3, UINT64_MAX, true, true, sample_notices, 2, true, 63, 62, 5, 1,
                 INT64_C(1790000000000), UINT64_MAX, false, 0}},
    {.id = 8, .kind = HEARSAY_RESPONSE_GOT, .got = {.id = SAMPLE_BYTES(sample_id, 16)}},
    {.id = 9,
     .kind = HEARSAY_RESPONSE_GOT,
     .got = {SAMPLE_BYTES(sample_id, 16),
             7,
             1,
             2,
             SAMPLE_TEXT("text/plain"),
             SAMPLE_BYTES(sample_payload, 200),
             {NULL, 0},
             0}},
    {.id = 10, .kind = HEARSAY_RESPONSE_WITHDRAWN},
    {.id = 11, .kind = HEARSAY_RESPONSE_PONG, .pong = {INT64_C(1790000000000), true}},
    {.id = 12, .kind = HEARSAY_RESPONSE_EXPORTED},
    {.id = 13,
     .kind = HEARSAY_RESPONSE_EXPORTED,
     .exported = {sample_exported, 2, SAMPLE_BYTES(sample_hash, LIMIT_CURSOR_BYTES)}},
    {.id = 61, .kind = HEARSAY_RESPONSE_HERE_LABELS},
    {.id = 62,
     .kind = HEARSAY_RESPONSE_HERE_LABELS,
     .here_labels = {sample_labels, 2, SAMPLE_TEXT("The bar"), sample_labels, 2}},
    {.id = 0,
     .kind = HEARSAY_RESPONSE_HERE_CHANGED,
     .here_changed = {SAMPLE_TEXT("default"), sample_labels, 1}},
    {.id = 0,
     .kind = HEARSAY_RESPONSE_ACCEPT_CHANGED,
     .accept_changed = {SAMPLE_TEXT("default"), HEARSAY_ACCEPT_CLOSED, 5}},
    {.id = 0,
     .kind = HEARSAY_RESPONSE_NOTICES_CHANGED,
     .notices_changed = {SAMPLE_TEXT("default"), sample_notices, 2}},
    {.id = 33, .kind = HEARSAY_RESPONSE_NOTICED, .noticed = {sample_notices, 1}},
    {.id = 15,
     .kind = HEARSAY_RESPONSE_SUMMARIZED,
     .summarized = {SAMPLE_BYTES(sample_filter, 64), 1, 512, UINT64_MAX, 77, sample_groups, 2}},
    {.id = 16, .kind = HEARSAY_RESPONSE_REPORT_TAKEN},
    {.id = 17, .kind = HEARSAY_RESPONSE_STATS_TAKEN, .stats_taken = {sample_figures, 2}},
    {.id = 18, .kind = HEARSAY_RESPONSE_REMOVED},
    {.id = 30, .kind = HEARSAY_RESPONSE_REMOVED, .removed = {INT64_C(1790000000000)}},
    {.id = 19, .kind = HEARSAY_RESPONSE_RESTORED},
    {.id = 31, .kind = HEARSAY_RESPONSE_RESTORED, .restored = {SAMPLE_BYTES(sample_hash, 32)}},
    {.id = 32, .kind = HEARSAY_RESPONSE_HIDDEN},
    {.id = 33, .kind = HEARSAY_RESPONSE_DECISION_LIST},
    {.id = 34,
     .kind = HEARSAY_RESPONSE_DECISION_LIST,
     .decision_list = {sample_decisions, 2, true}},
    {.id = 46, .kind = HEARSAY_RESPONSE_SIMILAR_LIST, .similar_list = {sample_similar, 2, 5, 9}},
    {.id = 35,
     .kind = HEARSAY_RESPONSE_WAITED,
     .waited = {SAMPLE_BYTES(sample_id, 16), HEARSAY_REPORT_ABOUT_ME, true, 7}},
    {.id = 20,
     .kind = HEARSAY_RESPONSE_REPORTED_LIST,
     .reported_list = {sample_reported, 2, 9, SAMPLE_BYTES(sample_hash, LIMIT_CURSOR_BYTES),
                       SAMPLE_BYTES(sample_hash, 1)}},
    {.id = 21, .kind = HEARSAY_RESPONSE_BANNED},
    {.id = 22, .kind = HEARSAY_RESPONSE_UNBANNED},
    {.id = 23, .kind = HEARSAY_RESPONSE_BAN_LIST, .ban_list = {sample_bans, 2, true}},
    {.id = 24,
     .kind = HEARSAY_RESPONSE_ACCEPTING,
     .accepting = {SAMPLE_TEXT("closed"), SAMPLE_TEXT("schedule"), 5}},
    {.id = 25, .kind = HEARSAY_RESPONSE_CHECKED, .checked = {sample_capabilities, 4, 7}},
    {.id = 26, .kind = HEARSAY_RESPONSE_BACKED_UP, .backed_up = {8192}},
    {.id = 27, .kind = HEARSAY_RESPONSE_COMPACTED, .compacted = {8192, 4096}},
    {.id = 28, .kind = HEARSAY_RESPONSE_RELOADED},
    {.id = 29, .kind = HEARSAY_RESPONSE_LOG_LEVEL_SET, .log_level_set = {SAMPLE_TEXT("info")}},
    {.id = 0,
     .kind = HEARSAY_RESPONSE_ASK,
     .ask = {UINT64_MAX,
             {.k = 1, .parts = sample_parts, .part_count = 1, QUERY_DEFAULTS},
             UINT32_MAX}},
    {.id = 36, .kind = HEARSAY_RESPONSE_SERVING},
    {.id = 37, .kind = HEARSAY_RESPONSE_ANSWER_TAKEN},
    {.id = 36,
     .kind = HEARSAY_RESPONSE_CHANGED,
     .changed = {sample_changes, 3, UINT64_MAX, true, 0, 0}},
    {.id = 37,
     .kind = HEARSAY_RESPONSE_APPLIED,
     .applied = {LIMIT_CHANGES, UINT32_MAX, UINT32_MAX, 0}},
    {.id = 14, .kind = HEARSAY_RESPONSE_UNKNOWN},
};

size_t wire_request_count(void)
{
    return sizeof sample_requests / sizeof sample_requests[0];
}

const struct hearsay_request *wire_request(size_t index)
{
    return &sample_requests[index];
}

size_t wire_response_count(void)
{
    return sizeof sample_responses / sizeof sample_responses[0];
}

const struct hearsay_response *wire_response(size_t index)
{
    return &sample_responses[index];
}

/* --- both sides ------------------------------------------------------------------------------- */

static int encode_request_sample(size_t index, struct bytes *out)
{
    return codec_encode_request(wire_request(index), LIMIT_FRAME_BYTES_DEFAULT, out);
}

static int decode_request(const uint8_t *frame, size_t length, struct arena *arena,
                          struct msg_error *out_error)
{
    struct hearsay_request request;

    return codec_decode_request(frame, length, arena, &request, out_error);
}

static int again_request(const uint8_t *frame, size_t length, struct arena *arena,
                         struct bytes *out, struct msg_error *out_error)
{
    struct hearsay_request request;
    int rv = codec_decode_request(frame, length, arena, &request, out_error);

    if (rv == 0) {
        if (codec_encode_request(&request, LIMIT_FRAME_BYTES_MAX, out) != 0) {
            abort();
        }
    }
    return rv;
}

static int encode_response_sample(size_t index, struct bytes *out)
{
    return codec_encode_response(wire_response(index), LIMIT_FRAME_BYTES_DEFAULT, out);
}

static int decode_response(const uint8_t *frame, size_t length, struct arena *arena,
                           struct msg_error *out_error)
{
    struct hearsay_response response;

    return codec_decode_response(frame, length, arena, &response, out_error);
}

static int again_response(const uint8_t *frame, size_t length, struct arena *arena,
                          struct bytes *out, struct msg_error *out_error)
{
    struct hearsay_response response;
    int rv = codec_decode_response(frame, length, arena, &response, out_error);

    if (rv == 0) {
        if (codec_encode_response(&response, LIMIT_FRAME_BYTES_MAX, out) != 0) {
            abort();
        }
    }
    return rv;
}

const struct wire_side wire_sides[WIRE_SIDES] = {
    {"request", wire_request_count, encode_request_sample, decode_request, again_request,
     LIMIT_FRAME_BYTES_DEFAULT + CODEC_REQUEST_ARENA_BYTES},
    {"response", wire_response_count, encode_response_sample, decode_response, again_response,
     LIMIT_FRAME_BYTES_DEFAULT + CODEC_RESPONSE_ARENA_BYTES},
};

void wire_sample(const struct wire_side *side, size_t index, struct bytes *out)
{
    bytes_init(out, alloc_system());
    if (side->encode_sample(index, out) != 0) {
        abort();
    }
}
