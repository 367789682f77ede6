/*
 * The device list of cgroup v1 (cgroup-v1/devices.rst).
 *
 * v1 holds a default for all devices and exceptions from it, and writing is adding or taking away
 * exactly such an exception: a rule that denies one device of an allowed range takes nothing away
 * and would leave it open. So the ordered rules are first brought to a default and its exceptions
 * here, where every step is exact or refused, and only the result is written.
 */
#include "backends/linux/cgroup/devices.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"

static bool number_within(int64_t inner, int64_t outer)
{
	return outer < 0 || inner == outer;
}

static bool numbers_meet(int64_t a, int64_t b)
{
	return a < 0 || b < 0 || a == b;
}

static bool is_everything(const struct device_rule *r)
{
	return r->type == 'a' && r->major < 0 && r->minor < 0 && r->access == DEVICE_ALL;
}

static int add_exception(struct device_exceptions *list, const struct device_rule *rule)
{
	for (size_t i = 0; i < list->n; i++) {
		struct device_rule *e = &list->v[i];

		if (e->type == rule->type && e->major == rule->major && e->minor == rule->minor) {
			e->access |= rule->access;
			e->is_default &= rule->is_default;
			return 0;
		}
	}
	if (list->n == DEVICE_RULES_MAX)
		return -E2BIG;
	list->v[list->n++] = *rule;
	return 0;
}

/* A rule that agrees with the default takes exceptions away. */
static int remove_exceptions(struct device_exceptions *list, const struct device_rule *rule)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->n; i++) {
		struct device_rule e = list->v[i];

		if (e.type == rule->type && (e.access & rule->access) &&
		    numbers_meet(e.major, rule->major) && numbers_meet(e.minor, rule->minor)) {
			if (!number_within(e.major, rule->major) ||
			    !number_within(e.minor, rule->minor))
				return -ENOTSUP;
			e.access &= ~rule->access;
		}
		if (e.access)
			list->v[kept++] = e;
	}
	list->n = kept;
	return 0;
}

static int take_rule(struct device_exceptions *list, const struct device_rule *rule)
{
	if (is_everything(rule)) {
		list->default_allow = rule->allow;
		list->n = 0;
		return 0;
	}
	if (rule->type == 'a') {
		struct device_rule one = *rule;
		int r;

		one.type = 'b';
		r = take_rule(list, &one);
		one.type = 'c';
		return r < 0 ? r : take_rule(list, &one);
	}
	return rule->allow == list->default_allow ? remove_exceptions(list, rule)
						  : add_exception(list, rule);
}

int devices_normalise_v1(const struct device_rules *rules, struct device_exceptions *ret,
			 struct sbx_error *err)
{
	ret->default_allow = false;
	ret->n = 0;
	for (size_t i = 0; i < rules->n; i++) {
		const struct device_rule *rule = &rules->v[i];
		int r = take_rule(ret, rule);
		char text[64];

		if (r == 0)
			continue;
		devices_format_v1(rule, text);
		if (r == -ENOTSUP)
			return sbx_fail(err, SBX_E_UNSUPPORTED, 0,
					"%s device \"%s\": cgroup v1 cannot take a part out of a "
					"wider rule before it in \"linux.resources.devices\"",
					rule->allow ? "allow" : "deny", text);
		return sbx_fail(err, SBX_E_INVALID_CONFIG, -r, "take the device rule \"%s\"", text);
	}
	return 0;
}

static void format_number(int64_t number, char out[24])
{
	if (number < 0)
		snprintf(out, 24, "*");
	else
		snprintf(out, 24, "%lld", (long long)number);
}

void devices_format_v1(const struct device_rule *rule, char out[64])
{
	char major[24], minor[24];

	format_number(rule->major, major);
	format_number(rule->minor, minor);
	snprintf(out, 64, "%c %s:%s %s%s%s", rule->type, major, minor,
		 rule->access & DEVICE_READ ? "r" : "", rule->access & DEVICE_WRITE ? "w" : "",
		 rule->access & DEVICE_MKNOD ? "m" : "");
}

static int write_exceptions(const struct cgroup_hierarchy *h, const struct device_exceptions *list,
			    struct sbx_error *err)
{
	const char *file = list->default_allow ? "devices.deny" : "devices.allow";
	cleanup_fd int fd = -EBADF;

	if (list->n == 0)
		return 0;
	fd = cgroup_open_file(h, file, O_WRONLY);
	if (fd < 0)
		return cgroup_fail(err, h, -fd, "open the device list of cgroup");
	for (size_t i = 0; i < list->n; i++) {
		const struct device_rule *rule = &list->v[i];
		char text[64];

		devices_format_v1(rule, text);
		if (write(fd, text, strlen(text)) >= 0)
			continue;
		/* the group above has less: of our own list that is no loss of what was asked */
		if (errno == EPERM && rule->is_default)
			continue;
		return sbx_fail(err, SBX_E_SYSTEM, errno,
				"write \"%s\" to \"%s\" of cgroup \"%s\"%s", text, file, h->path,
				errno == EPERM ? " (the group above does not allow it)" : "");
	}
	return 0;
}

int devices_write_v1(const struct cgroup_hierarchy *h, const struct device_rules *rules,
		     struct sbx_error *err)
{
	cleanup_free struct device_exceptions *list = malloc(sizeof(*list));
	int r;

	if (!list)
		return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "restrict devices");
	r = devices_normalise_v1(rules, list, err);
	if (r < 0)
		return r;
	r = cgroup_write_file(h, list->default_allow ? "devices.allow" : "devices.deny", "a");
	if (r < 0)
		return cgroup_fail(err, h, -r, "set the default of the device list of cgroup");
	return write_exceptions(h, list, err);
}
