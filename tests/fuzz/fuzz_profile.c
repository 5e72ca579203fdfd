/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles in text form: each has exactly one text, its sections fill the filter without a gap or
 * an overlap, and labels set bits only within their section. What is refused is explained.
 *
 * The input: the text, and behind a NUL byte labels, each ended by NUL.
 */
#include "core/base/hash.h"
#include "core/base/label.h"
#include "core/filter/bloom.h"
#include "core/profile/encode.h"
#include "core/profile/profile.h"
#include "tests/fuzz/fuzz.h"

static void check_sections(const struct profile *profile)
{
    uint32_t next = 0;

    FUZZ_CHECK(profile->section_count >= 1 && profile->section_count <= PROFILE_SECTIONS_MAX);
    FUZZ_CHECK(profile->bits >= PROFILE_BITS_MIN && profile->bits <= PROFILE_BITS_MAX);
    FUZZ_CHECK(profile->bits % 64 == 0);
    for (uint32_t i = 0; i < profile->section_count; i++) {
        const struct profile_section *section = &profile->sections[i];

        FUZZ_CHECK(section->first_bit == next && section->bits >= 1);
        FUZZ_CHECK(section->hashes >= 1 && section->hashes <= PROFILE_HASHES_MAX);
        next += section->bits;
        if (section->kind == PROFILE_JOINT) {
            const uint32_t factor = profile_joint_factor(profile, section);

            FUZZ_CHECK(factor >= 1 && section->bits % factor == 0);
        }
    }
    FUZZ_CHECK(next == profile->bits);
}

/* Each label's own bits lie in its section; the filter grows with each and has them all. */
static void check_labels(const struct profile *profile, struct fuzz_input *input)
{
    uint64_t filter[PROFILE_WORDS_MAX] = {0};
    uint64_t before[PROFILE_WORDS_MAX];
    struct encoder encoder;
    const char *reason;

    encoder_begin(&encoder, profile);
    while (input->left > 0) {
        const char *label = (const char *)input->data;
        const uint8_t *end = memchr(input->data, '\0', input->left);
        const size_t length = end != NULL ? (size_t)(end - input->data) : input->left;
        size_t taken;

        (void)fuzz_bytes(input, length + 1, &taken);
        if (label_check(label, length, &reason) != 0) {
            continue;
        }
        const struct profile_section *section = profile_section_of(profile, label, length);
        memcpy(before, filter, sizeof(before));
        const int rc = encoder_add(&encoder, label, length);
        FUZZ_CHECK((rc == ENCODE_NO_SECTION) == (section == NULL));
        encoder_end(&encoder, filter);
        const struct hash128 hash = hash_label(label, length);
        for (uint32_t i = 0; rc == 0 && i < section->hashes; i++) {
            FUZZ_CHECK(
                bloom_test(filter, section->first_bit + bloom_position(hash, i, section->bits)));
        }
        for (size_t i = 0; i < PROFILE_WORDS_MAX; i++) {
            FUZZ_CHECK((before[i] & ~filter[i]) == 0);
            FUZZ_CHECK(rc == 0 || before[i] == filter[i]);
            FUZZ_CHECK(i < profile->bits / 64 || filter[i] == 0);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    const uint8_t *end = size > 0 ? memchr(data, '\0', size) : NULL;
    const size_t length = end != NULL ? (size_t)(end - data) : size;
    size_t taken;
    char *text = (char *)fuzz_copy(fuzz_bytes(&input, length, &taken), length);
    char printed[PROFILE_TEXT_MAX];
    char sentence[PROFILE_SENTENCE_MAX];
    struct profile profile;
    struct profile again;
    const char *reason = NULL;

    const int rc = profile_parse(text, length, &profile, &reason);
    profile_explain(text, length, sentence);
    FUZZ_CHECK((rc == 0) == (sentence[0] == '\0'));
    if (rc == 0) {
        check_sections(&profile);
        profile_print(&profile, printed);
        FUZZ_CHECK(strlen(printed) == length && memcmp(printed, text, length) == 0);
        FUZZ_CHECK(profile_parse(printed, length, &again, &reason) == 0);
        FUZZ_CHECK(profile_equal(&profile, &again));
        (void)fuzz_byte(&input); /* the NUL */
        check_labels(&profile, &input);
    } else {
        FUZZ_CHECK(rc == PROFILE_REFUSED && reason != NULL && reason[0] != '\0');
    }
    free(text);
    return 0;
}
