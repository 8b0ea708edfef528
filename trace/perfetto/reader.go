// SPDX-License-Identifier: Apache-2.0

package perfetto

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// maxPacket bounds a packet's size.
const maxPacket = 1 << 20

// Packet is one packet of a trace, as far as the Writer writes it. What else
// there is in it is skipped.
type Packet struct {
	Time     uint64 // ns; 0 if absent
	Sequence uint32
	Flags    uint32
	Names    []Name // event names that are announced
	ArgNames []Name // annotation names that are announced
	Track    *Track
	Event    *Event
}

// Name is an interned name: later packets refer to it by its number.
type Name struct {
	IID  uint64
	Text string
}

// Track is a track's description.
type Track struct {
	UUID, Parent uint64 // Parent is 0 if there is none
	Name         string
	Counter      bool
	Ordered      bool // the children are ordered by their rank
	Rank         int32
}

// Event is a track event.
type Event struct {
	Type     Type
	Track    uint64
	NameIID  uint64 // 0 if there is none
	Value    int64  // of a counter
	Args     []Arg
	Flows    []uint64
	FlowEnds []uint64
}

// Arg is a debug annotation: text, or a number if IsInt.
type Arg struct {
	NameIID uint64
	Text    string
	Int     int64
	IsInt   bool
}

// Reader reads a trace packet by packet. It is not safe for concurrent use.
type Reader struct {
	r   *bufio.Reader
	off int64
	buf []byte
}

// NewReader returns a Reader of r.
func NewReader(r io.Reader) *Reader { return &Reader{r: bufio.NewReaderSize(r, 1<<16)} }

// Next returns the next packet, and io.EOF at the end of the trace. Other errors
// name the offset of the packet. Packets of more than 1 MiB are refused.
func (r *Reader) Next() (Packet, error) {
	at := r.off
	p, err := r.next()
	if err != nil && !errors.Is(err, io.EOF) {
		return Packet{}, fmt.Errorf("read perfetto trace: packet at offset %d: %w", at, err)
	}
	return p, err
}

func (r *Reader) next() (Packet, error) {
	tag, err := r.varint()
	if err != nil {
		return Packet{}, err // io.EOF: the end
	}
	if tag != protowire.EncodeTag(traceWithPacket, protowire.BytesType) {
		return Packet{}, fmt.Errorf("tag %#x: want a packet: not a Perfetto trace", tag)
	}
	n, err := r.varint()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return Packet{}, err
	}
	if n > maxPacket {
		return Packet{}, fmt.Errorf("%d bytes: want at most %d", n, maxPacket)
	}
	if uint64(cap(r.buf)) < n {
		r.buf = make([]byte, n)
	}
	b := r.buf[:n]
	got, err := io.ReadFull(r.r, b)
	r.off += int64(got)
	if err != nil {
		return Packet{}, errors.New("the file ends within it")
	}
	var p Packet
	return p, p.decode(b)
}

// varint reads one number; io.EOF only before its first byte.
func (r *Reader) varint() (uint64, error) {
	var v uint64
	for shift := 0; shift < 64; shift += 7 {
		c, err := r.r.ReadByte()
		if err != nil {
			if shift > 0 && errors.Is(err, io.EOF) {
				return 0, errors.New("the file ends within it")
			}
			return 0, err
		}
		r.off++
		if shift == 63 && c > 1 {
			break
		}
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, nil
		}
	}
	return 0, errors.New("a number of more than 64 bits")
}

// each calls one for every field of a message: with its number if it is one,
// with its bytes otherwise. Groups, which the protocol does not use, are errors
// of protowire or skipped whole.
func each(b []byte, one func(field protowire.Number, v uint64, data []byte) error) error {
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		var v uint64
		var data []byte
		switch kind {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			v, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			data, n = protowire.ConsumeBytes(b)
			if data == nil {
				data = []byte{}
			}
		default:
			if n = protowire.ConsumeFieldValue(field, kind, b); n >= 0 {
				b = b[n:]
				continue
			}
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if err := one(field, v, data); err != nil {
			return err
		}
	}
	return nil
}

func (p *Packet) decode(b []byte) error {
	return each(b, func(field protowire.Number, v uint64, data []byte) error {
		switch {
		case field == packetTimestamp:
			p.Time = v
		case field == packetSequence:
			p.Sequence = uint32(v)
		case field == packetFlags:
			p.Flags = uint32(v)
		case field == packetEvent && data != nil:
			p.Event = new(Event)
			return p.Event.decode(data)
		case field == packetDescriptor && data != nil:
			p.Track = new(Track)
			return p.Track.decode(data)
		case field == packetInterned:
			return each(data, func(field protowire.Number, _ uint64, data []byte) error {
				switch field {
				case internedNames:
					return addName(&p.Names, data)
				case internedArgNames:
					return addName(&p.ArgNames, data)
				}
				return nil
			})
		}
		return nil
	})
}

func addName(to *[]Name, b []byte) error {
	var n Name
	err := each(b, func(field protowire.Number, v uint64, data []byte) error {
		switch field {
		case nameIID:
			n.IID = v
		case nameText:
			n.Text = string(data)
		}
		return nil
	})
	*to = append(*to, n)
	return err
}

func (t *Track) decode(b []byte) error {
	return each(b, func(field protowire.Number, v uint64, data []byte) error {
		switch field {
		case trackUUID:
			t.UUID = v
		case trackParent:
			t.Parent = v
		case trackName:
			t.Name = string(data)
		case trackCounter:
			t.Counter = true
		case trackOrdering:
			t.Ordered = v == orderExplicit
		case trackRank:
			t.Rank = int32(v)
		}
		return nil
	})
}

func (e *Event) decode(b []byte) error {
	return each(b, func(field protowire.Number, v uint64, data []byte) error {
		switch field {
		case eventType:
			e.Type = Type(min(v, 255))
		case eventTrack:
			e.Track = v
		case eventNameIID:
			e.NameIID = v
		case eventCounter:
			e.Value = int64(v)
		case eventFlow:
			e.Flows = append(e.Flows, v)
		case eventFlowEnd:
			e.FlowEnds = append(e.FlowEnds, v)
		case eventAnnotation:
			var a Arg
			err := each(data, func(field protowire.Number, v uint64, data []byte) error {
				switch field {
				case annotationNameIID:
					a.NameIID = v
				case annotationInt:
					a.Int, a.IsInt = int64(v), true
				case annotationString:
					a.Text = string(data)
				}
				return nil
			})
			e.Args = append(e.Args, a)
			return err
		}
		return nil
	})
}
