/*
 * Option words. A row says which of the mount's fields the word changes; decode() walks the list
 * once and adds the words without a row to the file system's data. Words later in the list undo
 * earlier ones, as with mount(8): setting an attribute takes it out of the cleared ones.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

#include "backends/linux/mount_options.h"
#include "runtime/base/cleanup.h"

enum word_kind {
	WORD_NOTHING,	/* accepted, changes nothing */
	WORD_ATTR,	/* attributes of this mount */
	WORD_ATTR_REC,	/* attributes of the whole tree */
	WORD_SUPER,	/* flags of the superblock */
	WORD_READ_ONLY, /* attribute and superblock */
	WORD_PROPAGATION,
	WORD_BIND,
	WORD_OWN, /* a flag of plan_mount, by offset */
};

struct word {
	const char *name;
	enum word_kind kind;
	uint64_t set, clear;
	size_t offset;
};

/* clang-format off */
#define ATTR(n, s, c)	{n, WORD_ATTR, s, c, 0}
#define REC(n, s, c)	{n, WORD_ATTR_REC, s, c, 0}
#define SUPER(n, s, c)	{n, WORD_SUPER, s, c, 0}
#define OWN(n, member)	{n, WORD_OWN, 0, 0, offsetof(struct plan_mount, member)}
#define PROP(n, flags)	{n, WORD_PROPAGATION, flags, 0, 0}
#define NOTHING(n)	{n, WORD_NOTHING, 0, 0, 0}
#define ATIME		MOUNT_ATTR__ATIME

/* Sorted by name. The kernel has one field for how access times are kept, so that each word of it
 * clears the field and sets its value. silent and loud concern messages of mount(2) only; iversion
 * is each file system's own business since Linux 2.6 and has no place in fsconfig(2). */
static const struct word words[] = {
	SUPER("async",		0, MS_SYNCHRONOUS),
	ATTR("atime",		MOUNT_ATTR_RELATIME, ATIME),
	{"bind", WORD_BIND, 0, 0, 0},
	OWN("copy-symlink",	copy_symlink),
	NOTHING("defaults"),
	OWN("dest-nofollow",	destination_nofollow),
	ATTR("dev",		0, MOUNT_ATTR_NODEV),
	ATTR("diratime",	0, MOUNT_ATTR_NODIRATIME),
	SUPER("dirsync",	MS_DIRSYNC, 0),
	ATTR("exec",		0, MOUNT_ATTR_NOEXEC),
	OWN("idmap",		idmap),
	NOTHING("iversion"),
	SUPER("lazytime",	MS_LAZYTIME, 0),
	NOTHING("loud"),
	SUPER("mand",		MS_MANDLOCK, 0),
	ATTR("noatime",		MOUNT_ATTR_NOATIME, ATIME),
	ATTR("nodev",		MOUNT_ATTR_NODEV, 0),
	ATTR("nodiratime",	MOUNT_ATTR_NODIRATIME, 0),
	ATTR("noexec",		MOUNT_ATTR_NOEXEC, 0),
	NOTHING("noiversion"),
	SUPER("nolazytime",	0, MS_LAZYTIME),
	SUPER("nomand",		0, MS_MANDLOCK),
	ATTR("norelatime",	MOUNT_ATTR_RELATIME, ATIME),
	ATTR("nostrictatime",	MOUNT_ATTR_RELATIME, ATIME),
	ATTR("nosuid",		MOUNT_ATTR_NOSUID, 0),
	ATTR("nosymfollow",	MOUNT_ATTR_NOSYMFOLLOW, 0),
	PROP("private",		MS_PRIVATE),
	REC("ratime",		MOUNT_ATTR_RELATIME, ATIME),
	{"rbind", WORD_BIND, 1, 0, 0},
	REC("rdev",		0, MOUNT_ATTR_NODEV),
	REC("rdiratime",	0, MOUNT_ATTR_NODIRATIME),
	ATTR("relatime",	MOUNT_ATTR_RELATIME, ATIME),
	OWN("remount",		remount),
	REC("rexec",		0, MOUNT_ATTR_NOEXEC),
	OWN("ridmap",		idmap_recursive),
	REC("rnoatime",		MOUNT_ATTR_NOATIME, ATIME),
	REC("rnodev",		MOUNT_ATTR_NODEV, 0),
	REC("rnodiratime",	MOUNT_ATTR_NODIRATIME, 0),
	REC("rnoexec",		MOUNT_ATTR_NOEXEC, 0),
	REC("rnorelatime",	MOUNT_ATTR_RELATIME, ATIME),
	REC("rnostrictatime",	MOUNT_ATTR_RELATIME, ATIME),
	REC("rnosuid",		MOUNT_ATTR_NOSUID, 0),
	REC("rnosymfollow",	MOUNT_ATTR_NOSYMFOLLOW, 0),
	{"ro", WORD_READ_ONLY, 1, 0, 0},
	PROP("rprivate",	MS_PRIVATE | MS_REC),
	REC("rrelatime",	MOUNT_ATTR_RELATIME, ATIME),
	REC("rro",		MOUNT_ATTR_RDONLY, 0),
	REC("rrw",		0, MOUNT_ATTR_RDONLY),
	PROP("rshared",		MS_SHARED | MS_REC),
	PROP("rslave",		MS_SLAVE | MS_REC),
	REC("rstrictatime",	MOUNT_ATTR_STRICTATIME, ATIME),
	REC("rsuid",		0, MOUNT_ATTR_NOSUID),
	REC("rsymfollow",	0, MOUNT_ATTR_NOSYMFOLLOW),
	PROP("runbindable",	MS_UNBINDABLE | MS_REC),
	{"rw", WORD_READ_ONLY, 0, 0, 0},
	PROP("shared",		MS_SHARED),
	NOTHING("silent"),
	PROP("slave",		MS_SLAVE),
	OWN("src-nofollow",	source_nofollow),
	ATTR("strictatime",	MOUNT_ATTR_STRICTATIME, ATIME),
	ATTR("suid",		0, MOUNT_ATTR_NOSUID),
	ATTR("symfollow",	0, MOUNT_ATTR_NOSYMFOLLOW),
	SUPER("sync",		MS_SYNCHRONOUS, 0),
	OWN("tmpcopyup",	copy_up),
	PROP("unbindable",	MS_UNBINDABLE),
};
/* clang-format on */

