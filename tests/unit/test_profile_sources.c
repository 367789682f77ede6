/*
 * Where a profile comes from: annotations, the flag, the administrator's settings, and what they
 * make together. Files that must be root's own are laid below /run by root; without root only
 * their refusal can be shown.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/profile_sources.h"
#include "runtime/settings.h"
#include "spec/hash.h"
#include "tests/unit/privileges.h"
#include "tests/unit/profile_fixture.h"

#define OPEN   "'read':'allow','write':'allow'"
#define INLINE "{'version':1,'workspace':{'root':'/w'," OPEN "},'command':'allow'}"

static char folder[PATH_MAX]; /* root's own, empty without root */

struct fixture {
	struct arena arena;
	struct sbx_error err;
	struct profile *profile;
	struct profile_origin origin;
	const char *id;		 /* of the container */
	const char *destination; /* of its one mount */
};

static const char *in_folder(const char *name)
{
	static char out[4][PATH_MAX + 64];
	static unsigned turn;
	char *path = out[turn++ % 4];

	snprintf(path, sizeof(out[0]), "%s/%s", folder, name);
	return path;
}

static void put_file(const char *path, const char *text, mode_t mode)
{
	const char *document = quoted(text);
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		fail_msg("%s: %s", path, strerror(errno));
	assert_int_equal(write(fd, document, strlen(document)), (ssize_t)strlen(document));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static int remove_one(const char *path, __attribute__((unused)) const struct stat *st,
		      __attribute__((unused)) int flag, __attribute__((unused)) struct FTW *ftw)
{
	return remove(path);
}

static int remove_folder(void **state)
{
	(void)state;
	if (folder[0])
		nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	return 0;
}

static int make_folder(void **state)
{
	(void)state;
	if (geteuid() != 0 || access("/run", W_OK) < 0)
		return 0;
	snprintf(folder, sizeof(folder), "/run/sbx-test-sources-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	mkdir(in_folder("profiles"), 0755);
	put_file(in_folder("profiles/agent.json"),
		 "{'version':1,'workspace':{" OPEN "},'host':{'read':'allow'},'command':'allow'}",
		 0644);
	put_file(in_folder("profiles/rooted.json"), INLINE, 0644);
	put_file(in_folder("profiles/open.json"),
		 "{'version':1,'workspace':{'root':'/w'," OPEN "},'host':{" OPEN
		 "},'network':{'access':'allow'},'isolation':'unconfined','ackUnconfined':true,"
		 "'command':'allow'}",
		 0644);
	return 0;
}

static int setup(void **state)
{
	static struct fixture fixture;

	memset(&fixture, 0, sizeof(fixture));
	arena_init(&fixture.arena, FIXTURE_ARENA_BYTES);
	fixture.id = "c1";
	fixture.destination = "/data/";
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	arena_release(&f->arena);
	return 0;
}

static void need_root(void)
{
	if (folder[0])
		return;
	print_message("[  SKIPPED ] needs root: the files must be root's own\n");
	skip();
}

/* A bundle with these annotations (pairs, ended by NULL) and a mount on /data. */
static struct oci_spec *bundle(struct fixture *f, const char *const *annotations)
{
	cleanup_buf struct buf text = BUF_INIT;
	struct json_writer w;
	struct oci_spec *spec = NULL;

	json_writer_init(&w, &text, 0);
	json_begin_object(&w, NULL);
	json_write_string(&w, "ociVersion", "1.2.0");
	json_begin_object(&w, "root");
	json_write_string(&w, "path", "r");
	json_end_object(&w);
	json_begin_array(&w, "mounts");
	json_begin_object(&w, NULL);
	json_write_string(&w, "destination", f->destination);
	json_write_string(&w, "type", "tmpfs");
	json_write_string(&w, "source", "tmpfs");
	json_end_object(&w);
	json_end_array(&w);
	json_begin_object(&w, "annotations");
	for (; *annotations; annotations += 2)
		json_write_string(&w, annotations[0], quoted(annotations[1]));
	json_end_object(&w);
	json_end_object(&w);
	assert_false(buf_failed(&text));
	if (oci_parse(&f->arena, text.data, text.len, &spec, &f->err) < 0)
		fail_msg("%s", f->err.message);
	return spec;
}

#define ANNOTATIONS(...) ((const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

static int resolve(struct fixture *f, const char *const *annotations, const char *settings,
		   const char *flag)
{
	static char settings_path[PATH_MAX + 64], profiles[PATH_MAX + 64];
	struct profile_source_options options = {.id = f->id, .flag = flag};

	if (folder[0]) {
		snprintf(profiles, sizeof(profiles), "%s", in_folder("profiles"));
		options.profiles_dir = profiles;
	}
	if (settings) {
		snprintf(settings_path, sizeof(settings_path), "%s", in_folder("config.json"));
		put_file(settings_path, settings, 0644);
		options.settings = settings_path;
	}
	f->profile = NULL;
	f->origin = (struct profile_origin){0};
	memset(&f->err, 0, sizeof(f->err));
	return profile_sources_resolve(&f->arena, bundle(f, annotations), &options, &f->profile,
				       &f->origin, &f->err);
}

static void expect_sources(const struct fixture *f, const char *expected)
{
	cleanup_buf struct buf text = BUF_INIT;

	for (size_t i = 0; i < f->origin.sources.n; i++)
		buf_printf(&text, "%s%s", i ? " " : "", f->origin.sources.v[i]);
	assert_string_equal(text.data ? text.data : "", expected);
}

#define EXPECT_OK(call)                                                                            \
	do {                                                                                       \
		if ((call) < 0)                                                                    \
			fail_msg("%s: %s", sbx_code_name(f->err.code), f->err.message);            \
	} while (0)
#define EXPECT_CODE(call, expected)                                                                \
	do {                                                                                       \
		if ((call) == 0)                                                                   \
			fail_msg("it was taken");                                                  \
		if (f->err.code != (expected))                                                     \
			fail_msg("%s: %s", sbx_code_name(f->err.code), f->err.message);            \
		assert_null(f->profile);                                                           \
	} while (0)

/* ---- annotations alone ---- */

static void test_nothing(void **state)
{
	struct fixture *f = *state;

	EXPECT_OK(resolve(f, ANNOTATIONS(), NULL, NULL));
	assert_null(f->profile);
	EXPECT_OK(resolve(f, ANNOTATIONS("org.example", "{", "dev.sbx.unknown", "x"), NULL, NULL));
	assert_null(f->profile);
}

static void test_inline(void **state)
{
	struct fixture *f = *state;
	cleanup_buf struct buf text = BUF_INIT;
	const char *document = quoted(INLINE);

	EXPECT_OK(resolve(f, ANNOTATIONS("dev.sbx.profile", " \n" INLINE), NULL, NULL));
	assert_non_null(f->profile);
	expect_sources(f, "annotation:inline");
	buf_puts(&text, "b64:");
	base64url_encode(document, strlen(document), &text);
	EXPECT_OK(resolve(f, ANNOTATIONS("dev.sbx.profile", text.data), NULL, NULL));
	assert_string_equal(f->profile->workspace.path, "/w");
	expect_sources(f, "annotation:inline");
}

static void test_bad_values(void **state)
{
	static const char *const rows[] = {
		"",    "[]", "b64:", "b64:e30=", "b64:e30",	  "b64:!",   "../x",
		"a/b", "A",  "b64",  "\"x\"",	 "{'version':2}", INLINE "x"};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (resolve(f, ANNOTATIONS("dev.sbx.profile", rows[i]), NULL, NULL) == 0)
			fail_msg("\"%s\" was taken", rows[i]);
		assert_null(f->profile);
		assert_non_null(strstr(f->err.message, "annotation \"dev.sbx.profile\""));
	}
}

/* What podman leaves of JSON on its command line: the text up to a comma or a line's end. */
static void test_cut_json(void **state)
{
	static const char *const rows[] = {"{", "{'version':1",
					   "{'version':1,'host':{'read':'allow'"};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_true(resolve(f, ANNOTATIONS("dev.sbx.profile", rows[i]), NULL, NULL) < 0);
		assert_non_null(strstr(f->err.message, "profile encode"));
	}
}

