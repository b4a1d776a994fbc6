package s3

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
)

// keys resolves the credentials of the spec. A tracked one without any can
// still be recorded: whoever cleans it later is told what is lacking.
func (c *cleaner) keys(deps residue.Deps) (aws.CredentialsProvider, error) {
	id := c.spec.Option("AccessKeyID")
	var key, token secret.Text
	var err error
	switch {
	case c.spec.Option("Credentials") != "":
		id, key, token, err = c.profile(deps)
	case id != "" && c.spec.Option("SecretAccessKey") != "":
		if key, err = deps.Secret(c.spec.Option("SecretAccessKey")); err == nil && c.spec.Option("SessionToken") != "" {
			token, err = deps.Secret(c.spec.Option("SessionToken"))
		}
	default:
		err = residue.Errorf(residue.Retry, residue.NoCredentials, "neither Credentials= nor AccessKeyID= and SecretAccessKey= are set")
		if c.spec.Tracked != nil {
			c.lacking, err = err, nil
		}
	}
	if err != nil {
		return nil, err
	}
	c.secrets = []secret.Text{key, token}
	fixed := aws.Credentials{AccessKeyID: id, SecretAccessKey: key.Reveal(), SessionToken: token.Reveal(), Source: "plan"}
	return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return fixed, nil }), nil
}

// profile reads the keys of Profile= from the text of Credentials=.
func (c *cleaner) profile(deps residue.Deps) (id string, key, token secret.Text, err error) {
	name := c.spec.Option("Profile")
	if name == "" {
		name = "default"
	}
	text, err := deps.Secret(c.spec.Option("Credentials"))
	if err != nil {
		return "", key, token, err
	}
	values := section(text.Reveal(), name)
	id, key, token = values["aws_access_key_id"], secret.New(values["aws_secret_access_key"]), secret.New(values["aws_session_token"])
	if id == "" || key.Empty() {
		err = residue.Errorf(residue.Retry, residue.NoCredentials, "%s has no keys for profile %q", c.spec.Option("Credentials"), name)
	}
	return id, key, token, err
}

// section returns the keys of one section of a credentials file. A secret may
// come from elsewhere than a file, which is all that the client library's own
// reader takes.
func section(text, name string) map[string]string {
	values, in := map[string]string{}, false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if line[0] == '[' {
			head, _, _ := strings.Cut(line[1:], "]")
			head = strings.TrimSpace(head)
			in = head == name || strings.TrimSpace(strings.TrimPrefix(head, "profile ")) == name
			continue
		}
		if key, value, ok := strings.Cut(line, "="); ok && in {
			if words := strings.Fields(value); len(words) > 0 { // what follows a blank is a comment
				values[strings.ToLower(strings.TrimSpace(key))] = words[0]
			}
		}
	}
	return values
}
