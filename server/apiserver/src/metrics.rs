//! What the server counts, under the names of kube-apiserver.

use std::collections::HashMap;

use prometheus::core::{Collector, MetricVec, MetricVecBuilder};
use prometheus::{
    HistogramOpts, HistogramVec, IntCounterVec, IntGaugeVec, Opts, Registry, TextEncoder,
};
use tokio::time::Instant;

/// The content type of the text format of Prometheus.
pub(crate) const CONTENT_TYPE: &str = prometheus::TEXT_FORMAT;

/// The upper bounds of durations, in seconds.
const DURATIONS: [f64; 23] = [
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0,
    10.0, 15.0, 20.0, 30.0, 45.0, 60.0,
];

/// The labels of a request. Their values are names that the server knows, so that no client adds time series at will.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Labels {
    pub(crate) verb: &'static str,
    pub(crate) dry_run: &'static str,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) resource: String,
    /// The subresource, or the path of a request that is for no resource.
    pub(crate) subresource: String,
    pub(crate) scope: &'static str,
}

impl Labels {
    const NAMES: [&str; 8] = [
        "verb",
        "group",
        "version",
        "resource",
        "subresource",
        "scope",
        "component",
        "dry_run",
    ];

    fn values(&self) -> [&str; 8] {
        let component = match self.resource.as_str() {
            "" => "",
            _ => "apiserver",
        };
        [
            self.verb,
            &self.group,
            &self.version,
            &self.resource,
            &self.subresource,
            self.scope,
            component,
            self.dry_run,
        ]
    }

    fn kind(&self) -> &'static str {
        match self.verb {
            "GET" | "HEAD" | "LIST" | "WATCH" | "OPTIONS" => "readOnly",
            _ => "mutating",
        }
    }
}

/// The metrics of one server. Cheap to clone: all clones are the same metrics.
#[derive(Clone)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: IntCounterVec,
    durations: HistogramVec,
    in_flight: IntGaugeVec,
    long_running: IntGaugeVec,
    objects: IntGaugeVec,
    storage_objects: IntGaugeVec,
    seats: IntGaugeVec,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        #[expect(
            clippy::expect_used,
            reason = "the names are valid, and each is registered once"
        )]
        Self::registered().expect("valid metrics")
    }

    fn registered() -> prometheus::Result<Self> {
        let registry = Registry::new();
        let gauge = |name: &str, help: &str, labels: &[&str]| -> prometheus::Result<IntGaugeVec> {
            let gauge = IntGaugeVec::new(Opts::new(name, help), labels)?;
            registry.register(Box::new(gauge.clone()))?;
            Ok(gauge)
        };
        let in_flight = gauge(
            "apiserver_current_inflight_requests",
            "Requests that are answered at the moment, apart from watches.",
            &["request_kind"],
        )?;
        // A watch is never a dry run, and its series has no label for that, which is the last one.
        let (long_running_labels, _) = Labels::NAMES.split_at(7);

        let long_running = gauge(
            "apiserver_longrunning_requests",
            "Watches that are open.",
            long_running_labels,
        )?;
        let objects = gauge(
            "apiserver_resource_objects",
            "Number of stored objects by resource.",
            &["group", "resource"],
        )?;
        let storage_objects = gauge(
            "apiserver_storage_objects",
            "Number of stored objects by resource.",
            &["resource"],
        )?;
        let seats = gauge(
            "apiserver_flowcontrol_nominal_limit_seats",
            "Share of each priority level in the requests that are answered at once; no request waits because of it.",
            &["priority_level"],
        )?;

        let code: Vec<&str> = Labels::NAMES.into_iter().chain(["code"]).collect();
        let help =
            "Requests by verb, dry run, group, version, resource, scope, component and code.";
        let requests = IntCounterVec::new(Opts::new("apiserver_request_total", help), &code)?;
        registry.register(Box::new(requests.clone()))?;
        let help = "Seconds until the end of the answer; of a watch, until its end.";
        let options = HistogramOpts::new("apiserver_request_duration_seconds", help);
        let durations = HistogramVec::new(options.buckets(DURATIONS.to_vec()), &Labels::NAMES)?;
        registry.register(Box::new(durations.clone()))?;
        // Both series exist from the start, as a series that is absent is no zero for a query.
        for kind in ["readOnly", "mutating"] {
            in_flight.get_metric_with_label_values(&[kind])?.set(0);
        }

        #[cfg(target_os = "linux")]
        registry.register(Box::new(
            prometheus::process_collector::ProcessCollector::for_self(),
        ))?;
        Ok(Metrics {
            registry,
            requests,
            durations,
            in_flight,
            long_running,
            objects,
            storage_objects,
            seats,
        })
    }

    /// Counts a request from now until the result is dropped.
    pub(crate) fn begin(&self, labels: Labels) -> Measured {
        let measured = Measured {
            metrics: self.clone(),
            labels,
            since: Instant::now(),
            code: None,
        };
        measured.add(1);
        measured
    }

    /// Removes the series of resources that are not served, given by group, version and plural: clients would add series
    /// for ever by definitions that they create and delete.
    pub(crate) fn retain(&self, is_served: impl Fn(&str, &str, &str) -> bool) {
        retain(&self.requests, &is_served);
        retain(&self.durations, &is_served);
        retain(&self.long_running, &is_served);
    }

    /// Removes the numbers of objects, which follow.
    pub(crate) fn clear_objects(&self) {
        self.objects.reset();
        self.storage_objects.reset();
    }

    /// Sets the number of the objects of a resource. `name` is that of messages, such as `deployments.apps`.
    pub(crate) fn set_objects(&self, group: &str, plural: &str, name: &str, count: u64) {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        if let Ok(gauge) = self.objects.get_metric_with_label_values(&[group, plural]) {
            gauge.set(count);
        }
        if let Ok(gauge) = self.storage_objects.get_metric_with_label_values(&[name]) {
            gauge.set(count);
        }
    }

    /// Sets the seats of all priority levels.
    pub(crate) fn set_seats(&self, levels: Vec<(String, u64)>) {
        self.seats.reset();
        for (level, seats) in levels {
            if let Ok(gauge) = self.seats.get_metric_with_label_values(&[level]) {
                gauge.set(i64::try_from(seats).unwrap_or(i64::MAX));
            }
        }
    }

    /// All metrics in the text format of Prometheus. The error is a message.
    pub(crate) fn text(&self) -> Result<String, String> {
        write(&self.registry)
    }
}

