/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/system/datadir.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "core/base/err.h"
#include "daemon/system/reason.h"
#include "tests/lib/check.h"

static char base[128];
static char reason[REASON_BYTES];

static const char *in_base(const char *name)
{
    static char path[256];

    (void)snprintf(path, sizeof(path), "%s%s", base, name);
    return path;
}

static int setup(void **state)
{
    (void)state;
    (void)snprintf(base, sizeof(base), "datadir-test-XXXXXX"); /* in the build folder */
    return mkdtemp(base) == NULL ? -1 : 0;
}

static int teardown(void **state)
{
    static const char *const names[] = {"/a/b/c/lock", "/a/b/c", "/a/b", "/a",
                                        "/lock",       "/file",  ""};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)remove(in_base(names[i]));
    }
    return 0;
}

static int lock(const char *directory, bool needs_storage, int *out_lock)
{
    return datadir_lock(directory, needs_storage, out_lock, reason);
}

TEST_WITH(test_makes_missing_directories_for_us_alone, setup, teardown)
{
    struct stat info;
    int held;

    assert_int_equal(lock(in_base("/a/b/c//"), false, &held), 0);
    assert_int_equal(stat(in_base("/a/b/c"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    datadir_unlock(held);
}

TEST_WITH(test_one_daemon_only, setup, teardown)
{
    int held;
    int second = -7;

    assert_int_equal(lock(base, false, &held), 0);
    assert_int_equal(lock(base, false, &second), -ERR_SYSTEM);
    assert_int_equal(second, -7);
    assert_non_null(strstr(reason, "another process"));
    assert_non_null(strstr(reason, base));
    datadir_unlock(held);
    assert_int_equal(lock(base, false, &held), 0);
    datadir_unlock(held);
}

TEST_WITH(test_refuses_a_memory_file_system, setup, teardown)
{
    char directory[] = "/dev/shm/hearsay-test-XXXXXX";
    struct statfs info;
    int held;

    if (statfs("/dev/shm", &info) != 0 || (unsigned long)info.f_type != TMPFS_MAGIC ||
        mkdtemp(directory) == NULL) {
        skip(); /* cmocka says so */
    }
    assert_int_equal(lock(directory, true, &held), -ERR_SYSTEM);
    assert_non_null(strstr(reason, directory));
    assert_non_null(strstr(reason, "durability = relaxed"));
    assert_int_equal(lock(directory, false, &held), 0);
    datadir_unlock(held);
    (void)snprintf(reason, sizeof(reason), "%s/lock", directory);
    assert_int_equal(unlink(reason), 0);
    assert_int_equal(rmdir(directory), 0);
}

TEST_WITH(test_accepts_storage, setup, teardown)
{
    struct statfs info;
    int held;

    if (statfs(base, &info) != 0 || (unsigned long)info.f_type == TMPFS_MAGIC) {
        skip(); /* built in memory */
    }
    assert_int_equal(lock(base, true, &held), 0);
    datadir_unlock(held);
}

TEST_WITH(test_refuses_what_others_may_write, setup, teardown)
{
    int held;

    assert_int_equal(chmod(base, 0770), 0);
    assert_int_equal(lock(base, false, &held), -ERR_SYSTEM);
    assert_non_null(strstr(reason, "chmod go-w"));
    assert_int_equal(chmod(base, 0755), 0); /* reading is no danger to what is stored */
    assert_int_equal(lock(base, false, &held), 0);
    datadir_unlock(held);
}

TEST_WITH(test_refuses_what_is_no_directory, setup, teardown)
{
    char path[300];
    int held;
    int fd;

    (void)snprintf(path, sizeof(path), "%s/file", base);
    fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    (void)close(fd);
    assert_int_equal(lock(path, false, &held), -ERR_SYSTEM);
    assert_non_null(strstr(reason, path));
    assert_int_equal(lock(in_base("/file/below"), false, &held), -ERR_SYSTEM);
    assert_int_equal(lock("", false, &held), -ERR_SYSTEM);
    /* A lock that is a link elsewhere is not followed. */
    assert_int_equal(symlink("file", in_base("/lock")), 0);
    assert_int_equal(lock(base, false, &held), -ERR_SYSTEM);
}

TEST_WITH(test_refuses_another_owner, setup, teardown)
{
    int held;

    if (geteuid() == 0) {
        assert_int_equal(chown(base, 12345, 12345), 0);
        assert_int_equal(lock(base, false, &held), -ERR_SYSTEM);
        assert_int_equal(chown(base, 0, 0), 0);
    } else {
        assert_int_equal(lock("/usr", false, &held), -ERR_SYSTEM);
    }
    assert_non_null(strstr(reason, "belongs to user"));
}
