//go:build linux

package browser

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Open loads a page and waits until it is there.
func (p *Page) Open(url string) {
	p.t.Helper()
	p.events = nil
	var loaded struct{ ErrorText string }
	p.call("Page.navigate", map[string]any{"url": url}, &loaded)
	if loaded.ErrorText != "" {
		p.t.Fatalf("%s: %s", url, loaded.ErrorText)
	}
	limit := time.After(patience)
	for !p.seen("Page.loadEventFired") {
		m, err := p.next(limit)
		if err != nil {
			p.t.Fatalf("load %s: %v", url, err)
		}
		p.events = append(p.events, m)
	}
}

func (p *Page) seen(method string) bool {
	for _, m := range p.events {
		if m.Method == method {
			return true
		}
	}
	return false
}

// Look sets the window's size and whether the person likes it dark.
func (p *Page) Look(width, height int, dark bool) {
	p.t.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	p.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
	p.call("Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// Eval evaluates an expression in the page and decodes its value.
func (p *Page) Eval(expression string, value any) {
	p.t.Helper()
	var answer struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	p.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &answer)
	if e := answer.ExceptionDetails; e != nil {
		p.t.Fatalf("%s: %s %s", expression, e.Text, e.Exception.Description)
	}
	if len(answer.Result.Value) == 0 {
		answer.Result.Value = json.RawMessage("null")
	}
	if err := json.Unmarshal(answer.Result.Value, value); err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
}

// Click presses the mouse at a place of the window.
func (p *Page) Click(x, y float64) {
	p.t.Helper()
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		p.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}, nil)
	}
}

// Screenshot is the window as a PNG; the whole page if it is to be.
func (p *Page) Screenshot(whole bool) []byte {
	p.t.Helper()
	return p.data("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": whole})
}

// PDF is the page as it is printed.
func (p *Page) PDF() []byte {
	p.t.Helper()
	return p.data("Page.printToPDF", map[string]any{"printBackground": false})
}

func (p *Page) data(method string, params map[string]any) []byte {
	p.t.Helper()
	var answer struct{ Data string }
	p.call(method, params, &answer)
	data, err := base64.StdEncoding.DecodeString(answer.Data)
	if err != nil {
		p.t.Fatal(err)
	}
	return data
}

// Requests are the addresses that the page asked for, its own included. What
// its policy kept it from is not among them.
func (p *Page) Requests() []string {
	var urls, ids []string
	for _, m := range p.events {
		var of struct {
			RequestID, BlockedReason string
			Request                  struct{ URL string }
		}
		if json.Unmarshal(m.Params, &of) != nil {
			continue
		}
		switch i := slices.Index(ids, of.RequestID); {
		case m.Method == "Network.requestWillBeSent":
			urls, ids = append(urls, of.Request.URL), append(ids, of.RequestID)
		case m.Method == "Network.loadingFailed" && of.BlockedReason == "csp" && i >= 0:
			urls, ids = slices.Delete(urls, i, i+1), slices.Delete(ids, i, i+1)
		}
	}
	return urls
}

// Complaints are what the page's console holds: errors, warnings, what its
// policy kept it from.
func (p *Page) Complaints() []string {
	var all []string
	for _, m := range p.events {
		switch m.Method {
		case "Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown":
			all = append(all, strings.TrimSpace(string(m.Params)))
		}
	}
	return all
}
