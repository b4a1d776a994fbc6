package main

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"job-cleanup/test/browser"
)

// layout finds what lies outside of where it belongs, or can't be read.
const layout = `(() => {
	const bad = [], wide = document.documentElement.clientWidth;
	const say = (what, e) => bad.push(what + ": " + e.outerHTML.slice(0, 120));
	if (document.documentElement.scrollWidth > wide) bad.push("the page is " + document.documentElement.scrollWidth + " wide, the window " + wide);
	const lanes = [...document.querySelectorAll(".lane")];
	let bottom = 0, marks = 0;
	for (const lane of lanes) {
		const box = lane.getBoundingClientRect();
		if (box.top < bottom - 1 || box.height < 20) say("lane over lane", lane);
		bottom = box.bottom;
		for (const e of lane.querySelectorAll("use, .debt, .done, .arrow, h3")) {
			const r = e.getBoundingClientRect();
			if (e.matches("use")) marks++;
			if (r.left < 0 || r.right > wide || r.top < box.top - 1 || r.bottom > box.bottom + 1) say("outside of its lane", e);
			if (e.matches("use") && (r.width < 2 || r.height < 4)) say("not to be seen", e);
		}
	}
	const light = c => { const v = c.match(/[\d.]+/g).slice(0, 3).map(x => x / 255).map(x => x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4); return .2126 * v[0] + .7152 * v[1] + .0722 * v[2]; };
	const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!/, 0\)$/.test(c)) return c; } return "rgb(255, 255, 255)"; };
	for (const e of document.querySelectorAll("h1, .range, .facts b, .facts span, .owed p, .of, .note, .legend span, .lane h3 span, .runs > thead th, .runs > tbody:nth-of-type(1) td, footer")) {
		const a = light(getComputedStyle(e).color), b = light(behind(e)), ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
		if (ratio < 4.5) say("contrast " + ratio.toFixed(1), e);
	}
	return {bad, lanes: lanes.length, marks, rows: document.querySelectorAll(".runs > tbody").length};
})()`

type laidOut struct {
	Bad                []string
	Lanes, Marks, Rows int
}

// TestHistoryPageInBrowser: the page is laid out within the window, complains
// of nothing and asks for nothing, be it short or long, wide or narrow, light
// or dark.
func TestHistoryPageInBrowser(t *testing.T) {
	for name, world := range map[string]struct {
		journal *journalOf
		want    laidOut
	}{
		"week": {aWeek(pageNow), laidOut{Lanes: 5, Rows: 102}},
		"one":  {manyRuns(pageNow, 1, 1), laidOut{Lanes: 1, Marks: 1, Rows: 1}},
		"many": {manyRuns(pageNow, 2000, 50), laidOut{Lanes: mostLanes, Rows: 2000}},
		"none": {&journalOf{}, laidOut{}},
		"evil": {evilJournal(), laidOut{Lanes: len(evil), Rows: 2 * len(evil)}},
	} {
		t.Run(name, func(t *testing.T) {
			page, url := browser.New(t), "file://"+inFile(t, world.journal)
			for _, width := range []int{1280, 400} {
				for _, dark := range []bool{false, true} {
					page.Look(width, 1000, dark)
					page.Open(url)
					var got laidOut
					page.Eval(layout, &got)
					if len(got.Bad) > 0 {
						t.Errorf("%d wide, dark %v:\n%s", width, dark, strings.Join(got.Bad[:min(len(got.Bad), 20)], "\n"))
					}
					if got.Lanes != world.want.Lanes || got.Rows != world.want.Rows || got.Marks < world.want.Lanes {
						t.Errorf("laid out: %+v", got)
					}
					keepPicture(t, page, fmt.Sprintf("%s-%d-%v", name, width, dark))
				}
			}
			if said := page.Complaints(); len(said) > 0 {
				t.Errorf("complaints: %s", said)
			}
			if sent := page.Requests(); !slices.Equal(sent, []string{url}) {
				t.Errorf("requests: %q", sent)
			}
			if name != "week" {
				return
			}
			if pdf := page.PDF(); !bytes.HasPrefix(pdf, []byte("%PDF-")) {
				t.Error("it can't be printed")
			}
		})
	}
}

