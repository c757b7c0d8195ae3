#!/bin/sh
# Builds what test-symbolizer looks at into a folder: programs with the addresses of their marks, and
# a root folder with stripped programs and their debug files, right and wrong ones.
#
# usage: fixtures.sh SOURCE_FOLDER OUTPUT_FOLDER STAMP CC...
set -e
src=$1 out=$2 stamp=$3
shift 3

rm -rf "$out"
app=$out/root/opt/app
debug=$out/root/usr/lib/debug
mkdir -p "$app/.debug" "$debug/opt/app" "$debug/.build-id"

# The CRC at the end of a gzip file is the one that .gnu_debuglink requires.
crc_of() {
	gzip -c "$1" | tail -c 8 | head -c 4
}

build_id_file() {               # the path of a debug file for that id
	echo "$debug/.build-id/$(echo "$1" | cut -c 1-2)/$(echo "$1" | cut -c 3-).debug"
}

# ---- programs ----------------------------------------------------------------

flags="-g -O2 -fno-pie -no-pie -w"
id=00112233445566778899aabbccddeeff00112233
"$@" $flags -Wl,--build-id=0x$id "$src/fixture-c.c" -o "$out/c"
"$out/c" print >"$out/c.marks"
"$@" $flags -Wl,--build-id=none "$src/fixture-c.c" -o "$out/c-no-id"
"$out/c-no-id" print >"$out/c-no-id.marks"
cxx=$(command -v g++ || command -v clang++ || true)
if [ "$cxx" ]; then
	"$cxx" $flags "$src/fixture-cxx.cc" -o "$out/cxx"
	"$out/cxx" print >"$out/cxx.marks"
fi
if command -v rustc >/dev/null; then
	rustc -g -O "$src/fixture-rust.rs" -o "$out/rust" 2>/dev/null || rm -f "$out/rust"
	rustc -g -O -C symbol-mangling-version=v0 "$src/fixture-rust.rs" -o "$out/rust-v0" \
		2>/dev/null || rm -f "$out/rust-v0"
fi

# ---- stripped, with debug files ------------------------------------------------

objcopy --only-keep-debug "$out/c" "$out/c.debug"
objcopy --only-keep-debug "$out/c-no-id" "$out/c-no-id.debug"

# Found by build id.
cp "$out/c" "$app/by-id" && strip "$app/by-id"
mkdir -p "$(dirname "$(build_id_file $id)")"
cp "$out/c.debug" "$(build_id_file $id)"

# The debug file of that build id is that of another program.
other=ff112233445566778899aabbccddeeff00112233
"$@" $flags -Wl,--build-id=0x$other "$src/fixture-c.c" -o "$app/wrong-id"
strip "$app/wrong-id"
mkdir -p "$(dirname "$(build_id_file $other)")"
cp "$out/c.debug" "$(build_id_file $other)"

# Found by name and CRC, in the three places.
link() {                        # link NAME: the stripped program that asks for NAME.debug
	cp "$out/c-no-id" "$app/$1"
	strip "$app/$1"
	cp "$out/c-no-id.debug" "$app/$1.debug"
	objcopy --add-gnu-debuglink="$app/$1.debug" "$app/$1"
}
link beside
link below && mv "$app/below.debug" "$app/.debug/"
link global && mv "$app/global.debug" "$debug/opt/app/"
link bad-crc && echo x >>"$app/bad-crc.debug"
link lost && rm "$app/lost.debug"
link fifo && rm "$app/fifo.debug" && mkfifo "$app/fifo.debug"

# A link that leaves its folder, with the right CRC.
cp "$out/c-no-id" "$app/outside" && strip "$app/outside"
cp "$out/c-no-id.debug" "$out/root/opt/outside.debug"
{ printf '../outside.debug\0\0\0\0'; crc_of "$out/c-no-id.debug"; } >"$out/outside.link"
objcopy --add-section .gnu_debuglink="$out/outside.link" "$app/outside"

# Symbols packed into the program itself.
if command -v xz >/dev/null; then
	objcopy --strip-debug "$out/c-no-id.debug" "$out/mini"
	xz -f "$out/mini"
	cp "$out/c-no-id" "$app/mini" && strip "$app/mini"
	objcopy --add-section .gnu_debugdata="$out/mini.xz" "$app/mini"
fi

# ---- a kernel and its module ---------------------------------------------------

kernel="$out/kernel"
modules=usr/lib/debug/lib/modules/1.2.3
mkdir -p "$kernel/usr/lib/debug/boot" "$kernel/$modules/extra" "$kernel/lib/modules/1.2.3"
kflags='-g -O2 -w -ffreestanding -fno-asynchronous-unwind-tables -nostdlib'
# Functions in the order of the source, which clang keeps by itself.
order=-fno-toplevel-reorder
"$@" $order -x c -E /dev/null >/dev/null 2>&1 && kflags="$kflags $order"
"$@" $kflags -fno-pie -no-pie -static -Wl,-Ttext=0x1000000 \
	-Wl,--build-id=0x4444556677889900aabbccddeeff001122334455 \
	"$src/fixture-kernel.c" -o "$kernel/usr/lib/debug/boot/vmlinux-1.2.3"
cp "$kernel/usr/lib/debug/boot/vmlinux-1.2.3" "$kernel/vmlinux"
"$@" $kflags -fno-pie -DPART_MODULE -c "$src/fixture-kernel.c" -o "$kernel/module.o"
"$@" -r -nostdlib -Wl,--build-id=0x5555667788990011aabbccddeeff001122334455 "$kernel/module.o" \
	-o "$kernel/$modules/extra/cprof-fixture.ko"
echo 'extra/cprof-fixture.ko.xz: kernel/lib/other.ko.xz' >"$kernel/lib/modules/1.2.3/modules.dep"
objcopy --compress-debug-sections=zlib "$kernel/$modules/extra/cprof-fixture.ko" \
	"$kernel/packed_fixture.ko"
touch "$stamp"
