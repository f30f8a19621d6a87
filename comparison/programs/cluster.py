"""A server with the programs of Kubernetes beside it."""

import base64
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
NETWORK = "10.96.0.0/16"
# The first of the ports of a run; both servers can run at once.
PORTS = {True: 27440, False: 27450}
# Each is also its token.
USERS = {"admin": "admin,1,system:masters", "controllers": "system:kube-controller-manager,2", "scheduler": "system:kube-scheduler,3"}


def shell(command, **options):
    return subprocess.run(command, shell=True, check=True, capture_output=True, text=True, **options)


class Cluster:
    """A server and the programs of Kubernetes beside it, in a folder of their own."""

    def __init__(self, programs, work, server):
        self.programs, self.work, self.server = programs, work, server
        self.running = []
        work.mkdir(parents=True)
        first = PORTS[server is not None]
        self.port, self.controllers, self.scheduler, self.etcd, self.peer = range(first, first + 5)
        self.make_keys()
        for user in USERS:
            self.write_kubeconfig(user)

    def make_keys(self):
        """An authority that signs the server and the users, and a key for tokens of service accounts."""
        shell(
            "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.crt &&"
            "openssl req -newkey rsa:2048 -nodes -subj /CN=server -keyout server.key -out server.csr &&"
            "printf 'subjectAltName=IP:127.0.0.1,IP:10.96.0.1' > names &&"
            "openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.crt &&"
            "openssl genrsa -out accounts.key 2048 &&"
            "openssl req -newkey rsa:2048 -nodes -subj /O=shoppers/CN=alice -keyout alice.key -out alice.csr",
            cwd=self.work,
        )
        lines = [f"{token},{user}\n" for token, user in USERS.items()]
        (self.work / "tokens.csv").write_text("".join(lines))

        request = {
            "apiVersion": "certificates.k8s.io/v1",
            "kind": "CertificateSigningRequest",
            "metadata": {"name": "alice"},
            "spec": {
                "request": base64.b64encode((self.work / "alice.csr").read_bytes()).decode(),
                "signerName": "kubernetes.io/kube-apiserver-client",
                "usages": ["client auth"],
            },
        }
        (self.work / "alice.yaml").write_text(json.dumps(request))

    def write_kubeconfig(self, user):
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "it",
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
            "clusters": [{
                "name": "it",
                "cluster": {
                    "server": f"https://127.0.0.1:{self.port}",
                    "certificate-authority": str(self.work / "ca.crt"),
                },
            }],
            "users": [{"name": "it", "user": {"token": user}}],
        }
        (self.work / f"{user}.kubeconfig").write_text(json.dumps(config))

    def start(self, name, command):
        """Starts a program, whose output goes to a file of its name."""
        with open(self.work / f"{name}.log", "w") as log:
            # With a session of its own, an interrupt of this program does not reach it before it is stopped in order.
            self.running.append(subprocess.Popen(
                [str(part) for part in command], cwd=self.work, stdout=log, stderr=log, start_new_session=True))

    def start_server(self):
        files = self.work
        if self.server:
            self.start("server", [
                self.server, "serve", "--tls", "--port", self.port, "--no-collector", "--authorization", "rbac",
                "--tls-certificate", files / "server.crt", "--tls-key", files / "server.key",
                "--client-ca-file", files / "ca.crt", "--token-file", files / "tokens.csv",
                "--service-account-signing-key-file", files / "accounts.key", "--service-cluster-ip-range", NETWORK,
                "--kubeconfig", files / "serve.kubeconfig"])
        else:
            url = f"http://127.0.0.1:{self.etcd}"
            self.start("etcd", [
                self.programs / "server", "--data-dir", files / "etcd", "--unsafe-no-fsync", "--log-level", "error",
                "--listen-client-urls", url, "--advertise-client-urls", url,
                "--listen-peer-urls", f"http://127.0.0.1:{self.peer}"])
            self.start("server", [
                self.programs / "kube-apiserver", f"--etcd-servers={url}", "--bind-address=127.0.0.1",
                f"--secure-port={self.port}", "--authorization-mode=RBAC", "--advertise-address=127.0.0.1",
                "--endpoint-reconciler-type=none", "--disable-admission-plugins=ServiceAccount",
                f"--tls-cert-file={files}/server.crt", f"--tls-private-key-file={files}/server.key",
                f"--client-ca-file={files}/ca.crt", f"--token-auth-file={files}/tokens.csv",
                "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
                f"--service-account-key-file={files}/accounts.key",
                f"--service-account-signing-key-file={files}/accounts.key", f"--service-cluster-ip-range={NETWORK}",
                f"--cert-dir={files}/certs"])
        self.wait_until_ready()

    def wait_until_ready(self):
        for _ in range(1200):
            if self.kubectl("get --raw /readyz").stdout == "ok":
                return
            if self.running[-1].poll() is not None:
                break
            time.sleep(0.1)
        sys.exit(f"error: the server is not ready: see {self.work}/server.log")

    def start_programs(self):
        files = self.work
        self.start("controllers", [
            self.programs / "kube-controller-manager", f"--kubeconfig={files}/controllers.kubeconfig",
            f"--authentication-kubeconfig={files}/controllers.kubeconfig",
            f"--authorization-kubeconfig={files}/controllers.kubeconfig", "--bind-address=127.0.0.1",
            f"--secure-port={self.controllers}", f"--cert-dir={files}/certs", "--use-service-account-credentials",
            f"--service-account-private-key-file={files}/accounts.key", f"--root-ca-file={files}/ca.crt",
            f"--cluster-signing-cert-file={files}/ca.crt", f"--cluster-signing-key-file={files}/ca.key",
            f"--service-cluster-ip-range={NETWORK}", "--controllers=*,bootstrapsigner,tokencleaner",
            # Five minutes are the default, during which the controller believes that a scaling may not have settled.
            "--horizontal-pod-autoscaler-downscale-stabilization=1s", "--horizontal-pod-autoscaler-sync-period=2s"])
        self.start("scheduler", [
            self.programs / "kube-scheduler", f"--kubeconfig={files}/scheduler.kubeconfig",
            f"--authentication-kubeconfig={files}/scheduler.kubeconfig",
            f"--authorization-kubeconfig={files}/scheduler.kubeconfig", "--bind-address=127.0.0.1",
            f"--secure-port={self.scheduler}", f"--cert-dir={files}/certs"])
        self.start("kwok", [
            self.programs / "kwok", f"--kubeconfig={files}/admin.kubeconfig", "--manage-all-nodes=true",
            f"--config={self.programs}/stages.yaml", "--node-lease-duration-seconds=40"])

    def kubectl(self, arguments, seconds=60):
        """Runs kubectl with arguments as in a shell, in the folder of the objects."""
        variables = {
            "HOME": str(self.work),
            "WORK": str(self.work),
            "SERVER": f"https://127.0.0.1:{self.port}",
            "KUBECONFIG": str(self.work / "admin.kubeconfig"),
            "PATH": f"{self.programs}:{os.environ['PATH']}",
        }
        try:
            return subprocess.run(
                ["bash", "-c", f"kubectl {arguments}"], env=variables, cwd=HERE / "objects", capture_output=True,
                text=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(arguments, 124, "", f"did not end within {seconds} s\n")

    def __enter__(self):
        try:
            self.start_server()
            self.start_programs()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        for program in reversed(self.running):
            program.send_signal(signal.SIGTERM)
        for program in reversed(self.running):
            try:
                program.wait(10)
            except subprocess.TimeoutExpired:
                program.kill()
                program.wait()
