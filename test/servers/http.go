//go:build linux

package servers

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
)

// client uses no proxy and keeps no connection, so that a stopped server is
// seen as it is.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// call does one HTTP request and returns the status and the answer's body.
func call(ctx context.Context, method, url string, header http.Header, body []byte) (int, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if header != nil {
		request.Header = header
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, text, err
}

// wantStatus is nil when a URL answers with a status.
func wantStatus(ctx context.Context, url string, want int) error {
	status, body, err := call(ctx, http.MethodGet, url, nil, nil)
	if err == nil && status != want {
		err = fmt.Errorf("status %d: %.200q", status, body)
	}
	return err
}
