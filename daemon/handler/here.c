/* SPDX-License-Identifier: Apache-2.0 */
/* Here: the labels of what is around the access point; in Welcome, too, as far as they fit. */
#include <string.h>

#include "daemon/handler/handler.h"

enum {
    WELCOME_BYTES = 1024, /* of Welcome without its hosts, generously */
    HOST_BYTES = 192 /* of a host besides its name and profile: numbers, an epoch with its key */
};

void handler_here(struct service *service, struct requester *client,
                  const struct msg_request *request)
{
    const struct host *host = handler_host(service, client, request, &request->here.host);

    if (host == NULL) {
        return;
    }
    const struct msg_response response = {
        .id = request->id,
        .kind = MSG_RESPONSE_HERE_LABELS,
        .here_labels = {.labels = host->here->labels, .label_count = host->here->count},
    };
    client->events->respond(client, &response);
}

void handler_here_welcome(const struct service *service, struct msg_host *hosts)
{
    size_t left = service->config.limits.frame_bytes;
    size_t used = WELCOME_BYTES;

    for (size_t i = 0; i < service->host_count; i++) {
        used += HOST_BYTES + hosts[i].name.length + hosts[i].profile.length;
    }
    left -= used < left ? used : left;
    for (size_t i = 0; i < service->host_count; i++) {
        const struct here *here = service->hosts[i].here;
        const size_t bytes = here_frame_bytes(here);

        if (bytes <= left) {
            left -= bytes;
            hosts[i].here = here->labels;
            hosts[i].here_count = here->count;
        }
    }
}
