// Command patterns writes a table of regular expressions, with what Go makes of each: an error, or the strings that it
// matches. Patterns and strings are random, from a fixed seed.
//
//	go run ./patterns > ../../structural/tests/data/patterns.jsonl
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"regexp"
	"strconv"
	"strings"
)

const (
	patterns = 5000
	strs     = 60
)

// row is one pattern.
type row struct {
	Pattern string `json:"pattern"`
	Error   string `json:"error,omitempty"`
	// Matches is a hexadecimal number with a bit for each string that is matched, the lowest for the first.
	Matches string `json:"matches,omitempty"`
}

var (
	characters = []string{"a", "b", "c", "k", "K", "s", "\u017f", "\u212a", "é", "É", "Σ", "ς", "σ", "中", "字", "1", "9", "_", "-", "]", "[", "^", " ", "\n", "\t", "{", "}", ",", "&", "~", "<", ">", "/", ".", "😀", "ǅ", "ǆ", "İ", "ß", "ẞ", "\v", "\x00", "\u0345"}
	literals   = []string{"a", "b", "c", "k", "s", "é", "Σ", "中", "1", "_", "-", " ", "]", "{", "}", "{,2}", "{x}", "{a", ",", "&", "&&", "~", "<", ">", "/", "\n", "😀", "ß", "#"}
	escapes    = []string{`\d`, `\D`, `\s`, `\S`, `\w`, `\W`, `\.`, `\-`, `\]`, `\[`, `\\`, `\/`, `\<`, `\>`, `\&`, `\ `, `\#`, `\~`, `\"`, `\x41`, `\x{4e2d}`, `\x{d800}`, `\x{10ffff}`, `\x{110000}`, `\x{}`, `\x4`, `\0`, `\141`, `\1`, `\8`, `\n`, `\t`, `\v`, `\a`, `\f`, `\r`, `\e`, `\Z`, `\G`, `\u0041`, `\é`, `\_`}
	unicode    = []string{`\pL`, `\PL`, `\p{L}`, `\p{^L}`, `\P{^L}`, `\p{Lu}`, `\p{Ll}`, `\pN`, `\p{Han}`, `\P{Han}`, `\p{Greek}`, `\p{Latin}`, `\p{latin}`, `\p{Letter}`, `\p{Uppercase_Letter}`, `\p{uppercaseletter}`, `\p{Any}`, `\P{Any}`, `\p{ASCII}`, `\p{Assigned}`, `\p{LC}`, `\p{Nd}`, `\pZ`, `\p{Zs}`, `\pS`, `\pP`, `\p{Cc}`, `\p{C}`, `\p{Cs}`, `\p{Cn}`, `\p{digit}`, `\p{punct}`, `\p{cntrl}`, `\p{Foo}`, `\p`, `\p{`, `\px`, `\p{Old_Italic}`, `\p{Script=Greek}`, `\p{Common}`}
	posix      = []string{"[:alpha:]", "[:^alpha:]", "[:digit:]", "[:word:]", "[:space:]", "[:ascii:]", "[:lower:]", "[:^upper:]", "[:punct:]", "[:xdigit:]", "[:foo:]", "[:alpha", "[:"}
	looks      = []string{"^", "$", `\A`, `\z`, `\b`, `\B`, `\b{start}`, `\C`}
	repeats    = []string{"*", "+", "?", "*?", "+?", "??", "{2}", "{0}", "{0,}", "{1,3}", "{2,}", "{3,2}", "{2}?", "{,2}", "{02}", "{1001}", "{1000}", "{30}", "**", "*+", "{2}{3}", "{2}*"}
	openers    = []string{"(", "(", "(", "(?:", "(?i:", "(?s:", "(?m:", "(?U:", "(?is:", "(?ii:", "(?i-s:", "(?i-i:", "(?-i:", "(?P<n>", "(?<n>", "(?P<n-1>", "(?P<é>", "(?P<>", "(?=", "(?!", "(?<=", "(?>", "(?x:", "(?-:", "(?i-:"}
	changes    = []string{"(?i)", "(?s)", "(?m)", "(?U)", "(?-i)", "(?i)(?-i)", "(?)", "(?-)", "(?mi)", "(?x)", `\Q\E`, `\Qa.b\E`, `\Q[`, `\E`}
)

