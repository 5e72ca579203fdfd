/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration files: lines, sections, what is printed, and what a reload may change. */
#include "daemon/config/config.h"

#include <sys/stat.h>
#include <unistd.h>

#include "daemon/config/inner.h"
#include "daemon/config/options.h"
#include "tests/lib/check.h"
#include "tests/lib/rng.h"

static struct config config; /* 30 KiB each: not on the stack */
static struct config other;
static char reason[CONFIG_REASON_BYTES];

static int parse(const char *text)
{
    return settings_config_parse(&options_program, text, strlen(text), "t.conf", &config, reason);
}

/* --- lines and sections ----------------------------------------------------------------------- */

static const struct {
    const char *text;
    const char *answer; /* NULL: taken */
} file_cases[] = {
    {"", NULL},
    {"\n\n", NULL},
    {"# only\n; comments", NULL},
    {"[limits]\r\nk = 5\r\n", NULL},
    {"  [limits]\n\tk = 5\n   # indented\n", NULL},
    {"; a comment = with an equals sign\n;\n#\n", NULL},
    {"[host a]\nhere = place:a ;b # c\n", NULL},
    {"[limits]\nk = 5 ; comment\nparts=3\t# comment\n",
     "t.conf:2: `k` must be a number, or one with k or M, such as 100 or 20k; not `5 ; comment`\n"
     "t.conf:2: a comment needs a line of its own, because # and ; within a value belong to the "
     "value\n"
     "t.conf:3: `parts` must be a number, or one with k or M, such as 100 or 20k; not `3?# "
     "comment`\n"
     "t.conf:3: a comment needs a line of its own, because # and ; within a value belong to the "
     "value"},
    {"[limits]\nk: 5\n", NULL},
    {"[ limits ] # comment\nk=5\n", NULL},
    {"[limits]\nk = 5\n[daemon]\n[limits]\nparts = 1\n", NULL},
    {"[host a]\n[host\tb] ; comment\n[host 0-9]\n", NULL},
    {"k = 5\n",
     "t.conf:1: `k` stands before any section; begin with [daemon], [limits] or [host NAME]"},
    {"[limits]\nk\n", "t.conf:2: the line is neither `key = value` nor [section] nor a comment, "
                      "which begins with #"},
    {"[limits]\nparts ; = 1\n",
     "t.conf:2: unknown key `parts ;` in [limits]; did you mean `parts`?"},
    {"[limits]\nk ; 1\n", "t.conf:2: the line is neither `key = value` nor [section] nor a "
                          "comment, which begins with #"},
    /* All mistakes are told, in the order of the lines. */
    {"[limits]\nk\nparts = x\n",
     "t.conf:2: the line is neither `key = value` nor [section] nor a comment, which begins with "
     "#\n"
     "t.conf:3: `parts` must be a number, or one with k or M, such as 100 or 20k; not `x`"},
    {"[limits]\nk = 0\nk\n", "t.conf:2: `k` must be from 1 to 1000; not 0\n"
                             "t.conf:3: the line is neither `key = value` nor [section] nor a "
                             "comment, which begins with #"},
    {"[limits]\nk = 0\nmesages = 5\n[host A]\n[daemon]\n\xff\ndata = x\n",
     "t.conf:2: `k` must be from 1 to 1000; not 0\n"
     "t.conf:3: unknown key `mesages` in [limits]; did you mean `messages`?\n"
     "t.conf:4: [host NAME] needs a name of at most 63 letters a-z, digits and inner hyphens, such "
     "as [host lobby]; not `A`\n"
     "t.conf:6: the line is not UTF-8\n"
     "t.conf:7: `data` must be an absolute path, one that begins with /; not `x`"},
    /* Nobody knows what the keys of a section are that cannot be read; the next one is looked at.
     */
    {"[limit]\nk = 0\n[limits]\nk = 0\n",
     "t.conf:1: unknown section [limit]; there are [daemon], [limits] and [host NAME]\n"
     "t.conf:4: `k` must be from 1 to 1000; not 0"},
    {"[limits]\n= 5\n", "t.conf:2: a key is missing before `=`"},
    {"[limits]\nk =\n",
     "t.conf:2: `k` has no value; it must be a number, or one with k or M, such as 100 or 20k"},
    {"[limits]\nK = 5\n", "t.conf:2: unknown key `K` in [limits]; did you mean `k`?"},
    {"[limits]\nwork_bits = 18\n",
     "t.conf:2: `work_bits` in [limits] is no key any more: there are no proofs of work, see "
     "`deposits_per_minute`, and `accept` of the hosts; remove the line"},
    {"[limits]\nmesages = 5\n",
     "t.conf:2: unknown key `mesages` in [limits]; did you mean `messages`?"},
    {"[limits]\nttl_mxa = 5d\n",
     "t.conf:2: unknown key `ttl_mxa` in [limits]; did you mean `ttl_max`?"},
    {"[daemon]\ncolour = red\n",
     "t.conf:2: unknown key `colour` in [daemon]; there are data, user, admin_group, gateway_user, "
     "bridge_user, call_filter, listen, tls_certificate, tls_key, tls_client_ca, durability, "
     "commit_delay, "
     "log_level, clock_patience, moderation_log_keep"},
    {"[daemon]\nttl_max = 1d\n",
     "t.conf:2: `ttl_max` does not belong into [daemon] but into [limits]"},
    {"[limits]\nprofile = v2:512/4\n",
     "t.conf:2: `profile` does not belong into [limits] but into [host NAME]"},
    {"[limits]\nk = 5\n\nk = 5\n", "t.conf:4: `k` is set in line 2 already"},
    {"[limits]\nk = 5\n[daemon]\n[limits]\nk = 5\n", "t.conf:5: `k` is set in line 2 already"},
    {"[host a]\nmessages = 5\n[host b]\nmessages = 5\nmessages = 6\n",
     "t.conf:5: `messages` is set in line 4 already"},
    {"[host a]\n\n[host a]\n", "t.conf:3: [host a] stands in line 1 already"},
    {"[limit]\n",
     "t.conf:1: unknown section [limit]; there are [daemon], [limits] and [host NAME]"},
    {"[]\n", "t.conf:1: unknown section []; there are [daemon], [limits] and [host NAME]"},
    {"[daemon x]\n", "t.conf:1: [daemon] has no name after it; not `x`"},
    {"[daemon\n", "t.conf:1: a section ends with a bracket, such as [daemon]"},
    {"[daemon] data = /x\n", "t.conf:1: nothing but a comment may follow a section's bracket"},
    {"[host]\n", "t.conf:1: [host NAME] needs a name of at most 63 letters a-z, digits and inner "
                 "hyphens, such as [host lobby]; not ``"},
    {"[host a b]\n", "t.conf:1: [host NAME] needs a name of at most 63 letters a-z, digits and "
                     "inner hyphens, such as [host lobby]; not `a b`"},
    {"[host -a]\n",
     "t.conf:1: [host NAME] needs a name of at most 63 letters a-z, digits and inner "
     "hyphens, such as [host lobby]; not `-a`"},
    {"[host A]\n", "t.conf:1: [host NAME] needs a name of at most 63 letters a-z, digits and inner "
                   "hyphens, such as [host lobby]; not `A`"},
    {"# caf\xc3\xa9\n\n# caf\xe9\n", "t.conf:3: the line is not UTF-8"},
    {"[daemon]\ndata = /a\x1b[2J\n", "t.conf:2: `data` may not contain control characters"},
    {"[host a]\nhere = place:a\r.\n", "t.conf:2: `here` may not contain control characters"},
    {"[limits]\nparts\x1b = 1\n",
     "t.conf:2: unknown key `parts?` in [limits]; did you mean `parts`?"},
};

