/* SPDX-License-Identifier: Apache-2.0 */
/* Lines out of a pipe, wherever it is cut; and what import reads in one. */
#include <sys/stat.h>
#include <unistd.h>

#include "client/cli/input/input.h"
#include "client/cli/input/record.h"
#include "client/cli/term/lines.h"
#include "tests/lib/check.h"

/* A pipe with these bytes in it; the other end is closed. */
static int pipe_with(const char *bytes, size_t count)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], bytes, count), (ssize_t)count);
    assert_int_equal(close(ends[1]), 0);
    return ends[0];
}

/* Lines are counted from 1; a carriage return, a missing last newline and a mark of UTF-8 in front
 * do not matter. A mark elsewhere is text. */
TEST(test_lines)
{
    static const char input[] = "\xEF\xBB\xBF"
                                "one\n\ntwo\r\n\xEF\xBB\xBFlast";
    static const char *const expected[] = {"one", "", "two", "\xEF\xBB\xBFlast"};
    struct lines lines;
    const char *line = NULL;
    size_t length = 0;
    int fd = pipe_with(input, sizeof(input) - 1);
    lines_init(&lines, fd);
    assert_int_equal(lines_next(&lines, &line, &length), LINES_MORE);
    for (size_t i = 0; i < 4; i++) {
        int status = 0;
        while ((status = lines_next(&lines, &line, &length)) == LINES_MORE) {
            assert_int_equal(lines_read(&lines), 0);
        }
        assert_int_equal(status, 0);
        assert_int_equal(lines.number, i + 1);
        assert_int_equal(length, strlen(expected[i]));
        assert_memory_equal(line, expected[i], length);
    }
    assert_int_equal(lines_next(&lines, &line, &length), LINES_END);
    assert_int_equal(lines.bytes, sizeof(input) - 1);
    lines_deinit(&lines);
    assert_int_equal(close(fd), 0);
}

/* A line over the limit is skipped without being held, and the next one is whole. */
TEST(test_too_long)
{
    char path[] = "/tmp/hearsay-lines.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    static char block[65536];
    memset(block, 'x', sizeof(block));
    size_t written = 0;
    for (; written <= LINES_BYTES_MAX + 3 * sizeof(block); written += sizeof(block)) {
        assert_int_equal(write(fd, block, sizeof(block)), (ssize_t)sizeof(block));
    }
    assert_int_equal(write(fd, "\nnext\n", 6), 6);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    struct lines lines;
    const char *line = NULL;
    size_t length = 0;
    int status = 0;
    lines_init(&lines, fd);
    while ((status = lines_next(&lines, &line, &length)) == LINES_MORE) {
        assert_int_equal(lines_read(&lines), 0);
        assert_true(lines.capacity < 4u * LINES_BYTES_MAX);
    }
    assert_int_equal(status, LINES_TOO_LONG);
    assert_int_equal(lines.number, 1);
    while ((status = lines_next(&lines, &line, &length)) == LINES_MORE) {
        assert_int_equal(lines_read(&lines), 0);
    }
    assert_int_equal(status, 0);
    assert_int_equal(lines.number, 2);
    assert_memory_equal(line, "next", 4);
    lines_deinit(&lines);
    assert_int_equal(close(fd), 0);
    assert_int_equal(unlink(path), 0);
}

static int parse(const char *text, struct record *record, struct jsonline_error *error)
{
    return record_parse(text, strlen(text), record, error);
}