func main() {
	random := rand.New(rand.NewSource(1))
	// Most picks are from the first half.
	pick := func(from []string) string {
		if random.Intn(4) > 0 {
			return from[random.Intn((len(from)+1)/2)]
		}
		return from[random.Intn(len(from))]
	}
	some := func(one func() string, most int) string {
		var out strings.Builder
		for range random.Intn(most) + 1 {
			out.WriteString(one())
		}
		return out.String()
	}

	classItem := func() string {
		single := func() string {
			if random.Intn(4) == 0 {
				return pick(escapes)
			}
			return pick(literals)
		}
		switch random.Intn(9) {
		case 0, 1:
			return single() + "-" + single()
		case 2:
			return pick(posix)
		case 3:
			return pick(unicode)
		case 4:
			return pick([]string{"a-z", "0-9", "A-Z", "-", "é-中", "--a", "a--", "&&", "[", "^"})
		default:
			return single()
		}
	}
	class := func() string {
		return pick([]string{"[", "[", "[^", "[]", "[^]"}) + some(classItem, 4) + pick([]string{"]", "]", "]", "]", "-]", ""})
	}

	var expression func(depth int) string
	term := func(depth int) string {
		switch random.Intn(14) {
		case 0:
			return pick(escapes)
		case 1:
			return pick(unicode)
		case 2, 3:
			return class()
		case 4:
			return pick(looks)
		case 5:
			return pick(changes)
		case 6:
			return "."
		case 7, 8:
			if depth > 0 {
				return pick(openers) + expression(depth-1) + ")"
			}
			return pick(literals)
		case 9:
			if random.Intn(6) == 0 {
				return pick([]string{"(", ")", "|", "[", "|)", "*"})
			}
			return pick(literals)
		default:
			return pick(literals)
		}
	}
	expression = func(depth int) string {
		return some(func() string {
			out := term(depth)
			if random.Intn(3) == 0 {
				out += pick(repeats)
			}
			if random.Intn(10) == 0 {
				out += "|"
			}
			return out
		}, 4)
	}

	texts := []string{"", "\n", "a\n", "a\nb", "aéb"}
	for len(texts) < strs {
		texts = append(texts, some(func() string { return pick(characters) }, 6))
	}
	rows := []row{}
	add := func(pattern string) {
		result := row{Pattern: pattern}
		if compiled, err := regexp.Compile(pattern); err != nil {
			result.Error = err.Error()
		} else {
			var matches uint64
			for i, text := range texts {
				if compiled.MatchString(text) {
					matches |= 1 << i
				}
			}
			result.Matches = strconv.FormatUint(matches, 16)
		}
		rows = append(rows, result)
	}

	for _, from := range [][]string{unicode, escapes, looks, changes} {
		for _, pattern := range from {
			add(pattern)
			add("(?i)" + pattern)
			add("(?i)[^" + pattern + "]")
			add("x" + pattern + "*")
		}
	}
	for _, depth := range []int{300, 499, 500, 999, 1000} {
		add(strings.Repeat("(", depth) + "a" + strings.Repeat(")", depth))
		add(strings.Repeat("(?:", depth) + "a" + strings.Repeat(")*", depth))
		add(strings.Repeat("(?:b|", depth) + "a" + strings.Repeat(")", depth))
	}
	for _, pattern := range []string{`\p{Han}{110}`, `^\pL{250}$`, `^(?i)\p{Ll}{100}$`, "^.{1000}$", "^[^/]{1000}$"} {
		add(pattern)
	}
	for len(rows) < patterns {
		pattern := expression(3)
		if random.Intn(4) == 0 {
			pattern = "^(?:" + pattern + ")$"
		}
		add(pattern)
	}

	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	// One pattern a line, after the strings.
	for _, line := range append([]any{texts}, asAny(rows)...) {
		if err := encoder.Encode(line); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func asAny(rows []row) []any {
	out := make([]any, len(rows))
	for i, row := range rows {
		out[i] = row
	}
	return out
}
