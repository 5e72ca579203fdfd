/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/main/inner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "daemon/system/log.h"

enum { STAY_PATH_BYTES = 4096 };

/*
 * The file is the table itself, mapped into memory: what is written there outlives the process,
 * even one that is killed, and pressing the button costs no system call. The service manager's
 * folder is in memory, too, so nothing wears flash, and all of it is gone when the access point is
 * off.
 */
struct stay_file {
    char mark[16]; /* says the layout; last written, so that half a file is none */
    uint8_t device_key[STAY_DEVICE_KEY_BYTES];
    uint8_t nonce_key[NONCE_KEY_BYTES];
    struct portal portal;
};

static const char stay_mark[16] = "hearsay stayed2";

static int write_path(const struct web_config *config, char *out_path)
{
    const char *folder = getenv("RUNTIME_DIRECTORY");
    bool has_folder = folder != NULL && folder[0] == '/';
    int length = has_folder ? snprintf(out_path, STAY_PATH_BYTES, "%s/stayed", folder)
                            : snprintf(out_path, STAY_PATH_BYTES, "%s.stayed", config->server);

    return length < STAY_PATH_BYTES ? 0 : ENAMETOOLONG;
}

/* Whether the descriptor is a file that only this user writes, and that no other process uses. The
 * folder may be another user's, who could put a link there. Returns 0 or an error number. */
static int check_file(int descriptor)
{
    struct stat status;

    if (fstat(descriptor, &status) != 0) {
        return errno;
    }
    if (!S_ISREG(status.st_mode) || status.st_nlink != 1 || status.st_uid != geteuid() ||
        (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return EPERM;
    }
    return flock(descriptor, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
}

/* Gives the file its size, with memory behind each byte: a write to the map must not fail later.
 * Returns 0 or an error number. */
static int map_file(struct stay *stay)
{
    int rc = posix_fallocate(stay->lock, 0, sizeof(struct stay_file));
    void *mapped = MAP_FAILED;

    if (rc == 0) {
        mapped =
            mmap(NULL, sizeof(struct stay_file), PROT_READ | PROT_WRITE, MAP_SHARED, stay->lock, 0);
        rc = mapped != MAP_FAILED ? 0 : errno;
    }
    stay->mapped = rc == 0 ? mapped : NULL;
    return rc;
}

static void read_file(struct stay *stay, bool is_offline, int64_t now_ms)
{
    struct stay_file *file = stay->mapped;
    bool is_new = memcmp(file->mark, stay_mark, sizeof(stay_mark)) != 0;

    if (is_new || !is_offline) { /* nobody stays any more */
        portal_init(&file->portal);
    }
    if (is_new) {
        randombytes_buf(file->device_key, sizeof(file->device_key));
        randombytes_buf(file->nonce_key, sizeof(file->nonce_key));
        memcpy(file->mark, stay_mark, sizeof(stay_mark));
    }
    portal_tidy(&file->portal, now_ms);
    stay->portal = &file->portal;
    stay->device_key = is_offline ? file->device_key : NULL; /* else of no use behind a restart */
    stay->nonce_key = file->nonce_key;
}

void stay_open(struct stay *stay, const struct web_config *config, int64_t now_ms)
{
    char path[STAY_PATH_BYTES];

    memset(stay, 0, sizeof(*stay));
    stay->lock = -1;
    portal_init(&stay->own);
    stay->portal = &stay->own;
    int rc = write_path(config, path);
    if (config->section != WEB_SECTION_WEB) {
        return;
    }
    if (rc == 0) {
        stay->lock = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
        rc = stay->lock >= 0 ? check_file(stay->lock) : errno;
    }
    rc = rc == 0 ? map_file(stay) : rc;
    if (rc == 0) {
        read_file(stay, config->portal == WEB_PORTAL_OFFLINE, now_ms);
        return;
    }
    const char *why = rc == EWOULDBLOCK ? "another process uses it" : strerror(rc);
    if (config->portal == WEB_PORTAL_OFFLINE) {
        log_warning(
            "cannot use the file %s, which lasts over a restart of hearsay-web: %s. After a "
            "restart guests must press \"Stay connected\" again, and drafts on their phones "
            "are lost",
            path, why);
    } else {
        log_info("cannot use the file %s, which lasts over a restart of hearsay-web: %s. After a "
                 "restart drafts on phones are lost",
                 path, why);
    }
    stay_close(stay);
}

void stay_close(struct stay *stay)
{
    if (stay->mapped != NULL) {
        (void)munmap(stay->mapped, sizeof(*stay->mapped));
        stay->mapped = NULL;
        stay->portal = &stay->own;
        stay->device_key = NULL;
        stay->nonce_key = NULL;
    }
    if (stay->lock >= 0) {
        (void)close(stay->lock);
        stay->lock = -1;
    }
}
