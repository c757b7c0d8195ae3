#!/bin/sh
# `cprof merge` writes the same numbers as `go tool pprof -proto`.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need go
tools=$CPROF_SOURCE_ROOT/tests/tools
export HOME="$T/home" GOPATH="$T/home/go" GOFLAGS=-mod=mod PPROF_TMPDIR="$T" PPROF_BINARY_PATH="$T"
mkdir -p home build profiles
cp "$tools/goprofiles.go" build/main.go
printf 'module goprofiles\ngo 1.19\n' >build/go.mod
check 'the Go program builds' sh -c 'cd build && go build -o goprofiles .'
check 'the Go program writes its profiles' build/goprofiles profiles
check 'odd profiles' "$PYTHON" "$tools/oddprofiles.py" profiles
check 'a profile by our writer' "$CPROF_BUILD_ROOT/tests/tools/pprof-sample" profiles/sample.pb.gz

# merged NAME FILE...: merges the files both ways and compares the complete contents
merged() {
	merged_name=$1
	shift
	run "$CPROF" merge -o ours.pb.gz "$@"
	is "$status" 0 "$merged_name"
	go tool pprof -symbolize=none -proto -output theirs.pb.gz "$@" >/dev/null 2>&1
	# when pprof writes, it drops the frames that the profile says to drop; cprof keeps them
	case $merged_name in odd-drop.pb)
		go tool pprof -symbolize=none -proto -output dropped.pb.gz ours.pb.gz >/dev/null 2>&1
		mv dropped.pb.gz ours.pb.gz
		;;
	esac
	check "$merged_name: the same samples as pprof" \
		"$PYTHON" "$tools/sameprofile.py" ours.pb.gz theirs.pb.gz
}
for profile in profiles/*; do
	merged "${profile#*/}" "$profile"
done
merged 'two heap profiles' profiles/go-heap.pb.gz profiles/go-allocs.pb.gz
merged 'odd profiles merged' profiles/odd-random-0.pb.gz profiles/odd-random-1.pb.gz profiles/odd-labels.pb \
	profiles/odd-ids.pb profiles/sample.pb.gz
finish
