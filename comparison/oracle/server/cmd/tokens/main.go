// Signs and verifies tokens of service accounts as kube-apiserver does.
//
// usage: tokens vectors       writes keys, tokens and what becomes of them, as JSON
//
//	tokens certificates  writes client certificates and what becomes of them, as JSON
//	tokens verify KEYS   reads a token a line, and writes what becomes of it with the keys of a PEM file
package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"strings"
	"time"

	jose "gopkg.in/go-jose/go-jose.v2"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/serviceaccount"
)

const issuer = "https://issuer.example/a&b"

var audiences = []string{"api", "https://issuer.example/a&b"}

// Key is a private key in PEM blocks, and what is made of it.
type Key struct {
	Name    string `json:"name"`
	Private string `json:"private"`
	Public  string `json:"public"`
	KeySet  string `json:"keySet"`
	Config  string `json:"configuration"`
}

// Verdict is what becomes of a token.
type Verdict struct {
	Accepted  bool                `json:"accepted"`
	Error     string              `json:"error,omitempty"`
	Name      string              `json:"name,omitempty"`
	UID       string              `json:"uid,omitempty"`
	Groups    []string            `json:"groups,omitempty"`
	Extra     map[string][]string `json:"extra,omitempty"`
	Audiences []string            `json:"audiences,omitempty"`
}

// Vector is a token with its verdict.
type Vector struct {
	Name      string   `json:"name"`
	Key       string   `json:"key"`
	Token     string   `json:"token"`
	Requested []string `json:"requested,omitempty"`
	Verdict   Verdict  `json:"verdict"`
}

