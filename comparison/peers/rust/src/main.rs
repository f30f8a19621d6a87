//! Asks the crate `kube-fake-client` what `comparison/peers/go` asks the fakes of Go.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command that reports"
)]

use std::error::Error;
use std::time::Instant;

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use kube_fake_client::ClientBuilder;
use serde_json::{Value, json};

const OBJECTS: usize = 1000;

fn body(name: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "nginx"}]},
            },
        },
    })
}

fn deployment(name: &str) -> Result<Deployment, serde_json::Error> {
    serde_json::from_value(body(name))
}

/// The Deployments that are asked.
struct Deployments(Api<Deployment>);

type Asked = Result<bool, Box<dyn Error>>;

impl Deployments {
    async fn create(&self, made: &Deployment) -> Result<Deployment, kube::Error> {
        self.0.create(&PostParams::default(), made).await
    }

    async fn update(&self, changed: &Deployment) -> Result<Deployment, kube::Error> {
        let name = changed.name_any();
        self.0.replace(&name, &PostParams::default(), changed).await
    }

    async fn apply(
        &self,
        name: &str,
        manager: &str,
        replicas: i64,
    ) -> Result<Deployment, kube::Error> {
        let mut wanted = body(name);
        wanted["spec"]["replicas"] = replicas.into();
        self.0
            .patch(name, &PatchParams::apply(manager), &Patch::Apply(&wanted))
            .await
    }

    async fn refuses_without_selector(&self) -> Asked {
        let mut made = deployment("without-selector")?;
        // The selector itself is no option of the type.
        made.spec.get_or_insert_default().template.spec = None;
        Ok(code(self.create(&made).await) == 422)
    }

    async fn refuses_a_name(&self) -> Asked {
        Ok(code(self.create(&deployment("Wrong_Name")?).await) == 422)
    }

    async fn sets_defaults(&self) -> Asked {
        let made = self.create(&deployment("defaults")?).await?;
        Ok(made.spec.and_then(|spec| spec.replicas) == Some(1))
    }

    async fn conflicts_with_an_old_version(&self) -> Asked {
        let first = self.create(&deployment("old")?).await?;

        // The first one has the version before this update.
        let mut second = first.clone();
        second.labels_mut().insert("a".into(), "b".into());
        self.update(&second).await?;
        Ok(code(self.update(&first).await) == 409)
    }

    async fn counts_generations(&self) -> Asked {
        let mut first = self.create(&deployment("generation")?).await?;
        let before = first.metadata.generation.ok_or("there is no generation")?;
        first.spec.get_or_insert_default().paused = Some(true);
        Ok(self.update(&first).await?.metadata.generation == Some(before + 1))
    }

    async fn leaves_the_status(&self) -> Asked {
        let mut first = self.create(&deployment("status")?).await?;
        first.status.get_or_insert_default().replicas = Some(5);
        self.update(&first).await?;

        let status = self.0.get("status").await?.status;
        Ok(status
            .and_then(|status| status.replicas)
            .is_none_or(|replicas| replicas == 0))
    }

    async fn waits_for_finalizers(&self) -> Asked {
        let mut made = deployment("finalizer")?;
        made.finalizers_mut().push("example.com/wait".into());
        self.create(&made).await?;
        self.0.delete("finalizer", &DeleteParams::default()).await?;
        Ok(self
            .0
            .get("finalizer")
            .await?
            .metadata
            .deletion_timestamp
            .is_some())
    }

    async fn conflicts_with_managers(&self) -> Asked {
        self.apply("owned", "alice", 1).await?;
        Ok(code(self.apply("owned", "bob", 2).await) == 409)
    }

    async fn shares_equal_values(&self) -> Asked {
        self.apply("shared", "alice", 1).await?;
        Ok(code(self.apply("shared", "bob", 1).await) == 200)
    }
}

/// The code of an answer; 0 if it is none of a server.
fn code<T>(answer: Result<T, kube::Error>) -> u16 {
    match answer {
        Ok(_) => 200,
        Err(kube::Error::Api(status)) => status.code,
        Err(_) => 0,
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // The status of a Deployment is a subresource of a cluster; this fake has to be told.
    let began = Instant::now();
    let client = ClientBuilder::new()
        .with_status_subresource::<Deployment>()
        .build()
        .await?;
    let asked = Deployments(Api::namespaced(client, "default"));
    let first = began.elapsed();

    // One after the other, as a test makes its objects.
    let began = Instant::now();
    for number in 0..OBJECTS {
        asked
            .create(&deployment(&format!("many-{number}"))?)
            .await?;
    }
    println!(
        "kube-fake-client: first answer after {first:.1?}, {OBJECTS} creates in {:.0?}",
        began.elapsed()
    );

    // An answer that is an error is a no: a cluster would not give it.
    for (text, answer) in [
        (
            "an object without a required field is refused",
            asked.refuses_without_selector().await,
        ),
        ("a wrong name is refused", asked.refuses_a_name().await),
        ("defaults are set", asked.sets_defaults().await),
        (
            "an update with an old resourceVersion conflicts",
            asked.conflicts_with_an_old_version().await,
        ),
        (
            "a change of the spec counts as a generation",
            asked.counts_generations().await,
        ),
        (
            "an update leaves the status alone",
            asked.leaves_the_status().await,
        ),
        (
            "an object with a finalizer waits for it",
            asked.waits_for_finalizers().await,
        ),
        (
            "an apply conflicts with another manager",
            asked.conflicts_with_managers().await,
        ),
        (
            "an apply with the same value shares the field",
            asked.shares_equal_values().await,
        ),
    ] {
        let word = match answer {
            Ok(true) => "yes",
            Ok(false) => "no",
            Err(error) => {
                eprintln!("{text}: {error}");
                "no"
            }
        };
        println!("  {word:3} {text}");
    }
    Ok(())
}
