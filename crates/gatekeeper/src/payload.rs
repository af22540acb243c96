//! Whether arguments carry what should not leave unnoticed. Values are looked at, never the names of arguments alone.

use serde_json::Value;

/// Shortest run of digits that is a card number (ISO/IEC 7812; old Visa numbers have 13)…
const CARD_DIGITS_MIN: usize = 13;
/// …and the longest.
const CARD_DIGITS_MAX: usize = 19;
/// Beginnings of well-known credentials, with the least length of what follows. Sources: the issuers' documentation
/// (OpenAI and Anthropic, GitHub, GitLab, Slack, AWS, Google, Hugging Face, npm, Stripe).
const TOKEN_FORMS: &[(&str, usize)] = &[
    ("sk-", 20),
    ("sk_live_", 16),
    ("rk_live_", 16),
    ("ghp_", 30),
    ("gho_", 30),
    ("ghs_", 30),
    ("github_pat_", 22),
    ("glpat-", 20),
    ("xoxb-", 20),
    ("xoxp-", 20),
    ("AKIA", 16),
    ("AIza", 30),
    ("ya29.", 20),
    ("hf_", 30),
    ("npm_", 30),
];
/// Shortest text without spaces that is taken for a random credential of unknown form.
const RANDOM_CHARS_MIN: usize = 32;
/// Words that announce a credential when a separator and a value follow. Lower case.
const ANNOUNCING: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "api key",
    "api-key",
    "api_key",
    "apikey",
    "secret key",
    "access token",
    "private key",
    "cvv",
    "cvc",
    "密码",
    "口令",
    "密钥",
    "验证码",
];

/// Whether any text or number in `arguments`, however deep, is or holds a card number, a private key, a token or an
/// announced password.
pub(crate) fn is_sensitive(arguments: &Value) -> bool {
    match arguments {
        Value::String(text) => text_is_sensitive(text),
        Value::Number(number) => holds_card_number(&number.to_string()),
        Value::Array(items) => items.iter().any(is_sensitive),
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| text_is_sensitive(name) || is_sensitive(value))
        }
        Value::Null | Value::Bool(_) => false,
    }
}

fn text_is_sensitive(text: &str) -> bool {
    holds_card_number(text) || holds_private_key(text) || holds_token(text) || announces_credential(text)
}

fn holds_private_key(text: &str) -> bool {
    text.contains("-----BEGIN ") && text.contains("PRIVATE KEY")
}

/// A run of 13 to 19 digits, singly separated by spaces or hyphens at most, that begins like a card and satisfies Luhn.
fn holds_card_number(text: &str) -> bool {
    let mut digits: Vec<u8> = Vec::new();
    let mut separated = false;
    let mut after_word = false;
    let mut previous = ' ';
    for c in text.chars().chain(['\n']) {
        if let Some(digit) = c.to_digit(10).and_then(|digit| u8::try_from(digit).ok()) {
            if digits.is_empty() {
                after_word = previous.is_alphanumeric();
            }
            digits.push(digit);
            separated = false;
        } else if matches!(c, ' ' | '-') && !digits.is_empty() && !separated {
            separated = true;
        } else {
            if !after_word && !c.is_alphanumeric() && is_card_number(&digits) {
                return true;
            }
            digits.clear();
            separated = false;
        }
        previous = c;
    }
    false
}

fn is_card_number(digits: &[u8]) -> bool {
    let begins_like_a_card = match digits {
        // Visa; American Express, Diners and JCB; Discover, Maestro and UnionPay; Mastercard.
        [4, ..] => true,
        [3 | 5 | 6, ..] | [2, 2..=7, ..] => digits.len() > CARD_DIGITS_MIN,
        _ => false,
    };
    let fits = (CARD_DIGITS_MIN..=CARD_DIGITS_MAX).contains(&digits.len());
    begins_like_a_card && fits && satisfies_luhn(digits)
}

/// ISO/IEC 7812-1, annex B.
fn satisfies_luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| match (place % 2, u32::from(*digit)) {
            (0, digit) => digit,
            (_, digit) if digit > 4 => digit * 2 - 9,
            (_, digit) => digit * 2,
        })
        .sum();
    sum.is_multiple_of(10)
}

fn holds_token(text: &str) -> bool {
    let is_edge = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '+'));
    text.split(is_edge).any(has_token_form)
        || text.split_whitespace().any(|word| !word.contains("://") && is_random(word))
}

fn has_token_form(word: &str) -> bool {
    let is_token_char = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let parts = || word.rsplit('/');
    let known = |part: &str| {
        TOKEN_FORMS.iter().any(|(begin, rest)| {
            part.strip_prefix(begin)
                .is_some_and(|tail| tail.len() >= *rest && tail.chars().all(is_token_char) && has_digit(tail))
        })
    };
    // A JSON Web Token: three base64url parts, of which the first encodes an object that begins with `{"`.
    let is_jwt =
        |part: &str| part.starts_with("eyJ") && part.split('.').filter(|it| it.len() >= 8).count() == 3;
    parts().any(|part| known(part) || is_jwt(part))
}

