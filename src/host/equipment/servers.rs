//! MCP servers as they are declared: connected, their tools added; and plugins that are MCP servers.

use std::sync::Arc;

use futures_util::future::{BoxFuture, join_all};
use playhouse_lang::value::{Map, Value};
use tokio::sync::OnceCell;

use crate::child::set_variables;
use crate::component::identity::scalar_text;
use crate::equipment::declaration::{ServerAddress, ServerDeclaration};
use crate::equipment::surroundings::{EquipmentError, Surroundings};
use crate::tool::mcp::{McpOptions, McpServer, Transport};
use crate::tool::plugin::{Component, ComponentError, Packages, Parts, Performing};
use crate::tool::registry::Registry;
use crate::tool::{CallContext, Tool, ToolOutcome};

/// Connects to all servers at a time and adds their tools.
///
/// # Errors
/// One that cannot be reached, or whose tools have names that others have; those that were reached are closed.
pub(super) async fn connect(
    declared: &[&ServerDeclaration],
    around: &Surroundings<'_>,
    registry: &Arc<Registry>,
) -> Result<Vec<Arc<McpServer>>, EquipmentError> {
    let fault =
        |server: &ServerDeclaration, message: String| EquipmentError::Declared { place: server.place.clone(), message };
    let resolved = declared.iter().map(|server| {
        resolve(server, around).map_err(|message| fault(server, format!("server `{}`: {message}", server.name)))
    });
    let options: Vec<McpOptions> = resolved.collect::<Result<_, _>>()?;
    let connected = join_all(options.into_iter().map(McpServer::connect)).await;
    let mut servers = Vec::new();
    let mut failure = None;
    for (server, connected) in declared.iter().zip(connected) {
        match connected {
            Ok(connected) => servers.push(connected),
            Err(error) => failure = failure.or(Some(fault(server, error.to_string()))),
        }
    }
    for (server, connected) in declared.iter().zip(&servers) {
        if failure.is_none() {
            failure = add_tools(connected, registry).await.err().map(|message| fault(server, message));
        }
    }
    match failure {
        None => Ok(servers),
        Some(failure) => {
            join_all(servers.iter().map(|server| server.close())).await;
            Err(failure)
        }
    }
}

/// Adds the tools of a server, and whatever it has in their place later.
async fn add_tools(server: &Arc<McpServer>, registry: &Arc<Registry>) -> Result<(), String> {
    let tools = server.tools().await.map_err(|error| error.to_string())?;
    tools.into_iter().try_for_each(|tool| registry.add(tool)).map_err(|error| error.to_string())?;
    server.follow(registry);
    Ok(())
}

fn resolve(server: &ServerDeclaration, around: &Surroundings<'_>) -> Result<McpOptions, String> {
    let texts = |map: &Map, what: &str| -> Result<Vec<(String, String)>, String> {
        let resolved = around.resolve(map)?;
        let text = |(name, value): (&Arc<str>, &Value)| {
            let text = scalar_text(value).ok_or_else(|| format!("`{what}.{name}` must be text"))?;
            Ok((name.to_string(), text.to_string()))
        };
        resolved.iter().map(text).collect()
    };
    let transport = match &server.address {
        ServerAddress::Command(command) => {
            let mut environment = around.environment.clone();
            set_variables(&mut environment, texts(&server.environment, "env")?);
            // A folder without a name is the current one.
            let folder = if server.folder.as_os_str().is_empty() { ".".into() } else { server.folder.clone() };
            Transport::Command { command: command.clone(), folder, environment }
        }
        ServerAddress::Url(url) => {
            let url = around.resolve_value(url)?;
            let url = url.as_str().ok_or("`url` must be text")?.to_owned();
            Transport::Url { url, headers: texts(&server.headers, "headers")? }
        }
    };
    let mut options = McpOptions::new(server.name.clone(), transport);
    options.generation = server.protocol;
    options.timeout = server.timeout.unwrap_or(options.timeout);
    options.concurrency = server.concurrency;
    options.secrets = around.secrets.clone();
    Ok(options)
}

/// Adds the package of plugins that are MCP servers: `setup.command` (a list) or `setup.url`. Their commands are tools
/// of the server under the same names, with the types that `config.yaml` declares.
pub(super) fn add_package(packages: &mut Packages) {
    let component = |parts: Parts| Ok(Arc::new(ServerComponent::new(parts)?) as Arc<dyn Component>);
    packages.add("playhouse.mcp", Arc::new(component));
}

struct ServerComponent {
    options: McpOptions,
    server: OnceCell<Connected>,
}

/// A server that has been reached, and its tools.
struct Connected {
    server: Arc<McpServer>,
    tools: Vec<Arc<dyn Tool>>,
}

impl ServerComponent {
    fn new(parts: Parts) -> Result<ServerComponent, String> {
        let Parts { name, folder, setup, surroundings, .. } = parts;
        let transport = match (setup.command("server.py")?, setup.rest.get("url")) {
            (Some(command), None) => {
                Transport::Command { command, folder, environment: surroundings.environment.clone() }
            }
            (None, Some(Value::Str(url))) => Transport::Url { url: url.to_string(), headers: Vec::new() },
            _ => {
                return Err(
                    "it needs either `setup.command` (a list) or `setup.url`: where the MCP server is".to_owned()
                );
            }
        };
        let mut options = McpOptions::new(name, transport);
        options.secrets = surroundings.secrets.clone();
        Ok(ServerComponent { options, server: OnceCell::new() })
    }

    async fn connected(&self) -> Result<&Connected, ComponentError> {
        let connect = async {
            let server = McpServer::connect(self.options.clone()).await?;
            let tools = server.tools().await?;
            Ok(Connected { server, tools })
        };
        let unavailable = |error: crate::tool::mcp::McpError| ComponentError::Unavailable(error.to_string());
        self.server.get_or_try_init(|| connect).await.map_err(unavailable)
    }
}

impl Component for ServerComponent {
    fn command<'a>(&'a self, command: &'a str, param: Value, context: &'a CallContext) -> Performing<'a> {
        Box::pin(async move {
            let tools = &self.connected().await?.tools;
            let name = format!("{}.{command}", self.options.name);
            let tool = tools.iter().find(|tool| *tool.signature().signature.name == *name);
            let none = || ComponentError::Failed(format!("the server has no tool `{command}`"));
            let arguments = param.as_map().cloned().unwrap_or_default();
            match tool.ok_or_else(none)?.call(context.clone(), arguments).await {
                ToolOutcome::Value(value) | ToolOutcome::Secret(value) => Ok(value),
                ToolOutcome::Written { text, .. } => Ok(Value::from(text)),
                ToolOutcome::Error(text) => Err(ComponentError::Failed(text)),
                ToolOutcome::Unavailable(text) => Err(ComponentError::Unavailable(text)),
                ToolOutcome::Needs(question) => Err(ComponentError::Needs(question)),
                ToolOutcome::Asks(question) => Err(ComponentError::Asks(question)),
            }
        })
    }

    fn start(&self) -> BoxFuture<'_, Result<(), ComponentError>> {
        Box::pin(async { self.connected().await.map(|_| ()) })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            if let Some(connected) = self.server.get() {
                connected.server.close().await;
            }
        })
    }
}