static void test_grants_are_refused(void **state)
{
	struct fixture *f = *state;

	EXPECT_CODE(resolve(f, ANNOTATIONS("dev.sbx.grants", "[]"), NULL, NULL), SBX_E_UNSUPPORTED);
	assert_true(annotation_is_secret("dev.sbx.grants"));
	assert_false(annotation_is_secret("dev.sbx.profile"));
}

static void test_workspace(void **state)
{
	static const char *const without = "{'version':1,'workspace':{'read':'allow'}}";
	struct fixture *f = *state;

	EXPECT_OK(resolve(f, ANNOTATIONS("dev.sbx.profile", without, "dev.sbx.workspace", "/data"),
			  NULL, NULL));
	assert_string_equal(f->profile->workspace.path, "/data");
	/* only a mount destination is honoured */
	EXPECT_CODE(resolve(f, ANNOTATIONS("dev.sbx.profile", without, "dev.sbx.workspace", "/etc"),
			    NULL, NULL),
		    SBX_E_INVALID_PROFILE);
	EXPECT_CODE(resolve(f,
			    ANNOTATIONS("dev.sbx.profile", without, "dev.sbx.workspace", "/data/x"),
			    NULL, NULL),
		    SBX_E_INVALID_PROFILE);
	EXPECT_CODE(resolve(f, ANNOTATIONS("dev.sbx.profile", without, "dev.sbx.workspace", "/"),
			    NULL, NULL),
		    SBX_E_INVALID_PROFILE);
	EXPECT_CODE(resolve(f, ANNOTATIONS("dev.sbx.profile", without), NULL, NULL),
		    SBX_E_INVALID_PROFILE);
	/* the document's own root wins */
	EXPECT_OK(resolve(f, ANNOTATIONS("dev.sbx.profile", INLINE, "dev.sbx.workspace", "/data"),
			  NULL, NULL));
	assert_string_equal(f->profile->workspace.path, "/w");
	/* alone it is no profile */
	EXPECT_OK(resolve(f, ANNOTATIONS("dev.sbx.workspace", "/data"), NULL, NULL));
	assert_null(f->profile);
}

