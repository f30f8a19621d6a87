//! The page for people, with the headers that browsers need.

use std::sync::Arc;

use http::header::{self, HeaderName, HeaderValue};
use http::{Method, Response};

use super::message::{Body, Head, full, response};
use crate::endpoint::{Core, Failure};
use crate::gate::Gate;
use crate::ui;

/// What a browser without the cookie shows.
const UNKNOWN_BROWSER: &str = "This page opens with the link that the server printed, which works once. A client with a token gets \
                               another link by a POST to /ui/link.\n";

/// Lets a request below `/ui` pass if it has a token, or the cookie of a browser that opened a link. The answer to a link
/// is the cookie.
pub(super) async fn admit(
    core: &Core,
    gate: &Gate,
    head: &Head,
) -> Result<Option<Response<Body>>, Failure> {
    let user = core
        .authenticate(head.header(header::AUTHORIZATION), head.peer.as_ref())
        .await;
    if user.is_ok_and(|user| core.access.may_see_page(&user)) {
        return Ok(None);
    }

    if let Some(code) = head
        .query
        .get("code")
        .filter(|_| head.method == Method::GET)
        && let Some(cookie) = gate.browsers.redeem(code)
    {
        // The redirection removes the code from the address that the browser shows and remembers.
        let mut response = response(303, ui::HTML, full(""));
        set(&mut response, header::LOCATION, "/ui");
        let secure = if head.url().starts_with("https:") {
            "; Secure"
        } else {
            ""
        };
        let cookie = format!("{cookie}; Path=/ui; HttpOnly; SameSite=Strict{secure}");
        set(&mut response, header::SET_COOKIE, &cookie);
        return Ok(Some(response));
    }

    let cookies = head
        .headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let has_cookie = cookies
        .flat_map(|cookies| cookies.split(';'))
        .any(|one| gate.browsers.has(one.trim()));

    // A cookie only reads.
    if has_cookie && matches!(head.method, Method::GET | Method::HEAD) {
        Ok(None)
    } else {
        Err(Failure {
            is_text: true,
            ..Failure::new(401, "Unauthorized", UNKNOWN_BROWSER)
        })
    }
}

/// The answer to a request below `/ui`.
pub(super) async fn respond(
    core: &Arc<Core>,
    gate: &Gate,
    head: &Head,
    path: &[String],
) -> Result<Response<Body>, Failure> {
    // A cookie admits reads alone, so a client that posts has a token, if the server asks for one.
    if head.method == Method::POST && path == ["link"] {
        let failed = |error: std::io::Error| Failure::new(500, "InternalError", error.to_string());
        let path = gate.page_path(core.access.is_open()).map_err(failed)?;
        let link = format!("{}{}", head.url(), path);
        let body = format!("{}\n", serde_json::json!({ "link": link }));
        return Ok(response(201, "application/json", full(body)));
    }

    if !matches!(head.method, Method::GET | Method::HEAD) {
        return Err(Failure::method_not_allowed());
    }

    // The tag changes with every write and every item of a history, so an unchanged page is not made again.
    let tag = ui::tag(core).await?;
    if head.header(header::IF_NONE_MATCH) == Some(tag.as_str()) {
        let mut unchanged = response(304, ui::HTML, full(""));
        set(&mut unchanged, header::ETAG, &tag);
        return Ok(unchanged);
    }

    let page = ui::answer(core, path, &head.query)
        .await
        .unwrap_or_else(|failure| ui::failed(&failure));
    let mut response = response(page.code, page.content_type, full(page.body));
    // A failure may end without a change of the tag, so a browser must ask again.
    if page.code == 200 {
        set(&mut response, header::ETAG, &tag);
    }

    // Pages show values of clients. A browser must not run what is in them, guess another type, or send addresses
    // elsewhere.
    set(&mut response, header::CONTENT_SECURITY_POLICY, ui::policy());
    set(&mut response, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(&mut response, header::REFERRER_POLICY, "no-referrer");
    if let Some(name) = page.file_name {
        set(
            &mut response,
            header::CONTENT_DISPOSITION,
            &format!("attachment; filename=\"{name}\""),
        );
    }

    Ok(response)
}

fn set(response: &mut Response<Body>, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}
