/* SPDX-License-Identifier: Apache-2.0 */
/* Every key: its default, what it takes, what it refuses and in which words. */
#include "daemon/config/options.h"

#include "daemon/config/inner.h"
#include "tests/lib/check.h"

static struct config config; /* 30 KiB: not on the stack */
static char reason[CONFIG_REASON_BYTES];

static int parse(const char *text)
{
    return settings_config_parse(&options_program, text, strlen(text), "t.conf", &config, reason);
}

/* --- defaults --------------------------------------------------------------------------------- */

TEST(test_defaults)
{
    config_defaults(&config);
    assert_string_equal(config.common.file, "");
    assert_string_equal(config.data, "");
    assert_int_equal(config.listener_count, 0);
    assert_int_equal(config.host_count, 0);
    assert_string_equal(config.user, "");
    assert_false(config.no_call_filter);
    assert_string_equal(config.tls_certificate, "");
    assert_string_equal(config.tls_key, "");
    assert_string_equal(config.tls_client_ca, "");
    assert_int_equal(config.tls_handshakes_max, 64);
    assert_false(config.relaxed);
    assert_int_equal(config.commit_delay_ms, 0);
    assert_int_equal(config.log_level, LOG_LEVEL_INFO);
    assert_int_equal(config.clock_patience_s, 3600);
    assert_int_equal(config.moderation_log_keep_s, 180 * 24 * 3600);
    assert_int_equal(config.limits.frame_bytes, 65536);
    assert_int_equal(config.limits.payload_bytes, 4096);
    assert_int_equal(config.limits.deposit_fill_min_ppm, 200);
    assert_int_equal(config.limits.deposit_fill_max_ppm, 500000);
    assert_int_equal(config.limits.query_fill_max_ppm, 500000);
    assert_int_equal(config.limits.k_max, 100);
    assert_int_equal(config.limits.sender_share_ppm, 300000);
    assert_int_equal(config.limits.parts_max, 64);
    assert_int_equal(config.limits.ttl_default_s, 86400);
    assert_int_equal(config.limits.ttl_max_s, 604800);
    assert_int_equal(config.limits.messages, 100000);
    assert_int_equal(config.limits.bytes, 64 << 20);
    assert_int_equal(config.limits.sessions, 256);
    assert_int_equal(config.limits.sessions_per_address, 16);
    assert_int_equal(config.addresses, 4096);
    assert_int_equal(config.limits.deposits_per_minute, 60);
    assert_int_equal(config.limits.deposit_burst, 60);
    assert_int_equal(config.limits.queries_per_minute, 1200);
    assert_int_equal(config.limits.query_burst, 300);
    assert_int_equal(config.limits.requests_in_flight, 4096);
    assert_int_equal(config.limits.session_output_bytes, 1 << 20);
    assert_int_equal(config.output_bytes, 16 << 20);
    assert_int_equal(config.cache_bytes, 8 << 20);
    assert_int_equal(config.hello_timeout_s, 10);
    assert_int_equal(config.idle_timeout_s, 600);
}

/* What config_finish adds: one host, bounded by the whole; loopback and a socket. */
TEST(test_finish_fills_in)
{
    config_defaults(&config);
    memcpy(config.data, "/srv", 5);
    assert_int_equal(config_finish(&config, reason), 0);
    assert_int_equal(config.host_count, 1);
    assert_string_equal(config.hosts[0].name, "default");
    char profile[PROFILE_TEXT_MAX];

    profile_print(&config.hosts[0].profile, profile);
    assert_string_equal(profile, "v2:wifi=362/2,place=53/7,any=97/4");
    assert_int_equal(config.hosts[0].profile_line, 0);
    assert_int_equal(config.hosts[0].suggested_max_distance_ppm, 772500);
    assert_int_equal(config.hosts[0].messages_max, 100000);
    assert_int_equal(config.hosts[0].bytes_max, 64 << 20);
    assert_int_equal(config.listener_count, 3);
    assert_string_equal(config.listeners[0].address, "127.0.0.1");
    assert_int_equal(config.listeners[0].port, 7117);
    assert_false(config.listeners[0].optional);
    assert_string_equal(config.listeners[1].address, "::1");
    assert_true(config.listeners[1].optional);
    assert_int_equal(config.listeners[2].kind, CONFIG_LISTENER_UNIX);
    assert_string_equal(config.listeners[2].path, "/srv/hearsayd.sock");
}