static void test_cri(void **state)
{
	static const char *const own =
		"{'version':1,'workspace':{'root':'/own'},'command':'gated'}";
	struct fixture *f = *state;

	EXPECT_OK(resolve(f,
			  ANNOTATIONS("dev.sbx.profile", INLINE, "dev.sbx.profile.app", own,
				      "io.kubernetes.cri.container-name", "app"),
			  NULL, NULL));
	assert_string_equal(f->profile->workspace.path, "/own");
	EXPECT_OK(resolve(f,
			  ANNOTATIONS("dev.sbx.profile", INLINE, "dev.sbx.profile.app", own,
				      "io.kubernetes.cri.container-name", "side"),
			  NULL, NULL));
	assert_string_equal(f->profile->workspace.path, "/w");
	EXPECT_OK(resolve(f, ANNOTATIONS("dev.sbx.profile.app", own), NULL, NULL));
	assert_null(f->profile);
	EXPECT_OK(resolve(f,
			  ANNOTATIONS("dev.sbx.profile", INLINE, "io.kubernetes.cri.container-type",
				      "container"),
			  NULL, NULL));
	assert_string_equal(f->profile->workspace.path, "/w");
}

#define SANDBOX		"io.kubernetes.cri.container-type", "sandbox"
#define SANDBOX_ID	"io.kubernetes.cri.sandbox-id"
#define SANDBOX_CRIO	"io.kubernetes.cri-o.ContainerType", "sandbox"
#define SANDBOX_CRIO_ID "io.kubernetes.cri-o.SandboxID"
#define STRICT                                                                                     \
	"{'version':1,'workspace':{'root':'/w'," OPEN "},'home':'isolated',"                       \
	"'require':['readBoundary'],'minLevel':'degraded'}"

static void expect_exempt(const struct fixture *f, const char *source, uint32_t bits)
{
	assert_non_null(f->origin.exemption.source);
	assert_string_equal(f->origin.exemption.source, source);
	assert_int_equal(f->origin.exemption.bits, bits);
	assert_null(f->profile->workspace.path);
	assert_int_equal(f->profile->host_read, ACCESS_ALLOW);
	assert_int_equal(f->profile->command, ACCESS_ALLOW);
}

static void test_pod_sandbox(void **state)
{
	const uint32_t reading = GUARANTEE_BIT(GUARANTEE_READ_BOUNDARY);
	struct fixture *f = *state;

	f->destination = "/dev/shm";
	EXPECT_OK(resolve(f, ANNOTATIONS("dev.sbx.profile", INLINE, SANDBOX, SANDBOX_ID, "c1"),
			  NULL, NULL));
	expect_exempt(f, "annotation:inline", reading);
	assert_int_equal(f->profile->network, ACCESS_DENY);
	assert_int_equal(f->profile->host_write, ACCESS_DENY);
	EXPECT_OK(resolve(
		f, ANNOTATIONS("dev.sbx.profile", STRICT, SANDBOX_CRIO, SANDBOX_CRIO_ID, "c1"),
		NULL, NULL));
	expect_exempt(f, "annotation:inline", reading);
	assert_int_equal(f->profile->require, reading);
	assert_int_equal(f->profile->min_level, LEVEL_DEGRADED);
	assert_int_equal(f->profile->home, HOME_ISOLATED);
	/* what asks for nothing that is left out is let off nothing */
	EXPECT_OK(resolve(f,
			  ANNOTATIONS("dev.sbx.profile",
				      "{'version':1,'workspace':{'root':'/w'," OPEN
				      "},'host':{'read':'allow'},'command':'allow'}",
				      SANDBOX, SANDBOX_ID, "c1"),
			  NULL, NULL));
	expect_exempt(f, "annotation:inline", 0);
}

