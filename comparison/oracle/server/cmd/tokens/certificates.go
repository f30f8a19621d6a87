package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/json"
	"math/big"
	"net/http"
	"os"
	"time"

	authx509 "k8s.io/apiserver/pkg/authentication/request/x509"
)

// Chain is what a client presents, with what becomes of it.
type Chain struct {
	Name    string   `json:"name"`
	Chain   [][]byte `json:"chain"`
	Key     string   `json:"key,omitempty"`
	Verdict Verdict  `json:"verdict"`
}

var (
	uidOID    = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57683, 2}
	commonOID = asn1.ObjectIdentifier{2, 5, 4, 3}
	organOID  = asn1.ObjectIdentifier{2, 5, 4, 10}
	day       = 24 * time.Hour
)

type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

type attribute = pkix.AttributeTypeAndValue

func named(attributes ...attribute) pkix.Name { return pkix.Name{ExtraNames: attributes} }

func cn(name any) attribute  { return attribute{Type: commonOID, Value: name} }
func org(name any) attribute { return attribute{Type: organOID, Value: name} }
func uid(name any) attribute { return attribute{Type: uidOID, Value: name} }

var serial int64

func (a *authority) sign(template *x509.Certificate, key crypto.Signer) []byte {
	serial++
	template.SerialNumber = big.NewInt(serial)
	if template.NotBefore.IsZero() {
		template.NotBefore = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Date(2120, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	parent, signer := template, key
	if a != nil {
		parent, signer = a.certificate, a.key
	}
	return must(x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer))
}

func newKey() crypto.Signer { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) }

func (a *authority) child(template *x509.Certificate) *authority {
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign
	key := newKey()
	return &authority{must(x509.ParseCertificate(a.sign(template, key))), key}
}

// first makes a certificate of version 1, as `openssl x509 -req` does without extensions.
func (a *authority) first(name pkix.Name, notAfter time.Time, key crypto.Signer) []byte {
	type validity struct{ NotBefore, NotAfter time.Time }
	type body struct {
		Serial    *big.Int
		Algorithm pkix.AlgorithmIdentifier
		Issuer    asn1.RawValue
		Validity  validity
		Subject   asn1.RawValue
		Key       asn1.RawValue
	}
	algorithm := pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 2}}
	content := must(asn1.Marshal(body{
		Serial:    big.NewInt(99),
		Algorithm: algorithm,
		Issuer:    asn1.RawValue{FullBytes: a.certificate.RawSubject},
		Validity:  validity{time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), notAfter},
		Subject:   asn1.RawValue{FullBytes: must(asn1.Marshal(name.ToRDNSequence()))},
		Key:       asn1.RawValue{FullBytes: must(x509.MarshalPKIXPublicKey(key.Public()))},
	}))
	digest := sha256.Sum256(content)
	signature := must(a.key.Sign(rand.Reader, digest[:], crypto.SHA256))
	return must(asn1.Marshal(struct {
		Body      asn1.RawValue
		Algorithm pkix.AlgorithmIdentifier
		Signature asn1.BitString
	}{asn1.RawValue{FullBytes: content}, algorithm, asn1.BitString{Bytes: signature, BitLength: 8 * len(signature)}}))
}