TEST(test_files)
{
    for (size_t i = 0; i < sizeof(file_cases) / sizeof(file_cases[0]); i++) {
        int result = parse(file_cases[i].text);

        if (file_cases[i].answer == NULL) {
            if (result != 0) {
                fail_msg("%s: %s", file_cases[i].text, reason);
            }
        } else {
            assert_int_equal(result, CONFIG_REFUSED);
            assert_string_equal(reason, file_cases[i].answer);
        }
    }
    assert_int_equal(parse("[limits]\n  k = 5\n  ; five\n  parts = 6\n"), 0);
    assert_int_equal(config.limits.k_max, 5);
    assert_int_equal(config.limits.parts_max, 6);
    assert_string_equal(config.common.file, "t.conf");
}

/* However many mistakes: what is told has an end, and says that there are more. */
TEST(test_many_mistakes)
{
    char text[64 * 1024] = "[limits]\n";
    size_t used = strlen(text);

    while (used + 16 < sizeof(text)) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, "k = 0\n");
    }
    assert_int_equal(parse(text), CONFIG_REFUSED);
    assert_true(strlen(reason) < CONFIG_REASON_BYTES);
    const char *last = strrchr(reason, '\n');
    assert_non_null(last);
    assert_string_equal(last, "\nand more; mend these first");
    assert_non_null(strstr(reason, "\nt.conf:20: `k` is set in line 2 already"));
    size_t lines = 1;
    for (const char *at = reason; (at = strchr(at, '\n')) != NULL; at++) {
        lines++;
    }
    assert_int_equal(settings_reason_first(reason), lines - 1);
    assert_string_equal(reason, "t.conf:2: `k` must be from 1 to 1000; not 0");
    assert_int_equal(settings_reason_first(reason), 0);
}