/* The table's default texts are in the form in which values are printed, and within the range. */
TEST(test_table_is_sound)
{
    char text[SETTINGS_NUMBER_BYTES];

    config_defaults(&config);
    config_add_host(&config, "h");
    for (size_t i = 0; i < config_table.key_count; i++) {
        const struct settings_key *key = &config_table.keys[i];
        const void *base = key->section == CONFIG_SECTION_HOST ? (const void *)&config.hosts[0]
                                                               : (const void *)&config;

        assert_non_null(key->help);
        assert_true((key->standard != NULL) != (key->standard_note != NULL));
        assert_ptr_equal(settings_find(&config_table, key->section, key->name), key);
        if (!settings_is_number(key)) {
            continue;
        }
        assert_true(key->width == 4 || key->width == 8 || key->type == SETTINGS_TYPE_CHOICE);
        assert_true(key->width == 8 || key->max <= UINT32_MAX);
        if (key->standard != NULL) {
            settings_print_value(key, settings_get(key, base), text);
            assert_string_equal(text, key->standard);
            assert_true(key->type == SETTINGS_TYPE_CHOICE || key->min <= key->max);
        }
    }
}

/* --- every key -------------------------------------------------------------------------------- */

struct key_case {
    const char *section;
    const char *key;
    const char *good;   /* a value */
    const char *shown;  /* as it is printed again */
    const char *bad;    /* another value */
    const char *answer; /* the sentence, without "t.conf:2: " */
};

#define SIZE_WANTED \
    "must be a size in bytes, or with K, M or G (MB and MiB are the same), such as 64K"
#define COUNT_WANTED "must be a number, or one with k or M, such as 100 or 20k"
#define TIME_WANTED  "must be a duration with s, m, h, d or w, such as 90s, 24h or 7 days"
#define SHARE_WANTED "must be a percentage with at most 4 decimal places, such as 0.5%"

