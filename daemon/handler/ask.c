/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/handler/ask.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/filter/bloom.h"

void ask_respond(const struct ask *ask, const struct hearsay_response *response)
{
    ask->client->events->respond(ask->client, response);
}

void ask_refuse(const struct ask *ask, enum hearsay_code code, const char *field,
                const char *format, ...)
{
    char sentence[LIMIT_ERROR_BYTES + 1];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof(sentence), format, arguments); /* a cut sentence still helps */
    va_end(arguments);
    requester_refuse(ask->client, ask->request->id, code, field, "%s", sentence);
}

void ask_refuse_memory(const struct ask *ask)
{
    ask_refuse(ask, HEARSAY_CODE_INTERNAL, NULL, "the server is out of memory");
}

bool ask_host(struct ask *ask, const struct hearsay_text *name)
{
    ask->host = service_host(ask->service, name->text);
    if (ask->host == NULL) {
        ask_refuse(ask, HEARSAY_CODE_UNKNOWN_HOST, "host",
                   "there is no host \"%s\" here; Welcome lists those there are", name->text);
    }
    return ask->host != NULL;
}

bool ask_owns(const struct ask *ask)
{
    const char *host = ask->host->config.name;

    if (ask->host->config.is_replica) {
        ask_refuse(ask, HEARSAY_CODE_FORBIDDEN, "host",
                   "this server has a copy of host \"%s\", for reading; to %s, connect to its "
                   "owner, the access point \"%s\"",
                   host, ask->request->name, host);
    }
    return !ask->host->config.is_replica;
}

void ask_decide(const struct ask *ask, const char *act, const struct ask_decision *asked,
                struct persist_decision *out)
{
    *out = (struct persist_decision){
        .host = ask->host->number,
        .time_ms = service_now_ms(ask->service),
        .has_id = asked->id.data != NULL,
        .kind = (uint32_t)asked->kind,
        .uid = ask->client->uid,
        .web = ask->client->is_web,
        .waits = ask->host->config.is_replica,
    };
    msg_text_copy(out->act, sizeof(out->act), act, strlen(act));
    if (asked->reason.text != NULL) {
        msg_text_copy(out->reason, sizeof(out->reason), asked->reason.text, asked->reason.length);
    }
    if (out->has_id) {
        memcpy(out->id, asked->id.data, MESSAGE_ID_BYTES);
    }
}

struct epoch *ask_epoch(const struct ask *ask, uint64_t number, const char *field)
{
    struct epoch *epoch = host_epoch(ask->host, number);

    /* An epoch is over when kept_ms has come. epochs_tick sets is_over later. */
    if (epoch != NULL && number != 0 && epoch->kept_ms <= service_now_ms(ask->service)) {
        epoch = NULL;
    }
    if (epoch == NULL) {
        ask_refuse(ask, HEARSAY_CODE_UNKNOWN_EPOCH, field,
                   "host \"%s\" has no epoch %" PRIu64 "; the current one is %" PRIu64,
                   ask->host->config.name, number,
                   ask->host->current != NULL ? ask->host->current->number : 0);
    }
    return epoch;
}

bool ask_judge_filter(const struct ask *ask, const struct hearsay_bytes *bytes, const char *field,
                      uint64_t *out_words, struct msg_error *out_error)
{
    const struct host *host = ask->host;

    if (bytes->count != host->filter_bytes) {
        msg_error_set(out_error, HEARSAY_CODE_PROFILE_MISMATCH, field,
                      "%s has %zu bytes; the profile %s of host \"%s\" takes %zu", field,
                      bytes->count, host->profile_text, host->config.name, host->filter_bytes);
        return false;
    }
    if (bloom_load(out_words, host->config.profile.bits, bytes->data, bytes->count) != 0) {
        msg_error_set(out_error, HEARSAY_CODE_INVALID, field,
                      "bits beyond bit %" PRIu32 " of the filter are set; they must be zero",
                      host->config.profile.bits - 1);
        return false;
    }
    return true;
}

bool ask_filter(const struct ask *ask, const struct hearsay_bytes *bytes, const char *field,
                uint64_t *out_words)
{
    struct msg_error error;

    if (!ask_judge_filter(ask, bytes, field, out_words, &error)) {
        ask_refuse(ask, error.code, field, "%s", error.message);
        return false;
    }
    return true;
}

enum { PPM = 1000000 };

/* One label may fill a section of a few bits. */
static uint32_t most_bits(const struct profile_section *section, uint32_t maximum_ppm)
{
    uint32_t most = (uint32_t)((uint64_t)maximum_ppm * section->bits / PPM);

    return most > section->hashes ? most : section->hashes;
}

static uint32_t count_set(const struct profile_section *section, const uint64_t *filter)
{
    return bloom_union_count_range(filter, filter, section->first_bit, section->bits);
}

/* The first section that is too full; NULL: none. `all` bits of the filter are set: a section has
 * at most so many, so most need not be counted. */
static const struct profile_section *
find_full(const struct profile *profile, const uint64_t *filter, uint32_t all, uint32_t maximum_ppm)
{
    for (uint32_t s = 0; s < profile->section_count; s++) {
        const struct profile_section *section = &profile->sections[s];
        uint32_t most = most_bits(section, maximum_ppm);

        if (all > most && count_set(section, filter) > most) {
            return section;
        }
    }
    return NULL;
}

static void refuse_fill(const struct ask *ask, const char *field,
                        const struct profile_section *section, uint32_t set, uint32_t maximum_ppm)
{
    char name[PROFILE_TEXT_MAX];

    profile_print_name(section, name);
    ask_refuse(ask, HEARSAY_CODE_FILL_OUT_OF_RANGE, field,
               "%" PRIu32 " of %" PRIu32 " bits%s%s are set; at most %" PRIu32
               " are taken here (%g %%)",
               set, section->bits, name[0] != '\0' ? " of the section " : "", name,
               most_bits(section, maximum_ppm), (double)maximum_ppm / 10000);
}

bool ask_fill(const struct ask *ask, const uint64_t *filter, const char *field,
              uint32_t minimum_ppm, uint32_t maximum_ppm)
{
    const struct profile *profile = &ask->host->config.profile;
    uint32_t all = ask->service->kernels->cardinality(filter, ask->host->filter_words);
    uint32_t least = (uint32_t)(((uint64_t)minimum_ppm * profile->bits + PPM - 1) / PPM);

    if (all < least) {
        ask_refuse(ask, HEARSAY_CODE_FILL_OUT_OF_RANGE, field,
                   "%" PRIu32 " of %" PRIu32 " bits are set; at least %" PRIu32 " must be (%g %%)",
                   all, profile->bits, least, (double)minimum_ppm / 10000);
        return false;
    }
    const struct profile_section *full = find_full(profile, filter, all, maximum_ppm);
    if (full != NULL) {
        refuse_fill(ask, field, full, count_set(full, filter), maximum_ppm);
    }
    return full == NULL;
}

bool ask_is_full(const struct host *host, const struct hearsay_bytes *bytes)
{
    const struct profile *profile = &host->config.profile;
    uint64_t filter[PROFILE_WORDS_MAX];

    return bloom_load(filter, profile->bits, bytes->data, bytes->count) == 0 &&
           find_full(profile, filter, profile->bits, ASK_FULL_PPM) != NULL;
}
