/*
 * Which devices a container may open and make: the rules.
 *
 * A new group starts with everything denied, then come the bundle's rules in their order, then the
 * list that every container needs (config-linux.md#default-devices and the nodes of a terminal).
 * The list stands last because a rule of the bundle must not take /dev/null away from the runtime's
 * own set-up; mknod(2) of any device is in it, opening what was made is not.
 */
#include "backends/linux/cgroup/devices.h"

#include <errno.h>
#include <stdlib.h>

#include "runtime/base/cleanup.h"

/* clang-format off */
static const struct device_rule default_rules[] = {
	{'c', true, true,  -1,  -1, DEVICE_MKNOD},
	{'b', true, true,  -1,  -1, DEVICE_MKNOD},
	{'c', true, true,   1,   3, DEVICE_ALL}, /* null */
	{'c', true, true,   1,   5, DEVICE_ALL}, /* zero */
	{'c', true, true,   1,   7, DEVICE_ALL}, /* full */
	{'c', true, true,   1,   8, DEVICE_ALL}, /* random */
	{'c', true, true,   1,   9, DEVICE_ALL}, /* urandom */
	{'c', true, true,   5,   0, DEVICE_ALL}, /* tty */
	{'c', true, true,   5,   2, DEVICE_ALL}, /* ptmx */
	{'c', true, true, 136,  -1, DEVICE_ALL}, /* pts */
	{'c', true, true,  10, 200, DEVICE_ALL}, /* net/tun */
};
/* clang-format on */

static int add_rule(struct device_rules *rules, struct device_rule rule)
{
	if (rules->n == DEVICE_RULES_MAX)
		return -E2BIG;
	rules->v[rules->n++] = rule;
	return 0;
}

int devices_collect(const struct oci_resources *resources, struct device_rules *ret,
		    struct sbx_error *err)
{
	int r = 0;

	ret->n = 0;
	for (size_t i = 0; resources && r == 0 && i < resources->devices_n; i++) {
		const struct oci_device_rule *d = &resources->devices[i];
		struct device_rule rule = {
			.type = d->type,
			.allow = d->allow,
			.major = d->major,
			.minor = d->minor,
			.access = (d->r ? DEVICE_READ : 0) | (d->w ? DEVICE_WRITE : 0) |
				  (d->m ? DEVICE_MKNOD : 0),
		};

		if (rule.access == 0 && !rule.allow) /* denied without saying what: everything */
			rule.access = DEVICE_ALL;
		if (rule.access)
			r = add_rule(ret, rule);
	}
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(default_rules); i++)
		r = add_rule(ret, default_rules[i]);
	return r == 0 ? 0
		      : sbx_fail(err, SBX_E_INVALID_CONFIG, -r,
				 "take more than %d rules in \"linux.resources.devices\"",
				 DEVICE_RULES_MAX);
}

bool devices_decide(const struct device_rules *rules, char type, int64_t major, int64_t minor,
		    unsigned access)
{
	for (size_t i = rules->n; i-- > 0;) {
		const struct device_rule *r = &rules->v[i];

		if ((r->type != 'a' && r->type != type) || (r->major >= 0 && r->major != major) ||
		    (r->minor >= 0 && r->minor != minor))
			continue;
		if (!r->allow && (access & r->access))
			return false;
		if (r->allow)
			access &= ~r->access;
		if (access == 0)
			return true;
	}
	return false;
}

int cgroup_apply_devices(const struct cgroup *cg, const struct oci_resources *resources,
			 struct sbx_error *err)
{
	const struct cgroup_hierarchy *v1 = cgroup_find_v1(cg, "devices");
	const struct cgroup_hierarchy *v2 = cgroup_find_unified(cg);
	cleanup_free struct device_rules *rules = NULL;
	int r;

	if (cg->n == 0)
		return 0;
	if (!v1 && !v2)
		return sbx_fail(err, SBX_E_UNSUPPORTED, 0,
				"restrict devices: no hierarchy is mounted with the controller "
				"devices, nor cgroup2");
	rules = malloc(sizeof(*rules));
	if (!rules)
		return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "restrict devices");
	r = devices_collect(resources, rules, err);
	if (r < 0)
		return r;
	return v1 ? devices_write_v1(v1, rules, err) : devices_attach_bpf(v2, rules, err);
}
