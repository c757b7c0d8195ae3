# Where the guest's parts are stored. Sourced by prepare.sh, boot.sh and the tests.
#
#	$cache/host       QEMU and cpio, unless the system has them
#	$cache/guest      kernel and base initramfs (guest-perf: the same, with perf)
#	$cache/cross      cross compiler, unless the system has it
#	$cache/cross-bin  one wrapper for each tool of the cross compiler
#	$cache/sysroot    headers and libraries for arm64
#	$cache/libs       musl and the C++ library for arm64
#	$cache/arm64.ini  cross file for meson
# shellcheck shell=sh
# shellcheck disable=SC2034 # used by those that source this

cache=${CPROF_GUEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cprof-guest}
cross_file=$cache/arm64.ini

# cache_locate PROGRAM: finds a program on the PATH or in $cache/host. Sets $prog, and $prog_libs if
# it needs a library path. Returns 1 if it is not found.
cache_locate() {
	prog_libs=
	prog=$(command -v "$1") && return 0
	for d in "$cache"/host/usr/lib/*-linux-gnu "$cache"/host/lib/*-linux-gnu; do
		prog_libs=$prog_libs:$d
	done
	prog_libs=${prog_libs#:}
	for prog in "$cache/host/usr/bin/$1" "$cache/host/bin/$1"; do
		[ ! -x "$prog" ] || return 0
	done
	return 1
}

cache_cpio() {
	cache_locate cpio
	LD_LIBRARY_PATH=$prog_libs "$prog" --quiet "$@"
}

# cache_pack FOLDER: prints it as an initramfs archive owned by root, with files in a fixed order
cache_pack() {
	(cd "$1" && find . -print | LC_ALL=C sort |
		cache_cpio --reproducible -R 0:0 -o -H newc)
}
