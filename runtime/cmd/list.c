/*
 * list: every container of the runtime root.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/text.h"
#include "runtime/cmd/cmds.h"
#include "runtime/cmd/output.h"
#include "runtime/container.h"

static const struct option_row rows[] = {
	{"quiet", 'q', OPTION_FLAG, NULL, "print ids only"},
	{"format", 'f', OPTION_VALUE, "table|json", "form of the list"},
};

enum list_form { FORM_TABLE, FORM_IDS, FORM_JSON };

struct listing {
	enum list_form form;
	struct buf *out;
	struct json_writer w;
};

static void list_one(struct listing *list, const struct container *c)
{
	enum container_status status = state_status(c->dir_fd, &c->state);
	const struct container_state *state = &c->state;
	char bundle[PATH_MAX];

	text_escape(bundle, sizeof(bundle), state->bundle, strlen(state->bundle));
	switch (list->form) {
	case FORM_IDS:
		buf_printf(list->out, "%s\n", state->id);
		break;
	case FORM_JSON:
		state_write_oci(&list->w, NULL, state, status, true);
		break;
	case FORM_TABLE:
		buf_printf(list->out, "%-20s %-8d %-10s %-30s %-31s %s\n", state->id,
			   status == STATUS_STOPPED ? 0 : (int)state->pid, status_name(status),
			   bundle, state->created, state->owner);
		break;
	}
}

/* One damaged container does not hide the others; one that is being made or was removed meanwhile
 * is no news. */
static int pass_over(const struct global_options *global, int rc, const struct sbx_error *err)
{
	switch (err->code) {
	case SBX_E_INVALID_STATE_FILE:
	case SBX_E_UNSAFE_PATH:
		output_warn(global, err);
		return 0;
	case SBX_E_CONTAINER_UNKNOWN:
	case SBX_E_CONTAINER_STATUS:
		return 0;
	default:
		return rc;
	}
}

static int list_all(const struct invocation *in, char **ids, struct listing *list,
		    struct sbx_error *err)
{
	for (; *ids; ids++) {
		struct container c;
		int rc;

		container_init(&c);
		rc = container_open(&c, in->global, *ids, STORE_LOCK_NONE, err);
		if (rc == 0)
			list_one(list, &c);
		else
			rc = pass_over(in->global, rc, err);
		container_release(&c);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int print_list(const struct invocation *in, char **ids, struct sbx_error *err)
{
	cleanup_buf struct buf out = BUF_INIT;
	struct listing list = {.out = &out};
	bool json;
	int rc = output_read_format(in, &json, err);

	if (rc < 0)
		return rc;
	list.form = json ? FORM_JSON : invocation_flag(in, "quiet") ? FORM_IDS : FORM_TABLE;
	json_writer_init(&list.w, &out, 0);
	if (list.form == FORM_JSON)
		json_begin_array(&list.w, NULL);
	if (list.form == FORM_TABLE)
		buf_printf(&out, "%-20s %-8s %-10s %-30s %-31s %s\n", "ID", "PID", "STATUS",
			   "BUNDLE", "CREATED", "OWNER");
	rc = list_all(in, ids, &list, err);
	if (list.form == FORM_JSON)
		json_end_array(&list.w);
	if (rc == 0 && out.len)
		rc = output_print(&out, err);
	return rc;
}

static int run_list(const struct invocation *in, struct sbx_error *err)
{
	struct store store = {.root_fd = -EBADF};
	char **ids = NULL;
	char *none[] = {NULL};
	int rc = store_open(&store, in->global->root, false, err);

	/* No runtime root yet: no containers. */
	if (rc == -ENOENT)
		return print_list(in, none, err);
	if (rc == 0)
		rc = store_list(&store, &ids, err);
	if (rc >= 0)
		rc = print_list(in, ids ? ids : none, err);
	for (char **id = ids; id && *id; id++)
		free(*id);
	free(ids);
	store_close(&store);
	return rc;
}

const struct cmd cmd_list = {
	.name = "list",
	.operands = "",
	.help = "list the containers",
	.rows = rows,
	.rows_n = ARRAY_SIZE(rows),
	.max_operands = 0,
	.failure_status = 1,
	.run = run_list,
};
