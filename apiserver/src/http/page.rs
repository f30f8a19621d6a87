//! The page for people, with the headers that browsers need.

use http::header::{self, HeaderName, HeaderValue};
use http::{Method, Response, StatusCode};

use super::message::{Body, Head, full, response};
use crate::endpoint::{Core, Failure};
use crate::ui;

/// The answer to a request below `/ui`.
pub(super) async fn respond(core: &Core, head: &Head, path: &[String]) -> Result<Response<Body>, Failure> {
    if !matches!(head.method, Method::GET | Method::HEAD) {
        return Err(Failure::method_not_allowed());
    }
    let tag = ui::tag(core).await?;
    if head.header(header::IF_NONE_MATCH) == Some(tag.as_str()) {
        let mut unchanged = response(304, ui::HTML, full(""));
        set(&mut unchanged, header::ETAG, &tag);
        return Ok(unchanged);
    }
    let page = ui::answer(core, path, &head.query).await.unwrap_or_else(|failure| ui::failed(&failure));
    let mut response = response(page.code, page.content_type, full(page.body));
    if page.code == 200 {
        set(&mut response, header::ETAG, &tag);
    }
    set(&mut response, header::CONTENT_SECURITY_POLICY, ui::policy());
    set(&mut response, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(&mut response, header::REFERRER_POLICY, "no-referrer");
    if let Some(name) = page.file_name {
        set(&mut response, header::CONTENT_DISPOSITION, &format!("attachment; filename=\"{name}\""));
    }
    Ok(response)
}

/// The answer to a request to the page that failed: a browser asks for the token.
pub(super) fn refused(mut response: Response<Body>) -> Response<Body> {
    if response.status() == StatusCode::UNAUTHORIZED {
        let challenge =
            "Basic realm=\"fieldmanager: any user name, and a token as the password\", charset=\"UTF-8\"";
        set(&mut response, header::WWW_AUTHENTICATE, challenge);
    }
    response
}

fn set(response: &mut Response<Body>, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}
