//! Cells of events.

use fieldmanager_value::Value;

use super::object::Object;

pub(super) fn event(object: &Object<'_>) -> Vec<Value> {
    // Events of `events.k8s.io` have a time of their own, and no times of the older group.
    let first = if object.time("firstTimestamp").is_some() {
        "firstTimestamp"
    } else {
        "eventTime"
    };
    let first = object.since(first);
    // A series counts for itself. Otherwise an event that happened once may have no count and no last time.
    let (last, count) = if object.has("series") {
        (
            object.since("series.lastObservedTime"),
            object.number("series.count"),
        )
    } else {
        let last = object
            .time("lastTimestamp")
            .map_or_else(|| first.clone(), |time| object.elapsed(time));
        (
            last,
            Some(object.number("count"))
                .filter(|count| *count != 0)
                .unwrap_or(1),
        )
    };

    let kind = object.text("involvedObject.kind").to_lowercase();
    let target = match object.text("involvedObject.name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    // The older group has a source, and `events.k8s.io` the controller that reports.
    let component = object.text_or("source.component", object.text("reportingComponent"));
    let source = match object.text_or("source.host", object.text("reportingInstance")) {
        "" => component.to_owned(),
        host => format!("{component}, {host}"),
    };

    vec![
        last.into(),
        object.text("type").into(),
        object.text("reason").into(),
        target.into(),
        object.text("involvedObject.fieldPath").into(),
        source.into(),
        object.text("message").trim().into(),
        first.into(),
        count.into(),
        object.text("metadata.name").into(),
    ]
}
