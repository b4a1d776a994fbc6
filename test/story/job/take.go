//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/jackc/pgx/v5"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/redis/go-redis/v9"
)

// takeToken logs in to Vault and has it issue an account under a lease. The
// test is told the token, too, to ask whether it still works.
func (j *job) takeToken(ctx context.Context) error {
	var login struct {
		Auth struct {
			Token string `json:"client_token"`
		}
	}
	address := j.VaultAddress + "/v1/"
	err := ask(ctx, http.MethodPost, address+"auth/userpass/login/batch", nil, map[string]string{"password": j.VaultPassword}, &login)
	if err != nil {
		return err
	}
	told := filepath.Join(j.Told, j.name+".token")
	if err := errors.Join(j.note("vault-token", login.Auth.Token), os.WriteFile(told, []byte(login.Auth.Token+"\n"), 0o600)); err != nil {
		return err
	}
	header := http.Header{"X-Vault-Token": {login.Auth.Token}}
	return ask(ctx, http.MethodGet, address+"lease/creds/"+j.name, header, nil, nil)
}

// note puts what one needs to know of the job's things into its folder, as
// scripts do.
func (j *job) note(name, text string) error {
	return os.WriteFile(filepath.Join(j.folder, name), []byte(text+"\n"), 0o600)
}

// takeLock takes a lock of Consul under a session of its own.
func (j *job) takeLock(ctx context.Context) error {
	var session struct{ ID string }
	address, header := j.ConsulAddress+"/v1/", http.Header{"X-Consul-Token": {j.ConsulToken}}
	err := ask(ctx, http.MethodPut, address+"session/create", header, map[string]string{"Name": "batch-" + j.name}, &session)
	if err != nil {
		return err
	}
	var taken bool
	err = ask(ctx, http.MethodPut, address+"kv/locks/batch-"+j.name+"?acquire="+session.ID, header, nil, &taken)
	if err == nil && !taken {
		err = fmt.Errorf("the lock of %q is held", j.name)
	}
	return errors.Join(err, j.note("session", session.ID))
}

// ask does one request of JSON both ways.
func ask(ctx context.Context, method, url string, header http.Header, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(text))
	if err != nil {
		return err
	}
	if header != nil {
		request.Header = header
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	reply, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: status %d: %s", method, url, response.StatusCode, reply)
	}
	if err != nil || answer == nil {
		return err
	}
	return json.Unmarshal(reply, answer)
}

// startUpload sends the first part of an artifact.
func (j *job) startUpload(ctx context.Context) error {
	client := s3.New(s3.Options{
		BaseEndpoint: aws.String(j.S3Endpoint), Region: "us-east-1", UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(j.S3AccessKey, j.S3Secret, ""),
	})
	bucket, key := aws.String("artifacts"), aws.String("jobs/"+j.name+"/result.tar")
	upload, err := client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: bucket, Key: key})
	if err != nil {
		return err
	}
	_, err = client.UploadPart(ctx, &s3.UploadPartInput{
		Bucket: bucket, Key: key, UploadId: upload.UploadId, PartNumber: aws.Int32(1), Body: strings.NewReader(strings.Repeat("x", 1<<20)),
	})
	return errors.Join(err, j.note("upload", aws.ToString(upload.UploadId)))
}

// fillSchema makes test data, where there is none yet.
func (j *job) fillSchema(ctx context.Context) error {
	db, err := pgx.Connect(ctx, j.PostgresURL)
	if err != nil {
		return err
	}
	defer db.Close(ctx)
	schema := pgx.Identifier{"batch_" + j.name}.Sanitize()
	_, err = db.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+schema+"; CREATE TABLE IF NOT EXISTS "+schema+".orders AS SELECT n FROM generate_series(1, 1000) AS n")
	return err
}

// queueMessages makes a queue that nobody reads.
func (j *job) queueMessages(ctx context.Context) error {
	connection, err := amqp.Dial(j.AMQPURL)
	if err != nil {
		return err
	}
	defer connection.Close()
	channel, err := connection.Channel()
	if err != nil {
		return err
	}
	queue, err := channel.QueueDeclare("batch-"+j.name, true, false, false, false, nil)
	if err != nil {
		return err
	}
	for range 10 {
		if err := channel.PublishWithContext(ctx, "", queue.Name, true, false, amqp.Publishing{Body: []byte("work")}); err != nil {
			return err
		}
	}
	return nil
}

// setKeys caches something.
func (j *job) setKeys(ctx context.Context) error {
	client := redis.NewClient(&redis.Options{Addr: j.RedisAddress, Password: j.RedisPassword})
	defer client.Close()
	for n := range 10 {
		if err := client.Set(ctx, fmt.Sprintf("batch:%s:%d", j.name, n), "value", 0).Err(); err != nil {
			return err
		}
	}
	return nil
}