static const struct key_case key_cases[] = {
    {"daemon", "data", "/var/lib/x y", "/var/lib/x y", "relative",
     "`data` must be an absolute path, one that begins with /; not `relative`"},
    {"daemon", "data", "/", "/", "",
     "`data` has no value; it must be an absolute path, such as "
     "/var/lib/hearsay"},
    {"daemon", "user", "hearsay-2.x_", "hearsay-2.x_", "4711",
     "`user` must be a user's name, such as hearsay, of at most 32 letters; not `4711`"},
    {"daemon", "user", "_u", "_u", "a23456789012345678901234567890123",
     "`user` must be a user's name, such as hearsay, of at most 32 letters; not "
     "`a23456789012345678901234567890123`"},
    {"daemon", "admin_group", "hearsay", "hearsay", "-g",
     "`admin_group` must be a group's name, such as hearsay, of at most 32 letters; not `-g`"},
    {"daemon", "gateway_user", "hearsay-web", "hearsay-web", "-g",
     "`gateway_user` must be a user's name, such as hearsay, of at most 32 letters; not `-g`"},
    {"daemon", "bridge_user", "hearsay-bridge", "hearsay-bridge", "-b",
     "`bridge_user` must be a user's name, such as hearsay, of at most 32 letters; not `-b`"},
    {"daemon", "call_filter", "no", "no", "off", "`call_filter` must be yes or no; not `off`"},
    {"daemon", "listen", "0.0.0.0:0", "0.0.0.0:0", "localhost:7117",
     "`listen`: `localhost` is not a numeric address; names are not looked up, so that the program "
     "starts without a resolver: write 127.0.0.1:7117, [::1]:7117, 0.0.0.0:7117 or [::]:7117"},
    {"daemon", "listen", "[::1]:7118 tls", "[::1]:7118 tls", "127.0.0.1:7118 ssl",
     "`listen`: `ssl` may not follow an address; tls, mutual-tls, limited, local, freebind, "
     "gateway, bridge and senders=address may"},
    {"daemon", "listen", "0.0.0.0:1  limited mutual-tls", "0.0.0.0:1 mutual-tls limited",
     "/run/socket tls", "`listen`: a Unix socket needs no tls"},
    {"daemon", "tls_certificate", "/c.pem", "/c.pem", "c.pem",
     "`tls_certificate` must be an absolute path, one that begins with /; not `c.pem`"},
    {"daemon", "tls_key", "/k.pem", "/k.pem", "k.pem",
     "`tls_key` must be an absolute path, one that begins with /; not `k.pem`"},
    {"daemon", "tls_client_ca", "/a.pem", "/a.pem", "a.pem",
     "`tls_client_ca` must be an absolute path, one that begins with /; not `a.pem`"},
    {"limits", "tls_handshakes", "1", "1", "0", "`tls_handshakes` must be from 1 to 65536; not 0"},
    {"daemon", "durability", "relaxed", "relaxed", "none",
     "`durability` must be storage or relaxed; not `none`"},
    {"daemon", "commit_delay", "2s", "2s", "11s", "`commit_delay` must be from 0 to 10s; not 11s"},
    {"daemon", "commit_delay", "50ms", "50ms", "10001ms",
     "`commit_delay` must be from 0 to 10s; not 10001ms"},
    {"daemon", "commit_delay", "3000ms", "3s", "50",
     "`commit_delay` must be a duration with ms, s, m, h, d or w, such as 50ms or 2s; not `50`"},
    {"daemon", "commit_delay", "0ms", "0", "50msec",
     "`commit_delay` must be a duration with ms, s, m, h, d or w, such as 50ms or 2s; not "
     "`50msec`"},
    {"limits", "idle_timeout", "5m", "5m", "500ms", "`idle_timeout` " TIME_WANTED "; not `500ms`"},
    {"daemon", "log_level", "debug", "debug", "INFO",
     "`log_level` must be error, warning, info or debug; not `INFO`"},
    {"daemon", "log_level", "error", "error", "",
     "`log_level` must be error, warning, info or debug; not ``"},
    {"daemon", "clock_patience", "0", "0", "-1h", "`clock_patience` " TIME_WANTED "; not `-1h`"},
    {"daemon", "moderation_log_keep", "2d", "2d", "-1h",
     "`moderation_log_keep` " TIME_WANTED "; not `-1h`"},
    {"daemon", "clock_patience", "90m", "90m", "366d",
     "`clock_patience` must be from 0 to 365d; not 366d"},
    {"limits", "frame", "1M", "1M", "4095", "`frame` must be from 4K to 1M; not 4095"},
    {"limits", "frame", "4096", "4K", "1048577", "`frame` must be from 4K to 1M; not 1048577"},
    {"limits", "frame", "100000", "100000", "64KX", "`frame` " SIZE_WANTED "; not `64KX`"},
    {"limits", "frame", "65k", "65K", "1.5K", "`frame` " SIZE_WANTED "; not `1.5K`"},
    {"limits", "payload", "0", "0", "-1", "`payload` " SIZE_WANTED "; not `-1`"},
    {"limits", "payload", "1022K", "1022K", "1023K",
     "`payload` must be from 0 to 1022K; not 1023K"},
    {"limits", "deposit_fill_min", "0.0001%", "0.0001%", "0.00001%",
     "`deposit_fill_min` " SHARE_WANTED "; not `0.00001%`"},
    {"limits", "deposit_fill_max", "100.0000%", "100%", "100.0001%",
     "`deposit_fill_max` must be from 0% to 100%; not 100.0001%"},
    {"limits", "query_fill_max", "87.25%", "87.25%", "87.25",
     "`query_fill_max` " SHARE_WANTED "; not `87.25`"},
    {"limits", "query_fill_max", "0%", "0%", "5.%", "`query_fill_max` " SHARE_WANTED "; not `5.%`"},
    {"limits", "k", "1000", "1000", "1001", "`k` must be from 1 to 1000; not 1001"},
    {"limits", "k", "1", "1", "0", "`k` must be from 1 to 1000; not 0"},
    {"limits", "k", "007", "7", "0x10", "`k` " COUNT_WANTED "; not `0x10`"},
    {"limits", "sender_share", "0.0001%", "0.0001%", "0%",
     "`sender_share` must be from 0.0001% to 100%; not 0%"},
    {"limits", "parts", "1", "1", "65", "`parts` must be from 1 to 64; not 65"},
    {"limits", "ttl_default", "90s", "90s", "90", "`ttl_default` " TIME_WANTED "; not `90`"},
    {"limits", "ttl_default", "120m", "2h", "0", "`ttl_default` must be from 1s to 3650d; not 0"},
    {"limits", "ttl_max", "3650d", "3650d", "3651d",
     "`ttl_max` must be from 1s to 3650d; not 3651d"},
    {"limits", "ttl_max", "24h", "24h", "1y", "`ttl_max` " TIME_WANTED "; not `1y`"},
    {"limits", "ttl_max", "1d", "24h", "1h30m", "`ttl_max` " TIME_WANTED "; not `1h30m`"},
    {"limits", "messages", "16000000", "16000000", "16000001",
     "`messages` must be from 1 to 16000000; not 16000001"},
    {"limits", "messages", "1", "1", "18446744073709551617",
     "`messages` must be from 1 to 16000000; not 18446744073709551617"},
    {"limits", "bytes", "16G", "16G", "17179869185",
     "`bytes` must be from 4K to 16G; not 17179869185"},
    {"limits", "bytes", "4K", "4K", "17179869184G",
     "`bytes` must be from 4K to 16G; not 17179869184G"},
    {"limits", "log_bytes", "256K", "256K", "257M",
     "`log_bytes` must be from 256K to 256M; not 257M"},
    {"limits", "log_bytes", "1M", "1M", "0", "`log_bytes` must be from 256K to 256M; not 0"},
    {"limits", "sessions", "65536", "65536", "65537",
     "`sessions` must be from 1 to 65536; not 65537"},
    {"limits", "sessions_per_address", "1", "1", "0",
     "`sessions_per_address` must be from 1 to 65536; not 0"},
    {"limits", "deposits_per_minute", "0", "0", "1000001",
     "`deposits_per_minute` must be from 0 to 1000000; not 1000001"},
    {"limits", "deposit_burst", "1", "1", "0", "`deposit_burst` must be from 1 to 1000000; not 0"},
    {"limits", "queries_per_minute", "0", "0", "1/s",
     "`queries_per_minute` " COUNT_WANTED "; not `1/s`"},
    {"limits", "query_burst", "1000000", "1000000", "0",
     "`query_burst` must be from 1 to 1000000; not 0"},
    {"limits", "addresses", "16", "16", "15", "`addresses` must be from 16 to 1000000; not 15"},
    {"limits", "requests_in_flight", "1", "1", "many",
     "`requests_in_flight` " COUNT_WANTED "; not `many`"},
    {"limits", "watches_per_session", "0", "0", "65537",
     "`watches_per_session` must be from 0 to 65536; not 65537"},
    {"limits", "watches", "1000000", "1000000", "1000001",
     "`watches` must be from 0 to 1000000; not 1000001"},
    {"limits", "session_output", "8K", "8K", "8191",
     "`session_output` must be from 8K to 256M; not 8191"},
    {"limits", "output", "1G", "1G", "2G", "`output` must be from 8K to 1G; not 2G"},
    {"limits", "cache", "0", "0", "K", "`cache` " SIZE_WANTED "; not `K`"},
    {"limits", "hello_timeout", "300s", "5m", "301s",
     "`hello_timeout` must be from 1s to 5m; not 301s"},
    {"limits", "idle_timeout", "0", "0", "7d1", "`idle_timeout` " TIME_WANTED "; not `7d1`"},
    {"limits", "idle_timeout", "0s", "0", "8d", "`idle_timeout` must be from 0 to 7d; not 8d"},
    {"host h", "profile", "v2:1024/3", "v2:1024/3", "v2:511/4", "`profile`: `v2:511/4` is not a "},
    {"host h", "suggested_max_distance", "0.850", "0.85", "0.8500001",
     "`suggested_max_distance` must be a distance with at most 6 decimal places, such as 0.85; not "
     "`0.8500001`"},
    {"host h", "suggested_max_distance", "1", "1", "1.000001",
     "`suggested_max_distance` must be from 0 to 1; not 1.000001"},
    {"host h", "suggested_max_distance", "0.000001", "0.000001", ".5",
     "`suggested_max_distance` must be a distance with at most 6 decimal places, such as 0.85; not "
     "`.5`"},
    {"host h", "here", "geo:u281zd", "geo:u281zd", "Geo",
     "`here`: `Geo` is no label: the label has no ':'; a label is attribute:value"},
    {"host h", "here_file", "/run/here", "/run/here", "here",
     "`here_file` must be an absolute path, one that begins with /; not `here`"},
    {"host h", "here_map", "/etc/hearsay/places", "/etc/hearsay/places", "places",
     "`here_map` must be an absolute path, one that begins with /; not `places`"},
    {"host h", "hood", "campus-1", "campus-1", "Campus",
     "`hood` must be a name of letters a-z, digits and inner hyphens, such as campus, of at most "
     "63 "
     "letters; not `Campus`"},
    {"host h", "summary_groups", "16", "16", "65", "`summary_groups` must be from 0 to 64; not 65"},
    {"host h", "accept", "review", "review", "shut",
     "`accept` must be open, review or closed; not `shut`"},
    {"host h", "accept_schedule", "22:00-06:00  closed", "22:00-06:00 closed", "22:00-22:00 closed",
     "`accept_schedule` must be two different times and open, review or closed, such as "
     "22:00-06:00 closed; not `22:00-22:00 closed`"},
    {"host h", "hide_after", "0", "0", "65537", "`hide_after` must be from 0 to 65536; not 65537"},
    {"host h", "hide_per_hour", "1000", "1000", "0",
     "`hide_per_hour` must be from 1 to 1000; not 0"},
    {"host h", "role", "replica", "replica", "reader",
     "`role` must be owner or replica; not `reader`"},
    {"host h", "replicate", "yes", "yes", "1", "`replicate` must be no or yes; not `1`"},
    {"host h", "acknowledge", "storage", "storage", "hub",
     "`acknowledge` must be storage or replicated; not `hub`"},
    {"host h", "replicate_wait", "1500ms", "1500ms", "2m",
     "`replicate_wait` must be from 1ms to 1m; not 2m"},
    {"host h", "remove_after", "90m", "90m", "366d",
     "`remove_after` must be from 0 to 365d; not 366d"},
    {"host h", "messages", "5", "5", "0", "`messages` must be from 1 to 16000000; not 0"},
    {"host h", "evict", "soonest-expiring", "soonest-expiring", "newest",
     "`evict` must be reject, oldest or soonest-expiring; not `newest`"},
    {"host h", "epoch_length", "90m", "90m", "366d",
     "`epoch_length` must be from 0 to 365d; not 366d"},
    {"host h", "epoch_keep", "0", "0", "-1s", "`epoch_keep` " TIME_WANTED "; not `-1s`"},
    {"host h", "epoch_open", "accept", "accept", "maybe",
     "`epoch_open` must be accept or refuse; not `maybe`"},
    {"host h", "bytes", "5M", "5M", "1K", "`bytes` must be from 4K to 16G; not 1K"},
};

