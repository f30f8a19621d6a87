// Command formats writes a table of strings, with whether the API server finds that they have a format. Most strings are
// random changes of good ones, from a fixed seed.
//
//	go run ./formats > ../../structural/tests/data/formats.jsonl
package main

import (
	"bufio"
	"encoding/json"
	"math/rand"
	"os"
	"sort"

	"k8s.io/kube-openapi/pkg/validation/strfmt"
)

// changes of each example.
const changes = 60

// row is one format. Good and Bad are strings that have it, and strings that do not.
type row struct {
	Format string   `json:"format"`
	Good   []string `json:"good"`
	Bad    []string `json:"bad"`
}

var examples = map[string][]string{
	"bsonobjectid":   {"507f1f77bcf86cd799439011", "507F1F77BCF86CD799439011"},
	"byte":           {"aGk=", "YQ==", "aGkx", ""},
	"cidr":           {"10.0.0.0/8", "010.0.0.0/8", "::1/128", "fe80::/10"},
	"creditcard":     {"4220855426222389", "4220 8554 2622 2389", "5139288802098206", "374953669708156", "6011464355444102", "3548209662790989", "30569309025904", "213112345678901", "4222222222222", "6500000000000002"},
	"date":           {"2026-02-28", "2024-02-29", "0000-01-01", "9999-12-31"},
	"date-time":      {"2026-02-28T12:34:56Z", "2026-02-28t23:59:59.123z", "2026-02-28T00:00:00+01:00", "2026-02-28T00:00:00,5-99:99", "2026-02-28T00:00:00ZT1", "2026-02-28 00:00:00Z"},
	"duration":       {"3s", "1h3m", "-1.5h", "2 days", "1 µs", "3 hours", "1wk"},
	"email":          {"a@b", "Name <a.b@c.d>", "\"a b\" <\"x y\"@z>", "a@[1.2.3.4]", "a@[::1]", "All: a@b;", "All: a@b, c@d;", "a@b (comment (inner) \\) x)", "(c) a@b", "=?utf-8?q?a=41?= <a@b>", "=?latin-9?q?a?= <a@b>", "x =?latin-9?b?YQ==?= <a@b>", "a@b (=?x?q?y?=)", "ü@é.中", "<a@b>", "a b <c@d>", "\"a\\\"b\"@c", "a..b <c@d>", "(x) \"\" <a@b>", "All:;"},
	"hexcolor":       {"#fff", "A0B1C2", "#A0B1C2"},
	"hostname":       {"example.com", "a", "a-b", "ab-c", "1a.b-c.de", "é.中文", "☃.net", "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabc.org", "a.b1"},
	"ipv4":           {"1.2.3.4", "01.2.3.4", "::ffff:1.2.3.4"},
	"ipv6":           {"::1", "fe80::1", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4", "fe80::1%eth0"},
	"isbn":           {"3836221195", "1-61729-085-8", "3 401 01319 X", "9784873113685", "978-3-8362-2119-1"},
	"isbn10":         {"3836221195", "1-61729-085-8", "3 401 01319 X"},
	"isbn13":         {"9784873113685", "978 3401013190", "978-3-8362-2119-1"},
	"k8s-long-name":  {"a.b-c", "1a.2b"},
	"k8s-short-name": {"a-1", "1a"},
	"mac":            {"01:02:03:04:05:06", "01-02-03-04-05-06", "0102.0304.0506", "0102030405060708"},
	"password":       {"", "x"},
	"rgbcolor":       {"rgb(0,31,255)", "rgb( 1 , 99\t,100 )", "rgb(256,1,1)", "rgb(01,1,1)"},
	"ssn":            {"123-45-6789", "123 45 6789", "123-45 6789", "123456789"},
	"uri":            {"http://a.b/c?d#e", "/a/b", "mailto:a@b", "http://[::1]:80/", "http://a:1/%41", "a.b", "http://u:p@h/", "x://"},
	"uuid":           {"0E8400E2-29b4-41d4-A716-446655440000", "0e8400e229b441d4a716446655440000"},
	"uuid3":          {"0e8400e2-29b4-31d4-a716-446655440000"},
	"uuid4":          {"0e8400e2-29b4-41d4-a716-446655440000"},
	"uuid5":          {"0e8400e2-29b4-51d4-a716-446655440000"},
}

// pieces are put into strings besides their own characters.
var pieces = []rune("0123456789aAfFgXxzZtT.:;-+_@<>()[]\"\\, \t\n/%?=#&éµ中☃~!'*$")

func main() {
	random := rand.New(rand.NewSource(1))
	formats := make([]string, 0, len(examples))
	for format := range examples {
		formats = append(formats, format)
	}
	sort.Strings(formats)

	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for _, format := range formats {
		if err := encoder.Encode(check(random, format)); err != nil {
			panic(err)
		}
	}
}

// check asks about the examples of a format and their changes, each string once.
func check(random *rand.Rand, format string) row {
	row := row{Format: format}
	seen := map[string]bool{}
	ask := func(text string) {
		if seen[text] {
			return
		}
		seen[text] = true
		if strfmt.Default.Validates(format, text) {
			row.Good = append(row.Good, text)
		} else {
			row.Bad = append(row.Bad, text)
		}
	}

	for _, example := range examples[format] {
		ask(example)
		for range changes {
			ask(changed(random, example))
		}
	}
	return row
}

// changed removes, inserts, replaces, repeats or exchanges characters, mostly one.
func changed(random *rand.Rand, text string) string {
	runes := []rune(text)
	for more := true; more; more = random.Intn(3) == 0 {
		at := random.Intn(len(runes) + 1)
		piece := pieces[random.Intn(len(pieces))]
		if len(runes) > 0 && random.Intn(2) == 0 {
			piece = runes[random.Intn(len(runes))]
		}
		insert := at == len(runes) || random.Intn(4) == 0
		switch {
		case insert:
			runes = append(runes[:at], append([]rune{piece}, runes[at:]...)...)
		case random.Intn(2) == 0:
			runes[at] = piece
		default:
			runes = append(runes[:at], runes[at+1:]...)
		}
	}
	return string(runes)
}
