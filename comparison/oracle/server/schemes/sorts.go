package schemes

import (
	"reflect"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Sorts are the types that read and write JSON by methods of their own.
var Sorts = map[reflect.Type]string{
	reflect.TypeFor[metav1.Time]():                                  "Time",
	reflect.TypeFor[metav1.MicroTime]():                             "MicroTime",
	reflect.TypeFor[resource.Quantity]():                            "Quantity",
	reflect.TypeFor[intstr.IntOrString]():                           "IntOrString",
	reflect.TypeFor[runtime.RawExtension]():                         "RawExtension",
	reflect.TypeFor[metav1.FieldsV1]():                              "FieldsV1",
	reflect.TypeFor[apiextensionsv1.JSON]():                         "JSON",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrArray]():       "SchemaOrArray",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrBool]():        "SchemaOrBool",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrStringArray](): "SchemaOrStrings",
}