/* The names again, as `features` wants them: filled by the preprocessor would need the table twice,
 * so they are taken from it on the first call; the result never changes. */
const char *const *mount_option_names(size_t *ret_n)
{
	static const char *names[ARRAY_SIZE(words) + 1];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		names[i] = words[i].name;
	if (ret_n)
		*ret_n = ARRAY_SIZE(words);
	return names;
}

static int compare_word(const void *key, const void *row)
{
	return strcmp(key, ((const struct word *)row)->name);
}

static void set_and_clear(uint64_t *set, uint64_t *clear, const struct word *w)
{
	*set = (*set & ~w->clear) | w->set;
	*clear = (*clear & ~w->set) | w->clear;
}

static void set_read_only(struct plan_mount *m, bool on)
{
	const struct word attr = {"", WORD_ATTR, on ? MOUNT_ATTR_RDONLY : 0,
				  on ? 0 : MOUNT_ATTR_RDONLY, 0};

	set_and_clear(&m->attr_set, &m->attr_clear, &attr);
	m->super_flags = (m->super_flags & ~(unsigned long)MS_RDONLY) | (on ? MS_RDONLY : 0);
}

static void apply_word(struct plan_mount *m, const struct word *w)
{
	switch (w->kind) {
	case WORD_NOTHING:
		break;
	case WORD_ATTR:
		set_and_clear(&m->attr_set, &m->attr_clear, w);
		break;
	case WORD_ATTR_REC:
		set_and_clear(&m->attr_set_recursive, &m->attr_clear_recursive, w);
		break;
	case WORD_SUPER:
		m->super_flags = (m->super_flags & ~w->clear) | w->set;
		m->super_flags_clear = (m->super_flags_clear & ~w->set) | w->clear;
		break;
	case WORD_READ_ONLY:
		set_read_only(m, w->set != 0);
		break;
	case WORD_PROPAGATION:
		/* several words may stand together ("rslave", "shared"); a kind replaces its like
		 */
		m->propagation = w->set;
		break;
	case WORD_BIND:
		m->kind = MOUNT_BIND;
		m->recursive = w->set != 0;
		break;
	case WORD_OWN:
		*(bool *)(void *)((char *)m + w->offset) = true;
		break;
	}
}

static int append_data(struct arena *arena, struct plan_mount *m, const char *option)
{
	m->data = m->data ? arena_printf(arena, "%s,%s", m->data, option) : option;
	return m->data ? 0 : -ENOMEM;
}

