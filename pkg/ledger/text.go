package ledger

import (
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// JSON has no bytes, and its encoder replaces what is not UTF-8. A path that
// came back altered would be looked for, not be there, and count as gone. So
// each byte that is not UTF-8 is written as mark and two hexadecimal digits,
// and so are the bytes of a mark itself.
const mark = "\uFFFD"

func escape(s string) string {
	if utf8.ValidString(s) && !strings.Contains(s, mark) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r != utf8.RuneError {
			b.WriteString(s[i : i+n])
		} else {
			for _, c := range []byte(s[i : i+n]) {
				b.WriteString(mark)
				b.WriteByte("0123456789abcdef"[c>>4])
				b.WriteByte("0123456789abcdef"[c&15])
			}
		}
		i += n
	}
	return b.String()
}

func unescape(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, mark)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if len(after) >= 2 {
			if c, err := strconv.ParseUint(after[:2], 16, 8); err == nil {
				b.WriteByte(byte(c))
				s = after[2:]
				continue
			}
		}
		b.WriteString(mark) // not ours: as it came
		s = after
	}
}

// rewrite returns a copy of v with f applied to every string in it.
func rewrite(v reflect.Value, f func(string) string) reflect.Value {
	if v.Type() == reflect.TypeFor[time.Time]() {
		return v
	}
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	switch v.Kind() {
	case reflect.String:
		c.SetString(f(v.String()))
	case reflect.Pointer:
		if !v.IsNil() {
			c.Set(reflect.New(v.Type().Elem()))
			c.Elem().Set(rewrite(v.Elem(), f))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			c.Field(i).Set(rewrite(v.Field(i), f))
		}
	case reflect.Slice:
		if !v.IsNil() {
			c.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			for i := range v.Len() {
				c.Index(i).Set(rewrite(v.Index(i), f))
			}
		}
	case reflect.Map:
		if !v.IsNil() {
			c.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
			for it := v.MapRange(); it.Next(); {
				c.SetMapIndex(rewrite(it.Key(), f), rewrite(it.Value(), f))
			}
		}
	}
	return c
}

// escaped returns r with every string fit for JSON.
func escaped(r Record) Record {
	return rewrite(reflect.ValueOf(r), escape).Interface().(Record)
}

// unescaped undoes escaped.
func unescaped(r Record) Record {
	return rewrite(reflect.ValueOf(r), unescape).Interface().(Record)
}