/* An image can bring every annotation; not the id, the mounts, the flag, the settings. */
static void test_pod_sandbox_of_an_image(void **state)
{
	static const char *const ids[] = {"", "c", "c11", "C1", "c2"};
	static const char *const places[] = {"/data",	   "/devices", "/etcetera", "/",
					     "/proc/../w", "/sysroot", "/run/x"};
	struct fixture *f = *state;

	f->destination = "/etc/hosts";
#define EXPECT_FULL(...)                                                                           \
	do {                                                                                       \
		EXPECT_OK(resolve(f, ANNOTATIONS("dev.sbx.profile", INLINE, __VA_ARGS__), NULL,    \
				  NULL));                                                          \
		assert_string_equal(f->profile->workspace.path, "/w");                             \
		assert_null(f->origin.exemption.source);                                           \
	} while (0)
	EXPECT_FULL(SANDBOX);
	EXPECT_FULL(SANDBOX_ID, "c1");
	EXPECT_FULL(SANDBOX_ID, "c1", "io.kubernetes.cri.container-type", "container");
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		EXPECT_FULL(SANDBOX, SANDBOX_ID, ids[i]);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		f->destination = places[i];
		EXPECT_FULL(SANDBOX, SANDBOX_ID, "c1");
	}
	f->destination = "/sys/fs/cgroup";
	f->id = NULL;
	EXPECT_FULL(SANDBOX, SANDBOX_ID, "c1");
	f->id = "c1";
	EXPECT_OK(resolve(f, ANNOTATIONS("dev.sbx.profile", INLINE, SANDBOX, SANDBOX_ID, "c1"),
			  NULL, NULL));
	expect_exempt(f, "annotation:inline", GUARANTEE_BIT(GUARANTEE_READ_BOUNDARY));
}

static void test_pod_sandbox_of_others(void **state)
{
	struct fixture *f = *state;

	need_root();
	f->destination = "/dev/shm";
	/* --profile holds in full, whatever is trusted */
	EXPECT_OK(resolve(f, ANNOTATIONS(SANDBOX, SANDBOX_ID, "c1"), NULL, "rooted"));
	assert_string_equal(f->profile->workspace.path, "/w");
	assert_null(f->origin.exemption.source);
	EXPECT_OK(resolve(f, ANNOTATIONS(SANDBOX, SANDBOX_ID, "c1"), "{'annotations':'trust'}",
			  "rooted"));
	assert_string_equal(f->profile->workspace.path, "/w");
	assert_null(f->origin.exemption.source);
	/* and so does the administrator's, but where he trusts annotations */
	EXPECT_OK(resolve(f, ANNOTATIONS(SANDBOX, SANDBOX_ID, "c1"), "{'ceiling':'rooted'}", NULL));
	assert_string_equal(f->profile->workspace.path, "/w");
	assert_null(f->origin.exemption.source);
	EXPECT_OK(resolve(f, ANNOTATIONS(SANDBOX, SANDBOX_ID, "c1"),
			  "{'ceiling':'rooted','annotations':'trust'}", NULL));
	expect_exempt(f, "ceiling", GUARANTEE_BIT(GUARANTEE_READ_BOUNDARY));
	EXPECT_OK(resolve(f, ANNOTATIONS(SANDBOX), "{'ceiling':'rooted','annotations':'trust'}",
			  NULL));
	assert_string_equal(f->profile->workspace.path, "/w");
}

static void test_unconfined_needs_a_ceiling(void **state)
{
	static const char *const open =
		"{'version':1,'workspace':{'root':'/w'," OPEN "},'host':{" OPEN
		"},'network':{'access':'allow'},'isolation':'unconfined','ackUnconfined':true}";
	struct fixture *f = *state;

	EXPECT_CODE(resolve(f, ANNOTATIONS("dev.sbx.profile", open), NULL, NULL),
		    SBX_E_INVALID_PROFILE);
	assert_string_equal(f->err.pointer, "/isolation");
	need_root();
	EXPECT_CODE(resolve(f, ANNOTATIONS("dev.sbx.profile", "open"), NULL, NULL),
		    SBX_E_INVALID_PROFILE);
	EXPECT_OK(resolve(f, ANNOTATIONS("dev.sbx.profile", open), "{'ceiling':'open'}", NULL));
	assert_int_equal(f->profile->isolation, ISOLATION_UNCONFINED);
	EXPECT_OK(resolve(f, ANNOTATIONS("dev.sbx.profile", open), "{'ceiling':'rooted'}", NULL));
	assert_int_equal(f->profile->isolation, ISOLATION_SANDBOXED);
	EXPECT_OK(resolve(f, ANNOTATIONS(), NULL, "open"));
	assert_int_equal(f->profile->isolation, ISOLATION_UNCONFINED);
}

/* ---- the flag and installed profiles ---- */