/* What is refused changes nothing. */
TEST(test_refusal_leaves_output)
{
    memset(&config, 0x5a, sizeof(config));
    memset(&other, 0x5a, sizeof(other));
    assert_int_equal(parse("[limits]\nk = 5\nparts = x\n"), CONFIG_REFUSED);
    assert_memory_equal(&config, &other, sizeof(config));
}

TEST(test_nul_byte)
{
    static const char text[] = "[limits]\nk = 5\0\n";

    assert_int_equal(
        settings_config_parse(&options_program, text, sizeof(text) - 1, "t.conf", &config, reason),
        CONFIG_REFUSED);
    assert_string_equal(reason, "t.conf:2: the line contains a NUL byte; this is not a text file");
}

/* 190 bytes are read, 191 not; longer ones never reach inih, which would split them. */
TEST(test_long_lines)
{
    char text[1024] = "\n[daemon]\ndata = /";
    size_t start = strlen("\n[daemon]\n");

    memset(text + start + 8, 'x', 190 - 8);
    text[start + 190] = '\0';
    assert_int_equal(parse(text), 0);
    assert_int_equal(strlen(config.data), 183);
    memcpy(text + start + 190, "\r\n", 3);
    assert_int_equal(parse(text), 0);
    memcpy(text + start + 190, "x\n", 3);
    assert_int_equal(parse(text), CONFIG_REFUSED);
    assert_string_equal(reason, "t.conf:3: the line has 191 bytes; at most 190 are read; a key "
                                "that holds a list may be set in several lines");
    memset(text + start, ' ', 500);
    assert_int_equal(parse(text), 0);
    text[start] = '#';
    assert_int_equal(parse(text), 0); /* a comment is not read, however long it is */
}

/* The longest host names differ in their last letter: inih alone would take them for one. */
TEST(test_host_names_whole)
{
    char text[256];

    (void)snprintf(text, sizeof(text), "[host %062dx]\nmessages = 7\n[host %062dy]\n", 0, 0);
    assert_int_equal(parse(text), 0);
    assert_int_equal(config.host_count, 2);
    assert_int_equal(strlen(config.hosts[1].name), 63);
    assert_int_equal(config.hosts[0].messages_max, 7);
    assert_int_equal(config_finish(&config, reason), 0);
    assert_int_equal(config.hosts[1].messages_max, 100000);
    (void)snprintf(text, sizeof(text), "[host %064d]\n", 0);
    assert_int_equal(parse(text), CONFIG_REFUSED);
}

