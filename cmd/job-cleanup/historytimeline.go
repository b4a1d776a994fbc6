package main

// timeline draws a lane for each unit, with a mark for each run.
func (v *pageView) timeline(m markup) {
	m.put("<section aria-labelledby=\"timeline\"><h2 id=\"timeline\">Timeline</h2>\n")
	v.legend(m)
	m.put("<div class=\"lanes\">\n<div class=\"axis\" aria-hidden=\"true\"><svg width=\"100%%\" height=\"34\">")
	for _, t := range v.Ticks {
		m.put("<g class=\"%v\"><text class=\"day\" x=\"%v\" y=\"12\">%v</text><text x=\"%v\" y=\"28\">%v</text></g>", only(t.Minor, "minor"), t.X, t.Day, t.X, t.Label)
	}
	m.put("</svg></div>\n")
	for _, l := range v.Lanes {
		v.lane(m, l)
	}
	m.put("</div>\n")
	m.some(more(v.MoreLanes), "<p class=\"note\">%v more units are in the table only.</p>\n")
	m.put("</section>\n")
}

// only is a class that something has or has not.
func only(has bool, class string) string {
	if has {
		return class
	}
	return ""
}

func (v *pageView) legend(m markup) {
	m.put("<ul class=\"legend\" aria-label=\"Marks\">\n")
	for _, l := range v.Legend {
		m.put("<li>")
		m.mark(l.Class)
		m.put("%v <span>%v</span></li>\n", l.Text, l.Count)
	}
	if v.AnyDebt {
		m.put("<li><svg width=\"34\" height=\"12\" aria-hidden=\"true\"><line class=\"debt\" x1=\"3\" y1=\"6\" x2=\"22\" y2=\"6\"/><circle class=\"done\" cx=\"25\" cy=\"6\" r=\"4\"/></svg>owed, then done</li>\n")
		m.put("<li><svg width=\"34\" height=\"12\" aria-hidden=\"true\"><line class=\"debt open\" x1=\"3\" y1=\"6\" x2=\"24\" y2=\"6\"/><path class=\"arrow\" d=\"M24 1.5 31 6l-7 4.5z\"/></svg>still owed</li>\n")
	}
	m.put("</ul>\n")
}

// mark is the shape of an ending in a line of text.
func (m markup) mark(c endingClass) {
	m.put("<svg width=\"16\" height=\"16\" viewBox=\"-8 -8 16 16\" aria-hidden=\"true\"><use class=\"m %v\" href=\"#m-%v\"/></svg>", c, c)
}

func (v *pageView) lane(m markup, l pageLane) {
	m.put("<div class=\"lane\">\n<h3><bdi>%v</bdi> <span>%v", l.Unit, l.Runs)
	m.some(l.Bad, ", <b class=\"bad\">%v</b>")
	m.some(l.Owes, ", <b class=\"owes\">%v</b>")
	m.put("</span></h3>\n<svg width=\"100%%\" height=\"%v\" role=\"group\" aria-label=\"%v: %v", l.Height, l.Unit, l.Runs)
	m.some(l.Bad, ", %v")
	m.some(l.Owes, ", %v")
	m.put("\">\n")
	for _, t := range v.Ticks {
		m.put("<line class=\"grid\" x1=\"%v\" x2=\"%v\" y1=\"0\" y2=\"100%%\"/>", t.X, t.X)
	}
	m.put("\n<line class=\"base\" x1=\"0\" x2=\"100%%\" y1=\"%v\" y2=\"%v\"/>\n", v.Middle, v.Middle)
	for _, s := range l.Spans {
		m.put("<rect class=\"%v\" x=\"%v\" width=\"%v\" y=\"%v\" height=\"%v\"/>", s.Class, s.X, s.Width, s.Y, s.Height)
	}
	m.put("\n")
	for _, d := range l.Debts {
		m.debt(d)
	}
	m.put("\n")
	for _, k := range l.Marks {
		m.put("<a href=\"#r%v\" tabindex=\"-1\"><title>%v</title><use class=\"m %v\" href=\"#m-%v\" x=\"%v\" y=\"%v\"/></a>", k.Row, k.Title, k.Class, k.Class, k.X, v.Middle)
	}
	m.put("\n</svg></div>\n")
}

// debt is a line from the run that owes to the end of its debt.
func (m markup) debt(d pageDebt) {
	m.put("<g><title>%v</title><line class=\"debt%v\" x1=\"%v\" x2=\"%v\" y1=\"%v\" y2=\"%v\"/>", d.Title, only(d.Open, " open"), d.X, d.X2, d.Y, d.Y)
	if d.Open {
		m.put("<svg class=\"end\" x=\"%v\" y=\"%v\"><path class=\"arrow\" d=\"M-1-4.5 6 0-1 4.5z\"/></svg>", d.X2, d.Y)
	} else {
		m.put("<circle class=\"done\" cx=\"%v\" cy=\"%v\" r=\"4\"/>", d.X2, d.Y)
	}
	if d.Label != "" {
		m.put("<svg class=\"end\" x=\"%v\" y=\"%v\"><text x=\"9\" y=\"4\">%v</text></svg>", d.LabelX, d.Y, d.Label)
	}
	m.put("</g>")
}
