#!/bin/sh
# OCaml's caml_raise_exn loads the stack pointer of the handler's frame and returns there: the stack
# continues with the function that contains the handler. The routine has a few instructions: how large
# its share is depends on the processor, so the program runs long enough for samples of 0.2 %.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need ocamlopt

cp "$CPROF_SOURCE_ROOT/tests/prog/raises.ml" . || exit 1
check 'builds' ocamlopt -g -o raises.keep raises.ml
rm -f raises.ml raises.cm* raises.o
raised() {
	run "$CPROF" record -q --user -e cpu-clock -F 4000 -o o.pb.gz -- ./raises.keep 60000000
	is "$status" 0 'recorded'
	profile 'some samples are in the function that raises' o.pb.gz "anywhere('^caml_raise_exn\$') > 0.002"
	profile 'no stack begins there, and all are complete' o.pb.gz \
		"not roots('^(caml_raise_exn|.truncated.)\$')" "roots('^_start\$') > 0.99"
	profile 'it hangs below the function with the handler, or the one that raises' o.pb.gz \
		"through('^caml_raise_exn\$', r'^(caml)?Raises.+(attempt|find)', r'^(caml)?Raises.+(work|attempt|find)') > 0.99 * anywhere('^caml_raise_exn\$')"
}
attempts 3 raised
finish
