//! The cases, and a run of them.

use std::collections::BTreeMap;
use std::path::Path;

use fieldmanager_harness::internal::{Action, WriteVerb};
use fieldmanager_harness::{Errors, Failure, Loader, Report, Scenario, ScenarioReport};
use fieldmanager_value::Value;
use futures::future::{Either, join_all, select};
use futures::{StreamExt, stream};

use crate::case::{Case, State};
use crate::cleanup::{Created, LABEL, Leftover};
use crate::connection::{Connection, Message};
use crate::definitions::{Creation, Definitions, Unmet};
use crate::names::Names;
use crate::needs::{Features, changes_definitions};
use crate::stop::Stop;

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

/// The end of a run.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Outcome {
    /// The results of the cases that ended.
    pub report: Report,
    /// What the run created and did not remove, except for what it was asked to keep.
    pub left: Vec<Leftover>,
    /// Why the run ended before its last case, if the server was the cause.
    pub error: Option<String>,
}

impl Suite {
    /// The cases of this crate.
    ///
    /// # Errors
    ///
    /// [`Errors`] of a file that is not a scenario, which a test excludes.
    pub fn embedded() -> Result<Self, Errors> {
        Loader::new()
            .load_embedded(FILES)
            .map(|scenarios| Suite { scenarios })
    }

