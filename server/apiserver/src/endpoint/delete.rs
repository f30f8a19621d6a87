//! `DELETE` of objects and of collections.

use std::sync::{Arc, LazyLock};

use fieldmanager_access::User;
use fieldmanager_admission::AdmissionOperation;
use fieldmanager_handlers::Action;
use fieldmanager_value::Value;

use super::admission::{Subject, add_warnings};
use super::definition::deleted_definition;
use super::deletion::{DeleteOptions, DeletionEffect, own_grace};
use super::failure::{Unwritten, until_written};
use super::list::check_options;
use super::selection::Selection;
use super::{Answer, Call, Content, Core, Failure};
use crate::collector::Propagation;
use crate::object::{at_revision, finalizers, is_terminating, map, text, with};
use crate::registry::Served;
use crate::store::{Entry, Write};

/// The namespaces that cannot be deleted.
const PERMANENT: [&str; 3] = ["default", "kube-system", "kube-public"];

/// The user of the deletions that the collector makes.
static COLLECTOR: LazyLock<Arc<User>> = LazyLock::new(|| {
    let groups = [
        "system:serviceaccounts",
        "system:serviceaccounts:kube-system",
    ];
    let name = "system:serviceaccount:kube-system:generic-garbage-collector";
    Arc::new(User::new(name, &groups))
});

impl Core {
    pub(super) async fn delete(&self, call: &Call<'_>) -> Result<Answer, Failure> {
        let options = DeleteOptions::of(call)?;
        options.warned(call, self.delete_named(call, &options).await)
    }

    async fn delete_named(
        &self,
        call: &Call<'_>,
        options: &DeleteOptions,
    ) -> Result<Answer, Failure> {
        let key = call.served.key(call.namespace, call.name)?;
        let read = self.objects(call.served).get(&key, None).await;
        let entry = read.map_err(Failure::of_read)?.entry;
        if options.is_unsafe && entry.is_some() {
            let reason =
                "unsafe deletion is not allowed because the object is decodable from storage";
            return Err(Failure::of_object(
                409,
                "Conflict",
                call,
                |resource, name| {
                    format!("Operation cannot be fulfilled on {resource} {name}: {reason}")
                },
            ));
        }
        let deleted = until_written(entry, |live| async move {
            self.delete_entry(call.served, &live, options).await
        });
        deleted.await?.ok_or_else(|| Failure::not_found(call))
    }

    /// Deletes one stored object, or marks it as terminating, and does what follows from that.
    pub(super) async fn delete_entry(
        &self,
        served: &Served,
        entry: &Entry,
        options: &DeleteOptions,
    ) -> Result<Answer, Unwritten> {
        let (answer, is_removed) = self.delete_object(served, entry, options).await?;
        if options.dry_run {
            return Ok(answer);
        }

        if is_removed {
            self.removed(served, &entry.object).await?;
            self.recount_after(served, &entry.key, Action::Delete)
                .await?;
        } else {
            // The consequences of an earlier deletion may have failed.
            self.marked(served, &entry.key).await?;
        }
        Ok(answer)
    }

    /// Deletes one stored object, or marks it as terminating, and nothing else. Returns whether it no longer exists.
    async fn delete_object(
        &self,
        served: &Served,
        entry: &Entry,
        options: &DeleteOptions,
    ) -> Result<(Answer, bool), Unwritten> {
        let objects = self.objects(served);
        let live = served.read(entry);
        options.check(served, &live)?;
        let name = text(&live, &["metadata", "name"]);
        if served.is(|kind| kind.is_namespace) && PERMANENT.contains(&name) {
            return Err(forbidden_namespace(name).into());
        }

        // What happens to the object.
        let now = self.source.now();
        let has_finalizers = finalizers(&live).next().is_some();
        let effect = if served.is_definition() && !is_terminating(&live) {
            DeletionEffect::Mark(deleted_definition(&live, &now.to_string()))
        } else {
            options.effect(served, &live, now)
        };
        let is_marked = matches!(effect, DeletionEffect::Mark(_));
        let is_nothing = matches!(effect, DeletionEffect::Nothing);
        // A request that waits for a grace period, or for the objects of a namespace, asks nobody.
        let is_waiting = served.is(|kind| kind.is_namespace) || own_grace(&live) > 0;
        let is_asked = !is_nothing || !is_waiting;
        let shown = options.object(served, &live);
        let ask = async |live: &Value| {
            let (user, dry_run) = (options.user.as_ref(), options.dry_run);
            let name = if options.is_one_of_many { "" } else { name };
            self.ask(served, entry, (user, name, dry_run), (&shown, live))
                .await
        };
        let mut warnings = if is_asked {
            ask(&live).await?
        } else {
            Vec::new()
        };
        let is_removed = !is_marked && !is_nothing;
        let is_accepted = options.orphan == Some(false) && !options.dry_run && !is_removed;
        let code = if is_accepted { 202 } else { 200 };

        // The object after it.
        let is_in_two_steps = matches!(effect, DeletionEffect::End(_)) || has_finalizers;
        let (object, writes) = match effect {
            DeletionEffect::Mark(marked) | DeletionEffect::End(marked) if options.dry_run => {
                (marked, (false, false))
            }
            _ if options.dry_run => (live.clone(), (false, false)),
            DeletionEffect::Nothing => (live.clone(), (false, false)),
            DeletionEffect::Mark(marked) => (marked, (true, false)),
            DeletionEffect::End(marked) => (marked, (true, true)),
            DeletionEffect::Remove => (live.clone(), (false, true)),
        };
        let (updates, deletes) = writes;
        let (mut object, mut revision) = (object, entry.revision);

        if updates {
            let update = Write::Update {
                expected: revision,
                object: served.to_stored(&object),
            };
            revision = objects.write(&entry.key, update).await?;
            object = self.read_back(served, &entry.key, revision, object).await?;
        }

        if deletes {
            let expected = revision;
            // What removes an object after another step asks once more.
            if is_in_two_steps {
                let more = ask(&at_revision(&object, revision)).await?;
                add_warnings(&mut warnings, more);
            }
            revision = objects
                .write(&entry.key, Write::Delete { expected })
                .await?;
        }

        // Most kinds answer a complete deletion with a `Status`, and an object that still exists with the object.
        let content = if is_removed && !served.is(|kind| kind.returns_deleted) {
            Content::Status(deleted(served, &live))
        } else {
            Content::Object(at_revision(&object, revision))
        };
        let answer = Answer {
            warnings,
            ..Answer::new(code, content)
        };
        Ok((answer, is_removed))
    }