/* Whether the configuration, printed, has the line `key = value`. */
static bool prints(const char *key, const char *value)
{
    char *text = NULL;
    size_t length = 0;
    char line[256];
    FILE *out = open_memstream(&text, &length);
    bool found;

    assert_non_null(out);
    config_print(&config, out);
    assert_int_equal(fclose(out), 0);
    (void)snprintf(line, sizeof(line), "\n%s = %s\n", key, value);
    found = strstr(text, line) != NULL;
    free(text);
    return found;
}

TEST(test_every_key)
{
    char text[512];
    char expected[512];

    for (size_t i = 0; i < sizeof(key_cases) / sizeof(key_cases[0]); i++) {
        const struct key_case *row = &key_cases[i];

        (void)snprintf(text, sizeof(text), "[%s]\n%s = %s\n", row->section, row->key, row->good);
        if (parse(text) != 0) {
            fail_msg("%s = %s: %s", row->key, row->good, reason);
        }
        if (!prints(row->key, row->shown)) {
            fail_msg("%s = %s is not printed as %s", row->key, row->good, row->shown);
        }
        (void)snprintf(text, sizeof(text), "[%s]\n%s = %s\n", row->section, row->key, row->bad);
        (void)snprintf(expected, sizeof(expected), "t.conf:2: %s", row->answer);
        assert_int_equal(parse(text), CONFIG_REFUSED);
        if (row->key[0] == 'p' && row->key[1] == 'r') {
            reason[strlen(expected)] = '\0'; /* the profile's reason is core's to word */
        }
        assert_string_equal(reason, expected);
    }
}

