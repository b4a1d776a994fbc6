// Package config is what the batch job of the story is told about its world.
package config

// Config stands as JSON in the job's configuration file.
type Config struct {
	Told string // folder for what the job and its test tell each other

	VaultAddress, VaultPassword       string // of the user batch
	ConsulAddress, ConsulToken        string
	S3Endpoint, S3AccessKey, S3Secret string // the bucket is artifacts
	PostgresURL                       string // with the password
	RedisAddress, RedisPassword       string
	AMQPURL                           string // with the password
}
