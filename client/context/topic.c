/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topic: converts topics to labels. Topics that differ only in upper and lower case or in Unicode
 * composition become the same label. The rules are those of Unicode and do not depend on a locale.
 */
#include <stdlib.h>
#include <string.h>

#if HEARSAY_UTF8PROC
#include <utf8proc.h>
#endif

#include "client/context/build.h"
#include "client/fail.h"
#include "core/base/label.h"

static bool is_space(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

#if HEARSAY_UTF8PROC

/*
 * Converts text to NFC; with UTF8PROC_CASEFOLD in `more`, applies full case folding first. Returns
 * 0 with *out_text owned (free), or the error of utf8proc.
 */
static utf8proc_ssize_t topic_map(const char *text, size_t length, int more, char **out_text)
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

/*
 * Converts a topic to the form used in labels. Returns HEARSAY_OK with *out_folded owned (free), or
 * an error.
 */
static int topic_fold(const char *topic, size_t length, char **out_folded,
                      struct hearsay_error *out_error)
{
    char *composed = NULL;
    utf8proc_ssize_t failed = topic_map(topic, length, 0, &composed);
    if (failed == 0) {
        failed = topic_map(composed, strlen(composed), UTF8PROC_CASEFOLD, out_folded);
    }
    free(composed);
    if (failed == UTF8PROC_ERROR_NOMEM) {
        return fail_set_nomem(out_error);
    }
    if (failed != 0) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT, "the topic \"%.60s\": %s", topic,
                        utf8proc_errmsg(failed));
    }
    return HEARSAY_OK;
}

#else

/*
 * Converts a topic of ASCII characters to lower case. This equals full case folding, and ASCII text
 * is always in NFC. Other characters are refused, because only utf8proc converts them correctly.
 */
static int topic_fold(const char *topic, size_t length, char **out_folded,
                      struct hearsay_error *out_error)
{
    char *folded = malloc(length + 1);
    if (folded == NULL) {
        return fail_set_nomem(out_error);
    }
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)topic[i] >= 0x80) {
            free(folded);
            return fail_set(out_error, HEARSAY_ERR_ARGUMENT,
                            "the topic \"%.60s\" has characters other than ASCII, which this "
                            "libhearsay cannot compare: it was built without utf8proc",
                            topic);
        }
        folded[i] = (char)(topic[i] >= 'A' && topic[i] <= 'Z' ? topic[i] - 'A' + 'a' : topic[i]);
    }
    folded[length] = '\0';
    *out_folded = folded;
    return HEARSAY_OK;
}

#endif

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
    char *folded = NULL;
    int status = topic_fold(topic, length, &folded, out_error);
    if (status == HEARSAY_OK) {
        status = add_folded(context, folded, out_error);
    }
    free(folded);
    return status;
}
