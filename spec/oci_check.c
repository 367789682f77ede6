/*
 * Rules between members of config.json that need the whole document: what needs which namespace,
 * and which sysctl a container may have. Each rule is one function that refuses with the pointer of
 * the member that is wrong; oci_check() is the list of them.
 */
#include "spec/oci_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"

static int refuse(struct sbx_error *err, const char *pointer, const char *text)
{
	return sbx_fail_at(err, SBX_E_INVALID_CONFIG, pointer, "check config.json: \"%s\" %s",
			   pointer, text);
}

/* ---- namespaces ---- */

static bool has_ns(const struct oci_spec *spec, enum oci_ns ns)
{
	return spec->linux_.ns[ns].set;
}

static bool is_new_ns(const struct oci_spec *spec, enum oci_ns ns)
{
	return spec->linux_.ns[ns].set && !spec->linux_.ns[ns].path;
}

static int check_user_namespace(const struct oci_spec *spec, struct sbx_error *err)
{
	const struct oci_linux *linux_ = &spec->linux_;

	if (!has_ns(spec, NS_USER)) {
		if (linux_->uid_maps.n > 0)
			return refuse(err, "/linux/uidMappings", "needs a user namespace");
		if (linux_->gid_maps.n > 0)
			return refuse(err, "/linux/gidMappings", "needs a user namespace");
		return 0;
	}
	if (!is_new_ns(spec, NS_USER))
		return 0;
	if (linux_->uid_maps.n == 0)
		return refuse(err, "/linux/namespaces",
			      "asks for a new user namespace without \"uidMappings\"");
	if (linux_->gid_maps.n == 0)
		return refuse(err, "/linux/namespaces",
			      "asks for a new user namespace without \"gidMappings\"");
	return 0;
}

static int check_time_namespace(const struct oci_spec *spec, struct sbx_error *err)
{
	if (!spec->linux_.monotonic.set && !spec->linux_.boottime.set)
		return 0;
	if (!has_ns(spec, NS_TIME))
		return refuse(err, "/linux/timeOffsets", "needs a time namespace");
	if (!is_new_ns(spec, NS_TIME))
		return refuse(err, "/linux/timeOffsets",
			      "needs a new time namespace, this one is joined by its path");
	return 0;
}

static int check_uts_namespace(const struct oci_spec *spec, struct sbx_error *err)
{
	if (has_ns(spec, NS_UTS))
		return 0;
	if (spec->hostname)
		return refuse(err, "/hostname", "needs a uts namespace");
	if (spec->domainname)
		return refuse(err, "/domainname", "needs a uts namespace");
	return 0;
}

static int check_net_devices(const struct oci_spec *spec, struct sbx_error *err)
{
	if (spec->linux_.net_devices_n > 0 && !has_ns(spec, NS_NET))
		return refuse(err, "/linux/netDevices", "needs a network namespace");
	return 0;
}

/* ---- mounts: an idmap without mappings takes the container's ---- */

static int check_idmaps(const struct oci_spec *spec, struct sbx_error *err)
{
	char pointer[64];

	for (size_t i = 0; i < spec->mounts_n; i++) {
		const struct oci_mount *mount = &spec->mounts[i];

		if (mount->uid_maps.n > 0 || has_ns(spec, NS_USER))
			continue;
		for (size_t k = 0; k < mount->options.n; k++) {
			if (strcmp(mount->options.v[k], "idmap") != 0 &&
			    strcmp(mount->options.v[k], "ridmap") != 0)
				continue;
			snprintf(pointer, sizeof(pointer), "/mounts/%zu/options/%zu", i, k);
			return refuse(err, pointer,
				      "needs \"uidMappings\" and \"gidMappings\" or a user "
				      "namespace");
		}
	}
	return 0;
}

/* ---- sysctl ---- */

