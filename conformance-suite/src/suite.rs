//! The cases, and a run of them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use fieldmanager_harness::internal::Action;
use fieldmanager_harness::{Errors, Failure, Loader, Report, Scenario, ScenarioReport};
use fieldmanager_value::Value;
use futures::future::{Either, join_all, select};
use futures::{StreamExt, stream};

use crate::case::{Case, State};
use crate::connection::{Connection, Message};
use crate::definitions::Definitions;
use crate::names::Names;
use crate::needs::{Features, changes_definitions};

/// The files of the suite, with their paths.
const FILES: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/cases.rs"));

/// The path of namespaces.
const NAMESPACES: &str = "/api/v1/namespaces";

/// Cases that can be run.
#[derive(Clone, Debug)]
pub struct Suite {
    /// The cases.
    pub scenarios: Vec<Scenario>,
}

/// How to run cases.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The name of the run, which distinguishes its namespaces and groups from those of other runs: letters and digits.
    pub name: String,
    /// The number of cases at once.
    pub jobs: usize,
    /// Whether the namespaces and definitions are kept.
    pub keep: bool,
}

impl Suite {
    /// The cases of this crate.
    ///
    /// # Errors
    ///
    /// [`Errors`] of a file that is not a scenario, which a test excludes.
    pub fn embedded() -> Result<Self, Errors> {
        Loader::new().load_embedded(FILES).map(|scenarios| Suite { scenarios })
    }

    /// Removes the cases of other areas than those in `only`, unless it is empty, and those of areas in `skip`.
    ///
    /// # Errors
    ///
    /// A message if an area does not exist.
    pub fn select(&mut self, only: &[String], skip: &[String]) -> Result<(), String> {
        let areas = self.areas();
        if let Some(unknown) = only.iter().chain(skip).find(|area| !areas.contains_key(*area)) {
            let known: Vec<_> = areas.into_keys().collect();
            return Err(format!("there is no area `{unknown}`: expected one of {}", known.join(", ")));
        }
        self.scenarios.retain(|scenario| {
            let area = area(scenario);
            (only.is_empty() || only.contains(&area)) && !skip.contains(&area)
        });
        Ok(())
    }

    /// The areas, each with the number of its cases.
    pub fn areas(&self) -> BTreeMap<String, usize> {
        let mut areas = BTreeMap::new();
        for scenario in &self.scenarios {
            *areas.entry(area(scenario)).or_default() += 1;
        }
        areas
    }

    /// Runs the cases, and removes what they created. `done` gets the report of each case when it ends. If `stop` ends first,
    /// no further request of a case is sent, and the report has the cases that ended.
    pub async fn run(
        &self,
        connection: &Connection,
        options: &RunOptions,
        done: impl Fn(&ScenarioReport),
        stop: impl Future<Output = ()>,
    ) -> Report {
        let scenarios: Vec<&Scenario> = self.scenarios.iter().collect();
        let (sets, of_case) = definitions(&scenarios, &options.name);
        let mut reports: Vec<Option<ScenarioReport>> = vec![None; scenarios.len()];
        let stopped = AtomicBool::new(false);
        let work = async {
            let created = sets.iter().map(|set| set.create(connection, &stopped));
            let prefix = format!("probe-{}", options.name);
            let features = Features::probe(connection, &prefix, &scenarios, &stopped);
            let (created, features) = futures::join!(join_all(created), features);
            let cases = scenarios.iter().zip(&of_case).enumerate().map(|(number, (scenario, set))| {
                let set = set.and_then(|set| Some((sets.get(set)?, created.get(set)?)));
                let run = CaseRun { connection, options, features: &features, stopped: &stopped, number };
                async move { (number, run.report(scenario, set).await) }
            });
            let mut running = stream::iter(cases).buffer_unordered(options.jobs.max(1));
            while let Some((number, report)) = running.next().await {
                if let Some(report) = &report {
                    done(report);
                }
                if let Some(place) = reports.get_mut(number) {
                    *place = report;
                }
            }
        };
        // Requests that are under way end even after a stop, or their objects would be left.
        if let Either::Right((_, work)) = select(Box::pin(work), Box::pin(stop)).await {
            stopped.store(true, Ordering::Relaxed);
            work.await;
        }
        if !options.keep {
            join_all(sets.iter().map(|set| set.delete(connection))).await;
        }
        Report { scenarios: reports.into_iter().flatten().collect() }
    }
}

