/*
 * Network devices of the host that config.json gives to the container's network namespace.
 *
 * The runtime moves them, because it alone has rights over both namespaces: through one socket in
 * each. The kernel drops a device's addresses on the way, so the permanent global ones are read
 * before and added after. Each step leaves the device where one of the two sockets finds it: it
 * travels under a name that nothing else has, and gets its own there, so that a name that is taken
 * fails while the device is in the runtime's hands. Whatever fails later, also in the making of the
 * container, it comes back with its name, addresses and state; a virtual device would else end with
 * the namespace. At delete nothing is moved: a physical device falls back to the host by the
 * kernel's own hand.
 */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/linux/room.h"
#include "backends/linux/rtnl.h"
#include "backends/linux/spawn.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/log.h"
#include "runtime/base/procfs.h"

#define POINTER	      "/linux/netDevices"
#define ADDRESSES_MAX 512
#define ADDRESS_BYTES 192
#define KEPT_ADDRESS_FLAGS                                                                         \
	(IFA_F_NODAD | IFA_F_HOMEADDRESS | IFA_F_NOPREFIXROUTE | IFA_F_MCAUTOJOIN |                \
	 IFA_F_MANAGETEMPADDR)

struct address {
	struct ifaddrmsg fixed;
	char attributes[ADDRESS_BYTES];
	size_t len;
};

/* Where a device is, and under which name. */
enum place { PLACE_HOST, PLACE_TRAVELLING, PLACE_INSIDE };

struct device {
	const char *host_name, *name;
	enum place place;
	int index; /* in the namespace where it is */
	bool was_up;
	struct address *addresses;
	size_t addresses_n;
};

struct net_devices {
	int host_ns, inside_ns;
	int host, inside; /* rtnetlink sockets */
	char travel_name[IFNAMSIZ];
	struct device *v;
	size_t n;
};

/* ---- plan ---- */

/* "%d" once is a template, any other "%" the kernel would refuse half way. */
static bool is_name_or_template(const char *name)
{
	const char *percent = strchr(name, '%');

	return !percent || (percent[1] == 'd' && !strchr(percent + 1, '%'));
}

static const char *inside_name(const struct oci_net_device *device)
{
	return device->name ? device->name : device->host_name;
}

static int check_names(const struct oci_linux *lx, struct sbx_error *err)
{
	for (size_t i = 0; i < lx->net_devices_n; i++) {
		const char *name = inside_name(&lx->net_devices[i]);

		if (!is_name_or_template(name))
			return sbx_fail_at(err, SBX_E_INVALID_CONFIG, POINTER,
					   "name a network device \"%s\": of \"%%\" a name takes "
					   "\"%%d\", once",
					   name);
		for (size_t k = 0; k < i; k++)
			if (!strchr(name, '%') &&
			    strcmp(inside_name(&lx->net_devices[k]), name) == 0)
				return sbx_fail_at(err, SBX_E_INVALID_CONFIG, POINTER,
						   "name two network devices \"%s\"", name);
	}
	return 0;
}

static int net_devices_plan(struct plan *plan, struct report *report, struct sbx_error *err)
{
	const struct oci_linux *lx = &plan->spec->linux_;

	(void)report;
	if (lx->net_devices_n == 0)
		return 0;
	if (!plan->host->privileged)
		return sbx_fail_at(err, SBX_E_UNSUPPORTED, POINTER,
				   "move network devices: that needs host root");
	if (plan->policy->confined && !plan->policy->network_allowed)
		return sbx_fail_at(
			err, SBX_E_PERMISSION_DENIED, POINTER,
			"move network devices: the profile denies the network; leave the "
			"member out, or allow it");
	return check_names(lx, err);
}

/* ---- links ---- */

struct link {
	int index;
	unsigned flags;
	char name[IFNAMSIZ];
};

static int see_link(const struct nlmsghdr *head, void *data)
{
	const struct ifinfomsg *info = NLMSG_DATA(head);
	struct link *link = data;
	const char *name;
	size_t len;

	if (head->nlmsg_type != RTM_NEWLINK || head->nlmsg_len < NLMSG_LENGTH(sizeof(*info)))
		return 0;
	link->index = info->ifi_index;
	link->flags = info->ifi_flags;
	name = rtnl_attribute(head, sizeof(*info), IFLA_IFNAME, &len);
	if (name && len <= sizeof(link->name))
		snprintf(link->name, sizeof(link->name), "%.*s", (int)len, name);
	return 0;
}

static int find_link(int fd, const char *name, struct link *ret)
{
	const struct ifinfomsg any = {.ifi_family = AF_UNSPEC};
	struct rtnl_message m;
	int rc;

	*ret = (struct link){0};
	rtnl_begin(&m, RTM_GETLINK, 0, &any, sizeof(any));
	rtnl_add(&m, IFLA_IFNAME, name, strlen(name) + 1);
	rc = rtnl_ask(fd, &m, see_link, ret);
	return rc == 0 && ret->index == 0 ? -ENODEV : rc;
}