/* The forms in which people write numbers; NULL: refused. */
TEST(test_forms_of_numbers)
{
    static const struct {
        const char *key;
        const char *value;
        const char *shown;
    } rows[] = {
        {"messages", "20k", "20000"},
        {"messages", "20K", "20000"},
        {"messages", "20 k", "20000"},
        {"messages", "2M", "2000000"},
        {"messages", "2m", NULL},
        {"messages", "2G", NULL},
        {"messages", "1.5k", NULL},
        {"messages", "k", NULL},
        {"messages", "20kB", NULL},
        {"bytes", "16MB", "16M"},
        {"bytes", "16MiB", "16M"},
        {"bytes", "16 mb", "16M"},
        {"bytes", "8192B", "8K"},
        {"bytes", "64kib", "64K"},
        {"bytes", "1GB", "1G"},
        {"bytes", "16MBit", NULL},
        {"bytes", "16iB", NULL},
        {"ttl_max", "1 day", "24h"},
        {"ttl_max", "2 days", "2d"},
        {"ttl_max", "2\tdays", "2d"},
        {"ttl_max", "1w", "7d"},
        {"ttl_max", "2 weeks", "14d"},
        {"ttl_max", "1440min", "24h"},
        {"ttl_max", "1440 minutes", "24h"},
        {"ttl_max", "36 hours", "36h"},
        {"ttl_max", "90000 seconds", "25h"},
        {"ttl_max", "1M", NULL},
        {"ttl_max", "1 month", NULL},
        {"ttl_max", "1 Day", NULL},
        {"ttl_max", "86400", NULL},
        {"deposit_fill_max", "80 %", "80%"},
    };
    char text[256];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        (void)snprintf(text, sizeof(text), "[limits]\n%s = %s\n", rows[i].key, rows[i].value);
        if ((parse(text) == 0) != (rows[i].shown != NULL)) {
            fail_msg("%s", text);
        }
        if (rows[i].shown != NULL && !prints(rows[i].key, rows[i].shown)) {
            fail_msg("%s is not printed as %s", text, rows[i].shown);
        }
    }
    assert_int_equal(parse("[daemon]\ncommit_delay = 50 ms\n"), 0);
    assert_true(prints("commit_delay", "50ms"));
    assert_int_equal(parse("[daemon]\ncommit_delay = 2 seconds\n"), 0);
    assert_true(prints("commit_delay", "2s"));
}

