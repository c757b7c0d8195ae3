#!/bin/sh
# cprof symbolize says what it cannot do, and leaves the profile as it is.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"

refused 64 'no FILE' 'no file' symbolize
refused 64 'more than one' 'two files' symbolize a b
refused 64 'simple, full or none' 'an unknown mode' symbolize --demangle=often a
refused 64 'symbol-timeout' 'a time that is none' symbolize --symbol-timeout soon a
refused 64 'symbol-timeout' 'no time at all' symbolize --symbol-timeout 0 a
refused 64 'exclude' '-q and -v' symbolize -q -v a
refused 1 "'nosuch.pb.gz'" 'a file that is not there' symbolize nosuch.pb.gz
echo 'no profile' >text.keep
refused 1 'text.keep' 'a file that is no profile' symbolize text.keep
is "$(cat text.keep)" 'no profile' 'it is as it was'
refused 1 'nofolder' 'a folder that is not there' symbolize --debug-dir nofolder text.keep
refused 1 'nofolder' 'another one' symbolize --symfs nofolder text.keep
finish
