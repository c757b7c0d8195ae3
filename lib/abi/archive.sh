#!/bin/sh
# archive.sh MODULES.a MAP OUTPUT.a FOLDER OBJCOPY AR CC...: an archive of one object that holds what the names
# in MAP need, and shows no other name.
set -eu
modules=$1 map=$2 output=$3 folder=$4 objcopy=$5 ar=$6
shift 6
mkdir -p "$folder"
wanted=$(sed -n 's/^[[:space:]]*\(cprof_[a-z_0-9]*\);$/\1/p' "$map")
# shellcheck disable=SC2046 # names without spaces
"$@" -fno-lto -r -nostdlib -o "$folder/libcprof.o" $(printf -- '-Wl,-u,%s ' $wanted) "$modules"
# What is there for link-time optimization knows nothing of the other modules, and linkers prefer it.
"$objcopy" --localize-hidden --remove-section='.gnu.lto_*' --remove-section='.gnu.debuglto_*' \
	--strip-symbol=__gnu_lto_v1 "$folder/libcprof.o"
rm -f "$output"
"$ar" rcs "$output" "$folder/libcprof.o"
