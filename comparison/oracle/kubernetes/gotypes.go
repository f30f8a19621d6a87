package main

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// goTypes are the types whose tags a patch can use.
var goTypes = map[string]any{
	"apps/v1.DaemonSet":                      appsv1.DaemonSet{},
	"apps/v1.Deployment":                     appsv1.Deployment{},
	"apps/v1.ReplicaSet":                     appsv1.ReplicaSet{},
	"apps/v1.StatefulSet":                    appsv1.StatefulSet{},
	"autoscaling/v2.HorizontalPodAutoscaler": autoscalingv2.HorizontalPodAutoscaler{},
	"batch/v1.CronJob":                       batchv1.CronJob{},
	"batch/v1.Job":                           batchv1.Job{},
	"discovery.k8s.io/v1.EndpointSlice":      discoveryv1.EndpointSlice{},
	"networking.k8s.io/v1.Ingress":           networkingv1.Ingress{},
	"networking.k8s.io/v1.NetworkPolicy":     networkingv1.NetworkPolicy{},
	"policy/v1.PodDisruptionBudget":          policyv1.PodDisruptionBudget{},
	"rbac.authorization.k8s.io/v1.Role":      rbacv1.Role{},
	"storage.k8s.io/v1.StorageClass":         storagev1.StorageClass{},
	"v1.ConfigMap":                           corev1.ConfigMap{},
	"v1.Endpoints":                           corev1.Endpoints{},
	"v1.Event":                               corev1.Event{},
	"v1.Namespace":                           corev1.Namespace{},
	"v1.Node":                                corev1.Node{},
	"v1.PersistentVolume":                    corev1.PersistentVolume{},
	"v1.PersistentVolumeClaim":               corev1.PersistentVolumeClaim{},
	"v1.Pod":                                 corev1.Pod{},
	"v1.ReplicationController":               corev1.ReplicationController{},
	"v1.Secret":                              corev1.Secret{},
	"v1.Service":                             corev1.Service{},
	"v1.ServiceAccount":                      corev1.ServiceAccount{},
}
