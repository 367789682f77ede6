/*
 * A group in the state store: written at create, read by every later verb.
 *
 * What is read decides which directories are frozen, killed and removed, so it is checked as
 * anything foreign: bounds, absolute canonical paths, no group that is a hierarchy's root.
 */
#include "backends/linux/cgroup/internal.h"
#include "backends/linux/cgroup/systemd.h"

#include <errno.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/path.h"

static const char *const manager_names[] = {
	[CGROUP_MANAGER_CGROUPFS] = "cgroupfs",
	[CGROUP_MANAGER_SYSTEMD] = "systemd",
	[CGROUP_MANAGER_DISABLED] = "disabled",
};

static const char *const mode_names[] = {
	[CGROUP_MODE_NONE] = "none",
	[CGROUP_MODE_V1] = "v1",
	[CGROUP_MODE_HYBRID] = "hybrid",
	[CGROUP_MODE_V2] = "v2",
};

const char *cgroup_mode_name(enum cgroup_mode mode)
{
	return mode_names[mode];
}

void cgroup_write(struct json_writer *w, const char *key, const struct cgroup *cg)
{
	json_begin_object(w, key);
	json_write_string(w, "manager", manager_names[cg->manager]);
	json_write_string(w, "mode", mode_names[cg->mode]);
	if (cg->manager == CGROUP_MANAGER_SYSTEMD) {
		json_write_string(w, "unit", cg->unit.name);
		json_write_string(w, "description", cg->unit.description);
		json_write_bool(w, "userManager", cg->unit.user_manager);
	}
	json_begin_array(w, "hierarchies");
	for (size_t i = 0; i < cg->n; i++) {
		const struct cgroup_hierarchy *h = &cg->v[i];

		json_begin_object(w, NULL);
		json_write_string(w, "controllers", h->controllers);
		json_write_string(w, "mount", h->mount);
		json_write_string(w, "path", h->path);
		json_write_bool(w, "unified", h->unified);
		json_write_bool(w, "split", h->split);
		json_write_bool(w, "made", h->made);
		if (cg->manager == CGROUP_MANAGER_SYSTEMD)
			json_write_uint(w, "inode", h->inode);
		json_end_object(w);
	}
	json_end_array(w);
	json_end_object(w);
}

static int read_string(const struct json_node *object, const char *key, char *out, size_t size)
{
	const struct json_node *node = json_get(object, key);

	if (!node || node->type != JSON_STRING || node->len >= size)
		return -EINVAL;
	memcpy(out, node->text, node->len + 1);
	return 0;
}

static int read_bool(const struct json_node *object, const char *key, bool *ret)
{
	const struct json_node *node = json_get(object, key);

	if (!node || (node->type != JSON_TRUE && node->type != JSON_FALSE))
		return -EINVAL;
	*ret = node->type == JSON_TRUE;
	return 0;
}

static int read_name(const struct json_node *object, const char *key, const char *const *names,
		     size_t n, unsigned *ret)
{
	char text[32];

	if (read_string(object, key, text, sizeof(text)) < 0)
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		if (strcmp(text, names[i]) == 0) {
			*ret = (unsigned)i;
			return 0;
		}
	return -EINVAL;
}

static int read_unit(const struct json_node *node, struct cgroup_unit *unit)
{
	if (read_string(node, "unit", unit->name, sizeof(unit->name)) < 0 ||
	    read_string(node, "description", unit->description, sizeof(unit->description)) < 0 ||
	    read_bool(node, "userManager", &unit->user_manager) < 0)
		return -EINVAL;
	return systemd_is_scope(unit->name) && unit->description[0] ? 0 : -EINVAL;
}

static int read_hierarchy(const struct json_node *node, struct cgroup_hierarchy *h)
{
	if (read_string(node, "controllers", h->controllers, sizeof(h->controllers)) < 0 ||
	    read_string(node, "mount", h->mount, sizeof(h->mount)) < 0 ||
	    read_string(node, "path", h->path, sizeof(h->path)) < 0 ||
	    read_bool(node, "unified", &h->unified) < 0 ||
	    read_bool(node, "split", &h->split) < 0 || read_bool(node, "made", &h->made) < 0)
		return -EINVAL;
	if (json_get(node, "inode") && json_uint64(json_get(node, "inode"), &h->inode) < 0)
		return -EINVAL;
	if (!path_is_canonical(h->mount) || !path_is_canonical(h->path) || h->path[1] == '\0')
		return -EINVAL;
	return 0;
}

int cgroup_read(const struct json_node *node, struct cgroup *ret)
{
	const struct json_node *list = json_get(node, "hierarchies"), *item;
	unsigned manager, mode;
	struct cgroup cg = {0};

	if (read_name(node, "manager", manager_names, ARRAY_SIZE(manager_names), &manager) < 0 ||
	    read_name(node, "mode", mode_names, ARRAY_SIZE(mode_names), &mode) < 0 || !list ||
	    list->type != JSON_ARRAY || list->count > CGROUP_HIERARCHIES_MAX)
		return -EINVAL;
	cg.manager = (enum cgroup_manager)manager;
	cg.mode = (enum cgroup_mode)mode;
	if (cg.manager == CGROUP_MANAGER_SYSTEMD && read_unit(node, &cg.unit) < 0)
		return -EINVAL;
	for (item = list->child; item; item = item->next)
		if (read_hierarchy(item, &cg.v[cg.n++]) < 0)
			return -EINVAL;
	*ret = cg;
	return 0;
}
