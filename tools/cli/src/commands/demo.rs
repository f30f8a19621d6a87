//! `demo`: a conflict, its ways out, and a union, played on a server in this process.

use std::io::{IsTerminal as _, stdin};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;

use fieldmanager_apiserver::ApiServer;
use fieldmanager_apiserver::net::Listening;
use fieldmanager_apiserver::testing::TestServer;
use fieldmanager_managedfields::TimeError;
use fieldmanager_value::Value;
use serde_json::{Value as Json, json};

use crate::error::Failure;
use crate::output::{self, Line, Style};
use crate::owners::Owned;
use crate::{blame, text};

/// The definition of shops, and the steps: `title`, `text`, `manager`, `spec` and `force`.
const SCRIPT: &str = include_str!("demo.yaml");

/// Plays the steps. On a terminal, it waits for a key between them, and serves the page of the objects at the end.
pub(crate) fn run() -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(play())?;
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}

async fn play() -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::Other(error.to_string());
    let script = Value::from_yaml(SCRIPT).map_err(|error| failed(&error))?;
    let definition = script.get("definition").cloned().unwrap_or_default();
    let server = ApiServer::for_test()
        .options(|builder| builder.unions(true).page(true))
        .objects([definition])
        .build()
        .await
        .map_err(|error| failed(&error))?;

    // Each step is a request, whose answer is shown before the next one.
    let steps = script.get("steps").and_then(Value::as_list);
    for (number, step) in steps.into_iter().flatten().enumerate() {
        if number > 0 {
            pause()?;
        }
        let lines = play_step(&server, number + 1, step).await?;
        output::print_lines(lines)?;
    }
    show_page(&server).await
}

/// Sends the request of a step, and describes it with its answer.
async fn play_step(server: &TestServer, number: usize, step: &Value) -> Result<Vec<Line>, Failure> {
    let member = |name: &str| step.get(name).and_then(Value::as_str).unwrap_or_default();
    let force = step.get("force") == Some(&Value::Bool(true));
    let manager = member("manager");
    let title = format!("{number}. {}", member("title"));
    let mut lines = vec![Line::default(), Style::Strong.paint(&title)];
    let width = output::width().min(100);
    lines.extend(
        text::wrap(
            member("text").trim_end().replace('\n', " ").as_str(),
            Some(width),
            0,
        )
        .into_iter()
        .map(Line::from),
    );

    // As it would be called for a file with this specification.
    let flag = if force { " --force" } else { "" };
    let call = format!("$ fieldmanager apply --manager {manager}{flag}");
    lines.extend([Line::default(), Style::Faint.paint(&call)]);
    lines.extend(
        member("spec")
            .lines()
            .map(|line| Line::from(format!("    {line}"))),
    );
    lines.push(Line::default());

    let spec =
        Value::from_yaml(member("spec")).map_err(|error| Failure::Other(error.to_string()))?;
    let shop = json!({
        "apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "corner"}, "spec": spec,
    });
    // The answer of a refusal is part of the play.
    let answer = if force {
        server.force_apply(manager, shop).await
    } else {
        server.apply(manager, shop).await
    };
    match answer {
        Ok(object) => lines.extend(owners(&object)?),
        Err(refusal) => lines.push(
            Style::Error
                .paint(&format!("{}:", refusal.code))
                .and(format!(" {}", refusal.message)),
        ),
    }
    Ok(lines)
}

/// The specification of an object, with the owners of each line.
fn owners(object: &Json) -> Result<Vec<Line>, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::Other(error.to_string());
    let object = Value::from_json(&object.to_string()).map_err(|error| failed(&error))?;
    // The clock of the server stands still.
    let now = "2026-01-31T12:00:00Z"
        .parse()
        .map_err(|error: TimeError| failed(&error))?;
    let owned = Owned::new(object, now);
    let lines = fieldmanager_blame::lines(&owned.object, &owned.entries(), None);
    // What is above and after `spec` says nothing here.
    let spec = lines
        .into_iter()
        .skip_while(|line| line.text() != "spec:")
        .collect::<Vec<_>>();
    Ok(blame::terminal_lines(&owned, &spec, output::room()))
}

/// Waits for a line of a terminal.
fn pause() -> Result<(), Failure> {
    if stdin().is_terminal() {
        output::err().line(Style::Faint.paint("(Enter continues)"))?;
        stdin().read_line(&mut String::new())?;
    }
    Ok(())
}

/// Serves the page on a terminal, until a line is read.
async fn show_page(server: &TestServer) -> Result<(), Failure> {
    let next = "What next: `fieldmanager serve` starts such a server for your tests, and `fieldmanager --help` lists the rest.";
    output::print_lines([Line::default(), Line::from(next)])?;
    if !stdin().is_terminal() {
        return Ok(());
    }

    let listening = Listening::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), None).await?;
    let page = format!("{}{}", listening.url(), server.page_path()?);
    output::print_lines([
        Line::from("The history of the shop, step by step, with its owners: ")
            .and(Style::Owned.paint(&page)),
    ])?;
    output::err().line(Style::Faint.paint("(Enter ends)"))?;
    let stop = async {
        let read = tokio::task::spawn_blocking(|| stdin().read_line(&mut String::new()));
        // An input that cannot be read has ended.
        let _ = read.await;
    };
    listening
        .run(server.service(), stop)
        .await
        .map_err(|error| Failure::Other(error.to_string()))
}
