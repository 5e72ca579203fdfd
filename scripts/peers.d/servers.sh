# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154 # dir and build are those of scripts/peers
# Part of scripts/peers: hearsayd and PostgreSQL with pgvector, run side by side for tests/peers/server.c.
#
# PostgreSQL and pgvector are Debian 13's packages, in a Debian 13 that debootstrap makes below the directory
# of `make peers`, once. The directories of the servers' data are there, too, on one file system.

# Makes the Debian; says why not, and fails.
make_debian() {
    debian=$dir/debian13
    [ ! -f "$debian/.made" ] || return 0
    [ "$(id -u)" -eq 0 ] || { say "SKIPPED pgvector: only root can make a Debian 13 with it"; return 1; }
    command -v debootstrap >/dev/null || { say "SKIPPED pgvector: there is no debootstrap"; return 1; }
    say "making a Debian 13 with PostgreSQL and pgvector in $debian"
    rm -rf "$debian"
    # In mounts of its own, since it leaves /proc mounted there.
    unshare --mount --propagation private debootstrap --variant=minbase --include=postgresql-17,postgresql-17-pgvector trixie \
        "$debian" "${PEERS_MIRROR:-http://deb.debian.org/debian}" >"$dir/debian13.log" 2>&1 ||
        { say "SKIPPED pgvector: debootstrap failed, see $dir/debian13.log"; return 1; }
    touch "$debian/.made"
}

# Runs a program of the Debian as the user postgres, in mounts of its own, which end with the program. The shell
# becomes the program, so that it has the shell's process id: in_debian PROGRAM ARGUMENT...
in_debian() {
    # shellcheck disable=SC2016,SC2086 # the inner shell's variables; words, or nothing
    exec ${PEERS_UNDER:-} unshare --mount --propagation private sh -ec '
        debian=$1 sockets=$2
        shift 2
        mount -t proc proc "$debian/proc"
        mount --rbind /dev "$debian/dev"
        mount --bind "$sockets" "$debian/run/postgresql"
        exec chroot --userspec=postgres:postgres "$debian" "$@"' sh "$debian" "$sockets" "$@"
}

# Waits until a command succeeds, for a minute at most: wait_for NAME PID COMMAND...
wait_for() {
    name=$1 pid=$2 left=600
    shift 2
    until "$@" >/dev/null 2>&1; do
        left=$((left - 1))
        if [ $left -eq 0 ] || ! kill -0 "$pid" 2>/dev/null; then
            say "$name does not start, see $dir/*.log"
            return 1
        fi
        sleep 0.1
    done
}

# Ends the servers and removes their data.
stop_servers() {
    for pid in $daemon_pid $postgres_pid; do
        kill -INT "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    rm -rf "$sockets" "$dir/hearsay" "$debian/var/lib/postgresql/peers"
}

# Starts hearsayd with the data that it has, and waits until it takes requests.
start_hearsayd() {
    : >"$dir/hearsayd.log"
    # shellcheck disable=SC2086 # words, or nothing
    ${PEERS_UNDER:-} "$build/daemon/hearsayd" --config "$dir/hearsay/conf" --data "$dir/hearsay/data" \
        >"$dir/hearsayd.log" 2>&1 &
    daemon_pid=$!
    wait_for hearsayd "$daemon_pid" grep -q ready: "$dir/hearsayd.log" || exit 1
}

# Measures in one run, with new servers: beside_pgvector OPTION...
beside_pgvector() (
    make_debian || exit 0
    bin=/usr/lib/postgresql/17/bin database=/var/lib/postgresql/peers
    daemon_pid='' postgres_pid=''
    sockets=$(mktemp -d)
    trap stop_servers EXIT
    trap 'exit 1' INT TERM
    chown "$(stat -c %u:%g "$debian/var/lib/postgresql")" "$sockets"
    rm -rf "$dir/hearsay" "$debian$database"
    mkdir "$dir/hearsay"

    # All in memory, no statement is compiled anew, and deposits are durable: fsync and
    # synchronous_commit stay on, as they are without a word.
    (in_debian $bin/initdb --auth=trust --encoding=UTF8 --no-locale --pgdata=$database) >"$dir/initdb.log" 2>&1
    (in_debian $bin/postgres -D $database -k /run/postgresql -c listen_addresses= -c max_connections=100 \
        -c shared_buffers=2GB -c effective_cache_size=4GB -c work_mem=64MB -c max_wal_size=8GB -c jit=off \
        -c random_page_cost=1.1 -c checkpoint_timeout=1h) >"$dir/postgres.log" 2>&1 &
    postgres_pid=$!
    cat >"$dir/hearsay/conf" <<CONF
[daemon]
listen = $sockets/hearsayd
[limits]
messages = 5000000
bytes = 8G
cache = 64M
CONF
    start_hearsayd
    # shellcheck disable=SC2086 # words, or nothing
    ${PEERS_UNDER:-} "$dir/server" --hearsayd "$sockets/hearsayd" --postgres none --fill "$@" || exit 1
    kill -INT "$daemon_pid"
    wait "$daemon_pid" || true
    start_hearsayd
    wait_for hearsayd "$daemon_pid" grep -q arranged "$dir/hearsayd.log" || exit 1
    wait_for PostgreSQL "$postgres_pid" test -S "$sockets/.s.PGSQL.5432" || exit 1
    # shellcheck disable=SC2086 # words, or nothing
    ${PEERS_UNDER:-} "$dir/server" --hearsayd "$sockets/hearsayd" --postgres "host=$sockets user=postgres dbname=postgres" "$@"
)