// keepPicture keeps what the browser shows for a person to look at, where
// HISTORY_PICTURES names a folder.
func keepPicture(t *testing.T, page *browser.Page, name string) {
	t.Helper()
	if folder := os.Getenv("HISTORY_PICTURES"); folder != "" {
		if err := os.WriteFile(filepath.Join(folder, name+".png"), page.Screenshot(false), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHistoryPageOpens: a row opens under the mouse, a mark leads to its row,
// and the table shows what is asked for; all of it without a script.
func TestHistoryPageOpens(t *testing.T) {
	page := browser.New(t)
	page.Look(1280, 1000, false)
	page.Open("file://" + inFile(t, aWeek(pageNow)))
	click := func(selector string) {
		t.Helper()
		var at struct{ X, Y float64 }
		page.Eval(`(() => { const e = document.querySelector(`+"`"+selector+"`"+`); e.scrollIntoView({block: "center"}); const r = e.getBoundingClientRect(); return {x: r.x + r.width / 2, y: r.y + r.height / 2}; })()`, &at)
		page.Click(at.X, at.Y)
	}
	const shown = `(() => [...document.querySelectorAll("details")].filter(d => d.open && d.querySelector(".opened").getBoundingClientRect().height > 40).length)()`
	for i, selector := range []string{".runs > tbody:nth-of-type(3) summary", ".lane:nth-of-type(5) a:last-of-type use", "ol.owed li:last-child a"} {
		click(selector)
		comesTo(t, page, shown, i+1)
	}
	const rows = `[...document.querySelectorAll(".runs > tbody")].filter(b => b.getBoundingClientRect().height > 0).length`
	for selector, want := range map[string]int{"#show-bad": 8, "#show-debt": 3, "#show-all": 102} {
		click(selector)
		comesTo(t, page, rows, want)
	}
	var scripts int
	page.Eval(`document.querySelectorAll("script").length + [...document.querySelectorAll("*")].filter(e => [...e.attributes].some(a => a.name.startsWith("on"))).length`, &scripts)
	if scripts != 0 {
		t.Errorf("%d scripts", scripts)
	}
}

// comesTo waits until an expression has a value.
func comesTo(t *testing.T, page *browser.Page, expression string, want int) {
	t.Helper()
	got := -1
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if page.Eval(expression, &got); got == want {
			return
		}
	}
	t.Errorf("%s is %d, want %d", expression, got, want)
}

// TestHistoryPageHarmless: what stands in the journal is text and nothing else,
// and if something got past that, the page's policy would stop it.
func TestHistoryPageHarmless(t *testing.T) {
	page := browser.New(t)
	page.Look(1280, 1000, false)
	url := "file://" + inFile(t, evilJournal())
	page.Open(url)
	var got struct {
		Hit   *int
		Texts []string
		Extra int
	}
	page.Eval(`({hit: window.hit, texts: [...document.querySelectorAll(".runs .job")].map(e => e.textContent), extra: document.querySelectorAll("img, script, iframe, object, link, form, style + style").length})`, &got)
	if got.Hit != nil || got.Extra != 0 {
		t.Errorf("the journal got into the page: %+v", got)
	}
	for _, text := range evil {
		if want := onPage(short(text)); !slices.Contains(got.Texts, want) && !slices.Contains(got.Texts, onPage(text)) {
			t.Errorf("%q is not shown as it is", want)
		}
	}
	var none any
	page.Eval(`(() => { const s = document.createElement("script"); s.textContent = "window.hit = 1"; document.body.append(s);
		const i = document.createElement("img"); i.src = "http://192.0.2.1/x"; document.body.append(i);
		const l = document.createElement("style"); l.textContent = "body{display:none}"; document.body.append(l);
		return fetch("http://192.0.2.1/y").then(() => 1, () => null); })()`, &none)
	var after []any
	page.Eval(`[window.hit ?? null, getComputedStyle(document.body).display]`, &after)
	if fmt.Sprint(after) != "[<nil> block]" {
		t.Errorf("the policy let pass: %v", after)
	}
	if said := strings.Join(page.Complaints(), "\n"); strings.Count(said, "Content Security Policy") < 4 {
		t.Errorf("the browser did not complain:\n%s", said)
	}
	if sent := page.Requests(); !slices.Equal(sent, []string{url}) {
		t.Errorf("requests: %q", sent)
	}
}

// mostPicture is what the picture in the docs may weigh.
const mostPicture = 200 << 10

// TestHistoryPagePicture keeps the picture in the docs; with -update it is
// taken anew.
func TestHistoryPagePicture(t *testing.T) {
	const file = "../../docs/history.png"
	page := browser.New(t)
	page.Look(1180, 1480, false)
	page.Open("file://" + inFile(t, aWeek(pageNow)))
	var open bool
	page.Eval(`document.querySelector(".is-debt details").open = true`, &open)
	taken := page.Screenshot(false)
	if *update {
		if err := os.WriteFile(file, smaller(t, taken), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want, err := png.DecodeConfig(bytes.NewReader(taken))
	if err != nil {
		t.Fatal(err)
	}
	got, err := png.DecodeConfig(bytes.NewReader(kept))
	if err != nil || got.Width != want.Width || got.Height != want.Height || len(kept) > mostPicture {
		t.Errorf("%s: %d bytes, %v; go test ./cmd/job-cleanup -run TestHistoryPagePicture -update takes it anew", file, len(kept), err)
	}
}

// smaller is the same picture with the 256 colours it has most of: it is text
// on plain ground, so that nobody sees the difference.
func smaller(t *testing.T, picture []byte) []byte {
	t.Helper()
	whole, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	often, size := map[color.RGBA]int{}, whole.Bounds()
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(whole.At(x, y)).(color.RGBA) }
	for y := range size.Dy() {
		for x := range size.Dx() {
			often[at(x, y)]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(often), func(a, b color.RGBA) int {
		return cmp.Or(often[b]-often[a], int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B))
	})
	// One of each hue first, so that a small mark keeps its own.
	hues := map[color.RGBA]bool{}
	first := func(c color.RGBA) int {
		hue := color.RGBA{c.R >> 5, c.G >> 5, c.B >> 5, 0}
		defer func() { hues[hue] = true }()
		return btoi(hues[hue])
	}
	rank := map[color.RGBA]int{}
	for _, c := range colours {
		rank[c] = first(c)
	}
	slices.SortStableFunc(colours, func(a, b color.RGBA) int { return rank[a] - rank[b] })
	var palette color.Palette
	for _, c := range colours[:min(len(colours), 256)] {
		palette = append(palette, c)
	}
	small := image.NewPaletted(size, palette)
	draw.Draw(small, size, whole, image.Point{}, draw.Src)
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