TEST(test_host_count)
{
    char text[2048];
    size_t used = 0;

    for (int i = 0; i < 64; i++) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, "[host h%d]\n", i);
    }
    assert_int_equal(parse(text), 0);
    assert_int_equal(config.host_count, 64);
    assert_int_equal(config.hosts[63].suggested_max_distance_ppm, 772500);
    (void)snprintf(text + used, sizeof(text) - used, "[host h64]\n");
    assert_int_equal(parse(text), CONFIG_REFUSED);
    assert_string_equal(reason, "t.conf:65: there may be at most 64 hosts");
}

TEST(test_profile_line)
{
    assert_int_equal(parse("[host a]\n\nprofile = v2:256/2\n[host b]\n"), 0);
    assert_int_equal(config.hosts[0].profile_line, 3);
    assert_int_equal(config.hosts[0].profile.bits, 256);
    assert_int_equal(config.hosts[1].profile_line, 0);
}

/* --- from a file ------------------------------------------------------------------------------ */

TEST(test_read)
{
    char path[] = "/tmp/test_config.XXXXXX";
    int descriptor = mkstemp(path);
    char expected[256];

    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, "[limits]\nk = 5\n", 15), 15);
    assert_int_equal(settings_config_read(&options_program, path, &config, reason), 0);
    assert_int_equal(config.limits.k_max, 5);
    assert_string_equal(config.common.file, path);

    assert_int_equal(ftruncate(descriptor, SETTINGS_FILE_BYTES_MAX + 1), 0);
    assert_int_equal(settings_config_read(&options_program, path, &config, reason), CONFIG_REFUSED);
    (void)snprintf(expected, sizeof(expected),
                   "%s: the file is too large; at most 1048576 bytes are read", path);
    assert_string_equal(reason, expected);
    (void)close(descriptor);
    assert_int_equal(unlink(path), 0);

    assert_int_equal(settings_config_read(&options_program, path, &config, reason), CONFIG_REFUSED);
    (void)snprintf(expected, sizeof(expected), "%s: cannot be read: No such file or directory",
                   path);
    assert_string_equal(reason, expected);
    assert_int_equal(settings_config_read(&options_program, "/", &config, reason), CONFIG_REFUSED);
    assert_string_equal(reason, "/: cannot be read: Is a directory");
}

/* --- what concerns several keys --------------------------------------------------------------- */

