//! The suite in process: each request is answered by a server that has the object of the real one, and makes the choices of
//! the real one.

use std::sync::Arc;

use serde_json::Value as Json;

use super::cases::Cases;
use super::deviations::Question;
use super::exchange::Exchange;
use super::in_process::InProcess;
use super::kinds::Catalog;
use super::recording::Recording;
use super::request::{Answer, Step};
use super::session::stored_after;
use crate::Error;
use crate::json::{items, member, text};
use crate::oracle::Oracle;
use crate::shrink::Cut;
use crate::suite::{Judged, Suite, Verdict};

/// Comparisons of answers to requests.
pub(super) struct Requests {
    cases: Cases,
    process: Replica,
}

/// A server in process, which is started with the first request.
pub(super) struct Replica {
    definitions: Arc<Vec<Json>>,
    started: Option<InProcess>,
}

impl Replica {
    /// A server with definitions of custom resources.
    pub(super) fn new(definitions: Arc<Vec<Json>>) -> Self {
        Replica {
            definitions,
            started: None,
        }
    }

    pub(super) fn get(&mut self) -> Result<&mut InProcess, Error> {
        let started = match self.started.take() {
            Some(started) => started,
            None => InProcess::new(&self.definitions)?,
        };
        Ok(self.started.insert(started))
    }
}

impl Requests {
    /// Compares with a recording.
    pub(super) fn recorded(recording: &Recording) -> Self {
        let process = Replica::new(recording.definitions.clone());
        Requests {
            cases: Cases::Recorded(recording.requests.clone()),
            process,
        }
    }

    /// Compares with a server that has these definitions of custom resources. `kind` limits the kinds of objects.
    pub(super) fn live(definitions: Arc<Vec<Json>>, kind: Option<String>) -> Self {
        Requests {
            cases: Cases::Generated(kind),
            process: Replica::new(definitions),
        }
    }

    /// Compares the answer to one request.
    fn judge(
        &mut self,
        exchange: &Exchange<'_>,
        number: usize,
        verdict: &mut Verdict,
    ) -> Result<(), Error> {
        let process = self.process.get()?;
        let ours = process.answer(exchange)?;
        let Some(found) = exchange.difference(&ours) else {
            return Ok(());
        };

        // Nothing tells the time of the request: it may be that of the newest entry, too.
        if exchange.real.body == *exchange.live {
            let exchange = exchange.at_last_write()?;
            let ours = process.answer(&exchange)?;
            if exchange.difference(&ours).is_none() {
                return Ok(());
            }
        }

        let question = Question {
            exchange,
            ours: &ours.answer,
            found: &found,
        };
        match question.answered(Some(process)) {
            Some(rule) => verdict.deviations.push(rule),
            None => exchange.differs(verdict, number, found),
        }

        Ok(())
    }
}

impl Suite for Requests {
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
        // A recorded case is one step of a sequence, and brings the objects that the step found.
        let (mut before, mut live) = (member(case, "before").clone(), member(case, "live").clone());
        let mut verdict = Verdict::default();
        for (number, (json, answer)) in items(case, "steps")
            .iter()
            .zip(items(reply, "answers"))
            .enumerate()
        {
            if answer.is_null() {
                continue;
            }
            let (step, real) = (Step::new(json, kind), Answer::from_json(answer));
            // A deletion is not compared. Its effect on the object is that of the recording.
            if step.is_write() {
                let exchange =
                    Exchange::new(kind, step, text(reply, "name"), (&before, &live), &real)?;
                exchange.count(&mut verdict);
                self.judge(&exchange, number, &mut verdict)?;
            }

            // A request that writes nothing leaves the cache of the server as it is.
            let stored = stored_after(&step, kind, answer, &live);
            if let Some(stored) = stored.filter(|stored| *stored != live) {
                before = std::mem::replace(&mut live, stored);
            }
        }

        Ok(verdict)
    }

    fn cuts(&self, case: &Json) -> Vec<Cut> {
        match self.cases {
            Cases::Recorded(_) => Vec::new(),
            Cases::Generated(_) => self.cases.cuts(case),
        }
    }
}