int oci_sysctl_path(const char *key, char *ret, size_t size)
{
	/* sysctl(8): the first separator is the separator, the other one stands for itself in it.
	 */
	const char *first = strpbrk(key, "./");
	char separator = first ? *first : '.';
	size_t len = strlen(key), component = 0;

	if (len == 0 || len >= size)
		return -EINVAL;
	for (size_t i = 0; i <= len; i++) {
		char c = key[i];

		if (c == separator || c == '\0') {
			const char *start = ret + i - component;

			if (component == 0 || (component == 1 && start[0] == '.') ||
			    (component == 2 && start[0] == '.' && start[1] == '.'))
				return -EINVAL;
			component = 0;
			ret[i] = c == '\0' ? '\0' : '/';
			continue;
		}
		/* A '/' inside a component would be a second separator of the path. */
		if (c == '/')
			c = '.';
		else if (c <= ' ' || c == 0x7f)
			return -EINVAL;
		ret[i] = c;
		component++;
	}
	return 0;
}

struct sysctl_rule {
	const char *path; /* a whole path, or all below it where it ends with '/' */
	enum oci_ns ns;
};

static const struct sysctl_rule sysctl_rules[] = {
	{"kernel/msgmax", NS_IPC}, {"kernel/msgmnb", NS_IPC},	       {"kernel/msgmni", NS_IPC},
	{"kernel/sem", NS_IPC},	   {"kernel/shmall", NS_IPC},	       {"kernel/shmmax", NS_IPC},
	{"kernel/shmmni", NS_IPC}, {"kernel/shm_rmid_forced", NS_IPC}, {"fs/mqueue/", NS_IPC},
	{"net/", NS_NET},	   {"kernel/domainname", NS_UTS},      {"user/", NS_USER},
};

bool oci_sysctl_namespace(const char *path, enum oci_ns *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(sysctl_rules); i++) {
		const char *rule = sysctl_rules[i].path;
		size_t len = strlen(rule);

		if (rule[len - 1] == '/' ? strncmp(path, rule, len) != 0 : strcmp(path, rule) != 0)
			continue;
		*ret = sysctl_rules[i].ns;
		return true;
	}
	return false;
}

static int refuse_sysctl(const struct oci_spec *spec, const struct oci_key_value *sysctl,
			 struct sbx_error *err, const char *text)
{
	const struct json_node *linux_ = json_get(spec->json, "linux");
	char pointer[sizeof(err->pointer)];

	json_pointer(json_get(json_get(linux_, "sysctl"), sysctl->key), pointer, sizeof(pointer));
	return refuse(err, pointer, text);
}

static int check_sysctl(const struct oci_spec *spec, const struct oci_key_value *sysctl,
			struct sbx_error *err)
{
	char path[OCI_SYSCTL_PATH_MAX];
	enum oci_ns ns;
	char text[128];

	if (oci_sysctl_path(sysctl->key, path, sizeof(path)) < 0)
		return refuse_sysctl(spec, sysctl, err, "is no name of a sysctl");
	if (strcmp(path, "kernel/hostname") == 0)
		return refuse_sysctl(spec, sysctl, err, "is not taken here, use \"hostname\"");
	if (!oci_sysctl_namespace(path, &ns))
		return refuse_sysctl(spec, sysctl, err,
				     "belongs to the whole host, not to a namespace");
	if (!has_ns(spec, ns)) {
		snprintf(text, sizeof(text),
			 "needs a namespace of type \"%s\": list one in linux.namespaces",
			 oci_ns_name(ns));
		return refuse_sysctl(spec, sysctl, err, text);
	}
	if (strcmp(path, "kernel/domainname") == 0 && spec->domainname &&
	    strcmp(spec->domainname, sysctl->value) != 0)
		return refuse_sysctl(spec, sysctl, err, "contradicts \"domainname\"");
	return 0;
}

static int check_sysctls(const struct oci_spec *spec, struct sbx_error *err)
{
	int r = 0;

	for (size_t i = 0; i < spec->linux_.sysctl.n && r == 0; i++)
		r = check_sysctl(spec, &spec->linux_.sysctl.v[i], err);
	return r;
}

/* ---- all of them ---- */

int oci_check(const struct oci_spec *spec, struct sbx_error *err)
{
	static int (*const rules[])(const struct oci_spec *spec, struct sbx_error *err) = {
		check_user_namespace, check_time_namespace, check_uts_namespace,
		check_net_devices,    check_idmaps,	    check_sysctls,
	};

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		int r = rules[i](spec, err);

		if (r < 0)
			return r;
	}
	return 0;
}
