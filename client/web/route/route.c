/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/route/route.h"

#include <stdio.h>
#include <string.h>

#include "client/web/route/reading.h"

/* Where a path leads. */
struct route {
    const char *path;
    bool is_prefix; /* paths that begin with it, too */
    bool is_form;   /* POST, else GET and HEAD */
    bool is_portal; /* with `portal = offline` only */
    void (*act)(struct visit *visit);
};

static const struct route routes[] = {
    {"/", .act = reading_list},
    {"/list.json", .act = reading_json},
    {"/feed", .act = reading_feed},
    {"/m/", .is_prefix = true, .act = reading_message},
    {"/events", .act = reading_events},
    {"/leave", .is_form = true, .act = writing_leave},
    {"/withdraw", .is_form = true, .act = writing_withdraw},
    {"/report", .is_form = true, .act = writing_report},
    {"/stay", .is_form = true, .is_portal = true, .act = writing_stay},
    {"/about", .act = reading_about},
    {"/poster", .act = reading_poster},
    {"/qr/join.svg", .act = reading_code},
    {"/qr/page.svg", .act = reading_code},
    {"/qr/page.txt", .act = reading_code},
    {"/s/", .is_prefix = true, .act = reading_static},
    {"/favicon.svg", .act = reading_icon},
    {"/robots.txt", .act = reading_robots},
    {"/healthz", .act = reading_health},
};

static const struct route *find_route(const struct router *router, const char *path)
{
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
        const struct route *route = &routes[i];
        bool fits = route->is_prefix ? strncmp(path, route->path, strlen(route->path)) == 0
                                     : strcmp(path, route->path) == 0;

        if (fits && (!route->is_portal || router->config->portal == WEB_PORTAL_OFFLINE)) {
            return route;
        }
    }
    return NULL;
}

/* A name that is not ours was asked for. */
static void answer_stranger(struct visit *visit)
{
    const struct router *router = visit->router;
    char url[NAMES_TEXT_BYTES + 16];
    struct http_answer answer;

    if (router->config->portal == WEB_PORTAL_OFFLINE) {
        (void)snprintf(url, sizeof(url), "http://%s/", router->name);
        portal_answer(router->portal, visit->request, url, router_now_ms(router), &answer);
        visit_answer(visit, &answer);
    } else {
        visit_fail(visit, 421, &(struct page_error){.notice = PAGE_NAME});
    }
}

static void visit_go(struct visit *visit)
{
    const struct route *route = find_route(visit->router, visit->request->path);

    if (!names_allow_host(&visit->router->names, false, visit->request->host)) {
        answer_stranger(visit);
    } else if (route == NULL) {
        visit_fail(visit, 404, &(struct page_error){.notice = PAGE_ADDRESS});
    } else if (route->is_form && visit->request->method != HTTP_POST) {
        visit_redirect_to_list(visit); /* the address of a form's answer was opened again */
    } else if (!route->is_form && visit->request->method == HTTP_POST) {
        visit_fail(visit, 405, &(struct page_error){.notice = PAGE_GONE});
    } else if (!route->is_form || writing_accept(visit)) {
        route->act(visit);
    }
}

void route_request(void *context, struct http_exchange *exchange,
                   const struct http_request *request)
{
    if (request->is_metrics) {
        metrics_answer(context, exchange, request);
        return;
    }
    struct visit *visit = visit_new(context, exchange, request);
    if (visit == NULL) {
        http_answer(exchange, &(struct http_answer){.status = 503, .retry_after_s = 1});
        return;
    }
    http_exchange_set_context(exchange, visit);
    visit_go(visit);
}

void route_gone(void *context, struct http_exchange *exchange)
{
    struct router *router = context;
    struct visit *visit = http_exchange_context(exchange);

    if (visit != NULL) {
        board_forget(router->board, visit);
        visit_free(visit);
    }
}

bool route_takes_stream(const void *context)
{
    const struct router *router = context;

    return board_has_room(router->board);
}
