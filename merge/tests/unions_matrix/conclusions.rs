//! The numbered conclusions of the KEP. The numbers are rows of a table that is no longer public; the first of each pair
//! is the case without a discriminator.

use fieldmanager_typed::Ratcheting;

use super::{Case, Change, Client, Form, REFUSED, Verb, cell, map};

/// "If a structured client is unaware of a field in the union that is set and it just wants to echo back the
/// union it received in a get request (such as when updating other parts of the object), a client without a
/// discriminator will silently drop the currently set field."
#[test]
fn case_12() {
    let case = cell(
        Form::Plain,
        Verb::Put,
        Change::None,
        "n",
        Client::Structured,
    );
    let case = Case {
        client_knows: false,
        ..case
    };
    assert_eq!(case.run(), case.without(None));
    // If the union is required, the missing member is detected.
    assert_eq!(
        Case {
            optional: false,
            ..case
        }
        .run(),
        REFUSED
    );
    // A patch contains only changes.
    assert_eq!(
        Case {
            verb: Verb::MergePatch,
            ..case
        }
        .run(),
        case.with("n")
    );
    // The unstructured client keeps unknown fields.
    assert_eq!(
        Case {
            client: Client::Unstructured,
            ..case
        }
        .run(),
        case.with("n")
    );
}

/// "... while a client with the discriminator will not change the discriminator value, indicating to the
/// server that no changes are desired in the union." The member is lost nevertheless: the server
/// can only detect that the object is inconsistent, and validation reports it.
#[test]
fn case_16() {
    for form in [Form::Deducing, Form::Respecting] {
        let case = cell(form, Verb::Put, Change::None, "n", Client::Structured);
        let case = Case {
            client_knows: false,
            ..case
        };
        assert_eq!(case.run(), REFUSED);
        assert_eq!(
            Case {
                verb: Verb::MergePatch,
                ..case
            }
            .run(),
            case.with("n")
        );

        // Normalization treats it as no change: no member is cleared or selected.
        let old = case.typed(&case.live_object());
        let echoed = case.typed(&case.as_the_client_has_it(&case.live_object()));
        let normalized = old.normalize_update(&echoed).unwrap();
        assert!(normalized.changes.is_empty());
        let faults = old.validate_unions(&normalized.value, Ratcheting::Off);
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(faults, [".n: must be specified when `type` is \"N\""]);
    }
}

/// "If an unstructured client is unaware of field on the union, but wants to clear the union entirely
/// (assuming the union is optional), it will have no way of doing so without a discriminator."
#[test]
fn case_22() {
    for verb in [Verb::Put, Verb::MergePatch, Verb::Apply] {
        let case = cell(Form::Plain, verb, Change::Clear, "n", Client::Unstructured);
        let case = Case {
            client_knows: false,
            ..case
        };
        assert_eq!(case.run(), case.with("n"));
    }
}

/// "With a discriminator, the client can express its intention by setting the discriminator to the empty
/// value and the server can respect its intentions and clear any fields the client is unaware of."
#[test]
fn case_27() {
    for verb in [Verb::Put, Verb::MergePatch, Verb::Apply] {
        let case = cell(
            Form::Respecting,
            verb,
            Change::Clear,
            "n",
            Client::Unstructured,
        );
        let case = Case {
            client_knows: false,
            ..case
        };
        assert_eq!(case.run(), case.without(Some("")), "{verb:?}");
        // The form of 2019 has a value of the API for it.
        let case = Case {
            form: Form::Deducing,
            ..case
        };
        assert_eq!(case.run(), case.without(Some("None")), "{verb:?}");
    }
}

/// "When a client goes to set a field it knows of, but a separate field it doesn't know about is currently
/// set [...] without a discriminator, the server will have to do convoluted logic to detect that the
/// previously set field has not been modified and that only one of the other union fields has been."
#[test]
fn case_23() {
    for verb in [Verb::Put, Verb::MergePatch, Verb::Apply] {
        let case = cell(Form::Plain, verb, Change::Known, "n", Client::Unstructured);
        let case = Case {
            client_knows: false,
            ..case
        };
        assert_eq!(case.run(), case.with("b"), "{verb:?}");
    }
}

/// "... the server can simply know to always respect the discriminator."
#[test]
fn case_28() {
    for form in [Form::Deducing, Form::Respecting] {
        for verb in [Verb::Put, Verb::MergePatch, Verb::Apply] {
            let case = cell(form, verb, Change::Known, "n", Client::Unstructured);
            let case = Case {
                client_knows: false,
                ..case
            };
            assert_eq!(case.run(), case.with("b"), "{form:?} {verb:?}");
        }
    }
}

/// "If a client sets a union field that the server is not aware of, the server will silently drop it and
/// attempt to clear the object of the union field."
#[test]
fn case_34() {
    for verb in [Verb::Create, Verb::Put, Verb::MergePatch] {
        for client in [Client::Structured, Client::Unstructured] {
            let case = cell(Form::Plain, verb, Change::New, "a", client);
            let case = Case {
                server_knows: false,
                ..case
            };
            assert_eq!(case.run(), case.without(None), "{verb:?}");
        }
    }
    // The applied configuration is empty, and omitting a member clears none.
    let case = cell(
        Form::Plain,
        Verb::Apply,
        Change::New,
        "a",
        Client::Structured,
    );
    assert_eq!(
        Case {
            server_knows: false,
            ..case
        }
        .run(),
        case.with("a")
    );
}

/// "With a discriminator, the server will see the unrecognized discriminator value and can fail loudly."
#[test]
fn case_39() {
    for verb in [Verb::Create, Verb::Put, Verb::MergePatch, Verb::Apply] {
        for client in [Client::Structured, Client::Unstructured] {
            let case = cell(Form::Respecting, verb, Change::New, "a", client);
            assert_eq!(
                Case {
                    server_knows: false,
                    ..case
                }
                .run(),
                REFUSED,
                "{verb:?}"
            );
        }
    }
    let case = cell(
        Form::Respecting,
        Verb::Put,
        Change::New,
        "a",
        Client::Structured,
    );
    let case = Case {
        server_knows: false,
        ..case
    };
    let new = case.typed(&map([("type", "N".into()), ("n", 1.into())]));
    let old = case.typed(&case.live_object());
    let faults = old.validate_unions(&new, Ratcheting::Off);
    let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(
        faults,
        [".type: Unsupported value: \"N\": supported values: \"A\", \"B\", \"\""]
    );
}
