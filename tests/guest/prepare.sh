#!/bin/sh
# Prepares everything that the guest suite needs: QEMU, an arm64 kernel, the base of an initramfs,
# a cross compiler and a sysroot. Prints the path of a meson cross file.
#
#	tests/guest/prepare.sh [--perf] [--bash] [--libs]
#
# --perf: also a second guest that contains perf(1). --bash: also bash and its library, which tests
# copy into a guest. --libs: also musl and the C++ library, for programs to be profiled.
#
# The first run downloads Debian packages (about 130 MB, 280 MB unpacked) into CPROF_GUEST_CACHE
# (default: $XDG_CACHE_HOME/cprof-guest). Nothing is installed, and no privileges are needed.
# Programs that the system already has (qemu-system-aarch64, cpio, aarch64-linux-gnu-gcc) are used.
# An interrupted run leaves no half-finished part: each part is built in a temporary folder and
# then renamed, under one lock.
#
# Exit status 77: the packages are not available here. 125: any other failure.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
. "$here/cache.sh"
. "$here/debs.sh"

revision=1	# increment it when the contents of a part change
libs='libdw1 libelf1 zlib1g'
dev='libc6-dev libelf-dev libdw-dev zlib1g-dev libiberty-dev'
triplet=aarch64-linux-gnu
perf=
bash=
more_libs=
for option; do
	case $option in
	--perf) perf=1 ;;
	--bash) bash=1 ;;
	--libs) more_libs=1 ;;
	*) die 'usage: prepare.sh [--perf] [--bash] [--libs]' ;;
	esac
done

stamped() { [ "$(cat "$1/stamp" 2>/dev/null)" = "$2" ]; }

# ---- programs for this machine: QEMU, cpio -----------------------------------

# QEMU needs libraries for displays and disks that are rarely installed on a CI machine;
# cache_locate passes their folders to the dynamic linker.
prepare_host() {
	want=
	cache_locate qemu-system-aarch64 || want=qemu-system-arm
	cache_locate cpio || want="$want cpio"
	[ -n "$want" ] || return 0
	tmp=$cache/host.tmp
	rm -rf "$tmp"
	# shellcheck disable=SC2086 # a list of words
	debs_closure host "$tmp" $want
	rm -rf "$tmp/usr/share/doc" "$tmp/usr/share/man" "$tmp/usr/share/locale" \
		"$tmp/usr/bin/qemu-system-arm" "$tmp/usr/bin/qemu-storage-daemon"
	# Keep the programs that an earlier run fetched, when more of them were missing.
	[ ! -d "$cache/host" ] || cp -an "$cache/host/." "$tmp/"
	rm -rf "$cache/host"
	mv "$tmp" "$cache/host"
}

# ---- the guest: kernel and base initramfs --------------------------------------

