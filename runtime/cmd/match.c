#include "runtime/cmd/match.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/log.h"
#include "runtime/store.h"

static int compile(const char *text, regex_t *ret, struct sbx_error *err)
{
	char why[128];
	int rc = regcomp(ret, text, REG_EXTENDED | REG_NOSUB);

	if (rc == 0)
		return 0;
	regerror(rc, ret, why, sizeof(why));
	return sbx_fail(err, SBX_E_USAGE, 0, "\"%s\" is no regular expression: %s", text, why);
}

static int list_ids(const struct invocation *in, char ***ret, struct sbx_error *err)
{
	struct store store;
	int rc = store_open(&store, in->global->root, false, err);

	if (rc < 0)
		return rc;
	rc = store_list(&store, ret, err);
	store_close(&store);
	return rc;
}

int match_containers(const struct invocation *in,
		     int (*act)(const struct invocation *in, const char *id, struct sbx_error *err),
		     struct sbx_error *err)
{
	struct sbx_error other = {0};
	char **ids = NULL;
	regex_t pattern;
	int rc, n;

	if (!invocation_flag(in, "regex"))
		return act(in, in->argv[0], err);
	rc = compile(in->argv[0], &pattern, err);
	if (rc < 0)
		return rc;
	n = list_ids(in, &ids, err);
	rc = n < 0 ? n : 0;
	for (int i = 0; i < n; i++) {
		/* The first error is the verb's, the others are told as they come. */
		if (regexec(&pattern, ids[i], 0, NULL, 0) == 0) {
			int done = act(in, ids[i], rc < 0 ? &other : err);

			if (rc < 0 && done < 0)
				log_error(&other);
			rc = rc < 0 ? rc : done;
		}
		free(ids[i]);
	}
	free(ids);
	regfree(&pattern);
	return rc;
}