static void test_flag_file(void **state)
{
	char path[256];
	int fd = mkstemp(temporary_template(path, "sbx-test-profile"));
	struct fixture *f = *state;
	char expected[300];

	assert_true(fd >= 0);
	close(fd);
	put_file(path, INLINE, 0666);
	EXPECT_OK(resolve(f, ANNOTATIONS(), NULL, path));
	snprintf(expected, sizeof(expected), "flag:%s", path);
	expect_sources(f, expected);
	/* both: the narrower */
	EXPECT_OK(resolve(f,
			  ANNOTATIONS("dev.sbx.profile", "{'version':1,'workspace':{'root':'/w',"
							 "'read':'allow'},'command':'gated'}"),
			  NULL, path));
	assert_int_equal(f->profile->command, ACCESS_GATED);
	assert_int_equal(f->profile->workspace.write, ACCESS_DENY);
	assert_int_equal(f->origin.sources.n, 2);
	unlink(path);
	EXPECT_CODE(resolve(f, ANNOTATIONS(), NULL, path), SBX_E_INVALID_PROFILE);
	EXPECT_CODE(resolve(f, ANNOTATIONS(), NULL, "/tmp/"), SBX_E_INVALID_PROFILE);
	EXPECT_CODE(resolve(f, ANNOTATIONS(), NULL, "/dev/null"), SBX_E_INVALID_PROFILE);
	EXPECT_CODE(resolve(f, ANNOTATIONS(), NULL, "surely-not-installed"), SBX_E_INVALID_PROFILE);
}

static void test_installed(void **state)
{
	struct fixture *f = *state;

	need_root();
	EXPECT_OK(resolve(f, ANNOTATIONS("dev.sbx.profile", "agent", "dev.sbx.workspace", "/data"),
			  NULL, NULL));
	assert_string_equal(f->profile->workspace.path, "/data");
	expect_sources(f, "annotation:agent");
	EXPECT_OK(resolve(f, ANNOTATIONS("dev.sbx.workspace", "/data"), NULL, "agent"));
	expect_sources(f, "flag:agent");
	EXPECT_CODE(resolve(f, ANNOTATIONS("dev.sbx.profile", "nobody"), NULL, NULL),
		    SBX_E_INVALID_PROFILE);
	assert_non_null(strstr(f->err.message, "nobody.json"));
	/* a path is possible on the command line alone */
	assert_null(strstr(f->err.message, "a file is written"));
	EXPECT_CODE(resolve(f, ANNOTATIONS(), NULL, "nobody"), SBX_E_INVALID_PROFILE);
	assert_non_null(strstr(f->err.message, "nobody.json (a file is written with a \"/\")"));
	EXPECT_CODE(resolve(f, ANNOTATIONS(), "{'defaultProfile':'nobody'}", NULL),
		    SBX_E_INVALID_PROFILE);
	assert_non_null(strstr(f->err.message, "settings \"/"));
	assert_non_null(strstr(f->err.message, "\"defaultProfile\": profile \"nobody\""));
	assert_null(strstr(f->err.message, "a file is written"));
}

/* ---- settings ---- */

static void test_settings_documents(void **state)
{
	static const struct {
		const char *text;
		enum sbx_code code;
		const char *pointer;
	} rows[] = {
		{"", SBX_E_INVALID_JSON, NULL},
		{"[]", SBX_E_INVALID_SETTINGS, ""},
		{"{'ceilings':{}}", SBX_E_INVALID_SETTINGS, "/ceilings"},
		{"{'ceiling':1}", SBX_E_INVALID_SETTINGS, "/ceiling"},
		{"{'ceiling':null}", SBX_E_INVALID_SETTINGS, "/ceiling"},
		{"{'ceiling':{}}", SBX_E_INVALID_PROFILE, "/ceiling"},
		{"{'ceiling':{'version':1,'host':{'read':'x'}}}", SBX_E_INVALID_PROFILE,
		 "/ceiling/host/read"},
		{"{'ceiling':'../x'}", SBX_E_INVALID_PROFILE, NULL},
		{"{'ceiling':{'version':1,'bundle':{'hooks':1}}}", SBX_E_INVALID_SETTINGS,
		 "/ceiling/bundle/hooks"},
		{"{'ceiling':{'version':1,'bundle':[]}}", SBX_E_INVALID_SETTINGS,
		 "/ceiling/bundle"},
		{"{'ceiling':{'bundle':{'hooks':false}}}", SBX_E_INVALID_PROFILE, "/ceiling"},
		{"{'requireProfile':'yes'}", SBX_E_INVALID_SETTINGS, "/requireProfile"},
		{"{'annotations':'widen'}", SBX_E_INVALID_SETTINGS, "/annotations"},
		{"{'annotations':true}", SBX_E_INVALID_SETTINGS, "/annotations"},
		{"{'routes':{}}", SBX_E_UNSUPPORTED, "/routes"},
		{"{'scratchRoot':'x'}", SBX_E_INVALID_SETTINGS, "/scratchRoot"},
		{"{'scratchRoot':'/'}", SBX_E_INVALID_SETTINGS, "/scratchRoot"},
		{"{'scratchRoot':1}", SBX_E_INVALID_SETTINGS, "/scratchRoot"},
		{"{'grantTTL':'1m'}", SBX_E_UNSUPPORTED, "/grantTTL"},
		{"{'maxExecutors':0}", SBX_E_INVALID_SETTINGS, "/maxExecutors"},
		{"{'maxExecutors':-1}", SBX_E_INVALID_SETTINGS, "/maxExecutors"},
		{"{'maxExecutors':'1'}", SBX_E_INVALID_SETTINGS, "/maxExecutors"},
	};
	struct fixture *f = *state;
	struct caller_identity caller;
	struct settings settings;

	caller_identify(&caller);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *text = quoted(rows[i].text);

		memset(&f->err, 0, sizeof(f->err));
		if (settings_parse(&f->arena, text, strlen(text), NULL, &caller, &settings,
				   &f->err) == 0)
			fail_msg("%s was taken", text);
		if (f->err.code != rows[i].code ||
		    (rows[i].pointer && strcmp(rows[i].pointer, f->err.pointer) != 0))
			fail_msg("%s: %s at \"%s\"", text, sbx_code_name(f->err.code),
				 f->err.pointer);
	}
}

