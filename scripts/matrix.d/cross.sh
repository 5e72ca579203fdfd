# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154 # of scripts/matrix: dir, jobs, mirror
# Compiling for, and running on, what this machine is not. Part of scripts/matrix.

# What we and our tests are linked with.
debian_libraries=libc6-dev,libuv1-dev,libprotobuf-c-dev,libxxhash-dev,libsqlite3-dev,libsodium-dev,\
libinih-dev,libjansson-dev,libutf8proc-dev,libsystemd-dev,libseccomp-dev,libssl-dev,libmicrohttpd-dev,libqrencode-dev,\
libcmocka-dev

# processor MACHINE: a folder with Debian's libraries, a cross file, and `wrapper`, what to run its
# programs with; nothing for i386 where the kernel runs it. Fails if the libraries cannot be had.
processor() {
    root=$dir/sysroot/$1
    case $1 in
    i386) triplet=i686-linux-gnu folder=i386-linux-gnu emulator=i386 family=x86 endian=little ;;
    armhf) triplet=arm-linux-gnueabihf folder=$triplet emulator=arm family=arm endian=little ;;
    arm64) triplet=aarch64-linux-gnu folder=$triplet emulator=aarch64 family=aarch64 endian=little ;;
    mipsel) triplet=mipsel-linux-gnu folder=$triplet emulator=mipsel family=mips endian=little ;;
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