static const struct {
    const char *text;
    const char *answer; /* NULL: taken */
} finish_cases[] = {
    {"[limits]\nframe = 6K\n", NULL},
    {"[limits]\nframe = 6143\n", "t.conf:2: `frame` is 6143, too little for `payload` of "
                                 "4K: a frame holds a payload and 2K more"},
    {"[limits]\nttl_default = 7d\n", NULL},
    {"[limits]\nttl_max = 23h\n", "t.conf:2: `ttl_max` is 23h, too little for "
                                  "`ttl_default` of 24h: the default may not exceed the maximum"},
    {"[limits]\ndeposit_fill_min = 90%\n",
     "t.conf:2: `deposit_fill_max` is 50%, too little for `deposit_fill_min` of 90%: the "
     "maximum is above the minimum"},
    {"[limits]\ndeposit_fill_min = 49.9999%\n", NULL},
    {"[limits]\nframe = 1M\n", "t.conf:2: `session_output` is 1M, too little for `frame` "
                               "of 1M: it holds at least two frames"},
    {"[limits]\nframe = 1M\nsession_output = 2M\n", NULL},
    {"[limits]\n\nttl_default = 2h\n\nttl_max = 1h\n",
     "t.conf:5: `ttl_max` is 1h, too little for `ttl_default` of 2h: the default may not exceed "
     "the "
     "maximum"},
    {"[limits]\nttl_max = 1h\n# more\nttl_default = 2h\n",
     "t.conf:4: `ttl_max` is 1h, too little for `ttl_default` of 2h: the default may not exceed "
     "the "
     "maximum"},
    {"[limits]\noutput = 1023K\n", "t.conf:2: `output` is 1023K, too little for "
                                   "`session_output` of 1M: it holds what one session may have"},
    {"[daemon]\nlisten = /run/b/b.sock bridge\nbridge_user = b\n", NULL},
    {"[daemon]\nlisten = /run/b/b.sock bridge\n",
     "t.conf: `listen = /run/b/b.sock bridge` needs `bridge_user`, the user that the bridge runs "
     "as, such as hearsay-bridge"},
    {"[daemon]\nlisten = /run/b/b.sock bridge\nlisten = /run/b/a.sock\nbridge_user = b\n",
     "t.conf: the bridge's socket /run/b/b.sock stands beside /run/b/a.sock, where administrators "
     "connect: give it a folder of its own, such as /run/hearsay-bridge/bridge.sock"},
    {"[daemon]\nlisten = /run/b/b.sock bridge\nlisten = /run/b/g.sock gateway\nbridge_user = b\n"
     "gateway_user = g\n",
     "t.conf: the gateway's socket /run/b/g.sock stands beside /run/b/b.sock, where others "
     "connect: give it a folder of its own, such as /run/hearsay-web/gateway.sock"},
    {"[daemon]\nuser = b\nbridge_user = b\n",
     "t.conf:3: `bridge_user` is b, as `user` is: the daemon's own user is an administrator, so "
     "the bridge needs a user of its own"},
    {"[daemon]\ngateway_user = b\nbridge_user = b\n",
     "t.conf:3: `bridge_user` is b, as `gateway_user` is: a bridge may bring in messages and "
     "decisions, so it needs a user of its own"},
    {"[host a]\nreplicate = yes\nacknowledge = replicated\n", NULL},
    {"[host a]\nrole = replica\nreplicate = yes\n", NULL},
    {"[daemon]\ndurability = relaxed\n[host a]\nreplicate = yes\nacknowledge = replicated\n",
     "t.conf:3: [host a]: `acknowledge` is replicated, and `durability` is relaxed: what may be "
     "lost here is not acknowledged as safe"},
    {"[host a]\nacknowledge = replicated\n",
     "t.conf:1: [host a]: `acknowledge` is replicated, which needs `replicate = yes`: without it "
     "there is no copy to wait for"},
    {"[host a]\nrole = replica\nacknowledge = replicated\n",
     "t.conf:1: [host a]: `acknowledge` is replicated, but with `role = replica` nothing is "
     "deposited here: it is for the owner"},
};

/* All keys that do not go together are told, not only the first pair. */
TEST(test_finish_tells_all)
{
    assert_int_equal(
        parse("[limits]\nttl_max = 1h\noutput = 1023K\n[host a]\nepoch_open = refuse\n"), 0);
    assert_int_equal(config_finish(&config, reason), CONFIG_REFUSED);
    assert_string_equal(
        reason,
        "t.conf:2: `ttl_max` is 1h, too little for `ttl_default` of 24h: the default may not "
        "exceed the maximum\n"
        "t.conf:3: `output` is 1023K, too little for `session_output` of 1M: it holds what one "
        "session may have\n"
        "t.conf:4: [host a]: `epoch_open` is refuse, and without `epoch_length` there is no other "
        "epoch: nothing could be deposited");
}

TEST(test_finish)
{
    for (size_t i = 0; i < sizeof(finish_cases) / sizeof(finish_cases[0]); i++) {
        assert_int_equal(parse(finish_cases[i].text), 0);
        if (finish_cases[i].answer == NULL) {
            assert_int_equal(config_finish(&config, reason), 0);
        } else {
            assert_int_equal(config_finish(&config, reason), CONFIG_REFUSED);
            assert_string_equal(reason, finish_cases[i].answer);
        }
    }
}

/* A client is told of all hosts in one frame. */
TEST(test_hosts_fit_frame)
{
    char text[8192];
    size_t used = (size_t)snprintf(text, sizeof(text), "[limits]\nframe = 4K\npayload = 1K\n");

    for (int i = 0; i < 64; i++) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, "[host %063d]\n", i);
    }
    assert_int_equal(parse(text), 0);
    assert_int_equal(config_finish(&config, reason), CONFIG_REFUSED);
    assert_non_null(strstr(reason, "`frame` is 4K, but to tell a client of 64 hosts"));
    config.limits.frame_bytes = 65536;
    assert_int_equal(config_finish(&config, reason), 0);
}

