package unitfile

// layouts are trees, and what the manager makes of one unit in them. The test
// below asks systemd itself about the same trees.
var layouts = []struct {
	name, unit string
	files      map[string]string
	id         string // the real name
	fragment   string
	dropIns    []string
}{
	{
		name: "plain", unit: "a.service", id: "a.service", fragment: "etc/a.service",
		files: map[string]string{"etc/a.service": "*", "lib/a.service": "*"},
	}, {
		name: "instance of a template", unit: "a@1.service", id: "a@1.service", fragment: "lib/a@.service",
		files: map[string]string{"lib/a@.service": "*", "etc/a@2.service": "*"},
	}, {
		name: "instance with a file of its own", unit: "a@1.service", id: "a@1.service", fragment: "lib/a@1.service",
		files: map[string]string{"etc/a@.service": "*", "lib/a@1.service": "*"},
	}, {
		name: "drop-ins by file name", unit: "a.service", id: "a.service", fragment: "lib/a.service",
		files: map[string]string{
			"lib/a.service": "*", "etc/a.service.d/20-x.conf": "*", "lib/a.service.d/10-y.conf": "*", "run/a.service.d/30-z.conf": "*",
			"lib/a.service.d/Z.conf": "*", "lib/a.service.d/no.txt": "*", "lib/a.service.d/.hid.conf": "*", "etc/b.service.d/10.conf": "*",
		},
		dropIns: []string{"lib/a.service.d/10-y.conf", "etc/a.service.d/20-x.conf", "run/a.service.d/30-z.conf", "lib/a.service.d/Z.conf"},
	}, {
		name: "the same name hides", unit: "a.service", id: "a.service", fragment: "lib/a.service",
		files: map[string]string{
			"lib/a.service": "*", "etc/a.service.d/1.conf": "*", "lib/a.service.d/1.conf": "*", "run/a.service.d/1.conf": "*",
			"run/a.service.d/2.conf": "*", "lib/a.service.d/2.conf": "*",
		},
		dropIns: []string{"etc/a.service.d/1.conf", "run/a.service.d/2.conf"},
	}, {
		name: "masked, empty and dangling ones hide too", unit: "a.service", id: "a.service", fragment: "lib/a.service",
		files: map[string]string{
			"lib/a.service": "*", "lib/a.service.d/1.conf": "*", "lib/a.service.d/2.conf": "*", "lib/a.service.d/3.conf": "*",
			"etc/a.service.d/1.conf": "-> /dev/null", "etc/a.service.d/2.conf": "", "etc/a.service.d/3.conf": "-> /nonexistent/x",
		},
		dropIns: []string{"etc/a.service.d/1.conf", "etc/a.service.d/2.conf", "etc/a.service.d/3.conf"},
	}, {
		name: "template, prefix and type folders", unit: "a-b@1.service", id: "a-b@1.service", fragment: "lib/a-b@.service",
		files: map[string]string{
			"lib/a-b@.service": "*", "lib/a-b@1.service.d/1.conf": "*", "lib/a-b@.service.d/2.conf": "*", "lib/a-.service.d/3.conf": "*",
			"lib/a-@1.service.d/4.conf": "*", "lib/a-@.service.d/5.conf": "*", "lib/service.d/6.conf": "*", "lib/a-b@2.service.d/7.conf": "*",
			"lib/a-b.service.d/8.conf": "*", "lib/a@1.service.d/9.conf": "*",
		},
		dropIns: []string{
			"lib/a-b@1.service.d/1.conf", "lib/a-b@.service.d/2.conf", "lib/a-.service.d/3.conf",
			"lib/a-@1.service.d/4.conf", "lib/a-@.service.d/5.conf", "lib/service.d/6.conf",
		},
	}, {
		name: "the closest folder of the first directory hides", unit: "a-b@1.service", id: "a-b@1.service", fragment: "etc/a-b@.service",
		files: map[string]string{
			"etc/a-b@.service": "*", "lib/a-b@1.service.d/1.conf": "*", "etc/a-b@.service.d/1.conf": "*", "etc/a-.service.d/1.conf": "*", "etc/service.d/1.conf": "*",
			"lib/a-.service.d/2.conf": "*", "etc/service.d/2.conf": "*", "etc/a-@1.service.d/3.conf": "*", "etc/a-@.service.d/3.conf": "*", "lib/a-b@1.service.d/3.conf": "*",
		},
		dropIns: []string{"etc/a-b@.service.d/1.conf", "lib/a-.service.d/2.conf", "etc/a-@1.service.d/3.conf"},
	}, {
		name: "many dashes", unit: "a--b-c.service", id: "a--b-c.service", fragment: "etc/a--b-c.service",
		files: map[string]string{
			"etc/a--b-c.service": "*", "etc/a--b-.service.d/1.conf": "*", "etc/a--.service.d/2.conf": "*", "etc/a-.service.d/3.conf": "*",
			"etc/a--b.service.d/4.conf": "*", "etc/a.service.d/5.conf": "*", "etc/-.service.d/6.conf": "*",
		},
		dropIns: []string{"etc/a--b-.service.d/1.conf", "etc/a--.service.d/2.conf", "etc/a-.service.d/3.conf"},
	}, {
		name: "alias", unit: "al.service", id: "a.service", fragment: "lib/a.service",
		files: map[string]string{
			"lib/a.service": "*", "etc/al.service": "-> ../lib/a.service", "etc/al2.service": "-> al.service",
			"etc/al.service.d/1.conf": "*", "etc/a.service.d/2.conf": "*", "etc/al2.service.d/3.conf": "*",
			"etc/al.service.d/4.conf": "*", "lib/a.service.d/4.conf": "*",
		},
		dropIns: []string{"etc/al.service.d/1.conf", "etc/a.service.d/2.conf", "etc/al2.service.d/3.conf", "lib/a.service.d/4.conf"},
	}, {
		name: "asked by the real name", unit: "a.service", id: "a.service", fragment: "lib/a.service",
		files:   map[string]string{"lib/a.service": "*", "lib/al.service": "-> a.service", "etc/al.service.d/1.conf": "*"},
		dropIns: []string{"etc/al.service.d/1.conf"},
	}, {
		name: "alias of a template", unit: "al@1.service", id: "a@1.service", fragment: "lib/a@.service",
		files: map[string]string{
			"lib/a@.service": "*", "lib/al@.service": "-> a@.service", "etc/al@.service.d/1.conf": "*", "etc/al@1.service.d/2.conf": "*",
			"etc/a@1.service.d/3.conf": "*", "etc/al@2.service.d/4.conf": "*",
		},
		dropIns: []string{"etc/al@.service.d/1.conf", "etc/al@1.service.d/2.conf", "etc/a@1.service.d/3.conf"},
	}, {
		name: "alias of one instance", unit: "al@1.service", id: "a@1.service", fragment: "lib/a@.service",
		files: map[string]string{
			"lib/a@.service": "*", "etc/al@1.service": "-> ../lib/a@.service", "etc/al@1.service.d/1.conf": "*", "etc/a@1.service.d/2.conf": "*",
		},
		dropIns: []string{"etc/al@1.service.d/1.conf", "etc/a@1.service.d/2.conf"},
	}, {
		name: "another instance of it", unit: "a@2.service", id: "a@2.service", fragment: "lib/a@.service",
		files: map[string]string{"lib/a@.service": "*", "etc/al@1.service": "-> ../lib/a@.service", "etc/al@2.service.d/1.conf": "*", "etc/al@1.service.d/2.conf": "*"},
	}, {
		name: "linked from elsewhere", unit: "a.service", id: "a.service", fragment: "etc/a.service",
		files:   map[string]string{"opt/other.service": "*", "etc/a.service": "-> ../opt/other.service", "etc/other.service.d/1.conf": "*", "etc/a.service.d/2.conf": "*"},
		dropIns: []string{"etc/a.service.d/2.conf"},
	}, {
		name: "alias of another type is none", unit: "a.service", id: "a.service", fragment: "lib/a.service",
		files: map[string]string{"lib/a.service": "*", "lib/b.timer": "-> a.service", "etc/b.timer.d/1.conf": "*"},
	}, {
		name: "folder of drop-ins is a link", unit: "a.service", id: "a.service", fragment: "lib/a.service",
		files:   map[string]string{"lib/a.service": "*", "opt/d/1.conf": "*", "etc/a.service.d": "-> ROOT/opt/d"},
		dropIns: []string{"opt/d/1.conf"},
	},
}
