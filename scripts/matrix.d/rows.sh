# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154 # of scripts/matrix: dir, python, results
# The rows. Part of scripts/matrix.

# The black-box tests of rows that are too slow for all of them.
few='deposit query storage watch epochs moderation lifecycle cli cli_import cli_watch'

run_row() {
    case $1 in
    gcc-* | clang-*) row_compiler "${1%-*}" "${1#*-}" ;;
    i386 | armhf | arm64 | s390x) row_processor "$1" ;;
    debian12) row_debian "$1" bookworm ;;
    debian13) row_debian "$1" trixie ;;
    *) "row_$1" ;;
    esac
}

# Assertions are for our own mistakes: without them everything must be as before.
row_compiler() {
    need build test
    [ "$1" != clang ] || need clang
    case $2 in
    debug) set -- "$@" --buildtype=debug ;;
    release) set -- "$@" --buildtype=release ;;
    ndebug) set -- "$@" --buildtype=release -Db_ndebug=true ;;
    esac
    export CC="$1"
    where=$dir/$1-$2
    shift 2
    build "$where" "$@"
    check "$where" matrix -t 3 --suite unit --suite model --suite fault --suite fuzz \
        --suite integration --suite static
}

# With sanitizers gcc warns of what cannot be; without them it has been compiled in other rows.
row_asan() {
    need build test
    build "$dir/asan" -Dwerror=false -Db_sanitize=address,undefined -Db_lundef=false -Doptimization=1
    export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
    check "$dir/asan" matrix -t 6 --suite unit --suite model --suite fault --suite fuzz \
        --suite integration
}

# The threads: store's writer and readers, arranging, work that is taken off the loop.
row_tsan() {
    need build test
    build "$dir/tsan" -Dwerror=false -Db_sanitize=thread -Db_lundef=false -Doptimization=1
    export TSAN_OPTIONS=halt_on_error=0:second_deadlock_stack=1 HEARSAY_TEST_SLOWNESS=4
    check "$dir/tsan" matrix -t 8 --suite unit --suite integration
}

# Leaks are of what nothing points to any more; what a forked child leaves behind is its parent's.
row_valgrind() {
    need build test valgrind
    # Its processor has no AVX-512; the daemon and the tests take what there is.
    build "$dir/valgrind" --buildtype=debug -Doptimization=1
    memcheck="valgrind --quiet --error-exitcode=99 --leak-check=full --num-callers=24
        --show-leak-kinds=definite,indirect --errors-for-leak-kinds=definite,indirect"
    memcheck=$(echo "$memcheck" | tr -s ' \n' '  ')
    export HEARSAY_TEST_SLOWNESS=10 HEARSAY_TEST_BRIEF=1
    # Not those that are scripts: it is our own programs that are looked at.
    # shellcheck disable=SC2046 # names
    check "$dir/valgrind" memcheck-valgrind -t 30 --wrapper "$memcheck" --suite unit --suite model \
        $(programs "$dir/valgrind")
    export HEARSAY_WRAPPER="$memcheck"
    # shellcheck disable=SC2086 # names
    check "$dir/valgrind" blackbox -t 20 --suite integration $few
}

# programs DIRECTORY: names of the unit and model tests that are programs of ours.
programs() {
    meson introspect --tests "$1" | "$python" -c '
import json, sys
for test in json.load(sys.stdin):
    if {"unit", "model"} & {s.split(":")[-1] for s in test["suite"]} and test["cmd"][0].startswith(sys.argv[1]):
        print(test["name"])' "$1"
}

# All of it but what talks to systemd: OpenWrt's C library, and Alpine's.
row_musl() {
    need build test source musl
    unset CC CFLAGS LDFLAGS
    libraries musl
    build "$dir/musl" --cross-file "$dir/musl.ini" -Dtls=enabled -Dseccomp=enabled
    check "$dir/musl" matrix -t 3 --suite unit --suite model --suite fault --suite fuzz \
        --suite integration
}

# core alone: Debian has no libraries for it, and core needs few.
row_mips() {
    need build test source mips
    unset CC CFLAGS LDFLAGS
    libraries mips
    build "$dir/mips" --cross-file "$dir/mips.ini" -Dcore_only=true
    check "$dir/mips" matrix -t 10
}

row_processor() {
    need build test "$1"
    unset CC CFLAGS LDFLAGS
    processor "$1" || skip "Debian's libraries for $1 cannot be had"
    build "$dir/$1" --cross-file "$dir/$1.ini"
    export HEARSAY_WRAPPER="$wrapper"
    [ -z "$wrapper" ] || export HEARSAY_TEST_SLOWNESS=10
    check "$dir/$1" matrix -t 10 --suite unit --suite model --suite fuzz --suite integration
}

# The processor of many small routers: all of the code alone, and a part of the black-box tests.
row_mipsel() {
    need build test mipsel
    unset CC CFLAGS LDFLAGS
    processor mipsel || skip "Debian's libraries for mipsel cannot be had"
    build "$dir/mipsel" --cross-file "$dir/mipsel.ini"
    export HEARSAY_WRAPPER="$wrapper" HEARSAY_TEST_SLOWNESS=10
    check "$dir/mipsel" matrix -t 10 --suite unit --suite model --suite fuzz
    # shellcheck disable=SC2086 # names
    check "$dir/mipsel" blackbox -t 20 --suite integration $few web
}

# Each writes a database that all others open; see the test.
row_exchange() {
    need build test
    programs=$dir/exchange/programs
    rm -rf "$programs"
    export CC=gcc # as in the row that made the directory
    exchange_programs "$(dpkg --print-architecture)" "$dir/gcc-release" --buildtype=release
    unset CC CFLAGS LDFLAGS
    for machine in i386 armhf arm64 s390x; do
        if ! sh scripts/install-packages "$machine" || ! processor "$machine"; then
            leave_out "$machine: packages are missing, or its libraries"
            continue
        fi
        exchange_programs "$machine" "$dir/$machine" --cross-file "$dir/$machine.ini"
    done
    export HEARSAY_EXCHANGE="$programs" HEARSAY_TEST_DIR="$dir/exchange" HEARSAY_TEST_SLOWNESS=6
    output=$results/pytest
    verdict=OK
    "$python" -B -m pytest -q -ra -p no:cacheprovider tests/integration/exchange.py >"$output" 2>&1 ||
        verdict=FAIL
    cat "$output"
    "$python" -c '
import json, sys
text = open(sys.argv[2], encoding="utf-8", errors="replace").read()
print(json.dumps({"name": "exchange", "result": sys.argv[1], "stdout": text}))' \
        "$verdict" "$output" >"$results/exchange.json"
    echo "$results/exchange.json" >>"$results/logs"
}

# exchange_programs MACHINE DIRECTORY OPTION...: builds hearsayd and hearsay, and makes scripts that
# run them as MACHINE/hearsayd and MACHINE/hearsay.
exchange_programs() {
    machine=$1
    where=$2
    shift 2
    sh scripts/configure --tests "$where" -Dwerror=true "$@"
    ninja -C "$where" --quiet daemon/hearsayd client/hearsay
    mkdir -p "$programs/$machine"
    for program in daemon/hearsayd client/hearsay; do
        script=$programs/$machine/${program#*/}
        printf '#!/bin/sh\nexec %s %s "$@"\n' "${wrapper:-}" "$where/$program" >"$script"
        chmod +x "$script"
    done
}
