//! The command: records, compares live, or replays.

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use clap::Args;
use serde_json::{Value as Json, json};

use super::cases::Recorded;
use super::client::Client;
use super::kinds::Catalog;
use super::live::{self, Live};
use super::requests::Requests;
use super::sequences::Sequences;
use super::{Process, Recording, build, generate, recording};
use crate::driver::{Options, Pair, run_pairs};
use crate::json::items;
use crate::oracle::{Oracle, target};
use crate::{Error, files};

/// Options of the suite.
#[derive(Args, Clone, Debug, Default)]
pub struct ServerOptions {
    /// Record the answers of a real server in this file, and compare nothing
    #[arg(long)]
    pub record: Option<PathBuf>,
    /// Compare with a real server instead of a recording
    #[arg(long)]
    pub live: bool,
    /// The recording to compare with [default: comparison/recordings/server.jsonl.gz]
    #[arg(long)]
    pub replay: Option<PathBuf>,
    /// The number of requests to record or to compare live
    #[arg(long)]
    pub requests: Option<u64>,
    /// Generate requests on objects of this kind alone
    #[arg(long)]
    pub kind: Option<String>,
    /// The URL of a running server that is compared instead of the library
    #[arg(long)]
    pub url: Option<String>,
    /// The bearer token for that server
    #[arg(long, requires = "url")]
    pub token: Option<String>,
    /// The URL of a running kube-apiserver to ask instead of starting one
    #[arg(long)]
    pub kube_apiserver_url: Option<String>,
    /// A built kube-apiserver of `oracle/server` to start instead of building it
    #[arg(long)]
    pub kube_apiserver: Option<PathBuf>,
}

impl ServerOptions {
    /// A client of the server that is compared.
    fn client(&self, url: &str) -> Client {
        let client = Client::new(url);
        match &self.token {
            Some(token) => client.token(token),
            None => client,
        }
    }
}

/// The real server of a run.
struct Real {
    url: String,
    /// Ends the server when it is dropped.
    _process: Option<Process>,
}

impl Real {
    fn new(options: &ServerOptions) -> Result<Self, Error> {
        if let Some(url) = &options.kube_apiserver_url {
            return Ok(Real {
                url: url.clone(),
                _process: None,
            });
        }

        let program = match &options.kube_apiserver {
            Some(program) => program.clone(),
            None => build()?,
        };
        let process = Process::start(&program)?;
        Ok(Real {
            url: process.url().to_owned(),
            _process: Some(process),
        })
    }
}

/// Runs the suite. Returns whether both sides agree.
///
/// # Errors
///
/// If a side cannot answer, or a file cannot be read or written.
pub fn start(
    options: &Options,
    server: &ServerOptions,
    out: &mut dyn Write,
) -> Result<bool, Error> {
    let mut options = options.clone();
    // A failure is in the recording already, or can be asked for again by its seed.
    if options.keep.is_none() {
        options.keep = Some(target()?.join("server-difference.json"));
    }

    if !server.live && server.record.is_none() {
        let file = server
            .replay
            .clone()
            .unwrap_or_else(|| files::folder("recordings").join("server.jsonl.gz"));
        let recording = Recording::read(&file)?;
        return match &server.url {
            Some(url) => replay_at(&options, &recording, &|| server.client(url), out),
            None => replay(&options, &recording, out),
        };
    }

    // The definitions exist before the first thread sends a sequence.
    let real = Real::new(server)?;
    let runs = Arc::new(AtomicU64::new(0));
    let definitions = Arc::new(Live::new(&real.url, runs.clone()).define()?);
    if let Some(file) = &server.record {
        let cases = record(&options, server, &|| Live::new(&real.url, runs.clone()))?;
        let requests: usize = cases.iter().map(|case| items(case, "steps").len()).sum();
        let mut lines = vec![json!({"definitions": *definitions})];
        lines.extend(cases.iter().cloned());
        files::write_gzipped(file, &lines)?;
        writeln!(out, "{requests} requests in {} sequences", cases.len()).map_err(Error::Output)?;
        return Ok(true);
    }

    // Sequences have different lengths, so that a live run is measured in requests.
    options.operations = options.operations.or(server.requests);
    let client = || server.client(server.url.as_deref().unwrap_or_default());
    // The server that is compared must serve the custom kinds too.
    if server.url.is_some() {
        live::create(&client(), Catalog::get()?.definitions())?;
    }
    let live = || Live::new(&real.url, runs.clone());
    if server.url.is_none() {
        let suite = || Requests::live(definitions.clone(), server.kind.clone());
        return run_pairs(&options, &|| Pair::with(suite(), Box::new(live())), out);
    }
    let suite = || Sequences::live(definitions.clone(), server.kind.clone(), client());

    run_pairs(&options, &|| Pair::with(suite(), Box::new(live())), out)
}

/// Compares the library with a recording. Returns whether both agree.
///
/// # Errors
///
/// If the report cannot be written.
pub fn replay(
    options: &Options,
    recording: &Recording,
    out: &mut dyn Write,
) -> Result<bool, Error> {
    let options = of_recording(options, recording.requests.len());
    let suite = || Requests::recorded(recording);
    run_pairs(&options, &|| Pair::with(suite(), Box::new(Recorded)), out)
}

/// The options of a run over recorded cases: all, or as many as were asked for.
fn of_recording(options: &Options, recorded: usize) -> Options {
    let all = u64::try_from(recorded).unwrap_or_default();
    let left = all.saturating_sub(options.seed);
    Options {
        cases: Some(options.cases.unwrap_or(all).min(left)),
        ..options.clone()
    }
}

/// Compares a server with a recording. Returns whether both agree.
fn replay_at(
    options: &Options,
    recording: &Recording,
    client: &(dyn Fn() -> Client + Sync),
    out: &mut dyn Write,
) -> Result<bool, Error> {
    live::create(&client(), Catalog::get()?.definitions())?;
    let options = of_recording(options, recording.sequences.len());
    let suite = || Sequences::recorded(recording, client());
    run_pairs(&options, &|| Pair::with(suite(), Box::new(Recorded)), out)
}

/// The answered sequences of the seeds, in their order.
fn record(
    options: &Options,
    server: &ServerOptions,
    live: &(dyn Fn() -> Live + Sync),
) -> Result<Vec<Json>, Error> {
    let wanted = server.requests.unwrap_or(10_500);
    let (next, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let found = Mutex::new(Vec::new());
    // A recording is measured in requests, so threads take sequences until enough of them are answered.
    let work = || -> Result<(), Error> {
        let mut live = live();
        while done.load(Ordering::Relaxed) < wanted {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let case =
                generate::sequence(options.seed.wrapping_add(number), server.kind.as_deref())?;
            let answer = live
                .run(std::slice::from_ref(&case))?
                .pop()
                .unwrap_or_default();
            let case = recording::answered(&case, &answer);
            let steps = items(&case, "steps").len();
            found
                .lock()
                .map_err(|_| Error::Worker)?
                .push((number, case));
            done.fetch_add(u64::try_from(steps).unwrap_or_default(), Ordering::Relaxed);
        }

        Ok(())
    };

    let threads = options.threads.unwrap_or(4).max(1);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().map_err(|_| Error::Worker)?)
    })?;
    // Threads end in any order. Sorted by number, the sequences of a seed are in the same order in each recording.
    let mut found = found.into_inner().map_err(|_| Error::Worker)?;
    found.sort_by_key(|(number, _)| *number);

    Ok(found.into_iter().map(|(_, case)| case).collect())
}
