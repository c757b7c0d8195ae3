#ifndef CPROF_BASE_SEARCH_H
#define CPROF_BASE_SEARCH_H

/*
 * Binary search.  `holds` is an expression about item i that is true for the first items, from
 * some item on false, and never true again; SEARCH_COUNT is the number of items for which it is
 * true, which is also the number of the first item for which it is false.
 *
 *	size_t i = SEARCH_COUNT(n, k, v[k].key < key);     the first item with that key or above
 *	size_t i = SEARCH_COUNT(n, k, v[k].start <= pc);   v[i - 1] is the last that starts at or
 *	                                                   below pc; there is none if i is 0
 *
 * The result has the type of n.  The expression is evaluated about log2(n) times.
 */

#define SEARCH_COUNT(n, i, holds) \
	({ \
		__auto_type left_ = (n); \
		__typeof__(left_) low_ = 0; \
		while (left_) { \
			__typeof__(left_) i = low_ + left_ / 2; \
			if (holds) { \
				left_ -= left_ / 2 + 1; \
				low_ = i + 1; \
			} else { \
				left_ /= 2; \
			} \
		} \
		low_; \
	})

#endif