/* Both forms of a line. */
TEST(test_record)
{
    struct record record;
    struct jsonline_error error;
    assert_int_equal(
        parse("{\"labels\": [\"a:b\", \"c:d\"], \"text\": \"gr\\u00fc\", \"ttl\": \"2h\","
              "\"id\": \"00112233445566778899AABBCCDDEEFF\", \"reach\": 0.5}",
              &record, &error),
        0);
    size_t count = 0;
    const char *const *labels = hearsay_context_labels(record.context, &count);
    assert_int_equal(count, 2);
    assert_string_equal(labels[1], "c:d");
    assert_int_equal(record.payload_bytes, 4);
    assert_int_equal(record.ttl_s, 7200);
    assert_int_equal(record.reach, 500000);
    assert_true(record.has_id);
    assert_int_equal(record.id[15], 0xff);
    assert_null(record.media_type);
    assert_false(record.no_withdrawal);
    record_deinit(&record);
    assert_int_equal(parse("{\"filter\": \"AAECAwQFBgc=\", \"profile\": \"v2:64/1\","
                           "\"payload_base64\": \"\", \"host\": \"h\","
                           "\"epoch\": 3, \"expires\": \"2026-11-20T14:00:00.000Z\","
                           "\"deposited\": \"2026-11-20T13:00:00.000Z\", \"withdraw_hash\": null}",
                           &record, &error),
                     0);
    assert_true(record.has_filter);
    assert_int_equal(record.filter.bits, 64);
    assert_int_equal(record.filter.bytes[7], 7);
    assert_string_equal(record.profile, "v2:64/1");
    assert_int_equal(record.payload_bytes, 0);
    assert_string_equal(record.media_type, "application/octet-stream");
    assert_true(record.has_expiry);
    assert_true(record.no_withdrawal);
    assert_string_equal(record.host, "h");
    record_deinit(&record);
}

