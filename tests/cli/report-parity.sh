#!/bin/sh
# Reports have the same numbers as `go tool pprof`: for Go's own profiles of all kinds, for odd but
# legal ones, and for merged ones.
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

is "$(find profiles -name '*.pb*' | wc -l | tr -d ' ')" 26 'there are 26 profiles'
for profile in profiles/*; do
	check "${profile#*/}: the same numbers as pprof" \
		"$PYTHON" "$tools/parity.py" "$CPROF" "$profile"
done
check 'two heap profiles merged' "$PYTHON" "$tools/parity.py" "$CPROF" profiles/go-heap.pb.gz \
	profiles/go-allocs.pb.gz
check 'odd profiles merged' "$PYTHON" "$tools/parity.py" "$CPROF" profiles/odd-random-0.pb.gz \
	profiles/odd-random-1.pb.gz profiles/odd-labels.pb profiles/odd-ids.pb profiles/sample.pb.gz
finish