func main() {
	switch {
	case len(os.Args) == 2 && os.Args[1] == "vectors":
		vectors()
	case len(os.Args) == 2 && os.Args[1] == "certificates":
		certificates()
	case len(os.Args) == 3 && os.Args[1] == "verify":
		verify(os.Args[2])
	default:
		fmt.Fprintln(os.Stderr, "usage: tokens vectors | tokens certificates | tokens verify KEYS")
		os.Exit(2)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func block(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// objects answers for the objects that tokens name: `gone-*` were deleted two minutes ago, `going-*` half a minute ago.
type objects struct{ now time.Time }

func (o objects) meta(resource, name string) (metav1.ObjectMeta, error) {
	meta := metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}
	switch {
	case strings.HasPrefix(name, "missing"):
		return meta, errors.NewNotFound(schema.GroupResource{Resource: resource}, name)
	case strings.HasPrefix(name, "gone"):
		meta.DeletionTimestamp = &metav1.Time{Time: o.now.Add(-2 * time.Minute)}
	case strings.HasPrefix(name, "going"):
		meta.DeletionTimestamp = &metav1.Time{Time: o.now.Add(-30 * time.Second)}
	}
	return meta, nil
}

func (o objects) GetServiceAccount(_ context.Context, _, name string) (*v1.ServiceAccount, error) {
	meta, err := o.meta("serviceaccounts", name)
	return &v1.ServiceAccount{ObjectMeta: meta}, err
}

func (o objects) GetPod(_ context.Context, _, name string) (*v1.Pod, error) {
	meta, err := o.meta("pods", name)
	return &v1.Pod{ObjectMeta: meta}, err
}

func (o objects) GetSecret(_ context.Context, _, name string) (*v1.Secret, error) {
	meta, err := o.meta("secrets", name)
	return &v1.Secret{ObjectMeta: meta}, err
}

func (o objects) GetNode(_ context.Context, name string) (*v1.Node, error) {
	meta, err := o.meta("nodes", name)
	return &v1.Node{ObjectMeta: meta}, err
}

func (o objects) GetValidatingWebhookConfiguration(context.Context, string) (*admissionregistrationv1.ValidatingWebhookConfiguration, error) {
	return nil, fmt.Errorf("unused")
}

func (o objects) GetMutatingWebhookConfiguration(context.Context, string) (*admissionregistrationv1.MutatingWebhookConfiguration, error) {
	return nil, fmt.Errorf("unused")
}

func judge(token string, keys []any, requested []string, now time.Time) Verdict {
	getter := must(serviceaccount.StaticPublicKeysGetter(keys))
	validator := serviceaccount.NewValidator(objects{now})
	auth := serviceaccount.JWTTokenAuthenticator([]string{issuer}, getter, audiences, validator)
	ctx := context.Background()
	if requested != nil {
		ctx = authenticator.WithAudiences(ctx, requested)
	}
	answer, ok, err := auth.AuthenticateToken(ctx, token)
	verdict := Verdict{Accepted: ok}
	if err != nil {
		verdict.Error = err.Error()
	}
	if ok {
		verdict.Name, verdict.UID = answer.User.GetName(), answer.User.GetUID()
		verdict.Groups, verdict.Extra = answer.User.GetGroups(), answer.User.GetExtra()
		verdict.Audiences = answer.Audiences
	}
	return verdict
}

func verify(file string) {
	keys := must(keyutil.PublicKeysFromFile(file))
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		if err := out.Encode(judge(lines.Text(), keys, nil, time.Now())); err != nil {
			panic(err)
		}
	}
}

func makeKeys() ([]Key, map[string]crypto.Signer) {
	signers := map[string]crypto.Signer{}
	keys := []Key{}
	add := func(name, private string, signer crypto.Signer) {
		signers[name] = signer
		getter := must(serviceaccount.StaticPublicKeysGetter([]any{signer.Public()}))
		provider := must(serviceaccount.NewOpenIDMetadataProvider(issuer, "https://server/openid/v1/jwks", "", getter))
		config, _ := provider.GetConfigJSON()
		set, _ := provider.GetKeysetJSON()
		public := block("PUBLIC KEY", must(x509.MarshalPKIXPublicKey(signer.Public())))
		keys = append(keys, Key{name, private, public, string(set), string(config)})
	}
	one := must(rsa.GenerateKey(rand.Reader, 2048))
	add("rsa", block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(one)), one)
	add("rsa-pkcs8", block("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(one))), one)
	for name, curve := range map[string]elliptic.Curve{"p256": elliptic.P256(), "p384": elliptic.P384()} {
		key := must(ecdsa.GenerateKey(curve, rand.Reader))
		// As `openssl ecparam -genkey` writes it: with the parameters first.
		params := block("EC PARAMETERS", []byte{6, 8, 42, 134, 72, 206, 61, 3, 1, 7})
		add(name, params+block("EC PRIVATE KEY", must(x509.MarshalECPrivateKey(key))), key)
		add(name+"-pkcs8", block("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(key))), key)
	}
	// A certificate is a public key too.
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "signer"}, NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour)}
	certificate := must(x509.CreateCertificate(rand.Reader, template, template, one.Public(), one))
	keys = append(keys, Key{Name: "certificate", Public: block("CERTIFICATE", certificate), KeySet: keys[0].KeySet, Config: keys[0].Config})
	return keys, signers
}

// maker makes tokens with one key and collects their verdicts.
type maker struct {
	signers map[string]crypto.Signer
	now     time.Time
	found   []Vector
}

func (m *maker) add(name, key, token string, requested ...string) {
	verdict := judge(token, []any{m.signers[key].Public()}, requested, m.now)
	m.found = append(m.found, Vector{name, key, token, requested, verdict})
}

func (m *maker) made(name, key string, account string, pod, secret, node string, seconds, warn int64, auds ...string) {
	sa := core.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account, Namespace: "default", UID: types.UID("uid-" + account)}}
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}
	}
	var p *core.Pod
	var s *core.Secret
	var n *core.Node
	if pod != "" {
		p = &core.Pod{ObjectMeta: meta(pod)}
	}
	if secret != "" {
		s = &core.Secret{ObjectMeta: meta(secret)}
	}
	if node != "" {
		n = &core.Node{ObjectMeta: meta(node)}
	}
	public, private, err := serviceaccount.Claims(sa, p, s, n, nil, nil, seconds, warn, auds, nil)
	if err != nil {
		panic(err)
	}
	generator := must(serviceaccount.JWTTokenGenerator(issuer, m.signers[key]))
	m.add(name, key, must(generator.GenerateToken(context.Background(), public, private)))
}

// raw signs any header and payload.
func (m *maker) raw(name, key, header, payload string) {
	message := encode(header) + "." + encode(payload)
	signer := m.signers[key]
	digest := sha256.Sum256([]byte(message))
	var signature []byte
	switch private := signer.(type) {
	case *rsa.PrivateKey:
		signature = must(rsa.SignPKCS1v15(rand.Reader, private, crypto.SHA256, digest[:]))
	case *ecdsa.PrivateKey:
		r, s, err := ecdsa.Sign(rand.Reader, private, digest[:])
		if err != nil {
			panic(err)
		}
		signature = append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	}
	m.add(name, key, message+"."+encode(string(signature)))
}