static int set_up(int fd, int index, bool up)
{
	const struct ifinfomsg info = {.ifi_family = AF_UNSPEC,
				       .ifi_index = index,
				       .ifi_flags = up ? IFF_UP : 0,
				       .ifi_change = IFF_UP};
	struct rtnl_message m;

	rtnl_begin(&m, RTM_NEWLINK, 0, &info, sizeof(info));
	return rtnl_talk(fd, &m);
}

/* A new name, and with ns_fd >= 0 the way into that namespace first. */
static int set_name(int fd, int index, int ns_fd, const char *name)
{
	const struct ifinfomsg info = {.ifi_family = AF_UNSPEC, .ifi_index = index};
	struct rtnl_message m;

	rtnl_begin(&m, RTM_NEWLINK, 0, &info, sizeof(info));
	if (ns_fd >= 0)
		rtnl_add(&m, IFLA_NET_NS_FD, &ns_fd, sizeof(ns_fd));
	rtnl_add(&m, IFLA_IFNAME, name, strlen(name) + 1);
	return rtnl_talk(fd, &m);
}

/* ---- addresses ---- */

struct address_list {
	const struct plan *plan;
	struct device *device;
};

static void keep_attribute(struct address *a, uint16_t type, const void *data, size_t len)
{
	struct rtattr *attribute = (struct rtattr *)(a->attributes + a->len);

	if (a->len + RTA_SPACE(len) > sizeof(a->attributes))
		return;
	attribute->rta_type = type;
	attribute->rta_len = (uint16_t)RTA_LENGTH(len);
	memcpy(RTA_DATA(attribute), data, len);
	a->len += RTA_SPACE(len);
}

static int see_address(const struct nlmsghdr *head, void *data)
{
	static const uint16_t kept[] = {IFA_ADDRESS,   IFA_LOCAL,     IFA_LABEL,
					IFA_BROADCAST, IFA_CACHEINFO, IFA_RT_PRIORITY};
	const struct address_list *list = data;
	struct device *device = list->device;
	const struct ifaddrmsg *fixed = NLMSG_DATA(head);
	const uint32_t *wide;
	struct address *a;
	uint32_t flags;
	size_t len;

	if (head->nlmsg_type != RTM_NEWADDR || head->nlmsg_len < NLMSG_LENGTH(sizeof(*fixed)) ||
	    fixed->ifa_index != (unsigned)device->index || fixed->ifa_scope != RT_SCOPE_UNIVERSE)
		return 0;
	wide = rtnl_attribute(head, sizeof(*fixed), IFA_FLAGS, &len);
	flags = wide && len == sizeof(*wide) ? *wide : fixed->ifa_flags;
	if (!(flags & IFA_F_PERMANENT))
		return 0;
	if (!device->addresses)
		device->addresses = arena_alloc_array(list->plan->arena, ADDRESSES_MAX,
						      sizeof(*device->addresses));
	if (!device->addresses || device->addresses_n == ADDRESSES_MAX)
		return device->addresses ? -E2BIG : -ENOMEM;
	a = &device->addresses[device->addresses_n++];
	a->fixed = *fixed;
	flags &= KEPT_ADDRESS_FLAGS;
	a->fixed.ifa_flags = (uint8_t)flags;
	keep_attribute(a, IFA_FLAGS, &flags, sizeof(flags));
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		const void *value = rtnl_attribute(head, sizeof(*fixed), kept[i], &len);

		if (value)
			keep_attribute(a, kept[i], value, len);
	}
	return 0;
}

static int read_addresses(int fd, const struct plan *plan, struct device *device)
{
	const struct ifaddrmsg any = {.ifa_family = AF_UNSPEC};
	struct address_list list = {plan, device};
	struct rtnl_message m;
	int rc;

	do {
		device->addresses_n = 0;
		rtnl_begin(&m, RTM_GETADDR, NLM_F_DUMP, &any, sizeof(any));
		rc = rtnl_ask(fd, &m, see_address, &list);
	} while (rc == -EINTR); /* it changed while it was listed */
	return rc;
}

/* A label is the device's name, which the kernel fills in, or that with a suffix. */
static void add_label(struct rtnl_message *m, const char *label, const char *from, const char *to)
{
	size_t len = strlen(from);
	char renamed[2 * IFNAMSIZ];

	if (strncmp(label, from, len) != 0) {
		rtnl_add(m, IFA_LABEL, label, strlen(label) + 1);
		return;
	}
	snprintf(renamed, sizeof(renamed), "%s%s", to, label + len);
	if (label[len] == ':' && strlen(renamed) < IFNAMSIZ)
		rtnl_add(m, IFA_LABEL, renamed, strlen(renamed) + 1);
}

