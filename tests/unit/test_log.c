/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines: their form, and that nothing in them can pass for another line. */
#include "daemon/system/log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/check.h"

static int saved_stderr;
static FILE *captured;

static int set_up(void **state)
{
    (void)state;
    captured = tmpfile();
    saved_stderr = dup(STDERR_FILENO);
    unsetenv("JOURNAL_STREAM");
    log_set_level(LOG_LEVEL_INFO);
    return captured != NULL && saved_stderr >= 0 && dup2(fileno(captured), STDERR_FILENO) >= 0 ? 0
                                                                                               : -1;
}

static int tear_down(void **state)
{
    (void)state;
    (void)dup2(saved_stderr, STDERR_FILENO);
    (void)close(saved_stderr);
    return fclose(captured);
}

/* What was written so far; the next call begins anew. */
static const char *take(void)
{
    static char text[4096];
    ssize_t length = pread(fileno(captured), text, sizeof(text) - 1, 0);

    assert_true(length >= 0);
    text[length] = '\0';
    assert_int_equal(ftruncate(fileno(captured), 0), 0);
    assert_int_equal(lseek(fileno(captured), 0, SEEK_SET), 0);
    return text;
}

/* The text of the one line that was written. */
static const char *take_text(void)
{
    const char *line = take();
    const char *text = strstr(line, "Z info: ");

    assert_non_null(text);
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
    return text + strlen("Z info: ");
}

TEST_WITH(test_form, set_up, tear_down)
{
    const char *line;

    log_warning("%d hosts", 3);
    line = take();
    /* 2026-11-20T14:05:09.123Z warning: 3 hosts */
    assert_int_equal(strlen(line), strlen("2026-11-20T14:05:09.123Z warning: 3 hosts\n"));
    assert_int_equal(line[4], '-');
    assert_int_equal(line[10], 'T');
    assert_int_equal(line[19], '.');
    assert_string_equal(line + 23, "Z warning: 3 hosts\n");
}

TEST_WITH(test_level, set_up, tear_down)
{
    log_debug("not shown");
    assert_string_equal(take(), "");
    log_set_level(LOG_LEVEL_DEBUG);
    assert_int_equal(log_get_level(), LOG_LEVEL_DEBUG);
    log_debug("shown");
    assert_non_null(strstr(take(), " debug: shown\n"));
    log_set_level(LOG_LEVEL_ERROR);
    log_warning("not shown");
    assert_string_equal(take(), "");
    log_error("shown");
    assert_non_null(strstr(take(), " error: shown\n"));
    assert_string_equal(log_level_name(LOG_LEVEL_WARNING), "warning");
}

/* Opens at once, then every ten seconds, and counts what it withheld. */
TEST(test_gate)
{
    struct log_gate gate = {0};
    uint64_t withheld = 99;

    assert_true(log_gate_opens(&gate, 5, &withheld));
    assert_int_equal(withheld, 0);
    for (int64_t now_ms = 5; now_ms < 10005; now_ms += 1000) {
        assert_false(log_gate_opens(&gate, now_ms, &withheld));
    }
    assert_true(log_gate_opens(&gate, 10005, &withheld));
    assert_int_equal(withheld, 10);
    assert_false(log_gate_opens(&gate, 10006, &withheld));
    assert_true(log_gate_opens(&gate, 30000, &withheld));
    assert_int_equal(withheld, 1);
}

/* JOURNAL_STREAM counts only while standard error is that very stream. */
TEST_WITH(test_journal, set_up, tear_down)
{
    struct stat status;
    char stream[64];

    assert_int_equal(fstat(STDERR_FILENO, &status), 0);
    (void)snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)status.st_dev,
                   (uintmax_t)status.st_ino);
    setenv("JOURNAL_STREAM", stream, 1);
    log_set_level(LOG_LEVEL_DEBUG);
    log_error("a");
    log_warning("b");
    log_info("c");
    log_debug("d");
    assert_string_equal(take(), "<3>error: a\n<4>warning: b\n<6>info: c\n<7>debug: d\n");

    (void)snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)status.st_dev,
                   (uintmax_t)status.st_ino + 1);
    setenv("JOURNAL_STREAM", stream, 1);
    log_info("c");
    assert_int_equal(take()[0], '2');
    unsetenv("JOURNAL_STREAM");
}

static const struct {
    const char *text;
    const char *shown;
} escape_cases[] = {
    {"plain %s", "plain %s\n"},
    {"", "\n"},
    {"a\nerror: forged", "a\\x0aerror: forged\n"},
    {"tab\tcr\rnul", "tab\\x09cr\\x0dnul\n"},
    {"\x1b[2J\x7f", "\\x1b[2J\\x7f\n"},
    {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8d\xb0", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8d\xb0\n"},
    {"\xc2\x9b"
     "2J",
     "\\xc2\\x9b2J\n"}, /* C1: a terminal takes it for ESC [ */
    {"\xc2\xa0", "\xc2\xa0\n"},
    {"\xff\xfe", "\\xff\\xfe\n"},
    {"\xc3", "\\xc3\n"},
    {"\xe2\x82", "\\xe2\\x82\n"},
    {"\xc0\x8a", "\\xc0\\x8a\n"},          /* overlong line feed */
    {"\xe0\x80\x8a", "\\xe0\\x80\\x8a\n"}, /* the same */
    {"\xed\xa0\x80", "\\xed\\xa0\\x80\n"}, /* surrogate */
    {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80\n"},
};

TEST_WITH(test_escape, set_up, tear_down)
{
    for (size_t i = 0; i < sizeof(escape_cases) / sizeof(escape_cases[0]); i++) {
        log_info("%s", escape_cases[i].text);
        assert_string_equal(take_text(), escape_cases[i].shown);
    }
}

/* 1000 bytes are shown whole; of more, as much as leaves room for the dots. */
TEST_WITH(test_cut, set_up, tear_down)
{
    char text[3001];
    const char *shown;

    memset(text, 'x', sizeof(text));
    text[1000] = '\0';
    log_info("%s", text);
    shown = take_text();
    assert_int_equal(strlen(shown), 1001);
    assert_int_equal(shown[999], 'x');

    text[1000] = 'x';
    text[3000] = '\0';
    log_info("%s", text);
    shown = take_text();
    assert_int_equal(strlen(shown), 1001);
    assert_string_equal(shown + 997, "...\n");

    /* Escapes count as they are written. */
    memset(text, '\n', 3000);
    log_info("%s", text);
    shown = take_text();
    assert_true(strlen(shown) <= 1001);
    assert_string_equal(shown + strlen(shown) - 8, "\\x0a...\n");
}

/* At whatever byte it is cut, it is cut between characters. */
TEST_WITH(test_cut_between_characters, set_up, tear_down)
{
    char text[1200];

    for (size_t before = 990; before <= 1001; before++) {
        const char *shown;

        memset(text, 'x', before);
        memcpy(text + before, "\xf0\x9f\x8d\xb0\xf0\x9f\x8d\xb0\xf0\x9f\x8d\xb0", 13);
        log_info("%s", text);
        shown = take_text();
        assert_true(strlen(shown) <= 1001);
        assert_null(strchr(shown, '\\'));
        shown += before < 997 ? before : 997;
        while (strncmp(shown, "\xf0\x9f\x8d\xb0", 4) == 0) {
            shown += 4;
        }
        assert_string_equal(shown, "...\n");
    }
}
