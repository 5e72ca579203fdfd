/* SPDX-License-Identifier: Apache-2.0 */
/* Why sessions were dropped: told once, for a while, of the last ones only. */
#include "daemon/limits/resume.h"

#include "tests/lib/check.h"

static void make_token(uint32_t number, uint8_t *out)
{
    memset(out, 0, RESUME_TOKEN_BYTES);
    memcpy(out, &number, sizeof(number));
}

/* What is told to a client with that token, at that time: the sentence, or NULL. */
static const char *told(struct resume *resume, uint32_t number, int64_t at_ms)
{
    static struct msg_error error;
    uint8_t token[RESUME_TOKEN_BYTES];
    const struct hearsay_bytes shown = {token, sizeof(token)};

    make_token(number, token);
    return resume_take(resume, &shown, at_ms, &error) ? error.message : NULL;
}

static void note(struct resume *resume, uint32_t number, const char *sentence, int64_t at_ms)
{
    uint8_t token[RESUME_TOKEN_BYTES];

    make_token(number, token);
    resume_note(resume, token, HEARSAY_CODE_QUOTA, sentence, at_ms);
}

TEST(test_told_once)
{
    static struct resume resume;

    assert_null(told(&resume, 0, 0)); /* a token of zeros, and nothing is noted */
    note(&resume, 1, "one", 10);
    note(&resume, 2, "two", 10);
    assert_null(told(&resume, 3, 10));
    assert_string_equal(told(&resume, 2, 11), "two");
    assert_null(told(&resume, 2, 11));
    assert_string_equal(told(&resume, 1, 11), "one");
}

TEST(test_for_a_while)
{
    static struct resume resume;

    note(&resume, 1, "kept", 10);
    note(&resume, 2, "forgotten", 10);
    assert_string_equal(told(&resume, 1, 10 + RESUME_PATIENCE_MS - 1), "kept");
    assert_null(told(&resume, 2, 10 + RESUME_PATIENCE_MS));
}

TEST(test_the_last_ones)
{
    static struct resume resume;

    for (uint32_t i = 0; i <= RESUME_REASONS; i++) {
        note(&resume, i + 1, "why", 0);
    }
    assert_null(told(&resume, 1, 1));
    for (uint32_t i = 1; i <= RESUME_REASONS; i++) {
        assert_string_equal(told(&resume, i + 1, 1), "why");
    }
}

TEST(test_tokens_of_other_sizes)
{
    static struct resume resume;
    static const uint8_t token[LIMIT_RESUME_BYTES];
    struct msg_error error;

    note(&resume, 0, "of zeros", 0);
    for (size_t size = 0; size <= sizeof(token); size++) {
        const struct hearsay_bytes shown = {size > 0 ? token : NULL, size};

        if (size != RESUME_TOKEN_BYTES) {
            assert_false(resume_take(&resume, &shown, 0, &error));
        }
    }
    assert_string_equal(told(&resume, 0, 0), "of zeros");
}

TEST(test_a_long_sentence_is_cut)
{
    static struct resume resume;
    char sentence[2 * RESUME_SENTENCE_BYTES];

    memset(sentence, 'x', sizeof(sentence) - 1);
    sentence[sizeof(sentence) - 1] = '\0';
    note(&resume, 1, sentence, 0);
    assert_int_equal(strlen(told(&resume, 1, 0)), RESUME_SENTENCE_BYTES - 1);
}
