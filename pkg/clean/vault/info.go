package vault

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/hashicorp/vault/api"

	"job-cleanup/pkg/residue"
)

// batch is the type of tokens that can't be revoked.
const batch = "batch"

// info is what a look-up tells of a token or lease. Unknown is zero.
type info struct {
	accessor  string
	kind      string // "service" or "batch"
	path      string // what made it
	created   time.Time
	expires   time.Time
	renewable bool
}

// lookSelf looks up the caller's own token.
func (d *door) lookSelf(ctx context.Context) (info, error) {
	answer, err := d.ask(ctx, "auth/token/lookup-self", nil)
	if invalid(err) {
		return info{}, residue.ErrGone
	}
	return tokenInfo(answer, err)
}

// lookToken looks up another token. It is sent in the body.
func (d *door) lookToken(ctx context.Context, other *door) (info, error) {
	answer, err := d.ask(ctx, "auth/token/lookup", map[string]any{"token": other.token.Reveal()})
	if says(err, http.StatusForbidden, badToken) && !invalid(err) {
		return info{}, residue.ErrGone
	}
	return tokenInfo(answer, err)
}

// lookAccessor looks up another token by its accessor.
func (d *door) lookAccessor(ctx context.Context, accessor string) (info, error) {
	answer, err := d.ask(ctx, "auth/token/lookup-accessor", map[string]any{"accessor": accessor})
	if says(err, http.StatusBadRequest, invalidAccessor) {
		return info{}, residue.ErrGone
	}
	return tokenInfo(answer, err)
}

// lookLease looks up a lease.
func (d *door) lookLease(ctx context.Context, id string) (info, error) {
	answer, err := d.ask(ctx, "sys/leases/lookup", map[string]any{"lease_id": id})
	if says(err, http.StatusBadRequest, invalidLease) {
		return info{}, residue.ErrGone
	}
	if err != nil {
		return info{}, err
	}
	if answer == nil || answer.Data["id"] != id {
		return info{}, residue.Errorf(residue.Retry, residue.Other, "the look-up does not tell of the lease")
	}
	return infoOf(answer.Data), nil
}

// tokenInfo reads the answer of a token's look-up.
func tokenInfo(answer *api.Secret, err error) (info, error) {
	if err != nil {
		return info{}, err
	}
	var i info
	if answer != nil {
		i = infoOf(answer.Data)
	}
	if i.accessor == "" && i.kind != batch {
		return info{}, residue.Errorf(residue.Retry, residue.Other, "the look-up tells of no accessor")
	}
	return i, nil
}

func infoOf(data map[string]any) info {
	word := func(key string) string { s, _ := data[key].(string); return s }
	i := info{accessor: word("accessor"), kind: word("type"), path: word("path")}
	i.renewable, _ = data["renewable"].(bool)
	i.expires, _ = time.Parse(time.RFC3339Nano, word("expire_time"))
	if n, ok := data["creation_time"].(json.Number); ok {
		if seconds, err := n.Int64(); err == nil {
			i.created = time.Unix(seconds, 0)
		}
	}
	return i
}

// proof is what identifies a token in a record.
func (i info) proof() map[string]string {
	p := map[string]string{"type": i.kind, "renewable": "no"}
	if i.renewable {
		p["renewable"] = "yes"
	}
	if i.accessor != "" {
		p["accessor"] = i.accessor
	}
	return p
}

// facts is the same before the job, with the time it expires.
func (i info) facts() map[string]string {
	f := i.proof()
	if !i.expires.IsZero() {
		f["expires"] = i.expires.UTC().Format(time.RFC3339)
	}
	return f
}

// factsOf reads facts or a proof.
func factsOf(f map[string]string) info {
	i := info{accessor: f["accessor"], kind: f["type"], renewable: f["renewable"] != "no"}
	i.expires, _ = time.Parse(time.RFC3339, f["expires"])
	return i
}

// clockLag is how far the server's clock and ours may be apart.
const clockLag = time.Minute

// over reports whether it has certainly ended by itself.
func (i info) over(now time.Time) bool {
	return !i.renewable && !i.expires.IsZero() && now.After(i.expires.Add(clockLag))
}

// revokeSelf revokes the caller's own token.
func (d *door) revokeSelf(ctx context.Context) error {
	_, err := d.ask(ctx, "auth/token/revoke-self", map[string]any{})
	if invalid(err) {
		return residue.ErrGone
	}
	return err
}

// revokeAccessor revokes another token. Of one that is not there newer servers
// warn, older ones complain.
func (d *door) revokeAccessor(ctx context.Context, accessor string) error {
	answer, err := d.ask(ctx, "auth/token/revoke-accessor", map[string]any{"accessor": accessor})
	if says(err, http.StatusBadRequest, invalidAccessor) {
		return residue.ErrGone
	}
	if err == nil && answer != nil && strings.Contains(strings.ToLower(strings.Join(answer.Warnings, " ")), string(noToken)) {
		return residue.ErrGone
	}
	return err
}

// revokeLease revokes a lease and waits until what it stands for is gone.
func (d *door) revokeLease(ctx context.Context, id string) error {
	_, err := d.ask(ctx, "sys/leases/revoke", map[string]any{"lease_id": id, "sync": true})
	return err
}
