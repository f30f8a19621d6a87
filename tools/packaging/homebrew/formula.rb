# The words of Homebrew that the formula uses. Run in an unpacked archive: formula.rb FORMULA KREW KEG.
require "fileutils"
require "pathname"
require "yaml"

formula, krew, keg = ARGV
PLATFORM = []
DOWNLOADS = {}

# A folder that files are installed into, some under another name.
class Keg < Pathname
  def install(*files)
    mkpath
    files.flatten.each do |file|
      pairs = file.is_a?(Hash) ? file : { file => File.basename(file) }
      pairs.each { |from, name| FileUtils.cp(from, self/name) }
    end
  end
end

class Formula
  FACTS = {}
  FOLDERS = { bin: "bin", bash_completion: "etc/bash_completion.d", zsh_completion: "share/zsh/site-functions",
              fish_completion: "share/fish/vendor_completions.d", man1: "share/man/man1" }

  class << self
    %i[desc homepage version license].each { |name| define_method(name) { |value| FACTS[name] = value } }
    %i[on_macos on_linux on_arm on_intel].each do |name|
      define_method(name) do |&block|
        PLATFORM.push(name)
        block.call
        PLATFORM.pop
      end
    end

    def url(value) = DOWNLOADS[PLATFORM.dup] = [value]

    def sha256(value) = DOWNLOADS.fetch(PLATFORM) << value

    def test(&block) = define_method(:run_test, &block)
  end

  FOLDERS.each { |name, folder| define_method(name) { Keg.new(File.join(ARGV[2], folder)) } }

  def version = FACTS.fetch(:version)

  def testpath = Pathname.new(ARGV[2])

  def shell_output(command)
    Dir.chdir(testpath) { `#{command}` }.tap { raise "#{command}: #{$?}" unless $?.success? }
  end

  def assert_match(wanted, text) = (raise "#{text}: no #{wanted}" unless text.include?(wanted))
end

load formula
names = YAML.load_file(krew)["spec"]["platforms"].to_h do |platform|
  labels = platform["selector"]["matchLabels"]
  os, arch = { "darwin" => :on_macos, "linux" => :on_linux }[labels["os"]], { "arm64" => :on_arm, "amd64" => :on_intel }[labels["arch"]]
  [[os, arch], platform["uri"]]
end
raise "other archives than krew: #{DOWNLOADS}" unless DOWNLOADS.transform_values(&:first) == names
raise "no checksum" unless DOWNLOADS.values.all? { |_, sum| sum.match?(/\A\h{64}\z/) }
raise "a description of Homebrew has at most 80 characters" if Formula::FACTS[:desc].length > 80

FileUtils.mkpath(keg)
fieldmanager = Fieldmanager.new
fieldmanager.install
fieldmanager.run_test
puts "the formula installs #{Dir.glob("#{keg}/**/*").count { |path| File.file?(path) }} files"
