/* SPDX-License-Identifier: Apache-2.0 */
/* Who pressed "Stay connected" is known after a restart, from a file that only this user wrote, and
 * so is the key of forms and drafts. */
#include "client/web/main/inner.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "daemon/system/log.h"
#include "tests/lib/check.h"

enum { STAY_NOW_MS = 7200 * 1000 };

static const struct http_address phone = {.family = 4, .bytes = {10, 0, 0, 7}, .device = 7};

static char folder[] = "web-stay-test-XXXXXX"; /* in the build folder */
static char absolute[4096];
static struct web_config config;
static struct stay first;
static struct stay second;

static const char *in_folder(const char *name)
{
    static char path[4096 + 32];

    (void)snprintf(path, sizeof(path), "%s/%s", absolute, name);
    return path;
}

static int stay_set_up(void **state)
{
    (void)state;
    (void)strcpy(folder + sizeof(folder) - sizeof("XXXXXX"), "XXXXXX");
    assert_non_null(mkdtemp(folder));
    assert_non_null(realpath(folder, absolute));
    memset(&config, 0, sizeof(config));
    config.portal = WEB_PORTAL_OFFLINE;
    assert_int_equal(setenv("RUNTIME_DIRECTORY", absolute, 1), 0);
    return 0;
}

static int stay_tear_down(void **state)
{
    (void)state;
    stay_close(&first);
    stay_close(&second);
    (void)unlink(in_folder("stayed"));
    (void)unlink(in_folder("other"));
    (void)unlink(in_folder("gateway.sock.stayed"));
    return rmdir(absolute);
}

static void press_and_end(void)
{
    stay_open(&first, &config, STAY_NOW_MS);
    portal_stay(first.portal, &phone, STAY_NOW_MS);
    stay_close(&first);
}

static bool is_known_at(int64_t now_ms)
{
    stay_open(&first, &config, now_ms);
    bool is_known = portal_stays(first.portal, &phone, now_ms);
    stay_close(&first);
    return is_known;
}

TEST_WITH(a_restart_forgets_nobody, stay_set_up, stay_tear_down)
{
    uint8_t key[STAY_DEVICE_KEY_BYTES];
    struct stat info;

    stay_open(&first, &config, STAY_NOW_MS);
    memcpy(key, first.device_key, sizeof(key));
    portal_stay(first.portal, &phone, STAY_NOW_MS);
    stay_close(&first);
    assert_int_equal(stat(in_folder("stayed"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    stay_open(&first, &config, STAY_NOW_MS + 1000);
    assert_true(portal_stays(first.portal, &phone, STAY_NOW_MS + 1000));
    assert_memory_equal(first.device_key, key,
                        sizeof(key)); /* so that the phone keeps its number */
    stay_close(&first);
    assert_true(is_known_at(STAY_NOW_MS + PORTAL_STAY_MS - 1));
    assert_false(is_known_at(STAY_NOW_MS + PORTAL_STAY_MS));
    assert_false(is_known_at(STAY_NOW_MS + 1000)); /* it has been forgotten in the file, too */
}

/* The folder of the socket was made by hand, and the system was started again. */
TEST_WITH(another_boot_forgets_all, stay_set_up, stay_tear_down)
{
    press_and_end();
    assert_false(is_known_at(STAY_NOW_MS - 1));
}

TEST_WITH(without_a_folder_it_is_beside_the_socket, stay_set_up, stay_tear_down)
{
    assert_int_equal(unsetenv("RUNTIME_DIRECTORY"), 0);
    (void)snprintf(config.server, sizeof(config.server), "%s/gateway.sock", folder);
    press_and_end();
    assert_int_equal(access(in_folder("gateway.sock.stayed"), F_OK), 0);
    assert_true(is_known_at(STAY_NOW_MS));
}

TEST_WITH(a_file_of_other_bytes_begins_anew, stay_set_up, stay_tear_down)
{
    FILE *file = fopen(in_folder("stayed"), "w");

    assert_non_null(file);
    assert_true(fputs("hearsay stayed0, and half a file", file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(in_folder("stayed"), 0600), 0);
    assert_false(is_known_at(STAY_NOW_MS));
    press_and_end();
    assert_true(is_known_at(STAY_NOW_MS));
}

static void assert_in_memory_only(void)
{
    stay_open(&first, &config, STAY_NOW_MS);
    assert_null(first.mapped);
    assert_null(first.device_key);
    assert_null(first.nonce_key);
    assert_ptr_equal(first.portal, &first.own);
    portal_stay(first.portal, &phone, STAY_NOW_MS);
    assert_true(portal_stays(first.portal, &phone, STAY_NOW_MS));
    stay_close(&first);
}

TEST_WITH(a_file_that_others_write_is_not_used, stay_set_up, stay_tear_down)
{
    int descriptor = open(in_folder("other"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

    assert_true(descriptor >= 0);
    (void)close(descriptor);
    assert_int_equal(symlink("other", in_folder("stayed")), 0);
    assert_in_memory_only();
    assert_int_equal(unlink(in_folder("stayed")), 0);
    char other[4096 + 32];
    (void)strcpy(other, in_folder("other"));
    assert_int_equal(link(other, in_folder("stayed")), 0);
    assert_in_memory_only();
    assert_int_equal(unlink(in_folder("stayed")), 0);
    assert_int_equal(rename(other, in_folder("stayed")), 0);
    assert_int_equal(chmod(in_folder("stayed"), 0622), 0);
    assert_in_memory_only();
    assert_int_equal(unlink(in_folder("stayed")), 0);
    assert_int_equal(mkfifo(in_folder("stayed"), 0600), 0);
    assert_in_memory_only(); /* and does not wait for a writer */
}

TEST_WITH(a_second_process_has_its_own, stay_set_up, stay_tear_down)
{
    stay_open(&second, &config, STAY_NOW_MS);
    assert_non_null(second.mapped);
    assert_in_memory_only();
}

TEST_WITH(without_a_portal_nobody_stays, stay_set_up, stay_tear_down)
{
    uint8_t key[NONCE_KEY_BYTES];

    press_and_end();
    config.portal = WEB_PORTAL_OFF;
    stay_open(&first, &config, STAY_NOW_MS);
    assert_null(first.device_key);
    memcpy(key, first.nonce_key, sizeof(key));
    stay_close(&first);
    config.portal = WEB_PORTAL_OFFLINE;
    stay_open(&first, &config, STAY_NOW_MS);
    assert_false(portal_stays(first.portal, &phone, STAY_NOW_MS));
    assert_memory_equal(first.nonce_key, key, sizeof(key));
    stay_close(&first);
}

TEST_WITH(the_moderators_page_has_no_file, stay_set_up, stay_tear_down)
{
    config.section = WEB_SECTION_MODERATE;
    assert_in_memory_only();
    assert_int_equal(access(in_folder("stayed"), F_OK), -1);
}

int main(void)
{
    first.lock = second.lock = -1;
    log_set_level(LOG_LEVEL_ERROR);
    return sodium_init() < 0 ? 1 : check_run(NULL, NULL);
}
