//! A file to checked weights: what it claims is compared with what SmolLM2 is and with the file's length before
//! anything of that size is allocated.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;

use candle_core::Shape as Dimensions;
use candle_core::quantized::GgmlDType;
use candle_core::quantized::gguf_file::{Content, TensorInfo, Value};

use super::error::{WeightsError, quoted};

/// The header must end within so many bytes; SmolLM2's has 1.8 MB. What is read of it is at most some thirty times
/// as large in memory, whatever it says.
const HEADER_BYTES: u64 = 4 << 20;

/// The alignment that files have if they do not say. Others are not supported.
const ALIGNMENT: u32 = 32;

/// The measures of a model, which a file must have exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The name by which people know it.
    pub name: &'static str,
    /// Transformer blocks.
    pub layers: usize,
    /// Length of the vector of one token.
    pub embedding: usize,
    /// Length of the hidden vector between two layers.
    pub feed_forward: usize,
    /// Attention heads.
    pub heads: usize,
    /// Heads of keys and values, each shared by several of those.
    pub key_value_heads: usize,
    /// Tokens.
    pub vocabulary: usize,
}

/// The models that are accepted.
pub const FAMILY: [Shape; 3] = [
    Shape {
        name: "SmolLM2-135M",
        layers: 30,
        embedding: 576,
        feed_forward: 1_536,
        heads: 9,
        key_value_heads: 3,
        vocabulary: 49_152,
    },
    Shape {
        name: "SmolLM2-360M",
        layers: 32,
        embedding: 960,
        feed_forward: 2_560,
        heads: 15,
        key_value_heads: 5,
        vocabulary: 49_152,
    },
    Shape {
        name: "SmolLM2-1.7B",
        layers: 24,
        embedding: 2_048,
        feed_forward: 8_192,
        heads: 32,
        key_value_heads: 32,
        vocabulary: 49_152,
    },
];

impl Shape {
    /// The tensors that a file must have, each with its dimensions, rows first.
    fn tensors(&self) -> Vec<(String, Vec<usize>)> {
        let (embedding, hidden) = (self.embedding, self.feed_forward);
        let key_value = embedding / self.heads * self.key_value_heads;
        let mut tensors = vec![
            ("token_embd.weight".to_owned(), vec![self.vocabulary, embedding]),
            ("output_norm.weight".to_owned(), vec![embedding]),
        ];
        for layer in 0..self.layers {
            let of_layer = [
                ("attn_norm", vec![embedding]),
                ("attn_q", vec![embedding, embedding]),
                ("attn_k", vec![key_value, embedding]),
                ("attn_v", vec![key_value, embedding]),
                ("attn_output", vec![embedding, embedding]),
                ("ffn_norm", vec![embedding]),
                ("ffn_gate", vec![hidden, embedding]),
                ("ffn_up", vec![hidden, embedding]),
                ("ffn_down", vec![embedding, hidden]),
            ];
            tensors.extend(of_layer.map(|(name, dimensions)| (format!("blk.{layer}.{name}.weight"), dimensions)));
        }
        tensors
    }
}

/// The tensors of a file, which are those of its shape.
pub(super) struct Tensors {
    pub(super) file: File,
    pub(super) shape: Shape,
    pub(super) infos: HashMap<String, TensorInfo>,
    /// Where they begin in the file.
    pub(super) offset: u64,
    /// The base of the angles that tell of a token's place.
    pub(super) rope_base: f32,
    /// What keeps a norm from being a division by zero.
    pub(super) norm_epsilon: f32,
}

/// Opens a GGUF file of one of these shapes with SmolLM2's tokenizer: what it says of itself, without its tensors,
/// and these.
pub(super) fn open(path: &Path, shapes: &[Shape]) -> Result<(Content, Tensors), WeightsError> {
    let failed = |error| WeightsError::unreadable(path, &error);
    let mut file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    let mut header = Vec::new();
    file.by_ref().take(HEADER_BYTES).read_to_end(&mut header).map_err(failed)?;
    if !header.starts_with(b"GGUF") {
        return Err(WeightsError::damaged(path, "it does not begin like a GGUF file"));
    }
    if !is_aligned(&header) {
        return Err(WeightsError::damaged(path, "its alignment is not 32"));
    }
    let mut content = Content::read(&mut Cursor::new(header)).map_err(|error| WeightsError::damaged(path, error))?;
    let shape = check_model(&content, shapes).map_err(|what| WeightsError::other_model(path, what))?;
    check_tensors(&content, &shape, length).map_err(|what| WeightsError::damaged(path, what))?;
    let number = |key: &str| {
        let number = content.metadata.get(key).and_then(|value| value.to_f32().ok()).filter(|number| *number > 0.0);
        number.ok_or_else(|| WeightsError::damaged(path, format!("{key} is no number")))
    };
    let rope_base = number("llama.rope.freq_base")?;
    let norm_epsilon = number("llama.attention.layer_norm_rms_epsilon")?;
    let (infos, offset) = (std::mem::take(&mut content.tensor_infos), content.tensor_data_offset);
    Ok((content, Tensors { file, shape, infos, offset, rope_base, norm_epsilon }))
}