TEST(test_every_key_is_tested)
{
    for (size_t i = 0; i < config_table.key_count; i++) {
        const struct settings_key *key = &config_table.keys[i];
        const char *section = config_table.sections[key->section].name;
        bool found = false;

        for (size_t j = 0; j < sizeof(key_cases) / sizeof(key_cases[0]); j++) {
            found = found || (strcmp(key_cases[j].key, key->name) == 0 &&
                              strncmp(key_cases[j].section, section, strlen(section)) == 0);
        }
        if (!found) {
            fail_msg("no case for %s in [%s]", key->name, section);
        }
    }
}

/* --- listeners -------------------------------------------------------------------------------- */

static const struct {
    const char *value;
    const char *shown;  /* NULL: refused */
    const char *answer; /* a part of the sentence */
} listener_cases[] = {
    {"127.0.0.1:7117", "127.0.0.1:7117", NULL},
    {"0.0.0.0:65535", "0.0.0.0:65535", NULL},
    {"[::1]:7117", "[::1]:7117", NULL},
    {"[::]:0", "[::]:0", NULL},
    {"[2001:DB8:0::1]:7117", "[2001:db8::1]:7117", NULL},
    {"[::ffff:192.0.2.1]:7117", "[::ffff:192.0.2.1]:7117", NULL},
    {"/run/x.sock", "/run/x.sock", NULL},
    {"/run/with:colon:1", "/run/with:colon:1", NULL},
    {"127.0.0.1:7117 limited", "127.0.0.1:7117 limited", NULL},
    {"[::1]:7117 \t limited", "[::1]:7117 limited", NULL},
    {"/run/x.sock limited", "/run/x.sock limited", NULL},
    {"127.0.0.1:7117 local", "127.0.0.1:7117 local", NULL},
    {"/run/x.sock local  limited", "/run/x.sock limited local", NULL},
    {"/run/a socket", "/run/a socket", NULL},
    {"192.0.2.1:7117 freebind", "192.0.2.1:7117 freebind", NULL},
    {"[2001:db8::1]:7117 freebind limited", "[2001:db8::1]:7117 limited freebind", NULL},
    {"/run/w/x.sock gateway", "/run/w/x.sock gateway", NULL},
    {"/run/w/x.sock gateway local", "/run/w/x.sock local gateway", NULL},
    {"/run/w/x.sock limited gateway", NULL, "gateway and limited exclude each other"},
    {"127.0.0.1:7117 gateway", NULL, "gateway is for a Unix socket"},
    {"/run/b/x.sock bridge", "/run/b/x.sock bridge", NULL},
    {"127.0.0.1:7117 bridge", NULL, "bridge is for a Unix socket"},
    {"/run/b/x.sock gateway bridge", NULL, "bridge excludes gateway, limited and local"},
    {"/run/b/x.sock bridge limited", NULL, "bridge excludes gateway, limited and local"},
    {"/run/b/x.sock bridge local", NULL, "bridge excludes gateway, limited and local"},
    {"/run/x.sock freebind", NULL, "freebind is for addresses, not for a Unix socket"},
    {"127.0.0.1:7117 unlimited", NULL,
     "`unlimited` may not follow an address; tls, mutual-tls, limited, local, freebind, gateway, "
     "bridge and senders=address may"},
    {"/run/x.sock senders=address", NULL,
     "senders=address is for addresses and for gateway sockets"},
    {"127.0.0.1:7117 senders=device", NULL, "`senders=device` may not follow an address"},
    {"7117", NULL, "must be a numeric address with a port"},
    {":7117", NULL, "`` is not a numeric address"},
    {"127.0.0.1", NULL, "must be a numeric address with a port"},
    {"unix:/run/h.sock", NULL, "or the path of a socket, such as /run/hearsay/socket"},
    {"127.0.0.1:", NULL, "the port must be from 0 (any free one) to 65535; not ``"},
    {"127.0.0.1:65536", NULL, "the port must be from 0 (any free one) to 65535; not `65536`"},
    {"127.0.0.1:+1", NULL, "the port must be"},
    {"127.0.0.1:http", NULL, "the port must be"},
    {"127.1:7117", NULL, "is not a numeric address"},
    {"127.0.0.256:7117", NULL, "is not a numeric address"},
    {"example.org:7117", NULL, "names are not looked up"},
    {"[example.org]:7117", NULL, "`[example.org]` is not a numeric IPv6 address"},
    {"[127.0.0.1]:7117", NULL, "is not a numeric IPv6 address"},
    {"[fe80::1%eth0]:7117", NULL, "is not a numeric IPv6 address"},
    {"::1:7117", NULL, "an IPv6 address stands in brackets"},
    {"[::1]", NULL, "must be a numeric address with a port"},
    {"[::1:7117", NULL, "stands in brackets"},
    {"./socket", NULL, "must be a numeric address with a port"},
};

