/* SPDX-License-Identifier: Apache-2.0 */
/* The moderators' page does without a guests' file only where there is none. */
#include <errno.h>
#include <unistd.h>

#include "client/web/setup/config.h"
#include "client/web/setup/moderate.h"
#include "client/web/setup/options.h"
#include "daemon/settings/table.h"
#include "tests/lib/check.h"

int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);

static int error_of_access;

int __wrap_access(const char *path, int mode)
{
    (void)path;
    (void)mode;
    errno = error_of_access;
    return -1;
}

TEST(test_errors)
{
    static const int errors[] = {ENOENT, EACCES, ELOOP, ENOTDIR, EIO};
    static struct web_config config;
    static char reason[SETTINGS_REASON_BYTES];

    if (__real_access("/etc/hearsay/web.conf", F_OK) == 0) {
        skip(); /* this machine has guests of its own */
    }
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        error_of_access = errors[i];
        reason[0] = '\0';
        web_config_defaults(WEB_SECTION_MODERATE, &config);
        assert_int_equal(web_moderate_finish(&config, &web_program, reason), SETTINGS_REFUSED);
        assert_non_null(strstr(reason, errors[i] == ENOENT ? "`password`" : "`guests`"));
    }
}
