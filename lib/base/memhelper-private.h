#ifndef CPROF_BASE_MEMHELPER_PRIVATE_H
#define CPROF_BASE_MEMHELPER_PRIVATE_H

/* What both sides of a memory helper know: memhelper.c asks, and memhelper-serve.c, which runs in
 * the helper, answers. */

#include "base/helper.h"
#include "base/memhelper.h"

#define MEMHELPER_DATA_BYTES (1u << 20)         /* of one answer */

enum memhelper_op {
	MEMHELPER_READ_MEMORY,
	MEMHELPER_READ_MEM_FILE,
	MEMHELPER_READ_TEXT,
	MEMHELPER_CONTINUE_TEXT,
	MEMHELPER_READ_LINK,
	MEMHELPER_OPEN_LINK,
	MEMHELPER_OPEN_EVENT,
};

struct memhelper_exchange {
	enum memhelper_op op;
	uint32_t id;
	char path[MEMHELPER_PATH_BYTES];
	uint32_t n_pieces;
	size_t n_bytes;
	int cpu;                                /* of OPEN_EVENT, whose attr is in data */
	unsigned long flags;
	long result;                            /* bytes or -errno; with a descriptor 0 */
	struct iovec piece[MEMHELPER_PIECES_MAX];
	uint8_t data[MEMHELPER_DATA_BYTES];
};

struct memhelper {
	int proc_fd;
	pid_t pid;                              /* 0: none */
	int socket_fd;
	struct memhelper_exchange *exchange;    /* NULL: none yet */
	struct helper_cost cost;
};

/* helper.h, helper_server: answers until the socket has no other end any more. */
void memhelper_serve(void *memhelper, int socket_fd);

#endif
