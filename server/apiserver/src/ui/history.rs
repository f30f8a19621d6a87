//! The history of an object: a slider, what happened at its position, and a list of everything that happened.

use fieldmanager_blame::html::Emphasis;
use fieldmanager_blame::{Palette, printable};
use maud::{Markup, html};

use super::frame::{Frame, Page};
use super::objects::{heading, table};
use super::place::Place;
use super::step::{Fight, Step, fights, name, steps};
use crate::endpoint::{Core, Failure};
use crate::log::{Event, Item, ObjectHistory, Request};
use crate::query::Query;

/// The page of a history. With the parameter `part=state` it is only the part that the slider changes.
pub(super) async fn history(core: &Core, place: &Place, query: &Query) -> Result<Page, Failure> {
    let history = place.history(core);
    // An object from before the start has no history yet, and a deleted one has only its history: each of them has a
    // page.
    if history.items.is_empty() && place.entry(core).await?.is_none() {
        return Err(place.not_found());
    }
    // The number of an item remains when older items are dropped, and its position does not. The last item is shown for
    // an unknown number.
    let wanted: Option<u64> = query.get("at").and_then(|number| number.parse().ok());
    let last = history.items.len().saturating_sub(1);
    let at = history
        .items
        .iter()
        .position(|item| Some(item.number) == wanted)
        .unwrap_or(last);

    // The script asks for this part at each move of the slider, so the changes of all other items are not computed.
    if query.text("part") == "state" {
        let step = history.items.get(at).map(|item| Step {
            item,
            changes: history.changes(at),
        });
        let managers = step
            .iter()
            .flat_map(|step| managers_of(std::slice::from_ref(step)));
        let palette = Palette::new(managers);
        return Ok(Page::html(
            html! { @if let Some(step) = &step { (state(core, place, &history, at, step, &palette)) } },
        ));
    }

    let steps = steps(&history);
    let palette = Palette::new(managers_of(&steps));
    let content = html! {
        (heading(core, place, "Each write with the fields that managers gained and lost, and each request that was refused."))
        @match steps.get(at) {
            None => div.columns { section.wide { p { "The object has not been written since the server started, or the server keeps no history." } } },
            Some(step) => {
                div.columns.past {
                    (fight_list(&fights(&steps), &palette))
                    (slider(place, &history, at, &steps, &palette))
                    section #state aria-label="State" { (state(core, place, &history, at, step, &palette)) }
                    (events(place, &history, at, &steps, &palette))
                }
            }
        }
    };

    let title = format!("History of {} {}", place.kind(), place.name());
    // The version of the page is that of its last item, so the page is replaced when something happens to the object,
    // and not at the writes of others.
    let version = history
        .items
        .iter()
        .map(|item| item.number)
        .max()
        .unwrap_or_default();

    Ok(Frame {
        version: version.to_string(),
        ..Frame::new(&title)
    }
    .page(&content))
}

fn managers_of<'s>(steps: &'s [Step<'_>]) -> Vec<&'s str> {
    let changed = |step: &'s Step<'_>| step.changes.iter().map(|change| change.manager.as_str());
    let mut managers: Vec<&str> = steps
        .iter()
        .flat_map(|step| changed(step).chain([step.manager()]))
        .collect();
    managers.retain(|manager| !manager.is_empty());
    managers
}

/// The fields about which managers disagree.
fn fight_list(fights: &[Fight], palette: &Palette) -> Markup {
    html! {
        section.wide.fights #fights aria-label="Disputed fields" {
            @if !fights.is_empty() {
                h2 { "Disputed fields" }
                ul {
                    @for fight in fights.iter().take(20) {
                        li {
                            code { (printable(&fight.path)) } ": "
                            @for manager in &fight.managers { (name(palette, manager)) " " }
                            "took it " (times(fight.taken)) ", and were refused " (times(fight.refused)) "."
                        }
                    }
                }
                @if fights.len() > 20 { p { (fights.len() - 20) " more fields are disputed." } }
            }
        }
    }
}

