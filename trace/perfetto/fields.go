// SPDX-License-Identifier: Apache-2.0

package perfetto

import (
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers of the public Perfetto protocol (protos/perfetto/trace).
const (
	traceWithPacket = 1 // Trace.packet

	packetTimestamp  = 8
	packetSequence   = 10 // trusted_packet_sequence_id
	packetEvent      = 11 // track_event
	packetInterned   = 12 // interned_data
	packetFlags      = 13 // sequence_flags
	packetDescriptor = 60 // track_descriptor

	internedNames    = 2 // InternedData.event_names
	internedArgNames = 3 // InternedData.debug_annotation_names
	nameIID          = 1
	nameText         = 2

	trackUUID     = 1
	trackName     = 2
	trackParent   = 5
	trackCounter  = 8
	trackOrdering = 11 // child_ordering
	trackRank     = 12 // sibling_order_rank
	counterUnit   = 3  // CounterDescriptor.unit

	eventAnnotation = 4 // debug_annotations
	eventType       = 9
	eventNameIID    = 10
	eventTrack      = 11 // track_uuid
	eventCounter    = 30 // counter_value
	eventFlow       = 47 // flow_ids
	eventFlowEnd    = 48 // terminating_flow_ids

	annotationNameIID = 1
	annotationInt     = 4
	annotationString  = 6
)

// Values of sequence_flags, child_ordering and CounterDescriptor.unit.
const (
	stateCleared = 1
	needsState   = 2

	orderExplicit = 3

	unitCount = 2
)

// Type is a TrackEvent's type.
type Type uint8

// The types of events.
const (
	SliceBegin Type = iota + 1
	SliceEnd
	Instant
	Counter
)

func varint(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func fixed64(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), v)
}

// text appends a string, which the protocol wants in UTF-8.
func text(b []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), strings.ToValidUTF8(s, "\ufffd"))
}

func message(b []byte, field protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), m)
}
