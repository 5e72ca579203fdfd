/* SPDX-License-Identifier: Apache-2.0 */
/* reading: the pages that show something. Each function answers the visit, now or later. */
#pragma once

#include "client/web/route/visit.h"

void reading_list(struct visit *visit);    /* /, as a page or as text */
void reading_json(struct visit *visit);    /* /list.json */
void reading_feed(struct visit *visit);    /* /feed */
void reading_events(struct visit *visit);  /* /events */
void reading_message(struct visit *visit); /* /m/ID */
void reading_about(struct visit *visit);   /* /about */
void reading_poster(struct visit *visit);  /* /poster */
void reading_code(struct visit *visit);    /* /qr/join.svg, /qr/page.svg, /qr/page.txt */
void reading_static(struct visit *visit);  /* /s/RANDOM/NAME */
void reading_icon(struct visit *visit);    /* /favicon.svg */
void reading_robots(struct visit *visit);  /* /robots.txt */
void reading_health(struct visit *visit);  /* /healthz */
