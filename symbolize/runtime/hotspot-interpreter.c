/*
 * Below its frame pointer the template interpreter of x86-64 keeps, among others, the Method and
 * the address of the bytecode that goes on when a call returns (frame_x86.hpp of OpenJDK).  While
 * it executes bytecode itself, that address is in r13, and the slot is stale.
 *
 * The frame was copied with the sample.  What is read later, where the Method's bytecode is, must
 * agree with it: bytecode that is not the method's is no proof of another line, but of another
 * method at the same address.
 */

#include "symbolize/runtime/hotspot-interpreter.h"

#include "base/hash.h"
#include "symbolize/runtime/hotspot-layout.h"
#include "symbolize/runtime/runtime-code.h"
#include "symbolize/runtime/runtime-memory.h"

#include <stddef.h>

#define METHODS_MAX 65536u
#define CODE_BYTES_MAX 65535u           /* of one method, by the class file format */
#define CONST_BYTES_MAX 512u
#define METHOD_BYTES 8u                 /* a native method's range */

/* Indices in runtime_frame.below. */
#define BELOW_METHOD 2u
#define BELOW_BYTECODE 7u
#define BELOW_BYTECODE_8 6u             /* JDK 8: frames have no mirror of the class */
#define REG_BYTECODE 13u                /* DWARF's number of r13 */

void hotspot_interpreter_done(struct hotspot_interpreter *p)
{
	VEC_FREE(&p->methods);
	hashindex_done(&p->by_method);
}

static void forget_all(struct hotspot_interpreter *p)
{
	p->methods.n = 0;
	hashindex_done(&p->by_method);
}

/* Where the interpreter's code is: in the buffer of a queue of stubs. */
static bool find_interpreter(struct hotspot_interpreter *p, const struct hotspot_layout *l,
			     const struct runtime_memory *m)
{
	uint64_t queue, buffer;
	uint32_t limit;
	if (!l->interpreter || l->queue_buffer.n_bytes != 8 || l->queue_limit.n_bytes != 4 ||
	    !runtime_memory_read(m, l->interpreter, &queue, sizeof(queue)) || !queue ||
	    !runtime_memory_read(m, queue + l->queue_buffer.off, &buffer, sizeof(buffer)) ||
	    !runtime_memory_read(m, queue + l->queue_limit.off, &limit, sizeof(limit)))
		return false;
	p->low = buffer;
	p->high = buffer + limit;
	return buffer != 0;
}

/* ---- methods ----------------------------------------------------------------------------- */

static bool read_method(const struct hotspot_layout *l, const struct runtime_memory *m,
			uint64_t method, struct hotspot_interpreted *ret)
{
	uint64_t constant;
	uint8_t b[8];
	uint32_t n_bytes = l->const_code_size.n_bytes;
	if (method % 8 || !method || n_bytes != 2 || l->const_bytes > CONST_BYTES_MAX ||
	    !runtime_memory_read(m, method + l->method_const.off, &constant, sizeof(constant)) ||
	    !constant || constant % 8 ||
	    !runtime_memory_read(m, constant + l->const_code_size.off, b, n_bytes))
		return false;
	uint64_t size = hotspot_get(b, (struct hotspot_field){ 0, (uint8_t)n_bytes });
	*ret = (struct hotspot_interpreted){ method, constant + l->const_bytes, 0 };
	ret->end = ret->start + size;
	if (!size) {
		ret->start = method;
		ret->end = method + METHOD_BYTES;
	}
	return size <= CODE_BYTES_MAX;
}

static struct hotspot_interpreted *find(struct hotspot_interpreter *p, uint64_t method)
{
	uint32_t i = HASHINDEX_FIND(&p->by_method, hash_u64(method), k,
				    p->methods.v[k].method == method);
	return i == HASHINDEX_NONE ? NULL : &p->methods.v[i];
}

/* NULL: it cannot be read, or there is no memory. */
static struct hotspot_interpreted *add(struct hotspot_interpreter *p,
				       const struct hotspot_layout *l,
				       const struct runtime_memory *m, uint64_t method)
{
	struct hotspot_interpreted new;
	if (p->methods.n == METHODS_MAX)
		forget_all(p);
	if (!read_method(l, m, method, &new) || !hashindex_reserve(&p->by_method, false) ||
	    !VEC_PUSH(&p->methods, new))
		return NULL;
	hashindex_put(&p->by_method, hash_u64(method), (uint32_t)p->methods.n - 1);
	return &p->methods.v[p->methods.n - 1];
}

const struct hotspot_interpreted *hotspot_interpreter_at(const struct hotspot_interpreter *p,
							 uint64_t pc)
{
	/* the newest first: others may have been there before */
	for (size_t i = p->methods.n; i-- > 0;)
		if (pc - p->methods.v[i].start < p->methods.v[i].end - p->methods.v[i].start)
			return &p->methods.v[i];
	return NULL;
}

/* ---- frames ------------------------------------------------------------------------------ */

/* The bytecode that the frame is at, if it is in the method; 0: it is not.  A native method is at
 * its beginning. */
static uint64_t bytecode_in(const struct hotspot_layout *l, const struct hotspot_interpreted *m,
			    const struct runtime_frame *f)
{
	uint64_t slot = f->below[l->version <= 8 ? BELOW_BYTECODE_8 : BELOW_BYTECODE];
	uint64_t leaf = f->reg_valid >> REG_BYTECODE & 1 ? f->reg[REG_BYTECODE] : 0;
	uint64_t n = m->end - m->start;
	if (m->start == m->method)
		return m->start;
	if (leaf - m->start < n)
		return leaf;
	return slot - m->start < n ? slot : 0;
}

bool hotspot_interpreter_frame(struct hotspot_interpreter *p, const struct hotspot_layout *l,
			       const struct runtime_memory *memory, const struct runtime_frame *f,
			       uint64_t *ret_pc)
{
	uint64_t method = f->below[BELOW_METHOD];
	if ((!p->high && !find_interpreter(p, l, memory)) || f->pc - p->low >= p->high - p->low)
		return false;
	struct hotspot_interpreted *m = find(p, method);
	uint64_t pc = m ? bytecode_in(l, m, f) : 0;
	if (m && !pc && !read_method(l, memory, method, m))
		return false;
	if (!m && !(m = add(p, l, memory, method)))
		return false;
	*ret_pc = pc ? pc : bytecode_in(l, m, f);
	return *ret_pc != 0;
}
