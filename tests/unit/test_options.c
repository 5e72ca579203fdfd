/* SPDX-License-Identifier: Apache-2.0 */
/* The command line, and the configuration that comes of it. */
#include "daemon/config/options.h"

#include <unistd.h>

#include "tests/lib/check.h"

enum { ARGUMENTS_MAX = 40 };

static struct config config; /* 30 KiB: not on the stack */
static struct options options;
static char reason[CONFIG_REASON_BYTES];

/* Words with blanks between them; an empty one is written as ''. */
static int parse(const char *line)
{
    static char copy[2048];
    static char program[] = "hearsayd";
    static char empty[] = "";
    char *argv[ARGUMENTS_MAX] = {program};
    int argc = 1;

    assert_true(strlen(line) < sizeof(copy));
    memcpy(copy, line, strlen(line) + 1);
    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " ")) {
        assert_true(argc < ARGUMENTS_MAX);
        argv[argc++] = strcmp(word, "''") == 0 ? empty : word;
    }
    options = (struct options){.restore = NULL};
    return settings_options_parse(&options_program, argc, argv, &options, reason);
}

static void clear_environment(void)
{
    unsetenv("STATE_DIRECTORY");
    unsetenv("XDG_STATE_HOME");
    unsetenv("HOME");
}

/* --- parsing ---------------------------------------------------------------------------------- */

TEST(test_none)
{
    assert_int_equal(parse(""), 0);
    assert_int_equal(options.common.action, SETTINGS_RUN);
    assert_null(options.common.config);
    assert_string_equal(options.common.config_none, "/etc/hearsay/hearsayd.conf");
    assert_null(options.restore);
    assert_int_equal(options.common.value_count, 0);
}

TEST(test_all)
{
    static const char *const values[][2] = {{"data", "d"},
                                            {"listen", "127.0.0.1:1"},
                                            {"listen", "[::1]:2"},
                                            {"log_level", "debug"},
                                            {"durability", "relaxed"}};

    assert_int_equal(parse("--config a.conf --data=d --listen 127.0.0.1:1 --listen=[::1]:2 "
                           "--log-level debug --durability relaxed --check-config"),
                     0);
    assert_int_equal(options.common.action, SETTINGS_CHECK_CONFIG);
    assert_string_equal(options.common.config, "a.conf");
    assert_int_equal(options.common.value_count, sizeof(values) / sizeof(values[0]));
    for (size_t i = 0; i < options.common.value_count; i++) {
        assert_string_equal(options.common.values[i].option->key, values[i][0]);
        assert_string_equal(options.common.values[i].text, values[i][1]);
    }
}

static const struct {
    const char *line;
    enum settings_action action;
} action_cases[] = {
    {"--help", SETTINGS_HELP},
    {"-h", SETTINGS_HELP},
    {"--version", SETTINGS_VERSION},
    {"--print-config", SETTINGS_PRINT_CONFIG},
    {"--print-config library", SETTINGS_PRINT_CONFIG},
    {"--print-config=cafe --data d", SETTINGS_PRINT_CONFIG},
    {"--print-reference markdown", SETTINGS_PRINT_MARKDOWN},
    {"--print-reference=mdoc", SETTINGS_PRINT_MDOC},
    {"--print-reference=example", SETTINGS_PRINT_EXAMPLE},
};

static const struct {
    const char *line;
    const char *answer;
} refused_cases[] = {
    {"--confg x", "command line: unknown option `--confg`; did you mean --config?"},
    {"--loglevel=debug",
     "command line: unknown option `--loglevel=debug`; did you mean --log-level?"},
    {"-d /x", "command line: unknown option `-d`; see hearsayd --help"},
    {"--verbose", "command line: unknown option `--verbose`; see hearsayd --help"},
    {"/x", "command line: `/x` is not an option; see hearsayd --help"},
    {"--", "command line: unknown option `--`; see hearsayd --help"},
    {"''", "command line: `` is not an option; see hearsayd --help"},
    {"--data", "--data: needs a value: --data DIR"},
    {"--data=", "--data: needs a value: --data DIR"},
    {"--data ''", "--data: needs a value: --data DIR"},
    {"--data a --data b", "--data: is given twice"},
    {"--version=1", "--version: takes no value"},
    {"--check-config=cafe", "--check-config: takes no value"},
    {"--print-config bar", "--print-config: must be followed by cafe, festival or library, or by "
                           "nothing; not by `bar`"},
    {"--print-reference html", "--print-reference: must be markdown, mdoc or example; not `html`"},
};

