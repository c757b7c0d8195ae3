#!/bin/sh
# On arm64, the stacks of programs that know their own call chains are recorded correctly. The
# programs are built in the ways that matter to the unwinder: with and without frame pointers,
# without CFI, with CFI that is valid only at calls (clang before 15), with signed return addresses,
# and with musl, which has no CFI at all.
#
# The scenario "contexts" is left out: during the last instructions of glibc's swapcontext, its
# return address is neither in a register nor on the stack.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
. "$CPROF_SOURCE_ROOT/tests/guest/guest.sh"
need clang ld.lld
# shellcheck disable=SC2034 # of guest.sh
guest_programs=tests/prog/jitcode
guest_setup --libs

cache=$(dirname "$guest_cross")
libs=$cache/libs/usr
for cxx in "$libs"/include/c++/*; do cxx=${cxx##*/}; done
source=$CPROF_SOURCE_ROOT/tests/prog/truth
gcc=$cache/cross-bin/aarch64-linux-gnu-gcc
[ -d "$cache/cross" ] || need aarch64-linux-gnu-gcc
toolchain=$cache/cross/usr
[ -d "$toolchain" ] || toolchain=/usr
clang="--target=aarch64-linux-gnu --sysroot=$cache/sysroot --gcc-toolchain=$toolchain -fuse-ld=lld"
no_cfi='-fno-asynchronous-unwind-tables -fno-unwind-tables'

# build NAME COMPILER...: builds truth-NAME from a file of tests/prog/truth
built=
build() {
	name=$1
	shift
	case $name in
	*xx-*) set -- "$@" "$source/truthxx.cc" ;;
	*) set -- "$@" "$source/truth.c" mid-fp.o mid-nofp.o ;;
	esac
	"$@" -o "truth-$name.keep" >build.out 2>&1 || {
		diag <build.out
		fail "truth-$name is built"
	}
	mv "truth-$name.keep" "truth-$name"
	built="$built $T/truth-$name"
}

# shellcheck disable=SC2086 # lists of words
{
	$gcc -c -O2 -fPIC $no_cfi -fno-omit-frame-pointer -DMID_NAME=mid_fp -o mid-fp.o \
		"$source/truth-mid.c"
	$gcc -c -O2 -fPIC $no_cfi -fomit-frame-pointer -DMID_NAME=mid_nofp -o mid-nofp.o \
		"$source/truth-mid.c"
	build gcc-O2 "$gcc" -pthread -O2
	build gcc-O0 "$gcc" -pthread -O0
	build gcc-O3-nofp "$gcc" -pthread -O3 -fomit-frame-pointer
	build gcc-O2-nocfi "$gcc" -pthread -O2 $no_cfi -fomit-frame-pointer
	build gcc-O2-debugframe "$gcc" -pthread -O2 -g $no_cfi
	build gcc-O2-nopie "$gcc" -pthread -O2 -no-pie -fno-pie
	build gcc-O2-static "$gcc" -pthread -O2 -static
	build gcc-O2-lto "$gcc" -pthread -O2 -flto
	build gcc-O2-signed "$gcc" -pthread -O2 -mbranch-protection=standard
	build clang-O2 clang $clang -pthread -O2
	build clang-O3-nofp clang $clang -pthread -O3 -fomit-frame-pointer
	build clang-O0 clang $clang -pthread -O0
	build musl-O2-static "$gcc" "-specs=$libs/lib/aarch64-linux-musl/musl-gcc.specs" -pthread \
		-O2 -static
	for options in -O2 -O0; do
		build "clangxx$options-static" clang++ $clang -static $options \
			-isystem "$libs/include/c++/$cxx" \
			-isystem "$libs/include/aarch64-linux-gnu/c++/$cxx" \
			-L"$libs/lib/gcc/aarch64-linux-gnu/$cxx"
	done
}

