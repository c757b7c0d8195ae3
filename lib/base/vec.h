#ifndef CPROF_BASE_VEC_H
#define CPROF_BASE_VEC_H

/*
 * Growing arrays.  `VEC(struct x) a = { 0 };` is an empty one; its elements are a.v[0] ..
 * a.v[a.n - 1], and they move when the array grows.  VEC_FREE leaves an empty array.  CLEANUP_VEC
 * before a local array frees it at every exit from the scope.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define VEC(T) struct { T *v; size_t n, cap; }

/* Makes room for `more` further elements.  False, with nothing changed, when memory is out. */
static inline bool vec_grow(void **v, size_t *cap, size_t n, size_t more, size_t elem_bytes)
{
	if (more <= *cap - n)
		return true;
	if (more > SIZE_MAX / elem_bytes - n)
		return false;
	size_t want = *cap ? *cap * 2 : 8;
	if (want < n + more)
		want = n + more;
	void *p = reallocarray(*v, want, elem_bytes);
	if (!p)
		return false;
	*v = p;
	*cap = want;
	return true;
}

static inline bool vec_extend(void **v, size_t *n, size_t *cap, size_t want, size_t elem_bytes)
{
	if (want <= *n)
		return true;
	if (!vec_grow(v, cap, *n, want - *n, elem_bytes))
		return false;
	memset((char *)*v + *n * elem_bytes, 0, (want - *n) * elem_bytes);
	*n = want;
	return true;
}

#define VEC_RESERVE(a, more) \
	vec_grow((void **)&(a)->v, &(a)->cap, (a)->n, (more), sizeof(*(a)->v))

/* Makes the array n elements long, the new ones zero; a longer one is left as it is.  False, with
 * nothing changed, when memory is out. */
#define VEC_EXTEND(a, n_elems) \
	vec_extend((void **)&(a)->v, &(a)->n, &(a)->cap, (n_elems), sizeof(*(a)->v))

/* Appends an item.  False, with nothing changed, when memory is out. */
#define VEC_PUSH(a, item) \
	(VEC_RESERVE(a, 1) ? ((a)->v[(a)->n++] = (item), true) : false)

#define VEC_FREE(a) (free((a)->v), (a)->v = NULL, (a)->n = (a)->cap = 0)

static inline void vec_cleanup(void *a)
{
	free(*(void **)a);  /* v, the first member */
}

#define CLEANUP_VEC __attribute__((cleanup(vec_cleanup)))

#endif
