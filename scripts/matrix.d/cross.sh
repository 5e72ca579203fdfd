# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154 # of scripts/matrix: dir, jobs, mirror
# Compiling for, and running on, what this machine is not. Part of scripts/matrix.

# What we and our tests are linked with.
debian_libraries=libc6-dev,libuv1-dev,libprotobuf-c-dev,libxxhash-dev,libsqlite3-dev,libsodium-dev,\
libinih-dev,libjansson-dev,libutf8proc-dev,uthash-dev,libsystemd-dev,libseccomp-dev,libssl-dev,\
libcmocka-dev

# processor MACHINE: a folder with Debian's libraries, a cross file, and `wrapper`, what to run its
# programs with; nothing for i386 where the kernel runs it. Fails if the libraries cannot be had.
processor() {
    root=$dir/sysroot/$1
    case $1 in
    i386) triplet=i686-linux-gnu folder=i386-linux-gnu emulator=i386 family=x86 endian=little ;;
    armhf) triplet=arm-linux-gnueabihf folder=$triplet emulator=arm family=arm endian=little ;;
    arm64) triplet=aarch64-linux-gnu folder=$triplet emulator=aarch64 family=aarch64 endian=little ;;
    s390x) triplet=s390x-linux-gnu folder=$triplet emulator=s390x family=s390x endian=big ;;
    esac
    [ -f "$root/complete" ] || unpack "$1" || return 1
    wrapper="qemu-$emulator-static -L $root"
    native=
    [ "$1" != i386 ] || try_native
    processor_cross_file >"$dir/$1.ini.new"
    # The same file again would be another one to meson.
    cmp -s "$dir/$1.ini.new" "$dir/$1.ini" || cp "$dir/$1.ini.new" "$dir/$1.ini"
}

# The libraries are unpacked and not installed: nothing has to run on the other processor for that.
unpack() {
    rm -rf "$root"
    mkdir -p "$dir/sysroot"
    mmdebstrap --quiet --mode=root --variant=extract --architectures="$1" \
        --include="$debian_libraries" bookworm "$root" "$mirror" || return 1
    # The emulator prefers what is here: only libraries may be.
    (cd "$root" && rm -rf boot dev etc home media mnt opt proc run srv sys tmp var)
    find "$root" -type l -lname '/*' | while read -r link; do
        ln -srfn "$root$(readlink "$link")" "$link" # the linker follows them
    done
    touch "$root/complete"
}

# i386 needs no emulator where the kernel has it: the programs name the folder's loader and libraries.
try_native() {
    native="'-Wl,--dynamic-linker=$root/lib/ld-linux.so.2', '-Wl,--disable-new-dtags', \
'-Wl,-rpath,$root/lib/$folder:$root/usr/lib/$folder'"
    "$root/lib/ld-linux.so.2" --help >/dev/null 2>&1 || native=
    [ -z "$native" ] || wrapper=
}

# words TEXT: as a list for meson.
words() {
    # shellcheck disable=SC2086 # words
    printf "'%s', " $1
}

processor_cross_file() {
    cat <<INI
[binaries]
c = ['$triplet-gcc', '--sysroot=$root']
ar = '$triplet-ar'
nm = '$triplet-nm'
size = '$triplet-size'
strip = '$triplet-strip'
pkgconfig = 'pkg-config'
${wrapper:+exe_wrapper = [$(words "$wrapper")]}

[built-in options]
c_link_args = [${native:-}]

[properties]
sys_root = '$root'
pkg_config_libdir = '$root/usr/lib/$folder/pkgconfig:$root/usr/share/pkgconfig'
${wrapper:+needs_exe_wrapper = true}

[host_machine]
system = 'linux'
cpu_family = '$family'
cpu = '$family'
endian = '$endian'
INI
}

# libraries TARGET: what core's tests need, from Debian's sources, below $dir/libraries/TARGET: cmocka,
# jansson, libsodium, and xxHash, whose header is all of it.
libraries() {
    prefix=$dir/libraries/$1
    case $1 in
    musl) compiler=musl-gcc archiver=ar triplet=x86_64-linux-musl ;;
    mips) compiler=mips-linux-gnu-gcc archiver=mips-linux-gnu-ar triplet=mips-linux-gnu ;;
    esac
    [ ! -f "$prefix/complete" ] || return 0
    sources || skip "Debian's sources cannot be had"
    work=$dir/libraries/$1-work
    rm -rf "$prefix" "$work"
    mkdir -p "$prefix/include" "$prefix/lib/pkgconfig" "$work/libsodium"
    for name in cmocka jansson; do
        cmake -S "$dir/sources/$name" -B "$work/$name" -DCMAKE_SYSTEM_NAME=Linux \
            -DCMAKE_C_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
            -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib -DWITH_STATIC_LIB=ON \
            -DWITH_EXAMPLES=OFF -DJANSSON_BUILD_DOCS=OFF -DJANSSON_EXAMPLES=OFF \
            -DJANSSON_WITHOUT_TESTS=ON
        cmake --build "$work/$name" --target install
    done
    rm -f "$prefix"/lib/libcmocka.so*
    mv "$prefix/lib/libcmocka-static.a" "$prefix/lib/libcmocka.a"
    (
        cd "$work/libsodium" || exit
        "$dir/sources/libsodium/configure" CC="$compiler" --host="$triplet" --prefix="$prefix" \
            --disable-shared --disable-asm --disable-dependency-tracking
        make -s -j "$jobs" install
    )
    library_xxhash
    touch "$prefix/complete"
}

library_xxhash() {
    cp /usr/include/xxhash.h "$prefix/include/"
    printf '#define XXH_STATIC_LINKING_ONLY\n#define XXH_IMPLEMENTATION\n#include "xxhash.h"\n' \
        >"$work/xxhash.c"
    "$compiler" -O2 -I "$prefix/include" -c "$work/xxhash.c" -o "$work/xxhash.o"
    "$archiver" rcs "$prefix/lib/libxxhash.a" "$work/xxhash.o"
    printf 'Name: xxhash\nDescription: xxHash\nVersion: %s\nCflags: -I%s\nLibs: -L%s -lxxhash\n' \
        "$(pkg-config --modversion libxxhash)" "$prefix/include" "$prefix/lib" \
        >"$prefix/lib/pkgconfig/libxxhash.pc"
}

# Debian's sources, by a list of their own: the machine's may have none.
sources() {
    [ ! -f "$dir/sources/complete" ] || return 0
    rm -rf "$dir/sources"
    mkdir -p "$dir/sources/lists/partial"
    echo "deb-src $mirror bookworm main" >"$dir/sources/list"
    (
        cd "$dir/sources" || exit
        set -- -q -o "Dir::Etc::SourceList=$PWD/list" -o Dir::Etc::SourceParts=/dev/null \
            -o "Dir::State::Lists=$PWD/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
            -o APT::Sandbox::User=root
        apt-get "$@" update && apt-get "$@" source cmocka jansson libsodium || exit 1
        for name in cmocka jansson libsodium; do
            mv "$name"-[0-9]* "$name" || exit 1
        done
        cd libsodium && autoreconf -i
    ) || return 1
    touch "$dir/sources/complete"
}

core_cross_file() {
    cat <<INI
[binaries]
c = '$compiler'
ar = '$archiver'
nm = '${archiver%ar}nm'
size = '${archiver%ar}size'
strip = '${archiver%ar}strip'
pkgconfig = 'pkg-config'
INI
    [ "$1" != mips ] || echo "exe_wrapper = 'qemu-mips-static'"
    cat <<INI

[built-in options]
c_link_args = '-static'

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