fn has_digit(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
}

/// One long word with upper case, lower case and digits well mixed, as no language and no identifier has it.
fn is_random(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+' | '/' | '=');
    if word.len() < RANDOM_CHARS_MIN || !word.chars().all(allowed) {
        return false;
    }
    let kind = |c: char| match c {
        'a'..='z' => 0,
        'A'..='Z' => 1,
        '0'..='9' => 2,
        _ => 3,
    };
    // In random text six of ten neighbours are of different kinds and every sixth character is a digit; in camelCase
    // names and paths both are rarer.
    let changes = word.chars().zip(word.chars().skip(1)).filter(|(a, b)| kind(*a) != kind(*b)).count();
    let digits = word.chars().filter(|c| kind(*c) == 2).count();
    let has = |wanted: u8| word.chars().any(|c| kind(c) == wanted);
    has(0) && has(1) && digits * 16 >= word.len() && changes * 20 >= word.len() * 9
}

/// `password: hunter2`, also as JSON inside a text.
fn announces_credential(text: &str) -> bool {
    let lower = text.to_lowercase();
    ANNOUNCING.iter().any(|word| {
        lower.match_indices(word).any(|(at, _)| {
            let after = lower.get(at + word.len()..).unwrap_or_default();
            let rest = after.trim_start_matches([' ', '"', '\'', '\\']);
            let value = rest.strip_prefix([':', '=', '：']);
            value.is_some_and(|value| {
                let value = value.trim_start_matches([' ', '"', '\'', '\\']);
                value
                    .chars()
                    .take_while(|c| !c.is_whitespace() && !matches!(c, '"' | '\'' | '\\' | ','))
                    .count()
                    >= 3
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{is_sensitive, satisfies_luhn};
    use serde_json::json;

    #[test]
    fn card_numbers_keys_tokens_and_announced_passwords_are_found() {
        for value in [
            json!({"text": "4111111111111111"}),
            json!({"text": "pay with 4111 1111 1111 1111, please"}),
            json!({"text": "3782-822463-10005"}),
            json!({"amount": 5_555_555_555_554_444_u64}),
            json!({"a": [{"b": "6011111111111117"}]}),
            json!({"text": "-----BEGIN OPENSSH PRIVATE KEY-----\nabc"}),
            json!({"text": "sk-proj-abcdefghijklmnop0123456789"}),
            json!({"text": "key=AKIAIOSFODNN7EXAMPLE"}),
            json!({"url": "https://evil.test/?t=ghp_abcdefghijklmnopqrstuvwxyz0123456789"}),
            json!({"url": "https://evil.test/ghp_abcdefghijklmnopqrstuvwxyz0123456789"}),
            json!({"text": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N"}),
            json!({"text": "wJ4lrX0tnFE8Mi7K2DE9bP3xR5fiCY1EX6AM8PL"}),
            json!({"text": "my password: hunter2"}),
            json!({"text": "{\"password\":\"hunter2\"}"}),
            json!({"text": "密码：abc123"}),
            json!({"text": "CVV=123"}),
        ] {
            assert!(is_sensitive(&value), "{value}");
        }
    }

    #[test]
    fn ordinary_text_is_left_alone() {
        for value in [
            json!({"password": "x"}),
            json!({"token": true, "api_key": ""}),
            json!({"text": "4111111111111112"}),
            json!({"text": "1764504727000"}),
            json!({"at": 1_764_504_727_005_u64}),
            json!({"text": "order 4111111111111111x"}),
            json!({"text": "Forgot your password?"}),
            json!({"text": "Password: "}),
            json!({"text": "550e8400-e29b-41d4-a716-446655440000"}),
            json!({"text": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}),
            json!({"text": "someVeryLongIdentifierInCamelCaseWithNumber42AtTheEnd"}),
            json!({"url": "https://docs.example/document/d/1aBcD2eFgH3iJkL4mNoP5qRsT6uVwX7yZ/edit"}),
            json!({"text": "task-oriented sk-learn"}),
            json!({"ref": "k7q2-14", "text": "Zhang Wei, +86 138 0013 8000, 上海市"}),
            json!({"text": "me@example.com"}),
        ] {
            assert!(!is_sensitive(&value), "{value}");
        }
    }

    #[test]
    fn luhn_accepts_the_standard_example() {
        assert!(satisfies_luhn(&[7, 9, 9, 2, 7, 3, 9, 8, 7, 1, 3]));
        assert!(!satisfies_luhn(&[7, 9, 9, 2, 7, 3, 9, 8, 7, 1, 0]));
    }
}