# Defined in the guest: truths PROGRAM SCENARIO... records each scenario.
# shellcheck disable=SC2034 # of guest.sh
guest_more=$built
cat >truths.keep <<'END'
truths() {
	program=$1
	shift
	./$program >"$OUT/$program.chains"
	for scenario; do
		period=10007
		events=cycles:u
		case $scenario in
		deep) period=400009 ;;
		syscalls | faults) events=cycles ;;
		esac
		record $program.$scenario --scope task -e $events -c $period -- ./$program $scenario 5
	done
}
END
few='turns mid-nofp'
most='plain turns pushes tails noreturn varargs aligns longjmps plts clocks raises alarms threads
	mid-fp mid-nofp'
all="$most allocas deep vlas bigs sorts syscalls faults alarms-alt"
# If no function keeps a frame pointer, nothing shows the target of a longjmp until it has arrived.
nofp='turns pushes tails noreturn varargs aligns plts alarms mid-nofp'

what='' # PROGRAM:SCENARIO,..., the arguments of truth.py
truths() {
	program=$1
	shift
	# shellcheck disable=SC2048,SC2086 # lists of words
	set -- $*
	echo "truths $program $*" >>commands.keep
	what="$what $program:$(echo "$*" | tr ' ' ,)"
}

# judged GUEST: prints the verdicts of truth.py on the stacks that were recorded in this guest
judged() {
	# shellcheck disable=SC2086 # a list of words
	"$PYTHON" "$CPROF_SOURCE_ROOT/tests/truth.py" --recorded "$T/$1.keep/out" --samples 100 \
		$what >judged.keep || :
	while read -r line; do
		case $line in
		ok*) pass "${line#* - }" ;;
		'not ok'*) fail "${line#* - }" ;;
		'#'*) echo "$line" ;;
		esac
	done <judged.keep
	is "$(grep -Ec '^(not )?ok' judged.keep)" "$(echo "$what" | tr , '\n' | wc -w)" \
		"$1: each recorded scenario is judged"
	what=
}

cp truths.keep commands.keep
truths truth-gcc-O2 "$all"
truths truth-gcc-O0 "$few"
truths truth-gcc-O3-nofp turns pushes tails aligns alarms
truths truth-gcc-O2-nocfi "$(echo "$nofp" | sed 's/noreturn//')" # noreturn: called by a pointer
truths truth-gcc-O2-debugframe "$few"
truths truth-gcc-O2-nopie "$few"
truths truth-gcc-O2-static "$few threads"
truths truth-gcc-O2-lto "$few"
truths truth-clang-O2 "$nofp longjmps threads clocks"
truths truth-clang-O3-nofp turns pushes tails noreturn aligns plts
truths truth-clang-O0 "$few"
truths truth-musl-O2-static "turns pushes noreturn longjmps plts clocks raises alarms threads" \
	mid-fp sorts alarms-alt
truths truth-clangxx-O2-static throws fast
truths truth-clangxx-O0-static throws fast
for shape in trampoline pushes framed; do
	echo "record $shape --scope task -e cycles:u -c 10007 -- ./jitcode $shape 6" >>commands.keep
done
in_guest truth <commands.keep
judged truth

# The same assertion as in tests/live/unwind-code.sh.
for shape in trampoline pushes framed; do
	recorded truth $shape "$shape"
	profile "$shape: the stack is work, JIT code, run, main" "$pb" \
		"n > 200" "leaf('^work$') > 0.5" \
		"through('^work$', r'^\[jit\]', '^run$', '^main$') > 0.97 * cum('work')" \
		"roots('^_start$') > 0.95"
done

# A processor that signs return addresses; the one above executes those instructions as no-ops.
export GUEST_CPU=max,pauth-impdef=on
cp truths.keep commands.keep
truths truth-gcc-O2-signed "$few longjmps threads alarms plts"
in_guest signed <commands.keep
unset GUEST_CPU
judged signed
finish
