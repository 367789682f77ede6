/*
 * The network namespace from inside: lo is brought up in a namespace of our own; under a profile
 * that denies the network and where a hook or a path may have filled the bundle's namespace, the
 * payload gets a second, empty one after the last create hook; and at start everything that
 * rtnetlink lists must still be exactly what was there when the namespace was made.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "backends/linux/room.h"
#include "runtime/base/cleanup.h"

#define DUMP_BYTES 16384

static bool is_confined_off(const struct plan *plan)
{
	return plan->policy->confined && !plan->policy->network_allowed;
}

static int plan_network(struct plan *plan, struct report *report, struct sbx_error *err)
{
	struct plan_namespaces *ns = &plan->namespaces;
	bool given = ns->path[NS_NET] || !(ns->new_flags & CLONE_NEWNET);

	(void)err;
	if (!plan->policy->confined)
		return 0;
	if (plan->policy->network_allowed) {
		report_add(report, "network", "none", OUTCOME_UNENFORCED, 0,
			   "allowed: the network as the bundle gives it");
		return 0;
	}
	/* A path is not joined, and the host's network not shared: hooks see a namespace of their
	 * own. */
	ns->path[NS_NET] = NULL;
	ns->new_flags |= CLONE_NEWNET;
	ns->own_network_late = room_has_create_hooks(plan);
	report_add(report, "network", "namespace", given ? OUTCOME_NARROWED : OUTCOME_ENFORCED,
		   GUARANTEE_BIT(GUARANTEE_NETWORK_BOUNDARY),
		   given ? "an empty network namespace instead of the one that the bundle gives"
			 : "an empty network namespace");
	return 0;
}

/* SIOCSIFFLAGS needs no address: the kernel gives lo 127.0.0.1/8 and ::1 when it comes up
 * (netdevice(7)). */
static int raise_loopback(struct sbx_error *err)
{
	struct ifreq request = {.ifr_name = "lo"};
	cleanup_fd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "open a socket to bring up lo");
	request.ifr_flags = IFF_UP | IFF_RUNNING;
	if (ioctl(fd, SIOCSIFFLAGS, &request) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "bring up lo");
	return 0;
}

/* Messages in one part of a dump; -1 when it was the last part, with *count kept. */
static int count_part(const char *data, size_t len, uint32_t *count)
{
	const struct nlmsghdr *head = (const struct nlmsghdr *)data;

	for (; NLMSG_OK(head, len); head = NLMSG_NEXT(head, len)) {
		if (head->nlmsg_type == NLMSG_DONE || head->nlmsg_type == NLMSG_ERROR)
			return -1;
		(*count)++;
	}
	return 0;
}

/* How many objects rtnetlink(7) dumps for a request type. */
static int count_objects(int fd, uint16_t type, uint32_t *ret)
{
	struct {
		struct nlmsghdr head;
		struct rtgenmsg body;
	} request = {
		.head = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtgenmsg)),
			 .nlmsg_type = type,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.body = {.rtgen_family = AF_UNSPEC},
	};
	_Alignas(struct nlmsghdr) char data[DUMP_BYTES];
	uint32_t count = 0;

	if (send(fd, &request, request.head.nlmsg_len, 0) < 0)
		return -errno;
	for (;;) {
		ssize_t len = recv(fd, data, sizeof(data), 0);

		if (len < 0)
			return -errno;
		if (count_part(data, (size_t)len, &count) < 0)
			break;
	}
	*ret = count;
	return 0;
}

static int read_boundary(uint32_t ret[3], struct sbx_error *err)
{
	static const uint16_t types[] = {RTM_GETLINK, RTM_GETADDR, RTM_GETROUTE};
	cleanup_fd int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "open rtnetlink to list the network");
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		int rc = count_objects(fd, types[i], &ret[i]);

		if (rc < 0)
			return sbx_fail(err, SBX_E_SYSTEM, -rc, "list the network namespace");
	}
	return 0;
}

static int make_own_namespace(struct run *run, struct sbx_error *err)
{
	const struct plan_namespaces *ns = &run->plan->namespaces;
	int rc;

	if (ns->own_network_late) {
		if (unshare(CLONE_NEWNET) < 0)
			return sbx_fail(err, SBX_E_SYSTEM, errno,
					"make the payload's own network namespace");
		rc = raise_loopback(err);
		if (rc < 0)
			return rc;
	}
	return is_confined_off(run->plan) ? read_boundary(run->boundary, err) : 0;
}

static int check_boundary(const struct run *run, struct sbx_error *err)
{
	uint32_t now[3] = {0};
	int rc;

	if (!is_confined_off(run->plan))
		return 0;
	rc = read_boundary(now, err);
	if (rc < 0)
		return rc;
	if (memcmp(now, run->boundary, sizeof(now)) == 0)
		return 0;
	return sbx_fail(err, SBX_E_BOUNDARY_CHANGED, 0,
			"the profile denies the network, but something was added to its namespace "
			"after create (%u links, %u addresses, %u routes; made with %u, %u, %u); "
			"tell the manager to give no network, such as --network none",
			now[0], now[1], now[2], run->boundary[0], run->boundary[1],
			run->boundary[2]);
}

static int apply_network(struct run *run, enum stage stage, struct sbx_error *err)
{
	switch (stage) {
	case STAGE_NETWORK:
		return (run->plan->namespaces.new_flags & CLONE_NEWNET) ? raise_loopback(err) : 0;
	case STAGE_OWN_NETWORK:
		return make_own_namespace(run, err);
	case STAGE_BOUNDARY:
		return check_boundary(run, err);
	default:
		return 0;
	}
}

const struct room room_network = {
	.name = "network",
	.plan = plan_network,
	.apply = apply_network,
};
