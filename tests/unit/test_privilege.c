/* SPDX-License-Identifier: Apache-2.0 */
/* Each in a child of its own: what is given up does not come back. */
#include "daemon/system/privilege.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <uv.h>

#include "daemon/system/reason.h"
#include "tests/lib/check.h"

enum { OTHER_USER = 65534 }; /* nobody, on Debian */

static char reason[REASON_BYTES];
static const struct privilege_user nobody = {
    .name = "nobody", .uid = OTHER_USER, .gid = OTHER_USER, .admin_group = PRIVILEGE_NO_GROUP};

/* What `act` returned: 0 if all was as expected. */
static int in_child(int (*act)(void))
{
    int status = 0;
    const pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        _exit(act());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

#define EXPECT(condition)                                                         \
    do {                                                                          \
        if (!(condition)) {                                                       \
            (void)fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition); \
            return 1;                                                             \
        }                                                                         \
    } while (0)

/* Whether this build, kernel or emulator has the filter. */
static int has_filter(void)
{
    const char *why = privilege_filter_calls();

    if (why != NULL) {
        (void)fprintf(stderr, "system calls are not filtered: %s\n", why);
    }
    return why == NULL ? 0 : 1;
}

/* There is none under a sanitizer, and under some emulators. */
static void skip_without_filter(void)
{
    if (in_child(has_filter) != 0) {
        skip();
    }
}

static void *answer(void *argument)
{
    return argument;
}

static int filtered(void)
{
    char *const arguments[] = {(char *)"/bin/true", NULL};
    pthread_t thread;
    void *got = NULL;

    EXPECT(privilege_filter_calls() == NULL);
    EXPECT(execv(arguments[0], arguments) == -1 && errno == EPERM);
    EXPECT(fork() == -1 && errno == EPERM);
    EXPECT(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == -1 && errno == EPERM);
    EXPECT(unshare(CLONE_NEWUSER) == -1 && errno == EPERM);
    EXPECT(mount("none", "/", "none", MS_REMOUNT | MS_BIND, NULL) == -1 && errno == EPERM);
    EXPECT(setuid(getuid()) == -1 && errno == EPERM);
    /* Threads and files are as before. */
    EXPECT(pthread_create(&thread, NULL, answer, &got) == 0);
    EXPECT(pthread_join(thread, &got) == 0 && got == &got);
    const int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    EXPECT(file >= 0 && close(file) == 0);
    return 0;
}

TEST(test_filter_refuses_what_a_store_never_needs)
{
    skip_without_filter();
    assert_int_equal(in_child(filtered), 0);
}

/* A thread that was there before the filter is under it, too. */
static pthread_barrier_t barrier;

static void *try_to_fork(void *argument)
{
    int *failed = argument;

    (void)pthread_barrier_wait(&barrier);
    *failed = fork() == -1 && errno == EPERM;
    return NULL;
}

static int filtered_in_other_threads(void)
{
    pthread_t thread;
    int failed = 0;

    EXPECT(pthread_barrier_init(&barrier, NULL, 2) == 0);
    EXPECT(pthread_create(&thread, NULL, try_to_fork, &failed) == 0);
    EXPECT(privilege_filter_calls() == NULL);
    (void)pthread_barrier_wait(&barrier);
    EXPECT(pthread_join(thread, NULL) == 0);
    EXPECT(failed);
    return 0;
}

TEST(test_filter_holds_for_threads_that_were_there)
{
    skip_without_filter();
    assert_int_equal(in_child(filtered_in_other_threads), 0);
}

/* --- the event loop under the filter ---------------------------------------------------------- */

/* io_uring_params has 120 bytes. A ring's descriptor, or -1 with errno. */
static int make_ring(void)
{
    char params[120] = {0};

    return (int)syscall(SYS_io_uring_setup, 8, params);
}

static void add_one(uv_poll_t *handle, int status, int events)
{
    int *count = handle->data;

    (void)status;
    (void)events;
    (*count)++;
    (void)uv_poll_stop(handle);
    uv_close((uv_handle_t *)handle, NULL);
}

/* One turn after another until the loop waits for nothing. Each handle is new to the kernel: libuv
 * 1.50 hands such changes to its ring, if it has one. */
static int events_of(uv_loop_t *loop)
{
    uv_poll_t handles[8];
    int ends[2];
    int count = 0;

    EXPECT(pipe(ends) == 0);
    EXPECT(write(ends[1], "x", 1) == 1);
    for (int i = 0; i < 8; i++) {
        EXPECT(uv_poll_init(loop, &handles[i], dup(ends[0])) == 0);
        handles[i].data = &count;
        EXPECT(uv_poll_start(&handles[i], UV_READABLE, add_one) == 0);
    }
    EXPECT(uv_run(loop, UV_RUN_DEFAULT) == 0);
    EXPECT(count == 8);
    return 0;
}

static int loop_without_a_ring(void)
{
    uv_loop_t loop;

    EXPECT(setenv("UV_USE_IO_URING", "1", 1) == 0);
    EXPECT(privilege_refuse_rings() == NULL);
    EXPECT(make_ring() == -1 && errno == ENOSYS);
    EXPECT(uv_loop_init(&loop) == 0);
    EXPECT(privilege_filter_calls() == NULL);
    EXPECT(events_of(&loop) == 0);
    EXPECT(uv_loop_close(&loop) == 0);
    return 0;
}

