/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/system/privilege.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/system/datadir.h"
#include "daemon/system/reason.h"

/* Maximum number of groups of a process that joins `admin_group`. */
enum { GROUPS_MAX = 256 };

bool privilege_is_root(void)
{
    return geteuid() == 0;
}

int privilege_look_up(const char *key, const char *name, struct privilege_user *out_user,
                      char *out_reason)
{
    errno = 0;
    const struct passwd *entry = getpwnam(name);

    if (entry == NULL) {
        return reason_set(out_reason,
                          "there is no user `%s` (`%s`)%s%s: make one, for instance with "
                          "`systemd-sysusers` or `useradd --system %s`, or set another",
                          name, key, errno != 0 ? ": " : "", errno != 0 ? strerror(errno) : "",
                          name);
    }
    if (entry->pw_uid == 0) {
        return reason_set(out_reason,
                          "`%s = %s` is root, who may do anything: set one without rights", key,
                          name);
    }
    *out_user = (struct privilege_user){.name = name,
                                        .uid = entry->pw_uid,
                                        .gid = entry->pw_gid,
                                        .admin_group = PRIVILEGE_NO_GROUP};
    return 0;
}

int privilege_look_up_peer(const char *key, const char *name, struct privilege_user *out_user,
                           char *out_reason)
{
    struct privilege_user user;
    int rc = privilege_look_up(key, name, &user, out_reason);

    if (rc == 0 && user.uid == PRIVILEGE_UNKNOWN_UID) {
        return reason_set(out_reason,
                          "`%s = %s` is user %d, whose number the kernel also gives to users that "
                          "it cannot tell apart, as in a container: set a user with a number of "
                          "its own",
                          key, name, PRIVILEGE_UNKNOWN_UID);
    }
    if (rc == 0) {
        *out_user = user;
    }
    return rc;
}

int privilege_find(const char *name, struct privilege_user *out_user, char *out_reason)
{
    struct privilege_user user;

    int rc = privilege_look_up("user", name, &user, out_reason);
    if (rc != 0) {
        return rc;
    }
    if (!privilege_is_root() && geteuid() != user.uid) {
        return reason_set(
            out_reason,
            "only root can become user `%s` (`user`): start the program as root or as "
            "that user, or leave the setting out",
            name);
    }
    *out_user = user;
    return 0;
}

int privilege_find_group(const char *name, gid_t *out_group, char *out_reason)
{
    errno = 0;
    const struct group *entry = getgrnam(name);

    if (entry == NULL) {
        return reason_set(out_reason,
                          "there is no group `%s` (`admin_group`)%s%s: make one, for instance with "
                          "`groupadd --system %s`, or name one that is there",
                          name, errno != 0 ? ": " : "", errno != 0 ? strerror(errno) : "", name);
    }
    *out_group = entry->gr_gid;
    return 0;
}

bool privilege_find_owner(const char *directory, struct privilege_user *out_user, char *out_name)
{
    struct stat info;

    if (stat(directory, &info) != 0 || info.st_uid == 0) {
        return false;
    }
    const struct passwd *entry = getpwuid(info.st_uid);
    if (entry != NULL) {
        (void)snprintf(out_name, PRIVILEGE_NAME_BYTES, "%s", entry->pw_name);
    } else {
        (void)snprintf(out_name, PRIVILEGE_NAME_BYTES, "%lu", (unsigned long)info.st_uid);
    }
    *out_user = (struct privilege_user){.name = out_name,
                                        .uid = info.st_uid,
                                        .gid = entry != NULL ? entry->pw_gid : info.st_gid,
                                        .admin_group = PRIVILEGE_NO_GROUP};
    return true;
}

/* --- the data directory ----------------------------------------------------------------------- */

