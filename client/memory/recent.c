/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recent: the file of the contexts of the last rounds. The body of the file:
 *
 *   4 bytes   number of rounds, 1 to 255
 *   4 bytes   length of the profile, n
 *   n bytes   the profile in text form
 *   the rest  the contexts, as records
 *
 * A context is one record, in memory and in the file, with numbers in little-endian:
 *
 *   4 bytes   number of further rounds for which the context stays, at least 1
 *   4 bytes   number of labels, at least 1
 *   4 bytes   size of the labels in bytes, n
 *   n bytes   the labels, each with a NUL at its end
 *
 * The oldest context is the first record. The first field never decreases from one record to the
 * next.
 *
 * Labels are stored, and not the filter that is computed from them, because a filter depends on the
 * keys of an epoch or a group.
 */
#include <stdlib.h>
#include <string.h>

#include "client/context/context.h"
#include "client/fail.h"
#include "client/keep.h"
#include "core/base/label.h"
#include "core/filter/bloom.h"
#include "core/profile/profile.h"
#include "proto/bytes.h"

enum { LATELY_BYTES_MAX = 1024 * 1024, ROUNDS_MAX = 255 };

enum { HEAD_BYTES = 12, COUNT_AT = 4, BYTES_AT = 8 };

static uint32_t stays_of(const uint8_t *context)
{
    return keep_u32(context);
}

static uint32_t count_of(const uint8_t *context)
{
    return keep_u32(context + COUNT_AT);
}

/* Its head included. */
static size_t size_of(const uint8_t *context)
{
    return HEAD_BYTES + (size_t)keep_u32(context + BYTES_AT);
}

/* --- records: reading ------------------------------------------------------------------------- */

/*
 * Returns whether `count` bytes are exactly `labels` well-formed labels, each with a NUL at its
 * end.
 */
static bool are_labels(const uint8_t *bytes, size_t count, uint32_t labels)
{
    const char *reason = NULL;

    for (uint32_t i = 0; i < labels; i++) {
        const uint8_t *end = count > 0 ? memchr(bytes, '\0', count) : NULL;

        if (end == NULL || label_check((const char *)bytes, (size_t)(end - bytes), &reason) != 0) {
            return false;
        }
        count -= (size_t)(end - bytes) + 1;
        bytes = end + 1;
    }
    return count == 0;
}

/*
 * Returns whether the bytes are well-formed records in which no context stays for more than
 * `rounds` further rounds.
 */
static bool lately_is_sound(const uint8_t *bytes, size_t count, uint32_t rounds)
{
    if (count > LATELY_BYTES_MAX) {
        return false;
    }
    uint32_t least = 1;
    while (count > 0) {
        if (count < HEAD_BYTES || keep_u32(bytes + BYTES_AT) > count - HEAD_BYTES ||
            stays_of(bytes) < least || stays_of(bytes) > rounds || count_of(bytes) < 1 ||
            count_of(bytes) > HEARSAY_CONTEXT_LABELS_MAX ||
            !are_labels(bytes + HEAD_BYTES, keep_u32(bytes + BYTES_AT), count_of(bytes))) {
            return false;
        }
        least = stays_of(bytes); /* the oldest context is the first one */
        count -= size_of(bytes);
        bytes += size_of(bytes);
    }
    return true;
}

/* --- records: rounds -------------------------------------------------------------------------- */

/* Limits the remaining rounds of each context to `rounds`. */
static void lately_set_rounds(struct bytes *contexts, uint32_t rounds)
{
    for (size_t at = 0; at < contexts->count; at += size_of(contexts->data + at)) {
        if (stays_of(contexts->data + at) > rounds) {
            keep_put_u32(contexts->data + at, rounds);
        }
    }
}

static int append_labels(struct bytes *contexts, uint32_t rounds, const char *const *labels,
                         size_t count)
{
    uint8_t head[HEAD_BYTES];
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++) {
        bytes += strlen(labels[i]) + 1; /* at most 4,096 of 241 bytes */
    }
    keep_put_u32(head, rounds);
    keep_put_u32(head + COUNT_AT, (uint32_t)count);
    keep_put_u32(head + BYTES_AT, (uint32_t)bytes);
    int rc = bytes_append(contexts, head, sizeof(head));
    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = bytes_append(contexts, labels[i], strlen(labels[i]) + 1);
    }
    return rc;
}

