/*
 * The systemd cgroup manager: the container's group is a scope unit that systemd makes, holds the
 * limits that systemd knows, and is given to the runtime to work in (Delegate=).
 *
 * Of the scope's group the container gets a group below, "container": what systemd does to its own
 * group (limits written anew at daemon-reload, the device list on v1) does not touch it, no process
 * stands in the way of controllers, and a systemd inside has a root that is its own alone. Limits
 * are set twice, as properties of the scope and as files of the group, so that those that systemd
 * has no word for hold as well, and weights count where they compete. The device filter stands on
 * the group below only.
 *
 * systemd is spoken to by a program of its own (backends/linux/systemd/), which is started for one
 * request: the runtime is linked without a loader and loads no library.
 */
#ifndef SBX_LINUX_CGROUP_SYSTEMD_H
#define SBX_LINUX_CGROUP_SYSTEMD_H

#include "backends/linux/cgroup/cgroup.h"

/* ---- systemd_names.c: pure ---- */

/*
 * The unit of linux.cgroupsPath "SLICE:PREFIX:NAME", PREFIX-NAME.scope in SLICE. An empty SLICE is
 * system.slice (of a user's manager user.slice), "-" the root slice; an empty PREFIX leaves NAME
 * alone. given NULL: ":sbx:ID". SBX_E_INVALID_CONFIG at /linux/cgroupsPath for anything else.
 */
int systemd_names(struct arena *arena, const char *given, const char *id, bool user_manager,
		  const char **ret_slice, const char **ret_unit, struct sbx_error *err);

/* A name of a scope as systemd_names() makes them. */
bool systemd_is_scope(const char *text);

/* The group below a scope that takes the container, as the annotation asks; NULL: the default. One
 * name, or "" for the scope's own group. */
int systemd_subgroup(const char *annotation, const char **ret, struct sbx_error *err);

/* Tells one container's scope from any other; mark: a random number. */
void systemd_describe(const char *id, uint64_t mark, char out[CGROUP_DESCRIPTION_MAX]);

/* Where systemd puts a slice below its own root: "/a.slice/a-b.slice", "" for "-.slice". 0 or
 * -ENAMETOOLONG. */
int systemd_slice_path(const char *slice, char *out, size_t size);

/* ---- systemd_value.c: pure ---- */

/*
 * The members "name", "type" (of D-Bus) and "value" of one property as an annotation
 * "org.systemd.property.NAME" gives it, in GVariant's text form: true, 5, uint64 5, 'text',
 * ['a', 'b']. NAME that ends with Sec is given in seconds and sent as USec. What the runtime sets
 * itself, and what acts on other units or the machine, is refused.
 */
int systemd_value_write(struct json_writer *w, const char *name, const char *text,
			struct sbx_error *err);

/* ---- systemd_properties.c: pure ---- */

/* What a group has now: a quota or a period is often given without the other. */
struct systemd_cpu {
	int64_t quota_us; /* 0: none */
	uint64_t period_us;
};

/* Open an element of the array: the caller writes "value" and ends the object. since: version of
 * systemd that knows the property, 0: any. */
void systemd_property_begin(struct json_writer *w, const char *name, const char *type,
			    unsigned since);

/* The limits as elements of the open array. */
void systemd_properties_write(struct json_writer *w, const struct oci_resources *resources,
			      bool unified, const struct systemd_cpu *now);

/* Annotations that cannot be properties are refused before anything is made. */
int systemd_check_annotations(const struct oci_key_values *annotations, struct sbx_error *err);

/* What annotations ask for, as above. */
int systemd_annotations_write(struct json_writer *w, const struct oci_key_values *annotations,
			      struct sbx_error *err);

/* ---- systemd_client.c ---- */

/* Is there a manager, and our program for it? SBX_E_UNSUPPORTED says what is missing. */
int systemd_available(bool user_manager, struct sbx_error *err);

/* One request, {"call": ...} without its end, to the manager; the answer's error becomes err. */
int systemd_request(bool user_manager, const struct buf *request, struct sbx_error *err);

/* Members that every request begins with. */
void systemd_begin(struct json_writer *w, struct buf *out, const char *call,
		   const struct cgroup_unit *unit);

/* ---- systemd.c: the driver ---- */

/* Names and provisional places into cg; nothing is made. */
int systemd_resolve(const struct plan_cgroup *plan, struct cgroup *cg, struct sbx_error *err);

/* A scope with pid in it; plan NULL: without limits, in the manager's own slice. */
int systemd_start(const struct plan_cgroup *plan, const struct cgroup *cg, pid_t pid,
		  struct sbx_error *err);

/*
 * Start the scope with pid in it, and put pid into the container's group. cg then has the places
 * where it is. -EBUSY where the unit exists. On failure nothing is left.
 */
int systemd_adopt(const struct plan_cgroup *plan, struct cgroup *cg, pid_t pid,
		  struct sbx_error *err);

/* New limits for the scope. */
int systemd_update(const struct cgroup *cg, const struct oci_resources *resources,
		   struct sbx_error *err);

/* End the scope and all in it, if it is the one that cg describes. Absent is success. A description
 * that ends with a blank stands for all that begin so. */
int systemd_stop(const struct cgroup *cg, struct sbx_error *err);

/* The same, where there may be one, and the groups. */
int systemd_remove(const struct cgroup *cg, struct sbx_error *err);

#endif
