#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds OpenWrt's ubusd, ubus, uci, jshn, procd and ujail, and a stand-in for netifd, into PREFIX.
# Does nothing if the same sources were built there before.
#
# usage: build.sh TARBALLS PREFIX
set -eu

tarballs=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$2"
prefix=$(cd "$2" && pwd)
parts='libubox ubus udebug uci procd'

# Two runs at a time would build into each other.
exec 9>"$prefix/lock"
flock 9

stamp=$(cat "$tarballs"/*.tar.gz "$here"/build.sh "$here"/netifd.c "$here"/strl.h | sha256sum)
if [ "$(cat "$prefix/stamp" 2>/dev/null)" = "$stamp" ]; then
    exit 0
fi
rm -rf "${prefix:?}"/[!l]* "$prefix/lib"
mkdir -p "$prefix/src"
for part in $parts base; do
    tar -xzf "$tarballs/$part.tar.gz" -C "$prefix/src"
done
cd "$prefix/src"

# The part of udebug that wants ucode is left out, and no warning is an error.
sed -i -e '/^FIND_PATH(ucode_include_dir/s/.*/SET(ucode_include_dir .)/' \
    -e '/^ADD_LIBRARY(ucode_lib/,/^TARGET_LINK_LIBRARIES(ucode_lib/d' \
    -e '/^INSTALL(TARGETS ucode_lib/,/^)/d' udebug/CMakeLists.txt
for part in $parts; do
    sed -i 's/ -Werror\( \|)\)/\1/' "$part/CMakeLists.txt"
done

flags="-I$prefix/include -Wno-error"
# Where the libraries are in the root that the tests make.
links="-L$prefix/lib -Wl,-rpath,/owrt/lib -Wl,-rpath-link,$prefix/lib"
# procd is built where its sources are.
make_part() {
    part=$1
    target=$2
    shift 2
    cmake -S "$part" -B "$part" -G Ninja -DCMAKE_INSTALL_PREFIX="$prefix" \
        -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_FLAGS="$flags" \
        -DCMAKE_SKIP_RPATH=ON -DCMAKE_EXE_LINKER_FLAGS="$links" \
        -DCMAKE_SHARED_LINKER_FLAGS="$links" "$@"
    # shellcheck disable=SC2086 # words
    ninja -C "$part" $target
}
make_part libubox install -DBUILD_LUA=OFF -DBUILD_EXAMPLES=OFF
make_part ubus install -DBUILD_LUA=OFF -DBUILD_EXAMPLES=OFF
make_part udebug install
make_part uci install -DBUILD_LUA=OFF
# glibc has strlcpy and strlcat from 2.38 on.
flags="$flags -D_GNU_SOURCE= -include $here/strl.h"
make_part procd "procd ujail" -DJAIL_SUPPORT=1
cp procd/procd procd/ujail "$prefix/sbin/"
# shellcheck disable=SC2086 # words
${CC:-cc} $flags -o "$prefix/sbin/netifd" "$here/netifd.c" $links -lubus -lubox -lblobmsg_json
echo "$stamp" >"$prefix/stamp"