/* --- setting one key -------------------------------------------------------------------------- */

TEST(test_set)
{
    assert_int_equal(parse("[host lobby]\n"), 0);
    assert_int_equal(config_set(&config, "--listen", "daemon", "listen", "[::1]:5", reason), 0);
    assert_int_equal(config.listeners[0].port, 5);
    assert_int_equal(config_set(&config, "x", "host lobby", "messages", "9", reason), 0);
    assert_int_equal(config.hosts[0].messages_max, 9);
    assert_int_equal(config_set(&config, "x", "host hall", "messages", "9", reason),
                     CONFIG_REFUSED);
    assert_string_equal(reason, "x: there is no host `hall`");
    assert_int_equal(config_set(&config, "--log-level", "daemon", "log_level", "loud", reason),
                     CONFIG_REFUSED);
    assert_string_equal(
        reason, "--log-level: `log_level` must be error, warning, info or debug; not `loud`");
    assert_int_equal(config_set(&config, "x", "daemon", "logs", "1", reason), CONFIG_REFUSED);
    assert_int_equal(config_set(&config, "x", "deamon", "data", "/", reason), CONFIG_REFUSED);
    assert_int_equal(config_set(&config, "x", "daemon", "data", "/a ;b", reason), 0);
    assert_int_equal(config_set(&config, "x", "daemon", "data", "/a ", reason), CONFIG_REFUSED);
    assert_int_equal(config_set(&config, "x", "daemon", "data", "/a;b c", reason), 0);
}

/* --- printing --------------------------------------------------------------------------------- */

static char *print(const struct config *from)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);

    assert_non_null(out);
    config_print(from, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

/* `config` and `other` are the same but for the lines' numbers. */
static void check_equal(void)
{
    memcpy(other.common.key_lines, config.common.key_lines, sizeof(other.common.key_lines));
    for (size_t i = 0; i < LIMIT_HOSTS; i++) {
        other.hosts[i].line = config.hosts[i].line;
        other.hosts[i].profile_line = config.hosts[i].profile_line;
    }
    assert_memory_equal(&config, &other, sizeof(config));
}

/* Prints `config`, reads that into `other`, and compares all but the lines' numbers. */
static void check_round_trip(bool finished)
{
    char *text = print(&config);

    memset(&other, 0, sizeof(other));
    if (settings_config_parse(&options_program, text, strlen(text), config.common.file, &other,
                              reason) != 0 ||
        (finished && config_finish(&other, reason) != 0)) {
        fail_msg("%s\n%s", reason, text);
    }
    check_equal();
    free(text);
}

TEST(test_round_trip)
{
    static const char *const texts[] = {
        "",
        "[daemon]\ndata = /d\n",
        ("[daemon]\ndata = /d e ;f\nlisten = 0.0.0.0:0\ndurability = relaxed\nlog_level = debug\n"
         "clock_patience = 0\n"),
        "[daemon]\ndata = /d\nlisten = /run/s\n",
        "[daemon]\ndata = /d\nlisten = /d/hearsayd.sock\n",
        "[daemon]\ndata = /d\nlisten = /d/hearsayd.sock\nlisten = /e\n",
        "[daemon]\ndata = /d\nlisten = [::1]:7117\nlisten = 127.0.0.1:7117\n",
        "[limits]\nframe = 5000\npayload = 0\ncache = 0\nidle_timeout = 0\nttl_max = 25h\n",
        "[limits]\nsession_output = 200001\nframe = 5K\npayload = 1\nquery_fill_max = 12.3456%\n",
        "[host b]\nprofile = v2:64/1\nsuggested_max_distance = 0.123456\n[host a]\nbytes = 5M\n",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(parse(texts[i]), 0);
        check_round_trip(false);
        assert_int_equal(config_finish(&config, reason), 0);
        check_round_trip(true);
    }
}

/* A path that only the command line can give is shown, as a comment. */
TEST(test_print_long_path)
{
    char *text;

    assert_int_equal(parse(""), 0);
    memset(config.data, 'x', 300);
    config.data[0] = '/';
    text = print(&config);
    assert_non_null(strstr(text, "# data is too long for a line:\n# /xxx"));
    free(text);
}

/* The example is right, and changes nothing. */
TEST(test_example)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    struct options options = {.common = {.action = SETTINGS_PRINT_EXAMPLE}};

    assert_non_null(out);
    assert_true(settings_options_answer(&options_program, &options.common, "", NULL, out));
    assert_int_equal(fclose(out), 0);
    assert_int_equal(
        settings_config_parse(&options_program, text, length, "t.conf", &config, reason), 0);
    assert_int_equal(config_finish(&config, reason), 0);
    config_defaults(&other);
    memcpy(other.common.file, "t.conf", sizeof("t.conf"));
    assert_int_equal(config_finish(&other, reason), 0);
    check_equal();

    /* Uncommented, each line is still right. */
    for (char *line = text; line != NULL; line = strchr(line + 1, '\n')) {
        if (line[0] == '\n' && line[1] == '#' && line[2] != ' ') {
            line[1] = ' ';
        }
    }
    assert_int_equal(
        settings_config_parse(&options_program, text, length, "t.conf", &config, reason), 0);
    assert_int_equal(config_finish(&config, reason), 0);
    assert_int_equal(config.limits.messages, 100000);
    free(text);
}