TEST(test_listeners)
{
    char text[512];

    for (size_t i = 0; i < sizeof(listener_cases) / sizeof(listener_cases[0]); i++) {
        (void)snprintf(text, sizeof(text),
                       "[daemon]\nlisten = %s\ngateway_user = web\nbridge_user = b\n",
                       listener_cases[i].value);
        if (listener_cases[i].shown != NULL) {
            assert_int_equal(parse(text), 0);
            config_listener_print(&config.listeners[0], text);
            assert_string_equal(text, listener_cases[i].shown);
            assert_false(config.listeners[0].optional);
        } else {
            assert_int_equal(parse(text), CONFIG_REFUSED);
            if (strstr(reason, listener_cases[i].answer) == NULL) {
                fail_msg("%s: %s", listener_cases[i].value, reason);
            }
        }
    }
}

/* sun_path has 108 bytes: 107 and a NUL. */
TEST(test_socket_path_length)
{
    char path[109];
    char text[256];

    memset(path, 'x', sizeof(path));
    path[0] = '/';
    path[107] = '\0';
    (void)snprintf(text, sizeof(text), "[daemon]\nlisten = %s\n", path);
    assert_int_equal(parse(text), 0);
    assert_string_equal(config.listeners[0].path, path);
    path[107] = 'x';
    path[108] = '\0';
    (void)snprintf(text, sizeof(text), "[daemon]\nlisten = %s\n", path);
    assert_int_equal(parse(text), CONFIG_REFUSED);
    assert_string_equal(reason, "t.conf:2: `listen` is a path of 108 bytes; at most 107 fit");
}

TEST(test_listeners_many_and_twice)
{
    char text[1024] = "[daemon]\n";
    size_t used = strlen(text);

    for (int i = 1; i <= 15; i++) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, "listen = 127.0.0.1:%d\n", i);
    }
    assert_int_equal(parse(text), 0);
    assert_int_equal(config.listener_count, 15);
    /* With the administrator's socket they are 16. */
    memcpy(config.data, "/d", 3);
    assert_int_equal(config_finish(&config, reason), 0);
    assert_int_equal(config.listener_count, 16);
    (void)snprintf(text + used, sizeof(text) - used, "listen = 127.0.0.1:16\n");
    assert_int_equal(parse(text), CONFIG_REFUSED);
    assert_string_equal(reason, "t.conf:17: `listen`: there may be at most 15");

    assert_int_equal(parse("[daemon]\nlisten = [::0]:5\nlisten = [::]:5\n"), CONFIG_REFUSED);
    assert_string_equal(reason, "t.conf:3: `listen`: `[::]:5` is already among them");
    assert_int_equal(parse("[daemon]\nlisten = [::0]:0\nlisten = [::]:0\n"), 0);
    assert_int_equal(parse("[daemon]\nlisten = /a\nlisten = /a\n"), CONFIG_REFUSED);
}

/* Which defaults stay when some listeners are named. */
TEST(test_listeners_default)
{
    assert_int_equal(parse("[daemon]\ndata = /d\nlisten = 0.0.0.0:1\n"), 0);
    assert_int_equal(config_finish(&config, reason), 0);
    assert_int_equal(config.listener_count, 2);
    assert_string_equal(config.listeners[1].path, "/d/hearsayd.sock");

    assert_int_equal(parse("[daemon]\ndata = /d\nlisten = /run/s\n"), 0);
    assert_int_equal(config_finish(&config, reason), 0);
    assert_int_equal(config.listener_count, 1);

    /* A path too long for a socket is no reason not to serve. */
    config_defaults(&config);
    memset(config.data, 'x', 100);
    config.data[0] = '/';
    assert_int_equal(config_finish(&config, reason), 0);
    assert_int_equal(config.listener_count, 2);
}

/* A suggested distance that was probably chosen for bits is told of, once for each host. */
TEST(test_distances_of_before)
{
    static const struct {
        uint32_t distance_ppm;
        const char *said; /* NULL: nothing */
    } rows[] = {
        {0, "less than 0.6"},
        {500000, "is 0.5;"},
        {599999, "less than 0.6"},
        {600000, NULL},
        {772500, NULL},
        {799999, NULL},
        {800000, "0.8, the default until 0.2.0"},
        {850000, NULL},
        {850001, "more than 0.85"},
        {999999, "more than 0.85"},
        {1000000, NULL},
    };
    struct config_host host = {.name = "lobby"};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        host.suggested_max_distance_ppm = rows[i].distance_ppm;
        assert_int_equal(config_doubts_distance(&host, reason), rows[i].said != NULL);
        if (rows[i].said != NULL) {
            assert_non_null(strstr(reason, rows[i].said));
            assert_non_null(strstr(reason, "host lobby: "));
            assert_non_null(strstr(reason, "the default is 0.7725"));
        }
    }
}