static void test_settings_defaults(void **state)
{
	static const struct {
		const char *text;
		enum annotation_trust annotations;
	} rows[] = {
		{"{}", ANNOTATIONS_TRUST},
		{"{'requireProfile':false}", ANNOTATIONS_TRUST},
		{"{'requireProfile':true}", ANNOTATIONS_NARROW},
		{"{'ceiling':{'version':1}}", ANNOTATIONS_NARROW},
		{"{'defaultProfile':{'version':1}}", ANNOTATIONS_NARROW},
		{"{'annotations':'trust','ceiling':{'version':1}}", ANNOTATIONS_TRUST},
		{"{'annotations':'ignore'}", ANNOTATIONS_IGNORE},
	};
	struct fixture *f = *state;
	struct caller_identity caller;
	struct settings settings;

	caller_identify(&caller);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *text = quoted(rows[i].text);

		assert_int_equal(settings_parse(&f->arena, text, strlen(text), NULL, &caller,
						&settings, NULL),
				 0);
		assert_int_equal(settings.annotations, rows[i].annotations);
	}
}

#define WIDE                                                                                       \
	"{'version':1,'workspace':{'root':'/w'," OPEN "},'host':{'read':'allow'},"                 \
	"'network':{'access':'allow'},'command':'allow'}"
#define CEILING "'ceiling':{'version':1,'workspace':{'read':'allow'},'command':'allow'}"
#define DEFAULT "'defaultProfile':{'version':1,'workspace':{" OPEN "},'command':'allow'}"

/* Annotations of an image under each kind of admin source: they may only narrow. */
static void test_annotations_narrow(void **state)
{
	struct fixture *f = *state;

	need_root();
	/* the control: without an admin source the annotation is the profile */
	EXPECT_OK(resolve(f, ANNOTATIONS("dev.sbx.profile", WIDE), "{}", NULL));
	assert_int_equal(f->profile->network, ACCESS_ALLOW);
	assert_int_equal(f->profile->workspace.write, ACCESS_ALLOW);

	EXPECT_OK(resolve(f, ANNOTATIONS("dev.sbx.profile", WIDE), "{" CEILING "}", NULL));
	assert_int_equal(f->profile->network, ACCESS_DENY);
	assert_int_equal(f->profile->workspace.write, ACCESS_DENY);
	assert_int_equal(f->profile->host_read, ACCESS_DENY);
	expect_sources(f, "annotation:inline ceiling");

	EXPECT_OK(resolve(f, ANNOTATIONS("dev.sbx.profile", WIDE), "{" DEFAULT "}", NULL));
	assert_int_equal(f->profile->network, ACCESS_DENY);
	assert_int_equal(f->profile->host_read, ACCESS_DENY);
	assert_int_equal(f->profile->workspace.write, ACCESS_ALLOW);
	expect_sources(f, "annotation:inline default");

	/* an installed profile named by an annotation narrows only, too */
	EXPECT_OK(resolve(f, ANNOTATIONS("dev.sbx.profile", "open"), "{" DEFAULT "}", NULL));
	assert_int_equal(f->profile->network, ACCESS_DENY);
	assert_int_equal(f->profile->isolation, ISOLATION_SANDBOXED);

	/* a pod sandbox by annotation does not shed what the administrator says */
	f->destination = "/dev/shm";
	EXPECT_OK(resolve(f, ANNOTATIONS(SANDBOX, SANDBOX_ID, "c1", "dev.sbx.profile", WIDE),
			  "{" CEILING "}", NULL));
	assert_non_null(f->origin.exemption.source);
	assert_int_equal(f->profile->host_read, ACCESS_DENY);
	assert_int_equal(f->profile->host_write, ACCESS_DENY);
	f->destination = "/data/";

	/* the workspace of the annotation is a mount, or nothing */
	EXPECT_CODE(resolve(f, ANNOTATIONS("dev.sbx.workspace", "/etc"), "{" CEILING "}", NULL),
		    SBX_E_INVALID_PROFILE);
	EXPECT_OK(resolve(f, ANNOTATIONS("dev.sbx.workspace", "/data"), "{" CEILING "}", NULL));
	assert_string_equal(f->profile->workspace.path, "/data");
	assert_int_equal(f->profile->workspace.write, ACCESS_DENY);
}