/// Whether every alignment that the header may hold is the usual one. Candle divides by what it finds there.
fn is_aligned(header: &[u8]) -> bool {
    const KEY: &[u8] = b"general.alignment";
    // A 32-bit unsigned number has type 4.
    let usual: Vec<u8> = [4_u32, ALIGNMENT].iter().flat_map(|number| number.to_le_bytes()).collect();
    let mut keys = header.windows(KEY.len()).enumerate().filter(|(_, window)| *window == KEY);
    keys.all(|(index, _)| header[index + KEY.len()..].starts_with(&usual))
}

/// The shape that the file says it has, if it is one of these and the tokenizer is SmolLM2's.
fn check_model(content: &Content, shapes: &[Shape]) -> Result<Shape, String> {
    let text = |key: &str| match content.metadata.get(key) {
        Some(Value::String(text)) => text.as_str(),
        _ => "",
    };
    let architecture = text("general.architecture");
    if architecture != "llama" {
        return Err(format!("the architecture {}", quoted(architecture)));
    }
    let tokenizer = (text("tokenizer.ggml.model"), text("tokenizer.ggml.pre"));
    if tokenizer != ("gpt2", "smollm") {
        return Err(format!("the tokenizer {} {}", quoted(tokenizer.0), quoted(tokenizer.1)));
    }
    let number = |key: &str| content.metadata.get(&format!("llama.{key}")).and_then(|value| value.to_u64().ok());
    let is = |key: &str, expected: usize| number(key) == Some(expected as u64);
    let fits = |shape: &&Shape| {
        is("block_count", shape.layers)
            && is("embedding_length", shape.embedding)
            && is("feed_forward_length", shape.feed_forward)
            && is("attention.head_count", shape.heads)
            && is("attention.head_count_kv", shape.key_value_heads)
            && is("rope.dimension_count", shape.embedding / shape.heads)
            && number("expert_count").unwrap_or(0) == 0
    };
    shapes.iter().find(fits).copied().ok_or_else(|| {
        let (layers, embedding) = (number("block_count").unwrap_or(0), number("embedding_length").unwrap_or(0));
        format!("a model of {layers} layers of {embedding}")
    })
}

/// Whether the tensors are those of the shape, in formats that can be computed with, inside the file.
fn check_tensors(content: &Content, shape: &Shape, length: u64) -> Result<(), String> {
    let tensors = shape.tensors();
    for (name, dimensions) in &tensors {
        let info = content.tensor_infos.get(name).ok_or_else(|| format!("the tensor {name} is missing"))?;
        check_tensor(name, info, dimensions, content.tensor_data_offset, length)?;
    }
    // Where it is missing, the embeddings serve for both.
    const OUTPUT: &str = "output.weight";
    if let Some(info) = content.tensor_infos.get(OUTPUT) {
        let dimensions = [shape.vocabulary, shape.embedding];
        check_tensor(OUTPUT, info, &dimensions, content.tensor_data_offset, length)?;
    }
    // One that would not be used (a bias, say) would silently make another model of it.
    let known: HashSet<&str> = tensors.iter().map(|(name, _)| name.as_str()).collect();
    let mut unknown: Vec<&String> =
        content.tensor_infos.keys().filter(|name| !known.contains(name.as_str()) && *name != OUTPUT).collect();
    unknown.sort_unstable();
    unknown.first().map_or(Ok(()), |name| Err(format!("there is no use for its tensor {}", quoted(name))))
}

fn check_tensor(
    name: &str,
    info: &TensorInfo,
    dimensions: &[usize],
    data_offset: u64,
    length: u64,
) -> Result<(), String> {
    if info.shape.dims() != dimensions {
        return Err(format!("the tensor {name} has the dimensions {:?}, not {dimensions:?}", info.shape.dims()));
    }
    let format = info.ggml_dtype;
    let row = dimensions.last().copied().unwrap_or(0);
    if !is_supported(format) || !row.is_multiple_of(format.block_size()) {
        return Err(format!("the tensor {name} is stored as {format:?}, which is not supported here"));
    }
    // These products are of our own numbers and cannot overflow.
    let n_bytes = tensor_bytes(format, &info.shape) as u64;
    let end = data_offset.checked_add(info.offset).and_then(|start| start.checked_add(n_bytes));
    match end {
        Some(end) if end <= length => Ok(()),
        _ => Err(format!("the file ends before its tensor {name} does")),
    }
}

/// The length of a tensor in a file. Only for dimensions that have been checked.
pub(super) fn tensor_bytes(format: GgmlDType, dimensions: &Dimensions) -> usize {
    dimensions.elem_count() / format.block_size() * format.type_size()
}

fn is_supported(format: GgmlDType) -> bool {
    use GgmlDType as Format;
    const PLAIN: [Format; 3] = [Format::F32, Format::F16, Format::BF16];
    const BLOCKS: [Format; 5] = [Format::Q4_0, Format::Q4_1, Format::Q5_0, Format::Q5_1, Format::Q8_0];
    const SUPER_BLOCKS: [Format; 5] = [Format::Q2K, Format::Q3K, Format::Q4K, Format::Q5K, Format::Q6K];
    PLAIN.contains(&format) || BLOCKS.contains(&format) || SUPER_BLOCKS.contains(&format)
}
