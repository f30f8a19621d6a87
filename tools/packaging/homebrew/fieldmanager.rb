class Fieldmanager < Formula
  desc "Kubernetes server-side apply: who owns a field, conflicts, and a test API server"
  homepage "https://github.com/fieldmanager/fieldmanager"
  version "0.1.0"
  license any_of: ["Apache-2.0", "MIT"]

  releases = "https://github.com/fieldmanager/fieldmanager/releases/download/v0.1.0/fieldmanager-0.1.0"
  on_macos do
    on_arm do
      url "#{releases}-aarch64-apple-darwin.tar.gz"
      sha256 "0000000000000000000000000000000000000000000000000000000000000000"
    end
    on_intel do
      url "#{releases}-x86_64-apple-darwin.tar.gz"
      sha256 "0000000000000000000000000000000000000000000000000000000000000000"
    end
  end
  on_linux do
    on_arm do
      url "#{releases}-aarch64-unknown-linux-musl.tar.gz"
      sha256 "0000000000000000000000000000000000000000000000000000000000000000"
    end
    on_intel do
      url "#{releases}-x86_64-unknown-linux-musl.tar.gz"
      sha256 "0000000000000000000000000000000000000000000000000000000000000000"
    end
  end

  def install
    bin.install "fieldmanager"
    bash_completion.install "completions/fieldmanager.bash" => "fieldmanager"
    zsh_completion.install "completions/_fieldmanager"
    fish_completion.install "completions/fieldmanager.fish"
    man1.install Dir["man/*.1"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/fieldmanager --version")
    (testpath/"object.yaml").write "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {sky: blue}}"
    assert_match "sky", shell_output("#{bin}/fieldmanager apply --manager alice -f object.yaml")
  end
end