static void test_trust_and_ignore(void **state)
{
	struct fixture *f = *state;

	need_root();
	EXPECT_OK(resolve(f, ANNOTATIONS("dev.sbx.profile", WIDE),
			  "{" DEFAULT ",'annotations':'trust'}", NULL));
	expect_sources(f, "annotation:inline");
	assert_int_equal(f->profile->network, ACCESS_ALLOW);
	EXPECT_OK(resolve(f, ANNOTATIONS("dev.sbx.profile", WIDE, "dev.sbx.workspace", "/data"),
			  "{'defaultProfile':'rooted','annotations':'ignore'}", NULL));
	expect_sources(f, "default");
	EXPECT_OK(
		resolve(f, ANNOTATIONS("dev.sbx.profile", "{"), "{'annotations':'ignore'}", NULL));
	assert_null(f->profile);
	/* a ceiling bounds a trusted annotation as well */
	EXPECT_OK(resolve(f, ANNOTATIONS("dev.sbx.profile", WIDE),
			  "{" CEILING ",'annotations':'trust'}", NULL));
	assert_int_equal(f->profile->network, ACCESS_DENY);
}

static void test_default_and_ceiling(void **state)
{
	struct fixture *f = *state;

	need_root();
	EXPECT_OK(resolve(f, ANNOTATIONS("dev.sbx.workspace", "/data"), "{" DEFAULT "," CEILING "}",
			  NULL));
	expect_sources(f, "default ceiling");
	assert_int_equal(f->profile->workspace.write, ACCESS_DENY);
	/* a flag takes the default's place, not the ceiling's */
	EXPECT_OK(resolve(f, ANNOTATIONS(), "{" DEFAULT "," CEILING "}", "rooted"));
	expect_sources(f, "flag:rooted ceiling");
	assert_int_equal(f->profile->workspace.write, ACCESS_DENY);
	/* nobody names the workspace */
	EXPECT_CODE(resolve(f, ANNOTATIONS(), "{" CEILING "}", NULL), SBX_E_INVALID_PROFILE);
	assert_string_equal(f->err.pointer, "/workspace/root");
}

static void test_required(void **state)
{
	static const char *const required = "{'requireProfile':true}";
	struct fixture *f = *state;

	need_root();
	EXPECT_CODE(resolve(f, ANNOTATIONS(), required, NULL), SBX_E_PROFILE_REQUIRED);
	EXPECT_CODE(resolve(f, ANNOTATIONS("dev.sbx.profile", INLINE), required, NULL),
		    SBX_E_PROFILE_REQUIRED);
	EXPECT_CODE(resolve(f, ANNOTATIONS("dev.sbx.profile", INLINE),
			    "{'requireProfile':true,'annotations':'trust'}", NULL),
		    SBX_E_PROFILE_REQUIRED);
	EXPECT_CODE(resolve(f, ANNOTATIONS("dev.sbx.profile", "rooted"),
			    "{'requireProfile':true,'annotations':'ignore'}", NULL),
		    SBX_E_PROFILE_REQUIRED);
	EXPECT_OK(resolve(f, ANNOTATIONS("dev.sbx.profile", "rooted"), required, NULL));
	EXPECT_OK(resolve(f, ANNOTATIONS(), required, "rooted"));
	EXPECT_OK(resolve(f, ANNOTATIONS("dev.sbx.profile", INLINE),
			  "{'requireProfile':true," CEILING "}", NULL));
	EXPECT_OK(resolve(f, ANNOTATIONS("dev.sbx.profile", INLINE),
			  "{'requireProfile':true,'annotations':'trust'," DEFAULT "}", NULL));
	expect_sources(f, "annotation:inline default");
}

