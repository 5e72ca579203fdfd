/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recent: the file of the contexts of the last rounds. The body of the file:
 *
 *   4 bytes   number of rounds, 1 to 255
 *   4 bytes   length of the profile, n
 *   n bytes   the profile in text form
 *   the rest  the contexts, as records of client/memory/lately.h
 */
#include <stdlib.h>
#include <string.h>

#include "client/context/context.h"
#include "client/fail.h"
#include "client/keep.h"
#include "client/memory/lately.h"
#include "core/filter/decaying.h"
#include "core/profile/profile.h"

static const struct keep_kind recent_kind = {
    .magic = "hearHere",
    .version = 2,
    .what = "memory of contexts",
    .body_bytes_max = 8 + PROFILE_TEXT_MAX + LATELY_BYTES_MAX,
};

struct hearsay_recent {
    struct keep_file file; /* its body: the records of lately.h alone */
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

/*
 * Sets the profile of the memory. Returns `status_if_wrong` when the text is not a valid profile.
 */
static int take_profile(struct hearsay_recent *recent, const char *text, size_t length,
                        int status_if_wrong, struct hearsay_error *error)
{
    const char *reason = NULL;
    if (profile_parse(text, length, &recent->parsed, &reason) != 0) {
        return fail_set(error, status_if_wrong, "profile \"%.*s\": %s",
                        (int)(length < 100 ? length : 100), text, reason);
    }
    memcpy(recent->profile, text, length);
    recent->profile[length] = '\0';
    return HEARSAY_OK;
}

/* Reads the rounds and the profile, and removes both from the body. */
static int take_head(struct hearsay_recent *recent, struct hearsay_error *error)
{
    enum { HEAD_BYTES = 8 };
    struct bytes *body = &recent->file.body;
    if (body->count < HEAD_BYTES) {
        return recent_damaged(recent, error);
    }
    uint32_t rounds = keep_u32(body->data);
    uint32_t length = keep_u32(body->data + 4);
    if (rounds < 1 || rounds > DECAYING_ROUNDS_MAX || length >= PROFILE_TEXT_MAX ||
        length > body->count - HEAD_BYTES) {
        return recent_damaged(recent, error);
    }
    recent->rounds = rounds;
    int status = take_profile(recent, (const char *)body->data + HEAD_BYTES, length,
                              HEARSAY_ERR_FILE, error);
    if (status != HEARSAY_OK) {
        return status;
    }
    bytes_consume(body, HEAD_BYTES + length);
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
        status = take_profile(recent, profile, strlen(profile), HEARSAY_ERR_ARGUMENT, error);
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
    if (rounds > DECAYING_ROUNDS_MAX) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT, "there may be 1 to %d rounds",
                        DECAYING_ROUNDS_MAX);
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

int hearsay_recent_filter(const struct hearsay_recent *recent, const struct hearsay_keys *keys,
                          struct hearsay_filter *out_filter, struct hearsay_error *out_error)
{
    struct lately_encoding how = {
        .profile = &recent->parsed, .keys = keys, .rounds = recent->rounds};
    return lately_encode(&recent->file.body, &how, out_filter, out_error);
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
