/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library that hearsayd shares with other programs, linked alone: a program with keys of its
 * own reads its command line, parses, checks and prints its configuration, logs, and holds a token
 * bucket.
 */
#include "daemon/settings/table.h"

#include <errno.h>

#include "core/base/bucket.h"
#include "daemon/settings/options.h"
#include "daemon/system/log.h"
#include "daemon/system/notify.h"
#include "daemon/system/privilege.h"
#include "tests/lib/check.h"

/* --- a small program -------------------------------------------------------------------------- */

enum { SECTION_WEB, SECTION_PAGE, SECTIONS, PAGES_MAX = 2, KEYS = 6 };

struct page {
    char name[16];
    uint32_t messages;
    char color[8];
};

struct web {
    char file[64];
    uint64_t cache_bytes;
    uint32_t log_level;
    uint32_t wait_s;
    struct page pages[PAGES_MAX];
    size_t page_count;
    unsigned key_lines[KEYS];
};

static int color_set(const struct settings_source *source, const struct settings_key *key,
                     void *base, const char *value)
{
    if (strlen(value) != 7 || value[0] != '#') {
        return settings_refuse(source, "`%s` must be %s; not `%s`", key->name,
                               settings_key_form(key), value);
    }
    memcpy((char *)base + key->offset, value, 8);
    return 0;
}

static void color_print(const struct settings_key *key, const void *base, FILE *out)
{
    const char *color = (const char *)base + key->offset;

    if (color[0] != '\0') {
        (void)fprintf(out, "%s = %s\n", key->name, color);
    }
}

static const struct settings_own color_type = {"color", "a color, such as #00ff00", color_set,
                                               color_print};
static const char *const level_words[] = {"quiet", "loud", NULL};

#define FIELD(type, member) offsetof(type, member), sizeof(((type *)0)->member)

static const struct settings_section sections[SECTIONS] = {
    {.name = "web", .help = "The program."},
    {.name = "page", .label = "NAME", .example = "start", .help = "A page."},
};
static const struct settings_key keys[KEYS] = {
    {SECTION_WEB, "root", FIELD(struct web, file), SETTINGS_TYPE_PATH, .standard_note = "none",
     .example = "/srv/web", .help = "Where the files are."},
    {SECTION_WEB, "cache", FIELD(struct web, cache_bytes), SETTINGS_TYPE_SIZE, 0, 1 << 20,
     .standard = "64K", .help = "Memory for files.", .reloadable = true},
    {SECTION_WEB, "log", FIELD(struct web, log_level), SETTINGS_TYPE_CHOICE, .words = level_words,
     .standard = "loud", .help = "How much is logged."},
    {SECTION_WEB, "wait", FIELD(struct web, wait_s), SETTINGS_TYPE_DURATION, 1, 60,
     .standard = "10s", .help = "How long a client may wait."},
    {SECTION_PAGE, "messages", FIELD(struct page, messages), SETTINGS_TYPE_COUNT, 1, 100,
     .unit = "messages", .standard = "20", .help = "Messages on the page."},
    {SECTION_PAGE, "color", FIELD(struct page, color), SETTINGS_TYPE_OWN, .own = &color_type,
     .standard_note = "none", .example = "#00ff00", .help = "Its color."},
};
static const struct settings_gone gone[] = {{SECTION_WEB, "speed", "pages are fast now"}};
static const struct settings_table table = {sections, SECTIONS, keys, KEYS, gone, 1};

static struct web web;
static char reason[SETTINGS_REASON_BYTES];

static int enter(void *context, const struct settings_source *source,
                 const struct settings_heading *heading, void **out_base)
{
    struct web *program = context;

    *out_base = program;
    if (heading->section == SECTION_PAGE) {
        struct page *page = &program->pages[program->page_count];

        if (program->page_count == PAGES_MAX || heading->label_bytes >= sizeof(page->name)) {
            return settings_refuse(source, "there may be at most %d pages", PAGES_MAX);
        }
        memcpy(page->name, heading->label, heading->label_bytes);
        settings_put_defaults(&table, SECTION_PAGE, page);
        program->page_count++;
        *out_base = page;
    }
    return 0;
}

