package main

// runColumns are the columns of the table of runs and their classes.
var runColumns = []struct{ title, class string }{
	{"When", ""}, {"Job", ""}, {"Ending", ""}, {"Removed", "n"}, {"Absent", "n absent"}, {"Owed", ""}, {"Took", "n"}, {"Invocation", "id"},
}

// table lists the runs; each opens to what became of its residue. The roles say
// again what a table is, since narrow pages lay it out as something else.
func (v *pageView) table(m markup) {
	m.put("<section aria-labelledby=\"runs\"><h2 id=\"runs\">Runs</h2>\n")
	if len(v.Runs) > 1 {
		v.filter(m)
	}
	m.put("<table class=\"runs\" role=\"table\" aria-labelledby=\"runs\">\n<thead role=\"rowgroup\"><tr role=\"row\">")
	for _, c := range runColumns {
		m.put("<th role=\"columnheader\" scope=\"col\" class=\"%v\">%v</th>", c.class, c.title)
	}
	m.put("</tr></thead>\n")
	for _, r := range v.Runs {
		m.run(r)
	}
	m.put("</table>\n")
	m.some(more(v.MoreRuns), "<p class=\"note\">%v older runs are counted on top and have no row. --since and --until choose others.</p>\n")
	m.put("</section>\n")
}

// filter is done by the style sheet, with no script.
func (v *pageView) filter(m markup) {
	m.put("<fieldset class=\"filter\"><legend>Show</legend>\n")
	m.put("<label><input type=\"radio\" name=\"show\" id=\"show-all\" checked> all <span>%v</span></label>\n", len(v.Runs))
	m.put("<label><input type=\"radio\" name=\"show\" id=\"show-bad\"> ended badly <span>%v</span></label>\n", v.Bad)
	m.put("<label><input type=\"radio\" name=\"show\" id=\"show-debt\"> owed something <span>%v</span></label>\n", v.InDebt)
	m.put("</fieldset>\n")
}

func (m markup) run(r pageRun) {
	m.put("<tbody role=\"rowgroup\" class=\"%v%v\">\n", only(r.Bad, "is-bad "), only(r.Debt != "", "is-debt"))
	m.put("<tr role=\"row\"><th role=\"rowheader\" scope=\"row\" class=\"when\">%v</th><td role=\"cell\" class=\"job\"><bdi>%v</bdi></td>", r.When, r.Unit)
	m.put("<td role=\"cell\" class=\"ending %v\">", r.Class)
	m.mark(r.Class)
	m.put("%v</td><td role=\"cell\" class=\"n removed\">%v</td><td role=\"cell\" class=\"n absent\">%v</td>", r.Ending, r.Removed, r.Absent)
	m.put("<td role=\"cell\" class=\"owed%v\">%v</td><td role=\"cell\" class=\"n took\">%v</td><td role=\"cell\" class=\"id\"><bdi>%v</bdi></td></tr>\n", only(r.Open, " open"), r.Debt, r.Took, r.ShortID)
	m.put("<tr role=\"row\" class=\"more\"><td role=\"cell\" colspan=\"%v\"><details><summary><span>Details of %v, %v</span></summary>\n", len(runColumns), r.Unit, r.When)
	m.details(r)
	m.put("</details></td></tr>\n</tbody>\n")
}

func (m markup) details(r pageRun) {
	m.put("<div id=\"r%v\" class=\"opened\">\n", r.Row)
	if len(r.Residues) > 0 {
		m.residues(r.Residues)
	} else {
		m.put("<p>The journal has no record of a residue.</p>\n")
	}
	for _, text := range r.More {
		m.put("<p>%v</p>\n", text)
	}
	for _, text := range r.Notes {
		m.put("<p class=\"problem\"><bdi>%v</bdi></p>\n", text)
	}
	if len(r.Passes) > 0 {
		m.put("<ol class=\"passes\">")
		for _, p := range r.Passes {
			m.put("<li><time>%v</time> %v</li>", p.When, p.Text)
		}
		m.put("</ol>\n")
	}
	m.some(r.Command, "<p class=\"command\"><code>%v</code></p>\n")
	m.put("</div>")
}

func (m markup) residues(all []pageResidue) {
	m.put("<table class=\"residues\"><thead><tr><th scope=\"col\">Status</th><th scope=\"col\">Kind</th><th scope=\"col\">Residue</th>")
	m.put("<th scope=\"col\">Why</th><th scope=\"col\" class=\"n\">Tries</th><th scope=\"col\" class=\"n\">Took</th></tr></thead><tbody>\n")
	for _, r := range all {
		m.put("<tr><td class=\"status s-%v\">%v</td><td>%v</td><td class=\"ref\"><bdi>%v</bdi></td><td>%v", r.Class, r.Status, r.Kind, r.Ref, r.Reason)
		m.some(r.Detail, " <bdi class=\"detail\">%v</bdi>")
		m.put("</td><td class=\"n\">%v</td><td class=\"n\">%v</td></tr>\n", r.Tries, r.Took)
	}
	m.put("</tbody></table>")
}
