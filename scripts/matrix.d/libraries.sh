# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154 # of scripts/matrix: dir, jobs, mirror
# Libraries that Debian does not have for a machine, from Debian's sources. Part of scripts/matrix.

# libraries TARGET: static libraries below $dir/libraries/TARGET, and a cross file $dir/TARGET.ini: for
# mips what core's tests need, for musl all but libsystemd, which wants glibc. xxHash's header is all
# of it.
libraries() {
    prefix=$dir/libraries/$1
    work=$dir/libraries/$1-work
    case $1 in
    musl)
        compiler=$prefix/bin/musl-cc
        tools=''
        triplet=x86_64-linux-musl
        by_cmake='cmocka jansson libuv1 utf8proc'
        by_configure='libsodium protobuf-c libseccomp sqlite3 libmicrohttpd qrencode'
        others='libinih openssl'
        ;;
    mips)
        compiler=mips-linux-gnu-gcc
        tools=mips-linux-gnu-
        triplet=mips-linux-gnu
        by_cmake='cmocka jansson'
        by_configure=libsodium
        others=
        ;;
    esac
    if [ ! -f "$prefix/complete" ]; then
        # shellcheck disable=SC2086 # words
        sources $by_cmake $by_configure $others || skip "Debian's sources cannot be had"
        build_libraries "$1"
        touch "$prefix/complete"
    fi
    cross_file "$1" >"$dir/$1.ini"
}

# sources NAME...: Debian 12's, into $dir/sources/NAME, by a list of their own: the machine's may have
# none. Debian 13's where a mirror has lost the older ones.
sources() {
    mkdir -p "$dir/sources/lists/partial"
    printf 'deb-src %s %s main\n' "$mirror" bookworm "$mirror" trixie >"$dir/sources/list"
    (
        cd "$dir/sources" || exit
        options="-q -o Dir::Etc::SourceList=$PWD/list -o Dir::Etc::SourceParts=/dev/null
            -o Dir::State::Lists=$PWD/lists -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
            -o APT::Sandbox::User=root"
        # shellcheck disable=SC2086 # words
        for name in "$@"; do
            [ ! -d "$name" ] || continue
            [ -f updated ] || apt-get $options update || exit 1
            touch updated
            apt-get $options source "$name/bookworm" || apt-get $options source "$name/trixie" || exit 1
            mv "$name"-[0-9]* "$name" || exit 1
        done
    )
}

build_libraries() {
    rm -rf "$prefix" "$work"
    mkdir -p "$prefix/bin" "$prefix/include" "$prefix/lib/pkgconfig" "$work"
    [ "$1" != musl ] || musl_compiler
    export CFLAGS='-O2 -fPIC' # libhearsay.so takes them in
    for name in $by_cmake; do
        cmake -S "$dir/sources/$name" -B "$work/$name" -DCMAKE_SYSTEM_NAME=Linux \
            -DCMAKE_C_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
            -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib -DWITH_STATIC_LIB=ON \
            -DWITH_EXAMPLES=OFF -DJANSSON_BUILD_DOCS=OFF -DJANSSON_EXAMPLES=OFF \
            -DJANSSON_WITHOUT_TESTS=ON -DLIBUV_BUILD_TESTS=OFF
        cmake --build "$work/$name" --target install -j "$jobs"
    done
    for name in $by_configure; do
        [ "$name" = sqlite3 ] || (cd "$dir/sources/$name" && autoreconf -i)
        mkdir "$work/$name"
        # Each knows some of the options; tclsh and gperf run here, protoc-c is Debian's.
        (
            cd "$work/$name" || exit
            "$dir/sources/$name/configure" CC="$compiler" --host="$triplet" --prefix="$prefix" \
                --disable-shared --disable-dependency-tracking --disable-asm --disable-protoc \
                --disable-tcl --disable-readline --disable-https --disable-doc --disable-examples \
                --without-tools
            make -s -j "$jobs" install
        )
    done
    library_xxhash
    for name in $others; do
        "library_$name"
    done
    unset CFLAGS
    # The linker would prefer these.
    rm -f "$prefix"/lib/lib*.so* "$prefix"/lib/lib*.la
    mv "$prefix/lib/libcmocka-static.a" "$prefix/lib/libcmocka.a"
    [ ! -f "$prefix/lib/libuv_a.a" ] || mv "$prefix/lib/libuv_a.a" "$prefix/lib/libuv.a"
}

# Libraries' headers are the system's, of which gcc does not warn; the kernel's are the same with musl.
musl_compiler() {
    mkdir "$prefix/kernel"
    cp -r /usr/include/linux /usr/include/asm-generic "$prefix/kernel/"
    cp -r "/usr/include/$(gcc -print-multiarch)/asm" "$prefix/kernel/"
    printf '#!/bin/sh\nexec musl-gcc -isystem %s -idirafter %s "$@"\n' "$prefix/include" \
        "$prefix/kernel" >"$compiler"
    chmod +x "$compiler"
}

# package NAME MODULE VERSION: for pkg-config.
package() {
    printf 'Name: %s\nDescription: %s\nVersion: %s\nCflags: -I%s\nLibs: -L%s -l%s\n' "$1" "$1" "$3" \
        "$prefix/include" "$prefix/lib" "$1" >"$prefix/lib/pkgconfig/$2.pc"
}

library_xxhash() {
    cp /usr/include/xxhash.h "$prefix/include/"
    printf '#define XXH_STATIC_LINKING_ONLY\n#define XXH_IMPLEMENTATION\n#include "xxhash.h"\n' \
        >"$work/xxhash.c"
    "$compiler" -O2 -fPIC -I "$prefix/include" -c "$work/xxhash.c" -o "$work/xxhash.o"
    "${tools}ar" rcs "$prefix/lib/libxxhash.a" "$work/xxhash.o"
    package xxhash libxxhash "$(pkg-config --modversion libxxhash)"
}

library_libinih() {
    cp "$dir/sources/libinih/ini.h" "$prefix/include/"
    "$compiler" -O2 -fPIC -c "$dir/sources/libinih/ini.c" -o "$work/ini.o"
    "${tools}ar" rcs "$prefix/lib/libinih.a" "$work/ini.o"
    package inih inih "$(pkg-config --modversion inih)"
}

library_openssl() {
    mkdir "$work/openssl"
    (
        cd "$work/openssl" || exit
        "$dir/sources/openssl/Configure" linux-x86_64 no-shared no-tests no-asm no-engine no-dso \
            no-module -fPIC CC="$compiler" --prefix="$prefix" --libdir=lib
        make -s -j "$jobs" build_libs
        make -s install_dev
    ) >"$work/openssl.log"
}

# Programs for mips are static: the emulator needs nothing else then.
cross_file() {
    cat <<INI
[binaries]
c = '$compiler'
ar = '${tools}ar'
nm = '${tools}nm'
size = '${tools}size'
strip = '${tools}strip'
pkgconfig = 'pkg-config'
INI
    [ "$1" != mips ] || echo "exe_wrapper = 'qemu-mips-static'"
    cat <<INI

[built-in options]
c_link_args = [$([ "$1" = musl ] || echo "'-static'")]

[properties]
pkg_config_libdir = '$prefix/lib/pkgconfig'
INI
    [ "$1" != musl ] || echo "needs_exe_wrapper = false"
    cat <<INI

[host_machine]
system = 'linux'
INI
    case $1 in
    musl) printf "cpu_family = 'x86_64'\ncpu = 'x86_64'\nendian = 'little'\n" ;;
    mips) printf "cpu_family = 'mips'\ncpu = 'mips'\nendian = 'big'\n" ;;
    esac
}
