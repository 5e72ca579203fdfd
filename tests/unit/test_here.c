/* SPDX-License-Identifier: Apache-2.0 */
/* The labels of what is around: what is read of a text, and what is wrong with one. */
#include "daemon/host/here.h"

#include "core/base/err.h"
#include "tests/lib/check.h"
#include "tests/lib/fail_alloc.h"

static char reason[HERE_REASON_BYTES];

static int read_two(const char *first, const char *second, size_t frame_bytes,
                    struct here **out_here)
{
    reason[0] = '\0';
    const struct hearsay_text texts[] = {{first, strlen(first)},
                                         {second, second != NULL ? strlen(second) : 0}};
    return here_new(alloc_system(), texts, frame_bytes, out_here, reason);
}

static void assert_labels(const struct here *here, const char *const *expected, size_t count)
{
    assert_int_equal(here->count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(here->labels[i].length, strlen(expected[i]));
        assert_memory_equal(here->labels[i].text, expected[i], strlen(expected[i]));
    }
}

TEST(two_texts_are_one_set)
{
    static const char *const expected[] = {"geo:u281zd", "wifi:a4:2b:8c:01:02:03", "topic:a b"};
    struct here *here = NULL;

    assert_int_equal(read_two("geo:u281zd\n",
                              "# seen at noon\n\n  wifi:a4:2b:8c:01:02:03\r\ngeo:u281zd\n"
                              "\ttopic:a b \t",
                              4096, &here),
                     0);
    assert_labels(here, expected, 3);
    assert_int_equal(here_frame_bytes(here), 10 + 22 + 9 + 3 * 3);
    here_free(here);
}

TEST(nothing_is_fine)
{
    struct here *here = NULL;

    assert_int_equal(read_two("", NULL, 4096, &here), 0);
    assert_int_equal(here->count, 0);
    here_free(here);
    assert_int_equal(read_two("", "\n\n# nothing\n", 4096, &here), 0);
    assert_int_equal(here->count, 0);
    here_free(here);
    here_free(NULL);
}

