/* SPDX-License-Identifier: Apache-2.0 */
/* web_attack: somebody who attacks hearsay-web from one address, in a process of their own. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

enum web_attack {
    WEB_ATTACK_NONE,
    WEB_ATTACK_SLOW,     /* 500 connections that send a byte of a request's head each second */
    WEB_ATTACK_REQUESTS, /* 1,000 requests a second for new views */
    WEB_ATTACK_KINDS
};

extern const char *const web_attack_names[WEB_ATTACK_KINDS];

/*
 * Starts the attack on a port, with the page's name as browsers send it. Runs with a lower priority
 * than the phones, which share its processor. Returns the process id, or -1 after a message on
 * standard error. load_attack_end ends it.
 */
pid_t web_attack_begin(enum web_attack kind, uint16_t port, const char *name);
