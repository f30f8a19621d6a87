package main

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	apiservercel "k8s.io/apiserver/pkg/cel"
)

// written is a value with the types of its parts. The entries of a map are sorted.
func written(value ref.Val) string {
	switch value := value.(type) {
	case types.Null:
		return "null"
	case types.Bool:
		return fmt.Sprint(bool(value))
	case types.Int:
		return fmt.Sprint(int64(value))
	case types.Uint:
		return fmt.Sprintf("%du", uint64(value))
	case types.Double:
		return fmt.Sprintf("double(%v)", float64(value))
	case types.String:
		return fmt.Sprintf("%q", string(value))
	case types.Bytes:
		return "bytes(" + base64.StdEncoding.EncodeToString(value) + ")"
	case types.Duration:
		return fmt.Sprintf("duration(%d)", int64(value.Duration))
	case types.Timestamp:
		return "timestamp(" + value.UTC().Format(time.RFC3339Nano) + ")"
	case *types.Optional:
		if !value.HasValue() {
			return "optional.none"
		}
		return "optional(" + written(value.GetValue()) + ")"
	case *types.Type:
		return "type(" + value.TypeName() + ")"
	case *types.Err:
		return "error(" + value.Error() + ")"
	case apiservercel.IP:
		return "ip(" + value.Addr.String() + ")"
	case apiservercel.CIDR:
		return "cidr(" + value.Prefix.String() + ")"
	case apiservercel.URL:
		parts := []string{value.Scheme, value.Host, value.EscapedPath(), value.RawQuery}
		return "url(" + strings.Join(parts, " ") + ")"
	case apiservercel.Quantity:
		return "quantity(" + value.Quantity.String() + ")"
	case *apiservercel.Quantity:
		return "quantity(" + value.Quantity.String() + ")"
	case apiservercel.Semver:
		return "semver(" + value.Version.String() + ")"
	case traits.Lister:
		var items []string
		for each := value.Iterator(); each.HasNext() == types.True; {
			items = append(items, written(each.Next()))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case traits.Mapper:
		// The variables are not evaluated.
		if value.Type().TypeName() != types.MapType.TypeName() {
			return value.Type().TypeName()
		}
		var entries []string
		for each := value.Iterator(); each.HasNext() == types.True; {
			key := each.Next()
			entries = append(entries, written(key)+": "+written(value.Get(key)))
		}
		slices.Sort(entries)
		return "{" + strings.Join(entries, ", ") + "}"
	}
	return value.Type().TypeName()
}
