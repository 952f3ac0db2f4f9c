//! What a new folder begins with: the folders of `examples/templates`, whose tests are played with those of the examples.

use clap::ValueEnum;

/// A first program. Its line is what people are shown who choose one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Template {
    /// An order desk with canned tools: looks up orders, takes items back, hands over
    Support,
    /// A sign-up form, built from the library's questions
    Form,
    /// A troubleshooting tree that sends a technician after two failures
    Triage,
    /// A program that calls an Agent Skill
    Skill,
    /// A program that calls a plugin in plain Python
    PythonTools,
    /// A desk that answers from a folder of texts and names its source
    #[cfg(feature = "sqlite")]
    Documents,
}

/// A file of a template: its path in the folder, and its text.
pub(crate) type File = (&'static str, &'static str);

/// The files of one template.
macro_rules! files {
    ($folder:literal: $($path:literal)*) => {
        &[$(($path, include_str!(concat!("../../../../../examples/templates/", $folder, "/", $path)))),*]
    };
}

/// The configuration of a folder whose template has none.
pub(super) const CONFIGURATION: File =
    ("playhouse.toml", include_str!("../../../../../examples/templates/playhouse.toml"));

/// The plugin of `python-tools`: its name, its configuration and its code.
pub(crate) const PLUGIN: (&str, &str, &str) = (
    "workdays",
    include_str!("../../../../../examples/templates/python-tools/workdays/.config/config.yaml"),
    include_str!("../../../../../examples/templates/python-tools/workdays/plugin.py"),
);

impl Template {
    /// Its name, as `--template` takes it, and its line.
    pub(super) fn named(self) -> (String, String) {
        let value = self.to_possible_value();
        let help = value.as_ref().and_then(|value| value.get_help()).map(ToString::to_string);
        (value.map(|value| value.get_name().to_owned()).unwrap_or_default(), help.unwrap_or_default())
    }

    /// Its files.
    pub(super) fn files(self) -> &'static [File] {
        match self {
            Template::Support => files!("support": "program.md" "program.tools.json" "program.test.md"
                "program.return.test.md" "program.kept.test.md" "program.hand-over.test.md" "program.silent.test.md"
                "playhouse.toml"),
            Template::Form => files!("form": "program.md" "program.test.md" "program.again.test.md"
                "program.no-course.test.md" "program.no-address.test.md" "program.too-many.test.md"),
            Template::Triage => files!("triage": "program.md" "program.test.md" "program.plug.test.md"
                "program.cleaned.test.md" "program.technician.test.md"),
            Template::Skill => files!("skill": "program.md" "skills/meeting-minutes/SKILL.md" "program.test.md"
                "program.missing.test.md" "program.embedded.test.md"),
            Template::PythonTools => files!("python-tools": "program.md" "workdays/.config/config.yaml"
                "workdays/plugin.py" "program.tools.json" "program.test.md" "program.standard.test.md"),
            #[cfg(feature = "sqlite")]
            Template::Documents => files!("documents": "program.md" "handbook/deliveries.md" "handbook/returns.md"
                "program.test.md" "program.hand-over.test.md"),
        }
    }
}