/* --- reload ----------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    const char *answer; /* NULL: taken over */
} reload_cases[] = {
    {"[daemon]\ndata = /d\nlog_level = debug\nclock_patience = 1d\n[limits]\npayload = "
     "1K\ndeposit_fill_min = 1%\n"
     "deposit_fill_max = 80%\nquery_fill_max = 80%\nk = 10\nparts = 10\nttl_default = 1h\n"
     "ttl_max = 2h\nmessages = 10\nbytes = 1M\nsessions = 10\nrequests_in_flight = 10\n"
     "session_output = 2M\noutput = 3M\ncache = 1M\nhello_timeout = 1s\nidle_timeout = 1m\n"
     "[host a]\nsuggested_max_distance = 0.5\nmessages = 5\nbytes = 1M\n[host b]\n",
     NULL},
    {"[daemon]\ndata = /e\n", "t.conf:2: `data` changed to /e, which needs a restart"},
    {"[daemon]\ndata = /d\nlisten = [::1]:7117\nlisten = 127.0.0.1:7117 local\n[host a]\n[host "
     "b]\n",
     NULL},
    {"[daemon]\ndata = /d\ndurability = relaxed\n",
     "t.conf:3: `durability` changed from storage to relaxed, which needs a restart"},
    {"[daemon]\ndata = /d\n[limits]\nframe = 32K\n",
     "t.conf:4: `frame` changed from 64K to 32K, which needs a restart"},
    {"[daemon]\ndata = /d\n[host a]\n",
     "t.conf: [host b] is not there any more; to remove a host needs a restart"},
    {"[daemon]\ndata = /d\n[host a]\n[host b]\n\n[host c]\n[host d]\n", NULL},
    {"[daemon]\ndata = /d\n[host a]\n[host c]\n[host b]\n",
     "t.conf:4: [host c] stands where [host b] was: put hosts that are added behind the others; to "
     "remove or reorder hosts needs a restart"},
    {"[daemon]\ndata = /d\nadmin_group = ops\n",
     "t.conf:3: `admin_group` changed to ops, which needs a restart"},
    {"[daemon]\ndata = /d\n[limits]\nk = 5\n[host a]\nmessages = 3\n[host b]\nprofile = v2:64/4\n",
     "t.conf:8: [host b]: `profile` changed from v2:wifi=362/2,place=53/7,any=97/4 to v2:64/4, "
     "which needs "
     "a restart"},
    {"[daemon]\ndata = /d\n[host b]\n[host a]\n",
     "t.conf:3: [host b] stands where [host a] was: put hosts that are added behind the others; to "
     "remove or reorder hosts needs a restart"},
    {"[daemon]\ndata = /d\n[host a]\n[host b]\nprofile = v2:256/4\n",
     "t.conf:5: [host b]: `profile` changed from v2:wifi=362/2,place=53/7,any=97/4 to v2:256/4, "
     "which "
     "needs a restart"},
};