TEST(test_actions_and_refusals)
{
    for (size_t i = 0; i < sizeof(action_cases) / sizeof(action_cases[0]); i++) {
        assert_int_equal(parse(action_cases[i].line), 0);
        assert_int_equal(options.common.action, action_cases[i].action);
    }
    for (size_t i = 0; i < sizeof(refused_cases) / sizeof(refused_cases[0]); i++) {
        assert_int_equal(parse(refused_cases[i].line), SETTINGS_REFUSED);
        assert_string_equal(reason, refused_cases[i].answer);
    }
}

/* --- loading ---------------------------------------------------------------------------------- */

/* A file for the test, in the directory of the test; `path` is a template for mkstemp. */
static void write_file(char *path, const char *text)
{
    int descriptor = mkstemp(path);

    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, text, strlen(text)), strlen(text));
    assert_int_equal(close(descriptor), 0);
}

/* The command line stands above the file; what it does not name stays. */
TEST(test_above_file)
{
    char path[] = "/tmp/test_options.XXXXXX";
    char line[256];

    clear_environment();
    write_file(path, "[daemon]\ndata = /from/file\nlisten = 127.0.0.1:1\nlisten = /from/socket\n"
                     "log_level = error\n[limits]\nk = 7\n");
    (void)snprintf(line, sizeof(line), "--config %s", path);
    assert_int_equal(parse(line), 0);
    assert_int_equal(settings_config_load(&options_program, &options, &config, reason), 0);
    assert_string_equal(config.common.file, path);
    assert_string_equal(config.data, "/from/file");
    assert_int_equal(config.listener_count, 2);

    (void)snprintf(line, sizeof(line), "--config %s --data /from/line --listen 127.0.0.1:2", path);
    assert_int_equal(parse(line), 0);
    assert_int_equal(settings_config_load(&options_program, &options, &config, reason), 0);
    assert_string_equal(config.data, "/from/line");
    assert_int_equal(config.log_level, LOG_LEVEL_ERROR);
    assert_int_equal(config.limits.k_max, 7);
    /* All of the file's listeners are replaced; the socket by default is there. */
    assert_int_equal(config.listener_count, 2);
    assert_int_equal(config.listeners[0].port, 2);
    assert_string_equal(config.listeners[1].path, "/from/line/hearsayd.sock");
    assert_int_equal(unlink(path), 0);

    /* A file that was named must be there, and a refusal leaves what was. */
    assert_int_equal(settings_config_load(&options_program, &options, &config, reason),
                     CONFIG_REFUSED);
    assert_non_null(strstr(reason, "cannot be read: No such file or directory"));
    assert_string_equal(config.data, "/from/line");
}

TEST(test_default_file)
{
    char path[] = "/tmp/test_options.XXXXXX";

    write_file(path, "[limits]\nk = 8\n");
    assert_int_equal(parse("--data /d"), 0);
    options.common.config_none = path;
    assert_int_equal(settings_config_load(&options_program, &options, &config, reason), 0);
    assert_int_equal(config.limits.k_max, 8);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(settings_config_load(&options_program, &options, &config, reason), 0);
    assert_int_equal(config.limits.k_max, 100);
    assert_string_equal(config.common.file, "");
}

TEST(test_default_data)
{
    clear_environment();
    assert_int_equal(parse(""), 0);
    options.common.config_none = "/nonexistent/file";
    setenv("STATE_DIRECTORY", "/srv/first:/srv/second", 1);
    assert_int_equal(settings_config_load(&options_program, &options, &config, reason), 0);
    assert_string_equal(config.data, "/srv/first");
    assert_string_equal(config.listeners[2].path, "/srv/first/hearsayd.sock");
    unsetenv("STATE_DIRECTORY");
    if (geteuid() == 0) {
        assert_int_equal(settings_config_load(&options_program, &options, &config, reason), 0);
        assert_string_equal(config.data, "/var/lib/hearsay");
        return;
    }
    assert_int_equal(settings_config_load(&options_program, &options, &config, reason),
                     CONFIG_REFUSED);
    assert_string_equal(reason,
                        "data directory: none is known: HOME is not set; name one with --data DIR");
    setenv("HOME", "/home/u", 1);
    assert_int_equal(settings_config_load(&options_program, &options, &config, reason), 0);
    assert_string_equal(config.data, "/home/u/.local/state/hearsayd");
    setenv("XDG_STATE_HOME", "/home/u/state", 1);
    assert_int_equal(settings_config_load(&options_program, &options, &config, reason), 0);
    assert_string_equal(config.data, "/home/u/state/hearsayd");
}