static int add_address(int fd, int index, const struct address *a, const char *from, const char *to)
{
	const struct rtattr *attribute = (const struct rtattr *)a->attributes;
	struct ifaddrmsg fixed = a->fixed;
	struct rtnl_message m;
	size_t left = a->len;
	int rc;

	fixed.ifa_index = (unsigned)index;
	rtnl_begin(&m, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &fixed, sizeof(fixed));
	for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
		if (attribute->rta_type == IFA_LABEL)
			add_label(&m, RTA_DATA(attribute), from, to);
		else
			rtnl_add(&m, attribute->rta_type, RTA_DATA(attribute),
				 RTA_PAYLOAD(attribute));
	}
	rc = rtnl_talk(fd, &m);
	return rc == -EEXIST ? 0 : rc; /* it survived */
}

static int add_addresses(int fd, const struct device *device, const char *from, const char *to)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < device->addresses_n; i++)
		rc = add_address(fd, device->index, &device->addresses[i], from, to);
	return rc;
}

/* ---- namespaces ---- */

static int open_inside_ns(const struct run *run, struct sbx_error *err)
{
	const char *path = run->plan->namespaces.path[NS_NET];
	char name[32];
	int fd;

	if (path)
		return spawn_open_namespace(NS_NET, path, err);
	snprintf(name, sizeof(name), "%d/ns/net", (int)run->pid);
	fd = procfs_open_magic(run->proc_fd, name, O_RDONLY);
	return fd < 0 ? sbx_fail(err, SBX_E_SYSTEM, -fd, "open the container's network namespace")
		      : fd;
}

/* The socket belongs to the namespace that it is made in; only for that is it entered. */
static int open_inside_socket(struct net_devices *all, struct sbx_error *err)
{
	if (setns(all->inside_ns, CLONE_NEWNET) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno,
				"enter the container's network namespace");
	all->inside = rtnl_open();
	if (setns(all->host_ns, CLONE_NEWNET) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "come back from the container's network");
	return all->inside < 0 ? sbx_fail(err, SBX_E_SYSTEM, -all->inside, "open rtnetlink inside")
			       : 0;
}

static int open_all(const struct run *run, struct net_devices *all, struct sbx_error *err)
{
	struct stat host, inside;

	all->host_ns = procfs_open_magic(run->proc_fd, "self/ns/net", O_RDONLY);
	if (all->host_ns < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -all->host_ns, "open the own network namespace");
	all->inside_ns = open_inside_ns(run, err);
	if (all->inside_ns < 0)
		return all->inside_ns;
	if (fstat(all->host_ns, &host) < 0 || fstat(all->inside_ns, &inside) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, errno, "compare network namespaces");
	if (host.st_dev == inside.st_dev && host.st_ino == inside.st_ino)
		return sbx_fail_at(
			err, SBX_E_INVALID_CONFIG, POINTER,
			"move network devices: the container's network namespace is that "
			"of the caller");
	all->host = rtnl_open();
	if (all->host < 0)
		return sbx_fail(err, SBX_E_SYSTEM, -all->host, "open rtnetlink");
	return open_inside_socket(all, err);
}

static void close_all(struct net_devices *all)
{
	cleanup_close_fd(&all->host);
	cleanup_close_fd(&all->inside);
	cleanup_close_fd(&all->host_ns);
	cleanup_close_fd(&all->inside_ns);
}

/* ---- moving ---- */

static int fail_move(const struct device *device, int rc, const char *what, struct sbx_error *err)
{
	return sbx_fail_at(err, rc == -EPERM ? SBX_E_PERMISSION_DENIED : SBX_E_SYSTEM, POINTER,
			   "move network device \"%s\": %s \"%s\": %s", device->host_name, what,
			   device->name, strerror(-rc));
}

static int leave_host(struct net_devices *all, const struct plan *plan, struct device *device,
		      struct sbx_error *err)
{
	struct link link;
	int rc = find_link(all->host, device->host_name, &link);

	if (rc < 0)
		return fail_move(device, rc, "find it, to be", err);
	device->index = link.index;
	device->was_up = link.flags & IFF_UP;
	rc = read_addresses(all->host, plan, device);
	if (rc < 0)
		return fail_move(device, rc, "read the addresses of what will be", err);
	rc = device->was_up ? set_up(all->host, device->index, false) : 0;
	if (rc < 0)
		return fail_move(device, rc, "bring it down, to be", err);
	/* From here on it is brought up again. */
	rc = set_name(all->host, device->index, all->inside_ns, all->travel_name);
	if (rc < 0) {
		if (device->was_up)
			(void)set_up(all->host, device->index, true);
		(void)add_addresses(all->host, device, device->host_name, device->host_name);
		return fail_move(device, rc, "send it, to be", err);
	}
	device->place = PLACE_TRAVELLING;
	return 0;
}

