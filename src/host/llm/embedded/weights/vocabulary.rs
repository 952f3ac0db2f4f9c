//! Text to tokens and back, and the tokens as grammars see them.

use std::collections::HashMap;
use std::sync::Arc;

use candle_core::quantized::gguf_file::{Content, Value};
use candle_core::quantized::tokenizer::TokenizerFromGguf;
use llguidance::ParserFactory;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::{PostProcessorWrapper, Tokenizer};
use toktrie::{TokEnv, TokRxInfo, TokTrie, TokenId, TokenizerEnv};

use super::gguf::Shape;

/// No token of SmolLM2's is longer, and the tree of tokens can't be built of very long ones.
const TOKEN_BYTES: usize = 512;

/// The kind of an ordinary token in a GGUF file.
const ORDINARY: u64 = 1;

/// The tokens of a model.
pub(super) struct Vocabulary {
    environment: TokEnv,
    /// Makes parsers of grammars; holds tables of the tokens.
    pub(super) grammars: ParserFactory,
}

impl Vocabulary {
    /// Reads the tokenizer of a file. Errors are in words.
    pub(super) fn new(content: &Content, shape: &Shape) -> Result<Vocabulary, String> {
        let words = words(content)?;
        if words.len() != shape.vocabulary {
            return Err(format!("{} tokens instead of {}", words.len(), shape.vocabulary));
        }
        let end = number(content, "tokenizer.ggml.eos_token_id")?;
        let end = u32::try_from(end).ok().filter(|end| (*end as usize) < words.len()).ok_or("no token that ends")?;
        let n_words = u32::try_from(words.len()).map_err(|error| error.to_string())?;
        let trie = TokTrie::from(&TokRxInfo::new(n_words, end), &words);
        let environment: TokEnv = Arc::new(Environment { trie, tokenizer: tokenizer(content)? });
        let mut grammars = ParserFactory::new_simple(&environment).map_err(|error| error.to_string())?;
        grammars.quiet();
        Ok(Vocabulary { environment, grammars })
    }

    /// The tokens of a text. No text makes a token that only the machinery may write, such as the end of a message.
    pub(super) fn encode(&self, text: &str) -> Vec<TokenId> {
        self.environment.tokenize(text)
    }

    /// The text of tokens.
    pub(super) fn decode(&self, tokens: &[TokenId]) -> String {
        String::from_utf8_lossy(&self.environment.tok_trie().decode(tokens)).into_owned()
    }

    /// The token that ends a text.
    pub(super) fn end(&self) -> TokenId {
        self.environment.eos_token()
    }
}

/// The tokenizer as grammars use it.
struct Environment {
    trie: TokTrie,
    tokenizer: Tokenizer,
}

impl TokenizerEnv for Environment {
    fn tok_trie(&self) -> &TokTrie {
        &self.trie
    }

    fn tokenize_bytes(&self, bytes: &[u8]) -> Vec<TokenId> {
        let encode = |text: &str| {
            let encoding = self.tokenizer.encode_fast(text, false);
            encoding.map_or_else(|_| self.trie.greedy_tokenize(text.as_bytes()), |encoding| encoding.get_ids().to_vec())
        };
        self.trie.tokenize_with_greedy_fallback(bytes, encode)
    }
}

/// The tokenizer of the file, repaired: candle does not know `smollm` and takes it for GPT-2's, which would put a
/// space before each text and keep numbers whole.
fn tokenizer(content: &Content) -> Result<Tokenizer, String> {
    let mut tokenizer = Tokenizer::from_gguf(content).map_err(|error| error.to_string())?;
    let parts = vec![Digits::new(true).into(), ByteLevel::new(false, true, true).into()];
    tokenizer.with_pre_tokenizer(Some(Sequence::new(parts)));
    tokenizer.with_post_processor(None::<PostProcessorWrapper>);
    tokenizer.set_encode_special_tokens(true);
    Ok(tokenizer)
}

/// The bytes of each token; special ones begin with the byte by which grammars know them.
fn words(content: &Content) -> Result<Vec<Vec<u8>>, String> {
    let list = |key: &str| match content.metadata.get(key) {
        Some(Value::Array(items)) => Ok(items),
        _ => Err(format!("no {key}")),
    };
    let (tokens, kinds) = (list("tokenizer.ggml.tokens")?, list("tokenizer.ggml.token_type")?);
    if tokens.len() != kinds.len() {
        return Err("as many kinds of tokens as tokens are needed".to_owned());
    }
    let bytes_of = byte_alphabet();
    let word = |(token, kind): (&Value, &Value)| {
        let text = token.to_string().map_err(|error| error.to_string())?;
        let is_ordinary = integer(kind) == Some(ORDINARY);
        // A letter that stands for no byte stands for itself.
        let byte_level = || {
            let mut bytes = Vec::new();
            for letter in text.chars() {
                match bytes_of.get(&letter) {
                    Some(byte) => bytes.push(*byte),
                    None => bytes.extend(letter.encode_utf8(&mut [0; 4]).as_bytes()),
                }
            }
            bytes
        };
        let special = || [&[TokTrie::SPECIAL_TOKEN_MARKER], text.as_bytes()].concat();
        let bytes = if is_ordinary { byte_level() } else { special() };
        if bytes.is_empty() || bytes.len() > TOKEN_BYTES {
            return Err(format!("a token of {} bytes", bytes.len()));
        }
        Ok(bytes)
    };
    tokens.iter().zip(kinds).map(word).collect()
}

/// Which byte each letter of a token stands for: printable bytes stand for themselves, the others follow from
/// U+0100 on (the alphabet of GPT-2).
fn byte_alphabet() -> HashMap<char, u8> {
    let mut alphabet = HashMap::new();
    let mut next = 0x100_u32;
    for byte in 0..=u8::MAX {
        let is_printable = matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
        let letter = if is_printable { Some(char::from(byte)) } else { char::from_u32(next) };
        next += u32::from(!is_printable);
        alphabet.extend(letter.map(|letter| (letter, byte)));
    }
    alphabet
}

fn number(content: &Content, key: &str) -> Result<u64, String> {
    content.metadata.get(key).and_then(integer).ok_or_else(|| format!("no {key}"))
}

/// An integer; the kinds of tokens are signed in some files.
fn integer(value: &Value) -> Option<u64> {
    if let Value::I32(number) = value {
        return u64::try_from(*number).ok();
    }
    value.to_u64().ok()
}