func certificates() {
	ca := (*authority)(nil).child(&x509.Certificate{Subject: pkix.Name{CommonName: "ca"}})
	other := (*authority)(nil).child(&x509.Certificate{Subject: pkix.Name{CommonName: "ca"}})
	old := (*authority)(nil).child(&x509.Certificate{Subject: pkix.Name{CommonName: "old"}, NotAfter: time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC)})
	middle := ca.child(&x509.Certificate{Subject: pkix.Name{CommonName: "middle"}})
	servers := ca.child(&x509.Certificate{Subject: pkix.Name{CommonName: "servers"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	// A certificate in the bundle that is not of an authority.
	leafKey := newKey()
	leaf := ca.sign(&x509.Certificate{Subject: pkix.Name{CommonName: "leaf"}, BasicConstraintsValid: true}, leafKey)
	fake := &authority{must(x509.ParseCertificate(leaf)), leafKey}

	pool := x509.NewCertPool()
	bundle := ""
	for _, one := range []*authority{ca, old, fake} {
		pool.AddCert(one.certificate)
		bundle += block("CERTIFICATE", one.certificate.Raw)
	}
	options := authx509.DefaultVerifyOptions()
	options.Roots = pool
	auth := authx509.New(options, authx509.CommonNameUserConversion)

	found := []Chain{}
	add := func(name string, chain ...[]byte) {
		request := &http.Request{TLS: &tls.ConnectionState{}}
		for _, der := range chain {
			certificate, err := x509.ParseCertificate(der)
			if err != nil {
				// The handshake fails.
				found = append(found, Chain{name, chain, "", Verdict{Error: "malformed: " + err.Error()}})
				return
			}
			request.TLS.PeerCertificates = append(request.TLS.PeerCertificates, certificate)
		}
		answer, ok, err := auth.AuthenticateRequest(request)
		verdict := Verdict{Accepted: ok}
		if err != nil {
			verdict.Error = err.Error()
		}
		if ok {
			verdict.Name, verdict.UID = answer.User.GetName(), answer.User.GetUID()
			verdict.Groups, verdict.Extra = answer.User.GetGroups(), answer.User.GetExtra()
		}
		found = append(found, Chain{name, chain, "", verdict})
	}

	names := map[string]pkix.Name{
		"name":             {CommonName: "alice"},
		"groups":           {CommonName: "alice", Organization: []string{"system:masters", "dev", "dev"}, OrganizationalUnit: []string{"unit"}},
		"separate groups":  named(org("b"), cn("alice"), org("a")),
		"two names":        named(cn("alice"), cn("bob")),
		"no name":          named(org("dev")),
		"empty name":       named(cn(""), org("dev")),
		"nothing":          {},
		"not ASCII":        {CommonName: "jürgen Ω"},
		"uid":              named(cn("alice"), uid("u-1")),
		"two uids":         named(cn("alice"), uid("u-1"), uid("u-2")),
		"empty uid":        named(cn("alice"), uid("")),
		"uid of a number":  named(cn("alice"), uid(7)),
		"name of a number": named(cn(7)),
		"T61":              named(cn(asn1.RawValue{Tag: 20, Bytes: []byte("alice")})),
		"T61 not ASCII":    named(cn(asn1.RawValue{Tag: 20, Bytes: []byte{'a', 0xe9}})),
		"BMP":              named(cn(asn1.RawValue{Tag: 30, Bytes: []byte{0, 'a', 3, 0xa9}})),
		"IA5":              named(cn(asn1.RawValue{Tag: 22, Bytes: []byte("alice@x")})),
		"numeric":          named(cn(asn1.RawValue{Tag: 18, Bytes: []byte("12 3")})),
		"universal":        named(cn(asn1.RawValue{Tag: 28, Bytes: []byte{0, 0, 0, 'a'}})),
	}
	for name, subject := range names {
		add(name, ca.sign(&x509.Certificate{Subject: subject}, newKey()))
	}

	alice := pkix.Name{CommonName: "alice"}
	usages := map[string][]x509.ExtKeyUsage{
		"for clients":             {x509.ExtKeyUsageClientAuth},
		"for anything":            {x509.ExtKeyUsageAny},
		"for servers":             {x509.ExtKeyUsageServerAuth},
		"for servers and clients": {x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		"for code":                {x509.ExtKeyUsageCodeSigning},
	}
	for name, usage := range usages {
		add(name, ca.sign(&x509.Certificate{Subject: alice, ExtKeyUsage: usage}, newKey()))
	}
	add("for something unknown", ca.sign(&x509.Certificate{Subject: alice, UnknownExtKeyUsage: []asn1.ObjectIdentifier{{1, 2, 3}}}, newKey()))
	add("not for signatures", ca.sign(&x509.Certificate{Subject: alice, KeyUsage: x509.KeyUsageKeyEncipherment}, newKey()))
	add("critical extension", ca.sign(&x509.Certificate{Subject: alice, ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 2, 3}, Critical: true, Value: []byte{5, 0}}}}, newKey()))
	add("unknown extension", ca.sign(&x509.Certificate{Subject: alice, ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 2, 3}, Value: []byte{5, 0}}}}, newKey()))
	add("expired", ca.sign(&x509.Certificate{Subject: alice, NotAfter: time.Now().Add(-day)}, newKey()))
	add("not yet", ca.sign(&x509.Certificate{Subject: alice, NotBefore: time.Now().Add(36500 * day)}, newKey()))
	add("of another authority of the same name", other.sign(&x509.Certificate{Subject: alice}, newKey()))
	add("of an expired authority", old.sign(&x509.Certificate{Subject: alice}, newKey()))
	add("of a leaf", fake.sign(&x509.Certificate{Subject: alice}, newKey()))
	add("self-signed", (*authority)(nil).sign(&x509.Certificate{Subject: alice}, newKey()))
	add("two levels", middle.sign(&x509.Certificate{Subject: alice}, newKey()), middle.certificate.Raw)
	add("two levels and the root", middle.sign(&x509.Certificate{Subject: alice}, newKey()), middle.certificate.Raw, ca.certificate.Raw)
	add("missing level", middle.sign(&x509.Certificate{Subject: alice}, newKey()))
	add("level for servers", servers.sign(&x509.Certificate{Subject: alice}, newKey()), servers.certificate.Raw)
	add("stray certificate", ca.sign(&x509.Certificate{Subject: alice}, newKey()), other.certificate.Raw)
	add("the authority itself", ca.certificate.Raw)
	add("in the bundle", leaf)
	add("authority", ca.sign(&x509.Certificate{Subject: alice, IsCA: true, BasicConstraintsValid: true}, newKey()))

	far := time.Date(2120, 1, 1, 0, 0, 0, 0, time.UTC)
	key := newKey()
	add("version 1", ca.first(named(cn("alice"), org("dev")), far, key))
	found[len(found)-1].Key = block("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(key)))
	add("version 1 expired", ca.first(alice, time.Now().Add(-day), key))
	add("version 1 of another authority", other.first(alice, far, key))
	add("version 1 of an expired authority", old.first(alice, far, key))
	add("version 1 of a leaf", fake.first(alice, far, key))

	_, ed, _ := ed25519.GenerateKey(rand.Reader)
	keys := map[string]crypto.Signer{
		"RSA":     must(rsa.GenerateKey(rand.Reader, 2048)),
		"P-384":   must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader)),
		"P-521":   must(ecdsa.GenerateKey(elliptic.P521(), rand.Reader)),
		"Ed25519": ed,
	}
	for name, key := range keys {
		add(name, ca.sign(&x509.Certificate{Subject: alice}, key))
	}

	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(map[string]any{"now": time.Now().Unix(), "bundle": bundle, "chains": found}); err != nil {
		panic(err)
	}
}
