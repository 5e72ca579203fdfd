/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/load_attack.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "proto/codec/codec.h"
#include "tests/bench/bench.h"
#include "tests/bench/filters.h"
#include "tests/bench/stats.h"
#include "tests/bench/workload.h"
#include "tests/lib/plain_request.h"

enum {
    ATTACKERS_MAX = 6000,
    EXCLUDE_BYTES = 48 * 1024,
    QUERIES = 32, /* different ones, in one block that is sent again and again */
    READ_BYTES = 64 * 1024,
    UNSENT_BYTES = 64 * 1024,
    FIRST_ADDRESS = 0x7f010001, /* 127.1.0.1 */
    TURN_MS = 20                /* between looks at those that wait for nothing */
};

const char *const load_attack_names[] = {"none", "slow", "unread", "greedy", "noise", "burn"};

struct attacker {
    uint32_t number;
    int descriptor; /* -1: none */
    size_t sent;    /* of what it says */
    int64_t next_ns;
};

struct attack {
    struct load_attack_plan plan;
    struct bytes speech; /* what each says, over and over but for its greeting */
    size_t greeting_bytes;
    uint64_t random;
};

/* --- what they say ---------------------------------------------------------------------------- */

static int add_hello(struct bytes *out)
{
    const struct hearsay_request hello = {
        .id = 1,
        .kind = HEARSAY_REQUEST_HELLO,
        .hello = {.versions = {LIMIT_VERSION}, .version_count = 1},
    };

    return codec_encode_request(&hello, LIMIT_FRAME_BYTES_MIN, out);
}

/* The most expensive query: the most results, a nearly empty filter and a large exclude. */
static int add_expensive(struct bytes *out, uint64_t number, bool with_payload)
{
    static uint8_t exclude[EXCLUDE_BYTES];
    struct workload_message message;
    struct hearsay_slice slice = {.bits = {exclude, sizeof(exclude)}, .hashes = 16};

    workload_make(number, number, &message);
    const struct hearsay_query_part part = {.filter = {message.filter, message.filter_bytes}};
    struct hearsay_request request = {
        .id = number + 2, .kind = HEARSAY_REQUEST_QUERY, .query = plain_query(&part, 1, 100)};

    request.query.metric = HEARSAY_METRIC_PHI;
    request.query.exclude = &slice;
    request.query.exclude_count = with_payload ? 0 : 1;
    request.query.with_payload = with_payload;
    return codec_encode_request(&request, LIMIT_FRAME_BYTES_DEFAULT, out);
}

static int prepare(struct attack *attack)
{
    int rc = 0;

    bytes_init(&attack->speech, alloc_system());
    if (attack->plan.kind == ATTACK_BURN) {
        return 0;
    }
    if (attack->plan.kind == ATTACK_NOISE) {
        uint8_t *noise = bytes_reserve(&attack->speech, READ_BYTES);
        if (noise == NULL) {
            return -1;
        }
        for (size_t i = 0; i < READ_BYTES; i++) {
            noise[i] = (uint8_t)filters_random(&attack->random);
        }
        attack->speech.count = READ_BYTES;
        return 0;
    }
    rc = add_hello(&attack->speech);
    attack->greeting_bytes = attack->speech.count;
    for (uint64_t i = 0; i < QUERIES && rc == 0 && attack->plan.kind != ATTACK_SLOW; i++) {
        rc = add_expensive(&attack->speech, i, attack->plan.kind == ATTACK_UNREAD);
    }
    return rc;
}

/* --- one of them ------------------------------------------------------------------------------ */

static void hang_up(struct attacker *attacker)
{
    (void)close(attacker->descriptor);
    attacker->descriptor = -1;
}

/*
 * Bytes that an attacker could not send stay on the attacker's machine. On this machine the kernel
 * keeps those bytes, and frees them in the daemon's time when the daemon closes the connection.
 */