/* Of a host whose copy at a hub fills an empty store, the place must not be the store's. */
TEST(test_the_place_of_a_host_with_a_copy)
{
    static const char bridge[] = "[daemon]\nlisten = 127.0.0.1:1\nlisten = /run/b.sock bridge\n"
                                 "[host lobby]\n";
    static const struct {
        const char *text;
        bool is_said;
    } rows[] = {
        {"", false},
        {"replicate = yes\n", true},
        {"role = replica\n", false},
        {"replicate = yes\nhere = geo:u281zd\n", false},
        {"replicate = yes\nhere_file = /run/here\n", false},
        {"replicate = yes\nhere_map = /run/here\n", false},
        {"replicate = yes\nprofile = v2:wifi=64/2\n", false},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[256];

        (void)snprintf(text, sizeof(text), "%s%s", bridge, rows[i].text);
        config_defaults(&config);
        assert_int_equal(parse(text), 0);
        assert_int_equal(config_doubts_place(&config.hosts[0], reason), rows[i].is_said);
    }
}

/* A host's limit above that of all hosts together is never reached. */
TEST(test_a_host_with_more_than_all_hosts)
{
    static const struct {
        const char *text;
        const char *said; /* NULL: nothing */
    } rows[] = {
        {"[host lobby]\n", NULL},
        {"[limits]\nmessages = 50\nbytes = 1M\n[host lobby]\n", NULL},
        {"[limits]\nmessages = 50\n[host lobby]\nmessages = 50\n", NULL},
        {"[limits]\nmessages = 50\n[host lobby]\nmessages = 51\n",
         "host lobby: `messages` is 51, and [limits] allows all hosts together only 50"},
        {"[host lobby]\nbytes = 1G\n",
         "host lobby: `bytes` is 1G, and [limits] allows all hosts together only 64M"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        config_defaults(&config);
        assert_int_equal(parse(rows[i].text), 0);
        assert_int_equal(config_doubts_quota(&config, 0, reason), rows[i].said != NULL);
        if (rows[i].said != NULL) {
            assert_string_equal(reason, rows[i].said);
        }
    }
}

/* A label that no client has, or that a forgotten comma makes, would be near nobody. */
TEST(test_labels_are_as_clients_write_them)
{
    static const char *const rows[][2] = {
        {"wifi:A4:2B:8C:01:02:03", "clients write wifi:a4:2b:8c:01:02:03"},
        {"place:bar, geo:U281ZD", "clients write geo:u281zd"},
        {"topic:Coffee", "clients write topic:coffee"},
        {"geo:u281zd wifi:a4:2b:8c:01:02:03", "write a comma between labels"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[256];

        (void)snprintf(text, sizeof(text), "[host h]\nhere = %s\n", rows[i][0]);
        config_defaults(&config);
        assert_int_not_equal(parse(text), 0);
        assert_non_null(strstr(reason, "t.conf:2: `here`: `"));
        assert_non_null(strstr(reason, rows[i][1]));
    }
}

/* Labels of `here` that alone fill a section too far are told of; those of access points are not.
 */
TEST(test_here_that_fills_a_section)
{
    static const struct {
        const char *text;
        const char *said; /* NULL: nothing */
    } rows[] = {
        {"[host lobby]\nhere = place:lobby, place:ground-floor\n", NULL},
        {"[host lobby]\nhere = place:a, place:b, place:c, place:d, place:e, place:f, place:g, "
         "place:h\n",
         " bits of the section place, and a deposit with more than 50.0 % is refused"},
        {"[host lobby]\nprofile = v2:64/8\nhere = a:a, a:b, a:c, a:d, a:e, a:f, a:g, a:h\n",
         " of 64 bits, and"},
        {"[host lobby]\nprofile = v2:64/8\nhere = "
         "wifi:a4:2b:8c:01:02:01, wifi:a4:2b:8c:01:02:02, "
         "wifi:a4:2b:8c:01:02:03, wifi:a4:2b:8c:01:02:04\nhere = "
         "wifi:a4:2b:8c:01:02:05, wifi:a4:2b:8c:01:02:06, "
         "wifi:a4:2b:8c:01:02:07, wifi:a4:2b:8c:01:02:08\n",
         NULL},
        {"[host lobby]\nprofile = v2:place=64/4\nhere = b:a, b:b, place:c\n", NULL},
        {"[limits]\ndeposit_fill_max = 100%\n"
         "[host lobby]\nhere = place:a, place:b, place:c, place:d, place:e, place:f, place:g, "
         "place:h\n",
         NULL},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        config_defaults(&config);
        assert_int_equal(parse(rows[i].text), 0);
        assert_int_equal(config_doubts_here(&config, 0, reason), rows[i].said != NULL);
        if (rows[i].said != NULL) {
            assert_non_null(strstr(reason, "host lobby: "));
            assert_non_null(strstr(reason, rows[i].said));
        }
    }
}
