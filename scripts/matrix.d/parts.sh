# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154 # of scripts/matrix: dir, jobs, python, results
# What the rows are made of. Part of scripts/matrix.

# What the results are of.
versions() {
    echo "$(date -u '+%-d %B %Y'), $(git describe --always --dirty), $(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' \
        /etc/os-release), Linux $(uname -r), $(uname -m), $(nproc) processors"
    for tool in gcc clang valgrind qemu-s390x-static; do
        ! command -v "$tool" >/dev/null || "$tool" --version | sed -n '/[0-9]\.[0-9]/{p;q;}'
    done
}

# skip REASON: ends the row, which this machine cannot do.
skip() {
    echo "$1" >"$results/skip"
    echo "skipped: $1"
    exit 0
}

# leave_out REASON: the row goes on without a part.
leave_out() {
    echo "skipped: $1" | tee -a "$results/left-out"
}

# need GROUP...: packages, or the row is skipped.
need() {
    sh scripts/install-packages "$@" || skip "packages are missing: $*"
}

# build DIRECTORY OPTION...: with the tests. Warnings are errors, unless an option says otherwise.
build() {
    built=$1
    shift
    sh scripts/configure --tests "$built" -Dwerror=true "$@"
    ninja -C "$built" --quiet
}

# check DIRECTORY LOG OPTION...: meson's tests; their log is named, so that one row may have several.
# meson adds a wrapper's name to it: a log of valgrind's ends in -valgrind.
check() {
    built=$1
    log=$2
    shift 2
    rm -f "$built/meson-logs/$log.json"
    echo "$built/meson-logs/$log.json" >>"$results/logs"
    meson test -C "$built" --no-rebuild --logbase "${log%-valgrind}" --num-processes "$jobs" --print-errorlogs "$@" ||
        echo "meson says that it failed"
}

# run_bounded ROW MINUTES: runs it, and says in a line how it went.
run_bounded() {
    results=$dir/results/$1
    rm -rf "$results"
    mkdir -p "$results"
    began=$(date +%s)
    ended=0
    timeout --kill-after=60 "$2m" sh scripts/matrix --row "$1" >"$results/output" 2>&1 </dev/null &
    child=$! # in a group of its own, which no key reaches
    trap 'kill "$child" 2>/dev/null; exit 130' INT TERM
    wait "$child" || ended=$?
    trap - INT TERM
    # shellcheck disable=SC2046 # paths without blanks
    "$python" -B scripts/count_tests.py $(cat "$results/logs" 2>/dev/null) >"$results/counts" || true
    # shellcheck disable=SC2046 # three numbers
    set -- "$1" "$2" $(tail -n 1 "$results/counts" | tr -cd '0-9 ')
    sed -i '$d' "$results/counts"
    more=$(grep -c . "$results/left-out" 2>/dev/null || true)
    skipped=$(($5 + ${more:-0}))
    failed=$4
    remark=
    if [ -f "$results/skip" ]; then
        skipped=$((skipped + 1))
        remark=": $(cat "$results/skip")"
    elif [ "$ended" -eq 124 ] || [ "$ended" -eq 137 ]; then
        failed=$((failed + 1))
        remark=": not done in $2 minutes"
    elif [ "$ended" -ne 0 ] || [ "$3" -eq 0 ]; then
        failed=$((failed + 1))
        remark=": see $results/output"
    fi
    took=$(($(date +%s) - began))
    printf '%s: passed %d, failed %d, skipped %d, %d.%d minutes%s\n' "$1" "$3" "$failed" "$skipped" \
        "$((took / 60))" "$((took % 60 / 6))" "$remark" | tee "$results/line"
    cat "$results/counts" "$results/left-out" 2>/dev/null | sed 's/^/    /' | sort | uniq -c | sed 's/^ *1 \( *\)/    \1/'
    [ "$failed" -eq 0 ]
}
