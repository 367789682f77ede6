/*
 * What config.json can ask and no room enforces yet: refused by name at planning, so that nothing
 * is silently left out. A row goes when its room is built.
 */
#include "backends/linux/room.h"
#include "runtime/base/cleanup.h"

struct unbuilt_row {
	const char *pointer;
	bool (*is_asked)(const struct oci_spec *spec);
};

static bool asks_intel_rdt(const struct oci_spec *spec)
{
	return spec->linux_.intel_rdt != NULL;
}

static const struct unbuilt_row unbuilt_rows[] = {
	{"/linux/intelRdt", asks_intel_rdt},
};

static int unbuilt_plan(struct plan *plan, struct report *report, struct sbx_error *err)
{
	size_t i;

	(void)report;
	for (i = 0; i < ARRAY_SIZE(unbuilt_rows); i++) {
		if (unbuilt_rows[i].is_asked(plan->spec))
			return sbx_fail_at(err, SBX_E_UNSUPPORTED, unbuilt_rows[i].pointer,
					   "apply \"%s\": this release does not enforce it; leave "
					   "the member out",
					   unbuilt_rows[i].pointer);
	}
	return 0;
}

const struct room room_unbuilt = {
	.name = "unbuilt",
	.plan = unbuilt_plan,
};
