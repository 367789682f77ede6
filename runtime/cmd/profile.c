/*
 * profile: operations on access profile documents, without any container.
 *
 * Each action is a row: its name, its operands, its function, which writes one answer into a
 * buffer. `check` answers also when the document is wrong: one error object, exit status 1.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/cmd/cmds.h"
#include "runtime/cmd/output.h"
#include "runtime/profile_sources.h"
#include "spec/hash.h"

#define ARENA_BYTES ((size_t)64 << 20)

struct action {
	const char *name;
	const char *operands;
	const char *help;
	int min, max;
	int (*run)(struct arena *arena, char **argv, int argc, struct buf *out,
		   struct sbx_error *err);
};

/* A file where there is one of that name (or "-"), else an installed profile. A document may leave
 * its workspace root out here: it may be a ceiling, or meant for dev.sbx.workspace. */
static int load(struct arena *arena, const char *source, struct profile **ret,
		struct sbx_error *err)
{
	cleanup_buf struct buf text = BUF_INIT;
	int rc;

	if (!strchr(source, '/') && strcmp(source, "-") != 0 && access(source, F_OK) < 0)
		return profile_source_load(arena, source, PROFILE_ROLE_CEILING, NULL, ret, err);
	rc = profile_source_read(source, &text, err);
	if (rc < 0)
		return rc;
	return profile_parse(arena, text.data ? text.data : "", text.len, PROFILE_ROLE_CEILING,
			     NULL, ret, err);
}

static void print_profile(const struct profile *profile, int indent, struct buf *out)
{
	struct json_writer w;

	json_writer_init(&w, out, indent);
	profile_write(&w, NULL, profile);
}

static void print_error(const struct sbx_error *why, struct buf *out)
{
	struct json_writer w;

	json_writer_init(&w, out, 2);
	json_begin_object(&w, NULL);
	json_write_string(&w, "code", sbx_code_name(why->code));
	json_write_string(&w, "pointer", why->pointer);
	json_write_string(&w, "message", why->message);
	json_end_object(&w);
}

static int run_check(struct arena *arena, char **argv, __attribute__((unused)) int argc,
		     struct buf *out, struct sbx_error *err)
{
	cleanup_buf struct buf text = BUF_INIT;
	struct sbx_error why = {0};
	struct profile *profile = NULL;
	int rc = profile_source_read(argv[0], &text, &why);

	(void)err;
	if (rc == 0)
		rc = profile_parse(arena, text.data ? text.data : "", text.len,
				   PROFILE_ROLE_CEILING, NULL, &profile, &why);
	if (rc < 0) {
		print_error(&why, out);
		return 1;
	}
	print_profile(profile, 2, out);
	return 0;
}

static int run_restrict(struct arena *arena, char **argv, __attribute__((unused)) int argc,
			struct buf *out, struct sbx_error *err)
{
	struct profile *base = NULL, *ceiling = NULL, *result = NULL;
	int rc = load(arena, argv[0], &base, err);

	if (rc == 0)
		rc = load(arena, argv[1], &ceiling, err);
	if (rc == 0)
		rc = profile_restrict(arena, base, ceiling, &result, err);
	if (rc == 0)
		print_profile(result, 2, out);
	return rc;
}

static int run_access(struct arena *arena, char **argv, __attribute__((unused)) int argc,
		      struct buf *out, struct sbx_error *err)
{
	struct profile *profile = NULL;
	enum access access = ACCESS_DENY;
	struct json_writer w;
	int rc = load(arena, argv[0], &profile, err);

	if (rc == 0)
		rc = profile_access(profile, argv[1], argv[2], &access, err);
	if (rc < 0)
		return rc;
	json_writer_init(&w, out, 0);
	json_begin_object(&w, NULL);
	json_write_uint(&w, "version", PROFILE_ACCESS_VERSION);
	json_write_string(&w, "kind", argv[1]);
	json_write_string(&w, "scope", argv[2]);
	json_write_uint(&w, "access", access);
	json_write_string(&w, "name", access_name(access));
	json_end_object(&w);
	return 0;
}

static int run_fingerprint(struct arena *arena, char **argv, __attribute__((unused)) int argc,
			   struct buf *out, struct sbx_error *err)
{
	char fingerprint[PROFILE_FINGERPRINT_LEN + 1];
	struct profile *profile = NULL;
	int rc = load(arena, argv[0], &profile, err);

	if (rc < 0)
		return rc;
	profile_fingerprint(profile, fingerprint);
	buf_puts(out, fingerprint);
	return 0;
}

