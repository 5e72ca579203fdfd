/* SPDX-License-Identifier: Apache-2.0 */
/* Topics: what people write alike becomes one label, by Unicode's rules and no locale's. */
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "client/context_build.h"
#include "client/fail.h"
#include "core/label.h"

static bool is_space(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* NFC, or NFC of the full case folding. 0 with *out_text owned (free), or utf8proc's error. */
static utf8proc_ssize_t map(const char *text, size_t length, int more, char **out_text)
{
    utf8proc_uint8_t *mapped = NULL;
    utf8proc_option_t options =
        (utf8proc_option_t)(UTF8PROC_STABLE | UTF8PROC_COMPOSE | (utf8proc_option_t)more);
    utf8proc_ssize_t size =
        utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)length, &mapped, options);
    if (size < 0) {
        return size;
    }
    *out_text = (char *)mapped;
    return 0;
}

static int add_folded(struct hearsay_context *context, const char *folded,
                      struct hearsay_error *out_error)
{
    static const char attribute[] = "topic:";
    char label[LABEL_BYTES_MAX + 1];
    size_t length = strlen(folded);
    if (length > LABEL_BYTES_MAX - (sizeof(attribute) - 1)) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT,
                        "the topic \"%.60s\" takes %zu bytes; there is room for %zu", folded,
                        length, LABEL_BYTES_MAX - (sizeof(attribute) - 1));
    }
    memcpy(label, attribute, sizeof(attribute) - 1);
    memcpy(label + sizeof(attribute) - 1, folded, length);
    return context_add(context, label, sizeof(attribute) - 1 + length, out_error);
}

int hearsay_context_add_topic(struct hearsay_context *context, const char *topic,
                              struct hearsay_error *out_error)
{
    size_t length = strlen(topic);
    while (length > 0 && is_space(topic[0])) {
        topic++;
        length--;
    }
    while (length > 0 && is_space(topic[length - 1])) {
        length--;
    }
    if (length == 0) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT, "the topic is empty");
    }
    if (length > CONTEXT_TOPIC_BYTES || !label_is_utf8(topic, length)) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT, "the topic \"%.60s\" is %s", topic,
                        length > CONTEXT_TOPIC_BYTES ? "too long" : "not UTF-8");
    }
    char *composed = NULL;
    char *folded = NULL;
    utf8proc_ssize_t failed = map(topic, length, 0, &composed);
    if (failed == 0) {
        failed = map(composed, strlen(composed), UTF8PROC_CASEFOLD, &folded);
    }
    int status = HEARSAY_OK;
    if (failed == UTF8PROC_ERROR_NOMEM) {
        status = fail_set_nomem(out_error);
    } else if (failed != 0) {
        status = fail_set(out_error, HEARSAY_ERR_ARGUMENT, "the topic \"%.60s\": %s", topic,
                          utf8proc_errmsg(failed));
    } else {
        status = add_folded(context, folded, out_error);
    }
    free(composed);
    free(folded);
    return status;
}
