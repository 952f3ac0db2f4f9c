//! Who is told what sessions do, as traces: `--otlp`, `[otel]`, the environment.

use std::path::Path;
#[cfg(feature = "otel")]
use std::sync::Arc;

use crate::config::{ConfigError, named_variable};
use crate::equipment::declaration::resolve_secrets;
use crate::keys::read;
use crate::launch::error::LaunchError;
use crate::launch::workshop::{Launch, Remark, Telemetry};
#[cfg(feature = "otel")]
use crate::otel::export::Exporter;
use crate::otel::options::{self, OtelOptions, Target};
use crate::otel::spans::Traces;
#[cfg(feature = "otel")]
use crate::tasks;

/// What sends the spans of the sessions of a program that is open.
#[derive(Default)]
pub(super) struct Sending {
    #[cfg(feature = "otel")]
    exporter: Option<(Arc<Exporter>, Telemetry)>,
}

impl Sending {
    /// Sends what is left.
    pub(super) async fn close(&self) {
        #[cfg(feature = "otel")]
        if let Some((exporter, Telemetry::On { tell, at_once, .. })) = &self.exporter
            && let Some(lost) = exporter.close().await
            && !at_once
        {
            tell(&lost);
        }
    }
}

impl Launch {
    /// Who is told of the sessions of a program, whose configuration is beside `first`.
    pub(super) fn telemetry(&self, first: Option<&Path>) -> Result<(Traces, Sending, Option<Remark>), LaunchError> {
        let Telemetry::On { url, .. } = &self.workshop.telemetry else { return Ok(Default::default()) };
        let environment = &self.workshop.environment.otel;
        let (parent, strange) = match environment.parent.as_deref().map(str::parse) {
            Some(Ok(parent)) => (Some(parent), None),
            Some(Err(error)) => (None, Some(format!("TRACEPARENT: {error}"))),
            None => (None, None),
        };
        let chosen = options::choose(url.as_deref(), &self.otel_options(first)?, environment);
        let wrong = |message: String| LaunchError::Config(ConfigError::Otel(message));
        let options::Chosen { target, remark } = chosen.map_err(wrong)?;
        let remark = remark.or(strange).map(|text| Remark::warning("otel", text));
        let Some(target) = target else { return Ok((Traces { sink: None, parent }, Sending::default(), remark)) };
        let (traces, sending) = self.export(&target).map_err(wrong)?;
        Ok((Traces { parent, ..traces }, sending, remark))
    }

    /// What the file says, with the values of the variables that it names.
    fn otel_options(&self, first: Option<&Path>) -> Result<OtelOptions, LaunchError> {
        let file = self.file_config(first)?;
        let Some((value, place)) = &file.otel else { return Ok(OtelOptions::default()) };
        let hide = &mut |secret: &str| {
            self.workshop.secrets.add(secret);
        };
        let resolved = resolve_secrets(value, &named_variable, hide).and_then(|value| read(&value));
        let wrong = |message| ConfigError::File { place: place.clone(), message: format!("[otel]: {message}") };
        Ok(resolved.map_err(wrong)?)
    }

    #[cfg(feature = "otel")]
    fn export(&self, target: &Target) -> Result<(Traces, Sending), String> {
        let exporter = Arc::new(Exporter::open(target, self.workshop.secrets.clone())?);
        if let Telemetry::On { tell, at_once: true, .. } = &self.workshop.telemetry {
            let (lost, tell) = (exporter.first_loss(), tell.clone());
            tasks::spawn(async move {
                if let Some(lost) = lost.await {
                    tell(&lost);
                }
            });
        }
        let traces = Traces { sink: Some(exporter.clone()), parent: None };
        Ok((traces, Sending { exporter: Some((exporter, self.workshop.telemetry.clone())) }))
    }

    #[cfg(not(feature = "otel"))]
    #[expect(clippy::unused_self, reason = "the same as with the feature")]
    fn export(&self, _: &Target) -> Result<(Traces, Sending), String> {
        Err("this playhouse was built without the feature `otel`".to_owned())
    }
}