/* Returns whether two contexts have the same labels in the same order. */
static bool is_same(const uint8_t *a, const uint8_t *b)
{
    return size_of(a) == size_of(b) &&
           memcmp(a + COUNT_AT, b + COUNT_AT, size_of(a) - COUNT_AT) == 0;
}

/*
 * Starts a new round. Writes to *out_contexts (initialised, empty) the contexts that stay, each
 * with one round less, and then the context with the given labels, at least 1. Leaves out an older
 * context with the same labels in the same order. Returns 0; HEARSAY_ERR_ARGUMENT when the records
 * take more than LATELY_BYTES_MAX bytes; HEARSAY_ERR_NOMEM.
 */
static int lately_round(const struct bytes *contexts, uint32_t rounds, const char *const *labels,
                        size_t label_count, struct bytes *out_contexts,
                        struct hearsay_error *out_error)
{
    struct bytes now;

    bytes_init(&now, out_contexts->alloc);
    int rc = append_labels(&now, rounds, labels, label_count);
    for (size_t at = 0; at < contexts->count && rc == 0; at += size_of(contexts->data + at)) {
        const uint8_t *context = contexts->data + at;

        if (stays_of(context) == 1 || is_same(context, now.data)) {
            continue;
        }
        rc = bytes_append(out_contexts, context, size_of(context));
        if (rc == 0) {
            keep_put_u32(out_contexts->data + out_contexts->count - size_of(context),
                         stays_of(context) - 1);
        }
    }
    if (rc == 0) {
        rc = bytes_append(out_contexts, now.data, now.count);
    }
    bytes_deinit(&now);
    if (rc != 0) {
        return fail_set_nomem(out_error);
    }
    if (out_contexts->count > LATELY_BYTES_MAX) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT,
                        "the labels of %u rounds take over %d bytes: fewer rounds, or labels",
                        (unsigned)rounds, LATELY_BYTES_MAX);
    }
    return HEARSAY_OK;
}

/* --- records: filters ------------------------------------------------------------------------- */

/* Encodes one context. `labels` is scratch memory for HEARSAY_CONTEXT_LABELS_MAX pointers. */
static int encode_context(const uint8_t *context, const struct profile *profile,
                          const struct hearsay_keys *keys, const char **labels, uint64_t *out_words,
                          struct hearsay_error *error)
{
    const char *text = (const char *)context + HEAD_BYTES;
    uint32_t count = count_of(context);
    struct hearsay_filter filter;

    for (uint32_t i = 0; i < count; i++) {
        labels[i] = text;
        text += strlen(text) + 1;
    }
    int status = context_encode(profile, keys, labels, count, &filter, error);
    if (status == HEARSAY_OK) {
        (void)bloom_load(out_words, profile->bits, filter.bytes, filter.byte_count); /* of its m */
    }
    return status;
}

/* Whether the union of two filters leaves each section at most half full. */
static bool is_half_full(const struct profile *profile, const uint64_t *a, const uint64_t *b)
{
    for (uint32_t s = 0; s < profile->section_count; s++) {
        const struct profile_section *section = &profile->sections[s];

        if (2 * bloom_union_count_range(a, b, section->first_bit, section->bits) > section->bits) {
            return false;
        }
    }
    return true;
}

/* Returns where each context begins, which the caller frees, and writes how many there are. NULL:
 * out of memory. */
static size_t *lately_begins(const struct bytes *contexts, size_t *out_count)
{
    size_t *begins =
        alloc_array(contexts->alloc, contexts->count / HEAD_BYTES + 1, sizeof(*begins));

    *out_count = 0;
    for (size_t at = 0; begins != NULL && at < contexts->count;
         at += size_of(contexts->data + at)) {
        begins[(*out_count)++] = at;
    }
    return begins;
}

/*
 * Adds contexts to a filter, the newest first, as long as each section is at most half full. If the
 * filter has no bits, adds the newest context in any case. Returns 0, HEARSAY_ERR_NOMEM, or an
 * error of context_encode.
 */
