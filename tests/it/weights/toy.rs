//! A GGUF file, written byte by byte, of a model that is as small as can be and knows nothing.

use std::path::PathBuf;

use fastrand::Rng;
use playhouse::host::llm::embedded::weights::gguf::Shape;
use playhouse::host::llm::embedded::weights::{Weights, WeightsError};
use tempfile::TempDir;

/// The shape of the small model.
pub(crate) const TOY: Shape = Shape {
    name: "toy",
    layers: 2,
    embedding: 32,
    feed_forward: 64,
    heads: 2,
    key_value_heads: 1,
    vocabulary: 3 + 256 + MERGES.len(),
};

/// Tokens of more than one byte.
const MERGES: [(&str, &str); 6] = [("h", "e"), ("l", "l"), ("he", "ll"), ("Ġ", "w"), ("o", "r"), ("Ġw", "or")];

/// The formats of tensors, as they are numbered.
pub(crate) const F32: u32 = 0;
pub(crate) const Q4_1: u32 = 3;

/// One entry of the metadata.
#[derive(Clone, Debug)]
pub(crate) enum Entry {
    Number(u32),
    Float(f32),
    Text(String),
    Texts(Vec<String>),
    Numbers(Vec<i32>),
    /// A type, and the bytes behind it, whatever they are.
    Raw(u32, Vec<u8>),
}

/// One tensor.
#[derive(Clone, Debug)]
pub(crate) struct Tensor {
    pub(crate) name: String,
    /// Columns first, as in files.
    pub(crate) dimensions: Vec<u64>,
    pub(crate) format: u32,
    pub(crate) data: Vec<u8>,
}

/// A file, before it is written.
#[derive(Clone, Debug)]
pub(crate) struct Gguf {
    pub(crate) metadata: Vec<(String, Entry)>,
    pub(crate) tensors: Vec<Tensor>,
    /// What the header says of their numbers, if not the truth.
    pub(crate) counts: Option<(u64, u64)>,
}

impl Gguf {
    /// The small model, with random weights. `q4` stores its matrices in blocks of 4 bits.
    pub(crate) fn toy(seed: u64, q4: bool) -> Gguf {
        let mut random = Rng::with_seed(seed);
        let mut tensors = Vec::new();
        let mut tensor = |name: String, columns: usize, rows: Option<usize>| {
            let n = columns * rows.unwrap_or(1);
            let dimensions = std::iter::once(columns).chain(rows).map(|length| length as u64).collect();
            let is_norm = rows.is_none();
            let format = if q4 && !is_norm { Q4_1 } else { F32 };
            let data = if format == Q4_1 { blocks(&mut random, n / 32) } else { floats(&mut random, n, is_norm) };
            tensors.push(Tensor { name, dimensions, format, data });
        };
        let (embedding, hidden) = (TOY.embedding, TOY.feed_forward);
        let key_value = embedding / TOY.heads * TOY.key_value_heads;
        tensor("token_embd.weight".to_owned(), embedding, Some(TOY.vocabulary));
        tensor("output_norm.weight".to_owned(), embedding, None);
        for layer in 0..TOY.layers {
            let of_layer = [
                ("attn_norm", embedding, None),
                ("attn_q", embedding, Some(embedding)),
                ("attn_k", embedding, Some(key_value)),
                ("attn_v", embedding, Some(key_value)),
                ("attn_output", embedding, Some(embedding)),
                ("ffn_norm", embedding, None),
                ("ffn_gate", embedding, Some(hidden)),
                ("ffn_up", embedding, Some(hidden)),
                ("ffn_down", hidden, Some(embedding)),
            ];
            of_layer.into_iter().for_each(|(name, columns, rows)| {
                tensor(format!("blk.{layer}.{name}.weight"), columns, rows);
            });
        }
        Gguf { metadata: metadata(), tensors, counts: None }
    }

    /// With another value of this entry.
    pub(crate) fn with(mut self, key: &str, entry: Entry) -> Gguf {
        self.metadata.retain(|(other, _)| other != key);
        self.metadata.push((key.to_owned(), entry));
        self
    }

    /// Without this entry.
    pub(crate) fn without(mut self, key: &str) -> Gguf {
        self.metadata.retain(|(other, _)| other != key);
        self
    }

    /// With a tensor changed.
    pub(crate) fn tensor(mut self, name: &str, change: impl FnOnce(&mut Tensor)) -> Gguf {
        change(self.tensors.iter_mut().find(|tensor| tensor.name == name).unwrap());
        self
    }