/// The metrics of a registry in the text format of Prometheus. The error is a message.
pub(crate) fn write(registry: &Registry) -> Result<String, String> {
    let encoded = TextEncoder::new().encode_to_string(&registry.gather());
    encoded.map_err(|error| error.to_string())
}

fn retain<T: MetricVecBuilder>(series: &MetricVec<T>, is_served: &impl Fn(&str, &str, &str) -> bool)
where
    MetricVec<T>: Collector,
{
    for family in series.collect() {
        for metric in family.get_metric() {
            let labels: HashMap<&str, &str> = metric
                .get_label()
                .iter()
                .map(|label| (label.name(), label.value()))
                .collect();
            let label = |name: &str| labels.get(name).copied().unwrap_or_default();

            // The end of a watch that is open will be subtracted.
            let is_open = metric.get_gauge().get_value() != 0.0;
            let is_resource = !label("resource").is_empty();
            if is_resource
                && !is_open
                && !is_served(label("group"), label("version"), label("resource"))
            {
                // Another request may have removed it.
                let _ = series.remove(&labels);
            }
        }
    }
}

/// A request that is counted.
pub(crate) struct Measured {
    metrics: Metrics,
    labels: Labels,
    since: Instant,
    /// `None`: the client ended the request before it was answered.
    code: Option<u16>,
}

impl Measured {
    /// Sets the code of the answer.
    pub(crate) fn answered(&mut self, code: u16) {
        self.code = Some(code);
    }

    fn add(&self, count: i64) {
        let values = self.labels.values();
        let (long_running, _) = values.split_at(7);
        let gauge = match self.labels.verb {
            "WATCH" => self
                .metrics
                .long_running
                .get_metric_with_label_values(long_running),
            _ => self
                .metrics
                .in_flight
                .get_metric_with_label_values(&[self.labels.kind()]),
        };

        if let Ok(gauge) = gauge {
            gauge.add(count);
        }
    }
}

impl Drop for Measured {
    fn drop(&mut self) {
        self.add(-1);
        let Some(code) = self.code.map(|code| code.to_string()) else {
            return;
        };
        let values = self.labels.values();
        let with_code: Vec<&str> = values.into_iter().chain([code.as_str()]).collect();

        if let Ok(counter) = self
            .metrics
            .requests
            .get_metric_with_label_values(&with_code)
        {
            counter.inc();
        }

        if let Ok(histogram) = self.metrics.durations.get_metric_with_label_values(&values) {
            histogram.observe(self.since.elapsed().as_secs_f64());
        }
    }
}
