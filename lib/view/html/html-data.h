#ifndef CPROF_VIEW_HTML_HTML_DATA_H
#define CPROF_VIEW_HTML_HTML_DATA_H

/*
 * The page's data, which lib/view/html/page/decode.js reads.  u is a LEB128 number, s a zigzag
 * number, str the index of a string, f64 eight bytes, little endian.
 *
 *   u version, u by, u norm
 *   strings    u n; each: u bytes, UTF-8
 *   frames     u n; each: str name, str file, str module, s line, u flags (HTML_FRAME_...)
 *   labels     u n; each: str key, str value
 *   label sets u n; each: u n, u label ...
 *   sources    u n; each: str file, u n lines; each line: u number - number before, str text
 *   sets       u n; each:
 *      u n_types; each: str type, str unit
 *      u type shown first, u type that counts samples + 1
 *      u n_sides (1: fresh; 2: fresh and base), each:
 *         str name, s duration_ns, s time_ns, s period, str period type, str period unit
 *         u n comments; each: str
 *         of each type: s total of absolute values, f64 its variance
 *      f64 no folded box had a larger share of the whole; -1: nothing was folded (html-tree.h)
 *      u n nodes; the tree of stacks in preorder, each: u levels up from the child of the node
 *         before, u frame; if boxes were folded: u number of callees that are folded into this one
 *      of each side: u n; samples by node, each: u node - node before, u label set,
 *         s value of each type
 *      if boxes were folded, of each side what they contain: flat by frame; then cum by function,
 *         line, file and module; each: u n; each: u frame of the row, s value of each type
 *      functions whose instructions are known: u n; each: str name, str module, u n; each:
 *         u address - address before, str text, s source line or 0, s flat and s cum in the type
 *         shown first
 *
 * Node 0 is the root, which has no frame; the other nodes count from 1.  Frames are the rows of
 * rows.h by function, but separate for each line, file and module, so that the page can add them up
 * by any of these.
 */

#include "base/vec.h"
#include "view/html/html.h"

#define HTML_FRAME_INLINED 1
#define HTML_FRAME_KERNEL 2
#define HTML_FRAME_NAMED 4 /* name is a function's, not derived from the module */
#define HTML_FRAME_FOLDED 8 /* stands for smaller callees */
#define HTML_FRAME_CALL 16 /* in a profile of waits: only waits on behalf of its caller */

struct html_data {
	VEC(uint8_t) bytes;
};

/* -ENOMEM with e set.  Free ret with html_data_done, even after failure. */
int html_data_make(const struct html_spec *spec, struct html_data *ret, struct err *e);
void html_data_done(struct html_data *d);

#endif
