/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load_attack: attackers, in a process of their own, to measure how much they slow the requests of
 * others down.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

enum load_attack {
    ATTACK_NONE,
    ATTACK_SLOW,   /* connections that send a byte a second of a Hello */
    ATTACK_UNREAD, /* ask for much and read nothing */
    ATTACK_GREEDY, /* expensive queries, as many as the server takes */
    ATTACK_NOISE,  /* what is no protocol, in new connections all the time */
    ATTACK_BURN, /* no attack: a process that uses as much CPU time as an attack, for comparison */
    ATTACK_KINDS
};

/* Their names; ATTACK_KINDS of them. */
extern const char *const load_attack_names[];

struct load_attack_plan {
    enum load_attack kind;
    uint16_t port;
    uint32_t peers;     /* connections at a time */
    uint32_t addresses; /* that they come from in turn, from 127.1.0.1 on; >= 1 */
    uint64_t seed;
    double burn_share; /* of one core; ATTACK_BURN */
};

/*
 * Real attackers have machines of their own. So if there are two processors or more, the attackers
 * get the last processor; this process, and the processes that it starts afterwards, get the other
 * processors.
 */
void load_attack_leave_a_processor(void);

/* Starts it. The process id, or -1: it is said. */
pid_t load_attack_begin(const struct load_attack_plan *plan);

/* Ends the attack and waits for its end. Returns the CPU time that the attack used, in seconds. */
double load_attack_end(pid_t pid);
