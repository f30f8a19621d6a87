//! The suite over HTTP: a server answers whole sequences, in terms of its own objects and choices.

use std::sync::Arc;

use serde_json::Value as Json;

use super::cases::Cases;
use super::client::Client;
use super::deviations::Question;
use super::exchange::{Candidate, Exchange};
use super::kinds::Catalog;
use super::other::Other;
use super::recording::Recording;
use super::request::{Answer, Step};
use super::requests::Replica;
use super::session::stored_after;
use crate::Error;
use crate::json::{items, text};
use crate::oracle::Oracle;
use crate::shrink::Cut;
use crate::suite::{Difference, Judged, Suite, Verdict};

/// Comparisons of a server.
pub(super) struct Sequences {
    cases: Cases,
    server: Client,
    /// Answers other requests, to explain a difference.
    process: Replica,
}

impl Sequences {
    /// Compares a server with a recording.
    pub(super) fn recorded(recording: &Recording, server: Client) -> Self {
        let process = Replica::new(recording.definitions.clone());
        Sequences {
            cases: Cases::Recorded(recording.sequences.clone()),
            server,
            process,
        }
    }

    /// Compares a server with another one that has these definitions of custom resources. `kind` limits the kinds of objects.
    pub(super) fn live(definitions: Arc<Vec<Json>>, kind: Option<String>, server: Client) -> Self {
        Sequences {
            cases: Cases::Generated(kind),
            server,
            process: Replica::new(definitions),
        }
    }

    /// Compares the answer to one request.
    fn judge(
        &mut self,
        exchange: &Exchange<'_>,
        ours: &Candidate,
        number: usize,
        verdict: &mut Verdict,
    ) -> Result<(), Error> {
        let Some(found) = exchange.difference(ours) else {
            return Ok(());
        };
        // Some deviations are proved by the answers of the server in process to other requests.
        let process = self.process.get()?;
        let question = Question {
            exchange,
            ours: &ours.answer,
            found: &found,
        };
        if let Some(rule) = question.answered(Some(process)) {
            verdict.deviations.push(rule);
            return Ok(());
        }

        // If the server in process agrees with the real one, the cause is in the store or in HTTP, and not in the
        // handlers.
        let is_of_server = exchange.difference(&process.answer(exchange)?).is_none();
        let place = if is_of_server {
            "over HTTP alone"
        } else {
            "also in process"
        };
        let label = format!("{place}, {}", found.label);
        exchange.differs(verdict, number, Difference { label, ..found });

        Ok(())
    }
}

/// Compares the stored objects after a step whose answers agree.
fn judge_stored(exchange: &Exchange<'_>, stored: &Json, number: usize, verdict: &mut Verdict) {
    // Stored objects are compared in the same way as objects in answers, as if both servers had been asked for them.
    let answer = |body: &Json| Answer {
        code: 200,
        warnings: Vec::new(),
        body: body.clone(),
    };
    let (real, ours) = (
        answer(exchange.live),
        Candidate {
            answer: answer(stored),
            written: None,
        },
    );

    // Without a live object, the question whether the step wrote it does not arise.
    let after = Exchange {
        real: &real,
        live: &Json::Null,
        ..exchange.clone()
    };
    let Some(found) = after.difference(&ours) else {
        return;
    };

    let question = Question {
        exchange,
        ours: &ours.answer,
        found: &found,
    };

    match question.stored() {
        Some(rule) => verdict.deviations.push(rule),
        None => {
            let label = format!("stored, {}", found.label);
            verdict.tally.count("differences", label.as_str());
            verdict.difference = Some(Difference {
                step: Some(number),
                label,
                ..found
            });
        }
    }
}

impl Suite for Sequences {
    const NAME: &'static str = "server";
    const ORACLE: &'static str = "server";
    const BATCH: u64 = 4;
    const REPEATS: usize = 0;

    fn generate(&self, seed: u64) -> Json {
        self.cases.get(seed)
    }

    fn compare(&mut self, _: &mut dyn Oracle, case: &Json, answers: &[Json]) -> Judged {
        let kind = Catalog::get()?.of(case)?;
        let reply = answers.first().unwrap_or(&Json::Null);
        let (name, steps) = (text(reply, "name"), items(case, "steps"));
        let client = self.server.clone();
        let mut other = Other::new(&client, kind, name)?;
        let (mut before, mut live) = (Json::Null, Json::Null);
        let mut verdict = Verdict::default();

        for (number, (json, answer)) in steps.iter().zip(items(reply, "answers")).enumerate() {
            if answer.is_null() {
                continue;
            }
            let (step, real) = (Step::new(json, kind), Answer::from_json(answer));
            let known = (verdict.deviations.len(), verdict.difference.is_some());
            let exchange = Exchange::new(kind, step, name, (&before, &live), &real)?;
            exchange.count(&mut verdict);
            // Pointers of the step into the managed fields name entries by the order before it.
            let has_other_order = Some(other.has_other_order(&live));
            let (theirs, ours) = other.answer(&exchange)?;
            let exchange = Exchange {
                real: &theirs,
                has_other_order,
                ..exchange
            };

            self.judge(&exchange, &ours, number, &mut verdict)?;

            // The object of the other server must be that of the real one before the next step.
            let last = live.clone();
            if let Some(stored) =
                stored_after(&step, kind, answer, &last).filter(|stored| *stored != last)
            {
                before = std::mem::replace(&mut live, stored);
            }

            if other.follows(step, &last, &live)? {
                continue;
            }
            // If the answers differ already, the difference of the stored objects follows from theirs.
            if (verdict.deviations.len(), verdict.difference.is_some()) == (known.0, false) {
                let exchange = Exchange::new(kind, step, name, (&last, &live), &real)?;
                judge_stored(&exchange, &other.stored(&live), number, &mut verdict);
            }

            // The remaining steps would find different objects, so they are counted and not compared.
            let cause = verdict.deviations.get(known.0..).and_then(<[_]>::last);
            let rest = steps.len().saturating_sub(number).saturating_sub(1);
            let cause = cause.copied().unwrap_or("a difference");
            verdict.tally.add(
                "not compared, after",
                cause,
                u64::try_from(rest).unwrap_or(0),
            );
            break;
        }
        other.end()?;

        Ok(verdict)
    }

    fn is_sound(&self, case: &Json) -> bool {
        self.cases.is_answered(case)
    }

    fn cuts(&self, case: &Json) -> Vec<Cut> {
        self.cases.cuts(case)
    }
}