TEST(test_reload)
{
    assert_int_equal(parse("[daemon]\ndata = /d\n[host a]\n[host b]\n"), 0);
    assert_int_equal(config_finish(&config, reason), 0);
    other = config;
    for (size_t i = 0; i < sizeof(reload_cases) / sizeof(reload_cases[0]); i++) {
        assert_int_equal(parse(reload_cases[i].text), 0);
        assert_int_equal(config_finish(&config, reason), 0);
        if (reload_cases[i].answer == NULL) {
            assert_int_equal(config_check_reload(&other, &config, reason), 0);
        } else {
            assert_int_equal(config_check_reload(&other, &config, reason), CONFIG_REFUSED);
            assert_string_equal(reason, reload_cases[i].answer);
        }
    }
}

/* Without --config a missing file stands for the defaults, but only at the start. */
TEST(test_reload_of_a_file_that_is_gone)
{
    assert_int_equal(parse("[daemon]\n"), 0);
    other = config;
    config.common.file[0] = '\0';
    assert_int_equal(config_check_reload(&other, &config, reason), CONFIG_REFUSED);
    assert_string_equal(reason, "t.conf: is gone; put it back, or restart without it");
    assert_int_equal(config_check_reload(&config, &other, reason), 0);
}

/* --- anything at all -------------------------------------------------------------------------- */

/* Replaces, removes, inserts or doubles a few bytes. Returns the new length. */
static size_t mutate(struct rng *rng, char *text, size_t length, size_t room)
{
    static const char bytes[] = "[]=:;# \t\r\n%./0129KMGsmhd-_\0\xff\xc3\xef\xbb\xbf";

    for (uint32_t i = 1 + rng_below(rng, 4); i > 0; i--) {
        size_t at = rng_below(rng, (uint32_t)length);
        size_t count = 1 + rng_below(rng, 8);
        char byte = bytes[rng_below(rng, sizeof(bytes))];

        switch (rng_below(rng, 4)) {
        case 0:
            text[at] = byte;
            break;
        case 1:
            count = count < length - at ? count : length - at;
            memmove(text + at, text + at + count, length - at - count);
            length -= count;
            break;
        case 2:
            text[at] = (char)rng_below(rng, 256);
            break;
        default:
            if (length + count <= room) {
                memmove(text + at + count, text + at, length - at);
                memset(text + at, byte, count);
                length += count;
            }
        }
        if (length == 0) {
            return 0;
        }
    }
    return length;
}

/* Whatever the bytes: taken, and then printing gives it again, or refused with a line. */
TEST(test_mutations)
{
    static const char valid[] =
        "# one of each kind\n[daemon]\ndata = /srv/x\nlisten = 127.0.0.1:1\nlisten = [::1]:2\n"
        "listen = /run/x\ndurability = relaxed\n\n[limits]\nframe = 64K\nquery_fill_max = 87.5%\n"
        "ttl_max = 9d\n; comment\nk = 7\n[host a]\nprofile = v2:256/4\n"
        "suggested_max_distance = 0.75\n[host b]\nmessages = 5\n";
    char text[1024];
    struct rng rng;
    size_t taken = 0;

    rng_init(&rng);
    for (int i = 0; i < 10000; i++) {
        size_t length = sizeof(valid) - 1;
        int result;

        memcpy(text, valid, length);
        length = mutate(&rng, text, length, sizeof(text));
        reason[0] = '\0';
        result = settings_config_parse(&options_program, text, length, "t.conf", &config, reason);
        if (result == 0) {
            taken++;
            check_round_trip(false);
        } else {
            assert_int_equal(result, CONFIG_REFUSED);
            assert_int_equal(strncmp(reason, "t.conf:", 7), 0);
            assert_true(reason[7] >= '1' && reason[7] <= '9');
        }
    }
    assert_true(taken > 100); /* else it tests little */
}