/* ---- unsafe files ---- */

static void test_unsafe_settings(void **state)
{
	struct fixture *f = *state;
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s", in_folder("config.json"));
	if (!folder[0]) {
		/* the caller's own file is not the administrator's */
		char own[256];
		struct settings settings;
		int fd = mkstemp(temporary_template(own, "sbx-test-settings"));

		assert_true(fd >= 0);
		close(fd);
		assert_true(settings_load(&f->arena, own, NULL, &settings, &f->err) < 0);
		assert_int_equal(f->err.code, SBX_E_UNSAFE_PATH);
		unlink(own);
		return;
	}
	for (int row = 0; row < 8; row++) {
		struct settings settings;

		put_file(path, "{}", 0644);
		if (row == 0)
			assert_int_equal(chmod(path, 0664), 0);
		if (row == 1)
			assert_int_equal(chmod(path, 0646), 0);
		if (row == 2)
			assert_int_equal(chown(path, 1, 0), 0);
		if (row == 3)
			assert_int_equal(link(path, in_folder("second")), 0);
		if (row == 4) {
			assert_int_equal(rename(path, in_folder("elsewhere")), 0);
			assert_int_equal(symlink("elsewhere", path), 0);
		}
		if (row == 5) {
			unlink(path);
			assert_int_equal(mkfifo(path, 0644), 0);
		}
		if (row == 6)
			assert_int_equal(chmod(folder, 0777), 0);
		if (row == 7)
			assert_int_equal(chown(folder, 1, 0), 0);
		memset(&f->err, 0, sizeof(f->err));
		if (settings_load(&f->arena, path, NULL, &settings, &f->err) == 0)
			fail_msg("row %d was taken", row);
		assert_int_equal(f->err.code, SBX_E_UNSAFE_PATH);
		chmod(folder, 0700);
		assert_int_equal(chown(folder, 0, 0), 0);
		unlink(path);
		unlink(in_folder("second"));
		/* the control: the same file as it should be */
		put_file(path, "{}", 0644);
		EXPECT_OK(settings_load(&f->arena, path, NULL, &settings, &f->err));
	}
}

static void test_symlink_above(void **state)
{
	struct fixture *f = *state;
	struct settings settings;
	char path[PATH_MAX + 64];

	need_root();
	put_file(in_folder("config.json"), "{}", 0644);
	assert_int_equal(symlink(".", in_folder("link")), 0);
	snprintf(path, sizeof(path), "%s/link/config.json", folder);
	assert_true(settings_load(&f->arena, path, NULL, &settings, &f->err) < 0);
	assert_int_equal(f->err.code, SBX_E_UNSAFE_PATH);
	assert_non_null(strstr(f->err.message, "symbolic link"));
	/* a path that is given must exist */
	assert_true(settings_load(&f->arena, in_folder("absent.json"), NULL, &settings, &f->err) <
		    0);
	assert_int_equal(f->err.code, SBX_E_INVALID_SETTINGS);
	/* world-writable /tmp is no place for settings */
	put_file("/tmp/sbx-test-settings.json", "{}", 0644);
	assert_true(settings_load(&f->arena, "/tmp/sbx-test-settings.json", NULL, &settings,
				  &f->err) < 0);
	assert_int_equal(f->err.code, SBX_E_UNSAFE_PATH);
	unlink("/tmp/sbx-test-settings.json");
}

static void test_unsafe_profile(void **state)
{
	struct fixture *f = *state;

	need_root();
	put_file(in_folder("profiles/loose.json"), INLINE, 0666);
	EXPECT_CODE(resolve(f, ANNOTATIONS("dev.sbx.profile", "loose"), NULL, NULL),
		    SBX_E_UNSAFE_PATH);
	assert_int_equal(chmod(in_folder("profiles/loose.json"), 0644), 0);
	EXPECT_OK(resolve(f, ANNOTATIONS("dev.sbx.profile", "loose"), NULL, NULL));
	assert_non_null(f->profile);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_nothing),
		TEST(test_inline),
		TEST(test_bad_values),
		TEST(test_cut_json),
		TEST(test_grants_are_refused),
		TEST(test_workspace),
		TEST(test_cri),
		TEST(test_pod_sandbox),
		TEST(test_pod_sandbox_of_an_image),
		TEST(test_pod_sandbox_of_others),
		TEST(test_unconfined_needs_a_ceiling),
		TEST(test_flag_file),
		TEST(test_installed),
		TEST(test_settings_documents),
		TEST(test_settings_defaults),
		TEST(test_annotations_narrow),
		TEST(test_trust_and_ignore),
		TEST(test_default_and_ceiling),
		TEST(test_required),
		TEST(test_unsafe_settings),
		TEST(test_symlink_above),
		TEST(test_unsafe_profile),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