TEST(what_is_wrong_is_named)
{
    static const struct {
        const char *text;
        const char *answer; /* what the sentence begins with */
    } rows[] = {
        {"# x\nnolabel\n", "line 2: "},
        {"Geo:u281zd", "line 1: "},
        {"\n\n\nwifi:\n", "line 4: "},
        {"topic:\xff\n", "line 1: "},
        {"topic:a\xc3\n", "line 1: "},
        {"a b\nnolabel\n", "line 1: "},
        {"wifi:A4:2B:8C:01:02:03\n", "line 1: clients write wifi:a4:2b:8c:01:02:03"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct here *here = NULL;
        assert_int_equal(read_two("geo:u281zd\n", rows[i].text, 4096, &here), HERE_REFUSED);
        assert_null(here);
        assert_memory_equal(reason, rows[i].answer, strlen(rows[i].answer));
        assert_true(strlen(reason) > strlen(rows[i].answer) + 10);
    }
    /* The configuration's own are right. */
    struct here *own = NULL;
    assert_int_equal(read_two("nolabel\n", "geo:u281zd\n", 4096, &own), HERE_REFUSED);
    /* A NUL is no part of a label. */
    struct here *here = NULL;
    assert_int_equal(here_new(alloc_system(), (struct hearsay_text[]){{"", 0}, {"topic:a\0b", 9}},
                              4096, &here, reason),
                     HERE_REFUSED);
}

/* One odd line does not cost the others, also where the right one is not new. */
TEST(a_wrong_line_is_left_out)
{
    static const char *const expected[] = {"geo:u281zd", "topic:a"};
    struct here *here = NULL;

    assert_int_equal(read_two("geo:u281zd\n", "no label\ntopic:a\nwifi:\n", 4096, &here), 0);
    assert_labels(here, expected, 2);
    assert_int_equal(here->left_out.count, 2);
    assert_memory_equal(reason, "line 1: ", 8);
    here_free(here);
    assert_int_equal(read_two("geo:u281zd\n", "geo:u281zd\nwifi:\n", 4096, &here), 0);
    assert_labels(here, expected, 1);
    assert_int_equal(here->left_out.count, 1);
    assert_memory_equal(reason, "line 2: ", 8);
    here_free(here);
}

/* The first lines by number, and how many there are. */
TEST(wrong_lines_are_named)
{
    struct here *here = NULL;

    assert_int_equal(read_two("", "topic:a\ntopic:B\nb:b\nno\n", 4096, &here), 0);
    assert_string_equal(reason, "line 2: clients write topic:b; lines left out: 2 (2, 4)");
    here_free(here);
    assert_int_equal(read_two("", "topic:a\nx\nx\nx\nx\nx\nx\nx\nx\n", 4096, &here), 0);
    assert_non_null(strstr(reason, "; lines left out: 8 (2, 3, 4, 5, 6, 7, 8, 9)"));
    here_free(here);
    assert_int_equal(read_two("", "x\nx\nx\nx\nx\nx\nx\nx\nx\n", 4096, &here), HERE_REFUSED);
    assert_non_null(strstr(reason, "; lines left out: 9 (1, 2, 3, 4, 5, 6, 7, 8, ...)"));
}

TEST(there_are_bounds)
{
    static char text[HERE_FILE_BYTES_MAX + 2];
    struct here *here = NULL;
    size_t used = 0;

    for (int i = 0; i < LIMIT_LABELS; i++) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, "topic:%d\n", i);
    }
    assert_int_equal(read_two("", text, 4096, &here), 0);
    assert_int_equal(here->count, LIMIT_LABELS);
    const size_t bytes = here_frame_bytes(here);
    here_free(here);
    assert_int_equal(read_two("", text, bytes, &here), 0);
    here_free(here);
    assert_int_equal(read_two("", text, bytes - 1, &here), 0);
    assert_int_equal(here->count, LIMIT_LABELS - 1);
    assert_non_null(strstr(reason, "line 256: "));
    assert_non_null(strstr(reason, "frame"));
    here_free(here);
    assert_int_equal(read_two("topic:other\n", text, 1 << 20, &here), 0);
    assert_int_equal(here->count, LIMIT_LABELS);
    assert_int_equal(here->left_out.count, 1);
    assert_non_null(strstr(reason, "256 labels"));
    here_free(here);
    memset(text, '\n', HERE_FILE_BYTES_MAX + 1);
    assert_int_equal(read_two("", text, 4096, &here), HERE_REFUSED);
    assert_non_null(strstr(reason, "too large"));
    text[HERE_FILE_BYTES_MAX] = '\0';
    assert_int_equal(read_two("", text, 4096, &here), 0);
    here_free(here);
}

TEST(equal_in_the_same_order)
{
    static const char *const texts[] = {"", "a:1\n", "a:1\na:2\n", "a:2\na:1\n", "a:1\na:22\n"};
    struct here *here[5];

    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(read_two("", texts[i], 4096, &here[i]), 0);
    }
    for (size_t i = 0; i < 5; i++) {
        for (size_t j = 0; j < 5; j++) {
            assert_int_equal(here_equal(here[i], here[j]), i == j);
        }
    }
    for (size_t i = 0; i < 5; i++) {
        here_free(here[i]);
    }
}

TEST(memory_that_runs_out)
{
    struct fail_alloc alloc;
    struct here *here = NULL;

    fail_alloc_init(&alloc);
    fail_alloc_arm(&alloc, 1);
    assert_int_equal(here_new(&alloc.alloc, (struct hearsay_text[]){{"a:1\n", 4}, {NULL, 0}}, 4096,
                              &here, reason),
                     -ERR_NOMEM);
    assert_int_equal(here_new(&alloc.alloc, (struct hearsay_text[]){{"a:1\n", 4}, {NULL, 0}}, 4096,
                              &here, reason),
                     0);
    here_free(here);
    assert_int_equal(alloc.live_bytes, 0);
}