static int lately_add(const struct bytes *contexts, const struct profile *profile,
                      const struct hearsay_keys *keys, uint64_t *words,
                      struct hearsay_error *out_error)
{
    size_t filter_words = bloom_words(profile->bits);
    const char **labels = alloc_array(contexts->alloc, HEARSAY_CONTEXT_LABELS_MAX, sizeof(*labels));
    size_t count = 0;
    size_t *begins = lately_begins(contexts, &count);
    int status = labels == NULL || begins == NULL ? fail_set_nomem(out_error) : HEARSAY_OK;

    while (status == HEARSAY_OK && count-- > 0) {
        uint64_t more[PROFILE_WORDS_MAX];

        status =
            encode_context(contexts->data + begins[count], profile, keys, labels, more, out_error);
        if (status == HEARSAY_OK && !is_half_full(profile, words, more) &&
            bloom_cardinality(words, filter_words) > 0) {
            break;
        }
        if (status == HEARSAY_OK) {
            bloom_union(words, words, more, filter_words);
        }
    }
    alloc_release(contexts->alloc, begins);
    alloc_release(contexts->alloc, labels);
    return status;
}

/* --- the file --------------------------------------------------------------------------------- */

static const struct keep_kind recent_kind = {
    .magic = "hearHere",
    .version = 2,
    .what = "memory of contexts",
    .body_bytes_max = 8 + PROFILE_TEXT_MAX + LATELY_BYTES_MAX,
};

struct hearsay_recent {
    struct keep_file file; /* its body: the records alone */
    char profile[PROFILE_TEXT_MAX];
    struct profile parsed; /* the same */
    uint32_t rounds;
};

static int recent_damaged(const struct hearsay_recent *recent, struct hearsay_error *error)
{
    return fail_set(error, HEARSAY_ERR_FILE,
                    "%.300s is damaged (its numbers contradict one another); it was left as it is: "
                    "put back a copy, or remove it to begin anew",
                    recent->file.path);
}

/* Sets the profile of the memory. Returns HEARSAY_ERR_ARGUMENT if the text is not a profile. */
static int take_profile(struct hearsay_recent *recent, const char *text, size_t length,
                        struct hearsay_error *error)
{
    const char *reason = NULL;
    if (profile_parse(text, length, &recent->parsed, &reason) != 0) {
        return fail_set(error, HEARSAY_ERR_ARGUMENT, "profile \"%.*s\": %s",
                        (int)(length < 100 ? length : 100), text, reason);
    }
    memcpy(recent->profile, text, length);
    recent->profile[length] = '\0';
    return HEARSAY_OK;
}

/* Reads the rounds and the profile, and removes both from the body. */
static int take_head(struct hearsay_recent *recent, struct hearsay_error *error)
{
    enum { ROUNDS_BYTES = 8 };
    struct bytes *body = &recent->file.body;
    if (body->count < ROUNDS_BYTES) {
        return recent_damaged(recent, error);
    }
    uint32_t rounds = keep_u32(body->data);
    uint32_t length = keep_u32(body->data + 4);
    if (rounds < 1 || rounds > ROUNDS_MAX || length >= PROFILE_TEXT_MAX ||
        length > body->count - ROUNDS_BYTES) {
        return recent_damaged(recent, error);
    }
    recent->rounds = rounds;
    const char *text = (const char *)body->data + ROUNDS_BYTES;
    if (take_profile(recent, text, length, NULL) != HEARSAY_OK) {
        return fail_set(error, HEARSAY_ERR_FILE,
                        "%.200s remembers contexts for the profile %.*s, which this version does "
                        "not know; it was left as it is: name another file",
                        recent->file.path, (int)(length < 100 ? length : 100), text);
    }
    bytes_consume(body, ROUNDS_BYTES + length);
    return lately_is_sound(body->data, body->count, rounds) ? HEARSAY_OK
                                                            : recent_damaged(recent, error);
}

