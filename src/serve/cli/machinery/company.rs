//! The models besides the program's own: who plays users, who judges.

use std::path::Path;
use std::sync::Arc;

use clap::Args;

use crate::host::config::Config;
use crate::host::judge::Judge;
use crate::host::launch::{Choices, Launch};
use crate::host::llm::{Llm, ModelKind};
use crate::lang::program::FrontMatter;

/// Options that name them.
#[derive(Args, Clone, Default)]
pub(crate) struct CompanyArguments {
    /// The model that plays the user, in cases that want one (`*.user.md`)
    #[arg(long, value_name = "ID")]
    pub(crate) user_model: Option<String>,
    /// The model that judges, in cases with a check that asks a judge, and in `*.judge.md`
    #[arg(long, value_name = "ID")]
    pub(crate) judge: Option<String>,
}

/// Those that were named.
#[derive(Default)]
pub(crate) struct Company {
    /// Who plays users.
    pub(crate) user: Option<Arc<dyn Llm>>,
    /// Who judges.
    pub(crate) judge: Option<Judge>,
}

impl CompanyArguments {
    /// Opens them. `launch` says where keys and servers are, the configuration beside the file `beside` the rest. With
    /// `is_budgeted` their prices must be known.
    ///
    /// # Errors
    /// One of them cannot be opened; in words.
    pub(crate) async fn open(&self, launch: &Launch, beside: &Path, is_budgeted: bool) -> Result<Company, String> {
        let mut company = Company::default();
        if let Some(id) = &self.user_model {
            company.user = Some(open(launch, beside, ("--user-model", id), is_budgeted).await?.0);
        }
        if let Some(id) = &self.judge {
            let (llm, config) = open(launch, beside, ("--judge", id), is_budgeted).await?;
            company.judge = Some(Judge::new(llm, config.judge_votes, config.session.turn_timeout));
        }
        Ok(company)
    }
}

async fn open(
    launch: &Launch,
    beside: &Path,
    (option, id): (&str, &str),
    is_budgeted: bool,
) -> Result<(Arc<dyn Llm>, Config), String> {
    let choices =
        Choices { model: Some(id.to_owned()), base_url: launch.choices.base_url.clone(), ..Choices::default() };
    let launch = Launch::new(launch.workshop.clone(), choices);
    let opened = async {
        let chosen = launch.choose_model(beside, &FrontMatter::default()).await?;
        Ok((launch.open_model(&chosen).await?, chosen.config))
    };
    let (llm, config) = opened.await.map_err(|error: crate::host::launch::LaunchError| format!("{option}: {error}"))?;
    if llm.kind() == ModelKind::Embedded {
        return Err(format!("{option}: the embedded model only does lines of playbooks; name another model"));
    }
    if is_budgeted && llm.kind() == ModelKind::Live && config.session.prices.of(&llm.id()).is_none() {
        return Err(format!(
            "{option}: the prices of {} are unknown; add them to [prices] of playhouse.toml",
            llm.id()
        ));
    }
    Ok((llm, config))
}
