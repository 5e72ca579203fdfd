/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/web_attack.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "tests/bench/bench.h"
#include "tests/bench/stats.h"
#include "tests/bench/web_client.h"

enum {
    ATTACKER = 0x7ffa0001, /* 127.250.0.1 */
    SLOW_CONNECTIONS = 500,
    REQUEST_CONNECTIONS = 8, /* as many as one address may have by default */
    REQUEST_BYTES = 512,
    TURN_NS = 1000000
};

const char *const web_attack_names[WEB_ATTACK_KINDS] = {"none", "slow", "requests"};

struct attack {
    struct web_client *client;
    char head[REQUEST_BYTES];
};

static void on_answer(void *context, size_t number, const struct web_answer *answer)
{
    (void)context;
    (void)number;
    (void)answer; /* refusals are what an attacker gets */
}

static void on_line(void *context, size_t number, const char *line)
{
    (void)context;
    (void)number;
    (void)line;
}

static void send_bytes(struct attack *attack, size_t number, const char *text, size_t bytes)
{
    const struct web_request request = {.source = ATTACKER, .text = text, .bytes = bytes};

    web_send(attack->client, number, &request);
}

/* One turn a millisecond: so each of 500 connections sends two bytes a second. */
static void attack_slowly(struct attack *attack, uint64_t turn)
{
    const size_t number = (size_t)(turn % SLOW_CONNECTIONS);
    const size_t at = (size_t)(turn / SLOW_CONNECTIONS) % strlen(attack->head);

    send_bytes(attack, number, attack->head + at, 1);
}

/* A request a millisecond, on the first connection that waits for nothing. */
static void attack_with_requests(struct attack *attack, uint64_t turn)
{
    char text[REQUEST_BYTES + 64];

    for (size_t i = 0; i < REQUEST_CONNECTIONS; i++) {
        if (!web_is_busy(attack->client, i)) {
            const int bytes = snprintf(text, sizeof(text), "GET /?t=attack%llu HTTP/1.1\r\n%s",
                                       (unsigned long long)turn, attack->head);
            send_bytes(attack, i, text, (size_t)bytes);
            return;
        }
    }
}

static void attack_run(enum web_attack kind, uint16_t port, const char *name)
{
    static const struct web_events events = {on_answer, on_line};
    const struct sched_param none = {0};
    struct attack attack;
    const bool is_slow = kind == WEB_ATTACK_SLOW;

    (void)sched_setscheduler(0, SCHED_IDLE, &none);
    (void)snprintf(attack.head, sizeof(attack.head), "%sHost: %s\r\nAccept-Language: en\r\n\r\n",
                   is_slow ? "GET / HTTP/1.1\r\n" : "", name);
    attack.client =
        web_client_new(port, is_slow ? SLOW_CONNECTIONS : REQUEST_CONNECTIONS, &events, &attack);
    if (attack.client == NULL) {
        _exit(EXIT_FAILURE);
    }
    int64_t next_ns = stats_now_ns();
    for (uint64_t turn = 0;; turn++) {
        if (is_slow) {
            attack_slowly(&attack, turn);
        } else {
            attack_with_requests(&attack, turn);
        }
        next_ns += TURN_NS;
        while (stats_now_ns() < next_ns) {
            web_wait(attack.client, next_ns);
        }
    }
}

pid_t web_attack_begin(enum web_attack kind, uint16_t port, const char *name)
{
    const pid_t parent = getpid();

    (void)fflush(NULL); /* or it would be printed twice */
    const pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent) {
            attack_run(kind, port, name);
        }
        _exit(EXIT_FAILURE);
    }
    return child > 0 ? child : (pid_t)bench_fail("fork: %s", strerror(errno));
}
