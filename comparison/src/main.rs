//! The command that compares the library with Go.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use fieldmanager_comparison::Error;
use fieldmanager_comparison::access::Access;
use fieldmanager_comparison::builtin::{Decode, Defaults, Protobuf};
use fieldmanager_comparison::driver::{Options, run};
use fieldmanager_comparison::engine::{Engine, EngineOptions};
use fieldmanager_comparison::expressions::Expressions;
use fieldmanager_comparison::managed::{Managed, Real};
use fieldmanager_comparison::mutating::Mutating;
use fieldmanager_comparison::patches::Patches;
use fieldmanager_comparison::record::{self, Recorded};
use fieldmanager_comparison::rules::{Estimates, Rules};
use fieldmanager_comparison::schemas::Schemas;
use fieldmanager_comparison::server::{self, ServerOptions};
use fieldmanager_comparison::unions::Unions;

/// Compares the library with Go on generated cases, and reports where they differ.
#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    suite: SuiteArguments,
}

#[derive(Subcommand)]
enum SuiteArguments {
    /// Scenarios of applies, updates and operations on values, with structured-merge-diff v6
    Engine {
        #[command(flatten)]
        options: Options,
        #[command(flatten)]
        engine: EngineOptions,
    },
    /// Unions, with structured-merge-diff v4.3.0, the last release that had them
    Unions(Options),
    /// OpenAPI definitions, structural schemas and custom resource definitions, with the packages of Kubernetes
    Schemas {
        #[command(flatten)]
        options: Options,
        /// A folder with published OpenAPI documents below `data`
        #[arg(long)]
        shared: Option<PathBuf>,
    },
    /// Sequences of writes to one object, and managed fields, with the field managers of Kubernetes
    Managed {
        #[command(flatten)]
        options: Options,
        /// An OpenAPI v2 document with the kinds of Kubernetes, for sequences of real objects; it may be gzipped
        #[arg(long)]
        definitions: Option<PathBuf>,
    },
    /// Requests to an API server, with a real kube-apiserver or a recording of its answers
    Server {
        #[command(flatten)]
        options: Options,
        #[command(flatten)]
        server: ServerOptions,
    },
    /// Objects of built-in kinds, with the Go types and conversions of Kubernetes
    Decode(Recorded),
    /// Objects of built-in kinds in protobuf, as Go writes them
    Protobuf(Recorded),
    /// Roles and bindings, with the authorizer, the checks of writes and the controller of Kubernetes
    Access(Recorded),
    /// Validation rules of custom resources, with the API server's CEL
    Rules(Options),
    /// Types and estimated costs of validation rules, with the API server's CEL
    Estimates(Options),
    /// Objects of built-in kinds, with the defaults, registries and validation of Kubernetes
    Defaults(Recorded),
    /// Expressions of policies, with the API server's CEL
    Expressions(Options),
    /// Mutations of policies, with the API server's CEL and merge
    Mutating(Options),
    /// Patches, with strategicpatch, jsonmergepatch and json-patch
    Patches(Options),
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
        SuiteArguments::Engine { options, engine } => run(&options, &|| Engine::new(&engine), out),
        SuiteArguments::Unions(options) => run(&options, &|| Unions, out),
        SuiteArguments::Schemas { options, shared } => {
            let suite = || Schemas {
                shared: shared.clone(),
            };
            run(&options, &suite, out)
        }
        SuiteArguments::Managed {
            options,
            definitions,
        } => {
            let real = definitions.as_deref().map(Real::read).transpose()?;
            run(&options, &|| Managed::new(real.clone()), out)
        }
        SuiteArguments::Server { options, server } => server::start(&options, &server, out),
        SuiteArguments::Decode(recorded) => record::run::<Decode>(&recorded, out),
        SuiteArguments::Protobuf(recorded) => record::run::<Protobuf>(&recorded, out),
        SuiteArguments::Access(recorded) => record::run::<Access>(&recorded, out),
        SuiteArguments::Rules(options) => run(&options, &|| Rules, out),
        SuiteArguments::Estimates(options) => run(&options, &|| Estimates, out),
        SuiteArguments::Defaults(recorded) => record::run::<Defaults>(&recorded, out),
        SuiteArguments::Expressions(options) => run(&options, &|| Expressions, out),
        SuiteArguments::Mutating(options) => run(&options, &|| Mutating, out),
        SuiteArguments::Patches(options) => run(&options, &|| Patches, out),
    }
}
