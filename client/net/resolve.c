/* SPDX-License-Identifier: Apache-2.0 */
#include "client/net/sock.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/fail.h"
#include "client/net/wait.h"

/* A lookup, shared by the caller and the thread. The last holder frees the struct. */
struct job {
    atomic_int holders;
    int done_fd; /* the thread's end of a pipe. The thread closes it when the lookup has ended; then
                  * the caller's end becomes readable */
    char *host;
    char port[6];
    atomic_bool done; /* true: the lookup has ended, and the fields below are valid; set before
                       * done_fd is closed */
    int code;         /* of getaddrinfo */
    int errno_value;
    struct addrinfo *list;
};

static int look_up(const char *host, const char *port, int flags, struct addrinfo **out_list)
{
    struct addrinfo hints;
    memset(&hints, 0, sizeof(hints));
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags | AI_NUMERICSERV;
    return getaddrinfo(host, port, &hints, out_list);
}

static void job_release(struct job *job)
{
    if (atomic_fetch_sub(&job->holders, 1) > 1) {
        return;
    }
    if (job->list != NULL) {
        freeaddrinfo(job->list);
    }
    free(job->host);
    free(job);
}

static void *job_run(void *argument)
{
    struct job *job = argument;
    job->code = look_up(job->host, job->port, AI_ADDRCONFIG, &job->list);
    job->errno_value = errno;
    atomic_store(&job->done, true);
    /* The result of close is ignored: Linux frees the descriptor even when close fails. */
    (void)close(job->done_fd);
    job_release(job);
    return NULL;
}

static struct job *job_new(const char *host, const char *port, int done_fd)
{
    struct job *job = calloc(1, sizeof(*job));
    if (job == NULL) {
        return NULL;
    }
    job->host = strdup(host);
    if (job->host == NULL) {
        free(job);
        return NULL;
    }
    atomic_init(&job->holders, 2);
    atomic_init(&job->done, false);
    job->done_fd = done_fd;
    strncpy(job->port, port, sizeof(job->port) - 1);
    return job;
}

/*
 * Starts the thread with all signals blocked, so that other threads of the program get the signals.
 */
static int job_start(struct job *job)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    int rc = pthread_sigmask(SIG_SETMASK, &all, &before);
    if (rc != 0) {
        return rc;
    }
    pthread_t thread;
    rc = pthread_create(&thread, NULL, job_run, job);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL); /* a mask that was valid before */
    if (rc == 0) {
        (void)pthread_detach(thread); /* cannot fail: nothing else joins or detaches it */
    }
    return rc;
}

static int resolve_describe(int rc, int errno_value, const char *host, struct hearsay_error *error)
{
    if (rc == EAI_MEMORY) {
        return fail_set_nomem(error);
    }
    if (rc == EAI_SYSTEM) {
        return fail_set_errno(error, HEARSAY_ERR_CONNECT, errno_value, "cannot look up \"%s\"",
                              host);
    }
    return fail_set(error, HEARSAY_ERR_CONNECT, "cannot look up \"%s\": %s", host,
                    gai_strerror(rc));
}

static int job_wait(struct job *job, int done_fd, int64_t deadline_ms, struct addrinfo **out_list,
                    struct hearsay_error *error)
{
    int status = wait_for(done_fd, POLLIN, deadline_ms, error);
    if (status == WAIT_TIMEOUT) {
        return fail_set(error, HEARSAY_ERR_TIMEOUT, "looking up \"%s\" took too long", job->host);
    }
    if (status != HEARSAY_OK) {
        return status;
    }
    /* `done` is atomic: after reading it as true, this thread sees what the other thread has
     * written to the job. By the rules of C, reading the pipe does not guarantee this. */
    if (!atomic_load(&job->done)) {
        return fail_set(error, HEARSAY_ERR_SYSTEM, "looking up \"%s\" ended early", job->host);
    }
    if (job->code != 0) {
        return resolve_describe(job->code, job->errno_value, job->host, error);
    }
    *out_list = job->list;
    job->list = NULL;
    return HEARSAY_OK;
}

static int resolve_on_thread(const char *host, const char *port, int64_t deadline_ms,
                             struct addrinfo **out_list, struct hearsay_error *error)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return fail_set_errno(error, HEARSAY_ERR_SYSTEM, errno, "cannot make a pipe");
    }
    int status = HEARSAY_OK;
    struct job *job = job_new(host, port, ends[1]);
    if (job == NULL) {
        status = fail_set_nomem(error);
        goto close_both;
    }
    int rc = job_start(job);
    if (rc != 0) {
        status = fail_set_errno(error, HEARSAY_ERR_SYSTEM, rc, "cannot start a thread");
        atomic_store(&job->holders, 1); /* no thread holds it */
        job_release(job);
        goto close_both;
    }
    status = job_wait(job, ends[0], deadline_ms, out_list, error);
    job_release(job);
    (void)close(ends[0]); /* the thread closes the other end */
    return status;

close_both:
    (void)close(ends[0]);
    (void)close(ends[1]);
    return status;
}

int resolve_number(const char *host, const char *port, struct addrinfo **out_list,
                   struct hearsay_error *out_error)
{
    int rc = look_up(host, port, AI_NUMERICHOST, out_list);
    if (rc == EAI_NONAME) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT,
                        "\"%s\" is no numeric address; to look up a name takes time", host);
    }
    return rc == 0 ? HEARSAY_OK : resolve_describe(rc, errno, host, out_error);
}

int resolve_name(const char *host, const char *port, int64_t deadline_ms,
                 struct addrinfo **out_list, struct hearsay_error *out_error)
{
    int rc = look_up(host, port, AI_NUMERICHOST, out_list);
    if (rc == 0) {
        return HEARSAY_OK;
    }
    if (rc != EAI_NONAME) {
        return resolve_describe(rc, errno, host, out_error);
    }
    return resolve_on_thread(host, port, deadline_ms, out_list, out_error);
}