prepare_guest() {
	guest=$cache/guest${perf:+-perf}
	stamp="$revision $libs $(cksum <"$here/init.sh")"
	! stamped "$guest" "$stamp" || return 0
	tmp=$guest.tmp
	root=$tmp/root
	rm -rf "$tmp" "$guest"
	mkdir -p "$root"
	debs_setup

	# The cloud kernel is a third of the size of the general one, and has the drivers for the
	# PMU and for virtio.
	kernel=$(APT_CONFIG=$cache/apt/arm64.conf apt-cache depends linux-image-cloud-arm64 |
		sed -n 's/.*Depends: \(linux-image-[0-9][^ ]*\).*/\1/p' | head -n 1)
	[ -n "$kernel" ] ||
		cannot 'cannot fetch packages: no linux-image-cloud-arm64 in the apt sources'
	debs_single "$tmp/kernel" "$kernel"
	# shellcheck disable=SC2086 # a list of words
	debs_closure arm64 "$tmp/all" busybox-static $libs ${perf:+linux-perf}

	# Of these packages the guest gets busybox, the shared libraries, the disk drivers and perf.
	debs_usrmerge "$tmp/all"
	for d in usr/bin usr/sbin usr/lib/$triplet usr/lib/modules \
		proc sys dev tmp run root payload etc var/tmp; do
		mkdir -p "$root/$d"
	done
	for d in bin sbin lib; do ln -s "usr/$d" "$root/$d"; done
	cp "$tmp/all/usr/bin/busybox" "$root/usr/bin/"
	[ -z "$perf" ] || cp -a "$tmp"/all/usr/bin/perf* "$root/usr/bin/"
	cp -a "$tmp/all/usr/lib/"ld-linux-aarch64.so* "$root/usr/lib/"
	find "$tmp/all/usr/lib/$triplet" -maxdepth 1 -name '*.so*' \
		-exec cp -a {} "$root/usr/lib/$triplet/" ';'
	for m in virtio_ring virtio virtio_mmio virtio_blk; do
		f=$(find "$tmp/kernel" -name "$m.ko*" | head -n 1)
		case $f in	# a missing module is built into the kernel
		*.ko) cp "$f" "$root/usr/lib/modules/" ;;
		*.xz) xz -dc "$f" >"$root/usr/lib/modules/$m.ko" ;;
		*.zst) zstd -qdc "$f" >"$root/usr/lib/modules/$m.ko" ;;
		esac
	done
	echo 'root:x:0:0:root:/root:/bin/sh
nobody:x:65534:65534:nobody:/tmp:/bin/sh' >"$root/etc/passwd"
	echo 'root:x:0:
nogroup:x:65534:' >"$root/etc/group"
	echo '127.0.0.1 localhost' >"$root/etc/hosts"
	cp "$here/init.sh" "$root/init"
	chmod 755 "$root/init"

	cp "$tmp"/kernel/boot/vmlinuz-* "$tmp/vmlinuz"
	# The same packages must produce the same archive, so that guests run identically.
	find "$root" -exec touch -h -d @0 {} +
	cache_pack "$root" >"$tmp/base.cpio"	# not compressed: the guest is slow
	rm -rf "$tmp/kernel" "$tmp/all" "$root"
	echo "$stamp" >"$tmp/stamp"
	mv "$tmp" "$guest"
}

# ---- bash, for scripts that busybox cannot run -----------------------------------

prepare_bash() {
	! stamped "$cache/bash" "$revision" || return 0
	tmp=$cache/bash.tmp
	rm -rf "$cache/bash" "$tmp"
	mkdir "$tmp"
	debs_single "$tmp/all" bash
	debs_single "$tmp/all" libtinfo6
	debs_usrmerge "$tmp/all"
	cp "$tmp/all/usr/bin/bash" "$tmp/"
	cp -L "$tmp/all/usr/lib/$triplet/libtinfo.so.6" "$tmp/"
	rm -rf "$tmp/all"
	echo "$revision" >"$tmp/stamp"
	mv "$tmp" "$cache/bash"
}

# ---- other libraries for programs ---------------------------------------------------

# Their dependencies are left out, because they are used together with the sysroot.
prepare_libs() {
	! stamped "$cache/libs" "$revision" || return 0
	tmp=$cache/libs.tmp
	rm -rf "$cache/libs" "$tmp"
	debs_setup
	cxx=$(APT_CONFIG=$cache/apt/arm64.conf apt-cache pkgnames libstdc++- |
		grep -E '^libstdc\+\+-[0-9]+-dev$' | sort -V | tail -n 1)
	for package in musl musl-dev libstdc++6 "${cxx:-libstdc++-dev}"; do
		debs_single "$tmp" $package
	done
	debs_usrmerge "$tmp"
	rm -rf "${tmp:?}/usr/share"
	sed -i "s,/usr/,$cache/libs/usr/,g" "$tmp/usr/lib/aarch64-linux-musl/musl-gcc.specs"
	echo "$revision" >"$tmp/stamp"
	mv "$tmp" "$cache/libs"
}

# ---- the cross compiler ----------------------------------------------------------

