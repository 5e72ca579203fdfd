/* SPDX-License-Identifier: Apache-2.0 */
/* Here: answers with here labels. handler_here_welcome adds here labels to Welcome. */
#include "core/filter/bloom.h"
#include "daemon/handler/inner.h"

enum {
    WELCOME_BYTES = 1024, /* upper bound of the bytes of Welcome without its hosts */
    /* upper bound of the bytes of a host in Welcome, without its name, profile and here labels */
    HOST_BYTES = 192,
    HERE_BYTES = 64 /* upper bound of the bytes of HereLabels without labels and names */
};

/* Bytes of labels in a frame, counted as here_frame_bytes does. */
static size_t labels_bytes(const struct hearsay_text *labels, size_t count)
{
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++) {
        bytes += labels[i].length + HERE_LABEL_FRAME_BYTES;
    }
    return bytes;
}

/* Leaves out the last names of places that the frame of an answer has no room for. */
static void fit_places(struct hearsay_here_labels *answer, size_t frame_bytes)
{
    size_t used = HERE_BYTES + answer->name.length +
                  labels_bytes(answer->labels, answer->label_count) +
                  labels_bytes(answer->places, answer->place_count);

    while (answer->place_count > 0 && used > frame_bytes) {
        used -= labels_bytes(&answer->places[--answer->place_count], 1);
    }
}

void handler_here(struct ask *ask)
{
    const struct hearsay_bytes *on_behalf = &ask->request->asker.on_behalf;
    struct hearsay_text buffer[LIMIT_LABELS];
    struct hearsay_text places[LIMIT_PLACES];
    struct here_address address = ask->client->address;

    if (!ask_host(ask, &ask->request->here.host)) {
        return;
    }
    if (on_behalf->count > 0) { /* the session has checked it, see session_take_asker */
        (void)here_address_read(on_behalf->data, on_behalf->count, &address);
    }
    struct hearsay_response response = {.id = ask->request->id,
                                        .kind = HEARSAY_RESPONSE_HERE_LABELS};
    response.here_labels.label_count = host_here(
        ask->host, &address, requester_is_here(ask->client), buffer, &response.here_labels.labels);
    response.here_labels.name = here_map_name(ask->host->here_map, &address);
    if (ask->request->here.places) {
        response.here_labels.places = places;
        response.here_labels.place_count = here_map_places(ask->host->here_map, places);
        fit_places(&response.here_labels, ask->service->config.limits.frame_bytes);
    }
    ask_respond(ask, &response);
}

/* Whether the filter lacks each label of an access point; false if there are no such labels. */
static bool lacks_all_wifi(const struct profile *profile, const uint64_t *filter,
                           const struct hearsay_text *labels, size_t count, const uint8_t *key)
{
    uint64_t asked[PROFILE_WORDS_MAX];
    bool lacks = false;

    for (size_t i = 0; i < count; i++) {
        struct encoder encoder;

        if (!here_is_wifi(&labels[i])) {
            continue;
        }
        encoder_begin(&encoder, profile);
        (void)here_encode(&encoder, &labels[i], key);
        encoder_end(&encoder, asked);
        lacks = !bloom_is_subset(asked, filter, bloom_words(profile->bits));
        if (!lacks) {
            return false;
        }
    }
    return lacks;
}

/*
 * Whether here labels are missing that each client adds. Those of access points give way to the
 * client's own scan. So they count only if there are no others, and then one of them is enough.
 */
static bool lacks_labels(const struct profile *profile, const uint64_t *filter,
                         const struct hearsay_text *labels, size_t count, const uint8_t *key)
{
    uint64_t asked[PROFILE_WORDS_MAX];

    return here_filter(profile, labels, count, key, asked)
               ? !bloom_is_subset(asked, filter, bloom_words(profile->bits))
               : lacks_all_wifi(profile, filter, labels, count, key);
}

bool handler_lacks_here(const struct ask *ask)
{
    const struct profile *profile = &ask->host->config.profile;
    const struct here *here = ask->host->here;
    const struct hearsay_deposit *deposit = &ask->request->deposit;
    struct hearsay_text buffer[LIMIT_LABELS];
    const struct hearsay_text *labels = NULL;
    uint64_t filter[PROFILE_WORDS_MAX];

    if (deposit->epoch != 0) {
        return false;
    }
    size_t count = host_here(ask->host, &ask->client->address, requester_is_here(ask->client),
                             buffer, &labels);
    if (count == 0) {
        return false;
    }
    (void)bloom_load(filter, profile->bits, deposit->filter.data,
                     deposit->filter.count); /* checked */
    if (labels == here->labels && here->has_filter) {
        return !bloom_is_subset(here->filter, filter, bloom_words(profile->bits));
    }
    return lacks_labels(profile, filter, labels, count, NULL);
}

bool handler_is_left_at(const struct host *host, const struct persist_message *message,
                        const struct hearsay_text *labels, size_t count)
{
    const struct epoch *epoch = host_epoch(host, message->epoch);
    uint64_t filter[PROFILE_WORDS_MAX];
    bool is_known = epoch != NULL;

    if (message->is_answer) { /* it was left where its message was */
        is_known = is_known && host_find(host, message->answers, NULL, NULL, filter) == 0;
    } else {
        is_known = is_known && bloom_load(filter, host->config.profile.bits, message->filter,
                                          message->filter_bytes) == 0;
    }
    return is_known && count > 0 &&
           !lacks_labels(&host->config.profile, filter, labels, count,
                         epoch->number != 0 ? epoch->key : NULL);
}

void handler_here_welcome(struct service *service, const struct requester *client,
                          struct hearsay_host_info *hosts)
{
    size_t left = service->config.limits.frame_bytes;
    size_t used = WELCOME_BYTES;

    for (size_t i = 0; i < service->host_count; i++) {
        used += HOST_BYTES + hosts[i].name.length + hosts[i].profile.length;
    }
    left -= used < left ? used : left;
    for (size_t i = 0; i < service->host_count; i++) {
        struct hearsay_text *buffer = NULL;
        const struct hearsay_text *labels = NULL;

        if (service->hosts[i].here_map != NULL) {
            buffer = arena_take(&service->arena, LIMIT_LABELS * sizeof(*buffer));
            if (buffer == NULL) {
                continue; /* the client can still ask: `here` */
            }
        }
        size_t count = host_here(&service->hosts[i], &client->address, requester_is_here(client),
                                 buffer, &labels);
        size_t bytes = labels_bytes(labels, count);
        if (bytes <= left) {
            left -= bytes;
            hosts[i].here = labels;
            hosts[i].here_count = count;
        }
    }
}
