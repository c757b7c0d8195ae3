#ifndef CPROF_SYMBOLIZE_RUNTIME_GO_PROOF_H
#define CPROF_SYMBOLIZE_RUNTIME_GO_PROOF_H

/* Does a layout of goroutines fit a program of another version of Go? */

#include <stdbool.h>
#include <stdint.h>

struct go_layout;
struct go_places;

/*
 * Looks at goroutines at both ends of the list allgs, which go_places_allgs has found with that
 * layout, and at each field of theirs: functions and go statements are where the program has code,
 * labels can be read, threads have numbers.  main_pc is runtime.main.
 */
bool go_proof_fits(const struct go_places *p, const struct go_layout *l, uint64_t allgs,
		   uint64_t main_pc);

#endif