/// The area of a case: the name of its folder.
pub fn area(scenario: &Scenario) -> String {
    let folder = scenario.origin.file.as_deref().and_then(Path::parent).and_then(Path::file_name);
    folder.map_or_else(|| "cases".into(), |name| name.to_string_lossy().into_owned())
}

/// The different sets of definitions, and the number of that of each case. A case that changes definitions has its own.
fn definitions(scenarios: &[&Scenario], run: &str) -> (Vec<Definitions>, Vec<Option<usize>>) {
    let mut sets: Vec<Definitions> = Vec::new();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    let of_case = scenarios.iter().enumerate().map(|(number, scenario)| {
        let documents = scenario.schema.definitions().ok().filter(|documents| !documents.is_empty())?;
        let mut key = Value::List(documents.iter().cloned().collect()).to_json();
        if changes_definitions(&scenario.steps) {
            key = format!("case {number}");
        }
        Some(*known.entry(key).or_insert_with(|| {
            sets.push(Definitions::new(documents, &format!("s{}.{run}", sets.len() + 1)));
            sets.len() - 1
        }))
    });
    let of_case = of_case.collect();
    (sets, of_case)
}

/// One case of a run.
struct CaseRun<'r> {
    connection: &'r Connection,
    options: &'r RunOptions,
    features: &'r Features,
    stopped: &'r AtomicBool,
    /// The position of the case, from 0.
    number: usize,
}

impl CaseRun<'_> {
    /// Runs the case; `None` if the run was stopped before its end.
    async fn report(
        &self,
        scenario: &Scenario,
        set: Option<(&Definitions, &Result<(), String>)>,
    ) -> Option<ScenarioReport> {
        if self.stopped.load(Ordering::Relaxed) {
            return None;
        }
        let report = match self.failures(scenario, set).await {
            Ok(failures) => ScenarioReport::new(scenario, failures),
            Err(reason) => ScenarioReport::skipped(scenario, reason),
        };
        (!self.stopped.load(Ordering::Relaxed)).then(|| report.in_area(area(scenario)))
    }

    /// Runs the steps. The error is the reason for which the case is skipped.
    async fn failures(
        &self,
        scenario: &Scenario,
        set: Option<(&Definitions, &Result<(), String>)>,
    ) -> Result<Vec<Failure>, String> {
        if let Some(step) = scenario.steps.iter().find(|step| !is_request(&step.action)) {
            return Err(format!("the step `{}` is not a request", step.action.name()));
        }
        scenario.schema.definitions()?;
        if let Some((_, Err(error))) = set {
            return Err(format!("no custom resources: {error}"));
        }
        if let Some(reason) = self.features.lacks(self.connection, scenario).await {
            return Err(reason);
        }
        let namespace = format!("fm-{}-{:04}", self.options.name, self.number + 1);
        let body = format!(r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{namespace}"}}}}"#);
        match self.connection.send(&Message::new("POST", NAMESPACES, body)).await {
            // A server may have no namespaces as objects.
            Ok(answer) if answer.code < 300 || answer.code == 404 => {}
            Ok(answer) => return Ok(vec![Failure::new("namespace", answer.text)]),
            Err(error) => return Ok(vec![Failure::new("namespace", error)]),
        }
        let groups = set.map(|(set, _)| set.groups.clone()).unwrap_or_default();
        let names = Names { namespace: namespace.clone(), groups };
        let resources = set.map(|(set, _)| set.resources()).unwrap_or_default();
        let case = Case::new(self.connection, names, resources, self.stopped);
        let failures = case.run(&scenario.steps, &mut State::default()).await;
        if !self.options.keep {
            case.delete_cluster_objects().await;
            let path = format!("{NAMESPACES}/{namespace}");
            // There is nothing left to do about a namespace that cannot be deleted.
            let _ = self.connection.send(&Message::new("DELETE", path, String::new())).await;
        }
        Ok(failures)
    }
}

fn is_request(action: &Action) -> bool {
    matches!(
        action,
        Action::Apply { .. }
            | Action::Update { .. }
            | Action::Patch { .. }
            | Action::ChangeSchema { .. }
            | Action::Request(_)
            | Action::Parallel(_)
            | Action::Watch(_)
            | Action::Wait(_)
    )
}