/* Every mistake in a line is named. */
TEST(test_record_mistakes)
{
    static const struct {
        const char *line;
        const char *said;
    } rows[] = {
        {"", "not JSON"},
        {"[]", "not a JSON object"},
        {"{\"labels\": [\"a:b\"], \"text\": \"x\"", "not JSON"},
        {"{\"text\": \"x\"}", "\"labels\" or \"filter\""},
        {"{\"labels\": [\"a:b\"], \"filter\": \"AA==\", \"text\": \"x\"}",
         "\"labels\" or \"filter\""},
        {"{\"labels\": \"a:b\", \"text\": \"x\"}", "not an array"},
        {"{\"labels\": [], \"text\": \"x\"}", "empty"},
        {"{\"labels\": [1], \"text\": \"x\"}", "not a string"},
        {"{\"labels\": [\"a:b\"]}", "\"text\" or \"payload_base64\""},
        {"{\"labels\": [\"a:b\"], \"text\": 1}", "\"text\" is not a string"},
        {"{\"labels\": [\"a:b\"], \"text\": \"\\u0000\"}", "not JSON"},
        {"{\"labels\": [\"a:b\"], \"text\": \"x\", \"text\": \"y\"}", "not JSON"},
        {"{\"labels\": [\"a:b\"], \"txt\": \"x\"}", "did you mean \"text\"?"},
        {"{\"labels\": [\"a:b\"], \"text\": \"x\", \"ttl\": 0}", "\"ttl\""},
        {"{\"labels\": [\"a:b\"], \"text\": \"x\", \"ttl\": -5}", "\"ttl\""},
        {"{\"labels\": [\"a:b\"], \"text\": \"x\", \"ttl\": 1.5}", "\"ttl\""},
        {"{\"labels\": [\"a:b\"], \"text\": \"x\", \"ttl\": \"100ms\"}", "\"ttl\""},
        {"{\"labels\": [\"a:b\"], \"text\": \"x\", \"ttl\": 4294967296}", "\"ttl\""},
        {"{\"labels\": [\"a:b\"], \"text\": \"x\", \"id\": \"00\"}", "32 hexadecimal digits"},
        {"{\"labels\": [\"a:b\"], \"text\": \"x\", \"reach\": 2}", "\"reach\""},
        {"{\"labels\": [\"a:b\"], \"text\": \"x\", \"reach\": 0.1234567}", "\"reach\""},
        {"{\"labels\": [\"a:b\"], \"payload_base64\": \"*\"}", "not base64"},
        {"{\"labels\": [\"a:b\"], \"payload_base64\": \"AAA\"}", "not base64"},
        {"{\"filter\": \"\", \"profile\": \"v2:64/1\", \"text\": \"x\"}", "\"filter\" has 0 bytes"},
        {"{\"filter\": \"AA==\", \"text\": \"x\"}", "needs the \"profile\""},
        {"{\"filter\": \"AA==\", \"profile\": 2, \"text\": \"x\"}", "\"profile\" is not a string"},
        {"{\"labels\": [\"a:b\"], \"profile\": \"v2:64/1\", \"text\": \"x\"}", "and there is none"},
        {"{\"labels\": [\"a:b\"], \"text\": \"x\", \"expires\": \"soon\"}", "\"expires\""},
        {"{\"labels\": [\"a:b\"], \"text\": \"x\", \"ttl\": 1, \"expires\": \"2026-11-20T14:00Z\"}",
         "exclude each other"},
        {"{\"labels\": [\"a:b\"], \"text\": \"x\", \"withdraw_hash\": \"00\"}", "64 hexadecimal"},
        {"{\"labels\": [\"a:b\"], \"text\": \"x\", \"epoch\": -1}", "\"epoch\""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct record record;
        struct jsonline_error error = {""};
        assert_int_equal(parse(rows[i].line, &record, &error), JSONLINE_WRONG);
        if (strstr(error.sentence, rows[i].said) == NULL) {
            fail_msg("%s: %s", rows[i].line, error.sentence);
        }
        record_deinit(&record);
    }
}

/* The same secret, line and number give the same id; any other another one. */
TEST(test_derive)
{
    char folder[] = "/tmp/hearsay-derive.XXXXXX";
    assert_non_null(mkdtemp(folder));
    char path[100];
    (void)snprintf(path, sizeof(path), "%s/a/b/secret", folder);
    uint8_t secret[DERIVE_SECRET_BYTES];
    uint8_t again[DERIVE_SECRET_BYTES];
    char *said = NULL;
    size_t length = 0;
    struct cli cli = {.err = {.stream = open_memstream(&said, &length)}};
    assert_int_equal(derive_open(&cli, path, secret), CLI_DONE);
    assert_int_equal(derive_open(&cli, path, again), CLI_DONE);
    assert_memory_equal(secret, again, sizeof(secret));
    uint8_t id[HEARSAY_ID_BYTES];
    uint8_t other[HEARSAY_ID_BYTES];
    uint8_t token[HEARSAY_TOKEN_BYTES];
    derive_id(secret, 1, "line", 4, id);
    derive_id(secret, 1, "line", 4, other);
    assert_memory_equal(id, other, sizeof(id));
    derive_id(secret, 2, "line", 4, other);
    assert_memory_not_equal(id, other, sizeof(id));
    derive_id(secret, 1, "Line", 4, other);
    assert_memory_not_equal(id, other, sizeof(id));
    derive_token(secret, 1, "line", 4, token);
    assert_memory_not_equal(id, token, sizeof(id));
    again[0] ^= 1;
    derive_id(again, 1, "line", 4, other);
    assert_memory_not_equal(id, other, sizeof(id));
    /* A secret that others may read is none. */
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(derive_open(&cli, path, again), CLI_USAGE);
    assert_int_equal(fflush(cli.err.stream), 0);
    assert_non_null(strstr(said, "chmod 600"));
    assert_int_equal(chmod(path, 0600), 0);
    /* A file that is something else is not touched. */
    assert_int_equal(truncate(path, 5), 0);
    assert_int_equal(derive_open(&cli, path, again), CLI_USAGE);
    assert_int_equal(fclose(cli.err.stream), 0);
    assert_non_null(strstr(said, "not a state file"));
    free(said);
    assert_int_equal(unlink(path), 0);
    for (int i = 0; i < 3; i++) {
        *strrchr(path, '/') = '\0';
        assert_int_equal(rmdir(path), 0);
    }
}
