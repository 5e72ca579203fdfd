/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/http_inner.h"

const struct http_figures *http_server_figures(const struct http_server *server)
{
    return &server->figures;
}

unsigned http_status(size_t i)
{
    static const uint16_t statuses[HTTP_STATUSES] = {200, 204, 302, 303, 400, 403, 404,
                                                     405, 409, 410, 413, 414, 421, 429,
                                                     431, 500, 501, 503, 507, 0};

    return statuses[i];
}

uint64_t http_bound_us(size_t i)
{
    static const uint32_t bounds[HTTP_BOUNDS] = {
        100, 1000, 10000, 100000, 1000000, 2500000,
    };

    return bounds[i];
}

void http_figures_note(struct http_figures *figures, unsigned status, uint64_t began_ns)
{
    size_t place = 0;

    while (http_status(place) != status && http_status(place) != 0) {
        place++;
    }
    figures->answers[place]++;
    if (began_ns == 0) {
        return;
    }
    uint64_t took_us = (uv_hrtime() - began_ns) / 1000;
    figures->requests++;
    figures->sum_us += took_us;
    for (size_t i = HTTP_BOUNDS; i > 0 && took_us <= http_bound_us(i - 1); i--) {
        figures->within[i - 1]++;
    }
}
