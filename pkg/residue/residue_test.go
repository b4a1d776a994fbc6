package residue

import "testing"

func TestIdentify(t *testing.T) {
	spec := func(change func(*Spec)) string {
		s := Spec{Kind: "path", Selector: "Remove", Value: "/tmp/x", Options: map[string][]string{"a": {"1"}, "b": {"2"}}}
		change(&s)
		s.Identify()
		return s.ID
	}
	same := spec(func(*Spec) {})
	for name, change := range map[string]func(*Spec){
		"source": func(s *Spec) { s.Source = "elsewhere:3" },
		"facts":  func(s *Spec) { s.Facts = map[string]string{"mount": "/"} },
		"order":  func(s *Spec) { s.Options = map[string][]string{"b": {"2"}, "a": {"1"}} },
	} {
		if spec(change) != same {
			t.Errorf("%s: another id", name)
		}
	}
	ids := map[string]string{same: "plain"}
	for name, change := range map[string]func(*Spec){
		"value":        func(s *Spec) { s.Value = "/tmp/y" },
		"byte":         func(s *Spec) { s.Value = "/tmp/\xff" },
		"other byte":   func(s *Spec) { s.Value = "/tmp/\xfe" },
		"two options":  func(s *Spec) { s.Options["a"] = []string{"1", "2"} },
		"one of both":  func(s *Spec) { s.Options["a"] = []string{"1 2"} },
		"tracked":      func(s *Spec) { s.Tracked = &Residue{Type: "path", Ref: "/tmp/x"} },
		"with a proof": func(s *Spec) { s.Tracked = &Residue{Type: "path", Ref: "/tmp/x", Proof: map[string]string{"ino": "1"}} },
	} {
		id := spec(change)
		if other, taken := ids[id]; taken {
			t.Errorf("%s has the id of %s", name, other)
		}
		ids[id] = name
	}
}

func TestRegistryRefusesTwice(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("two kinds of one name are taken")
		}
	}()
	NewRegistry(&Kind{Name: "a"}, &Kind{Name: "a"})
}