/* Relative paths of the command line count from the working directory. */
TEST(test_relative_paths)
{
    assert_int_equal(chdir("/tmp"), 0);
    assert_int_equal(parse("--data ./d --listen ./s --listen ../run/t"), 0);
    options.common.config_none = "/nonexistent/file";
    assert_int_equal(settings_config_load(&options_program, &options, &config, reason), 0);
    assert_string_equal(config.data, "/tmp/d");
    assert_int_equal(config.listener_count, 2);
    assert_string_equal(config.listeners[0].path, "/tmp/s");
    assert_string_equal(config.listeners[1].path, "/tmp/../run/t");
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(parse("--data d"), 0);
    assert_int_equal(settings_config_load(&options_program, &options, &config, reason), 0);
    assert_string_equal(config.data, "/d");
}

TEST(test_values_refused)
{
    static const struct {
        const char *line;
        const char *answer;
    } cases[] = {
        {"--listen localhost:1", "--listen: `listen`: `localhost` is not a numeric address"},
        {"--listen socket", "--listen: `listen` must be a numeric address with a port"},
        {"--log-level loud", "--log-level: `log_level` must be error, warning, info or debug"},
        {"--durability none", "--durability: `durability` must be storage or relaxed"},
        {"--listen 127.0.0.1:1 --listen 127.0.0.1:1", "is already among them"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(parse(cases[i].line), 0);
        options.common.config_none = "/nonexistent/file";
        assert_int_equal(settings_config_load(&options_program, &options, &config, reason),
                         CONFIG_REFUSED);
        if (strstr(reason, cases[i].answer) == NULL) {
            fail_msg("%s: %s", cases[i].line, reason);
        }
    }
}

/* --- answers ---------------------------------------------------------------------------------- */

/* Whether it answered, and with what (owned by the caller). */
static bool answer(const struct config *with, char **out_text)
{
    size_t length = 0;
    FILE *out = open_memstream(out_text, &length);
    bool answered;

    assert_non_null(out);
    answered = settings_options_answer(&options_program, &options.common,
                                       with != NULL ? with->common.file : "", with, out);
    assert_int_equal(fclose(out), 0);
    return answered;
}

static void check_answer(const char *line, bool needs_config, const char *part)
{
    char *text = NULL;

    assert_int_equal(parse(line), 0);
    assert_int_equal(answer(NULL, &text), !needs_config && part != NULL);
    if (needs_config) {
        assert_string_equal(text, "");
        free(text);
        options.common.config_none = "/nonexistent/file";
        assert_int_equal(settings_config_load(&options_program, &options, &config, reason), 0);
        assert_true(answer(&config, &text));
    }
    if (part != NULL && strstr(text, part) == NULL) {
        fail_msg("%s: %s", line, text);
    }
    free(text);
}

TEST(test_answers)
{
    check_answer("--version", false, "hearsayd " HEARSAY_VERSION "\n");
    check_answer("--help", false, "  --listen ADDRESS    listen on ");
    check_answer("--print-reference markdown", false, "| `ttl_default` | 1s to 3650d | `24h` |");
    check_answer("--print-reference mdoc", false, ".It Ic ttl_default No = Ar duration\n");
    check_answer("--print-reference example", false, "\n#ttl_default = 24h\n");
    check_answer(
        "--check-config --data /d", true,
        "there is no /nonexistent/file, and --config names no file: the defaults are correct\n");
    check_answer("--print-config --data /d", true, "\ndata = /d\n");
    check_answer("--print-config cafe", false, "\nevict = oldest\n");
    check_answer("--data /d", false, NULL);
}
