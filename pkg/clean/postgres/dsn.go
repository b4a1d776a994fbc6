package postgres

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgservicefile"

	"job-cleanup/pkg/residue"
)

// settings are connection keywords of libpq.
type settings map[string]string

// meant are the keywords that are used.
var meant = []string{
	"host", "port", "dbname", "user", "password", "passfile", "service",
	"sslmode", "sslrootcert", "sslcert", "sslkey", "sslsni", "sslnegotiation", "channel_binding", "require_auth", "target_session_attrs",
}

// idle are the keywords that may stand there and change nothing: the name and
// the time limits of our connections are our own.
var idle = []string{
	"application_name", "fallback_application_name", "client_encoding", "connect_timeout", "gssencmode", "hostaddr",
	"keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout",
}

// parseDSN reads a connection string of either form. No error repeats the
// text, since a password may stand in it.
func parseDSN(text string) (settings, error) {
	parse := keywords
	if strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://") {
		parse = address
	}
	all, ok := parse(text)
	if !ok {
		return nil, refused("DSN= is no connection string (text not shown)")
	}
	if all["password"] != "" || all["sslpassword"] != "" {
		return nil, refused("a password stands in DSN= (text not shown); write Password= with a reference to it")
	}
	return known("DSN=", all)
}

// known refuses keywords that nobody here acts on: one that was meant to make
// the connection safer must not be dropped in silence.
func known(where string, all settings) (settings, error) {
	kept := settings{}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		switch {
		case slices.Contains(meant, key):
			kept[key] = all[key]
		case !slices.Contains(idle, key):
			return nil, refused("keyword %q in %s is not supported", key, where)
		}
	}
	return kept, nil
}

// address reads the form of a URI, with one host.
func address(text string) (settings, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Fragment != "" || u.Opaque != "" {
		return nil, false
	}
	all := settings{}
	for key, values := range u.Query() {
		all[key] = values[len(values)-1]
	}
	put := func(key, value string) {
		if value != "" {
			all[key] = value
		}
	}
	put("host", u.Hostname())
	put("port", u.Port())
	put("dbname", strings.TrimPrefix(u.Path, "/"))
	if u.User != nil {
		put("user", u.User.Username())
		password, _ := u.User.Password()
		put("password", password)
	}
	return all, true
}

// keywords reads the form KEYWORD=VALUE …, values with blanks in single
// quotes, a backslash before what is meant as it stands.
func keywords(text string) (settings, bool) {
	all := settings{}
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimSpace(rest) {
		key, after, ok := strings.Cut(rest, "=")
		key = strings.TrimSpace(key)
		if !ok || key == "" || strings.ContainsAny(key, " \t'\\") {
			return nil, false
		}
		if all[key], rest, ok = keywordValue(strings.TrimLeft(after, " \t")); !ok {
			return nil, false
		}
	}
	return all, true
}

// keywordValue takes one value from the front of a text.
func keywordValue(text string) (value, rest string, ok bool) {
	quoted := strings.HasPrefix(text, "'")
	if quoted {
		text = text[1:]
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case quoted && c == '\'':
			rest = text[i+1:]
			return b.String(), rest, rest == "" || rest[0] == ' ' || rest[0] == '\t'
		case !quoted && (c == ' ' || c == '\t'):
			return b.String(), text[i:], true
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), "", !quoted
}

// service reads one service of a service file. It may hold a password. The
// file may be another one tomorrow, so what is wrong with it is no refusal.
func service(name, file string) (settings, error) {
	parsed, err := pgservicefile.ParseServicefile(strings.NewReader(file))
	if err != nil {
		return nil, residue.Errorf(residue.Retry, residue.Other, "the service file: %w", err)
	}
	found, err := parsed.GetService(name)
	if err != nil {
		return nil, residue.Errorf(residue.Retry, residue.Other, "the service file has no service %q", name)
	}
	return known("the service file", found.Settings)
}

// under fills in what is not set yet.
func (s settings) under(more settings) {
	for key, value := range more {
		if s[key] == "" {
			s[key] = value
		}
	}
}

// connString writes all that the client library would else look for in the
// environment and the home folder, so that it finds nothing there.
func (s settings) connString() string {
	all := map[string]string{
		"passfile": "", "servicefile": "", "sslcert": "", "sslkey": "", "sslrootcert": "", "sslpassword": "", "sslnegotiation": "", "sslsni": "1",
		"sslcertmode": "allow", "connect_timeout": "0", "target_session_attrs": "any", "channel_binding": "prefer", "require_auth": "",
		"min_protocol_version": "", "max_protocol_version": "", "application_name": "", "options": "", "timezone": "",
	}
	maps.Copy(all, s)
	delete(all, "service")
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(all)) {
		b.WriteString(key + "='" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(all[key]) + "' ")
	}
	return b.String()
}
