//! The `fieldmanager` command.

fn main() -> std::process::ExitCode {
    fieldmanager_cli::main()
}