    /// Asks admission about the deletion of an object by a user, if there is one. Returns warnings.
    async fn ask(
        &self,
        served: &Served,
        entry: &Entry,
        (user, name, dry_run): (Option<&Arc<User>>, &str, bool),
        (options, live): (&Value, &Value),
    ) -> Result<Vec<String>, Failure> {
        let Some(user) = user else {
            return Ok(Vec::new());
        };
        let subject = Subject {
            served,
            kind: served.kind(),
            operation: AdmissionOperation::Delete,
            subresource: "",
            namespace: entry.key.parts().namespace.unwrap_or_default(),
            name,
            user,
            dry_run,
        };
        self.admit_deletion(&subject, options, live).await
    }

    pub(super) async fn delete_collection(&self, call: &Call<'_>) -> Result<Answer, Failure> {
        // The options of the list are checked before those of the deletions.
        Selection::of(call)?;
        check_options(call.query, false)?;
        let options = DeleteOptions::of_collection(call)?;
        let deleted = self.delete_selected(call, &options).await;
        options.warned(call, deleted)
    }

    async fn delete_selected(
        &self,
        call: &Call<'_>,
        options: &DeleteOptions,
    ) -> Result<Answer, Failure> {
        let mut page = self.page(call, false).await?;
        let (mut items, mut warnings) = (Vec::new(), Vec::new());
        for entry in std::mem::take(&mut page.items) {
            // Each object is deleted at its newest state, and one that another request deleted meanwhile is left out.
            let deleted = until_written(Some(entry), |live| async move {
                let answer = self.delete_entry(call.served, &live, options).await?;
                let object = call.served.read(&live);
                Ok((Entry { object, ..live }, answer.warnings))
            });
            if let Some((item, more)) = deleted.await? {
                items.push(item);
                add_warnings(&mut warnings, more);
            }
        }

        let listed = super::Listed {
            items,
            are_stored: false,
            ..page
        };
        Ok(Answer {
            warnings,
            ..Answer::new(200, Content::List(listed))
        })
    }

    /// Deletes an object that is at the revision of the entry, as a request with this propagation policy does.
    pub(crate) async fn collect(
        &self,
        served: &Served,
        entry: &Entry,
        propagation: Propagation,
    ) -> Result<(), Unwritten> {
        let options = DeleteOptions {
            user: Some(COLLECTOR.clone()),
            ..DeleteOptions::of_propagation(propagation)
        };
        self.delete_entry(served, entry, &options).await.map(|_| ())
    }

    /// Deletes an object of a definition that ends. The caller looks whether it was the last one.
    pub(super) async fn delete_instance(
        &self,
        served: &Served,
        entry: Entry,
    ) -> Result<(), Failure> {
        let options = &DeleteOptions::of_propagation(Propagation::Background);
        let entry = self.converted(served, &entry).await?;
        let deleted = until_written(Some(entry), |entry| async move {
            self.delete_object(served, &entry, options).await
        });
        deleted.await.map(|_| ())
    }
}

fn forbidden_namespace(name: &str) -> Failure {
    let message = format!("namespaces {name:?} is forbidden: this namespace may not be deleted");
    Failure::about(403, "Forbidden", ("", "namespaces", name), message)
}

/// A `Status` of success.
pub(super) fn success() -> Value {
    map([
        ("kind", "Status".into()),
        ("apiVersion", "v1".into()),
        ("metadata", map([])),
        ("status", "Success".into()),
    ])
}

/// The answer to a deletion that is complete.
fn deleted(served: &Served, object: &Value) -> Value {
    let details = [
        ("name", text(object, &["metadata", "name"])),
        ("group", served.facts.group.as_str()),
        ("kind", served.facts.plural.as_str()),
        ("uid", text(object, &["metadata", "uid"])),
    ];
    let details = details.into_iter().filter(|(_, text)| !text.is_empty());

    with(
        &success(),
        "details",
        map(details.map(|(name, text)| (name, text.into()))),
    )
}