static int arrive(struct net_devices *all, struct device *device, struct sbx_error *err)
{
	struct link link;
	int rc = find_link(all->inside, all->travel_name, &link);

	if (rc < 0)
		return fail_move(device, rc, "find it inside, to be", err);
	device->index = link.index;
	rc = set_name(all->inside, device->index, -1, device->name);
	if (rc < 0)
		return fail_move(device, rc, "call it", err);
	device->place = PLACE_INSIDE;
	rc = add_addresses(all->inside, device, device->host_name, device->name);
	if (rc < 0)
		return fail_move(device, rc, "add the addresses of", err);
	rc = device->was_up ? set_up(all->inside, device->index, true) : 0;
	return rc < 0 ? fail_move(device, rc, "bring up", err) : 0;
}

/* As much of it as goes: this is the way back from another error. */
static void bring_back(struct net_devices *all, struct device *device)
{
	struct link link;
	int rc;

	if (device->place == PLACE_HOST)
		return;
	rc = find_link(all->inside, all->travel_name, &link);
	if (rc == 0)
		device->index = link.index;
	(void)set_up(all->inside, device->index, false);
	rc = set_name(all->inside, device->index, all->host_ns, device->host_name);
	if (rc == 0)
		rc = find_link(all->host, device->host_name, &link);
	if (rc == 0) {
		device->place = PLACE_HOST;
		device->index = link.index;
		rc = device->was_up ? set_up(all->host, device->index, true) : 0;
	}
	if (rc == 0)
		rc = add_addresses(all->host, device, device->host_name, device->host_name);
	if (rc < 0)
		log_warning("network device \"%s\" did not come back as it was: %s",
			    device->host_name, strerror(-rc));
}

static void net_devices_undo(struct run *run)
{
	struct net_devices *all = *room_slot(run, &room_net_devices);

	if (!all)
		return;
	for (size_t i = all->n; i > 0; i--)
		bring_back(all, &all->v[i - 1]);
	close_all(all);
	*room_slot(run, &room_net_devices) = NULL;
}

static void net_devices_settle(struct run *run)
{
	struct net_devices *all = *room_slot(run, &room_net_devices);

	if (all)
		close_all(all);
	*room_slot(run, &room_net_devices) = NULL;
}

static struct net_devices *make_list(const struct plan *plan)
{
	const struct oci_linux *lx = &plan->spec->linux_;
	struct net_devices *all = arena_alloc(plan->arena, sizeof(*all));
	uint64_t number;

	if (!all || getrandom(&number, sizeof(number), 0) != sizeof(number))
		return NULL;
	*all = (struct net_devices){
		.host_ns = -EBADF, .inside_ns = -EBADF, .host = -EBADF, .inside = -EBADF};
	snprintf(all->travel_name, sizeof(all->travel_name), "sbx%012llx",
		 (unsigned long long)(number & 0xffffffffffff));
	all->v = arena_alloc_array(plan->arena, lx->net_devices_n, sizeof(*all->v));
	if (!all->v)
		return NULL;
	for (size_t i = 0; i < lx->net_devices_n; i++)
		all->v[i] = (struct device){.host_name = lx->net_devices[i].host_name,
					    .name = inside_name(&lx->net_devices[i])};
	all->n = lx->net_devices_n;
	return all;
}

static int net_devices_apply(struct run *run, enum stage stage, struct sbx_error *err)
{
	struct net_devices *all;
	int rc;

	(void)stage;
	if (run->is_exec || run->plan->spec->linux_.net_devices_n == 0)
		return 0;
	all = make_list(run->plan);
	if (!all)
		return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "move network devices");
	*room_slot(run, &room_net_devices) = all;
	rc = open_all(run, all, err);
	for (size_t i = 0; rc == 0 && i < all->n; i++) {
		rc = leave_host(all, run->plan, &all->v[i], err);
		if (rc == 0)
			rc = arrive(all, &all->v[i], err);
	}
	return rc;
}

static void net_devices_dump(const struct plan *plan, struct json_writer *w)
{
	const struct oci_linux *lx = &plan->spec->linux_;

	if (lx->net_devices_n == 0)
		return;
	json_begin_object(w, "netDevices");
	for (size_t i = 0; i < lx->net_devices_n; i++)
		json_write_string(w, lx->net_devices[i].host_name,
				  inside_name(&lx->net_devices[i]));
	json_end_object(w);
}

const struct room room_net_devices = {
	.name = "netDevices",
	.plan = net_devices_plan,
	.apply = net_devices_apply,
	.undo = net_devices_undo,
	.settle = net_devices_settle,
	.dump = net_devices_dump,
};
