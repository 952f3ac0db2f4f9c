//! Weights of a file, with those formats that candle computes slowly with rewritten to 8 bits.
//!
//! Candle has vector instructions for `Q8_0`, not for `Q4_1` and its like: rewritten, the model is four to six times
//! as fast. Each tensor is rewritten when it is read, so that never more than one lies in memory twice.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Error, Read, Result, Seek, SeekFrom};

use candle_core::Device;
use candle_core::quantized::gguf_file::{Content, TensorInfo, Value, VersionedMagic};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_transformers::models::quantized_llama::ModelWeights;

use super::gguf::{Tensors, tensor_bytes};

/// Loads the weights.
pub(super) fn load(tensors: Tensors) -> candle_core::Result<ModelWeights> {
    let metadata = metadata(&tensors);
    let (mut reader, tensor_infos) = Rewritten::new(tensors);
    let content = Content { magic: VersionedMagic::GgufV3, metadata, tensor_infos, tensor_data_offset: 0 };
    ModelWeights::from_gguf(content, &mut reader, &Device::Cpu)
}

/// What candle reads of the metadata.
fn metadata(tensors: &Tensors) -> HashMap<String, Value> {
    let shape = &tensors.shape;
    let number = |key: &str, number: usize| (format!("llama.{key}"), Value::U32(u32::try_from(number).unwrap_or(0)));
    HashMap::from([
        ("general.architecture".to_owned(), Value::String("llama".to_owned())),
        number("block_count", shape.layers),
        number("embedding_length", shape.embedding),
        number("attention.head_count", shape.heads),
        number("attention.head_count_kv", shape.key_value_heads),
        number("rope.dimension_count", shape.embedding / shape.heads),
        ("llama.rope.freq_base".to_owned(), Value::F32(tensors.rope_base)),
        ("llama.attention.layer_norm_rms_epsilon".to_owned(), Value::F32(tensors.norm_epsilon)),
    ])
}

/// The format in which a tensor is computed with.
fn rewritten(format: GgmlDType) -> GgmlDType {
    let is_slow = matches!(format, GgmlDType::Q4_1 | GgmlDType::Q5_0 | GgmlDType::Q5_1);
    if is_slow { GgmlDType::Q8_0 } else { format }
}

/// A tensor in the file, and its place in what is read.
struct Piece {
    source: TensorInfo,
    start: u64,
    length: u64,
}

/// A file of tensors that does not exist: they lie one after the other, rewritten.
struct Rewritten {
    file: File,
    /// Where the tensors begin in the file.
    offset: u64,
    pieces: Vec<Piece>,
    position: u64,
    /// The piece that was read last.
    current: Option<(usize, Vec<u8>)>,
}

impl Rewritten {
    /// The reader, and where in it which tensor lies.
    fn new(tensors: Tensors) -> (Rewritten, HashMap<String, TensorInfo>) {
        let (mut pieces, mut infos, mut start) = (Vec::new(), HashMap::new(), 0);
        for (name, source) in tensors.infos {
            let format = rewritten(source.ggml_dtype);
            let length = tensor_bytes(format, &source.shape) as u64;
            infos.insert(name, TensorInfo { ggml_dtype: format, shape: source.shape.clone(), offset: start });
            pieces.push(Piece { source, start, length });
            start += length;
        }
        let (file, offset) = (tensors.file, tensors.offset);
        (Rewritten { file, offset, pieces, position: 0, current: None }, infos)
    }

    fn length(&self) -> u64 {
        self.pieces.last().map_or(0, |piece| piece.start + piece.length)
    }

    /// The bytes of a piece, rewritten where it has to be.
    fn bytes(&mut self, index: usize) -> candle_core::Result<Vec<u8>> {
        let source = &self.pieces[index].source;
        let format = rewritten(source.ggml_dtype);
        let tensor = source.read(&mut self.file, self.offset, &Device::Cpu)?;
        if format == source.ggml_dtype {
            return Ok(tensor.data()?.into_owned());
        }
        let tensor = QTensor::quantize(&tensor.dequantize(&Device::Cpu)?, format)?;
        Ok(tensor.data()?.into_owned())
    }
}

impl Read for Rewritten {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let index = self.pieces.partition_point(|piece| piece.start + piece.length <= self.position);
        let Some(piece) = self.pieces.get(index) else { return Ok(0) };
        let begin = usize::try_from(self.position - piece.start).map_err(Error::other)?;
        if self.current.as_ref().is_none_or(|(current, _)| *current != index) {
            self.current = None;
            self.current = Some((index, self.bytes(index).map_err(Error::other)?));
        }
        let rest = self.current.as_ref().and_then(|(_, bytes)| bytes.get(begin..)).unwrap_or_default();
        let n_bytes = rest.len().min(buffer.len());
        buffer[..n_bytes].copy_from_slice(&rest[..n_bytes]);
        self.position += n_bytes as u64;
        Ok(n_bytes)
    }
}

impl Seek for Rewritten {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        let target = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(distance) => self.length().checked_add_signed(distance),
            SeekFrom::Current(distance) => self.position.checked_add_signed(distance),
        };
        self.position = target.ok_or_else(|| Error::other("a position before the beginning"))?;
        Ok(self.position)
    }
}