static int parse(const char *text)
{
    const struct settings_target target = {&table, &web, enter, web.key_lines};

    memset(&web, 0, sizeof(web));
    settings_put_defaults(&table, SECTION_WEB, &web);
    return settings_parse(&target, text, strlen(text), "web.conf", reason);
}

static void assert_refused(const char *text, const char *says)
{
    assert_int_equal(parse(text), SETTINGS_REFUSED);
    if (strstr(reason, says) == NULL) {
        fail_msg("%s\nlacks: %s", reason, says);
    }
}

/* What `print` writes; the caller frees it. */
static char *printed(void (*print)(FILE *out))
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);

    assert_non_null(out);
    print(out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void print_all(FILE *out)
{
    settings_print_section(&table, SECTION_WEB, NULL, &web, out);
    for (size_t i = 0; i < web.page_count; i++) {
        settings_print_section(&table, SECTION_PAGE, web.pages[i].name, &web.pages[i], out);
    }
}

static void print_example(FILE *out)
{
    settings_print_example(&table, out);
}

static void print_markdown(FILE *out)
{
    settings_print_markdown(&table, out);
}

static void print_web(const void *config, FILE *out)
{
    assert_ptr_equal(config, &web);
    print_all(out);
}

struct web_options {
    struct settings_options common;
    const char *root;
};

static const struct settings_option options[] = {
    {"--root", "DIR", .offset = offsetof(struct web_options, root), .help = "files are in DIR"},
};
static const struct settings_program program = {
    .name = "web",
    .version = "1",
    .file = "/nonexistent/web.conf",
    .about = "Shows pages.\n",
    .more = "See web(8).\n",
    .options = options,
    .option_count = 1,
    .table = &table,
    .markdown = "# Web\n",
    .example = "# web.conf\n",
    .print = print_web,
};

/* The main function of the program: what it writes, both outputs together; the caller frees it. */
static char *run(size_t count, const char *const *words, int *out_status)
{
    char *arguments[4] = {NULL};
    struct web_options asked = {.root = NULL};
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    int rc;

    assert_non_null(out);
    for (size_t i = 0; i < count; i++) {
        arguments[i + 1] = strdup(words[i]);
    }
    rc = settings_options_parse(&program, (int)count + 1, arguments, &asked, reason);
    if (rc == 0 && !settings_options_answer(&program, &asked.common, "", NULL, out)) {
        const char *file = settings_options_file(&asked.common);
        char *content = NULL;
        size_t bytes = 0;

        rc = file == NULL ? 0 : settings_read(file, &content, &bytes, reason);
        if (content != NULL) {
            content[bytes] = '\0'; /* the file is shorter than the buffer */
        }
        rc = rc != 0 ? rc : parse(content != NULL ? content : "");
        free(content);
        if (rc == 0) {
            (void)settings_options_answer(&program, &asked.common, file != NULL ? file : "", &web,
                                          out);
        }
    }
    if (rc != 0) {
        settings_complain(&program, reason, out);
    }
    *out_status = rc;
    for (size_t i = 0; i < count; i++) {
        free(arguments[i + 1]);
    }
    assert_int_equal(fclose(out), 0);
    return text;
}

static void assert_answers(const char *first, const char *second, int status, const char *says)
{
    const char *const words[] = {first, second};
    int got = 0;
    char *text = run(second != NULL ? 2 : 1, words, &got);

    assert_int_equal(got, status);
    if (strstr(text, says) == NULL) {
        fail_msg("%s\nlacks: %s", text, says);
    }
    free(text);
}

/* --- tests ------------------------------------------------------------------------------------ */

static const char whole[] = "[web]\n"
                            "root = /srv/web\n"
                            "cache = 128K\n"
                            "log = quiet\n"
                            "wait = 10s\n"
                            "[page start]\n"
                            "messages = 20\n"
                            "[page second]\n"
                            "messages = 5\n"
                            "color = #a0b0c0\n";

/* What is printed is what was parsed; keys that are not set have their defaults. */
TEST(test_parses_and_prints)
{
    assert_int_equal(parse(whole), 0);
    assert_string_equal(web.file, "/srv/web");
    assert_int_equal(web.cache_bytes, 128 << 10);
    assert_int_equal(web.log_level, 0);
    assert_int_equal(web.wait_s, 10);
    assert_int_equal(web.page_count, 2);
    assert_int_equal(web.pages[0].messages, 20);
    assert_string_equal(web.pages[1].color, "#a0b0c0");
    assert_int_equal(web.key_lines[1], 3);
    char *text = printed(print_all);
    assert_string_equal(text, whole);
    free(text);
}

/* A refusal names file and line, and says what would be right, by the table of this program. */
TEST(test_refuses)
{
    assert_refused("cache = 1\n", "web.conf:1: `cache` stands before any section; begin with [web] "
                                  "or [page NAME]");
    assert_refused("[wob]\n", "unknown section [wob]; there are [web] and [page NAME]");
    assert_refused("[web x]\n", "[web] has no name after it");
    assert_refused("[web]\ncach = 1\n", "web.conf:2: unknown key `cach` in [web]; did you mean");
    assert_refused("[web]\nspeed = 1\n",
                   "web.conf:2: `speed` in [web] is no key any more: pages are fast now");
    assert_refused("[web]\nmessages = 1\n", "does not belong into [web] but into [page NAME]");
    assert_refused("[web]\nwait = 61s\n", "`wait` must be from 1s to 1m; not 61s");
    assert_refused("[web]\nwait = 1s\nwait = 2s\n", "`wait` is set in line 2 already");
    assert_refused("[page a]\ncolor = green\n", "`color` must be a color, such as #00ff00");
    assert_refused("[page a]\n[page b]\n[page c]\n", "at most 2 pages");
    assert_refused("[web]\nlog = x\nwait = y\n", "web.conf:3");
    assert_int_equal(settings_reason_first(reason), 1);
}

TEST(test_reloads)
{
    const struct settings_source source = {.name = "web.conf", .line = 7, .reason = reason};
    struct web fresh;

    assert_int_equal(parse(whole), 0);
    fresh = web;
    fresh.wait_s = 20;
    for (size_t i = 0; i < KEYS; i++) {
        if (keys[i].section == SECTION_WEB) {
            assert_int_equal(settings_check_unchanged(&source, &keys[i], &web, &fresh),
                             strcmp(keys[i].name, "wait") == 0 ? SETTINGS_REFUSED : 0);
        }
    }
    assert_string_equal(reason,
                        "web.conf:7: `wait` changed from 10s to 20s, which needs a restart");
}

TEST(test_reference)
{
    char *text = printed(print_example);

    assert_non_null(strstr(text, "[page start]\n"));
    assert_non_null(strstr(text, "#root = /srv/web\n"));
    assert_non_null(strstr(text, "#color = #00ff00\n"));
    free(text);
    text = printed(print_markdown);
    assert_non_null(strstr(text, "## [page NAME]\n"));
    assert_non_null(strstr(text, "| `messages` | 1 to 100 messages | `20` | no | Messages on the "
                                 "page. |"));
    free(text);
}

/* A file is read from storage; one that is not there is refused with its name. */
TEST(test_reads_files)
{
    char name[] = "/tmp/hearsay-settings-XXXXXX";
    const int fd = mkstemp(name);
    char *text = NULL;
    size_t length = 0;
    FILE *file = fdopen(fd, "w");

    assert_non_null(file);
    (void)fputs(whole, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(settings_read(name, &text, &length, reason), 0);
    assert_int_equal(length, sizeof(whole) - 1);
    assert_memory_equal(text, whole, length);
    free(text);
    assert_int_equal(remove(name), 0);
    assert_int_equal(settings_read(name, &text, &length, reason), SETTINGS_REFUSED);
    assert_non_null(strstr(reason, "cannot be read"));
}

/* The command line of a program with one option of its own. */
TEST(test_options)
{
    char name[] = "/tmp/hearsay-settings-XXXXXX";
    char option[64];
    const int fd = mkstemp(name);
    FILE *file = fdopen(fd, "w");

    assert_answers("--help", NULL, 0,
                   "usage: web [OPTION]...\n\nShows pages.\n\n"
                   "  --config FILE       read FILE instead of /nonexistent/web.conf\n"
                   "  --root DIR          files are in DIR\n"
                   "  --check-config      check the configuration and exit\n");
    assert_answers("--version", NULL, 0, "web 1\n");
    assert_answers("--print-reference", "markdown", 0, "# Web\n\n## [web]\n");
    assert_answers("--print-reference", "mdoc", 0, ".Ss [web]\n");
    assert_answers("--print-reference=example", NULL, 0, "# web.conf\n\n# The program.\n[web]\n");
    assert_answers("--check-config", NULL, 0,
                   "there is no /nonexistent/web.conf, and --config names no file: the defaults "
                   "are correct\n");
    assert_answers("--print-config", NULL, 0, "[web]\ncache = 64K\nlog = loud\nwait = 10s\n");
    assert_answers("--root=/a", "--root=/b", SETTINGS_REFUSED, "web: --root: is given twice\n");
    assert_answers("--rot", NULL, SETTINGS_REFUSED,
                   "web: command line: unknown option `--rot`; did you mean --root?\n");
    assert_answers("x", NULL, SETTINGS_REFUSED, "`x` is not an option; see web --help\n");
    assert_answers("--config", "/nonexistent/a", SETTINGS_REFUSED,
                   "web: /nonexistent/a: cannot be read: No such file or directory\n");

    assert_non_null(file);
    (void)fputs("[web]\nwait = 5s\n", file);
    assert_int_equal(fclose(file), 0);
    (void)snprintf(option, sizeof(option), "--config=%s", name);
    assert_answers("--print-config", option, 0, "\nwait = 5s\n");
    assert_answers("--check-config", option, 0, ": correct\n");
    assert_int_equal(remove(name), 0);
}

/* What a systemd unit forbids is said with the lines that allow it; nothing where no unit is. */
TEST(test_unit_hints)
{
    static const struct {
        const char *path;
        int error;
        const char *lines; /* NULL: no hint */
    } cases[] = {
        {"/srv/messages", EROFS, "`[Service]` and `ReadWritePaths=/srv/messages`"},
        {"/home", EACCES, "`ProtectHome=no` and `ReadWritePaths=/home`"},
        {"/run/user/7/x", EACCES, "`ProtectHome=no` and `ReadWritePaths=/run/user/7/x`"},
        {"/homes/x", EACCES, NULL},
        {"/srv/messages", EACCES, NULL},
        {"/srv/messages", ENOSPC, NULL},
    };
    char hint[UNIT_HINT_BYTES];
    char *outer = getenv("NOTIFY_SOCKET");
    char *manager = outer != NULL ? strdup(outer) : NULL;

    assert_int_equal(unsetenv("NOTIFY_SOCKET"), 0);
    assert_string_equal(unit_hint("/srv/messages", EROFS, hint), "");
    assert_int_equal(setenv("NOTIFY_SOCKET", "/run/notify", 1), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]) && notify_has_manager(); i++) {
        unit_hint(cases[i].path, cases[i].error, hint);
        assert_true(cases[i].lines != NULL ? strstr(hint, cases[i].lines) != NULL
                                           : hint[0] == '\0');
    }
    (void)unsetenv("NOTIFY_SOCKET");
    if (manager != NULL) {
        assert_int_equal(setenv("NOTIFY_SOCKET", manager, 1), 0);
        free(manager);
    }
}

/* The rest of the library is there, too: log, service manager, privileges, token buckets. */
TEST(test_the_rest_links)
{
    struct privilege_user user;
    const struct bucket_rate rate = {.per_minute = 60, .burst = 1};
    struct bucket bucket = {0};

    log_set_level(LOG_LEVEL_ERROR);
    assert_int_not_equal(privilege_look_up("user", "nobody-of-that-name", &user, reason), 0);
    assert_int_equal(bucket_take(&bucket, &rate, 1, 1000), 0);
    notify_ready("a test");
    assert_int_equal(notify_watchdog_interval_ms(), 0);
}
