//go:build linux

package servers

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	amqp "github.com/rabbitmq/amqp091-go"

	"job-cleanup/test/rig"
)

// RabbitMQServer is a real RabbitMQ node with the virtual host /.
type RabbitMQServer struct {
	*Server
	Address        string // 127.0.0.1:PORT
	User, Password string // may do everything
}

// rabbitConfig is the node's configuration file.
const rabbitConfig = `listeners.tcp.1 = %s
default_user = %s
default_pass = %s
loopback_users = none
log.console = true
log.console.level = warning
log.file = false
disk_free_limit.absolute = 1MB
`

// RabbitMQ starts one. It takes seconds: tests of one package do well to share
// it as subtests of one test.
func RabbitMQ(t rig.T) *RabbitMQServer {
	t.Helper()
	const script = "/usr/lib/rabbitmq/bin/rabbitmq-server" // the one in PATH is for the machine's own service
	if _, err := os.Stat(script); err != nil {
		t.Skip("needs rabbitmq-server")
	}
	mapper := portMapper(t)
	port := freePort(t)
	r := &RabbitMQServer{Server: newServer(t, "rabbitmq"), Address: loopback(port), User: "tester", Password: NewSecret()}
	config := fmt.Sprintf(rabbitConfig, r.Address, r.User, r.Password)
	for name, text := range map[string]string{"rabbitmq.conf": config, "plugins": "[].\n", "env": ""} {
		if err := os.WriteFile(filepath.Join(r.folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	environment := append(os.Environ(),
		"HOME="+r.folder, // for the cookie
		"ERL_EPMD_PORT="+mapper, "ERL_EPMD_ADDRESS=127.0.0.1",
		"RABBITMQ_NODENAME=test"+strconv.Itoa(port)+"@localhost",
		"RABBITMQ_DIST_PORT="+strconv.Itoa(freePort(t)),
		"RABBITMQ_CONFIG_FILE="+filepath.Join(r.folder, "rabbitmq.conf"),
		"RABBITMQ_ENABLED_PLUGINS_FILE="+filepath.Join(r.folder, "plugins"),
		"RABBITMQ_CONF_ENV_FILE="+filepath.Join(r.folder, "env"),
		"RABBITMQ_MNESIA_BASE="+filepath.Join(r.folder, "data"),
		"RABBITMQ_LOG_BASE="+filepath.Join(r.folder, "logs"),
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=+S 1:1 +sbwt none -kernel inet_dist_use_interface {127,0,0,1}",
		"RUNNING_UNDER_SYSTEMD=yes", // the script becomes the node, no shell stays between
	)
	r.command = func() *exec.Cmd {
		cmd := exec.Command(script)
		cmd.Env = environment
		return cmd
	}
	r.answers = func(context.Context) error {
		connection, err := amqp.DialConfig(r.URL(), amqp.Config{Dial: amqp.DefaultDial(askLimit)})
		if err != nil {
			return err
		}
		return connection.Close()
	}
	r.Start()
	return r
}

// URL returns where the virtual host / is, with the password.
func (r *RabbitMQServer) URL() string {
	return (&url.URL{Scheme: "amqp", User: url.UserPassword(r.User, r.Password), Host: r.Address, Path: "/"}).String()
}

// portMapper starts Erlang's port mapper and returns its port. A node would
// start the machine's own, which stays for ever.
func portMapper(t rig.T) string {
	t.Helper()
	binary, err := exec.LookPath("epmd")
	if err != nil {
		t.Skip("needs epmd, which comes with rabbitmq-server")
	}
	port := freePort(t)
	s := newServer(t, "epmd")
	s.command = func() *exec.Cmd {
		return exec.Command(binary, "-address", "127.0.0.1", "-port", strconv.Itoa(port))
	}
	s.answers = func(ctx context.Context) error {
		connection, err := new(net.Dialer).DialContext(ctx, "tcp", loopback(port))
		if err != nil {
			return err
		}
		return connection.Close()
	}
	s.Start()
	return strconv.Itoa(port)
}
