//! A session's state and past: where it stands or stood, what happened, why, how it differs, and where it can go another
//! way. Nothing here opens a session.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::host::events::Mark;
use crate::host::journal::copy;
use crate::host::replay::{last_text, on_replay_thread};
use crate::host::residents::error::ResidentError;
use crate::host::residents::fork::{Forking, MakeEdits};
use crate::host::residents::standing::State as Stands;
use crate::host::session::{Present, SessionError};
use crate::host::travel::{self, At, Moment, Point, PointFault, Timeline};
use crate::host::why;
use crate::lang::program::Program;
use crate::serve::http::access::caller::Caller;
use crate::serve::http::body::{Path, Queried, Typed, unstored};
use crate::serve::http::problem::Problem;
use crate::serve::http::programs::{SourceWire, place_of};
use crate::serve::http::server::Server;
use crate::serve::http::wire::{OfSession, SessionWire, etag, text_of};
use crate::serve::show;
use crate::serve::show::past::{difference_json, step_json};
use crate::serve::show::variables::{NoPlace, edits};
use crate::value::Value;
use crate::vm::protocol::Timestamp;
use crate::vm::protocol::view::View;

/// The most steps of a page.
const STEPS: usize = 1_000;

/// A moment of a session's past.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct When {
    /// A point, as in 41.3; none: now.
    at: Option<String>,
}

/// Which steps are wanted.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Steps {
    /// After this point.
    after: Option<String>,
    /// At most so many, and no more than 1,000.
    limit: Option<usize>,
}

/// Which trigger is meant.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Trigger {
    trigger: Option<String>,
}

/// A session that leaves another one.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewFork {
    /// The point, as in 41.3.
    at: String,
    /// Variables that have other values from there on.
    #[serde(default)]
    set: BTreeMap<String, Json>,
    /// Whose variables they are, from 0, the lowest; none: where the program finds them.
    frame: Option<usize>,
    /// The new session's id.
    id: Option<String>,
    /// Go on with the text of this program.
    program: Option<String>,
}

/// Which program's text a session goes on with.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Migration {
    program: String,
}

fn point_of(text: &str, timeline: &Timeline) -> Result<Point, SessionError> {
    Ok(timeline.point_at(at_of(text)?))
}

fn at_of(text: &str) -> Result<At, SessionError> {
    text.parse().map_err(|error: PointFault| SessionError::NoPoint(error.to_string()))
}

pub(super) async fn state(
    OfSession { server, served, .. }: OfSession,
    Queried(When { at }): Queried<When>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    if let Some(at) = at {
        let json = server.residents.past(&served.session, move |timeline| {
            let point = point_of(&at, &timeline)?;
            let Moment { machine, mark, time, .. } = timeline.at(point)?;
            let mut json = json_of_view(&machine.view(), machine.program(), mark, time);
            json["point"] = point.to_string().into();
            json["end"] = timeline.end().to_string().into();
            Ok(json)
        });
        return Ok(Typed(json.await?).into_response());
    }
    // Asked for again and again: what nothing has changed is not built.
    let (standing, _) = server.residents.standing(&served).await?;
    let tag = etag(standing.mark);
    let is_known = headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    if is_known && standing.state != Stands::Interrupted {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response());
    }
    let (json, mark) = match server.residents.sessions().get(&served.session) {
        Some(handle) => {
            let Present { view, program, mark, time, .. } = handle.present().await.map_err(ResidentError::from)?;
            (json_of_view(&view, &program, mark, time), mark)
        }
        None => {
            let past = server.residents.past(&served.session, |timeline| {
                let Moment { machine, mark, time, .. } = timeline.at(timeline.end())?;
                Ok((json_of_view(&machine.view(), machine.program(), mark, time), mark))
            });
            past.await?
        }
    };
    Ok(([(header::ETAG, etag(mark))], Typed(json)).into_response())
}

/// `show`'s JSON, where each frame stands in the text, and when that is.
fn json_of_view(view: &View, program: &Program, mark: Mark, time: Timestamp) -> Json {
    let mut json = show::to_json(view, &show::state(view));
    for frame in json.get_mut("stack").and_then(Json::as_array_mut).into_iter().flatten() {
        let text = |name: &str| frame.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
        let place = place_of(program, (&text("agent"), &text("playbook")), &text("line"));
        frame["place"] = place.map(|(file, from, to)| json!({"file": file, "from": from, "to": to})).into();
    }
    json["mark"] = mark.to_string().into();
    json["time"] = text_of(time).into();
    json
}