static int check_decoded(const struct oci_mount *mount, const char *pointer,
			 const struct plan_mount *m, struct sbx_error *err)
{
	if (m->remount && (m->kind != MOUNT_BIND || m->data))
		return sbx_fail_at(err, SBX_E_UNSUPPORTED, pointer,
				   "mount on \"%s\": remount is supported together with bind only",
				   mount->destination);
	if (m->kind == MOUNT_BIND && m->data)
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, pointer,
				   "mount on \"%s\": unknown option \"%s\" for a bind mount",
				   mount->destination, m->data);
	if (m->kind == MOUNT_BIND && !m->remount && (!mount->source || !*mount->source))
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, pointer,
				   "mount on \"%s\": a bind mount needs a source",
				   mount->destination);
	if (m->kind != MOUNT_BIND && (!mount->type || !*mount->type))
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, pointer,
				   "mount on \"%s\": a type or the option bind is missing",
				   mount->destination);
	if (m->kind != MOUNT_BIND && (m->idmap || mount->uid_maps.n || mount->gid_maps.n))
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, pointer,
				   "mount on \"%s\": id mappings are for bind mounts only",
				   mount->destination);
	if (m->copy_up && (m->kind != MOUNT_FILESYSTEM || strcmp(mount->type, "tmpfs") != 0))
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, pointer,
				   "mount on \"%s\": tmpcopyup is for tmpfs only",
				   mount->destination);
	if (m->kind != MOUNT_BIND && (m->copy_symlink || m->source_nofollow))
		return sbx_fail_at(err, SBX_E_INVALID_CONFIG, pointer,
				   "mount on \"%s\": copy-symlink and src-nofollow are for bind "
				   "mounts only",
				   mount->destination);
	return 0;
}

int mount_options_decode(struct arena *arena, const struct oci_mount *mount, const char *pointer,
			 struct plan_mount *ret, struct sbx_error *err)
{
	struct plan_mount m = *ret;
	const char *type = mount->type ? mount->type : "";
	size_t i;
	int r;

	m.kind = MOUNT_FILESYSTEM;
	if (strcmp(type, "bind") == 0)
		m.kind = MOUNT_BIND;
	else if (strcmp(type, "cgroup") == 0 || strcmp(type, "cgroup2") == 0)
		m.kind = MOUNT_CGROUP;

	for (i = 0; i < mount->options.n; i++) {
		const char *option = mount->options.v[i];
		const struct word *w;

		if (!*option)
			continue;
		w = bsearch(option, words, ARRAY_SIZE(words), sizeof(words[0]), compare_word);
		if (w)
			apply_word(&m, w);
		else if (append_data(arena, &m, option) < 0)
			return sbx_fail(err, SBX_E_RESOURCE_LIMIT, ENOMEM, "decode mount options");
	}
	if (m.idmap_recursive)
		m.idmap = true;
	if (mount->uid_maps.n || mount->gid_maps.n)
		m.idmap = m.idmap || m.kind == MOUNT_BIND;
	r = check_decoded(mount, pointer, &m, err);
	if (r < 0)
		return r;
	*ret = m;
	return 0;
}

static bool has_key(const char *option, size_t len, const char *key)
{
	size_t key_len = strlen(key);

	if (len < key_len || memcmp(option, key, key_len) != 0)
		return false;
	return len == key_len || option[key_len] == '=';
}

const char *mount_data_value(const char *data, const char *key, size_t *ret_len)
{
	size_t len;

	for (; data && *data; data += len + (data[len] == ',')) {
		len = strcspn(data, ",");
		if (!has_key(data, len, key) || len == strlen(key))
			continue;
		*ret_len = len - strlen(key) - 1;
		return data + strlen(key) + 1;
	}
	return NULL;
}

const char *mount_data_without(struct arena *arena, const char *data, const char *key)
{
	char *out = arena_alloc(arena, strlen(data) + 1);
	size_t len, used = 0;

	if (!out)
		return NULL;
	for (; *data; data += len + (data[len] == ',')) {
		len = strcspn(data, ",");
		if (len == 0 || has_key(data, len, key))
			continue;
		if (used > 0)
			out[used++] = ',';
		memcpy(out + used, data, len);
		used += len;
	}
	out[used] = '\0';
	return out;
}
