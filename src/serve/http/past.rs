//! A session's state and past: where it stands or stood, what happened, why, how it differs, and where it can go another
//! way. Nothing here opens a session.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::host::events::PublicEvent;
use crate::host::journal::record::{Record, RecordBody};
use crate::host::ledger::Served;
use crate::host::program::ProgramText;
use crate::host::replay::start::program_changed;
use crate::host::replay::{last_text, on_thread};
use crate::host::session::SessionError;
use crate::host::sessions::new_id;
use crate::host::travel::{self, Changes, Edit, Point, PointFault, Timeline, VariableDifference, can_go_on};
use crate::host::why;
use crate::serve::http::access::caller::Caller;
use crate::serve::http::body::{Asked, Typed};
use crate::serve::http::problem::Problem;
use crate::serve::http::programs::SourceWire;
use crate::serve::http::server::Server;
use crate::serve::http::wire::{SessionWire, etag, json_of, text_of};
use crate::serve::show;
use crate::serve::show::variables::keeper;
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

impl Server {
    /// The past of a session, built on a thread for that; few at a time.
    async fn past<T: Send + 'static>(
        &self,
        served: &Served,
        work: impl FnOnce(Timeline) -> Result<T, SessionError> + Send + 'static,
    ) -> Result<T, Problem> {
        let records = self.residents.records(&served.session).await?;
        let _walk = self.walks.acquire().await.map_err(|_| Problem::internal("the walks are closed"))?;
        Ok(on_thread(move || work(Timeline::new(records)?)).await?)
    }

    /// The text a session has.
    async fn source_of(&self, records: Vec<Record>) -> Result<SourceWire, Problem> {
        let programs = self.residents.program_cache();
        let found = on_thread(move || {
            let none = || SessionError::NoSession("it has no text".to_owned());
            let (text, tools) = last_text(&records).ok_or_else(none)?;
            let signatures = tools.iter().map(|tool| tool.to_tool().signature).collect();
            let program = programs.load(&text, signatures).map_err(SessionError::Program)?;
            Ok(SourceWire::of(&text, &program))
        });
        Ok(found.await?)
    }
}

fn point_of(text: &str, timeline: &Timeline) -> Result<Point, SessionError> {
    let wrong = |error: &dyn std::fmt::Display| SessionError::NoPoint(error.to_string());
    // A number alone means all that the record set off.
    match text.parse::<u64>() {
        Ok(seq) => Ok(Point::new(seq, timeline.last_directive(seq).unwrap_or(0))),
        Err(_) => text.parse().map_err(|error: PointFault| wrong(&error)),
    }
}

pub(super) async fn state(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Path(id): Path<String>,
    Asked(When { at }): Asked<When>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let served = server.find(&caller, &id).await?;
    let source = server.source_of(server.residents.records(&served.session).await?).await?;
    let Some(at) = at else {
        let (view, mark, time) = match server.residents.sessions().get(&served.session) {
            Some(handle) => {
                let present = handle.present().await.map_err(crate::host::residents::error::ResidentError::from)?;
                (present.view, present.mark, present.time)
            }
            None => {
                let records = server.residents.records(&served.session).await?;
                let replayed = on_thread(move || crate::host::replay::replay(&records, None)).await?;
                (Arc::new(replayed.machine.view()), replayed.maker.mark(), replayed.time)
            }
        };
        let tag = etag(mark);
        if headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
            return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response());
        }
        let mut json = json_of_view(&view, &source);
        put(&mut json, "mark", mark.to_string().into());
        put(&mut json, "time", text_of(time).into());
        return Ok(([(header::ETAG, tag)], Typed(json)).into_response());
    };
    let json = server.past(&served, move |timeline| {
        let point = point_of(&at, &timeline)?;
        let moment = timeline.at(point)?;
        let steps = travel::history(&timeline, point)?;
        let mark = steps.iter().rev().find_map(|step| step.event.mark);
        let mut json = json_of_view(&moment.machine.view(), &source);
        put(&mut json, "point", point.to_string().into());
        put(&mut json, "end", timeline.end().to_string().into());
        put(&mut json, "time", text_of(moment.time).into());
        put(&mut json, "mark", mark.map(|mark| mark.to_string()).into());
        Ok(json)
    });
    Ok(Typed(json.await?).into_response())
}

