// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
)

// maxBTF bounds what is read of the kernel's type information; it is 4 to 10
// MB.
const maxBTF = 64 << 20

// findNames tells which of the names occur as whole strings, NUL before and
// after, in a file of at most maxBTF bytes.
func findNames(root fs.FS, file string, names ...string) (found []bool, err error) {
	if err := regular(root, file); err != nil {
		return nil, err
	}
	f, err := root.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	found = make([]bool, len(names))
	longest := 0
	for _, n := range names {
		longest = max(longest, len(n)+2)
	}
	buf := make([]byte, 0, 1<<16)
	r := io.LimitReader(f, maxBTF)
	for {
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		for i, name := range names {
			found[i] = found[i] || bytes.Contains(buf, []byte("\x00"+name+"\x00"))
		}
		if len(buf) >= longest { // a name may lie across two reads
			buf = buf[:copy(buf[:cap(buf)], buf[len(buf)-longest+1:])]
		}
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (r *reader) btf() {
	const file = "sys/kernel/btf/vmlinux"
	b := &r.s.BTF
	*b = BTF{Unknown, Unknown, Unknown}
	found, err := findNames(r.root, file, "sd_balance_shared", "select_idle_smt_cpu")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if b.Present = r.absent("sys/kernel"); b.Present == No {
			return
		}
		r.unread("BTF (type information of the kernel)", err, "read on the machine itself, with /sys mounted")
	case err != nil:
		r.unread("BTF (type information of the kernel)", err, "")
	default:
		b.Present = Yes
		b.BalanceShared = tri(found[0])
		if found[1] {
			b.IdleSMTCPU = Yes
		}
	}
}
