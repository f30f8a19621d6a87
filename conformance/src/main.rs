//! The command that compares the library with Go.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use fieldmanager_conformance::Error;
use fieldmanager_conformance::decode::{Decode, Protobuf};
use fieldmanager_conformance::defaults::Defaults;
use fieldmanager_conformance::driver::{Options, run};
use fieldmanager_conformance::engine::{Engine, EngineOptions};
use fieldmanager_conformance::managed::{Managed, Real};
use fieldmanager_conformance::patches::Patches;
use fieldmanager_conformance::record::{self, Recorded};
use fieldmanager_conformance::rules::{Estimates, Rules};
use fieldmanager_conformance::schemas::Schemas;
use fieldmanager_conformance::server::{self, ServerOptions};
use fieldmanager_conformance::unions::Unions;

/// Compares the library with Go on generated cases, and reports where they differ.
#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    suite: Suites,
}

#[derive(Subcommand)]
enum Suites {
    /// Scenarios of applies, updates and operations on values, with structured-merge-diff v6
    Engine {
        #[command(flatten)]
        options: Options,
        #[command(flatten)]
        engine: EngineOptions,
    },
    /// Unions, with structured-merge-diff v4.3.0, the last release that had them
    Unions {
        #[command(flatten)]
        options: Options,
    },
    /// OpenAPI definitions, structural schemas and custom resource definitions, with the packages of Kubernetes
    Schemas {
        #[command(flatten)]
        options: Options,
        /// A folder with published OpenAPI documents below `data`
        #[arg(long)]
        shared: Option<std::path::PathBuf>,
    },
    /// Sequences of writes to one object, and managed fields, with the field managers of Kubernetes
    Managed {
        #[command(flatten)]
        options: Options,
        /// An OpenAPI v2 document with the kinds of Kubernetes, for sequences of real objects; it may be gzipped
        #[arg(long)]
        definitions: Option<std::path::PathBuf>,
    },
    /// Requests to an API server, with a real kube-apiserver or a recording of its answers
    Server {
        #[command(flatten)]
        options: Options,
        #[command(flatten)]
        server: ServerOptions,
    },
    /// Objects of built-in kinds, with the Go types and conversions of Kubernetes
    Decode {
        #[command(flatten)]
        options: Options,
        #[command(flatten)]
        recorded: Recorded,
    },
    /// Objects of built-in kinds in protobuf, as Go writes them
    Protobuf {
        #[command(flatten)]
        options: Options,
        #[command(flatten)]
        recorded: Recorded,
    },
    /// Validation rules of custom resources, with the API server's CEL
    Rules {
        #[command(flatten)]
        options: Options,
    },
    /// Types and estimated costs of validation rules, with the API server's CEL
    Estimates {
        #[command(flatten)]
        options: Options,
    },
    /// Objects of built-in kinds, with the defaults, registries and validation of Kubernetes
    Defaults {
        #[command(flatten)]
        options: Options,
        #[command(flatten)]
        recorded: Recorded,
    },
    /// Patches, with strategicpatch, jsonmergepatch and json-patch
    Patches {
        #[command(flatten)]
        options: Options,
    },
}

fn main() -> ExitCode {
    match start(Arguments::parse(), &mut io::stdout().lock()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // If standard error is closed too, there is no way to report.
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::from(2)
        }
    }
}

fn start(arguments: Arguments, out: &mut dyn Write) -> Result<bool, Error> {
    match arguments.suite {
        Suites::Engine { options, engine } => run(&options, &|| Engine::new(&engine), out),
        Suites::Unions { options } => run(&options, &|| Unions, out),
        Suites::Schemas { options, shared } => run(&options, &|| Schemas { shared: shared.clone() }, out),
        Suites::Managed { options, definitions } => {
            let real = definitions.as_deref().map(Real::read).transpose()?;
            run(&options, &|| Managed::new(real.clone()), out)
        }
        Suites::Server { options, server } => server::start(&options, &server, out),
        Suites::Decode { options, recorded } => record::run(&options, &recorded, &|| Decode, out),
        Suites::Protobuf { options, recorded } => record::run(&options, &recorded, &|| Protobuf, out),
        Suites::Rules { options } => run(&options, &|| Rules, out),
        Suites::Estimates { options } => run(&options, &|| Estimates, out),
        Suites::Defaults { options, recorded } => record::run(&options, &recorded, &|| Defaults, out),
        Suites::Patches { options } => run(&options, &|| Patches, out),
    }
}