func encode(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

func vectors() {
	keys, signers := makeKeys()
	m := &maker{signers: signers, now: time.Now()}
	for _, key := range keys {
		if key.Private != "" {
			m.made("plain", key.Name, "robot", "", "", "", 3600, 0, "api")
		}
	}
	m.made("two audiences", "rsa", "robot", "", "", "", 600, 0, "other", audiences[1])
	m.made("pod", "p256", "robot", "web", "", "", 3600, 0, "api")
	m.made("pod and node", "p256", "robot", "web", "", "worker", 3600, 0, "api")
	m.made("extended", "p256", "robot", "web", "", "", 31536000, 3607, "api")
	m.made("secret", "p256", "robot", "", "token", "", 3600, 0, "api")
	m.made("node", "p256", "robot", "", "", "worker", 3600, 0, "api")
	m.made("no audience", "p256", "robot", "", "", "", 3600, 0)
	m.made("of others", "p256", "robot", "", "", "", 3600, 0, "other")
	m.made("expired", "p256", "robot", "", "", "", -120, 0, "api")
	m.made("expired within the leeway", "p256", "robot", "", "", "", -30, 0, "api")
	for _, state := range []string{"missing", "gone", "going"} {
		m.made(state+" account", "p256", state, "", "", "", 3600, 0, "api")
		m.made(state+" pod", "p256", "robot", state, "", "", 3600, 0, "api")
		m.made(state+" secret", "p256", "robot", "", state, "", 3600, 0, "api")
		m.made(state+" node", "p256", "robot", "", "", state, 3600, 0, "api")
		m.made("pod on a "+state+" node", "p256", "robot", "web", "", state, 3600, 0, "api")
	}

	plain := m.found[0].Token
	m.add("requested", "rsa", plain, "api", "else")
	m.add("requested by others", "rsa", plain, "else")

	kid := must(serviceaccount.StaticPublicKeysGetter([]any{signers["p256"].Public()})).GetPublicKeys(context.Background(), "")[0].KeyID
	header := fmt.Sprintf(`{"alg":"ES256","kid":"%s"}`, kid)
	claims := func(changes string) string {
		at := m.now.Unix()
		return fmt.Sprintf(`{"aud":["api"],"exp":%d,"iat":%d,"iss":"%s","kubernetes.io":{"namespace":"default","serviceaccount":{"name":"robot","uid":"uid-robot"}},"nbf":%d%s}`, at+600, at, issuer, at, changes)
	}
	at := m.now.Unix()
	m.raw("raw", "p256", header, claims(""))
	m.raw("without key id", "p256", `{"alg":"ES256"}`, claims(""))
	m.raw("unknown key id", "p256", `{"alg":"ES256","kid":"x"}`, claims(""))
	m.raw("type in the header", "p256", fmt.Sprintf(`{"typ":"JWT","alg":"ES256","kid":"%s","x":{}}`, kid), claims(""))
	m.raw("audience as a string", "p256", header, strings.Replace(claims(""), `["api"]`, `"api"`, 1))
	m.raw("audience as a number", "p256", header, strings.Replace(claims(""), `["api"]`, `1`, 1))
	m.raw("fraction", "p256", header, strings.Replace(claims(""), fmt.Sprint(at+600), fmt.Sprint(at+600)+".9", 1))
	m.raw("exponent", "p256", header, strings.Replace(claims(""), fmt.Sprint(at+600), "9e9", 1))
	m.raw("time as a string", "p256", header, strings.Replace(claims(""), fmt.Sprint(at+600), `"9000000000"`, 1))
	m.raw("without expiration", "p256", header, strings.Replace(claims(""), fmt.Sprintf(`"exp":%d,`, at+600), "", 1))
	m.raw("not yet", "p256", header, strings.Replace(claims(""), fmt.Sprintf(`"nbf":%d`, at), fmt.Sprintf(`"nbf":%d`, at+90), 1))
	m.raw("nearly", "p256", header, strings.Replace(claims(""), fmt.Sprintf(`"nbf":%d`, at), fmt.Sprintf(`"nbf":%d`, at+50), 1))
	m.raw("issued later", "p256", header, strings.Replace(claims(""), fmt.Sprintf(`"iat":%d`, at), fmt.Sprintf(`"iat":%d`, at+90), 1))
	m.raw("other issuer", "p256", header, strings.Replace(claims(""), issuer, "https://other", 1))
	m.raw("unknown claims", "p256", header, claims(`,"x":{"y":[1,2]}`))
	m.raw("duplicate issuer", "p256", header, claims(`,"iss":"https://other"`))
	m.raw("duplicate audience", "p256", header, claims(`,"aud":["api"]`))
	m.raw("duplicate objects", "p256", header, claims(`,"kubernetes.io":{"namespace":"kube-system","serviceaccount":{"name":"robot","uid":"uid-robot"}}`))
	m.raw("other case", "p256", header, claims(`,"Kubernetes.io":{"namespace":"kube-system"},"EXP":1`))
	m.raw("webhook", "p256", header, strings.Replace(claims(""), `"namespace"`, `"validatingwebhookconfiguration":{"name":"a","uid":"b"},"namespace"`, 1))
	m.raw("other uid", "p256", header, strings.Replace(claims(""), `"uid-robot"`, `"uid-of-before"`, 1))
	m.raw("pod of another uid", "p256", header, strings.Replace(claims(""), `"namespace"`, `"pod":{"name":"web","uid":"x"},"namespace"`, 1))
	m.raw("secret of another uid", "p256", header, strings.Replace(claims(""), `"namespace"`, `"secret":{"name":"web","uid":"x"},"namespace"`, 1))
	m.raw("node of another uid", "p256", header, strings.Replace(claims(""), `"namespace"`, `"node":{"name":"web","uid":"x"},"namespace"`, 1))
	m.raw("no objects", "p256", header, strings.Replace(claims(""), `"kubernetes.io"`, `"other"`, 1))
	m.raw("list", "p256", header, "["+claims("")+"]")
	m.raw("empty", "p256", header, "")
	m.raw("null", "p256", header, "null")
	m.raw("not UTF-8", "p256", header, claims(",\"x\":\"\xff\""))
	m.raw("deep", "p256", header, claims(`,"x":`+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)))
	m.raw("critical", "p256", fmt.Sprintf(`{"alg":"ES256","kid":"%s","crit":["x"],"x":1}`, kid), claims(""))
	m.raw("alg none", "p256", fmt.Sprintf(`{"alg":"none","kid":"%s"}`, kid), claims(""))
	m.raw("wrong alg", "p256", fmt.Sprintf(`{"alg":"RS256","kid":"%s"}`, kid), claims(""))
	m.raw("no alg", "p256", fmt.Sprintf(`{"kid":"%s"}`, kid), claims(""))
	m.raw("header is a list", "p256", "[]", claims(""))
	m.raw("wrong alg for RSA", "rsa", `{"alg":"ES256"}`, claims(""))

	parts := strings.Split(m.found[len(keys)].Token, ".")
	unsigned := encode(`{"alg":"none"}`) + "." + encode(claims(""))
	m.add("unsigned", "p256", unsigned+".")
	m.add("two parts", "p256", unsigned)
	m.add("four parts", "p256", unsigned+"..")
	m.add("swapped", "p256", parts[1]+"."+parts[0]+"."+parts[2])
	m.add("empty signature", "rsa", strings.Join(strings.Split(plain, ".")[:2], ".")+".")
	m.add("padding", "rsa", plain+"==")
	m.add("other payload", "rsa", strings.Split(plain, ".")[0]+"."+encode(claims(""))+"."+strings.Split(plain, ".")[2])
	m.add("of another key", "p256", plain)
	m.add("JSON", "p256", must(jose.ParseSigned(plain)).FullSerialize())
	m.add("text", "p256", "a.b.c")
	m.add("nothing", "p256", "")
	m.add("dots", "p256", "..")

	// The public key as the secret of an HMAC.
	public := must(x509.MarshalPKIXPublicKey(signers["rsa"].Public()))
	message := encode(`{"alg":"HS256"}`) + "." + encode(claims(""))
	for name, secret := range map[string][]byte{"HMAC of DER": public, "HMAC of PEM": []byte(block("PUBLIC KEY", public))} {
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(message))
		m.add(name, "rsa", message+"."+encode(string(mac.Sum(nil))))
	}
	signer := must(jose.NewSigner(jose.SigningKey{Algorithm: jose.PS256, Key: signers["rsa"]}, nil))
	m.add("PS256", "rsa", must(must(signer.Sign([]byte(claims("")))).CompactSerialize()))

	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(map[string]any{"now": m.now.Unix(), "issuer": issuer, "audiences": audiences, "keys": keys, "tokens": m.found}); err != nil {
		panic(err)
	}
	os.Stdout.Write(out.Bytes())
}
