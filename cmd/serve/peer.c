#include "cmd/serve/peer.h"

#include "base/cleanup.h"
#include "base/err.h"

#include <errno.h>
#include <grp.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <pwd.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif

/* ---- sockets over loopback ----------------------------------------------------------- */

union address { struct sockaddr any; struct sockaddr_in in; struct sockaddr_in6 in6; };

static void fill_id(const union address *peer, const union address *self,
		    struct inet_diag_sockid *id)
{
	memset(id, 0, sizeof(*id));
	id->idiag_cookie[0] = id->idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	if (peer->any.sa_family == AF_INET) {
		id->idiag_sport = peer->in.sin_port;
		id->idiag_dport = self->in.sin_port;
		memcpy(id->idiag_src, &peer->in.sin_addr, 4);
		memcpy(id->idiag_dst, &self->in.sin_addr, 4);
		return;
	}
	id->idiag_sport = peer->in6.sin6_port;
	id->idiag_dport = self->in6.sin6_port;
	memcpy(id->idiag_src, &peer->in6.sin6_addr, 16);
	memcpy(id->idiag_dst, &self->in6.sin6_addr, 16);
}

/* The user of the socket whose own address is the peer's.  The question names both ends, so there
 * is one answer. */
static bool ask_kernel(const union address *peer, const union address *self, uid_t *ret)
{
	struct { struct nlmsghdr head; struct inet_diag_req_v2 req; } question = {
		.head = { .nlmsg_len = sizeof(question), .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST },
		.req = { .sdiag_family = (uint8_t)peer->any.sa_family,
			 .sdiag_protocol = IPPROTO_TCP, .idiag_states = ~0u },
	};
	struct { struct nlmsghdr head; struct inet_diag_msg msg; char rest[2048]; } answer;
	fill_id(peer, self, &question.req.id);
	CLEANUP_CLOSE int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (fd < 0 || send(fd, &question, sizeof(question), 0) < 0)
		return false;
	ssize_t n = recv(fd, &answer, sizeof(answer), 0);
	if (n < (ssize_t)(sizeof(answer.head) + sizeof(answer.msg)) ||
	    answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return false;
	*ret = answer.msg.idiag_uid;
	return true;
}

static void find_tcp(int fd, struct peer *ret)
{
	union address peer, self;
	socklen_t n_peer = sizeof(peer), n_self = sizeof(self);
	if (getpeername(fd, &peer.any, &n_peer) < 0 || getsockname(fd, &self.any, &n_self) < 0 ||
	    !ask_kernel(&peer, &self, &ret->uid))
		return;
	/* ptrace(2) compares groups, too. */
	const struct passwd *pw = getpwuid(ret->uid);
	ret->is_known = pw;
	ret->gid = pw ? pw->pw_gid : (gid_t)-1;
}

static void find_unix(int fd, struct peer *ret)
{
	struct ucred u;
	socklen_t n = sizeof(u), n_groups = sizeof(ret->group);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &u, &n) < 0)
		return;
	/* Users with more groups than these have none. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, ret->group, &n_groups) == 0)
		ret->n_groups = n_groups / sizeof(*ret->group);
	ret->uid = u.uid;
	ret->gid = u.gid;
	ret->is_known = true;
}

void peer_find(int fd, struct peer *ret)
{
	struct sockaddr_storage a = { 0 };
	socklen_t n = sizeof(a);
	*ret = (struct peer){ .uid = (uid_t)-1, .gid = (gid_t)-1 };
	if (getsockname(fd, (struct sockaddr *)&a, &n) < 0)
		return;
	if (a.ss_family == AF_UNIX)
		find_unix(fd, ret);
	else
		find_tcp(fd, ret);
	ret->is_server = ret->is_known && (ret->uid == 0 || ret->uid == geteuid());
}

/* ---- rights -------------------------------------------------------------------------- */

int peer_check(const struct peer *p, struct err *e)
{
	if (p->is_server || (p->is_known && geteuid() == 0))
		return 0;
	if (p->is_known) {
		err_set(e, EPERM, "this server records for the user %u and for root, and you are "
			"the user %u", (unsigned)geteuid(), (unsigned)p->uid);
		err_hint(e, "start a cprof serve of your own");
		return -EPERM;
	}
	err_set(e, EPERM, "it is not known who you are");
	err_hint(e, "use the unix socket, or a server with --token-file");
	return -EPERM;
}

int peer_become(const struct peer *p)
{
	if (p->is_server)
		return 0;
	if (setgroups(p->n_groups, p->group) < 0 || setresgid(p->gid, p->gid, p->gid) < 0 ||
	    setresuid(p->uid, p->uid, p->uid) < 0)
		return -errno;
	/* What a set-user-ID program or a capability of the file would give is not the peer's. */
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}

bool peer_is_equal(const struct peer *a, const struct peer *b)
{
	if (a->is_server || b->is_server)
		return a->is_server == b->is_server;
	return a->uid == b->uid && a->gid == b->gid && a->n_groups == b->n_groups &&
	       memcmp(a->group, b->group, a->n_groups * sizeof(*a->group)) == 0;
}
