package main

import (
	"maps"
	"math/rand"
	"slices"
)

type object = map[string]any

// The values of fields, by the objects that have them: those of the security contexts of a Pod and of a container, of a
// container, a spec, and annotations. A nil removes a field.
var (
	bools    = []any{true, false, nil}
	profiles = []any{
		nil, object{}, object{"type": "RuntimeDefault"}, object{"type": "Unconfined"}, object{"type": "Localhost", "localhostProfile": "a"},
		object{"type": ""}, object{"type": "b\"c"},
	}
	shared = object{
		"runAsNonRoot":    bools,
		"runAsUser":       []any{0, 1, nil},
		"seccompProfile":  profiles,
		"appArmorProfile": profiles,
		"windowsOptions":  []any{nil, object{}, object{"hostProcess": true}, object{"hostProcess": false}},
		"seLinuxOptions": []any{
			nil, object{}, object{"type": "container_t"}, object{"type": "container_engine_t"}, object{"type": "spc_t"}, object{"type": "a"},
			object{"user": "u"}, object{"role": "r"}, object{"type": "spc_t", "user": "u", "role": "r"}, object{"level": "s0"},
		},
	}
	ofContainer = object{
		"privileged":               bools,
		"allowPrivilegeEscalation": bools,
		"procMount":                []any{nil, "Default", "Unmasked", "", "Other"},
		"capabilities": []any{
			nil, object{}, object{"drop": []any{"ALL"}}, object{"drop": []any{"CHOWN"}},
			object{"drop": []any{"ALL"}, "add": []any{"NET_BIND_SERVICE"}}, object{"add": []any{"SYS_ADMIN", "CHOWN", "NET_RAW"}},
			object{"drop": []any{"CHOWN", "ALL"}, "add": []any{"CHOWN", "NET_RAW"}}, object{"add": []any{}},
		},
	}
	ofPod = object{
		"sysctls": []any{
			nil, []any{}, sysctls("kernel.shm_rmid_forced"), sysctls("kernel.msgmax", "net.ipv4.tcp_rmem"), sysctls("a"),
			sysctls("net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_fin_timeout"), sysctls("net.ipv4.tcp_notsent_lowat", "a", "a"),
			sysctls(""),
		},
	}
	handlers = []any{
		nil, object{}, object{"httpGet": object{"port": 1}}, object{"httpGet": object{"port": 1, "host": "h"}},
		object{"tcpSocket": object{"port": 1, "host": "127.0.0.1"}}, object{"httpGet": object{"host": "a\"b", "port": 1}, "tcpSocket": object{"port": 1, "host": "h"}},
		object{"exec": object{"command": []any{"a"}}},
	}
	containers = object{
		"name":           []any{"a", "b", "c\"d", "é"},
		"livenessProbe":  handlers,
		"readinessProbe": handlers,
		"startupProbe":   handlers,
		"ports": []any{
			nil, []any{object{"containerPort": 1}}, []any{object{"containerPort": 1, "hostPort": 80}, object{"containerPort": 2, "hostPort": 443}},
			[]any{object{"containerPort": 1, "hostPort": 0}}, []any{object{"containerPort": 1, "hostPort": 1000}},
		},
	}
	specs = object{
		"hostNetwork": bools,
		"hostPID":     bools,
		"hostIPC":     bools,
		"hostUsers":   []any{nil, true, false, false},
		"os":          []any{nil, object{}, object{"name": "windows"}, object{"name": "linux"}, object{"name": "windows"}},
	}
	annotations = object{
		"seccomp.security.alpha.kubernetes.io/pod":                 notes,
		"container.seccomp.security.alpha.kubernetes.io/a":         notes,
		"container.seccomp.security.alpha.kubernetes.io/container": notes,
		"container.seccomp.security.alpha.kubernetes.io/b":         notes,
		"container.apparmor.security.beta.kubernetes.io/a":         notes,
		"container.apparmor.security.beta.kubernetes.io/a-b":       notes,
		"container.apparmor.security.beta.kubernetes.io/":          notes,
		"other": notes,
	}
	notes = []any{"", "runtime/default", "docker/default", "localhost/a", "localhost/", "unconfined", "a\"b\n\u200b", "localhost"}

	volumes = []string{
		"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected", "secret", "hostPath",
		"gcePersistentDisk", "awsElasticBlockStore", "gitRepo", "nfs", "iscsi", "glusterfs", "rbd", "flexVolume", "cinder", "cephfs",
		"flocker", "fc", "azureFile", "vsphereVolume", "quobyte", "azureDisk", "photonPersistentDisk", "portworxVolume", "scaleIO",
		"storageos",
	}
	kinds = []string{"initContainers", "containers", "ephemeralContainers"}
)

func sysctls(names ...string) []any {
	out := []any{}
	for _, name := range names {
		out = append(out, object{"name": name, "value": "1"})
	}
	return out
}

// change changes one field of a Pod.
func change(random *rand.Rand, pod object) {
	spec := pod["spec"].(object)
	switch random.Intn(12) {
	case 0:
		set(random, spec, specs)
	case 1:
		set(random, child(pod["metadata"].(object), "annotations"), annotations)
	case 2:
		list, _ := spec["volumes"].([]any)
		volume := object{"name": []string{"v", "w", "x\"y"}[random.Intn(3)]}
		for range random.Intn(3) {
			volume[volumes[random.Intn(len(volumes))]] = []any{object{}, object{}, nil}[random.Intn(3)]
		}
		spec["volumes"] = append(list, volume)
	case 3:
		set(random, child(spec, "securityContext"), ofPod)
	case 4, 5:
		set(random, child(spec, "securityContext"), shared)
	case 6:
		name := kinds[random.Intn(3)]
		list, _ := spec[name].([]any)
		spec[name] = append(list, object{"name": containers["name"].([]any)[random.Intn(4)]})
	case 7:
		if container := container(random, spec); container != nil {
			set(random, container, containers)
		}
	case 8:
		if container := container(random, spec); container != nil {
			handler := []string{"postStart", "preStop"}[random.Intn(2)]
			child(container, "lifecycle")[handler] = handlers[random.Intn(len(handlers))]
		}
	default:
		if container := container(random, spec); container != nil {
			set(random, child(container, "securityContext"), []object{shared, ofContainer}[random.Intn(2)])
		}
	}
}

// container is one of the containers of a Pod; nil if there are none of the chosen kind.
func container(random *rand.Rand, spec object) object {
	list, _ := spec[kinds[random.Intn(3)]].([]any)
	if len(list) == 0 {
		return nil
	}
	return list[random.Intn(len(list))].(object)
}

// child is the object in a field, which is made if there is none.
func child(of object, name string) object {
	if found, ok := of[name].(object); ok {
		return found
	}
	made := object{}
	of[name] = made
	return made
}

// set gives one of the fields one of its values.
func set(random *rand.Rand, of object, fields object) {
	names := slices.Sorted(maps.Keys(fields)) // Maps have no order.
	name := names[random.Intn(len(names))]
	values := fields[name].([]any)
	of[name] = values[random.Intn(len(values))]
}