fn put(json: &mut Json, name: &str, value: Json) {
    if let Some(members) = json.as_object_mut() {
        members.insert(name.to_owned(), value);
    }
}

/// `show`'s JSON, and where each frame stands in the text.
fn json_of_view(view: &View, source: &SourceWire) -> Json {
    let mut json = show::to_json(view, &show::state(view));
    for frame in json.get_mut("stack").and_then(Json::as_array_mut).into_iter().flatten() {
        let text = |name: &str| frame.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
        let place = source.place(&format!("{}.{}", text("agent"), text("playbook")), &text("line"));
        put(frame, "place", place.map_or(Json::Null, |(file, from, to)| json!({"file": file, "from": from, "to": to})));
    }
    json
}

pub(super) async fn source(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Typed<SourceWire>, Problem> {
    let served = server.find(&caller, &id).await?;
    Ok(Typed(server.source_of(server.residents.records(&served.session).await?).await?))
}

#[derive(Serialize)]
struct StepWire {
    point: String,
    time: String,
    event: PublicEvent,
}

pub(super) async fn steps(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Path(id): Path<String>,
    Asked(Steps { after, limit }): Asked<Steps>,
) -> Result<Typed<Json>, Problem> {
    let served = server.find(&caller, &id).await?;
    let limit = limit.unwrap_or(STEPS).clamp(1, STEPS);
    let (steps, has_more) = server
        .past(&served, move |timeline| {
            let steps = match after {
                None => travel::history(&timeline, timeline.end())?,
                Some(after) => travel::steps(&timeline, point_of(&after, &timeline)?, timeline.end())?,
            };
            // Of the events of a point all or none are in a page: the next one begins after a point.
            let mut end = limit.min(steps.len());
            while end < steps.len() && steps[end].point == steps[end - 1].point {
                end += 1;
            }
            let has_more = end < steps.len();
            let wires = steps.into_iter().take(end).map(|step| StepWire {
                point: step.point.to_string(),
                time: text_of(step.event.time),
                event: step.event,
            });
            Ok((wires.collect::<Vec<_>>(), has_more))
        })
        .await?;
    let next = steps.last().filter(|_| has_more).map(|step| step.point.clone());
    Ok(Typed(json!({ "steps": steps, "next": next })))
}

pub(super) async fn reasons(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Path(id): Path<String>,
    Asked(Trigger { trigger }): Asked<Trigger>,
) -> Result<Response, Problem> {
    let served = server.find(&caller, &id).await?;
    let records = server.residents.records(&served.session).await?;
    let history = on_thread(move || why::history(&records)).await?;
    let json = show::why::answer_json(&history, trigger.as_deref(), &TimeZone::UTC);
    let json = json.map_err(Problem::not_found)?;
    Ok(([(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")], json).into_response())
}

pub(super) async fn diff(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Path((id, other)): Path<(String, String)>,
) -> Result<Typed<Json>, Problem> {
    let [a, b] = [server.find(&caller, &id).await?, server.find(&caller, &other).await?];
    let timeline = server.past(&b, Ok).await?;
    let ids = [a.session.to_string(), b.session.to_string()];
    let json = server.past(&a, move |a| {
        let sides = [a, timeline];
        let difference = travel::diff(&sides[0], &sides[1])?;
        let side = |index: usize| {
            let steps = difference.then[index].iter();
            let then: Vec<Json> = steps.map(|step| json!({"point": step.point.to_string(), "event": step.event})).collect();
            let same_up_to = difference.same_up_to[index].to_string();
            json!({"session": ids[index], "same_up_to": same_up_to, "end": sides[index].end().to_string(), "then": then})
        };
        let variables = difference.variables.iter().map(|VariableDifference { place, name, values: [a, b] }| {
            json!({"place": place, "name": name, "a": a.as_ref().map(json_of), "b": b.as_ref().map(json_of)})
        });
        Ok(json!({
            "same": difference.n_same, "a": side(0), "b": side(1), "variables": variables.collect::<Vec<_>>(),
        }))
    });
    Ok(Typed(json.await?))
}

pub(super) async fn export(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let served = server.find(&caller, &id).await?;
    let records = server.residents.records(&served.session).await?;
    let secrets = crate::host::journal::secrets::names_of(&records);
    let lines = records.iter().map(|record| serde_json::to_string(&record.shown(&secrets)).unwrap_or_default() + "\n");
    let headers = [(header::CONTENT_TYPE, "application/jsonl"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, lines.collect::<String>()).into_response())
}

pub(super) async fn fork(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Path(id): Path<String>,
    Typed(NewFork { at, set, frame, id: new, program }): Typed<NewFork>,
) -> Result<Response, Problem> {
    server.check_open()?;
    let served = server.find(&caller, &id).await?;
    let id: Arc<str> = new.map_or_else(|| new_id(&crate::host::clock::SystemClock), Arc::from);
    let offered = program.as_deref().map(|name| server.residents.program(name)).transpose()?;
    let (programs, of_fork) = (server.residents.program_cache(), id.clone());
    let text: Option<ProgramText> = offered.as_ref().map(|offered| offered.opened.text.clone());
    let (records, point) = server
        .past(&served, move |timeline| {
            let wrong = |text: String| SessionError::NoPoint(text);
            let point = point_of(&at, &timeline)?;
            let moment = timeline.at(point)?;
            if !can_go_on(&moment, text.is_some()) {
                return Err(wrong(format!("the session was over at {point}: a fork would have nothing to do")));
            }
            let view = moment.machine.view();
            let edit = |(name, value): (String, Json)| {
                let frame = match frame {
                    Some(depth) => Some(view.stack.get(depth).map(|frame| frame.id).ok_or_else(|| {
                        wrong(format!("there is no frame {depth} at {point}; there are {}", view.stack.len()))
                    })?),
                    None => {
                        let keeper = keeper(&view, None, &name).filter(|_| !view.stack.is_empty());
                        let none = || wrong(format!("the program sees no variable ${name} at {point}; name a `frame`"));
                        keeper.ok_or_else(none)?.frame
                    }
                };
                let value = serde_json::from_value(value).map_err(|error| wrong(format!("${name}: {error}")))?;
                Ok(Edit { frame, name: name.into(), value })
            };
            let edits = set.into_iter().map(edit).collect::<Result<Vec<_>, SessionError>>()?;
            let mut records = Vec::new();
            if let Some(text) = text {
                let tools = moment.machine.tools();
                let signatures = tools.iter().map(|tool| tool.signature.clone()).collect();
                let program = programs.load(&text, signatures).map_err(SessionError::Change)?;
                records.push(RecordBody::ProgramChanged(Box::new(program_changed(&text, &program, tools, false))));
            }
            let fork = travel::fork(&timeline, point, &Changes { edits, records }, of_fork)?;
            Ok((fork.records, point))
        })
        .await?;
    let (program, version) = match &offered {
        Some(offered) => (offered.name.clone(), offered.version.clone()),
        None => (served.program, served.version),
    };
    let forked = Served {
        session: id,
        program,
        version,
        owner: caller.name.clone(),
        labels: served.labels,
        created: server.residents.now(),
        forked: Some(format!("{}@{point}", served.session)),
        standing: None,
        wake: None,
    };
    server.residents.add(forked.clone(), &records).await?;
    // It goes on at once: whoever forks wants to see what comes of it.
    server.residents.handle(&forked.session).await?;
    let place = format!("/api/sessions/{}", forked.session);
    let wire: SessionWire = server.wire(&caller, forked).await?;
    Ok((StatusCode::CREATED, [(header::LOCATION, place)], Typed(wire)).into_response())
}

pub(super) async fn migrate(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Path(id): Path<String>,
    Typed(Migration { program }): Typed<Migration>,
) -> Result<Typed<SessionWire>, Problem> {
    server.check_open()?;
    let served = server.find(&caller, &id).await?;
    server.residents.migrate(&served.session, &program).await?;
    Ok(Typed(server.wire(&caller, server.find(&caller, &id).await?).await?))
}
