/*
 * What the files of the OCI model share: the decode table of each section and the checks that more
 * than one section uses. Nothing outside of spec/oci*.c includes this.
 */
#ifndef SBX_SPEC_OCI_INTERNAL_H
#define SBX_SPEC_OCI_INTERNAL_H

#include "spec/decode.h"
#include "spec/oci.h"

/* The beginning of a row of a decode table: {ROW(struct oci_cpu, DECODE_OPT_U64, shares, "shares")}
 */
#define ROW(type_, kind_, member_, name_)                                                          \
	.name = (name_), .kind = (kind_), .offset = offsetof(type_, member_)

#define OCI_ID_MAX	      UINT64_C(4294967294) /* 4294967295 means "no id" to the kernel */
#define OCI_ID_MAPS_MAX	      340		   /* lines of a map: user_namespaces(7) */
#define OCI_NET_NAME_MAX      15		   /* IFNAMSIZ without the NUL */
#define OCI_UTS_NAME_MAX      64		   /* uname(2) */
#define OCI_DEV_MAJOR_MAX     4095		   /* MINORBITS is 20: makedev of the kernel */
#define OCI_DEV_MINOR_MAX     1048575
#define OCI_MOUNT_OPTIONS_MAX 512

/* config.md#process (oci_process.c) */
extern const struct decode_table oci_process_table;

/* config-linux.md (oci_linux.c) */
extern const struct decode_table oci_linux_table;

/* config-linux.md#control-groups (oci_resources.c) */
extern const struct decode_table oci_resources_table;

/* config-linux.md#seccomp (oci_seccomp.c) */
extern const struct decode_table oci_seccomp_table;

/* An array of id mappings into struct oci_id_maps: at most 340, no empty, wrapping or overlapping
 * range (oci_linux.c). */
int oci_decode_id_maps(struct decoder *d, const struct json_node *value, void *member);

/* "NAME=VALUE" with a name that is not empty (oci_process.c). */
int oci_check_env(struct decoder *d, const struct json_node *value);

/* A list of cpus or memory nodes as the kernel reads it, "0-3,7" (oci_resources.c). */
int oci_check_cpu_list(struct decoder *d, const struct json_node *value);

/* A network device name: 1 to 15 bytes without '/', ':' or white space, not "." or ".." (netdevice
 * names of the kernel: dev_valid_name()) (oci_linux.c). */
int oci_check_net_name(struct decoder *d, const struct json_node *at, const char *name);

/* The rules between members; the whole of config.json is decoded (oci_check.c). */
int oci_check(const struct oci_spec *spec, struct sbx_error *err);

#endif