/* A libuv before 1.45 has no rings; integration/privilege plays a later one. */
TEST(test_loop_runs_under_the_filter)
{
    skip_without_filter();
    assert_int_equal(in_child(loop_without_a_ring), 0);
}

/* --- users ------------------------------------------------------------------------------------ */

TEST(test_unknown_users_and_root_are_refused)
{
    struct privilege_user user;

    assert_true(privilege_find("no-such-user-4711", &user, reason) < 0);
    assert_non_null(strstr(reason, "there is no user `no-such-user-4711`"));
    assert_true(privilege_find("root", &user, reason) < 0);
    assert_non_null(strstr(reason, "is root"));
}

static int without_way_back(void)
{
    char why[REASON_BYTES] = "";
    char line[256];
    unsigned long long effective = 1;
    FILE *status;

    EXPECT(privilege_drop(&nobody, why) == 0);
    EXPECT(getuid() == OTHER_USER && geteuid() == OTHER_USER && getgid() == OTHER_USER);
    EXPECT(setuid(0) == -1 && setgid(0) == -1);
    status = fopen("/proc/self/status", "re");
    EXPECT(status != NULL);
    while (fgets(line, sizeof(line), status) != NULL) {
        (void)sscanf(line, "CapEff: %llx", &effective);
    }
    (void)fclose(status);
    EXPECT(effective == 0);
    return 0;
}

TEST(test_root_becomes_the_user_for_good)
{
    if (geteuid() != 0) {
        skip(); /* only root can become somebody else */
    }
    assert_int_equal(in_child(without_way_back), 0);
}

/* The group of root does not stay with the owner of a directory. */
static int without_the_group_of_root(void)
{
    char base[] = "privilege-test-XXXXXX"; /* in the build folder */
    char name[PRIVILEGE_NAME_BYTES];
    char why[REASON_BYTES] = "";
    struct privilege_user owner;
    gid_t groups[64];

    EXPECT(mkdtemp(base) != NULL);
    bool is_owned = chown(base, OTHER_USER, OTHER_USER) == 0;
    bool is_found = is_owned && privilege_find_owner(base, &owner, name);
    EXPECT(rmdir(base) == 0);
    EXPECT(is_found && owner.uid == OTHER_USER && owner.admin_group == PRIVILEGE_NO_GROUP);
    EXPECT(privilege_drop(&owner, why) == 0);
    int count = getgroups(64, groups);
    EXPECT(count >= 0);
    for (int i = 0; i < count; i++) {
        EXPECT(groups[i] != 0);
    }
    return 0;
}

TEST(test_root_becomes_the_owner_of_a_directory)
{
    if (geteuid() != 0) {
        skip(); /* only root can become somebody else */
    }
    assert_int_equal(in_child(without_the_group_of_root), 0);
}

static int others_are_not_ours_to_become(void)
{
    char why[REASON_BYTES] = "";
    struct privilege_user user;

    EXPECT(geteuid() != 0 || setuid(OTHER_USER) == 0);
    EXPECT(privilege_find("daemon", &user, why) < 0);
    EXPECT(strstr(why, "only root can become user `daemon`") != NULL);
    return 0;
}

TEST(test_who_is_not_root_becomes_nobody_else)
{
    assert_int_equal(in_child(others_are_not_ours_to_become), 0);
}

/* --- the data directory ----------------------------------------------------------------------- */

/* Makes a directory for the other user below `base`, a template of mkdtemp. */
static void make_for_the_user(char *base, const char *below, char path[64])
{
    struct stat info;

    if (geteuid() != 0) {
        skip(); /* only root can give a directory away */
    }
    assert_non_null(mkdtemp(base));
    (void)snprintf(path, 64, "%s/%s", base, below);
    assert_int_equal(privilege_make_directory(path, &nobody, reason), 0);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_uid, OTHER_USER);
    assert_int_equal(info.st_mode & 0777, 0700);
}

TEST(test_directory_is_made_for_the_user)
{
    char base[] = "privilege-test-XXXXXX"; /* in the build folder */
    char path[64];
    char inside[80];
    struct stat info;

    make_for_the_user(base, "a/b", path);

    /* One that is there is the user's, or root's and empty, as where a start was killed before it
     * gave it away; or it is not taken. */
    assert_int_equal(privilege_make_directory(path, &nobody, reason), 0);
    assert_int_equal(chown(path, 0, 0), 0);
    assert_int_equal(privilege_make_directory(path, &nobody, reason), 0);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_uid, OTHER_USER);
    (void)snprintf(inside, sizeof(inside), "%s/c", path);
    assert_int_equal(mkdir(inside, 0700), 0);
    assert_int_equal(chown(path, 0, 0), 0);
    assert_true(privilege_make_directory(path, &nobody, reason) < 0);
    assert_non_null(strstr(reason, "run `chown -R nobody "));
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_uid, 0);

    assert_int_equal(rmdir(inside), 0);
    assert_int_equal(rmdir(path), 0);
    (void)snprintf(path, sizeof(path), "%s/a", base);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0755);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(base), 0);
}

TEST(test_directory_with_slashes_at_its_end)
{
    char base[] = "privilege-test-XXXXXX"; /* in the build folder */
    char path[64];

    make_for_the_user(base, "a//", path);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(base), 0);
}

TEST(test_directory_that_cannot_be_made)
{
    assert_true(privilege_make_directory("/proc/none/data", &nobody, reason) < 0);
    assert_non_null(strstr(reason, "/proc/none/data"));
    assert_true(privilege_make_directory("", &nobody, reason) < 0);
}