    /// Removes the cases of other areas than those in `only`, unless it is empty, and those of areas in `skip`.
    ///
    /// # Errors
    ///
    /// A message if an area does not exist.
    pub fn select(&mut self, only: &[String], skip: &[String]) -> Result<(), String> {
        let areas = self.areas();
        if let Some(unknown) = only
            .iter()
            .chain(skip)
            .find(|area| !areas.contains_key(*area))
        {
            let known: Vec<_> = areas.into_keys().collect();
            return Err(format!(
                "there is no area `{unknown}`: expected one of {}",
                known.join(", ")
            ));
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
    /// or the server does not answer several requests in a row, no further step of a case begins, and the report has the cases
    /// that ended.
    pub async fn run(
        &self,
        connection: &Connection,
        options: &RunOptions,
        done: impl Fn(&ScenarioReport),
        stop: impl Future<Output = ()>,
    ) -> Outcome {
        let scenarios: Vec<&Scenario> = self.scenarios.iter().collect();
        let (sets, of_case) = definitions(&scenarios, &options.name);
        let mut reports: Vec<Option<ScenarioReport>> = vec![None; scenarios.len()];
        let (stopped, definitions) = (Stop::default(), Created::default());
        let run = options.name.as_str();
        let mut left = Vec::new();
        let work = async {
            let creation = Creation {
                connection,
                run,
                created: &definitions,
                stop: &stopped,
            };
            // Definitions and features take requests that wait for the server, so both are prepared at once.
            let created = sets.iter().map(|set| set.create(&creation));
            let features = Features::probe(connection, run, &scenarios, &stopped);
            let (created, mut features) = futures::join!(join_all(created), features);
            left.append(&mut features.left);
            let cases =
                scenarios
                    .iter()
                    .zip(&of_case)
                    .enumerate()
                    .map(|(number, (scenario, set))| {
                        let set = set.and_then(|set| Some((sets.get(set)?, created.get(set)?)));
                        let run = CaseRun {
                            connection,
                            options,
                            features: &features,
                            stop: &stopped,
                            number,
                        };
                        async move { (number, run.report(scenario, set).await) }
                    });

            // Cases end in any order, and a report has the place of its case.
            let mut running = stream::iter(cases).buffer_unordered(options.jobs.max(1));
            while let Some((number, (report, mut remaining))) = running.next().await {
                left.append(&mut remaining);
                if let Some(report) = &report {
                    done(report);
                }
                if let Some(place) = reports.get_mut(number) {
                    *place = report;
                }
            }
        };

        // Requests that are under way end even after a stop, or their objects would be left.
        let stop = select(Box::pin(stop), Box::pin(connection.silence()));
        if let Either::Right((_, work)) = select(Box::pin(work), stop).await {
            stopped.set();
            work.await;
        }
        if !options.keep {
            left.extend(definitions.remove(connection, run, "").await);
        }

        let reports: Vec<_> = reports.into_iter().flatten().collect();
        // A case without a report did not begin, or was stopped.
        let not_run = scenarios.len() - reports.len();
        let report = Report {
            scenarios: reports,
            not_run,
            ..Report::default()
        };
        let error = connection.silence_error().filter(|_| not_run > 0);

        Outcome {
            report,
            left,
            error,
        }
    }
}

/// The area of a case: the name of its folder.
pub fn area(scenario: &Scenario) -> String {
    let folder = scenario
        .origin
        .file
        .as_deref()
        .and_then(Path::parent)
        .and_then(Path::file_name);
    folder.map_or_else(
        || "cases".into(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// The different sets of definitions, and the number of that of each case. A case that changes definitions has its own.
fn definitions(scenarios: &[&Scenario], run: &str) -> (Vec<Definitions>, Vec<Option<usize>>) {
    let mut sets: Vec<Definitions> = Vec::new();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    let of_case = scenarios.iter().enumerate().map(|(number, scenario)| {
        let documents = scenario
            .schema
            .definitions()
            .ok()
            .filter(|documents| !documents.is_empty())?;
        let mut key = Value::List(documents.iter().cloned().collect()).to_json();
        // A change of a definition would reach all cases that share it.
        if changes_definitions(&scenario.steps) {
            key = format!("case {number}");
        }

        Some(*known.entry(key).or_insert_with(|| {
            sets.push(Definitions::new(
                documents,
                &format!("s{}.{run}", sets.len() + 1),
            ));
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
    stop: &'r Stop,
    /// The position of the case, from 0.
    number: usize,
}

impl CaseRun<'_> {
    /// Runs the case; `None` if the run was stopped before its end. Removes what the case created, and returns what is left.
    async fn report(
        &self,
        scenario: &Scenario,
        set: Option<(&Definitions, &Result<(), Unmet>)>,
    ) -> (Option<ScenarioReport>, Vec<Leftover>) {
        if self.stop.is_set() {
            return (None, Vec::new());
        }
        let created = Created::default();
        let namespace = format!("fm-{}-{:04}", self.options.name, self.number + 1);
        let report = match self.failures(scenario, set, &namespace, &created).await {
            Ok(failures) => ScenarioReport::new(scenario, failures),
            Err(reason) => ScenarioReport::skipped(scenario, reason),
        };
        // A case that was stopped has no result, but its objects are removed.
        let is_whole = !self.stop.is_set();
        let left = if self.options.keep {
            Vec::new()
        } else {
            created
                .remove(self.connection, &self.options.name, &namespace)
                .await
        };

        (is_whole.then(|| report.in_area(area(scenario))), left)
    }

    /// Runs the steps. The error is the reason for which the case is skipped.
    async fn failures(
        &self,
        scenario: &Scenario,
        set: Option<(&Definitions, &Result<(), Unmet>)>,
        namespace: &str,
        created: &Created,
    ) -> Result<Vec<Failure>, String> {
        // Functions of the library, such as those of sets, have no request.
        if let Some(step) = scenario.steps.iter().find(|step| !is_request(&step.action)) {
            return Err(format!(
                "the step `{}` is not a request",
                step.action.name()
            ));
        }

        scenario.schema.definitions()?;
        // What the server does not serve skips a case, while a definition that it refuses is a failure.
        let unmet = set.and_then(|(_, created)| created.clone().err());
        match unmet.or(self.features.lacks(self.connection, scenario).await) {
            Some(Unmet::Unserved(reason)) => return Err(reason),
            Some(Unmet::Failed(reason)) => return Ok(vec![Failure::new("definitions", reason)]),
            None => {}
        }

        // A namespace for each case keeps names apart, and its deletion removes what is in it.
        let metadata = serde_json::json!({"name": namespace, "labels": {LABEL: self.options.name}});
        let body =
            serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
                .to_string();
        let message = Message::new("POST", NAMESPACES, body);
        let answer = self.connection.send(&message).await;
        created.note(&message, &answer).await;

        match answer {
            // A server may have no namespaces as objects.
            Ok(answer) if answer.code < 300 || answer.code == 404 => {}
            Ok(answer) => {
                let message = format!("got the code {}: {}", answer.code, answer.message());
                return Ok(vec![Failure::new("namespace", message)]);
            }
            Err(error) => return Ok(vec![Failure::new("namespace", error)]),
        }

        let groups = set.map(|(set, _)| set.groups.clone()).unwrap_or_default();
        let names = Names {
            namespace: namespace.to_owned(),
            groups,
        };
        let resources = set.map(|(set, _)| set.resources()).unwrap_or_default();
        let (connection, run, stop) = (self.connection, self.options.name.as_str(), self.stop);
        let case = Case {
            connection,
            names,
            resources,
            run,
            created,
            stop,
        };

        Ok(case.steps(&scenario.steps, &mut State::default()).await)
    }
}

fn is_request(action: &Action) -> bool {
    match action {
        Action::Write(write) => write.verb != WriteVerb::ExtractApply,
        Action::OfObject { .. } | Action::OfPair { .. } | Action::Set { .. } => false,
        _ => true,
    }
}