    /// The file's bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(3_u32.to_le_bytes());
        let counts = self.counts.unwrap_or((self.tensors.len() as u64, self.metadata.len() as u64));
        bytes.extend(counts.0.to_le_bytes());
        bytes.extend(counts.1.to_le_bytes());
        for (key, entry) in &self.metadata {
            text(&mut bytes, key);
            entry.write(&mut bytes);
        }
        let mut offset = 0_u64;
        for tensor in &self.tensors {
            text(&mut bytes, &tensor.name);
            bytes.extend(u32::try_from(tensor.dimensions.len()).unwrap().to_le_bytes());
            tensor.dimensions.iter().for_each(|length| bytes.extend(length.to_le_bytes()));
            bytes.extend(tensor.format.to_le_bytes());
            bytes.extend(offset.to_le_bytes());
            offset += tensor.data.len().next_multiple_of(32) as u64;
        }
        bytes.resize(bytes.len().next_multiple_of(32), 0);
        for tensor in &self.tensors {
            bytes.extend(&tensor.data);
            bytes.resize(bytes.len().next_multiple_of(32), 0);
        }
        bytes
    }

    /// The file, loaded.
    pub(crate) fn load(&self) -> Result<Weights, WeightsError> {
        load(&self.bytes())
    }
}

/// Bytes as a file, loaded as the small model.
pub(crate) fn load(bytes: &[u8]) -> Result<Weights, WeightsError> {
    let (_folder, path) = file(bytes);
    Weights::load_as(&path, &[TOY])
}

/// Bytes as a file, in a folder that goes when it is dropped.
pub(crate) fn file(bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

impl Entry {
    fn write(&self, bytes: &mut Vec<u8>) {
        let list = |bytes: &mut Vec<u8>, of: u32, n: usize| {
            bytes.extend([9_u32, of].iter().flat_map(|number| number.to_le_bytes()));
            bytes.extend((n as u64).to_le_bytes());
        };
        match self {
            Entry::Number(number) => bytes.extend([4, *number].iter().flat_map(|number| number.to_le_bytes())),
            Entry::Float(number) => {
                bytes.extend(6_u32.to_le_bytes());
                bytes.extend(number.to_le_bytes());
            }
            Entry::Text(written) => {
                bytes.extend(8_u32.to_le_bytes());
                text(bytes, written);
            }
            Entry::Texts(texts) => {
                list(bytes, 8, texts.len());
                texts.iter().for_each(|written| text(bytes, written));
            }
            Entry::Numbers(numbers) => {
                list(bytes, 5, numbers.len());
                numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
            }
            Entry::Raw(kind, raw) => {
                bytes.extend(kind.to_le_bytes());
                bytes.extend(raw);
            }
        }
    }
}

fn text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text.as_bytes());
}

fn metadata() -> Vec<(String, Entry)> {
    let number = |number: usize| Entry::Number(u32::try_from(number).unwrap());
    let named = |text: &str| Entry::Text(text.to_owned());
    let merges = MERGES.iter().map(|(first, second)| format!("{first} {second}")).collect();
    let kinds = std::iter::repeat_n(3, 3).chain(std::iter::repeat_n(1, TOY.vocabulary - 3)).collect();
    let entries = [
        ("general.architecture", named("llama")),
        ("llama.block_count", number(TOY.layers)),
        ("llama.embedding_length", number(TOY.embedding)),
        ("llama.feed_forward_length", number(TOY.feed_forward)),
        ("llama.attention.head_count", number(TOY.heads)),
        ("llama.attention.head_count_kv", number(TOY.key_value_heads)),
        ("llama.rope.dimension_count", number(TOY.embedding / TOY.heads)),
        ("llama.rope.freq_base", Entry::Float(100_000.0)),
        ("llama.attention.layer_norm_rms_epsilon", Entry::Float(1e-5)),
        ("tokenizer.ggml.model", named("gpt2")),
        ("tokenizer.ggml.pre", named("smollm")),
        ("tokenizer.ggml.tokens", Entry::Texts(tokens())),
        ("tokenizer.ggml.token_type", Entry::Numbers(kinds)),
        ("tokenizer.ggml.merges", Entry::Texts(merges)),
        ("tokenizer.ggml.eos_token_id", number(2)),
    ];
    entries.map(|(key, entry)| (key.to_owned(), entry)).to_vec()
}

/// Three special tokens, each byte in GPT-2's alphabet, and what the merges make.
fn tokens() -> Vec<String> {
    let special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"].map(str::to_owned);
    let is_printable = |byte: &u8| matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    let mut others = 0x100..;
    let letters = (0..=u8::MAX).map(|byte| match is_printable(&byte) {
        true => char::from(byte),
        false => char::from_u32(others.next().unwrap()).unwrap(),
    });
    let merged = MERGES.iter().map(|(first, second)| format!("{first}{second}"));
    special.into_iter().chain(letters.map(String::from)).chain(merged).collect()
}

fn floats(random: &mut Rng, n: usize, is_norm: bool) -> Vec<u8> {
    let number = |random: &mut Rng| if is_norm { 1.0 } else { random.f32() - 0.5 };
    (0..n).flat_map(|_| number(random).to_le_bytes()).collect()
}

/// Blocks of 32 numbers between -0.5 and 0.5: step, least, and 32 times 4 bits.
fn blocks(random: &mut Rng, n: usize) -> Vec<u8> {
    let (step, least) = (0x2c44_u16, 0xb800_u16);
    let block = |random: &mut Rng| {
        let numbers: [u8; 16] = std::array::from_fn(|_| random.u8(..));
        [step.to_le_bytes().as_slice(), &least.to_le_bytes(), &numbers].concat()
    };
    (0..n).flat_map(|_| block(random)).collect()
}
