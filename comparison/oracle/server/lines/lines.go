// Package lines is how the programs of this module answer: a line of JSON for each line of standard input.
package lines

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// Serve answers the lines of standard input, in their order, until it ends. Empty lines are passed over.
func Serve[T any](respond func(line []byte) T) {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<16), 64<<20)
	writer := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(writer)
	encoder.SetEscapeHTML(false)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if err := encoder.Encode(respond(lines.Bytes())); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if err := writer.Flush(); err != nil {
			os.Exit(1)
		}
	}
}
