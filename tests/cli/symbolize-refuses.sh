#!/bin/sh
# cprof symbolize reports what it cannot do, and leaves the profile unchanged.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"

refused 64 'no FILE' 'no file' symbolize
refused 64 'one FILE' 'two files for one output' symbolize -o c a b
refused 64 'several' 'one file to be skipped' symbolize --skip-bad a
refused 64 'second' 'two lists' symbolize --files-from a --files-from b
refused 64 'simple, full or none' 'an unknown mode' symbolize --demangle=often a
refused 64 'symbol-timeout' 'an invalid time' symbolize --symbol-timeout soon a
refused 64 'symbol-timeout' 'a time of 0' symbolize --symbol-timeout 0 a
refused 64 'cannot be combined' '-q and -v' symbolize -q -v a
refused 1 "'nosuch.pb.gz'" 'a missing file' symbolize nosuch.pb.gz
refused 1 "'nosuch.pb.gz'" 'a missing file of two' symbolize nosuch.pb.gz b
refused 1 "'nosuch'" 'a missing list' symbolize --files-from nosuch
echo 'no profile' >text.keep
refused 1 'text.keep' 'a file that is not a profile' symbolize text.keep
is "$(cat text.keep)" 'no profile' 'a refused file is unchanged'
refused 1 'nofolder' 'a missing --debug-dir' symbolize --debug-dir nofolder text.keep
refused 1 'nofolder' 'a missing --symfs' symbolize --symfs nofolder text.keep
finish