/* The question is one operand ("network tcp:a:443") or two. */
static int run_explain(struct arena *arena, char **argv, int argc, struct buf *out,
		       struct sbx_error *err)
{
	struct profile *profile = NULL;
	const char *kind = argv[1], *scope = argc > 2 ? argv[2] : NULL;
	int rc = load(arena, argv[0], &profile, err);

	if (rc < 0)
		return rc;
	if (!scope) {
		size_t len = strcspn(kind, " ");

		if (!kind[len])
			return sbx_fail(err, SBX_E_USAGE, 0,
					"a question is a kind and a scope: \"network tcp:a:443\"");
		scope = kind + len + 1;
		kind = arena_strndup(arena, kind, len);
		if (!kind)
			return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "read the question");
	}
	return profile_explain(profile, kind, scope, out, err);
}

static int run_encode(struct arena *arena, char **argv, __attribute__((unused)) int argc,
		      struct buf *out, struct sbx_error *err)
{
	cleanup_buf struct buf text = BUF_INIT;
	struct profile *profile = NULL;
	int rc = load(arena, argv[0], &profile, err);

	if (rc < 0)
		return rc;
	print_profile(profile, 0, &text);
	buf_puts(out, ANNOTATION_BASE64_PREFIX);
	if (buf_failed(&text) || base64url_encode(text.data, text.len, out) < 0)
		return sbx_fail(err, SBX_E_SYSTEM, ENOMEM, "encode the profile");
	return 0;
}

static const struct action actions[] = {
	{"check", "FILE|-", "print the document normalised, or what is wrong with it", 1, 1,
	 run_check},
	{"restrict", "BASE CEILING", "print what both allow", 2, 2, run_restrict},
	{"access", "PROFILE KIND SCOPE", "print the access as an object: its number and its name",
	 3, 3, run_access},
	{"fingerprint", "PROFILE", "print the digest that names the profile", 1, 1,
	 run_fingerprint},
	{"explain", "PROFILE KIND SCOPE", "print which member decides, and why", 2, 3, run_explain},
	{"encode", "PROFILE", "print it as an annotation's value", 1, 1, run_encode},
};

static void describe_actions(struct buf *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
		buf_printf(out, "  %-12s %-20s %s\n", actions[i].name, actions[i].operands,
			   actions[i].help);
	buf_puts(out, "\nPROFILE is a file, \"-\" or the name of an installed profile.\n\n");
}

static int run_action(const struct action *action, char **argv, int argc, struct sbx_error *err)
{
	cleanup_arena struct arena arena;
	cleanup_buf struct buf out = BUF_INIT;
	int rc, printed;

	arena_init(&arena, ARENA_BYTES);
	if (argc < action->min || argc > action->max)
		return sbx_fail(err, SBX_E_USAGE, 0, "profile %s takes %s", action->name,
				action->operands);
	rc = action->run(&arena, argv, argc, &out, err);
	if (rc < 0)
		return rc;
	printed = output_print(&out, err);
	return printed < 0 ? printed : rc;
}

/* An action has no options: what looks like one is no file's name either ("./-x" is). */
static int refuse_option(const char *word, struct sbx_error *err)
{
	return sbx_fail(err, SBX_E_USAGE, 0, "unknown option \"%s\" of profile", word);
}

static int run_profile(const struct invocation *in, struct sbx_error *err)
{
	cleanup_buf struct buf help = BUF_INIT;

	for (int i = 1; i < in->argc; i++) {
		if (strcmp(in->argv[i], "--help") == 0 || strcmp(in->argv[i], "-h") == 0) {
			describe_actions(&help);
			return output_print(&help, err);
		}
		if (in->argv[i][0] == '-' && in->argv[i][1] != '\0')
			return refuse_option(in->argv[i], err);
	}
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
		if (strcmp(actions[i].name, in->argv[0]) == 0)
			return run_action(&actions[i], in->argv + 1, in->argc - 1, err);
	return sbx_fail(err, SBX_E_USAGE, 0,
			"unknown action \"%s\" of profile: it is none of check, restrict, access, "
			"fingerprint, explain, encode",
			in->argv[0]);
}

const struct cmd cmd_profile = {
	.name = "profile",
	.operands = "check|restrict|access|fingerprint|explain|encode PROFILE [ARG...]",
	.help = "check, combine and question access profiles",
	.describe = describe_actions,
	.min_operands = 1,
	.max_operands = -1,
	.stop_at_operand = true,
	.failure_status = 1,
	.run = run_profile,
};