prepare_tools() {
	! command -v $triplet-gcc >/dev/null || return 0
	! stamped "$cache/cross" "$revision" || return 0
	tmp=$cache/cross.tmp
	rm -rf "$cache/cross" "$tmp"
	debs_closure host "$tmp" gcc-aarch64-linux-gnu
	rm -rf "$tmp/usr/share/doc" "$tmp/usr/share/man" "$tmp/usr/share/locale"
	echo "$revision" >"$tmp/stamp"
	mv "$tmp" "$cache/cross"
}

prepare_sysroot() {
	! stamped "$cache/sysroot" "$revision $dev" || return 0
	tmp=$cache/sysroot.tmp
	rm -rf "$cache/sysroot" "$tmp"
	# shellcheck disable=SC2086 # a list of words
	debs_closure arm64 "$tmp" $dev
	debs_usrmerge "$tmp"
	rm -rf "$tmp/usr/share/doc" "$tmp/usr/share/man" "$tmp/usr/share/locale" \
		"${tmp:?}/usr/bin" "${tmp:?}/usr/sbin"
	# Absolute symbolic links would point outside the sysroot.
	find "$tmp" -type l -lname '/*' | while read -r link; do
		ln -sfn "$(realpath -m --relative-to="$(dirname "$link")" \
			"$tmp$(readlink "$link")")" "$link"
	done
	echo "$revision $dev" >"$tmp/stamp"
	mv "$tmp" "$cache/sysroot"
}

# Writes a wrapper for each tool, which sets its library path and, for the compiler, the sysroot;
# and the cross file that names the wrappers. This is cheap, so it happens each time.
write_cross_file() {
	bin=$cache/cross-bin
	mkdir -p "$bin"
	if command -v $triplet-gcc >/dev/null; then
		dir=$(dirname "$(command -v $triplet-gcc)")
		lib=
	else
		dir=$cache/cross/usr/bin
		for lib in "$cache"/cross/usr/lib/*-linux-gnu; do :; done
	fi
	for tool in gcc ar as ld nm objcopy objdump ranlib readelf strip; do
		opts=
		[ $tool != gcc ] || opts=" --sysroot=\"$cache/sysroot\""
		{
			echo '#!/bin/sh'
			echo "export PATH=\"$dir:\$PATH\""
			[ -z "$lib" ] ||
				echo "export LD_LIBRARY_PATH=\"$lib\""
			echo "exec \"$dir/$triplet-$tool\"$opts \"\$@\""
		} >"$bin/$triplet-$tool.tmp"
		chmod 755 "$bin/$triplet-$tool.tmp"
		mv "$bin/$triplet-$tool.tmp" "$bin/$triplet-$tool"
	done
	cat >"$cross_file.tmp" <<-INI
	# written by prepare.sh
	[binaries]
	c = '$bin/$triplet-gcc'
	ar = '$bin/$triplet-ar'
	nm = '$bin/$triplet-nm'
	strip = '$bin/$triplet-strip'
	objcopy = '$bin/$triplet-objcopy'
	objdump = '$bin/$triplet-objdump'
	readelf = '$bin/$triplet-readelf'
	pkgconfig = 'pkg-config'

	[properties]
	sys_root = '$cache/sysroot'
	pkg_config_libdir = '$cache/sysroot/usr/lib/$triplet/pkgconfig'
	needs_exe_wrapper = true

	[host_machine]
	system = 'linux'
	cpu_family = 'aarch64'
	cpu = 'cortex-a72'
	endian = 'little'
	INI
	mv "$cross_file.tmp" "$cross_file"
}

mkdir -p "$cache"
exec 9>"$cache/.lock"
flock 9
prepare_host
prepare_guest
prepare_tools
prepare_sysroot
[ -z "$bash" ] || prepare_bash
[ -z "$more_libs" ] || prepare_libs
write_cross_file
[ -z "${debs_ready-}" ] || debs_done
echo "$cross_file"
