/* SPDX-License-Identifier: Apache-2.0 */
/*
 * here: what clients add to contexts by convention (docs/protocol.md, "Here labels"): the here
 * labels of the host, and the label that a query of one thing demands of each message.
 *
 * The here labels may be a scan of the access point. Together with a scan of the device they would
 * fill the section of the filter until servers refuse it, so they take the room that is left: the
 * device's own scan says more about where the device is.
 */
#include <string.h>

#include "client/context/build.h"
#include "core/base/label.h"
#include "core/profile/profile.h"

/*
 * With as many positions of labels as 3/5 of a section's bits, about 45 % of the bits are set. Few
 * labels are added in any case, because a device nearby hears only a part of what the access point
 * hears: with more of them its context is no longer like a scan of the same place. HERE_MOST is the
 * most that one access point can have, so that the strongest one always counts.
 */
enum { ROOM_NUMERATOR = 3, ROOM_DENOMINATOR = 5, HERE_MOST = 18 };

static const char wifi[] = "wifi:";

static bool is_wifi(const char *label)
{
    return strncmp(label, wifi, strlen(wifi)) == 0;
}

/* The bytes of a label in front of the level of a strength: wifi:BSSID of wifi:BSSID@2. */
static size_t length_without_level(const char *label)
{
    return is_wifi(label) ? strcspn(label, "@") : strlen(label);
}

/* Nobody here has typed the label, so a label that does not fit is no error. */
static bool fits_profile(const struct profile *profile, const char *label)
{
    const char *reason = NULL;
    size_t length = strlen(label);

    return label_check(label, length, &reason) == 0 &&
           profile_section_of(profile, label, length) != NULL;
}

/* How many labels of access points may be added to the context. */
static size_t count_room(const struct hearsay_context *context, const struct profile *profile)
{
    const struct profile_section *section = profile_section_of(profile, wifi, strlen(wifi));
    size_t count = 0;
    size_t used = 0;
    const char *const *labels = hearsay_context_labels(context, &count);

    if (section == NULL) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        used += profile_section_of(profile, labels[i], strlen(labels[i])) == section ? 1 : 0;
    }
    size_t most = (size_t)ROOM_NUMERATOR * section->bits / (ROOM_DENOMINATOR * section->hashes);
    size_t room = most > used ? most - used : 0;
    return room < HERE_MOST ? room : HERE_MOST;
}

static bool is_of_access_point(const char *label, const char *address, size_t length)
{
    return is_wifi(label) && length_without_level(label) == length &&
           strncmp(label, address, length) == 0;
}

/*
 * Adds the labels of the access point of host->here[first] that the context lacks, if there is room
 * for all of them. *room becomes smaller by these; it becomes 0 if they do not fit, so that what is
 * added are the first access points.
 */
static int add_access_point(struct hearsay_context *context, const struct hearsay_host *host,
                            size_t first, size_t *room, struct hearsay_error *out_error)
{
    const char *address = host->here[first].text;
    size_t length = length_without_level(address);
    size_t lacking = 0;
    int status = HEARSAY_OK;

    for (size_t i = first; i < host->here_count; i++) {
        const char *label = host->here[i].text;

        lacking += is_of_access_point(label, address, length) &&
                           !context_has(context, label, strlen(label))
                       ? 1
                       : 0;
    }
    if (lacking > *room) {
        *room = 0;
        return HEARSAY_OK;
    }
    *room -= lacking;
    for (size_t i = first; i < host->here_count && lacking > 0 && status == HEARSAY_OK; i++) {
        const char *label = host->here[i].text;

        if (is_of_access_point(label, address, length)) {
            status = context_add(context, label, strlen(label), out_error);
        }
    }
    return status;
}

int hearsay_context_add_here(struct hearsay_context *context, const struct hearsay_host *host,
                             struct hearsay_error *out_error)
{
    struct profile profile;
    const char *reason = NULL;
    int status = HEARSAY_OK;

    if (profile_parse(host->profile, strlen(host->profile), &profile, &reason) != 0) {
        return HEARSAY_OK; /* hearsay_encode says what is wrong with the profile */
    }
    for (size_t i = 0; i < host->here_count && status == HEARSAY_OK; i++) {
        const char *label = host->here[i].text;

        if (!is_wifi(label) && fits_profile(&profile, label)) {
            status = context_add(context, label, strlen(label), out_error);
        }
    }
    size_t room = count_room(context, &profile);
    for (size_t i = 0; i < host->here_count && room > 0 && status == HEARSAY_OK; i++) {
        if (is_wifi(host->here[i].text) && fits_profile(&profile, host->here[i].text)) {
            status = add_access_point(context, host, i, &room, out_error);
        }
    }
    return status;
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