fn times(count: usize) -> String {
    match count {
        0 => "never".to_owned(),
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}

fn slider(
    place: &Place,
    history: &ObjectHistory,
    at: usize,
    steps: &[Step<'_>],
    palette: &Palette,
) -> Markup {
    // Links have the number of an item, which stays valid when older items are dropped.
    let link = |at: usize| {
        history
            .items
            .get(at)
            .map(|item| format!("{}?at={}", place.link("history"), item.number))
    };
    let mut managers = managers_of(steps);
    managers.sort_unstable();
    managers.dedup();
    let shown = steps
        .get(at)
        .map(|step| format!("{} of {}: {}", at + 1, steps.len(), step.sentence()));

    // The script maps a position of the slider to the number of its item.
    let numbers: Vec<String> = history
        .items
        .iter()
        .map(|item| item.number.to_string())
        .collect();
    html! {
            section.wide.player aria-label="Position in the history" {
                div.strip #strip aria-hidden="true" {
                    @for step in steps {
    span class=(tick(step, palette)) {}
                    }
                }
                input #slider type="range" hidden min="0" max=(history.items.len().saturating_sub(1)) value=(at)
                    aria-label="Position in the history" aria-valuetext=[shown] data-numbers=(numbers.join(" "));
                div.controls {
                    (control("previous", "Previous", at.checked_sub(1).and_then(link)))
                    button #play type="button" hidden { "Play" }
                    (control("next", "Next", link(at + 1)))
                    span #position aria-live="polite" { (at + 1) " of " (history.items.len()) }
                }
            }
            p.wide.names { @for manager in managers { (name(palette, manager)) " " } }
        }
}

/// A link to a position. It can have the focus without an address too, so that the focus stays when the script removes it.
fn control(id: &str, label: &str, href: Option<String>) -> Markup {
    html! {
        a id=(id) .button role="link" tabindex="0" aria-disabled=[href.is_none().then_some("true")] href=[href] { (label) }
    }
}

/// The classes of a step in the strip.
fn tick(step: &Step<'_>, palette: &Palette) -> String {
    let refused = if matches!(step.item.event, Event::Refused(_)) {
        " refused"
    } else {
        ""
    };
    format!("c{}{refused}", palette.colour(step.manager()))
}

/// What happened at a position, and the object after it.
fn state(
    core: &Core,
    place: &Place,
    history: &ObjectHistory,
    at: usize,
    step: &Step<'_>,
    palette: &Palette,
) -> Markup {
    let (object, before) = history.states(at);
    let (changed, refused) = step.paths();
    let ty = place
        .served
        .as_ref()
        .and_then(|served| served.object_type());
    let emphasis = |line: &fieldmanager_blame::Line| {
        if refused.contains(&line.path) {
            Emphasis::Refused
        } else if changed.contains(&line.path) {
            Emphasis::Changed
        } else {
            Emphasis::None
        }
    };
    // A refused request is shown at the object that it did not change, and a deletion at the last state of the object.
    let shown = match &step.item.event {
        Event::Refused(_) => object,
        event => event.object().or(before),
    };

    html! {
        h2 { (revision(step)) }
        p.sentence { (step.sentence()) }
        @if let Some(request) = &step.item.request { (about(step.item, request)) }
        (effects(step, palette))
        @if matches!(step.item.event, Event::Written { object: None, .. }) { p { "The object was removed. This is what it was:" } }
        @match shown {
            Some(object) => (table(core, object, ty.as_ref(), &emphasis)),
            None => p { "The object does not exist." },
        }
    }
}

fn revision(step: &Step<'_>) -> String {
    match step.item.event.revision() {
        Some(revision) => format!("Revision {revision}"),
        None => "Refused request".to_owned(),
    }
}

/// The request of a step.
fn about(item: &Item, request: &Request) -> Markup {
    html! {
        dl {
            dt { "Time" } dd { (printable(&item.time)) }
            dt { "User" } dd { (printable(&request.user)) }
            dt { "Request" } dd {
                (printable(&request.verb))
                @if !request.subresource.is_empty() { " of " (printable(&request.subresource)) }
                " at " (printable(&request.version)) ", answered with " (request.status)
            }
            @if !request.user_agent.is_empty() { dt { "User agent" } dd { (printable(&request.user_agent)) } }
            @if let Some(fault) = &request.fault { dt { "Fault" } dd.fault { (printable(fault)) } }
            @if !request.admission.is_empty() { dt { "Admission" } }
            @for effect in &request.admission { dd.admission { (printable(effect)) } }
        }
    }
}

/// The fields that each manager gained, lost and changed, and the conflicts of a refused request.
fn effects(step: &Step<'_>, palette: &Palette) -> Markup {
    html! {
        @if !step.changes.is_empty() {
            table.list.effects {
                thead { tr { th scope="col" { "Manager" } th scope="col" { "Effect" } th scope="col" { "Fields" } } }
                tbody {
                    @for change in &step.changes {
                        @for (verb, paths) in [("took", &change.took), ("gained", &change.gained), ("lost", &change.lost), ("changed", &change.changed)] {
                            @let shown: Vec<_> = paths.iter().filter(|path| verb != "gained" || !change.took.contains(path)).collect();
                            @if !shown.is_empty() {
                                tr {
                                    td { (name(palette, &change.manager)) " " small { (change.operation) @if !change.subresource.is_empty() { ", " (printable(&change.subresource)) } } }
                                    td.verb { (verb) }
                                    td.paths { @for path in shown.iter().take(100) { code { (printable(path)) } " " } @if shown.len() > 100 { (shown.len() - 100) " more" } }
                                }
                            }
                        }
                    }
                }
            }
        }
        @if let Event::Refused(refusal) = &step.item.event {
            @if !refusal.conflicts.is_empty() {
                ul.conflicts { @for (message, path) in refusal.conflicts.iter().take(100) { li { code { (printable(path)) } ": " (printable(message)) } } }
            }
        }
    }
}

/// Everything that happened, the latest last.
fn events(
    place: &Place,
    history: &ObjectHistory,
    at: usize,
    steps: &[Step<'_>],
    palette: &Palette,
) -> Markup {
    html! {
        section #events aria-labelledby="all" {
            h2 #all { "Everything that happened" }
            @if history.dropped > 0 { p { (history.dropped) " older events are no longer kept." } }
            div.code tabindex="0" role="region" aria-label="events" {
                table.list {
                    thead { tr { th scope="col" { "Event" } th scope="col" { "What happened" } } }
                    tbody {
                        @for (position, step) in steps.iter().enumerate() {
                            @let time = step.item.request.as_ref().map(|_| printable(&step.item.time));
                            tr.refused[matches!(step.item.event, Event::Refused(_))] {
                                td.event {
                                    a href=(format!("{}?at={}", place.link("history"), step.item.number))
                                        data-position=(position)
                                        aria-current=[(position == at).then_some("true")] { (revision(step)) }
                                    " " small { (time.unwrap_or_default()) }
                                }
                                td { (step.coloured(palette)) }
                            }
                        }
                    }
                }
            }
        }
    }
}
