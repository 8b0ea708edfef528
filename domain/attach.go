// SPDX-License-Identifier: Apache-2.0

package domain

// degenerate is sd_degenerate: the domain changes nothing for a CPU.
func degenerate(d *Domain) bool {
	if d.Weight == 1 {
		return true
	}
	if d.Flags&needGroups != 0 && len(d.Groups) > 1 {
		return false
	}
	return !d.Flags.Has(WakeAffine)
}

// parentDegenerate is sd_parent_degenerate: the parent adds nothing to the
// child.
func parentDegenerate(child, parent *Domain) bool {
	if degenerate(parent) {
		return true
	}
	if !child.Span.Equal(parent.Span) {
		return false
	}
	flags := parent.Flags
	if len(parent.Groups) == 1 {
		flags &^= needGroups
	}
	return flags&^child.Flags == 0
}

// attach follows cpu_attach_domain: it removes the domains that contribute
// nothing from the chain that starts at base and returns the new base.
func (b *builder) attach(base *Domain) *Domain {
	for d := base; d != nil && d.Parent != nil; {
		p := d.Parent
		if !parentDegenerate(d, p) {
			d = p
			continue
		}
		d.Parent = p.Parent
		if p.Shared >= 0 {
			d.Shared = p.Shared
		}
		if p.Parent != nil {
			p.Parent.Child = d
			p.Parent.Groups[0].Flags = d.Flags
		}
		d.Flags |= p.Flags & PreferSibling
	}
	if base != nil && degenerate(base) {
		base = base.Parent
		if base != nil {
			base.Groups[0].Flags = 0
			base.Child = nil
		}
	}
	return base
}

// pointers follows update_top_cache_domain (mechanisms 1.5).
func (b *builder) pointers(c int) {
	h := b.h
	h.LLCSize[c], h.LLCShared[c], h.BalanceShared[c] = 1, -1, -1
	id := c
	if d := highest(h.Base[c], ShareLLC, true); d != nil {
		h.LLC[c], h.LLCSize[c], h.LLCShared[c] = d, d.Weight, d.Shared
		id = d.Span.First()
	}
	h.ShareID[c] = id
	if d := lowest(h.Base[c], Cluster); d != nil {
		h.ShareID[c] = d.Span.First()
		h.ClusterActive = true
	}
	if b.o.LLCIDFromDomain {
		h.LLCID[c] = id
	}
	h.NUMADomain[c] = lowest(h.Base[c], NUMA)
	h.AsymPacking[c] = highest(h.Base[c], AsymPacking, false)
	h.AsymCapacity[c] = lowest(h.Base[c], AsymCPUCapacityFull)
	h.BalanceShared[c] = h.LLCShared[c]
	if d := h.AsymCapacity[c]; d != nil && d.Shared >= 0 {
		h.BalanceShared[c] = d.Shared
	}
}

// highest is highest_flag_domain: the topmost domain with the flag. below says
// that a domain with the flag has it on all levels below, so the search ends
// at the first without.
func highest(d *Domain, f Flags, below bool) *Domain {
	var top *Domain
	for ; d != nil; d = d.Parent {
		if d.Flags.Has(f) {
			top = d
		} else if below {
			break
		}
	}
	return top
}

// lowest is lowest_flag_domain.
func lowest(d *Domain, f Flags) *Domain {
	for ; d != nil; d = d.Parent {
		if d.Flags.Has(f) {
			return d
		}
	}
	return nil
}