int privilege_make_directory(const char *directory, const struct privilege_user *user,
                             char *out_reason)
{
    char path[DATADIR_PATH_BYTES];
    struct stat info;
    bool made = false;
    /* Root owns the parents, and the user must be able to enter. */
    int rc = datadir_make(directory, 0755, path, &made, out_reason);

    if (rc == 0 && !made && stat(path, &info) == 0 && info.st_uid == 0 && rmdir(path) == 0) {
        /* It was empty: a start was killed before it gave the directory to the user. */
        rc = datadir_make(directory, 0755, path, &made, out_reason);
    }
    if (rc != 0) {
        return rc;
    }
    if (!made && stat(path, &info) == 0 && info.st_uid != user->uid) {
        return reason_set(
            out_reason,
            "the data directory %s belongs to user %lu, but the program goes on as `%s`: "
            "run `chown -R %s %s`, or set another directory",
            directory, (unsigned long)info.st_uid, user->name, user->name, directory);
    }
    if (made && lchown(path, user->uid, user->gid) != 0) {
        return reason_set(out_reason, "cannot give the data directory %s to `%s`: %s", directory,
                          user->name, strerror(errno));
    }
    return 0;
}

/* --- becoming the user ------------------------------------------------------------------------ */

static int privilege_fail(const struct privilege_user *user, const char *what, char *out_reason)
{
    return reason_set(out_reason, "cannot become user `%s`: %s: %s", user->name, what,
                      strerror(errno));
}

/* Drops the ambient, effective, permitted and inheritable capabilities. A process that is not root
 * may have some, too. libc has no function for this. */
static int drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};

    /* Kernels before 4.3 have no ambient set. */
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 && errno != EINVAL) {
        return -1;
    }
    return syscall(SYS_capset, &header, none) == 0 ? 0 : -1;
}

/* Sets the groups of the process: the groups of the user, and `admin_group` if there is one.
 * Without capabilities a process can give a socket file only to a group that the process is in. */
static int take_groups(const struct privilege_user *user)
{
    gid_t groups[GROUPS_MAX];

    if (initgroups(user->name, user->gid) != 0) {
        return -1;
    }
    if (user->admin_group == PRIVILEGE_NO_GROUP) {
        return 0;
    }
    int count = getgroups(GROUPS_MAX, groups);
    if (count < 0) {
        return -1;
    }
    for (int i = 0; i < count; i++) {
        if (groups[i] == user->admin_group) {
            return 0;
        }
    }
    if (count == GROUPS_MAX) {
        errno = EINVAL;
        return -1;
    }
    groups[count] = user->admin_group;
    return setgroups((size_t)count + 1, groups);
}

/*
 * With HEARSAY_END_WITH_PARENT in the environment, the kernel kills the process when its parent
 * ends. procd's jail cannot end what is in it when it is killed itself, and the process would hold
 * the port. A change of user takes such a wish away, so it comes after. A parent that has ended
 * before is not noticed: in a jail, getppid says 0 then and now.
 */
static int follow_parent(void)
{
    return getenv("HEARSAY_END_WITH_PARENT") == NULL ? 0 : prctl(PR_SET_PDEATHSIG, SIGKILL);
}

int privilege_drop(const struct privilege_user *user, char *out_reason)
{
    if (privilege_is_root()) {
        if (take_groups(user) != 0) {
            return privilege_fail(user, "groups", out_reason);
        }
        if (setresgid(user->gid, user->gid, user->gid) != 0) {
            return privilege_fail(user, "group", out_reason);
        }
        if (setresuid(user->uid, user->uid, user->uid) != 0) {
            return privilege_fail(user, "user", out_reason);
        }
    }
    if (drop_capabilities() != 0) {
        return privilege_fail(user, "capabilities", out_reason);
    }
    if (follow_parent() != 0) {
        return privilege_fail(user, "an end with the parent", out_reason);
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return privilege_fail(user, "no new privileges", out_reason);
    }
    if (setuid(0) == 0 || seteuid(0) == 0) {
        return reason_set(out_reason, "user `%s` could become root again: not going on like that",
                          user->name);
    }
    return 0;
}