pub(super) async fn source(OfSession { server, served, .. }: OfSession) -> Result<Typed<SourceWire>, Problem> {
    let (records, programs) = (server.residents.records(&served.session).await?, server.residents.program_cache());
    let source = on_replay_thread(move || {
        let none = || SessionError::NoSession("it has no text".to_owned());
        let (text, tools) = last_text(&records).ok_or_else(none)?;
        let signatures = tools.iter().map(|tool| tool.to_tool().signature).collect();
        let program = programs.load(&text, signatures).map_err(SessionError::Program)?;
        Ok(SourceWire::of(&text, &program))
    });
    Ok(Typed(source.await?))
}

pub(super) async fn steps(
    OfSession { server, served, .. }: OfSession,
    Queried(Steps { after, limit }): Queried<Steps>,
) -> Result<Typed<Json>, Problem> {
    let limit = limit.unwrap_or(STEPS).clamp(1, STEPS);
    let page = server.residents.past(&served.session, move |timeline| {
        let steps = match after {
            None => travel::history(&timeline, timeline.end())?,
            Some(after) => travel::steps(&timeline, point_of(&after, &timeline)?, timeline.end())?,
        };
        // Of the events of a point all or none are in a page: the next one begins after a point.
        let mut end = limit.min(steps.len());
        while end < steps.len() && steps[end].point == steps[end - 1].point {
            end += 1;
        }
        let next = steps[..end].last().filter(|_| end < steps.len());
        let shown = steps[..end].iter().map(|step| {
            let mut json = step_json(step);
            json["time"] = text_of(step.event.time).into();
            json
        });
        Ok(json!({ "steps": shown.collect::<Vec<_>>(), "next": next.map(|step| step.point.to_string()) }))
    });
    Ok(Typed(page.await?))
}

pub(super) async fn reasons(
    OfSession { server, served, .. }: OfSession,
    Queried(Trigger { trigger }): Queried<Trigger>,
) -> Result<Response, Problem> {
    let records = server.residents.records(&served.session).await?;
    let history = on_replay_thread(move || why::history(&records)).await?;
    let json = show::why::answer_json(&history, trigger.as_deref(), &TimeZone::UTC);
    let json = json.map_err(Problem::not_found)?;
    Ok(unstored("application/json", json))
}

pub(super) async fn diff(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Path((id, other)): Path<(String, String)>,
) -> Result<Typed<Json>, Problem> {
    let ids = [server.find(&caller, &id).await?.session, server.find(&caller, &other).await?.session];
    let (one, other) = (ids[0].clone(), server.residents.past(&ids[1], Ok).await?);
    let json = server.residents.past(&one, move |one| {
        let sides = [one, other];
        let difference = travel::diff(&sides[0], &sides[1])?;
        Ok(difference_json([&ids[0], &ids[1]], &sides, &difference))
    });
    Ok(Typed(json.await?))
}

pub(super) async fn export(OfSession { server, served, .. }: OfSession) -> Result<Response, Problem> {
    let records = server.residents.records(&served.session).await?;
    Ok(unstored("application/jsonl", copy::lines(&records)))
}

pub(super) async fn fork(
    OfSession { server, caller, served }: OfSession,
    Typed(NewFork { at, set, frame, id: new, program }): Typed<NewFork>,
) -> Result<Response, Problem> {
    if let Some(program) = &program {
        server.offered(&caller, program)?;
    }
    let value = |(name, value): (String, Json)| match serde_json::from_value(value) {
        Ok(value) => Ok((Arc::from(name), value)),
        Err(error) => Err(Problem::unprocessable(format!("${name}: {error}"))),
    };
    let set: Vec<(Arc<str>, Value)> = set.into_iter().map(value).collect::<Result<_, _>>()?;
    let edits: MakeEdits = Box::new(move |view, point| {
        edits((view, point), &set, frame).map_err(|fault| {
            SessionError::NoPoint(match fault {
                NoPlace::Frame(text) => text,
                NoPlace::Variable(text) => format!("{text}; name a `frame`"),
            })
        })
    });
    let forking = Forking {
        at: at_of(&at).map_err(ResidentError::from)?,
        edits,
        id: new.map(Arc::from),
        program,
        owner: caller.name.clone(),
        labels: served.labels.clone(),
    };
    let forked = server.residents.fork(&served, forking).await?;
    let place = format!("/api/sessions/{}", forked.session);
    let wire: SessionWire = server.wire(&caller, forked).await?;
    Ok((StatusCode::CREATED, [(header::LOCATION, place)], Typed(wire)).into_response())
}

pub(super) async fn migrate(
    OfSession { server, caller, served }: OfSession,
    Typed(Migration { program }): Typed<Migration>,
) -> Result<Typed<SessionWire>, Problem> {
    server.residents.check_open()?;
    server.offered(&caller, &program)?;
    server.residents.migrate(&served, &program).await?;
    let served = server.find(&caller, &served.session).await?;
    Ok(Typed(server.wire(&caller, served).await?))
}