static void keep_little(int descriptor)
{
    const int bytes = UNSENT_BYTES;

    (void)setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

/* Connects if possible. If the server has no free connection, tries again at the next turn. */
static void call(const struct attack *attack, struct attacker *attacker)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(FIRST_ADDRESS + attacker->number % attack->plan.addresses),
    };

    attacker->sent = 0;
    attacker->descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (attacker->descriptor < 0) {
        return;
    }
    keep_little(attacker->descriptor);
    if (bind(attacker->descriptor, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        hang_up(attacker);
        return;
    }
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(attack->plan.port);
    if (connect(attacker->descriptor, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
        fcntl(attacker->descriptor, F_SETFL, O_NONBLOCK) != 0) {
        hang_up(attacker);
    }
}

/* Sends up to `most` more bytes. Returns whether the connection is still open. */
static bool say(const struct attack *attack, struct attacker *attacker, size_t most)
{
    const size_t left = attack->speech.count - attacker->sent;
    const ssize_t sent = send(attacker->descriptor, attack->speech.data + attacker->sent,
                              left < most ? left : most, MSG_NOSIGNAL);

    if (sent < 0) {
        return errno == EAGAIN || errno == EINTR;
    }
    attacker->sent += (size_t)sent;
    if (attacker->sent == attack->speech.count) {
        attacker->sent = attack->greeting_bytes; /* again, without the greeting */
    }
    return true;
}

/* Reads what is there. Whether the connection still stands. */
static bool listen_to(const struct attacker *attacker)
{
    static uint8_t ignored[READ_BYTES];
    const ssize_t got = recv(attacker->descriptor, ignored, sizeof(ignored), 0);

    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

static void act(const struct attack *attack, struct attacker *attacker, int64_t now_ns)
{
    bool stands = true;

    if (attacker->descriptor < 0) {
        call(attack, attacker);
        attacker->next_ns = now_ns;
        return;
    }
    switch (attack->plan.kind) {
    case ATTACK_SLOW:
        if (now_ns >= attacker->next_ns) {
            attacker->next_ns = now_ns + 1000000000;
            stands = attacker->sent + 1 < attack->speech.count ? say(attack, attacker, 1)
                                                               : listen_to(attacker);
        }
        break;
    case ATTACK_UNREAD:
        stands = say(attack, attacker, SIZE_MAX);
        break;
    default:
        stands = say(attack, attacker, SIZE_MAX) && listen_to(attacker);
        break;
    }
    if (!stands) {
        hang_up(attacker);
    }
}

/* --- all of them ------------------------------------------------------------------------------ */

static void wait_for_any(const struct attack *attack, const struct attacker *attackers,
                         struct pollfd *polled)
{
    const short wanted = attack->plan.kind == ATTACK_UNREAD ? POLLOUT : POLLIN | POLLOUT;

    for (uint32_t i = 0; i < attack->plan.peers; i++) {
        polled[i] = (struct pollfd){.fd = attackers[i].descriptor, .events = wanted};
    }
    /* The slow ones wait for time, not for room. */
    (void)poll(polled, attack->plan.kind == ATTACK_SLOW ? 0 : attack->plan.peers, TURN_MS);
}

static void run(struct attack *attack)
{
    static struct attacker attackers[ATTACKERS_MAX];
    static struct pollfd polled[ATTACKERS_MAX];

    for (uint32_t i = 0; i < attack->plan.peers; i++) {
        attackers[i] = (struct attacker){.number = i, .descriptor = -1};
    }
    for (;;) {
        const int64_t now_ns = stats_now_ns();
        for (uint32_t i = 0; i < attack->plan.peers; i++) {
            act(attack, &attackers[i], now_ns);
        }
        wait_for_any(attack, attackers, polled);
    }
}

/* Uses a share of one core, in pieces of less than a millisecond. */
static void burn(double share)
{
    const struct timespec pause = {.tv_nsec = 200 * 1000};
    const int64_t start_ns = stats_now_ns();
    const int64_t start_cpu_ns = stats_cpu_ns();

    for (;;) {
        const double due_ns = share * (double)(stats_now_ns() - start_ns);
        if ((double)(stats_cpu_ns() - start_cpu_ns) >= due_ns) {
            (void)nanosleep(&pause, NULL); /* shorter is fine */
        }
    }
}

/* The last processor that there is; 0 when it is the only one. */
static size_t last_processor(void)
{
    const long count = sysconf(_SC_NPROCESSORS_ONLN);

    return count > 1 && count <= CPU_SETSIZE ? (size_t)count - 1 : 0;
}

void load_attack_leave_a_processor(void)
{
    const size_t last = last_processor();
    cpu_set_t others;

    CPU_ZERO(&others);
    for (size_t processor = 0; processor < last; processor++) {
        CPU_SET(processor, &others);
    }
    if (last > 0) {
        (void)sched_setaffinity(0, sizeof(others), &others); /* else the machine has its say, too */
    }
}

/* With only one processor, the attackers get the time that the daemon and the clients leave. */
static void take_the_last_processor(void)
{
    const struct sched_param none = {0};
    cpu_set_t last;

    CPU_ZERO(&last);
    CPU_SET(last_processor(), &last);
    (void)sched_setaffinity(0, sizeof(last), &last);
    (void)sched_setscheduler(0, SCHED_IDLE, &none);
}

pid_t load_attack_begin(const struct load_attack_plan *plan)
{
    struct attack attack = {.plan = *plan, .random = plan->seed};
    const pid_t parent = getpid();

    if (plan->peers > ATTACKERS_MAX) {
        return (pid_t)bench_fail("at most %d attackers", ATTACKERS_MAX);
    }
    if (prepare(&attack) != 0) {
        return (pid_t)bench_fail("what attackers say could not be encoded");
    }
    (void)fflush(NULL); /* or it would be printed twice */
    const pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent) {
            take_the_last_processor();
            if (plan->kind == ATTACK_BURN) {
                burn(plan->burn_share);
            }
            run(&attack);
        }
        _exit(EXIT_FAILURE);
    }
    bytes_deinit(&attack.speech);
    return child > 0 ? child : (pid_t)bench_fail("fork: %s", strerror(errno));
}

double load_attack_end(pid_t pid)
{
    struct rusage used = {0};

    if (pid > 0) {
        (void)kill(pid, SIGKILL); /* it has nothing to put in order */
        (void)wait4(pid, NULL, 0, &used);
    }
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}
