/* SPDX-License-Identifier: Apache-2.0 */
/*
 * here: what clients add to contexts by convention (docs/protocol.md, "Here labels"): the here
 * labels of the host, and the label that a query of one thing demands of each message.
 */
#include <string.h>

#include "client/context/build.h"
#include "client/fail.h"
#include "core/base/label.h"
#include "core/profile/profile.h"

int hearsay_context_add_here(struct hearsay_context *context, const struct hearsay_host *host,
                             struct hearsay_error *out_error)
{
    struct profile profile;
    const char *reason = NULL;
    if (profile_parse(host->profile, strlen(host->profile), &profile, &reason) != 0) {
        return HEARSAY_OK; /* hearsay_encode says what is wrong with the profile */
    }
    int status = HEARSAY_OK;
    for (size_t i = 0; i < host->here_count && status == HEARSAY_OK; i++) {
        const char *label = host->here[i];
        size_t length = strlen(label);
        /* Nobody here has typed the label, so a label that does not fit is no error. */
        if (label_check(label, length, &reason) == 0 &&
            profile_section_of(&profile, label, length) != NULL) {
            status = context_add(context, label, length, out_error);
        }
    }
    return status;
}

/* The bytes of a label in front of the level of a strength: wifi:BSSID of wifi:BSSID@2. */
static size_t length_without_level(const char *label)
{
    static const char wifi[] = "wifi:";
    return strncmp(label, wifi, strlen(wifi)) == 0 ? strcspn(label, "@") : strlen(label);
}

const char *hearsay_context_only_label(const struct hearsay_context *context)
{
    size_t count = 0;
    const char *const *labels = hearsay_context_labels(context, &count);
    if (count < 2) {
        return count == 1 ? labels[0] : NULL;
    }
    const char *only = NULL;
    size_t length = length_without_level(labels[0]);
    for (size_t i = 0; i < count; i++) {
        if (length_without_level(labels[i]) != length ||
            strncmp(labels[i], labels[0], length) != 0) {
            return NULL;
        }
        only = labels[i][length] == '\0' ? labels[i] : only;
    }
    return only;
}
