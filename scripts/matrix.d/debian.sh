# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154 # of scripts/matrix: dir, mirror, results
# A Debian of its own, with nothing but git and make. Part of scripts/matrix.

# row_debian NAME SUITE: a fresh system by debootstrap, a clone of the repository (what is committed)
# in it where every user gets, and there `make demo` and `.ci/run`, which install the packages that they need.
row_debian() {
    root=$dir/$1/root
    [ "$(id -u)" -eq 0 ] || skip "only root can make a Debian of its own"
    need debian
    rm -rf --one-file-system "$root"
    mkdir -p "$root"
    debootstrap --variant=minbase --include=git,make "$2" "$root" "$mirror" ||
        skip "a Debian $2 cannot be had: see $results/output"
    git clone --quiet --no-hardlinks . "$root/srv/hearsay"
    [ ! -d ../shared ] || cp -r ../shared "$root/srv/shared"
    for log in build/meson-logs/check build/meson-logs/check-rest build-asan/meson-logs/check-asan; do
        echo "$root/srv/hearsay/$log.json" >>"$results/logs"
    done
    # Mounts and processes end with the command.
    unshare --mount --pid --fork --kill-child --propagation private \
        sh scripts/matrix.d/debian-run "$root"
}
