/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topic: converts topics to labels. Topics that look the same get the same label. So the label does
 * not depend on upper and lower case, on how Unicode composes a character or how wide it is, on
 * characters that cannot be seen, on the kind of apostrophe, on the number of blanks, or on a "#"
 * at the beginning. The locale has no effect. docs/protocol.md has the rule for other clients.
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

/* Converts text to NFKC, with `more`. Returns 0 with *out_text owned (free), or the error of
 * utf8proc. */
static utf8proc_ssize_t topic_map(const char *text, size_t length, utf8proc_option_t more,
                                  char **out_text)
{
    utf8proc_uint8_t *mapped = NULL;
    utf8proc_option_t options = UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT | more;
    utf8proc_ssize_t size =
        utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)length, &mapped, options);
    if (size < 0) {
        return size;
    }
    *out_text = (char *)mapped;
    return 0;
}

/*
 * Converts a topic to NFKC(toCasefold(NFKC(text))) without default-ignorable characters. Returns
 * HEARSAY_OK with *out_folded owned (free), or an error.
 */
static int topic_fold(const char *topic, size_t length, char **out_folded,
                      struct hearsay_error *out_error)
{
    char *composed = NULL;
    utf8proc_ssize_t failed = topic_map(topic, length, UTF8PROC_IGNORE, &composed);
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
 * is always in NFKC. Other characters are refused, because only utf8proc converts them correctly.
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

/* Moves *text behind an apostrophe as keyboards of phones write it: U+2018, U+2019, U+02BC. */
static bool skip_apostrophe(const char **text)
{
    static const char *const apostrophes[] = {"\u2018", "\u2019", "\u02bc"};
    for (size_t i = 0; i < sizeof(apostrophes) / sizeof(apostrophes[0]); i++) {
        size_t length = strlen(apostrophes[i]);
        if (strncmp(*text, apostrophes[i], length) == 0) {
            *text += length;
            return true;
        }
    }
    return false;
}

/*
 * What Unicode's folding leaves: the text without "#" and white space before it and white space
 * behind it, with one blank for all white space within, and with one kind of apostrophe. Changes
 * the text in place.
 */
static void topic_tidy(char *text)
{
    const char *from = text;
    char *to = text;
    while (*from == '#' || is_space(*from)) {
        from++;
    }
    while (*from != '\0') {
        if (is_space(*from)) {
            from += strspn(from, " \t\n\v\f\r");
            *to++ = ' ';
        } else if (skip_apostrophe(&from)) {
            *to++ = '\'';
        } else {
            *to++ = *from++;
        }
    }
    to -= to > text && to[-1] == ' ';
    *to = '\0';
}

static int add_folded(struct hearsay_context *context, const char *folded,
                      struct hearsay_error *out_error)
{
    static const char attribute[] = "topic:";
    char label[LABEL_BYTES_MAX + 1];
    size_t length = strlen(folded);
    if (length == 0) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT, "the topic is empty");
    }
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
    if (length > CONTEXT_TOPIC_BYTES) {
        return add_folded(context, topic, out_error); /* refuses it, with its room */
    }
    if (!label_is_utf8(topic, length)) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT, "the topic \"%.60s\" is not UTF-8", topic);
    }
    char *folded = NULL;
    int status = topic_fold(topic, length, &folded, out_error);
    if (status == HEARSAY_OK) {
        topic_tidy(folded);
        status = add_folded(context, folded, out_error);
    }
    free(folded);
    return status;
}