static int recent_load(struct hearsay_recent *recent, const char *path, const char *profile,
                       uint32_t rounds, struct hearsay_error *error)
{
    int status = keep_open(&recent->file, path, &recent_kind, error);
    if (status == KEEP_ABSENT && (profile == NULL || rounds == 0)) {
        return fail_set(error, HEARSAY_ERR_FILE, "there is no file %.300s", path);
    }
    if (status == KEEP_ABSENT) {
        status = take_profile(recent, profile, strlen(profile), error);
    } else if (status == 0) {
        status = take_head(recent, error);
    }
    if (status != HEARSAY_OK) {
        return status;
    }
    if (profile != NULL && strcmp(profile, recent->profile) != 0) {
        return fail_set(error, HEARSAY_ERR_FILE,
                        "%.200s remembers filters of the profile %.100s, and %.100s is wanted; it "
                        "was left as it is: name another file",
                        path, recent->profile, profile);
    }
    if (rounds != 0) {
        recent->rounds = rounds;
        lately_set_rounds(&recent->file.body, rounds);
    }
    return HEARSAY_OK;
}

int hearsay_recent_open(const char *path, const char *profile, uint32_t rounds,
                        struct hearsay_recent **out_recent, struct hearsay_error *out_error)
{
    *out_recent = NULL;
    if (rounds > ROUNDS_MAX) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT, "there may be 1 to %d rounds", ROUNDS_MAX);
    }
    struct hearsay_recent *recent = calloc(1, sizeof(*recent));
    if (recent == NULL) {
        return fail_set_nomem(out_error);
    }
    int status = recent_load(recent, path, profile, rounds, out_error);
    if (status != HEARSAY_OK) {
        hearsay_recent_close(recent);
        return status;
    }
    *out_recent = recent;
    return HEARSAY_OK;
}

void hearsay_recent_close(struct hearsay_recent *recent)
{
    if (recent != NULL) {
        keep_close(&recent->file);
        free(recent);
    }
}

const char *hearsay_recent_profile(const struct hearsay_recent *recent)
{
    return recent->profile;
}

uint32_t hearsay_recent_rounds(const struct hearsay_recent *recent)
{
    return recent->rounds;
}

int hearsay_recent_round(struct hearsay_recent *recent, const char *const *labels,
                         size_t label_count, struct hearsay_filter *out_here,
                         struct hearsay_error *out_error)
{
    struct hearsay_filter here;
    struct bytes contexts;
    if (label_count > HEARSAY_CONTEXT_LABELS_MAX) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT, "the context has over %d labels",
                        HEARSAY_CONTEXT_LABELS_MAX);
    }
    int status = context_encode(&recent->parsed, NULL, labels, label_count, &here, out_error);
    if (status != HEARSAY_OK) {
        return status;
    }
    bytes_init(&contexts, alloc_system());
    status =
        lately_round(&recent->file.body, recent->rounds, labels, label_count, &contexts, out_error);
    if (status != HEARSAY_OK) {
        bytes_deinit(&contexts);
        return status;
    }
    bytes_deinit(&recent->file.body);
    recent->file.body = contexts;
    if (out_here != NULL) {
        *out_here = here;
    }
    return HEARSAY_OK;
}

int hearsay_recent_add(const struct hearsay_recent *recent, const struct hearsay_keys *keys,
                       struct hearsay_filter *filter, struct hearsay_error *out_error)
{
    const struct profile *profile = &recent->parsed;
    uint64_t words[PROFILE_WORDS_MAX] = {0};

    (void)bloom_load(words, profile->bits, filter->bytes, filter->byte_count); /* or no bits */
    int status = lately_add(&recent->file.body, profile, keys, words, out_error);
    if (status == HEARSAY_OK) {
        filter->bits = profile->bits;
        filter->byte_count = (uint32_t)bloom_bytes(profile->bits);
        bloom_store(words, profile->bits, filter->bytes);
    }
    return status;
}

int hearsay_recent_save(const struct hearsay_recent *recent, struct hearsay_error *out_error)
{
    size_t length = strlen(recent->profile);
    struct bytes body;
    bytes_init(&body, alloc_system());
    int rc = keep_append_u32(&body, recent->rounds);
    rc = rc == 0 ? keep_append_u32(&body, (uint32_t)length) : rc;
    rc = rc == 0 ? bytes_append(&body, recent->profile, length) : rc;
    if (rc == 0 && recent->file.body.count > 0) {
        rc = bytes_append(&body, recent->file.body.data, recent->file.body.count);
    }
    int status = rc == 0 ? keep_write(recent->file.path, &recent_kind, &body, out_error)
                         : fail_set_nomem(out_error);
    bytes_deinit(&body);
    return status;
}
