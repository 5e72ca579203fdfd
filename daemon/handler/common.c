/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that several requests need. */
#include <inttypes.h>

#include "core/filter/bloom.h"
#include "daemon/handler/handler.h"

bool handler_is_administrator(struct requester *client, const struct msg_request *request)
{
    if (client->is_administrator) {
        return true;
    }
    if (client->is_local) {
        requester_refuse(client, request->id, MSG_FORBIDDEN, request->name,
                         "%s is for the daemon's own user and root; become one of them (sudo)",
                         request->name);
    } else {
        requester_refuse(client, request->id, MSG_FORBIDDEN, request->name,
                         "%s is served on the daemon's Unix socket only, to its own user and root",
                         request->name);
    }
    return false;
}

struct host *handler_host(struct service *service, struct requester *client,
                          const struct msg_request *request, const struct msg_text *name)
{
    struct host *host = service_host(service, name->text);

    if (host == NULL) {
        requester_refuse(client, request->id, MSG_UNKNOWN_HOST, "host",
                         "there is no host \"%s\" here; Welcome lists those there are", name->text);
    }
    return host;
}

struct epoch *handler_epoch(struct service *service, struct requester *client,
                            const struct msg_request *request, const struct host *host,
                            uint64_t number, const char *field)
{
    struct epoch *epoch = host_epoch(host, number);

    /* One that is over is ended with the next tick only. */
    if (epoch != NULL && number != 0 && epoch->kept_ms <= service_now_ms(service)) {
        epoch = NULL;
    }
    if (epoch == NULL) {
        requester_refuse(client, request->id, MSG_UNKNOWN_EPOCH, field,
                         "host \"%s\" has no epoch %" PRIu64 "; 0 is the open one",
                         host->config.name, number);
    }
    return epoch;
}

bool handler_filter(struct service *service, struct requester *client,
                    const struct msg_request *request, const struct host *host,
                    const struct msg_bytes *bytes, const char *field, uint64_t *out_words)
{
    (void)service;
    if (bytes->count != host->filter_bytes) {
        requester_refuse(client, request->id, MSG_PROFILE_MISMATCH, field,
                         "the filter has %zu bytes; the profile %s of host \"%s\" takes %zu",
                         bytes->count, host->profile_text, host->config.name, host->filter_bytes);
        return false;
    }
    if (bloom_load(out_words, host->config.profile.bits, bytes->data, bytes->count) != 0) {
        requester_refuse(client, request->id, MSG_INVALID, field,
                         "bits beyond bit %" PRIu32 " of the filter are set; they must be zero",
                         host->config.profile.bits - 1);
        return false;
    }
    return true;
}

bool handler_fill(struct requester *client, const struct msg_request *request,
                  const struct host *host, const uint64_t *filter, const char *field,
                  uint32_t minimum_ppm, uint32_t maximum_ppm)
{
    const uint32_t bits = host->config.profile.bits;
    const uint32_t set = bloom_cardinality(filter, host->filter_words);
    const uint64_t scaled = (uint64_t)set * 1000000;

    if (scaled >= (uint64_t)minimum_ppm * bits && scaled <= (uint64_t)maximum_ppm * bits) {
        return true;
    }
    requester_refuse(client, request->id, MSG_FILL_OUT_OF_RANGE, field,
                     "%" PRIu32 " of %" PRIu32
                     " bits are set (%.1f %%); between %.1f %% and %.1f %% "
                     "are taken here",
                     set, bits, (double)set * 100 / bits, (double)minimum_ppm / 10000,
                     (double)maximum_ppm / 10000);
    return false;
}
